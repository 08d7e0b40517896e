"""Multi-head attention as a module."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.functions.attention import canonical_mask, type_or_none
from retrograd.nn.modules.linear import NonDynamicallyQuantizableLinear
from retrograd.nn.modules.module import Module
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
        if query.is_nested or key.is_nested or value.is_nested:
            return self._attend_parts(query, key, value, key_padding_mask, attn_mask, need_weights, average_attn_weights)
        batched = query.dim() == 3
        key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", type_or_none(attn_mask), "attn_mask",
                                          query.dtype)
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if self.batch_first and batched:
            # what is one tensor stays one, so that it is projected once
            same = key is query, value is key
            query, key, value = (t.transpose(1, 0) for t in (query, key, value))
            key = query if same[0] else key
            value = key if same[1] else value
        made, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal)
        return made.transpose(1, 0) if self.batch_first and batched else made, weights

    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> tuple[Any, int | None]:
        """One mask of both, and of which kind it is: 1 for padding alone, 2 for one with scores.

        >>> import retrograd as torch
        >>> layer, x = torch.nn.MultiheadAttention(4, 2, batch_first=True), torch.ones(1, 3, 4)
        >>> mask, kind = layer.merge_masks(torch.zeros(3, 3), None, x)
        >>> mask.shape, kind
        (torch.Size([1, 2, 3, 3]), 2)
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        count, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(count, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(count, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(count, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2

    def _attend_parts(self, query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, need_weights: bool,
                      average_attn_weights: bool) -> tuple[Any, Any]:
        """Self-attention of sequences of different lengths, each by itself; the weights are filled up with zeros."""
        reason = self._why_not_nested(query, key, value, key_padding_mask, attn_mask)
        if reason is not None:
            raise AssertionError("MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was "
                                 f"not hit because {reason}")
        made = [self.forward(part, part, part, need_weights=need_weights, average_attn_weights=average_attn_weights)
                for part in query.unbind()]
        outputs = torch.nested.as_nested_tensor([output for output, _ in made], layout=query.layout)
        if not need_weights:
            return outputs, None
        longest = max([output.shape[0] for output, _ in made])
        return outputs, torch.stack([F.pad(weights, (0, longest - weights.shape[-1]) * 2) for _, weights in made])

    def _why_not_nested(self, query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any) -> str | None:
        """Why sequences of different lengths cannot be attended to; None if they can."""
        learned = (self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        for met, reason in (
            (torch.backends.mha.get_fastpath_enabled(), "torch.backends.mha.get_fastpath_enabled() was not True"),
            (query.dim() == 3, f"input not batched; expected query.dim() of 3 but got {query.dim()}"),
            (query is key and key is value, "non-self attention was used (query, key, and value are not the same Tensor)"),
            (self.in_proj_weight is not None, "in_proj_weight was None"),
            (self.in_proj_weight is None or query.dtype == self.in_proj_weight.dtype,
             f"dtypes of query ({query.dtype}) and self.in_proj_weight ({getattr(self.in_proj_weight, 'dtype', None)}) "
             "don't match"),
            (not self.training, "training is enabled"),
            (self.num_heads % 2 == 0, "self.num_heads is not even"),
            (self.batch_first, "batch_first was not True"),
            (self.bias_k is None, "self.bias_k was not None"),
            (self.bias_v is None, "self.bias_v was not None"),
            (not self.add_zero_attn, "add_zero_attn was enabled"),
            (key_padding_mask is None and attn_mask is None, "supplying both src_key_padding_mask and src_mask at the same "
             "time is not supported with NestedTensor input"),
            (not torch.is_autocast_enabled(), "autocast is enabled"),
            (not torch.is_grad_enabled() or not any([t is not None and t.requires_grad for t in (query, *learned)]),
             "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"),
            (self.in_proj_bias is not None, ""),
        ):
            if not met:
                return reason
        return None
