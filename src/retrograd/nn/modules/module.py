"""Module: a tree of parameters, buffers and submodules with a `forward`.

NOTE [Where attributes of a module live]
Parameters, buffers and submodules are kept in three dictionaries, not in the instance's own; `__getattr__`, which Python
asks when nothing else has the name, looks there. Assigning one removes the name from the other places.
"""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Self

import retrograd as torch
from retrograd import Tensor
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


class Module(Hooked, Stateful):
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
        for registry in ("_parameters", "_buffers", "_modules"):
            found = own.get(registry)
            if found is not None and name in found:
                return found[name]
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

    # ---- finding by dotted name
    def get_submodule(self, target: str) -> Any:
        """The submodule at the path `target`, such as "encoder.0".

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()))
        >>> model.get_submodule("0.1")
        Tanh()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put `module` at the path `target`; with `strict` there must be one already.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        >>> model.set_submodule("1", torch.nn.Tanh())
        >>> model[1]
        Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        return parent, name, getattr(parent, name)

    def get_parameter(self, target: str) -> Any:
        """The parameter at the path `target`.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3))
        >>> model.get_parameter("0.weight").shape
        torch.Size([3, 2])
        """
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Any:
        """The buffer at the path `target`.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
        >>> model.get_buffer("0.running_mean")
        tensor([0., 0.])
        """
        parent, name, found = self._get_member(target)
        if name not in parent._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # ---- iterating
    def _named_members(self, get_members: Any, prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield path + ("." if path else "") + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of the module and, unless `recurse` is off, of its submodules.

        >>> import retrograd as torch
        >>> sum(p.numel() for p in torch.nn.Linear(2, 3).parameters())
        9
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The same with their dotted names.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.PReLU())
        >>> [(name, tuple(p.shape)) for name, p in model.named_parameters()]
        [('0.weight', (3, 2)), ('0.bias', (3,)), ('1.weight', (1,))]
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of the module and, unless `recurse` is off, of its submodules.

        >>> import retrograd as torch
        >>> list(torch.nn.BatchNorm1d(2).buffers())
        [tensor([0., 0.]), tensor([1., 1.]), tensor(0)]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The same with their dotted names.

        >>> import retrograd as torch
        >>> [name for name, _ in torch.nn.BatchNorm1d(2).named_buffers(prefix="norm")]
        ['norm.running_mean', 'norm.running_var', 'norm.num_batches_tracked']
        """
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The modules directly below.

        >>> import retrograd as torch
        >>> list(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh())).children())
        [ReLU(), Sequential(
          (0): Tanh()
        )]
        """
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The same with their names.

        >>> import retrograd as torch
        >>> model = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
        >>> list(model.named_children())
        [('act', ReLU())]
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Any]:
        """The module itself and all below, each once.

        >>> import retrograd as torch
        >>> shared = torch.nn.ReLU()
        >>> [type(m).__name__ for m in torch.nn.Sequential(shared, torch.nn.Sequential(shared)).modules()]
        ['Sequential', 'ReLU', 'Sequential']
        """
        for _, module in self.named_modules():
            yield module

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The same with their dotted names.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh()))
        >>> [name for name, _ in model.named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    # ---- changing all at once
    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on every submodule, the deepest first, and on the module itself.

        >>> import retrograd as torch
        >>> def zero_bias(module):
        ...     if isinstance(module, torch.nn.Linear):
        ...         torch.nn.init.zeros_(module.bias)
        >>> torch.nn.Sequential(torch.nn.Linear(2, 2)).apply(zero_bias)[0].bias
        Parameter containing:
        tensor([0., 0.], requires_grad=True)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace the data of all parameters, their gradients and all buffers by what `fn` makes of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        swaps = torch.__future__.get_swap_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with torch.no_grad():
                made = fn(param)
            fits = made.is_meta is param.is_meta and made.layout is param.layout and not (
                torch.__future__.get_overwrite_module_params_on_conversion())
            if swaps:
                self._swap(name, param, Parameter(made, param.requires_grad))
            elif fits:
                param.data = made
            else:       # a tensor cannot take such data; there is a new parameter in its place
                param = self._parameters[name] = Parameter(made, param.requires_grad)
            if grad is None:
                continue
            with torch.no_grad():
                made = fn(grad)
            param.grad = None                       # so that it may have another dtype than the parameter had
            if swaps:
                self._swap(f"{name}.grad", grad, made.requires_grad_(grad.requires_grad))
                param.grad = grad
            elif fits:
                grad.data = made
                param.grad = grad
            else:
                param.grad = made.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, old: Any, new: Any) -> None:
        """Let a tensor become another one for everybody who holds it."""
        try:
            torch.utils.swap_tensors(old, new)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating point (and complex) parameters and buffers to another dtype, and all to another device.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            if dtype.is_complex:
                warnings.warn(COMPLEX_WARNING, stacklevel=2)

        def convert(t: Any) -> Any:
            wanted = dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else t.dtype
            if memory_format is not None and t.ndim in (4, 5):
                return t.to(device or t.device, wanted, non_blocking, memory_format=memory_format)
            return t.to(device or t.device, wanted, non_blocking)

        try:
            return self._apply(convert)
        except NotImplementedError as error:
            if str(error).startswith("Cannot copy out of meta tensor; no data!"):
                raise NotImplementedError(f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
                                          "moving module from meta to a different device.") from None
            raise

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to `device` without copying values.

        >>> import retrograd as torch
        >>> outline = torch.nn.Linear(2, 3, device="meta")
        >>> outline.to_empty(device="cpu").weight.device
        device(type='cpu')
        """
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to `dst_type`.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).type(torch.float16).weight.dtype
        torch.float16
        """
        return self._apply(lambda t: t.type(dst_type))

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that processes share.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda t: t.share_memory_())

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).double().float().weight.dtype
        torch.float32
        """
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).double().weight.dtype
        torch.float64
        """
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).half().weight.dtype
        torch.float16
        """
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).bfloat16().weight.dtype
        torch.bfloat16
        """
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the cpu.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).cpu().weight.device
        device(type='cpu')
        """
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a CUDA device.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).cuda()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with CUDA enabled
        """
        return self._move("cuda", device)

    def xpu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an XPU.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).xpu()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with XPU enabled
        """
        return self._move("xpu", device)

    def ipu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an IPU.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).ipu()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with IPU enabled
        """
        return self._move("ipu", device)

    def mtia(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an MTIA device.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).mtia()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with MTIA enabled
        """
        return self._move("mtia", device)

    def _move(self, kind: str, device: Any) -> Self:
        place = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else device
        return self._apply(lambda t: t.to(place))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile what calling the module does, as `torch.compile` compiles a function.

        >>> import retrograd as torch
        >>> layer = torch.nn.ReLU()
        >>> layer.compile()
        >>> layer(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    def train(self, mode: bool = True) -> Self:
        """Set whether the module and all below are training.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Dropout()).eval()
        >>> model.train()[0].training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`.

        >>> import retrograd as torch
        >>> torch.nn.Dropout().eval()(torch.ones(3))
        tensor([1., 1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients of the parameters are wanted.

        >>> import retrograd as torch
        >>> [p.requires_grad for p in torch.nn.Linear(2, 2).requires_grad_(False).parameters()]
        [False, False]
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros.

        >>> import retrograd as torch
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> model(torch.ones(2)).backward()
        >>> model.weight.grad
        tensor([[1., 1.]])
        >>> model.zero_grad()
        >>> print(model.weight.grad)
        None
        """
        if getattr(self, "_is_replica", False):
            warnings.warn("Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                          "copied (in a differentiable manner) from the original module. This means they are not leaf nodes "
                          "in autograd and so don't accumulate gradients. If you need gradients in your forward method, "
                          "consider using autograd.grad instead.", stacklevel=2)
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                    continue
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

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


COMPLEX_WARNING = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not work as "
    "expected when using complex tensors as parameters or buffers. Please file an issue at https://github.com/pytorch/pytorch/"
    "issues/new?template=bug-report.yml if a complex module does not work as expected.")


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


PYTHON_TYPES: dict[Any, Any] = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def is_dtype(value: Any) -> bool:
    return isinstance(value, torch.dtype) or (isinstance(value, type) and value in PYTHON_TYPES)


def parse_to(args: Any, kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory format that a call of `to` means."""
    rest, given = list(args), dict(kwargs)
    device, dtype, memory_format = given.pop("device", None), given.pop("dtype", None), given.pop("memory_format", None)
    non_blocking, tensor = given.pop("non_blocking", False), given.pop("tensor", None)
    given.pop("copy", None)
    wrong = bool(given) or not (memory_format is None or isinstance(memory_format, torch.memory_format))
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and is_dtype(rest[0]):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, torch.device))):
        device = rest.pop(0)
        if rest and (rest[0] is None or is_dtype(rest[0])):
            dtype = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        non_blocking = rest.pop(0)
        if rest and isinstance(rest[0], bool):
            rest.pop(0)
    if wrong or rest:
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        tail = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
        raise TypeError(f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        f" * (torch.device device = None, torch.dtype dtype = None, {tail}"
                        f" * (torch.dtype dtype, {tail} * (Tensor tensor, {tail}")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return None if device is None else torch.device(device), PYTHON_TYPES.get(dtype, dtype), non_blocking, memory_format


__all__ = ["Module", "_IncompatibleKeys", "register_module_backward_hook", "register_module_buffer_registration_hook",
           "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]
publish(globals(), __all__)
