"""Settings of optimizers that exclude each other, and what schedulers put into their state."""
import pytest

import retrograd as torch


@pytest.mark.parametrize("name", ["Adam", "NAdam", "Adadelta", "Rprop"])
def test_foreach_refuses_a_differentiable_step(name):
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, name)([w], lr=0.1, foreach=True, differentiable=True)
    w.grad = torch.ones(2)
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        optimizer.step()


def test_foreach_sgd_takes_a_differentiable_step():
    source = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, foreach=True, differentiable=True)
    w = source * 1
    w.retain_grad()
    w.grad = torch.ones(2)
    optimizer.param_groups[0]["params"] = [w]
    optimizer.step()
    assert torch.allclose(w, torch.full((2,), 0.9))
    assert torch.autograd.grad(w.sum(), source)[0].tolist() == [1, 1]


def test_state_of_cyclic_lr_names_a_missing_scale_function():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, cycle_momentum=False)
    state = schedule.state_dict()
    assert state["_scale_fn_custom"] is None
    schedule.load_state_dict(state)
