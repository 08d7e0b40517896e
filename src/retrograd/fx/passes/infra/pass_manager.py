"""Passes over graphs, in an order that constraints ask for, with checks in between."""
from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any

from retrograd.fx.graph_module import GraphModule
from retrograd.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A pass of a function that changes a module in place or returns another one.

    >>> pass_result_wrapper(lambda module: None)("a module").modified
    True
    """
    @wraps(fn)
    def wrapped(gm: Any) -> Any:
        made = fn(gm)
        if made is None:
            return PassResult(gm, True)
        return made if isinstance(made, PassResult) else PassResult(made, True)
    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Callable[..., Any], that: Callable[..., Any]) -> Callable[..., bool]:
    """Asks for one pass before another; it is called with two passes, and says whether they may come in that order.

    >>> constraint = this_before_that_pass_constraint(len, str)
    >>> constraint(len, str), constraint(str, len)
    (True, False)
    """
    return lambda a, b: not (a == that and b == this)


def _validate_pass_schedule_constraint(constraint: Callable[..., bool], passes: list[Any]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1:]):
            if not constraint(a, b):
                raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and "
                                   f"{b} at index {j} in pass list.")


def _topological_sort_passes(passes: list[Any], constraints: list[Callable[..., bool]]) -> list[Any]:
    """The passes in an order that all constraints allow."""
    if not constraints:
        return passes
    after: dict[Any, list[Any]] = {p: [] for p in passes}
    missing = dict.fromkeys(passes, 0)
    candidates = [(a, b) for i, a in enumerate(passes) for b in passes if a != b]
    for a, b in candidates:
        if any([not constraint(b, a) for constraint in constraints]):
            after[a].append(b)
            missing[b] += 1
    ready = deque([p for p in passes if not missing[p]])
    order = []
    while ready:
        p = ready.popleft()
        order.append(p)
        for other in after[p]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    waiting = [p for p in passes if p not in order]
    if waiting:
        raise RuntimeError(f"Circular dependency detected within the following passes: {waiting}")
    return order


class PassManager:
    """Runs passes over a module, each of which returns a PassResult, up to `steps` times while they change it.

    >>> import retrograd as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> PassManager(passes=[lambda module: PassResult(module, False)])(traced).modified
    False
    """

    def __init__(self, passes: list[Any] | None = None, constraints: list[Any] | None = None, steps: int | None = None,
                 run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False) -> None:
        self.passes, self.constraints, self.steps = passes or [], constraints or [], steps or 1
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Refuse an order of the passes that a constraint forbids."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes into an order that all constraints allow."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Run a function of the module after passes, or at least after all of them."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check     # type: ignore[method-assign]

    def check(self, module: Any) -> None:
        """What is checked: nothing, unless a check was added."""

    def __call__(self, module: Any) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            modified = False
            for i, fn in enumerate(self.passes):
                name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
                logger.debug("Running pass '%s'", name)
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult):
                        raise TypeError(f"The result of the pass {name} should be type PassResult. Please wrap it with "
                                        "pass_result_wrapper()")
                    module = result.graph_module
                    modified = modified or result.modified
                    if isinstance(module, GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    before = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:i]]
                    raise Exception(f"An error occurred when running the '{name}' pass after the following passes: "
                                    f"{before}") from error
            overall = overall or modified
            if not modified:
                break
        self.check(module)
        return PassResult(module, overall)
