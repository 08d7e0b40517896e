"""Gated linear units: one half of a dimension gates the other."""
from __future__ import annotations

from typing import Any

from retrograd.core import lean
from retrograd.core.dispatch import call
from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.nn.activation import FLOATS, backward_op, sigmoid_kernel, sigmoid_op
from retrograd.ops.nn.softmax import batch_along
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import only, proven
from retrograd.ops.shared.elementwise import less_from, limited
from retrograd.ops.shared.families import number_like, wrap_dim


def halves(xp: Any, self: Any, dim: int) -> Any:
    axis = wrap_dim(dim, self.ndim)
    before, middle = (slice(None),) * axis, self.shape[axis] // 2
    return self[(*before, slice(None, middle))], self[(*before, slice(middle, None))]


def gates(xp: Any, x: Any) -> Any:
    """The sigmoid of an array, by the compiled kernel where there is one."""
    made = lean.natively(sigmoid_op, x)
    return sigmoid_kernel(xp, x) if made is None else made


def check_glu(self: Any, dim: int) -> None:
    array = self.array
    if array.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, array.ndim)
    if array.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {array.shape[dim]}")


def glu_kernel(xp: Any, self: Any, dim: int) -> Any:
    first, second = halves(xp, self, dim)
    return first * gates(xp, second)


def glu_backward_kernel(xp: Any, grad_output: Any, self: Any, dim: int) -> Any:
    first, second = halves(xp, self, dim)
    opened = gates(xp, second)
    gate = (number_like(xp, self, 1) - opened) * opened * grad_output * first
    return xp.concatenate([opened * grad_output, gate], wrap_dim(dim, self.ndim))


def glu_grad_of_grad(grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    slope = grad * call(glu_backward, [late.ones_like(grad_output), self, dim])
    size = grad_output.shape[dim]
    return slope.narrow(dim, 0, size) + slope.narrow(dim, size, size)


def glu_double_backward(grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    size = self.shape[dim] // 2
    first, second = self.narrow(dim, 0, size), self.narrow(dim, size, size)
    sigmoid = second.sigmoid()
    rest = less_from(1, sigmoid)
    slope = sigmoid * rest
    grad_first, grad_second = grad.narrow(dim, 0, size), grad.narrow(dim, size, size)
    bend = slope * rest - sigmoid * slope
    lower = grad_second * first * grad_output * bend + grad_first * grad_output * slope
    return late.cat([grad_second * grad_output * slope, lower], dim)


def glu_tangent(self_p: Any, self_t: Any, result: Any, dim: int) -> Any:
    size = self_p.shape[dim] // 2
    sigmoid = self_p.narrow(dim, size, size).sigmoid()
    first, second = self_t.narrow(dim, 0, size), self_t.narrow(dim, size, size)
    return first * sigmoid + result * (second - sigmoid * second)


def glu_backward_tangent(grad_output_p: Any, grad_output_t: Any, self_p: Any, self_t: Any, dim: int) -> Any:
    size = self_p.shape[dim] // 2
    first, second = self_p.narrow(dim, 0, size), self_p.narrow(dim, size, size)
    first_t, second_t = self_t.narrow(dim, 0, size), self_t.narrow(dim, size, size)
    sigmoid = second.sigmoid()
    slope = sigmoid * (1 - sigmoid)
    upper = slope * second_t * grad_output_p + sigmoid * grad_output_t
    bend = slope * (1 - 2 * sigmoid) * second_t
    lower = bend * grad_output_p * first + slope * (grad_output_t * first + grad_output_p * first_t)
    return late.cat([upper, lower], dim)


glu_backward = backward_op(
    "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
    limited("glu_backward_cpu", FLOATS, glu_backward_kernel),
    dict(grad_output=glu_grad_of_grad, self=glu_double_backward), jvp=glu_backward_tangent,
    check=only("result type Float can't be cast to the desired output type {}", "FHC", 1),
    batch=batch_along, promote=None, widen=True)
defop(
    "glu(Tensor self, int dim=-1) -> Tensor",
    kernel=limited("glu_cpu", FLOATS, glu_kernel), check=proven(check_glu), lower="@glu",
    vjp=dict(self=lambda grad, self, dim: call(glu_backward, [grad, self, dim])), jvp=glu_tangent,
    batch=families.shift_dims("dim"), widen=True, variants="",
)
