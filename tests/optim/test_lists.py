"""The optimizers as functions of lists do what their classes do."""
from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

import pytest

import retrograd as torch

# the optimizer, its settings, how the function calls them, and where the function's lists come from
FORMS: dict[str, Any] = {
    "adadelta": ("Adadelta", dict(lr=0.1, rho=0.9, eps=1e-6, weight_decay=0.1, maximize=False), {},
                 ["square_avg", "acc_delta"]),
    "adagrad": ("Adagrad", dict(lr=0.1, weight_decay=0.1, lr_decay=0.01, eps=1e-10, maximize=True), {}, ["sum"]),
    "adam": ("Adam", dict(lr=0.1, weight_decay=0.1, eps=1e-8, amsgrad=True, maximize=False), dict(betas=(0.9, 0.99)),
             ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
    "adamw": ("AdamW", dict(lr=0.1, weight_decay=0.1, eps=1e-8, amsgrad=True, maximize=True), dict(betas=(0.9, 0.99)),
              ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
    "adamax": ("Adamax", dict(lr=0.1, weight_decay=0.1, eps=1e-8), dict(betas=(0.9, 0.99)), ["exp_avg", "exp_inf"]),
    "asgd": ("ASGD", dict(lr=0.1, weight_decay=0.1, lambd=1e-4, t0=2.0, alpha=0.75), {}, ["ax", "mu", "eta"]),
    "nadam": ("NAdam", dict(lr=0.1, weight_decay=0.1, eps=1e-8, momentum_decay=0.004), dict(betas=(0.9, 0.99)),
              ["exp_avg", "exp_avg_sq", "mu_product"]),
    "radam": ("RAdam", dict(lr=0.1, weight_decay=0.1, eps=1e-8), dict(betas=(0.9, 0.9)), ["exp_avg", "exp_avg_sq"]),
    "rmsprop": ("RMSprop", dict(lr=0.1, weight_decay=0.1, eps=1e-8, alpha=0.9, momentum=0.9, centered=True), {},
                ["square_avg", "grad_avg", "momentum_buffer"]),
    "rprop": ("Rprop", {}, dict(lr=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0)), ["prev", "step_size"]),
}


def function_named(name: str) -> Any:
    return getattr(import_module(f"retrograd.optim.{name}"), name)


def spread(paired: dict[str, Any]) -> dict[str, Any]:
    """The settings that are pairs in the class, as the function has them."""
    names = dict(betas=("beta1", "beta2"), etas=("etaminus", "etaplus"), step_sizes=("step_size_min", "step_size_max"))
    return {single: value for name, values in paired.items() if name != "lr" for single, value in zip(
        names[name], values, strict=True)}


@pytest.mark.parametrize("options", [{}, dict(foreach=True), dict(foreach=False), dict(differentiable=True)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_function_and_class_agree(name: str, dtype: Any, options: dict[str, Any]) -> None:
    cls, settings, paired, parts = FORMS[name]
    generator = torch.Generator().manual_seed(0)

    def draw() -> list[Any]:
        return [torch.randn(shape, generator=generator, dtype=dtype) for shape in ((3,), (2, 2))]
    start = draw()
    params = [torch.nn.Parameter(p.clone()) for p in start]
    optimizer = getattr(torch.optim, cls)(params, **settings, **paired)
    mine: list[Any] = [p.clone() for p in start]
    scalars = dict(eta=settings.get("lr"), mu=1.0, mu_product=1.0)
    states = [[torch.tensor(scalars[part]) if part in scalars else torch.full_like(p, 0.1 + 0.1j if dtype.is_complex else 0.1)
               if part == "step_size" else torch.zeros_like(p) for p in mine] for part in parts]
    steps = [torch.tensor(0.0) for _ in mine]
    for _ in range(3):
        grads = draw()
        for p, g in zip(params, grads, strict=True):
            p.grad = g.clone()
        optimizer.step()
        function_named(name)(mine, grads, *states, steps, has_complex=dtype.is_complex, **options, **settings, **spread(paired))
    for i, p in enumerate(params):
        assert torch.allclose(mine[i], p.detach(), rtol=1e-6, atol=1e-8)
        for part, values in zip(parts, states, strict=True):
            assert torch.allclose(values[i], optimizer.state[p][part], rtol=1e-6, atol=1e-8)
        assert steps[i] == 3


def test_sgd_puts_new_buffers_into_the_list() -> None:
    params, buffers = [torch.ones(2), torch.ones(1)], [None, None]
    grads = [torch.full((2,), 0.5), torch.ones(1)]
    for _ in range(2):
        torch.optim.sgd.sgd(params, grads, buffers, weight_decay=0.0, momentum=0.5, lr=0.1, dampening=0.0, nesterov=False,
                            maximize=False)
    assert torch.allclose(params[0], torch.full((2,), 1 - 0.05 - 0.075)) and torch.allclose(buffers[1], torch.tensor([1.5]))
    torch.optim.sgd.sgd(params, grads, [], weight_decay=0.0, momentum=0, lr=0.1, dampening=0.0, nesterov=False, maximize=True)
    assert torch.allclose(params[1], torch.tensor([1 - 0.1 - 0.15 + 0.1]))


def test_a_differentiable_step_has_gradients_of_state_and_parameter() -> None:
    start = torch.ones(2, dtype=torch.float64, requires_grad=True)
    param, average = start.clone(), torch.zeros(2, dtype=torch.float64, requires_grad=True)
    averages = [average.clone()]
    torch.optim.adam.adam([param], [torch.ones(2, dtype=torch.float64)], averages, [torch.ones(2, dtype=torch.float64)], [],
                          [torch.tensor(0.0)], differentiable=True, amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1,
                          weight_decay=0.0, eps=1e-8, maximize=False)
    through_param, through_state = torch.autograd.grad(param.sum(), (start, average))
    assert torch.equal(through_param, torch.ones(2, dtype=torch.float64)) and bool((through_state < 0).all())
    assert averages[0].requires_grad


def test_steps_must_be_tensors_and_overflow_skips() -> None:
    lists = [torch.ones(1)], [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], []
    settings = dict(amsgrad=False, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.0, eps=1e-8, maximize=False)
    with pytest.raises(RuntimeError, match="`state_steps` argument must contain a list of singleton tensors"):
        torch.optim.adam.adam(*lists, [1], **settings)
    step = torch.tensor(0.0)
    torch.optim.adam.adam(*lists, [step], found_inf=torch.tensor(1.0), **settings)
    assert step == 0 and lists[0][0] == 1


def test_sparse_adam_changes_rows_with_gradients() -> None:
    from retrograd.optim._functional import sparse_adam
    param = torch.ones(3, 1)
    grad = torch.sparse_coo_tensor([[1]], torch.ones(1, 1), (3, 1), check_invariants=True)
    sparse_adam([param], [grad], [torch.zeros(3, 1)], [torch.zeros(3, 1)], [1], eps=1e-8, beta1=0.9, beta2=0.99, lr=0.5,
                maximize=False)
    assert torch.allclose(param, torch.tensor([[1.0], [0.5], [1.0]]))


def test_functions_have_the_parameters_of_pytorch() -> None:
    names = list(signature(torch.optim.adam.adam).parameters)
    assert names == ["params", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps", "foreach", "capturable",
                     "differentiable", "fused", "grad_scale", "found_inf", "has_complex", "decoupled_weight_decay", "amsgrad",
                     "beta1", "beta2", "lr", "weight_decay", "eps", "maximize"]
