"""The ops that a model does to its inputs as a graph that TensorBoard shows, in the scopes of its modules."""
from __future__ import annotations

from collections import Counter
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

import retrograd as torch
from retrograd.utils import _pytree as pytree
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils.module_tracker import ModuleTracker


class GraphRecorder(TorchDispatchMode):
    """Writes down every op below the module that calls it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.root = type(model).__name__
        self.tracker = ModuleTracker()
        self.nodes: list[Any] = []
        self.sources: dict[int, str] = {}           # a tensor -> the node that made it
        self.alive: list[Any] = []                  # so that no other tensor gets the same id
        self.used: Counter[str] = Counter()
        self.names = {id(value): name for name, value in [*model.named_parameters(), *model.named_buffers()]}

    def node(self, name: str, op: str, inputs: list[str], outputs: list[Any], text: str = "") -> str:
        number = self.used[name]
        self.used[name] += 1
        name = f"{name}_{number}" if number else name
        shapes = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in value.shape]) for value in outputs]
        attr = {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=shapes)), "attr": AttrValue(s=text.encode())}
        self.nodes.append(NodeDef(name=name, op=op, input=inputs, attr=attr))
        for value in outputs:
            self.sources[id(value)] = name
            self.alive.append(value)
        return name

    def source(self, value: Any) -> str:
        """The node that made a tensor; one for itself where none did."""
        if id(value) not in self.sources:
            name = self.names.get(id(value))
            self.node(self.scope((name or "constant").replace(".", "/"), ""), "Parameter" if name else "Constant", [], [value])
        return self.sources[id(value)]

    def scope(self, name: str, module: str) -> str:
        return "/".join([self.root, *[part for part in module.split(".") if part], name])

    def current(self) -> str:
        """The path of the innermost module that runs now."""
        paths = [path for path in self.tracker.parents if path != "Global"]
        deepest = max(paths, key=lambda path: path.count("."), default=self.root)
        return deepest.partition(".")[2]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        leaves = pytree.tree_leaves((args, kwargs))
        inputs = [self.source(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        others = ", ".join([repr(leaf) for leaf in leaves if not isinstance(leaf, torch.Tensor)])
        outputs = [value for value in pytree.tree_leaves(result) if isinstance(value, torch.Tensor)]
        name = func._schema.name.replace("::", "_")
        self.node(self.scope(name, self.current()), func._schema.name, inputs, outputs, others)
        return result


def graph(model: Any, args: Any, verbose: bool = False, use_strict_trace: bool = True) -> tuple[Any, Any]:
    """Run a model on example inputs and give its graph, and where it ran."""
    recorder = GraphRecorder(model)
    inputs = args if isinstance(args, list | tuple) else (args,)
    for i, value in enumerate(pytree.tree_leaves(inputs)):
        if isinstance(value, torch.Tensor):
            recorder.node(f"input/input_{i}", "IO Node", [], [value])
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad(), recorder.tracker, recorder:
            result = model(**inputs) if isinstance(inputs, dict) else model(*inputs)
    finally:
        for module, was in training.items():
            module.training = was
    for i, value in enumerate(pytree.tree_leaves(result)):
        if isinstance(value, torch.Tensor):
            recorder.node(f"output/output_{i}", "IO Node", [recorder.source(value)], [])
    if verbose:
        print("\n".join([f"{node.name} = {node.op}({', '.join(node.input)})" for node in recorder.nodes]))
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=recorder.nodes, versions=VersionDef(producer=22)), stats
