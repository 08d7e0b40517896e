"""`export`: a module traced to a graph of ops whose parameters and buffers are arguments."""
from __future__ import annotations

import inspect
import re
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.compile.errors import UserError, UserErrorType
from retrograd.export._probe import Prober
from retrograd.export.dynamic_shapes import Size, ValueRanges, shapes_by_leaf, symbols_of
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
from retrograd.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from retrograd.utils import _pytree as pytree


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
        raise UserError(UserErrorType.INVALID_INPUT,
                        f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
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
        self.symbols, self.places = symbols_of(shapes, self.leaves, self.names)
        self.traces: dict[tuple[int, ...], Any] = {}      # by sizes of the symbols: a Trace, or an error
        self.units: list[int] = []                        # by how much each symbol can change

    def export(self) -> ExportedProgram:
        trace = self.trace(self.leaves)
        graph = trace.module.graph
        if self.symbols:
            self.find_symbols()
        if self.symbols:
            self.put_symbols(trace)
        signature = self.name_arguments(trace)
        self.make_functional(graph, signature, trace)
        constants = self.lift_constants(trace.module, signature)
        guards = self.guards()
        state = {name: value for name, value in self.mod.state_dict(keep_vars=True).items()}
        constants.update({name: value for name, value in self.buffers.items() if name not in state})
        functions = {node.target: getattr(trace.module, node.target) for node in graph.nodes if node.op == "get_attr"}
        module = GraphModule(functions, graph, "GraphModule")
        bounds = {symbol.name: ValueRanges(symbol.min, symbol.max) for symbol in self.symbols}
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
            try:
                module = make_fx(run)(*inputs)
            except RuntimeError as error:
                if "trying to get value out of a tracing tensor" not in str(error):
                    raise
                raise GuardOnDataDependentSymNode("Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, "
                                                  f"1)).  (Size-like symbols: none)\n\n{error}") from error
        module.graph.eliminate_dead_code()
        return Trace(module, *found)

    def find_symbols(self) -> None:
        """Find out which sizes may change, and keep those as symbols."""
        def ops(sizes: tuple[int, ...]) -> str | None:
            if sizes not in self.traces:
                try:
                    self.traces[sizes] = self.trace([self.resized(i, leaf, sizes) for i, leaf in enumerate(self.leaves)])
                except Exception:
                    self.traces[sizes] = None
            trace = self.traces[sizes]
            return None if trace is None else " ".join([f"{node.op}:{node.target}" for node in trace.nodes])
        elements = sum([leaf.numel() for leaf in self.leaves if isinstance(leaf, torch.Tensor)])
        prober = Prober(self.symbols, self.places, self.names, ops, elements)
        self.symbols, self.places = prober.run()
        self.units = prober.units
        self.traces.clear()

    def other_sizes(self) -> list[tuple[int, ...]]:
        """Two further sets of sizes for which the program does the same."""
        found: list[tuple[int, ...]] = []
        for step in (2, 5):
            sizes = []
            for i, (symbol, unit) in enumerate(zip(self.symbols, self.units, strict=True)):
                values = [symbol.value + unit * n for n in (step + i, step - 1, 1, -1, -2, 2)]
                fitting = [n for n in values if n >= max(2, symbol.min) and (symbol.max is None or n <= symbol.max)]
                new = [n for n in fitting if not found or n != found[0][i]]
                sizes.append((new or fitting or [symbol.value])[0])
            found.append(tuple(sizes))
        return found

    def put_symbols(self, trace: Trace) -> None:
        """Replace integers that depend on symbols by what computes them."""
        sizes = [tuple([s.value for s in self.symbols])]
        others = []
        for other in self.other_sizes():
            sizes.append(other)
            others.append(self.trace([self.resized(i, leaf, sizes[-1]) for i, leaf in enumerate(self.leaves)]))
        places = [node for node in trace.nodes if node.op == "placeholder"][len(self.parameters) + len(self.buffers):]
        tensors = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        sources = []
        for i in range(len(self.symbols)):
            (number, dim), size = next((item for item in self.places.items() if item[1] == Size(i)), None) or next(
                item for item in self.places.items() if item[1].symbol == i)
            sources.append((places[tensors.index(number)], dim, size.factor, size.offset))
        try:
            put_symbols([trace.module.graph, *[other.module.graph for other in others]], sizes, sources)
        except SymbolError as raised:
            raise UserError(UserErrorType.DYNAMIC_DIM, f"{raised}. Make the sizes {[s.name for s in self.symbols]} static, or "
                            "write the program so that it does the same ops for all of them.") from raised

    def resized(self, number: int, leaf: Any, sizes: tuple[int, ...]) -> Any:
        changes = {dim: size.value(sizes) for (place, dim), size in self.places.items() if place == number}
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
        for result in results:
            arg = TensorArgument(result.name) if isinstance(result, Node) else ConstantArgument("", result)
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
        kept = {id(value): f"{path}.{name}" if path else name for path, inner in self.mod.named_modules()
                for name, value in vars(inner).items() if isinstance(value, torch.Tensor)}
        count = len(self.parameters) + len(self.buffers)
        for node in list(graph.nodes):
            if node.op != "get_attr" or not isinstance(getattr(module, node.target), torch.Tensor):
                continue                          # functions of control flow stay where they are
            name, value = node.target, getattr(module, node.target)
            if name not in places:
                target = kept.get(id(value)) or f"lifted_tensor_{sum([key.startswith('lifted_tensor_') for key in constants])}"
                constants[target] = value
                nodes = list(graph.nodes)
                with graph.inserting_before(nodes[count]):
                    places[name] = graph.placeholder("c_" + re.sub(r"\W", "_", target))
                places[name].meta["val"] = value
                signature.input_specs.insert(count, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(places[name].name),
                                                              target))
                count += 1
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
                size = self.places.get((number, dim))
                made[(number, dim)] = n if size is None else self.guard(size)
        return made


    def guard(self, size: Size) -> Any:
        name = self.symbols[size.symbol].name
        return name if size[1:] == (1, 0) else (name, size.factor, size.offset)


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
