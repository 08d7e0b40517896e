"""Resizing and rearranging images."""
from __future__ import annotations

import math
import warnings
from typing import Any

import retrograd as torch
from retrograd import ops
from retrograd.nn.functions.base import overridable

pixel_shuffle, pixel_unshuffle, channel_shuffle = torch.pixel_shuffle, torch.pixel_unshuffle, torch.channel_shuffle


@overridable
def interpolate(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False) -> Any:
    """Resize to `size`, or by `scale_factor`, taking the nearest value or a linear mixture.

    >>> import retrograd as torch
    >>> interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                             "trilinear")
    elif align_corners is None:
        align_corners = False
    rank = input.dim() - 2
    sizes, factors = wanted(input, size, scale_factor, rank)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as "
                         "input")
    if mode == "lanczos" and (not antialias or align_corners):
        raise ValueError("Lanczos mode does not support align_corners=True" if align_corners else
                         "Lanczos mode requires antialias=True")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor and sizes is None:
        sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors, strict=True)]
        factors = None
    if mode == "area" and rank in (1, 2, 3):
        if sizes is None:
            sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors, strict=True)]
        return getattr(ops.aten, f"adaptive_avg_pool{rank}d")(input, sizes)
    if rank in (1, 2, 3) and mode in ("nearest", "nearest-exact"):
        name = f"upsample_nearest{rank}d" if mode == "nearest" else f"_upsample_nearest_exact{rank}d"
        return getattr(ops.aten, name).vec(input, sizes, factors)
    needed = {"linear": 1, "bilinear": 2, "trilinear": 3}.get(mode)
    if needed == rank or (rank == 2 and mode in ("bicubic", "lanczos")):
        name = f"_upsample_{mode}{rank}d_aa" if antialias else f"upsample_{mode}{rank}d"
        return getattr(ops.aten, name).vec(input, sizes, align_corners, factors)
    if needed is not None and rank in (1, 2, 3):
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {needed + 2}D input")
    raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                              f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
                              f"lanczos | area | nearest-exact (got {mode})")


def wanted(input: Any, size: Any, scale_factor: Any, rank: int) -> tuple[Any, Any]:
    """The output sizes or the factors, one of them None."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != rank:
                raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with "
                                 f"spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please provide "
                                 "input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.")
            return list(size), None
        return [size] * rank, None
    if scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != rank:
                raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input with "
                                 f"spatial dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. "
                                 "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, "
                                 "...,sK) format.")
            return None, [float(f) for f in scale_factor]
        return None, [float(scale_factor)] * rank
    raise ValueError("either size or scale_factor should be defined")


@overridable
def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Any:
    """The old name of `interpolate`.

    >>> import warnings
    >>> import retrograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
    return interpolate(input, size, scale_factor, mode, align_corners)


@overridable
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of `interpolate` with the nearest values.

    >>> import warnings
    >>> import retrograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
    return interpolate(input, size, scale_factor, mode="nearest")


@overridable
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of `interpolate` with linear mixtures between the corners.

    >>> import warnings
    >>> import retrograd as torch
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), size=(1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def settled(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
                      "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
                      "details.", stacklevel=4)
    return bool(align_corners)


@overridable
def grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Any:
    """Images or volumes sampled at the places of a grid, whose coordinates are -1 to 1 from side to side.

    >>> import retrograd as torch
    >>> image, places = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), torch.tensor([[[[0.0, 0.0], [1.0, -1.0]]]])
    >>> grid_sample(image, places, align_corners=True)
    tensor([[[[2.5000, 2.0000]]]])
    """
    if mode not in MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
                         f"'{mode}'")
    if padding_mode not in PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but "
                         f"got: '{padding_mode}'")
    return torch.grid_sampler(input, grid, MODES.index(mode), PADDINGS.index(padding_mode), settled(align_corners))


@overridable
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The grid on which `grid_sample` applies an affine map to images or volumes of a size.

    >>> import retrograd as torch
    >>> affine_grid(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    align_corners = settled(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
                                  f"Got size {size}.")
    if theta.dim() != 3 or theta.shape[-2:] != (rank, rank + 1):
        raise ValueError(f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {size}. Got "
                         f"{theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and min(size[2:]) == 1:
        warnings.warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
                      "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
                      stacklevel=3)
    return torch.affine_grid_generator(theta, size, align_corners)
