"""Taylor coefficients of ops: the recurrences that the column `series` names, and helpers of jet.py for the other ops.

NOTE [Taylor coefficients]
The series of x is x[0] + x[1] t + x[2] t^2 + ...; a list of tensors with None for zeros. If y = f(x) then
y' = f'(x) x', and k y[k] is the coefficient k - 1 of that product. Where f' is a simple expression in y itself this gives
y[k] from the earlier coefficients, by products alone. All of the recurrences here are of that kind.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from retrograd.core import forward
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef
from retrograd.ops import late

Series = list[Any]
Rule = Callable[..., Series]                 # (op, arguments as series, arguments, result, order) -> series


def plus(a: Any, b: Any) -> Any:
    """The sum, where None is zero."""
    return b if a is None else a if b is None else a + b


def minus(a: Any, b: Any) -> Any:
    return a if b is None else -b if a is None else a - b


def times(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a * b


def product(a: Series, b: Series, k: int, start: int = 0) -> Any:
    """Coefficient k of a product, skipping the first `start` coefficients of `a`."""
    total = None
    for j in range(start, k + 1):
        total = plus(total, times(a[j], b[k - j]))
    return total


def square(a: Series, k: int) -> Any:
    """Coefficient k of a square, computing each product of two coefficients once."""
    total = None
    for j in range((k + 1) // 2):
        total = plus(total, times(a[j], a[k - j]))
    total = None if total is None else 2 * total
    return total if k % 2 else plus(total, times(a[k // 2], a[k // 2]))


def slope_product(x: Series, g: Series, k: int) -> Any:
    """The coefficient k of y where y' = g x'."""
    total = None
    for j in range(1, k + 1):
        if x[j] is not None and g[k - j] is not None:
            term = x[j] * g[k - j]
            total = plus(total, term if j == k else term * (j / k))
    return total


# ---- y' = g x', where g is an expression in y or has y as its slope
def by_slope(constant: float, linear: float, quadratic: float = 0) -> Rule:
    """The rule for functions with y' = (constant + linear y + quadratic y^2) x'."""
    def slope(y: Series, k: int) -> Any:
        total = None if k or not constant else constant
        if linear:
            total = plus(total, y[k] if linear == 1 else times(y[k], linear))
        if quadratic:
            squared = square(y, k)
            total = plus(total, squared) if quadratic > 0 else minus(total, squared)
        return total

    def rule(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
        x, y, g = given[0], [result], [slope([result], 0)]
        for k in range(1, order + 1):
            y.append(slope_product(x, g, k))
            g.append(slope(y, k))
        return y
    return rule


def with_partner(partner: str, own_sign: int, its_sign: int) -> Rule:
    """The rule for functions with y' = own_sign g x' and g' = its_sign y x', where g = partner(x), as sin and cos."""
    def rule(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
        x, y, g = given[0], [result], [getattr(late, partner)(args[0])]
        for k in range(1, order + 1):
            own, its = slope_product(x, g, k), slope_product(x, y, k)
            y.append(own if own_sign > 0 or own is None else -own)
            g.append(its if its_sign > 0 or its is None else -its)
        return y
    return rule


# ---- quotients, roots, logarithms
def divide(a: Series, b: Series, first: Any, order: int) -> Series:
    """The series of a quotient whose value is `first`."""
    y = [first]
    for k in range(1, order + 1):
        rest = minus(a[k], product(b, y, k, 1))
        y.append(None if rest is None else rest / b[0])
    return y


def quotient(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
    return divide(given[0], given[1], result, order)


def inverse(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
    x, y = given[0], [result]
    for k in range(1, order + 1):
        rest = product(x, y, k, 1)
        y.append(None if rest is None else -rest * result)
    return y


def root(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
    x, y = given[0], [result]
    for k in range(1, order + 1):
        y.append(None)                       # so that the square uses the known coefficients only
        rest = minus(x[k], square(y, k))
        y[k] = None if rest is None else rest / (2 * result)
    return y


def logarithm(x: Series, first: Any, order: int) -> Series:
    """y' x = x'."""
    y = [first]
    for k in range(1, order + 1):
        rest = x[k]
        for j in range(1, k):
            if y[j] is not None and x[k - j] is not None:
                rest = minus(rest, y[j] * x[k - j] * (j / k))
        y.append(None if rest is None else rest / x[0])
    return y


def log(offset: float = 0) -> Rule:
    """The rule for the logarithm of x + offset."""
    def rule(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
        x = given[0]
        return logarithm([x[0] + offset, *x[1:]] if offset else x, result, order)
    return rule


def power(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Any:
    """A small integer power is a product; others use the derivative, which is also right at zero."""
    exponent = args[1]
    if exponent != 2 and exponent != 3:
        return NotImplemented
    x = given[0]
    squares = [square(x, k) for k in range(order + 1)]
    return squares if exponent == 2 else [product(x, squares, k) for k in range(order + 1)]


# ---- exponentials with a sum
def exponentials(x: Series, first: Any, order: int) -> Series:
    y = [first]
    for k in range(1, order + 1):
        y.append(slope_product(x, y, k))
    return y


def summed(y: Series, dim: Any) -> Series:
    return [None if c is None else c.sum(dim, keepdim=True) for c in y]


def softmax(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Any:
    if args[2]:
        return NotImplemented
    y = exponentials(given[0], result, order)         # normalised by the sum at t = 0
    return divide(y, summed(y, args[1]), result, order)


def log_softmax(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Any:
    if args[2]:
        return NotImplemented
    total = summed(exponentials(given[0], result.exp(), order), args[1])
    return [result, *[minus(x, s) for x, s in zip(given[0][1:], logarithm(total, None, order)[1:], strict=True)]]


# ---- products
def multilinear(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
    """Products of any number of factors."""
    y = [result]
    for k in range(1, order + 1):
        total = None
        for split in splits(k, len(given)):
            factors = [x[j] for x, j in zip(given, split, strict=True)]
            if any([factor is None for factor in factors]):
                continue
            values = list(args)
            for place, factor in zip(op.inputs, factors, strict=True):
                values[place] = factor
            total = plus(total, call(op, values))
        y.append(total)
    return y


def splits(k: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to write k as a sum of `parts` numbers."""
    if parts == 1:
        yield (k,)
        return
    for first in range(k + 1):
        for rest in splits(k - first, parts - 1):
            yield (first, *rest)


def affine(name: str) -> Rule:
    """beta self + alpha times a product."""
    def rule(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
        addend, a, b = given
        beta, alpha = args[3], args[4]
        multiply = getattr(late, name)
        y = [result]
        for k in range(1, order + 1):
            total = None
            for j in range(k + 1):
                if a[j] is not None and b[k - j] is not None:
                    total = plus(total, multiply(a[j], b[k - j]))
            total = total if total is None or alpha == 1 else total * alpha
            y.append(plus(total, addend[k] if beta == 1 or addend[k] is None else addend[k] * beta))
        return y
    return rule


def convolution(op: OpDef, given: Any, args: Any, result: Any, order: int) -> Series:
    a, weight, bias = given
    y = [result]
    for k in range(1, order + 1):
        total = None
        for j in range(k + 1):
            if a[j] is not None and weight[k - j] is not None:
                total = plus(total, call(op, [a[j], weight[k - j], None, *args[3:]]))
        if bias[k] is not None:
            total = plus(total, bias[k].reshape((-1,) + (1,) * (result.array.ndim - 2)))
        y.append(total)
    return y


# Rules by the kind that a row's `series` column names, alone or before the numbers and ops that the rule needs.
KINDS: dict[str, Callable[..., Rule]] = {
    "affine": affine,
    "convolution": lambda: convolution,
    "log": log,
    "log_softmax": lambda: log_softmax,
    "partner": with_partner,
    "power": lambda: power,
    "quotient": lambda: quotient,
    "reciprocal": lambda: inverse,
    "root": lambda: root,
    "slope": by_slope,
    "softmax": lambda: softmax,
}


def rule_for(op: OpDef) -> Rule | None:
    """The recurrence for the Taylor coefficients of an op, if its row has one."""
    if op.jvp == "multilinear":
        return multilinear
    if op.series is None:
        return None
    kind, *parameters = (op.series,) if isinstance(op.series, str) else op.series
    return KINDS[kind](*parameters)


def formula_uses_result(op: OpDef) -> bool:
    """Whether the op's derivative formula uses its result."""
    if op.jvp == "elementwise":
        return bool(op.saves_result)
    sources = forward.SOURCES.get(op)
    if sources is None:
        sources = forward.SOURCES[op] = forward.formula_sources(op)
    return any([kind == forward.OUTPUT for kind, _ in sources])
