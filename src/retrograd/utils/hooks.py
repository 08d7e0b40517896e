"""Hooks around modules: the handles that remove them, and the identity nodes in the graph that call them in backward."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from retrograd import Tensor, is_grad_enabled
from retrograd.autograd import Function
from retrograd.autograd.graph import RemovableHandle

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(hook: Any) -> Any:
    """Mark a hook as one that pickling a tensor leaves out without a warning.

    >>> @unserializable_hook
    ... def hook(grad):
    ...     return None
    >>> hook.__torch_unserializable__
    True
    """
    hook.__torch_unserializable__ = True
    return hook


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn that pickling `tensor` loses its backward hooks.

    >>> import retrograd as torch
    >>> warn_if_has_hooks(torch.ones(1, requires_grad=True))
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate "
                          "the function with @torch.utils.hooks.unserializable_hook to suppress this warning", stacklevel=2)


class BackwardHookFunction(Function):
    """The identity; its node marks where a module begins or ends in the graph."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[t for t in args if not t.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """Calls a module's backward hooks once the gradients of its outputs, and then those of its inputs, are known.

    >>> import retrograd as torch
    >>> hook = BackwardHook("module", [lambda module, inputs, outputs: print(inputs, outputs)], [])
    >>> x = torch.ones(1, requires_grad=True)
    >>> y, = hook.setup_input_hook((x,))
    >>> hook.setup_output_hook(y * 2).backward()
    (tensor([2.]),) (tensor([1.]),)
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable[..., Any]],
                 user_pre_hooks: Sequence[Callable[..., Any]]) -> None:
        self.user_hooks, self.user_pre_hooks, self.module = user_hooks, user_pre_hooks, module
        self.grad_outputs: Any = None
        self.n_outputs, self.n_inputs = -1, -1
        self.output_places: Any = None      # where tensors are; None: nothing there requires grad
        self.input_places: Any = None

    def setup_input_hook(self, args: Any) -> Any:
        """Pass the inputs through a node whose gradients are the module's input gradients."""
        def set_up(node: Any) -> None:
            def hook(grad_input: Any, _: Any) -> Any:
                if self.grad_outputs is None:       # backward began inside the module
                    return None
                grads = spread(grad_input, self.input_places, self.n_inputs)
                for user_hook in self.user_hooks:
                    result = user_hook(self.module, grads, self.grad_outputs)
                    if result is None:
                        continue
                    result = result if isinstance(result, tuple) else (result,)
                    if len(result) != len(grads):
                        raise RuntimeError("Backward hook returned an invalid number of grad_input, got "
                                           f"{len(result)}, but expected {len(grads)}")
                    grads = result
                self.grad_outputs = None
                return tuple([grads[i] for i in self.input_places])
            node.register_hook(hook)

        self.n_inputs = len(args)
        args, places = self.through_node(set_up, args)
        self.input_places = places
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """Pass the outputs through a node whose gradients are the module's output gradients."""
        def set_up(node: Any) -> None:
            def hook(_: Any, grad_output: Any) -> Any:
                grads = self.grad_outputs = spread(grad_output, self.output_places, self.n_outputs)
                changed = None
                for pre_hook in self.user_pre_hooks:
                    result = pre_hook(self.module, self.grad_outputs)
                    if result is None:
                        continue
                    result = result if isinstance(result, tuple) else (result,)
                    if len(result) != len(grads):
                        raise RuntimeError("Backward pre hook returned an invalid number of grad_output, got "
                                           f"{len(result)}, but expected {len(grads)}")
                    changed = self.grad_outputs = result
                if self.input_places is None:       # no input takes part: the hooks have nothing else to wait for
                    self.run_without_inputs()
                return None if changed is None else tuple([changed[i] for i in self.output_places])
            node.register_hook(hook)

        is_tuple = isinstance(args, tuple)
        args = args if is_tuple else (args,)
        self.n_outputs = len(args)
        args, self.output_places = self.through_node(set_up, args)
        return args if is_tuple else args[0]

    def run_without_inputs(self) -> None:
        if self.user_hooks:
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no "
                          "inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn."
                          "Module.register_full_backward_hook for more details.", stacklevel=5)
        for user_hook in self.user_hooks:
            result = user_hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all([g is None for g in result])):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                                   "None or None for all gradients.")
        self.grad_outputs = None

    def through_node(self, set_up: Callable[[Any], None], args: Any) -> Any:
        """`args` with its tensors passed through one node, and where they are; unchanged if none requires grad."""
        places = tuple([i for i, a in enumerate(args) if isinstance(a, Tensor)])
        tensors = [args[i] for i in places]
        if not (is_grad_enabled() and any([t.requires_grad for t in tensors])):
            return args, None
        made = BackwardHookFunction.apply(*tensors)
        if len(made) == 0:
            raise RuntimeError("Cannot set Module backward hook for a Module with no input Tensors.")
        nodes = [t.grad_fn for t in made if t.grad_fn is not None]
        if len(nodes) == 0 or any([node.name() != "BackwardHookFunctionBackward" for node in nodes]):
            raise RuntimeError("Error while setting up backward hooks. Please open an issue with a code sample to reproduce "
                               "this.")
        set_up(nodes[0])
        replaced = list(args)
        for i, t in zip(places, made, strict=True):
            replaced[i] = t
        return (type(args)(*replaced) if hasattr(args, "_fields") else tuple(replaced)), places


def spread(values: Any, places: Any, count: int) -> tuple[Any, ...]:
    """`values` put at `places` of a tuple of `count` entries, None elsewhere."""
    made: list[Any] = [None] * count
    for i, value in zip(places, values, strict=True):
        made[i] = value
    return tuple(made)
