"""Formulas that run once for many parameters give what they give for each alone."""
from __future__ import annotations

import pytest

import retrograd as torch

SETTINGS = {
    "SGD": [{}, dict(momentum=0.9, nesterov=True, weight_decay=0.1), dict(maximize=True, momentum=0.5, dampening=0.2)],
    "Adam": [{}, dict(amsgrad=True, weight_decay=0.1), dict(maximize=True)],
    "AdamW": [dict(amsgrad=True)], "Adagrad": [dict(lr_decay=0.1, weight_decay=0.1)], "Adadelta": [dict(weight_decay=0.1)],
    "RMSprop": [{}, dict(centered=True, momentum=0.5)], "Adamax": [{}], "NAdam": [dict(weight_decay=0.1)], "RAdam": [{}],
    "ASGD": [dict(t0=2)], "Rprop": [{}], "Adafactor": [{}],
}
SHAPES = [(3, 4), (4,), (), (2, 3), (5,)]


def trained(name: str, settings: dict, together: bool) -> list[list[float]]:
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    groups = [params] if together else [[p] for p in params]
    made = [getattr(torch.optim, name)(group, lr=0.05, **settings) for group in groups]
    for step in range(4):
        for optimizer in made:
            optimizer.zero_grad()
        used = params if step else params[:3]            # so that the steps of some are behind those of the others
        sum(((p * (k + 1) - step) ** 2).sum() for k, p in enumerate(used)).backward()
        for optimizer in made:
            optimizer.step()
    return [p.detach().flatten().tolist() for p in params]


@pytest.mark.parametrize("name, settings", [(name, settings) for name, many in SETTINGS.items() for settings in many])
def test_parameters_in_one_list_step_as_each_alone(name, settings):
    assert trained(name, settings, True) == trained(name, settings, False)


def test_the_state_of_each_parameter_is_its_own():
    params = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    for i, param in enumerate(params):
        param.grad = torch.full((2,), float(i))
    optimizer.step()
    assert [optimizer.state[p]["momentum_buffer"].tolist() for p in params] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert all(type(optimizer.state[p]["momentum_buffer"]) is torch.Tensor for p in params)
