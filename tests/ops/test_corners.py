"""Corners of ops: sizes that only just fit, formats that conversions keep, lazy bits of tensors without data."""
from __future__ import annotations

import math
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad, gradcheck
from retrograd.nn import functional as F


# ---- convolution
@pytest.mark.parametrize(("stride", "dilation", "output_padding"), [(2, 4, 3), (1, 3, 2), (3, 2, 2)])
def test_transposed_convolution_padded_beyond_its_stride(stride: int, dilation: int, output_padding: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 1, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x, w: F.conv_transpose1d(x, w, stride=stride, dilation=dilation, output_padding=output_padding,
                                                     groups=2), (x, weight))


# ---- conversions
@pytest.mark.parametrize("name", ["float", "double", "half", "bfloat16", "int", "long", "bool", "cfloat"])
def test_conversion_keeps_to_the_format_asked_for(name: str) -> None:
    x = torch.ones(2, 3, 4, 5)
    made = getattr(x, name)(memory_format=torch.channels_last)
    assert made.stride() == (60, 1, 15, 3)
    assert getattr(made, name)(memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)


def test_sum_to_no_dimensions_is_a_sum() -> None:
    x = torch.tensor(True)
    assert x.sum_to_size(()).dtype == torch.int64
    assert torch.ones((), requires_grad=True).sum_to_size(()).grad_fn.name() == "SumBackward0"


# ---- tensors without data
def test_lazy_bits_without_data() -> None:
    x = torch.ones(3, 2, dtype=torch.complex64, device="meta")
    assert x.conj().is_conj() and x.mH.is_conj() and x.conj()[0].is_conj()
    assert x.conj().imag.is_neg()
    assert not (x.conj() + 1).is_conj() and not x.conj().resolve_conj().is_conj() and not x.conj().conj().is_conj()
    assert x.conj().mul_(2).is_conj()


def test_shapes_that_do_not_depend_on_the_values_of_bounds() -> None:
    start, end = torch.tensor(0.0, device="meta"), torch.tensor(1j, device="meta")
    for function in (torch.linspace, torch.logspace):
        assert function(start, 1, 5, device="meta").shape == (5,)
        assert function(0, end, 5, device="meta").dtype == torch.complex64
    repeats = torch.ones(3, dtype=torch.int64, device="meta")
    assert torch.repeat_interleave(repeats, repeats, output_size=7).shape == (7,)
    with pytest.raises(RuntimeError, match="cannot repeat_interleave a meta tensor without output_size"):
        torch.repeat_interleave(repeats, repeats)
    assert torch.linalg.matrix_rank(torch.ones(3, 0, device="meta")).device.type == "meta"


# ---- contraction
def test_product_that_is_one_number_is_a_dot_product_or_a_sum() -> None:
    a, b = torch.ones(2, 2, 1, requires_grad=True), torch.ones(2, 1, 2)

    def names(left: Any, right: Any) -> list[str]:
        node = torch.tensordot(a, b, (left, right)).grad_fn
        return [node.name(), node.next_functions[0][0].name()]
    assert names([0, 1], [0, 2]) == ["ViewBackward0", "DotBackward0"]
    assert names([0, 1], [2, 0]) == ["ViewBackward0", "SumBackward0"]


# ---- indices
def test_take_along_dim_goes_round() -> None:
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert torch.take_along_dim(x, torch.tensor([[-1], [4]]), 1).tolist() == [[3], [5]]
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.take_along_dim(x, torch.tensor([-1]))


# ---- normalization
def test_statistics_of_instances_are_kept_while_derivatives_are_taken() -> None:
    torch.manual_seed(0)
    x, mean, var = torch.randn(2, 3, 4), torch.zeros(3), torch.ones(3)
    expected = torch.zeros(3)
    F.instance_norm(x, expected, torch.ones(3))
    torch.func.vjp(lambda x: F.instance_norm(x, mean, var), x)
    torch.testing.assert_close(mean, expected)


def test_batch_of_no_features() -> None:
    x, none = torch.zeros(0, requires_grad=True), torch.zeros(0)
    for training in (True, False):
        assert F.batch_norm(x, none, none, training=training).shape == (0,)


def test_unpooling_follows_the_memory_of_its_input() -> None:
    pooled, places = F.max_pool2d(torch.arange(32.0).reshape(1, 2, 4, 4), 2, return_indices=True)
    assert F.max_unpool2d(pooled.contiguous(memory_format=torch.channels_last), places, 2).stride() == (32, 1, 8, 2)
    assert F.max_unpool2d(pooled, places, 2).stride() == (32, 16, 4, 1)


# ---- refusals
@pytest.mark.parametrize(("error", "words", "run"), [
    (NotImplementedError, "\"cumsum_out_cpu\" not implemented for 'Bool'", lambda: torch.ones(2).cumsum(0, dtype=torch.bool)),
    (NotImplementedError, "\"cumprod_out_cpu\" not implemented for 'Bool'", lambda: torch.ones(2).cumprod(0, dtype=torch.bool)),
    (NotImplementedError, "\"index_func_\" not implemented for 'Bool'",
     lambda: torch.tensor([True]).index_reduce(0, torch.tensor([0]), torch.tensor([True]), "amax")),
    (IndexError, "Dimension specified as 0 but tensor has no dimensions", lambda: torch.fft.fftn(torch.tensor(1.0), dim=0)),
    (RuntimeError, "adaptive_avg_pool2d: output_size must be 2", lambda: F.adaptive_avg_pool2d(torch.ones(1, 2, 3, 3), ())),
    (RuntimeError, "number of categories cannot exceed 2^24", lambda: torch.multinomial(torch.ones(()).expand(2**24 + 1), 1)),
    (RuntimeError, "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])",
     lambda: torch.ormqr(torch.ones(3, 3), torch.ones(2), torch.ones(3, 3))),
    (TypeError, "special_hermite_polynomial_h() received an invalid combination",
     lambda: torch.special.hermite_polynomial_h(1, 2)),
])
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_refused(error: Any, words: str, run: Any) -> None:
    with pytest.raises(error) as caught:
        run()
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("function", [torch.linspace, torch.logspace])
def test_bools_that_are_no_sequence(function: Any) -> None:
    assert function(0, 1, 0, dtype=torch.bool).shape == (0,)
    assert function(1, 1, 1, dtype=torch.bool).tolist() == [True]


# ---- ops that write to one of their operands
def test_slopes_of_rrelu_are_kept_for_the_derivative() -> None:
    torch.manual_seed(0)
    x = torch.tensor([-2.0, -1.0, 3.0], requires_grad=True)
    made = torch.rrelu(x, 0.1, 0.3, training=True)
    slopes = made.detach() / x.detach()
    assert 0.1 <= slopes[0] <= 0.3 and slopes[2] == 1
    assert made.grad_fn.name() == "RreluWithNoiseBackward0"
    torch.testing.assert_close(torch.autograd.grad(made.sum(), x)[0], slopes)
    torch.testing.assert_close(torch.rrelu(x, 0.1, 0.3), F.leaky_relu(x, 0.2))
    with pytest.raises(RuntimeError, match="Lower bound should be less than or equal to the upper bound"):
        torch.rrelu(x, 0.3, 0.1)


def test_a_window_of_its_own_for_each_example() -> None:
    torch.manual_seed(0)
    spectra = torch.randn(2, 5, 6, dtype=torch.complex128)
    windows = torch.hann_window(8, dtype=torch.float64) + torch.tensor([[0.1], [0.2]])
    made = torch.vmap(lambda s, w: torch.istft(s, 8, window=w))(spectra, windows)
    torch.testing.assert_close(made[1], torch.istft(spectra[1], 8, window=windows[1]))


# ---- segments
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments_are_reduced_each_for_itself(reduce: str) -> None:
    x = torch.tensor([1.0, 0.0, 3.0, 5.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    parts = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin, "prod": torch.prod}
    made = torch._segment_reduce(x, reduce, lengths=torch.tensor([2, 4]))
    torch.testing.assert_close(made, torch.stack([parts[reduce](x[:2]), parts[reduce](x[2:])]))
    assert gradcheck(lambda x: torch._segment_reduce(x, reduce, lengths=torch.tensor([2, 4])), x, check_forward_ad=True)
    lengths = torch.tensor([[2, 4], [5, 1]])
    each = torch.vmap(lambda n: torch.func.grad(lambda x: torch._segment_reduce(x, reduce, lengths=n)[1])(x.detach()))(lengths)
    one = torch.func.grad(lambda x: torch._segment_reduce(x, reduce, lengths=lengths[1])[1])(x.detach())
    torch.testing.assert_close(each[1], one)


# ---- what composite ops are made of
@pytest.mark.parametrize(("run", "names"), [
    (lambda a, b: F.pairwise_distance(a, b), {"AddBackward1"}),
    (lambda a, b: F.cosine_embedding_loss(a, b, torch.tensor([1, -1])), {"AddBackward1", "SubBackward1"}),
    (lambda a, b: F.margin_ranking_loss(a, b, torch.ones(2, 3), margin=0.5), {"AddBackward1"}),
    (lambda a, b: F.rms_norm(a, (3,)), {"AddBackward1"}),
    (lambda a, b: F.poisson_nll_loss(a.abs(), b.detach(), log_input=False), {"AddBackward1"}),
    (lambda a, b: torch.linalg.vecdot(a[0], b[0]), {"VdotBackward0"}),
    (lambda a, b: F.scaled_dot_product_attention(a, b, b), {"SafeSoftmaxBackward0"}),
    (lambda a, b: F.scaled_dot_product_attention(a.bfloat16(), b.bfloat16(), b.bfloat16()), {"ToCopyBackward0"}),
], ids=["pairwise", "cosine", "ranking", "rms", "poisson", "vecdot", "attention", "half attention"])
def test_nodes_of_a_composite_op(run: Any, names: set[str]) -> None:
    torch.manual_seed(0)
    found, stack = set(), [run(torch.randn(2, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)).grad_fn]
    while stack:
        node = stack.pop()
        if node is not None:
            found.add(node.name())
            stack += [n for n, _ in node.next_functions]
    assert names <= found


def test_a_row_that_sees_nothing_attends_to_nothing() -> None:
    x, seen = torch.ones(1, 2, 3, requires_grad=True), torch.tensor([[True, False], [False, False]])
    made = F.scaled_dot_product_attention(x, x, x, attn_mask=seen)
    assert made[0, 1].tolist() == [0.0, 0.0, 0.0]
    assert torch.autograd.grad(made.sum(), x)[0].isfinite().all()


# ---- memory order
def test_strides_decide_the_format_of_images_of_one_pixel() -> None:
    image = torch.ones(2, 1, 8).transpose(1, 2).reshape(2, 8, 1, 1)
    assert image.stride() == (8, 1, 8, 8)
    for mode in ("nearest", "bilinear", "bicubic"):
        assert F.interpolate(image, size=(2, 2), mode=mode).stride() == (32, 1, 16, 8), mode
    assert F.max_pool2d(image, 1).stride() == F.avg_pool2d(image, 1).stride() == (8, 1, 8, 8)
    assert F.interpolate(torch.ones(2, 8, 1, 1), size=(2, 2)).stride() == (32, 4, 2, 1)


def test_volumes_keep_their_channels_last_where_pytorch_does() -> None:
    x = torch.ones(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    assert F.max_pool3d(x, 2).stride() == (24, 1, 12, 6, 3)
    assert F.interpolate(x, 2, mode="trilinear").stride() == (24, 1, 12, 6, 3)
    assert F.avg_pool3d(x, 2).stride() == F.adaptive_avg_pool3d(x, 2).stride() == (24, 8, 4, 2, 1)
    image = torch.ones(2, 4, 4, 4).contiguous(memory_format=torch.channels_last)
    assert F.adaptive_max_pool3d(image, 2).stride() == (8, 4, 2, 1)          # one volume, and no image
    assert F.pixel_shuffle(image, 2).stride() == (64, 1, 8, 1)
    assert F.channel_shuffle(image, 2).stride() == image.stride()


def test_a_copy_has_a_shape_that_no_view_has() -> None:
    x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    made = torch.view_copy(x.t(), (6,))
    assert made.tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0] and made.grad_fn.name() == "ViewBackward0_copy"


def test_places_of_a_batch_of_indices() -> None:
    places = torch.vmap(lambda i: torch.unravel_index(i, (2, 3)))(torch.tensor([3, 5], dtype=torch.int32))
    assert [p.tolist() for p in places] == [[1, 1], [0, 2]] and places[0].dtype == torch.int64
    assert torch.unravel_index(torch.ones(3, dtype=torch.int64, device="meta"), (2, 3))[0].device.type == "meta"


def test_division_by_a_tensor_under_its_old_name() -> None:
    assert torch.Tensor.__rdiv__(torch.tensor([2.0, 4.0]), 1).tolist() == [0.5, 0.25]


def test_chunks_of_tensors_of_other_ranks_are_counted_from_the_front() -> None:
    with pytest.raises(RuntimeError, match="non-negative dim when input tensors have different ndims"):
        torch._chunk_cat([torch.ones(2), torch.ones(2, 2)], -1, 2)


def test_a_bool_minus_a_tensor_is_refused() -> None:
    for x in (torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(2, requires_grad=True)):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            True - x


def test_searches_go_past_nan() -> None:
    nan = float("nan")
    bounds = torch.tensor([1.0, 3.0, nan])
    for right in (False, True):
        assert torch.searchsorted(bounds, torch.tensor([2.0, nan]), right=right).tolist() == [1, 3]
    assert torch.searchsorted(torch.tensor([nan]), 2).item() == 1
    rows = torch.tensor([[1.0, nan], [nan, nan]])
    assert torch.searchsorted(rows, torch.tensor([[2.0], [2.0]])).tolist() == [[2], [2]]


def test_multi_margin_loss_of_infinite_scores() -> None:
    scores = torch.tensor([[float("inf"), 0.0, 2.0]])
    assert torch.nn.functional.multi_margin_loss(scores, torch.tensor([0])).item() == 0
    assert torch.nn.functional.multi_margin_loss(scores, torch.tensor([2])).item() == float("inf")


def test_batched_full_sums_reduce_all_dimensions_at_once() -> None:
    seen: list[str] = []

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    x = torch.ones(3, 2, 2)
    with Log():
        torch.vmap(lambda x: x.sum() + x.mean())(x)
    assert seen == ["aten.sum.dim_IntList", "aten.mean.dim", "aten.add.Tensor"]


def tangent(function: Any, *pairs: Any) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(*(forward_ad.make_dual(p, t) for p, t in pairs))).tangent


def test_tangent_of_polar_is_differentiable_where_the_length_is_zero_or_negative() -> None:
    length = torch.tensor([0.0, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    angle = torch.tensor([0.5, -0.25, 3.0], dtype=torch.float64, requires_grad=True)
    change = torch.tensor([1.0, 0.5, -2.0], dtype=torch.float64)
    gradients = torch.autograd.grad(tangent(torch.polar, (length, change), (angle, change)).real.sum(), [length, angle])
    assert torch.allclose(gradients[0], -change * angle.sin())
    assert torch.allclose(gradients[1], -change * (angle.sin() + length * angle.cos()))


def test_tangent_of_prelu_at_zero_has_the_slope_of_the_positive_side() -> None:
    x, weight = torch.tensor([0.0, -0.0, -1.0]), torch.tensor(0.25)
    assert tangent(F.prelu, (x, torch.ones(3)), (weight, torch.tensor(2.0))).tolist() == [1.0, 1.0, -1.75]
    x.requires_grad_()
    assert torch.autograd.grad(F.prelu(x, weight).sum(), x)[0].tolist() == [0.25, 0.25, 0.25]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max"])
def test_tangents_of_extrema_keep_half_precision(name: str, dtype: Any) -> None:
    x, y = torch.tensor([1.0, 2.0, 3.0], dtype=dtype), torch.tensor([1.0, 3.0, 2.0], dtype=dtype)
    found = tangent(getattr(torch, name), (x, torch.ones(3, dtype=dtype)), (y, torch.zeros(3, dtype=dtype)))
    assert found.dtype is dtype and found[1].item() + found[2].item() == 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients_that_are_not_asked_for_stay_missing_in_half_precision(dtype: Any) -> None:
    x = torch.ones(1, 2, 5, dtype=dtype, requires_grad=True)
    weight = torch.full((3, 2, 2), 0.5, dtype=dtype, requires_grad=True)
    grads = torch.autograd.grad(F.conv1d(x, weight).sum(), [x, weight], create_graph=True)
    assert torch.autograd.grad(grads[0].sum(), weight)[0].tolist() == [[[4.0] * 2] * 2] * 3
    only = torch.autograd.grad(F.conv1d(x, weight.detach()).square().sum(), x, create_graph=True)[0]
    assert only.dtype is dtype and torch.autograd.grad(only.sum(), x)[0].dtype is dtype
    normal = torch.autograd.grad(F.layer_norm(x, (5,)).square().sum(), x, create_graph=True)[0]
    assert normal.dtype is dtype and torch.autograd.grad(normal.sum(), x)[0].dtype is dtype


def test_tangent_of_logsumexp_of_large_complex_numbers() -> None:
    x = torch.tensor([1e6 + 1j, 1e6 + 0.5 + 2j, 1e6 - 1 + 3j], dtype=torch.complex64)
    change = torch.tensor([1.0, 2j, -1.0], dtype=torch.complex64)
    found = tangent(lambda t: t.logsumexp(0), (x, change))
    weights = (x.to(torch.complex128) - 1e6).exp()
    assert torch.allclose(found.to(torch.complex128), (weights * change).sum() / weights.sum(), rtol=1e-5)
    assert tangent(lambda t: t.logsumexp(0), (x[:0], change[:0])).isnan().all()


def test_tangent_of_the_angle_of_zero_is_zero() -> None:
    zero, one = torch.zeros(2, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64)
    assert tangent(torch.angle, (zero, one)).tolist() == [0.0, 0.0]


def test_norms_without_identity_refuse_empty_tensors():
    for order in (-1, -0.5, -2, math.inf, -math.inf):
        with pytest.raises(RuntimeError, match="norm on an empty tensor because the operation does not have an identity"):
            torch.linalg.vector_norm(torch.empty(0), order)
        with pytest.raises(RuntimeError, match="norm on the dimension 1because this dimension is empty"):
            torch.linalg.vector_norm(torch.empty(3, 0), order, dim=1)
    assert torch.linalg.vector_norm(torch.empty(0), 2).item() == 0
    assert torch.linalg.vector_norm(torch.empty(0, 3), -1, dim=1).shape == (0,)


def test_logsumexp_over_no_dimensions():
    for shape in ((3,), (2, 3)):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            torch.logsumexp(torch.ones(shape), dim=())
    assert torch.logsumexp(torch.ones(0), dim=()).item() == -math.inf
    assert torch.logsumexp(torch.ones(()), dim=()).item() == 1
