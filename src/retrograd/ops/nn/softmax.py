"""Softmax and its logarithm along one dimension, with the ops of their derivatives."""
from __future__ import annotations

from typing import Any

from retrograd.core import lean
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import Tensor
from retrograd.ops.memory.copy import cast_array
from retrograd.ops.nn.activation import FLOATS, backward_op
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import (
    unsupported,
)
from retrograd.ops.shared.families import wrap_dim


def along(name: str, compute: Any) -> Any:
    """A kernel along one dimension of a float tensor; a 0-d tensor counts as having one element."""
    def kernel(xp: Any, self: Any, dim: int, half_to_float: bool) -> Any:
        dim = wrap_dim(dim, self.ndim)
        if self.size == 0:
            return xp.empty(self.shape, self.dtype)
        if self.dtype.kind not in FLOATS:
            last = "_lastdim" if dim == max(self.ndim - 1, 0) else ""
            raise unsupported(f"{name}{last}_kernel_impl", self.dtype)
        if half_to_float:
            raise RuntimeError(f"{name} with half to float conversion is not supported on CPU")
        values = self if self.ndim else self.reshape(1)
        return xp.ascontiguousarray(compute(xp, values, dim)).reshape(self.shape)
    return kernel


def softmax_values(xp: Any, values: Any, dim: int) -> Any:
    powers = values - xp.maximum.reduce(values, dim, keepdims=True)
    powers = xp.exp(powers, powers)
    return xp.true_divide(powers, xp.add.reduce(powers, dim, keepdims=True), powers)


def log_softmax_values(xp: Any, values: Any, dim: int) -> Any:
    shifted = values - xp.maximum.reduce(values, dim, keepdims=True)
    return xp.subtract(shifted, xp.log(xp.add.reduce(xp.exp(shifted), dim, keepdims=True)), shifted)


def along_backward(name: str, compute: Any) -> Any:
    def kernel(xp: Any, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        dim = wrap_dim(dim, output.ndim)
        if output.dtype.kind not in FLOATS:
            raise unsupported(f"{name}_backward_{'lastdim_' * (dim >= output.ndim - 1)}kernel_impl", output.dtype)
        if output.size == 0:
            return xp.empty(output.shape, output.dtype)
        if input_dtype != output.dtype:
            made = lean.natively(backward_of[name], grad_output, output, dim, output.dtype)
            if made is not None:
                return made
        shape = output.shape or (1,)
        made = compute(xp, grad_output.reshape(shape), output.reshape(shape), dim)
        return xp.ascontiguousarray(made).reshape(output.shape)
    return kernel


def softmax_double_backward(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    return (grad_output * grad - (output * grad_output).sum(dim, True) * grad) - grad_output * (output * grad).sum(dim, True)


def softmax_backward_tangent(grad_output_p: Any, grad_output_t: Any, output_p: Any, output_t: Any, dim: int) -> Any:
    total = (grad_output_p * output_p).sum(dim, True)
    total_t = (grad_output_t * output_p + grad_output_p * output_t).sum(dim, True)
    return (grad_output_t - total_t) * output_p + (grad_output_p - total) * output_t


def log_softmax_backward_tangent(grad_output_p: Any, grad_output_t: Any, output_p: Any, output_t: Any, dim: int) -> Any:
    share = output_p.exp()
    return grad_output_t - share * (output_t * grad_output_p.sum(dim, True) + grad_output_t.sum(dim, True))


def log_softmax_grad(grad: Any, output: Any, dim: int) -> Any:
    grad = grad.to(output.dtype)
    return grad - (grad * output.exp()).sum(dim, True)


def log_softmax_output(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    return ((-grad_output.sum(dim, True) * output.exp()) * grad.to(output.dtype)).to(output.dtype)


def batch_along(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """For ops along a dimension whose tensors all have one shape; a 0-d example temporarily gets a dimension."""
    rank = next(a.ndim - (d is not None) for a, d in zip(args, dims, strict=True) if isinstance(a, Tensor))
    moved = []
    for a, d, p in zip(args, dims, op.schema.params, strict=True):
        if isinstance(a, Tensor):
            a = a.expand(size, *a.shape) if d is None else families.move_to_front(a, d)
            a = a if rank else a.unsqueeze(-1)
        elif p.name == "dim":
            a = wrap_dim(a, rank) + 1
        moved.append(a)
    result = op(*moved)
    return (result if rank else result.squeeze(-1)), 0


along_columns = dict(batch=batch_along, widen=True, variants="function", out=False, promote=None, pattern="dims")
softmax_backward_data = backward_op(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    along_backward("softmax", lambda xp, grad, output, dim: (grad - xp.add.reduce(grad * output, dim, keepdims=True)) * output),
    dict(grad_output=lambda grad, output, dim, input_dtype:
             call(softmax_backward_data, [grad.to(output.dtype), output, dim, input_dtype]),
         output=lambda grad, grad_output, output, dim:
             softmax_double_backward(grad.to(output.dtype), grad_output, output, dim)),
    jvp=softmax_backward_tangent, **along_columns,
    lower="grad_output, output -> z | z = output * (grad_output - sum(grad_output * output))", masked="softmax backward")
log_softmax_backward_data = backward_op(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    along_backward("log_softmax",
                   lambda xp, grad, output, dim: grad - xp.exp(output) * xp.add.reduce(grad, dim, keepdims=True)),
    dict(grad_output=log_softmax_grad, output=log_softmax_output), jvp=log_softmax_backward_tangent, **along_columns,
    lower="grad_output, output -> z | z = grad_output - exp(output) * sum(grad_output)")
backward_of = {"softmax": softmax_backward_data, "log_softmax": log_softmax_backward_data}
softmax = defop(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    kernel=along("softmax", softmax_values),
    vjp=dict(self=lambda grad, result, dim, self_scalar_type:
             call(softmax_backward_data, [grad, result, dim, self_scalar_type])),
    jvp=lambda self_t, result, dim: result * (self_t - (result * self_t).sum(dim, True)), **along_columns,
    real_only=True,
    lower="self -> z | e = exp(self - max(self)); z = e / sum(e)", series="softmax", masked="softmax",
)
def safe_softmax_kernel(xp: Any, self: Any, dim: int, dtype: Any) -> Any:
    """Softmax with zeros in rows that are -inf everywhere."""
    x = self if dtype is None else cast_array(self, dtype)
    made = lean.natively(softmax, x, dim, False)
    if made is None:
        made = softmax.compute(xp, x, dim, False)
    if x.size and x.ndim and xp.isnan(made.take([0], dim)).any():
        made = xp.where((x == -xp.inf).all(dim, keepdims=True), made.dtype.type(0), made)
    return made


safe_softmax = defop(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", kernel=safe_softmax_kernel,
    vjp=dict(self=lambda grad, result, dim, self_scalar_type:
             call(softmax_backward_data, [grad, result, dim, self_scalar_type])),
    jvp=lambda self_t, result, dim: result * (self_t - (result * self_t).sum(dim, True)), **along_columns, real_only=True,
)
log_softmax = defop(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    kernel=along("log_softmax", log_softmax_values),
    vjp=dict(self=lambda grad, result, dim, self_scalar_type:
             call(log_softmax_backward_data, [grad, result, dim, self_scalar_type])),
    jvp=lambda self_t, result, dim: self_t - (result.exp() * self_t).sum(dim, True), **along_columns, real_only=True,
    lower="self -> z | m = max(self); z = self - m - log(sum(exp(self - m)))", series="log_softmax",
)
for name, row in (("softmax", softmax), ("log_softmax", log_softmax)):
    defop(
        f"{name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
        kernel=lambda self, dim, dtype, row=row: call(
            row, [self if dtype is None or dtype is self.dtype else self.to(dtype), dim, False]),
        composite=True, out="same", traits=("out_untracked",),
    )
