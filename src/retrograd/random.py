"""torch.random: the default generator's seed and state, and a scope that leaves them as they were."""
from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from retrograd.ops.create.generators import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
           "thread_safe_generator"]


class fork_rng(ContextDecorator):
    """Restore the state of the default generator at the end of the scope."""

    def __init__(self, devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
                 device_type: str = "cuda") -> None:
        self.enabled = enabled
        self.states: list[Any] = []

    def __enter__(self) -> None:
        if self.enabled:
            self.states.append(default_generator.get_state())

    def __exit__(self, *args: object) -> None:
        if self.enabled:
            default_generator.set_state(self.states.pop())


def thread_safe_generator() -> Any:
    """The generator of a loader's worker thread; None elsewhere, which means the default generator.

    >>> thread_safe_generator()
    """
    return None
