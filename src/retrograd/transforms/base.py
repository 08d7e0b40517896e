"""Transforms: interpreters that stand above autograd, innermost first.

NOTE [The stack of transforms]
`tls.transforms` holds the transforms that are running in this thread, outermost first. An op goes to the innermost one
that it concerns; while that one runs its rule, only those outside of it are in force. Batching concerns an op only if
one of its tensors is batched at that level. An op that concerns no transform goes to forward mode and autograd with the
whole stack left in place: what they call in turn (the tangent of an ordinary tensor may be a batched one) is asked again.
Saved-tensor hooks belong to the transform in which they were set: they see what that one's own graph saves. One that has
no graph, as vmap, saves nothing, so hooks set in it see nothing (and a checkpoint in it keeps everything).
"""
from __future__ import annotations

from typing import Any

from retrograd.core import forward
from retrograd.core.dispatch import autograd
from retrograd.core.state import add_slow_path, swap_saved_hooks, tls


class Transform:
    """One transform that is running; subclasses say what ops mean inside of it."""

    level: int = 0            # 1 for the outermost
    stays: bool = False       # it is in force while it runs its rule, and puts itself out of force where that goes below
    legacy: bool = False      # the older vmap, under which custom Functions run as they are
    requires_grad_allowed: bool = False       # `requires_grad_` may be called inside of it
    hooks_below: Any = ()     # the saved-tensor hooks of the transform (or the program) around it

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
        return process(op, args)


def process(op: Any, args: Any) -> Any:
    """Run an op at the innermost transform that it concerns."""
    stack = tls.transforms
    count = len(stack)
    for depth in range(count - 1, -1, -1):
        level = stack[depth]
        if level.concerns(op, args):
            kept = depth + level.stays
            hidden = count - kept
            if not hidden:
                return level.run(op, args)
            tls.transforms = stack[:kept]             # what `only_outer` does, for every op
            add_slow_path(-hidden)
            hooks = swap_saved_hooks(stack[kept].hooks_below)
            try:
                return level.run(op, args)
            finally:
                swap_saved_hooks(hooks)
                tls.transforms = stack
                add_slow_path(hidden)
    if forward.levels.current >= 0:
        return forward.run(op, args, autograd)
    return autograd(op, args)


# Classes and not generators: these are entered for every op.
class only_outer:
    """Put all but the outermost `depth` transforms out of force."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __enter__(self) -> None:
        stack = self.stack = tls.transforms
        tls.transforms = stack[:self.depth]
        add_slow_path(self.depth - len(stack))
        self.hooks = swap_saved_hooks(stack[self.depth].hooks_below) if self.depth < len(stack) else tls.saved_hooks

    def __exit__(self, *error: Any) -> None:
        stack = self.stack
        swap_saved_hooks(self.hooks)
        tls.transforms = stack
        add_slow_path(len(stack) - self.depth)


class running:
    """Make `transform` the innermost one."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __enter__(self) -> Any:
        transform = self.transform
        transform.level = len(tls.transforms) + 1
        tls.transforms = [*tls.transforms, transform]
        add_slow_path(1)
        transform.hooks_below = self.hooks = swap_saved_hooks([])
        return transform

    def __exit__(self, *error: Any) -> None:
        swap_saved_hooks(self.hooks)
        tls.transforms = tls.transforms[:-1]
        add_slow_path(-1)
