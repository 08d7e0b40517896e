"""Normalization as modules."""
from __future__ import annotations

import numbers
from typing import Any

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter


class _NormBase(Module):
    """What batch and instance norm share: parameters and running statistics for each channel."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    ranks: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        place = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(torch.empty(num_features, **place)) if affine else None)
        self.register_parameter("bias", Parameter(torch.empty(num_features, **place)) if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features, **place))
            self.register_buffer("running_var", torch.ones(num_features, **place))
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches seen so far."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Start again."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:      # the count came with version 2
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                state_dict[key] = torch.tensor(0, dtype=torch.long)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """The base of batch norms, which differ only in the inputs they accept."""

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        average = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                average = 1.0 / float(self.num_batches_tracked)
        training = self.training or (self.running_mean is None and self.running_var is None)
        tracks = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if tracks else None, self.running_var if tracks else None, self.weight,
                            self.bias, training, average, self.eps)


def expect(input: Any, ranks: tuple[int, ...]) -> None:
    if input.dim() not in ranks:
        wanted = " or ".join(f"{rank}D" for rank in ranks)
        raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Batch norm of (N, C) or (N, C, L).

    >>> import retrograd as torch
    >>> norm = torch.nn.BatchNorm1d(2, affine=False)
    >>> norm(torch.tensor([[1.0, 10.0], [3.0, 30.0]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> norm.running_mean
    tensor([0.2000, 2.0000])
    """

    def _check_input_dim(self, input: Any) -> None:
        expect(input, (2, 3))


class BatchNorm2d(_BatchNorm):
    """Batch norm of (N, C, H, W).

    >>> import retrograd as torch
    >>> norm = torch.nn.BatchNorm2d(1, affine=False)
    >>> norm(torch.tensor([[[[1.0, 3.0]]], [[[1.0, 3.0]]]])).flatten()
    tensor([-1.0000,  1.0000, -1.0000,  1.0000])
    """

    def _check_input_dim(self, input: Any) -> None:
        expect(input, (4,))


class BatchNorm3d(_BatchNorm):
    """Batch norm of (N, C, D, H, W).

    >>> import retrograd as torch
    >>> torch.nn.BatchNorm3d(4)(torch.ones(2, 4, 1, 2, 2)).shape
    torch.Size([2, 4, 1, 2, 2])
    """

    def _check_input_dim(self, input: Any) -> None:
        expect(input, (5,))


class _InstanceNorm(_NormBase):
    """The base of instance norms."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        single = input.dim() == self.ranks[0]
        dim = input.dim() - self.ranks[0]
        if input.size(dim) != self.num_features and self.affine:
            raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                             f"{input.size(dim)}.")
        values = input.unsqueeze(0) if single else input
        made = F.instance_norm(values, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats,
                               self.momentum if self.momentum is not None else 0.0, self.eps)
        return made.squeeze(0) if single else made

    def _check_input_dim(self, input: Any) -> None:
        expect(input, self.ranks)


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of (N, C, L) or (C, L).

    >>> import retrograd as torch
    >>> torch.nn.InstanceNorm1d(2)(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of (N, C, H, W) or (C, H, W).

    >>> import retrograd as torch
    >>> torch.nn.InstanceNorm2d(1)(torch.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[-1.0000,  1.0000]]]])
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of (N, C, D, H, W) or (C, D, H, W).

    >>> import retrograd as torch
    >>> torch.nn.InstanceNorm3d(1)(torch.tensor([[[[[1.0, 3.0]]]]]))
    tensor([[[[[-1.0000,  1.0000]]]]])
    """

    ranks = (4, 5)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions.

    >>> from retrograd import nn, tensor
    >>> nn.LayerNorm(2, elementwise_affine=False)(tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        place = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(torch.empty(shape, **place)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(torch.empty(shape, **place)) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """Mean square 1 over the last dimensions.

    >>> import retrograd as torch
    >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        weight = Parameter(torch.empty(shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Mean 0 and variance 1 over groups of channels.

    >>> import retrograd as torch
    >>> torch.nn.GroupNorm(2, 4, affine=False)(torch.tensor([[1.0, 3.0, 10.0, 30.0]]))
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        place = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(torch.empty(num_channels, **place)) if affine else None)
        self.register_parameter("bias", Parameter(torch.empty(num_channels, **place)) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class LocalResponseNorm(Module):
    """Divides each channel by a power of the mean square of its neighbours.

    >>> import retrograd as torch
    >>> torch.nn.LocalResponseNorm(2, alpha=2.0, beta=1.0)(torch.tensor([[[1.0], [2.0]]]))
    tensor([[[0.5000],
             [0.3333]]])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Any) -> Any:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
