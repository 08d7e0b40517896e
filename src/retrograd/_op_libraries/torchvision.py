"""Ops of torchvision's library: suppression of boxes that overlap, pooling of regions, deformable convolutions."""
from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as torch
from retrograd._op_libraries import declare
from retrograd.nn.functional import grid_sample


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """The boxes, by falling score, that overlap none of those kept before them by more than `iou_threshold`."""
    if dets.dim() != 2 or dets.size(1) != 4:
        raise RuntimeError(f"boxes should be a 2d tensor with 4 elements in dimension 1, got {list(dets.shape)}")
    if scores.dim() != 1 or scores.size(0) != dets.size(0):
        raise RuntimeError("boxes and scores should have same number of elements in dimension 0, got "
                           f"{dets.size(0)} and {scores.size(0)}")
    boxes = dets.detach().numpy()
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    waiting = scores.detach().sort(stable=True, descending=True)[1].numpy()
    kept = []
    while waiting.size:
        first, waiting = waiting[0], waiting[1:]
        kept.append(first)
        low = np.maximum(boxes[first, :2], boxes[waiting, :2])
        high = np.minimum(boxes[first, 2:], boxes[waiting, 2:])
        both = np.maximum(high - low, 0).prod(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            waiting = waiting[~(both / (areas[first] + areas[waiting] - both) > iou_threshold)]
    return torch.tensor(np.array(kept, np.int64))


# ---- roi_align
def weights_along(start: Any, size: Any, bins: int, samples: int, length: int) -> Any:
    """The matrix (bins, length) that sums `samples` interpolated values of a line in each of `bins` parts of an interval."""
    at = start + size * (np.arange(bins)[:, None] + (np.arange(samples) + size.dtype.type(0.5)) / max(samples, 1))
    inside = (at >= -1) & (at <= length)
    at = np.maximum(at, 0)
    low = np.minimum(at.astype(np.int64), length - 1)
    high = np.minimum(low + 1, length - 1)
    share = np.where(low == length - 1, 0, at - low)
    matrix = np.zeros((bins, length), start.dtype)
    rows = np.broadcast_to(np.arange(bins)[:, None], at.shape)
    np.add.at(matrix, (rows, low), (1 - share) * inside)
    np.add.at(matrix, (rows, high), share * inside)
    return matrix


def regions(rois: Any, scale: float, bins: tuple[int, int], shape: tuple[int, int], sampling_ratio: int, aligned: bool) -> Any:
    """For each region: its image, the rows and columns that it reads, and the matrices that pool these."""
    values = rois.detach().numpy()
    kind = values.dtype.type
    for row in values:
        corners = row[1:] * kind(scale) - kind(0.5 if aligned else 0)
        parts = []
        for axis in (1, 0):
            extent = corners[axis + 2] - corners[axis]
            if not aligned:
                extent = max(extent, kind(1))
            size = kind(extent / bins[1 - axis])
            samples = sampling_ratio if sampling_ratio > 0 else int(np.ceil(size))
            matrix = weights_along(corners[axis], size, bins[1 - axis], samples, shape[1 - axis]) / kind(max(samples, 1))
            used = np.flatnonzero(matrix.any(0))
            place = slice(used[0], used[-1] + 1) if used.size else slice(0, 0)
            parts.append((place, matrix[:, place]))
        yield int(row[0]), *parts


def roi_align(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
              aligned: bool) -> Any:
    """The mean of interpolated values in each part of each region: a product with a matrix for rows and one for columns."""
    check_regions(rois)
    bins, images = (pooled_height, pooled_width), input.detach().numpy()
    pooled = [down @ (images[image][:, rows, columns] @ across.T) for image, (rows, down), (columns, across) in regions(
        rois, spatial_scale, bins, images.shape[2:], sampling_ratio, aligned)]
    return torch.tensor(np.array(pooled, images.dtype).reshape(-1, images.shape[1], *bins))


def roi_align_backward(grad: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
                       channels: int, height: int, width: int, sampling_ratio: int, aligned: bool) -> Any:
    grads = grad.detach().numpy()
    found = np.zeros((batch_size, channels, height, width), grads.dtype)
    places = regions(rois, spatial_scale, (pooled_height, pooled_width), (height, width), sampling_ratio, aligned)
    for part, (image, (rows, down), (columns, across)) in zip(grads, places, strict=True):
        found[image][:, rows, columns] += down.T @ part @ across
    return torch.tensor(found)


def check_regions(rois: Any) -> None:
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError("Tensor rois should have shape as Tensor[K, 5]")


# ---- roi_pool
def roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> Any:
    """The largest value in each part of each region, and where in its image it is; -1 for an empty part."""
    check_regions(rois)
    images, values = input.detach().numpy(), rois.detach().numpy()
    height, width = images.shape[2:]
    best = np.zeros((len(values), images.shape[1], pooled_height, pooled_width), images.dtype)
    where = np.full(best.shape, -1, np.int32)
    for n, row in enumerate(values):
        corners = np.floor(row[1:] * images.dtype.type(spatial_scale) + images.dtype.type(0.5)).astype(int)
        columns = bounds(corners[0], corners[2], pooled_width, width)
        for i, (top, bottom) in enumerate(bounds(corners[1], corners[3], pooled_height, height)):
            for j, (left, right) in enumerate(columns):
                if bottom > top and right > left:
                    part = images[int(row[0]), :, top:bottom, left:right].reshape(images.shape[1], -1)
                    at = part.argmax(1)
                    best[n, :, i, j] = part[np.arange(len(at)), at]
                    where[n, :, i, j] = (at // (right - left) + top) * width + at % (right - left) + left
    return torch.tensor(best), torch.tensor(where)


def bounds(start: int, end: int, bins: int, length: int) -> list[tuple[int, int]]:
    size = np.float32(max(end - start + 1, 1)) / np.float32(bins)
    edges = [(int(np.floor(i * size)) + start, int(np.ceil((i + 1) * size)) + start) for i in range(bins)]
    return [(min(max(low, 0), length), min(max(high, 0), length)) for low, high in edges]


def roi_pool_backward(grad: Any, rois: Any, argmax: Any, spatial_scale: float, pooled_height: int, pooled_width: int,
                      batch_size: int, channels: int, height: int, width: int) -> Any:
    grads, where = grad.detach().numpy(), argmax.numpy()
    found = np.zeros((batch_size, channels, height * width), grads.dtype)
    images = rois.detach().numpy()[:, 0].astype(int)[:, None, None, None]
    here = np.broadcast_to(images, where.shape), np.broadcast_to(np.arange(channels)[:, None, None], where.shape), where
    taken = where >= 0
    np.add.at(found, tuple([index[taken] for index in here]), grads[taken])
    return torch.tensor(found.reshape(batch_size, channels, height, width))


# ---- deform_conv2d
def deform_conv2d(input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int, pad_h: int,
                  pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool) -> Any:
    """A convolution whose taps are read beside their places, by `offset`, and weighted by `mask`."""
    batch, channels, height, width = input.shape
    rows, columns = weight.shape[2:]
    down, across = offset.shape[2:]
    taps = rows * columns
    moved = offset.reshape(batch * offset_groups, taps, 2, down, across)
    y = (torch.arange(rows) * dilation_h - pad_h).repeat_interleave(columns)[:, None, None] + (
        torch.arange(down) * stride_h)[:, None] + moved[:, :, 0]
    x = (torch.arange(columns) * dilation_w - pad_w).repeat(rows)[:, None, None] + (
        torch.arange(across) * stride_w) + moved[:, :, 1]
    grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1).reshape(len(moved), taps * down, across, 2)
    read = grid_sample(input.reshape(len(moved), -1, height, width), grid, align_corners=False)
    read = read.reshape(len(moved), -1, taps, down, across)
    if use_mask:
        read = read * mask.reshape(len(moved), 1, taps, down, across)
    read = read.reshape(batch, groups, channels // groups * taps, down * across)
    made = weight.reshape(groups, weight.size(0) // groups, -1) @ read
    return made.reshape(batch, -1, down, across) + bias[:, None, None]


def deform_conv2d_backward(grad: Any, input: Any, weight: Any, offset: Any, mask: Any, bias: Any, *settings: Any) -> Any:
    primals = input, weight, offset, mask, bias
    return torch.func.vjp(lambda *args: deform_conv2d(*args, *settings), *primals)[1](grad)


CONV = ("Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, "
        "SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask")
BINS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
SHAPE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
library = declare("torchvision", {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    f"roi_align(Tensor input, Tensor rois, {BINS}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    f"_roi_align_backward(Tensor grad, Tensor rois, {BINS}, {SHAPE}, int sampling_ratio, bool aligned) -> Tensor":
        roi_align_backward,
    f"roi_pool(Tensor input, Tensor rois, {BINS}) -> (Tensor, Tensor)": roi_pool,
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {BINS}, {SHAPE}) -> Tensor": roi_pool_backward,
    f"deform_conv2d({CONV}) -> Tensor": deform_conv2d,
    f"_deform_conv2d_backward(Tensor grad, {CONV}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)": deform_conv2d_backward,
    f"ps_roi_align(Tensor input, Tensor rois, {BINS}, int sampling_ratio) -> (Tensor, Tensor)": None,
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {BINS}, int sampling_ratio, {SHAPE}) -> Tensor":
        None,
    f"ps_roi_pool(Tensor input, Tensor rois, {BINS}) -> (Tensor, Tensor)": None,
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {BINS}, {SHAPE}) -> Tensor": None,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": None,
    f"qroi_align(Tensor input, Tensor rois, {BINS}, int sampling_ratio, bool aligned) -> Tensor": None,
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": None,
})
library.define("_cuda_version() -> int")
library.impl("_cuda_version", lambda: -1, "CompositeExplicitAutograd")


# ---- gradients, which newer versions of torchvision register themselves
def save_regions(ctx: Any, inputs: Any, output: Any) -> None:
    images, rois, *ctx.settings = inputs
    ctx.save_for_backward(rois, *([output[1]] if isinstance(output, tuple) else []))
    ctx.images = images.shape


def roi_align_gradient(ctx: Any, grad: Any) -> Any:
    scale, *bins, ratio, aligned = ctx.settings
    found = torch.ops.torchvision._roi_align_backward(grad, ctx.saved_tensors[0], scale, *bins, *ctx.images, ratio, aligned)
    return (found, *[None] * 6)


def roi_pool_gradient(ctx: Any, grad: Any, _: Any) -> Any:
    return (torch.ops.torchvision._roi_pool_backward(grad, *ctx.saved_tensors, *ctx.settings, *ctx.images), *[None] * 4)


def save_convolution(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:5])
    ctx.settings = inputs[5:]


def deform_conv2d_gradient(ctx: Any, grad: Any) -> Any:
    return (*torch.ops.torchvision._deform_conv2d_backward(grad, *ctx.saved_tensors, *ctx.settings), *[None] * 9)


torch.library.register_autograd("torchvision::roi_align", roi_align_gradient, setup_context=save_regions)
torch.library.register_autograd("torchvision::roi_pool", roi_pool_gradient, setup_context=save_regions)
torch.library.register_autograd("torchvision::deform_conv2d", deform_conv2d_gradient, setup_context=save_convolution)
