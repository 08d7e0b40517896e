"""Module: registering, finding, saving, and hooks, in PyTorch's order and words."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn


def test_assigned_parts_are_registered() -> None:
    module = nn.Module()
    module.weight = nn.Parameter(torch.ones(2))
    module.child = nn.Linear(1, 1)
    module.kept = nn.Buffer(torch.zeros(1))
    assert [name for name, _ in module.named_parameters()] == ["weight", "child.weight", "child.bias"]
    assert list(module.state_dict()) == ["weight", "kept", "child.weight", "child.bias"]


@pytest.mark.parametrize(("act", "error", "text"), [
    (lambda m: setattr(m, "weight", torch.ones(2)), TypeError,
     "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)"),
    (lambda m: m.register_parameter("a.b", None), KeyError, "'parameter name can\\'t contain \".\"'"),
    (lambda m: m.register_buffer("forward", None), KeyError, "\"attribute 'forward' already exists\""),
    (lambda m: m.missing, AttributeError, "'Linear' object has no attribute 'missing'"),
    (lambda m: m.get_parameter("in_features"), AttributeError, "`in_features` is not an nn.Parameter"),
    (lambda m: m.load_state_dict({"weight": torch.ones(3, 3), "x": 1}), RuntimeError,
     'Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "bias". \n\tUnexpected key(s) in state_dict: '
     '"x". \n\tsize mismatch for weight: copying a param with shape torch.Size([3, 3]) from checkpoint, the shape in current '
     "model is torch.Size([3, 2])."),
])
def test_misuse_is_refused_in_pytorchs_words(act: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        act(nn.Linear(2, 3))
    assert str(caught.value) == text


def test_parameter_is_shown_and_used_like_a_tensor() -> None:
    p = nn.Parameter(torch.ones(2))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert type(p * 2) is torch.Tensor
    assert type(torch.ones(2) + p) is torch.Tensor


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal_and_separate(duplicate: Any) -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other = duplicate(module)
    assert isinstance(other[0].weight, nn.Parameter)
    assert torch.equal(other[0].weight, module[0].weight)
    with torch.no_grad():
        other[0].weight.zero_()
    assert bool((module[0].weight != 0).any())


def test_repr_shows_the_tree() -> None:
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ModuleList([nn.ReLU(), nn.ReLU()]))) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ModuleList(\n    (0-1): 2 x ReLU()\n  "
        ")\n)")


def test_conversion_keeps_parameters_themselves() -> None:
    module = nn.Linear(2, 2)
    weight = module.weight
    assert module.double().weight is weight
    assert weight.dtype is torch.float64


def test_forward_hooks_see_and_replace() -> None:
    module = nn.Identity()
    module.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    handle = module.register_forward_hook(lambda m, args, output: output * 2)
    assert module(torch.ones(1)).item() == 4.0
    handle.remove()
    assert module(torch.ones(1)).item() == 2.0


def test_always_called_hook_runs_after_an_error() -> None:
    class Bad(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("bad")
    seen: list[Any] = []
    module = Bad()
    module.register_forward_hook(lambda m, args, output: seen.append(output), always_call=True)
    with pytest.raises(ValueError, match="bad"):
        module(1)
    assert seen == [None]


def test_full_backward_hooks_see_and_replace() -> None:
    module = nn.Identity()
    module.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 3,))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 10,))
    x = torch.ones(1, requires_grad=True)
    y = module(x)
    assert y.grad_fn.name() == "BackwardHookFunctionBackward"
    y.backward()
    assert x.grad.item() == 30.0


def test_hooks_of_every_kind_run_in_pytorchs_order() -> None:
    order: list[str] = []
    module = nn.Sequential(nn.Linear(2, 2))
    module.register_full_backward_hook(lambda *args: order.append("module"))
    x = torch.ones(2, 2, requires_grad=True)
    loss = module(x).sum()

    def watch(nodes: Any) -> None:
        for node, _ in nodes:
            name = node.name()
            node.register_prehook(lambda grads, name=name: order.append(f"pre {name}"))
            watch(node.next_functions)
    watch(((loss.grad_fn, 0),))
    loss.backward()
    leaf = "pre torch::autograd::AccumulateGrad"
    assert order == ["pre SumBackward0", "pre BackwardHookFunctionBackward", "pre AddmmBackward0", leaf, "pre TBackward0", leaf,
                     "pre BackwardHookFunctionBackward", "module", leaf]


def test_state_dict_can_be_assigned() -> None:
    module, state = nn.Linear(1, 1), {"weight": torch.zeros(1, 1), "bias": torch.zeros(1)}
    module.load_state_dict(state, assign=True)
    assert module.weight.data_ptr() == state["weight"].data_ptr()
    assert isinstance(module.weight, nn.Parameter)


def test_containers_grow_and_shrink() -> None:
    chain = nn.Sequential(nn.ReLU(), nn.Tanh())
    chain.append(nn.Sigmoid()).insert(0, nn.Identity())
    del chain[1]
    assert [type(m).__name__ for m in chain] == ["Identity", "Tanh", "Sigmoid"]
    named = nn.ModuleDict({"a": nn.ReLU()})
    named.update([("b", nn.Tanh())])
    assert list(named) == ["a", "b"]
    listed = nn.ParameterList([torch.ones(1), torch.zeros(2)])
    assert [tuple(p.shape) for p in listed.parameters()] == [(1,), (2,)]


def test_a_module_that_leaves_the_meta_device_has_new_parameters() -> None:
    layer = nn.Linear(2, 3, device="meta")
    layer.bias.requires_grad_(False)
    before = layer.weight
    assert layer.to("meta").weight is before
    layer.to_empty(device="cpu")
    assert layer.weight is not before and before.is_meta and not layer.weight.is_meta
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad and not layer.bias.requires_grad


def test_a_module_that_goes_to_the_meta_device_takes_its_gradients_along() -> None:
    layer = nn.Linear(2, 1)
    before = layer.weight
    layer(torch.ones(2)).backward()
    layer.to("meta")
    assert layer.weight.grad.is_meta and not before.grad.is_meta


def test_linear_reads_its_parameters_as_its_class_says() -> None:
    class Doubled(nn.Linear):
        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)
            return found * 2 if name == "weight" else found

    torch.manual_seed(0)
    layer, x = Doubled(3, 2, bias=False), torch.ones(1, 3)
    assert torch.equal(layer(x), x @ layer._parameters["weight"].t() * 2)
    plain = nn.Linear(3, 2)
    weight = plain.weight.detach() * 3
    del plain.weight
    plain.weight = weight                         # a plain attribute
    assert torch.equal(plain(x), nn.functional.linear(x, weight, plain.bias))
