"""Exported programs in files: the graph as data, the tensors beside it. Nothing in a file is run when it is read."""
from __future__ import annotations

import operator
from typing import Any

import retrograd as torch
from retrograd.export.dynamic_shapes import ValueRanges
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
from retrograd.utils import _pytree as pytree

FORMAT = 1
FUNCTIONS = {"add": operator.add, "floordiv": operator.floordiv, "getitem": operator.getitem, "mul": operator.mul}
OLDER = {"sym_size": "aten.sym_size.int"}         # names in files of earlier versions


def save(ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None, opset_version: Any = None) -> None:
    """Write a program to a file, and other texts with it.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), file)
    >>> _ = file.seek(0)
    >>> torch.export.load(file).module()(-torch.ones(2))
    tensor([0., 0.])
    """
    nodes = [{"op": node.op, "name": node.name, "target": target_name(node), "args": encoded(list(node.args)),
              "kwargs": encoded(dict(node.kwargs))} for node in ep.graph.nodes]
    specs = ep.graph_signature
    signature = {"inputs": [[s.kind.name, encoded_argument(s.arg), s.target, s.persistent] for s in specs.input_specs],
                 "outputs": [[s.kind.name, encoded_argument(s.arg), s.target] for s in specs.output_specs]}
    torch.save({"format": FORMAT, "nodes": nodes, "signature": signature, "state": dict(ep.state_dict),
                "constants": dict(ep.constants), "in_spec": skeleton(ep.in_spec), "out_spec": skeleton(ep.out_spec),
                "guards": [[number, dim, value] for (number, dim), value in ep.guards.items()],
                "ranges": {name: list(bounds) for name, bounds in ep.range_constraints.items()},
                "extra": {name: text.encode() if isinstance(text, str) else bytes(text)
                          for name, text in (extra_files or {}).items()},
                "parameters": list(ep.graph_signature.parameters)}, f)


def load(f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None) -> ExportedProgram:
    """Read a program from a file."""
    data = torch.load(f, weights_only=True)
    if data.get("format") != FORMAT:
        raise RuntimeError(f"the file has format {data.get('format')} of exported programs, not {FORMAT}: export it again")
    for name in extra_files or ():
        if name in data.get("extra", {}):
            extra_files[name] = data["extra"][name].decode()      # type: ignore[index]
    graph = Graph()
    known: dict[str, Node] = {}
    for entry in data["nodes"]:
        target = entry["target"] if entry["op"] in ("placeholder", "output") else function_named(entry["target"])
        known[entry["name"]] = graph.create_node(entry["op"], target, tuple(decoded(entry["args"], known)),
                                                 decoded(entry["kwargs"], known), name=entry["name"])
    specs = data["signature"]
    signature = ExportGraphSignature(
        [InputSpec(InputKind[kind], decoded_argument(arg), target, kept) for kind, arg, target, kept in specs["inputs"]],
        [OutputSpec(OutputKind[kind], decoded_argument(arg), target) for kind, arg, target in specs["outputs"]])
    state = {name: torch.nn.Parameter(value.detach(), value.requires_grad) if name in data["parameters"] else value
             for name, value in data["state"].items()}
    in_spec, out_spec = [pytree.tree_structure(structure(data[name])) for name in ("in_spec", "out_spec")]
    return ExportedProgram(GraphModule({}, graph, "GraphModule"), signature, state, data["constants"], in_spec, out_spec,
                           {(number, dim): value for number, dim, value in data["guards"]},
                           {name: ValueRanges(*bounds) for name, bounds in data["ranges"].items()})


def target_name(node: Node) -> str:
    if node.op in ("placeholder", "output"):
        return node.target
    name = next((name for name, function in FUNCTIONS.items() if function is node.target), None)
    return name if name is not None else str(node.target)


def function_named(name: str) -> Any:
    """An op by its name with namespace and overload, or one of the few functions that graphs use besides."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    name = OLDER.get(name, name)
    namespace, op, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload)


def encoded(value: Any) -> Any:
    """Arguments as plain data."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [encoded(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": {key: encoded(item) for key, item in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    text = str(value)
    if text.startswith("torch.") and getattr(torch, text[len("torch."):], None) is value:
        return {"torch": text[len("torch."):]}
    raise ValueError(f"an argument of type {type(value).__name__} cannot be written to a file: {value!r}")


def decoded(value: dict[str, Any], known: dict[str, Node]) -> Any:
    (kind, inner), = value.items()
    if kind == "node":
        return known[inner]
    if kind in ("list", "tuple"):
        items = [decoded(item, known) for item in inner]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {key: decoded(item, known) for key, item in inner.items()}
    if kind == "complex":
        return complex(*inner)
    return torch.device(inner) if kind == "device" else getattr(torch, inner) if kind == "torch" else inner


def encoded_argument(arg: Any) -> list[Any]:
    return [arg.name, arg.value] if isinstance(arg, ConstantArgument) else [arg.name]


def decoded_argument(arg: list[Any]) -> Any:
    return TensorArgument(arg[0]) if len(arg) == 1 else ConstantArgument(*arg)


def skeleton(spec: Any) -> Any:
    """The containers of a tree as plain data."""
    def shown(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {"dict": {key: shown(item) for key, item in tree.items()}}
        if isinstance(tree, list | tuple):
            return {"tuple" if isinstance(tree, tuple) else "list": [shown(item) for item in tree]}
        if tree != 0:
            raise ValueError(f"a program with a {type(tree).__name__} among its inputs or results cannot be written to a file")
        return "leaf"
    return shown(pytree.tree_unflatten([0] * spec.num_leaves, spec))


def structure(shown: Any) -> Any:
    if shown == "leaf":
        return 0
    (kind, inner), = shown.items()
    if kind == "dict":
        return {key: structure(item) for key, item in inner.items()}
    items = [structure(item) for item in inner]
    return tuple(items) if kind == "tuple" else items
