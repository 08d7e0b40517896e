"""Tracing a derivative rule: it runs on examples while the ops that it calls are noted.

NOTE [Traced rules]
A derivative formula is written with tensors, so that it can be differentiated and seen by modes. In most backward passes
neither is needed: then the calls alone are run, on bare arrays. codegen/rules.py joins the ops of a rule into one loop in C,
core/plain/programs.py writes them as calls of NumPy. Both are a RuleTrace, which differ in what they note of an op.
A rule that cannot be traced raises Untraceable, runs on tensors, and gives the same gradients more slowly. No other exception
of a trace is caught, so that a defect of a tracer is not taken for a rule without a trace.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.core.modes import push_mode, remove_mode
from retrograd.core.opdef import OpDef
from retrograd.core.state import set_grad_enabled
from retrograd.core.tensor import Tensor


class Untraceable(Exception):
    """What a rule or a kernel does cannot be written down; the message says which operation it is."""


class RuleTrace:
    """A dispatch mode that knows what stands for each tensor of a rule, a name or a recorded array, and notes the ops."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}           # by the ids of tensors
        self.held: list[Tensor] = []              # keeps the tensors alive, so that ids stay unique

    def hold(self, t: Tensor, known: Any) -> Tensor:
        """Remember what a new tensor goes by."""
        self.known[id(t)] = known
        self.held.append(t)
        return t

    def run(self, rule: Callable[[], Any]) -> Any:
        """The result of `rule()`, whose ops are noted and not recorded."""
        was = set_grad_enabled(False)
        push_mode(self)
        try:
            return rule()
        except RuntimeError as error:             # PyTorch's errors: an op refuses operands like these
            raise Untraceable(f"an op refuses the example: {error}") from error
        finally:
            remove_mode(self)
            set_grad_enabled(was)

    def _process(self, op: OpDef, args: Any) -> Any:
        """Note an op and return its result (see `modes.through_mode`)."""
        raise NotImplementedError

    def _reads_values_(self) -> None:
        """A rule looks at values (see `everything` in ops/shared/families.py), so that what it calls depends on them."""
        raise Untraceable("it reads values")
