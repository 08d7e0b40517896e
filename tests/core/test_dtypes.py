"""Dtypes: identity, promotion against PyTorch's recorded tables, inference from values, defaults, limits."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograd.core import dtypes as D
from retrograd.core.dtypes import (
    binary_dtype,
    can_cast,
    dtype_of,
    finfo,
    iinfo,
    promote_types,
    result_type_of,
    scalar_dtype,
)

ORDER = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
BY_ABBR = {each.abbr: each for each in (*D.ALL, D.complex32)}

# Recorded: row and column in the order above.
PROMOTE_TYPES = """
b8 u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128
u8 u8 i16 i16 i32 i64 f16 bf16 f32 f64 c64 c128
i8 i16 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128
i16 i16 i16 i16 i32 i64 f16 bf16 f32 f64 c64 c128
i32 i32 i32 i32 i32 i64 f16 bf16 f32 f64 c64 c128
i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64 c64 c128
f16 f16 f16 f16 f16 f16 f16 f32 f32 f64 c64 c128
bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 c64 c128
f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 c64 c128
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128
c64 c64 c64 c64 c64 c64 c64 c64 c64 c128 c64 c128
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""
# The row is a tensor with dimensions, the column a 0-d one.
WITH_ZERO_DIM = """
b8 u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128
u8 u8 u8 u8 u8 u8 f16 bf16 f32 f64 c64 c128
i8 i8 i8 i8 i8 i8 f16 bf16 f32 f64 c64 c128
i16 i16 i16 i16 i16 i16 f16 bf16 f32 f64 c64 c128
i32 i32 i32 i32 i32 i32 f16 bf16 f32 f64 c64 c128
i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64 c64 c128
f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 c32 c32
bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 c64 c64
f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 c64 c64
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128
c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64 c64
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""


def cells(table: str) -> list[tuple[D.dtype, D.dtype, D.dtype]]:
    rows = [line.split() for line in table.strip().splitlines()]
    return [(D.BY_NAME[row], D.BY_NAME[column], BY_ABBR[rows[i][j]])
            for i, row in enumerate(ORDER) for j, column in enumerate(ORDER)]


PROMOTABLE = st.sampled_from([D.BY_NAME[name] for name in ORDER])


@pytest.fixture(autouse=True)
def reset_default() -> Iterator[None]:
    yield
    D.set_default_dtype(D.float32)


@pytest.mark.parametrize("each", D.ALL, ids=repr)
def test_identity_survives_pickle_and_copy(each: D.dtype) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(each, protocol)) is each
    assert copy.copy(each) is each and copy.deepcopy(each) is each
    assert D.from_numpy(each.numpy) is each
    assert each.itemsize == each.numpy.itemsize
    assert repr(each) == f"torch.{each.name}" == str(each)


def test_properties() -> None:
    assert [each.name for each in D.ALL if each.is_floating_point] == ["float16", "bfloat16", "float32", "float64"]
    assert [each.name for each in D.ALL if not each.is_signed] == ["bool", "uint8", "uint16", "uint32", "uint64"]
    assert [each.legacy for each in D.ALL if each.is_complex] == ["ComplexFloat", "ComplexDouble"]
    assert D.float64.to_complex() is D.complex128.to_complex() is D.complex128
    assert D.bfloat16.to_complex() is D.complex64
    assert D.complex64.to_real() is D.float32 and D.int8.to_real() is D.int8
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Byte"):
        D.uint8.to_complex()
    with pytest.raises(TypeError, match=r"cannot create 'torch\.dtype' instances"):
        D.dtype()
    assert D.ALIASES["long"] is D.int64 and D.ALIASES["half"] is D.float16


def test_promote_types_table() -> None:
    for a, b, expected in cells(PROMOTE_TYPES):
        assert promote_types(a, b) is expected
        for ndim in (0, 2):
            assert binary_dtype(a, ndim, b, ndim) is expected
        assert result_type_of([a, b]) is result_type_of([], [a, b]) is expected


def test_zero_dim_table() -> None:
    for a, b, expected in cells(WITH_ZERO_DIM):
        assert binary_dtype(a, 1, b, 0) is binary_dtype(b, 0, a, 3) is expected
        assert result_type_of([a], [b]) is expected


@pytest.mark.parametrize("default, default_complex", [("float32", "complex64"), ("float64", "complex128")])
def test_scalars_raise_only_lower_categories(default: str, default_complex: str) -> None:
    D.set_default_dtype(D.BY_NAME[default])
    for value, name in ((True, "bool"), (1, "int64"), (1.5, default), (1j, default_complex)):
        assert scalar_dtype(D.bool_, value) is D.BY_NAME[name]
        assert scalar_dtype(D.int16, value) is (D.BY_NAME[name] if isinstance(value, float | complex) else D.int16)
        assert dtype_of(value) is D.BY_NAME[name]
    assert scalar_dtype(D.float16, 1.5) is D.float16
    assert scalar_dtype(D.float32, 1j) is D.complex64
    assert scalar_dtype(D.float64, 1j) is D.complex128
    assert scalar_dtype(D.complex64, 1j) is D.complex64


def test_numpy_scalars_count_as_python_numbers() -> None:
    assert scalar_dtype(D.float32, np.float64(2)) is D.float32
    assert scalar_dtype(D.int32, np.float64(2)) is D.float32
    assert scalar_dtype(D.bool_, np.int8(2)) is D.int64
    assert scalar_dtype(D.int32, np.bool_(True)) is D.int32
    with pytest.raises(TypeError):
        scalar_dtype(D.float32, "2")


def test_three_groups() -> None:
    assert result_type_of([D.int32], [D.float64], [1j]) is D.complex128
    assert result_type_of([D.float16], [D.float64], [2.0]) is D.float16
    assert result_type_of([], [D.uint8], [3]) is D.uint8
    assert result_type_of([], [], [True, 2]) is D.int64
    with pytest.raises(ValueError):
        result_type_of([])


def test_bare_unsigned_types_do_not_promote() -> None:
    assert promote_types(D.uint16, D.bfloat16) is D.bfloat16
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported, "
                                           "attempted to promote Char and UInt16"):
        promote_types(D.int8, D.uint16)
    with pytest.raises(TypeError, match=r"promote_types\(\): argument 'type2' \(position 2\) must be torch.dtype, "
                                        "not int"):
        promote_types(D.int8, 3)  # type: ignore[arg-type]


@given(PROMOTABLE, PROMOTABLE, PROMOTABLE)
def test_promotion_laws(a: D.dtype, b: D.dtype, c: D.dtype) -> None:
    joined = promote_types(a, b)
    assert joined is promote_types(b, a)
    assert promote_types(a, a) is a
    assert promote_types(joined, b) is joined
    assert can_cast(a, joined) and can_cast(b, joined)
    assert joined.category == max(a.category, b.category)
    if can_cast(a, b) and can_cast(b, c):
        assert can_cast(a, c)


@given(st.lists(PROMOTABLE), st.lists(PROMOTABLE), st.lists(st.sampled_from([True, 2, 2.5, 2j])))
def test_later_groups_never_lower_the_category(dims: list[D.dtype], zeros: list[D.dtype], numbers: list[Any]) -> None:
    present = [each.category for each in dims + zeros] + [D.number_dtype(each).category for each in numbers]
    if present:
        assert result_type_of(dims, zeros, numbers).category == max(present)


@pytest.mark.parametrize("value, expected", [
    ([], "float32"), ([[], []], "float32"), ([1, 2.0], "float32"), ([True, 1], "int64"), ([1, 1j], "complex64"),
    ((1, [2]), "int64"), (range(3), "int64"), (np.float64(1), "float64"), ([np.float32(1), np.float64(1)], "float64"),
    ([np.float16(1), 1.0], "float32"), (np.zeros(2, np.float16), "float16"), ([np.zeros(2)], "float64"),
    (np.uint16(3), "uint16"), (float, "float32"), (np.zeros(1, ">i4"), "int32"),
])
def test_dtype_of(value: Any, expected: str) -> None:
    assert dtype_of(value) is D.BY_NAME[expected]


def test_dtype_of_refuses() -> None:
    with pytest.raises(RuntimeError, match="Could not infer dtype of NoneType"):
        dtype_of([1, None])
    with pytest.raises(RuntimeError, match="Could not infer dtype of set"):
        dtype_of({1})
    with pytest.raises(TypeError, match=r"new\(\): invalid data type 'str'"):
        dtype_of("a")
    itself: list[Any] = [1]
    itself.append(itself)
    with pytest.raises(TypeError, match="self-referential lists are incompatible"):
        dtype_of(itself)
    with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy.object_\. The only supported types "
                                        "are: float64, float32, float16, complex64, complex128, int64, int32, int16, "
                                        "int8, uint64, uint32, uint16, uint8, and bool."):
        dtype_of(np.array([object()]))


def test_as_dtype() -> None:
    assert D.as_dtype(D.int8) is D.int8
    assert [D.as_dtype(kind).name for kind in (bool, int, float, complex)] == ["bool", "int64", "float64", "complex128"]
    with pytest.raises(TypeError):
        D.as_dtype("float32")


def test_default_dtype() -> None:
    D.set_default_dtype(D.bfloat16)
    assert D.get_default_dtype() is D.bfloat16 and D.get_default_complex_dtype() is D.complex64
    for wrong, words in ((D.int32, "^only floating-point types are supported as the default type$"),
                         ("float32", "^invalid dtype object: only floating-point types are supported")):
        with pytest.raises(TypeError, match=words):
            D.set_default_dtype(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name, text", [
    ("float16", "resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, "
                "tiny=6.10352e-05, dtype=float16"),
    ("bfloat16", "resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, "
                 "tiny=1.17549e-38, dtype=bfloat16"),
    ("complex64", "resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
                  "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32"),
    ("float64", "resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
                "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64"),
])
def test_finfo(name: str, text: str) -> None:
    limits = finfo(D.BY_NAME[name])
    assert repr(limits) == f"finfo({text})"
    assert limits.bits == 8 * D.BY_NAME[name].to_real().itemsize
    if name != "bfloat16":
        known = np.finfo(D.BY_NAME[name].numpy)
        assert (limits.max, limits.eps, limits.tiny) == (known.max, known.eps, known.tiny)


def test_limits_compare_and_refuse() -> None:
    assert finfo() == finfo(D.float32) != finfo(D.float16)
    assert finfo(D.complex128) == finfo(D.float64)
    assert repr(iinfo(D.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    assert (iinfo(D.uint64).max, iinfo(D.int64).min) == (2**64 - 1, -(2**63))
    with pytest.raises(TypeError, match="unhashable"):
        hash(finfo())
    with pytest.raises(TypeError, match=r"torch.finfo\(\) requires a floating point input type. Use torch.iinfo"):
        finfo(D.int8)
    with pytest.raises(TypeError, match=r"torch.iinfo\(\) requires an integer input type. Use torch.finfo"):
        iinfo(D.float32)
    with pytest.raises(TypeError, match=r"torch\.bool is not supported by torch\.iinfo"):
        iinfo(D.bool_)
    with pytest.raises(TypeError, match=r"finfo\(\): argument 'type' \(position 1\) must be torch.dtype, not str"):
        finfo("a")  # type: ignore[arg-type]
