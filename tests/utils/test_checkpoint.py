"""Checkpointing: what is recomputed when, what dies when, and how differences between the runs are reported."""
from __future__ import annotations

import functools
import gc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


class Calls(TorchDispatchMode):
    """Lists the ops that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


@pytest.fixture
def no_gc() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def leaf() -> Any:
    return torch.tensor([0.3, 0.7], requires_grad=True)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradient_is_that_of_the_plain_call(use_reentrant: bool) -> None:
    x, y = leaf(), leaf()
    (checkpoint(lambda x: x.sin().exp() * x, x, use_reentrant=use_reentrant)).sum().backward()
    (y.sin().exp() * y).sum().backward()
    assert torch.equal(x.grad, y.grad)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_random_numbers_are_the_same_again(use_reentrant: bool) -> None:
    x = torch.ones(100, requires_grad=True)
    out = checkpoint(lambda x: torch.dropout(x, 0.5, True) * x, x, use_reentrant=use_reentrant)
    torch.rand(3)
    after = torch.get_rng_state()
    out.sum().backward()
    assert torch.equal(x.grad, 2 * out.detach())
    assert torch.equal(torch.get_rng_state(), after)


def test_recomputation_shows_the_ops_that_pytorch_shows() -> None:
    x = leaf()
    with Calls() as calls:
        out = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
        assert calls.names == ["sin.default", "exp.default"]
        calls.names.clear()
        out.sum().backward()
    assert calls.names == ["sum.default", "ones_like.default", "expand.default", "detach.default", "sin.default", "exp.default",
                           "detach.default", "detach.default", "mul.Tensor", "detach.default", "cos.default", "mul.Tensor",
                           "detach.default"]


def test_nothing_recomputed_is_kept_after_access_outside_backward(no_gc: None) -> None:
    made = []

    def fn(x: Any) -> Any:
        y = x.sin()
        made.append(weakref.ref(y))
        return y.exp().sin()

    out = checkpoint(fn, leaf(), use_reentrant=False)
    saved = out.grad_fn._saved_self
    assert len(made) == 2 and saved.shape == (2,)
    del saved
    assert [r() for r in made] == [None, None]


def test_graph_and_inputs_die_with_the_output(no_gc: None) -> None:
    x = leaf().clone()
    reference = weakref.ref(x)
    out = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    del x
    assert reference() is not None
    out.sum().backward()
    assert reference() is None


def test_input_changed_in_place_is_detected() -> None:
    x, w = torch.ones(2), leaf()
    out = checkpoint(lambda x, w: (x * w).exp(), x, w, use_reentrant=False)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_overlapping_backwards_in_a_group_are_refused() -> None:
    out = checkpoint(lambda x: x.sin().cos(), leaf(), use_reentrant=False)
    with GraphExecGroup():
        with pytest.raises(RuntimeError, match="cannot be nested"), GraphExecGroup():
            pass
        out.sum().backward(retain_graph=True)
        with pytest.raises(CheckpointError, match="overlap"):
            out.sum().backward()


def test_grad_through_reentrant_checkpoint_is_refused_also_from_a_nested_backward() -> None:
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            with torch.enable_grad():
                checkpoint(torch.exp, leaf(), use_reentrant=True).sum().backward()
            return grad

    x = leaf()
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
        torch.autograd.grad(Nested.apply(x).sum(), x)
    Nested.apply(x).sum().backward()


def test_arguments_are_checked() -> None:
    x = leaf()
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.sin, x, use_reentrant=True, foo=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check="never")
    with pytest.raises(ValueError, match="incompatible with non-default context_fn"):
        checkpoint(torch.sin, x, use_reentrant=False, debug=True, context_fn=lambda: None)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.sin, torch.ones(2), use_reentrant=True)


def test_chain_is_checkpointed_in_segments() -> None:
    counts = [0] * 4

    def step(i: int) -> Any:
        def run(x: Any) -> Any:
            counts[i] += 1
            return x.sin()
        return run

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint_sequential([step(i) for i in range(4)], 2, leaf(), use_reentrant=False).sum().backward()
    assert counts == [2, 2, 1, 1]


# ---- differences between the runs
def changing(first: Any, second: Any) -> Any:
    runs = iter([first, second])
    return lambda x: next(runs)(x)


def test_fewer_saved_tensors_are_reported() -> None:
    out = checkpoint(changing(lambda x: x.sin().exp().sin(), lambda x: x.sin().exp()), leaf(), use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"during forward: 3\nNumber of tensors saved during recomputation: 2\."):
        out.sum().backward()


def test_more_saved_tensors_matter_only_without_early_stop() -> None:
    functions = (lambda x: x.sin().exp(), lambda x: x.sin().exp().sin())
    checkpoint(changing(*functions), leaf(), use_reentrant=False).sum().backward()
    with set_checkpoint_early_stop(False):
        out = checkpoint(changing(*functions), leaf(), use_reentrant=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors"):
        out.sum().backward()


def test_other_metadata_are_reported_unless_told_not_to() -> None:
    functions = (lambda x: x.sin().exp(), lambda x: x.sin() * torch.ones(2, 2))
    out = checkpoint(changing(*functions), leaf(), use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"tensor at position 1:\nsaved metadata: \{'shape': torch\.Size"):
        out.sum().backward()
    checkpoint(changing(*functions), leaf(), use_reentrant=False, determinism_check="none").sum().backward()


def test_debug_report_shows_both_runs_and_their_source() -> None:
    with set_checkpoint_debug_enabled(True):
        out = checkpoint(changing(lambda x: x.sin().exp(), lambda x: torch.stack([x.sin(), x])), leaf(), use_reentrant=False)
    with pytest.raises(CheckpointError) as caught:
        out.sum().backward()
    text = str(caught.value)
    assert "$1: f32[2] = torch._ops.aten.sin.default($0)   (1 of 2 in original)" in text
    assert "torch._ops.aten.stack.default(['$2', '$0'])" in text
    assert "test_checkpoint.py" in text and isinstance(caught.value.__cause__, CheckpointError)


# ---- selective
def test_kept_op_does_not_run_again() -> None:
    context = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.sin.default])
    x = leaf()
    out = checkpoint(lambda x: x.sin().cos().exp(), x, use_reentrant=False, context_fn=context)
    with Calls() as calls:
        out.sum().backward()
    assert "sin.default" in calls.names and calls.names.count("sin.default") == 1        # the one in cos's derivative
    y = leaf()
    y.sin().cos().exp().sum().backward()
    assert torch.equal(x.grad, y.grad)


def test_policy_sees_both_runs() -> None:
    seen = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((ctx.is_recompute, op.name))
        return CheckpointPolicy.PREFER_RECOMPUTE

    context = functools.partial(create_selective_checkpoint_contexts, policy)
    checkpoint(lambda x: x.sin().exp(), leaf(), use_reentrant=False, context_fn=context).sum().backward()
    assert seen == [(False, "sin"), (False, "exp"), (True, "sin"), (True, "exp")]


def test_op_that_forward_did_not_keep_is_reported() -> None:
    context = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.sin.default])
    out = checkpoint(changing(lambda x: x.cos().cos(), lambda x: x.sin().cos()), leaf(), use_reentrant=False,
                     context_fn=context)
    with pytest.raises(RuntimeError, match=r"aten\.sin\.default encountered during backward but not found in storage"):
        out.sum().backward()
