"""Ops of quantized tensors and of backends that are not here: programs look them up; a call raises PyTorch's error."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import defop

# Reached through `ops.aten` and `torch._C._nn`.
PRIVATE = r"""
    mkldnn_linear(Tensor self, Tensor weight, Tensor? bias=None) -> Tensor
    mkldnn_reorder_conv2d_weight(Tensor self, SymInt[2] padding=[0, 0], SymInt[2] stride=[1, 1], SymInt[2] dilation=[1,
        1], SymInt groups=1, SymInt[]? input_size=None) -> Tensor
    mkldnn_reorder_conv3d_weight(Tensor self, SymInt[3] padding=[0, 0, 0], SymInt[3] stride=[1, 1, 1], SymInt[3]
        dilation=[1, 1, 1], SymInt groups=1, SymInt[]? input_size=None) -> Tensor
    _pad_circular(Tensor self, SymInt[] pad) -> Tensor
    _pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor
    _test_optional_intlist(Tensor values, int[]? addends) -> Tensor
    _test_optional_filled_intlist(Tensor values, int[2]? addends) -> Tensor
    _test_optional_floatlist(Tensor values, float[]? addends) -> Tensor
    _test_string_default(Tensor dummy, str a="\"\'\\", str b="\"\'\\") -> Tensor
    _test_ambiguous_defaults.a(Tensor dummy, int a=1, int b=1) -> Tensor
    _test_ambiguous_defaults.b(Tensor dummy, int a=2, str b="2") -> Tensor
    linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
"""
# Functions of `torch`.
FUNCTIONS = """
    _cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool
        deterministic, bool zero_infinity) -> (Tensor, Tensor)
    _cudnn_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank,
        bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
    _cudnn_rnn_flatten_weight(Tensor[] weight_arr, int weight_stride0, SymInt input_size, int mode, SymInt hidden_size,
        SymInt proj_size, int num_layers, bool batch_first, bool bidirectional) -> Tensor
    _cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, int mode,
        SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, bool
        bidirectional, SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
    _cudnn_init_dropout_state(float dropout, bool train, int dropout_seed, *, ScalarType? dtype=None, Layout?
        layout=None, Device? device=None, bool? pin_memory=False) -> Tensor
    _fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)
    _masked_scale(Tensor self, Tensor mask, float scale) -> Tensor
    _sobol_engine_draw(Tensor quasi, int n, Tensor sobolstate, int dimension, int num_generated, ScalarType? dtype) ->
        (Tensor, Tensor)
    _sobol_engine_ff_(Tensor(a!) self, int n, Tensor sobolstate, int dimension, int num_generated) -> Tensor(a!)
    _sobol_engine_scramble_(Tensor(a!) self, Tensor ltm, int dimension) -> Tensor(a!)
    _sobol_engine_initialize_state_(Tensor(a!) self, int dimension) -> Tensor(a!)
    _batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
        training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor, int)
    _convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt
        groups) -> Tensor
    _copy_from_and_resize(Tensor self, Tensor dst) -> Tensor
    _mps_convolution_transpose(Tensor self, Tensor weight, SymInt[] padding, SymInt[] output_padding, SymInt[] stride,
        SymInt[] dilation, SymInt groups) -> Tensor
    _cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
    _cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
    _rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)
    _empty_affine_quantized(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None, float scale=1., int zero_point=0, MemoryFormat? memory_format=0) -> Tensor
    _empty_per_channel_affine_quantized(SymInt[] size, *, Tensor scales, Tensor zero_points, int axis, ScalarType?
        dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=0) ->
        Tensor
    _cufft_get_plan_cache_size(int device_index) -> int
    _cufft_get_plan_cache_max_size(int device_index) -> int
    _cufft_set_plan_cache_max_size(int device_index, int max_size) -> ()
    _cufft_clear_plan_cache(int device_index) -> ()
    _fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)
    _cslt_compress(Tensor input) -> Tensor
    _cslt_sparse_mm(Tensor compressed_A, Tensor dense_B, Tensor? bias=None, Tensor? alpha=None, ScalarType?
        out_dtype=None, bool transpose_result=False, int alg_id=0, int split_k=1, int split_k_mode=-1) -> Tensor
    _cslt_sparse_mm_search(Tensor compressed_A, Tensor dense_B, Tensor? bias=None, Tensor? alpha=None, ScalarType?
        out_dtype=None, bool transpose_result=False) -> int
    _sparse_semi_structured_tile(Tensor input, str algorithm="", bool use_cutlass=True) -> (Tensor, Tensor, Tensor,
        Tensor, Tensor)
    _sparse_semi_structured_apply(Tensor input, Tensor thread_masks) -> (Tensor, Tensor)
    _sparse_semi_structured_apply_dense(Tensor input, Tensor thread_masks) -> Tensor
    _sparse_semi_structured_linear(Tensor input, Tensor weight, Tensor meta, *, Tensor? bias=None, str? activation=None,
        ScalarType? out_dtype=None) -> Tensor
    _sparse_semi_structured_mm(Tensor mat1, Tensor mat1_meta, Tensor mat2, *, ScalarType? out_dtype=None) -> Tensor
    _sparse_semi_structured_addmm(Tensor input, Tensor mat1, Tensor mat1_meta, Tensor mat2, *, Scalar alpha=1, Scalar
        beta=1, ScalarType? out_dtype=None) -> Tensor
    _mixed_dtypes_linear(Tensor input, Tensor weight, Tensor scale, *, Tensor? bias=None, str? activation=None) ->
        Tensor
    _wrapped_linear_prepack(Tensor weight, Tensor weight_scale, Tensor weight_zero_point, Tensor bias) -> Tensor
    _wrapped_quantized_linear_prepacked(Tensor input, Tensor input_scale, Tensor input_zero_point, Tensor packed_weight,
        Tensor output_scale, Tensor output_zero_point, int out_channel) -> Tensor
    _mps_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] dilation,
        SymInt groups) -> Tensor
    _convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor
    _weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor
    _weight_int4pack_mm_with_scales_and_zeros(Tensor self, Tensor mat2, int qGroupSize, Tensor qScale, Tensor qZeros) ->
        Tensor
    _convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor
    _weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor
    _dyn_quant_pack_4bit_weight(Tensor weights, Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int
        out_features) -> Tensor
    _dyn_quant_matmul_4bit(Tensor inp, Tensor packed_weights, int block_size, int in_features, int out_features) ->
        Tensor
    _nnpack_spatial_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[2] padding, SymInt[2] stride=[1, 1])
        -> Tensor
    _mkldnn_reshape(Tensor self, int[] shape) -> Tensor
    _mkldnn_transpose(Tensor self, int dim0, int dim1) -> Tensor
    _mkldnn_transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
    _nested_from_padded(Tensor padded, Tensor cpu_nested_shape_example, bool fuse_transform_0213=False) -> Tensor
    _nested_view_from_buffer(Tensor(a) self, Tensor nested_size, Tensor nested_strides, Tensor offsets) -> Tensor(a)
    _nested_view_from_buffer_copy(Tensor self, Tensor nested_size, Tensor nested_strides, Tensor offsets) -> Tensor
    _nested_view_from_jagged_copy(Tensor self, Tensor offsets, Tensor dummy, Tensor? lengths=None, int ragged_idx=1,
        Tensor? min_seqlen=None, Tensor? max_seqlen=None) -> Tensor
    _nested_get_values_copy(Tensor self) -> Tensor
    _nested_get_offsets(Tensor self) -> Tensor
    _nested_get_lengths(Tensor self) -> Tensor
    _nested_get_ragged_idx(Tensor self) -> int
    _nested_get_min_seqlen(Tensor self) -> Tensor
    _nested_get_max_seqlen(Tensor self) -> Tensor
    _nested_get_jagged_dummy(Tensor any) -> Tensor
    _nested_compute_contiguous_strides_offsets(Tensor nested_size) -> (Tensor, Tensor)
    _weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)
    _efficientzerotensor(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
        pin_memory=None) -> Tensor
    _philox_key_split(Tensor key, int num_splits) -> Tensor
    _philox_key_fold_in(Tensor key, int data) -> Tensor
    _to_sparse_semi_structured(Tensor dense) -> (Tensor, Tensor)
    _make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor
    _make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor
    _fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min,
        Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int
        quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor
        mask)
    _choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)
    _saturate_weight_to_fp16(Tensor weight) -> Tensor
    _lstm_mps(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train,
        bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
    _histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False)
        -> Tensor
    _add_batch_dim(Tensor self, int batch_dim, int level) -> Tensor
    _remove_batch_dim(Tensor self, int level, SymInt batch_size, int out_dim) -> Tensor
    _test_serialization_subcmul(Tensor self, Tensor other, Scalar alpha=1) -> Tensor
    _test_parallel_materialize(Tensor self, int num_parallel, bool skip_first=False) -> Tensor
    _nested_from_padded_tensor(Tensor padded, Tensor offsets, Tensor dummy, int ragged_idx=1, Tensor? min_seqlen=None,
        Tensor? max_seqlen=None, SymInt? sum_S=None) -> Tensor
    _nested_tensor_softmax_with_shape(Tensor self, Tensor query) -> Tensor
    _transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor
        proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor
        norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor
        ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor
    _scaled_dot_product_attention_math_for_mps(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float
        dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) ->
        (Tensor, Tensor)
    _flash_attention_forward_no_dropout_inplace(Tensor(a!) out, Tensor query, Tensor key, Tensor value, Tensor?
        cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool
        return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor?
        seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> Tensor
        softmax_logsumexp
    _triton_scaled_dot_attention(Tensor q, Tensor k, Tensor v, float dropout_p=0.) -> Tensor
    _fill_mem_eff_dropout_mask_(Tensor(a!) self, float dropout_p, int seed, int offset) -> Tensor(a!)
    _triton_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight,
        Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None) -> Tensor
    _fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float
        momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None,
        Tensor? found_inf=None) -> ()
    _fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float
        weight_decay, float momentum, Tensor lr, float dampening, bool nesterov, bool maximize, bool is_first_step,
        Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
    _fused_adagrad_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor(d!)[] state_steps, *, float
        lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor?
        found_inf=None) -> ()
    _fused_adagrad_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor[] state_steps, *,
        Tensor lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor?
        found_inf=None) -> ()
    _propagate_xla_data(Tensor input, Tensor output) -> ()
    quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float
        output_scale, int output_zero_point) -> Tensor
    cudnn_affine_grid_generator(Tensor theta, int N, int C, int H, int W) -> Tensor grid
    cudnn_convolution_transpose(Tensor self, Tensor weight, SymInt[] padding, SymInt[] output_padding, SymInt[] stride,
        SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor
    cudnn_convolution_relu(Tensor self, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[]
        dilation, SymInt groups) -> Tensor
    cudnn_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, SymInt[] stride,
        SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor
    cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output
    empty_quantized(int[] size, Tensor qtensor, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
        bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    mkldnn_linear_backward_weights(Tensor grad_output, Tensor input, Tensor weight, bool bias_defined) -> (Tensor,
        Tensor)
    fbgemm_linear_int8_weight_fp32_activation(Tensor input, Tensor weight, Tensor packed, Tensor col_offsets, Scalar
        weight_scale, Scalar weight_zero_point, Tensor bias) -> Tensor
    fbgemm_linear_int8_weight(Tensor input, Tensor weight, Tensor packed, Tensor col_offsets, Scalar weight_scale,
        Scalar weight_zero_point, Tensor bias) -> Tensor
    fbgemm_linear_quantize_weight(Tensor input) -> (Tensor, Tensor, float, int)
    fbgemm_pack_gemm_matrix_fp16(Tensor input) -> Tensor
    fbgemm_linear_fp16_weight_fp32_activation(Tensor input, Tensor packed_weight, Tensor? bias) -> Tensor
    fbgemm_linear_fp16_weight(Tensor input, Tensor packed_weight, Tensor bias) -> Tensor
    fbgemm_pack_quantized_matrix(Tensor input) -> Tensor
    fbgemm_pack_quantized_matrix.KN(Tensor input, int K, int N) -> Tensor
    mkldnn_max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
        ceil_mode=False) -> Tensor
    mkldnn_max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool
        ceil_mode=False) -> Tensor
    quantized_max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1],
        bool ceil_mode=False) -> Tensor
    quantized_max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
        ceil_mode=False) -> Tensor
    quantized_max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool
        ceil_mode=False) -> Tensor
    mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] dilation,
        SymInt groups) -> Tensor
    miopen_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] dilation,
        SymInt groups, bool benchmark, bool deterministic) -> Tensor
    miopen_convolution_transpose(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] output_padding,
        SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic) -> Tensor
    miopen_depthwise_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[]
        dilation, SymInt groups, bool benchmark, bool deterministic) -> Tensor
    miopen_convolution_relu(Tensor self, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[]
        dilation, SymInt groups) -> Tensor
    miopen_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, SymInt[] stride,
        SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor
    miopen_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor hx, Tensor? cx, int mode, int hidden_size, int
        num_layers, bool batch_first, float dropout, bool train, bool bidirectional, int[] batch_sizes, Tensor?
        dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
    miopen_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool
        deterministic, bool zero_infinity) -> (Tensor, Tensor)
    miopen_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank,
        bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
    batch_norm_stats(Tensor input, float eps) -> (Tensor, Tensor)
    batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps) -> Tensor
    batch_norm_gather_stats(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float
        momentum, float eps, int count) -> (Tensor, Tensor)
    batch_norm_gather_stats_with_counts(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor?
        running_var, float momentum, float eps, Tensor counts) -> (Tensor, Tensor)
    batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, bool input_g,
        bool weight_g, bool bias_g) -> (Tensor, Tensor, Tensor, Tensor)
    batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy,
        Tensor sum_dy_xmu, Tensor count) -> Tensor
    batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)
    quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor
    quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor
    quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor
    quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]
    quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor
    choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width) -> (Tensor, Tensor)
    quantized_lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih,
        Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar
        zero_point_ih, Scalar zero_point_hh) -> (Tensor, Tensor)
    quantized_gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih,
        Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh, Scalar
        zero_point_ih, Scalar zero_point_hh) -> Tensor
    quantized_rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor
        packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh,
        Scalar zero_point_ih, Scalar zero_point_hh) -> Tensor
    quantized_rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor
        packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Scalar scale_ih, Scalar scale_hh,
        Scalar zero_point_ih, Scalar zero_point_hh) -> Tensor
    mkldnn_adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor
"""
# Functions that are methods as well.
METHODS = """
    _philox_normal_(Tensor(a!) self, Tensor key, float mean=0., float std=1.) -> Tensor(a!)
    _philox_uniform_(Tensor(a!) self, Tensor key, float low=0., float high=1.) -> Tensor(a!)
    q_scale(Tensor self) -> float
    q_zero_point(Tensor self) -> int
    q_per_channel_scales(Tensor self) -> Tensor
    q_per_channel_zero_points(Tensor self) -> Tensor
    q_per_channel_axis(Tensor self) -> int
    int_repr(Tensor self) -> Tensor
"""


def refuser(name: str) -> Any:
    """The kernel of an op of quantized tensors or of another backend."""
    def kernel(*values: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. It is for quantized tensors or for a "
            "backend that is not here (MKL-DNN, cuDNN, MIOpen, MPS, FBGEMM, XLA); the public functions on ordinary tensors "
            "(conv2d, batch_norm, max_pool2d, linear, ...) run on every device.")
    return kernel


defop("to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor", kernel=refuser("to_mkldnn"), composite=True,
      variants="method", out=False)
for texts, variants in ((PRIVATE, ""), (FUNCTIONS, "function"), (METHODS, "function, method")):
    for text in texts.replace("\n        ", " ").strip().splitlines():
        defop(text.strip(), kernel=refuser(text.strip().partition("(")[0]), composite=True, variants=variants, out=False)
