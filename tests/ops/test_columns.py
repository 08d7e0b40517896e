"""Every column of the op tables over every sample: derivatives, forward mode, batching, the in-place and out= forms."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.autograd.grad_mode import no_grad
from retrograd.core import dtypes
from retrograd.core.opdef import NOT_IMPLEMENTED, find_packet
from retrograd.core.tensor import new_tensor
from retrograd.ops.shared import families
from tests.ops.cases import (
    TABLE,
    UNDEFINED,
    Case,
    direction,
    floating,
    has_gradient,
    inner,
    invoke,
    is_layout,
    is_random,
    like,
    outputs,
    over,
    value,
)

# What PyTorch warns of too.
pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0", "ignore:.*is in beta and the API may change",
                                        "ignore:torch.* is deprecated in favor of",
                                        "ignore:The reduce argument of torch.scatter",
                                        "ignore:torch.[a-z_]+ is deprecated in favor of")


def close(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


# ---- derivatives
class Pullback:
    """The gradients of an op's outputs at a case, as a function of its inputs and the outputs' gradients."""

    def __init__(self, case: Case) -> None:
        self.case, self.places = case, case.differentiable
        self.inputs = [value(t) for t in case.tensors(self.places)]
        random = case.random("v")
        results = [value(t) for t in self.outputs(self.inputs)[1]]
        # infinite and undefined results have no slope
        self.cotangents = [np.where(np.isfinite(r), direction(random, r), 0).astype(r.dtype) for r in results]
        self.single = any([v.dtype in (np.float32, np.complex64) for v in [*self.inputs, *self.cotangents]])
        self.step, self.tolerance = (1e-3, 1e-2) if self.single else (1e-6, 1e-5)

    def slope(self, function: Any) -> float:
        """The derivative at 0 of a function of the step."""
        return (function(self.step) - function(-self.step)) / (2 * self.step)

    def outputs(self, arrays: Any) -> tuple[list[Any], list[Any]]:
        """Tensors with these values, and the outputs through which gradients flow."""
        given = [like(t, a, requires_grad=True)
                 for t, a in zip(self.case.tensors(self.places), arrays, strict=True)]
        return given, floating(self.case.observe(self.places, given))

    def value(self, arrays: Any) -> float:
        """<cotangents, outputs>"""
        return sum([inner(v, value(t)) for v, t in zip(self.cotangents, self.outputs(arrays)[1], strict=True)])

    def gradients(self, arrays: Any, cotangents: Any, create_graph: bool = False) -> tuple[list[Any], list[Any]]:
        """What was differentiated (the inputs, the cotangents) and the gradients of the inputs."""
        given, results = self.outputs(arrays)
        seeds = [new_tensor(np.array(v)).requires_grad_(create_graph) for v in cotangents]
        made = grad(results, given, seeds, create_graph=create_graph, allow_unused=True)
        return [*given, *seeds], list(made)


def moved(arrays: Any, directions: Any, step: float) -> list[Any]:
    return [a + step * u for a, u in zip(arrays, directions, strict=True)]


def check_gradient(case: Case) -> None:
    """Compare the gradient with finite differences."""
    pullback = Pullback(case)
    arrays = pullback.inputs
    _, gradients = pullback.gradients(arrays, pullback.cotangents)
    for g, a in zip(gradients, arrays, strict=True):
        assert g is None or (g.array.shape == a.shape and g.array.dtype == a.dtype)
    random = case.random("u")
    directions = [direction(random, a) for a in arrays]
    expected = pullback.slope(lambda step: pullback.value(moved(arrays, directions, step)))
    actual = sum([inner(value(g), u) for g, u in zip(gradients, directions, strict=True) if g is not None])
    assert close(actual, expected, pullback.tolerance)


def check_second_gradient(case: Case) -> None:
    """Compare the gradient of the gradient with finite differences."""
    pullback = Pullback(case)
    arrays = [*pullback.inputs, *pullback.cotangents]
    count = len(pullback.inputs)
    variables, gradients = pullback.gradients(arrays[:count], arrays[count:], create_graph=True)
    present = [i for i, g in enumerate(gradients) if g is not None]
    random = case.random("w")
    weights = {i: direction(random, value(gradients[i])) for i in present}
    directions = [direction(random, a) for a in arrays]

    def first(step: float) -> float:
        there = moved(arrays, directions, step)
        _, found = pullback.gradients(there[:count], there[count:])
        return sum([inner(weights[i], value(found[i])) for i in present if found[i] is not None])

    recorded = [i for i in present if gradients[i].requires_grad]
    second: Any = [None] * len(variables)
    if recorded:
        second = grad([gradients[i] for i in recorded], variables,
                      [new_tensor(np.array(weights[i])) for i in recorded], allow_unused=True)
    actual = sum([inner(value(g), u) for g, u in zip(second, directions, strict=True) if g is not None])
    assert close(actual, pullback.slope(first), pullback.tolerance)


test_gradient_agrees_with_finite_differences = over(has_gradient)(check_gradient)
test_second_gradient_agrees_with_finite_differences = over(has_gradient)(check_second_gradient)


@over(has_gradient)
def test_forward_mode_is_the_transpose_of_the_gradient(case: Case) -> None:
    pullback = Pullback(case)
    arrays, random = pullback.inputs, case.random("t")
    directions = [direction(random, a) for a in arrays]
    _, gradients = pullback.gradients(arrays, pullback.cotangents)
    expected = sum([inner(value(g), u) for g, u in zip(gradients, directions, strict=True) if g is not None])
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(like(t, a, requires_grad=True), like(t, u))
                 for t, a, u in zip(case.tensors(case.differentiable), arrays, directions, strict=True)]
        results = floating(case.observe(case.differentiable, duals))
        tangents = [forward_ad.unpack_dual(t).tangent for t in results]
        for t, tangent in zip(results, tangents, strict=True):
            assert tangent is None or tangent.shape == t.shape
        actual = sum([inner(v, value(t)) for v, t in zip(pullback.cotangents, tangents, strict=True) if t is not None])
    assert close(actual, expected, 1e-5 if pullback.single else 1e-9)


@over(lambda case: case.refused)
def test_gradient_of_a_complex_result_is_refused(case: Case) -> None:
    with pytest.raises(RuntimeError, match="does not support automatic differentiation for outputs with complex dtype"):
        case.call()


@over(lambda case: case.differentiable and case.op.vjp == NOT_IMPLEMENTED)
def test_missing_rule_is_an_error_in_either_mode(case: Case) -> None:
    results = floating(case.call())
    with pytest.raises(NotImplementedError, match="the derivative for .* is not implemented"):
        grad(results, case.tensors(case.differentiable), [torch.ones_like(t) for t in results])
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(t.detach(), torch.ones_like(t)) for t in case.tensors(case.differentiable)]
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with .* that does not support it"):
            case.call(case.differentiable, duals)


@pytest.mark.parametrize("name", ["igamma", "igammac", "special_zeta"])
def test_derivative_that_is_no_known_function_is_refused(name: str) -> None:
    x, y = [new_tensor(np.array([1.5, 2.5])).requires_grad_() for _ in range(2)]
    op = TABLE[f"{name}.default"]
    with pytest.raises(NotImplementedError, match="the derivative for .* is not implemented"):
        grad(op(x, y).sum(), [x])
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=f"forward AD with {name} that does not support it"):
        op(forward_ad.make_dual(x, torch.ones_like(x)), y)


# ---- batching
def batchable(case: Case) -> list[Any]:
    """The tensors of a case that can carry a batch."""
    if case.op.name == "slice_inverse":           # reads memory around its input
        return []
    if case.op.name == "index":    # the shape of the result depends on a mask's values
        return [(i, k) for i, k in case.places if case.at(i, k).dtype is not dtypes.bool_]
    return case.places


def has_batch_rule(case: Case) -> bool:
    return case.op.batch not in (None, families.varying_shapes) and not is_random(case.op) and bool(batchable(case))


@over(has_batch_rule)
def test_batch_rule_for_all_operands_agrees_with_a_loop(case: Case) -> None:
    compare_with_a_loop(case, case.random("batchall"), all_operands=True)


@over(has_batch_rule)
def test_batch_rule_for_one_operand_agrees_with_a_loop(case: Case) -> None:
    compare_with_a_loop(case, case.random("batchone"), all_operands=False)


def compare_with_a_loop(case: Case, random: np.random.Generator, all_operands: bool) -> None:
    places = batchable(case)
    if not all_operands:
        chosen = places[random.integers(len(places))]
        # a plain target has no room for a batch
        places = [places[0], chosen] if case.op.is_inplace and chosen != places[0] else [chosen]
    lists = {i for i, k in case.places if k is not None}
    dims: list[Any] = [[None] * len(a) if i in lists else None for i, a in enumerate(case.args)]
    stacked = []
    for i, k in places:
        array = value(case.at(i, k))
        # only a batch that lies in front leaves each example in one piece, as some ops need it
        position = 0 if is_layout(case.op) or case.op.name == "view" else int(random.integers(array.ndim + 1))
        other = array * 0.9 if array.dtype.kind in "fc" else array
        stacked.append(new_tensor(np.stack([array, other], position)))
        if k is None:
            dims[i] = position
        else:
            dims[i][k] = position
    plain = [t.detach() for t in case.tensors()]

    def run(rule: Any) -> list[Any]:
        args = [list(a) if isinstance(a, tuple) else a for a in case.arguments(case.places, plain)]
        for (i, k), t in zip(places, stacked, strict=True):
            if k is None:
                args[i] = t.clone()
            else:
                args[i][k] = t.clone()
        with no_grad():
            result, out = rule(case.op, args, dims, 2)
        return [batch_first(t, d) for t, d in zip(outputs(result), outputs(out) if isinstance(result, (list, tuple)) else [out],
                                                  strict=True)]

    for actual, expected in zip(run(case.op.batch), run(separately if is_layout(case.op) else families.loop), strict=True):
        assert_same(actual, expected, case)


def separately(op: Any, args: Any, dims: Any, size: int) -> Any:
    """A loop over examples that each have a storage of their own."""
    results = [invoke(op, [a if d is None else a.select(d, i).clone() for a, d in zip(args, dims, strict=True)])
               for i in range(size)]
    return torch.stack(results), 0


def batch_first(t: Any, dim: Any) -> Any:
    if t is None:
        return None
    array = value(t)
    return np.broadcast_to(array, (2, *array.shape)) if dim is None else np.moveaxis(array, dim, 0)


def assert_same(actual: Any, expected: Any, case: Case, tolerance: float = 1e-9) -> None:
    assert (actual is None) == (expected is None)
    if expected is None or not isinstance(expected, np.ndarray):
        assert expected is None or actual == expected
        return
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if case.op.name not in UNDEFINED:
        np.testing.assert_allclose(widened(actual), widened(expected), tolerance, tolerance)


def widened(array: Any) -> Any:
    return array.astype(np.float64) if array.dtype.kind == "V" else array


# ---- the other forms
def form_of(op: Any, out: bool) -> Any:
    """The in-place or out= form that was derived from a table's op."""
    packet = find_packet(op.name if out else op.name + "_")
    found = [] if packet is None else [f for f in packet.overloads_ if f.functional is op and f.schema.is_out == out]
    return found[0] if found else None


@over(lambda case: form_of(case.op, out=False) and isinstance(case.args[0], torch.Tensor))
def test_inplace_form_agrees(case: Case) -> None:
    form = form_of(case.op, out=False)
    form.prepare()
    plain = [t.detach().clone() for t in case.tensors()]
    expected = case.call(case.places, plain)[0]
    target = plain[0].clone()
    args = case.arguments(case.places, [target, *plain[1:]])
    if expected.array.shape != target.array.shape or not dtypes.can_cast(expected.dtype, target.dtype):
        with pytest.raises(RuntimeError):
            invoke(form, args)
        return
    returned = invoke(form, args)
    assert returned is target and target._version == 1
    assert_same(value(target), value(expected).astype(target.array.dtype), case)
    if has_gradient(case):
        pullback = Pullback(case)
        given, results = pullback.outputs(pullback.inputs)
        again = floating(case.call(case.differentiable, given, form))
        assert len(again) == len(results)
        seeds = [new_tensor(v) for v in pullback.cotangents]
        for a, b in zip(grad(again, given, seeds, allow_unused=True), grad(results, given, seeds, allow_unused=True),
                        strict=True):
            assert_same(None if a is None else value(a), None if b is None else value(b), case)


def has_inplace_gradient(case: Case) -> bool:
    """Whether the in-place form can write the result, and something of it can be differentiated."""
    if not has_gradient(case) or not form_of(case.op, out=False) or case.places[0] != (0, None):
        return False
    target, result = case.args[0], case.call(case.places, [t.detach() for t in case.tensors()])[0]
    return bool(result.shape == target.shape and result.dtype is target.dtype)


@over(has_inplace_gradient)
def test_inplace_form_has_the_same_tangents(case: Case) -> None:
    """And they have the same gradients: what their graph saved must not be what was written to."""
    form = form_of(case.op, out=False)
    form.prepare()
    found = []
    for op in (case.op, form):
        random = case.random("inplace")
        given = [like(t, value(t), requires_grad=True) for t in case.tensors(case.differentiable)]
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(t, new_tensor(np.array(direction(random, value(t))))) for t in given]
            tangent = forward_ad.unpack_dual(case.call(case.differentiable, duals, op)[0]).tangent
            assert tangent is not None
            wanted = grad(tangent, given, torch.ones_like(tangent), allow_unused=True) if tangent.requires_grad else [None]
            found.append([tangent, *wanted])
    for actual, expected in zip(found[1], found[0], strict=True):
        assert_same(None if actual is None else value(actual), None if expected is None else value(expected), case)


@over(lambda case: form_of(case.op, out=True))
def test_out_form_agrees(case: Case) -> None:
    form = form_of(case.op, out=True)
    form.prepare()
    plain = [t.detach() for t in case.tensors()]
    expected = case.call(case.places, plain)
    outs = [new_tensor(np.empty(0, t.array.dtype)) for t in expected]
    returned = outputs(invoke(form, [*case.arguments(case.places, plain), *outs]))
    for got, out, wanted in zip(returned, outs, expected, strict=True):
        assert got is out
        assert_same(value(out), value(wanted), case)


@over(lambda case: case.op.is_inplace)
def test_inplace_op_returns_its_target(case: Case) -> None:
    plain = [t.detach().clone() for t in case.tensors()]
    assert invoke(case.op, case.arguments(case.places, plain)) is plain[0]


def functional_twin(op: Any) -> Any:
    """The op of the tables that computes what an in-place op writes."""
    return TABLE.get(f"{op.name.removesuffix('_')}.{op.__name__.partition('.')[2]}") if op.is_inplace else None


@over(lambda case: functional_twin(case.op) and not is_layout(case.op))
def test_inplace_op_agrees_with_its_functional_twin(case: Case) -> None:
    plain = [t.detach() for t in case.tensors()]
    twin = functional_twin(case.op)
    args = dict(zip(case.names, case.arguments(case.places, plain), strict=True))
    names = [p.name for p in twin.schema.params]
    expected = invoke(twin, [args[n] for n in names] if set(names) == set(args) else list(args.values()))
    for actual, wanted in zip(case.call(case.places, plain), outputs(expected), strict=True):
        assert_same(value(actual), value(wanted).astype(actual.array.dtype), case)


@over(lambda case: any([isinstance(a, torch.Generator) for a in case.args]))
def test_generator_that_is_given_draws_like_the_default_one(case: Case) -> None:
    given = outputs(invoke(case.op, case.args))
    default = outputs(invoke(case.op, [None if isinstance(a, torch.Generator) else a for a in case.args]))
    for actual, wanted in zip(given, default, strict=True):
        assert_same(value(actual), value(wanted), case)


# ---- the same values in another dtype or layout
NARROW = {"float64": np.float32, "complex128": np.complex64}
WAYS = {"_embedding_bag", "embedding_bag"}        # single precision goes another way, which leaves an output empty


@over(lambda case: case.places and not is_random(case.op) and not is_layout(case.op)
      and case.op.name not in WAYS)
def test_single_precision_agrees_with_double(case: Case) -> None:
    expected = case.call(case.places, [t.detach() for t in case.tensors()])
    arrays = [value(t) for t in case.tensors()]
    single = [like(t, a.astype(NARROW.get(a.dtype.name, a.dtype))) for t, a in zip(case.tensors(), arrays, strict=True)]
    for actual, wanted in zip(case.call(case.places, single), expected, strict=True):
        if isinstance(wanted, torch.Tensor) and case.op.name not in UNDEFINED:
            assert actual.shape == wanted.shape
            np.testing.assert_allclose(widened(value(actual)), widened(value(wanted)), 2e-3, 2e-4)


@over(lambda case: case.places and not is_random(case.op) and not is_layout(case.op))
def test_layout_in_memory_makes_no_difference(case: Case) -> None:
    expected = case.call(case.places, [new_tensor(np.ascontiguousarray(value(t)).reshape(t.shape)) for t in case.tensors()])
    for actual, wanted in zip(case.call(case.places, [with_gaps(t) for t in case.tensors()]), expected, strict=True):
        if isinstance(wanted, torch.Tensor):
            assert_same(value(actual), value(wanted), case)
        else:
            assert actual == wanted


def with_gaps(t: Any) -> Any:
    array = value(t)
    if array.ndim == 0:
        return new_tensor(np.array(array))
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    wide[..., ::2] = array
    return new_tensor(wide[..., ::2])
