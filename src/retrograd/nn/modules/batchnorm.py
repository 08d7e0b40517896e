"""Batch norm as modules, and what it shares with instance norm."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.modules.lazy import LazyModuleMixin
from retrograd.nn.modules.module import Module
from retrograd.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter


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
                now = self.num_batches_tracked
                state_dict[key] = torch.tensor(0, dtype=torch.long) if now is None or now.is_meta else now
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


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What lazy norms share: num_features is the size of the first input's second dimension."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
                 device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        """Start again, if the shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:  # type: ignore[override]
        """Take num_features from the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()
        self.num_features = self.num_features or input.shape[1]     # 0 still, if a state_dict gave the shapes


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d whose num_features comes from its first input.

    >>> import retrograd as torch
    >>> norm = torch.nn.LazyBatchNorm1d()
    >>> _ = norm(torch.ones(2, 3))
    >>> norm.num_features
    3
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d whose num_features comes from its first input.

    >>> import retrograd as torch
    >>> norm = torch.nn.LazyBatchNorm2d()
    >>> _ = norm(torch.ones(2, 3, 4, 4))
    >>> norm.num_features
    3
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d whose num_features comes from its first input.

    >>> import retrograd as torch
    >>> norm = torch.nn.LazyBatchNorm3d()
    >>> _ = norm(torch.ones(2, 3, 1, 2, 2))
    >>> norm.num_features
    3
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """Batch norm of any rank whose statistics are those of all processes; of one process it is batch norm.

    >>> import retrograd as torch
    >>> torch.nn.SyncBatchNorm(2, affine=False)(torch.tensor([[1.0, 10.0], [3.0, 30.0]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with a SyncBatchNorm in the place of each batch norm in it.

        >>> import retrograd as torch
        >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
        Sequential(
          (0): SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        )
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = SyncBatchNorm(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                                 process_group, bias=module.bias is not None)
            for name in ("weight", "bias") if module.affine else ():
                setattr(made, name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(made, name, getattr(module, name))
            if hasattr(module, "qconfig"):
                made.qconfig = module.qconfig
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
