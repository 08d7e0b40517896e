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
from retrograd.core.opdef import OpDef
from retrograd.core.state import switches, tls


class Transform:
    """One transform that is running; subclasses say what ops mean inside of it."""

    level: int = 0            # 1 for the outermost
    stays: bool = False       # it is in force while it runs its rule, and puts itself out of force where that goes below
    legacy: bool = False      # the older vmap, under which custom Functions run as they are
    is_forward: bool = False  # it carries tangents
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

    def concerns(self, op: OpDef, args: Any) -> bool:
        """Whether this op means something else inside the transform."""
        return True

    def run(self, op: OpDef, args: Any) -> Any:
        """Run an op that concerns this transform; only the transforms outside of it are in force (see `stays`)."""
        raise NotImplementedError

    def apply_function(self, cls: Any, args: Any) -> Any:
        """Run a custom Function inside the transform."""
        raise NotImplementedError

    def process(self, op: OpDef, args: Any) -> Any:
        """Run an op that was called while this is the innermost transform."""
        return process(op, args)


def process(op: OpDef, args: Any) -> Any:
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
            # What `only_outer` does, for every op, and without calls: an interrupt comes between all of it or none.
            outer, hooks, below = stack[:kept], tls.saved_hooks, stack[kept].hooks_below
            more = len(below) - len(hooks)
            switches.any_mode += more - hidden
            tls.slow_path -= hidden
            tls.run_flags += 2 * (more - hidden)
            tls.saved_hooks = below
            tls.transforms = outer
            try:
                return level.run(op, args)
            finally:
                switches.any_mode += hidden - more
                tls.slow_path += hidden
                tls.run_flags += 2 * (hidden - more)
                tls.saved_hooks = hooks
                tls.transforms = stack
    if forward.levels.current >= 0:
        return forward.run(op, args, autograd)
    return autograd(op, args)


# Classes and not generators: these are entered for every op. What they switch is switched without calls, so that an interrupt
# finds all of it done or nothing.
class only_outer:
    """Put all but the outermost `depth` transforms out of force."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __enter__(self) -> None:
        stack, hooks = tls.transforms, tls.saved_hooks
        outer, hidden = stack[:self.depth], len(stack) - self.depth
        below = stack[self.depth].hooks_below if hidden else hooks
        more = len(below) - len(hooks)
        self.stack, self.hooks, self.hidden, self.more = stack, hooks, hidden, more
        switches.any_mode += more - hidden
        tls.slow_path -= hidden
        tls.run_flags += 2 * (more - hidden)
        tls.saved_hooks = below
        tls.transforms = outer

    def __exit__(self, *error: Any) -> None:
        switches.any_mode += self.hidden - self.more
        tls.slow_path += self.hidden
        tls.run_flags += 2 * (self.hidden - self.more)
        tls.saved_hooks = self.hooks
        tls.transforms = self.stack


class running:
    """Make `transform` the innermost one."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __enter__(self) -> Any:
        transform, stack = self.transform, tls.transforms
        transform.level = len(stack) + 1
        inner = [*stack, transform]
        transform.hooks_below = self.hooks = tls.saved_hooks
        none: list[Any] = []
        less = self.less = len(self.hooks) - 1                # one transform more, so many saved-tensor hooks less
        switches.any_mode -= less
        tls.slow_path += 1
        tls.run_flags -= 2 * less
        tls.saved_hooks = none
        tls.transforms = inner
        return transform

    def __exit__(self, *error: Any) -> None:
        outer = tls.transforms[:-1]
        switches.any_mode += self.less
        tls.slow_path -= 1
        tls.run_flags += 2 * self.less
        tls.saved_hooks = self.hooks
        tls.transforms = outer
