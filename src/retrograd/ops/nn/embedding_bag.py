"""embedding_bag: sums, means or maxima of rows of a table, bag by bag."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.along import add_rows, take_rows
from retrograd.ops.shared.dtype_checks import check_types, type_name

SUM, MEAN, MAX = 0, 1, 2


def bag_kernel(xp: Any, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
               per_sample_weights: Any, include_last_offset: bool, padding_idx: int) -> Any:
    if indices.dtype != offsets.dtype:
        common = np.promote_types(indices.dtype, offsets.dtype)
        indices, offsets = indices.astype(common, copy=False), offsets.astype(common, copy=False)
    count = len(offsets) - include_last_offset
    starts = offsets[:count]
    lengths = xp.empty(count, np.int64)
    if count:
        xp.subtract(starts[1:], starts[:-1], lengths[:-1])
        lengths[-1] = len(indices) - starts[-1]
    bag_of = xp.arange(count).repeat(lengths) if count else xp.full(len(indices), -1)
    kept = indices != padding_idx if padding_idx >= 0 else None
    sizes = xp.zeros(count, indices.dtype)      # sums need no sizes, and the fast path does not compute bag membership
    if len(indices) and mode != SUM:
        sizes = lengths if kept is None else xp.bincount(bag_of[kept], minlength=count)
        sizes = sizes.astype(indices.dtype, copy=False)
    made = xp.zeros((count, weight.shape[1]), weight.dtype)
    largest = xp.zeros((count, weight.shape[1]) if mode == MAX else count, indices.dtype)
    if mode != MAX and native is not None and native.sum_bags(
            made, weight, indices.astype(np.int64, copy=False), starts.astype(np.int64, copy=False), padding_idx, mode == MEAN,
            per_sample_weights):
        largest = sizes.copy() if mode == MEAN else largest
        if mode == SUM and leaves_out_bags(weight, padding_idx):
            bag_of = bag_of[:0]
        return made, bag_of.astype(indices.dtype, copy=False), sizes, largest
    rows = take_rows(weight, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None].astype(rows.dtype)
    if mode == MAX:
        for bag in range(count):
            members = xp.flatnonzero(bag_of == bag if kept is None else (bag_of == bag) & kept)
            if len(members):
                best = rows[members].argmax(0)
                made[bag] = rows[members][best, xp.arange(weight.shape[1])]
                largest[bag] = indices[members[best]]
    else:
        if kept is None or kept.all():
            add_rows(made, bag_of, rows, 0)
        else:
            add_rows(made, bag_of[kept], rows[kept], 0)
        if mode == MEAN:
            made = (made / xp.maximum(sizes, 1)[:, None]).astype(weight.dtype)
            largest = sizes.copy()
    if mode == SUM and leaves_out_bags(weight, padding_idx):
        bag_of = bag_of[:0]
    return made, bag_of.astype(indices.dtype, copy=False), sizes, largest


def leaves_out_bags(weight: Any, padding_idx: int) -> bool:
    """Whether PyTorch sums without noting the bag of each index."""
    return padding_idx < 0 and weight.dtype.char != "d" and bool(weight.strides[1] == weight.itemsize)


def check_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
              per_sample_weights: Any, include_last_offset: bool, padding_idx: int) -> None:
    starts, rows = offsets.array, indices.array
    check_types("embedding_bag", 1, "indices", rows.dtype if rows.dtype == starts.dtype else np.promote_types(
        rows.dtype, starts.dtype), "Long, Int")
    check_types("embedding_bag", 1, "weight", weight.array.dtype, "Half, BFloat16, Float, Double")
    if per_sample_weights is not None and mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights is not None and per_sample_weights.array.dtype != weight.array.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {type_name(weight.array.dtype)} does not equal "
                           f"{type_name(per_sample_weights.array.dtype)} (while checking arguments for embedding_bag)")
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.ndim == 1 and len(starts):
        if starts[0] != 0:
            raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                               f"position 0. However, got {starts[0]}")
        if starts[-1] > len(rows):
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {len(rows)} but got offsets[-1] of "
                               f"{starts[-1]}")
        ordered = lean.is_sorted(starts)
        if not ordered and not lean.within(starts, 0, len(rows) + 1):
            raise IndexError(f"index out of range in self\nOffsets {starts.tolist()} are not all between 0 and {len(rows)}, "
                             "the number of indices.")
        if not ordered:
            raise RuntimeError("Expected i < index_size to be true, but got false.  (Could this error message be improved?  If "
                               "so, please report an enhancement request to PyTorch.)\nOffsets must not decrease, as in "
                               f"{starts.tolist()}.")
    if len(rows) and not lean.within(rows, 0, weight.shape[0]):
        place = int(((rows < 0) | (rows >= weight.shape[0])).argmax())
        wrong = rows[place]
        if mode != MAX and weight.array.dtype.char == "f":
            raise RuntimeError(f"Index {place} of input takes value {wrong} which is not in the valid range "
                               f"[0, {weight.shape[0]})")
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {wrong}")


def bags_of(indices: Any, offsets: Any, bag_of: Any) -> Any:
    """The bag of each index, computed if the forward did not need it."""
    if bag_of.numel() or not indices.numel():
        return bag_of
    places = late.arange(indices.numel(), dtype=offsets.dtype, device=offsets.device)
    return late.searchsorted(offsets, places, right=True) - 1


def gradient_of_rows(grad: Any, bag_of: Any, sizes: Any, mode: int, per_sample_weights: Any) -> Any:
    """The gradient of each looked-up row from its bag's gradient."""
    each = grad.index_select(0, bag_of)
    if mode == MEAN:
        each = each / sizes.clamp(min=1).index_select(0, bag_of).unsqueeze(1).to(grad.dtype)
    return each if per_sample_weights is None else each * per_sample_weights.unsqueeze(1)


def spread_bags(grad: Any, indices: Any, bag_of: Any, sizes: Any, largest: Any, rows: int, scale_grad_by_freq: bool, mode: int,
                per_sample_weights: Any, padding_idx: int) -> Any:
    """The gradient of the table."""
    zeros = late.zeros((rows, grad.shape[1]), dtype=grad.dtype, device=grad.device)
    if mode == MAX:
        return zeros.scatter_add(0, largest, grad.masked_fill((sizes == 0).unsqueeze(1), 0))
    each = gradient_of_rows(grad, bag_of, sizes, mode, per_sample_weights)
    if scale_grad_by_freq:
        counts = late.bincount(indices, minlength=rows)
        each = each / counts.index_select(0, indices).unsqueeze(1).to(grad.dtype)
    if padding_idx >= 0:
        each = each.masked_fill((indices == padding_idx).unsqueeze(1), 0)
    return zeros.index_add(0, indices, each)


def bag_weight_rule(grad: Any, indices: Any, offsets: Any, result1: Any, result2: Any, result3: Any, weight_sym_argsize_0: int,
                    scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int) -> Any:
    result1 = bags_of(indices, offsets, result1)
    if sparse:
        each = gradient_of_rows(grad, result1, result2, mode, per_sample_weights)
        return hooks.embedding_gradient(each, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq)
    return spread_bags(grad, indices, result1, result2, result3, weight_sym_argsize_0, scale_grad_by_freq, mode,
                       per_sample_weights, padding_idx)


def bag_samples_rule(grad: Any, weight: Any, indices: Any, offsets: Any, result1: Any, padding_idx: int) -> Any:
    result1 = bags_of(indices, offsets, result1)
    made = (grad.index_select(0, result1) * weight.index_select(0, indices)).sum(1)
    return made.masked_fill(indices == padding_idx, 0) if padding_idx >= 0 else made


def bag_tangent(weight_p: Any, weight_t: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
                per_sample_weights_p: Any, per_sample_weights_t: Any, include_last_offset: bool, padding_idx: int, result1: Any,
                result2: Any, result3: Any) -> Any:
    rest = [sparse, per_sample_weights_p, include_last_offset, padding_idx]
    if mode == MAX:
        made = weight_t.gather(0, result3).masked_fill((result2 == 0).unsqueeze(1), 0)
    else:
        made = call(embedding_bag_row, [weight_t, indices, offsets, scale_grad_by_freq, mode, *rest])[0]
        if per_sample_weights_t is not None:
            rest[1] = per_sample_weights_t
            made = made + call(embedding_bag_row, [weight_p, indices, offsets, scale_grad_by_freq, mode, *rest])[0]
    return (made, *[late.zeros_like(t) for t in (result1, result2, result3)])


embedding_bag_row = defop(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
    "sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, "
    "Tensor, Tensor)",
    kernel=bag_kernel, check=check_bag, vjp=dict(weight=bag_weight_rule, per_sample_weights=bag_samples_rule), jvp=bag_tangent,
    batch=families.loop, variants="function",
)


def embedding_bag_tensors(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool, mode: int, sparse: bool,
                          per_sample_weights: Any, include_last_offset: bool, padding_idx: Any = None) -> Any:
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got "
                           f"{padding_idx}")
    return call(embedding_bag_row, [weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                                    include_last_offset, -1 if padding_idx is None else padding_idx % rows])


FOUR = "(Tensor, Tensor, Tensor, Tensor)"
defop("embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool "
      f"sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> {FOUR}", kernel=embedding_bag_tensors,
      composite=True,
      variants="function", out=False)
defop("embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool "
      "sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> "
      f"{FOUR}", kernel=embedding_bag_tensors,
      composite=True, variants="function", out=False)
