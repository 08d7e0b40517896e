"""Trees of containers under PyTorch's names: nested lists, dicts and the like, taken apart and put together again.

A container type is known by how it is taken apart (children and a context, such as the keys of a dict) and put together.
Anything of another type is a leaf, None included.
"""
from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from retrograd import Size
from retrograd.transforms.trees import REGISTERED

__all__ = ["Context", "DumpableContext", "FromDumpableContextFn", "GetAttrKey", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
           "SequenceKey", "ToDumpableContextFn", "TreeSpec", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
           "is_structseq", "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "register_pytree_node",
           "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf",
           "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
           "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_pprint"]

PyTree = Any
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
IsLeaf = Callable[[Any], bool] | None
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]
FlattenWithKeysFunc = Callable[[Any], tuple[list[tuple[Any, Any]], Any]]
DumpableContext = Any
ToDumpableContextFn = FromDumpableContextFn = Callable[[Any], Any]
KeyPath = tuple[Any, ...]


# ---- what containers there are
class KeyEntry(Protocol):
    """One step of a path: it is hashed, compared and shown, and leads from a container to a child."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: Any) -> Any: ...


@dataclass(frozen=True)
class SequenceKey:
    """One step of a path: an index."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """One step of a path: a key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """One step of a path: the name of a field."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How containers of one type are taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    keys_fn: Callable[[Any, Any, int], list[Any]] | None      # (container, context, number of children) -> steps of paths
    serialized_type_name: str | None = None                   # see _pytree_dump.py
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None


def by_index(container: Any, context: Any, count: int) -> list[Any]:
    return [SequenceKey(i) for i in range(count)]


def by_key(container: Any, context: Any, count: int) -> list[Any]:
    return [MappingKey(key) for key in container]


def by_field(container: Any, context: Any, count: int) -> list[Any]:
    return [GetAttrKey(name) for name in container._fields]


SUPPORTED_NODES: dict[Any, NodeDef] = {node.type: node for node in [
    NodeDef(tuple, lambda t: (list(t), None), lambda xs, _: tuple(xs), by_index),
    NodeDef(list, lambda t: (t, None), lambda xs, _: list(xs), by_index),
    NodeDef(dict, lambda t: (list(t.values()), list(t)), lambda xs, keys: dict(zip(keys, xs, strict=True)), by_key),
    NodeDef(OrderedDict, lambda t: (list(t.values()), list(t)),
            lambda xs, keys: OrderedDict(zip(keys, xs, strict=True)), by_key),
    NodeDef(defaultdict, lambda t: (list(t.values()), [t.default_factory, list(t)]),
            lambda xs, context: defaultdict(context[0], zip(context[1], xs, strict=True)), by_key),
    NodeDef(deque, lambda t: (list(t), t.maxlen), lambda xs, maxlen: deque(xs, maxlen=maxlen), by_index),
    NodeDef(namedtuple, lambda t: (list(t), type(t)), lambda xs, cls: cls(*xs), by_field),
    NodeDef(Size, lambda t: (list(t), None), lambda xs, _: tuple(xs), by_index),
]}


def register_pytree_node(cls: Any, flatten_fn: Callable[[Any], Any], unflatten_fn: Callable[[Any, Any], Any], *,
                         serialized_type_name: str | None = None, to_dumpable_context: Any = None,
                         from_dumpable_context: Any = None, flatten_with_keys_fn: Callable[[Any], Any] | None = None) -> None:
    """Make `cls` a container: `flatten_fn(x)` gives (children, context), `unflatten_fn(children, context)` gives x again.

    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    >>> tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    keys_fn = None
    if flatten_with_keys_fn is not None:
        def keys_fn(container: Any, context: Any, count: int) -> list[Any]:
            return [key for key, _ in flatten_with_keys_fn(container)[0]]
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, keys_fn, serialized_type_name, to_dumpable_context,
                                   from_dumpable_context)
    REGISTERED[cls] = (flatten_fn, unflatten_fn)      # function transforms take such containers apart, too


def _register_pytree_node(cls: Any, flatten_fn: Callable[[Any], Any], unflatten_fn: Callable[[Any, Any], Any],
                          to_str_fn: Any = None, maybe_from_str_fn: Any = None, *, serialized_type_name: str | None = None,
                          to_dumpable_context: Any = None, from_dumpable_context: Any = None,
                          flatten_with_keys_fn: Callable[[Any], Any] | None = None) -> None:
    """`register_pytree_node` under its old name: registers again what is registered already."""
    warnings.warn("`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
                  "`torch.utils._pytree.register_pytree_node` instead.", FutureWarning, stacklevel=2)
    if cls in SUPPORTED_NODES:
        warnings.warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=2)
        _deregister_pytree_node(cls)
    register_pytree_node(cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
                         to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
                         flatten_with_keys_fn=flatten_with_keys_fn)


def _deregister_pytree_node(cls: Any) -> None:
    """Make `cls` a leaf again."""
    del SUPPORTED_NODES[cls]
    REGISTERED.pop(cls, None)


_private_register_pytree_node = register_pytree_node


def node_type(tree: Any) -> Any:
    """What kind of container `tree` is, as a key of SUPPORTED_NODES; its own type for a leaf."""
    cls: Any = type(tree)
    if cls not in SUPPORTED_NODES and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        if cls.__module__ != "torch.return_types":
            return namedtuple
        # what ops with several results return is a kind of its own for each op
        SUPPORTED_NODES[cls] = NodeDef(cls, lambda t: (list(t), None), lambda xs, _: cls._make(xs), by_index)
    return cls


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `tree` is a leaf.

    >>> tree_is_leaf(1), tree_is_leaf([])
    (True, False)
    """
    return is_leaf is not None and is_leaf(tree) or node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# ---- structures
class TreeSpec:
    """The structure of a tree without its leaves; `type` is None for a leaf."""

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    num_leaves: int
    num_nodes: int

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self._context, self._children = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum([child.num_nodes for child in children_specs])
        self.num_leaves = 1 if type is None else sum([child.num_leaves for child in children_specs])

    context = property(lambda self: self._context)
    children_specs = property(lambda self: self._children)

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                             f"that holds {self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children], self._context)

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """The parts of `tree` that stand where this structure has leaves."""
        if self.type is None:
            return [tree]
        found = node_type(tree)
        mappings = (dict, OrderedDict, defaultdict)
        if found is not self.type and not (found in mappings and self.type in mappings):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {found!r}.")
        children, context = SUPPORTED_NODES[found].flatten_fn(tree)
        children = list(children)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if self.type in mappings:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; missing key(s): {set(keys) - set(tree)}; extra key(s): "
                                 f"{set(tree) - set(keys)}.")
            children = [tree[key] for key in keys]
        elif self.type is not deque and context != self._context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        parts: list[Any] = []
        for spec, child in zip(self._children, children, strict=True):
            parts.extend(spec.flatten_up_to(child))
        return parts

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TreeSpec) and self.type is other.type and self._context == other._context
                and self._children == other._children)

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, *self._children))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = (",\n" + " " * (indent + 2)).join([child.__repr__(indent + 2) for child in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"


LEAF = TreeSpec(None, None, [])


def LeafSpec() -> TreeSpec:
    """The structure of a leaf.

    >>> LeafSpec()
    *
    """
    return LEAF


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as the tree it belongs to, with `*` for leaves.

    >>> treespec_pprint(tree_structure({"a": [1, 2]}))
    "{'a': [*, *]}"
    """
    return repr(tree_unflatten([Star()] * treespec.num_leaves, treespec))


class Star:
    def __repr__(self) -> str:
        return "*"


# ---- there and back
def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its structure.

    >>> tree_flatten([1, {"a": (2, 3)}])[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of this structure with these leaves.

    >>> leaves, spec = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten([10, 20], spec)
    {'a': 10, 'b': [20]}
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other.

    >>> list(tree_iter([1, [2]]))
    [1, 2]
    """
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves.

    >>> tree_leaves({"a": [1, None]})
    [1, None]
    """
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure.

    >>> tree_structure([1, [2]]) == tree_structure([3, [4]])
    True
    """
    return tree_flatten(tree, is_leaf)[1]


# ---- functions of leaves
def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The same structure with `func` applied to the leaves (and to what stands in their places in `rests`).

    >>> tree_map(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}])
    [11, {'x': 22}]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` for its effect on every leaf; returns the tree itself.

    >>> tree_map_(print, [1])
    1
    [1]
    """
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def only(types: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    if not isinstance(types, (type, tuple)) and not callable(types):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    matches: Callable[[Any], bool] = (lambda x: isinstance(x, types)) if isinstance(types, (type, tuple)) else types
    return lambda leaf: func(leaf) if matches(leaf) else leaf


def tree_map_only(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` that leaves leaves of other types as they are.

    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map_` for leaves of some types only.

    >>> tree_map_only_(int, print, ["a", 1])
    1
    ['a', 1]
    """
    return tree_map_(only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for all leaves.

    >>> tree_all(bool, [1, [0]])
    False
    """
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for any leaf.

    >>> tree_any(bool, [1, [0]])
    True
    """
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for all leaves of some types.

    >>> tree_all_only(int, bool, [1, ""])
    True
    """
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for any leaf of some types.

    >>> tree_any_only(int, bool, [0, "a"])
    False
    """
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


# ---- paths
def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Every leaf with the steps that lead to it.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1]})]
    [("['a'][0]", 1)]
    """
    return list(_paths((), tree, is_leaf))


def _paths(path: tuple[Any, ...], tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    children, keys_fn = list(children), SUPPORTED_NODES[kind].keys_fn
    if keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument "
                         "to register_pytree_node.")
    for key, child in zip(keys_fn(tree, context, len(children)), children, strict=True):
        yield from _paths((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """`tree_leaves_with_path` and the structure.

    >>> tree_flatten_with_path([1])
    ([((SequenceKey(idx=0),), 1)], TreeSpec(list, None, [*]))
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` whose function gets the path of each leaf first.

    >>> tree_map_with_path(lambda path, leaf: keystr(path), [1, (2,)])
    ['[0]', ('[1][0]',)]
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    rest_parts = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(map(func, [path for path, _ in found], [leaf for _, leaf in found], *rest_parts))


def keystr(kp: Iterable[Any]) -> str:
    """A path as Python would write it.

    >>> keystr((MappingKey("a"), SequenceKey(0), GetAttrKey("b")))
    "['a'][0].b"
    """
    return "".join([str(key) for key in kp])


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of `tree` repeated to fit `treespec`; None if its structure is not the beginning of that one."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = node_type(tree)
    if treespec.is_leaf() or kind is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    children = list(children)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        result.extend(part)
    return result


# ---- names that PyTorch keeps private and programs use
Context = Any
_get_node_type = node_type


def _list_flatten(d: list[Any]) -> tuple[list[Any], Any]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d.keys())


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


def _functions_of(kind: str, node: NodeDef) -> dict[str, Any]:
    """The functions that take a built-in kind of container apart, by the names that PyTorch gives them."""
    def flatten_with_keys(container: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = node.flatten_fn(container)
        return list(zip(node.keys_fn(container, context, len(children)), children, strict=True)), context   # type: ignore[misc]
    return {f"_{kind}_flatten": node.flatten_fn, f"_{kind}_unflatten": node.unflatten_fn,
            f"_{kind}_flatten_with_keys": flatten_with_keys}


for _kind in (tuple, namedtuple, OrderedDict, defaultdict, deque):
    globals().update(_functions_of(_kind.__name__.lower(), SUPPORTED_NODES[_kind]))


# ---- kinds of tuples
def is_namedtuple_class(cls: Any) -> bool:
    """Whether `cls` is a class of named tuples.

    >>> is_namedtuple_class(namedtuple("Point", "x y")), is_namedtuple_class(tuple)
    (True, False)
    """
    fields = getattr(cls, "_fields", None)
    return (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)
            and all([type(field) is str for field in fields]) and callable(getattr(cls, "_make", None))
            and cls.__module__ != "torch.return_types")


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Whether `obj` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether `cls` is a class of tuples with named fields that C code or an op with several results makes."""
    return isinstance(cls, type) and issubclass(cls, tuple) and (
        cls.__module__ == "torch.return_types" or isinstance(getattr(cls, "n_sequence_fields", None), int))


def is_structseq_instance(obj: Any) -> bool:
    """Whether `obj` is what an op with several results returns, or the like."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether `obj` is what an op with several results returns, or the class of such."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


# ---- parts of trees
def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments.

    >>> arg_tree_leaves(1, [2], a=3)
    [1, 2, 3]
    """
    return tree_leaves((args, kwargs))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What a path leads to.

    >>> key_get({"a": [1, 2]}, (MappingKey("a"), SequenceKey(1)))
    2
    """
    for step in kp:
        obj = step.get(obj)
    return obj


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = ()) -> TreeSpec:
    """The structure of a tuple of trees with these structures.

    >>> treespec_tuple([treespec_leaf()])
    TreeSpec(tuple, None, [*])
    """
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict of trees with these structures."""
    given = dict(mapping, **kwargs)
    return TreeSpec(dict, list(given), list(given.values()))


# names that few programs use, and where they are
LATER = {name: "_pytree_dump" for name in (
    "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL", "_register_namedtuple", "pytree_to_str", "str_to_pytree", "treespec_dumps",
    "treespec_loads")} | {name: "_pytree_classes" for name in (
    "ConstantNode", "is_constant_class", "register_constant", "register_dataclass")}
__all__ += [name for name in LATER if name.startswith("treespec_")]


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"retrograd.utils.{LATER[name]}"), name)
    globals()[name] = found
    return found
