"""Optimizers give PyTorch's numbers after ten steps; the golden values below were recorded from it."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn, optim

GOLDEN: list[Any] = [
    (optim.SGD, {"lr": 0.1}, [0.36405, -0.23962, 0.29152, 0.96943]),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, [0.43975, 0.05169, 0.22345, 0.56219]),
    (optim.SGD, {"lr": 0.01, "momentum": 0.9, "dampening": 0.5, "maximize": True}, [1.74231, -2.9867, 0.56898, 4.07515]),
    (optim.Adam, {"lr": 0.1}, [0.15251, -1.02674, 0.33429, 2.01904]),
    (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}, [0.1491, -1.02664, 0.34444, 2.01861]),
    (optim.AdamW, {"lr": 0.1, "weight_decay": 0.1}, [0.12459, -0.88518, 0.3156, 1.78303]),
    (optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1}, [0.6567, -1.62577, 0.38891, 2.62197]),
    (optim.RMSprop, {"lr": 0.01}, [0.57854, -1.52133, 0.38089, 2.51472]),
    (optim.RMSprop, {"lr": 0.01, "centered": True, "momentum": 0.9}, [-0.13752, 0.02408, 0.20002, 0.8804]),
    (optim.Adadelta, {"lr": 1.0}, [0.96674, -1.96643, 0.47001, 2.96638]),
    (optim.Adadelta, {"lr": 10.0, "rho": 0.5, "weight_decay": 0.1}, [0.8025, -1.7953, 0.39023, 2.79412]),
    (optim.Adamax, {"lr": 0.1}, [0.31412, -1.12484, 0.3776, 2.09549]),
    (optim.Adamax, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}, [1.86089, -2.92658, 1.20981, 3.94269]),
    (optim.ASGD, {"lr": 0.1, "t0": 5, "lambd": 0.01}, [0.36315, -0.23853, 0.29037, 0.96456]),
    (optim.NAdam, {"lr": 0.1}, [0.39441, -1.25447, 0.35947, 2.24001]),
    (optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, [0.35937, -1.11216, 0.34182, 2.00665]),
    (optim.RAdam, {"lr": 0.1}, [0.1692, -0.47256, 0.33768, 1.28581]),
    (optim.RAdam, {"lr": 0.1, "weight_decay": 0.1}, [0.1491, -0.41037, 0.31974, 1.18333]),
    (optim.Rprop, {"lr": 0.07}, [0.32581, -0.18289, 0.31408, 1.18289]),
    (optim.Rprop, {"lr": 0.09, "etas": (0.4, 1.5), "step_sizes": (0.001, 0.2)}, [0.327, -0.175, 0.2561, 1.175]),
]
X = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]
Y = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]


def fitted(make: Any, settings: dict[str, Any], steps: int = 10) -> Any:
    w = nn.Parameter(torch.tensor([[1.0, -2.0], [0.5, 3.0]]))
    optimizer = make([w], **settings)
    x, y = torch.tensor(X), torch.tensor(Y)
    for _ in range(steps):
        optimizer.zero_grad()
        ((x @ w.t() - y) ** 2).mean().backward()
        optimizer.step()
    return w, optimizer


@pytest.mark.parametrize(("make", "settings", "expected"), GOLDEN)
def test_ten_steps_give_the_recorded_values(make: Any, settings: dict[str, Any], expected: list[float]) -> None:
    w, _ = fitted(make, settings)
    assert w.detach().flatten().tolist() == pytest.approx(expected, abs=2e-5)


def test_state_survives_saving_and_loading() -> None:
    w, first = fitted(optim.Adam, {"lr": 0.1}, steps=3)
    second = optim.Adam([nn.Parameter(w.detach().clone())], lr=0.5)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert second.param_groups[0]["lr"] == 0.1
    kept = second.state[second.param_groups[0]["params"][0]]
    assert kept["step"].item() == 3.0
    assert torch.equal(kept["exp_avg"], first.state[w]["exp_avg"])


def test_closure_is_called_with_gradients_on() -> None:
    w = nn.Parameter(torch.ones(1))
    optimizer = optim.SGD([w], lr=0.25)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss
    with torch.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert w.item() == 0.5


def test_hooks_run_around_a_step() -> None:
    seen: list[str] = []
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    before = optimizer.register_step_pre_hook(lambda *args: seen.append("before"))
    optimizer.register_step_post_hook(lambda *args: seen.append("after"))
    optimizer.step()
    before.remove()
    optimizer.step()
    assert seen == ["before", "after", "after"]


@pytest.mark.parametrize(("params", "error", "text"), [
    ([], ValueError, "optimizer got an empty parameter list"),
    ([3], TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
    ([torch.ones(1, requires_grad=True) * 2], ValueError, "can't optimize a non-leaf Tensor"),
])
def test_bad_parameters_are_refused(params: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        optim.SGD(params, lr=0.1)
    assert str(caught.value) == text


def test_parameter_may_not_be_in_two_groups() -> None:
    w = nn.Parameter(torch.ones(1))
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optim.SGD([{"params": [w]}, {"params": [w]}], lr=0.1)


def rates(make: Any, steps: int, **kwargs: Any) -> list[float]:
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)
    schedule = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
        schedule.step(**kwargs)
    return found


S = optim.lr_scheduler


@pytest.mark.parametrize(("make", "expected"), [
    (lambda o: S.StepLR(o, 2), [1.0, 1.0, 0.1, 0.1, 0.01]),
    (lambda o: S.MultiStepLR(o, [1, 3], 0.5), [1.0, 0.5, 0.5, 0.25, 0.25]),
    (lambda o: S.ExponentialLR(o, 0.9), [1.0, 0.9, 0.81, 0.729, 0.6561]),
    (lambda o: S.CosineAnnealingLR(o, 5), [1.0, 0.904508, 0.654508, 0.345492, 0.095492]),
    (lambda o: S.LambdaLR(o, lambda epoch: 0.5 ** epoch), [1.0, 0.5, 0.25, 0.125, 0.0625]),
    (lambda o: S.LinearLR(o), [0.333333, 0.466667, 0.6, 0.733333, 0.866667]),
    (lambda o: S.OneCycleLR(o, 2.0, total_steps=14), [0.08, 0.506653, 1.407376, 1.981554, 1.967295]),
    (lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [2]), [0.1, 0.1, 1.0, 0.9, 0.81]),
    (lambda o: S.PolynomialLR(o, 5, 2.0), [1.0, 0.64, 0.36, 0.16, 0.04]),
])
def test_schedule_gives_the_recorded_rates(make: Any, expected: list[float]) -> None:
    assert rates(make, 5) == expected


def test_rate_falls_when_the_metric_stops_improving() -> None:
    assert rates(lambda o: S.ReduceLROnPlateau(o, patience=1), 5, metrics=1.0) == [1.0, 1.0, 1.0, 0.1, 0.1]


def test_schedule_before_optimizer_warns() -> None:
    schedule = S.StepLR(optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0), 1)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler\.step\(\)` before"):
        schedule.step()


@pytest.mark.parametrize(("settings", "losses", "calls"), [
    ({"lr": 0.1, "max_iter": 4}, [6.875, 5.818994, 5.744127], 12),
    ({"line_search_fn": "strong_wolfe", "max_iter": 6}, [6.875, 5.164061, 1.173891], 22),
    ({"line_search_fn": "strong_wolfe", "max_iter": 6, "history_size": 1}, [6.875, 4.574584, 1.768584], 22),
])
def test_lbfgs_gives_the_recorded_losses(settings: dict[str, Any], losses: list[float], calls: int) -> None:
    w = nn.Parameter(torch.tensor([-1.5, 2.0], dtype=torch.float64))
    optimizer, called = optim.LBFGS([w], **settings), []

    def closure() -> Any:
        called.append(1)
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2
        loss.backward()
        return loss

    assert [optimizer.step(closure).item() for _ in range(3)] == pytest.approx(losses, abs=2e-6)
    assert len(called) == calls


def test_lbfgs_takes_one_group_and_one_line_search() -> None:
    w = nn.Parameter(torch.ones(1))
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        optim.LBFGS([{"params": [w]}, {"params": [nn.Parameter(torch.ones(1))]}])
    optimizer = optim.LBFGS([w], line_search_fn="golden")

    def closure() -> Any:
        loss = (w ** 4).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


@pytest.mark.parametrize(("make", "settings", "message"), [
    (optim.Adadelta, {"rho": 2}, "Invalid rho value: 2"),
    (optim.Adamax, {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    (optim.NAdam, {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
    (optim.RAdam, {"eps": -1}, "Invalid epsilon value: -1"),
    (optim.Rprop, {"etas": (2, 3)}, "Invalid eta values: 2, 3"),
    (optim.ASGD, {"weight_decay": -1}, "Invalid weight_decay value: -1"),
])
def test_wrong_settings_are_refused(make: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make([nn.Parameter(torch.ones(1))], **settings)


@pytest.mark.parametrize("make", [optim.Adadelta, optim.Adamax, optim.ASGD, optim.NAdam, optim.RAdam, optim.Rprop])
def test_sparse_gradients_are_refused(make: Any) -> None:
    w = nn.Parameter(torch.ones(2))
    w.grad = torch.tensor([1.0, 0.0]).to_sparse()
    with pytest.raises(RuntimeError, match=f"{make.__name__} does not support sparse gradients"):
        make([w]).step()


def test_averaged_models_average_counters_too() -> None:
    model = nn.BatchNorm1d(1)
    averaged = optim.swa_utils.AveragedModel(model, use_buffers=True)
    for value in (0.0, 4.0):
        model(torch.tensor([[value], [value + 2]]))
        averaged.update_parameters(model)
    assert averaged.module.num_batches_tracked.dtype == torch.int64 and averaged.module.num_batches_tracked == 1
    assert torch.allclose(averaged.module.running_mean, torch.tensor([0.345]))


def test_lbfgs_keeps_its_last_gradient_in_place() -> None:
    w = nn.Parameter(torch.tensor([4.0, 1.0]))
    optimizer = optim.LBFGS([w], lr=0.1, max_iter=2)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (w ** 4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    kept = optimizer.state[w]["prev_flat_grad"]
    optimizer.step(closure)
    assert optimizer.state[w]["prev_flat_grad"] is kept


def test_pickled_optimizers_keep_the_keys_of_their_groups_after_a_state_was_loaded() -> None:
    for cls in (torch.optim.Adafactor, torch.optim.Muon, torch.optim.SGD):
        optimizer = cls([torch.nn.Parameter(torch.ones(2, 2))], lr=0.1)
        optimizer.load_state_dict(optimizer.state_dict())
        read = pickle.loads(pickle.dumps(optimizer))
        assert read.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]
