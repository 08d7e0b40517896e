"""Signatures of operators, and calls with all their arguments by name."""
from __future__ import annotations

import numbers

import pytest

import retrograd as torch
from retrograd.fx.operator_schemas import (
    check_for_mutable_operation,
    create_type_hint,
    get_signature_for_torch_op,
    normalize_function,
    normalize_module,
    type_matches,
)

x = torch.ones(2, 2)


def names(op):
    return [list(signature.parameters) for signature in get_signature_for_torch_op(op)]


def test_signature_has_the_names_and_defaults_of_the_schema() -> None:
    (signature,) = get_signature_for_torch_op(torch.ops.aten.add.Tensor)
    assert list(signature.parameters) == ["input", "other", "alpha"] and signature.parameters["alpha"].default == 1
    assert signature.parameters["other"].annotation is torch.Tensor and signature.return_annotation is torch.Tensor
    assert signature.parameters["alpha"].kind is signature.parameters["alpha"].KEYWORD_ONLY


def test_public_function_has_the_signatures_of_its_overloads() -> None:
    assert ["input", "dim", "keepdim"] in names(torch.max) and ["input", "other"] in names(torch.max)
    assert ["tensors", "dim"] in names(torch.cat) and ["A"] in names(torch.linalg.det)
    assert ["input"] in names(torch.special.expit)
    signatures, schemas = get_signature_for_torch_op(torch.sin, return_schemas=True)
    assert len(signatures) == len(schemas) and str(schemas[0]) == "aten::sin(Tensor self) -> Tensor"


def test_python_functions_and_methods_have_none() -> None:
    assert get_signature_for_torch_op(torch.nn.functional.relu) is None
    assert get_signature_for_torch_op(torch.Tensor.add) is None and get_signature_for_torch_op(len) is None


def test_defaults_are_filled_in() -> None:
    assert normalize_function(torch.ops.aten.add.Tensor, (x, x)) == ((x, x), {"alpha": 1})
    by_name = normalize_function(torch.sum, (x,), {"dim": 1}, normalize_to_only_use_kwargs=True)
    assert by_name.args == () and by_name.kwargs == {"input": x, "dim": 1, "keepdim": False, "dtype": None}
    assert normalize_function(torch.nn.functional.relu, (x,), normalize_to_only_use_kwargs=True).kwargs == {
        "input": x, "inplace": False}
    assert normalize_function(torch.matmul, (x,), {"other": x}) == ((x,), {"other": x})
    assert normalize_function(torch.sin, ()) is None


def test_types_choose_between_overloads() -> None:
    with pytest.raises(RuntimeError, match="the schema match was ambiguous! Please provide argument types"):
        normalize_function(torch.max, (x, 1))
    assert normalize_function(torch.max, (x, 1), arg_types=(torch.Tensor, int)).kwargs == {"keepdim": False}
    assert normalize_function(torch.max, (x, x), arg_types=(torch.Tensor, torch.Tensor)).kwargs == {}


def test_modules_of_the_library_are_normalized() -> None:
    root = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.fx.symbolic_trace(torch.nn.ReLU()))
    assert normalize_module(root, "0", (x,), normalize_to_only_use_kwargs=True).kwargs == {"input": x}
    assert normalize_module(root, "1", (x,)) is None
    with pytest.raises(RuntimeError, match="root did not have that target"):
        normalize_module(root, "other", (x,))


def test_types_match() -> None:
    assert type_matches(list[int], int) and type_matches(list[int], tuple[int, int]) and type_matches(numbers.Number, float)
    assert not type_matches(int, float) and not type_matches(numbers.Number, torch.Tensor) and not type_matches(float, int)


def test_types_of_items_make_the_type_of_a_list() -> None:
    assert create_type_hint([int, bool]) == list[int] and create_type_hint((float,)) == tuple[float, ...]
    assert create_type_hint(int) is int
    with pytest.warns(UserWarning, match="We were not able to successfully create type hint"):
        assert create_type_hint([1, 2]) == [1, 2]


def test_writing_operation_is_refused() -> None:
    check_for_mutable_operation(torch.sin, (x,), {})
    with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::sin.out"):
        check_for_mutable_operation(torch.sin, (x,), {"out": x})
