"""Activation functions, and the ops of their derivatives."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.dispatch import call
from retrograd.core.dtypes import finfo, is_complex_type
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.core.state import tls
from retrograd.ops.elementwise.unary import special
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import accepts_floats, without_gradient
from retrograd.ops.shared.elementwise import (
    less_from,
    limited,
    minus,
    no_complex_gradient,
    over,
    plus,
    times,
    unsupported,
    where,
    zeros,
)
from retrograd.ops.shared.families import conj, number_like

FLOATS = "fV"
COMPLEX_CLAMP = "clamp is not supported for complex types"


def backward_op(schema: str, kernel: Any, rules: Any, **columns: Any) -> OpDef:
    """Declare an elementwise backward op without a public name."""
    return defop(schema, kernel=kernel, vjp=rules,
                 **{**dict(jvp="elementwise", batch=families.pointwise, promote="common", variants="", out=False), **columns})


def zero_like(xp: Any, array: Any) -> Any:
    return number_like(xp, array, 0)


activation = dict(jvp="elementwise", batch=families.pointwise, variants="", widen=True)


# ---- sigmoid and tanh, whose derivatives are functions of their results
def sigmoid_kernel(xp: Any, self: Any) -> Any:
    one = number_like(xp, self, 1)
    return one / (one + xp.exp(-self))


sigmoid_backward = backward_op(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    limited("sigmoid_backward_cpu", "fVc", lambda xp, grad_output, output:
            grad_output * xp.conj((number_like(xp, output, 1) - output) * output)),
    dict(grad_output=lambda grad, output: call(sigmoid_backward, [grad, conj(output)]),
         output=lambda grad, grad_output, output: conj(grad) * grad_output * plus(times(conj(output), -2), 1)),
    jvp=lambda grad_output_p, grad_output_t, output_p, output_t:        # not holomorphic in `output`
        call(sigmoid_backward, [grad_output_t, output_p])
        + conj(output_t) * grad_output_p * plus(times(conj(output_p), -2), 1),
    widen=True, mixes=False, lower="grad_output * ((1 - output) * output)")
tanh_backward = backward_op(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    limited("tanh_backward_cpu", "fVc", lambda xp, grad_output, output:
            grad_output * xp.conj(number_like(xp, output, 1) - output * output)),
    dict(grad_output=lambda grad, output: call(tanh_backward, [grad, conj(output)]),
         output=lambda grad, grad_output, output: conj(grad) * (times(conj(output), -2) * grad_output)),
    jvp=lambda grad_output_p, grad_output_t, output_p, output_t:        # not holomorphic in `output`
        call(tanh_backward, [grad_output_t, output_p]) + conj(output_t) * (times(conj(output_p), -2) * grad_output_p),
    widen=True, mixes=False, lower="grad_output * (1 - output * output)")
sigmoid_op = defop(
    "sigmoid(Tensor self) -> Tensor",
    kernel=sigmoid_kernel, vjp=dict(self=lambda grad, result: call(sigmoid_backward, [grad, result])),
    jvp="elementwise", batch=families.pointwise, promote="float", widen=True, inplace="function", lower="sigmoid(self)",
    series=("slope", 0, 1, -1), foreach=True, onnx="Sigmoid", masked="unary",
    doc="""1 / (1 + exp(-x)) of each element.
    >>> torch.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """,
)
defop(
    "tanh(Tensor self) -> Tensor",
    kernel="tanh", vjp=dict(self=lambda grad, result: call(tanh_backward, [grad, result])),
    jvp="elementwise", batch=families.pointwise, promote="float", inplace="function", lower="tanh(self)",
    traits=("keeps_zero",), series=("slope", 1, 0, -1), foreach=True, onnx="Tanh", masked="unary",
    doc="""The hyperbolic tangent of each element.
    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """,
)


# ---- relu and threshold
def threshold_kernel(xp: Any, self: Any, threshold: Any, value: Any) -> Any:
    return xp.where(xp.less_equal(self, number_like(xp, self, threshold)), number_like(xp, self, value), self)


def threshold_backward_kernel(xp: Any, grad_output: Any, self: Any, threshold: Any) -> Any:
    return xp.where(xp.less_equal(self, number_like(xp, self, threshold)), zero_like(xp, grad_output), grad_output)


@accepts_floats
def check_relu(self: Any) -> None:
    if self.array.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if is_complex_type(self.array.dtype):
        raise NotImplementedError(COMPLEX_CLAMP)


SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
SINGLE_ZERO, DOUBLE_ZERO = np.zeros((), SINGLE), np.zeros((), DOUBLE)   # faster than converting Python numbers each time


def fast_relu(self: Any) -> Any:
    dtype = self.dtype
    return np.maximum(self, SINGLE_ZERO) if dtype is SINGLE else np.maximum(self, DOUBLE_ZERO) if dtype is DOUBLE else None


MANY = 1024           # elements from which bit operations are faster
ONE = lean.ones((), np.int8)


def masked_bits(array: Any, lost: Any) -> Any:
    """0 where `lost`, without branches: the mask `lost - 1` has no bit set for 1, all bits for 0."""
    integers = np.int32 if array.itemsize == 4 else np.int64
    return np.bitwise_and(array.view(integers), np.subtract(lost.view(np.int8), ONE)).view(array.dtype)


threshold_backward = backward_op(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    limited("threshold_cpu", "iufV", threshold_backward_kernel),
    dict(grad_output=lambda grad, self, threshold: call(threshold_backward, [grad, self, threshold]), self=zeros), leading=1,
    lower="0 if self <= threshold else grad_output", traits=("keeps_zero",))


def relu_gradient(grad: Any, result: Any) -> Any:
    return call(threshold_backward, [grad, result, 0])


relu = defop(
    "relu(Tensor self) -> Tensor",
    kernel=lambda xp, self: xp.maximum(self, zero_like(xp, self)), check=check_relu,
    vjp=dict(self=relu_gradient),
    jvp="elementwise", batch=families.pointwise, inplace="function", out=False,
    fast=fast_relu, lower="0 if self <= 0 else self", traits=("piecewise_linear", "keeps_zero"), onnx="Relu",
    doc="""Each element, or 0 if it is negative.
    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """,
)
for schema, node in (("threshold(Tensor self", "ThresholdBackward0"), ("threshold_(Tensor(a!) self", "ThresholdBackward1")):
    defop(
        f"{schema}, Scalar threshold, Scalar value) -> Tensor{'(a!)' if '!' in schema else ''}",
        kernel=limited("threshold_cpu", "iufV", threshold_kernel),
        vjp=dict(self=lambda grad, self, threshold: call(threshold_backward, [grad, self, threshold])),
        jvp="elementwise", batch=families.pointwise, variants="function", node=node, out="!" not in schema,
        lower="value if self <= threshold else self", traits=("piecewise_linear", "unguarded"),
    )


# ---- leaky_relu
def check_slope(self_is_result: bool, slope: Any) -> None:
    if self_is_result and slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version instead. "
            "File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
            "calculation with negative slope")


def leaky_backward_kernel(xp: Any, grad_output: Any, self: Any, negative_slope: Any, self_is_result: bool) -> Any:
    check_slope(self_is_result, negative_slope)
    return xp.where(xp.greater(self, zero_like(xp, self)), grad_output, grad_output * number_like(xp, self, negative_slope))


leaky_relu_backward = backward_op(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
    limited("leaky_relu_backward_cpu", FLOATS, leaky_backward_kernel),
    dict(grad_output=lambda grad, self, negative_slope: call(leaky_relu_backward, [grad, self, negative_slope, False]),
         self=zeros), widen=True, leading=1, lower="grad_output if self > 0 else grad_output * negative_slope")
leaky_kernel = limited("leaky_relu_cpu", FLOATS, lambda xp, self, negative_slope:
                       xp.where(xp.greater(self, zero_like(xp, self)), self, self * number_like(xp, self, negative_slope)))
leaky_relu = defop(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    kernel=leaky_kernel,
    vjp=dict(self=lambda grad, self, negative_slope: call(leaky_relu_backward, [grad, self, negative_slope, False])),
    **activation,
    lower="self if self > 0 else self * negative_slope", traits=("piecewise_linear",),
)
defop(
    "leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)",
    kernel=leaky_kernel,
    vjp=dict(self=lambda grad, result, negative_slope: call(leaky_relu_backward, [grad, result, negative_slope, True])),
    node="LeakyReluBackward1", out=False, **activation,
)


# ---- elu, celu, selu
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu_kernel(xp: Any, self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    zero = zero_like(xp, self)
    low = xp.expm1(xp.minimum(self, zero) * number_like(xp, self, input_scale)) * number_like(xp, self, alpha * scale)
    return xp.where(xp.less(self, zero), low, self * number_like(xp, self, scale))


def elu_backward_kernel(xp: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, kept: Any) -> Any:
    if is_result and alpha < 0:
        raise RuntimeError("In-place elu backward calculation is triggered with a negative slope which is not supported. "
                           "This is caused by calling in-place forward function with a negative slope, please call "
                           "out-of-place version instead.")
    negative, inner = number_like(xp, kept, alpha * scale), number_like(xp, kept, input_scale)
    if is_result:
        low = grad_output * inner * (kept + negative)
    else:
        low = grad_output * inner * negative * xp.exp(xp.minimum(kept, zero_like(xp, kept)) * inner)
    return xp.where(xp.less_equal(kept, zero_like(xp, kept)), low, grad_output * number_like(xp, kept, scale))


def elu_double_backward(grad: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
                        self_or_result: Any) -> Any:
    bend = times(grad * grad_output, input_scale)
    if not is_result:
        bend = call(elu_backward, [bend, alpha, scale, input_scale, is_result, self_or_result])
    return bend * self_or_result.lt(0).to(grad.dtype)


elu_backward = backward_op(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) "
    "-> Tensor",
    limited("elu_backward_cpu", FLOATS, elu_backward_kernel),
    dict(grad_output=lambda grad, alpha, scale, input_scale, is_result, self_or_result:
             call(elu_backward, [grad, alpha, scale, input_scale, is_result, self_or_result]),
         self_or_result=elu_double_backward), widen=True,
    lower={
        "is_result=True": "grad_output * (self_or_result + alpha * scale) * input_scale if self_or_result <= 0 else "
                          "grad_output * scale",
        "is_result=False": "grad_output * input_scale * (alpha * scale) * exp(self_or_result * input_scale) "
                           "if self_or_result <= 0 else grad_output * scale",
    })
elu = defop(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    kernel=limited("elu_cpu", FLOATS, elu_kernel),
    vjp=dict(self=lambda grad, self, alpha, scale, input_scale:
             call(elu_backward, [grad, alpha, scale, input_scale, False, self])), **activation,
    lower="expm1(self * input_scale) * (alpha * scale) if self < 0 else self * scale",
)
elu_ = defop(
    "elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)",
    kernel=limited("elu_cpu", FLOATS, elu_kernel),
    vjp=dict(self=lambda grad, result, alpha, scale, input_scale:
             call(elu_backward, [grad, alpha, scale, input_scale, True, result])), node="EluBackward1", out=False, **activation,
)


def check_celu(self: Any, alpha: Any) -> None:
    if isinstance(alpha, complex) and alpha.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


def celu_kernel(xp: Any, self: Any, alpha: Any) -> Any:
    return elu_kernel(xp, self, alpha, 1, 1 / alpha)


def inverse(alpha: Any) -> float:
    """One over alpha rounded to single precision, as in PyTorch's derivatives."""
    return 1.0 / float(np.float32(alpha))


celu_columns = {**activation, "variants": "function", "out": False, "check": check_celu}
defop(
    "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
    kernel=limited("elu_cpu", FLOATS, celu_kernel),
    vjp=dict(self=lambda grad, self, alpha: call(elu_backward, [grad, alpha, 1, inverse(alpha), False, self])), **celu_columns,
    lower="expm1(self / alpha) * alpha if self < 0 else self",
)
defop(
    "celu_(Tensor(a!) self, Scalar alpha=1.0) -> Tensor(a!)",
    kernel=limited("elu_cpu", FLOATS, celu_kernel), node="CeluBackward1",
    vjp=dict(self=lambda grad, result, alpha: call(elu_backward, [grad, alpha, 1, inverse(alpha), True, result])),
    **celu_columns,
)
selu = defop("selu(Tensor self) -> Tensor", kernel=lambda self: call(elu, [self, SELU_ALPHA, SELU_SCALE, 1]), composite=True,
             out=False, variants="function")
defop("selu_(Tensor(a!) self) -> Tensor(a!)", kernel=lambda self: call(elu_, [self, SELU_ALPHA, SELU_SCALE, 1]),
      composite=True, out=False, variants="function", functional=selu)


# ---- gelu
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
KAPPA = 0.044715


def erf(xp: Any, values: Any) -> Any:
    return special("erf_vml_cpu", "erf")(xp, values)


def check_gelu(self: Any, approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


def gelu_kernel(xp: Any, self: Any, approximate: str) -> Any:
    kind = self.dtype.type
    if approximate == "tanh":
        inner = kind(ROOT_TWO_OVER_PI) * (self + kind(KAPPA) * self * self * self)
        return kind(0.5) * self * (kind(1) + xp.tanh(inner))
    return self * kind(0.5) * (kind(1) + erf(xp, self * kind(math.sqrt(0.5))))


def gelu_backward_kernel(xp: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    kind = self.dtype.type
    if approximate == "tanh":
        square = self * self
        inner = kind(ROOT_TWO_OVER_PI) * (self + kind(KAPPA) * square * self)
        tanh = xp.tanh(inner)
        left, right = kind(0.5) * self, kind(1) + tanh
        inner_slope = kind(ROOT_TWO_OVER_PI) * (kind(1) + kind(3 * KAPPA) * square)
        return grad_output * (kind(0.5) * right + left * (kind(1) - tanh * tanh) * inner_slope)
    below = kind(0.5) * (kind(1) + erf(xp, self * kind(math.sqrt(0.5))))
    density = kind(1 / math.sqrt(2 * math.pi)) * xp.exp(self * self * kind(-0.5))
    return grad_output * (below + self * density)


def gelu_double_backward(grad: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    if approximate != "tanh":
        density = times(times(self * self, -0.5).exp(), 1 / math.sqrt(2 * math.pi))
        return grad * grad_output * (times(density, 2) - self * self * density)
    inner = times(self + times(self.pow(3), KAPPA), ROOT_TWO_OVER_PI)
    tanh = inner.tanh()
    sech = times(inner.cosh().reciprocal(), 1)
    f, g = times(self, 0.5), less_from(1, tanh * tanh)
    h = times(plus(times(self, 3 * KAPPA) * self, 1), ROOT_TWO_OVER_PI)
    f_part = times(g, 0.5) * h
    g_part = f * h * (times(sech, 2) * (-sech * tanh) * h)
    h_part = f * g * times(times(self, 6 * KAPPA), ROOT_TWO_OVER_PI)
    return grad * grad_output * (times(f_part, 2) + g_part + h_part)


gelu_backward = backward_op(
    'gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor',
    limited("GeluBackwardKernelImpl", FLOATS, gelu_backward_kernel),
    dict(grad_output=lambda grad, self, approximate: call(gelu_backward, [grad, self, approximate]), self=gelu_double_backward),
    widen=True,
    lower={
        "approximate='none'": "grad_output * (0.5 * (1 + erf(self * 0.7071067811865476)) + self * (exp(self * self * "
                              "-0.5) * 0.3989422804014327))",
        "approximate='tanh'": "t = tanh(0.7978845608028654 * (self + 0.044715 * self * self * self)); grad_output * (0.5 "
                              "* (1 + t) + 0.5 * self * (1 - t * t) * (0.7978845608028654 * (1 + 0.134145 * self * self)))",
    })
defop(
    'gelu(Tensor self, *, str approximate="none") -> Tensor',
    out="found",
    kernel=limited("GeluKernelImpl", FLOATS, gelu_kernel), check=check_gelu,
    vjp=dict(self=lambda grad, self, approximate: call(gelu_backward, [grad, self, approximate])), inplace=True, **activation,
    lower={
        "approximate='none'": "self * 0.5 * (1 + erf(self * 0.7071067811865476))",
        "approximate='tanh'": "0.5 * self * (1 + tanh(0.7978845608028654 * (self + 0.044715 * self * self * self)))",
    },
)


# ---- silu and mish: one backward op, or a differentiable formula for double backward
def silu_backward_kernel(xp: Any, grad_output: Any, self: Any) -> Any:
    one = number_like(xp, self, 1)
    sigmoid = sigmoid_kernel(xp, self)
    return grad_output * sigmoid * (one + self * (one - sigmoid))


def mish_backward_kernel(xp: Any, grad_output: Any, self: Any) -> Any:
    one = number_like(xp, self, 1)
    tanh = xp.tanh(xp.log1p(xp.exp(self)))
    return grad_output * (tanh + self * sigmoid_kernel(xp, self) * (one - tanh * tanh))


def silu_double_backward(grad: Any, grad_output: Any, self: Any) -> Any:
    sigmoid = self.sigmoid()
    return grad * grad_output * sigmoid * less_from(1, sigmoid) * plus(self * less_from(1, times(sigmoid, 2)), 2)


def mish_double_backward(grad: Any, grad_output: Any, self: Any) -> Any:
    sigmoid = self.sigmoid()
    tanh = self.exp().log1p().tanh()
    bend = plus(self * (less_from(1, sigmoid) - times(tanh * sigmoid, 2)), 2)
    return grad * grad_output * sigmoid * less_from(1, tanh * tanh) * bend


silu_backward = backward_op(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    limited("silu_backward_cpu", "fVc", silu_backward_kernel),
    dict(grad_output=lambda grad, self: call(silu_backward, [grad, self]), self=silu_double_backward), widen=True,
    lower="s = sigmoid(self); grad_output * s * (1 + self * (1 - s))")
mish_backward = backward_op(
    "mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    limited("mish_backward_cpu", FLOATS, mish_backward_kernel),
    dict(grad_output=lambda grad, self: call(mish_backward, [grad, self]), self=mish_double_backward), widen=True,
    lower="s = sigmoid(self); t = tanh(softplus(self)); grad_output * (t + self * s * (1 - t * t))")


def silu_rule(grad: Any, self: Any) -> Any:
    if not tls.grad_enabled:
        return call(silu_backward, [grad, self])
    sigmoid = self.sigmoid()
    return grad * sigmoid * plus(self * less_from(1.0, sigmoid), 1.0)


def mish_rule(grad: Any, self: Any) -> Any:
    if not tls.grad_enabled:
        return call(mish_backward, [grad, self])
    sigmoid = self.sigmoid()
    tanh = self.exp().log1p().tanh()
    return grad * (tanh + self * sigmoid * less_from(1, tanh * tanh))


defop(
    "silu(Tensor self) -> Tensor",
    kernel=limited("silu_cpu", "fVc", lambda xp, self: self / (number_like(xp, self, 1) + xp.exp(-self))),
    vjp=dict(self=silu_rule), check=no_complex_gradient("silu"), inplace=True, **activation,
    lower="self * sigmoid(self)",
)
defop(
    "mish(Tensor self) -> Tensor",
    kernel=limited("mish_cpu", FLOATS, lambda xp, self: self * xp.tanh(xp.log1p(xp.exp(self)))),
    vjp=dict(self=mish_rule), inplace=True, **activation,
    lower="self * tanh(softplus(self))",
)


# ---- softplus and log_sigmoid
def softplus_kernel(xp: Any, self: Any, beta: Any, threshold: Any) -> Any:
    factor = number_like(xp, self, beta)
    scaled = self * factor
    return xp.where(scaled > number_like(xp, self, threshold), self, xp.log1p(xp.exp(scaled)) / factor)


def softplus_backward_kernel(xp: Any, grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = self * number_like(xp, self, beta)
    power = xp.exp(scaled)
    slope = power / (power + number_like(xp, self, 1))
    return xp.where(scaled > number_like(xp, self, threshold), grad_output, grad_output * slope)


def softplus_double_backward(grad: Any, grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = times(self, beta)
    slope = call(sigmoid_backward, [grad * grad_output, scaled.sigmoid()])
    return times(slope * scaled.lt(threshold).to(grad.dtype), beta)


softplus_backward = backward_op(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    limited("softplus_backward_cpu", FLOATS, softplus_backward_kernel),
    dict(grad_output=lambda grad, self, beta, threshold: call(softplus_backward, [grad, self, beta, threshold]),
         self=softplus_double_backward), widen=True,
    lower="z = exp(self * beta); grad_output if self * beta > threshold else grad_output * z / (z + 1)")
defop(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    out="found",
    kernel=limited("softplus_cpu", FLOATS, softplus_kernel),
    vjp=dict(self=lambda grad, self, beta, threshold: call(softplus_backward, [grad, self, beta, threshold])), **activation,
    lower="self if self * beta > threshold else log1p(exp(self * beta)) / beta",
)


def log_sigmoid_kernel(xp: Any, self: Any) -> Any:
    self = xp.ascontiguousarray(self).reshape(self.shape)
    buffer = xp.exp(-xp.abs(self))
    return xp.minimum(self, zero_like(xp, self)) - xp.log1p(buffer), buffer


def log_sigmoid_backward_kernel(xp: Any, grad_output: Any, self: Any, buffer: Any) -> Any:
    one, share = number_like(xp, self, 1), buffer / (number_like(xp, self, 1) + buffer)
    return grad_output * xp.where(self < 0, one - share, share)


def log_sigmoid_double_backward(grad: Any, grad_output: Any, self: Any) -> Any:
    sigmoid = self.sigmoid()
    return grad * grad_output * minus(sigmoid, 1) * sigmoid


log_sigmoid_backward = backward_op(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
    limited("log_sigmoid_backward_cpu", FLOATS, log_sigmoid_backward_kernel),
    dict(grad_output=lambda grad, self, buffer: call(log_sigmoid_backward, [grad, self, buffer]),
         self=log_sigmoid_double_backward), widen=True, check=without_gradient("log_sigmoid_backward", buffer=2))
log_sigmoid_forward = defop(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    kernel=limited("log_sigmoid_cpu", FLOATS, log_sigmoid_kernel),
    vjp=dict(self=lambda grad, self, buffer: call(log_sigmoid_backward, [grad, self, buffer])), constant=(1,),
    jvp=lambda self_p, self_t, buffer: (self_t * (-self_p).sigmoid(), None),
    batch=families.pointwise, elementwise=False, widen=True, variants="",
    node="LogSigmoidBackward0", out=False, pattern="elements",
    out_form="output",
)
defop("log_sigmoid(Tensor self) -> Tensor", kernel=lambda self: call(log_sigmoid_forward, [self])[0], composite=True,
      out="scalar", variants="")


# ---- the piecewise linear approximations
@accepts_floats
def check_hardtanh(self: Any, min_val: Any, max_val: Any) -> None:
    kind = self.array.dtype.kind
    if kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if kind == "c":
        raise NotImplementedError(COMPLEX_CLAMP)
    if kind == "u" and (int(min_val) < 0 or int(max_val) < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def hardtanh_kernel(xp: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    return xp.minimum(xp.maximum(self, number_like(xp, self, min_val)), number_like(xp, self, max_val))


def hardtanh_backward_kernel(xp: Any, grad_output: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    outside = xp.logical_or(self <= number_like(xp, self, min_val), self >= number_like(xp, self, max_val))
    return xp.where(outside, zero_like(xp, grad_output), grad_output)


hardtanh_backward = backward_op(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    limited("hardshrink_backward_cpu", FLOATS, hardtanh_backward_kernel),
    dict(grad_output=lambda grad, self, min_val, max_val: call(hardtanh_backward, [grad, self, min_val, max_val]), self=zeros),
    lower="0 if self <= min_val or self >= max_val else grad_output")
hardtanh = defop(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    kernel=hardtanh_kernel, check=check_hardtanh, inplace=True,
    vjp=dict(self=lambda grad, self, min_val, max_val: call(hardtanh_backward, [grad, self, min_val, max_val])), **activation,
    lower="clip(self, min_val, max_val)", traits=("piecewise_linear",),
)
relu6 = defop("relu6(Tensor self) -> Tensor", kernel=lambda self: call(hardtanh, [self, 0, 6]), composite=True, out=False,
              variants="")
defop("relu6_(Tensor(a!) self) -> Tensor(a!)", composite=True, out=False, variants="", functional=relu6,
      kernel=lambda self: call(find_packet("hardtanh_").default, [self, 0, 6]))      # type: ignore[union-attr]


def six_step(xp: Any, self: Any) -> Any:
    """min(max(x + 3, 0), 6)."""
    return xp.minimum(xp.maximum(self + number_like(xp, self, 3), zero_like(xp, self)), number_like(xp, self, 6))


def hardsigmoid_backward_kernel(xp: Any, grad_output: Any, self: Any) -> Any:
    inside = xp.logical_and(self > -3, self < 3)
    return xp.where(inside, grad_output * number_like(xp, self, xp.float32(1 / 6)), zero_like(xp, grad_output))


def hardswish_backward_kernel(xp: Any, grad_output: Any, self: Any) -> Any:
    middle = grad_output * (self / number_like(xp, self, 3) + number_like(xp, self, 0.5))
    return xp.where(self <= -3, zero_like(xp, grad_output), xp.where(self < 3, middle, grad_output))


hardsigmoid_backward = backward_op(
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    limited("hardsigmoid_backward", FLOATS, hardsigmoid_backward_kernel),
    dict(grad_output=lambda grad, self: call(hardsigmoid_backward, [grad, self]), self=zeros), widen=True,
    lower="grad_output * 0.1666666716337204 if self > -3 and self < 3 else 0")
hardswish_backward = backward_op(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    limited("hardswish_backward_cpu", FLOATS, hardswish_backward_kernel),
    dict(grad_output=lambda grad, self: call(hardswish_backward, [grad, self]),
         self=lambda grad, grad_output, self: where(self.gt(-3.0).logical_and(self.lt(3.0)), over(grad * grad_output, 3.0), 0)),
    widen=True, lower="0 if self <= -3 else grad_output * (self / 3 + 0.5) if self < 3 else grad_output",
    out_form="out")
defop(
    "hardsigmoid(Tensor self) -> Tensor",
    kernel=limited("hardsigmoid_cpu", FLOATS, lambda xp, self: six_step(xp, self) / number_like(xp, self, 6)),
    vjp=dict(self=lambda grad, self: call(hardsigmoid_backward, [grad, self])), inplace=True, **activation,
    lower="clip(self + 3, 0, 6) / 6", traits=("piecewise_linear",),
)
defop(
    "hardswish(Tensor self) -> Tensor",
    kernel=limited("hardswish_cpu", FLOATS, lambda xp, self: self * six_step(xp, self) / number_like(xp, self, 6)),
    vjp=dict(self=lambda grad, self: call(hardswish_backward, [grad, self])), inplace=True, **activation,
    lower="self * clip(self + 3, 0, 6) / 6",
)


# ---- shrinking towards zero
def check_lambda(self: Any, lambd: Any) -> None:
    if self.array.dtype.kind not in FLOATS:
        raise unsupported("softshrink_check", self.array.dtype)
    if isinstance(lambd, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if not 0 <= lambd <= finfo(self.dtype).max:
        raise RuntimeError(f"lambda must be in range [0, {finfo(self.dtype).max:g}] for input dtype {self.dtype.legacy}, but "
                           f"found {lambd:g}")


def shrunk(xp: Any, self: Any, lambd: Any, value: Any) -> Any:
    """`value`, but 0 where self lies within lambd of 0."""
    width = number_like(xp, self, lambd)
    return xp.where(xp.logical_and(self >= -width, self <= width), zero_like(xp, value), value)


def softshrink_kernel(xp: Any, self: Any, lambd: Any) -> Any:
    width = number_like(xp, self, lambd)
    return shrunk(xp, self, lambd, xp.where(self > 0, self - width, self + width))


hardshrink_backward = backward_op(
    "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    limited("shrink_backward_cpu", FLOATS, lambda xp, grad_out, self, lambd: shrunk(xp, self, lambd, grad_out)),
    dict(grad_out=lambda grad, self, lambd: call(hardshrink_backward, [grad, self, lambd]), self=zeros),
    lower="0 if self >= -lambd and self <= lambd else grad_out")
softshrink_backward = backward_op(
    "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    limited("shrink_backward_cpu", FLOATS, lambda xp, grad_output, self, lambd: shrunk(xp, self, lambd, grad_output)),
    dict(grad_output=lambda grad, self, lambd: call(softshrink_backward, [grad, self, lambd]), self=zeros),
    lower="0 if self >= -lambd and self <= lambd else grad_output")
defop(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    out="found",
    kernel=limited("hardshrink_cpu", FLOATS, lambda xp, self, lambd: shrunk(xp, self, lambd, self)),
    vjp=dict(self=lambda grad, self, lambd: call(hardshrink_backward, [grad, self, lambd])),
    **{**activation, "variants": "function, method"},
    lower="0 if self >= -lambd and self <= lambd else self", traits=("piecewise_linear",),
)
defop(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    out="found",
    kernel=softshrink_kernel, check=check_lambda,
    vjp=dict(self=lambda grad, self, lambd: call(softshrink_backward, [grad, self, lambd])), **activation,
    lower="self - lambd if self > lambd else self + lambd if self < -lambd else self * 0", traits=("piecewise_linear",),
)
