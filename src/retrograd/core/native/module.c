/* The module `retrograd.core._native`: algorithms in C that neither NumPy, SciPy nor a generated loop has. */
#define NATIVE_MAIN
#include "native.h"
#define EACH(X)                                                                                                                \
  X(lapack) X(sum_bags)                                                                                                                    \
  X(clear_triangle)                                                                                                            \
  X(random_unit) X(random_normal) X(random_exponential) X(random_below) X(random_remainder) X(random_permutation)              \
      X(random_poisson) X(random_gamma) X(transpose) X(select_rows) X(search_rows) X(take_along) X(put_along) X(take_rows)     \
          X(put_rows) X(keep) X(spread) X(nonzero) X(convolve) X(unfold) X(fold) X(pool) X(lstm_forward) X(lstm_backward)      \
              X(attention_forward) X(attention_backward) X(use_blas) X(copy) X(multiply) X(linspace) X(stepped) X(kaiser)      \
                  X(gamma_slope) X(beta_slope) X(ctc) X(grid_sample) X(draw) X(draw_below) X(draw_binomial) X(draw_gamma)      \
                      X(draw_poisson) X(expanded) X(choose) X(complex_of) X(one_hot) X(pivot_order) X(put_ones) X(cross)       \
                          X(triangle_indices) X(gamma_grad) X(multi_margin) X(multilabel_margin) X(pair_distances) X(          \
                              row_distances) X(gather) X(scatter) X(scatter_add) X(tril) X(triu) X(grid_forward) X(max_dim)    \
                              X(min_dim) X(argmax) X(argmin) X(logcumsumexp) X(find_routines) X(cholesky_ex) X(lu_factor_ex)   \
                                  X(solve_triangular) X(searchsorted) X(bucketize) X(stack_columns) X(lu_determinant)          \
                                      X(pool_windows) X(pool_fractional) X(same) X(contains) X(within) X(mix) X(reciprocals)   \
                                          X(complex_from) X(multiply_bfloat) X(convolve_tiles) X(channel_sums)                 \
                                              X(small_routines) X(invert) X(mirror_spectrum) X(padded) X(scatter_value)        \
                                                  X(scatter_reduce) X(segment_reduce) X(hstack) X(vstack) X(dstack)     \
                                                      X(column_stack) X(repeat) X(tile) X(kron) X(pad) X(reflection_pad1d)     \
                                                          X(reflection_pad2d) X(reflection_pad3d) X(replication_pad1d)         \
                                                              X(replication_pad2d) X(replication_pad3d) X(fft_c2c) X(fft_r2c)  \
                                                                  X(fft_c2r) X(fft) X(ifft) X(fftn) X(ifftn) X(rfft) X(rfftn)  \
                                                                      X(irfft) X(irfftn) X(hfft) X(convolution) X(conv1d)      \
                                                                          X(conv2d) X(conv3d) X(conv_transpose1d)              \
                                                                              X(conv_transpose2d) X(conv_transpose3d) X(addmv) \
                                                                                  X(addr) X(baddbmm) X(mv) X(vdot) X(quantile) \
                                                                                      X(nanquantile) X(aminmax) X(renorm)      \
                                                                                          X(rot90) X(ctc_loss)                 \
                                                                                              X(dirichlet_grad)                \
                                                                                                  X(draw_dirichlet) X(quantize_mask) X(quantize)  \
  X(quantize_mask_by) X(quantize_learned) X(quantize_channels_mask) X(quantize_channels) X(quantize_channels_learned)   \
  X(positions) X(nll_weighted) X(nll_weighted_backward) X(histc) X(unique_runs) X(shares) X(igamma) X(igammac) X(multiply_packed) X(tiled_routine) \
  X(address) X(strides_of) X(empty_strided) X(reshaped) X(mm) X(bmm) X(addmm) X(use_products) X(dot) X(in_float) X(int_mm)
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
