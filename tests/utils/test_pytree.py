"""Trees of containers: structures as text, dataclasses, constants and the kinds of tuples."""
from __future__ import annotations

import dataclasses
import enum
import json
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import retrograd as torch
from retrograd.utils import _pytree as pytree

Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize("tree", [
    1, None, (), [], {}, (1, [2, {"a": 3}]), OrderedDict(b=1, a=2), defaultdict(list, x=1), deque([1, 2], maxlen=3),
    torch.Size([1, 2]), {Color.RED: 1},
])
def test_structures_survive_as_text(tree: object) -> None:
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_text_names_types_by_their_modules() -> None:
    protocol, schema = json.loads(pytree.treespec_dumps(pytree.tree_structure([1])))
    assert protocol == 1 and schema["type"] == "builtins.list" and len(schema["children_spec"]) == 1


def test_unknown_protocols_and_nameless_types_are_refused() -> None:
    class Bare:
        pass
    with pytest.raises(ValueError, match=r"Unknown protocol 5. Available protocols: \[1\]"):
        pytree.treespec_dumps(pytree.treespec_leaf(), 5)
    with pytest.raises(NotImplementedError, match="_register_namedtuple"):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))
    pytree.register_pytree_node(Bare, lambda b: ([], None), lambda xs, _: Bare())
    try:
        with pytest.raises(NotImplementedError, match="No registered serialization name"):
            pytree.treespec_dumps(pytree.tree_structure(Bare()))
    finally:
        pytree._deregister_pytree_node(Bare)


def test_dataclasses_are_containers_of_their_fields() -> None:
    @dataclasses.dataclass
    class Record:
        a: object
        b: object = None
        note: str = ""
    with pytest.raises(ValueError, match=r"Missing fields in `field_names`: \{'b'\}"):
        pytree.register_dataclass(Record, field_names=["a"], drop_field_names=["note"])
    pytree.register_dataclass(Record, drop_field_names=["note"])
    try:
        leaves, spec = pytree.tree_flatten(Record(1, [2]))
        assert leaves == [1, 2] and pytree.tree_unflatten([3, 4], spec) == Record(3, [4])
        assert pytree.tree_leaves(Record(1)) == [1]
        assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(Record(1, [2]))] == [".a", ".b[0]"]
    finally:
        pytree._deregister_pytree_node(Record)
    with pytest.raises(ValueError, match="is not a dataclass"):
        pytree.register_dataclass(int)


def test_constants_are_part_of_the_structure() -> None:
    @dataclasses.dataclass(frozen=True)
    class Setting:
        n: int

    class Plain:
        pass
    pytree.register_constant(Setting)
    try:
        assert pytree.is_constant_class(Setting)
        leaves, spec = pytree.tree_flatten([Setting(1), 2])
        assert leaves == [2] and spec != pytree.tree_structure([Setting(3), 2])
        assert pytree.tree_unflatten([5], spec) == [Setting(1), 5]
    finally:
        pytree._deregister_pytree_node(Setting)
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(Plain)


def test_kinds_of_tuples_are_told_apart() -> None:
    result = torch.return_types.max((torch.ones(1), torch.ones(1)))
    assert pytree.is_namedtuple(Point) and pytree.is_namedtuple_instance(Point(1, 2)) and not pytree.is_namedtuple((1,))
    assert pytree.is_structseq(result) and not pytree.is_structseq_instance(Point(1, 2))
    assert pytree.tree_leaves(result) == list(result)


def test_results_are_made_of_a_sequence() -> None:
    assert torch.return_types.max((1, 2)).indices == 2
    with pytest.raises(TypeError, match="takes a 2-sequence \\(3-sequence given\\)"):
        torch.return_types.max((1, 2, 3))


def test_paths_lead_to_leaves() -> None:
    tree = {"a": [1, Point(2, 3)]}
    for path, leaf in pytree.tree_leaves_with_path(tree):
        assert pytree.key_get(tree, path) == leaf


def test_the_old_registration_overwrites() -> None:
    class Box:
        pass
    pytree.register_pytree_node(Box, lambda b: ([1], None), lambda xs, _: Box())
    try:
        with pytest.warns(UserWarning, match="Overwriting"), pytest.warns(FutureWarning, match="deprecated"):
            pytree._register_pytree_node(Box, lambda b: ([1, 2], None), lambda xs, _: Box())
        assert pytree.tree_leaves(Box()) == [1, 2]
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Box, lambda b: ([1], None), lambda xs, _: Box())
    finally:
        pytree._deregister_pytree_node(Box)
