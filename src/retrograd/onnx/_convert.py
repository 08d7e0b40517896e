"""From an exported program to an ONNX model: each op through its conversion, writes in place as new values."""
from __future__ import annotations

import itertools
import operator
from typing import Any

from onnx import helper

import retrograd as torch
import retrograd.onnx.conversions
from retrograd.export import ExportedProgram
from retrograd.export.graph_signature import ConstantArgument, InputKind, OutputKind
from retrograd.fx import Interpreter, Node
from retrograd.fx.experimental._symbols import sym_size
from retrograd.onnx._builder import CONVERSIONS, VIEWS, Builder, Value, element_type, model_proto, name_of, tensor_proto
from retrograd.onnx.conversions.elementwise import one_node
from retrograd.onnx.errors import SymbolicValueError, UnsupportedOperatorError
from retrograd.utils import _pytree as pytree

SIZES = {operator.mul: "Mul", operator.add: "Add", operator.sub: "Sub", operator.floordiv: "Div"}
class Recorder(Interpreter):
    """Runs a graph and keeps an example of every value."""

    def __init__(self, module: Any) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.examples: dict[Node, Any] = {}

    def run_node(self, n: Node) -> Any:
        self.examples[n] = super().run_node(n)
        return self.examples[n]


class Converter:
    """The conversion of one program."""

    def __init__(self, program: ExportedProgram, opset: int, input_names: Any = None, output_names: Any = None,
                 axis_names: dict[str, dict[int, str]] | None = None) -> None:
        self.program = program
        self.g = Builder(opset)
        self.values: dict[Node, Any] = {}           # the newest value of each node
        self.roots: dict[Node, Node] = {}           # a view -> what it is a view of
        self.input_names, self.output_names = list(input_names or ()), list(output_names or ())
        self.axis_names = axis_names or {}
        self.inputs: list[Any] = []

    def convert(self) -> Any:
        """The model."""
        places = [node for node in self.program.graph.nodes if node.op == "placeholder"]
        arguments = self.arguments()
        recorder = Recorder(self.program.graph_module)
        with torch.no_grad():
            recorder.run(*[value.clone() if isinstance(value, torch.Tensor) else value for value in arguments])
        self.examples = recorder.examples
        self.bind(places, arguments)
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self.values[node] = self.node(node)
        outputs = self.outputs()
        nodes = simplified(self.g.nodes, {value.name for value in outputs})
        used = {name for node in nodes for name in node.input}
        weights = [tensor_proto(tensor, name) for name, tensor in self.g.initializers.items() if name in used]
        return model_proto(helper.make_graph(nodes, "main_graph", self.inputs, outputs, initializer=weights), self.g.opset)

    # ---- arguments and results
    def arguments(self) -> list[Any]:
        """Examples of all placeholders: parameters, buffers, constants, then what the user gives."""
        program = self.program
        leaves = iter(pytree.tree_leaves(program.example_inputs))
        found = []
        for spec in program.graph_signature.input_specs:
            if spec.kind is InputKind.USER_INPUT:
                found.append(next(leaves))
            else:
                name = str(spec.target)
                found.append(program.state_dict[name] if name in program.state_dict else program.constants[name])
        return found

    def bind(self, places: list[Node], arguments: list[Any]) -> None:
        number = 0
        given = iter(self.input_names)
        for node, spec, example in zip(places, self.program.graph_signature.input_specs, arguments, strict=True):
            if spec.kind is not InputKind.USER_INPUT:
                name = self.g.fresh(str(spec.target))
                self.g.initializers[name] = example
                self.values[node] = Value(name, example)
                continue
            if isinstance(spec.arg, ConstantArgument):
                self.values[node] = example
            else:
                name = self.g.fresh(next(given, node.name))
                self.values[node] = Value(name, example)
                self.inputs.append(helper.make_tensor_value_info(name, element_type(example.dtype),
                                                                 self.input_shape(name, number, example)))
            number += 1

    def input_shape(self, name: str, number: int, example: Any) -> list[int | str]:
        sizes: list[int | str] = []
        for dim, size in enumerate(example.shape):
            guard = self.program.guards.get((number, dim), size)
            if isinstance(guard, int):
                sizes.append(size)
                continue
            symbol = guard if isinstance(guard, str) else f"{guard[1]}*{guard[0]} + {guard[2]}"
            sizes.append(self.axis_names.get(name, {}).get(dim, symbol))
        return sizes

    def outputs(self) -> list[Any]:
        """The results, under the names that were asked for."""
        results = self.program.graph.output_node().args[0]
        given = iter(self.output_names)
        found = []
        dynamic = bool(self.program.range_constraints)
        for spec, node in zip(self.program.graph_signature.output_specs, results, strict=True):
            if spec.kind is not OutputKind.USER_OUTPUT or not isinstance(node, Node):
                continue
            value = self.values[node]
            name = self.g.fresh(next(given, node.name))
            self.g.nodes.append(helper.make_node("Identity", [name_of(value)], [name], name=self.g.fresh(f"{name}/Identity")))
            example = self.examples[node]
            names = self.axis_names.get(name, {})
            sizes = [names.get(dim, None if dynamic else size) for dim, size in enumerate(example.shape)]
            found.append(helper.make_tensor_value_info(name, element_type(example.dtype), sizes))
        return found

    # ---- ops
    def node(self, node: Node) -> Any:
        g, target = self.g, node.target
        g.prefix = node.name
        example = self.examples[node]
        args, kwargs = pytree.tree_map(self.value, (list(node.args), dict(node.kwargs)))
        if target is sym_size():
            return Value(g.size(args[0], args[1]), example)
        if target in SIZES:
            a, b = [g.ints([value]) if not isinstance(value, Value) else value for value in args]
            return Value(g.op(SIZES[target], a, b), example)
        if target is operator.getitem:
            part = args[0][args[1]]
            if part is None:
                raise UnsupportedOperatorError(f"result {args[1]} of {node.args[0].target} is not exported")
            if node.args[0] in self.roots:
                self.roots[node] = node.args[0]
            return part
        name, writes = op_name(target), is_write(node)
        convert = CONVERSIONS.get(name) or one_node(name)
        if convert is None and writes:
            convert = CONVERSIONS.get(name.rstrip("_")) or one_node(name.rstrip("_"))
        if convert is None:
            raise UnsupportedOperatorError(f"Exporting the operator '{target}' to ONNX opset version {g.opset} is not "
                                           "supported: it has no conversion to ONNX nodes.")
        result = self.with_example(convert(g, example, *args, **kwargs), example)
        source = node.args[0] if node.args and isinstance(node.args[0], Node) else None
        if writes and source is not None:
            self.roots[node] = source
            self.values[node] = result
            self.write(node, source, result)
        elif name in VIEWS and source is not None:
            self.roots[node] = source
        return result

    def value(self, item: Any) -> Any:
        """The newest value of a node; other arguments are themselves."""
        return self.values[item] if isinstance(item, Node) else item

    def with_example(self, result: Any, example: Any) -> Any:
        if isinstance(result, tuple):
            return tuple([None if part is None else Value(part, shown) for part, shown in zip(result, example, strict=False)])
        return Value(result, example)

    # ---- writes in place
    def write(self, moment: Node, target: Node, result: Any) -> None:
        """Let a new value stand for one that is written, and for all that share its memory and are used later."""
        self.values[target] = result
        path = [target]
        while path[-1] in self.roots:
            path.append(self.roots[path[-1]])
        order = {node: number for number, node in enumerate(moment.graph.nodes)}
        family = [node for node in order if order[node] < order[moment] and path[-1] in self.ancestors(node)]
        if not any([order[user] > order[moment] for node in family if node is not target for user in node.users]):
            return
        for view, parent in itertools.pairwise(path):
            result = self.values[parent] = self.written_back(view, self.values[parent], result)
        for node in family:
            if node not in path:
                self.values[node] = self.values[self.roots[node]] if is_write(node) else self.node(node)

    def ancestors(self, node: Node) -> list[Node]:
        """A node, what it is a view of, and so on."""
        found = [node]
        while found[-1] in self.roots:
            found.append(self.roots[found[-1]])
        return found

    def written_back(self, view: Node, parent: Value, result: Value) -> Value:
        """The value of what a view shows a part of, after a write to the view."""
        g, name = self.g, op_name(view.target)
        args = pytree.tree_map(self.value, list(view.args[1:]))
        if is_write(view):
            back = result.name
        elif name in ("slice", "select"):
            back = CONVERSIONS[f"{name}_scatter"](g, parent.example, parent, result, *args)
        elif name in ("transpose", "t"):
            back = CONVERSIONS[name](g, parent.example, result, *args)
        elif name == "permute":
            back = g.op("Transpose", result, perm=[[dim % parent.rank for dim in args[0]].index(i) for i in range(parent.rank)])
        elif view.target is not operator.getitem and result.example.numel() == parent.example.numel():
            back = g.op("Reshape", result, g.op("Shape", parent))
        else:
            raise SymbolicValueError(f"{view} is written and what it is a view of is used afterwards, which is not exported "
                                     f"for {view.target}")
        return Value(back, parent.example)


def op_name(target: Any) -> str:
    """The name of an op without namespace and overload.

    >>> op_name(torch.ops.aten.add_.Tensor)
    'add_'
    """
    return str(getattr(target, "_schema", target)).partition("(")[0].partition("::")[2].partition(".")[0]


def is_write(node: Node) -> bool:
    return bool(getattr(getattr(node.target, "_schema", None), "is_mutable", False))


def simplified(nodes: list[Any], outputs: set[str]) -> list[Any]:
    """The nodes that results depend on, without those that hand their input on."""
    sources = {node.output[0]: node.input[0] for node in nodes if node.op_type == "Identity"}

    def resolved(name: str) -> str:
        """What a value is, past the nodes that hand their input on."""
        while name in sources:
            name = sources[name]
        return name
    made = {name for node in nodes if node.op_type != "Identity" for name in node.output}
    renamed: dict[str, str] = {}
    for output in sorted(outputs):              # a result gives its name to what it is
        source = resolved(output)
        if source in made and source not in renamed:
            renamed[source] = output
    kept = []
    for node in nodes:
        if node.op_type == "Identity" and (node.output[0] not in outputs or node.output[0] in renamed.values()):
            continue
        inputs = [renamed.get(found, found) for found in map(resolved, node.input)]
        names = [renamed.get(name, name) for name in node.output]
        del node.input[:], node.output[:]
        node.input.extend(inputs)
        node.output.extend(names)
        kept.append(node)
    needed, live = set(outputs), []
    for node in reversed(kept):
        if needed & set(node.output):
            live.append(node)
            needed.update(node.input)
    return live[::-1]
