"""Instance norm as modules."""
from __future__ import annotations

import warnings
from typing import Any

from retrograd.nn import functional as F
from retrograd.nn.modules.batchnorm import _LazyNormBase, _NormBase, expect


class _InstanceNorm(_NormBase):
    """The base of instance norms."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        single = input.dim() == self.ranks[0]
        dim = input.dim() - self.ranks[0]
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                                 f"{input.size(dim)}.")
            warnings.warn(f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                          "in num_features, which is not used because affine=False", stacklevel=2)
        values = input.unsqueeze(0) if single else input
        made = F.instance_norm(values, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats,
                               self.momentum if self.momentum is not None else 0.0, self.eps)
        return made.squeeze(0) if single else made

    def _check_input_dim(self, input: Any) -> None:
        expect(input, self.ranks)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
                              unexpected_keys: list[str], error_msgs: list[str]) -> None:
        """Refuse the statistics that old files have for layers that track none."""
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names, cls = " and ".join([f'"{name}"' for name in found]), type(self).__name__
                error_msgs.append(f"Unexpected running stats buffer(s) {names} for {cls} with track_running_stats=False. If "
                                  "state_dict is a checkpoint saved before 0.4.0, this may be expected because "
                                  f"{cls} does not track running stats by default since 0.4.0. Please remove these keys from "
                                  "state_dict. If the running stats are actually needed, instead set "
                                  f"track_running_stats=True in {cls} to enable them. See the documentation of {cls} for "
                                  "details.")
                for name in found:
                    state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


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


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm1d whose num_features comes from its first input.

    >>> import retrograd as torch
    >>> norm = torch.nn.LazyInstanceNorm1d(affine=True)
    >>> _ = norm(torch.ones(2, 3, 4))
    >>> norm.weight.shape
    torch.Size([3])
    """

    cls_to_become = InstanceNorm1d
    ranks = InstanceNorm1d.ranks


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm2d whose num_features comes from its first input.

    >>> import retrograd as torch
    >>> norm = torch.nn.LazyInstanceNorm2d(affine=True)
    >>> _ = norm(torch.ones(2, 3, 4, 4))
    >>> norm.weight.shape
    torch.Size([3])
    """

    cls_to_become = InstanceNorm2d
    ranks = InstanceNorm2d.ranks


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm3d whose num_features comes from its first input.

    >>> import retrograd as torch
    >>> norm = torch.nn.LazyInstanceNorm3d(affine=True)
    >>> _ = norm(torch.ones(2, 3, 1, 2, 2))
    >>> norm.weight.shape
    torch.Size([3])
    """

    cls_to_become = InstanceNorm3d
    ranks = InstanceNorm3d.ranks
