"""Proxy: what stands for a tensor while a program is traced; whatever is done to it becomes a node."""
from __future__ import annotations

import dis
import enum
import inspect
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, cast

import retrograd as torch
from retrograd.fx._checks import _assert
from retrograd.fx.graph import Graph
from retrograd.fx.node import Node, map_aggregate
from retrograd.fx.traceback import current_meta, has_preserved_node_meta
from retrograd.overrides import is_tensor_method_or_property

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """The program does something that tracing cannot follow."""


PLAIN = (str, int, float, bool, complex, type(None), type(Ellipsis), range, torch.dtype, torch.device, torch.layout,
         torch.memory_format, enum.Enum)


class TracerBase:
    """Makes nodes and proxies; what a tracer may be told to do differently is a method here."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    root: Any = None

    def create_node(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
                    type_expr: Any = None) -> Node:
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if has_preserved_node_meta():
            node.meta.update(current_meta())
        return node

    def proxy(self, node: Node) -> Proxy:
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
                     type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """A node with these arguments, which may contain proxies, and the proxy for its result."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        made = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = user_stack()
        return made

    def create_arg(self, a: Any) -> Any:
        """What stands for `a` in the arguments of a node."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, PLAIN) or isinstance(a, Node):
            return a
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            named = hasattr(a, "_fields") and type(a).__module__ != "torch.return_types"
            return type(a)(*items) if named else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            for key in a:
                if contains_proxy(key):
                    raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_operator(a) or inspect.isfunction(a) or inspect.isbuiltin(a) or isinstance(a, type):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """What a proxy is when a branch depends on it."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What a loop over a proxy goes through."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a "
                         "*args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed "
                         "explanation of what types of control flow can be traced, and check out the Proxy docstring for help "
                         "troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """What `keys()` of a proxy is, as in `f(**proxy)`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer for proxies made by hand: `Proxy(node)`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for the result of a node. Functions and operators that it is given to become nodes of its graph.

    >>> import retrograd as torch
    >>> graph = torch.fx.Graph()
    >>> x = Proxy(graph.placeholder("x"))
    >>> torch.relu(x + 1)
    Proxy(relu)
    >>> [node.name for node in graph.nodes]
    ['x', 'add', 'relu']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        if name in ("tracer", "node"):            # of a proxy that is being copied
            raise AttributeError(name)
        return Attribute(self, name)

    def __deepcopy__(self, memo: Any) -> Any:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = unpacked_by(sys._getframe(1))
        if count is not None:
            return iter([operator.getitem(cast(Any, self), i) for i in range(count)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and records_assert(sys._getframe(1), self):
            return True
        return self.tracer.to_bool(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, "
                           "please call torch.fx.wrap('len') at module scope")

    def keys(self) -> Any:
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found: dict[Any, None] = {}

        def look(value: Any) -> Any:
            if isinstance(value, Proxy):
                found[value.tracer] = None
            return value
        map_aggregate(args, look)
        map_aggregate(kwargs or {}, look)
        if len(found) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(found)} while trying to trace operations {func}")
        return record_call(next(iter(found)), func, args, kwargs or {})


def record_call(tracer: TracerBase, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The node for a call of a public function or of a method of Tensor."""
    name = getattr(func, "__name__", "")
    if name == "__get__" and len(args) == 1:
        return Attribute(args[0], getattr(getattr(func, "__self__", None), "__name__", name))
    if is_tensor_method_or_property(func):
        return tracer.create_proxy("call_method", METHOD_OF.get(name, name), tuple(args), kwargs)
    return tracer.create_proxy("call_function", func, tuple(args), kwargs)


METHOD_OF = {f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "pow", "eq", "ne", "lt", "le", "gt", "ge")}


def contains_proxy(value: Any) -> bool:
    found: list[Any] = []
    map_aggregate(value, lambda item: found.append(item) if isinstance(item, Proxy) else None)
    return bool(found)


def is_operator(value: Any) -> bool:
    return hasattr(value, "_schema") or hasattr(value, "overloads")


class Attribute(Proxy):
    """`proxy.name`: a node of its own only if it is used as a value, not if it is called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:     # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"expected a Parameter, got {type(param)}")
        self.param, self.name = param, name

    @classmethod
    def of(cls, tracer: TracerBase, name: str, param: Any, node: Node) -> ParameterProxy:
        return cls(tracer, node, name, param)

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self, *args: Any) -> Any:
        return self.param.size(*args)

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


# ---- operators
def forward_operator(function: Any) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", function, args, kwargs)
    method.__name__ = function.__name__
    return method


def reflected_operator(function: Any) -> Any:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})
    method.__name__ = "r" + function.__name__
    return method


for name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul"):
    plain = name.strip("_")
    setattr(Proxy, f"__{plain}__", forward_operator(getattr(operator, name)))
    setattr(Proxy, f"__r{plain}__", reflected_operator(getattr(operator, name)))
for name in ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert", "getitem"):
    setattr(Proxy, f"__{name}__", forward_operator(getattr(operator, name)))
Proxy.__hash__ = object.__hash__      # type: ignore[method-assign]


# ---- what the caller is doing
def instruction_at(frame: Any) -> tuple[Any, Any]:
    """The instruction that `frame` is at, and the one after it."""
    found = None
    for instruction in dis.get_instructions(frame.f_code):
        if found is not None:
            return found, instruction
        if instruction.offset == frame.f_lasti:
            found = instruction
    return found, None


def unpacked_by(frame: Any) -> int | None:
    """How many values the caller unpacks, None if it does something else with them."""
    here, _ = instruction_at(frame)
    return here.argval if here is not None and here.opname == "UNPACK_SEQUENCE" else None


def records_assert(frame: Any, condition: Proxy) -> bool:
    """Whether the caller is at an assert statement, which then has been recorded."""
    instructions = list(dis.get_instructions(frame.f_code))
    place = next((i for i, instruction in enumerate(instructions) if instruction.offset == frame.f_lasti), None)
    if place is not None and instructions[place].opname in ("COMPARE_OP", "TO_BOOL"):      # of Python 3.13: the jump follows
        place += 1
    if place is None or not instructions[place].opname.startswith("POP_JUMP"):
        return False
    following = [instruction.opname for instruction in instructions[place + 1:place + 4]]
    if "LOAD_ASSERTION_ERROR" not in following and not any(
            instruction.argval is AssertionError for instruction in instructions[place + 1:place + 4]):
        return False
    message = next((instruction.argval for instruction in instructions[place + 2:place + 5]
                    if instruction.opname == "LOAD_CONST" and isinstance(instruction.argval, str)), "")
    condition.tracer.create_proxy("call_function", _assert, (condition, message), {})
    return True


def user_stack() -> str:
    """Where the program is, without this package's frames."""
    here = __file__.rpartition("/")[0]
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(here)]
    return "".join(traceback.StackSummary.from_list(frames).format())


