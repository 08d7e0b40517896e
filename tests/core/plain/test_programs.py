"""Programs of derivative rules give what the rules give on tensors, for the values they were traced with and for others."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.record import OpNode
from retrograd.core.tensor import COMPILED
from tests.ops import cases

if COMPILED:
    RUN = OpNode._run_
else:
    from retrograd.core.plain.programs import GENERAL_RUN as RUN
    from retrograd.core.plain.straight import Cache


def ops_of(roots: Any) -> set[Any]:
    """The ops whose nodes lead to some results."""
    todo, seen = [t.grad_fn for t in roots], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += node._next_
    return {node._op_ for node in seen} - {None}


@contextmanager
def on_tensors(ops: Any) -> Iterator[None]:
    """Nodes of these ops run their rules on tensors."""
    were = {op: op.run for op in ops}
    for op in ops:
        op.run = lambda node, grads, needed, bits: RUN(node, grads, needed)
    try:
        yield
    finally:
        for op, run in were.items():
            op.run = run


def gradients(case: Any, values: Any, seeded: str, bare: bool) -> Any:
    places = case.differentiable
    leaves = [cases.like(t, v, requires_grad=True) for t, v in zip(case.tensors(places), values, strict=True)]
    made = case.observe(places, leaves)
    outputs = [made[i] for i in case.flowing]
    seeds = [cases.like(t, cases.direction(case.random(f"{seeded}{i}"), cases.value(t))) for i, t in enumerate(outputs)]
    with on_tensors(() if bare else ops_of(outputs)):
        return torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)


def with_zeros(value: Any) -> Any:
    """Every third element is zero, the others come in another order: a rule that looks at values calls other ops."""
    made = value.reshape(-1)[::-1].copy()
    made[::3] = 0
    return made.reshape(value.shape)


def outcome(case: Any, values: Any, bare: bool) -> Any:
    """The gradients, or the type of the error for values that the op refuses."""
    try:
        return gradients(case, values, "other", bare)
    except Exception as error:
        return type(error)


def facts(case: Any, t: Any) -> Any:
    """What a user can see of a gradient. (Sums of gradients count writes by whether their memory is shared.)"""
    if t is None:
        return None
    summed = case.sample.before is not None or case.sample.after is not None
    return t.dtype, t.shape, t.stride(), t._is_view(), t.is_conj(), None if summed else t._version


@cases.over(cases.is_batchable)
def test_programs_give_what_rules_give_on_tensors(case: Any) -> None:
    values = [cases.value(t) for t in case.tensors(case.differentiable)]
    for _ in range(3):                  # functions are written at the second node, programs at the second one of a key
        gradients(case, values, "", True)
    with np.errstate(all="ignore"):
        for given in (values, [(v * 0.75).astype(v.dtype) for v in values], [with_zeros(v) for v in values]):
            found, expected = [outcome(case, given, bare) for bare in (True, False)]
            if isinstance(expected, type):
                assert found is expected
                continue
            for a, b in zip(found, expected, strict=True):
                assert facts(case, a) == facts(case, b)
                if a is not None:
                    np.testing.assert_array_equal(cases.value(a), cases.value(b))


# ops of which some samples cannot be traced: their rules look at values, or their results have an order of their own
ON_TENSORS = {
    "_ctc_loss_backward", "_linalg_eigvals", "_pdist_backward", "affine_grid_generator", "as_strided", "as_strided_copy",
    "clamp", "clamp_max", "clamp_min", "cummax", "cummin", "cumprod", "cumprod_", "hardswish_backward", "histogram",
    "index_fill", "linalg_eig", "linalg_vector_norm", "masked_select", "max", "median", "min", "multi_margin_loss_backward",
    "nanmedian", "norm", "polar", "prod", "special_i1", "special_i1e", "stack", "t_copy", "xlogy",
}


@cases.over(cases.is_batchable)
def test_all_other_rules_are_traced(case: Any) -> None:
    values = [cases.value(t) for t in case.tensors(case.differentiable)]
    if COMPILED or any([v.dtype.kind == "c" for v in values]):       # conjugates are views that flip a bit of their tensor
        return
    case.op.run = None                  # its programs are of this case alone
    for _ in range(4):
        gradients(case, values, "", True)
    programs = getattr(case.op.run, "__globals__", {}).get("programs")
    assert programs is None or not programs.refused or case.op.name in ON_TENSORS


def test_programs_are_forgotten_with_another_default_dtype() -> None:
    def gradient() -> Any:
        x = torch.tensor([1, 2], dtype=torch.float16, requires_grad=True)
        return torch.autograd.grad((x / 2).cumsum(0), [x], torch.ones(2, dtype=torch.float16))[0]

    expected = [gradient() for _ in range(4)][-1]
    torch.set_default_dtype(torch.float64)
    try:
        assert COMPILED or not any(Cache.all)
        assert torch.equal(gradient(), expected)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_gradient_transposed_twice_is_not_copied() -> None:
    layer = torch.nn.Linear(3, 2)
    layer.weight.register_hook(lambda grad: grad.zero_())
    for _ in range(4):                         # the first passes run on tensors, the third is traced
        layer.weight.grad = None
        layer(torch.ones(2, 3)).sum().backward()
        assert layer.weight.grad is not None and layer.weight.grad._version == 1 and layer.weight.grad.array.base is None


def test_a_rule_that_looks_at_values_is_no_program() -> None:
    for _ in range(4):                         # without zeros the gradient is a division
        x = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
        x.prod().backward()
    x = torch.tensor([0.0, 3.0, 4.0], requires_grad=True)
    x.prod().backward()
    assert x.grad is not None and x.grad.tolist() == [12.0, 0.0, 0.0]
