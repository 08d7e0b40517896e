"""Meta and fake tensors are like the real ones, and scopes check that ops agree on them."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd._subclasses import CrossRefFakeMode
from retrograd._subclasses.fake_utils import output_alias_each_other, outputs_alias_inputs, try_convert_fake_to_real
from retrograd._subclasses.meta_utils import MetaConverter, assert_eq, assert_metadata_eq
from retrograd.compile.fake_tensor import FakeTensorMode, MetadataMismatchError


@pytest.mark.parametrize("make", [
    lambda: torch.ones(2, 3).t(), lambda: torch.ones(6)[2:], lambda: torch.ones(2, requires_grad=True),
    lambda: torch.ones(2, requires_grad=True).sin(), lambda: torch.ones(4, requires_grad=True).view(2, 2),
    lambda: torch.nn.Parameter(torch.ones(2)), lambda: torch.ones(2, dtype=torch.complex64).conj(),
    lambda: torch.ones(2, 2).to_sparse(),
])
def test_a_meta_tensor_is_like_the_real_one(make: Any) -> None:
    real, convert = make(), MetaConverter()
    made = convert(real)
    assert made.is_meta and type(made) is type(real) and convert.successful() and convert(real) is made
    if not real.is_sparse:
        assert_metadata_eq(assert_eq, real, made)


def test_a_meta_tensor_has_the_gradient_of_the_real_one() -> None:
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    assert MetaConverter()(x).grad.shape == (3,)
    with pytest.raises(AssertionError, match="float32 != .*int64"):
        assert_metadata_eq(assert_eq, torch.ones(2), torch.ones(2, dtype=torch.int64))


def test_ops_agree_on_fake_and_real_tensors_in_a_scope_that_checks_it() -> None:
    with CrossRefFakeMode():
        layer = torch.nn.Linear(3, 2)
        layer(torch.ones(4, 3)).relu().sum().backward()
        assert torch.ones(2, 2).nonzero().shape == (4, 2)
    mode = CrossRefFakeMode()
    with pytest.raises(MetadataMismatchError, match="comparing the output of aten.sin.default.*Shapes"):
        mode.compare(torch.ops.aten.sin.default, torch.ones(2), ([], {}), torch.ones(3), ([], {}))


def test_results_that_share_memory_are_found() -> None:
    x = torch.ones(4)
    assert outputs_alias_inputs([x[1:]], [x]) and not outputs_alias_inputs([x + 1], [x])
    assert output_alias_each_other([x[:2], x[2:]]) and not output_alias_each_other([x, x + 1])
    real, number = try_convert_fake_to_real([FakeTensorMode().from_tensor(x), 3])
    assert real is x and number == 3
