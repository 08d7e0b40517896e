"""What calls of ops say when they do not fit, in the words of `torch.ops`; ops as values."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import retrograd as torch

aten = torch.ops.aten


@pytest.mark.parametrize(("call", "message"), [
    (lambda: aten.add.Tensor("a"), r"aten::add\(\) Expected a value of type 'Tensor' for argument 'self' but instead"),
    (lambda: aten.sin.default(), r"aten::sin\(\) is missing value for argument 'self'. Declaration: aten::sin\(Tensor self\)"),
    (lambda: aten.sin.default(torch.ones(1), zz=1), r"aten::sin\(\) expected at most 1 argument\(s\) but received 2"),
    (lambda: aten.sin("a"), r"Overloaded torch operator invoked from Python failed to match any schema:\naten::sin"),
    (lambda: aten.add.Scalar(torch.ones(1), "a"), "Cannot cast a to number"),
    (lambda: aten.cat.default(3), r"Expected a value of type 'List\[Tensor\]' for argument 'tensors'"),
])
def test_ops_refuse_arguments_by_their_declaration(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("call", [lambda: torch.sin("a"), lambda: torch.nn.functional.gelu("a"),
                                  lambda: torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 2, 2), "a")])
def test_public_functions_refuse_with_a_type_error(call: Any) -> None:
    with pytest.raises(TypeError):
        call()


def test_ops_are_not_copied() -> None:
    assert copy.deepcopy(aten.sin.default) is aten.sin.default and copy.copy(aten.sin) is aten.sin
    assert copy.deepcopy([aten.sin])[0] is aten.sin


def test_built_in_ops_can_be_checked() -> None:
    assert torch.library.opcheck(aten.sin.default, (torch.ones(2, requires_grad=True),)) == {
        "test_schema": "SUCCESS", "test_autograd_registration": "SUCCESS", "test_faketensor": "SUCCESS",
        "test_aot_dispatch_dynamic": "SUCCESS"}
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        torch.library.opcheck(aten.sin.default, (torch.ones(2),), test_utils="other")


def test_ops_with_kernels_of_triton_are_custom_ops() -> None:
    @torch.library.triton_op("refused::halved", mutates_args={})
    def halved(x: torch.Tensor) -> torch.Tensor:
        return x / 2
    assert halved(torch.ones(1)).item() == 0.5 and torch.ops.refused.halved(torch.ones(1)).item() == 0.5
    with pytest.raises(RuntimeError, match="wrap_triton only works on functions annotated with"):
        torch.library.wrap_triton(lambda x: x)
