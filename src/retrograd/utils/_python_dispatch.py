"""Dispatch modes under PyTorch's names."""
from __future__ import annotations

from typing import Any

from retrograd.core.modes import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
)
from retrograd.core.modes import current_mode as _get_current_dispatch_mode
from retrograd.core.modes import current_modes as _get_current_dispatch_mode_stack
from retrograd.core.modes import disable_current_modes as _disable_current_modes
from retrograd.core.modes import pop_mode as _pop_mode
from retrograd.core.modes import push_mode as _push_mode

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode",
           "_get_current_dispatch_mode_stack", "_pop_mode", "_push_mode", "is_in_torch_dispatch_mode",
           "is_traceable_wrapper_subclass"]


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a dispatch mode is on.

    >>> is_in_torch_dispatch_mode()
    False
    """
    return _get_current_dispatch_mode() is not None


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether `t` is a wrapper that can be taken apart with `__tensor_flatten__`.

    >>> import retrograd as torch
    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
