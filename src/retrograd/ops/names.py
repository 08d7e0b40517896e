"""Which names each module declares: functions, methods of Tensor, and what has no public name.

Written by tools/op_names.py, to be run when an op is added or renamed.
"""
# ruff: noqa: E501
from __future__ import annotations

NAMES: dict[str, tuple[str, str, str]] = {
    "legacy": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor set_default_tensor_type",
        "new",
        "__legacy__",
    ),
    "methods": (
        "detach detach_ get_device is_complex is_conj is_floating_point is_inference is_neg is_signed numel",
        "",
        "",
    ),
    "ops.activation": (
        "_log_softmax _log_softmax_backward_data _prelu_kernel _softmax _softmax_backward_data celu celu_ hardshrink log_softmax prelu relu relu_ selu selu_ sigmoid sigmoid_ softmax tanh tanh_ threshold threshold_",
        "hardshrink log_softmax prelu relu relu_ sigmoid sigmoid_ softmax tanh tanh_",
        "_prelu_kernel_backward elu elu_ elu_backward gelu gelu_ gelu_backward glu glu_backward hardshrink_backward hardsigmoid hardsigmoid_ hardsigmoid_backward hardswish hardswish_ hardswish_backward hardtanh hardtanh_ hardtanh_backward leaky_relu leaky_relu_ leaky_relu_backward log_sigmoid log_sigmoid_backward log_sigmoid_forward mish mish_ mish_backward relu6 relu6_ sigmoid_backward silu silu_ silu_backward softplus softplus_backward softshrink softshrink_backward tanh_backward threshold_backward",
    ),
    "ops.attention": (
        "_scaled_dot_product_flash_attention_for_cpu",
        "",
        "scaled_dot_product_attention",
    ),
    "ops.compare": (
        "allclose bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor eq equal ge greater greater_ greater_equal greater_equal_ gt isclose le less less_ less_equal less_equal_ logical_and logical_not logical_or logical_xor lt ne not_equal not_equal_",
        "allclose bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ eq eq_ equal ge ge_ greater greater_ greater_equal greater_equal_ gt gt_ isclose le le_ less less_ less_equal less_equal_ logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ lt lt_ ne ne_ not_equal not_equal_",
        "",
    ),
    "ops.complexes": (
        "_conj _neg_view complex conj conj_physical conj_physical_ imag polar real resolve_conj resolve_neg view_as_complex view_as_real",
        "_conj _neg_view conj conj_physical conj_physical_ imag real resolve_conj resolve_neg",
        "_conj_physical",
    ),
    "ops.contract": (
        "bilinear chain_matmul cross ger inner matmul outer tensordot",
        "cross ger inner matmul outer",
        "linalg_matmul linalg_multi_dot linalg_vecdot linear",
    ),
    "ops.conv": (
        "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution",
        "",
        "convolution_backward",
    ),
    "ops.copy": (
        "_to_copy clone",
        "bfloat16 bool byte cdouble cfloat char clone contiguous copy_ cpu cuda double float half int long short sum_to_size to type type_as",
        "__add_gradient__ __assign_out__ __cast__ __contiguous_clone__ __copy_to_layout__ __detach__ __first_gradient__ __is_channels_last__ __new_gradient__ __ones_like__ _local_scalar_dense alias detach",
    ),
    "ops.dropout": (
        "alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ native_dropout",
        "",
        "native_dropout_backward",
    ),
    "ops.einsum": (
        "einsum",
        "",
        "",
    ),
    "ops.embedding_bag": (
        "_embedding_bag embedding_bag",
        "",
        "",
    ),
    "ops.extrema": (
        "amax amin aminmax argmax argmin kthvalue max median min mode nanmedian",
        "amax amin aminmax argmax argmin kthvalue max median min mode nanmedian",
        "value_selecting_reduction_backward",
    ),
    "ops.factory": (
        "arange empty empty_like empty_strided eye full full_like linspace logspace ones ones_like range scalar_tensor zeros zeros_like",
        "new_empty new_empty_strided new_full new_ones new_zeros",
        "",
    ),
    "ops.fft": (
        "_fft_c2c _fft_c2r _fft_r2c",
        "",
        "fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn",
    ),
    "ops.foreach": (
        "_foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add _foreach_add_ _foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_ _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ _foreach_ceil _foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_ _foreach_clone _foreach_copy_ _foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div _foreach_div_ _foreach_erf _foreach_erf_ _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor _foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp _foreach_lerp_ _foreach_lgamma _foreach_lgamma_ _foreach_log _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_ _foreach_max _foreach_maximum _foreach_maximum_ _foreach_minimum _foreach_minimum_ _foreach_mul _foreach_mul_ _foreach_neg _foreach_neg_ _foreach_norm _foreach_pow _foreach_pow_ _foreach_reciprocal _foreach_reciprocal_ _foreach_round _foreach_round_ _foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_ _foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_ _foreach_sqrt _foreach_sqrt_ _foreach_sub _foreach_sub_ _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_ _foreach_zero_",
        "",
        "_foreach_copy _foreach_zero",
    ),
    "ops.fromdata": (
        "as_tensor asarray can_cast from_dlpack from_numpy frombuffer get_default_dtype is_storage is_tensor promote_types result_type set_default_dtype tensor",
        "new_tensor",
        "",
    ),
    "ops.generators": (
        "Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state",
        "",
        "",
    ),
    "ops.index": (
        "_index_put_impl_ _unsafe_index _unsafe_index_put index_put index_put_",
        "index index_put index_put_",
        "__getitem__ __setitem__ _index_put_impl",
    ),
    "ops.inplace_views": (
        "as_strided_",
        "as_strided_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_",
        "",
    ),
    "ops.join": (
        "block_diag cartesian_prod cat column_stack combinations concat concatenate constant_pad_nd dstack flip fliplr flipud hstack kron repeat_interleave roll rot90 row_stack stack tile tril tril_indices triu triu_indices vstack",
        "flip fliplr flipud kron repeat repeat_interleave roll rot90 tile tril tril_ triu triu_",
        "pad",
    ),
    "ops.layer_norm": (
        "group_norm layer_norm native_group_norm native_layer_norm rms_norm",
        "",
        "native_group_norm_backward native_layer_norm_backward",
    ),
    "ops.linalg": (
        "cholesky cholesky_inverse cholesky_solve det inverse logdet lu lu_solve lu_unpack slogdet triangular_solve",
        "cholesky cholesky_inverse cholesky_solve det inverse logdet lu lu_solve slogdet triangular_solve",
        "_linalg_det _linalg_slogdet _linalg_solve_ex linalg_cholesky linalg_cholesky_ex linalg_det linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular",
    ),
    "ops.linalg_more": (
        "frobenius_norm matrix_exp matrix_power norm_except_dim nuclear_norm orgqr ormqr",
        "matrix_exp matrix_power orgqr ormqr",
        "linalg_cond linalg_householder_product linalg_matrix_exp linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_norm linalg_tensorinv linalg_tensorsolve linalg_vander",
    ),
    "ops.loss": (
        "binary_cross_entropy_with_logits",
        "",
        "binary_cross_entropy binary_cross_entropy_backward huber_loss huber_loss_backward mse_loss mse_loss_backward nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward smooth_l1_loss smooth_l1_loss_backward soft_margin_loss soft_margin_loss_backward",
    ),
    "ops.losses": (
        "cosine_embedding_loss cosine_similarity hinge_embedding_loss kl_div margin_ranking_loss pairwise_distance poisson_nll_loss triplet_margin_loss",
        "",
        "cross_entropy_loss l1_loss nll_loss nll_loss2d nll_loss_nd",
    ),
    "ops.masked": (
        "argwhere embedding embedding_renorm_ masked_fill masked_scatter masked_select nonzero nonzero_static where",
        "argwhere masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select nonzero nonzero_static where",
        "embedding_dense_backward masked_scatter_backward nonzero_numpy one_hot",
    ),
    "ops.matmul": (
        "addbmm addmm addmv addmv_ addr baddbmm bmm dot mm mv vdot",
        "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ bmm dot mm mv vdot",
        "_trilinear linalg_cross",
    ),
    "ops.meta": (
        "",
        "",
        "__meta__",
    ),
    "ops.misc": (
        "_euclidean_dist _is_all_true _is_any_true cdist channel_shuffle frexp gcd gcd_ heaviside is_nonzero is_same_size lcm lcm_ native_channel_shuffle pdist pixel_shuffle pixel_unshuffle renorm",
        "_is_all_true _is_any_true apply_ fill_diagonal_ frexp gcd gcd_ heaviside heaviside_ is_nonzero is_same_size lcm lcm_ map2_ map_ renorm renorm_",
        "_cdist_backward _cdist_forward _pdist_backward _pdist_forward",
    ),
    "ops.norm": (
        "batch_norm instance_norm native_batch_norm",
        "",
        "native_batch_norm_backward",
    ),
    "ops.numeric": (
        "broadcast_shapes corrcoef cov cumulative_trapezoid diff gradient histogram nanquantile quantile trapezoid trapz unravel_index",
        "corrcoef cov diff histogram nanquantile quantile",
        "",
    ),
    "ops.operators": (
        "eq ge gt le lt ne",
        "eq ge gt le lt ne",
        "__and__ __binary__ __eq__ __floordiv__ __ge__ __gt__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __invert__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__ __le__ __lshift__ __lt__ __mod__ __ne__ __or__ __pow__ __rdiv__ __rfloordiv__ __rlshift__ __rmod__ __rpow__ __rrshift__ __rshift__ __rsub__ __xor__",
    ),
    "ops.pointwise": (
        "add addcdiv addcmul clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ div divide divide_ floor_divide fmax fmin fmod lerp maximum minimum mul multiply multiply_ neg neg_ negative negative_ positive reciprocal reciprocal_ remainder rsub sub subtract subtract_ true_divide true_divide_",
        "add add_ addcdiv addcdiv_ addcmul addcmul_ clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ div div_ divide divide_ floor_divide floor_divide_ fmax fmin fmod fmod_ lerp lerp_ maximum minimum mul mul_ multiply multiply_ neg neg_ negative negative_ positive reciprocal reciprocal_ remainder remainder_ sub sub_ subtract subtract_ true_divide true_divide_",
        "",
    ),
    "ops.pool": (
        "adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d",
        "",
        "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool2d_backward avg_pool2d avg_pool2d_backward avg_pool3d avg_pool3d_backward max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices max_pool3d_with_indices_backward",
    ),
    "ops.powers": (
        "abs abs_ absolute absolute_ arctan2 arctan2_ atan2 copysign dist float_power hypot ldexp ldexp_ logaddexp logaddexp2 nextafter pow rsqrt rsqrt_ sgn sign signbit sqrt sqrt_ square square_ xlogy xlogy_",
        "abs abs_ absolute absolute_ arctan2 arctan2_ atan2 atan2_ copysign copysign_ dist float_power float_power_ hypot hypot_ ldexp ldexp_ logaddexp logaddexp2 nextafter nextafter_ pow pow_ rsqrt rsqrt_ sgn sgn_ sign sign_ signbit sqrt sqrt_ square square_ xlogy xlogy_",
        "",
    ),
    "ops.quick_views": (
        "",
        "expand permute reshape t transpose unsqueeze view",
        "",
    ),
    "ops.random": (
        "bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm",
        "bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ uniform_",
        "",
    ),
    "ops.reduce": (
        "all any count_nonzero logsumexp mean nanmean nansum norm prod std std_mean sum trace var var_mean",
        "all any count_nonzero logsumexp mean nanmean nansum norm prod std sum trace var",
        "linalg_vector_norm special_logsumexp",
    ),
    "ops.resize": (
        "fill fill_ resize_as_ zero_",
        "fill_ resize_ resize_as_ set_ zero_",
        "__warn_resized__",
    ),
    "ops.scan": (
        "cummax cummin cumprod cumsum logcumsumexp",
        "cummax cummin cumprod cumprod_ cumsum cumsum_ logcumsumexp",
        "",
    ),
    "ops.scatter": (
        "gather index_add index_copy index_fill index_reduce index_select put scatter scatter_add scatter_reduce take take_along_dim",
        "gather index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ index_select put put_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ take take_along_dim",
        "",
    ),
    "ops.shape": (
        "_reshape_alias adjoint as_strided atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to flatten meshgrid moveaxis movedim permute ravel reshape squeeze swapaxes swapdims t transpose unflatten unsqueeze",
        "adjoint as_strided broadcast_to expand expand_as flatten moveaxis movedim permute ravel reshape reshape_as squeeze swapaxes swapdims t transpose unflatten unsqueeze view view_as",
        "_reshape_copy _unsafe_view mH mT matrix_H numpy_T",
    ),
    "ops.slicing": (
        "as_strided_scatter chunk diag diag_embed diagflat diagonal diagonal_scatter dsplit hsplit narrow narrow_copy select select_scatter slice_inverse slice_scatter split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit",
        "as_strided_scatter chunk diag diag_embed diagflat diagonal diagonal_scatter dsplit hsplit narrow narrow_copy select select_scatter slice_scatter split split_with_sizes tensor_split unbind unfold unsafe_chunk unsafe_split unsafe_split_with_sizes vsplit",
        "diagonal_backward linalg_diagonal select_backward slice slice_backward unfold_backward",
    ),
    "ops.sort": (
        "_unique _unique2 argsort bincount bucketize histc isin msort searchsorted sort topk unique unique_consecutive",
        "argsort bincount histc msort sort topk unique unique_consecutive",
        "unique_dim unique_dim_consecutive",
    ),
    "ops.sparse": (
        "_sparse_coo_tensor_unsafe _sparse_mm hspmm smm sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor",
        "_coalesced_ _dimI _dimV _indices _nnz _values ccol_indices coalesce col_indices crow_indices dense_dim indices is_coalesced row_indices smm sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr values",
        "__accumulate_sparse__ __assign_sparse__ __blocksize__ __compressed_like__ __compressed_parts__ __embedding_gradient__ __gather_gradient__ __layout__ __layout_name__ __missing_method__ __sparse__ __sparse_reduce__ __sparse_repr__ __to_compressed__ _coalesce _sparse_addmm _sparse_compressed_tensor_unsafe _sparse_coo_tensor_with_dims_and_tensors _sparse_log_softmax _sparse_log_softmax_backward_data _sparse_mask_projection _sparse_resize_ _sparse_softmax _sparse_softmax_backward_data _sparse_sparse_matmul _sparse_sum _sparse_sum_backward _sparse_values_at _to_dense _to_sparse _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr",
    ),
    "ops.special": (
        "igamma igammac mvlgamma",
        "igamma igamma_ igammac igammac_ mvlgamma mvlgamma_",
        "special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1 special_gammainc special_gammaincc special_gammaln special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log1p special_log_ndtr special_log_softmax special_logit special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln special_ndtr special_ndtri special_polygamma special_psi special_round special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_sinc special_softmax special_spherical_bessel_j0 special_xlog1py special_xlogy special_zeta",
    ),
    "ops.spectral": (
        "geqrf pinverse qr svd",
        "geqrf pinverse qr svd",
        "_linalg_eigh _linalg_eigvals _linalg_svd linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_lstsq linalg_pinv linalg_qr linalg_svd linalg_svdvals",
    ),
    "ops.stft": (
        "istft stft",
        "istft stft",
        "",
    ),
    "ops.tangents": (
        "",
        "",
        "_new_zeros_with_same_feature_meta",
    ),
    "ops.testing": (
        "_test_autograd_multiple_dispatch _test_autograd_multiple_dispatch_view _test_autograd_multiple_dispatch_view_copy",
        "",
        "_test_warn_in_autograd",
    ),
    "ops.unary": (
        "acos acos_ acosh acosh_ angle arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan_ atanh atanh_ ceil ceil_ cos cos_ cosh cosh_ deg2rad deg2rad_ digamma erf erf_ erfc erfc_ erfinv exp exp2 exp2_ exp_ expm1 expm1_ fix fix_ floor floor_ frac frac_ i0 i0_ isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log10_ log1p log1p_ log2 log2_ log_ logit logit_ nan_to_num nan_to_num_ polygamma rad2deg rad2deg_ round round_ sin sin_ sinc sinc_ sinh sinh_ tan tan_ trunc trunc_",
        "acos acos_ acosh acosh_ angle arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan_ atanh atanh_ ceil ceil_ cos cos_ cosh cosh_ deg2rad deg2rad_ digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expm1 expm1_ fix fix_ floor floor_ frac frac_ i0 i0_ isfinite isinf isnan isneginf isposinf isreal lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ logit logit_ nan_to_num nan_to_num_ polygamma polygamma_ rad2deg rad2deg_ round round_ sin sin_ sinc sinc_ sinh sinh_ tan tan_ trunc trunc_",
        "logit_backward special_i1",
    ),
    "ops.unfold": (
        "",
        "",
        "col2im im2col",
    ),
    "ops.upsample": (
        "",
        "",
        "_upsample_nearest_exact1d _upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward _upsample_nearest_exact3d _upsample_nearest_exact3d_backward upsample_bilinear2d upsample_bilinear2d_backward upsample_linear1d upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward",
    ),
    "ops.view_copies": (
        "_conj_copy _neg_view_copy alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy",
        "",
        "",
    ),
    "ops.windows": (
        "bartlett_window blackman_window hamming_window hann_window kaiser_window vander",
        "",
        "",
    ),
    "retrograd": (
        "",
        "",
        "__bool__ __contains__ __float__ __index__ __int__ __iter__ __repr__",
    ),
    "storage": (
        "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage TypedStorage UntypedStorage",
        "storage",
        "",
    ),
    "transforms.batching": (
        "",
        "",
        "__batched_data__ __batched_detach__ __batched_dual__ __batched_geometry__ __batched_get_data__ __batched_item__ __batched_list__ __batched_new__ __batched_repr__ __batched_undual__ __batched_zeros__ __escaped__",
    ),
    "transforms.functions": (
        "",
        "",
        "__transform_function__",
    ),
    "transforms.lifted": (
        "",
        "",
        "__captured__",
    ),
    "transforms.vmap": (
        "",
        "",
        "__legacy_vmap__ __vmap__",
    ),
}
