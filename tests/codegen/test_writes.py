"""Kernels in C that write into an array, against the reference in NumPy, in every dtype and layout."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.opdef import find_packet
from retrograd.core.tensor import new_tensor

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool,
          torch.complex64)
VALUES = (2, -1, 0.5, True, float("nan"), 1e300, 2**40, 1j)
CALLS = [("zero_", "default", ()), *[("fill_", "Scalar", (value,)) for value in VALUES]]


def targets(dtype: Any) -> list[Any]:
    base = np.arange(24).reshape(4, 6).astype(dtype.numpy)
    readonly = base.copy()
    readonly.flags.writeable = False
    return [base.copy(), base.copy().T, base.copy()[:, ::2], base.copy()[1:3], np.ones((), dtype.numpy), base[:0].copy(),
            np.broadcast_to(base[:1], (3, 6)), readonly]


def outcome(op: Any, target: Any, args: tuple[Any, ...], native: bool) -> Any:
    """What is in the target's memory after the call, or the error."""
    memory = target.base if target.base is not None else target
    kernel, op.native = op.native, op.native if native else None
    try:
        op(new_tensor(target), *args)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__, str(error)
    finally:
        op.native = kernel
    return memory.tobytes()


@pytest.mark.parametrize("name, overload, args", CALLS)
def test_writing_one_value_agrees_with_the_reference(name: str, overload: str, args: tuple[Any, ...]) -> None:
    op = getattr(find_packet(name), overload)
    op._ready or op.prepare()
    for dtype in DTYPES:
        for k in range(len(targets(dtype))):
            assert outcome(op, targets(dtype)[k], args, True) == outcome(op, targets(dtype)[k], args, False), (dtype, k)


def test_copying_agrees_with_the_reference() -> None:
    op: Any = find_packet("copy_").default       # type: ignore[union-attr]
    op._ready or op.prepare()
    for dtype in DTYPES:
        sources = [np.arange(100, 124).reshape(4, 6).astype(dtype.numpy), np.arange(6).astype(dtype.numpy),
                   np.arange(24).reshape(6, 4).astype(dtype.numpy).T, np.arange(24.0).reshape(4, 6)]
        for k in range(len(targets(dtype))):
            for source in sources:
                args = (new_tensor(source), False)
                assert outcome(op, targets(dtype)[k], args, True) == outcome(op, targets(dtype)[k], args, False), (dtype, k)


def test_copying_onto_itself_keeps_the_values() -> None:
    x = torch.arange(6.0)
    x.copy_(x.view(6))
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[1:].copy_(x[:-1])


def test_in_place_forms_write_what_the_functions_compute() -> None:
    x = torch.tensor([-2.0, -0.5, 0.5, 3.0])
    for name, args in (("abs", ()), ("clamp", (-1, 1)), ("lt", (0.0,)), ("leaky_relu", (0.1,)), ("cumsum", (0,)),
                       ("elu", ()), ("threshold", (0.0, 9.0)), ("asinh", ()), ("eq", (x,))):
        function, write = getattr(torch.ops.aten, name), getattr(torch.ops.aten, name + "_")
        written = x.clone()
        assert write(written, *args) is written
        assert written.tolist() == function(x, *args).to(x.dtype).tolist(), name
        assert written._version == 1
    counts = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        counts.mul_(0.5)


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "int64", "int32", "uint8"])
@pytest.mark.parametrize("inner", [1, 2, 3, 5, 15, 16, 17, 20, 63])
def test_short_rows_of_operands_that_are_spread(inner: int, kind: str) -> None:
    dtype = getattr(torch, kind)
    x = torch.arange(5 * inner).remainder(7).to(dtype)
    left, right = x.view(5, 1, inner, 1), x.view(1, 5, 1, inner)
    made = left * right
    wanted = torch.from_numpy(left.to(torch.float64).numpy() * right.to(torch.float64).numpy())
    assert torch.equal(made.to(torch.float64), wanted)
    apart = right.transpose(1, 3)
    assert torch.equal((left * apart).double(), torch.from_numpy(left.double().numpy() * apart.double().numpy()))


@pytest.mark.parametrize("call", [
    lambda x, y, i: x.scatter_add_(0, i, y), lambda x, y, i: x.index_add_(0, i[0], y), lambda x, y, i: x.masked_fill_(y > 3, 2),
    lambda x, y, i: x.put_(i, y, True), lambda x, y, i: x.cumsum_(1), lambda x, y, i: x.tril_()])
def test_in_place_ops_write_what_their_functions_return(call: Any) -> None:
    for dtype in (torch.float32, torch.float64, torch.int64):
        x = torch.arange(16).reshape(4, 4).to(dtype)
        y, i = x.flip(0).clone(), torch.tensor([[2, 0, 1, 3]] * 4)
        wide = torch.zeros(8, 4, dtype=dtype)
        view = wide[2:6].copy_(x)
        made = call(x, y, i)
        assert made is x
        assert x._version == 1
        assert torch.equal(call(view, y, i), x)
        assert torch.equal(wide[2:6], x)
        assert wide[:2].count_nonzero() == wide[6:].count_nonzero() == 0


def test_in_place_ops_refuse_to_write_to_what_they_read() -> None:
    x, i = torch.arange(16).reshape(4, 4), torch.tensor([[2, 0, 1, 3]] * 4)
    for call in (lambda: x.scatter_(0, i, x), lambda: x.scatter_add_(0, i, x), lambda: x.index_add_(0, i[0], x)):
        with pytest.raises(RuntimeError, match="unsupported operation"):
            call()
    assert torch.equal(x, torch.arange(16).reshape(4, 4))


def test_contiguous_copies_are_by_rows() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    for view in (x.permute(2, 0, 1), x[:, :, ::2], x[:1].expand(3, 3, 4)):
        made = view.contiguous()
        assert made.is_contiguous()
        assert made.tolist() == view.tolist()
        assert view.clone(memory_format=torch.contiguous_format).stride() == made.stride()


def call_with(op: Any, native: bool, *args: Any) -> Any:
    kernel, op.native = op.native, op.native if native else None
    try:
        return op(*args)
    finally:
        op.native = kernel


ELSEWHERE = [("clone", "default", ()), ("flip", "default", ([0],)), ("flip", "default", ([1],)), ("flip", "default", ([0, 1],)),
             ("roll", "default", ([3], [1])), ("roll", "default", ([7], [])), ("index_select", "default", (0, "places")),
             ("index_fill", "int_Scalar", (0, "places", 2)), ("put", "default", ("places", "values")),
             ("index_put", "default", (["places"], 3)), ("diagonal_scatter", "default", ("values",)),
             ("pixel_shuffle", "default", (2,)), ("constant_pad_nd", "default", ([1, 2], 3))]


@pytest.mark.parametrize("name, overload, args", ELSEWHERE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("shape", [(2500, 4), (40, 1000)])
def test_elements_of_larger_arrays_in_other_places(name: str, overload: str, args: Any, dtype: Any, shape: Any) -> None:
    op: Any = getattr(find_packet(name), overload)
    op._ready or op.prepare()
    x = torch.arange(shape[0] * shape[1]).remainder(127).to(dtype).reshape(shape)
    places = torch.tensor([3, 0, 7, 30])

    def given(a: Any) -> Any:
        if isinstance(a, list):
            return [given(item) for item in a]
        return places if a == "places" else x[:2, :4].diagonal(0).repeat(2)[:4] if a == "values" else a

    if name == "pixel_shuffle":
        x = x.reshape(-1, 4, 2, 5)
    if name == "index_put":
        args = (args[0], x[4:8].clone())
    if name == "diagonal_scatter":
        args = (x.diagonal().flip(0).clone(),)
    arguments = [given(a) for a in args]
    made = call_with(op, True, x, *arguments)
    wanted = call_with(op, False, x, *arguments)
    assert made.stride() == wanted.stride()
    assert torch.equal(made, wanted)


@pytest.mark.parametrize("count", [10_000, 100_000])
def test_large_copies_stay_in_the_kernel(count: int) -> None:
    clone: Any = find_packet("clone").default       # type: ignore[union-attr]
    copy: Any = find_packet("copy_").default        # type: ignore[union-attr]
    for op in (clone, copy):
        op._ready or op.prepare()
        if op.native is None:
            return                                  # nothing was compiled
    array = np.arange(count, dtype=np.float32)
    assert (clone.native(array, None) == array).all()
    to = np.zeros_like(array)
    assert copy.native(to, array, False) is to
    assert (to == array).all()


def test_filling_what_lies_in_another_order() -> None:
    x = torch.zeros(3, 4, 5)
    for view in (x.permute(2, 0, 1), x.transpose(0, 1), x.permute(2, 0, 1)[:, :, 1:2], x[:, 1:3].transpose(0, 1), x[:, :, ::2]):
        x.zero_()
        view.fill_(2)
        assert x.sum().item() == 2 * view.numel()
        view.zero_()
        assert not x.any()
        made = torch.fill(view, 3)
        assert made.unique().tolist() == [3]
        assert made.stride() == torch.empty_like(view).stride()
