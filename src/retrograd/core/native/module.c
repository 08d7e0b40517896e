/* The module `retrograd.core._native`: algorithms in C that neither NumPy, SciPy nor a generated loop has. */
#define NATIVE_MAIN
#include "native.h"
/* clang-format off */
#define EACH(X) \
  /* along.c */         X(scatter_value) X(scatter_reduce) \
  /* bfloat.c */        X(multiply_bfloat) \
  /* cells.c */         X(lstm_forward) X(lstm_backward) X(attention_forward) X(attention_backward) X(attention) \
  /* copy.c */          X(copy) X(expanded) X(complex_of) X(reciprocals) X(complex_from) X(mirror_spectrum) X(padded) \
  /* ctc.c */           X(ctc) X(ctc_loss) \
  /* draw.c */          X(draw) X(draw_below) X(draw_binomial) X(draw_gamma) X(draw_poisson) X(draw_dirichlet) \
  /* extrema.c */       X(max_dim) X(min_dim) X(argmax) X(argmin) X(logcumsumexp) \
  /* factor.c */        X(find_routines) X(cholesky_ex) X(lu_factor_ex) X(solve_triangular) \
  /* fourier.c */       X(fft_c2c) X(fft_r2c) X(fft_c2r) X(fft) X(ifft) X(fftn) X(ifftn) X(rfft) X(rfftn) X(irfft) X(irfftn) \
                        X(hfft) \
  /* geometry.c */      X(address) X(strides_of) X(empty_strided) X(reshaped) \
  /* grid.c */          X(grid_sample) X(grid_forward) \
  /* halves.c */        X(in_float) \
  /* incomplete.c */    X(igamma) X(igammac) \
  /* index.c */         X(take_along) X(put_along) X(take_rows) X(put_rows) X(keep) X(spread) X(nonzero) X(gather) \
                        X(scatter) X(scatter_add) X(positions) X(take_at) \
  /* join.c */          X(hstack) X(vstack) X(dstack) X(column_stack) X(repeat) X(tile) X(kron) X(pad) X(reflection_pad1d) \
                        X(reflection_pad2d) X(reflection_pad3d) X(replication_pad1d) X(replication_pad2d) \
                        X(replication_pad3d) \
  /* lapack.c */        X(lapack) X(transpose) X(pivot_order) X(put_ones) X(stack_columns) X(lu_determinant) \
  /* losses.c */        X(multi_margin) X(multilabel_margin) X(pair_distances) X(row_distances) X(nll_weighted) \
                        X(nll_weighted_backward) \
  /* match.c */         X(one_hot) X(same) X(contains) X(within) \
  /* matrices.c */      X(mm) X(bmm) X(addmm) X(use_products) X(int_mm) \
  /* mix.c */           X(mix) \
  /* narrow.c */        X(multiply_packed) X(tiled_routine) \
  /* parallel.c */      X(use_blas) \
  /* product.c */       X(multiply) X(cross) \
  /* quantile.c */      X(quantile) X(nanquantile) X(aminmax) X(renorm) X(rot90) \
  /* quantize.c */      X(quantize_mask) X(quantize) X(quantize_mask_by) X(quantize_learned) X(quantize_channels_mask) \
                        X(quantize_channels) X(quantize_channels_learned) \
  /* random.c */        X(random_unit) X(random_normal) X(random_exponential) X(random_below) X(random_remainder) \
                        X(random_permutation) X(random_poisson) X(random_gamma) \
  /* segments.c */      X(sum_bags) X(segment_reduce) \
  /* select.c */        X(select_rows) X(search_rows) X(choose) X(searchsorted) X(bucketize) \
  /* sequence.c */      X(linspace) X(stepped) X(kaiser) X(gamma_slope) X(beta_slope) X(gamma_grad) X(dirichlet_grad) \
  /* small.c */         X(small_routines) X(invert) \
  /* smallconv.c */     X(convolution) X(conv1d) X(conv2d) X(conv3d) X(conv_transpose1d) X(conv_transpose2d) \
                        X(conv_transpose3d) \
  /* smallproducts.c */ X(addmv) X(addr) X(baddbmm) X(mv) X(vdot) X(dot) \
  /* tally.c */         X(histc) X(unique_runs) X(shares) \
  /* tiles.c */         X(convolve_tiles) \
  /* triangle.c */      X(clear_triangle) X(triangle_indices) X(tril) X(triu) \
  /* window.c */        X(convolve) X(unfold) X(fold) X(pool) X(pool_windows) X(pool_fractional) X(channel_sums)
/* clang-format on */
#define DECLARE(name) FUNCTION(name);
#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL},
EACH(DECLARE)
HIDDEN void find_pool(void);
static PyMethodDef methods[] = {EACH(METHOD){NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods};
PyMODINIT_FUNC PyInit__native(void) {
  import_array();
  find_pool();
  return PyModule_Create(&module);
}
