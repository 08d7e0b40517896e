"""`assert_close`: two nested structures of tensors and numbers are the same up to rounding, or an error says where not."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import retrograd as torch
from retrograd.testing._mismatch import (
    ErrorMeta,
    UnsupportedInputs,
    default_tolerances,
    get_tolerances,
    make_scalar_mismatch_msg,
    make_tensor_mismatch_msg,
    place,
)
from retrograd.testing._pairs import BooleanPair, NonePair, NumberPair, ObjectPair, Pair, TensorLikePair

__all__ = ["BooleanPair", "ErrorMeta", "NonePair", "NumberPair", "ObjectPair", "Pair", "TensorLikePair", "UnsupportedInputs",
           "assert_allclose", "assert_close", "default_tolerances", "get_tolerances", "make_scalar_mismatch_msg",
           "make_tensor_mismatch_msg", "not_close_error_metas", "originate_pairs"]

OLDER_TOLERANCES = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}
BUG = ("\n\nresulted in the unexpected exception above. If you are a user and see this message during normal operation please "
       "file an issue. A pair raises an `ErrorMeta` for what it expects.")


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
    found = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair), allow_subclasses=allow_subclasses,
        rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
        check_layout=check_layout, check_stride=check_stride, msg=msg)
    if found:
        raise found[0].to_error(msg)


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
        rtol, atol = default_tolerances(actual, expected, dtype_precisions=OLDER_TOLERANCES)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 check_stride=False, msg=msg or None)


def not_close_error_metas(actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]] = (ObjectPair,),
                          sequence_types: tuple[type, ...] = (Sequence,), mapping_types: tuple[type, ...] = (Mapping,),
                          **options: Any) -> list[ErrorMeta]:
    """All differences between two structures, which are compared by the first kind of pair that takes their items.

    >>> [found.msg for found in not_close_error_metas(["a", "b", "c"], ["a", "x", "y"])]
    ['b != x', 'c != y']
    """
    try:
        pairs = originate_pairs(actual, expected, pair_types=pair_types, sequence_types=sequence_types,
                                mapping_types=mapping_types, **options)
    except ErrorMeta as found:
        raise found.to_error() from None
    differences: list[ErrorMeta] = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as found:
            differences.append(found.with_traceback(None))
        except Exception as error:
            raise RuntimeError(f"Comparing\n\n{pair}{BUG}") from error
    return differences


def originate_pairs(actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]],
                    sequence_types: tuple[type, ...] = (Sequence,), mapping_types: tuple[type, ...] = (Mapping,),
                    id: tuple[Any, ...] = (), **options: Any) -> list[Pair]:
    """The pairs of items of two structures, in order.

    >>> [pair.id for pair in originate_pairs({"a": [1, 2]}, {"a": [1, 3]}, pair_types=(NumberPair,))]
    [('a', 0), ('a', 1)]
    """
    if is_a(actual, sequence_types) and is_a(expected, sequence_types):
        if len(actual) != len(expected):
            raise ErrorMeta(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", id=id)
        keys: Any = range(len(actual))
    elif isinstance(actual, mapping_types) and isinstance(expected, mapping_types):
        keys = same_keys(actual, expected, id)
    else:
        return [make_pair(actual, expected, pair_types, id, options)]
    pairs: list[Pair] = []
    for key in keys:
        pairs += originate_pairs(actual[key], expected[key], pair_types=pair_types, sequence_types=sequence_types,
                                 mapping_types=mapping_types, id=(*id, key), **options)
    return pairs


def is_a(value: Any, sequence_types: tuple[type, ...]) -> bool:
    """Whether a value is a sequence to be entered; a string is one of strings without end."""
    return isinstance(value, sequence_types) and not isinstance(value, str)


def same_keys(actual: Any, expected: Any, id: tuple[Any, ...]) -> Any:
    keys = set(actual.keys())
    if keys != set(expected.keys()):
        missing, additional = set(expected.keys()) - keys, keys - set(expected.keys())
        raise ErrorMeta(AssertionError, "The keys of the mappings do not match:\n"
                        f"Missing keys in the actual mapping: {sorted_if_possible(missing)}\n"
                        f"Additional keys in the actual mapping: {sorted_if_possible(additional)}", id=id)
    return sorted_if_possible(keys)


def sorted_if_possible(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except Exception:
        return list(keys)


def make_pair(actual: Any, expected: Any, pair_types: Sequence[type[Pair]], id: tuple[Any, ...],
              options: dict[str, Any]) -> Pair:
    """A pair of the first class that takes the two."""
    for cls in pair_types:
        try:
            return cls(actual, expected, id=id, **options)
        except UnsupportedInputs:
            continue
        except ErrorMeta:
            raise
        except Exception as error:
            raise RuntimeError(f"Originating a {cls.__name__}() at item {place(id)} with\n\n{type(actual).__name__}(): {actual}"
                               f"\n\nand\n\n{type(expected).__name__}(): {expected}{BUG}") from error
    raise ErrorMeta(TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
                    id=id)
