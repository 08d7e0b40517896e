"""GradScaler: multiplies the loss so that gradients of low precision do not vanish, and skips steps with infinite ones."""
from __future__ import annotations

import warnings
from collections import defaultdict
from enum import Enum
from typing import Any

import retrograd as torch

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What was done with the gradients of an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """What is known of an optimizer before its gradients are unscaled."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, unscales gradients before a step, and adapts the scale: it grows while gradients are finite.

    >>> scaler = GradScaler("cpu", init_scale=8.0)
    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = torch.optim.SGD([p], lr=0.5)
    >>> scaler.scale(p.sum()).backward()
    >>> p.grad
    tensor([8.])
    >>> _ = scaler.step(optimizer)
    >>> p.tolist(), scaler.get_scale()
    ([0.5], 8.0)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device, self._enabled = device, enabled
        if device == "cuda" and enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._init_growth_tracker = growth_interval, 0
        self._scale: Any = None
        self._growth_tracker: Any = None
        self._forget()

    def _forget(self) -> None:
        self._per_optimizer_states: Any = defaultdict(_refresh_per_optimizer_state)

    def _start(self) -> None:
        if self._scale is None:
            self._scale = torch.full((), self._init_scale, dtype=torch.float32)
            self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32)

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        self._start()
        if isinstance(outputs, torch.Tensor):
            return outputs * self._scale.to(device=outputs.device, non_blocking=True)
        if isinstance(outputs, (list, tuple)):
            made = [self.scale(output) for output in outputs]
            return type(outputs)(*made) if hasattr(outputs, "_fields") else type(outputs)(made)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, and note whether some are not finite."""
        if not self._enabled:
            return
        self._check_started("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = self._scale.double().reciprocal().float()
        found = torch.zeros(())
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is None:
                        continue
                    if parameter.grad.dtype is torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    values = parameter.grad._values() if parameter.grad.is_sparse else parameter.grad
                    if not torch.isfinite(values).all():
                        found.fill_(1.0)
                    values.mul_(inverse)
        state["found_inf_per_device"] = {torch.device(self._device): found}
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` with unscaled gradients, unless some are not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_started("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if not sum(found.item() for found in state["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale: less if a gradient was not finite, more after `growth_interval` steps without; or set it."""
        if not self._enabled:
            return
        self._check_started("update")
        if new_scale is not None:
            self._scale.fill_(new_scale)
        else:
            found = [one for state in self._per_optimizer_states.values() for one in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if sum(one.item() for one in found):
                self._scale.mul_(self._backoff_factor)
                self._growth_tracker.zero_()
            elif self._growth_tracker.item() + 1 == self._growth_interval:
                grown = self._scale * self._growth_factor
                if torch.isfinite(grown):
                    self._scale.copy_(grown)
                self._growth_tracker.zero_()
            else:
                self._growth_tracker.add_(1)
        self._forget()

    def _check_started(self, function: str) -> None:
        if self._scale is None:
            raise AssertionError(f"Attempted {function} but _scale is None.  This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale now."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def state_dict(self) -> dict[str, Any]:
        """The state as numbers; empty if it is off."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        self._init_scale, self._growth_factor = state_dict["scale"], state_dict["growth_factor"]
        self._backoff_factor, self._growth_interval = state_dict["backoff_factor"], state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        if self._per_optimizer_states and self._enabled:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end "
                                 "after scaler.update().")
        state = self.__dict__.copy()
        if self._enabled:
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                         _growth_tracker=None)
        state.pop("_per_optimizer_states")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()
