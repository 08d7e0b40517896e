"""Printing of tensors: the text of `repr(tensor)` and its options.

NOTE [Printing a tensor]
1. `_visible` cuts the array down to what will be shown, so that a huge tensor costs no more than a small one.
2. `NumberFormat` looks at all visible numbers and decides on one notation and one width for them.
3. `_nested_brackets` lays the numbers out; `_with_suffixes` adds `dtype=...` and the like, wrapping at the line width.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

if TYPE_CHECKING:      # numpy.typing takes long to import
    import numpy.typing as npt


class PrintOptions:
    """What `set_printoptions` sets; the one instance in use is `options`."""

    def __init__(self, precision: int = 4, threshold: float = 1000, edgeitems: int = 3, linewidth: int = 80,
                 sci_mode: bool | None = None) -> None:
        self.precision, self.threshold, self.edgeitems = precision, threshold, edgeitems
        self.linewidth, self.sci_mode = linewidth, sci_mode


options = PrintOptions()

_PROFILES: dict[str, PrintOptions] = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Choose digits, when and how far to summarise, the line width, and whether to force scientific notation.

    >>> set_printoptions(precision=2); options.precision
    2
    >>> set_printoptions(profile="default")
    """
    chosen = _PROFILES.get(profile) if profile is not None else None
    if chosen is not None:
        for field in ("precision", "threshold", "edgeitems", "linewidth"):
            setattr(options, field, getattr(chosen, field))
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold
    if edgeitems is not None:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    # Unlike the others, leaving this one out resets it to "decide by the values".
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options by name.

    >>> get_printoptions()["edgeitems"]
    3
    """
    return dict(vars(options))


@contextmanager
def printoptions(**changes: Any) -> Iterator[None]:
    """Apply `set_printoptions(**changes)` inside a `with` block only.

    >>> with printoptions(precision=8): options.precision
    8
    """
    before = get_printoptions()
    set_printoptions(**changes)
    try:
        yield
    finally:
        set_printoptions(**before)


# --- numbers ---

class NumberFormat:
    """One notation and one width for all the numbers that a tensor shows."""

    __slots__ = ("_floating", "_integers_only", "_scientific", "width")

    def __init__(self, shown: npt.NDArray[Any]) -> None:
        self._floating = shown.dtype.kind == "f"
        self._integers_only = True
        self._scientific = False
        self.width = 1
        if self._floating:
            self._choose_notation(shown)
        elif shown.size:
            self.width = max(map(len, map(str, shown.ravel().tolist())))

    def _choose_notation(self, shown: npt.NDArray[Any]) -> None:
        # Zeros, infinities and NaNs print the same in every notation, so they are ignored.
        telling = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
        if telling.size:
            sizes = np.abs(telling)
            smallest, largest = float(sizes.min()), float(sizes.max())
            self._integers_only = bool((telling == np.ceil(telling)).all())
            self._scientific = (largest / smallest > 1000.0 or largest > 1.0e8
                                or (not self._integers_only and smallest < 1.0e-4))
            if options.sci_mode is not None:
                self._scientific = options.sci_mode
            if self._scientific:
                texts = (f"{value:.{options.precision}e}" for value in telling.tolist())
            elif self._integers_only:
                texts = (f"{value:.0f}." for value in telling.tolist())
            else:
                texts = (f"{value:.{options.precision}f}" for value in telling.tolist())
            self.width = max(self.width, *map(len, texts))

    def __call__(self, value: Any) -> str:
        """The padded text of one number."""
        if not self._floating:
            text = str(value)
        elif self._scientific:
            text = f"{value:.{options.precision}e}"
        elif self._integers_only:
            text = f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        else:
            text = f"{value:.{options.precision}f}"
        return text.rjust(self.width)


class ComplexFormat:
    """A NumberFormat for the real parts and one for the imaginary parts."""

    __slots__ = ("_imag", "_real", "width")

    def __init__(self, shown: npt.NDArray[Any]) -> None:
        self._real = NumberFormat(shown.real)
        self._imag = NumberFormat(shown.imag)
        self.width = self._real.width + self._imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self._imag(value.imag).lstrip() + "j"
        sign = "" if imag[0] == "-" else "+"
        return f"{self._real(value.real)}{sign}{imag}"


# --- layout ---

def _visible(array: Any, summarise: bool) -> npt.NDArray[Any]:
    """The corners of `array` that a summary shows (all of it without one), as a NumPy array in main memory."""
    if not summarise:
        return np.asarray(array.get() if hasattr(array, "get") else array)
    edge = options.edgeitems

    def corners(part: Any, axis: int) -> npt.NDArray[Any]:
        if axis == part.ndim:
            return _visible(part, summarise=False)
        if part.shape[axis] <= 2 * edge:
            return corners(part, axis + 1)
        everything = (slice(None),) * axis
        head = corners(part[(*everything, slice(None, edge))], axis + 1)
        tail = corners(part[(*everything, slice(part.shape[axis] - edge, None))], axis + 1)
        return np.concatenate((head, tail), axis)

    return corners(array, 0)


def _nested_brackets(shown: Any, shape: tuple[int, ...], indent: int, summarise: bool,
                     number: NumberFormat | ComplexFormat) -> str:
    """Lay out the nested lists `shown`, whose full shape is `shape`, in brackets that start in column `indent`."""
    if not shape:
        return number(shown)
    edge = options.edgeitems
    cut = summarise and shape[0] > 2 * edge
    inner = indent + 1
    if len(shape) > 1:
        parts = [_nested_brackets(part, shape[1:], inner, summarise, number) for part in shown]
        if cut:
            parts.insert(edge, "...")
        return "[" + ("," + "\n" * (len(shape) - 1) + " " * inner).join(parts) + "]"
    parts = [number(value) for value in shown]
    if cut:
        parts.insert(edge, " ..." if edge else "...")
    per_line = max(1, (options.linewidth - indent) // (number.width + 2))
    lines = (", ".join(parts[start:start + per_line]) for start in range(0, len(parts), per_line))
    return "[" + (",\n" + " " * inner).join(lines) + "]"


def _contents(array: Any, shape: tuple[int, ...], indent: int) -> str:
    summarise = math.prod(shape) > options.threshold
    shown = _visible(array, summarise)
    if dtypes.is_complex_type(shown.dtype):
        shown = shown if shown.dtype.kind == "c" else shown.astype(np.complex64)      # complex32 is not NumPy's own either
        number: NumberFormat | ComplexFormat = ComplexFormat(shown)
    else:
        if shown.dtype.kind not in "biuf" or shown.dtype.itemsize == 2 and shown.dtype.kind == "f":
            shown = shown.astype(np.float32)  # half precision; bfloat16 is not a built-in NumPy type
        number = NumberFormat(shown)
    return _nested_brackets(shown.tolist(), shape, indent, summarise, number)


def _with_suffixes(text: str, suffixes: list[str], indent: int, own_line: bool = False) -> str:
    pieces = [text]
    column = options.linewidth if own_line else len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > options.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(pieces) + ")"


def _grad_fn_name(t: Tensor) -> str | None:
    try:
        node = t.grad_fn
    except RuntimeError:
        # An invalidated view raises when its node is read; it must still print.
        return "Invalid"
    return None if node is None else type(node).__name__


def _add_history(suffixes: list[str], t: Tensor) -> None:
    node_name = _grad_fn_name(t)
    if node_name is not None:
        suffixes.append(f"grad_fn=<{node_name}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")


def parts_str(t: Tensor, parts: list[tuple[str, Any]], count: int, layout: Any, own_line: bool) -> str:
    """The text of a tensor made of several arrays (sparse, nested); with `own_line` the suffixes start a new line."""
    indent, outlined = len("tensor("), t.device.type == "meta"
    lines = []
    for name, array in parts:
        prefix = f"{name}=tensor("
        if outlined:
            text = f"..., size={tuple(array.shape)}"
        else:
            text = _contents(array, array.shape, indent + len(prefix)) if array.size else f"[], size={tuple(array.shape)}"
        lines.append(prefix + text + ")")
    suffixes = [f"device='{t.device}'", f"size={tuple(t.shape)}"] if outlined else [f"size={tuple(t.shape)}", f"nnz={count}"]
    if t.dtype not in (dtypes.get_default_dtype(), dtypes.get_default_complex_dtype(), dtypes.int64, dtypes.bool_):
        suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={layout}")
    _add_history(suffixes, t)
    separator = ",\n" + " " * indent
    return _with_suffixes("tensor(" + separator.join(lines), suffixes, indent, own_line)


def tensor_str(t: Any, *, tensor_contents: str | None = None) -> str:
    """The text of `repr(t)`; `tensor_contents` replaces the numbers.

    >>> from types import SimpleNamespace
    >>> class Tensor(SimpleNamespace): shape = (2,); dtype = dtypes.float16; grad_fn = None; requires_grad = True
    >>> tensor_str(Tensor(array=np.array([1, 2], "f2"), device=SimpleNamespace(type="cpu")))
    'tensor([1., 2.], dtype=torch.float16, requires_grad=True)'
    """
    kind = type(t).__name__
    prefix = "tensor(" if kind in ("Tensor", "Parameter") else kind + "("
    indent = len(prefix)
    shape = tuple(t.shape)
    dtype, device = t.dtype, t.device
    suffixes: list[str] = []
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    if device.type == "meta" or 0 in shape:
        # No numbers from which to infer shape and dtype; only a 1-d [] implies its shape.
        if device.type == "meta" or len(shape) != 1:
            suffixes.append(f"size={shape}")
        if dtype is not dtypes.get_default_dtype():
            suffixes.append(f"dtype={dtype}")
        contents = "..." if device.type == "meta" else "[]"
    else:
        if not options.edgeitems:
            # A summary would then show no numbers, and its brackets would not determine the shape.
            suffixes.append(f"size={shape}")
        if dtype not in (dtypes.get_default_dtype(), dtypes.get_default_complex_dtype(), dtypes.int64, dtypes.bool_):
            suffixes.append(f"dtype={dtype}")
        contents = _contents(t.array, shape, indent) if tensor_contents is None else ""
    _add_history(suffixes, t)
    tangent = getattr(t, "_tangent", None)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return _with_suffixes(prefix + (contents if tensor_contents is None else tensor_contents), suffixes, indent)
