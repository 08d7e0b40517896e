"""gradcheck and gradgradcheck: what they accept, what they refuse, in which words and in which order."""
from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import forward_ad, gradcheck, gradgradcheck
from retrograd.autograd.gradcheck import GradcheckError, get_analytical_jacobian, get_numerical_jacobian
from retrograd.autograd.jacobians import numerical_jacobians, tensors_in

both = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def matrix(dtype: Any = None) -> Any:
    return torch.tensor([[0.5, 1.5], [2.5, -3.5]], dtype=dtype or torch.float64).requires_grad_()


def complex_matrix() -> Any:
    return torch.tensor([[0.5 + 1j, 1.5], [2.5, -3.5 - 2j]], dtype=torch.complex128).requires_grad_()


def hooked(x: Any) -> Any:
    """The identity with a wrong gradient."""
    y = x.clone()
    y.register_hook(lambda g: g + 1e-2)
    return y


@both
def test_right_derivatives_pass(fast: bool) -> None:
    everything = dict(check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True, fast_mode=fast)
    assert gradcheck(lambda x: x ** 3, matrix(), **everything)
    assert gradcheck(lambda x, y: (x * y, x.t()[0]), (matrix(), matrix()), **everything)
    assert gradcheck(lambda x: x ** 3, complex_matrix(), **everything)
    assert gradcheck(lambda x: torch.complex(x, 2 * x), matrix(), **everything)
    assert gradcheck(torch.real, complex_matrix(), **everything)
    assert gradcheck(torch.sin, torch.tensor(0.5, dtype=torch.float64, requires_grad=True), **everything)


@both
def test_right_second_derivatives_pass(fast: bool) -> None:
    assert gradgradcheck(lambda x: x ** 3, matrix(), check_batched_grad=True, check_fwd_over_rev=True, fast_mode=fast)
    assert gradgradcheck(lambda x: x ** 3, matrix(), matrix(), fast_mode=fast)
    assert gradgradcheck(lambda x: x ** 3, matrix(), gen_non_contig_grad_outputs=True, fast_mode=fast)


@both
def test_writes_through_views_pass(fast: bool) -> None:
    def written(x: Any) -> Any:
        y = x.clone()
        y[0].mul_(x[1])
        y.t()[1].add_(3 * x[:, 0])
        return y
    assert gradcheck(written, matrix(), check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True,
                     fast_mode=fast)
    assert gradgradcheck(written, matrix(), check_batched_grad=True, fast_mode=fast)


@both
def test_unrelated_input_passes(fast: bool) -> None:
    assert gradcheck(lambda x, y: x * 2, (matrix(), matrix()), check_batched_grad=True, check_forward_ad=True,
                     check_batched_forward_grad=True, fast_mode=fast)


@both
def test_function_without_outputs_passes(fast: bool) -> None:
    assert gradcheck(lambda x: (), matrix(), fast_mode=fast)


# ---- failures
@both
def test_wrong_gradient_is_shown(fast: bool) -> None:
    with pytest.raises(GradcheckError) as error:
        gradcheck(hooked, matrix(), fast_mode=fast)
    assert str(error.value).startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert ("Below, we recompute numerical and analytical jacobians in slow mode:" in str(error.value)) == fast
    assert gradcheck(hooked, matrix(), fast_mode=fast, raise_exception=False) is False


def test_imaginary_part_is_checked_first() -> None:
    with pytest.raises(GradcheckError, match=r"^While considering the imaginary part of complex outputs only, Jacobian "
                                             "mismatch"):
        gradcheck(hooked, complex_matrix())


@both
def test_wrong_tangent_is_found(fast: bool) -> None:
    def wrong(x: Any, y: Any) -> Any:
        if forward_ad._current_level >= 0:
            value, tangent = forward_ad.unpack_dual(y)
            y = forward_ad.make_dual(value, tangent * 1.1)
        return x + y, y
    with pytest.raises(GradcheckError, match=r"^Jacobian computed with forward mode mismatch for output 0 with respect to "
                                             r"input 1"):
        gradcheck(wrong, (matrix(), matrix()), check_forward_ad=True, fast_mode=fast)
    with pytest.raises(GradcheckError, match=r"^While considering the imaginary part of complex inputs only, Jacobian "
                                             r"computed"):
        gradcheck(wrong, (complex_matrix(), complex_matrix()), check_forward_ad=True, fast_mode=fast)


@both
def test_backward_that_varies_is_found(fast: bool) -> None:
    calls = [0]

    def varying(x: Any) -> Any:
        def hook(g: Any) -> Any:
            calls[0] += 1
            return None if g is None else g * (1 + 1e-7 * calls[0])
        y = x.clone()
        y.register_hook(hook)
        return y
    with pytest.raises(GradcheckError, match=r"^Backward is not reentrant"):
        gradcheck(varying, matrix(), fast_mode=fast)
    assert gradcheck(varying, matrix(), fast_mode=fast, nondet_tol=1e-3)


@both
def test_gradient_of_zeros_must_be_zero(fast: bool) -> None:
    with pytest.raises(GradcheckError, match=r"^backward not multiplied by grad_output$"):
        gradcheck(hooked, torch.ones(1, dtype=torch.float64, requires_grad=True), atol=1e-1, fast_mode=fast)


@both
def test_missing_gradients_must_be_handled(fast: bool) -> None:
    def touchy(x: Any) -> Any:
        def hook(g: Any) -> None:
            if g is None:
                raise RuntimeError("no gradient")
        y = x.clone()
        y.register_hook(hook)
        return y
    with pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support checking feature"):
        with pytest.raises(GradcheckError, match=r"^Expected backward function to handle undefined output grads"):
            gradcheck(touchy, matrix(), fast_mode=fast)
    assert gradcheck(touchy, matrix(), fast_mode=fast, check_undefined_grad=False)


@both
def test_gradient_that_cannot_be_batched_is_found(fast: bool) -> None:
    def scalar(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: None if g is None else g * float(g.sum() * 0 + 1))
        return y
    assert gradcheck(scalar, matrix(), fast_mode=fast)
    with pytest.raises(GradcheckError, match=r"^While computing batched gradients, got: Batching rule not implemented for "
                                             "aten::item"):
        gradcheck(scalar, matrix(), fast_mode=fast, check_batched_grad=True)


@both
def test_hidden_dependence_is_found(fast: bool) -> None:
    with pytest.raises(GradcheckError, match=r"^Numerical gradient for function expected to be zero$"):
        gradcheck(lambda x: x.detach() * 2, matrix(), fast_mode=fast)


@both
def test_outputs_must_not_change_kind(fast: bool) -> None:
    one = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are perturbed"):
        gradcheck(lambda x: torch.cat([x, x]) if x >= 1 else x, one, fast_mode=fast)
    with pytest.raises(AssertionError, match="return outputs with the same dtype when inputs are perturbed"):
        gradcheck(lambda x: x.to(torch.float32) if x >= 1 else x, one, fast_mode=fast)


# ---- arguments
def test_inputs_are_checked_whatever_happens_to_failures() -> None:
    with pytest.raises(ValueError, match=r"^gradcheck expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, torch.ones(2), raise_exception=False)
    with pytest.raises(RuntimeError, match=r"^The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x, torch.ones(1, dtype=torch.float64, requires_grad=True).expand(2, 2), raise_exception=False)
    with pytest.warns(UserWarning, match=r"^Input #0 requires gradient and is not a double precision floating point or "
                                         r"complex"):
        assert gradcheck(lambda x: x, matrix(torch.float32), atol=1e-1)


@pytest.mark.parametrize(("options", "text"), [
    (dict(check_backward_ad=False), "Expected at least one of check_forward_ad or check_backward_ad to be True"),
    (dict(check_backward_ad=False, check_forward_ad=True, check_batched_grad=True),
     "Setting check_batched_grad=True requires check_backward_ad to be True"),
    (dict(check_batched_forward_grad=True), "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
])
def test_options_must_fit(options: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        gradcheck(lambda x: x, matrix(), **options)


def test_other_errors_pass_through() -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("not a GradcheckError")
    with pytest.raises(RuntimeError, match=r"^not a GradcheckError$"):
        gradcheck(broken, matrix(), raise_exception=False)


def test_forward_mode_runs_without_requires_grad() -> None:
    seen: list[bool] = []

    def look(x: Any, y: Any) -> Any:
        if forward_ad._current_level >= 0:
            seen.extend([x.requires_grad, y.requires_grad])
        return x * y
    assert gradcheck(look, (matrix(), matrix()), check_forward_ad=True, check_backward_ad=False)
    assert seen and not any(seen)


# ---- the old functions
def test_old_functions_warn_and_work() -> None:
    a, b = matrix(), matrix()
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        first, second = get_numerical_jacobian(lambda inputs: (2 * inputs[0] + inputs[1], inputs[0]), (a, b), eps=1e-6)
    one = torch.eye(4, dtype=torch.float64)
    assert torch.allclose(first, 2 * one) and torch.allclose(second, one)
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        jacobians, reentrant, _, _ = get_analytical_jacobian((a, b), 2 * a + b)
    assert reentrant and jacobians[0].tolist() == (2 * torch.eye(4, dtype=torch.float64)).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"^Expected grad_out to be 1.0. get_numerical_jacobian no longer supports"):
            get_numerical_jacobian(lambda inputs: inputs[0], (a,), grad_out=2.0)


def test_checks_show_their_arguments() -> None:
    assert list(inspect.signature(torch.autograd.gradcheck).parameters)[:4] == ["func", "inputs", "eps", "atol"]
    assert list(inspect.signature(torch.autograd.gradgradcheck).parameters)[:4] == ["func", "inputs", "grad_outputs", "eps"]


def test_numerical_jacobians_are_taken_with_respect_to_a_target() -> None:
    weight, x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True), torch.randn(3, dtype=torch.float64)
    (by_weight,), = numerical_jacobians(lambda t: weight @ t, (x,), target=[weight], eps=1e-6)
    assert by_weight.shape == (6, 2)
    torch.testing.assert_close(by_weight[:3, 0], x, rtol=1e-6, atol=1e-6)
    assert len(list(tensors_in([x, [weight, "text"]]))) == 2
    assert len(list(tensors_in([x, weight], only_requiring_grad=True))) == 1


def test_numerical_jacobians_take_one_tensor_in_the_place_of_a_tuple() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (by_x,), = numerical_jacobians(lambda t: t * 3, x, target=[x], eps=1e-6)
    torch.testing.assert_close(by_x, 3 * torch.eye(2, dtype=torch.float64))
