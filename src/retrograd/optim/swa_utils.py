"""Averages of models over training: stochastic weight averaging and exponential moving averages."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.nn import Module
from retrograd.nn.modules.batchnorm import _BatchNorm
from retrograd.optim.lr_scheduler import LRScheduler, _format_param

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def mixes(tensor: Any) -> bool:
    """Whether tensors of this dtype can be mixed by `lerp`."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that moves lists of averages towards lists of values.

    >>> import retrograd as torch
    >>> average, value = [torch.tensor([0.0])], [torch.tensor([1.0])]
    >>> get_ema_multi_avg_fn(0.9)(average, value, None)
    >>> average
    [tensor([0.1000])]
    """
    check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        if mixes(ema_param_list[0]):
            torch._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
        else:
            for average, value in zip(ema_param_list, current_param_list, strict=True):
                average.copy_(average * decay + value * (1 - decay))
    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that adds one more value to lists of equal-weight averages.

    >>> import retrograd as torch
    >>> average, value = [torch.tensor([2.0])], [torch.tensor([5.0])]
    >>> get_swa_multi_avg_fn()(average, value, 2)
    >>> average
    [tensor([3.])]
    """
    @torch.no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        count = num_averaged + 1
        if mixes(averaged_param_list[0]):
            torch._foreach_lerp_(averaged_param_list, current_param_list, float(1 / count))
            return
        for average, value in zip(averaged_param_list, current_param_list, strict=True):
            if isinstance(num_averaged, Tensor):
                average.addcdiv_(value - average, count)
            else:
                average.add_(value - average, alpha=1.0 / count)
    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """A function that gives an exponential moving average.

    >>> import retrograd as torch
    >>> get_ema_avg_fn(0.5)(torch.tensor(0.0), torch.tensor(1.0), None)
    tensor(0.5000)
    """
    check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """A function that gives an equal-weight average.

    >>> import retrograd as torch
    >>> get_swa_avg_fn()(torch.tensor(2.0), torch.tensor(5.0), 2)
    tensor(3.)
    """
    @torch.no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's; equal weights unless a function says otherwise.

    >>> import retrograd as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     model.weight.data.fill_(value)
    ...     averaged.update_parameters(model)
    tensor([[1.]])
    tensor([[3.]])
    >>> averaged.module.weight.item()
    2.0
    """

    n_averaged: Any

    def __init__(self, model: Any, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None,
                 use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model) if device is None else deepcopy(model).to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _tensors(self, model: Any) -> list[Any]:
        members = chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        return [t.detach() for t in members]

    def update_parameters(self, model: Any) -> None:
        """Count the model's parameters as they are now."""
        averages = self._tensors(self.module)
        values = [value.to(average.device) for value, average in zip(self._tensors(model), averages, strict=True)]
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.multi_avg_fn is None:
            update_one = self.avg_fn or get_swa_avg_fn()
            for average, value in zip(averages, values, strict=True):
                average.copy_(update_one(average, value, self.n_averaged.to(average.device)))
        else:
            groups: dict[Any, tuple[list[Any], list[Any]]] = {}
            for average, value in zip(averages, values, strict=True):
                mine, theirs = groups.setdefault((average.device, average.dtype), ([], []))
                mine.append(average)
                theirs.append(value)
            for (device, _), (mine, theirs) in groups.items():
                self.multi_avg_fn(mine, theirs, self.n_averaged.to(device))
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1


@torch.no_grad()
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the statistics of all batch norms in a model anew, from the inputs that `loader` gives.

    >>> import retrograd as torch
    >>> norm = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], norm)
    >>> norm.running_mean, norm.momentum
    (tensor([2.]), 0.1)
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None                    # an average of all batches
    model.train()
    for input in loader:
        value: Any = input[0] if isinstance(input, (list, tuple)) else input
        model(value if device is None else value.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals every group's rate to a fixed one in some epochs, for the phase in which weights are averaged.

    >>> import retrograd as torch
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        for lr, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How far the rate has come at the share `t` of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, n / max(1, self.anneal_epochs)))) for n in (step - 1, step))
        rates = []
        for group in self.optimizer.param_groups:
            lr, goal = group["lr"], group["swa_lr"]
            start = goal if before == 1 else (lr - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
