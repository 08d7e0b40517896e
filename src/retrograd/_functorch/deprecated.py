"""The functions of the package `functorch`, which warn that they have moved to `torch.func`."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from retrograd._functorch import make_functional as functional
from retrograd.transforms import functionalize as functional_form
from retrograd.transforms import grad as reverse
from retrograd.transforms import jacobian
from retrograd.transforms import jvp as forward
from retrograd.transforms import vmap as batching


def get_warning(api: str, new_api: str | None = None, replace_newlines: bool = False) -> str:
    """What to say to those who call a function by its old name."""
    text = ("We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{api}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
            f"Please use `{new_api or f'torch.func.{api}'}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` "
            "migration guide for more details https://pytorch.org/docs/main/func.migrating.html")
    return text


def warn_deprecated(api: str, new_api: str | None = None) -> None:
    warnings.warn(get_warning(api, new_api, replace_newlines=True), FutureWarning, stacklevel=3)


def moved(func: Callable[..., Any], new_api: str | None = None) -> Callable[..., Any]:
    """The function under its old name, with a warning."""
    name = func.__name__

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        warn_deprecated(name, new_api)
        return func(*args, **kwargs)
    wrapper.__module__ = __name__
    wrapper.__doc__ = f"`{new_api or f'torch.func.{name}'}` under its old name."
    return wrapper


vmap = moved(batching.vmap, "torch.vmap")
grad = moved(reverse.grad)
grad_and_value = moved(reverse.grad_and_value)
vjp = moved(reverse.vjp)
jvp = moved(forward.jvp)
jacrev = moved(jacobian.jacrev)
jacfwd = moved(jacobian.jacfwd)
hessian = moved(jacobian.hessian)
functionalize = moved(functional_form.functionalize)
make_functional = moved(functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = moved(functional.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = moved(functional.combine_state_for_ensemble, "torch.func.stack_module_state")
