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
    """Mark a hook as one that pickling a tensor leaves out without a warning."""
    hook.__torch_unserializable__ = True
    return hook


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn that pickling `tensor` loses its backward hooks."""
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
    """Calls a module's backward hooks once the gradients of its outputs, and then those of its inputs, are known."""

    def __init__(self, module: Any, user_hooks: Sequence[Callable[..., Any]],
                 user_pre_hooks: Sequence[Callable[..., Any]]) -> None:
        self.user_hooks, self.user_pre_hooks, self.module = user_hooks, user_pre_hooks, module
        self.grad_outputs: Any = None
        self.n_outputs, self.output_places = -1, ()
        self.n_inputs, self.input_places = -1, ()

    def setup_input_hook(self, args: Any) -> Any:
        """Pass the inputs through a node whose gradients are the module's input gradients."""
        def set_up(node: Any) -> None:
            def hook(grad_input: Any, _: Any) -> Any:
                if self.grad_outputs is None:       # backward began inside the module
                    return None
                grads = spread(grad_input, self.input_places, self.n_inputs)
                result = self.run(grads, self.grad_outputs)
                self.grad_outputs = None
                if result is None:
                    return None
                check_length(result, self.n_inputs, "Input")
                return tuple([result[i] for i in self.input_places])
            node.register_hook(hook)

        self.n_inputs = len(args)
        args, places = self.through_node(set_up, args)
        self.input_places = places or ()
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """Pass the outputs through a node whose gradients are the module's output gradients."""
        def set_up(node: Any) -> None:
            def hook(_: Any, grad_output: Any) -> Any:
                self.grad_outputs = spread(grad_output, self.output_places, self.n_outputs)
                for pre_hook in self.user_pre_hooks:
                    result = pre_hook(self.module, self.grad_outputs)
                    if result is None:
                        continue
                    result = as_tuple(result)
                    check_length(result, len(self.grad_outputs), "Output")
                    self.grad_outputs = result
                kept = self.grad_outputs
                if self.input_places == ():         # no input takes part: the hooks have nothing else to wait for
                    result = self.run(spread([], (), self.n_inputs), self.grad_outputs)
                    if result is not None and any([g is not None for g in result]):
                        raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                                           "None or None for all gradients.")
                    self.grad_outputs = None
                return tuple([kept[i] for i in self.output_places])
            node.register_hook(hook)

        is_tuple = isinstance(args, tuple)
        args = args if is_tuple else (args,)
        self.n_outputs = len(args)
        args, places = self.through_node(set_up, args)
        self.output_places = places or ()
        return args if is_tuple else args[0]

    def run(self, grad_input: Any, grad_output: Any) -> Any:
        result = None
        for hook in self.user_hooks:
            found = hook(self.module, grad_input, grad_output)
            if found is not None:
                found = as_tuple(found)
                check_length(found, len(grad_input), "Input") if False else None
                grad_input = result = found
        return result

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
            raise RuntimeError("Error while setting up backward hooks. Please open an issue with a code sample to reproduce this.")
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


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def check_length(result: Any, expected: int, kind: str) -> None:
    if len(result) != expected:
        raise RuntimeError(f"Backward hook returned an invalid number of grad_{kind.lower()}, got {len(result)}, but expected "
                           f"{expected}")
