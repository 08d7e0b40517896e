"""Members of modules by dotted names: read, replaced and put back."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.utils._named_member_accessor import NamedMemberAccessor, swap_submodule, swap_tensor


def made() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_swapped_tensors_are_used_and_can_be_put_back() -> None:
    model = made()
    accessor = NamedMemberAccessor(model)
    weight = model[0].weight
    other = torch.zeros(3, 2)
    before, missing = accessor.swap_tensors_dict({"0.weight": other, "0.bias": torch.ones(3)})
    assert before["0.weight"] is weight and missing == [] and model[0].weight is other
    assert torch.equal(model[0](torch.ones(1, 2)), torch.ones(1, 3))
    accessor.swap_tensors_dict(before)
    assert model[0].weight is weight and [name for name, _ in model.named_parameters()][:2] == ["0.weight", "0.bias"]


def test_error_leaves_all_as_it_was() -> None:
    model = made()
    weight = model[0].weight
    with pytest.raises(RuntimeError, match="Missing key"):
        NamedMemberAccessor(model).swap_tensors_dict({"0.weight": torch.zeros(3, 2), "0.scale": torch.ones(3)})
    assert model[0].weight is weight and not hasattr(model[0], "scale")


def test_keys_are_checked_against_parameters_and_buffers() -> None:
    missing, unexpected = NamedMemberAccessor(made()).check_keys(["0.weight", "0.bias", "1.weight", "2.x"])
    assert missing == ["1.bias", "1.num_batches_tracked", "1.running_mean", "1.running_var"] and unexpected == ["2.x"]


def test_submodules_are_swapped_and_deleted_tensors_are_gone() -> None:
    model = made()
    first, new = model[0], nn.Identity()
    assert swap_submodule(model, "0", new) is first and model[0] is new
    NamedMemberAccessor(first).del_tensor("bias")
    assert not hasattr(first, "bias")


def test_wrong_names_and_values_are_refused() -> None:
    model = made()
    with pytest.raises(KeyError, match="contain"):
        swap_tensor(model, "0.weight", torch.ones(1))
    with pytest.raises(TypeError, match=r"is not an instance of torch.Tensor"):
        swap_tensor(model[0], "weight", 3)
    with pytest.raises(AttributeError, match="has no attribute `gone`"):
        swap_tensor(model[0], "gone", torch.ones(1))
    with pytest.raises(AttributeError, match="has no attribute `5`"):
        NamedMemberAccessor(model).get_tensor("5.weight")
