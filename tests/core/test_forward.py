"""Forward mode below its public functions: tangents of in-place ops, of views, of ops that are used for the first time."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef
from retrograd.core.schema import Schema


def dual(*values: float, tangent: Any = None) -> Any:
    primal = torch.tensor(list(values))
    return forward_ad.make_dual(primal, torch.ones(len(values)) if tangent is None else torch.tensor(tangent))


def tangent(t: Any) -> Any:
    found = forward_ad.unpack_dual(t).tangent
    return None if found is None else found.tolist()


def test_a_write_uses_a_functional_form_that_has_never_been_used() -> None:
    doubled = OpDef(Schema("doubled(Tensor self) -> Tensor"), lambda xp, self: self * 2,
                    vjp=dict(self=lambda grad, result: grad * 2), jvp="elementwise")
    inplace = OpDef(Schema("doubled_(Tensor(a!) self) -> Tensor(a!)"), doubled.kernel, vjp=doubled.vjp, jvp=doubled.jvp,
                    functional=doubled)
    with forward_ad.dual_level():
        x = dual(1.0, 2.0)
        call(inplace, [x])
        assert x.tolist() == [2.0, 4.0] and tangent(x) == [2.0, 2.0]


def test_a_write_gives_a_tensor_without_tangent_one() -> None:
    with forward_ad.dual_level():
        x, y = torch.zeros(2), dual(1.0, 2.0)
        x.add_(y)
        assert tangent(x) == [1.0, 1.0]
        x.zero_()
        assert tangent(x) == [0.0, 0.0]


def test_a_write_through_a_view_reaches_the_tangent_of_the_base() -> None:
    with forward_ad.dual_level():
        base = dual(1.0, 2.0, 3.0)
        base[1:].mul_(5.0)
        assert base.tolist() == [1.0, 10.0, 15.0] and tangent(base) == [1.0, 5.0, 5.0]


def test_a_view_of_a_dual_has_a_view_of_the_tangent() -> None:
    with forward_ad.dual_level():
        x = dual(1.0, 2.0, tangent=[5.0, 7.0])
        part = x[1:]
        assert tangent(part) == [7.0]
        assert forward_ad.unpack_dual(part).tangent._base is not None


@pytest.mark.parametrize(("run", "expected"), [
    (lambda x, y: x + y, [1.0, 1.0]), (lambda x, y: x * y, [4.0, 5.0]), (lambda x, y: y - x, [-1.0, -1.0]),
    (lambda x, y: x * x, [2.0, 4.0]), (lambda x, y: torch.cat([y, x])[2:], [1.0, 1.0]), (lambda x, y: x.sum(), 2.0),
    (lambda x, y: x @ y, 9.0), (lambda x, y: x.sort()[0], [1.0, 1.0]), (lambda x, y: (x > y).float(), None),
    (lambda x, y: x.detach(), None),
])
def test_tangents_of_results(run: Any, expected: Any) -> None:
    with forward_ad.dual_level():
        assert tangent(run(dual(1.0, 2.0), torch.tensor([4.0, 5.0]))) == expected


def test_out_takes_no_tangents() -> None:
    with forward_ad.dual_level(), pytest.raises(RuntimeError):
        torch.add(dual(1.0), 1, out=torch.empty(1).requires_grad_())


def test_no_tangents_after_the_level() -> None:
    with forward_ad.dual_level():
        x = dual(1.0)
    assert tangent_outside(x) is None


def tangent_outside(t: Any) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(t).tangent


@pytest.mark.parametrize(("name", "expected"), [
    ("maximum", [5.5, 1.0, 10.0, 10.0]), ("minimum", [5.5, 10.0, 1.0, 10.0]), ("fmax", [10.0, 1.0, 10.0, 10.0]),
    ("fmin", [1.0, 10.0, 1.0, 10.0]), ("clamp", [10.0, 1.0, 10.0, 10.0]), ("clamp_min", [1.0, 1.0, 10.0, 10.0]),
    ("clamp_max", [1.0, 10.0, 1.0, 10.0]),
])
def test_tangents_at_ties_and_at_nan_are_pytorchs(name: str, expected: Any) -> None:
    with forward_ad.dual_level():
        x, y = dual(1.0, 2.0, 1.0, float("nan")), dual(1.0, 1.0, 2.0, 1.0, tangent=[10.0] * 4)
        assert tangent(getattr(torch, name)(x, y)) == expected


def test_both_bounds_leave_a_tie_to_the_tensor() -> None:
    with forward_ad.dual_level():
        assert tangent(torch.clamp(dual(1.0, 2.0, 0.0), dual(1.0, 1.0, 1.0, tangent=[10.0] * 3),
                                   dual(1.0, 1.0, 1.0, tangent=[20.0] * 3))) == [1.0, 20.0, 10.0]


def test_a_complex_number_makes_the_tangent_complex() -> None:
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(dual(1.0) + 1j).tangent.dtype is torch.complex64
        assert forward_ad.unpack_dual(dual(1.0) - 1j).tangent.dtype is torch.complex64


def test_detach_in_place_drops_the_tangent() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2)) * 2
        dual.detach_()
        assert forward_ad.unpack_dual(dual).tangent is None and forward_ad.unpack_dual(dual * 2).tangent is None
