"""Graph: a list of nodes in the order in which they run."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from retrograd.fx._codegen import CodeGen, PythonCode, _PyTreeCodeGen, _PyTreeInfo
from retrograd.fx._names import Namespace, name_hint
from retrograd.fx.node import Node, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen", "_PyTreeInfo"]


class _node_list:
    """The nodes of a graph, in order; nodes may be added and erased while one goes through it."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise ValueError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, direction = self.graph._root, self.direction
        node = getattr(root, direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A program of tensor operations: nodes that call functions, methods and modules.

    >>> import retrograd as torch
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(torch.add, (x, 1)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %add : [num_users=1] = call_function[target=torch.add](args = (%x, 1), kwargs = {})
        return add
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: dict[str, Any] | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._ordered = True                      # positions of nodes are what they should be
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen: Any = CodeGen()

    # ---- nodes
    @property
    def owning_module(self) -> Any:
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _node_list:
        return _node_list(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes with this op, and this target if one is given (call_function needs one).

        >>> import retrograd as torch
        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
        >>> graph.find_nodes(op="call_function", target=torch.relu)
        [relu]
        """
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def _placed(self, node: Node) -> None:
        """Note that `node` has a new place."""
        if node._next is self._root and self._ordered:
            node._position = node._prev._position + 1
        else:
            self._ordered = False

    def _position_of(self, node: Node) -> int:
        if not self._ordered:
            for i, each in enumerate(self.nodes):
                each._position = i + 1
            self._ordered = True
        return node._position

    def create_node(self, op: str, target: Any, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
                    name: str | None = None, type_expr: Any = None) -> Node:
        """Add a node at the insertion point, which is the end unless a scope says otherwise."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else name_hint(target)
        node = Node(self, self._graph_namespace.create_name(candidate, None), op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        self._len += 1
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an input; `*name` and `**name` take what is left over."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a read of an attribute of the module that will own the graph."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None,
                      kwargs: dict[str, Any] | None = None, type_expr: Any = None, name: str | None = None) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
                    type_expr: Any = None) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
                    type_expr: Any = None) -> Node:
        """Add a call of a submodule of the module that will own the graph."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add the end: what the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def output_node(self) -> Node:
        last = next(iter(reversed(self.nodes)))
        if last.op != "output":
            raise AssertionError(f"Expected output node, got {last.op}")
        return last

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    def inserting_before(self, n: Node | None = None) -> Any:
        """A scope (or a lasting setting) in which nodes are added before `n`."""
        n = self._root._next if n is None else n
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return InsertionPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A scope (or a lasting setting) in which nodes are added right after `n`."""
        n = self._root if n is None else n
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return InsertionPoint(self, n.append)

    # ---- copies
    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Add a copy of a node of another graph; `arg_transform` says what its inputs are here."""
        copied = self.create_node(node.op, node.target, map_arg(node.args, arg_transform),
                                  dict(map_arg(node.kwargs, arg_transform)), node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Add copies of all nodes of `g` that are not in `val_map` yet; return what its output becomes here."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls)
        memo[id(self)] = made
        val_map: dict[Node, Node] = {}
        out = made.graph_copy(self, val_map, return_output_node=True)
        for old, new in val_map.items():
            new.meta = copy.copy(old.meta)
        if out is not None:
            result, old = out
            new = made.create_node("output", "output", (result,), name=old.name, type_expr=old.type)
            new.meta = copy.copy(old.meta)
        made._codegen = copy.deepcopy(self._codegen, memo)
        return made

    # ---- checks and passes
    def lint(self) -> None:
        """Check that the graph is well formed."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an "
                                       "argument! If you are copying nodes from another graph, make sure to use "
                                       "``arg_transform`` on node_copy() to remap values\n" + str(self))
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check "
                                       f"that Nodes in the graph are topologically ordered\n{self}")
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                self._lint_target(node)

    def _lint_target(self, node: Node) -> None:
        here = self.owning_module
        for i, part in enumerate(node.target.split(".")):
            if not hasattr(here, part):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of "
                                   + ".".join(node.target.split(".")[:i]))
            here = getattr(here, part)
        if node.op == "call_module" and not callable(here):
            raise RuntimeError(f"Node {node} target {node.target} {part} of does not reference an nn.Module")

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase the nodes without users and side effects; return whether there were any.

        >>> import retrograd as torch
        >>> graph = torch.fx.symbolic_trace(lambda x: (torch.sin(x), x + 1)[1]).graph
        >>> graph.eliminate_dead_code(), [node.name for node in graph.nodes]
        (True, ['x', 'add', 'output'])
        """
        self.lint()

        def impure(node: Node) -> bool:
            if is_impure_node is not None:
                return is_impure_node(node)
            if node.op == "call_module" and self.owning_module is None:
                return False
            return node.is_impure()
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not (node.op in ("placeholder", "output") or impure(node)):
                self.erase_node(node)
                changed = True
        return changed

    # ---- code
    def set_codegen(self, codegen: Any) -> None:
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Let what `make_transformer` returns rewrite the lines of generated code; the result takes it back."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return RestoreTransformer(self, before)

    def process_inputs(self, *args: Any) -> Any:
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, *, verbose: bool = False, include_stride: bool = False,
                    include_device: bool = False, colored: bool = False, expanded_def: bool = False,
                    **options: Any) -> PythonCode:
        """The graph as the source of a `forward`, where `root_module` is what the owning module is called."""
        namespace = Namespace()

        def name_of(node: Node) -> str:
            return namespace.create_name(node.name, node)
        before = {node: node._repr_fn for node in self.nodes}
        for node in self.nodes:
            node._repr_fn = name_of
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose,
                                                  include_stride=include_stride, include_device=include_device,
                                                  expanded_def=expanded_def)
        finally:
            for node, fn in before.items():
                node._repr_fn = fn

    def __str__(self) -> str:
        return "graph():" + "".join([f"\n    {node.format_node()}" for node in self.nodes])

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        >>> import retrograd as torch
        >>> torch.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        rows = [[node.op, node.name, str(node.target), str(node.args), str(node.kwargs)] for node in self.nodes]
        header = ["opcode", "name", "target", "args", "kwargs"]
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(5)]
        widths = [max(width, len(title) + 2) for width, title in zip(widths, header, strict=True)]
        for row in [header, ["-" * width for width in widths], *rows]:
            print("  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip())


class InsertionPoint:
    """Where a graph puts new nodes: at once, and until the end of the scope if it is used as one."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.before


class RestoreTransformer:
    """Takes back what `on_generate_code` did, when called or at the end of a scope."""

    def __init__(self, graph: Graph, before: Any) -> None:
        self.graph, self.before = graph, before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._codegen._body_transformer = self.before


