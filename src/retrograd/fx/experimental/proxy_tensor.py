"""make_fx: runs a function on tensors and writes down the ops below autograd, as a GraphModule over the op table's objects."""
from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from retrograd.fx.experimental._symbols import SymbolError, put_symbols
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.interpreter import Interpreter
from retrograd.fx.node import Node
from retrograd.fx.passes.shape_prop import _extract_tensor_metadata
from retrograd.fx.proxy import Proxy, TracerBase
from retrograd.nn import Module, Parameter
from retrograd.utils import _pytree as pytree
from retrograd.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack

__all__ = ["ProxyTorchDispatchMode", "PythonKeyTracer", "disable_proxy_modes_tracing", "get_proxy_mode", "make_fx"]


class PythonKeyTracer(TracerBase):
    """Keeps which value each tensor is, by identity; tensors that it has not seen are constants of the module."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.root = Module()
        self.known: dict[int, tuple[Any, Proxy]] = {}     # id of a tensor -> the tensor, which keeps the id its own
        self.constants: dict[int, tuple[Any, str]] = {}

    def track(self, value: Any, proxy: Proxy) -> None:
        """Note that the tensors of `value` are the results of `proxy`."""
        if isinstance(value, Tensor):
            self.known[id(value)] = (value, proxy)
            seen = value.detach() if not isinstance(value, Parameter) else value
            proxy.node.meta["val"] = seen
            proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(seen)
        elif isinstance(value, tuple | list):
            proxy.node.meta["val"] = value
            for i, item in enumerate(value):
                if isinstance(item, Tensor):
                    self.track(item, self.create_proxy("call_function", operator.getitem, (proxy, i), {}))

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            found = self.known.get(id(a))
            if found is not None:
                return found[1].node
            return self.constant(a)
        return super().create_arg(a)

    def constant(self, a: Any) -> Node:
        found = self.constants.get(id(a))
        if found is None:
            prefix = "_param_constant" if isinstance(a, Parameter) else "_tensor_constant"
            name = f"{prefix}{sum([n.startswith(prefix) for _, n in self.constants.values()])}"
            setattr(self.root, name, a)
            found = self.constants[id(a)] = (a, name)
        return self.create_node("get_attr", found[1], (), {})


class NoNumber(RuntimeError):
    """A traced tensor gives no number; where an overload of an op takes one, the next may take the tensor."""

    no_number = True


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Writes every op down while it runs."""

    def __init__(self, tracer: PythonKeyTracer, tracing_mode: str = "real", decompositions: Any = None) -> None:
        self.tracer, self.tracing_mode = tracer, tracing_mode
        self.decompositions = decompositions or {}
        self.enable_tracing = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.enable_tracing:
            return func(*args, **kwargs)
        if func in self.decompositions:
            with self:
                result = self.decompositions[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        tracer = self.tracer
        tensors = [value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
        if str(func) == "aten._local_scalar_dense.default":
            if any([id(t) in tracer.known for t in tensors]):
                raise NoNumber(
                    f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's "
                    "likely that this is caused by data-dependent control flow or similar.  It may be possible to trace this "
                    "with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call.")
            return func(*args, **kwargs)
        node_args, node_kwargs = tracer.create_arg(args), tracer.create_arg(kwargs)
        if str(func) == "aten.lift_fresh.default":      # neither the function nor the graph may write to the constant
            func = torch.ops.aten.lift_fresh_copy.default
        result = func(*args, **kwargs)
        proxy = tracer.proxy(tracer.create_node("call_function", func, node_args, node_kwargs,
                                                name=func.__name__.partition(".")[0]))
        tracer.track(result, proxy)
        return result


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of the innermost make_fx that is at work."""
    return next((mode for mode in reversed(_get_current_dispatch_mode_stack())
                 if isinstance(mode, ProxyTorchDispatchMode)), None)


get_innermost_proxy_mode = get_proxy_mode
py_sym_types = (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_sym_node(node: Any) -> bool:
    """Whether the value of a traced node is a size rather than a tensor."""
    if not hasattr(node, "meta"):
        raise AssertionError("All nodes traced with proxy_tensor should have meta")
    return "val" in node.meta and isinstance(node.meta["val"], py_sym_types)


def wrapper_and_args_for_make_fx(func: Callable[..., Any], args: tuple[Any, ...],
                                 kwargs: dict[str, Any]) -> tuple[Callable[[list[Any]], Any], list[Any]]:
    """A function of one flat list for a function of several arguments, and that list.

    >>> run, flat = wrapper_and_args_for_make_fx(lambda a, *, b: a - b, (3,), {"b": 1})
    >>> run(flat)
    2
    """
    flat, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(flat_args: list[Any]) -> Any:
        given, named = pytree.tree_unflatten(flat_args, spec)
        return func(*given, **named)
    return wrapped, flat


def get_isolated_graphmodule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                             tracing_mode: str = "real", decomposition_table: Any = None) -> GraphModule:
    """The graph of a call, traced apart from modes and tracers that are in force."""
    wrapped, flat = wrapper_and_args_for_make_fx(func, args, kwargs)
    with disable_proxy_modes_tracing():
        return make_fx(wrapped, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(flat)


class DecompositionInterpreter(Interpreter):
    """Runs a graph and writes the ops that it does into another, some of them decomposed."""

    def __init__(self, module: GraphModule, new_graph: Graph, decomposition_table: Any = None, **kwargs: Any) -> None:
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.tracer = PythonKeyTracer()
        self.tracer.graph, self.tracer.root = new_graph, module
        self.mode = ProxyTorchDispatchMode(self.tracer, "real", decomposition_table)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        value = super().placeholder(target, args, kwargs)
        self.follow(value, self.tracer.create_proxy("placeholder", target, (), {}))
        return value

    def follow(self, value: Any, proxy: Proxy) -> None:
        """Note where a tensor comes from, without writing down what that takes."""
        if isinstance(value, Tensor):
            with _disable_current_modes():
                self.tracer.track(value, proxy)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        value = super().get_attr(target, args, kwargs)
        self.follow(value, self.tracer.create_proxy("get_attr", target, (), {}))
        return value

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        value = super().output(target, args, kwargs)
        self.new_graph.output(self.tracer.create_arg(value))
        return value

    def run(self, *args: Any, **kwargs: Any) -> Any:
        with self.mode:
            return super().run(*args, **kwargs)


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """A scope in which nothing is written down."""
    with _disable_current_modes():
        yield


def make_fx(f: Callable[..., Any], decomposition_table: Any = None, tracing_mode: str = "real",
            _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False, record_module_stack: bool = False,
            _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True,
            record_stack_traces: bool = False) -> Callable[..., GraphModule]:
    """A function that runs `f` on its arguments and returns the ops it did as a GraphModule.

    >>> import retrograd as torch
    >>> print(make_fx(lambda x: torch.sin(x) + 1)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
        return add
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")

    def wrapped(*args: Any) -> GraphModule:
        if tracing_mode != "real":                # writes must not reach the caller's tensors
            args = pytree.tree_map_only(Tensor, copied, args)
        made = trace(f, args, decomposition_table, tracing_mode, record_stack_traces)
        return made if tracing_mode != "symbolic" else with_symbols(made, f, args, decomposition_table)
    return wrapped


def with_symbols(made: GraphModule, f: Callable[..., Any], args: tuple[Any, ...], decompositions: Any) -> GraphModule:
    """The graph with symbols in the place of sizes; sizes that are equal are one symbol, 0 and 1 are none.

    A function that has no result for other sizes, or runs other ops for them, has them as numbers.
    """
    leaves, spec = pytree.tree_flatten(args)
    values = list(dict.fromkeys([n for leaf in leaves if isinstance(leaf, Tensor) for n in leaf.shape if n > 1]))
    if not values:
        return made
    places = made.graph.find_nodes(op="placeholder")
    found = [(place, dim, n) for place, leaf in zip(places, leaves, strict=True) if isinstance(leaf, Tensor)
             for dim, n in enumerate(leaf.shape)]
    sources = [next((place, dim) for place, dim, n in found if n == value) for value in values]
    sizes = [tuple(values)]
    graphs = [made.graph]
    for step in (2, 5):
        other = {value: max(values) + step + i * 3 for i, value in enumerate(values)}
        sizes.append(tuple(other.values()))
        inputs = pytree.tree_unflatten([resized(leaf, other) if isinstance(leaf, Tensor) else leaf for leaf in leaves], spec)
        try:
            graphs.append(trace(f, inputs, decompositions, "symbolic", False).graph)
        except Exception:                 # the program fixes sizes: they stay numbers, as where PyTorch specializes
            return made
    try:
        put_symbols(graphs, sizes, sources)
    except SymbolError:                   # the ops themselves depend on the sizes, or in a way that is not seen
        return trace(f, args, decompositions, "symbolic", False)
    made.recompile()
    return made


def resized(t: Any, sizes: dict[int, int]) -> Any:
    """A tensor like `t` with other sizes, filled with its values."""
    shape = [sizes.get(n, n) for n in t.shape]
    flat, count = t.detach().reshape(-1), math.prod(shape)
    made = flat.repeat(count // max(flat.numel(), 1) + 1)[:count].reshape(shape)
    return made.requires_grad_(t.requires_grad)


def copied(t: Any) -> Any:
    with torch.no_grad():
        made = t.clone()
    return made.requires_grad_(t.requires_grad)


def trace(f: Callable[..., Any], args: tuple[Any, ...], decompositions: Any, tracing_mode: str, stacks: bool) -> GraphModule:
    tracer = PythonKeyTracer()
    tracer.record_stack_traces = stacks
    names = argument_names(f, len(args))
    nested = any([isinstance(a, tuple | list | dict) for a in args])
    for name, value in zip(names, args, strict=True):
        leaves = pytree.tree_leaves(value)
        for i, leaf in enumerate(leaves):
            proxy = tracer.create_proxy("placeholder", f"{name}_{i + 1}", (), {})
            if isinstance(leaf, Tensor):
                tracer.track(leaf, proxy)
    with ProxyTorchDispatchMode(tracer, tracing_mode, decompositions):
        result = f(*args)
    if nested:
        leaves, out_spec = pytree.tree_flatten(result)
        tracer.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, pytree.tree_flatten(args)[1], out_spec)))
        result = leaves
    tracer.create_node("output", "output", (tracer.create_arg(result),), {})
    return GraphModule(tracer.root, tracer.graph, getattr(f, "__name__", type(f).__name__))


def argument_names(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` parameters of `f`, or arg0, arg1, ... where it has none."""
    function = inspect.unwrap(f)
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS or code.co_argcount - inspect.ismethod(function) < count:
        return [f"arg{i}" for i in range(count)]
    return list(code.co_varnames[int(inspect.ismethod(function)):][:count])
