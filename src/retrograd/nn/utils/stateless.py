"""Calling a module with other parameters and buffers than its own."""
from __future__ import annotations

import warnings
from typing import Any

from retrograd import func
from retrograd.nn.parallel import DataParallel

__all__ = ["functional_call"]


def functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: Any = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """The older place of `retrograd.func.functional_call`.

    >>> import retrograd as torch, warnings
    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.utils.stateless.functional_call(layer, {"weight": torch.tensor([[2.0]])}, torch.tensor([3.0]))
    tensor([6.])
    """
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
                  "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
                  FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: Any = None, *,
                     tie_weights: bool = True, strict: bool = False) -> Any:
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    return func.functional_call(module, parameters_and_buffers, () if args is None else args, kwargs, tie_weights=tie_weights,
                                strict=strict)
