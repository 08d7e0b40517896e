"""Scopes that are decorators too, as PyTorch's private helper has them."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` within a new scope for every call; a generator within one for every step.

    >>> import retrograd as torch
    >>> context_decorator(torch.no_grad, torch.is_grad_enabled)()
    False
    """
    make: Any = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else (
        ctx if inspect.isclass(ctx) else (ctx.clone if hasattr(ctx, "clone") else lambda: ctx))
    if inspect.isgeneratorfunction(func):
        @functools.wraps(func)
        def stepwise(*args: Any, **kwargs: Any) -> Any:
            steps = func(*args, **kwargs)
            sent: Any = None
            while True:
                try:
                    with make():
                        given = steps.send(sent)
                except StopIteration as end:
                    return end.value
                sent = yield given
        return stepwise

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)
    return decorated


class _DecoratorContextManager:
    """A scope that decorates functions."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, also as a decorator without parentheses."""

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
