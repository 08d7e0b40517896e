"""Scaled dot product attention.

The op for four-dimensional inputs saves only its inputs and recomputes the weights in backward; unsupported cases (other
ranks, dropout) use matrix products. Its derivative is written with the same products, so that it is differentiable again.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.opdef import NOT_IMPLEMENTED, defop
from retrograd.ops import late
from retrograd.ops.linalg.lapack import address_of
from retrograd.ops.nn.softmax import safe_softmax
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import without_gradient
from retrograd.ops.shared.elementwise import C_NAMES, times
from retrograd.ops.shared.images import GEMM


def scale_of(query: Any, scale: float | None) -> float:
    return 1 / math.sqrt(query.shape[-1] or math.nan) if scale is None else scale


def as_bias(mask: Any, dtype: Any) -> Any:
    """A bool mask as an additive bias of the scores."""
    if mask.dtype.name != "bool":
        return mask
    return late.zeros(tuple(mask.shape), dtype=dtype, device=mask.device).masked_fill(mask.logical_not(), -math.inf)


def weights_of(query: Any, key: Any, is_causal: bool, attn_mask: Any, scale: float | None) -> Any:
    """The attention weights, over tensors."""
    scores = query.matmul(key.transpose(-2, -1)) * scale_of(query, scale)
    if is_causal:
        later = late.ones((query.shape[-2], key.shape[-2]), dtype=query.dtype, device=query.device).triu(1) > 0
        scores = scores.masked_fill(later, -math.inf)
    if attn_mask is not None:
        scores = scores + as_bias(attn_mask, query.dtype)
    return scores.softmax(-1)


def flash_kernel(xp: Any, query: Any, key: Any, value: Any, dropout_p: float, is_causal: bool, attn_mask: Any,
                 scale: float | None) -> Any:
    kept = query.dtype
    if not query.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if dropout_p != 0:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}\n"
                           f"The shapes are {query.shape}, {key.shape} and {value.shape}.")
    if not query.shape[-1] == key.shape[-1] == value.shape[-1]:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Q/K/V should have the same head size\n"
                           f"The shapes are {query.shape}, {key.shape} and {value.shape}.")
    query, key, value, attn_mask = singles(xp, query, key, value, attn_mask)
    done = attended(query, key, value, attn_mask, is_causal, scale_of(query, scale))
    if done is not None:
        return done[0].astype(kept, copy=False), done[1]
    scores = xp.matmul(query, key.swapaxes(-2, -1)) * query.dtype.type(scale_of(query, scale))
    if is_causal:
        later = xp.triu(lean.ones(scores.shape[-2:], bool), 1)
        scores = xp.where(later, query.dtype.type(-xp.inf), scores)
    if attn_mask is not None:
        scores = scores + attn_mask if attn_mask.dtype.kind != "b" else xp.where(attn_mask, scores, query.dtype.type(-xp.inf))
    most = scores.max(-1, keepdims=True)
    powers = xp.exp(scores - xp.where(xp.isfinite(most), most, 0))
    total = powers.sum(-1, keepdims=True)
    made = xp.matmul(powers / xp.where(total == 0, 1, total), value)
    logsumexp = (most + xp.log(total))[..., 0]
    batch, heads, queries = logsumexp.shape
    by_query = storage.empty_strided(logsumexp.shape, (queries * heads, 1, heads), logsumexp.dtype)
    by_query[...] = logsumexp
    return made.astype(kept, copy=False), by_query


def singles(xp: Any, *arrays: Any) -> list[Any]:
    """Half precision as float32."""
    return [a if a is None or a.dtype not in dtypes.HALVES else a.astype(xp.float32) for a in arrays]


def by_rows(array: Any) -> Any:
    """The array, copied unless its last two dimensions are row-major."""
    rows, columns = array.strides[-2:]
    return array if columns == array.itemsize and rows >= columns * array.shape[-1] else np.ascontiguousarray(array)


def as_added(mask: Any, dtype: Any, shape: Any) -> Any:
    """The mask as an additive bias for scores of this shape."""
    if mask is None:
        return None
    if mask.dtype.kind == "b":
        mask = np.where(mask, dtype.type(0), dtype.type(-np.inf))
    return lean.broadcast_to(mask, shape)


def fits_compiled(query: Any, key: Any, value: Any, mask: Any) -> bool:
    return (native is not None and query.dtype.char in GEMM and query.dtype == key.dtype == value.dtype
            and query.shape[:2] == key.shape[:2] == value.shape[:2] and 0 not in (query.size, key.size, value.size)
            and (mask is None or mask.dtype == query.dtype or mask.dtype.kind == "b"))


def attended(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float) -> Any:
    """Output and logsumexp, some rows of scores at a time; None where nothing is compiled."""
    if not fits_compiled(query, key, value, mask):
        return None
    batch, heads, queries, _ = query.shape
    output = np.empty((batch, heads, queries, value.shape[-1]), query.dtype)
    logsumexp = np.empty((batch, queries, heads), query.dtype).swapaxes(1, 2)
    added = as_added(mask, query.dtype, (batch, heads, queries, key.shape[2]))
    done = native.attention_forward(*map(by_rows, (query, key, value)), output, logsumexp[..., None], added, is_causal, scale,
                                    address_of(GEMM[query.dtype.char]))
    return None if done is None else (output, logsumexp)


def flash_backward_kernel(xp: Any, grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float,
                          is_causal: bool, attn_mask: Any, scale: float | None) -> Any:
    kept = query.dtype
    grad_out, query, key, value, out, attn_mask = singles(xp, grad_out, query, key, value, out, attn_mask)
    factor = query.dtype.type(scale_of(query, scale))
    made = [xp.zeros((a.shape[0], a.shape[2], a.shape[1], a.shape[3]), a.dtype).swapaxes(1, 2) for a in (query, key, value)]
    shape = (*query.shape[:3], key.shape[2])
    added = as_added(attn_mask, query.dtype, shape)
    if not fits_compiled(query, key, value, attn_mask) or native.attention_backward(
            *map(by_rows, (query, key, value, out)), logsumexp[..., None], by_rows(grad_out), *made, added, is_causal,
            float(factor), address_of(GEMM[query.dtype.char])) is None:
        scores = xp.matmul(query, key.swapaxes(-2, -1)) * factor
        scores = scores if added is None else scores + added
        scores = scores if not is_causal else xp.where(xp.triu(lean.ones(shape[2:], bool), 1), -xp.inf, scores)
        weights = xp.exp(scores - xp.where(xp.isfinite(logsumexp), logsumexp, 0)[..., None]).astype(query.dtype, copy=False)
        slopes = xp.matmul(grad_out, value.swapaxes(-2, -1)) - (grad_out * out).sum(-1, keepdims=True)
        slopes = weights * slopes * factor
        made[0][...] = xp.matmul(slopes, key)
        made[1][...] = xp.matmul(slopes.swapaxes(-2, -1), query)
        made[2][...] = xp.matmul(weights.swapaxes(-2, -1), grad_out)
    return tuple([m.astype(kept, copy=False) for m in made])


def check_flash(query: Any, *rest: Any) -> None:
    if query.array.dtype.kind not in "fV":
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Expected data type in FP32, FP64, BF16, FP16, but "
                           f"got {query.dtype.legacy} instead.")


def flash_rule(grads: Any, query: Any, key: Any, value: Any, output: Any, logsumexp: Any, dropout_p: float, is_causal: bool,
               attn_mask: Any, scale: float | None) -> Any:
    grad = grads[0]
    if grad is None:
        return None, None, None
    if not families.is_watched():           # without create_graph the weights are not kept
        return call(flash_backward, [grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale])
    weights, factor = weights_of(query, key, is_causal, attn_mask, scale), scale_of(query, scale)
    to_weights = grad.matmul(value.transpose(-2, -1))
    to_scores = weights * (to_weights - (to_weights * weights).sum(-1, True)) * factor
    return to_scores.matmul(key), to_scores.transpose(-2, -1).matmul(query), weights.transpose(-2, -1).matmul(grad)


def flash_tangent(query_p: Any, query_t: Any, key_p: Any, key_t: Any, value_p: Any, value_t: Any, is_causal: bool,
                  attn_mask: Any, scale: float | None, logsumexp: Any) -> Any:
    weights, factor = weights_of(query_p, key_p, is_causal, attn_mask, scale), scale_of(query_p, scale)
    scores_t = (query_t.matmul(key_p.transpose(-2, -1)) + query_p.matmul(key_t.transpose(-2, -1))) * factor
    mean_t = (weights * scores_t).sum(-1, True)
    return (weights * (scores_t - mean_t)).matmul(value_p) + weights.matmul(value_t), mean_t.squeeze(-1)


flash = defop(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool "
    "is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    kernel=flash_kernel, vjp={("query", "key", "value"): flash_rule}, jvp=flash_tangent, batch=families.loop,
    check=without_gradient("_scaled_dot_product_flash_attention_for_cpu", check_flash, attn_mask=5),
    variants="function", constant=(1,), lower="@native.attention",
)


flash_backward = defop(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
    "Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, "
    "Tensor grad_key, Tensor grad_value)",
    kernel=flash_backward_kernel, vjp=NOT_IMPLEMENTED, batch=families.loop, variants="function", out=False,
)


def attention_by_products(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool,
                          scale: float | None) -> Any:
    return attention_and_weights(query, key, value, attn_mask, dropout_p, is_causal, None, scale, False)[0]


def attention_and_weights(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool,
                          dropout_mask: Any, scale: float | None, enable_gqa: bool) -> tuple[Any, Any]:
    """The formula, product by product: the output and the weights."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if query.array.dtype in dtypes.HALVES:
        q, k, v = (t.to(dtypes.float32) for t in (query, key, value))
        made = attention_and_weights(q, k, v, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa)
        return made[0].to(query.dtype), made[1].to(query.dtype)
    if enable_gqa:
        key, value = for_every_head(query, key, value)
    factor = math.sqrt(abs(scale_of(query, scale)))
    if is_causal:
        attn_mask = late.ones((query.shape[-2], key.shape[-2]), dtype=dtypes.bool_, device=query.device).tril()
    scores = times(query, factor if scale is None or not scale < 0 else -factor).matmul(times(key.transpose(-2, -1), factor))
    if attn_mask is not None:
        scores = scores + as_bias(attn_mask, scores.dtype)
    weights = call(safe_softmax, [scores, -1, None])          # a fully masked row has zero weights
    if dropout_mask is not None:
        weights = late.masked_fill(weights, late.logical_not(dropout_mask), 0.0)
        return weights.matmul(times(value, 1 / (1 - dropout_p))).to(query.dtype), weights.to(query.dtype)
    if dropout_p > 0:
        weights = late.dropout(weights, dropout_p, True)
    return weights.matmul(value), weights


def for_every_head(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Keys and values repeated to the number of query heads."""
    if any([t.shape[-3] == 0 or query.shape[-3] % t.shape[-3] for t in (key, value)]):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query, which has "
                           f"{query.shape[-3]}; they have {key.shape[-3]} and {value.shape[-3]}")
    return tuple([t.repeat_interleave(query.shape[-3] // t.shape[-3], -3) for t in (key, value)])      # type: ignore[return-value]


defop("_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
      "bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
      kernel=attention_and_weights, composite=True, variants="function", out=False)


def attention(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float | None,
              enable_gqa: bool) -> Any:
    tensors = (query, key, value)
    q, k, v = query.array, key.array, value.array
    if q.dtype is not k.dtype or q.dtype is not v.dtype:
        names = [C_NAMES[t.dtype.name] for t in tensors]
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead.")
    if q.ndim < 2 or k.ndim < 2 or v.ndim < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                           f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead.")
    if attn_mask is not None and attn_mask.dtype is not query.dtype and attn_mask.dtype.name not in ("bool", "float32"):
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                           f"{C_NAMES[attn_mask.dtype.name]} and  query.dtype: {C_NAMES[query.dtype.name]} instead.")
    if not q.shape[-2] or not v.size:              # nothing to attend with or to: zeros that depend on all three
        total = times(query.sum() + key.sum() + value.sum(), 0)
        return late.zeros((*q.shape[:-1], v.shape[-1]), dtype=query.dtype, device=query.device) + total
    mask = None if attn_mask is None else as_bias(attn_mask, query.dtype)
    if enable_gqa:
        key, value = for_every_head(query, key, value)
        k, v = key.array, value.array
    fits = (q.dtype.kind in "fV" and q.ndim == 4 and k.ndim == 4 and v.ndim == 4 and dropout_p == 0
            and q.shape[-1] == k.shape[-1] == v.shape[-1] and q.shape[:2] == k.shape[:2] == v.shape[:2]
            and q.size > 0 and k.size > 0 and q.strides[-1] == k.strides[-1] == v.strides[-1] == q.itemsize
            and (attn_mask is None or not attn_mask.requires_grad))
    if fits:
        return call(flash, [query, key, value, dropout_p, is_causal, mask, scale])[0]
    return attention_by_products(query, key, value, mask, dropout_p, is_causal, scale)


defop("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
      "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
      kernel=attention, composite=True, variants="", out=False, autocast="lower")
