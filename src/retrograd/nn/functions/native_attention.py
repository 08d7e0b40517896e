"""Self-attention with all its projections in one call, and nested tensors from padded ones: what modules of layers call."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.nn.attention import SDPBackend, _cur_sdpa_kernel_backends


def _transform_bias_rescale_qkv(qkv: Any, qkv_bias: Any, num_heads: int) -> tuple[Any, Any, Any]:
    """Queries, keys and values with their bias, by heads; the queries are scaled.

    >>> [tuple(each.shape) for each in _transform_bias_rescale_qkv(torch.ones(2, 3, 12), torch.ones(12), 2)]
    [(2, 2, 3, 2), (2, 2, 3, 2), (2, 2, 3, 2)]
    """
    if qkv.is_nested:
        qkv = qkv.to_padded_tensor(0.0)
    q, k, v = [by_heads(each, num_heads) for each in (qkv + qkv_bias).chunk(3, -1)]
    return q / math.sqrt(q.shape[-1]), k, v


def by_heads(t: Any, heads: int) -> Any:
    return t.view(t.shape[0], t.shape[1], heads, t.shape[2] // heads).transpose(1, 2)


def _native_multi_head_attention(query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any,
                                 qkv_bias: Any, proj_weight: Any, proj_bias: Any, mask: Any = None, need_weights: bool = True,
                                 average_attn_weights: bool = True, mask_type: int | None = None) -> tuple[Any, Any]:
    """The output of attention of several heads and, on request, its weights.

    >>> x, eye = torch.ones(1, 2, 4), torch.eye(4)
    >>> out, weights = _native_multi_head_attention(x, x, x, 4, 2, eye.repeat(3, 1), torch.zeros(12), eye, torch.zeros(4))
    >>> out.shape, weights
    (torch.Size([1, 2, 4]), tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]]))
    """
    check(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
    if query.is_nested:
        return attend_nested(query, key, value, (embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias))
    parts = [torch.nn.functional.linear(given, weight, bias) for given, weight, bias
             in zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)]
    q, k, v = [by_heads(each, num_head) for each in parts]
    scores = torch.matmul(q / math.sqrt(q.shape[-1]), k.transpose(-2, -1))
    weights = torch.softmax(scores, -1) if mask is None else torch._masked_softmax(scores, mask, 3, mask_type)
    joined = torch.matmul(weights, v).transpose(1, 2).reshape(query.shape[0], query.shape[1], embed_dim)
    out = torch.nn.functional.linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return out, None
    return out, weights.sum(1) / num_head if average_attn_weights else weights


def attend_nested(query: Any, key: Any, value: Any, settings: tuple[Any, Any, Any, Any, Any, Any]) -> tuple[Any, None]:
    """Attention within each sequence of a nested tensor."""
    outs = [_native_multi_head_attention(q[None], k[None], v[None], *settings, need_weights=False)[0][0]
            for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)]
    return torch.nested.as_nested_tensor(outs), None


def check(query: Any, key: Any, value: Any, embed_dim: int, heads: int, weight: Any, bias: Any) -> None:
    if not query.is_nested:
        for name, t in (("query", query), ("key", key), ("value", value)):
            if t.ndim != 3:
                raise RuntimeError(f"expected 3-D `{name}`, got {t.ndim}-D tensor")
            if t.shape[2] != embed_dim:
                raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of {name} {t.shape[2]}")
    if weight.ndim != 2:
        raise RuntimeError(f"expected `qkv_weight` to be 2-D, got {weight.ndim}-D tensor")
    if weight.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if bias is None or bias.ndim != 1 or bias.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if embed_dim % heads:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


def _nested_tensor_from_mask(t: Any, mask: Any, mask_check: bool = True) -> Any:
    """A nested tensor of the first rows of each matrix of a batch, as many as the mask keeps.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     made = _nested_tensor_from_mask(torch.ones(2, 3, 1), torch.tensor([[True, True, False], [True, False, False]]))
    >>> [tuple(each.shape) for each in made.unbind()]
    [(2, 1), (1, 1)]
    """
    if mask.dtype != torch.bool:
        raise RuntimeError("Expected mask to be of ScalarType Bool, but got "
                           f"{mask.type().split('.')[-1].removesuffix('Tensor')} instead.")
    if mask.ndim != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t.ndim != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if mask.shape != t.shape[:2]:
        raise RuntimeError("Mask size should match input size")
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise RuntimeError("Mask must be left-aligned without gaps")
    return torch.nested.as_nested_tensor([row[:count] for row, count in zip(t.unbind(), mask.sum(1).tolist(), strict=True)])


def _nested_tensor_from_mask_left_aligned(t: Any, mask: Any) -> bool:
    """Whether what the mask keeps is at the beginning of every row.

    >>> _nested_tensor_from_mask_left_aligned(torch.ones(1, 3, 1), torch.tensor([[True, False, True]]))
    False
    """
    return bool((mask[:, 1:] <= mask[:, :-1]).all())


def _fused_sdp_choice(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                      *, scale: float | None = None, enable_gqa: bool = False) -> int:
    """The number of the kernel that attention takes for such inputs, among those that are allowed.

    >>> x = torch.ones(1, 2, 3, 4)
    >>> _fused_sdp_choice(x, x, x), _fused_sdp_choice(x, x, x, dropout_p=0.5)
    (1, 0)
    """
    allowed = _cur_sdpa_kernel_backends()
    if SDPBackend.FLASH_ATTENTION in allowed and fuses(query, key, value, attn_mask, dropout_p, enable_gqa):
        return int(SDPBackend.FLASH_ATTENTION)
    if SDPBackend.MATH in allowed:
        return int(SDPBackend.MATH)
    raise RuntimeError("No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both "
                       "the math kernel and the fused kernels.")


def fuses(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, enable_gqa: bool) -> bool:
    """Whether the kernel without a matrix of weights takes the inputs."""
    tensors = (query, key, value)
    if any([t.is_nested or t.ndim != 4 or not t.is_floating_point() or t.stride(-1) != 1 or 0 in t.shape for t in tensors]):
        return False
    heads = key.shape[1] == value.shape[1] and (query.shape[1] == key.shape[1]
                                                or enable_gqa and query.shape[1] % key.shape[1] == 0)
    masked = mask is None or not mask.requires_grad and (
        mask.ndim in (2, 4) and all([have in (1, want) for have, want in
                                     zip(reversed(mask.shape), (key.shape[2], query.shape[2], query.shape[1], query.shape[0]),
                                         strict=False)]))
    return (dropout_p == 0 and heads and masked and query.shape[0] == key.shape[0] == value.shape[0]
            and query.shape[-1] == key.shape[-1] == value.shape[-1])
