"""Nonlinearities as functions, with PyTorch's `inplace` arguments."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import aten, overridable

gelu, logsigmoid = aten("gelu"), aten("log_sigmoid", "logsigmoid")
softplus, softshrink, hardshrink = aten("softplus"), aten("softshrink"), torch.hardshrink
prelu = torch.prelu
relu_, celu_, selu_, threshold_ = torch.relu_, torch.celu_, torch.selu_, torch.threshold_
elu_, hardtanh_, leaky_relu_ = aten("elu_"), aten("hardtanh_"), aten("leaky_relu_")


@overridable
def relu(input: Any, inplace: bool = False) -> Any:
    """max(0, x).

    >>> import retrograd as torch
    >>> relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return torch.relu_(input) if inplace else torch.relu(input)


@overridable
def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it exceeds `threshold`, `value` elsewhere."""
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


@overridable
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x kept between two bounds."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (ops.aten.hardtanh_ if inplace else ops.aten.hardtanh)(input, min_val, max_val)


@overridable
def relu6(input: Any, inplace: bool = False) -> Any:
    """x kept between 0 and 6."""
    return (ops.aten.relu6_ if inplace else ops.aten.relu6)(input)


@overridable
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return (ops.aten.elu_ if inplace else ops.aten.elu)(input, alpha)


@overridable
def selu(input: Any, inplace: bool = False) -> Any:
    """elu, scaled so that mean and variance are kept."""
    return torch.selu_(input) if inplace else torch.selu(input)


@overridable
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


@overridable
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where positive, negative_slope * x elsewhere."""
    return (ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu)(input, negative_slope)


@overridable
def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Any:
    """leaky_relu with a slope drawn for each element in training, and the mean slope otherwise."""
    if not training:
        return (ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu)(input, (lower + upper) / 2)
    low = input.detach() <= 0
    slopes = torch.ones_like(input.detach())
    slopes[low] = torch.empty(int(low.sum()), dtype=torch.float64).uniform_(lower, upper).to(input.dtype)
    return input.mul_(slopes) if inplace else input * slopes


@overridable
def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim`, gated by the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return ops.aten.glu(input, dim)


@overridable
def silu(input: Any, inplace: bool = False) -> Any:
    """x * sigmoid(x)."""
    return (ops.aten.silu_ if inplace else ops.aten.silu)(input)


@overridable
def mish(input: Any, inplace: bool = False) -> Any:
    """x * tanh(softplus(x))."""
    return (ops.aten.mish_ if inplace else ops.aten.mish)(input)


@overridable
def hardswish(input: Any, inplace: bool = False) -> Any:
    """x * relu6(x + 3) / 6."""
    return (ops.aten.hardswish_ if inplace else ops.aten.hardswish)(input)


@overridable
def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """relu6(x + 3) / 6."""
    return (ops.aten.hardsigmoid_ if inplace else ops.aten.hardsigmoid)(input)


@overridable
def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


@overridable
def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return input - input.tanh()


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  stacklevel=stacklevel + 1)
    return 0 if ndim in (0, 1, 3) else 1


@overridable
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of -x."""
    dim = implicit_dim("softmin", input.dim(), _stacklevel) if dim is None else dim
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@overridable
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Exponentials along `dim`, scaled to sum to one."""
    dim = implicit_dim("softmax", input.dim(), _stacklevel) if dim is None else dim
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@overridable
def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of softmax."""
    dim = implicit_dim("log_softmax", input.dim(), _stacklevel) if dim is None else dim
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@overridable
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of the relaxed categorical distribution; with `hard` a one-hot one whose gradient is the relaxed one's."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -torch.empty_like(logits, memory_format=torch.preserve_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = torch.zeros_like(logits, memory_format=torch.preserve_format).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft
