"""The dispatcher: the fast path and the slow path agree, lazy bits are resolved, out= and writes keep their rules."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.core import dispatch
from retrograd.core.opdef import find_packet
from retrograd.core.state import add_slow_path, switches
from retrograd.core.tensor import operators

dispatcher = getattr(operators.dispatcher, "behind", operators.dispatcher)         # that of dispatch, also in plain Python


def op_called(name: str, overload: str = "default") -> Any:
    op = getattr(find_packet(name), overload)
    if not op._ready:
        op.prepare()
    return op


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def long_way(op: Any, args: Any) -> Any:
    """All layers, although nothing asks for them."""
    add_slow_path(1)
    try:
        return dispatch.call(op, args)
    finally:
        add_slow_path(-1)


# ---- two ways, one result
@pytest.mark.parametrize(("name", "overload", "arguments"), [
    ("add", "Tensor", lambda x: [x, x, 1]), ("add", "Tensor", lambda x: [x, x, 3]), ("mul", "Tensor", lambda x: [x, x * 2]),
    ("exp", "default", lambda x: [x]), ("sum", "default", lambda x: [x, None]), ("t", "default", lambda x: [x.view(1, 2)]),
    ("unbind", "int", lambda x: [x, 0]), ("sort", "default", lambda x: [x, -1, False]),
    ("cat", "default", lambda x: [[x, x * 2], 0]),
    ("view", "default", lambda x: [x, [2, 1]]), ("relu", "default", lambda x: [x]), ("eq", "Tensor", lambda x: [x, x]),
])
def test_short_and_long_way_agree(name: str, overload: str, arguments: Any) -> None:
    op = op_called(name, overload)
    x = leaf(1.0, -2.0)
    args = arguments(x)
    for short, long in zip(as_tuple(dispatch.call(op, args)), as_tuple(long_way(op, args)), strict=True):
        assert torch.equal(short, long) and short.dtype is long.dtype and short.stride() == long.stride()
        assert type(short.grad_fn) is type(long.grad_fn) and short.output_nr == long.output_nr
        assert short._is_view() == long._is_view() and short._version == long._version
        if short.requires_grad:
            gradients = [torch.autograd.grad(t, x, torch.ones(t.shape), True)[0] for t in (short, long)]
            assert torch.equal(*gradients)


def as_tuple(result: Any) -> tuple[Any, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def test_default_arguments_are_told_from_others_that_are_equal() -> None:
    op = op_called("add", "Tensor")
    x = leaf(1.0)
    assert [dispatch.call(op, [x, x, alpha]).grad_fn._saved_alpha for alpha in (1, 1.0)] == [1, 1.0]
    assert type(dispatch.call(op, [x, x, 1.0]).grad_fn._saved_alpha) is float
    assert dispatch.call(op, [x, x, 2.5]).item() == 3.5


@pytest.mark.parametrize(("dtype", "number", "expected"), [
    ("float32", 2.0, "float32"), ("float32", 2**40, "float32"), ("int64", 2, "int64"), ("int64", 2.0, "float32"),
    ("uint8", 3, "uint8"), ("float32", True, "float32"), ("float16", 2.0, "float16"), ("bool", 2, "int64"),
    ("float32", 1j, "complex64"),
])
def test_numbers_give_the_dtype_that_pytorch_gives(dtype: str, number: Any, expected: str) -> None:
    a = torch.ones(2, dtype=getattr(torch, dtype))
    assert (a * number).dtype == dispatcher.binary(operators.mul, a, number).dtype == getattr(torch, expected)


def test_a_tensor_without_anything_unusual_is_ordinary() -> None:
    x = torch.ones(2)
    assert dispatch.is_ordinary(x)
    with torch.no_grad():
        assert dispatch.is_ordinary(x)
    with torch.inference_mode():
        assert not dispatch.is_ordinary(x)
    assert not dispatch.is_ordinary(torch.ones(2, dtype=torch.complex64).conj())


# ---- switches
def test_another_thread_in_no_grad_does_not_switch_this_one_off() -> None:
    switches.any_mode += 1                 # as if it were inside
    try:
        y = leaf(1.0) * 2
        assert y.requires_grad and y.grad_fn.name() == "MulBackward0"
    finally:
        switches.any_mode -= 1


def test_an_error_on_any_layer_leaves_the_switches_alone() -> None:
    for scope in (torch.no_grad, torch.inference_mode, forward_ad.dual_level):
        with scope(), pytest.raises(RuntimeError):
            torch.ones(2) + torch.ones(3)


# ---- lazy bits
def test_conjugation_is_resolved_for_those_who_do_not_know_it() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    lazy = z.conj()
    assert lazy.is_conj() and lazy.data_ptr() == z.data_ptr()
    assert (lazy * 2).tolist() == [2 - 4j, 6 + 2j] and not (lazy * 2).is_conj()
    assert lazy.view(2, 1).is_conj() and not lazy.conj().is_conj()
    assert lazy.resolve_conj().tolist() == [1 - 2j, 3 + 1j]
    assert dispatch.resolve(z) is z


def test_a_write_through_a_conjugated_view_lands_conjugated() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    z.conj().add_(1j)
    assert z.tolist() == [1 + 1j, 3 - 2j]
    z.conj().copy_(torch.tensor([5 + 5j, 6 + 6j]))
    assert z.tolist() == [5 - 5j, 6 - 6j]


def test_negation_is_resolved_too() -> None:
    z = torch.tensor([1 + 2j])
    imaginary = z.conj().imag
    assert imaginary.is_neg() and imaginary.item() == -2.0
    imaginary.mul_(3)
    assert z.item() == 1 + 6j
    assert (imaginary + 1).item() == -5.0 and not (imaginary + 1).is_neg()


# ---- out=
def test_out_is_filled_resized_and_returned() -> None:
    out = torch.empty(0)
    place = out
    assert torch.add(torch.ones(3), 2, out=out) is place
    assert out.tolist() == [3.0] * 3
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(torch.ones(2), 2, out=out)
    assert out.tolist() == [3.0] * 2


def test_out_takes_no_part_in_autograd() -> None:
    message = r"add\(\): functions with out=... arguments don't support automatic differentiation, but one of the arguments"
    with pytest.raises(RuntimeError, match=message):
        torch.add(leaf(1.0), 1, out=torch.empty(1))
    with pytest.raises(RuntimeError, match=message):
        torch.add(torch.ones(1), 1, out=leaf(1.0))
    with torch.no_grad():
        assert torch.add(leaf(1.0), 1, out=torch.empty(1)).item() == 2.0


def test_out_must_be_able_to_hold_the_result() -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.add(torch.ones(1), 1.5, out=torch.empty(1, dtype=torch.int64))
    memory = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        torch.add(memory[:3], 1, out=memory[1:])


def test_several_outs() -> None:
    values, places = torch.empty(2), torch.empty(2, dtype=torch.int64)
    made = torch.sort(torch.tensor([2.0, 1.0]), out=(values, places))
    assert made.values is values and values.tolist() == [1.0, 2.0] and places.tolist() == [1, 0]


# ---- writing
def test_a_write_to_part_of_its_own_memory_is_refused() -> None:
    memory = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input tensor and the written-to"):
        memory[1:].add_(memory[:3])


def test_a_write_keeps_the_dtype_or_is_refused() -> None:
    whole = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        whole.add_(0.5)
    assert whole.tolist() == [1, 1] and whole._version == 0
    half = torch.ones(2, dtype=torch.float16)
    half.add_(torch.ones(2, dtype=torch.float64))
    assert half.dtype == torch.float16 and half.tolist() == [2.0, 2.0]


def test_a_write_that_fails_leaves_history_and_version() -> None:
    y = leaf(1.0, 2.0) * 1
    node = y.grad_fn
    with pytest.raises(RuntimeError, match="must match"):
        y.add_(torch.ones(3))
    assert y.grad_fn is node and y._version == 0


# ---- devices
def test_devices_that_are_not_there() -> None:
    with pytest.raises((RuntimeError, AssertionError)):
        torch.ones(2, device="cuda")
    assert torch.ones(2, device="meta").device.type == "meta"
    assert (torch.ones(2, 1, device="meta") + torch.ones(3, device="meta")).shape == (2, 3)


# ---- entrances
def test_the_dispatcher_refuses_what_is_no_operand() -> None:
    class Right:
        def __radd__(self, other: Any) -> str:
            return "right"
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'str'"):
        dispatcher.binary(operators.add, torch.ones(1), "text")
    assert dispatcher.binary(operators.add, torch.ones(1), Right()) is NotImplemented
    assert torch.ones(1) + Right() == "right"
