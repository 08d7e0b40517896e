"""Questions about operators and schemas."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd._library import utils
from retrograd.core import function_schema as types

aten: Any = torch.ops.aten


def test_operators_say_what_they_write_to() -> None:
    assert utils.is_functional_schema(aten.sin.default._schema) and not utils.is_functional_schema(aten.view.default._schema)
    assert utils.mutates_and_returns_first_arg(aten.add_.Tensor) and not utils.mutates_and_returns_first_arg(aten.add.Tensor)
    assert utils.is_out(aten.add.out._schema) and utils.is_inplace(aten.add_.Tensor._schema)
    assert utils.mutated_args_kwargs(aten.add.out._schema) == ([], ["out"])
    assert utils.has_kwarg_only_tensors(aten.add.out._schema) and utils.has_kwarg_only_args(aten.add.Tensor._schema)


def test_calls_are_matched_with_schemas() -> None:
    schema = aten.add.Tensor._schema
    assert utils.fill_defaults(schema, (1,), {"other": 2}) == ((1, 2), {"alpha": 1})
    assert [(a.name, value) for a, value in utils.zip_schema(schema, (1,), {"alpha": 3})] == [("self", 1), ("alpha", 3)]
    x, y = torch.ones(1), torch.ones(2)
    assert list(utils.iter_tensors((x, [y, 2]), {"z": x}))[1] is y
    assert utils.lookup_op("aten::add.Tensor") is aten.add.Tensor and utils.is_builtin(aten.add.Tensor)
    with pytest.raises(ValueError, match="to be of the form"):
        utils.parse_namespace("add")


def test_types_of_arguments_have_kinds() -> None:
    tensor, optional = aten.clamp.default._schema.arguments[:2]
    assert tensor.type == types.TensorType.get() and isinstance(tensor.type, types.TensorType)
    assert isinstance(optional.type, types.OptionalType) and optional.type.getElementType() == types.NumberType.get()
    assert isinstance(aten.cat.default._schema.arguments[0].type, types.ListType) and tensor.type.kind() == "TensorType"
    with pytest.raises(AttributeError, match="is of nothing else"):
        tensor.type.getElementType()
