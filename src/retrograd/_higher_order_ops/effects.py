"""Operators that take another operator: with its random state kept or set, or without its writes to arguments."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd._higher_order_ops.operators import quietly
from retrograd.fx.experimental.proxy_tensor import get_proxy_mode
from retrograd.library.higher_order import HigherOrderOperator
from retrograd.library.userop import UserOp

__all__ = ["auto_functionalized", "auto_functionalized_v2", "run_and_save_rng_state", "run_with_rng_state"]


class OfOperator(HigherOrderOperator):
    """An operator of an operator and its arguments; one node in a graph of make_fx."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        mode = get_proxy_mode()
        if mode is None or not mode.enable_tracing:
            return self.run(*args, **kwargs)
        result = quietly(self.run, *args, **kwargs)
        tracer = mode.tracer
        node = tracer.create_node("call_function", self, tracer.create_arg(args), tracer.create_arg(kwargs), name=self._name)
        quietly(tracer.track, result, tracer.proxy(node))
        return result

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(self._name)


# ---- random state
class RunAndSaveRngState(OfOperator):
    """`(op, *args)` -> the state of the random generator before the call, and the result.

    >>> state, first = run_and_save_rng_state(torch.rand_like, torch.ones(2))
    >>> torch.equal(run_with_rng_state(state, torch.rand_like, torch.ones(2)), first)
    True
    """

    def run(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        state = torch.get_rng_state()
        return state, op(*args, **kwargs)


class RunWithRngState(OfOperator):
    """`(state, op, *args)` -> the result with the random generator in `state`; its own state stays as it is."""

    def run(self, state: Any, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        with torch.random.fork_rng():
            torch.set_rng_state(state)
            return op(*args, **kwargs)


run_and_save_rng_state = RunAndSaveRngState("run_and_save_rng_state")
run_with_rng_state = RunWithRngState("run_with_rng_state")


# ---- writes to arguments
def written_parameters(op: Any) -> list[Any]:
    """The parameters that an operator writes to; an error if its results cannot be had without the writes."""
    schema = op._schema if isinstance(op, UserOp) else None      # the library's own have functional forms
    if schema is None or not schema.is_mutable or any([result.alias_info is not None for result in schema.returns]):
        raise AssertionError(f"Cannot auto-functionalize op {op}")
    return [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def results_of(op: Any, out: Any) -> tuple[Any, ...]:
    """The results of an operator as a tuple; those without any as None."""
    return out if isinstance(out, tuple) and len(op._schema.returns) != 1 else (out,)


class AutoFunctionalized(OfOperator):
    """`(op, **kwargs)` -> the results of an operator that writes to its arguments, followed by the written copies of these."""

    def run(self, op: Any, /, **kwargs: Any) -> Any:
        names = [parameter.name for parameter in written_parameters(op)]
        for name in names:
            value = kwargs[name]
            kwargs[name] = [t.clone() for t in value] if isinstance(value, list | tuple) else (
                None if value is None else value.clone())
        return *results_of(op, op(**kwargs)), *[kwargs[name] for name in names]


class AutoFunctionalizedV2(OfOperator):
    """Like `auto_functionalized` for arguments that are views: takes them as descriptions of views of `_all_bases`, and
    returns the results followed by the written copies of the bases."""

    def run(self, op: Any, /, **kwargs: Any) -> Any:
        bases = [base.clone() for base in kwargs.pop("_all_bases")]
        given = {name: value for name, value in kwargs.items() if not name.startswith("_")}
        for parameter in written_parameters(op):
            name = parameter.name
            if f"_{name}_length" in kwargs:
                given[name] = [self.view(bases, kwargs, f"_{name}_{i}") for i in range(kwargs[f"_{name}_length"])]
            else:
                given[name] = self.view(bases, kwargs, f"_{name}")
        return *results_of(op, op(**given)), *bases

    def view(self, bases: list[Any], kwargs: dict[str, Any], prefix: str) -> Any:
        """The argument described by the items of `kwargs` that begin with `prefix`."""
        index = kwargs[f"{prefix}_base_index"]
        if index is None:
            return None
        base = bases[index]
        if f"{prefix}_size" in kwargs:
            return base.as_strided(kwargs[f"{prefix}_size"], kwargs[f"{prefix}_stride"], kwargs[f"{prefix}_storage_offset"])
        if f"{prefix}_slice_dim" in kwargs:
            return torch.ops.aten.slice.Tensor(base, kwargs[f"{prefix}_slice_dim"], kwargs[f"{prefix}_slice_start"],
                                               kwargs[f"{prefix}_slice_end"])
        return base


auto_functionalized = AutoFunctionalized("auto_functionalized")
auto_functionalized_v2 = AutoFunctionalizedV2("auto_functionalized_v2")
