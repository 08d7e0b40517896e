"""Tracer: runs a program on proxies and writes down what it does."""
from __future__ import annotations

import builtins
import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any

import retrograd as torch
from retrograd.fx._checks import _assert, _assert_is_none
from retrograd.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from retrograd.fx._compatibility import compatibility
from retrograd.fx._names import is_ours
from retrograd.fx._wrap import wrap, wrapped_methods, wrapped_names
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import map_aggregate
from retrograd.fx.proxy import ParameterProxy, Proxy, TracerBase, record_call
from retrograd.jit import ScriptObject
from retrograd.nn import Module, Parameter, Sequential
from retrograd.overrides import TorchFunctionMode
from retrograd.utils import _pytree as pytree

__all__ = ["FunctionType", "PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "ScriptObject", "Tracer", "compatibility",
           "functools", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__


class PHBase:
    """Stands for an argument that stays one, among concrete arguments that do not."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """The same with a name by which the placeholder can be found."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """Lets a class be made from proxies: its `__init__` is recorded as one call.

    >>> import retrograd as torch
    >>> class Pair(metaclass=ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> graph = torch.fx.symbolic_trace(lambda x: Pair(x, x + 1)).graph
    >>> [node.target.__name__ for node in graph.find_nodes(op="call_function", target=Pair)]
    ['Pair']
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        tracers: list[Any] = []

        def look(value: Any) -> Any:
            if isinstance(value, Proxy):
                tracers.append(value.tracer)
            return value
        map_aggregate((args, kwargs), look)
        if tracers:
            return tracers[0].create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracing:
    """Whether a tracer is at work."""

    depth = 0


def is_fx_tracing() -> bool:
    return Tracing.depth > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyCalls(TorchFunctionMode):
    """Shows the tracer every public function that is called with one of its proxies, wherever in the arguments it is."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found: list[Any] = []

        def look(value: Any) -> Any:
            if isinstance(value, Proxy):
                found.append(value.tracer)
            return value
        map_aggregate(args, look)
        map_aggregate(kwargs or {}, look)
        if not found:
            return func(*args, **(kwargs or {}))
        return record_call(found[0], func, args, kwargs or {})


class Tracer(TracerBase):
    """Traces modules and functions; subclasses decide what is looked into.

    >>> import retrograd as torch
    >>> class Shallow(Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> [node.name for node in Shallow().trace(model).nodes]
    ['input_1', '_0', '_1', 'output']
    """

    def __init__(self, autowrap_modules: tuple[Any, ...] = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (),
                 param_shapes_constant: bool = False) -> None:
        super().__init__()
        self._autowrap_function_ids = {id(f) for f in autowrap_functions} | {
            id(value) for module in autowrap_modules for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.module_stack: dict[str, Any] = {}
        self.num_calls: dict[str, int] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.graph = Graph()
        self.function: Any = None                 # the function that is traced

    # ---- what may be overridden
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether calls of a module are recorded as such rather than looked into."""
        module = type(m).__module__
        return module.startswith(("torch.nn", "torch.ao.nn", "retrograd.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Any) -> str:
        """The name of a module in the one that is traced."""
        if self.submodule_paths is not None:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, each in self.root.named_modules():
            if each is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a module becomes."""
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading an attribute of a module gives."""
        if isinstance(attr_val, Parameter):
            names = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            names = self.root.named_buffers()
        else:
            return attr_val
        for name, value in names:
            if value is attr_val:
                if name not in parameter_proxy_cache:
                    factory = None
                    if self.param_shapes_constant and isinstance(attr_val, Parameter):
                        factory = functools.partial(ParameterProxy.of, self, name, attr_val)
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
                return parameter_proxy_cache[name]
        return attr_val

    def get_fresh_qualname(self, prefix: str) -> str:
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        """What stands for `a` in a node: tensors and modules that the traced module does not have are put on it."""
        if isinstance(a, Parameter):
            for name, value in self.root.named_parameters():
                if value is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, value in self.root.named_buffers():
                if value is a:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(a)
            if name is None:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields") and type(a).__module__ != "torch.return_types":
            return self.create_node("call_function", type(a), tuple([self.create_arg(item) for item in a]), {})
        if type(a) in PROXYABLE or isinstance(type(a), ProxyableClassMeta):
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    # ---- the arguments of the traced function
    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool,
                             concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> tuple[Any, list[Any]]:
        """Placeholders for the parameters of `root_fn`, and the function that takes them, all by position."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        signature = inspect.signature(function)
        self.function = function
        args: list[Any] = []
        if is_module:
            if code.co_argcount == 0:
                raise RuntimeError("`self` argument cannot be part of *args expansion!")
            args.append(self.root)
        skip = len(args)
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != count - skip:
                raise RuntimeError(f"Tracing expected {count - skip} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(names[skip:count], concrete_args, strict=True))
        for name in names[skip:count]:
            args.append(self.argument(name, signature, concrete_args))
        total = count
        for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                args.append(self.proxy_placeholder(stars + names[total], signature))
                total += 1
        if total > code.co_argcount:
            function = taking_all_by_position(function, total)
        elif function is not root_fn:
            function = root_fn
        if concrete_args and any([isinstance(value, dict | list | tuple) for value in concrete_args.values()]):
            leaves, in_spec = pytree.tree_flatten(tuple(args[skip:]))
            self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names[:count], in_spec, None)))
            function = flat_result(function, self.graph, names[:count], in_spec)
        return function, args

    def proxy_placeholder(self, name: str, signature: Any) -> Any:
        if name.startswith("*"):
            default: tuple[Any, ...] = ()
            kind = None
        else:
            parameter = signature.parameters[name]
            default = () if parameter.default is parameter.empty else (parameter.default,)
            kind = None if parameter.annotation is parameter.empty else self.resolve(parameter.annotation)
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def resolve(self, annotation: Any) -> Any:
        """An annotation that may be a text; the library's own functions count as without any, as PyTorch's are."""
        if is_ours(self.function):
            return None
        if isinstance(annotation, str):
            try:
                return eval(annotation, getattr(self.function, "__globals__", {}))
            except NameError:
                return None
        return annotation

    def argument(self, name: str, signature: Any, concrete: dict[str, Any] | None) -> Any:
        if concrete is None or name not in concrete:
            return self.proxy_placeholder(name, signature)
        number = 0

        def leaf(value: Any) -> Any:
            nonlocal number
            number += 1
            if value is PH:
                return self.create_proxy("placeholder", f"{name}_{number}", (), {})
            if isinstance(value, PHBase):
                node = self.create_proxy("placeholder", f"{name}_{number}", (), {})
                node.node.meta.update(vars(value))
                return node
            self.pin(self.create_proxy("placeholder", f"{name}_{number}", (), {}), name, value)
            return value
        return pytree.tree_map(leaf, concrete[name])

    def pin(self, proxy: Proxy, name: str, value: Any) -> None:
        """Check in the graph that an argument is the one that the graph was made for."""
        if isinstance(value, bool | int | float | str):
            message = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", _assert, (proxy == value, message), {})
        elif value is None:
            message = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        else:
            warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up "
                          "to the user to make sure that your inputs match the inputs you specialized the function with.",
                          stacklevel=2)

    # ---- tracing
    def trace(self, root: Any, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> Graph:
        """The graph of a module or function."""
        is_module = isinstance(root, Module)
        if is_module:
            function = getattr(type(root), self.traced_func_name)
            self.root = root
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, function, self.submodule_paths = Module(), root, None
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        self.collect_tensors(self.root, "")
        call, args = self.create_args_for_root(function, is_module, concrete_args)
        with self.patched():
            result = call(*args)
            returns = self.resolve(getattr(inspect.unwrap(function), "__annotations__", {}).get("return"))
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=returns)
        return self.graph

    def collect_tensors(self, module: Any, prefix: str) -> None:
        """Note the tensors that are plain attributes of the module."""
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                self.tensor_attrs[value] = prefix + name
        for name, child in module.named_children():
            self.collect_tensors(child, f"{prefix}{name}.")

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Show the tracer calls of modules, reads of their parameters, and calls of wrapped functions."""
        seen: dict[str, Any] = {}
        get, call = Module.__getattr__, Module.__call__

        def getattr_seen(module: Any, name: str) -> Any:
            return self.getattr(name, get(module, name), seen)

        def call_seen(module: Any, *args: Any, **kwargs: Any) -> Any:
            scope = getattr(getattr(module, "forward", module), "__globals__", {})
            _autowrap_check(patcher, scope, self._autowrap_function_ids)
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)
        with _Patcher() as patcher:
            patcher.patch_method(Module, "__getattr__", getattr_seen, deduplicate=False)
            patcher.patch_method(Module, "__call__", call_seen, deduplicate=False)
            _patch_wrapped_functions(patcher)
            own = getattr(inspect.unwrap(self.function), "__globals__", {})
            for scope in (own, *[module.__dict__ for module in self._autowrap_search]):
                _autowrap_check(patcher, scope, self._autowrap_function_ids)
            Tracing.depth += 1
            patcher.undo.callback(leave)
            patcher.undo.enter_context(ProxyCalls(self))
            yield


class _Patcher:
    """Replaces names in scopes and methods of classes until it is left.

    >>> scope = {"double": lambda x: x * 2}
    >>> with _Patcher() as patcher:
    ...     patcher.patch(scope, "double", lambda x: x * 20)
    ...     scope["double"](1)
    20
    >>> scope["double"](1)
    2
    """

    def __init__(self) -> None:
        self.undo = ExitStack()
        self.visited: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replace a name of a scope, or cover a builtin; what a patch put there with `deduplicate` stays."""
        if name in frame_dict:
            if getattr(frame_dict[name], "_fx_already_patched", False):
                return
            self.undo.callback(frame_dict.__setitem__, name, frame_dict[name])
        else:
            self.undo.callback(frame_dict.pop, name, None)
        new_fn._fx_already_patched = deduplicate    # type: ignore[attr-defined]
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replace a method of a class."""
        if getattr(getattr(cls, name), "_fx_already_patched", False):
            return
        if name in vars(cls):
            self.undo.callback(setattr, cls, name, vars(cls)[name])
        else:
            self.undo.callback(delattr, cls, name)
        new_fn._fx_already_patched = deduplicate    # type: ignore[attr-defined]
        setattr(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Whether this is the first visit."""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def revert_all_patches(self) -> None:
        self.undo.close()
        self.visited.clear()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: Any) -> None:
        self.revert_all_patches()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Let the functions and methods given to `wrap` record their calls."""
    for (_, name), scope in list(wrapped_names.items()):
        function = scope[name] if name in scope else getattr(builtins, name, None)
        if function is not None:
            patcher.patch(scope, name, seen_call(function))
    for cls, name in wrapped_methods:
        patcher.patch_method(cls, name, seen_method(getattr(cls, name), name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> _Patcher:
    """Let those functions of a scope record their calls that a tracer was given for it."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and id(value) in function_ids:
                patcher.patch(frame_dict, name, seen_call(value))
    return patcher


def leave() -> None:
    Tracing.depth -= 1


PROXYABLE: set[type] = set()


def seen_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that records itself if one of its arguments is a proxy."""
    def seen(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made
    return seen


def seen_method(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def seen(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return seen


def find_proxy(value: Any) -> Proxy | None:
    found: list[Proxy] = []

    def look(item: Any) -> Any:
        if isinstance(item, Proxy):
            found.append(item)
        return item
    map_aggregate(value, look)
    return found[0] if found else None


def taking_all_by_position(function: Any, count: int) -> Any:
    """The function with its keyword-only parameters, `*args` and `**kwargs` as ordinary ones: each gets one proxy."""
    code = function.__code__
    code = code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
                        co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def flat_result(function: Any, graph: Graph, names: list[str], in_spec: Any) -> Any:
    """The function with a result that is taken apart, as generated code for nested arguments puts it together again."""
    def flat(*args: Any) -> Any:
        leaves, out_spec = pytree.tree_flatten(function(*args))
        graph._codegen.pytree_info = _PyTreeInfo(names, in_spec, out_spec)
        return leaves
    return flat


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> GraphModule:
    """Trace a module or function into a GraphModule; `concrete_args` are arguments that become part of it.

    >>> import retrograd as torch
    >>> traced = symbolic_trace(lambda x, y: torch.relu(x) * y)
    >>> print(traced.code.strip())
    def forward(self, x, y):
        relu = torch.relu(x);  x = None
        mul = relu * y;  relu = y = None
        return mul
    >>> traced(torch.tensor([-1.0, 2.0]), 3)
    tensor([0., 6.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)


