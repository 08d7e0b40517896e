"""Interpreter: runs a graph node by node. Transformer: an Interpreter that makes another graph of it."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.fx._symbolic_trace import Tracer
from retrograd.fx.graph import Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.node import Node, map_aggregate, map_arg
from retrograd.fx.proxy import Proxy
from retrograd.fx.traceback import set_current_meta
from retrograd.nn import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a module's graph; subclasses change what a node does.

    >>> import retrograd as torch
    >>> class Counted(Interpreter):
    ...     calls = 0
    ...     def run_node(self, n):
    ...         self.calls += n.op == "call_function"
    ...         return super().run_node(n)
    >>> interpreter = Counted(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1))
    >>> interpreter.run(torch.tensor([-1.0, 1.0])), interpreter.calls
    (tensor([1., 2.]), 2)
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            self.user_to_last_uses = last_uses(self.graph)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph with these arguments."""
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = tuple(self.graph.process_inputs(*args))
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    explain(error, node)
                raise
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """`run` with a list of arguments that is emptied, so that they can be freed when they are used up."""
        places = self.graph.find_nodes(op="placeholder")
        if len(args_list) != len(places):
            detail = "extra arguments" if len(args_list) > len(places) else "missing arguments"
            raise RuntimeError(f"Interpreter.boxed_run expected {len(places)} arguments for placeholders but received "
                               f"{len(args_list)} ({detail})")
        env = dict(zip(places, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with set_current_meta(node):
            yield

    def run_node(self, n: Node) -> Any:
        """Run one node: the method named after its op, with its arguments looked up."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # ---- what nodes do
    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        receiver, *rest = args
        return getattr(receiver, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return args[0]

    # ---- looking things up
    def fetch_attr(self, target: str) -> Any:
        value = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:i + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        def look_up(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]
        return map_arg(args, look_up)


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node, the values that are not used after it."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for user in reversed(graph.nodes):
        for node in user.all_input_nodes:
            if node not in seen:
                seen.add(node)
                found.setdefault(user, []).append(node)
    return found


def explain(error: Exception, node: Node) -> None:
    """Add to an error's text which node it happened at."""
    text = f"While executing {node.format_node()}"
    if node.stack_trace:
        text += f"\nOriginal traceback:\n{node.stack_trace}"
    if getattr(error, "_fx_explained", False):
        return
    try:
        error._fx_explained = True      # type: ignore[attr-defined]
    except AttributeError:
        return
    if len(error.args) == 1 and isinstance(error.args[0], str) and not isinstance(error, KeyError):
        error.args = (f"{error.args[0]}\n\n{text}" if error.args[0] else text,)
    else:
        error.add_note(text)


class Transformer(Interpreter):
    """An Interpreter on proxies: what its methods do becomes the new graph.

    >>> import retrograd as torch
    >>> class Negate(Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return -super().call_function(target, args, kwargs)
    >>> Negate(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs: dict[Any, str] = {}

            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            old = self.graph.output_node()

            def strip(value: Any) -> Any:
                return value.node if isinstance(value, Proxy) else value
            new = self.new_graph.output(map_aggregate(result, strip), type_expr=old.type)
            new.meta = dict(old.meta)
        return GraphModule(self.module if isinstance(self.module, Module) else {}, self.new_graph)
