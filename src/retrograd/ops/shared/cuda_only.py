"""Ops that PyTorch has on CUDA alone: programs look them up; a call raises PyTorch's error."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import defop

SCHEMAS = """
    _flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q,
        SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None,
        SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None,
        Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state,
        Tensor unused, Tensor debug_attn_mask)
    _efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q,
        Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type,
        bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None)
        -> (Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q,
        SymInt max_seqlen_batch_k)
    _flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp,
        Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state,
        Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None)
        -> (Tensor, Tensor, Tensor)
    _efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor out,
        Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp,
        float dropout_p, Tensor philox_seed, Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *,
        float? scale=None, int? num_splits_key=None, int? window_size=None, bool shared_storage_dqdkdv=False)
        -> (Tensor, Tensor, Tensor, Tensor)
    _scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False,
        bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q,
        Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)
    _scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,
        bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None)
        -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)
    _scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp,
        float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None)
        -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k,
        Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)
    cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,
        float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)
    miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,
        float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor)
    _scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, Tensor? bias=None,
        Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor
    _scaled_grouped_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b,
        int[] recipe_b, int[] swizzle_b, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None,
        int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor
    _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None,
        Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)
    cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups,
        bool benchmark, bool deterministic, bool allow_tf32) -> Tensor
"""


def refuser(name: str) -> Any:
    """The kernel of an op that no CPU has."""
    def kernel(*values: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. PyTorch has it for CUDA alone; the public "
            "functions (nn.functional.scaled_dot_product_attention, batch_norm, conv2d, ...) run on every device.")
    return kernel


for text in SCHEMAS.replace("\n        ", " ").strip().splitlines():
    defop(text.strip(), kernel=refuser(text.strip().partition("(")[0]), composite=True, variants="function", out=False)
