"""Module: a tree of parameters, buffers and submodules with a `forward`.

NOTE [Where attributes of a module live]
Parameters, buffers and submodules are kept in three dictionaries, not in the instance's own; `__getattr__`, which Python
asks when nothing else has the name, looks there. Assigning one removes the name from the other places.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from retrograd import Tensor
from retrograd.nn.modules._converted import Converted
from retrograd.nn.modules._hooks import (
    Hooked,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from retrograd.nn.modules._state import Stateful, _IncompatibleKeys
from retrograd.nn.parameter import Buffer, Parameter
from retrograd.utils._names import publish


class Module(Converted, Hooked, Stateful):
    """The base class of all layers and models.

    >>> from retrograd import nn, ones
    >>> class Double(nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(ones(2))
    tensor([2., 2.])
    """

    _version: int = 1
    training: bool
    dump_patches: bool = False
    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if self.call_super_init is False and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_backward_pre_hooks", OrderedDict())
        put("_backward_hooks", OrderedDict())
        put("_is_full_backward_hook", None)
        for name in ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
                     "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
                     "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"):
            put(name, OrderedDict())
        put("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """What the module computes; every subclass defines its own, and calling the module runs it with its hooks.

        >>> import retrograd as torch
        >>> class Square(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x * x
        >>> Square()(torch.tensor(3.0))
        tensor(9.)
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    __call__: Callable[..., Any] = Hooked._wrapped_call_impl

    # ---- registering
    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Make `tensor` part of the module's state without making it a parameter.

        >>> import retrograd as torch
        >>> model = torch.nn.Module()
        >>> model.register_buffer("count", torch.zeros(1))
        >>> model.register_buffer("scratch", torch.zeros(1), persistent=False)
        >>> [name for name, _ in model.named_buffers()], list(model.state_dict())
        (['count', 'scratch'], ['count'])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        for hook in everywhere.buffer_registration.values():
            replaced = hook(self, name, tensor)
            tensor = tensor if replaced is None else replaced
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Make `param` (a Parameter or None) one of the module's parameters.

        >>> import retrograd as torch
        >>> model = torch.nn.Module()
        >>> model.register_parameter("scale", torch.nn.Parameter(torch.ones(2)))
        >>> model.register_parameter("shift", None)
        >>> [name for name, _ in model.named_parameters()], model.shift
        (['scale'], None)
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                                "required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                                 f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                                 "forward() method.")
            for hook in everywhere.parameter_registration.values():
                replaced = hook(self, name, param)
                param = param if replaced is None else replaced
        self._parameters[name] = param

    def add_module(self, name: str, module: Any) -> None:
        """Make `module` a child called `name`.

        >>> import retrograd as torch
        >>> model = torch.nn.Module()
        >>> model.add_module("first", torch.nn.Linear(2, 1))
        >>> model.first
        Linear(in_features=2, out_features=1, bias=True)
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        for hook in everywhere.module_registration.values():
            replaced = hook(self, name, module)
            module = module if replaced is None else replaced
        self._modules[name] = module

    def register_module(self, name: str, module: Any) -> None:
        """The same as `add_module`.

        >>> import retrograd as torch
        >>> model = torch.nn.Module()
        >>> model.register_module("act", torch.nn.ReLU())
        >>> model
        Module(
          (act): ReLU()
        )
        """
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, registry: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        dotted = KeyError(f"{kind} name can't contain \".\"" + (f", got: {name}" if kind == "module" else ""))
        taken = KeyError(f"attribute '{name}' already exists")
        if kind == "module" and hasattr(self, name) and name not in self._modules:
            raise taken
        if "." in name:
            raise dotted
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[registry]:
            raise taken

    # ---- attributes
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own and name in (parameters := own["_parameters"]):
            return parameters[name]
        if "_buffers" in own and name in (buffers := own["_buffers"]):
            return buffers[name]
        if "_modules" in own and name in (modules := own["_modules"]):
            return modules[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            forget(name, own, self._buffers, self._modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            forget(name, own, self._parameters, self._buffers, self._non_persistent_buffers_set)
            for hook in everywhere.module_registration.values():
                replaced = hook(self, name, value)
                value = value if replaced is None else replaced
            modules[name] = value
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{type_name(value)}' as child module '{name}' (torch.nn.Module or None "
                                "expected)")
            for hook in everywhere.module_registration.values():
                replaced = hook(self, name, value)
                value = value if replaced is None else replaced
            modules[name] = value
            return
        buffers = own.get("_buffers")
        if isinstance(value, Buffer) or buffers is not None and name in buffers:
            self._set_buffer(name, value, buffers)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any, buffers: Any) -> None:
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"cannot assign '{type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                            "expected)")
        if isinstance(value, Buffer):
            forget(name, self.__dict__, self._parameters, self._modules)
            self.register_buffer(name, value, value.persistent)
            return
        for hook in everywhere.buffer_registration.values():
            replaced = hook(self, name, value)
            value = value if replaced is None else replaced
        buffers[name] = value

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def _replicate_for_data_parallel(self) -> Module:
        """A copy that shares buffers and children, to be given parameters of its own."""
        replica = self.__new__(type(self))
        replica.__dict__.update(self.__dict__, _parameters={}, _buffers=self._buffers.copy(), _modules=self._modules.copy(),
                                _is_replica=True)
        return replica

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted([name for name in names if not name[0].isdigit()])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs",
                     "_forward_hooks_always_called", "_state_dict_hooks", "_state_dict_pre_hooks",
                     "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_backward_pre_hooks"):
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ---- showing
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of the module besides its children.

        >>> import retrograd as torch
        >>> class Scale(torch.nn.Module):
        ...     def extra_repr(self):
        ...         return "by=2"
        >>> Scale()
        Scale(by=2)
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        inside = lines + children
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not inside:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(inside) + "\n)"


def type_name(value: Any) -> str:
    """The name of a value's type as PyTorch's errors write it."""
    return value.type() if isinstance(value, Tensor) and type(value) is Tensor else type(value).__qualname__


def forget(name: str, *places: Any) -> None:
    """Remove `name` from wherever it was before."""
    for place in places:
        if name in place:
            if isinstance(place, set):
                place.discard(name)
            else:
                del place[name]


def indent(text: str, by: int = 2) -> str:
    """All lines but the first, moved to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * by + line for line in rest]])


__all__ = ["Module", "_IncompatibleKeys", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]
publish(globals(), __all__)
