"""Running hooks: on tensors, on nodes before and after they run, and the one that fills `.grad` of retained tensors.

NOTE [Hook order]
For each incoming gradient: the tensor hooks in registration order, then the hook that retains `.grad`; then the node's
pre-hooks; the node; its post-hooks. The hooks are listed when the run starts, so removing one does not affect that run.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from retrograd.core.graph import AccumulateGrad, Node, NodeHooks, RemovableHandle
from retrograd.core.saved import type_name
from retrograd.core.tensor import Tensor, extra_of, wants_grad


def run_tensor_hooks(node: Node, grads: list[Any]) -> list[Any]:
    """Run the hooks of the tensors that `node` computed (or of the leaf, for an accumulator)."""
    if type(node) is AccumulateGrad:
        extra = node.variable._extra
        if extra is not None and extra.hooks:
            grads = [run_value_hooks(extra.hooks, grads[0])]
        return grads
    hooks = node._hooks_
    if hooks is None:
        return grads
    joins = getattr(node, "joins", False)         # it represents several nodes, some of which are not in this pass
    if hooks.tensor is not None:
        grads = list(grads)
        for nr, registered in hooks.tensor.items():
            if grads[nr] is not None or not joins:
                grads[nr] = run_value_hooks(registered, grads[nr])
    if hooks.retain is not None:
        for nr, retain in list(hooks.retain.items()):
            if grads[nr] is not None or not joins:
                retain(grads[nr])
    return grads


def run_value_hooks(hooks: dict[Any, Any], grad: Tensor | None) -> Any:
    for hook in list(hooks.values()):
        result = hook(grad)
        if result is not None:
            check_hook_result(grad, result, hook)
            grad = result
    return grad


def check_hook_result(old: Tensor | None, new: Any, hook: Callable[..., Any]) -> None:
    """Check that a hook's replacement has the type, shape and dtype of the gradient."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old.dtype is not new.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {type_name(old.dtype)} got "
                           f"{type_name(new.dtype)})")
    if old.array.shape != new.array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def run_pre_hooks(node: Node, grads: list[Any]) -> list[Any]:
    """Run all hooks that come before the node itself."""
    grads = run_tensor_hooks(node, grads)
    hooks = node._hooks_
    if hooks is not None and hooks.pre:
        for hook in list(hooks.pre.values()):
            result = hook(tuple(grads))
            if result is not None:
                grads = as_results(result, grads, hook)
    return grads


def run_post_hooks(node: Node, results: list[Any], grads: list[Any], inputs_known: bool) -> list[Any]:
    """Run the hooks that come after the node; a hook registered while it ran has no grad_outputs."""
    if not inputs_known:
        grads = [None] * len(grads)
    for hook in list(node._hooks_.post.values()):
        result = hook(tuple(results), tuple(grads))
        if result is not None:
            results = as_results(result, results, hook)
    return results


def as_results(result: Any, old: Sequence[Any], hook: Callable[..., Any]) -> list[Any]:
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(old):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected "
                           f"{len(old)})")
    for before, after in zip(old, result, strict=True):
        if after is not None:
            check_hook_result(before, after, hook)
    return list(result)


# ---- registering
def register_hook(tensor: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of `tensor` is computed; it may return a replacement.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if not wants_grad(tensor):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = tensor._recorded
    if node is None:
        extra = extra_of(tensor)
        if extra.hooks is None:
            extra.hooks = {}
        hooks = extra.hooks
    else:
        if node._hooks_ is None:
            node._hooks_ = NodeHooks()
        if node._hooks_.tensor is None:
            node._hooks_.tensor = {}
        hooks = node._hooks_.tensor.setdefault(tensor._nr, {})
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to the `.grad` of a leaf.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
    >>> x.sum().backward()
    tensor([1., 1.])
    """
    if not wants_grad(tensor):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor._recorded is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    extra = extra_of(tensor)
    if extra.post_hooks is None:
        extra.post_hooks = {}
    handle = RemovableHandle(extra.post_hooks)
    extra.post_hooks[handle.id] = hook
    return handle


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a non-leaf tensor in its `.grad`.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    if not wants_grad(tensor):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = tensor._recorded
    if node is None:
        return
    extra = extra_of(tensor)
    if extra.retains_grad:
        return
    extra.retains_grad = True
    weak = ref(tensor)

    def retain(grad: Tensor) -> None:
        holder = weak()
        if holder is not None and grad is not None:
            holder._grad = grad.clone() if holder._grad is None else holder._grad + grad

    if node._hooks_ is None:
        node._hooks_ = NodeHooks()
    if node._hooks_.retain is None:
        node._hooks_.retain = {}
    node._hooks_.retain[tensor._nr] = retain
