"""gradcheck and gradgradcheck: compare the derivatives of a function with finite differences.

NOTE [The order of checks]
Inputs; outputs; the Jacobians by reverse mode (of a complex output first the imaginary part, then the real one); those by
forward mode (of complex inputs likewise); missing tangents; batched tangents; and, if reverse mode is checked at all,
batched gradients, gradients of zeros, missing gradients. The first failure is the one reported.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from retrograd.autograd import gradcheck_parts as parts
from retrograd.autograd.backward import grad
from retrograd.autograd.jacobians import (
    Function,
    GradcheckError,
    Inputs,
    Outputs,
    as_tuple,
    backward_jacobians,
    backward_projections,
    checked_backward_jacobians,
    differentiable,
    filled,
    forward_jacobians,
    is_tensor,
    numerical_jacobian,
    numerical_jacobians,
    numerical_jvp,
    numerical_projections,
    positions,
    random_vectors,
)
from retrograd.ops import late

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian",
           "get_numerical_jacobian_wrt_specific_input", "gradcheck", "gradgradcheck"]

FAST_FAILED_SLOW_PASSED = """
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`
""".strip()


class Options(NamedTuple):
    """The tolerances and switches of a check."""

    eps: float
    rtol: float
    atol: float
    nondet_tol: float
    check_dtypes: bool
    fast: bool
    masked: bool | None


def gradcheck(func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Check the gradients of `func` at `inputs` against finite differences.

    >>> import retrograd as torch
    >>> gradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    options = Options(eps, rtol, atol, nondet_tol, check_grad_dtypes, fast_mode, masked)
    try:
        return run_checks(func, as_tuple(inputs), options, check_undefined_grad, check_batched_grad,
                          check_batched_forward_grad, check_forward_ad, check_backward_ad)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def run_checks(func: Function, inputs: Inputs, options: Options, undefined: bool, batched: bool, batched_forward: bool,
               forward: bool, backward: bool) -> bool:
    """All checks, in the order of NOTE [The order of checks]."""
    parts.check_inputs(inputs)
    returned = func(*inputs)
    outputs = differentiable(returned)
    parts.check_outputs(outputs)
    if backward:
        check_reverse(func, returned, inputs, outputs, options)
    if forward:
        check_forward(func, returned, inputs, outputs, options, undefined)
    if batched_forward:
        parts.check_batched_forward(func, inputs)
    if not backward:
        return True
    if batched:
        for i, output in enumerate(outputs):
            parts.check_batched_backward(inputs, output, i)
    parts.check_multiplied_by_grad_output(outputs, inputs, options.masked)
    if undefined:
        parts.check_undefined_gradients(func, outputs, inputs)
    return True


def check_reverse(func: Function, returned: Any, inputs: Inputs, outputs: Outputs, options: Options) -> None:
    places = [i for i, out in enumerate(outputs) if out.is_complex()]
    if not any([out.is_complex() for out in as_tuple(returned)]):
        compare(func, returned, inputs, outputs, options)
        return
    for name, take in (("imag", late.imag), ("real", late.real)):
        def part(*args: Any, take: Callable[..., Any] = take) -> tuple[Any, ...]:
            return tuple([take(out) if out.is_complex() else out for out in as_tuple(func(*args))])
        made = part(*inputs)
        compare(part, made, inputs, differentiable(made), options, places, name == "imag")


def check_forward(func: Function, returned: Any, inputs: Inputs, outputs: Outputs, options: Options, undefined: bool) -> None:
    places = [i for i, t in enumerate(inputs) if is_tensor(t) and t.is_complex()]
    if not places:
        compare(func, returned, inputs, outputs, options, forward=True)
        if undefined:
            parts.check_undefined_tangents(func, outputs, inputs)
        return
    halves = []
    for name in ("imag", "real"):
        def half(*args: Any, name: str = name) -> tuple[Any, ...]:
            whole = list(args)
            for i in places:
                whole[i] = (inputs[i].real + whole[i] * 1j) if name == "imag" else (whole[i] + inputs[i].imag * 1j)
            return as_tuple(func(*whole))
        given = [getattr(t, name) if i in places else t for i, t in enumerate(inputs)]
        made = half(*given)
        compare(half, made, given, differentiable(made), options, places, name == "imag", forward=True)
        halves.append((half, made, given))
    if undefined:
        for half, made, given in halves:
            parts.check_undefined_tangents(half, made, given)


# ---- comparing
def compare(func: Function, returned: Any, inputs: Inputs, outputs: Outputs, options: Options,
            complex_places: Sequence[Any] | None = None,
            imaginary: bool = False, forward: bool = False) -> None:
    """Compare the derivatives of `func`, whose differentiated side is real, with finite differences."""
    check = compare_fast if options.fast else compare_slow
    check(func, returned, inputs, outputs, options, complex_places, imaginary, forward)


def compare_slow(func: Function, returned: Any, inputs: Inputs, outputs: Outputs, options: Options,
                 complex_places: Sequence[Any] | None,
                 imaginary: bool, forward: bool) -> None:
    """Element by element."""
    returned = as_tuple(returned)
    stepped = inputs if options.masked else filled(inputs)
    if not outputs:
        for jacobians in numerical_jacobians(func, stepped, returned, None, options.eps, forward):
            for jacobian in jacobians:
                if bool(jacobian.ne(0).sum() > 0):
                    raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    by_output = list(zip(*numerical_jacobians(func, stepped, returned, None, options.eps, forward), strict=True))
    by_output = [jacobians for out, jacobians in zip(returned, by_output, strict=False) if out.requires_grad]
    by_forward = forward_jacobians(func, inputs, returned, options.check_dtypes) if forward else ()
    for i, output in enumerate(outputs):
        if forward:
            analytical = [jacobians[i] for jacobians in by_forward]
        else:
            analytical = list(checked_backward_jacobians(inputs, output, options.nondet_tol, options.check_dtypes))
        for j, (a, n) in enumerate(zip(analytical, by_output[i], strict=False)):
            if not close(a, n, options.rtol, options.atol):
                raise GradcheckError(describe(a, n, i, j, complex_places, imaginary, forward))


def compare_fast(func: Function, returned: Any, inputs: Inputs, outputs: Outputs, options: Options,
                 complex_places: Sequence[Any] | None,
                 imaginary: bool, forward: bool) -> None:
    """Between random vectors."""
    places = positions(inputs)
    all_v, all_u = random_vectors([inputs[i] for i in places], outputs, forward)
    stepped = inputs if options.masked else filled(inputs)
    numerical = numerical_projections(func, stepped, returned, all_u, all_v, options.eps, forward)
    if forward:
        analytical: Any = forward_jacobians(func, inputs, as_tuple(returned), options.check_dtypes, all_u)
    else:
        if not outputs:
            check_zero_fast(func, inputs, all_u, options)
        analytical = backward_projections(inputs, outputs, options.nondet_tol, options.check_dtypes, all_v, all_u)
    for i, of_input in enumerate(numerical):
        for j, n in enumerate(of_input):
            a = analytical[i][j] if forward else analytical[j][i]
            if not close(a, n, options.rtol, scaled(options.atol, all_u[i], all_v[j] if all_v else None)):
                more = describe_slow(func, inputs, outputs, i, j, options, forward)
                raise GradcheckError(describe(a, n, j, i, complex_places, imaginary, forward) + more)


def check_zero_fast(func: Function, inputs: Inputs, all_u: Sequence[Any], options: Options) -> None:
    for place, u in zip(positions(inputs), all_u, strict=True):
        for moved in numerical_jvp(func, inputs, place, u, options.eps, False):
            if moved.numel() and bool(moved.abs().max() > options.nondet_tol):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    common = late.promote_types(a.dtype, b.dtype)
    return bool(late.allclose(a.to(common), b.to(common), rtol, atol))


def scaled(atol: float, u: Any, v: Tensor | None) -> float:
    """The tolerance that `atol` for every element of a matrix allows between the vectors `u` and `v`."""
    of_u = float(u[0].sum()) + float(u[1].sum()) if isinstance(u, tuple) else float(u.sum())
    return atol * of_u * (1.0 if v is None else float(v.sum()))


def describe(analytical: Tensor, numerical: Tensor, output: int, given: int, complex_places: Sequence[Any] | None,
             imaginary: bool,
             forward: bool) -> str:
    part, side = "imaginary" if imaginary else "real", "inputs" if forward else "outputs"
    halved = complex_places and (given if forward else output) in complex_places
    prefix = f"While considering the {part} part of complex {side} only, " if halved else ""
    mode = "computed with forward mode " if forward else ""
    return (prefix + f"Jacobian {mode}mismatch for output {output:d} with respect to input {given:d},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n")


def describe_slow(func: Function, inputs: Inputs, outputs: Outputs, given: int, output: int, options: Options,
                  forward: bool) -> str:
    """The full Jacobians, for the error text of a failed fast check."""
    numerical = numerical_jacobians(func, inputs, outputs, None, options.eps, forward)[given][output]
    if forward:
        def of_one(t: Tensor) -> Tensor:
            return as_tuple(func(*[t if i == given else other for i, other in enumerate(inputs)]))[output]
        analytical = forward_jacobians(of_one, (inputs[given],), (outputs[output],))[0][0]
    else:
        analytical = checked_backward_jacobians(inputs, outputs[output], float("inf"), False)[given]
    text = ("\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
            "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
            f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
            f"The max per-element difference (slow mode) is: {(numerical - analytical).abs().max()}.\n")
    return text + (FAST_FAILED_SLOW_PASSED if late.allclose(analytical, numerical, options.rtol, options.atol) else "")


# ---- second derivatives
def gradgradcheck(func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Check the gradients of the gradients of `func`.

    >>> import retrograd as torch
    >>> gradgradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        given = tuple([random_gradient(out, gen_non_contig_grad_outputs) for out in differentiable(func(*inputs))])
    else:
        given = as_tuple(grad_outputs)
    count = len(given)
    wanted = set(positions(inputs))
    wanted_grads = {i for i, g in enumerate(given) if g.requires_grad}

    def gradients(*args: Any) -> tuple[Any, ...]:
        first = [t.requires_grad_() if i in wanted else t for i, t in enumerate(args[:-count])]
        outputs = differentiable(func(*first))
        grads = [g.requires_grad_() if i in wanted_grads else g for i, g in enumerate(args[-count:])]
        made = grad(outputs, [t for i, t in enumerate(first) if i in wanted], grads, create_graph=True, allow_unused=True)
        return tuple([g for g in made if g is not None])
    return gradcheck(gradients, inputs + given, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev, masked=masked)


def random_gradient(out: Any, noncontiguous: bool) -> Tensor:
    """A gradient for `out` with values between -1 and 1."""
    made = late.empty(tuple(out.shape), dtype=out.dtype)
    (late.view_as_real(made) if made.is_complex() else made).uniform_(-1, 1)
    if noncontiguous and made.numel() > 1:
        made = late.repeat_interleave(made, 2, dim=-1)[..., ::2]
    return made.requires_grad_()


# ---- deprecated public functions
def deprecated(name: str) -> None:
    warnings.warn(f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will "
                  "be "
                  "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to "
                  "be a "
                  "stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new", FutureWarning,
                  stacklevel=3)


def get_numerical_jacobian(fn: Function, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> Any:
    """The Jacobians of the first output of `fn`, which takes the inputs as one tuple.

    >>> import retrograd as torch, warnings
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     get_numerical_jacobian(lambda args: args[0] ** 2, (x,))[0].round(decimals=3)
    tensor([[2., 0.],
            [0., 4.]], dtype=torch.float64)
    """
    deprecated("get_numerical_jacobian")
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0.")
    jacobians = numerical_jacobians(lambda *args: fn(args), inputs, None, target, eps, False)
    return tuple([of_input[0] for of_input in jacobians])


def get_numerical_jacobian_wrt_specific_input(fn: Function, input_idx: int, inputs: Any, outputs: Any, eps: float,
                                              input: Any = None, is_forward_ad: bool = False) -> Any:
    """The Jacobians of all outputs with respect to one input.

    >>> import retrograd as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> jacobian, = get_numerical_jacobian_wrt_specific_input(lambda x: (x ** 2,), 0, (x,), (x ** 2,), 1e-6)
    >>> jacobian.round(decimals=3)
    tensor([[2., 0.],
            [0., 4.]], dtype=torch.float64)
    """
    t = inputs[input_idx] if input is None else input
    if not t.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    return numerical_jacobian(fn, inputs, outputs, eps, t, is_forward_ad)


def get_analytical_jacobian(inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0) -> Any:
    """(the Jacobians of `output`, whether a second run gave the same, whether dtypes were right, whether sizes were).

    >>> import retrograd as torch, warnings
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     jacobians, *fine = get_analytical_jacobian((x,), x ** 2)
    >>> jacobians[0], fine
    (tensor([[2., 0.],
            [0., 4.]], dtype=torch.float64), [True, True, True])
    """
    deprecated("get_analytical_jacobian")
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0.")
    if output.is_complex():
        raise ValueError("Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return "
                         "complex outputs.")
    jacobians, reentrant, sizes_ok, dtypes_ok = backward_jacobians(inputs, output, nondet_tol)
    return jacobians, reentrant, dtypes_ok, sizes_ok
