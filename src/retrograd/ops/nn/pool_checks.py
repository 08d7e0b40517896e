"""Argument checks of pooling ops: number and sign of settings, and shapes of inputs.

NOTE [Order of pooling checks]
The first error that PyTorch finds is reported. It checks the number of settings, then the
values that determine the output sizes, then signs, then the input, and last the output sizes.
"""
from __future__ import annotations

from math import trunc
from typing import Any

from retrograd.ops.shared.families import wrap_dim

COUNTS = {2: "two", 3: "three"}
LETTERS = {2: "HW", 3: "THW"}


def widened(value: Any, rank: int) -> tuple[int, ...]:
    if type(value) is tuple and len(value) == rank:
        return value
    value = (value,) if isinstance(value, int) else tuple(value)
    return value * rank if len(value) == 1 else value


def listed(letter: str, rank: int, values: Any) -> str:
    return " ".join([f"{letter}{side}: {value}" for side, value in zip(LETTERS[rank], values, strict=True)])


def check_counts(kind: str, rank: int, **settings: Any) -> None:
    """Check that each setting is one number, or one for each dimension."""
    for name, value in settings.items():
        if isinstance(value, int) or len(value) in (1, rank) or (name == "stride" and not len(value)):
            continue
        verb = "must be" if kind == "avg" and rank == 3 else "must be either" if name == "dilation" else "must either be"
        choice = "omitted, a single int" if name == "stride" else "a single int"
        raise RuntimeError(f"{kind}_pool{rank}d: {name} {verb} {choice}, or a tuple of {COUNTS[rank]} ints\n"
                           f"There are {len(value)} of them: {list(value)}.")


def check_one(function: str, **settings: Any) -> None:
    """Check that each setting of one-dimensional pooling is one number."""
    for name, value in settings.items():
        if not isinstance(value, int) and len(value) != 1 and not (name == "stride" and not len(value)):
            raise RuntimeError(f"{function}() argument '{name}' should contain one int (got {len(value)})")


def check_rank_of_one(function: str, ndim: int) -> None:
    if ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 'self' (while "
                           f"checking arguments for {function})")


def check_windows(kind: str, rank: int, shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """Check everything but the output sizes; returns settings for all dimensions."""
    if kind == "avg" and rank == 2:
        wrap_dim(-3, len(shape), scalar_ok=False)
    elif len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input\n"
                           f"Its shape is {list(shape)}.")
    for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > trunc(((k - 1) * d + 1) / 2):
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                               f"dilation={d}")
    for name, letter, values in (("kernel size", "k", kernel), ("stride", "d", stride), ("dilation", "dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{name} should be greater than zero, but got {listed(letter, rank, values)}")
    if len(shape) not in (rank + 1, rank + 2) or 0 in shape[-rank - 1:]:
        if rank == 3:
            function = "avg_pool3d" if kind == "avg" else "max_pool3d_with_indices_out_cpu_template"
            raise RuntimeError(f"{function}(): Expected input's non-batch dimensions to have positive length, but input has a "
                               f"shape of {list(shape)} and non-batch dimension 0 has length zero!")
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                           f"{list(shape)}")
    sizes = shape[-rank:]
    if kind == "avg" and rank == 3 and any([n < k for n, k in zip(sizes, kernel, strict=True)]):
        raise RuntimeError(f"input image ({listed('', rank, sizes)}) smaller than kernel size ({listed('k', rank, kernel)})")
    if any([p > k // 2 for p, k in zip(padding, kernel, strict=True)]):
        if rank == 3:
            told = " ".join([f"{letter}{side}: {values['THW'.index(side)]}"
                             for letter, values in (("k", kernel), ("pad", padding)) for side in "TWH"])
        else:
            told = f"padW = {padding[1]}, padH = {padding[0]}, kW = {kernel[1]}, kH = {kernel[0]}"
        raise RuntimeError(f"pad should be smaller than or equal to half of kernel size, but got {told}")


def check_filled(function: str, name: str, shape: Any, first: int = 1) -> None:
    """Check that no dimension after the batch, from `first` on, is empty."""
    for d in range(first, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(f"{function}(): Expected {name} to have non-zero size for non-batch dimensions, but {name} has "
                               f"sizes {list(shape)} with dimension {d} being empty")


def check_adaptive(kind: str, rank: int, shape: Any, output: Any) -> None:
    """Check the input and output sizes of adaptive pooling."""
    function = f"adaptive_{kind}_pool{rank}d"
    if kind == "avg" and len(output) != rank:
        raise RuntimeError(f"{function}: output_size must be {rank}")
    ranks = f"{function}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{':' if kind == 'max' else ''} {list(shape)}"
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(ranks)
    check_filled(function, "input", shape, len(shape) - 2 if kind == "avg" and rank == 2 else 1)
    if len(output) != rank:
        raise RuntimeError(f"{function}(): internal error: output_size.size() must be {rank}")
    if min(output) < 0:
        if kind == "avg":
            raise RuntimeError("numel: integer multiplication overflow\n"
                               f"The elements of output_size may not be negative: {list(output)}.")
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(output)}: "
                           f"{[*shape[:-rank], *output]}")
