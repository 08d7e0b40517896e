"""What optimizers share: complex parameters, tensors as settings, differentiable steps, sparse gradients, flags.

Golden values are recorded from PyTorch."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn, optim

COMPLEX: list[Any] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, [0.41253, 0.41253, -0.048374, -0.46979]),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}, [0.995, 0.995, -1.995, 0.495]),
    ("AdamW", {}, [0.99495, 0.99495, -1.9949, 0.49498]),
    ("NAdam", {"weight_decay": 0.1}, [0.99192, 0.99192, -1.9919, 0.49191]),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.7)}, [0.47052, 0.47052, 0.14687, -0.57343]),
    ("Adamax", {}, [0.99002, 0.99002, -1.99, 0.49]),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2}, [0.9724, 0.9724, -1.9718, 0.47189]),
    ("Adadelta", {}, [0.9837, 0.9837, -1.9836, 0.48363]),
    ("RMSprop", {"momentum": 0.9, "centered": True}, [0.26601, 0.26601, -1.0819, -0.3653]),
    ("Rprop", {}, [0.92558, 0.92558, -1.9256, 0.42558]),
    ("ASGD", {"t0": 2}, [0.90768, 0.90768, -1.3182, 0.15908]),
]


@pytest.mark.parametrize(("name", "settings", "expected"), COMPLEX)
def test_complex_parameters_are_pairs_of_reals(name: str, settings: dict[str, Any], expected: list[float]) -> None:
    p = torch.tensor([1 + 1j, -2 + 0.5j], requires_grad=True)
    optimizer = getattr(optim, name)([p], **settings)
    for _ in range(5):
        optimizer.zero_grad()
        ((p * torch.tensor([1 - 1j, 2j]) - 1).abs() ** 2).sum().backward()
        optimizer.step()
    assert torch.view_as_real(p.detach()).flatten().tolist() == pytest.approx(expected, rel=2e-4)
    assert all([v.dtype is p.dtype for k, v in optimizer.state[p].items() if k not in ("step", "mu_product", "eta", "mu")])


@pytest.mark.parametrize(("name", "settings", "expected"), COMPLEX)
def test_gradient_flows_through_differentiable_steps(name: str, settings: dict[str, Any], expected: list[float]) -> None:
    def after(start: Any, lr: Any) -> Any:
        p = start.clone().requires_grad_()
        optimizer = getattr(optim, name)([p], differentiable=True, **{**settings, "lr": lr})
        for _ in range(3):
            [p.grad] = torch.autograd.grad((p.clone() ** 2).sum(), p, create_graph=True)
            optimizer.step()
        return (p ** 2).sum()

    start = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    lr = torch.tensor(0.05, dtype=torch.float64, requires_grad=True)
    after(start, lr).backward()
    if name in ("ASGD", "Rprop"):           # the rate only sets the state they begin with
        assert lr.grad is None
    else:
        high, low = (after(start.clone(), lr.detach() + step).item() for step in (1e-5, -1e-5))
        assert lr.grad.item() == pytest.approx((high - low) / 2e-5, rel=2e-2)
    assert start.grad.abs().sum() > 0


@pytest.mark.parametrize(("name", "settings", "expected"), [
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}, {"lr": -43.318, "weight_decay": -0.358}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "beta1": 0.5, "beta2": 0.7},
     {"lr": -11.2, "weight_decay": 0.0, "beta1": 0.0, "beta2": 0.0}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1}, {"lr": -11.718, "weight_decay": -0.558}),
])
def test_settings_that_are_tensors_get_gradients(name: str, settings: dict[str, float], expected: dict[str, float]) -> None:
    given: dict[str, Any] = {key: torch.tensor(v, dtype=torch.float64, requires_grad=True) for key, v in settings.items()}
    kwargs = dict(given)
    if "beta1" in kwargs:
        kwargs["betas"] = (kwargs.pop("beta1"), kwargs.pop("beta2"))
    p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True).clone()
    optimizer = getattr(optim, name)([p], differentiable=True, **kwargs)
    for _ in range(2):
        loss = (torch.sum(p) - 2) ** 2
        [p.grad] = torch.autograd.grad(loss, p, create_graph=True)
        optimizer.step()
    loss.backward(inputs=tuple(given.values()))
    assert {key: value.grad.item() for key, value in given.items()} == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("name", "settings", "expected"), [
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1}, [-2.4036, -1.4313, -0.1433, 0.97027, 1.6939, 1.9012]),
    ("Adafactor", {"lr": 0.1, "eps": (1e-3, 1e-2), "d": 2.0, "maximize": True},
     [-1.3783, -0.43045, 0.116, 1.0, 2.3732, 4.2605]),
    ("Muon", {"lr": 0.1}, [-2.1444, -1.055, -0.0019002, 1.0213, 1.8802, 2.5983]),
    ("Muon", {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "nesterov": False},
     [-2.0104, -0.99937, -0.00059407, 0.98691, 1.9214, 2.8069]),
])
def test_matrices_take_the_recorded_steps(name: str, settings: dict[str, Any], expected: list[float]) -> None:
    p = torch.arange(6.0).reshape(2, 3).sub(2).requires_grad_()
    optimizer = getattr(optim, name)([p], **settings)
    for _ in range(3):
        optimizer.zero_grad()
        ((p - 1) ** 3).sum().backward()
        optimizer.step()
    assert p.flatten().tolist() == pytest.approx(expected, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize(("name", "settings", "expected"), [
    ("SparseAdam", {"lr": 0.1}, [0.7, 0.69951, 1.0, 1.0, 0.7, 0.7]),
    ("SparseAdam", {"lr": 0.1, "maximize": True}, [1.3, 1.3005, 1.0, 1.0, 1.3, 1.3]),
    ("Adagrad", {"lr": 0.1}, [0.77155, 0.76137, 1.0, 1.0, 0.77155, 0.77155]),
    ("SGD", {"lr": 0.1, "momentum": 0.5}, [-1.55, -2.75, 1.0, 1.0, -0.275, -0.7]),
])
def test_sparse_gradients_move_their_rows_only(name: str, settings: dict[str, Any], expected: list[float]) -> None:
    p = torch.ones(3, 2, requires_grad=True)
    optimizer = getattr(optim, name)([p], **settings)
    for i in range(3):
        p.grad = torch.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2], [3, 4], [5, 6.0 + i]], (3, 2))
        optimizer.step()
    assert p.flatten().tolist() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("name", "settings", "text"), [
    ("Adam", {"fused": True, "foreach": True}, "`fused` and `foreach` cannot be `True` together."),
    ("SGD", {"fused": True, "differentiable": True}, "`fused` does not support `differentiable`"),
    ("Adam", {"lr": torch.tensor(0.1), "foreach": True}, "lr as a Tensor is not supported for capturable=False"),
    ("Adam", {"betas": (0.1, torch.tensor(0.2))}, "betas must be either both floats or both Tensors"),
    ("Adam", {"betas": (torch.tensor([0.1, 0.1]), torch.tensor(0.2))}, r"Tensor betas\[0\] must be 1-element"),
    ("RMSprop", {"lr": torch.ones(2)}, "Tensor lr must be 1-element"),
    ("Muon", {"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported"),
    ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
    ("SparseAdam", {"lr": 0.0}, "Invalid learning rate: 0.0"),
])
def test_settings_that_do_not_go_together_are_refused(name: str, settings: dict[str, Any], text: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match=text):
        getattr(optim, name)([torch.ones(2, 2, requires_grad=True)], **settings)


def test_tensor_rate_takes_the_steps_of_a_number() -> None:
    results = []
    for lr in (0.1, torch.tensor(0.1)):
        p = torch.tensor([1.0, -1.0], requires_grad=True)
        optimizer = optim.Adam([p], lr=lr)
        p.grad = torch.tensor([1.0, 2.0])
        optimizer.step()
        results.append(p.detach())
    assert torch.allclose(*results) and isinstance(optimizer.param_groups[0]["lr"], torch.Tensor)


def test_capturable_needs_a_device_that_captures() -> None:
    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        optim.Adam([p], capturable=True).step()


def test_fused_step_unscales_and_skips_infinite_gradients() -> None:
    p = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([p], lr=1.0, fused=True)
    assert optimizer._step_supports_amp_scaling
    p.grad = torch.tensor([4.0, 8.0])
    optimizer.grad_scale, optimizer.found_inf = torch.tensor(4.0), torch.tensor(1.0)
    optimizer.step()
    assert p.tolist() == [1.0, 1.0]
    optimizer.found_inf = torch.tensor(0.0)
    optimizer.step()
    assert p.tolist() == [0.0, -1.0]


def test_class_that_never_calls_init_keeps_its_own_step() -> None:
    class Wrapped(optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    w = nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    Wrapped(optim.SGD([w], lr=0.5)).step()
    assert w.item() == 0.5


def test_names_of_parameters_are_kept_and_must_be_complete() -> None:
    layer = nn.Linear(1, 1)
    optimizer = optim.SGD(layer.named_parameters(), lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("a", layer.weight), layer.bias], lr=0.1)
    other = optim.SGD(layer.named_parameters(), lr=0.2)
    state = optimizer.state_dict()
    del state["param_groups"][0]["param_names"]
    other.load_state_dict(state)
    assert other.param_groups[0]["param_names"] == ["weight", "bias"] and other.param_groups[0]["lr"] == 0.1


def test_loaded_state_takes_the_dtype_of_the_parameter() -> None:
    p = torch.ones(2, requires_grad=True)
    first = optim.Adam([p], lr=0.1)
    p.grad = torch.ones(2)
    first.step()
    second = optim.Adam([torch.ones(2, dtype=torch.float64, requires_grad=True)], lr=0.2)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    [kept] = second.state.values()
    assert kept["exp_avg"].dtype is torch.float64 and kept["step"].dtype is torch.float32
    old = first.state_dict()
    old["state"][0]["step"] = 5
    old["param_groups"][0].pop("amsgrad")
    second.load_state_dict(old)
    assert next(iter(second.state.values()))["step"].item() == 5.0 and second.param_groups[0]["amsgrad"] is False


def test_optimizer_without_momentum_keeps_no_state() -> None:
    w = nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    optimizer = optim.SGD([w], lr=0.1)
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}


def test_profiler_sees_steps() -> None:
    w = nn.Parameter(torch.ones(1))
    optimizer = optim.SGD([w], lr=0.1)
    with torch.autograd.profiler.profile() as seen:
        optimizer.zero_grad()
        optimizer.step()
    names = [event.name for event in seen.function_events]
    assert "Optimizer.step#SGD.step" in names and "Optimizer.zero_grad#SGD.zero_grad" in names
