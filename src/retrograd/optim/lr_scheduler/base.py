"""The base of learning rate schedules: counting epochs, setting rates, saving and loading."""
from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any

from retrograd import Tensor
from retrograd.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is "
    "used instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use "
    "case: https://github.com/pytorch/pytorch/issues/new/choose.")
ORDER_WARNING = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
    "first value of the learning rate schedule. See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-"
    "learning-rate")
REPLACED_WARNING = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
    "`optimizer.step()` before `lr_scheduler.step()`. See more details at https://pytorch.org/docs/stable/optim.html#how-to-"
    "adjust-learning-rate")


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Change a setting, in place if it is a tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


class LRScheduler:
    """The base class of schedules; a subclass defines `get_lr`.

    >>> from retrograd import nn, ones, optim
    >>> optimizer = optim.SGD([nn.Parameter(ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer: Any = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                                   f"last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training "
                                   "from a checkpoint but haven't properly loaded the optimizer state\n2. You're using "
                                   "last_epoch >= 0 for a fresh training run (not recommended)")
        self.base_lrs = current(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._watch_steps()
        self._initial_step()

    def _watch_steps(self) -> None:
        """Note on the optimizer that it has stepped, to warn when schedules step first."""
        optimizer = self.optimizer
        if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            return
        step, watching = optimizer.step.__func__, weakref.ref(optimizer)      # weak: the optimizer holds this function

        @functools.wraps(step)
        def watched(*args: Any, **kwargs: Any) -> Any:
            this: Any = watching()
            this._opt_called = True
            return step(this, *args, **kwargs)
        watched._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
        optimizer.step = watched

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer.

        >>> import retrograd as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> schedule.state_dict()["last_epoch"]
        0
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state.

        >>> import retrograd as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> schedule.load_state_dict({"last_epoch": 7})
        >>> schedule.last_epoch
        7
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates in force.

        >>> import retrograd as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> schedule.get_last_lr()
        [1.0]
        """
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates for the current epoch.

        >>> import retrograd as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> class Inverse(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / (1 + self.last_epoch) for base in self.base_lrs]
        >>> schedule = Inverse(optimizer)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch.

        >>> import retrograd as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(REPLACED_WARNING, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(ORDER_WARNING, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = self._lrs()

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning,
                          stacklevel=3)

    def _lrs(self) -> list[Any]:
        return current(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name that LRScheduler had before."""


def per_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """One value per parameter group."""
    if isinstance(value, (list, tuple)):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                             f"param_groups has {len(optimizer.param_groups)}.")
    else:
        value = [value] * len(optimizer.param_groups)
    return [copied(v) for v in value]


def current(optimizer: Any, key: str) -> list[Any]:
    """A setting of all parameter groups as it is now."""
    return [copied(group[key]) for group in optimizer.param_groups]


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
