"""Element types: the dtype objects, how they promote, the default dtype, and their numeric limits.

NOTE [Type promotion]
Operands fall into three groups: tensors with dimensions, 0-d tensors, and Python numbers. Inside a group
`promote_types` joins the types. A later group counts only if its category (bool < integral < floating < complex) is
higher than that of the groups before it: `int32_tensor + 1.5` is the default float, `half_tensor + 1.5` stays half.
A floating group met by a later complex one keeps its own precision: `float64_tensor * 1j` is complex128.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np


class dtype:
    """An element type such as `float32`; there is one object per type, so compare with `is`.

    >>> float32, float32.itemsize, float32.is_floating_point
    (torch.float32, 4, True)
    """

    __slots__ = ("abbr", "category", "is_complex", "is_floating_point", "is_signed", "itemsize", "legacy", "name",
                 "numpy")

    name: str
    numpy: np.dtype[Any]
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    category: int
    legacy: str
    abbr: str

    def __new__(cls, *args: Any, **kwargs: Any) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __getattr__(self, name: str) -> Any:
        # The only attribute set lazily: the NumPy type of bfloat16, complex32 and the 8-bit floats.
        if name == "numpy":
            if self is complex32:
                return _load_complex32()
            return _load_bfloat16() if self is bfloat16 else _load_rare(self)
        raise AttributeError(f"'dtype' object has no attribute {name!r}")

    def __reduce__(self) -> str:
        # A string makes pickle and copy refer to this module's global of that name, hence to the same object.
        return "bool_" if self is bool_ else self.name

    def to_complex(self) -> dtype:
        """The complex type of the same precision (bfloat16 goes to complex64).

        >>> float64.to_complex()
        torch.complex128
        """
        if self.category < FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        if self is float16 or self is complex32:
            return complex32
        return complex128 if self is float64 or self is complex128 else complex64

    def to_real(self) -> dtype:
        """The type of the real part of an element of this type.

        >>> complex64.to_real()
        torch.float32
        """
        if self is complex64 or self is complex32:
            return float32 if self is complex64 else float16
        return float64 if self is complex128 else self


BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


def _make(name: str, numpy_type: Any, category: int, legacy: str, abbr: str) -> dtype:
    made = object.__new__(dtype)  # dtype.__new__ is closed to users
    made.name = name
    made.itemsize = 2
    if numpy_type is not None:
        made.numpy = np.dtype(numpy_type)
        made.itemsize = made.numpy.itemsize
    made.category = category
    made.is_floating_point = category == FLOATING
    made.is_complex = category == COMPLEX
    made.is_signed = category >= FLOATING or made.numpy.kind == "i"
    made.legacy = legacy
    made.abbr = abbr
    return made


def _make_rare(name: str, category: int, legacy: str, abbr: str, itemsize: int) -> dtype:
    made = object.__new__(dtype)
    made.name, made.category, made.legacy, made.abbr, made.itemsize = name, category, legacy, abbr, itemsize
    made.is_floating_point, made.is_complex = category == FLOATING, category == COMPLEX
    made.is_signed = name not in ("float8_e8m0fnu", "quint8") and not name.startswith(("u", "bits"))
    return made


bool_ = _make("bool", np.bool_, BOOL, "Bool", "b8")
uint8 = _make("uint8", np.uint8, INTEGRAL, "Byte", "u8")
int8 = _make("int8", np.int8, INTEGRAL, "Char", "i8")
int16 = _make("int16", np.int16, INTEGRAL, "Short", "i16")
int32 = _make("int32", np.int32, INTEGRAL, "Int", "i32")
int64 = _make("int64", np.int64, INTEGRAL, "Long", "i64")
uint16 = _make("uint16", np.uint16, INTEGRAL, "UInt16", "u16")
uint32 = _make("uint32", np.uint32, INTEGRAL, "UInt32", "u32")
uint64 = _make("uint64", np.uint64, INTEGRAL, "UInt64", "u64")
float16 = _make("float16", np.float16, FLOATING, "Half", "f16")
bfloat16 = _make("bfloat16", None, FLOATING, "BFloat16", "bf16")
float32 = _make("float32", np.float32, FLOATING, "Float", "f32")
float64 = _make("float64", np.float64, FLOATING, "Double", "f64")
complex32 = _make_rare("complex32", COMPLEX, "ComplexHalf", "c32", 4)
complex64 = _make("complex64", np.complex64, COMPLEX, "ComplexFloat", "c64")
complex128 = _make("complex128", np.complex128, COMPLEX, "ComplexDouble", "c128")

ALL: tuple[dtype, ...] = (bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16,
                          float32, float64, complex64, complex128)
BY_NAME: dict[str, dtype] = {each.name: each for each in ALL}
BY_NUMPY: dict[np.dtype[Any], dtype] = {each.numpy: each for each in ALL if each is not bfloat16}
HALVES: list[np.dtype[Any]] = [float16.numpy]         # the half-precision NumPy types loaded so far
ALIASES: dict[str, dtype] = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
    "short": int16, "int": int32, "long": int64,
}
_UNPROMOTABLE = frozenset((uint16, uint32, uint64))


# Types for storage and conversion only, without arithmetic; those that NumPy lacks exist by name only.
RARE: tuple[dtype, ...] = tuple([
    *[_make_rare(name, FLOATING, legacy, abbr, 1) for name, legacy, abbr in (
        ("float8_e4m3fn", "Float8_e4m3fn", "f8e4m3fn"), ("float8_e5m2", "Float8_e5m2", "f8e5m2"),
        ("float8_e4m3fnuz", "Float8_e4m3fnuz", "f8e4m3fnuz"), ("float8_e5m2fnuz", "Float8_e5m2fnuz", "f8e5m2fnuz"),
        ("float8_e8m0fnu", "Float8_e8m0fnu", "f8e8m0fnu"), ("float4_e2m1fn_x2", "Float4_e2m1fn_x2", "f4e2m1fnx2"))],
    *[_make_rare(name, INTEGRAL, legacy, name, size) for name, legacy, size in (
        ("qint8", "QInt8", 1), ("quint8", "QUInt8", 1), ("qint32", "QInt32", 4), ("quint4x2", "QUInt4x2", 1),
        ("quint2x4", "QUInt2x4", 1), ("bits1x8", "Bits1x8", 1), ("bits2x4", "Bits2x4", 1), ("bits4x2", "Bits4x2", 1),
        ("bits8", "Bits8", 1), ("bits16", "Bits16", 2))],
    *[_make_rare(f"{sign}int{bits}", INTEGRAL, f"{sign.upper()}Int{bits}", f"{sign}i{bits}", 1)
      for sign in ("", "u") for bits in range(1, 8)],
])
BY_NAME.update({each.name: each for each in RARE})
globals().update({each.name: each for each in RARE})
BY_NAME["complex32"] = ALIASES["chalf"] = complex32


def _load_rare(wanted: dtype) -> np.dtype[Any]:
    """The NumPy type of an 8-bit float; raises for the other rare types."""
    if not wanted.name.startswith("float8"):
        raise RuntimeError(f"torch.{wanted.name} is a name only: there are no tensors of this type")
    wanted.numpy = found = np.dtype(getattr(import_module("ml_dtypes"), wanted.name))
    BY_NUMPY[found] = wanted
    return found


def _load_bfloat16() -> np.dtype[Any]:
    """The NumPy type of bfloat16, imported from ml_dtypes on first use."""
    bfloat16.numpy = found = np.dtype(import_module("ml_dtypes").bfloat16)
    BY_NUMPY[found] = bfloat16
    if found not in HALVES:
        HALVES.append(found)
    for callback in bfloat16_callbacks:
        callback(found)
    return found


def _load_complex32() -> np.dtype[Any]:
    """The NumPy type of complex32; see NOTE [Complex numbers of half precision] in kernels.py."""
    found: np.dtype[Any] | None = getattr(import_module("ml_dtypes"), "complex32", None)
    if found is None:
        raise RuntimeError("torch.complex32 needs ml_dtypes 0.6 or newer: pip install -U ml_dtypes")
    complex32.numpy = found = np.dtype(found)
    BY_NUMPY[found] = complex32
    for callback in _complex32_callbacks:
        callback(found)
    return found


def when_complex32(callback: Callable[[np.dtype[Any]], Any]) -> None:
    """Call `callback` with the NumPy type of complex32 as soon as it is loaded."""
    _complex32_callbacks.append(callback)
    for found, known in BY_NUMPY.items():
        if known is complex32:
            callback(found)


_complex32_callbacks: list[Callable[[np.dtype[Any]], Any]] = []
bfloat16_callbacks: list[Callable[[np.dtype[Any]], Any]] = []      # called with the NumPy type of bfloat16 when it is loaded
if "ml_dtypes" in sys.modules:            # arrays of this type may already exist
    _load_bfloat16()


def is_complex_type(numpy: np.dtype[Any]) -> bool:
    """Whether a NumPy type is complex; ml_dtypes gives complex32 a kind of its own."""
    return numpy.kind in "cW"


def is_inexact_type(numpy: np.dtype[Any]) -> bool:
    """Whether a NumPy type is floating point or complex: tensors of no other type have gradients."""
    return numpy.kind in "fcVW"


def from_numpy(numpy_dtype: Any) -> dtype:
    """The dtype of arrays of this NumPy type, whatever their byte order.

    >>> from_numpy(np.dtype(">i4"))
    torch.int32
    """
    found = BY_NUMPY.get(numpy_dtype)
    if found is None:
        numpy_dtype = np.dtype(numpy_dtype)
        if numpy_dtype.name == "bfloat16":
            _load_bfloat16()
        found = BY_NUMPY.get(numpy_dtype) or BY_NUMPY.get(numpy_dtype.newbyteorder("="))
        if found is None:
            raise TypeError(
                f"can't convert np.ndarray of type numpy.{numpy_dtype.type.__name__}. The only supported types are: "
                "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
                "uint8, and bool.")
    return found


# --- the default dtype ---

default_dtype_callbacks: list[Callable[[np.dtype[Any]], Any]] = []       # called when it changes
_default: dtype = float32
_default_complex: dtype = complex64


def get_default_dtype() -> dtype:
    """The dtype of Python floats.

    >>> get_default_dtype()
    torch.float32
    """
    return _default


def get_default_complex_dtype() -> dtype:
    """The dtype of Python complex numbers, which follows the default dtype.

    >>> get_default_complex_dtype()
    torch.complex64
    """
    return _default_complex


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of Python floats for the whole process.

    >>> set_default_dtype(float64); get_default_complex_dtype()
    torch.complex128
    >>> set_default_dtype(float32)
    """
    global _default, _default_complex
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default, _default_complex = d, d.to_complex()
    for callback in default_dtype_callbacks:
        callback(d.numpy)


def as_dtype(spec: Any) -> dtype:
    """The dtype for a `dtype=` argument: a dtype, or one of the Python types bool, int, float and complex.

    >>> as_dtype(float)
    torch.float64
    """
    if isinstance(spec, dtype):
        return spec
    named: dtype | None = _OF_PYTHON_TYPE.get(spec) if isinstance(spec, type) else None
    if named is None:
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(spec).__name__}")
    return named


_OF_PYTHON_TYPE: dict[type, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}


def _of_python_number(kind: type) -> dtype | None:
    if kind is float:
        return _default
    if kind is int:
        return int64
    if kind is bool:
        return bool_
    return _default_complex if kind is complex else None


def dtype_of(value: Any) -> dtype:
    """The dtype that a tensor made from `value` gets: a number, a tensor, an array, or nested sequences of them.

    >>> dtype_of([1, 2.5]), dtype_of(True), dtype_of(np.float64(1))
    (torch.float32, torch.bool, torch.float64)
    """
    # The Python types themselves are accepted too: dtype_of(float) is the default dtype.
    found = _of_python_number(value if isinstance(value, type) else type(value))
    if found is not None:
        return found
    declared = getattr(value, "dtype", None)
    if declared is not None:
        return declared if isinstance(declared, dtype) else from_numpy(declared)
    if isinstance(value, (int, float, complex)):
        return number_dtype(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if isinstance(value, Sequence):
        return _dtype_of_sequence(value)
    name = type(value).__name__
    raise RuntimeError(f"Could not infer dtype of {'torch.' if isinstance(value, dtype) else ''}{name}")


def _dtype_of_sequence(values: Sequence[Any]) -> dtype:
    # The set of types settles a long list of numbers without looking at each value.
    joined: dtype | None = None
    others: list[Any] = []
    kinds = set(map(type, values))
    for kind in kinds:
        found = _of_python_number(kind)
        if found is None:
            others = [value for value in values if _of_python_number(type(value)) is None]
        else:
            joined = found if joined is None else promote_types(joined, found)
    for value in others:
        if value is values:
            raise TypeError("new(): self-referential lists are incompatible")
        found = dtype_of(value)
        joined = found if joined is None else promote_types(joined, found)
    return _default if joined is None else joined


# --- promotion ---

_promoted: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type, of the higher category of the two, that holds the values of both.

    >>> promote_types(int64, float16), promote_types(uint8, int8), promote_types(float64, complex64)
    (torch.float16, torch.int16, torch.complex128)
    """
    if type1 is type2 and type(type1) is dtype:
        return type1
    try:
        return _promoted[type1, type2]
    except KeyError:
        first, second = _as_dtypes("promote_types", type1=type1, type2=type2)
        joined = _promoted[type1, type2] = _join(first, second)
        return joined


def _as_dtypes(function: str, **arguments: Any) -> list[dtype]:
    """Arguments that are dtypes or Python's types of numbers, as dtypes."""
    made = []
    for position, (name, given) in enumerate(arguments.items(), 1):
        if type(given) is not dtype:
            if not isinstance(given, type) or given not in _OF_PYTHON_TYPE:
                raise TypeError(f"{function}(): argument '{name}' (position {position}) must be torch.dtype, "
                                f"not {type(given).__name__}")
            given = _OF_PYTHON_TYPE[given]
        made.append(given)
    return made


def _join(a: dtype, b: dtype) -> dtype:
    if a in RARE or b in RARE:
        kind = "Float8" if "float8" in (a.name[:6], b.name[:6]) else "quantized and sub-byte"
        raise RuntimeError(f"Promotion for {kind} Types is not supported, attempted to promote {a.legacy} and {b.legacy}")
    low, high = (a, b) if (a.category, a.itemsize) <= (b.category, b.itemsize) else (b, a)
    if (a in _UNPROMOTABLE or b in _UNPROMOTABLE) and high.category != FLOATING:
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, "
                           f"attempted to promote {a.legacy} and {b.legacy}")
    if low.itemsize == high.itemsize and low.category == high.category:
        # Two different types of one size: the next larger type holds both.
        return int16 if high.category == INTEGRAL else float32
    if high.category == COMPLEX and low.category == FLOATING:
        return promote_types(low.to_complex(), high)
    return high


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place op may store a result of type `from_` in a tensor of type `to`.

    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    if type(from_) is not dtype or type(to) is not dtype:
        from_, to = _as_dtypes("can_cast", from_=from_, to=to)
    # All integral types cast to each other; otherwise the category must not decrease.
    return from_.category <= to.category


def combine(first: dtype, later: dtype) -> dtype:
    """The joint type of two groups of operands, of which the later one counts only if its category is higher.

    >>> combine(float16, float64), combine(int32, float64), combine(float64, complex64)
    (torch.float16, torch.float64, torch.complex128)
    """
    if later.category <= first.category:
        return first
    return first.to_complex() if first.category == FLOATING else later


def _joined(types: Iterable[dtype]) -> dtype | None:
    joined: dtype | None = None
    for each in types:
        joined = each if joined is None else promote_types(joined, each)
    return joined


def number_dtype(value: Any) -> dtype:
    """The dtype of a Python or NumPy number in type promotion.

    >>> number_dtype(1), number_dtype(np.float64(1))
    (torch.int64, torch.float32)
    """
    found = _of_python_number(type(value))
    if found is not None:
        return found
    if isinstance(value, bool | np.bool_):
        return bool_
    if isinstance(value, int | np.integer):
        return int64
    if isinstance(value, float | np.floating) or type(value).__name__ == "bfloat16":
        return _default
    if isinstance(value, complex | np.complexfloating):
        return _default_complex
    if hasattr(value, "__index__"):
        return int64
    if hasattr(value, "__float__"):
        return _default
    raise TypeError(f"expected a number, not {type(value).__name__}")


def result_type_of(dim_dtypes: Iterable[dtype], zero_dim_dtypes: Iterable[dtype] = (),
                   scalar_values: Iterable[Any] = ()) -> dtype:
    """The result type of an op on tensors with dimensions, 0-d tensors and Python numbers; see NOTE [Type promotion].

    >>> result_type_of([int32], [float64], [True]), result_type_of([float16], [], [1.5])
    (torch.float64, torch.float16)
    """
    dim_dtypes, zero_dim_dtypes, scalar_values = tuple(dim_dtypes), tuple(zero_dim_dtypes), tuple(scalar_values)
    kinds = tuple([type(value) for value in scalar_values])
    key = (dim_dtypes, zero_dim_dtypes, kinds, _default)
    result: dtype | None = _results.get(key)
    if result is not None:
        return result
    # The innermost pair is (0-d tensors, numbers), so a number raises a 0-d tensor before that meets the others.
    for group in (_joined(map(number_dtype, scalar_values)), _joined(zero_dim_dtypes), _joined(dim_dtypes)):
        if group is not None:
            result = group if result is None else combine(group, result)
    if result is None:
        raise ValueError("result_type_of() needs at least one operand")
    if _PYTHON_NUMBERS.issuperset(kinds) and len(dim_dtypes) + len(zero_dim_dtypes) < 4:
        _results[key] = result
    return result


_results: dict[Any, dtype] = {}         # cached for calls with few operands only, which bounds its size
_PYTHON_NUMBERS = frozenset((bool, int, float, complex))


def binary_dtype(a: dtype, a_ndim: int, b: dtype, b_ndim: int) -> dtype:
    """The result type of an op on two tensors.

    >>> binary_dtype(float32, 2, float64, 0), binary_dtype(float32, 2, float64, 1)
    (torch.float32, torch.float64)
    """
    if a is b:
        return a
    if a_ndim:
        if not b_ndim:
            return combine(a, b)
    elif b_ndim:
        return combine(b, a)
    return promote_types(a, b)


def scalar_dtype(a: dtype, value: Any) -> dtype:
    """The result type of an op on a tensor of type `a` (0-d or not) and a Python number.

    >>> scalar_dtype(int32, 2), scalar_dtype(int32, 2.0), scalar_dtype(float16, 2.0)
    (torch.int32, torch.float32, torch.float16)
    """
    kind = type(value)
    if a.category >= FLOATING and (kind is float or kind is int):
        return a
    return combine(a, number_dtype(value))


# --- numeric limits ---

class _Limits:
    """What finfo and iinfo share: equality by type, printing in C's %g, no hash."""

    __slots__ = ("bits", "dtype", "max", "min")

    bits: int
    dtype: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limits) and type(other) is type(self) and other.dtype == self.dtype

    __hash__ = None  # type: ignore[assignment]

    def _text(self, *names: str) -> str:
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"{type(self).__name__}({shown}, dtype={self.dtype})"


# name: (eps, the largest finite value, the smallest normal value, resolution)
_FLOAT_LIMITS: dict[str, tuple[float, float, float, float]] = {
    "float16": (2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float32": (2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float64": (2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6, 1.0), "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7, 1.0), "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 1.0),
}


_limits: dict[dtype, tuple[Any, ...]] = {}            # the values of `finfo`, once they were asked for


class finfo(_Limits):
    """The limits of a floating type, or of a complex type's parts.

    >>> finfo(float16).max
    65504.0
    """

    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")

    max: float
    min: float

    def __init__(self, type: dtype | None = None) -> None:
        values = _limits.get(type) if type.__class__ is dtype else None
        if values is None:
            values = self._values(type)
        self.dtype, self.bits, self.eps, self.max, self.min, self.smallest_normal, self.resolution = values
        self.tiny = self.smallest_normal

    @staticmethod
    def _values(type: dtype | None) -> tuple[Any, ...]:
        if type is None:
            type = get_default_dtype()
        type, = _as_dtypes("finfo", type=type)
        if type.category < FLOATING:
            raise TypeError("torch.finfo() requires a floating point input type. "
                            "Use torch.iinfo to handle 'torch.finfo'")
        real = type.to_real()
        eps, most, smallest, resolution = _FLOAT_LIMITS[real.name]
        values = _limits[type] = (real.name, real.itemsize * 8, eps, most, -most if real.is_signed else smallest, smallest,
                                  resolution)
        return values

    def __repr__(self) -> str:
        return self._text("resolution", "min", "max", "eps", "smallest_normal", "tiny")


class iinfo(_Limits):
    """The limits of an integral type.

    >>> iinfo(int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ()

    max: int
    min: int

    def __init__(self, type: dtype) -> None:
        type, = _as_dtypes("iinfo", type=type)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGRAL:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self.dtype = type.name
        self.bits = type.itemsize * 8
        self.min = -1 << (self.bits - 1) if type.is_signed else 0
        self.max = self.min + (1 << self.bits) - 1

    def __repr__(self) -> str:
        return self._text("min", "max")
