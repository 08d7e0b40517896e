"""Forward mode: levels, dual tensors, what views and in-place writes do to tangents, and derivatives of derivatives."""
from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad as fw
from retrograd.autograd.backward import grad
from retrograd.autograd.grad_mode import inference_mode, no_grad
from retrograd.core.state import switches
from retrograd.core.tensor import new_tensor
from retrograd.utils._python_dispatch import BaseTorchDispatchMode


@pytest.fixture(autouse=True)
def closed_levels() -> Iterator[None]:
    """A failing test leaves no level open for the next one."""
    yield
    if fw._current_level >= 0:
        fw.exit_dual_level()


def tensor(*values: float, requires_grad: bool = False) -> Any:
    return new_tensor(np.array(values, np.float64)).requires_grad_(requires_grad)


def dual(values: Any, tangents: Any) -> Any:
    return fw.make_dual(tensor(*values), tensor(*tangents))


def tangent(t: Any) -> Any:
    return fw.unpack_dual(t).tangent


def numbers(t: Any) -> Any:
    return None if t is None else t.detach().tolist()


# ---- levels
def test_level_is_a_number_while_it_is_open() -> None:
    assert fw._current_level == -1
    with fw.dual_level() as level:
        assert level == 0 and fw._current_level == 0
    assert fw._current_level == -1


def test_levels_do_not_nest() -> None:
    with fw.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
        fw.enter_dual_level()


def test_level_that_is_not_open_cannot_be_left() -> None:
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    with pytest.raises(RuntimeError, match="was not the last one that was created"):
        fw.exit_dual_level(level=3)


def test_level_as_decorator_opens_one_for_each_call() -> None:
    @fw.dual_level()
    def level() -> int:
        return fw._current_level
    assert [level(), level(), fw._current_level] == [0, 0, -1]


def test_tangents_end_with_the_level() -> None:
    foo, bar = tensor(1, 2), tensor(3, 4)
    with fw.dual_level():
        x = fw.make_dual(foo, bar)
        kept = fw.unpack_dual(x)
    assert kept.tangent is bar
    assert fw.unpack_dual(x).tangent is None and fw.unpack_dual(x).primal is x
    with fw.dual_level():
        assert tangent(x) is None
        assert tangent(x * 2) is None
        assert tangent(fw.make_dual(foo, bar)) is bar


def test_tangent_lives_as_long_as_its_dual() -> None:
    gc.disable()
    try:
        with fw.dual_level():
            bar = tensor(1, 2, requires_grad=True)
            alive = weakref.ref(bar)
            x = fw.make_dual(tensor(1, 2), bar)
            y = x.exp()
            del bar
            assert alive() is not None
            del x, y
            assert alive() is None
    finally:
        gc.enable()


def test_end_of_a_level_frees_the_tangents_of_tensors_that_live_on() -> None:
    with fw.dual_level():
        bar = tensor(1, 2)
        alive = weakref.ref(bar)
        x = fw.make_dual(tensor(1, 2), bar)
        del bar
    assert alive() is None and x.tolist() == [1, 2]


def test_level_leaves_no_switch_behind() -> None:
    before = switches.any_mode
    with fw.dual_level():
        base = tensor(1, 2)
        view = base[:1]
        base.mul_(dual((1, 2), (1, 1)))
        view.mul_(2)
    assert switches.any_mode == before


def test_level_is_open_in_every_thread() -> None:
    found = []
    with fw.dual_level():
        x = dual((2,), (1,))
        thread = threading.Thread(target=lambda: found.append(numbers(tangent(x * x))))
        thread.start()
        thread.join()
    assert found == [[4.0]]


# ---- making and unpacking
def test_dual_is_a_view_of_its_primal() -> None:
    foo, bar = tensor(1, 2), tensor(3, 4)
    with fw.dual_level():
        x = fw.make_dual(foo, bar)
        assert x is not foo and x._base is foo
        assert tangent(x) is bar
        assert tangent(foo) is None
        unpacked = fw.unpack_dual(x)
        assert isinstance(unpacked, fw.UnpackedDualTensor) and unpacked._fields == ("primal", "tangent")
        assert unpacked.primal is not fw.unpack_dual(x).primal
        assert tangent(unpacked.primal) is None


def test_dual_needs_a_level() -> None:
    with pytest.raises(RuntimeError, match="Trying to create a dual Tensor for forward AD but no level exists"):
        fw.make_dual(tensor(1), tensor(1))
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
            fw.make_dual(tensor(1), tensor(1), level=1)
        with pytest.raises(RuntimeError, match="Invalid level given to _fw_primal"):
            fw.unpack_dual(tensor(1), level=1)


def test_dual_refuses_what_cannot_be_its_parts() -> None:
    whole = new_tensor(np.array([1, 2]))
    with fw.dual_level():
        x = dual((1, 2), (1, 2))
        with pytest.raises(ValueError, match=r"Expected tangent to be floating point or complex, but got: torch\.int64"):
            fw.make_dual(tensor(1, 2), whole)
        with pytest.raises(ValueError, match=r"Expected primal to be floating point or complex, but got: torch\.int64"):
            fw.make_dual(whole, whole)
        with pytest.raises(RuntimeError, match=r"different size than that .* is of size \[2\] while .* is of size \[1\]"):
            fw.make_dual(tensor(1, 2), tensor(1))
        with pytest.raises(RuntimeError, match="that itself has a forward gradient at the same level0 is not"):
            fw.make_dual(tensor(1, 2), x)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fw.make_dual(x, tensor(1, 2))


def test_dual_of_a_tensor_that_requires_grad_is_recorded() -> None:
    a = tensor(1, 2, requires_grad=True)
    with fw.dual_level():
        x = fw.make_dual(a, tensor(1, 1))
        assert x.grad_fn.name() == "ViewBackward0"
        assert fw.unpack_dual(x).primal.grad_fn.name() == "torch::autograd::Identity"
        assert grad((x * x).sum(), a)[0].tolist() == [2, 4]
        with no_grad():
            assert fw.make_dual(a, tensor(1, 1)).grad_fn is None


def test_tangent_of_another_layout_is_copied() -> None:
    square = new_tensor(np.arange(4.0).reshape(2, 2))
    bar = new_tensor(np.ones((2, 2)))
    with fw.dual_level():
        x = fw.make_dual(square.t(), bar)
        assert tangent(x) is not bar and tangent(x).stride() == (1, 2)
        assert tangent(x).tolist() == bar.tolist()


def test_tangent_has_a_storage_as_long_as_its_primal() -> None:
    primal, bar = tensor(1, 2, 3, 4, 5)[:4].detach(), tensor(1, 2, 3, 4)
    with fw.dual_level():
        x = fw.make_dual(primal, bar)
        mine = tangent(x)
        mine.mul_(2)
        assert bar.tolist() == [1, 2, 3, 4]
        assert tangent(x.as_strided((5,), (1,), 0)).tolist() == [2, 4, 6, 8, 0]


def test_layout_of_single_and_absent_elements_does_not_matter() -> None:
    one = tensor(1)
    with fw.dual_level():
        bar = one.as_strided((0,), (1,), 1)
        assert tangent(fw.make_dual(one.as_strided((0,), (1,), 0), bar)) is bar
        bar = one.as_strided((1,), (3,), 0)
        assert tangent(fw.make_dual(tensor(1), bar)) is bar


@pytest.mark.parametrize("primal", ["", "conj", "_neg_view"])
@pytest.mark.parametrize("other", ["", "conj", "_neg_view"])
def test_tangent_with_other_bits_is_copied(primal: str, other: str) -> None:
    def make(method: str) -> Any:
        made = new_tensor(np.arange(4) + 1j)
        return getattr(made, method)() if method else made

    x, bar = make(primal), make(other)
    with fw.dual_level():
        made = fw.make_dual(x, bar)
        assert (tangent(made) is bar) == (primal == other)
        assert tangent(made).resolve_conj().resolve_neg().tolist() == bar.resolve_conj().resolve_neg().tolist()
        assert tangent(made[1:]).shape == (3,)


def test_repr_shows_the_tangent_of_duals_only() -> None:
    with fw.dual_level():
        a = tensor(1)
        x = fw.make_dual(a, tensor(2))
        assert "tangent=tensor([2.]" in repr(x)
        assert "tangent=" not in repr(a) and "tangent=" not in repr(fw.unpack_dual(x).primal)


# ---- ops
def test_linear_ops_apply_to_tangents() -> None:
    with fw.dual_level():
        x = dual((1, 2), (3, 4))
        assert numbers(tangent(x + x)) == [6, 8]
        assert numbers(tangent(x + tensor(1, 2))) == [3, 4]
        assert numbers(tangent(5 - x)) == [-3, -4]
        assert numbers(tangent(x + 1)) == [3, 4]
        assert numbers(tangent(x.sum())) == 7


def test_products_follow_the_product_rule() -> None:
    with fw.dual_level():
        x, y = dual((1, 2), (3, 4)), dual((5, 6), (7, 8))
        assert numbers(tangent(x * y)) == [3 * 5 + 1 * 7, 4 * 6 + 2 * 8]
        assert numbers(tangent(x * tensor(2, 3))) == [6, 12]
        assert numbers(tangent(x * 3)) == [9, 12]


def test_tangent_takes_the_shape_of_a_broadcast_result() -> None:
    with fw.dual_level():
        x = fw.make_dual(new_tensor(np.ones((3, 1))), new_tensor(np.ones((3, 1))))
        for made in (x + tensor(1, 2), x / tensor(1, 2), tensor(1, 2) - x):
            assert tangent(made).shape == (3, 2) and tangent(made).stride() == made.stride()


def test_elementwise_ops_of_complex_numbers() -> None:
    z = new_tensor(np.array([1 + 2j]))
    with fw.dual_level():
        x = fw.make_dual(z, new_tensor(np.array([3 + 1j])))
        assert tangent(x.sin()).tolist() == [pytest.approx(complex(np.cos(1 + 2j) * (3 + 1j)))]
        assert tangent(x / (2 + 1j)).tolist() == [pytest.approx((3 + 1j) / (2 + 1j))]


def test_outputs_that_are_not_differentiable_have_no_tangent() -> None:
    with fw.dual_level():
        x = dual((1, 3), (5, 7))
        values, indices = x.max(0)
        assert numbers(tangent(values)) == 7 and tangent(indices) is None
        assert tangent(x == x) is None
        assert tangent(x.detach()) is None
        assert tangent(x.data) is None


def test_comparison_in_place_makes_the_tangent_zero() -> None:
    with fw.dual_level():
        x = dual((1, 3), (5, 7))
        x.eq_(tensor(1, 2))
        assert numbers(x) == [1, 0] and numbers(tangent(x)) == [0, 0]


def test_out_is_refused() -> None:
    with fw.dual_level():
        x, a = dual((1,), (1,)), tensor(1)
        for arguments, out in (((a, a), x), ((x, a), tensor(1))):
            with pytest.raises(RuntimeError, match=r"forward AD with add_out .* because it is an out= function"):
                torch.add(*arguments, out=out)


def test_lists_of_tensors_may_have_some_duals() -> None:
    with fw.dual_level():
        made = torch.cat([tensor(1), dual((2, 3), (4, 5))])
        assert numbers(tangent(made)) == [0, 4, 5]
        first, second = torch.split(made, 2)
        assert numbers(tangent(first)) == [0, 4] and numbers(tangent(second)) == [5]
        assert tangent(first)._base is tangent(made)


# ---- switches
def test_no_grad_does_not_switch_forward_mode_off() -> None:
    with fw.dual_level(), no_grad():
        assert numbers(tangent(dual((1,), (2,)) * 3)) == [6]


def test_forward_mode_can_be_switched_off() -> None:
    with fw.dual_level():
        x = dual((1,), (2,))
        with fw._set_fwd_grad_enabled(False):
            assert not fw._is_fwd_grad_enabled()
            assert tangent(x) is None
            hidden = x * 2
        assert fw._is_fwd_grad_enabled()
        assert tangent(hidden) is None and numbers(tangent(x)) == [2]


def test_inference_mode_drops_tangents() -> None:
    with fw.dual_level():
        x = dual((1,), (2,))
        with inference_mode():
            assert tangent(x * 2) is None
            foo = tensor(1) + 0
            made = fw.make_dual(foo, tensor(2))
            assert not made._is_view()
            made += 1
            assert foo.tolist() == [2]


# ---- views and writes
def test_view_of_a_dual_has_the_same_view_of_the_tangent() -> None:
    with fw.dual_level():
        x = dual((1, 2, 3), (4, 5, 6))
        assert numbers(tangent(x[1:])) == [5, 6]
        assert tangent(x[1:])._base is tangent(x)


def test_write_to_a_dual_changes_the_tangent_in_place() -> None:
    foo, bar = tensor(1, 2), tensor(1, 1)
    with fw.dual_level():
        x = fw.make_dual(foo, bar)
        x *= 2
        assert tangent(foo) is None and foo.tolist() == [2, 4]
        assert tangent(x) is bar and bar.tolist() == [2, 2]
        primal, own = fw.unpack_dual(x)
        primal *= 2
        own *= 2
        assert numbers(x) == [4, 8] and numbers(tangent(x)) == [4, 4]


@pytest.mark.parametrize(("write", "expected"), [
    (lambda x: x.exp_(), np.exp(0.5) * 3), (lambda x: x.sin_(), np.cos(0.5) * 3), (lambda x: x.mul_(x), 2 * 0.5 * 3),
    (lambda x: x.add_(x), 6), (lambda x: x.div_(x), 0), (lambda x: x.zero_(), 0), (lambda x: x.fill_(2), 0),
    (lambda x: x.neg_(), -3), (lambda x: x.copy_(tensor(1)), 0),
])
def test_tangent_after_a_write(write: Callable[[Any], Any], expected: float) -> None:
    with fw.dual_level():
        x = dual((0.5,), (3,))
        bar = tangent(x)
        write(x)
        assert tangent(x) is bar
        assert bar.tolist() == [pytest.approx(expected)]


def test_write_to_a_view_of_a_dual_reaches_the_dual() -> None:
    with fw.dual_level():
        x = dual((1, 2), (1, 1))
        view = x[:1]
        view *= 2
        assert numbers(tangent(x)) == [2, 1] and numbers(tangent(view)) == [2]


def test_write_of_a_dual_gives_the_target_a_tangent() -> None:
    with fw.dual_level():
        x = dual((1, 2), (3, 4))
        baz = tensor(0, 0)
        baz += x
        assert numbers(tangent(baz)) == [3, 4]
        baz = tensor(0, 0)
        baz[0] = x[0]
        assert numbers(tangent(baz)) == [3, 0]
        baz = tensor(0, 0)
        view = baz.detach()
        view += x
        assert tangent(baz) is None


@pytest.mark.parametrize("write", [lambda x, y: x.add_(y), lambda x, y: x.mul_(y), lambda x, y: x.copy_(y)])
def test_write_of_a_dual_through_a_view_gives_the_base_a_tangent(write: Callable[[Any, Any], Any]) -> None:
    base = new_tensor(np.arange(4.0).reshape(2, 2) + 1)
    view = base.transpose(0, 1)
    with fw.dual_level():
        write(view, fw.make_dual(new_tensor(np.arange(4.0).reshape(2, 2)), new_tensor(np.ones((2, 2)))))
        assert tangent(view)._base is tangent(base)
        before = tangent(base).clone()
        view *= 2
        assert tangent(base).tolist() == (before * 2).tolist()


def test_base_and_view_of_the_same_layout_share_one_tangent() -> None:
    base = new_tensor(np.zeros((2, 2)))
    view = base.view(2, 2)
    with fw.dual_level():
        x = fw.make_dual(new_tensor(np.zeros((2, 2))), new_tensor(np.ones((2, 2))))
        view.copy_(x)
        assert tangent(view) is tangent(base) and tangent(view) is not tangent(x)


def test_views_made_before_ask_their_base_for_a_tangent() -> None:
    with fw.dual_level():
        base = tensor(1, 2, 3)
        view = base[1:]
        base += dual((1, 1, 1), (4, 5, 6))
        assert numbers(tangent(view)) == [5, 6]
        assert tangent(view)._base is tangent(base)
        other = base[:1]
        assert numbers(tangent(other * 2)) == [8]
    with fw.dual_level():
        base = tensor(1, 2, 3)
        view = base[1:]
        base += dual((1, 1, 1), (4, 5, 6))
        assert numbers(tangent(view * 2)) == [10, 12]


def test_copy_does_not_share_the_tangent() -> None:
    with fw.dual_level():
        x = dual((1, 2), (3, 4))
        target = tensor(0, 0)
        target.copy_(x)
        assert tangent(target) is not tangent(x) and numbers(tangent(target)) == [3, 4]
        wide = new_tensor(np.zeros((3, 2)))
        wide.copy_(x)
        assert numbers(tangent(wide)) == [[3, 4]] * 3


def test_detached_view_keeps_nothing_alive() -> None:
    foo = tensor(1)
    alive = weakref.ref(foo)
    out = foo.detach()
    del foo
    assert alive() is None and out.tolist() == [1]


# ---- both modes together
def test_gradient_of_a_tangent() -> None:
    a = tensor(0.5, requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(a, tensor(1)).sin()
        found, = grad(tangent(y), a)
    assert found.tolist() == [pytest.approx(-np.sin(0.5))]


@pytest.mark.parametrize("function", [lambda x: x.sin(), lambda x: x.exp(), lambda x: x * x * x, lambda x: 1 / x,
                                      lambda x: (x * 1).exp_(), lambda x: (x * 1).mul_(x)])
def test_tangent_of_a_gradient(function: Callable[[Any], Any]) -> None:
    value, step = 0.5, 1e-5

    def slope(number: float) -> float:
        a = tensor(number, requires_grad=True)
        return grad(function(a), a, tensor(1))[0].tolist()[0]

    with fw.dual_level():
        a = tensor(value, requires_grad=True)
        x = fw.make_dual(a, tensor(1))
        found, = grad(function(x), a, tensor(1))
        assert tangent(found).tolist() == [pytest.approx((slope(value + step) - slope(value - step)) / (2 * step), rel=1e-6)]
        with BaseTorchDispatchMode():
            found, = grad(function(x), a, tensor(1))
            assert x.data.is_leaf and tangent(x.data) is None
        assert tangent(found).tolist() == [pytest.approx((slope(value + step) - slope(value - step)) / (2 * step), rel=1e-6)]


def test_tangent_that_requires_grad_makes_no_cycle() -> None:
    gc.disable()
    try:
        with fw.dual_level():
            a = tensor(1, 2, requires_grad=True)
            x = fw.make_dual(tensor(1, 2), a)
            y = x.exp()
            alive = weakref.ref(y)
            del x, y
            assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64])
def test_integer_targets_of_writes_have_no_tangent(dtype: Any) -> None:
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.full((2,), 3.0))
        target = torch.zeros(2, dtype=dtype)
        target.copy_(dual)
        other = torch.zeros(2, dtype=dtype)
        other.view(-1)[:1].copy_(dual[:1])
        assert fw.unpack_dual(target).tangent is None and fw.unpack_dual(other).tangent is None
        assert target.tolist() == [1, 1] and other.tolist() == [1, 0]
