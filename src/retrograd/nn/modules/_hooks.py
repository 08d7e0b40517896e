"""Hooks of modules: registering them on one module or on all, and the call that runs them around `forward`."""
from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from retrograd import Tensor
from retrograd.utils.hooks import BackwardHook, RemovableHandle

Hook = Callable[..., Any]


class Everywhere:
    """The hooks that run for every module; shaped like the hook part of a module."""

    def __init__(self) -> None:
        self.backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self.backward_hooks: OrderedDict[int, Hook] = OrderedDict()
        self.is_full_backward_hook: bool | None = None
        self.forward_hooks: OrderedDict[int, Hook] = OrderedDict()
        self.forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
        self.forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
        self.buffer_registration: OrderedDict[int, Hook] = OrderedDict()
        self.module_registration: OrderedDict[int, Hook] = OrderedDict()
        self.parameter_registration: OrderedDict[int, Hook] = OrderedDict()


everywhere = Everywhere()


def add(hooks: Any, hook: Hook, *marks: Any, prepend: bool = False) -> RemovableHandle:
    """Put `hook` into `hooks`, and its id into those of `marks` that are not None."""
    kept = [mark for mark in marks if mark is not None]
    handle = RemovableHandle(hooks, extra_dict=kept)
    hooks[handle.id] = hook
    for mark in kept:
        mark[handle.id] = True
    if prepend:
        for store in (hooks, *kept):
            store.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered; it may return a replacement.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_buffer_registration_hook
    >>> handle = register_module_buffer_registration_hook(lambda module, name, buffer: print(name))
    >>> norm = torch.nn.BatchNorm1d(2)
    running_mean
    running_var
    num_batches_tracked
    >>> handle.remove()
    """
    return add(everywhere.buffer_registration, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a module is registered; it may return a replacement.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_module_registration_hook
    >>> handle = register_module_module_registration_hook(lambda module, name, submodule: print(name, submodule))
    >>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    0 ReLU()
    1 Tanh()
    >>> handle.remove()
    """
    return add(everywhere.module_registration, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered; it may return a replacement.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_parameter_registration_hook
    >>> handle = register_module_parameter_registration_hook(lambda module, name, parameter: print(name))
    >>> layer = torch.nn.Linear(2, 3)
    weight
    bias
    >>> handle.remove()
    """
    return add(everywhere.parameter_registration, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_forward_pre_hook
    >>> handle = register_module_forward_pre_hook(lambda module, args: print(type(module).__name__))
    >>> _ = torch.nn.Sequential(torch.nn.ReLU())(torch.ones(1))
    Sequential
    ReLU
    >>> handle.remove()
    """
    return add(everywhere.forward_pre_hooks, hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_forward_hook
    >>> handle = register_module_forward_hook(lambda module, args, output: output * 10)
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([ 0., 20.])
    >>> handle.remove()
    """
    return add(everywhere.forward_hooks, hook, everywhere.forward_hooks_with_kwargs if with_kwargs else None,
               everywhere.forward_hooks_always_called if always_call else None)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The older kind of backward hook, which sees only the last node of the module; for every module.

    >>> from retrograd.nn.modules.module import register_module_backward_hook, register_module_full_backward_hook
    >>> register_module_full_backward_hook(print).remove()
    >>> register_module_backward_hook(print)      # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot use both regular backward hooks and full backward hooks as a global Module hook. ...
    """
    if everywhere.is_full_backward_hook is True:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use "
                           "only one of them.")
    everywhere.is_full_backward_hook = False
    return add(everywhere.backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradients of any module's outputs are known.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_full_backward_pre_hook
    >>> handle = register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output))
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0], requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    >>> handle.remove()
    """
    return add(everywhere.backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of any module's inputs are known.

    >>> import retrograd as torch
    >>> from retrograd.nn.modules.module import register_module_full_backward_hook
    >>> handle = register_module_full_backward_hook(lambda module, grad_input, grad_output: print(module, grad_input))
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0], requires_grad=True)).sum().backward()
    ReLU() (tensor([0., 1.]),)
    >>> handle.remove()
    """
    if everywhere.is_full_backward_hook is False:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use "
                           "only one of them.")
    everywhere.is_full_backward_hook = True
    return add(everywhere.backward_hooks, hook)


class Hooked:
    """The part of Module that holds hooks and runs them."""

    _backward_pre_hooks: Any
    _backward_hooks: Any
    _is_full_backward_hook: bool | None
    _forward_hooks: Any
    _forward_hooks_with_kwargs: Any
    _forward_hooks_always_called: Any
    _forward_pre_hooks: Any
    _forward_pre_hooks_with_kwargs: Any
    forward: Any

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; it may return replacements for the arguments.

        >>> import retrograd as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (-args[0],))
        >>> layer(torch.tensor([-1.0, 2.0]))
        tensor([1., 0.])
        >>> handle.remove()
        >>> layer(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
        return add(self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs if with_kwargs else None, prepend=prepend)

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; it may return a replacement for the output.

        >>> import retrograd as torch
        >>> layer = torch.nn.ReLU()
        >>> seen = []
        >>> handle = layer.register_forward_hook(lambda module, args, output: seen.append(output))
        >>> _ = layer(torch.tensor([-1.0, 2.0]))
        >>> seen
        [tensor([0., 2.])]
        """
        return add(self._forward_hooks, hook, self._forward_hooks_with_kwargs if with_kwargs else None,
                   self._forward_hooks_always_called if always_call else None, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known; it may replace them.

        >>> import retrograd as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> layer(x).backward()
        >>> x.grad
        tensor([10.])
        """
        return add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The older kind of backward hook, which sees the gradients of the module's last node only.

        >>> import retrograd as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
        >>> layer(torch.tensor([-1.0, 2.0], requires_grad=True) * 1).sum().backward()
        (tensor([0., 1.]),)
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")
        self._is_full_backward_hook = False
        return add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        >>> from retrograd import nn, ones
        >>> layer = nn.Identity()
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
        >>> layer(ones(2, requires_grad=True)).sum().backward()
        (tensor([1., 1.]),)
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")
        self._is_full_backward_hook = True
        return add(self._backward_hooks, hook, prepend=prepend)

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """The backward hooks that count here: those of the full kind, and those of the older one."""
        full: list[Hook] = []
        partial: list[Hook] = []
        for is_full, hooks in ((everywhere.is_full_backward_hook, everywhere.backward_hooks),
                               (self._is_full_backward_hook, self._backward_hooks)):
            (full if is_full is True else partial).extend(hooks.values())
        return full, partial

    def _get_backward_pre_hooks(self) -> list[Hook]:
        """The hooks that are called before the gradients of the outputs go through."""
        return [*everywhere.backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    # ---- the call
    _compiled_call_impl: Any = None

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__               # an attribute of a class with `__getattr__` costs several times as much
        compiled = own.get("_compiled_call_impl")
        if compiled is not None:
            return compiled(*args, **kwargs)
        try:
            hooked = (own["_backward_hooks"] or own["_backward_pre_hooks"] or own["_forward_hooks"] or own["_forward_pre_hooks"]
                      or everywhere.backward_pre_hooks or everywhere.backward_hooks or everywhere.forward_hooks
                      or everywhere.forward_pre_hooks)
        except KeyError:                  # `Module.__init__` was not called: the error is that of a missing attribute
            hooked = True
        if hooked:
            return self._call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs) if kwargs else self.forward(*args)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if not (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
                or everywhere.backward_pre_hooks or everywhere.backward_hooks or everywhere.forward_hooks
                or everywhere.forward_pre_hooks):
            return self.forward(*args, **kwargs)
        called: set[int] = set()
        try:
            return self._call_with_hooks(args, kwargs, called)
        except Exception:
            self._run_always_called(args, kwargs, called)
            raise

    def _call_with_hooks(self, args: Any, kwargs: Any, called: set[int]) -> Any:
        full, partial = self._get_backward_hooks()
        before = self._get_backward_pre_hooks()
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        around = None
        if full or before:
            around = BackwardHook(self, full, before)
            args = around.setup_input_hook(args)
        result = self.forward(*args, **kwargs)
        result = self._run_forward_hooks(args, kwargs, result, called)
        if around is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                              f"received {type(result)}", stacklevel=4)
            result = around.setup_output_hook(result)
        if partial:
            self._hook_last_node(args, result, partial)
        return result

    def _run_forward_pre_hooks(self, args: Any, kwargs: Any) -> Any:
        for key, hook in [*everywhere.forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                           f"{result}.")
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _run_forward_hooks(self, args: Any, kwargs: Any, result: Any, called: set[int]) -> Any:
        for key, hook in [*everywhere.forward_hooks.items(), *self._forward_hooks.items()]:
            if key in self._forward_hooks_always_called or key in everywhere.forward_hooks_always_called:
                called.add(key)
            if key in self._forward_hooks_with_kwargs or key in everywhere.forward_hooks_with_kwargs:
                found = hook(self, args, kwargs, result)
            else:
                found = hook(self, args, result)
            if found is not None:
                result = found
        return result

    def _run_always_called(self, args: Any, kwargs: Any, called: set[int]) -> None:
        """After an error: the hooks that asked to run in any case, and have not."""
        for hooks, always, with_kwargs, name in (
                (everywhere.forward_hooks, everywhere.forward_hooks_always_called, everywhere.forward_hooks_with_kwargs,
                 "global module forward hook"),
                (self._forward_hooks, self._forward_hooks_always_called, self._forward_hooks_with_kwargs,
                 "module forward hook")):
            for key, hook in list(hooks.items()):
                if key not in always or key in called:
                    continue
                try:
                    hook(self, args, kwargs, None) if key in with_kwargs else hook(self, args, None)
                except Exception as error:
                    warnings.warn(f"{name} with ``always_call=True`` raised an exception that was silenced as another error "
                                  f"was raised in forward: {error!s}", stacklevel=4)

    def _hook_last_node(self, args: Any, result: Any, hooks: list[Hook]) -> None:
        """The older backward hooks: on the node of the first output."""
        first = result
        while not isinstance(first, Tensor):
            first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
        node = first.grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(functools.update_wrapper(functools.partial(hook, self), hook)
                               if hasattr(hook, "__name__") else functools.partial(hook, self))
        warn_about_partial_hooks(args, result, node)


def warn_about_partial_hooks(args: Any, result: Any, node: Any) -> None:
    """Say when the older backward hooks miss gradients."""
    on_modules, when = "Using non-full backward hooks on a Module that does not ", "Using a non-full backward hook when "
    advice = " Please use register_full_backward_hook to get the documented behavior."
    results = (result,) if isinstance(result, Tensor) else result
    inputs = (args,) if isinstance(args, Tensor) else args
    nodes = {id(r.grad_fn) for r in results if r.grad_fn is not None} if are_tensors(results) else set()
    if not are_tensors(results):
        use, missing = on_modules + "return a single Tensor or a tuple of Tensors", "of the grad_output"
    elif not are_tensors(inputs):
        use, missing = on_modules + "take as input a single Tensor or a tuple of Tensors", "of the grad_input"
    elif len(nodes) > 1:
        use, missing = when + "outputs are generated by different autograd Nodes", "grad_output"
    elif nodes != {id(node)}:
        use, missing, advice = when + "outputs are nested in python data structure", "grad_output", ""
    elif {id(a.grad_fn) for a in inputs if a.grad_fn is not None} != {id(following) for following, _ in node.next_functions}:
        use, missing = when + "the forward contains multiple autograd Nodes", "grad_input"
    else:
        return
    warnings.warn(f"{use} is deprecated and will be removed in future versions. This hook will be missing some {missing}."
                  + advice, FutureWarning, stacklevel=6)


def are_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all([isinstance(v, Tensor) for v in values])
