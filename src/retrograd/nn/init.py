"""Ways to fill parameters at the start of training, with PyTorch's random stream."""
from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.nn.functions.base import overridable

__all__ = ["calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
           "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal",
           "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal",
           "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_"]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which a nonlinearity shrinks the standard deviation.

    >>> calculate_gain("relu")
    1.4142135623730951
    """
    linear = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
    if nonlinearity in linear:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@overridable
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with values drawn uniformly from [a, b).

    >>> import retrograd as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.uniform_(torch.empty(2))
    tensor([0.4963, 0.7682])
    """
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with values from a normal distribution.

    >>> import retrograd as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.normal_(torch.empty(2), mean=5.0)
    tensor([6.5410, 4.7066])
    """
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Any:
    """Fill with values from a normal distribution cut off at `a` and `b`.

    >>> import retrograd as torch
    >>> drawn = torch.nn.init.trunc_normal_(torch.empty(100), std=2.0, a=-1.0, b=1.0)
    >>> drawn.min() >= -1, drawn.max() <= 1
    (tensor(True), tensor(True))
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=2)
    low, high = below((a - mean) / std), below((b - mean) / std)
    if high - low < 0.3:                    # too few draws would fall inside
        return cut_by_inverse(tensor, mean, std, a, b, generator)
    with torch.no_grad():
        tensor.normal_(mean, std, generator=generator)
        outside = (tensor < a) | (tensor > b)
        while bool(outside.any()):
            again = torch.empty_like(tensor).normal_(mean, std, generator=generator)
            tensor.copy_(torch.where(outside, again, tensor))
            outside = (tensor < a) | (tensor > b)
        return tensor


def below(x: float) -> float:
    """The share of a normal distribution that lies below `x`."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def cut_by_inverse(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """The same by the inverse of the distribution function."""
    with torch.no_grad():
        tensor.uniform_(2 * below((a - mean) / std) - 1, 2 * below((b - mean) / std) - 1, generator=generator)
        tensor.erfinv_()
        tensor.mul_(std * math.sqrt(2.0))
        tensor.add_(mean)
        tensor.clamp_(min=a, max=b)
        return tensor


@overridable
def constant_(tensor: Any, val: float) -> Any:
    """Fill with one value.

    >>> import retrograd as torch
    >>> torch.nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Fill with ones.

    >>> import retrograd as torch
    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros.

    >>> import retrograd as torch
    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity.

    >>> import retrograd as torch
    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        tensor.copy_(torch.eye(*tensor.shape))
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill the weight of a convolution so that it passes its input through.

    >>> import retrograd as torch
    >>> weight, x = torch.nn.init.dirac_(torch.empty(1, 1, 3)), torch.tensor([[[1.0, 2.0, 3.0]]])
    >>> torch.nn.functional.conv1d(x, weight, padding=1)
    tensor([[[1., 2., 3.]]])
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = [n // 2 for n in sizes[2:]]
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(group * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill uniformly so that variance is kept in both directions.

    >>> import retrograd as torch
    >>> bound = (6 / (2 + 3)) ** 0.5
    >>> torch.nn.init.xavier_uniform_(torch.empty(3, 2)).abs().max() <= bound
    tensor(True)
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """The same from a normal distribution.

    >>> import retrograd as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_normal_(torch.empty(1, 2))
    tensor([[ 1.2582, -0.2396]])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


@overridable
def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Any:
    """Fill uniformly so that variance is kept through a (leaky) relu.

    >>> import retrograd as torch
    >>> bound = (6 / 2) ** 0.5
    >>> torch.nn.init.kaiming_uniform_(torch.empty(3, 2)).abs().max() <= bound
    tensor(True)
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    std = calculate_gain_over_fan(tensor, a, mode, nonlinearity)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Any:
    """The same from a normal distribution.

    >>> import retrograd as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_normal_(torch.empty(1, 2), nonlinearity="relu")
    tensor([[ 1.5410, -0.2934]])
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0, calculate_gain_over_fan(tensor, a, mode, nonlinearity), generator)


def calculate_gain_over_fan(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Fill with a (semi) orthogonal matrix.

    >>> import retrograd as torch
    >>> q = torch.nn.init.orthogonal_(torch.empty(3, 3))
    >>> torch.allclose(q @ q.t(), torch.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator).numpy()
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diag(r))             # makes the decomposition unique, and the distribution uniform
    q = np.ascontiguousarray(q.T if rows < columns else q)
    with torch.no_grad():
        tensor.view_as(torch.from_numpy(q)).copy_(torch.from_numpy(q))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fill a matrix with normal values, a share `sparsity` of each column being zero.

    >>> import retrograd as torch
    >>> (torch.nn.init.sparse_(torch.empty(4, 2), sparsity=0.5) == 0).sum(0)
    tensor([2, 2])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


def deprecated(function: Any) -> Any:
    """The old name of a function, without the underscore."""
    new, old = function.__name__, function.__name__[:-1]

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    renamed.__name__ = old
    return renamed


uniform, normal, constant, eye, dirac = (deprecated(f) for f in (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = deprecated(xavier_uniform_), deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = deprecated(kaiming_uniform_), deprecated(kaiming_normal_)
orthogonal, sparse = deprecated(orthogonal_), deprecated(sparse_)
