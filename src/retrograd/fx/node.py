"""Node: one step of a Graph."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from retrograd.fx._checks import _assert
from retrograd.fx._names import qualified_name, type_repr
from retrograd.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
ArgumentT = TypeVar("ArgumentT")

OPS = frozenset(["placeholder", "get_attr", "call_function", "call_module", "call_method", "output", "root"])

side_effectful: set[Any] = {_assert}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that calls of `fn` must stay in a graph even if their results are unused.

    >>> import retrograd as torch
    >>> def log(x):
    ...     print(x)
    >>> has_side_effect(log) is log
    True
    >>> graph = torch.fx.Graph()
    >>> graph.call_function(log, (1,)).is_impure()
    True
    """
    side_effectful.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply `fn` to everything in nested tuples, lists, dicts and slices that is none of these.

    >>> map_aggregate((1, [2, {"k": 3}]), lambda n: n * 10)
    (10, [20, {'k': 30}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply `fn` to every Node in nested containers.

    >>> import retrograd as torch
    >>> x = torch.fx.Graph().placeholder("x")
    >>> map_arg((x, [x, 2]), lambda node: node.name)
    ('x', ['x', 2])
    """
    if not callable(fn):
        raise AssertionError(f"torch.fx.map_arg(a, fn): fn must be a callable, got {type(fn)}")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


class Node:
    """One step of a graph: what is called (`op`, `target`), with what (`args`, `kwargs`), and who uses the result.

    >>> import retrograd as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> y.op, y.name, y.args, x.users
    ('call_function', 'relu', (x,), {relu: None})
    """

    def __init__(self, graph: Any, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                 return_type: Any = None) -> None:
        if op not in OPS:
            raise AssertionError(f"op {op!r} is not in _legal_ops: {', '.join(sorted(OPS))}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a "
                                 "Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is "
                             "expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = immutable_dict()
        self._prev = self._next = self
        self._erased = False
        self._position = 0
        self._repr_fn: Callable[[Node], str] | None = None
        self._set(args, kwargs)

    # ---- arguments
    def _set(self, args: Any, kwargs: Any) -> None:
        for node in self._inputs:
            node.users.pop(self, None)
        self._inputs = {}

        def use(node: Node) -> Node:
            self._inputs[node] = None
            node.users[self] = None
            return node
        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def args(self) -> tuple[Any, ...]:
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that this one uses, each once."""
        return list(self._inputs)

    @property
    def _input_nodes(self) -> dict[Node, None]:
        return self._inputs

    def update_arg(self, idx: int, arg: Any) -> None:
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use `new_input` wherever this node uses `old_input`."""
        def swap(node: Node) -> Node:
            return new_input if node is old_input else node
        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Let the users of this node use another one; return who they were."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with "
                                     "already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
                hook(old=self, new=replace_with.name, user=user)
            user.replace_input_with(self, replace_with)
        return changed

    # ---- place in the graph
    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move `x`, a node of the same graph, to just before this one."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._placed(x)

    def append(self, x: Node) -> None:
        """Move `x`, a node of the same graph, to just after this one."""
        if self._next is not x:
            self._next.prepend(x)

    def _unlink(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    def __lt__(self, other: Node) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return self.graph._position_of(self) < self.graph._position_of(other)

    def __gt__(self, other: Node) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return self.graph._position_of(self) > self.graph._position_of(other)

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # ---- facts
    @property
    def stack_trace(self) -> str | None:
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay even if its result is unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            if schema is not None and getattr(schema, "is_mutable", False):
                return True
            if impure_random and getattr(self.target, "tags", None) and is_random(self.target):
                return True
            return self.target in side_effectful if is_hashable(self.target) else False
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(module.get_submodule(self.target), "_is_impure", False))
        return self.op == "call_method" and self.target.endswith("_") and not self.target.endswith("__")

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
                             normalize_to_only_use_kwargs: bool = False) -> Any:
        """The arguments by their names as far as the target's signature gives them, or None."""
        if self.op == "call_function":
            target = self.target
        elif self.op == "call_module":
            target = root.get_submodule(self.target).forward
        else:
            return None
        try:
            bound = inspect.signature(target).bind(*self.args, **self.kwargs)
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        if normalize_to_only_use_kwargs:
            return (), dict(bound.arguments)
        return bound.args, bound.kwargs

    # ---- text
    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"
        try:
            return qualified_name(target)
        except RuntimeError:
            return repr(target)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None,
                    *, include_tensor_metadata: bool = False) -> str | None:
        """The node as one line of `print(graph)`."""
        kind = f"{type_repr(self.type)} " if self.type else ""
        target = self._pretty_print_target(self.target)
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self.target + (f": {type_repr(self.type)}" if self.type else ""))
                return None
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_repr(self.type)}"
            return f"return {self.args[0]}"
        return head + f"(args = {format_arg(self.args)}, kwargs = {format_arg(self.kwargs)})"

    # ---- copies
    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def format_arg(arg: Any) -> str:
    """Arguments as `print(graph)` has them: nodes with a %, texts without quotes."""
    if isinstance(arg, Node):
        return f"%{arg.name}"
    if isinstance(arg, list):
        return "[" + ", ".join([format_arg(item) for item in arg]) + "]"
    if isinstance(arg, tuple):
        return "(" + ", ".join([format_arg(item) for item in arg]) + (",)" if len(arg) == 1 else ")")
    if isinstance(arg, dict):
        return "{" + ", ".join([f"{key}: {format_arg(value)}" for key, value in arg.items()]) + "}"
    return str(arg)


def is_random(op: Any) -> bool:
    return any([getattr(tag, "name", tag) == "nondeterministic_seeded" for tag in op.tags])


def is_hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None
