"""Schedules: compositions, tensors as rates, states, refusals; golden rates are recorded from PyTorch."""
from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn, optim
from retrograd.optim import lr_scheduler as S
from retrograd.optim import swa_utils


class Power:
    def __init__(self) -> None:
        self.base = 0.9

    def __call__(self, epoch: int) -> float:
        return float(self.base ** epoch)


CASES: dict[str, Any] = {
    "lambda": (lambda o: S.LambdaLR(o, Power()),
        [0.5, 0.45, 0.405, 0.3645, 0.32805, 0.29525, 0.26572, 0.23915, 0.21523, 0.19371]),
    "multiplicative": (lambda o: S.MultiplicativeLR(o, lambda epoch: 0.9),
        [0.5, 0.45, 0.405, 0.3645, 0.32805, 0.29525, 0.26572, 0.23915, 0.21523, 0.19371]),
    "milestones": (lambda o: S.MultiStepLR(o, [2, 2, 5], 0.5),
        [0.5, 0.5, 0.125, 0.125, 0.125, 0.0625, 0.0625, 0.0625, 0.0625, 0.0625]),
    "constant": (lambda o: S.ConstantLR(o, 0.5, 3),
        [0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]),
    "linear": (lambda o: S.LinearLR(o, 0.3, 0.9, 4),
        [0.15, 0.225, 0.3, 0.375, 0.45, 0.45, 0.45, 0.45, 0.45, 0.45]),
    "polynomial": (lambda o: S.PolynomialLR(o, 4, 2.0),
        [0.5, 0.28125, 0.125, 0.03125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "cosine": (lambda o: S.CosineAnnealingLR(o, 4, 0.01),
        [0.5, 0.42824, 0.255, 0.081759, 0.01, 0.081759, 0.255, 0.42824, 0.5, 0.42824]),
    "restarts": (lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
        [0.5, 0.255, 0.5, 0.42824, 0.255, 0.081759, 0.5, 0.48135, 0.42824, 0.34876]),
    "cyclic": (lambda o: S.CyclicLR(o, 0.1, 1.0, 3, 2),
        [0.1, 0.4, 0.7, 1.0, 0.55, 0.1, 0.4, 0.7, 1.0, 0.55]),
    "exp_range": (lambda o: S.CyclicLR(o, 0.1, 1.0, 2, mode="exp_range", gamma=0.9),
        [0.1, 0.505, 0.829, 0.42805, 0.1, 0.36572, 0.5783, 0.31523, 0.1, 0.27434]),
    "triangular2": (lambda o: S.CyclicLR(o, 0.1, 1.0, 2, mode="triangular2", cycle_momentum=False),
        [0.1, 0.55, 1.0, 0.55, 0.1, 0.325, 0.55, 0.325, 0.1, 0.2125]),
    "one_cycle": (lambda o: S.OneCycleLR(o, 1.0, 12),
        [0.04, 0.34979, 0.87929, 0.99442, 0.93301, 0.81175, 0.64738, 0.46264, 0.28306, 0.13348]),
    "three_phases": (lambda o: S.OneCycleLR(o, 1.0, epochs=3, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"),
        [0.04, 0.40923, 0.77846, 0.85231, 0.48308, 0.11385, 0.034483, 0.027587, 0.020692, 0.013796]),
    "sequential": (lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [3]),
        [0.05, 0.05, 0.5, 0.5, 0.45, 0.405, 0.3645, 0.32805, 0.29525, 0.26572]),
    "milestone_0": (lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [0]),
        [0.5, 0.45, 0.405, 0.3645, 0.32805, 0.29525, 0.26572, 0.23915, 0.21523, 0.19371]),
    "chain_in_sequence": (lambda o: S.SequentialLR(o, [S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
                                        S.StepLR(o, 2, 0.5)], [4]),
        [0.045, 0.0405, 0.3645, 0.32805, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125]),
    "chained": (lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
        [0.05, 0.045, 0.405, 0.3645, 0.32805, 0.29525, 0.26572, 0.23915, 0.21523, 0.19371]),
    "swa": (lambda o: swa_utils.SWALR(o, 0.05, 3),
        [0.5, 0.3875, 0.1625, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05]),
    "swa_at_once": (lambda o: swa_utils.SWALR(o, 0.05, 0),
        [0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05]),
}


def optimizer_with(rate: Any, groups: int = 1) -> Any:
    parts = [{"params": [nn.Parameter(torch.ones(1))], "lr": copy.deepcopy(rate)} for _ in range(groups)]
    return optim.SGD(parts, momentum=0.9)


@pytest.mark.filterwarnings("ignore:Detected call of")        # a chain inside a sequence steps once more when it is made
@pytest.mark.parametrize("rate", [0.5, torch.tensor(0.5)], ids=["number", "tensor"])
@pytest.mark.parametrize("name", CASES)
def test_rates_are_the_recorded_ones_also_after_loading(name: str, rate: Any) -> None:
    make, expected = CASES[name]
    optimizer = optimizer_with(rate)
    schedule, found = make(optimizer), []
    for i in range(10):
        found.append(float(schedule.get_last_lr()[0]))
        assert float(optimizer.param_groups[0]["lr"]) == pytest.approx(found[-1])
        if i == 5:
            state, settings = copy.deepcopy(schedule.state_dict()), copy.deepcopy(optimizer.state_dict())
        optimizer.step()
        schedule.step()
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert isinstance(optimizer.param_groups[0]["lr"], type(rate))
    other = optimizer_with(rate)
    again = make(other)
    again.load_state_dict(state)
    other.load_state_dict(settings)
    other.step()
    again.step()
    assert float(again.get_last_lr()[0]) == pytest.approx(expected[6], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda o: S.StepLR(3, 1), TypeError, "int is not an Optimizer"),
    (lambda o: S.LambdaLR(o, [lambda e: 1]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda o: S.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function, but got int"),
    (lambda o: S.SequentialLR(o, [], []), ValueError, "SequentialLR expects at least one scheduler"),
    (lambda o: S.SequentialLR(o, [S.StepLR(o, 1)], [1]), ValueError, "Sequential Schedulers expects number of schedulers"),
    (lambda o: S.SequentialLR(o, [S.ReduceLROnPlateau(o)], []), ValueError, "SequentialLR does not support"),
    (lambda o: S.ChainedScheduler([S.ReduceLROnPlateau(o)]), ValueError, "ChainedScheduler does not support"),
    (lambda o: S.ChainedScheduler([S.StepLR(optimizer_with(0.1), 1)], o), ValueError, "belong to the same optimizer"),
    (lambda o: S.StepLR(o, 1, last_epoch=3), KeyError, "param 'initial_lr' is not specified in param_groups"),
    (lambda o: S.CosineAnnealingWarmRestarts(o, 1, 1, "a"), ValueError, "Expected float or int eta_min, but got a"),
    (lambda o: S.OneCycleLR(o, 1.0), ValueError, "You must define either total_steps OR"),
    (lambda o: S.CyclicLR(o, [0.1], 1.0), ValueError, "base_lr must have the same length as optimizer.param_groups"),
    (lambda o: S.ReduceLROnPlateau(o, min_lr=[1.0]), ValueError, "expected 2 min_lrs, got 1"),
    (lambda o: swa_utils.SWALR(o, 0.1, -1), ValueError, "anneal_epochs must be equal or greater than 0, got -1"),
])
def test_what_does_not_fit_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make(optimizer_with(0.1, groups=2))


def test_stepping_beyond_the_cycle_is_an_error() -> None:
    optimizer = optimizer_with(0.1)
    schedule = S.OneCycleLR(optimizer, 1.0, total_steps=2)
    with pytest.raises(ValueError, match="Tried to step 3 times. The specified number of total steps is 2"):
        for _ in range(3):
            optimizer.step()
            schedule.step()


def test_plateau_follows_new_parameter_groups() -> None:
    for least, fits in ((0, True), ([0.1], False)):
        optimizer = optimizer_with(0.5)
        schedule = S.ReduceLROnPlateau(optimizer, patience=0, min_lr=least)
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 1.0})
        schedule.step(1.0)
        if fits:
            schedule.step(1.0)
            assert schedule.get_last_lr() == pytest.approx([0.05, 0.1])
        else:
            with pytest.raises(RuntimeError, match="differs from when `ReduceLROnPlateau` was initialized"):
                schedule.step(1.0)


def test_rates_of_an_epoch_may_be_asked_for_in_closed_form() -> None:
    optimizer = optimizer_with(1.0)
    schedule = S.StepLR(optimizer, 2, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match=r"The epoch parameter in `scheduler.step\(\)`"):
        schedule.step(5)
    assert schedule.get_last_lr() == [0.25]
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        schedule.get_lr()


def test_replaced_step_is_noticed() -> None:
    optimizer = optimizer_with(1.0)
    schedule = S.StepLR(optimizer, 2)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden"):
        schedule.step()


def test_last_rates_are_copies() -> None:
    optimizer = optimizer_with(torch.tensor(1.0))
    schedule = S.ExponentialLR(optimizer, 0.5)
    before = schedule.get_last_lr()
    optimizer.step()
    schedule.step()
    assert [float(lr) for lr in before] == [1.0] and float(schedule.base_lrs[0]) == 1.0


def test_schedule_does_not_keep_the_optimizer_alive_in_a_cycle() -> None:
    optimizer = optimizer_with(1.0)
    S.StepLR(optimizer, 1)
    assert copy.deepcopy(optimizer).param_groups[0]["initial_lr"] == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
    assert optimizer._opt_called


# ---- averages of models
@pytest.mark.parametrize(("settings", "expected"), [
    ({}, 2.5), ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 3.125),
    ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 3.125), ({"avg_fn": swa_utils.get_swa_avg_fn()}, 2.5),
    ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn(), "use_buffers": True}, 2.5),
])
def test_averaged_model_holds_the_average(settings: dict[str, Any], expected: float) -> None:
    model = nn.Linear(1, 1, bias=False)
    model.register_buffer("seen", torch.zeros(1))
    averaged = swa_utils.AveragedModel(model, **settings)
    for i in range(1, 5):
        with torch.no_grad():
            model.weight.fill_(i)
            model.seen.fill_(i)
        averaged.update_parameters(model)
    assert averaged.module.weight.item() == pytest.approx(expected) and averaged.n_averaged.item() == 4
    assert averaged.module.seen.item() == (2.5 if settings.get("use_buffers") else 4.0)
    assert averaged(torch.ones(1, 1)).item() == pytest.approx(expected) and "module.weight" in averaged.state_dict()


def test_batch_norms_are_updated_for_averages() -> None:
    model = nn.Sequential(nn.BatchNorm1d(1)).eval()
    swa_utils.update_bn([(torch.tensor([[1.0], [3.0]]), 0), (torch.tensor([[5.0], [7.0]]), 1)], model)
    assert model[0].running_mean.item() == 4.0 and model[0].momentum == 0.1 and not model.training
