"""Recipes: bindings, plans and the ways of calls, read off the declarations."""
from __future__ import annotations

import retrograd as torch
from retrograd.core.opdef import find_packet
from retrograd.core.recipe import Binding
from retrograd.core.schema import REQUIRED, Schema


def binding(text: str, is_method: bool = False, unreduced: bool = True) -> Binding:
    return Binding(Schema(text), is_method, unreduced)


def test_a_binding_counts_what_a_call_must_give():
    found = binding("f(Tensor self, int k, Tensor? w=None, *, int d, bool up=False) -> Tensor")
    assert (found.positional, found.required, found.least) == (3, 4, 3)
    assert found.defaults == [REQUIRED, REQUIRED, None, REQUIRED, False]
    assert [found.keywords[name] for name in ("input", "x", "k", "w", "d", "up")] == [0, 0, 1, 2, 3, 4]      # x is NumPy's


def test_ints_may_be_given_one_by_one_where_they_are_all_there_is():
    text = "f(Tensor self, int[] size) -> Tensor"
    assert binding(text, is_method=True).varargs == 1
    assert binding(text).varargs == -1
    assert binding("f(int[] size, *, int? seed=None) -> Tensor").varargs == 0


def test_functions_of_losses_do_not_reduce_and_the_ops_do():
    text = "f(Tensor self, Tensor target, int reduction=1) -> Tensor"
    assert [binding(text, unreduced=u).defaults[2] for u in (True, False)] == [0, 1]
    assert binding(text, is_method=True).defaults[2] == 1
    x = torch.tensor([0.5, 0.25])
    assert torch.kl_div(x, x).shape == (2,)
    assert torch.ops.aten.kl_div(x, x).shape == ()


def test_methods_need_their_tensor_first():
    assert binding("f(Tensor self, int k) -> Tensor", is_method=True).takes_receiver_first
    assert not binding("f(Scalar n, Tensor self) -> Tensor", is_method=True).takes_receiver_first
    assert binding("f(Scalar n, Tensor self) -> Tensor").takes_receiver_first


def test_a_plan_keeps_what_the_wanted_gradients_need():
    op = find_packet("mul").Tensor
    torch.mul(torch.ones(1), torch.ones(1))
    first, second, both = (op.plan(mask) for mask in (1, 2, 3))
    assert [op.saved_names[slot] for slot, _ in first.inputs] == ["other"]
    assert [op.saved_names[slot] for slot, _ in second.inputs] == ["self"]
    assert len(both.inputs) == 2
    assert op.plan(3) is both
