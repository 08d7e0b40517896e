"""Ops of PyTorch that retrograd has no kernel for, under the names at which programs look them up in torch's place.

They take part in `__torch_function__` as every op does, so that tables keyed by PyTorch's functions can be built and
tensor-like classes can implement them; on tensors they raise.
"""
from __future__ import annotations

from functools import cache
from typing import Any

from retrograd.core.api import overridable

# Of `torch` itself: quantized tensors, and what other back ends run.
FUNCTIONS = frozenset("""
    _fused_rms_norm _fw_primal_copy _make_dual_copy _reshape_alias_copy _rowwise_prune _sparse_broadcast_to_copy
    _wrapped_linear_prepack _wrapped_quantized_linear_prepacked
    batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
    batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats choose_qparams_optimized dequantize
    fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
    fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
    fbgemm_pack_quantized_matrix int_repr miopen_batch_norm miopen_convolution miopen_convolution_add_relu
    miopen_convolution_relu miopen_convolution_transpose miopen_depthwise_convolution miopen_rnn q_per_channel_axis
    q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point quantize_per_channel quantize_per_tensor
    quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell quantized_lstm_cell quantized_max_pool1d
    quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell
""".split())
# Of `torch` too, but not among its overridable functions.
BACK_END_FUNCTIONS = frozenset("""
    cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
    cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable empty_quantized miopen_ctc_loss
    mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
    sym_constrain_range sym_constrain_range_for_size
""".split())
# Of `torch._C._VariableFunctions` and `torch._C._nn` alone.
PRIVATE_FUNCTIONS = frozenset("""
    __and__ __lshift__ __or__ __rshift__ __xor__ _add_batch_dim _add_relu _add_relu_ _assert_scalar _batch_norm_impl_index
    _choose_qparams_per_tensor _convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu _convolution_mode _copy_from
    _copy_from_and_resize _cslt_compress _cslt_sparse_mm _cslt_sparse_mm_search _cudnn_ctc_loss _cudnn_init_dropout_state
    _cudnn_rnn _cudnn_rnn_flatten_weight _cufft_clear_plan_cache _cufft_get_plan_cache_max_size _cufft_get_plan_cache_size
    _cufft_set_plan_cache_max_size _cummax_helper _cummin_helper _dyn_quant_matmul_4bit _dyn_quant_pack_4bit_weight
    _efficientzerotensor _embedding_bag_forward_only _empty_affine_quantized _empty_per_channel_affine_quantized
    _fill_mem_eff_dropout_mask_ _flash_attention_forward_no_dropout_inplace _functional_assert_scalar
    _functional_sym_constrain_range _functional_sym_constrain_range_for_size _fused_adagrad_ _fused_dropout
    _fused_moving_avg_obs_fq_helper _fused_sgd_ _grid_sampler_2d_cpu_fallback
    _histogramdd_from_bin_cts _lazy_clone _linalg_check_errors _logcumsumexp _lstm_mps _lu_with_info _make_dep_token _make_dual
    _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor _masked_scale _mixed_dtypes_linear
    _mkldnn_reshape _mkldnn_transpose _mkldnn_transpose_ _mps_convolution _mps_convolution_transpose
    _native_batch_norm_legit_no_training _nested_compute_contiguous_strides_offsets _nested_from_padded
    _nested_from_padded_tensor _nested_get_jagged_dummy _nested_get_lengths _nested_get_max_seqlen _nested_get_min_seqlen
    _nested_get_offsets _nested_get_ragged_idx _nested_get_values_copy _nested_tensor_softmax_with_shape
    _nested_view_from_buffer _nested_view_from_buffer_copy _nested_view_from_jagged_copy _nnpack_spatial_convolution
    _philox_key_fold_in _philox_key_split _philox_normal_ _philox_uniform_ _print _propagate_xla_data _remove_batch_dim
    _reshape_from_tensor _resize_output_ _saturate_weight_to_fp16
    _scaled_dot_product_attention_math_for_mps _sobol_engine_draw _sobol_engine_ff_ _sobol_engine_initialize_state_
    _sobol_engine_scramble_ _sparse_semi_structured_addmm _sparse_semi_structured_apply
    _sparse_semi_structured_apply_dense _sparse_semi_structured_linear _sparse_semi_structured_mm _sparse_semi_structured_tile
    _test_check_tensor _test_parallel_materialize _test_serialization_subcmul _to_cpu _to_sparse_semi_structured
    _transformer_encoder_layer_fwd _triton_multi_head_attention _triton_scaled_dot_attention _unpack_dual _use_cudnn_ctc_loss
    _use_cudnn_rnn_flatten_weight _use_miopen_ctc_loss _weight_int4pack_mm _weight_int4pack_mm_for_cpu
    _weight_int4pack_mm_with_scales_and_zeros _weight_norm_interface
    _pad_circular _pad_enum _test_ambiguous_defaults _test_optional_filled_intlist
    _test_optional_floatlist _test_optional_intlist _test_string_default flatten_dense_tensors linalg__powsum mkldnn_linear
    mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight pad_sequence unflatten_dense_tensors
""".split())
METHODS = frozenset("""
    _autocast_to_full_precision _autocast_to_reduced_precision _nested_tensor_size _nested_tensor_storage_offsets
    _nested_tensor_strides _sparse_mask_projection dequantize int_repr q_per_channel_axis q_per_channel_scales
    q_per_channel_zero_points q_scale q_zero_point qscheme record_stream slice_inverse to_mkldnn
""".split())


PRIVATE_METHODS = frozenset("_lazy_clone _philox_normal_ _philox_uniform_".split())


def install(module: Any, tensor_class: Any) -> None:
    """Give the package and its tensors the public names."""
    for name in (*FUNCTIONS, *BACK_END_FUNCTIONS):
        setattr(module, name, unsupported(name))
    for name in (*METHODS, *PRIVATE_METHODS):
        setattr(tensor_class, name, unsupported(name, is_method=True))


def is_unsupported(name: str) -> bool:
    return name in PRIVATE_FUNCTIONS or name in FUNCTIONS or name in BACK_END_FUNCTIONS


@cache
def unsupported(name: str, is_method: bool = False) -> Any:
    """A function that lets tensor-like arguments take the call, and raises for tensors."""
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: retrograd has no kernel for it. "
            "docs/support.md lists what it has.")
    return overridable(refuse, name, is_method=is_method)
