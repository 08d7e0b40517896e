"""The ops whose kernels do not compute through `xp` only, by the reason: they cannot run on another device yet."""
from __future__ import annotations

REMAINING: dict[str, list[str]] = {
    "are functions of SciPy": """
        digamma.default erf.default erfc.default erfinv.default gelu.default gelu_backward.default i0.default
        igamma.default igammac.default lgamma.default mvlgamma.default polygamma.default special_airy_ai.default
        special_bessel_j0.default special_bessel_j1.default special_bessel_y0.default special_bessel_y1.default
        special_erfcx.default special_i0e.default special_i1.default special_i1e.default special_log_ndtr.default
        special_modified_bessel_i0.default special_modified_bessel_i1.default special_modified_bessel_k0.default
        special_modified_bessel_k1.default special_ndtri.default special_scaled_modified_bessel_k0.default
        special_scaled_modified_bessel_k1.default special_zeta.default special_zeta.other_scalar
        special_zeta.self_scalar
    """.split(),
    "transform with SciPy's plans": """
        _fft_c2c.default _fft_c2r.default _fft_r2c.default
    """.split(),
    "factorize and solve with LAPACK through NumPy and SciPy": """
        _linalg_det.default _linalg_eigh.default _linalg_slogdet.default _linalg_solve_ex.default _linalg_svd.default
        cholesky.default cholesky_inverse.default cholesky_solve.default geqrf.default linalg_cholesky_ex.default
        linalg_eig.default linalg_householder_product.default linalg_inv_ex.default linalg_ldl_factor_ex.default
        linalg_ldl_solve.default linalg_lstsq.default linalg_lu.default linalg_lu_factor_ex.default
        linalg_lu_solve.default linalg_matrix_exp.default linalg_pinv.atol_rtol_tensor linalg_qr.default
        linalg_solve_triangular.default lu_unpack.default ormqr.default triangular_solve.default
    """.split(),
    "make or draw their array with NumPy": """
        _sample_dirichlet.default _standard_gamma.default arange.start_step bartlett_window.default
        bartlett_window.periodic bernoulli.Tensor bernoulli.default bernoulli.p bernoulli_.Tensor bernoulli_.float
        binomial.default blackman_window.default blackman_window.periodic cauchy.default cauchy_.default
        empty_like.default empty_permuted.default empty_strided.default exponential.default exponential_.default
        fill.Scalar full_like.default geometric.default geometric_.default hamming_window.default
        hamming_window.periodic hamming_window.periodic_alpha hamming_window.periodic_alpha_beta hann_window.default
        hann_window.periodic kaiser_window.beta kaiser_window.default kaiser_window.periodic linspace.Scalar_Tensor
        linspace.Tensor_Scalar linspace.Tensor_Tensor linspace.default log_normal.default log_normal_.default
        logspace.Scalar_Tensor logspace.Tensor_Scalar logspace.Tensor_Tensor multinomial.default native_dropout.default
        new_empty_strided.default new_ones.default nonzero.default normal.Tensor_Tensor normal.Tensor_float
        normal.float_Tensor normal.float_float normal_.default normal_functional.default ones.default ones_like.default
        poisson.default pow.Scalar rand.default rand.generator rand_like.default rand_like.generator randint.default
        randint.generator randint.low randint.low_generator randint_like.Tensor randint_like.Tensor_generator
        randint_like.default randint_like.generator randint_like.low_dtype randint_like.low_generator_dtype
        randn.default randn.generator randn_like.default randn_like.generator random.default random.from random.to
        random_.default random_.from random_.to randperm.default randperm.generator rrelu_with_noise.default
        rrelu_with_noise_.default uniform.default uniform_.default zeros_like.default
    """.split(),
    "lay out memory as NumPy's buffers do": """
        _new_zeros_with_same_feature_meta.default _reshape_alias.default _unsafe_view.default as_strided.default
        as_strided_copy.default as_strided_scatter.default diagonal.default diagonal_copy.default
        diagonal_scatter.default expand.default expand_copy.default masked_scatter.default narrow_copy.default
        permute.default permute_copy.default select.int select_copy.int select_scatter.default slice.Tensor
        slice_copy.Tensor slice_inverse.default slice_scatter.default split_with_sizes.default
        split_with_sizes_copy.default squeeze.dim t.default t_copy.default transpose.int transpose_copy.int unbind.int
        unfold.default unfold_copy.default unsafe_split_with_sizes.default unsqueeze.default unsqueeze_copy.default
        view.default view.dtype view_as_complex.default view_as_real.default view_as_real_copy.default view_copy.dtype
    """.split(),
    "use helpers that compute with NumPy": """
        _ctc_loss.Tensor _ctc_loss.default _ctc_loss_backward.Tensor _ctc_loss_backward.default _dirichlet_grad.default
        _histogramdd_bin_edges.default _histogramdd_from_bin_tensors.default _pdist_backward.default
        _pdist_forward.default _scaled_dot_product_flash_attention_for_cpu.default
        _scaled_dot_product_flash_attention_for_cpu_backward.default _standard_gamma_grad.default _unsafe_index.Tensor
        affine_grid_generator.default _convolution.default convolution.default convolution_backward.default
        diag_embed.default diagonal_backward.default fill.Tensor grid_sampler_2d.default
        grid_sampler_2d_backward.default grid_sampler_3d.default grid_sampler_3d_backward.default histogram.bin_ct
        index.Tensor index_reduce.default nll_loss2d_backward.default nll_loss2d_forward.default put.default
        scatter.value_reduce scatter_reduce.two searchsorted.Tensor segment_reduce.default
        slice_backward.default vdot.default where.self
    """.split(),
}
