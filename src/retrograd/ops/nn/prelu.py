"""Leaky rectifiers with a learned slope for each channel."""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.ops.nn.activation import FLOATS, backward_op, zero_like
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import limited, where, zeros


def prelu(self: Any, weight: Any) -> Any:
    if self.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {self.dtype.legacy} and {weight.dtype.legacy}")
    shape, count = self.array.shape, weight.array.size
    if count != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != count:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{count} and channel size = {channels}.")
    if weight.array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.array.ndim}")
    if weight.array.ndim != len(shape):
        weight = weight.reshape([count if i == 1 else 1 for i in range(len(shape))])
    return call(prelu_kernel, [self, weight])


def prelu_backward_kernel(xp: Any, grad_output: Any, self: Any, weight: Any) -> Any:
    positive, zero = self > 0, zero_like(xp, self)
    return xp.where(positive, grad_output, weight * grad_output), xp.where(positive, zero, self * grad_output)


def prelu_double_backward(grads: Any, grad_output: Any, self: Any, weight: Any) -> Any:
    """Gradients for grad_output, self and weight from those of the two results, either of which may be missing."""
    first, second = grads
    positive = self.ge(0)
    parts = [None if first is None else first * weight, None if second is None else second * self]
    given = [p for p in parts if p is not None]
    low = given[0] if len(given) == 1 else given[0] + given[1]
    return (where(positive, 0 if first is None else first, low),
            zeros(self) if second is None else where(positive, 0, grad_output * second),
            zeros(self) if first is None else where(positive, 0, grad_output * first))


# Tangents have the slope of the positive side at zero, gradients that of the negative one, as in PyTorch.
def prelu_tangent(self_p: Any, self_t: Any, weight_p: Any, weight_t: Any) -> Any:
    return where(self_p.ge(0), self_t, weight_p * self_t + weight_t * self_p)


def prelu_backward_tangent(grad_output_p: Any, grad_output_t: Any, self_p: Any, self_t: Any, weight_p: Any,
                           weight_t: Any) -> Any:
    positive = self_p.ge(0)
    return (where(positive, grad_output_t, weight_t * grad_output_p + weight_p * grad_output_t),
            where(positive, 0, self_t * grad_output_p + self_p * grad_output_t))


prelu_kernel_backward = backward_op(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
    limited("prelu_backward_cpu", FLOATS, prelu_backward_kernel),
    {("grad_output", "self", "weight"): prelu_double_backward}, jvp=prelu_backward_tangent,
    batch=families.shift_dims(), widen=True, pattern="elements")
prelu_kernel = defop(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    kernel=limited("prelu_cpu", FLOATS, lambda xp, self, weight: xp.where(self > 0, self, weight * self)),
    vjp={("self", "weight"): lambda grad, self, weight: call(prelu_kernel_backward, [grad, self, weight])},
    jvp=prelu_tangent, batch=families.pointwise, promote="common", widen=True, variants="function", out=False,
    lower="self if self > 0 else weight * self",
)
defop("prelu(Tensor self, Tensor weight) -> Tensor", kernel=prelu, composite=True, out=False, autocast="lower")
