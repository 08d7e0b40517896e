"""The graph of one run of a module, as programs that count operations read it: nodes, their kinds, scopes and sizes.

The ops are those that were called, with composites such as `aten::linear` whole; arguments are values too, of nodes
`prim::Constant` and `prim::ListConstruct`. Nothing is compiled: the graph cannot be run.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import retrograd as torch
from retrograd.autograd.recorder import Recorder
from retrograd.core.opdef import OpDef
from retrograd.core.state import set_flag
from retrograd.jit._state import TracingState, current

ALWAYS = (False, False, True, True)        # the last arguments of `_convolution`: switches of GPU kernels


class Type:
    """What is known of a value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def sizes(self) -> list[int]:
        return list(self.value.shape)

    def strides(self) -> list[int]:
        return list(self.value.stride())

    def dim(self) -> int:
        return int(self.value.dim())

    def scalarType(self) -> str:
        return {torch.float32: "Float", torch.float64: "Double", torch.int64: "Long", torch.int32: "Int", torch.bool: "Bool",
                torch.float16: "Half", torch.bfloat16: "BFloat16"}.get(self.value.dtype, str(self.value.dtype))

    def kind(self) -> str:
        if isinstance(self.value, torch.Tensor):
            return "TensorType"
        return {bool: "BoolType", int: "IntType", float: "FloatType", str: "StringType", type(None): "NoneType",
                list: "ListType"}.get(type(self.value), "AnyType")

    def __str__(self) -> str:
        if isinstance(self.value, torch.Tensor):
            return f"{self.scalarType()}({', '.join(map(str, self.value.shape))}, strides={self.strides()}, " \
                   f"requires_grad={int(self.value.requires_grad)}, device={self.value.device})"
        if isinstance(self.value, list):
            return f"{'Tensor' if any([isinstance(v, torch.Tensor) for v in self.value]) else 'int'}[]"
        return type(self.value).__name__


class Value:
    """What a node takes or gives."""

    def __init__(self, made: Node, value: Any, name: str) -> None:
        self.made, self.value, self.name = made, value, name

    def node(self) -> Node:
        return self.made

    def type(self) -> Type:
        return Type(self.value)

    def isCompleteTensor(self) -> bool:
        return isinstance(self.value, torch.Tensor)

    def toIValue(self) -> Any:
        """The value of a constant, None of any other."""
        return self.value if self.made.kind() == "prim::Constant" else None

    def debugName(self) -> str:
        return self.name


class Node:
    """One op of the run, or one of its arguments."""

    def __init__(self, kind: str, scope: str, inputs: Sequence[Value] = ()) -> None:
        self._kind, self.scope, self._inputs = kind, scope, list(inputs)
        self._outputs: list[Value] = []

    def kind(self) -> str:
        return self._kind

    def scopeName(self) -> str:
        return self.scope

    def pyname(self) -> str:
        """The name of a custom Function, whose kind is `prim::PythonOp`."""
        return self._kind.rpartition(".")[2]

    def inputs(self) -> list[Value]:
        return list(self._inputs)

    def outputs(self) -> list[Value]:
        return list(self._outputs)

    def inputsSize(self) -> int:
        return len(self._inputs)

    def outputsSize(self) -> int:
        return len(self._outputs)

    def output(self) -> Value:
        return self._outputs[0]

    def __str__(self) -> str:
        made = ", ".join([f"%{value.name} : {value.type()}" for value in self._outputs])
        if self._kind == "prim::Constant":
            return f"{made} = {self._kind}[value={self._outputs[0].value!r}]()"
        return f"{made} = {self._kind}({', '.join([f'%{value.name}' for value in self._inputs])})"


class Graph:
    """The nodes of a run, in order."""

    def __init__(self) -> None:
        self.made: list[Node] = []
        self.count = 0
        self.start, self.end = Node("prim::Param", ""), Node("prim::Return", "")

    def nodes(self) -> list[Node]:
        return list(self.made)

    def inputs(self) -> list[Value]:
        return self.start.outputs()

    def outputs(self) -> list[Value]:
        return self.end.inputs()

    def new_value(self, node: Node, value: Any) -> Value:
        made = Value(node, value, str(self.count))
        self.count += 1
        node._outputs.append(made)
        return made

    def __str__(self) -> str:
        inputs = ",\n      ".join([f"%{value.name} : {value.type()}" for value in self.inputs()])
        nodes = "".join([f"  {node}\n" for node in self.made])
        return f"graph({inputs}):\n{nodes}  return ({', '.join([f'%{value.name}' for value in self.outputs()])})\n"


class GraphRecorder(Recorder):
    """Makes nodes of the ops that are called, but not of those that they call in turn."""

    def __init__(self, graph: Graph, state: TracingState) -> None:
        super().__init__()
        self.graph, self.state = graph, state
        self.values: dict[int, Value] = {}          # by the identity of a tensor, which its value keeps alive
        self.inside = False

    def run_op(self, op: OpDef, args: Sequence[Any], layers: Callable[[Any, Any], Any]) -> Any:
        if self.inside or op.composite and op.name.startswith("conv"):      # these are `_convolution` in PyTorch's graphs
            return layers(op, args)
        if op.name == "convolution":
            return self.run("aten::_convolution", [*args, *ALWAYS], lambda: layers(op, args))
        return self.run(f"aten::{op.name}", args, lambda: layers(op, args))

    def run_function(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        if self.inside or name.startswith("aten::"):        # a function that is no op of its own
            return run()
        return self.run(f"prim::PythonOp.{name}", args, run)

    def run(self, kind: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        inputs = [self.value_of(arg) for arg in args]
        self.inside = True
        try:
            result = run()
        finally:
            self.inside = False
        node = self.add(kind, inputs)
        if isinstance(result, list):
            whole = self.graph.new_value(node, result)
            node = self.add("prim::ListUnpack", [whole])
        for value in result if isinstance(result, (list, tuple)) else [result]:
            self.values[id(value)] = self.graph.new_value(node, value)
        return result

    def add(self, kind: str, inputs: Sequence[Value] = ()) -> Node:
        node = Node(kind, "/".join(self.state.scopes), inputs)
        self.graph.made.append(node)
        return node

    def value_of(self, arg: Any) -> Value:
        """The value of an argument; a new node for what is no result of an earlier one."""
        if isinstance(arg, torch.Tensor):
            if id(arg) not in self.values:
                self.values[id(arg)] = self.graph.new_value(self.add("prim::Constant"), arg)
            return self.values[id(arg)]
        if isinstance(arg, (list, tuple)):
            return self.graph.new_value(self.add("prim::ListConstruct", [self.value_of(item) for item in arg]), list(arg))
        return self.graph.new_value(self.add("prim::Constant"), arg)


def get_trace_graph(f: Any, args: Any = (), kwargs: Any = None, strict: bool = True, _force_outplace: bool = False,
                    return_inputs: bool = False, _return_inputs_states: bool = False) -> Any:
    """Run a module or function and return the graph of its ops, and what it returned."""
    args = args if isinstance(args, tuple) else (args,)
    graph, state = Graph(), TracingState()
    recorder = GraphRecorder(graph, state)
    owned = [*f.parameters(), *f.buffers()] if isinstance(f, torch.nn.Module) else []
    for value in [*torch.utils._pytree.tree_leaves((args, kwargs or {})), *owned]:
        if isinstance(value, torch.Tensor) and id(value) not in recorder.values:
            recorder.values[id(value)] = graph.new_value(graph.start, value)
    before, current.state = set_flag("profiler", recorder), state
    try:
        result = f(*args, **(kwargs or {}))
    finally:
        set_flag("profiler", before)
        current.state = None
    for value in torch.utils._pytree.tree_leaves(result):
        if isinstance(value, torch.Tensor):
            graph.end._inputs.append(recorder.value_of(value))
    return (graph, result, args) if return_inputs else (graph, result)
