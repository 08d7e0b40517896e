"""rrelu: leaky_relu whose slopes are drawn in training, and kept in a tensor of noise for the derivative."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import generator, lean
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.create.random import source_of
from retrograd.ops.nn.activation import backward_op, leaky_backward_kernel, leaky_kernel, leaky_relu
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import unsupported, zeros


def check_bounds(lower: float, upper: float) -> None:
    for name, value in (("lower", lower), ("upper", upper)):
        if isinstance(value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        if not math.isfinite(value):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {value:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


def rrelu_kernel(xp: Any, self: Any, noise: Any, lower: float, upper: float, training: bool, gen: Any) -> Any:
    """The slopes of a training step are written to `noise`: 1 where the input is positive."""
    check_bounds(lower, upper)
    if self.shape != noise.shape:
        raise RuntimeError(f"noise tensor shape must match self tensor shape. Got self.shape = {list(self.shape)} "
                           f"noise.shape = {list(noise.shape)}")
    if not training:
        made = lean.natively(leaky_relu, self, (lower + upper) / 2)
        return xp.asarray(leaky_kernel(xp, self, (lower + upper) / 2) if made is None else made, order="C")
    if self.dtype.kind not in "fV" or self.dtype == np.float16:
        raise unsupported("rrelu_with_noise_out_cpu", self.dtype)
    low = self <= 0
    noise[...] = 1
    noise[low] = generator.uniform(source_of(gen), (int(low.sum()),), lower, upper, np.dtype(np.float64)).astype(self.dtype)
    return xp.asarray(self * noise, order="C")


def by_noise(lower: float, upper: float, training: bool) -> bool:
    """Whether slopes were drawn; not for nearly equal bounds."""
    return training and upper - lower > 1e-6


def rrelu_backward_kernel(xp: Any, grad_output: Any, self: Any, noise: Any, lower: float, upper: float, training: bool,
                          self_is_result: bool) -> Any:
    if by_noise(lower, upper, training):
        return grad_output * noise
    return leaky_backward_kernel(xp, grad_output, self, (lower + upper) / 2, self_is_result)


rrelu_backward = backward_op(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, "
    "bool self_is_result) -> Tensor", rrelu_backward_kernel,
    dict(grad_output=lambda grad, self, noise, lower, upper, training:
         call(rrelu_backward, [grad, self, noise, lower, upper, training, False]), self=zeros), widen=True, leading=1,
    out_form="out")
ARGUMENTS = ("Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
             "Generator? generator=None")
rrelu_with_noise = defop(
    f"rrelu_with_noise(Tensor self, {ARGUMENTS}) -> Tensor", kernel=rrelu_kernel,
    vjp=dict(self=lambda grad, self, noise, lower, upper, training:
             call(rrelu_backward, [grad, self, noise, lower, upper, training, False])),
    jvp="elementwise", batch=families.loop, variants="", out=False, meta=lambda xp, self, *rest: self,
)
rrelu_with_noise_ = defop(
    f"rrelu_with_noise_(Tensor(a!) self, {ARGUMENTS}) -> Tensor(a!)", kernel=rrelu_kernel,
    vjp=dict(self=lambda grad, result, noise, lower, upper, training:
             call(rrelu_backward, [grad, result, noise, lower, upper, training, True])),
    jvp="elementwise", batch=families.loop, variants="", out=False, meta=lambda xp, self, *rest: self,
    node="RreluWithNoiseBackward1",
)


def with_new_noise(op: OpDef) -> Any:
    def composite(self: Any, lower: float, upper: float, training: bool, generator: Any) -> Any:
        check_bounds(lower, upper)
        return call(op, [self, late.empty_like(self), lower, upper, training, generator])
    return composite


OPTIONS = "Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None"
defop(f"rrelu(Tensor self, {OPTIONS}) -> Tensor", kernel=with_new_noise(rrelu_with_noise), composite=True, variants="function",
      out=False)
defop(f"rrelu_(Tensor(a!) self, {OPTIONS}) -> Tensor(a!)", kernel=with_new_noise(rrelu_with_noise_), composite=True,
      variants="function", out=False)
