"""Turns functional ops of a graph back into in-place ones where nothing reads the old value any more."""
from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import retrograd as torch
from retrograd.compile.fake_tensor import FakeTensorMode
from retrograd.core.opdef import OpDef
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node
from retrograd.fx.passes.fake_tensor_prop import FakeTensorProp
from retrograd.utils import _pytree as pytree

__all__ = ["reinplace"]

aten = torch.ops.aten
# The ops that put a changed view back into its base, each with the op that makes the view.
VIEWS = {aten.diagonal_scatter.default: aten.diagonal.default, aten.select_scatter.default: aten.select.int,
         aten.slice_scatter.default: aten.slice.Tensor, aten.as_strided_scatter.default: aten.as_strided.default}


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Rewrite a graph of functional ops, as `functionalize` makes them, with in-place ops where that is safe.

    >>> from retrograd.func import functionalize
    >>> from retrograd.fx.experimental.proxy_tensor import make_fx
    >>> graph = make_fx(functionalize(lambda x: (x + 1) * 2))(torch.ones(2))
    >>> [str(node.target) for node in reinplace(graph, torch.ones(2)).graph.nodes]
    ['x_1', 'aten.add.Tensor', 'aten.mul_.Tensor', 'output']
    """
    Reinplacing(gm, sample_args).run()
    return gm


class Reinplacing:
    """One run of the pass: what the nodes' values are like, and which of them share memory."""

    def __init__(self, gm: GraphModule, sample_args: tuple[Any, ...]) -> None:
        self.gm, self.nodes = gm, list(gm.graph.nodes)
        self.place = {node: i for i, node in enumerate(self.nodes)}
        values = Values(gm)
        values.propagate(*sample_args)
        self.values = values.found
        self.joined: dict[Any, Any] = {}            # the memory of a value that is now written in place -> that of its operand
        self.gone: dict[Node, None] = {}            # scatters whose views are written in place
        self.inputs = {self.memory(value) for node in self.nodes if node.op == "placeholder" for value in self.tensors(node)}

    def tensors(self, node: Node) -> list[Any]:
        return [leaf for leaf in pytree.tree_leaves(self.values.get(node)) if isinstance(leaf, torch.Tensor)]

    def memory(self, value: Any) -> Any:
        """What identifies the memory of a value, after the values that were joined so far."""
        found = value.untyped_storage()._cdata
        while found in self.joined:
            found = self.joined[found]
        return found

    def run(self) -> None:
        for node in self.nodes:
            if node.op == "call_function" and isinstance(node.target, OpDef):
                self.visit(node, node.target)
        for node in self.gone:
            self.gm.graph.erase_node(node)
        self.gm.recompile()

    def visit(self, node: Node, op: OpDef) -> None:
        """Replace the op of a node by its in-place form, or a scatter by a copy into the view, if both may be done."""
        source = node.args[0] if node.args else None
        if not op._schema.arguments or str(op._schema.arguments[0].type) != "Tensor" or not isinstance(source, Node):
            return
        before, after = self.tensors(source), self.tensors(node)
        if not before or self.memory(before[0]) in self.inputs or sum([arg is source for arg in node.args]) > 1:
            return
        if op is not aten.resize.default and any([not fits(a, b) for a, b in zip(before, after, strict=False)]):
            return
        aliases = {other for other in self.nodes if self.shares_memory(other, before[0])}
        later = self.later_uses(aliases, self.place[node])
        undone = [use for use in later if self.is_undone(use, aliases)]
        if len(undone) < len(later):
            return
        if op in VIEWS and node not in self.gone:
            with self.gm.graph.inserting_before(node):
                view = self.gm.graph.create_node("call_function", VIEWS[op], (source, *node.args[2:]), node.kwargs)
                self.gm.graph.create_node("call_function", aten.copy_.default, (view, node.args[1]), {})
            self.gone[node] = None
        else:
            written = in_place_form(op)
            if written is None:
                return
            node.target = written
        self.gone.update(dict.fromkeys(undone))
        for old in (node, *undone):
            self.join(before[0], self.tensors(old))
            self.redirect(old, self.place[node])

    def shares_memory(self, node: Node, value: Any) -> bool:
        return any([self.memory(t) == self.memory(value) for t in self.tensors(node)])

    def join(self, kept: Any, values: list[Any]) -> None:
        """Count the memory of `values` as that of `kept` from now on."""
        for value in values:
            if self.memory(value) != self.memory(kept):
                self.joined[self.memory(value)] = self.memory(kept)

    def later_uses(self, aliases: set[Node], place: int) -> list[Node]:
        """The nodes behind `place` that read one of `aliases`, in order; those that only make further views do not count."""
        uses = {use for alias in aliases for use in alias.users if self.place.get(use, -1) > place}
        views = {use for use in uses & aliases if isinstance(use.target, OpDef) or use.target is operator.getitem}
        return sorted(uses - views, key=lambda use: self.place[use])

    def is_undone(self, use: Node, aliases: set[Node]) -> bool:
        """Whether a node scatters a view back to where one of `aliases` has it from: a write to the alias has that effect."""
        if use.target not in VIEWS:
            return False
        base = self.values[use.args[0]]             # type: ignore[index]
        for alias in aliases:
            made, origin = self.values[alias], self.values.get(view_source(alias))
            if not isinstance(made, torch.Tensor) or not isinstance(origin, torch.Tensor) or not same_geometry(origin, base):
                continue
            try:
                view: Any = VIEWS[use.target](origin, *use.args[2:], **use.kwargs)
            except (RuntimeError, IndexError, TypeError):
                continue                            # the scatter's arguments do not fit this base
            if same_geometry(view, made):
                return True
        return False

    def redirect(self, old: Node, place: int) -> None:
        """Let the nodes behind `place` that read `old` read its first operand."""
        new = old.args[0]
        for use in list(old.users):
            if self.place.get(use, -1) > place:
                use.replace_input_with(old, new)    # type: ignore[arg-type]


class Values(FakeTensorProp):
    """Keeps the value of every node, which has no data."""

    def __init__(self, gm: GraphModule) -> None:
        super().__init__(gm, FakeTensorMode(allow_non_fake_inputs=True))
        self.found: dict[Any, Any] = {}

    def run_node(self, n: Node) -> Any:
        result = self.found[n] = super().run_node(n)
        return result


def view_source(node: Node) -> Any:
    """The node that another one is a view of, None if it is none."""
    source = node.args[0] if node.args else None
    if node.target is operator.getitem and isinstance(source, Node):
        return source.args[0] if makes_views(source.target) else None
    return source if makes_views(node.target) else None


def makes_views(target: Any) -> bool:
    return isinstance(target, OpDef) and target.is_view


def fits(before: Any, after: Any) -> bool:
    """Whether a result can be written over a value."""
    overlaps = torch._debug_has_internal_overlap(before) == 1
    return before.numel() == after.numel() and before.dtype == after.dtype and not overlaps


def same_geometry(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()


def in_place_form(op: OpDef) -> OpDef | None:
    """The in-place op with the same arguments, None if there is none or the op makes a view."""
    if op.is_view:
        return None
    packet = getattr(getattr(torch.ops, op.namespace), f"{op.overloadpacket.__name__}_", None)
    return next((form for form in in_place_overloads(packet) if argument_types(form) == argument_types(op)), None)


def in_place_overloads(packet: Any) -> Iterator[OpDef]:
    for name in () if packet is None else packet.overloads():
        yield getattr(packet, name)


def argument_types(op: OpDef) -> list[str]:
    return [str(argument.type) for argument in op._schema.arguments]
