"""The structures of trees as text, and back."""
from __future__ import annotations

import enum
import json
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from importlib import import_module
from typing import Any

from retrograd import Size
from retrograd.utils._pytree import LEAF, SUPPORTED_NODES, TreeSpec, is_namedtuple_class

__all__ = ["DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL", "_register_namedtuple", "pytree_to_str", "str_to_pytree",
           "treespec_dumps", "treespec_loads"]

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
NAMES = {tuple: "builtins.tuple", list: "builtins.list", dict: "builtins.dict", OrderedDict: "collections.OrderedDict",
         defaultdict: "collections.defaultdict", deque: "collections.deque", namedtuple: "collections.namedtuple",
         Size: "torch.Size"}
NAMED_TUPLES: dict[Any, str] = {}


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Say under which name the structures of a class of named tuples are written."""
    if not is_namedtuple_class(cls):
        raise ValueError(f"{cls} is not a namedtuple class")
    NAMED_TUPLES[cls] = serialized_type_name


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON.

    >>> from retrograd.utils._pytree import tree_structure
    >>> treespec_loads(treespec_dumps(tree_structure({"a": [1, 2]})))
    TreeSpec(dict, ['a'], [TreeSpec(list, None, [*,
        *])])
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    check_protocol(protocol)
    return json.dumps((protocol, as_json(treespec)), default=encode)


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote.

    >>> treespec_loads('[1, {"type": null, "context": null, "children_spec": []}]')
    *
    """
    protocol, schema = json.loads(serialized)
    check_protocol(protocol)
    return from_json(schema)


def pytree_to_str(treespec: TreeSpec) -> str:
    """`treespec_dumps` under its old name."""
    warnings.warn("`pytree_to_str` is deprecated. Please use `treespec_dumps` instead.", FutureWarning, stacklevel=2)
    return treespec_dumps(treespec)


def str_to_pytree(json: str) -> TreeSpec:
    """`treespec_loads` under its old name."""
    warnings.warn("`str_to_pytree` is deprecated. Please use `treespec_loads` instead.", FutureWarning, stacklevel=2)
    return treespec_loads(json)


def check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")


def encode(obj: Any) -> Any:
    """Members of enumerations as the names of their class and themselves."""
    if isinstance(obj, enum.Enum):
        return {"__enum__": True, "fqn": f"{type(obj).__module__}:{type(obj).__qualname__}", "name": obj.name}
    raise TypeError(f"Object of type {type(obj).__name__} is not JSON serializable")


def decode(obj: dict[str, Any]) -> Any:
    if "__enum__" not in obj:
        return obj
    module, _, name = obj["fqn"].partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and issubclass(found, enum.Enum)):
        raise ValueError(f"{obj['fqn']} is no enumeration")
    return found[obj["name"]]


def as_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES[spec.type]
    name = node.serialized_type_name or NAMES.get(spec.type)
    if name is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your "
                                  "_register_pytree_node call with a `serialized_type_name` kwarg.")
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    elif spec.type is defaultdict:
        factory, keys = spec.context
        context = {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__,
                   "dict_context": keys}
    elif spec.type is namedtuple:
        if spec.context not in NAMED_TUPLES:
            raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {spec.context} because we didn't register "
                                      "a serializated_type_name. Please register using `_register_namedtuple`.")
        context = NAMED_TUPLES[spec.context]
    else:
        try:
            context = json.dumps(spec.context, default=encode)
        except TypeError as error:
            raise TypeError("Unable to serialize context. Please make the context json dump-able or register a custom "
                            "serializer using _register_pytree_node.") from error
    return {"type": name, "context": context, "children_spec": [as_json(child) for child in spec.children()]}


def from_json(schema: dict[str, Any]) -> TreeSpec:
    name, context = schema["type"], schema["context"]
    if name is None:
        return LEAF
    kinds = {known: kind for kind, known in NAMES.items()} | {
        node.serialized_type_name: kind for kind, node in SUPPORTED_NODES.items() if node.serialized_type_name}
    if name not in kinds:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    kind = kinds[name]
    node = SUPPORTED_NODES[kind]
    if node.from_dumpable_context is not None:
        context = node.from_dumpable_context(context)
    elif kind is defaultdict:
        context = [getattr(import_module(context["default_factory_module"]), context["default_factory_name"]),
                   context["dict_context"]]
    elif kind is namedtuple:
        context = next(cls for cls, known in NAMED_TUPLES.items() if known == context)
    else:
        context = json.loads(context, object_hook=decode)
    return TreeSpec(kind, context, [from_json(child) for child in schema["children_spec"]])
