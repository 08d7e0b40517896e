"""Levels that carry data with every value, by rules for functional ops only: writes and views are functionalized first.

NOTE [Carried data]
A carrying level runs its function through `run_functional`, so its rules never see in-place writes or
shared memory. The data carried with a tensor (Taylor coefficients, a Jacobian, a sparsity pattern) is in the `tangent` of
the lifted tensor, None if the tensor does not depend on the inputs.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor, bump
from retrograd.transforms import functions
from retrograd.transforms.base import running
from retrograd.transforms.functionalize import functional_form, run_functional
from retrograd.transforms.lifted import Level, gathered, lift, living
from retrograd.transforms.trees import flatten, unflatten


class Carrying(Level):
    """Runs ops on values, and rules on the data carried with them."""

    def carry(self, op: OpDef, values: Any, carried: Any, result: Any) -> Any:
        """The data carried with the result, a list if there are several; `carried` is as long as `values`."""
        raise NotImplementedError

    def carried_by(self, t: Any) -> Any:
        """The data carried with `t` at this level, or None."""
        return t._extra.batch.tangent if self.owns(t) else None

    def carried_among(self, op: OpDef, args: Any) -> Any:
        """The data carried with the differentiable arguments, in a list as long as `args`; None if there is none."""
        return gathered(args, op.inputs, self.carried_by)

    def run(self, op: OpDef, args: Any) -> Any:
        if op.is_inplace:
            return self.run_inplace(op, args)
        if op.is_out:                         # `out` comes from outside: writes to inner tensors are functionalized
            self.check_captured(op, args[op.out_arg:])
        values = self.unwrap_arguments(op, args)
        result = call(op, values)
        carried = self.carried_among(op, args) if op.differentiable else None
        made = None if carried is None else self.carry(op, values, carried, result)
        if not op.multiple:
            return self.with_carried(result, made)
        outputs = [self.with_carried(r, None if made is None else made[i]) for i, r in enumerate(result)]
        return outputs if op.returns_list else op.result_type(*outputs) if op.result_type else tuple(outputs)

    def apply_function(self, cls: Any, args: Any) -> Any:
        """Run a custom Function on the level below; `of_function` computes the data carried with its outputs."""
        leaves, spec = flatten(args)
        values = [self.unwrap(leaf) for leaf in leaves]
        carried = [self.carried_by(leaf) for leaf in leaves]
        with self.beneath():
            outputs, out_spec = flatten(functions.apply_anywhere(cls, unflatten(values, spec)))
            made: Any = [None] * len(outputs)
            if any([one is not None for one in carried]):
                made = self.of_function(cls, spec, out_spec, values, carried, outputs)
        return unflatten([self.with_carried(out, one) for out, one in zip(outputs, made, strict=True)], out_spec)

    def of_function(self, cls: Any, spec: Any, out_spec: Any, values: Any, carried: Any, outputs: Any) -> Any:
        """The data carried with each output of a custom Function, at least one argument of which carries data."""
        raise NotImplementedError

    def with_carried(self, result: Any, carried: Any) -> Any:
        if not isinstance(result, Tensor):
            return result
        return lift(result, self, carried if result.dtype.category >= 2 else None)

    def run_inplace(self, op: OpDef, args: Any) -> Any:
        """Perform the deferred write to an input after the function has returned."""
        self.check_captured(op, args[:1])
        functional = functional_form(op)
        if not functional._ready:
            functional.prepare()
        made = self.run(functional, args)
        target = args[0]._extra.batch
        target.value.copy_(made._extra.batch.value)
        target.tangent = made._extra.batch.tangent
        bump(args[0])
        return args[0]

    @contextmanager
    def started(self) -> Iterator[None]:
        """Make this level the innermost one."""
        with running(self), living(self):
            yield

    def call(self, func: Any, *args: Any) -> Any:
        """Run `func` at this level, from any caller."""
        with self.started():
            return run_functional(func, args, {})
