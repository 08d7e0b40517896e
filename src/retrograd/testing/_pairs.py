"""Pairs of values that `torch.testing` compares, one class for each kind; programs add classes of their own."""
from __future__ import annotations

import abc
import cmath
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import retrograd as torch
from retrograd import Tensor
from retrograd.testing._mismatch import (
    ErrorMeta,
    Identifier,
    UnsupportedInputs,
    get_tolerances,
    make_scalar_mismatch_msg,
    make_tensor_mismatch_msg,
)

# layout of compressed tensors -> its name, and the methods for its two kinds of indices
COMPRESSED = {
    torch.sparse_csr: ("CSR", "crow_indices", "col_indices"), torch.sparse_csc: ("CSC", "ccol_indices", "row_indices"),
    torch.sparse_bsr: ("BSR", "crow_indices", "col_indices"), torch.sparse_bsc: ("BSC", "ccol_indices", "row_indices"),
}
COMPARED_LAYOUTS = {torch.strided, torch.jagged, torch.sparse_coo, *COMPRESSED}
WITHOUT_PROMOTION = {torch.uint16, torch.uint32, torch.uint64}


class Pair(abc.ABC):
    """Two values; `compare` raises an ErrorMeta where they differ. A constructor refuses what its class does not compare.

    >>> ObjectPair("a", "a").compare()
    """

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all([isinstance(each, cls) for each in inputs]):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=id or getattr(self, "id", ()))

    @abc.abstractmethod
    def compare(self) -> None:
        """Raise an ErrorMeta if the two differ."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Names of attributes, or names with values, that the representation shows too."""
        return ()

    def __repr__(self) -> str:
        more = [(each, getattr(self, each)) if isinstance(each, str) else each for each in self.extra_repr()]
        shown = [("id", self.id), ("actual", self.actual), ("expected", self.expected), *more]
        return "\n".join([f"{type(self).__name__}(", *[f"    {name}={value!s}," for name, value in shown], ")"])


class ObjectPair(Pair):
    """Any two objects, by `==`."""

    def compare(self) -> None:
        try:
            equal = self.actual == self.expected
        except Exception as error:
            raise ErrorMeta(ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """None, and anything."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two truth values of Python or NumPy."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, **other_parameters)      # PyTorch does not say where a truth value differs

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return bool, np.bool_

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> tuple[bool, bool]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, bool_like: Any, *, id: tuple[Any, ...]) -> bool:
        if isinstance(bool_like, (bool, np.bool_)):
            return bool(bool_like)
        raise ErrorMeta(TypeError, f"Unknown boolean type {type(bool_like)}.", id=id)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers of Python or NumPy."""

    _TYPE_TO_DTYPE = {int: torch.int64, float: torch.float64, complex: torch.complex128}
    _NUMBER_TYPES: tuple[type, ...] = tuple(_TYPE_TO_DTYPE)

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_dtype: bool = False,
                 **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        dtypes = [self._TYPE_TO_DTYPE[type(each)] for each in (actual, expected)]
        self.rtol, self.atol = get_tolerances(*dtypes, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return (*self._NUMBER_TYPES, np.number)

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> tuple[Any, Any]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: tuple[Any, ...]) -> Any:
        if isinstance(number_like, np.number):
            return number_like.item()
        if isinstance(number_like, self._NUMBER_TYPES):
            return number_like
        raise ErrorMeta(TypeError, f"Unknown number type {type(number_like)}.", id=id)

    def compare(self) -> None:
        actual, expected = self.actual, self.expected
        if self.check_dtype and type(actual) is not type(expected):
            self._fail(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        difference = abs(actual - expected)
        if not (cmath.isfinite(difference) and difference <= self.atol + self.rtol * abs(expected)):
            self._fail(AssertionError, make_scalar_mismatch_msg(actual, expected, rtol=self.rtol, atol=self.atol))

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        return "rtol", "atol", "equal_nan", "check_dtype"


class TensorLikePair(Pair):
    """Two tensors, or two related objects that tensors can be made of."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), allow_subclasses: bool = True,
                 rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_device, self.check_dtype = equal_nan, check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...],
                        allow_subclasses: bool) -> tuple[Tensor, Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not allow_subclasses and type(actual) is not type(expected)):
            self._inputs_not_supported()
        tensors = self._to_tensor(actual), self._to_tensor(expected)
        for tensor in tensors:
            self._check_supported(tensor, id=id)
        return tensors

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        if isinstance(tensor_like, Tensor):
            return tensor_like
        try:
            return torch.as_tensor(tensor_like)
        except Exception:
            raise UnsupportedInputs from None

    def _check_supported(self, tensor: Tensor, *, id: tuple[Any, ...]) -> None:
        if tensor.layout not in COMPARED_LAYOUTS:
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self) -> None:
        self._compare_attributes(self.actual, self.expected)
        if not (self.actual.is_meta or self.expected.is_meta):
            with torch.no_grad():
                self._compare_values(*self._equalize_attributes(self.actual, self.expected))

    def _compare_attributes(self, actual: Tensor, expected: Tensor) -> None:
        def same(attribute: str, a: Any, b: Any) -> None:
            if a != b:
                self._fail(AssertionError, f"The values for attribute '{attribute}' do not match: {a} != {b}.")

        same("shape", actual.shape, expected.shape)
        same("is_quantized", actual.is_quantized, expected.is_quantized)
        if self.check_layout:
            same("layout", actual.layout, expected.layout)
        if self.check_stride and actual.layout == expected.layout == torch.strided:
            same("stride()", actual.stride(), expected.stride())
        if self.check_device:
            same("device", actual.device, expected.device)
        if self.check_dtype:
            same("dtype", actual.dtype, expected.dtype)

    def _equalize_attributes(self, actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
        """The two with one device, one dtype and one layout."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            a, b = [torch.int64 if each.dtype in WITHOUT_PROMOTION else each.dtype for each in (actual, expected)]
            dtype = torch.promote_types(a, b)
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:
            actual, expected = [each if each.layout == torch.strided else each.to_dense() for each in (actual, expected)]
        return actual, expected

    def _compare_values(self, actual: Tensor, expected: Tensor) -> None:
        if actual.layout == torch.sparse_coo:
            self._compare_coo(actual, expected)
        elif actual.layout in COMPRESSED:
            self._compare_compressed(actual, expected)
        elif actual.layout == torch.jagged:
            self._compare_regular_values_close(actual.values(), expected.values(), rtol=self.rtol, atol=self.atol,
                                               equal_nan=self.equal_nan)
        else:
            if actual.dtype.is_floating_point and actual.dtype.itemsize == 1 and (self.rtol or self.atol):
                self._fail(AssertionError, f"Rtol={self.rtol} and atol={self.atol} are not supported for bitwise comparison "
                           "of low dimensional floats. Please use rtol=0.0 and atol=0.0.")
            self._compare_regular_values_close(actual, expected, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan)

    def _compare_coo(self, actual: Tensor, expected: Tensor) -> None:
        for what, count in (("sparse dimensions", Tensor.sparse_dim), ("specified values", Tensor._nnz)):
            self._compare_counts(f"{what} in sparse COO tensors", actual, expected, count)
        self._compare_regular_values_equal(actual._indices(), expected._indices(), identifier="Sparse COO indices")
        self._compare_regular_values_close(actual._values(), expected._values(), rtol=self.rtol, atol=self.atol,
                                           equal_nan=self.equal_nan, identifier="Sparse COO values")

    def _compare_compressed(self, actual: Tensor, expected: Tensor) -> None:
        name, *kinds = COMPRESSED[actual.layout]
        self._compare_counts(f"specified values in sparse {name} tensors", actual, expected, Tensor._nnz)
        for kind in kinds:
            a, b = getattr(actual, kind)(), getattr(expected, kind)()
            dtype = torch.promote_types(a.dtype, b.dtype)
            self._compare_regular_values_equal(a.to(dtype), b.to(dtype), identifier=f"Sparse {name} {kind}")
        self._compare_regular_values_close(actual.values(), expected.values(), rtol=self.rtol, atol=self.atol,
                                           equal_nan=self.equal_nan, identifier=f"Sparse {name} values")

    def _compare_counts(self, what: str, actual: Tensor, expected: Tensor, count: Callable[[Any], int]) -> None:
        if count(actual) != count(expected):
            self._fail(AssertionError, f"The number of {what} does not match: {count(actual)} != {count(expected)}")

    def _compare_regular_values_equal(self, actual: Tensor, expected: Tensor, *, equal_nan: bool = False,
                                      identifier: Identifier = None) -> None:
        self._compare_regular_values_close(actual, expected, rtol=0, atol=0, equal_nan=equal_nan, identifier=identifier)

    def _compare_regular_values_close(self, actual: Tensor, expected: Tensor, *, rtol: float, atol: float, equal_nan: bool,
                                      identifier: Identifier = None) -> None:
        matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if matches.all():
            return
        if actual.shape == ():
            text = make_scalar_mismatch_msg(actual.item(), expected.item(), rtol=rtol, atol=atol, identifier=identifier)
        else:
            text = make_tensor_mismatch_msg(actual, expected, matches, rtol=rtol, atol=atol, identifier=identifier)
        self._fail(AssertionError, text)

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        return "rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride"
