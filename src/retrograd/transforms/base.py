"""Transforms: interpreters that stand above autograd, innermost first.

NOTE [The stack of transforms]
`tls.transforms` holds the transforms that are running in this thread, outermost first. An op goes to the innermost one
that it concerns; while that one runs its rule, only those outside of it are in force. Batching concerns an op only if
one of its tensors is batched at that level. An op that concerns no transform goes to forward mode and autograd with the
whole stack left in place: what they call in turn (the tangent of an ordinary tensor may be a batched one) is asked again.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.core import forward
from retrograd.core.dispatch import autograd
from retrograd.core.state import add_special, tls


class Transform:
    """One transform that is running; subclasses say what ops mean inside of it."""

    level: int = 0            # 1 for the outermost
    stays: bool = False       # it is in force while it runs its rule, and puts itself out of force where that goes below
    legacy: bool = False      # the older vmap, under which custom Functions run as they are

    @property
    def no_backward(self) -> str:
        """Why `backward` is refused while this is the innermost transform: it would accumulate what has no place."""
        if self.legacy:
            return ("backward() called inside torch.vmap. This is not supported, please call backward() outside "
                    "torch.vmap or instead use torch.autograd.grad inside torch.vmap")
        return ("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                "functorch.vjp instead or call backward() outside of functorch transforms.")

    def concerns(self, op: Any, args: Any) -> bool:
        """Whether this op means something else inside the transform."""
        return True

    def run(self, op: Any, args: Any) -> Any:
        """Run an op that concerns this transform; only the transforms outside of it are in force (see `stays`)."""
        raise NotImplementedError

    def apply_function(self, cls: Any, args: Any) -> Any:
        """Run a custom Function inside the transform."""
        raise NotImplementedError

    def process(self, op: Any, args: Any) -> Any:
        """Run an op that was called while this is the innermost transform."""
        stack = tls.transforms
        for depth in range(len(stack) - 1, -1, -1):
            if stack[depth].concerns(op, args):
                with only_outer(depth + stack[depth].stays):
                    return stack[depth].run(op, args)
        if forward.levels.current >= 0:
            return forward.run(op, args, autograd)
        return autograd(op, args)


@contextmanager
def only_outer(depth: int) -> Iterator[None]:
    """Put all but the outermost `depth` transforms out of force."""
    stack = tls.transforms
    tls.transforms = stack[:depth]
    add_special(depth - len(stack))
    try:
        yield
    finally:
        tls.transforms = stack
        add_special(len(stack) - depth)


@contextmanager
def running(transform: Transform) -> Iterator[Any]:
    """Make `transform` the innermost one."""
    transform.level = len(tls.transforms) + 1
    tls.transforms = [*tls.transforms, transform]
    add_special(1)
    try:
        yield transform
    finally:
        tls.transforms = tls.transforms[:-1]
        add_special(-1)
