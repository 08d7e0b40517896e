"""Ops write to and share the memory that their schemas say, and a mode finds those that do otherwise."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.library import Library
from retrograd.library.schema_check import SchemaCheckMode
from retrograd.library.schema_info import SchemaArgType, SchemaArgument, SchemaInfo

BAD = {"mut(Tensor self) -> Tensor": lambda x: x.add_(1).clone(),
       "turned(Tensor self) -> Tensor": lambda x: x.t_().clone(),
       "same(Tensor self) -> Tensor": lambda x: x,
       "shown(Tensor self) -> Tensor": lambda x: x.view(-1),
       "pair(Tensor self) -> (Tensor, Tensor)": lambda x: (lambda y: (y, y.view(-1)))(x + 1),
       "parts(Tensor[] xs) -> Tensor": lambda xs: xs[0].mul_(2).clone(),
       "named(Tensor self, *, Tensor other) -> Tensor": lambda x, *, other: other.add_(1) * x}


@pytest.fixture(scope="module")
def ops() -> Any:
    library = Library("schema_check_tests", "FRAGMENT")
    for schema, kernel in {**BAD, "good(Tensor(a!) self) -> Tensor(a!)": lambda x: x.add_(1)}.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CPU")
    yield torch.ops.schema_check_tests
    library._destroy()


def test_the_mode_keeps_the_names_of_ops_and_lets_right_ones_pass() -> None:
    with SchemaCheckMode() as mode:
        x = torch.ones(2, 2)
        x.view(-1).add_(1)
        torch.add(x, x, out=x)
        x.split(1)
        torch.nn.functional.batch_norm(x, torch.zeros(2), torch.ones(2), training=True)
        torch.matmul(torch.ones(2, 3, 4), torch.ones(4, 5))
    assert mode.ops[:4] == ["aten::ones", "aten::view", "aten::add_", "aten::add"]
    mode.reset_cache()
    assert mode.ops == []


@pytest.mark.parametrize(("call", "text"), [
    (lambda ops, x: ops.mut(x), "Argument input is not defined as mutable but was mutated"),
    (lambda ops, x: ops.turned(x), "Argument input is not defined as mutable but was mutated"),
    (lambda ops, x: ops.parts([x, x + 1]), "Argument xs is not defined as mutable but was mutated"),
    (lambda ops, x: ops.named(x, other=x + 1), "Argument other is not defined as mutable but was mutated"),
    (lambda ops, x: ops.same(x), "Argument input is not defined to alias output but was aliasing"),
    (lambda ops, x: ops.shown(x), "Argument input is not defined to alias output but was aliasing"),
    (lambda ops, x: ops.pair(x), "Outputs 0 and 1 alias unexpectedly")])
def test_ops_that_do_otherwise_than_their_schemas_are_refused(ops: Any, call: Any, text: str) -> None:
    with SchemaCheckMode(), pytest.raises(RuntimeError, match=text):
        call(ops, torch.ones(2, 3))


def test_an_op_that_says_so_may_write(ops: Any) -> None:
    with SchemaCheckMode():
        assert ops.good(torch.ones(2)).tolist() == [2, 2]


def answers(op: Any) -> tuple[Any, ...]:
    info = SchemaInfo(op._schema)
    inputs = [SchemaArgument(SchemaArgType.input, i) for i in range(len(op._schema.arguments))]
    out = SchemaArgument(SchemaArgType.output, 0)
    return (info.is_mutable(), [info.is_mutable(i) for i in inputs], [info.may_alias(i, out) for i in inputs],
            [info.may_contain_alias(i, out) for i in inputs])


def test_schemas_say_what_is_written_and_shared() -> None:
    aten = torch.ops.aten
    assert answers(aten.add.Tensor) == (False, [False] * 3, [False] * 3, [False] * 3)
    assert answers(aten.add_.Tensor) == (True, [True, False, False], [True, False, False], [True, False, False])
    assert answers(aten.split.Tensor) == (False, [False] * 3, [False] * 3, [True, False, False])
    norm = SchemaInfo(aten.instance_norm.default._schema)
    assert norm.is_mutable("running_mean")
    norm.add_argument_value("use_input_stats", False)
    assert not norm.is_mutable("running_mean") and norm.has_argument("eps") and not norm.has_argument("other")


def test_values_that_share_memory_share_what_is_said_of_them() -> None:
    info, x = SchemaInfo(torch.ops.aten.sub_.Tensor._schema), torch.ones(2, 2)
    info.add_argument_values({"self": x, "other": x[0]})
    first, second = (SchemaArgument(SchemaArgType.input, i) for i in (0, 1))
    assert info.is_mutable("other") and info.may_alias(first, second)
    assert info.may_alias(second, SchemaArgument(SchemaArgType.output, 0))
    with pytest.raises(RuntimeError, match="Schema has no argument named missing"):
        info.is_mutable("missing")
    with pytest.raises(RuntimeError, match="Invalid index for schema"):
        info.may_alias(SchemaArgument(SchemaArgType.input, 9), first)
