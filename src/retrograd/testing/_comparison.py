"""`assert_close`: two nested structures of tensors and numbers are the same up to rounding, or an error says where not."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import retrograd as torch
from retrograd import Tensor

# dtype -> (rtol, atol); of two dtypes the wider tolerances count
TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}
OLDER_TOLERANCES = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None,
                 equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False, msg: str | Callable[[str], str] | None = None) -> None:
    """Raise an AssertionError unless `actual` and `expected` are close: |actual - expected| <= atol + rtol * |expected|.

    Tolerances not given follow from the dtypes. Sequences and mappings are compared item by item.

    >>> import retrograd as torch
    >>> assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
    >>> assert_close(torch.tensor([1]), torch.tensor([2]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not equal!
    ...
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    options = Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        compare(actual, expected, "", options)
    except Mismatch as found:
        message = str(found)
        if msg is not None:
            message = msg(message) if callable(msg) else msg
        raise AssertionError(message) from None


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """The older form of `assert_close`: numbers and lists become tensors, dtypes may differ, and NaN equals NaN.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     assert_allclose([1.0, 2.0], [1, 2])
    """
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
                  "use `torch.testing.assert_close()` instead.", FutureWarning, stacklevel=2)
    actual, expected = [value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in (actual, expected)]
    if rtol is None and atol is None:
        pairs = [OLDER_TOLERANCES.get(value.dtype, (0.0, 0.0)) for value in (actual, expected)]
        rtol, atol = max([pair[0] for pair in pairs]), max([pair[1] for pair in pairs])
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 check_stride=False, msg=msg or None)


class Mismatch(Exception):
    """A difference was found; the text says which and where."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text + (f"\n\nThe failure occurred for item {path}" if path else ""))


class Options:
    """What `assert_close` was asked to check."""

    def __init__(self, allow_subclasses: bool, rtol: float | None, atol: float | None, equal_nan: bool, check_device: bool,
                 check_dtype: bool, check_layout: bool, check_stride: bool) -> None:
        self.allow_subclasses, self.rtol, self.atol, self.equal_nan = allow_subclasses, rtol, atol, equal_nan
        self.check_device, self.check_dtype = check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max([rtol for rtol, _ in found]), max([atol for _, atol in found])


# ---- by kind
def compare(actual: Any, expected: Any, path: str, options: Options) -> None:
    if is_sequence(actual) and is_sequence(expected):
        if len(actual) != len(expected):
            raise Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            compare(a, b, f"{path}[{i}]", options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        compare_keys(actual, expected, path)
        for key in sorted_if_possible(expected):
            compare(actual[key], expected[key], f"{path}[{key!r}]", options)
    elif actual is None or expected is None:
        if actual is not expected:
            raise Mismatch(f"None mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        if bool(actual) is not bool(expected):
            raise Mismatch(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", path)
    elif is_number(actual) and is_number(expected):
        compare_numbers(actual, expected, path, options)
    elif are_tensors(actual, expected, options):
        compare_tensors(torch.as_tensor(actual), torch.as_tensor(expected), path, options)
    else:
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
                        + (f"\n\nThe failure occurred for item {path}" if path else ""))


def is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def are_tensors(actual: Any, expected: Any, options: Options) -> bool:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    same = related if options.allow_subclasses else type(actual) is type(expected)
    return same and all([isinstance(value, (Tensor, np.ndarray)) for value in (actual, expected)])


def compare_keys(actual: Any, expected: Any, path: str) -> None:
    missing = [key for key in expected if key not in actual]
    additional = [key for key in actual if key not in expected]
    if missing or additional:
        raise Mismatch("The keys of the mappings do not match:"
                       + (f"\nMissing keys in the actual mapping: {sorted_if_possible(missing)}" if missing else "")
                       + ("\nAdditional keys in the actual mapping: "
                          f"{sorted_if_possible(additional)}" if additional else ""), path)


def sorted_if_possible(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def compare_numbers(actual: Any, expected: Any, path: str, options: Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    kinds = {int: torch.int64, float: torch.float64, complex: torch.complex128}
    rtol, atol = options.tolerances(*[kinds[type(complex(v) if isinstance(v, complex) else v)] if type(v) in kinds
                                      else torch.as_tensor(v).dtype for v in (actual, expected)])
    report_scalar(actual, expected, rtol, atol, path, options)


def report_scalar(actual: Any, expected: Any, rtol: float, atol: float, path: str, options: Options) -> None:
    """Raise unless two numbers are close."""
    if np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan):
        return
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    exact = rtol == 0 and atol == 0
    raise Mismatch(f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
                   f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}\n"
                   f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}", path)


def compare_tensors(actual: Tensor, expected: Tensor, path: str, options: Options) -> None:
    def same(attribute: str, a: Any, b: Any) -> None:
        if a != b:
            raise Mismatch(f"The values for attribute '{attribute}' do not match: {a} != {b}.", path)

    same("shape", actual.shape, expected.shape)
    if options.check_layout:
        same("layout", actual.layout, expected.layout)
    if options.check_device:
        same("device", actual.device, expected.device)
    if options.check_dtype:
        same("dtype", actual.dtype, expected.dtype)
    if options.check_stride:
        same("stride()", actual.stride(), expected.stride())
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if actual.is_meta:
        return
    with torch.no_grad():
        compare_values(actual.to_dense() if actual.layout is not torch.strided else actual,
                       expected.to_dense() if expected.layout is not torch.strided else expected, rtol, atol, path, options)


def compare_values(actual: Tensor, expected: Tensor, rtol: float, atol: float, path: str, options: Options) -> None:
    dtype = torch.promote_types(actual.dtype, expected.dtype)
    a, b = numbers(actual.to(dtype)), numbers(expected.to(dtype))
    with np.errstate(all="ignore"):
        matches = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=options.equal_nan) if rtol or atol else (
            (a == b) | (np.isnan(a) & np.isnan(b) if options.equal_nan and a.dtype.kind in "fc" else False))
    if matches.all():
        return
    if a.size == 1 and a.ndim == 0:
        report_scalar(a.item(), b.item(), rtol, atol, path, options)
    exact = rtol == 0 and atol == 0
    wide = a.astype(np.int64), b.astype(np.int64)
    if a.dtype.kind in "fc":
        wide = a, b
    with np.errstate(all="ignore"):
        absolute = np.where(matches, 0, np.abs(wide[0] - wide[1]))
        # a relative difference of integers is one of float32 numbers, as a quotient of tensors is
        size = np.abs(wide[1])
        relative = absolute / size if a.dtype.kind in "fc" else (absolute / size).astype(np.float32)
        relative = np.where(matches, 0, relative)

    def worst(values: Any, allowed: float) -> str:
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        shown = values[place].item()
        limit = "" if exact else f" (up to {allowed} allowed)"
        return f"{shown} at index {tuple([int(i) for i in place])}{limit}"

    wrong = int((~matches).sum())
    raise Mismatch(f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
                   f"Mismatched elements: {wrong} / {a.size} ({wrong / a.size:.1%})\n"
                   f"Greatest absolute difference: {worst(absolute, atol)}\n"
                   f"Greatest relative difference: {worst(relative, rtol)}", path)


def numbers(t: Tensor) -> Any:
    t = t.detach().resolve_conj().resolve_neg()
    return t.to(torch.float32).numpy() if t.dtype is torch.bfloat16 else t.numpy()
