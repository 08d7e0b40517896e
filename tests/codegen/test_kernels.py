"""Every compiled kernel against the NumPy reference, on every sample, in every dtype and layout, on 1, 2 and 7 threads.

Without a compiled core there are no kernels to compare; tests/codegen/test_loops.py reads the programs in both builds.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import fast_kernels
from retrograd.core.kernels import array_of, promote_operands, run_kernel
from retrograd.core.opdef import OPS
from retrograd.core.tensor import new_tensor
from tests.ops.cases import REGISTRY, Maker

LOWERED = sorted(f"{op.name}.{op.overload}" for packet in OPS.values() for op in packet.overloads_
                 if op.lower and op.functional is None and not op.schema.is_inplace and op.lower not in ("matmul", "bmm"))
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool]
TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "bfloat16": 2e-2, "float16": 3e-3, "complex64": 2e-5, "complex128": 1e-10}


def find(name: str) -> Any:
    packet, _, overload = name.partition(".")
    op = getattr(OPS[packet], overload)
    if not op._ready:
        op.prepare()
    return op


def bound(op: Any, sample: Any) -> list[Any]:
    return list(op.schema.bind(sample.args, sample.kwargs))


def calls(name: str) -> Iterator[tuple[Any, list[Any]]]:
    """The op with the arguments of each of its samples."""
    op = find(name)
    for sample in REGISTRY[name](Maker(name)):
        yield op, bound(op, sample)


def recast(value: Any, dtype: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
        array = value.array
        made = np.empty_like(array, dtype=dtype.numpy)
        with np.errstate(all="ignore"):
            made[...] = array if dtype.category >= 2 else np.trunc(array * 3)
        return new_tensor(made)
    return value.detach() if isinstance(value, torch.Tensor) else value


def layouts(value: Any, which: str) -> Any:
    """Such values in memory that is transposed, has gaps, is expanded or is not aligned."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    array = value.array
    if which == "transposed":
        return new_tensor(np.ascontiguousarray(array.T).T)
    if which == "gaps":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 3), array.dtype)
        wide[..., ::3] = array
        return new_tensor(wide[..., ::3])
    if which == "expanded" and array.size:
        return new_tensor(np.broadcast_to(array[:1], array.shape))
    if which == "one number" and array.size:
        return new_tensor(np.broadcast_to(array.reshape(-1)[:1].reshape((1,) * array.ndim), array.shape))
    if which == "misaligned" and array.dtype.kind != "V":
        raw = np.zeros(array.nbytes + 1, np.uint8)
        made = raw[1:].view(array.dtype).reshape(array.shape)
        made[...] = array
        return new_tensor(made)
    return value


def both_ways(op: Any, args: list[Any]) -> tuple[Any, Any] | None:
    """The kernel's result and the reference's; None where the reference or the kernel refuses."""
    if op.native is None:
        return None
    values = [array_of(a) for a in args]
    promoted = list(values)
    for i in op.dtype_args:
        promoted[i] = None if values[i] is None else values[i].numpy
    with np.errstate(all="ignore"):
        try:
            if op.check is not None:
                op.check(*args)
            if op.promote is not None:
                promote_operands(op, args, promoted)
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            return None
        made = op.native(*promoted)
        if made is None:
            return None
        if op.composite:                      # whose kernel, of tensors, stands for the calls that are recorded
            return made, array_of(op.compute(*args))
        made = run_kernel(op, args, list(values))
        kernel, op.native = op.native, None
        try:
            return made, run_kernel(op, args, list(values))
        except (RuntimeError, NotImplementedError, IndexError, TypeError, ValueError) as error:
            raise AssertionError(f"{op} computes what the reference refuses: {error}") from error
        finally:
            op.native = kernel


def compare(name: str, made: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert type(made) is type(wanted) and len(made) == len(wanted)
        for m, w in zip(made, wanted, strict=True):
            compare(name, m, w)
        return
    wanted = np.asarray(wanted)
    assert made.dtype == wanted.dtype and made.shape == wanted.shape, (name, made.dtype, wanted.dtype, made.shape, wanted.shape)
    if made.size and made.ndim:
        assert new_tensor(made).stride() == new_tensor(wanted).stride(), (name, made.shape, made.strides, wanted.strides)
    tolerance = TOLERANCE.get(wanted.dtype.name, 0)
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(made.astype(wide), wanted.astype(wide), rtol=tolerance, atol=tolerance / 10, err_msg=name)


@pytest.mark.parametrize("name", [n for n in LOWERED if n in REGISTRY])
def test_kernel_agrees_with_reference_on_samples(name: str) -> None:
    taken = int(find(name).native is None)
    for op, args in calls(name):
        for dtype in DTYPES:
            cast = [recast(a, dtype) for a in args]
            for layout in ("as is", "transposed", "gaps", "expanded", "one number", "misaligned"):
                found = both_ways(op, [layouts(a, layout) for a in cast])
                if found is not None:
                    taken += 1
                    compare(f"{name} {dtype} {layout}", *found)
    assert taken, "the kernel takes no sample"


@pytest.mark.parametrize("name", [n for n in LOWERED if n in REGISTRY])
def test_kernel_agrees_with_reference_on_special_values(name: str) -> None:
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, 1e-15, -3.0, 1e15]
    for op, args in calls(name):
        for dtype in (torch.float32, torch.float64):
            def poisoned(value: Any, dtype: Any = dtype) -> Any:
                value = recast(value, dtype)
                if isinstance(value, torch.Tensor) and value.dtype is dtype and value.dim():
                    flat = np.resize(special, value.numel()).astype(value.array.dtype)
                    return new_tensor(flat.reshape(tuple(value.shape)))
                return value
            found = both_ways(op, [poisoned(a) for a in args])
            if found is not None:
                compare(f"{name} {dtype} special", *found)


def bits(made: Any) -> bytes:
    return b"".join(bytes(np.asarray(m).data) for m in (made if isinstance(made, tuple) else (made,)))


SHAPES = [(0,), (1,), (17,), (5, 0), (3, 1, 4), (70_001,), (300, 257), (257, 300), (40, 41, 43), (20_000, 3), (3, 20_000)]


@pytest.mark.parametrize("name", LOWERED)
def test_bits_do_not_depend_on_threads(name: str) -> None:
    op = find(name)
    native = fast_kernels.native
    random = np.random.default_rng(0)
    tensors = [p for p in op.schema.params if p.type == "Tensor" and not p.is_list]
    others = any(p.required and p.type != "Tensor" for p in op.schema.params)
    if op.native is None or others or len(tensors) != len(op.tensor_args):
        return
    threads = native.get_threads()
    try:
        for shape in SHAPES:
            arrays = [random.random(shape).astype(np.float32) + 0.25 for _ in tensors]
            made = []
            for count in (1, 2, 7):
                native.set_threads(count)
                made.append(op.native(*arrays))
            for other in made[1:]:
                assert (made[0] is None) == (other is None), (name, shape)
                assert made[0] is None or bits(made[0]) == bits(other), (name, shape)
    finally:
        native.set_threads(threads)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_short_rows_give_the_bits_of_one_row_alone(name: str, dtype: str) -> None:
    generator = np.random.default_rng(0)
    reduce = getattr(torch, name)
    for n in (*range(1, 70), 127, 200):
        x = torch.from_numpy((generator.standard_normal((5, 3, n)) * 3).astype(dtype))
        for rows in (x, x.transpose(0, 1), x[::2, 1:]):
            made = reduce(rows, dim=(-1,)) if name != "prod" else reduce(rows, dim=-1)
            alone = [[reduce(row.contiguous()).item() if name == "prod" else reduce(row, dim=(0,)).item() for row in plane]
                     for plane in rows]
            assert made.tolist() == alone, n
        with_nan = x.to(torch.float64)
        with_nan[2, 1, n - 1] = float("nan")
        assert reduce(with_nan, dim=-1).isnan().nonzero().tolist() == [[2, 1]], n
