"""Multi-head attention as a function of its inputs and weights."""
from __future__ import annotations

import math
import warnings
from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import overridable


def canonical_mask(mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any,
                   check_other: bool = True) -> Any:
    """A mask of booleans (True: not to be seen) as what is added to the scores."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not torch.is_floating_point(mask):
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
                      stacklevel=4)
    if torch.is_floating_point(mask):
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def type_or_none(mask: Any) -> Any:
    if mask is not None and not isinstance(mask, torch.Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if mask is None else mask.dtype


def claim(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether there is a batch; AssertionError where the arguments do not agree on it."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    kind = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    claim(key.dim() == rank and value.dim() == rank,
          f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D "
          "tensors respectively")
    if key_padding_mask is not None:
        claim(key_padding_mask.dim() == rank - 1,
              f"For {kind} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
              f"{key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        claim(attn_mask.dim() in (2, 3), f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
              f"{attn_mask.dim()}-D tensor instead")
        if rank == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            claim(attn_mask.shape == expected, f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return bool(rank == 3)


def unpacked(projected: Any, count: int, size: int) -> list[Any]:
    """The parts of a projection by several matrices at once."""
    parts = projected.unflatten(-1, (count, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [parts[i] for i in range(count)]


def project_packed(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> list[Any]:
    """Queries, keys and values by the three parts of one matrix; what is the same tensor is multiplied once."""
    linear, size = ops.aten.linear, query.size(-1)
    if key is value and query is key:
        return unpacked(linear(query, weight, bias), 3, size)
    if key is value:
        weights = weight.split([size, size * 2])
        biases = (None, None) if bias is None else bias.split([size, size * 2])
        return [linear(query, weights[0], biases[0]), *unpacked(linear(key, weights[1], biases[1]), 2, size)]
    parts = zip((query, key, value), weight.chunk(3), (None,) * 3 if bias is None else bias.chunk(3), strict=True)
    return [linear(t, w, b) for t, w, b in parts]


def project(query: Any, key: Any, value: Any, query_weight: Any, key_weight: Any, value_weight: Any, query_bias: Any = None,
            key_bias: Any = None, value_bias: Any = None) -> tuple[Any, Any, Any]:
    """Queries, keys and values by a matrix each."""
    size, names, tensors = query.size(-1), ("query", "key", "value"), (query, key, value)
    weights, biases = (query_weight, key_weight, value_weight), (query_bias, key_bias, value_bias)
    for name, t, w in zip(names, tensors, weights, strict=True):
        claim(w.shape == (size, t.size(-1)), f"expecting {name} weights shape of {(size, t.size(-1))}, but got {w.shape}")
    for name, b in zip(names, biases, strict=True):
        claim(b is None or b.shape == (size,), f"expecting {name} bias shape of {(size,)}, but got {getattr(b, 'shape', None)}")
    q, k, v = [ops.aten.linear(t, w, b) for t, w, b in zip(tensors, weights, biases, strict=True)]
    return q, k, v


def wider(mask: Any) -> Any:
    """A mask for one key more, which all can see."""
    return None if mask is None else ops.aten.pad(mask, (0, 1))


@overridable
def multi_head_attention_forward(
        query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
        bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
        training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
        use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None,
        static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Any, Any]:
    """Attention of several heads, each on its own projection; the attended values and the weights if wanted.

    >>> import retrograd as torch
    >>> x, one = torch.ones(2, 1, 2), torch.eye(2)
    >>> out, weights = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, torch.cat([one, one, one]), None, None, None, False, 0.0, one, None)
    >>> out.tolist(), weights.tolist()
    ([[[1.0, 1.0]], [[1.0, 1.0]]], [[[0.5, 0.5], [0.5, 0.5]]])
    """
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        one = key is query, value is key
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key = query if one[0] else key
        value = key if one[1] else value
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    source = key.shape[0]
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", type_or_none(attn_mask), "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = is_causal and key_padding_mask is None
    claim(size == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    width = size // num_heads
    claim(width * num_heads == size, f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        claim(key.shape[:2] == value.shape[:2],
              f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        for name, w in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            claim(w is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
        q, k, v = project(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight,
                          *(() if in_proj_bias is None else in_proj_bias.chunk(3)))
    else:
        claim(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        claim(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = project_packed(query, key, value, in_proj_weight, in_proj_bias)
    mask = checked_mask(attn_mask, (length, source), batch * num_heads)
    if bias_k is not None and bias_v is not None:
        claim(static_k is None, "bias cannot be added to static key.")
        claim(static_v is None, "bias cannot be added to static value.")
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])
        mask, key_padding_mask = wider(mask), wider(key_padding_mask)
    else:
        claim(bias_k is None, "bias_k is set but bias_v is None")
        claim(bias_v is None, "bias_v is set but bias_k is None")
    q = q.view(length, batch * num_heads, width).transpose(0, 1)
    k = by_head(k, static_k, "static_k", batch, num_heads, width)
    v = by_head(v, static_v, "static_v", batch, num_heads, width)
    if add_zero_attn:
        nothing = (batch * num_heads, 1, width)
        k, v = (torch.cat([t, torch.zeros(nothing, dtype=t.dtype, device=t.device)], dim=1) for t in (k, v))
        mask, key_padding_mask = wider(mask), wider(key_padding_mask)
    source = k.size(1)
    if key_padding_mask is not None:
        for d, n in enumerate((batch, source)):
            found = key_padding_mask.shape[d]
            claim(found == n, f"Expected key_padded_mask.shape[{d}] to be {n}, but got {found}")
        padding = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1,
                                                                                                   source)
        mask = padding if mask is None else mask + padding
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scaled = q * math.sqrt(1.0 / float(width))
        claim(not (is_causal and mask is None), "FIXME: is_causal not implemented for need_weights")
        transposed = k.transpose(-2, -1)
        scores = torch.bmm(scaled, transposed) if mask is None else torch.baddbmm(mask, scaled, transposed)
        weights = torch.softmax(scores, dim=-1)
        if dropout_p > 0.0:
            weights = torch.dropout(weights, dropout_p, True)
        made = torch.bmm(weights, v).transpose(0, 1).contiguous().view(length * batch, size)
        made = ops.aten.linear(made, out_proj_weight, out_proj_bias)
        made = made.view(length, batch, made.size(1))
        weights = weights.view(batch, num_heads, length, source)
        weights = weights.mean(dim=1) if average_attn_weights else weights
        return (made, weights) if batched else (made.squeeze(1), weights.squeeze(0))
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.size(0) == 1 and mask.dim() == 3 else mask.view(batch, num_heads, -1, source)
    q, k, v = (t.view(batch, num_heads, t.shape[1], width) for t in (q, k, v))
    made = ops.aten.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    made = made.permute(2, 0, 1, 3).contiguous().view(batch * length, size)
    made = ops.aten.linear(made, out_proj_weight, out_proj_bias)
    made = made.view(length, batch, made.size(1))
    return made if batched else made.squeeze(1), None


def checked_mask(mask: Any, sizes: tuple[int, int], copies: int) -> Any:
    """A mask for all heads of all examples, or for each of them."""
    if mask is None:
        return None
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    expected = sizes if mask.dim() == 2 else (copies, *sizes)
    if mask.shape != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def by_head(t: Any, static: Any, name: str, batch: int, heads: int, width: int) -> Any:
    """Keys or values as (batch * heads, length, width), or those given in their place."""
    if static is None:
        return t.view(t.shape[0], batch * heads, width).transpose(0, 1)
    claim(static.size(0) == batch * heads, f"expecting {name}.size(0) of {batch * heads}, but got {static.size(0)}")
    claim(static.size(2) == width, f"expecting {name}.size(2) of {width}, but got {static.size(2)}")
    return static
