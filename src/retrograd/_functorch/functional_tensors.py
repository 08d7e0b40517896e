"""Functional tensors one by one: made, written to in a scope without real writes, brought up to date, and unwrapped.

This is what PyTorch has as `torch._to_functional_tensor` and its like; `retrograd.func.functionalize` does it for a function.
Functional tensors that are made before `enable_functionalization` belong to the scope that it opens next.
"""
from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from retrograd._functorch.levels import is_functionaltensor
from retrograd.core.tensor import Tensor
from retrograd.transforms.base import running
from retrograd.transforms.functionalize import Functional
from retrograd.transforms.lifted import living

__all__ = ["commit_update", "disable_functionalization", "enable_functionalization", "from_functional_tensor",
           "is_functional_tensor", "replace", "sync", "to_functional_tensor", "was_storage_changed"]

opened: list[tuple[Functional, ExitStack]] = []      # scopes that are open, innermost last
waiting: list[Functional] = []                       # the level of the next scope, once it has tensors


def next_level() -> Functional:
    if not waiting:
        waiting.append(Functional(True))
    return waiting[0]


def to_functional_tensor(t: Any, *, mirror_autograd_meta: bool = False) -> Any:
    """A functional tensor with the value of `t`.

    >>> import retrograd as torch
    >>> x = torch.zeros(2)
    >>> functional = to_functional_tensor(x)
    >>> enable_functionalization(reapply_views=True)
    >>> _ = functional[0].add_(1)
    >>> disable_functionalization()
    >>> from_functional_tensor(functional), x
    (tensor([1., 0.]), tensor([0., 0.]))
    """
    if is_functional_tensor(t):
        raise RuntimeError("to_functional_tensor: the tensor is functional already")
    level = opened[-1][0] if opened else next_level()
    return level.wrap(t)


def is_functional_tensor(t: Any) -> bool:
    """Whether a tensor is functional."""
    return isinstance(t, Tensor) and is_functionaltensor(t)


def from_functional_tensor(t: Any) -> Any:
    """The present value of a functional tensor."""
    if not is_functional_tensor(t):
        raise RuntimeError("from_functional_tensor: the tensor is not functional")
    return t._extra.batch.value


def sync(t: Any) -> None:
    """Bring a functional tensor up to date with writes to others that share its memory."""
    if is_functional_tensor(t):
        t._extra.batch.value              # noqa: B018      # reading it takes its views again


def enable_functionalization(*, reapply_views: bool = False) -> None:
    """Open a scope in which writes to functional tensors give them new values."""
    if opened:
        raise RuntimeError("multiple layers of mode-style functionalization nesting is not currently supported, outside of "
                           "the functionalize() transform")
    level = next_level()
    waiting.clear()
    level.copies = not reapply_views
    scopes = ExitStack()
    scopes.enter_context(running(level))
    scopes.enter_context(living(level))
    opened.append((level, scopes))


def disable_functionalization() -> None:
    """Close the scope."""
    if not opened:
        raise RuntimeError("no scope of functionalization is open")
    opened.pop()[1].close()


def was_storage_changed(t: Any) -> bool:
    """Whether the memory of a functional tensor was written to."""
    return bool(t._extra.batch.cell.writes)


def replace(t: Any, value: Any) -> None:
    """Give a functional tensor another value; `commit_update` makes it that of its memory."""
    t._extra.batch.owner.replace(t, value)


def commit_update(t: Any) -> None:
    """Make the value of a functional tensor that of its memory, which `replace` has done already."""
    if not is_functional_tensor(t):
        raise RuntimeError("commit_update: the tensor is not functional")
