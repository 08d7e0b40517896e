"""`torch.autograd.gradcheck`, module and function: their names, for which gradcheck_run.py is imported when they are used.

The function has the module's name, and importing a module puts it in the place of whatever has its name in the package. So
this one is imported with the package, before the function is put there, and has to be small.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["gradcheck", "gradgradcheck"]
LATER = ("GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input")


def gradcheck(*args: Any, **kwargs: Any) -> bool:
    """Check the gradients of a function against finite differences.

    >>> import retrograd as torch
    >>> gradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    return bool(run().gradcheck(*args, **kwargs))


def gradgradcheck(*args: Any, **kwargs: Any) -> bool:
    """Check the second derivatives of a function: the gradients of its gradients, for given or random `grad_outputs`.

    >>> import retrograd as torch
    >>> gradgradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    return bool(run().gradgradcheck(*args, **kwargs))


def run() -> Any:
    """The module that does the work."""
    return import_module(f"{__name__}_run")


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(run(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
