"""`export`: a module traced to a graph of ops whose parameters and buffers are arguments."""
from __future__ import annotations

import inspect
import re
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.export.dynamic_shapes import symbols_of
from retrograd.export.exported_program import ExportedProgram
from retrograd.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from retrograd.fx import Graph, GraphModule, Node
from retrograd.fx.experimental._symbols import SymbolError, put_symbols
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.utils import _pytree as pytree


class UserError(RuntimeError):
    """The program cannot be exported as it is."""


def export(mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, dynamic_shapes: Any = None,
           strict: bool = False, preserve_module_call_signature: Any = (),
           prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """Trace a module with example arguments into a program that runs without it.

    >>> import retrograd as torch
    >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
    >>> [node.name for node in program.graph.nodes]
    ['input', 'relu', 'output']
    """
    if not isinstance(mod, nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    return Exporter(mod, args, kwargs or {}, dynamic_shapes).export()


class Trace:
    """One trace: its graph, and what came out."""

    def __init__(self, module: GraphModule, outputs: list[Any], out_spec: Any) -> None:
        self.module, self.outputs, self.out_spec = module, outputs, out_spec
        self.nodes = list(module.graph.nodes)


class Exporter:
    """The export of one module."""

    def __init__(self, mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> None:
        self.mod, self.args, self.kwargs = mod, args, kwargs
        self.leaves, self.in_spec = pytree.tree_flatten((args, kwargs))
        self.parameters = dict(mod.named_parameters())
        self.buffers = dict(mod.named_buffers())
        self.names = input_names(mod, args, kwargs)
        shapes = shapes_by_leaf(mod, args, kwargs, dynamic_shapes, len(self.leaves))
        self.symbols, self.places = symbols_of(shapes, self.leaves)

    def export(self) -> ExportedProgram:
        trace = self.trace(self.leaves)
        graph = trace.module.graph
        if self.symbols:
            self.put_symbols(trace)
        signature = self.name_arguments(trace)
        self.make_functional(graph, signature, trace)
        constants = self.lift_constants(trace.module, signature)
        guards = self.guards()
        state = {name: value for name, value in self.mod.state_dict(keep_vars=True).items()}
        constants.update({name: value for name, value in self.buffers.items() if name not in state})
        module = GraphModule({}, graph, "GraphModule")
        bounds = {symbol.name: (symbol.min, symbol.max) for symbol in self.symbols}
        return ExportedProgram(module, signature, state, constants, self.in_spec, trace.out_spec, guards, bounds,
                               (self.args, self.kwargs))

    # ---- tracing
    def trace(self, leaves: list[Any]) -> Trace:
        """The ops that the module does to these inputs."""
        found: list[Any] = []
        is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        lifted = {**self.parameters, **self.buffers}

        def run(*values: Any) -> Any:
            state = dict(zip(lifted, values, strict=False))
            tensors = iter(values[len(lifted):])
            given = [next(tensors) if tensor else leaf for leaf, tensor in zip(leaves, is_tensor, strict=True)]
            args, kwargs = pytree.tree_unflatten(given, self.in_spec)
            result = torch.func.functional_call(self.mod, state, args, kwargs)
            flat, spec = pytree.tree_flatten(result)
            found[:] = [flat, spec]
            return tuple(flat)
        buffers = {name: value.clone() for name, value in self.buffers.items()}
        tensors = [leaf.clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        inputs = [*self.parameters.values(), *buffers.values(), *tensors]
        with torch.no_grad(), torch.compiler._compiling_state_context():
            module = make_fx(run)(*inputs)
        module.graph.eliminate_dead_code()
        return Trace(module, *found)

    def put_symbols(self, trace: Trace) -> None:
        """Replace integers that depend on symbols by what computes them."""
        sizes = [tuple([s.value for s in self.symbols])]
        others = []
        for step in (2, 5):
            sizes.append(tuple([s.value + step + i for i, s in enumerate(self.symbols)]))
            others.append(self.trace([self.resized(i, leaf, sizes[-1]) for i, leaf in enumerate(self.leaves)]))
        places = [node for node in trace.nodes if node.op == "placeholder"][len(self.parameters) + len(self.buffers):]
        tensors = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        sources = [(places[tensors.index(s.input)], s.dim) for s in self.symbols]
        try:
            put_symbols([trace.module.graph, *[other.module.graph for other in others]], sizes, sources)
        except SymbolError as raised:
            raise UserError(f"{raised}. Make the sizes {[s.name for s in self.symbols]} static, or write the program so that "
                            "it does the same ops for all of them.") from raised

    def resized(self, number: int, leaf: Any, sizes: tuple[int, ...]) -> Any:
        changes = {dim: sizes[symbol] for (place, dim), symbol in self.places.items() if place == number}
        if not changes:
            return leaf
        shape = [changes.get(dim, n) for dim, n in enumerate(leaf.shape)]
        flat = leaf.reshape(-1)
        count = int(torch.tensor(shape).prod())
        return flat.repeat(count // max(flat.numel(), 1) + 1)[:count].reshape(shape)

    # ---- names and signature
    def name_arguments(self, trace: Trace) -> ExportGraphSignature:
        places = iter([node for node in trace.nodes if node.op == "placeholder"])
        specs: list[InputSpec] = []
        for kind, prefix, values in ((InputKind.PARAMETER, "p_", self.parameters), (InputKind.BUFFER, "b_", self.buffers)):
            for target in values:
                node = next(places)
                rename(node, prefix + re.sub(r"\W", "_", target))
                kept = target in self.mod.state_dict() if kind is InputKind.BUFFER else None
                specs.append(InputSpec(kind, TensorArgument(node.name), target, kept))
        last = None
        for name, leaf in zip(self.names, self.leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                last = next(places)
                rename(last, name)
                specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(last.name)))
            else:
                with trace.module.graph.inserting_after(last) if last is not None else trace.module.graph.inserting_before():
                    last = trace.module.graph.placeholder(name)
                specs.append(InputSpec(InputKind.USER_INPUT, ConstantArgument(last.name, leaf)))
        return ExportGraphSignature(specs)

    def make_functional(self, graph: Graph, signature: ExportGraphSignature, trace: Trace) -> None:
        """Let written buffers and inputs be results, and name the results."""
        by_name = {spec.arg.name: spec for spec in signature.input_specs}
        latest: dict[Node, Node] = {}             # an argument that is written -> its newest value
        root: dict[Node, Node] = {}
        for node in list(graph.nodes):
            if node.op != "call_function" or not getattr(getattr(node.target, "_schema", None), "is_mutable", False):
                continue
            written = node.args[0] if node.args and isinstance(node.args[0], Node) else None
            owner = root.get(written, written) if written is not None else None
            if owner is not None and owner.op == "placeholder":
                latest[owner] = root_value = node
                root[root_value] = owner
        output = graph.output_node()
        results = list(output.args[0])
        extra = []
        for owner, value in latest.items():
            is_buffer = by_name[owner.name].kind is InputKind.BUFFER
            kind = OutputKind.BUFFER_MUTATION if is_buffer else OutputKind.USER_INPUT_MUTATION
            target = by_name[owner.name].target if kind is OutputKind.BUFFER_MUTATION else owner.name
            signature.output_specs.append(OutputSpec(kind, TensorArgument(value.name), target))
            extra.append(value)
            self.write_out_of_place(graph, owner, value)
        for i, result in enumerate(results):
            arg = TensorArgument(result.name) if isinstance(result, Node) else ConstantArgument(f"output_{i}", result)
            signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg))
        output.args = ((*extra, *results),)

    def write_out_of_place(self, graph: Graph, owner: Node, value: Node) -> None:
        """Let writes to an argument go to a copy of it, made at the start."""
        first = next(node for node in graph.nodes if node.op not in ("placeholder", "get_attr"))
        with graph.inserting_before(first):
            copy = graph.call_function(torch.ops.aten.clone.default, (owner,))
        owner.replace_all_uses_with(copy, lambda user: user is not copy)

    def lift_constants(self, module: GraphModule, signature: ExportGraphSignature) -> dict[str, Any]:
        """Make tensors that the module kept elsewhere arguments, too."""
        graph = module.graph
        constants: dict[str, Any] = {}
        places: dict[str, Node] = {}
        for node in list(graph.nodes):
            if node.op != "get_attr":
                continue
            name = node.target
            if name not in places:
                constants[name] = getattr(module, name)
                with graph.inserting_before():
                    places[name] = graph.placeholder(f"c_{name.strip('_')}")
                signature.input_specs.insert(0, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(places[name].name), name))
            node.replace_all_uses_with(places[name])
            graph.erase_node(node)
        return constants

    def guards(self) -> dict[tuple[int, int], Any]:
        made: dict[tuple[int, int], Any] = {}
        for number, leaf in enumerate(self.leaves):
            if not isinstance(leaf, torch.Tensor):
                made[(number, -1)] = leaf
                continue
            made[(number, -1)] = leaf.dim()
            for dim, n in enumerate(leaf.shape):
                symbol = self.places.get((number, dim))
                made[(number, dim)] = n if symbol is None else self.symbols[symbol].name
        return made


def rename(node: Node, name: str) -> None:
    node.name = node.target = name


def input_names(mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for every leaf of the inputs, after the parameters of `forward`."""
    bound = inspect.signature(mod.forward).bind(*args, **kwargs)
    names: list[str] = []
    for name, value in bound.arguments.items():
        leaves = pytree.tree_leaves(value)
        names += [name] if len(leaves) == 1 and not isinstance(value, dict | list | tuple) else [
            f"{name}_{i}" for i in range(len(leaves))]
    return names


def shapes_by_leaf(mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any, count: int) -> list[Any]:
    """What `dynamic_shapes` says of each leaf of the inputs."""
    if shapes is None:
        return [None] * count
    names = list(inspect.signature(mod.forward).bind(*args, **kwargs).arguments)
    values = list(inspect.signature(mod.forward).bind(*args, **kwargs).arguments.values())
    entries = [shapes.get(name) for name in names] if isinstance(shapes, dict) else list(shapes)
    found: list[Any] = []
    for value, entry in zip(values, entries, strict=True):
        found += matched(value, entry)
    return found


def matched(value: Any, entry: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        parts = entry if isinstance(entry, list | tuple) else [entry] * len(value)
        return [found for item, part in zip(value, parts, strict=True) for found in matched(item, part)]
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in matched(item, None if entry is None else entry.get(key))]
    return [entry]
