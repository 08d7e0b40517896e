"""Derivative rules as loops: the same gradients, bit for bit, as the rules on tensors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import fast_kernels
from retrograd.core.opdef import OPS
from tests.ops import cases

compiled = pytest.mark.skipif(fast_kernels.native is None, reason="loops are compiled")


def has_loops(case: Any) -> bool:
    case.op._ready or case.op.prepare()
    return bool(case.differentiable) and any([rule.native is not None for rule in case.op.rules])


def gradients(case: Any, dtype: Any, loops: bool) -> list[Any]:
    """The gradients of a sample in another dtype, with or without the loops of its rules."""
    tensors = [cases.like(case.at(i, k), cases.value(case.at(i, k))) for i, k in case.places]
    tensors = [t.to(dtype) if t.is_floating_point() else t for t in tensors]
    wanted = [t.requires_grad_() for t, place in zip(tensors, case.places, strict=True)
              if place in set(case.differentiable) and t.is_floating_point()]
    args = case.arguments(case.places, tensors)
    if case.op.is_inplace:
        args[0] = args[0].clone()
    kept = [(rule, rule.native) for rule in case.op.rules]
    try:
        out = cases.invoke(case.op, args)
        if not loops:
            for rule, _ in kept:
                rule.native = None
        slope = torch.linspace(-2, 3, out.numel()).to(out.dtype).reshape(out.shape)
        return list(torch.autograd.grad(out, wanted, slope, allow_unused=True)) if out.requires_grad else []
    finally:
        for rule, native in kept:
            rule.native = native


@compiled
@cases.over(has_loops)
def test_loops_give_the_gradients_of_rules_on_tensors(case: Any) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        try:
            expected = gradients(case, dtype, False)
        except (RuntimeError, NotImplementedError):       # half precision that the op refuses
            assert dtype == torch.bfloat16
            continue
        for ours, theirs in zip(gradients(case, dtype, True), expected, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
                assert np.array_equal(ours.double().numpy(), theirs.double().numpy(), equal_nan=True)


@compiled
def test_many_rules_are_loops() -> None:
    import retrograd.ops.load as load
    load.import_all()
    found = [op for packet in OPS.values() for op in packet.overloads_ if has_rule(op)]
    assert len(found) > 75
    for name in ("sin", "gelu", "silu", "softplus", "erfinv", "logit"):        # some need SciPy, which a build does without
        assert has_rule(OPS[name].default), name


def has_rule(op: Any) -> bool:
    if not op._ready:
        op.prepare()
    return any([rule.native is not None for rule in op.rules])


@compiled
@pytest.mark.parametrize("change", [lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[0].expand(3, 4)])
def test_other_memory_orders_take_the_rules_on_tensors(change: Any) -> None:
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    leaf = change(x.clone()).detach().requires_grad_()
    (leaf.sin() * 1.0).sum().backward()
    assert torch.equal(leaf.grad, change(x).cos())


@compiled
def test_a_modified_operand_is_still_an_error() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y.sin()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@compiled
def test_a_freed_graph_is_still_an_error() -> None:
    x = torch.ones(3, requires_grad=True)
    z = x.sin()
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward(torch.ones(3))
