"""Derivative rules as loops: the same gradients, bit for bit, as the rules on tensors."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.codegen.rules import reasons
from retrograd.core import fast_kernels
from retrograd.core.opdef import OPS
from retrograd.ops.load import import_all
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
    import_all()
    found = [op for packet in OPS.values() for op in packet.overloads_ if has_rule(op)]
    assert len(found) > 75
    for name in ("sin", "gelu", "silu", "softplus", "erfinv", "logit"):        # some need SciPy, which a build does without
        assert has_rule(OPS[name].default), name


# What keeps a rule from being a loop, and the ops and inputs that it serves. A rule whose ops get a `lower` leaves this list;
# one that comes here without a change of its own shows a defect of the tracer.
ON_TENSORS = {
    "_to_copy.default is not elementwise": "softplus_backward.self",
    "digamma.default is not elementwise": "_standard_gamma_grad.output lgamma.self",
    "leaky_relu_backward.default has no loop for self_is_result": "leaky_relu.self leaky_relu_backward.grad_output",
    "log_sigmoid_backward.default is not elementwise": "log_sigmoid_backward.grad_output",
    "masked_fill.Scalar is not elementwise": "fmax.other fmax.self fmin.other fmin.self special_xlog1py.self xlogy_Tensor.self",
    "masked_fill_.Scalar is not elementwise":
        "copysign_Scalar.self copysign_Tensor.self maximum.other maximum.self minimum.other minimum.self",
    "new_zeros.default is not elementwise": "copysign_Tensor.other nextafter.other sgn.self",
    "pow.Scalar is not elementwise": "ldexp_Tensor.self logaddexp2.other logaddexp2.self",
    "scalar_tensor.default is not elementwise":
        "clamp_Tensor.self clamp_max.self clamp_max_Tensor.max clamp_max_Tensor.self "
        "clamp_min.self clamp_min_Tensor.min clamp_min_Tensor.self hardswish_backward.self nextafter.self "
        "pow_Tensor_Tensor.exponent pow_Tensor_Tensor.self sinc.self special_i1.self special_i1e.self",
    "special_zeta.default is not elementwise": "special_zeta.other",
    "special_zeta.self_scalar is not elementwise": "special_zeta_self_scalar.other",
    "zeros_like.default is not elementwise":
        "ceil.self fill_Scalar.self floor.self floor_divide.other floor_divide.self hardshrink_backward.self "
        "hardsigmoid_backward.self hardtanh_backward.self heaviside.self leaky_relu_backward.self "
        "round.self round_decimals.self rrelu_with_noise_backward.self sign.self softshrink_backward.self "
        "threshold_backward.self trunc.self",
    "an op refuses the example: imag is not implemented for tensors with non-complex dtypes.": "complex.imag",
    "it depends on dtypes or sizes": "celu.self lerp_Scalar.self pow_Tensor_Scalar.self",
    "it does not use all that it takes": "special_xlog1py_other_scalar.self xlogy_Scalar_Other.self",
    "it is longer than 600 characters": "i0.self special_i0e.self",
    "it takes bool is_result": "elu_backward.grad_output elu_backward.self_or_result",
    "it takes bool training": "rrelu_with_noise_backward.grad_output",
    "it takes int n": "polygamma.self",
    "it takes int p": "mvlgamma.self",
    "it takes str rounding_mode": "div_Tensor_mode.other div_Tensor_mode.self",
    "it takes the form of a tensor": "_test_autograd_multiple_dispatch_fullcoverage.self",
    "its result is not that of the last op":
        "_conj_physical.self add_Tensor.self addcdiv.self addcmul.self clamp.self complex.real fmod_Scalar.self "
        "fmod_Tensor.self frac.self remainder_Scalar.self remainder_Tensor.self rsub_Tensor.other sub_Tensor.self",
    "one formula serves several inputs": "_prelu_kernel.self atan2.self clamp_Tensor.min polar.abs",
    "there is no formula":
        "_standard_gamma_grad.self igamma.self igammac.self special_zeta.self special_zeta_other_scalar.self",
}


def test_other_rules_are_not_loops_for_known_reasons() -> None:
    import_all()
    found: dict[str, list[str]] = {}
    for name, reason in reasons().items():
        found.setdefault(reason.removeprefix("aten."), []).append(name.replace("_default.", "."))
    assert {reason: " ".join(sorted(names)) for reason, names in found.items()} == ON_TENSORS


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


@pytest.mark.once
def test_rules_are_traced_without_scipy_as_in_a_build() -> None:
    code = ("import sys; sys.modules['scipy'] = None\nfrom retrograd.codegen.rules import lowered_rules\n"
            "from retrograd.ops.load import import_all\nimport_all()\nprint(len(list(lowered_rules())))")
    home = str(Path(torch.__file__ or "").parents[1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240,
                          env=os.environ | {"RETROGRAD_PLAIN": "1", "PYTHONPATH": home})
    assert done.returncode == 0 and int(done.stdout) > 95, done.stderr
