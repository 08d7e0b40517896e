"""Whether a declaration may replace an older one."""
from __future__ import annotations

import pytest

from retrograd.core.function_schema import parse_schema


@pytest.mark.parametrize(("new", "old", "backward", "forward"), [
    ("f(Tensor x, int n=1) -> Tensor", "f(Tensor x) -> Tensor", True, ""),
    ("f(Tensor x) -> Tensor", "f(Tensor x, int n=1) -> Tensor", False, ""),
    ("f(Tensor x, int n) -> Tensor", "f(Tensor x) -> Tensor", False, "'n' of type int did not provide a default"),
    ("f(Tensor x, int[2] n=0) -> Tensor", "f(Tensor x) -> Tensor", True, "of type int[] has a container type as its default"),
    ("f(Tensor x, int? n) -> Tensor", "f(Tensor x, int n) -> Tensor", True, "'n' is not forward compatible"),
    ("f(Tensor x, Scalar n) -> Tensor", "f(Tensor x, int n) -> Tensor", True, "'n' is not forward compatible"),
    ("f(Tensor x, int m=1) -> Tensor", "f(Tensor x, int n=1) -> Tensor", False, "'m' is not forward compatible"),
    ("f(Tensor x, int n=2) -> Tensor", "f(Tensor x, int n=1) -> Tensor", False, "'n' is not forward compatible"),
    ("f(Tensor x, *, int n=1) -> Tensor", "f(Tensor x, int n=1) -> Tensor", False, "'n' is not forward compatible"),
    ("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, *, int n=1) -> Tensor", True, ""),
    ("f(Tensor(a!) x) -> Tensor(a!)", "f(Tensor x) -> Tensor", False, "'x' is not forward compatible"),
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor?", True, ""),
    ("f(Tensor x) -> Tensor?", "f(Tensor x) -> Tensor", False, ""),
    ("f(Tensor x, *, int n=1, Tensor(a!) out) -> Tensor(a!)", "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", True, ""),
    ("f(Tensor x, *, Tensor(b!) out) -> Tensor(b!)", "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", False,
     "Out argument ''out is not FC"),
    ("f(Tensor x, *, Tensor(a!) out, int n=1) -> Tensor(a!)", "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", True,
     "should have the same number of out arguments"),
])
def test_changes_of_declarations(new: str, old: str, backward: bool, forward: str) -> None:
    assert parse_schema(new).is_backward_compatible_with(parse_schema(old)) is backward
    compatible, reason = parse_schema(new).check_forward_compatible_with(parse_schema(old))
    assert forward in reason and compatible is not bool(forward)


def test_other_operators_are_never_compatible() -> None:
    for other in ("g(Tensor x) -> Tensor", "f.a(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, Tensor)"):
        schema = parse_schema("f(Tensor x) -> Tensor")
        assert not parse_schema(other).is_backward_compatible_with(schema)
        assert parse_schema(other).check_forward_compatible_with(schema) == (False, "")


def test_arguments_without_default_come_first() -> None:
    with pytest.raises(RuntimeError, match="Non-default positional argument follows default argument. Parameter y in f"):
        parse_schema("f(int x=1, int y) -> Tensor")
    assert len(parse_schema("f(*, int x=1, int y) -> Tensor").arguments) == 2
