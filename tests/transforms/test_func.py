"""grad, vjp, jvp and what is made of them: identities between transforms, nesting, and PyTorch's error texts."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.func import (
    debug_unwrap,
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)
from retrograd.utils._python_dispatch import TorchDispatchMode

CAPTURED = "attempted to call in-place operation (aten::{}) that would mutate a captured Tensor"


def numbers(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy() if isinstance(b, torch.Tensor) else b, atol=1e-12)


def slope(f: Any) -> Any:
    """The derivative of a function of a number, by forward mode."""
    return lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]


# ---- nesting
@pytest.mark.parametrize("ways", [[a, b, c] for a in (grad, slope) for b in (grad, slope) for c in (grad, slope)])
def test_third_derivative_of_sin(ways: Any) -> None:
    x = torch.tensor(0.7, dtype=torch.float64)
    f = torch.sin
    for way in ways:
        f = way(f)
    close(f(x), -np.cos(0.7))


@pytest.mark.parametrize("outer", [grad, slope])
@pytest.mark.parametrize("inner", [grad, slope])
def test_perturbations_are_not_confused(outer: Any, inner: Any) -> None:
    x = torch.tensor(3.0)
    assert outer(lambda x: x * inner(lambda y: x + y)(torch.tensor(1.0)))(x).item() == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y)(x))(x).item() == 6.0


def test_vmap_of_grad_is_a_loop() -> None:
    rows = numbers(4, 3)
    f = lambda row: (row ** 3).sum() * row[0].exp()
    close(vmap(grad(f))(rows), torch.stack([grad(f)(row) for row in rows]))


def test_grad_of_vmap() -> None:
    rows = numbers(4, 3)
    close(grad(lambda rows: vmap(lambda row: row.sin().prod())(rows).sum())(rows), vmap(grad(lambda row: row.sin().prod()))(rows))  # noqa: E501


def test_vmap_of_second_derivatives_in_every_order() -> None:
    x = numbers(5)
    expected = -x.sin()
    for f in (grad(grad(torch.sin)), slope(slope(torch.sin)), grad(slope(torch.sin)), slope(grad(torch.sin))):
        close(vmap(f)(x), expected)
    close(grad(lambda x: vmap(grad(torch.sin))(x).sum())(x), expected)
    close(jvp(vmap(grad(torch.sin)), (x,), (torch.ones_like(x),))[1], expected)


def test_vjp_function_is_mapped_over_vectors() -> None:
    x = numbers(3)
    _, pull = vjp(torch.sin, x)
    close(vmap(pull)(torch.eye(3, dtype=torch.float64))[0], torch.diag(x.cos()))


def test_vjp_function_runs_again_and_is_differentiable() -> None:
    x = torch.tensor(0.5, requires_grad=True)
    _, pull = vjp(torch.sin, x)
    first, = pull(torch.tensor(1.0))
    second, = pull(torch.tensor(2.0))
    assert second.item() == 2 * first.item()
    torch.autograd.backward(first)
    assert x.grad.item() == pytest.approx(-np.sin(0.5))


def test_outer_autograd_sees_through_a_transform() -> None:
    x = torch.tensor(0.5, requires_grad=True)
    weight = torch.tensor(2.0, requires_grad=True)
    value = grad(lambda x: (weight * x).sin())(x)
    value.backward()
    assert weight.grad.item() == pytest.approx(np.cos(1.0) - np.sin(1.0))
    assert x.grad.item() == pytest.approx(-4 * np.sin(1.0))


def test_grad_mode_belongs_to_a_level() -> None:
    x = torch.tensor(2.0, requires_grad=True)

    def f(y: Any) -> Any:
        with torch.no_grad():
            square = y * y
        return square * y
    with torch.no_grad():
        assert grad(lambda y: y * y * y)(x).item() == 12.0          # that of outside does not count
    made = grad(f)(x)
    assert made.item() == 4.0                                       # that of inside does, at every level
    assert not made.requires_grad


# ---- writes
def filled(x: Any) -> Any:
    made = x.new_zeros(3)
    made[0] = x * x
    made[1:] = x
    made.mul_(x)
    return made.sum()


@pytest.mark.parametrize("way", [grad, slope])
def test_writes_through_views(way: Any) -> None:
    assert way(filled)(torch.tensor(2.0)).item() == 20.0
    assert way(way(filled))(torch.tensor(2.0)).item() == 16.0
    assert vmap(way(filled))(torch.tensor([1.0, 2.0])).tolist() == [7.0, 20.0]


def test_tangents_that_differ_while_the_written_value_does_not() -> None:
    assert vmap(lambda v: jvp(filled, (torch.tensor(2.0),), (v,))[1])(torch.tensor([1.0, 2.0])).tolist() == [20.0, 40.0]


def test_geometry_changes_in_place() -> None:
    f = lambda x: (x * 2).unsqueeze_(0).mul(x).sum()
    assert grad(f)(torch.tensor([1.0, 2.0])).tolist() == slope_of_sum(f, [1.0, 2.0]) == [4.0, 8.0]


def slope_of_sum(f: Any, x: list[float]) -> Any:
    return jacfwd(f)(torch.tensor(x)).tolist()


def test_a_captured_tensor_cannot_be_written() -> None:
    outside = torch.zeros(3)
    for name, write in (("copy_", lambda y: outside.copy_(y)), ("add_.Tensor", lambda y: outside.add_(1)),
                        ("unsqueeze_", lambda y: outside.unsqueeze_(0))):
        with pytest.raises(RuntimeError, match=re.escape(CAPTURED.format(name))):
            grad(lambda y, write=write: (write(y) * y).sum())(torch.ones(3))
        with pytest.raises(RuntimeError, match=re.escape(CAPTURED.format(name))):
            jvp(lambda y, write=write: write(y) * y, (torch.ones(3),), (torch.ones(3),))
    assert outside.tolist() == [0.0, 0.0, 0.0]


# ---- what else tensors of a level do
def test_how_lifted_tensors_look() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.extend([repr(x), x.item(), x.tolist(), bool(x > 0), x.requires_grad, x.data.requires_grad, type(x.sin().grad_fn).__name__])  # noqa: E501
        seen.append(x)
        return x * 1
    grad(f)(torch.tensor(2.0))
    assert seen[:-1] == ["GradTrackingTensor(lvl=1, value=\n    tensor(2.)\n)", 2.0, 2.0, True, True, False, "SinBackward0"]
    left = seen[-1]
    assert repr(left) == "GradTrackingTensor(lvl=-2, value=\n    tensor(2.)\n)"
    assert repr(left * 2) == "tensor(4.)"             # outside of its level it is what it stands for


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x ** 3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, = ctx.saved_tensors
        return g * 3 * x * x

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        x, = ctx.saved_tensors
        return t * 3 * x * x


@pytest.mark.parametrize("outer", [grad, slope])
@pytest.mark.parametrize("inner", [grad, slope])
def test_custom_functions(outer: Any, inner: Any) -> None:
    x = torch.tensor(2.0)
    assert inner(Cube.apply)(x).item() == 12.0
    assert outer(inner(Cube.apply))(x).item() == 12.0
    assert vmap(inner(Cube.apply))(torch.tensor([1.0, 2.0])).tolist() == [3.0, 12.0]
    x = torch.tensor(2.0, requires_grad=True)
    inner(Cube.apply)(x).backward()
    assert x.grad.item() == 12.0


# ---- structure
def test_argnums_aux_and_nested_arguments() -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    f = lambda x, y: ((x * y).sum(), {"x": x})
    assert [t.tolist() for t in grad(f, argnums=(0, 1), has_aux=True)(x, y)[0]] == [y.tolist(), x.tolist()]
    made, (value, aux) = grad_and_value(f, argnums=-1, has_aux=True)(x, y)
    assert (made.tolist(), value.item(), aux["x"].tolist()) == ([1.0, 2.0], 11.0, [1.0, 2.0])
    made = grad(lambda d, k=1: (d["a"] * d["b"][0]).sum() * k)({"a": x, "b": (y,)}, k=2)
    assert made["b"][0].tolist() == [2.0, 4.0]
    assert grad(lambda x, y: x.sum(), argnums=1)(x, y).tolist() == [0.0, 0.0]


def test_jacobians() -> None:
    x, y = numbers(2, 3), numbers(3, seed=1)
    f = lambda x, y: (x @ y, {"s": x.sin().sum(0)})
    for argnums in (0, 1, (0, 1)):
        reverse, forward = jacrev(f, argnums)(x, y), jacfwd(f, argnums)(x, y)
        for a, b in zip(leaves(reverse), leaves(forward), strict=True):
            assert a.shape == b.shape
            close(a, b)
    for size in (1, 2, 100):
        close(jacrev(lambda x: x @ y, chunk_size=size)(x), jacrev(lambda x: x @ y)(x))
    close(jacrev(lambda x: (x.sin(), x), has_aux=True)(y)[1], y)
    close(jacfwd(lambda x: (x.sin(), x), has_aux=True)(y)[1], y)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [leaf for item in (value.values() if isinstance(value, dict) else value) for leaf in leaves(item)]


def test_hessians_in_every_order() -> None:
    x = numbers(3)
    f = lambda x: (x.exp() * x.flip(0)).sum()
    for made in (jacfwd(jacrev(f))(x), jacrev(jacfwd(f))(x), jacrev(jacrev(f))(x), jacfwd(jacfwd(f))(x)):
        close(made, hessian(f)(x))
    close(hessian(f)(x), torch.autograd.functional.hessian(f, x))


def test_linearize() -> None:
    x, v = numbers(3), numbers(3, seed=1)
    value, derivative = linearize(torch.sin, x)
    close(value, x.sin())
    close(derivative(v), x.cos() * v)
    with pytest.raises(RuntimeError, match=r"tangent:0 with shape torch.Size\(\[2\]\) in flattened pytree doesn't match the shape"):  # noqa: E501
        derivative(numbers(2))


# ---- modules
def test_gradients_per_sample() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    inputs, targets = torch.randn(5, 3), torch.randn(5, 1)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return ((functional_call(model, parameters, (x,)) - y) ** 2).mean()
    made = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, inputs, targets)
    for i in range(5):
        model.zero_grad()
        ((model(inputs[i]) - targets[i]) ** 2).mean().backward()
        for name, p in model.named_parameters():
            np.testing.assert_allclose(made[name][i].numpy(), p.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_ensembles() -> None:
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    x = torch.randn(2)
    made = vmap(lambda p, b: functional_call(models[0], (p, b), x))(parameters, buffers)
    np.testing.assert_allclose(made.detach().numpy(), torch.stack([m(x) for m in models]).detach().numpy(), rtol=1e-5)
    assert parameters["weight"].is_leaf and parameters["weight"].requires_grad


def test_functional_call_errors() -> None:
    layer, x, weight = torch.nn.Linear(2, 3), torch.ones(2), torch.ones(3, 2)
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got"):
        functional_call(layer, 3, x)
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries; behavior of functional call is ambiguous"):  # noqa: E501
        functional_call(layer, [{"weight": weight}, {"weight": weight}], x)
    with pytest.raises(RuntimeError, match=r"Error\(s\) in reparametrizing for Linear:\n\tMissing key\(s\): 'bias'."):
        functional_call(layer, {"weight": weight}, x, strict=True)
    assert isinstance(layer.weight, torch.nn.Parameter)


# ---- error texts
X = torch.ones(3)
ERRORS = [
    (lambda: grad(lambda x: x)(X),
     "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 dims. "
     "Maybe you wanted to use the vjp or jacrev APIs instead?"),
    (lambda: grad(lambda x: 3.0)(X), "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got <class 'float'>"),
    (lambda: grad(lambda x: x.sum(), has_aux=True)(X),
     "grad_and_value(f)(*args): output of function f should be a tuple: (output, "
     "aux) if has_aux is True"),
    (lambda: grad(torch.sum)(torch.tensor([1])), "only Tensors of floating point dtype can require gradients"),
    (lambda: grad(torch.sum)(1.0), "Thing passed to transform API must be Tensor, got <class 'float'>"),
    (lambda: grad(torch.sum, argnums=1)(X), "Got argnum=1, but only 1 positional inputs"),
    (lambda: grad(torch.sum, argnums=(0, 0))(X), "argnums elements must be unique, got (0, 0)"),
    (lambda: grad(torch.sum, argnums=())(X), "argnums must be non-empty"),
    (lambda: vjp(lambda x: (x, x), X)[1](X),
     "Expected pytree structure of cotangents to be the same as pytree structure of outputs "
     "to the function. cotangents: *, primal output: (*, *)"),
    (lambda: vjp(lambda x: 1, X),
     "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type <class 'int'>"),
    (lambda: vjp(lambda x: x > 0, X),
     "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype torch.bool"),
    (lambda: jvp(torch.sin, X, X), "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call "
     "f(*primals)."),
    (lambda: jvp(torch.sin, (), ()), "jvp(f, primals, tangents): Expected primals to contain at least one Tensor."),
    (lambda: jvp(lambda x: torch.ones(2), (X,), (X,), strict=True),
     "jvp(f, primals, tangents, strict=True): The output of f is "
     "independent of the inputs. This is not allowed with strict=True."),
    (lambda: jacrev(torch.sin, chunk_size=0)(X), "jacrev: `chunk_size` should be greater than 0."),
    (lambda: jacfwd(lambda x: x * 1j)(X),
     "jacfwd: Expected all outputs to be real but received complex tensor at flattened input "
     "idx: 0"),
    (lambda: grad(lambda x: x.sum().backward())(X), "backward() called inside a functorch transform."),
    (lambda: stack_module_state([]), "stack_module_state: Expected at least one model, got 0."),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_error_texts(call: Any, text: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=re.escape(text)):
        call()


def test_hooks_on_saved_tensors_belong_to_their_level() -> None:
    seen: list[str] = []

    def hooks(name: str) -> Any:
        return torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(name) or t, lambda t: t)
    x = torch.tensor(1.0, requires_grad=True)

    def sine(x: Any) -> Any:
        with hooks("inner"):
            return x.sin()
    with hooks("outer"):
        made = grad(sine)(x)
    assert seen.count("inner") == 1 and "outer" in seen
    assert made.item() == pytest.approx(np.cos(1.0))
    made.backward()
    assert x.grad.item() == pytest.approx(-np.sin(1.0))
    seen.clear()
    vmap(sine)(torch.ones(2, requires_grad=True))
    assert not seen


def test_a_dispatch_mode_sees_what_is_below_all_transforms() -> None:
    class Seen(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))
    with Seen() as seen:
        made = vmap(grad(lambda x: x.relu().sum()))(torch.ones(2, 3))
    assert made.tolist() == [[1.0] * 3] * 2
    assert "aten.relu.default" in seen.names
    assert "aten.threshold_backward.default" in seen.names


def test_debug_unwrap_shows_what_a_tensor_stands_for() -> None:
    x = numbers(2, 3)
    seen = []

    def look(row: Any) -> Any:
        seen.extend([debug_unwrap(row), debug_unwrap(row, recurse=False)])
        return row.sum()
    vmap(grad(look))(x)
    assert seen[0] is x
    assert seen[1].shape == (3,)
    assert debug_unwrap(x) is x
    with pytest.raises(TypeError, match="Expected a Tensor"):
        debug_unwrap(3)


def test_batch_norms_can_forget_their_statistics() -> None:
    norms = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Sequential(torch.nn.BatchNorm2d(2)), torch.nn.Linear(2, 2))
    assert replace_all_batch_norm_modules_(norms) is norms
    assert list(norms.buffers()) == []
    assert norms[0].running_mean is None
    assert not norms[1][0].track_running_stats


def test_a_tensor_that_changes_its_shape_in_place_can_be_written() -> None:
    def written(x: Any) -> Any:
        y = x * x
        y.unsqueeze_(0)
        y.mul_(x)
        return y.sum()
    x = numbers(3)
    close(grad(written)(x), 3 * x ** 2)


def test_the_determinant_has_all_its_second_derivatives() -> None:
    x = numbers(3, 3) + 3 * torch.eye(3, dtype=torch.float64)
    want = jacrev(jacrev(torch.det))(x)
    for outer, inner in ((jacfwd, jacfwd), (jacrev, jacfwd), (jacfwd, jacrev)):
        np.testing.assert_allclose(outer(inner(torch.det))(x).numpy(), want.numpy(), rtol=1e-9, atol=1e-9)


def test_resizing_inside_of_transforms() -> None:
    x = numbers(2, 4)
    assert vmap(lambda row: row.clone().resize_(2, 3))(x).tolist() == [
        [row[:3], [row[3], 0.0, 0.0]] for row in x.tolist()]
    assert functionalize(lambda x: x.clone().resize_(3).mul_(2))(x).tolist() == (2 * x.view(-1)[:3]).tolist()
    close(grad(lambda x: (x * torch.ones(4).resize_(2)).sum())(x[0, :2]), torch.ones(2))
    with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
        jvp(lambda x: x.clone().resize_(2), (x,), (x,))
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        grad(lambda x: x.clone().resize_(2).sum())(x)
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        jvp(lambda x: x.clone().set_(x * 3), (x,), (x,))
