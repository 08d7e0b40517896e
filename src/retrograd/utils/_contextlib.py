"""Scopes that are decorators too, as PyTorch's private helper has them."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` within a new scope for every call; a generator within one for every step.

    >>> import retrograd as torch
    >>> context_decorator(torch.no_grad, torch.is_grad_enabled)()
    False
    """
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should "
                           "have the context manager applied; additionally, decorating a class at definition-site will prevent "
                           "use of the identifier as a conventional type.  To specify which methods to decorate, decorate each "
                           "of them individually.")
    make: Any = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else (
        ctx if inspect.isclass(ctx) else (ctx.clone if hasattr(ctx, "clone") else lambda: ctx))
    if inspect.isgeneratorfunction(func):
        @functools.wraps(func)
        def stepwise(*args: Any, **kwargs: Any) -> Any:
            steps = func(*args, **kwargs)
            step, sent = steps.send, None
            while True:
                try:
                    with make():
                        given = step(sent)
                except StopIteration as end:
                    return end.value
                try:
                    step, sent = steps.send, (yield given)
                except GeneratorExit:
                    with make():
                        steps.close()
                    raise
                except BaseException as error:        # what the caller throws in belongs to the generator
                    step, sent = steps.throw, error
        return stepwise

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)
    return decorated


class _DecoratorContextManager:
    """A scope that decorates functions."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(orig_func):
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                          "functions or methods. To preserve the current behavior of class decoration, you can directly "
                          "decorate the `__init__` method and nothing else.", FutureWarning, stacklevel=2)
            cls = orig_func
            return context_decorator(self.clone, functools.wraps(cls, updated=())(lambda *args, **kwargs: cls(*args, **kwargs)))
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
