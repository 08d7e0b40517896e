"""Details in which PyTorch's ops are particular: memory order, saved values, error texts, names of functions."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.tensor import new_tensor
from retrograd.ops.linalg import triangular

WRAPPED = 2**64


def fortran(*shape: int, dtype: Any = np.float64) -> Any:
    return new_tensor(np.asfortranarray(np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)))


def plain(*shape: int) -> Any:
    return new_tensor(np.arange(1.0, 1 + int(np.prod(shape))).reshape(shape))


# ---- memory order
@pytest.mark.parametrize(("a", "b", "strides"), [
    (fortran(3, 4), plain(3, 4), (1, 3)),            # the first operand counts most
    (plain(3, 4), fortran(3, 4), (4, 1)),
    (fortran(3, 4), plain(4), (1, 3)),
    (plain(4), fortran(3, 4), (1, 3)),               # a broadcast operand has no opinion
    (fortran(3, 4), 2.0, (1, 3)),
])
def test_result_follows_first_operand(a: Any, b: Any, strides: Any) -> None:
    for op in (torch.add, torch.mul, torch.maximum, torch.lt):
        if not (isinstance(b, float) and op is torch.maximum):
            assert op(a, b).stride() == strides
            assert op(a.clone().requires_grad_() if op is not torch.lt else a, b).stride() == strides


def test_cast_operand_has_order_of_its_copy() -> None:
    spread = torch.ones((), dtype=torch.float64).expand(3, 4)
    assert (spread * fortran(3, 4)).stride() == (1, 3)
    assert (spread * fortran(3, 4, dtype=np.complex128)).stride() == (4, 1)


def test_power_of_number_is_contiguous() -> None:
    assert torch.pow(2, fortran(3, 4)).stride() == (4, 1)
    assert torch.pow(fortran(3, 4), 2).stride() == (1, 3)


def test_expanded_scalar_has_no_strides() -> None:
    one = torch.ones(())
    assert (one.expand(1).stride(), one.expand(1, 1).stride(), one[None].expand(2, 1).stride()) == ((0,), (0, 0), (0, 1))
    assert torch.zeros_like(one.expand(1)).stride() == (0,)


@pytest.mark.parametrize("op", [torch.maximum, torch.minimum])
def test_gradients_of_extrema_follow_comparison(op: Any) -> None:
    a, b = fortran(3, 4).requires_grad_(), plain(3, 4).requires_grad_()
    for g in torch.autograd.grad(op(a, b).sum(), (a, b)):
        assert g.stride() == (1, 3)
    with pytest.warns(UserWarning), torch.autograd.detect_anomaly():
        assert torch.autograd.grad(op(a, b).sum(), a)[0].stride() == (1, 3)


def test_integers_that_were_expanded_give_a_contiguous_result() -> None:
    spread = torch.arange(3).expand(2, 3)
    for op in (torch.sqrt, torch.sigmoid, torch.erf):
        assert op(spread).stride() == (3, 1)


def test_dimensions_of_size_one_keep_their_place_in_memory() -> None:
    column = torch.arange(3.0).reshape(1, 3).t()
    assert torch.lerp(column, torch.ones(1), 0.5).stride() == (1, 3)
    assert torch.addcmul(column, column, column).stride() == (1, 1)


# ---- out=
def test_out_of_another_size_takes_the_memory_order_of_the_result() -> None:
    a = fortran(2, 3)
    for op in (torch.sin, torch.floor, lambda x, out: torch.add(x, x, out=out)):
        assert op(a, out=torch.empty(0, dtype=torch.float64)).stride() == (1, 2)
    assert torch.cumsum(a, 0, out=torch.empty(0, dtype=torch.float64)).stride() == (3, 1)


def test_out_of_ops_without_derivative_takes_inputs_that_require_grad() -> None:
    a = plain(2, 3).requires_grad_()
    assert torch.eq(a, a, out=torch.empty(0, dtype=torch.bool)).all()
    assert torch.argmax(a, 0, out=torch.empty(0, dtype=torch.int64)).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="arguments don't support automatic differentiation"):
        torch.sin(a, out=torch.empty(0))


@pytest.mark.parametrize("op", [
    lambda out: torch.softmax(plain(2, 3), 1, out=out), lambda out: torch.log_softmax(plain(2, 3), 1, out=out),
    lambda out: torch.take_along_dim(plain(2, 3), torch.tensor([[0]]), 1, out=out),
    lambda out: torch.float_power(plain(2, 3), 2, out=out), lambda out: torch.fft.fftfreq(4, out=out),
    lambda out: torch.fft.rfftfreq(4, out=out),
])
def test_composite_ops_with_out(op: Any) -> None:
    out = torch.empty(0, dtype=torch.float64)
    assert op(out=out) is out
    assert np.allclose(out.numpy(), op(out=None).numpy())


# ---- what losses and norms refuse
@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda F: F.cross_entropy(torch.ones(2, 3), torch.zeros(2, 3, dtype=torch.int64)), RuntimeError,
     "Expected floating point type for target with class probabilities, got Long"),
    (lambda F: F.nll_loss(torch.ones(3), torch.zeros(3, dtype=torch.int64)), ValueError, "1D target must have size 1"),
    (lambda F: F.kl_div(torch.ones(2), torch.ones(2, dtype=torch.int64), reduction="sum"), RuntimeError,
     "kl_div: Integral inputs not supported."),
    (lambda F: F.binary_cross_entropy(torch.tensor([0.5, 2.0]), torch.tensor([2.0, 0.5])), RuntimeError,
     "all elements of target should be between 0 and 1"),
    (lambda F: F.binary_cross_entropy_with_logits(torch.ones(2).bool(), torch.ones(2)), NotImplementedError, "log_sigmoid_cpu"),
    (lambda F: F.layer_norm(torch.ones(2, 3).long(), (3,)), NotImplementedError, "LayerNormKernelImpl"),
    (lambda F: F.group_norm(torch.ones(2, 3).long(), 1), NotImplementedError, "GroupNormKernelImpl"),
    (lambda F: F.layer_norm(torch.ones(2, 3).double(), (3,), torch.ones(3)), RuntimeError, "inputs must share same datatype"),
    (lambda F: F.batch_norm(torch.ones(2, 3), torch.zeros(3).double(), torch.ones(3)), RuntimeError,
     "expect parameter to have scalar type of Float"),
    (lambda F: F.pad(torch.ones(1, 2, 3), (3, 0), mode="reflect"), RuntimeError, "Padding size should be less than"),
    (lambda F: F.pad(torch.ones(3), (1, 1), mode="replicate"), NotImplementedError, "Padding size 2 is not supported for 1D"),
    (lambda F: F.pad(torch.ones(3), (1, 1, 1)), RuntimeError, "Padding length must be divisible by 2"),
])
def test_refusals_of_losses_norms_and_padding(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(torch.nn.functional)


# ---- numbers and dimensions
@pytest.mark.parametrize("kind", [float, int, complex])
def test_only_one_element_becomes_a_number(kind: Any) -> None:
    for t in (torch.ones(2), torch.ones(0)):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            kind(t)
    assert kind(torch.tensor([[2.5]])) == kind(2.5)


def test_complex_number_is_no_float() -> None:
    assert float(torch.tensor(2 + 0j)) == 2.0
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        float(torch.tensor(1 + 2j))


def test_a_number_has_no_dimensions() -> None:
    one = torch.tensor(1.0)
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        one.size(0)
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        one.flip(0, -1)
    with pytest.raises(RuntimeError, match="is not expandable to size"):
        one.sum_to_size(1)


def test_linspace_of_bools_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="linspace_cpu"):
        torch.linspace(0, 1, 3, dtype=torch.bool)


# ---- devices, nodes, transforms
def test_copy_to_meta_keeps_its_history() -> None:
    made = torch.ones(2, requires_grad=True).to("meta")
    assert made.requires_grad and made.grad_fn.name() == "ToCopyBackward0"


def test_data_cannot_be_set_inside_a_transform() -> None:
    def function(x: Any) -> Any:
        x.data = x * 2
        return x.sum()
    with pytest.raises(RuntimeError, match="mutating directly with `.data` inside functorch transform is not allowed"):
        torch.func.grad(function)(torch.ones(2))


def test_adjoint_of_a_number_is_the_number() -> None:
    assert torch.adjoint(torch.tensor(2.0)).item() == 2
    with pytest.raises(RuntimeError, match="Got 1-D tensor"):
        torch.ones(2).adjoint()


def test_bfloat16_with_float() -> None:
    x = torch.ones(2, 2, dtype=torch.bfloat16)
    for y in (x + 0.5, 0.5 - x, x * 0.5, x / 0.5, x.t() + 0.5):
        assert y.dtype is torch.bfloat16


# ---- writing
@pytest.mark.parametrize("write", [
    lambda x: x[1:].add_(x[:-1]), lambda x: x[1:].copy_(x[:-1]), lambda x: x.mul_(x[0]),
    lambda x: x[:4].view(2, 2).sub_(x[:4].view(2, 2).t()), lambda x: x[1:].add_(x[:3]),
    lambda x: torch.add(x[:-1], 1, out=x[1:]), lambda x: x.index_put_((torch.tensor([0, 1]),), x[1:3]),
])
def test_no_reading_from_written_memory(write: Any) -> None:
    x = plain(6)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single"):
        write(x)
    assert x.tolist() == [1, 2, 3, 4, 5, 6]


def test_writing_beside_what_is_read() -> None:
    x = plain(6)
    x[:3].add_(x[3:])
    x.mul_(x)
    x[1:].add_(x[0])
    assert x.tolist() == [25, 74, 106, 41, 50, 61]


@pytest.mark.parametrize(("shape", "source", "text"), [
    ((1,), (3,), r"output with shape \[1\] doesn't match the broadcast shape \[3\]"),
    ((2,), (2, 2), r"output with shape \[2\] doesn't match the broadcast shape \[2, 2\]"),
    ((2,), (3,), r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0"),
])
def test_copy_of_wrong_shape(shape: Any, source: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        torch.zeros(shape).copy_(torch.zeros(source))


def test_copy_into_integers_is_not_recorded() -> None:
    x = torch.zeros(2, dtype=torch.int64).copy_(torch.ones(2, requires_grad=True))
    assert not x.requires_grad


# ---- what nodes show
def saved(t: Any) -> dict[str, Any]:
    return {n: getattr(t.grad_fn, n) for n in dir(t.grad_fn) if n.startswith("_saved_")}


def test_saved_integers_wrap_around() -> None:
    x = plain(3, 4).requires_grad_()
    assert saved(x.sum(-1)) == {"_saved_dim": (WRAPPED - 1,), "_saved_keepdim": False, "_saved_self_sym_sizes": (3, 4)}
    assert saved(x.select(-1, -2)) == {
        "_saved_dim": WRAPPED - 1, "_saved_index": WRAPPED - 2, "_saved_self_sym_sizes": (3, 4)}
    assert saved(x.add(x, alpha=-2)) == {"_saved_alpha": -2}
    assert saved(x.var(-1, correction=-1))["_saved_correction"] == -1


def test_saved_attributes_that_do_not_show() -> None:
    x = plain(3, 4).requires_grad_()
    assert saved(x.as_strided((2,), (1,), 1)) == {"_saved_size": (2,), "_saved_stride": (1,), "_saved_storage_offset": 1}
    assert saved(torch.cat([x, x], -1)) == {"_saved_dim": WRAPPED - 1}
    assert saved(x.to(torch.float32)) == {}
    with pytest.raises(AttributeError, match="no attribute '_saved_self_geometry'"):
        print(x.as_strided((2,), (1,), 1).grad_fn._saved_self_geometry)


def test_saved_attributes_of_unused_formulas() -> None:
    x = plain(3, 4).requires_grad_()
    assert saved(x + plain(3, 4)) == {"_saved_alpha": 1}
    assert saved(x.mean()) == {"_saved_self_sym_numel": 12, "_saved_self_sym_sizes": (3, 4)}
    assert saved(x.index_add(0, torch.tensor([0]), plain(1, 4)))["_saved_source_dim"] == 2


def test_saved_result_of_write_through_view() -> None:
    base = plain(4).requires_grad_() * 1
    part = base[1:]
    part.sigmoid_()
    assert part.grad_fn.name() == "AsStridedBackward0"
    assert base.grad_fn.inner._saved_result.grad_fn is part.grad_fn


# ---- error texts
def test_names_in_error_texts() -> None:
    x = plain(3).requires_grad_()
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.DoubleTensor \[3\]\], which is output 0 of Exp, is at version 1"):
        y.sum().backward()
    y = x.exp().pow(x)
    z = y * y
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"output 0 of Mul, .*set_detect_anomaly\(True, check_nan=False\)\."):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="Output 0 of UnbindBackward0 is a view and is being modified inplace"):
        (x * 1).unbind()[0].mul_(2)
    c = torch.ones(2, dtype=torch.complex64, requires_grad=True).exp()
    c.detach().mul_(2)
    with pytest.raises(RuntimeError, match=r"\[CPUComplexFloatType \[2\]\]"):
        c.backward(torch.ones_like(c))


def test_no_arguments() -> None:
    x = plain(2)
    for call, count in ((lambda: x.sin(2), 1), (lambda: x.exp_(1, 2), 2), (lambda: x.t(0), 1)):
        with pytest.raises(TypeError, match=rf"takes no arguments \({count} given\)"):
            call()


def test_matmul_with_number() -> None:
    x = plain(2, 2)
    with pytest.raises(TypeError, match="unsupported operand type"):
        2 @ x
    with pytest.raises(TypeError, match="unsupported operand type"):
        x @ 2


def test_results_without_gradient() -> None:
    x = plain(2, 3).requires_grad_()
    long = torch.int64
    for call in (lambda: x.sum(dtype=long), lambda: x.prod(0, dtype=long), lambda: x.cumsum(0, dtype=long)):
        with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
            call()
    assert not x.long().requires_grad


def test_no_complex_gradients() -> None:
    x = torch.ones(2, 3, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(RuntimeError, match="scatter_reduce does not support automatic differentiation"):
        x.scatter_reduce(0, torch.zeros(2, 3, dtype=torch.int64), x, "sum")
    with pytest.raises(RuntimeError, match="select_scatter does not support"):
        x.select_scatter(x[0], 0, 0)


def test_complex_gradient_for_real_input() -> None:
    x, c = plain(2).requires_grad_(), torch.ones(2, dtype=torch.complex128, requires_grad=True)
    (x * c).sum().backward(torch.tensor(1 + 1j, dtype=torch.complex128))
    assert x.grad.dtype is torch.float64
    with pytest.raises(RuntimeError, match=r"Expected isFloatingType\(grad.scalar_type\(\)\)"):
        torch.where(x > 0, x, c).sum().backward(torch.tensor(1 + 1j, dtype=torch.complex128))


def test_not_implemented_node() -> None:
    z = torch.smm(plain(2, 3).to_sparse(), plain(3, 2).requires_grad_())
    assert (type(z.grad_fn).__name__, z.grad_fn.name()) == ("NotImplemented", "torch::autograd::NotImplemented")
    assert len(z.grad_fn.next_functions) == 1
    with pytest.raises(RuntimeError, match="derivative for aten::.* is not implemented"):
        torch.sparse.sum(z).backward()


# ---- names and defaults
def test_inplace_functions() -> None:
    assert torch.sin_(plain(2)).tolist() == plain(2).sin().tolist()
    for name in ("sign_", "lgamma_", "add_", "index_add_"):
        assert not hasattr(torch, name)
        assert hasattr(torch.Tensor, name)


def test_alpha_true_is_not_one() -> None:
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.add(plain(2), plain(2), alpha=True)


def test_gradients_of_power_with_bool_exponent() -> None:
    x = plain(2).requires_grad_()
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
        x.pow(torch.tensor([True, False])).sum().backward()


def test_error_about_a_mask_names_unsigned_types() -> None:
    with pytest.raises(RuntimeError, match="but got mask with dtype short unsigned int"):
        torch.zeros(2).masked_fill(torch.zeros(2, dtype=torch.uint16), 1)


def test_convolution_of_complex_numbers_is_made_of_real_ones() -> None:
    x = torch.randn(1, 2, 4, dtype=torch.complex128, requires_grad=True)
    weight = torch.randn(3, 2, 2, dtype=torch.complex128)
    y = torch.conv1d(x, weight, torch.randn(3, dtype=torch.complex128))
    assert y.grad_fn.name() == "AddBackward0"
    assert y.grad_fn.next_functions[1][0].name() == "MulBackward1"
    plain = (x.detach().unsqueeze(1).unfold(-1, 2, 1).movedim(-1, -2) * weight.unsqueeze(-1)).sum((2, 3))
    torch.testing.assert_close(torch.conv1d(x, weight).detach(), plain)


# ---- what has no derivative, and what is refused
@pytest.mark.parametrize(("name", "call"), [
    ("weight", lambda t: torch.nn.functional.binary_cross_entropy(torch.rand(3), torch.rand(3), t)),
    ("pos_weight", lambda t: torch.nn.functional.binary_cross_entropy_with_logits(torch.rand(3), torch.rand(3), pos_weight=t)),
    ("weight", lambda t: torch.nn.functional.nll_loss(torch.rand(2, 3), torch.tensor([0, 2]), t)),
    ("target", lambda t: torch.nn.functional.soft_margin_loss(torch.rand(3), t)),
    ("running_mean", lambda t: torch.nn.functional.batch_norm(torch.rand(2, 3), t, torch.ones(3))),
])
def test_argument_without_derivative_cannot_require_grad(name: str, call: Any) -> None:
    with pytest.raises(RuntimeError, match=f"is not differentiable with respect to argument '{name}'. This input cannot"):
        call(torch.ones(3, requires_grad=True))
    with torch.no_grad():
        call(torch.ones(3, requires_grad=True))


def test_outputs_that_only_help_backward_have_no_gradient() -> None:
    x = torch.rand(2, 4, 3).requires_grad_()
    assert [t.requires_grad for t in torch.ops.aten.log_sigmoid_forward(x)] == [True, False]
    assert [t.requires_grad for t in torch.native_layer_norm(x, [3], None, None, 1e-5)] == [True, False, False]
    mean = torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)[1]
    assert torch.allclose(torch.autograd.grad(mean.sum(), x)[0], torch.full((2, 4, 3), 1 / 6))


@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f.max_pool2d(torch.ones(4, 4), 2), "non-empty 3D or 4D"),
    (lambda f: f.max_pool2d(torch.ones(0, 4, 4), 2), "but got:[0, 4, 4]"),
    (lambda f: f.max_pool2d(torch.ones(1, 4, 4), 2, 0), "stride should not be zero"),
    (lambda f: f.max_pool2d(torch.ones(1, 4, 4), 2, dilation=0), "dilation should be greater than zero, but got dilationH: 0"),
    (lambda f: f.max_pool2d(torch.ones(1, 4, 4), 2, padding=-1), "pad must be non-negative, but got pad: -1"),
    (lambda f: f.max_pool2d(torch.ones(1, 4, 4), (2, 2, 2)), "max_pool2d: kernel_size must either be a single int, or"),
    (lambda f: f.max_pool3d(torch.ones(0, 4, 4, 4), 2), "non-batch dimensions to have positive length"),
    (lambda f: f.max_pool1d(torch.ones(4), 2), "max_pool1d: Expected 2D or 3D"),
    (lambda f: f.max_pool1d(torch.ones(1, 4), 0), "kernel_size must be greater than zero, but got 0"),
    (lambda f: f.max_pool1d(torch.ones(1, 4), 3, padding=2), "padding should be at most half of kernel size"),
    (lambda f: f.max_pool1d(torch.ones(1, 4), 5), "Invalid computed output size: 0"),
])
def test_max_pooling_refuses_bad_settings(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError) as error:
        call(torch.nn.functional)
    assert message in str(error.value)


def test_factorizations_of_nothing_take_any_precision() -> None:
    nothing = torch.zeros(0, 3, 3, dtype=torch.float16)
    for made in (torch.linalg.cholesky(nothing), torch.linalg.lu(nothing)[2], torch.linalg.eigh(nothing)[1],
                 torch.linalg.svd(nothing)[0], torch.linalg.solve(nothing, nothing)):
        assert (made.dtype, made.shape) == (torch.float16, nothing.shape)
    with pytest.raises(NotImplementedError, match="\"lu_cpu\" not implemented for 'Half'"):
        torch.linalg.lu(torch.zeros(3, 3, dtype=torch.float16))


def test_spherical_bessel_function_is_exact_near_zero() -> None:
    x = torch.tensor([0.0, 0.1, 0.49, 0.51], dtype=torch.float64)
    assert np.allclose(torch.special.spherical_bessel_j0(x).numpy(), np.sinc(x.numpy() / np.pi), 1e-15, 1e-15)


def test_sum_over_broadcast_dimensions_is_contiguous() -> None:
    assert fortran(4, 3, 2).sum_to_size(3, 2).stride() == (2, 1)


@pytest.mark.parametrize("index", [0, (0, torch.tensor([0, 1])), ...])
def test_numpy_numbers_are_assigned_where_pythons_are_their_base(index: Any) -> None:
    for value in (np.float64(1.5), np.int64(2), np.int8(2)):
        t = torch.zeros(2, 2)
        t[index] = value
        assert t[0].tolist() == [value, value]
    with pytest.raises(TypeError, match="can't assign a numpy.float32 to a torch.FloatTensor"):
        torch.zeros(2, 2)[index] = np.float32(1.5)


def test_refusals_of_complex_bounds_are_those_of_the_op_that_would_compute() -> None:
    bound = torch.ones(2, dtype=torch.complex64)
    for bounds, name in ((dict(min=bound), "maximum_cpu"), (dict(max=bound), "minimum_cpu"),
                         (dict(min=bound, max=bound), "clamp_cpu")):
        with pytest.raises(NotImplementedError, match=f"\"{name}\" not implemented for 'ComplexFloat'"):
            torch.ones(2).clamp(**bounds)
    assert torch.zeros(0, 3, dtype=torch.complex64).amax(1).shape == (0,)


def test_rows_of_nothing_are_refused_in_other_words() -> None:
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        torch.zeros(0, 3).index_select(0, torch.tensor([0]))
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=3"):
        torch.ones(3, 0).index_select(0, torch.tensor([0, 5]))
    with pytest.raises(NotImplementedError, match="\"ldexp_cpu_exp\" not implemented for 'Bool'"):
        torch.ones(2).ldexp(torch.ones(2, dtype=torch.bool))


def test_too_many_index_tensors_are_refused_before_they_are_looked_at() -> None:
    with pytest.raises(IndexError, match=r"too many indices for tensor of dimension 1 \(got 2\)"):
        torch.ones(3).index_put((torch.tensor([True]), torch.tensor([0.5])), torch.tensor(1.0))


# ---- infinities and NaNs
def test_resizing_keeps_infinities_where_they_are() -> None:
    image = torch.tensor([[[1.0, np.inf, np.nan, 4.0]]])
    made = torch.nn.functional.interpolate(image, scale_factor=2.0)
    assert np.array_equal(made.numpy()[0, 0], np.repeat(image.numpy()[0, 0], 2), equal_nan=True)
    assert torch.nn.functional.adaptive_avg_pool1d(image, 4)[0, 0, 0].item() == 1


def test_gradient_of_affine_grid_in_any_memory_order() -> None:
    theta = plain(2, 2, 3).requires_grad_()
    grid = torch.nn.functional.affine_grid(theta, (2, 1, 3, 3), align_corners=True)
    grad = plain(*grid.shape)
    turned = new_tensor(np.asfortranarray(grad.numpy()))
    first, second = (torch.autograd.grad(grid, theta, g, retain_graph=True)[0] for g in (grad, turned))
    assert np.array_equal(first.numpy(), second.numpy())


def test_attention_of_strided_inputs_is_made_of_products() -> None:
    q = plain(1, 2, 3, 4).requires_grad_()
    attend = torch.nn.functional.scaled_dot_product_attention
    assert attend(q, q, q).grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    strided = q.transpose(-2, -1).clone(memory_format=torch.contiguous_format).transpose(-2, -1)
    assert attend(strided, q, q).grad_fn.name() == "UnsafeViewBackward0"
    assert np.allclose(attend(strided, q, q).detach().numpy(), attend(q, q, q).detach().numpy())


def test_complex_numbers_are_true_unless_both_parts_are_zero() -> None:
    assert torch.tensor([0.25j, 0j, 1 + 0j, 1e-30j]).bool().tolist() == [True, False, True, True]


def test_log1p_of_small_complex_numbers_keeps_their_digits() -> None:
    made = torch.log1p(torch.tensor([2e-18, 2e-18j, -0.5 + 0.1j, 3 - 4j], dtype=torch.complex128))
    assert made[0].item() == 2e-18 and abs(made[1].item() - complex(2e-36, 2e-18)) < 1e-48
    assert torch.allclose(made[2:], torch.log(torch.tensor([0.5 + 0.1j, 4 - 4j], dtype=torch.complex128)))


def test_the_gradient_of_a_determinant_of_one_number_is_the_gradient() -> None:
    for dtype in (torch.float64, torch.complex128):
        x = torch.zeros(1, 1, dtype=dtype, requires_grad=True)
        assert torch.autograd.grad(torch.linalg.det(x), x, torch.tensor(3.0, dtype=dtype))[0].tolist() == [[3]]


def test_diff_of_order_zero_is_the_input_alone() -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.diff(x, n=0, prepend=torch.zeros(1), append=torch.zeros(2)).tolist() == [1, 2]


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_have_gradients_with_respect_to_q(name: str) -> None:
    x = torch.tensor([3.0, 1.0, 2.0, 5.0], dtype=torch.float64)
    q = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(getattr(torch, name)(x, q).sum(), q)[0].tolist() == [3, 6]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_real_frequencies_of_real_signals_have_positive_zeros(n: int) -> None:
    made = torch.fft.fft(torch.arange(float(n)))
    for place in {0, n // 2} if n % 2 == 0 else {0}:
        assert str(made.imag[place].item()) == "0.0"


def test_qr_names_its_successor() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        triangular.warned.clear()
        torch.qr(torch.eye(2))
    assert "torch.qr is deprecated in favor of torch.linalg.qr" in str(seen[0].message)


def test_operands_of_a_refused_product_are_named_as_python_names_them() -> None:
    class Knows:
        def __rmatmul__(self, other: Any) -> str:
            return "mine"

    x = plain(2, 2)
    assert x @ Knows() == "mine"
    for call, names in ((lambda: x @ "a", "'Tensor' and 'str'"), (lambda: None @ x, "'NoneType' and 'Tensor'"),
                        (lambda: np.ones((2, 2)) @ x, "'numpy.ndarray' and 'Tensor'"),
                        (lambda: torch.nn.Parameter(x) @ 1, "'Parameter' and 'int'")):
        with pytest.raises(TypeError, match=f"unsupported operand type\\(s\\) for @: {names}"):
            call()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(3, 4, 2, 5), (2, 3, 2, 2, 4)])
def test_batch_norm_keeps_channels_innermost(shape: tuple[int, ...], training: bool) -> None:
    form = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    x = torch.arange(float(np.prod(shape))).view(shape).contiguous(memory_format=form).requires_grad_()
    channels = torch.zeros(shape[1]), torch.ones(shape[1])
    made = torch.nn.functional.batch_norm(x, *channels, training=training)
    (grad,) = torch.autograd.grad(made, x, torch.ones_like(made))
    assert made.stride() == x.stride() == grad.stride()


def test_rrelu_keeps_tensors_without_dimensions():
    rrelu, rrelu_ = torch.nn.functional.rrelu, torch.nn.functional.rrelu_
    assert rrelu(torch.tensor(-1.0), training=True).shape == rrelu_(torch.tensor(-1.0), training=True).shape == ()
    assert rrelu(torch.tensor(-1.0)).shape == ()


@pytest.mark.parametrize(("dim", "strides"), [
    (0, (120, 60, 1, 15, 3)), (1, (120, 3, 1, 30, 6)), (2, (120, 1, 60, 15, 3)), (3, (120, 1, 30, 15, 3)),
    (4, (120, 40, 10, 2, 1))])
def test_stack_keeps_channels_innermost(dim: int, strides: tuple[int, ...]) -> None:
    x = torch.arange(120.0).view(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    made = torch.stack([x, x + 1], dim)
    assert made.stride() == strides
    assert made.tolist() == torch.stack([x.contiguous(), x.contiguous() + 1], dim).tolist()
    assert torch.stack([x, x.contiguous()], dim).is_contiguous()


def test_logit_clamps_from_below_last():
    assert torch.logit(torch.tensor([0.2, 0.5, 0.9, -1.0]), 0.75).tolist() == torch.logit(
        torch.tensor([0.75, 0.75, 0.25, 0.75])).tolist()


def test_flags_are_bools_and_formats_are_keywords():
    with pytest.raises(TypeError, match=r"_unique2\(\): argument 'sorted' must be bool, not int"):
        torch.unique(torch.ones(2), 1)
    with pytest.raises(TypeError, match="argument 'return_inverse' must be bool"):
        torch.unique_consecutive(torch.ones(2), None)
    with pytest.raises(TypeError, match=r"requires_grad_\(\): argument 'requires_grad' \(position 1\) must be bool, not int"):
        torch.ones(2).requires_grad_(1)
    with pytest.raises(TypeError, match="contiguous"):
        torch.ones(2).contiguous(torch.channels_last)
    with pytest.raises(RuntimeError, match="a tuple of ints, or a list of ints, got 0.5"):
        torch.broadcast_shapes((2,), 0.5)
    assert torch.broadcast_shapes(None, (2, 1), 3) == (2, 3)
    assert torch.subtract(torch.ones(2), 2, 3).tolist() == [-5, -5]


def test_complex_exp2_of_infinite_parts() -> None:
    inf = float("inf")
    made = torch.exp2(torch.tensor([complex(-inf, 1), complex(-inf, inf), complex(inf, 0), complex(1, 2)]))
    assert made[:3].tolist() == [0, 0, complex(inf, 0)]
    torch.testing.assert_close(made[3], torch.tensor(2.0 ** complex(1, 2)))


def test_unravel_index_takes_whole_sizes_alone() -> None:
    with pytest.raises(TypeError, match="^expected 'shape' sequence to only contain ints, but got <class 'float'>"):
        torch.unravel_index(torch.tensor([5]), (2.5, 3))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9])
def test_sums_of_negative_zeros_are_zero_without_a_sign(count: int, dtype: Any) -> None:
    assert not np.signbit(torch.full((count,), -0.0, dtype=dtype).sum().numpy())
