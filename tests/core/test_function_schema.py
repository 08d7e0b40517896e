"""Schemas as users write them: what is read, how it is shown, and how mistakes are pointed at."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.core.function_schema import parse_schema


@pytest.mark.parametrize(("text", "shown"), [
    ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor"),
    ("n::f.over(Tensor(a!) x, *, Tensor(b!) out) -> Tensor(b!)", "n::f.over(Tensor(a!) x, *, Tensor(b!) out) -> Tensor(b!)"),
    ("f(Tensor[]? a, Tensor?[] b, int[2] c=1) -> ()", "f(Tensor[]? a, Tensor?[] b, int[2] c=1) -> ()"),
    ("f(float a=3, float b=1.5, float c=-2, str d='x') -> (Tensor)",
     'f(float a=3., float b=1.5, float c=-2., str d="x") -> Tensor'),
    ("f(int[] a=[1,2], bool b=True, int? c=None) -> (Tensor x, int n)",
     "f(int[] a=[1, 2], bool b=True, int? c=None) -> (Tensor x, int n)"),
    ("f(Tensor(a -> *) x) -> Tensor(a)[]", "f(Tensor(a -> *) x) -> Tensor(a)[]"),
    ("f(Tensor?? x, ScalarType dt=float) -> Tensor", "f(Tensor? x, ScalarType dt=6) -> Tensor"),
])
def test_schema_is_shown_in_one_spelling(text: str, shown: str) -> None:
    assert str(parse_schema(text)) == shown


@pytest.mark.parametrize(("text", "message"), [
    ("bad", "Tried to parse a function schema but only the operator name was given"),
    ("bad(Tensor a -> Tensor", "expected ) but found 'arrow' here:\nbad(Tensor a -> Tensor\n             ~~ <--- HERE\n"),
    ("bad(Tensor a)", "expected arrow but found 'eof' here:\nbad(Tensor a)"),
    ("bad(Tensor a=1) -> Tensor",
     "expected None but found 'number' here:\nbad(Tensor a=1) -> Tensor\n             ~ <--- HERE\n"),
    ("f(Tensor x;) -> Tensor", "expected a valid token but found ';' here:\nf(Tensor x;) -> Tensor\n          ~ <--- HERE\n"),
    ("f(int b=x) -> Tensor", "\ninvalid numeric default value:\nf(int b=x) -> Tensor\n         ~ <--- HERE\n"),
])
def test_mistake_is_pointed_at(text: str, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        parse_schema(text)
    assert str(caught.value) == message


def test_unknown_type_is_pointed_at() -> None:
    with pytest.raises(RuntimeError, match="unknown type specifier") as caught:
        parse_schema("bad(Tensr a) -> Tensor")
    assert str(caught.value).endswith(":\nbad(Tensr a) -> Tensor\n    ~~~~~ <--- HERE\n")


def test_arguments_know_their_types_and_defaults() -> None:
    schema = parse_schema("f(Tensor[]? a, int[2] c=1, *, Scalar s=2, Tensor(a!) out) -> ()")
    assert [str(argument.type) for argument in schema.arguments] == ["Optional[List[Tensor]]", "List[int]", "number", "Tensor"]
    assert [argument.default_value for argument in schema.arguments] == [None, [1, 1], 2, None]
    assert [argument.has_default_value() for argument in schema.arguments] == [False, True, True, False]
    assert [argument.is_out for argument in schema.arguments] == [False, False, False, True]
    assert schema.is_mutable
    assert schema.arguments[1].N == 2


def test_built_in_op_shows_its_schema() -> None:
    schema = torch.ops.aten.add.Tensor._schema
    assert str(schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert schema.overload_name == "Tensor"


def test_built_in_op_knows_the_parts_of_its_name() -> None:
    op = torch.ops.aten.add.Tensor
    assert (op.namespace, op._opname, op._overloadname) == ("aten", "add", "Tensor")


def test_a_written_argument_needs_no_name_for_its_memory() -> None:
    schema = parse_schema("ns::f(Tensor a, Tensor! out) -> ()")
    assert schema.arguments[1].alias_info.is_write and schema.arguments[0].alias_info is None
