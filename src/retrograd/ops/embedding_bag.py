"""Bags of embeddings: rows of a table summed, averaged or maximised bag by bag."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.dispatch import METHODS, call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import defop
from retrograd.core.tensor import Tensor
from retrograd.ops import families
from retrograd.ops.masked import INDEX_DTYPES, embedding_dense_backward

SUM, MEAN, MAX = range(3)


def check_arguments(weight: Any, indices: Any, offsets: Any, mode: int, per_sample_weights: Any, include_last: bool) -> None:
    for position, name, array in ((1, "indices", indices), (1, "offsets", offsets)):
        if array.dtype not in INDEX_DTYPES:
            raise RuntimeError(f"Expected tensor for argument #{position} '{name}' to have one of the following scalar types: "
                               f"Long, Int; but got torch.{BY_NUMPY[array.dtype].legacy}Tensor instead (while checking "
                               "arguments for embedding_bag)")
    if offsets.size and offsets[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                           f"However, got {offsets[0]}")
    if offsets.size and offsets[-1] > indices.shape[0]:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {indices.shape[0]} but got offsets[-1] of "
                           f"{offsets[-1]}")
    if include_last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    wrong = np.nonzero((indices < 0) | (indices >= weight.shape[0]))[0]
    if wrong.size:
        raise RuntimeError(f"Index {wrong[0]} of input takes value {indices[wrong[0]]} which is not in the valid range "
                           f"[0, {weight.shape[0]})")


def bags_of(offsets: Any, count: int, include_last: bool) -> Any:
    """For every index the bag that it is in, and the number of bags."""
    starts = offsets[:-1] if include_last else offsets
    marks = np.zeros(count + 1, np.int64)
    np.add.at(marks, starts, 1)
    return np.cumsum(marks)[:count] - 1, starts.shape[0]


def embedding_bag_kernel(xp: Any, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
                         per_sample_weights: Any, include_last_offset: bool, padding_idx: int) -> Any:
    check_arguments(weight, indices, offsets, mode, per_sample_weights, include_last_offset)
    bag, count = bags_of(offsets, indices.shape[0], include_last_offset)
    width = weight.shape[1]
    kept = indices != padding_idx if padding_idx >= 0 else np.ones(indices.shape, bool)
    rows = weight[indices[kept]]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[kept][:, None]
    sizes = np.bincount(bag[kept], minlength=count).astype(offsets.dtype)
    if mode == MAX:
        out, places = maxima(weight, rows, bag[kept], indices[kept], count)
        return out, bag.astype(indices.dtype), sizes, places
    out = np.zeros((count, width), weight.dtype)
    np.add.at(out, bag[kept], rows)
    if mode == MEAN:
        out = (out / np.maximum(sizes, 1)[:, None].astype(out.dtype)).astype(weight.dtype)
        return out, bag.astype(indices.dtype), sizes, sizes.copy()
    # A sum needs neither the bags' sizes nor, without padding, the map from indices to bags.
    hidden = bag.astype(indices.dtype) if padding_idx >= 0 else np.zeros(0, indices.dtype)
    zeros = np.zeros(offsets.shape[0], offsets.dtype)
    return out, hidden, zeros, zeros.copy()


def maxima(weight: Any, rows: Any, bag: Any, indices: Any, count: int) -> Any:
    """The largest of every column of every bag, and which row of the table it is."""
    out = np.zeros((count, weight.shape[1]), weight.dtype)
    places = np.zeros((count, weight.shape[1]), indices.dtype)
    seen = np.zeros(count, bool)
    for row, b, index in zip(rows, bag, indices, strict=True):
        better = (row > out[b]) | ~seen[b]
        out[b][better] = row[better]
        places[b][better] = index
        seen[b] = True
    return out, places


# ---- derivatives
def bag_numbers(offset2bag: Any, offsets: Any, indices: Any, count: int) -> Any:
    """The map from indices to bags, also where the forward did not need it."""
    if offset2bag.array.shape[0] == indices.array.shape[0]:
        return offset2bag
    include_last = offsets.array.shape[0] > count
    return Tensor(bags_of(offsets.array, indices.array.shape[0], include_last)[0])


def weight_gradient(grads: Any, weight_sym_argsize_0: int, indices: Any, offsets: Any, result1: Any, result2: Any, result3: Any,
                    scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int) -> Any:
    grad = grads[0]
    if mode == MAX:
        zeros = grad.new_zeros((weight_sym_argsize_0, grad.array.shape[1]))
        filled = METHODS["to"](result2 > 0, grad.dtype).unsqueeze(1)          # an empty bag has no largest row
        return zeros.scatter_add(0, METHODS["to"](result3, dtypes.int64), grad * filled)
    bags = bag_numbers(result1, offsets, indices, grad.array.shape[0])
    rows = grad.index_select(0, bags)
    if mode == MEAN:
        rows = rows / METHODS["to"](result2.index_select(0, bags), grad.dtype).unsqueeze(1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if sparse:
        return METHODS["__embedding_gradient__"](rows, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq)
    return call(embedding_dense_backward, [rows, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq])


def sample_weights_gradient(grads: Any, weight: Any, indices: Any, offsets: Any, result1: Any, mode: int,
                            padding_idx: int) -> Any:
    grad = grads[0]
    if mode != SUM:
        raise RuntimeError("embedding_bag_backward: per_sample_weights only supported for mode='sum'")
    bags = bag_numbers(result1, offsets, indices, grad.array.shape[0])
    made = (grad.index_select(0, bags) * weight.index_select(0, indices)).sum(1)
    if padding_idx >= 0:
        made = made.masked_fill(indices == padding_idx, 0)
    return made


bag = defop(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
    "sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, "
    "Tensor, Tensor)",
    kernel=embedding_bag_kernel,
    vjp=dict(weight=weight_gradient, per_sample_weights=sample_weights_gradient),
    batch=families.loop, variants="function", out=False,
)


def embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
                  per_sample_weights: Any, include_last_offset: bool, padding_idx: Any = None) -> Any:
    if padding_idx is not None:
        rows = weight.array.shape[0]
        if not -rows <= padding_idx < rows:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got "
                               f"{padding_idx}")
        padding_idx %= rows
    return call(bag, [weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                      -1 if padding_idx is None else padding_idx])


for schema in (
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
    "sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, "
    "Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
):
    defop(schema, kernel=embedding_bag, composite=True, variants="function", out=False)
