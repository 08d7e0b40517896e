"""Transforms: interpreters above autograd, innermost first.

NOTE [The stack of transforms]
`tls.transforms` holds the active transforms of this thread, outermost first. The innermost one that applies to an op
handles it; while its rule runs, only the transforms outside of it are active. Batching applies to an op only if one of its
tensors is batched at that level. An op to which no transform applies goes to forward mode and autograd with the whole stack
in place, so that the ops they call (the tangent of an ordinary tensor may be batched) go through it again.
Saved-tensor hooks belong to the transform in which they were set: they get what that transform's own graph saves. A
transform without a graph, such as vmap, saves nothing, so hooks set in it are not called (and a checkpoint in it keeps
everything).
"""
from __future__ import annotations

from typing import Any

from retrograd.core import forward
from retrograd.core.dispatch import autograd
from retrograd.core.opdef import OpDef
from retrograd.core.state import switches, tls


class Transform:
    """An active transform; subclasses define how ops run inside it."""

    level: int = 0            # 1 for the outermost
    stays: bool = False       # it stays active while its rule runs, and deactivates itself for calls to the level below
    legacy: bool = False      # the older vmap, under which custom Functions run unchanged
    is_forward: bool = False  # it carries tangents
    requires_grad_allowed: bool = False       # `requires_grad_` is allowed inside it
    hooks_below: Any = ()     # the saved-tensor hooks of the transform (or the program) around it

    @property
    def no_backward(self) -> str:
        """The error text for `backward` while this is the innermost transform, where `.grad` cannot be accumulated."""
        if self.legacy:
            return ("backward() called inside torch.vmap. This is not supported, please call backward() outside "
                    "torch.vmap or instead use torch.autograd.grad inside torch.vmap")
        return ("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                "functorch.vjp instead or call backward() outside of functorch transforms.")

    def concerns(self, op: OpDef, args: Any) -> bool:
        """Whether the transform applies to this op."""
        return True

    def run(self, op: OpDef, args: Any) -> Any:
        """Run an op to which this transform applies; only the transforms outside of it are active (see `stays`)."""
        raise NotImplementedError

    def apply_function(self, cls: Any, args: Any) -> Any:
        """Run a custom Function inside the transform."""
        raise NotImplementedError

    def process(self, op: OpDef, args: Any) -> Any:
        """Run an op that was called while this is the innermost transform."""
        return process(op, args)


def process(op: OpDef, args: Any) -> Any:
    """Run an op at the innermost transform that applies to it."""
    stack = tls.transforms
    count = len(stack)
    for depth in range(count - 1, -1, -1):
        level = stack[depth]
        if level.concerns(op, args):
            kept = depth + level.stays
            hidden = count - kept
            if not hidden:
                return level.run(op, args)
            # `only_outer` inlined, since every op runs it; without calls, so that an interrupt cannot leave it half done.
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


# Classes rather than generators, since every op enters them. They switch state without calls, so that an interrupt cannot
# leave it half done.
class only_outer:
    """Deactivate all but the outermost `depth` transforms."""

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
        less = self.less = len(self.hooks) - 1                # hooks that the new transform hides
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
