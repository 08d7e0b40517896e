"""What comparisons of `torch.testing` report: the differences they find, the tolerances they allow, and the texts."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd import Tensor

Identifier = str | Callable[[str], str] | None

# dtype -> (rtol, atol); of two dtypes the wider tolerances count
TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5), torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}


class UnsupportedInputs(Exception):
    """A kind of pair says that it does not compare such inputs; the next kind is asked."""


class ErrorMeta(Exception):
    """A difference that was found: the type and the text of the error to come, and where in the structure it is.

    >>> raise ErrorMeta(AssertionError, "1 != 2", id=("a", 0)).to_error()
    Traceback (most recent call last):
    AssertionError: 1 != 2
    <BLANKLINE>
    The failure occurred for item ['a'][0]
    """

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> None:
        super().__init__("If you are a user and see this message during normal operation please file an issue: this is an "
                         "error on its way; `raise ErrorMeta.to_error()` gives the one to be seen.")
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error itself, with a text of the caller's or one that the caller makes of the text."""
        if isinstance(msg, str):
            return self.type(msg)
        text = self.msg + (f"\n\nThe failure occurred for item {place(self.id)}" if self.id else "")
        return self.type(msg(text) if callable(msg) else text)


def place(id: tuple[Any, ...]) -> str:
    return "".join([f"[{key!r}]" for key in id])


# ---- tolerances
def default_tolerances(*inputs: Any, dtype_precisions: dict[Any, tuple[float, float]] | None = None) -> tuple[float, float]:
    """The widest (rtol, atol) of some tensors or dtypes.

    >>> import retrograd as torch
    >>> default_tolerances(torch.float64, torch.ones(2))
    (1.3e-06, 1e-05)
    """
    for given in inputs:
        if not isinstance(given, (Tensor, torch.dtype)):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(given)} instead.")
    table = dtype_precisions or TOLERANCES
    found = [table.get(given.dtype if isinstance(given, Tensor) else given, (0.0, 0.0)) for given in inputs]
    return max([rtol for rtol, _ in found]), max([atol for _, atol in found])


def get_tolerances(*inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()) -> tuple[float, float]:
    """The tolerances that were given, both or none, or else those of the inputs.

    >>> get_tolerances(rtol=0.5, atol=0.25)
    (0.5, 0.25)
    """
    if (rtol is None) != (atol is None):
        raise ErrorMeta(ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                        f"{'rtol' if rtol is None else 'atol'}.", id=id)
    return (rtol, atol) if rtol is not None and atol is not None else default_tolerances(*inputs)


# ---- texts
def headline(usual: str, identifier: Identifier, word: str, extra: str) -> str:
    name = usual if identifier is None else identifier(usual) if callable(identifier) else identifier
    return f"{name} are not {word}!\n\n{extra}\n"


def make_scalar_mismatch_msg(actual: Any, expected: Any, *, rtol: float, atol: float, identifier: Identifier = None) -> str:
    """Say how far two numbers are apart.

    >>> print(make_scalar_mismatch_msg(1, 2, rtol=0, atol=0))
    Scalars are not equal!
    <BLANKLINE>
    Expected 2 but got 1.
    Absolute difference: 1
    Relative difference: 0.5
    """
    exact = rtol == 0 and atol == 0
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return (headline("Scalars", identifier, "equal" if exact else "close", f"Expected {expected} but got {actual}.")
            + f"Absolute difference: {absolute}{limit(exact, atol)}\nRelative difference: {relative}{limit(exact, rtol)}")


def make_tensor_mismatch_msg(actual: Tensor, expected: Tensor, matches: Tensor, *, rtol: float, atol: float,
                             identifier: Identifier = None) -> str:
    """Say how many elements of two tensors differ, and by how much at most.

    >>> import retrograd as torch
    >>> a, b = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])
    >>> print(make_tensor_mismatch_msg(a, b, a == b, rtol=0, atol=0))
    Tensor-likes are not equal!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 2.0 at index (1,)
    Greatest relative difference: 0.5 at index (1,)
    """
    exact = rtol == 0 and atol == 0
    wrong, total = int((~matches).sum()), matches.numel()
    counted = f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:      # 8 bits: no arithmetic, hence no differences
        first = tuple((~matches).nonzero()[0].tolist())
        return headline("Tensor-likes", identifier, "'equal'", counted) + f"The first mismatched element is at index {first}."
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    absolute = (actual - expected).abs().masked_fill(matches, 0)
    relative = (absolute / expected.abs()).masked_fill(matches, 0)
    lines = [f"Greatest {name} difference: {worst(values)}{limit(exact, allowed)}"
             for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol))]
    return headline("Tensor-likes", identifier, "equal" if exact else "close", counted) + "\n".join(lines)


def worst(values: Tensor) -> str:
    """The greatest value and its index."""
    flat = int(values.argmax())
    index: list[int] = []
    for size in reversed(values.shape):
        flat, at = divmod(flat, size)
        index.insert(0, at)
    return f"{values[tuple(index)].item()} at index {tuple(index)}"


def limit(exact: bool, allowed: float) -> str:
    return "" if exact else f" (up to {allowed} allowed)"
