"""Taylor mode: `jet` pushes the series of its inputs through a function, to any order.

NOTE [Series through ops]
Linear ops map each coefficient separately, products are convolutions, and common functions have recurrences (series.py).
Every other differentiable op uses y' = J(x) x': its `jvp` column is a formula made of ops, which is evaluated in series of
one order less, with the series of x and of x'. Its coefficients, divided by 1, 2, 3, ..., are those of y. If the formula
uses the result y, it is evaluated once per order, with the coefficients of y known so far. So the column for forward mode
gives all orders, in polynomial time unless formulas refer to themselves.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.autograd.forward_ad import check_floating
from retrograd.core import forward
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.transforms import series
from retrograd.transforms.carrying import Carrying
from retrograd.transforms.functionalize import run_functional
from retrograd.transforms.lifted import lift
from retrograd.transforms.tangents import TangentCtx, check_formula, in_layout
from retrograd.transforms.trees import flatten, unflatten

__all__ = ["jet"]


def jet(func: Callable[..., Any], primals: Any, series: Any) -> Any:
    """The value of `func` along a path and the derivatives of that value, from those of the path.

    `primals` are the arguments of `func` at t = 0. `series` has for each of them the list of its derivatives by t there:
    dx/dt, d^2x/dt^2 and so on (derivatives, not Taylor coefficients; None stands for zeros). The result is the value and
    the list of its derivatives by t, as many as the longest list has. If `func` returns several tensors in some
    structure, so do both.

    >>> import retrograd as torch
    >>> jet(torch.exp, (torch.tensor(0.0),), ([torch.tensor(1.0), None, None],))
    (tensor(1.), [tensor(1.), tensor(1.), tensor(1.)])
    >>> jet(lambda x, y: x * y, (torch.tensor(2.0), torch.tensor(3.0)), ([torch.tensor(1.0), None], [torch.tensor(1.0), None]))
    (tensor(6.), [tensor(5.), tensor(2.)])
    """
    api = "jet(f, primals, series): "
    if not isinstance(primals, (tuple, list)) or not isinstance(series, (tuple, list)):
        raise RuntimeError(api + "Expected primals to be a tuple, and series a tuple with a list of derivatives for each of "
                                 f"them. Got {type(primals)} and {type(series)}.")
    if len(primals) != len(series):
        raise RuntimeError(api + "Expected a list of derivatives for each of the primals. Got "
                                 f"{len(primals)} primals and {len(series)} lists.")
    order = max([len(one) for one in series], default=0)
    if order == 0:
        raise RuntimeError(api + "Expected at least one derivative. The order of the result is the length of the longest list.")
    level = Jet(order)
    with level.started():
        with level.beneath():
            inputs = [with_series(x, one, level) for x, one in zip(primals, series, strict=True)]
        output = run_functional(func, tuple(inputs), {})
        outputs, spec = flatten(output)
        for out in outputs:
            if not isinstance(out, Tensor):
                raise RuntimeError(api + f"expected f(*primals) to return only tensors, got unsupported type {type(out)}")
        with level.beneath():
            pairs = [(level.unwrap(out), derivatives(level.unwrap(out), level.carried_by(out), order)) for out in outputs]
    return unflatten([value for value, _ in pairs], spec), unflatten([made for _, made in pairs], spec)


def with_series(x: Any, given: Any, level: Jet) -> Any:
    """An input: a value with the Taylor coefficients for the given derivatives."""
    if not isinstance(x, Tensor):
        raise RuntimeError(f"jet(f, primals, series): Expected primals to only contain Tensors, got {type(x)}")
    check_floating("primal", x)
    coefficients: list[Any] = []
    for k, derivative in enumerate(given, 1):
        if derivative is not None:
            check_floating("derivative", derivative)
            if derivative.array.shape != x.array.shape:
                raise RuntimeError("jet(f, primals, series): Expected derivatives of the shape of their primal. Derivative "
                                   f"{k} has shape {list(derivative.array.shape)}, the primal {list(x.array.shape)}.")
            derivative = in_shape(derivative if k == 1 else derivative / math.factorial(k), x)
        coefficients.append(derivative)
    coefficients += [None] * (level.order - len(coefficients))
    return lift(x, level, tuple(coefficients) if any([c is not None for c in coefficients]) else None)


def derivatives(value: Any, coefficients: Any, order: int) -> list[Any]:
    """The derivatives for Taylor coefficients."""
    coefficients = [None] * order if coefficients is None else coefficients
    return [late.zeros_like(value) if c is None else c if k == 1 else c * float(math.factorial(k))
            for k, c in enumerate(coefficients, 1)]


class Jet(Carrying):
    """Carries the Taylor coefficients 1 to `order` of every value that depends on the inputs."""

    def __init__(self, order: int) -> None:
        self.order = order

    def carry(self, op: Any, values: Any, carried: Any, result: Any) -> Any:
        if op.jvp == "linear" or "piecewise_linear" in op.traits:
            made = [self.of_first_order(op, values, coefficients_at(carried, k), result) for k in range(self.order)]
        else:
            rule = series.rule_for(op)
            found = NotImplemented if rule is None else rule(
                op, [self.whole(values[i], carried[i]) for i in op.inputs], values, result, self.order)
            made = self.by_derivative(op, values, carried, result) if found is NotImplemented else found[1:]
        return collected(op, made, result)

    def of_first_order(self, op: OpDef, values: Any, tangents: Any, result: Any) -> Any:
        """Apply a linear op to the coefficients of one order."""
        if tangents is None:
            return None
        if op.series == "reshape":
            return late.reshape(tangents[0], values[1])         # its layout may differ from the value's
        if op.jvp == "linear":
            return call(op, forward.substituted(op, values, tangents))
        return forward.tangents_of(op, values, tangents, result)

    def whole(self, value: Any, coefficients: Any) -> list[Any]:
        """The series with its value in front."""
        return [value, *([None] * self.order if coefficients is None else coefficients[:self.order])]

    # ---- y' = J(x) x'
    def by_derivative(self, op: OpDef, values: Any, carried: Any, result: Any) -> list[Any]:
        check_formula(op)
        rate = functools.partial(forward.tangents_of, op)
        several = op.multiple
        if not series.formula_uses_result(op):
            return self.integrated(self.evaluated(rate, values, carried, result, None, self.order - 1, several), several)
        known: list[Any] = []
        for order in range(self.order):
            coefficients = collected(op, known, result) if known else None
            rates = self.evaluated(rate, values, carried, result, coefficients, order, several)
            known.append(self.integrated(rates, several)[order])
        return known

    def evaluated(self, rate: Any, values: Any, carried: Any, result: Any, of_result: Any, order: int, several: bool) -> Any:
        """The coefficients 0 to `order` of y', by evaluating `rate(x, x', y)` in series of that order."""
        if order == 0:
            return [rate(values, coefficients_at(carried, 0) or zeros_at(values, carried), result)]
        with self.truncated(order):
            xs = [self.lifted(value, one) for value, one in zip(values, carried, strict=True)]
            rates = [self.rate_of(value, one) for value, one in zip(values, carried, strict=True)]
            y = [self.lifted(r, None if of_result is None else of_result[i]) for i, r in enumerate(result)] if several else (
                self.lifted(result, of_result))
            made = self.call(rate, xs, rates, y)
            return [self.coefficient(made, k) for k in range(order + 1)]

    def lifted(self, value: Any, coefficients: Any) -> Any:
        if isinstance(value, (list, tuple)) and coefficients is not None:
            return [self.lifted(v, c) for v, c in zip(value, coefficients, strict=True)]
        return value if coefficients is None else lift(value, self, tuple(coefficients[:self.order]))

    def rate_of(self, value: Any, coefficients: Any) -> Any:
        """x', None if x is constant."""
        if coefficients is None:
            return None
        if isinstance(value, (list, tuple)):
            return [self.rate_of(v, c) for v, c in zip(value, coefficients, strict=True)]
        first, *rest = [c if c is None or k == 1 else c * k for k, c in enumerate(coefficients[:self.order + 1], 1)]
        first = late.zeros_like(value) if first is None else in_shape(first, value)
        return lift(first, self, tuple(rest))

    def coefficient(self, t: Any, k: int) -> Any:
        """A coefficient of a formula's result."""
        if isinstance(t, (list, tuple)):
            return [self.coefficient(item, k) for item in t]
        if not isinstance(t, Tensor):
            return None
        if k == 0:
            return self.unwrap(t)
        coefficients = self.carried_by(t)
        return None if coefficients is None else coefficients[k - 1]

    def integrated(self, rates: list[Any], several: bool) -> list[Any]:
        """The coefficients 1, 2, ... of y from 0, 1, ... of y'."""
        def divided(t: Any, k: int) -> Any:
            return t if t is None or k == 1 else t / k
        return [None if t is None else [divided(one, k) for one in t] if several else divided(t, k)
                for k, t in enumerate(rates, 1)]

    @contextmanager
    def truncated(self, order: int) -> Iterator[None]:
        """Truncate series to this order."""
        was, self.order = self.order, order
        try:
            yield
        finally:
            self.order = was

    # ---- custom Functions
    def of_function(self, cls: Any, spec: Any, out_spec: Any, values: Any, carried: Any, outputs: Any) -> Any:
        """The coefficients of a custom Function by its `jvp`, as for ops."""
        def rate(xs: Any, tangents: Any, ys: Any) -> Any:
            ctx = TangentCtx(len(xs))
            cls.setup_context(ctx, unflatten(xs, spec), unflatten(ys, out_spec))
            full = [late.zeros_like(x) if t is None and isinstance(x, Tensor) and x.dtype.category >= 2
                    and ctx.materialize_grads else t for x, t in zip(xs, tangents, strict=True)]
            got = cls.jvp(ctx, *full)
            return list(got) if isinstance(got, (tuple, list)) else [got]

        known: list[Any] = []
        for order in range(self.order):
            coefficients = per_output(known, len(outputs))
            rates = self.evaluated(rate, values, carried, outputs, coefficients, order, True)
            known.append(self.integrated(rates, True)[order])
        return per_output(known, len(outputs))


def coefficients_at(carried: Any, k: int) -> Any:
    """The coefficients of one order, one per argument; None if all are zero."""
    found = [None if one is None else coefficient_at(one, k) for one in carried]
    return None if all([one is None for one in found]) else found


def coefficient_at(one: Any, k: int) -> Any:
    if isinstance(one, list):
        parts = [None if item is None else item[k] for item in one]
        return None if all([part is None for part in parts]) else parts
    return one[k]


def zeros_at(values: Any, carried: Any) -> list[Any]:
    """Zero rates for all non-constant arguments: formulas need at least one."""
    return [None if one is None else forward.zeros_of(value) for value, one in zip(values, carried, strict=True)]


def collected(op: OpDef, made: list[Any], result: Any) -> Any:
    """Coefficients by output, in the shape and dtype of their values; None for an output that has none."""
    if op.multiple:
        each = per_output(made, len(result))
        return [fitting(one, r) for one, r in zip(each, result, strict=True)]
    return fitting(made, result)


def per_output(made: list[Any], count: int) -> list[Any]:
    return [[None if one is None else one[i] for one in made] for i in range(count)]


def fitting(coefficients: Any, value: Any) -> Any:
    if not isinstance(value, Tensor) or all([c is None for c in coefficients]):
        return None
    return tuple([None if c is None else in_shape(c, value) for c in coefficients])


def in_shape(c: Any, value: Any) -> Any:
    """A coefficient in the memory layout of its value, if possible: some view ops depend on it."""
    c = c if c.dtype is value.dtype else c.to(value.dtype)
    if 0 in value.array.strides:
        return c if c.array.shape == value.array.shape else c.expand(value.array.shape)
    return in_layout(c, value)
