"""The graph of an ONNX file in the form that TensorBoard shows."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.versions_pb2 import VersionDef


def load_onnx_graph(fname: Any) -> Any:
    """The nodes of a file: its arguments and results first, then its ops."""
    import onnx
    graph = onnx.load(fname).graph
    nodes = [NodeDef(name=value.name, op="Variable", input=[], attr={"dtype": AttrValue(
        type=value.type.tensor_type.elem_type)}) for value in [*graph.input, *graph.output]]
    for node in graph.node:
        attr = ", ".join([" = ".join([str(part) for part in (field.name, value)]) for item in node.attribute
                          for field, value in item.ListFields()])
        nodes.append(NodeDef(name=node.output[0], op=node.op_type, input=list(node.input),
                             attr={"parameters": AttrValue(s=attr.encode())}))
    return GraphDef(node=nodes, versions=VersionDef(producer=22))
