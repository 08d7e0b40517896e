"""Operators that take functions, and what ops tell of themselves."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd._functorch.levels import TransformType, get_unwrapped, maybe_get_bdim
from retrograd.core.dispatch_keys import DispatchKey, DispatchKeySet, keys_of
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.library.higher_order import REGISTERED, HigherOrderOperator
from retrograd.library.layers import below_autograd
from retrograd.utils._python_dispatch import TorchDispatchMode


class Apply(HigherOrderOperator):
    def __init__(self) -> None:
        super().__init__("test_apply")

    def __call__(self, f, x):
        return super().__call__(f, x)


@pytest.fixture
def apply():
    made = Apply()
    yield made
    del REGISTERED["test_apply"]


def test_an_operator_without_rules_says_so(apply) -> None:
    assert torch.ops.higher_order.test_apply is apply and apply.name() == "test_apply"
    with pytest.raises(NotImplementedError, match="could not find kernel for HigherOrderOperator test_apply"):
        apply(torch.sin, torch.ones(1))
    with pytest.raises(TypeError, match="abstract"):
        HigherOrderOperator("x")


def test_layers_are_met_one_after_the_other(apply) -> None:
    met = []

    @apply.py_impl(DispatchKey.Autograd)
    def _(f, x):
        met.append("autograd")
        with below_autograd():
            return apply(f, x)

    @apply.py_impl(DispatchKey.CompositeExplicitAutograd)
    def _(f, x):
        met.append("kernel")
        return f(x)
    assert apply(torch.neg, torch.ones(1)).tolist() == [-1] and met == ["autograd", "kernel"]


def test_transforms_run_their_own_rule(apply) -> None:
    apply.py_impl(DispatchKey.Autograd)(lambda f, x: f(x))
    with pytest.raises(KeyError):
        torch.vmap(lambda x: apply(torch.sum, x))(torch.ones(2, 3))

    @apply.py_impl(TransformType.Vmap)
    def _(interpreter, f, x):
        assert interpreter.batch_size() == 2 and maybe_get_bdim(x) == 0
        with interpreter.lower():
            return apply(f, get_unwrapped(x))
    assert torch.vmap(lambda x: apply(torch.sum, x), out_dims=None)(torch.ones(2, 3)) == 6


def test_modes_run_their_own_rule(apply) -> None:
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))
    apply.fallthrough(DispatchKey.Autograd)
    x = torch.ones(1)
    with Mode(), pytest.raises(NotImplementedError, match="no rule registered for HigherOrderOperator test_apply and mode"):
        apply(torch.neg, x)
    apply.py_impl(Mode)(lambda mode, f, x: f(x) * 2)
    with Mode():
        assert apply(torch.neg, x).tolist() == [-2]
    with pytest.raises(AssertionError, match="already registered"):
        apply.py_impl(Mode)(lambda mode, f, x: x)


def test_ops_tell_their_names_tags_and_kinds() -> None:
    add = torch.ops.aten.add.Tensor
    assert add.name() == add._name == "aten::add.Tensor" and torch.ops.aten.sin.default.name() == "aten::sin"
    assert torch.Tag.pointwise in add.tags and torch.Tag.nondeterministic_seeded in torch.ops.aten.bernoulli.default.tags
    assert torch.ops.aten.view.default.is_view and not add.is_view
    assert add.has_kernel_for_dispatch_key(DispatchKey.CPU)
    assert add.decompose(torch.ones(1), 1) is NotImplemented
    assert torch.ops.aten.matmul.default.decompose(torch.ones(2, 2), torch.ones(2)).tolist() == [2, 2]
    assert "Tensor" in list(torch.ops.aten.add) and "Tensor" in torch.ops.aten.add._schemas
    with pytest.raises(AttributeError, match="The underlying op of 'aten.add' has no overload name 'foo'"):
        _ = torch.ops.aten.add.foo


def test_sets_of_dispatch_keys() -> None:
    keys = keys_of(torch.ones(1))
    assert keys.has(DispatchKey.CPU) and keys.has(DispatchKey.AutogradCPU) and not keys.has(DispatchKey.Meta)
    assert keys_of(torch.ones(1, device="meta")).has(DispatchKey.Meta)
    assert keys_of(torch.ones(1, dtype=torch.complex64).conj()).has(DispatchKey.Conjugate)
    assert (keys - DispatchKeySet(DispatchKey.CPU)) | DispatchKeySet(DispatchKey.CPU) == keys
    assert DispatchKeySet.from_raw_repr(keys.raw_repr()) == keys
    assert DispatchKeySet(DispatchKey.CPU, DispatchKey.AutogradCPU).highestPriorityTypeId() is DispatchKey.AutogradCPU


def test_operator_runs_with_the_random_state_that_was_saved() -> None:
    ops = torch.ops.higher_order
    torch.manual_seed(0)
    state, first = ops.run_and_save_rng_state(torch.ops.aten.rand_like.default, torch.ones(3))
    following = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(ops.run_with_rng_state(state, torch.rand_like, torch.ones(3)), first)
    assert torch.equal(torch.rand(3), first) and torch.equal(torch.rand(1), following)
    graph = make_fx(lambda x: ops.run_and_save_rng_state(torch.ops.aten.rand_like.default, x)[1] * 2)(torch.ones(3)).graph
    assert ops.run_and_save_rng_state in [node.target for node in graph.nodes]


def test_operator_without_its_writes() -> None:
    ops, lib = torch.ops.higher_order, torch.library.Library("writes", "FRAGMENT")
    lib.define("add(Tensor(a!) x, Tensor? y) -> Tensor")
    lib.define("fill(Tensor(a!)[] xs) -> ()")
    lib.define("same(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("add", lambda x, y: (x.add_(1 if y is None else y) * 10), "CPU")
    lib.impl("fill", lambda xs: [t.fill_(7.0) for t in xs] and None, "CPU")
    x = torch.zeros(2)

    def lists(values: object) -> object:
        return [v if v is None else lists(v) if isinstance(v, list) else v.tolist() for v in values]
    add, fill = torch.ops.writes.add.default, torch.ops.writes.fill.default
    assert lists(ops.auto_functionalized(add, x=x, y=None)) == [[10.0, 10.0], [1.0, 1.0]]
    assert lists(ops.auto_functionalized(fill, xs=[x])) == [None, [[7.0, 7.0]]]
    views = {"whole": {}, "strided": {"size": (1,), "stride": (1,), "storage_offset": 1},
             "slice": {"slice_dim": 0, "slice_start": 0, "slice_end": 1}}
    found = [lists(ops.auto_functionalized_v2(add, y=None, _all_bases=[x], _x_base_index=0, **{
        f"_x_{name}": value for name, value in view.items()})) for view in views.values()]
    assert found == [[[10.0, 10.0], [1.0, 1.0]], [[10.0], [0.0, 1.0]], [[10.0], [1.0, 0.0]]]
    assert lists(ops.auto_functionalized_v2(fill, _xs_length=1, _xs_0_base_index=0, _all_bases=[x])) == [None, [7.0, 7.0]]
    assert x.tolist() == [0.0, 0.0]
    for op in (torch.ops.writes.same.default, torch.ops.aten.add_.Tensor, torch.sin):
        with pytest.raises(AssertionError, match="Cannot auto-functionalize op"):
            ops.auto_functionalized(op, x=x)
    lib._destroy()
