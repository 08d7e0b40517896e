"""Nonlinearities as functions, with PyTorch's `inplace` arguments."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import aten, forms, overridable

hardshrink, prelu = torch.hardshrink, torch.prelu
relu_, celu_, selu_, threshold_ = torch.relu_, torch.celu_, torch.selu_, torch.threshold_
ELU, HARDSIGMOID, HARDSWISH, HARDTANH, LEAKY_RELU, MISH, RELU6, SILU = map(forms, (
    "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu6", "silu"))
gelu = aten("gelu", doc="""x times the probability that a normal variable is below x.

    >>> import retrograd as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """)
logsigmoid = aten("log_sigmoid", doc="""The logarithm of the sigmoid.

    >>> import retrograd as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """)
softplus = aten("softplus", doc="""log(1 + exp(beta * x)) / beta.

    >>> import retrograd as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """)
softshrink = aten("softshrink", doc="""x moved towards 0 by lambd.

    >>> import retrograd as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-1.0, 0.3, 2.0]), 0.5)
    tensor([-0.5000,  0.0000,  1.5000])
    """)
elu_ = aten("elu_", doc="""elu, written into its input.

    >>> import retrograd as torch
    >>> x = torch.tensor([-1.0, 1.0])
    >>> torch.nn.functional.elu_(x) is x
    True
    """)
hardtanh_ = aten("hardtanh_", doc="""hardtanh, written into its input.

    >>> import retrograd as torch
    >>> x = torch.tensor([-3.0, 3.0])
    >>> _ = torch.nn.functional.hardtanh_(x)
    >>> x
    tensor([-1.,  1.])
    """)
leaky_relu_ = aten("leaky_relu_", doc="""leaky_relu, written into its input.

    >>> import retrograd as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> _ = torch.nn.functional.leaky_relu_(x, 0.5)
    >>> x
    tensor([-0.5000,  2.0000])
    """)


@overridable
def relu(input: Any, inplace: bool = False) -> Any:
    """max(0, x).

    >>> import retrograd as torch
    >>> relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return torch.relu_(input) if inplace else torch.relu(input)


@overridable
def _threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it exceeds `threshold`, `value` elsewhere.

    >>> import retrograd as torch
    >>> torch.nn.functional.threshold(torch.tensor([0.2, 0.7]), 0.5, -1.0)
    tensor([-1.0000,  0.7000])
    """
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


threshold = _threshold


@overridable
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x kept between two bounds.

    >>> import retrograd as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return HARDTANH[bool(inplace)](input, min_val, max_val)


@overridable
def relu6(input: Any, inplace: bool = False) -> Any:
    """x kept between 0 and 6.

    >>> import retrograd as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 3.0, 8.0]))
    tensor([0., 3., 6.])
    """
    return RELU6[bool(inplace)](input)


@overridable
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    >>> import retrograd as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 1.0]), alpha=2.0)
    tensor([-1.2642,  1.0000])
    """
    return ELU[bool(inplace)](input, alpha)


@overridable
def selu(input: Any, inplace: bool = False) -> Any:
    """elu, scaled so that mean and variance are kept.

    >>> import retrograd as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return torch.selu_(input) if inplace else torch.selu(input)


@overridable
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere.

    >>> import retrograd as torch
    >>> torch.nn.functional.celu(torch.tensor([-1.0, 1.0]), alpha=2.0)
    tensor([-0.7869,  1.0000])
    """
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


@overridable
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where positive, negative_slope * x elsewhere.

    >>> import retrograd as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return LEAKY_RELU[bool(inplace)](input, negative_slope)


@overridable
def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Any:
    """leaky_relu with a slope drawn for each element in training, and the mean slope otherwise.

    >>> import retrograd as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    return (torch.rrelu_ if inplace else torch.rrelu)(input, lower, upper, training)


rrelu_ = torch.rrelu_


@overridable
def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim`, gated by the sigmoid of the second.

    >>> import retrograd as torch
    >>> torch.nn.functional.glu(torch.tensor([4.0, 6.0, 0.0, 0.0]))
    tensor([2., 3.])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return ops.aten.glu(input, dim)


@overridable
def silu(input: Any, inplace: bool = False) -> Any:
    """x * sigmoid(x).

    >>> import retrograd as torch
    >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return SILU[bool(inplace)](input)


@overridable
def mish(input: Any, inplace: bool = False) -> Any:
    """x * tanh(softplus(x)).

    >>> import retrograd as torch
    >>> torch.nn.functional.mish(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return MISH[bool(inplace)](input)


@overridable
def hardswish(input: Any, inplace: bool = False) -> Any:
    """x * relu6(x + 3) / 6.

    >>> import retrograd as torch
    >>> torch.nn.functional.hardswish(torch.tensor([1.0, 4.0]))
    tensor([0.6667, 4.0000])
    """
    return HARDSWISH[bool(inplace)](input)


@overridable
def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """relu6(x + 3) / 6.

    >>> import retrograd as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return HARDSIGMOID[bool(inplace)](input)


@overridable
def softsign(input: Any) -> Any:
    """x / (1 + |x|).

    >>> import retrograd as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


@overridable
def tanhshrink(input: Any) -> Any:
    """x - tanh(x).

    >>> import retrograd as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 1.0]))
    tensor([-0.2384,  0.2384])
    """
    return input - input.tanh()


def tanh(input: Any) -> Any:
    """The hyperbolic tangent.

    >>> import retrograd as torch
    >>> torch.nn.functional.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return input.tanh()


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x)).

    >>> import retrograd as torch
    >>> torch.nn.functional.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    return input.sigmoid()


def implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  stacklevel=stacklevel + 1)
    return 0 if ndim in (0, 1, 3) else 1


@overridable
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of -x.

    >>> import retrograd as torch
    >>> torch.nn.functional.softmin(torch.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    dim = implicit_dim("softmin", input.dim(), _stacklevel) if dim is None else dim
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@overridable
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Exponentials along `dim`, scaled to sum to one.

    >>> import retrograd as torch
    >>> torch.nn.functional.softmax(torch.tensor([1.0, 0.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    dim = implicit_dim("softmax", input.dim(), _stacklevel) if dim is None else dim
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@overridable
def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of softmax.

    >>> import retrograd as torch
    >>> torch.nn.functional.log_softmax(torch.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    dim = implicit_dim("log_softmax", input.dim(), _stacklevel) if dim is None else dim
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@overridable
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of the relaxed categorical distribution; with `hard` a one-hot one whose gradient is the relaxed one's.

    >>> import retrograd as torch
    >>> sample = torch.nn.functional.gumbel_softmax(torch.zeros(5), hard=True)
    >>> sorted(sample.round().tolist())
    [0.0, 0.0, 0.0, 0.0, 1.0]
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -torch.empty_like(logits, memory_format=torch.preserve_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = torch.zeros_like(logits, memory_format=torch.preserve_format).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft
