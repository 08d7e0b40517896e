"""Packing of padded sequences: for each time step, the rows of the sequences that have it."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import bump, new_tensor
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.families import wrap_dim


def check_lengths(lengths: Any) -> None:
    if lengths.ndim != 1 or lengths.dtype != np.int64:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu "
                           f"{BY_NUMPY[lengths.dtype].legacy} tensor")


def pack_kernel(xp: Any, input: Any, lengths: Any, batch_first: bool) -> Any:
    check_lengths(lengths)
    steps = input.swapaxes(0, 1) if batch_first else input
    if not input.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != steps.shape[wrap_dim(1, input.ndim, scalar_ok=False)]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
                           f"(batch_size={steps.shape[1]})")
    counts = lengths.tolist()
    if counts[-1] <= 0:           # the last is the shortest if they are sorted
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if counts != sorted(counts, reverse=True):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
                           "if you do not need ONNX exportability.")
    sizes, size = [], len(counts)
    for t in range(counts[0]):
        while counts[size - 1] <= t:
            size -= 1
        sizes.append(size)
    return xp.concatenate([step[:size] for step, size in zip(steps, sizes, strict=False)]), xp.array(sizes, np.int64)


def unpack_tensors(grad: Any, input_size: Any, batch_sizes: Any, batch_first: bool) -> Any:
    if not batch_sizes._flags:
        check_lengths(batch_sizes.array)
    first, second, *rest = input_size
    made = grad.new_zeros((second, first, *rest) if batch_first else tuple(input_size))
    start = 0
    for t, size in enumerate(batch_sizes.tolist()):
        made[t, :size] = grad[start:start + size]
        start += size
    return made.transpose(0, 1) if batch_first else made


def with_examples_last(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """Examples of the same lengths are one more dimension of the rows; the sizes are the same for all."""
    input, lengths, batch_first = args
    if dims[1] is not None:
        return families.loop(op, args, dims, size)
    data, sizes = call(op, [input.movedim(dims[0], -1), lengths, batch_first])
    return (data, sizes), (data.ndim - 1, None)


backward = defop(
    "_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor",
    kernel=unpack_tensors, composite=True, variants="", out=False)
forward = defop(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    kernel=pack_kernel, batch=with_examples_last, variants="function", real_only=True,
    node="PackPaddedSequenceBackward0",
    vjp=dict(input=lambda grad, input_sym_sizes, result1, batch_first: call(
        backward, [grad, input_sym_sizes, result1, batch_first])),
    jvp=lambda input_t, lengths, batch_first, result1: (call(forward, [input_t, lengths, batch_first])[0],
                                                        late.zeros_like(result1)))


def pad_tensors(data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int) -> Any:
    bare = is_ordinary(data) and is_ordinary(batch_sizes) and not families.will_differentiate(data)
    if not batch_sizes._flags:
        check_lengths(batch_sizes.array)
    sizes = batch_sizes.array.tolist() if bare else batch_sizes.tolist()
    longest = len(sizes)
    if total_length > 0:
        if total_length < longest:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {longest}")
        longest = total_length
    made, start = data.new_full((longest, sizes[0], *data.shape[1:]), padding_value), 0
    bare = bare and data.array.ndim > 0 and sum(sizes) <= len(data.array)         # otherwise an op raises
    target, source = (made.array, data.array) if bare else (made, data)
    for t, size in enumerate(sizes):
        target[t, :size] = source[start:start + size]
        start += size
        if bare:
            bump(made)
    counts = [sum([size > i for size in sizes]) for i in range(sizes[0])]
    lengths = new_tensor(np.array(counts, np.int64)) if bare else late.tensor(counts)
    return (made.transpose(0, 1) if batch_first else made), lengths


defop("_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> "
      "(Tensor, Tensor)", kernel=pad_tensors, composite=True, variants="function", out=False)
