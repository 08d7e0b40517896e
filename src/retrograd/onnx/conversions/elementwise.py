"""Elementwise ops as ONNX nodes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.core.opdef import fact
from retrograd.onnx._builder import Builder, Value, converts
from retrograd.onnx.errors import UnsupportedOperatorError


def unary(kind: str) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, *args: Any, **kwargs: Any) -> str:
        return g.op(kind, self if out.dtype == torch.bool else g.typed(self, out.dtype))
    return convert


def binary(kind: str) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, other: Any, **kwargs: Any) -> str:
        result = g.op(kind, g.typed(self, out.dtype), g.typed(other, out.dtype))
        mode = kwargs.get("rounding_mode")
        if mode == "floor":
            return floor_divided(g, out, self, other)
        if mode == "trunc":
            result = g.op("Mul", g.op("Sign", result), g.op("Floor", g.op("Abs", result)))
        return result
    return convert


def comparison(kind: str, negated: bool) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, other: Any) -> str:
        dtype = torch.result_type(*[value.example if isinstance(value, Value) else value for value in (self, other)])
        if dtype == torch.bool and kind != "Equal":
            dtype = torch.int32
        result = g.op(kind, g.typed(self, dtype), g.typed(other, dtype))
        return g.op("Not", result) if negated else result
    return convert


def logical(name: str, kind: str) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, other: Any) -> str:
        if out.dtype != torch.bool:
            if g.opset < 18:
                raise UnsupportedOperatorError(f"{name} of integers needs opset 18 or later")
            return g.op(f"Bitwise{kind}", g.typed(self, out.dtype), g.typed(other, out.dtype))
        return g.op(kind, g.typed(self, torch.bool), g.typed(other, torch.bool))
    return convert


def copied(g: Builder, out: Any, self: Any, *args: Any, **kwargs: Any) -> str:
    return g.op("Identity", self)


def one_node(name: str) -> Callable[..., Any] | None:
    """How an op whose row says so in its `onnx` column is written as one node."""
    node = fact(name, "onnx")
    if node is None:
        return None
    kind = node.removeprefix("Not ")
    if kind in ("Mul", "Div", "Max", "Min", "Pow"):
        return binary(kind)
    if kind in ("Equal", "Less", "Greater"):
        return comparison(kind, kind != node)
    if kind in ("And", "Or", "Xor"):
        return logical(name, kind)
    return copied if kind == "Identity" else unary(kind)


@converts("_to_copy", "to")
def to_copy(g: Builder, out: Any, self: Any, *args: Any, **kwargs: Any) -> str:
    return g.op("Identity", self) if self.dtype == out.dtype else g.cast(self, out.dtype)


@converts("copy")
def copy(g: Builder, out: Any, self: Any, src: Any, non_blocking: bool = False) -> str:
    return g.op("Expand", g.typed(src, out.dtype), g.op("Shape", self))


@converts("add")
def add(g: Builder, out: Any, self: Any, other: Any, alpha: Any = 1, kind: str = "Add") -> str:
    other = g.typed(other, out.dtype)
    if alpha != 1:
        other = g.op("Mul", other, g.constant(alpha, out.dtype))
    return g.op(kind, g.typed(self, out.dtype), other)


@converts("sub")
def sub(g: Builder, out: Any, self: Any, other: Any, alpha: Any = 1) -> str:
    return add(g, out, self, other, alpha, "Sub")


@converts("rsub")
def rsub(g: Builder, out: Any, self: Any, other: Any, alpha: Any = 1) -> str:
    return add(g, out, other, self, alpha, "Sub")


@converts("floor_divide")
def floor_divided(g: Builder, out: Any, self: Any, other: Any) -> str:
    a, b = g.typed(self, out.dtype), g.typed(other, out.dtype)
    if out.dtype.is_floating_point:
        return g.op("Floor", g.op("Div", a, b))
    return g.op("Div", g.op("Sub", a, g.op("Mod", a, b)), b)        # Mod has the sign of the divisor


@converts("remainder")
def remainder(g: Builder, out: Any, self: Any, other: Any) -> str:
    a, b = g.typed(self, out.dtype), g.typed(other, out.dtype)
    if out.dtype.is_floating_point:
        return g.op("Sub", a, g.op("Mul", b, g.op("Floor", g.op("Div", a, b))))
    return g.op("Mod", a, b)


@converts("fmod")
def fmod(g: Builder, out: Any, self: Any, other: Any) -> str:
    return g.op("Mod", g.typed(self, out.dtype), g.typed(other, out.dtype), fmod=1)


@converts("logical_not", "bitwise_not")
def logical_not(g: Builder, out: Any, self: Any) -> str:
    return g.op("Not", g.typed(self, torch.bool)) if out.dtype == torch.bool else g.op("BitwiseNot", self)


@converts("addcmul")
def addcmul(g: Builder, out: Any, self: Any, tensor1: Any, tensor2: Any, value: Any = 1, kind: str = "Mul") -> str:
    return g.op("Add", self, g.op("Mul", g.op(kind, tensor1, tensor2), g.constant(value, out.dtype)))


@converts("addcdiv")
def addcdiv(g: Builder, out: Any, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> str:
    return addcmul(g, out, self, tensor1, tensor2, value, "Div")


@converts("where")
def where(g: Builder, out: Any, condition: Any, self: Any, other: Any) -> str:
    return g.op("Where", g.typed(condition, torch.bool), g.typed(self, out.dtype), g.typed(other, out.dtype))


@converts("masked_fill")
def masked_fill(g: Builder, out: Any, self: Any, mask: Any, value: Any) -> str:
    return g.op("Where", mask, g.typed(value, out.dtype), self)


@converts("clamp", "clip")
def clamp(g: Builder, out: Any, self: Any, min: Any = None, max: Any = None, **kwargs: Any) -> str:
    result = g.typed(self, out.dtype)
    if isinstance(min, Value) or isinstance(max, Value):
        result = result if min is None else g.op("Max", result, g.typed(min, out.dtype))
        return result if max is None else g.op("Min", result, g.typed(max, out.dtype))
    low, high = [None if bound is None else g.constant(bound, out.dtype) for bound in (min, max)]
    return g.op("Clip", result, low, high)


@converts("hardtanh")
def hardtanh(g: Builder, out: Any, self: Any, min_val: Any = -1, max_val: Any = 1) -> str:
    return clamp(g, out, self, min_val, max_val)


@converts("relu6")
def relu6(g: Builder, out: Any, self: Any) -> str:
    return clamp(g, out, self, 0, 6)


@converts("clamp_min")
def clamp_min(g: Builder, out: Any, self: Any, min: Any) -> str:
    return clamp(g, out, self, min)


@converts("clamp_max")
def clamp_max(g: Builder, out: Any, self: Any, max: Any) -> str:
    return clamp(g, out, self, None, max)


@converts("rsqrt")
def rsqrt(g: Builder, out: Any, self: Any) -> str:
    return g.op("Reciprocal", g.op("Sqrt", g.typed(self, out.dtype)))


@converts("square")
def square(g: Builder, out: Any, self: Any) -> str:
    return g.op("Mul", self, self)


@converts("trunc")
def trunc(g: Builder, out: Any, self: Any) -> str:
    return g.op("Mul", g.op("Sign", self), g.op("Floor", g.op("Abs", self)))


def scaled_log(base: float) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any) -> str:
        logarithm = g.op("Log", g.typed(self, out.dtype))
        return g.op("Div", logarithm, g.constant(torch.tensor(base, dtype=out.dtype).log()))
    return convert


converts("log2")(scaled_log(2.0))
converts("log10")(scaled_log(10.0))


@converts("log1p")
def log1p(g: Builder, out: Any, self: Any) -> str:
    return g.op("Log", g.op("Add", g.typed(self, out.dtype), g.constant(1, out.dtype)))


@converts("expm1")
def expm1(g: Builder, out: Any, self: Any) -> str:
    return g.op("Sub", g.op("Exp", g.typed(self, out.dtype)), g.constant(1, out.dtype))


@converts("erfc")
def erfc(g: Builder, out: Any, self: Any) -> str:
    return g.op("Sub", g.constant(1, out.dtype), g.op("Erf", self))


# ---- activations
@converts("gelu")
def gelu(g: Builder, out: Any, self: Any, approximate: str = "none") -> str:
    if g.opset >= 20:
        return g.op("Gelu", self, approximate=approximate)
    half, one = g.constant(0.5, out.dtype), g.constant(1, out.dtype)
    if approximate == "tanh":
        cube = g.op("Mul", g.op("Mul", g.op("Mul", self, self), self), g.constant(0.044715, out.dtype))
        inner = g.op("Tanh", g.op("Mul", g.op("Add", self, cube), g.constant((2 / torch.pi) ** 0.5, out.dtype)))
    else:
        inner = g.op("Erf", g.op("Mul", self, g.constant(0.5**0.5, out.dtype)))
    return g.op("Mul", g.op("Mul", self, half), g.op("Add", inner, one))


@converts("silu")
def silu(g: Builder, out: Any, self: Any) -> str:
    return g.op("Mul", self, g.op("Sigmoid", self))


@converts("mish")
def mish(g: Builder, out: Any, self: Any) -> str:
    return g.op("Mul", self, g.op("Tanh", g.op("Softplus", self)))


@converts("log_sigmoid_forward", "log_sigmoid")
def log_sigmoid(g: Builder, out: Any, self: Any) -> Any:
    result = g.op("Neg", g.op("Softplus", g.op("Neg", self)))
    return (result, None) if isinstance(out, tuple) else result


@converts("softplus")
def softplus(g: Builder, out: Any, self: Any, beta: Any = 1, threshold: Any = 20) -> str:
    factor = g.constant(beta, out.dtype)
    scaled = g.op("Mul", self, factor)
    smooth = g.op("Div", g.op("Softplus", scaled), factor)
    return g.op("Where", g.op("Greater", scaled, g.constant(threshold, out.dtype)), self, smooth)


@converts("leaky_relu")
def leaky_relu(g: Builder, out: Any, self: Any, negative_slope: Any = 0.01) -> str:
    return g.op("LeakyRelu", self, alpha=float(negative_slope))


@converts("elu")
def elu(g: Builder, out: Any, self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> str:
    result = self if input_scale == 1 else g.op("Mul", self, g.constant(input_scale, out.dtype))
    result = g.op("Elu", result, alpha=float(alpha))
    return result if scale == 1 else g.op("Mul", result, g.constant(scale, out.dtype))


@converts("selu")
def selu(g: Builder, out: Any, self: Any) -> str:
    return g.op("Selu", self)


@converts("celu")
def celu(g: Builder, out: Any, self: Any, alpha: Any = 1) -> str:
    return g.op("Celu", self, alpha=float(alpha))


@converts("hardsigmoid")
def hardsigmoid(g: Builder, out: Any, self: Any) -> str:
    return g.op("HardSigmoid", self, alpha=1 / 6, beta=0.5)


@converts("hardswish")
def hardswish(g: Builder, out: Any, self: Any) -> str:
    return g.op("Mul", self, hardsigmoid(g, out, self))


@converts("threshold")
def threshold(g: Builder, out: Any, self: Any, threshold: Any, value: Any) -> str:
    above = g.op("Greater", self, g.constant(threshold, out.dtype))
    return g.op("Where", above, self, g.constant(value, out.dtype))


@converts("hardshrink")
def hardshrink(g: Builder, out: Any, self: Any, lambd: float = 0.5, bias: float = 0.0) -> str:
    return g.op("Shrink", self, lambd=float(lambd), bias=float(bias))


@converts("softshrink")
def softshrink(g: Builder, out: Any, self: Any, lambd: float = 0.5) -> str:
    return hardshrink(g, out, self, lambd, lambd)


@converts("prelu", "_prelu_kernel")
def prelu(g: Builder, out: Any, self: Any, weight: Any) -> str:
    if weight.rank == 1 and self.rank > 2:
        weight = g.reshape(weight, [-1, *[1] * (self.rank - 2)])
    return g.op("PRelu", self, weight)


@converts("glu")
def glu(g: Builder, out: Any, self: Any, dim: int = -1) -> str:
    half = self.shape[dim] // 2
    first, second = g.split(self, [half, half], dim)
    return g.op("Mul", first, g.op("Sigmoid", second))


# ---- new tensors
def filled(g: Builder, out: Any, shape: Any, value: Any) -> str:
    return g.op("Expand", g.typed(value, out.dtype), g.ints(shape))


@converts("zeros", "new_zeros", "empty", "new_empty")
def zeros(g: Builder, out: Any, *args: Any, **kwargs: Any) -> str:
    return filled(g, out, args[-1], 0)


@converts("ones", "new_ones")
def ones(g: Builder, out: Any, *args: Any, **kwargs: Any) -> str:
    return filled(g, out, args[-1], 1)


@converts("full", "new_full")
def full(g: Builder, out: Any, *args: Any, **kwargs: Any) -> str:
    return filled(g, out, args[-2], args[-1])


@converts("zeros_like", "full_like", "empty_like", "fill", "zero")
def full_like(g: Builder, out: Any, self: Any, fill_value: Any = 0, **kwargs: Any) -> str:
    return g.op("Expand", g.typed(fill_value, out.dtype), g.op("Shape", self))


@converts("ones_like")
def ones_like(g: Builder, out: Any, self: Any, **kwargs: Any) -> str:
    return full_like(g, out, self, 1)


@converts("scalar_tensor")
def scalar_tensor(g: Builder, out: Any, s: Any, **kwargs: Any) -> str:
    return g.squeeze(g.typed(s, out.dtype), [0]) if isinstance(s, Value) else g.constant(s, out.dtype)


@converts("arange")
def arange(g: Builder, out: Any, *args: Any, **kwargs: Any) -> str:
    start, end, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if not any([isinstance(value, Value) for value in (start, end, step)]):
        return g.constant(out)
    ends = [g.squeeze(g.typed(value, out.dtype), [0]) if isinstance(value, Value) else g.constant(value, out.dtype)
            for value in (start, end, step)]
    return g.op("Range", *ends)


@converts("eye", "linspace")
def constant_result(g: Builder, out: Any, *args: Any, **kwargs: Any) -> str:
    if any([isinstance(value, Value) for value in args]):
        raise UnsupportedOperatorError("the sizes of eye and linspace have to be known when the program is exported")
    return g.constant(out)


@converts("bernoulli", "rand_like", "randn_like")
def refuse_random(g: Builder, out: Any, *args: Any, **kwargs: Any) -> str:
    raise UnsupportedOperatorError("random numbers are not exported; call model.eval() first")
