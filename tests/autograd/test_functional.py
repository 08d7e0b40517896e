"""Derivatives of whole functions: values against closed forms, result structures, graphs, and the texts of all errors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import functional as F

PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]
WHOLE = ["jacobian", "hessian"]
STRICT = "This is not allowed in strict mode"
NO_GRAD = ("Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
           "differentiable manner from the input when running in strict mode.")
NO_JACOBIAN = ("While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
               f"independent of the input. {STRICT}. You should ensure that your function is twice differentiable and that the "
               "jacobian depends on the inputs (this would be violated by a linear function for example).")
NONE_OUTPUT = "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
NONE_INPUT = ("The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
              "element.")
STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
FAST: list[dict[str, Any]] = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]
FAST_HESSIAN: list[dict[str, Any]] = [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]


def vector(*values: float, **options: Any) -> Any:
    return torch.tensor([float(value) for value in values], **options)


def cubes(x: Any) -> Any:
    return x.pow(3).sum()


def numbers(result: Any) -> Any:
    """The values of a nested result, with its lists and tuples as they are."""
    if isinstance(result, torch.Tensor):
        return result.detach().tolist()
    return type(result)([numbers(part) for part in result])


def error_of(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value).__name__, str(caught.value)


def vector_for(name: str, count: int = 1) -> tuple[Any, ...]:
    """The argument `v` that fits functions of `count` vectors of three elements with one number as output."""
    if name in WHOLE:
        return ()
    if name == "vjp":
        return (torch.ones(()),)
    return (torch.ones(3) if count == 1 else tuple(torch.ones(3) for _ in range(count)),)


# ---- values
def test_vjp_multiplies_from_the_left() -> None:
    matrix = vector(1, 2, 3, 4, 5, 6).view(2, 3)
    out, product = F.vjp(lambda x: matrix @ x, torch.ones(3), vector(1, 10))
    assert numbers(out) == [6, 15] and numbers(product) == [41, 52, 63]


def test_jvp_multiplies_from_the_right() -> None:
    matrix = vector(1, 2, 3, 4, 5, 6).view(2, 3)
    out, product = F.jvp(lambda x: matrix @ x, torch.ones(3), vector(1, 10, 100))
    assert numbers(out) == [6, 15] and numbers(product) == [321, 654]


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_products_with_hessian(name: str) -> None:
    x, y = vector(1, 2), vector(3, 4)
    out, product = getattr(F, name)(lambda x, y: (x * x * y).sum(), (x, y), (vector(1, 10), vector(100, 1000)))
    assert numbers(out) == 19                       # H = [[2 y, 2 x], [2 x, 0]], element by element
    assert numbers(product) == ([6 + 200, 80 + 4000], [2, 40])


@pytest.mark.parametrize("name", PRODUCTS)
def test_vector_may_be_left_out_for_one_number(name: str) -> None:
    wanted = {"vjp": 12, "jvp": 12, "vhp": 12, "hvp": 12}[name]         # f' = 3 x², f'' = 6 x
    assert numbers(getattr(F, name)(cubes, torch.tensor(2.0))) == (8, wanted)


@pytest.mark.parametrize("options", FAST)
def test_jacobian_of_each_shape(options: dict[str, Any]) -> None:
    assert numbers(F.jacobian(lambda x: x * x, vector(1, 2), **options)) == [[2, 0], [0, 4]]
    assert numbers(F.jacobian(lambda x: x * x, torch.tensor(3.0), **options)) == 6
    assert numbers(F.jacobian(lambda x: x.exp().sum(1), torch.zeros(2, 2), **options)) == [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]
    made = F.jacobian(lambda x: x.t() * 2, torch.zeros(2, 3), **options)
    assert made.shape == (3, 2, 2, 3) and numbers(made[2, 1]) == [[0, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize("options", FAST)
def test_jacobian_follows_tuples(options: dict[str, Any]) -> None:
    kind: Any = list if options.get("strategy") else tuple          # forward mode leaves lists, as in PyTorch
    x, y = vector(1, 2), vector(3)
    assert numbers(F.jacobian(lambda x, y: x * y, (x, y), **options)) == kind([[[3, 0], [0, 3]], [[1], [2]]])
    assert numbers(F.jacobian(lambda y: (y * y, 2 * y), y, **options)) == ([[6]], [[2]])
    assert numbers(F.jacobian(lambda y: (y * y,), (y,), **options)) == kind([kind([[[6]]])])
    made = F.jacobian(lambda x, y: (x.sum(), y * 2), (x, y), **options)
    assert numbers(made) == kind([kind([[1, 1], [0]]), kind([[[0, 0]], [[2]]])])


@pytest.mark.parametrize("options", FAST)
def test_jacobian_of_constants_is_zero(options: dict[str, Any]) -> None:
    assert numbers(F.jacobian(lambda x: torch.ones(2), vector(1, 2, 3), **options)) == [[0, 0, 0], [0, 0, 0]]
    assert numbers(F.jacobian(lambda x: (x, torch.ones(())), vector(1), **options)) == ([[1]], [0])


@pytest.mark.parametrize("options", FAST_HESSIAN)
def test_hessian(options: dict[str, Any]) -> None:
    kind: Any = list if options.get("outer_jacobian_strategy") else tuple
    assert numbers(F.hessian(cubes, vector(1, 2), **options)) == [[6, 0], [0, 12]]
    assert numbers(F.hessian(lambda x: cubes(x).reshape(1, 1), vector(1, 2), **options)) == [[6, 0], [0, 12]]
    made = F.hessian(lambda x, y: (x * y).sum() + y.pow(3), (vector(1, 2), torch.tensor(3.0)), **options)
    assert numbers(made) == kind([kind([[[0, 0], [0, 0]], [1, 1]]), kind([[1, 1], 18])])


@pytest.mark.parametrize("options", FAST_HESSIAN)
def test_hessian_of_linear_function_is_zero(options: dict[str, Any]) -> None:
    assert numbers(F.hessian(lambda x: x.sum(), vector(1, 2), **options)) == [[0, 0], [0, 0]]


def test_complex_numbers() -> None:
    z = torch.tensor([1 + 2j])
    assert numbers(F.vjp(lambda z: z * z, z, torch.tensor([1j]))[1]) == [4 + 2j]
    assert numbers(F.jvp(lambda z: z * z, z, torch.tensor([1j]))[1]) == [-4 + 2j]
    assert numbers(F.jacobian(lambda z: z * z, z, vectorize=True)) == [[2 - 4j]]
    assert numbers(F.jacobian(lambda z: z * z, z, vectorize=True, strategy="forward-mode")) == [[2 + 4j]]
    assert error_of(lambda: F.jacobian(lambda z: z * z, z)) == (
        "RuntimeError", "grad can be implicitly created only for real scalar outputs but got torch.complex64")


def test_dtype_of_jacobian_is_that_of_the_input_or_the_output() -> None:
    assert F.jacobian(lambda x: x.double(), vector(1)).dtype == torch.float32
    assert F.jacobian(lambda x: x.double(), vector(1), vectorize=True).dtype == torch.float32
    assert F.jacobian(lambda x: x.double(), vector(1), vectorize=True, strategy="forward-mode").dtype == torch.float64


# ---- graphs
@pytest.mark.parametrize("name", PRODUCTS + WHOLE)
@pytest.mark.parametrize("enabled", [True, False])
def test_function_gets_new_leaves_and_results_are_detached(name: str, enabled: bool) -> None:
    given, seen = vector(1, 2, 3, requires_grad=True), []

    def func(x: Any) -> Any:
        seen.append(x)
        return cubes(x)
    with torch.set_grad_enabled(enabled):
        made = getattr(F, name)(func, given, *vector_for(name))
    assert seen[0] is not given and seen[0].data_ptr() == given.data_ptr() and seen[0].requires_grad
    assert seen[0].is_leaf == (name != "hessian")
    assert given.grad is None
    for t in made if isinstance(made, tuple) else (made,):
        assert not t.requires_grad and t.grad_fn is None


@pytest.mark.parametrize("name", PRODUCTS + WHOLE)
@pytest.mark.parametrize("needs", [True, False])
def test_create_graph_goes_through_to_inputs_that_require_grad(name: str, needs: bool) -> None:
    given, seen = vector(1, 2, 3, requires_grad=needs), []

    def func(x: Any) -> Any:
        seen.append(x)
        return cubes(x)
    made = getattr(F, name)(func, given, *vector_for(name), create_graph=True)
    result = made[1] if isinstance(made, tuple) else made
    assert result.requires_grad and not given.grad
    if name != "hessian":
        assert seen[0].is_leaf is not needs and seen[0]._is_view() is needs
    if needs:
        (again,) = torch.autograd.grad(result.sum(), given)
        second = name in ("vjp", "jvp", "jacobian")
        assert numbers(again) == ([6, 12, 18] if second else [6, 6, 6])


def test_vector_can_be_differentiated() -> None:
    v = vector(1, 1, requires_grad=True)
    _, product = F.vjp(lambda x: x * x, vector(1, 2), v, create_graph=True)
    assert numbers(torch.autograd.grad(product.sum(), v)[0]) == [2, 4]


def test_jacobian_of_jacobian() -> None:
    x = vector(1, 2, requires_grad=True)
    for vectorize in (False, True):
        made = F.jacobian(lambda x: F.jacobian(cubes, x, create_graph=True), x, vectorize=vectorize)
        assert numbers(made) == [[6, 0], [0, 12]]


def test_input_cannot_be_changed_in_place() -> None:
    for create_graph in (False, True):
        assert error_of(lambda c=create_graph: F.vjp(lambda x: x.mul_(2).sum(), vector(1), create_graph=c)) == (
            "RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation.")


# ---- arguments that are not tensors
@pytest.mark.parametrize("name", PRODUCTS + WHOLE)
@pytest.mark.parametrize(("inputs", "where"), [
    (1, "given inputs has type <class 'int'>"), ([torch.ones(1)], "given inputs has type <class 'list'>"),
    ((torch.ones(1), 1), "value at index 1 has type <class 'int'>"),
    (((torch.ones(1),),), "value at index 0 has type <class 'tuple'>"),
])
def test_inputs_must_be_tensors(name: str, inputs: Any, where: str) -> None:
    assert error_of(lambda: getattr(F, name)(cubes, inputs)) == (
        "TypeError", f"The inputs given to {name} must be either a Tensor or a tuple of Tensors but the {where}.")


@pytest.mark.parametrize("name", PRODUCTS + WHOLE)
@pytest.mark.parametrize(("output", "where"), [
    (1, "given outputs of the user-provided function has type <class 'int'>"),
    (None, "given outputs of the user-provided function has type <class 'NoneType'>"),
    ([torch.ones(1)], "given outputs of the user-provided function has type <class 'list'>"),
    ((torch.ones(1), 3), "value at index 1 has type <class 'int'>"),
])
def test_outputs_must_be_tensors(name: str, output: Any, where: str) -> None:
    assert error_of(lambda: getattr(F, name)(lambda x: output, torch.ones(3), *vector_for(name))) == (
        "TypeError", f"The outputs of the user-provided function given to {name} must be either a Tensor or a tuple of Tensors "
                     f"but the {where}.")


def test_outputs_in_forward_mode_must_be_tensors() -> None:
    assert error_of(lambda: F.jacobian(lambda x: 1, torch.ones(3), vectorize=True, strategy="forward-mode")) == (
        "TypeError", "The outputs given to None must be either a Tensor or a tuple of Tensors but the given outputs has type "
                     "<class 'int'>.")


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize(("v", "where"), [(1, "given v has type <class 'int'>"), ([1], "given v has type <class 'list'>"),
                                          ((torch.ones(1), 1), "value at index 1 has type <class 'int'>")])
def test_vector_must_be_tensors(name: str, v: Any, where: str) -> None:
    assert error_of(lambda: getattr(F, name)(cubes, torch.ones(3), v)) == (
        "TypeError", f"The v given to {name} must be either a Tensor or a tuple of Tensors but the {where}.")


@pytest.mark.parametrize("name", PRODUCTS + WHOLE)
def test_whole_numbers_have_no_derivative(name: str) -> None:
    assert error_of(lambda: getattr(F, name)(cubes, torch.tensor([1, 2]))) == (
        "RuntimeError", "only Tensors of floating point dtype can require gradients")


# ---- vectors that do not fit
@pytest.mark.parametrize(("name", "func", "inputs", "v", "message"), [
    ("vjp", lambda x: x, torch.ones(3), None, NONE_OUTPUT),
    ("vjp", lambda x: (x.sum(), x.sum()), torch.ones(3), None, NONE_OUTPUT),
    ("vjp", lambda x: (), torch.ones(3), None, NONE_OUTPUT),
    ("jvp", cubes, torch.ones(3), None, NONE_INPUT),
    ("vhp", cubes, torch.ones(3), None, NONE_INPUT),
    ("hvp", cubes, (torch.ones(1), torch.ones(1)), None, NONE_INPUT),
    ("vjp", cubes, torch.ones(3), torch.ones(1), "v has invalid size: should be torch.Size([]) but got torch.Size([1])."),
    ("jvp", cubes, torch.ones(3), torch.ones(2), "v has invalid size: should be torch.Size([3]) but got torch.Size([2])."),
    ("vhp", cubes, torch.ones(3), (torch.ones(3),) * 2, "The given v should contain a single Tensor."),
    ("hvp", cubes, torch.ones(3), (), "The given v should contain a single Tensor."),
    ("vjp", lambda x: (x, x), torch.ones(3), torch.ones(3), "v is a tuple of invalid length: should be 2 but got 1."),
    ("jvp", torch.dot, (torch.ones(3),) * 2, (torch.ones(3), torch.ones(2)),
     "Entry 1 in v has invalid size: should be torch.Size([3]) but got torch.Size([2])."),
])
def test_vector_must_fit(name: str, func: Any, inputs: Any, v: Any, message: str) -> None:
    assert error_of(lambda: getattr(F, name)(func, inputs, v)) == ("RuntimeError", message)


def test_vector_in_a_tuple_of_one_and_of_another_dtype() -> None:
    assert numbers(F.vjp(lambda x: x * x, vector(1, 2), (torch.ones(2),))) == ([1, 4], [2, 4])
    made = F.jvp(lambda x: x * x, vector(1, 2), torch.ones(2, dtype=torch.float64))[1]
    assert numbers(made) == [2, 4] and made.dtype == torch.float32


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_hessian_is_of_one_number(name: str) -> None:
    def run(func: Any) -> Any:
        return error_of(lambda: getattr(F, name)(func, torch.ones(3), *vector_for(name)))
    several = ("RuntimeError", f"The function given to {name} should return a single Tensor")
    assert run(lambda x: (cubes(x),)) == several and run(lambda x: ()) == several
    assert run(lambda x: x) == (
        "RuntimeError", f"The Tensor returned by the function given to {name} should contain a single element")


def test_nothing_to_differentiate() -> None:
    x = torch.ones(3)
    assert error_of(lambda: F.jacobian(lambda x: (), x))[0] == "IndexError"
    assert error_of(lambda: F.jacobian(lambda: x, ()))[0] == "IndexError"
    assert error_of(lambda: F.jacobian(lambda x: (), x, vectorize=True)) == ("AssertionError", "Expected at least one tensor")
    assert error_of(lambda: F.jacobian(lambda x: x[:0], x)) == ("RuntimeError", "stack expects a non-empty TensorList")
    assert error_of(lambda: F.jacobian(lambda x: x[:0], x, vectorize=True)) == (
        "IndexError", "index 0 is out of bounds for dimension 0 with size 0")
    assert F.jacobian(lambda x: x[:0], x, vectorize=True, strategy="forward-mode").shape == (0, 3)
    assert F.jacobian(lambda x: x.sum(), torch.ones(0)).shape == (0,)


# ---- strict mode
def one_of_two(x: Any, y: Any) -> Any:
    return cubes(x)


@pytest.mark.parametrize("name", PRODUCTS + WHOLE)
def test_strict_refuses_constants(name: str) -> None:
    assert error_of(lambda: getattr(F, name)(lambda x: torch.ones(()), torch.ones(3), *vector_for(name), strict=True)) == (
        "RuntimeError", NO_GRAD.format(0))


@pytest.mark.parametrize(("name", "message"), [
    *[(name, f"The output of the user-provided function is independent of input 1. {STRICT}.") for name in PRODUCTS],
    ("jacobian", f"Output 0 of the user-provided function is independent of input 1. {STRICT}."),
    ("hessian", NO_JACOBIAN.format(1)),
])
def test_strict_refuses_unused_inputs(name: str, message: str) -> None:
    inputs = (torch.ones(3), torch.ones(3))
    call = getattr(F, name)
    assert error_of(lambda: call(one_of_two, inputs, *vector_for(name, 2), strict=True)) == ("RuntimeError", message)
    call(one_of_two, inputs, *vector_for(name, 2))


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_strict_refuses_linear_functions(name: str) -> None:
    assert error_of(lambda: getattr(F, name)(torch.sum, torch.ones(3), *vector_for(name), strict=True)) == (
        "RuntimeError", NO_JACOBIAN.format(0))


@pytest.mark.parametrize(("name", "func", "what"), [
    ("vjp", torch.sum, "jacobian"), ("jvp", torch.sum, "jacobian"), ("jacobian", torch.sum, "jacobian"),
    ("vhp", lambda x: (x * x).sum(), "hessian"), ("hvp", lambda x: (x * x).sum(), "hessian"),
    ("hessian", lambda x: (x * x).sum(), "jacobian"),
])
def test_strict_with_graph_refuses_constant_results(name: str, func: Any, what: str) -> None:
    call = getattr(F, name)
    assert error_of(lambda: call(func, torch.ones(3), *vector_for(name), strict=True, create_graph=True)) == (
        "RuntimeError", f"The {what} of the user-provided function is independent of input 0. {STRICT} when create_graph=True.")
    call(func, torch.ones(3), *vector_for(name), strict=True)


@pytest.mark.parametrize(("name", "message"), [
    ("vhp", "The jacobian of the user-provided function is independent of input 1. This is not allowed in strict mode."),
    ("hvp", "The hessian of the user-provided function is independent of entry 1 in the grad_jacobian. This is not allowed in "
            "strict mode as it prevents from using the double backward trick to replace forward mode AD."),
])
def test_strict_refuses_gradients_that_depend_on_something_else(name: str, message: str) -> None:
    weight = torch.tensor(3.0, requires_grad=True)
    inputs = (torch.ones(3), torch.ones(3))
    assert error_of(lambda: getattr(F, name)(lambda x, y: cubes(x) + (y * weight).sum(), inputs, inputs, strict=True)) == (
        "RuntimeError", message)


def test_strict_jvp_needs_gradients_that_depend_on_every_output() -> None:
    x, weight = torch.ones(3), torch.ones((), requires_grad=True)
    assert error_of(lambda: F.jvp(lambda x: (cubes(x), weight * 2), x, x, strict=True)) == (
        "RuntimeError", "The gradient with respect to the input is independent of entry 1 in the grad_outputs when using the "
                        f"double backward trick to compute forward mode gradients. {STRICT}.")


def test_strict_jvp_needs_gradients_that_can_be_differentiated() -> None:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return torch.ones(3)
    x = torch.ones(3)
    assert error_of(lambda: F.jvp(Once.apply, x, x, strict=True)) == (
        "RuntimeError", f"The gradient with respect to input 0 is independent of the inputs of the user-provided function. "
                        f"{STRICT}.")


# ---- strategies
def test_strategy_has_two_names() -> None:
    x = torch.ones(3)
    assert error_of(lambda: F.jacobian(cubes, x, strategy="sideways")) == (
        "AssertionError", f'{STRATEGY} Hint: If your function has more outputs than inputs, "forward-mode" tends to be more '
                          'performant. Otherwise, prefer to use "reverse-mode".')
    assert error_of(lambda: F.hessian(cubes, x, outer_jacobian_strategy="sideways")) == ("AssertionError", STRATEGY)


@pytest.mark.parametrize(("options", "kind", "message"), [
    ({}, "NotImplementedError", "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                "`vectorize=True`."),
    ({"create_graph": True, "strict": True}, "NotImplementedError",
     'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
     'Please either set `create_graph=False` or `strategy="reverse-mode"`.'),
    ({"strict": True}, "RuntimeError",
     'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please '
     'either set `strict=False` or `strategy="reverse-mode"`.'),
])
def test_what_forward_mode_does_not_do(options: dict[str, Any], kind: str, message: str) -> None:
    x = torch.ones(3)
    assert error_of(lambda: F.jacobian(cubes, x, strategy="forward-mode", **options)) == (kind, message)
    assert error_of(lambda: F.hessian(cubes, x, outer_jacobian_strategy="forward-mode", **options)) == (kind, message)


@pytest.mark.parametrize("name", WHOLE)
def test_strict_and_vectorize_exclude_each_other(name: str) -> None:
    assert error_of(lambda: getattr(F, name)(cubes, torch.ones(3), strict=True, vectorize=True)) == (
        "RuntimeError", "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                        "Please either set `strict=False` or `vectorize=False`.")


def test_forward_mode_calls_the_function_once() -> None:
    calls = []

    def func(x: Any) -> Any:
        calls.append(x)
        return x * x
    F.jacobian(func, torch.ones(5), vectorize=True, strategy="forward-mode")
    assert len(calls) == 1


def test_gradients_in_a_batch_need_an_example() -> None:
    x = torch.ones(2, requires_grad=True)
    assert error_of(lambda: torch.autograd.grad(x * 2, x, torch.ones(0, 2), is_grads_batched=True)) == (
        "IndexError", "index 0 is out of bounds for dimension 0 with size 0")
    assert error_of(lambda: torch.autograd.grad(x.sum(), x, torch.ones(()), is_grads_batched=True)) == (
        "IndexError", "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
                      "a 0-dim tensor to a number")
