"""Multi-head attention as a module."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.linear import NonDynamicallyQuantizableLinear
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention of several heads, each on its own projection of queries, keys and values.

    >>> import retrograd as torch
    >>> layer, x = torch.nn.MultiheadAttention(embed_dim=4, num_heads=2), torch.ones(3, 1, 4)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights
    (torch.Size([3, 1, 4]), tensor([[[0.3333, 0.3333, 0.3333],
             [0.3333, 0.3333, 0.3333],
             [0.3333, 0.3333, 0.3333]]], grad_fn=<MeanBackward1>))
    """

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 device: Any = None, dtype: Any = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(torch.empty((3 * embed_dim, embed_dim), **place))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = Parameter(torch.empty((embed_dim, embed_dim), **place))
            self.k_proj_weight = Parameter(torch.empty((embed_dim, self.kdim), **place))
            self.v_proj_weight = Parameter(torch.empty((embed_dim, self.vdim), **place))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(torch.empty(3 * embed_dim, **place)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        self.bias_k = Parameter(torch.empty((1, 1, embed_dim), **place)) if add_bias_kv else None
        self.bias_v = Parameter(torch.empty((1, 1, embed_dim), **place)) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
                attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Any, Any]:
        """The attended values, and the weights if wanted."""
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.dim() == 3
        if not batched:
            query, key, value = (t.unsqueeze(1) for t in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            query, key, value = (t.transpose(1, 0) for t in (query, key, value))
        output, weights = self._attend(query, key, value, key_padding_mask, attn_mask, need_weights)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            return output.squeeze(1), None if weights is None else weights.squeeze(0)
        return (output.transpose(1, 0) if self.batch_first else output), weights

    def _projected(self, query: Any, key: Any, value: Any) -> list[Any]:
        size = self.embed_dim
        biases: Any = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self._qkv_same_embed_dim and query is key and key is value:
            packed = F.linear(query, self.in_proj_weight, self.in_proj_bias)
            packed = packed.unflatten(-1, (3, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return [packed[0], packed[1], packed[2]]
        weights = self.in_proj_weight.chunk(3) if self._qkv_same_embed_dim else (
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return [F.linear(t, w, b) for t, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _attend(self, query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, need_weights: bool) -> Any:
        length, batch, size = query.shape
        heads, width = self.num_heads, self.head_dim
        q, k, v = self._projected(query, key, value)
        mask = as_scores(attn_mask, q.dtype)
        if mask is not None and mask.dim() == 2:
            mask = mask.unsqueeze(0)
        padding = as_scores(key_padding_mask, q.dtype)
        if self.bias_k is not None and self.bias_v is not None:
            k = torch.cat([k, self.bias_k.repeat(1, batch, 1)])
            v = torch.cat([v, self.bias_v.repeat(1, batch, 1)])
            mask, padding = (t if t is None else F.pad(t, (0, 1)) for t in (mask, padding))
        q, k, v = (t.reshape(t.shape[0], batch * heads, width).transpose(0, 1) for t in (q, k, v))
        if self.add_zero_attn:
            k, v = (torch.cat([t, torch.zeros(batch * heads, 1, width, dtype=t.dtype)], dim=1) for t in (k, v))
            mask, padding = (t if t is None else F.pad(t, (0, 1)) for t in (mask, padding))
        source = k.size(1)
        if padding is not None:
            padding = padding.view(batch, 1, 1, source).expand(-1, heads, -1, -1).reshape(batch * heads, 1, source)
            mask = padding if mask is None else mask + padding
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            scaled = q * math.sqrt(1.0 / float(width))
            scores = torch.bmm(scaled, k.transpose(-2, -1)) if mask is None else torch.baddbmm(mask, scaled, k.transpose(-2,
                                                                                                                         -1))
            weights = F.softmax(scores, dim=-1)
            if dropout > 0.0:
                weights = F.dropout(weights, p=dropout)
            made = torch.bmm(weights, v).transpose(0, 1).contiguous().view(length * batch, size)
            made = F.linear(made, self.out_proj.weight, self.out_proj.bias)
            return made.view(length, batch, size), weights.view(batch, heads, length, source)
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.size(0) == 1 and mask.dim() == 3 else mask.view(batch, heads, -1, source)
        q, k, v = (t.view(batch, heads, t.shape[1], width) for t in (q, k, v))
        made = F.scaled_dot_product_attention(q, k, v, mask, dropout, False)
        made = made.permute(2, 0, 1, 3).contiguous().view(batch * length, size)
        made = F.linear(made, self.out_proj.weight, self.out_proj.bias)
        return made.view(length, batch, size), None


def as_scores(mask: Any, dtype: Any) -> Any:
    """A mask of booleans (True: not to be seen) as what is added to the scores."""
    if mask is None or mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)
