"""Convolutions, pooling, normalization, attention, recurrent layers and interpolation as ONNX nodes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.onnx._builder import Builder, converts, name_of
from retrograd.onnx.conversions.reductions import moments
from retrograd.onnx.errors import UnsupportedOperatorError


def spread(value: Any, count: int) -> list[int]:
    """One number for each spatial axis."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


@converts("convolution", "_convolution")
def convolution(g: Builder, out: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
                transposed: bool, output_padding: Any, groups: int, *args: Any) -> str:
    count = weight.rank - 2
    pads = spread(padding, count)
    common: dict[str, Any] = dict(strides=spread(stride, count), pads=pads + pads, dilations=spread(dilation, count),
                                  group=groups, kernel_shape=list(weight.shape[2:]))
    single = input.rank == count + 1
    x = g.unsqueeze(input, [0]) if single else input
    if transposed:
        result = g.op("ConvTranspose", x, weight, bias, output_padding=spread(output_padding, count), **common)
    else:
        result = g.op("Conv", x, weight, bias, **common)
    return g.squeeze(result, [0]) if single else result


# ---- pooling
def pooled(kind: str, g: Builder, input: Any, kernel: Any, stride: Any, padding: Any, count: int, **more: Any) -> str:
    kernel = spread(kernel, count)
    pads = spread(padding, count)
    single = input.rank == count + 1
    x = g.unsqueeze(input, [0]) if single else input
    result = g.op(kind, x, kernel_shape=kernel, strides=spread(stride, count) if stride else kernel, pads=pads + pads, **more)
    return g.squeeze(result, [0]) if single else result


def max_pool(count: int, with_indices: bool) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
                ceil_mode: bool = False) -> Any:
        result = pooled("MaxPool", g, self, kernel_size, stride, padding, count, dilations=spread(dilation, count),
                        ceil_mode=int(ceil_mode))
        return (result, None) if with_indices else result
    return convert


def avg_pool(count: int) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
                count_include_pad: bool = True, divisor_override: Any = None) -> str:
        if divisor_override is not None:
            raise UnsupportedOperatorError("average pooling with divisor_override is not exported")
        return pooled("AveragePool", g, self, kernel_size, stride, padding, count, ceil_mode=int(ceil_mode),
                      count_include_pad=int(count_include_pad))
    return convert


def adaptive_avg_pool(count: int) -> Callable[..., Any]:
    """Averages over cells of nearly equal size: a product with a matrix of weights along each axis."""
    def convert(g: Builder, out: Any, self: Any, output_size: Any) -> str:
        result = name_of(self)
        rank = self.rank
        for axis in range(rank - count, rank):
            size, cells = self.shape[axis], out.shape[axis]
            weights = torch.zeros(size, cells, dtype=out.dtype)
            for cell in range(cells):
                start, end = cell * size // cells, -(-(cell + 1) * size // cells)
                weights[start:end, cell] = 1 / (end - start)
            moved = result if axis == rank - 1 else g.transpose(result, rank, axis, rank - 1)
            moved = g.op("MatMul", moved, g.constant(weights))
            result = moved if axis == rank - 1 else g.transpose(moved, rank, axis, rank - 1)
        return result
    return convert


for n in (1, 2, 3):
    converts(f"max_pool{n}d")(max_pool(n, False))
    converts(f"max_pool{n}d_with_indices")(max_pool(n, True))
    converts(f"avg_pool{n}d")(avg_pool(n))
    converts(f"adaptive_avg_pool{n}d", f"_adaptive_avg_pool{n}d")(adaptive_avg_pool(n))


@converts("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(g: Builder, out: Any, self: Any, output_size: Any) -> Any:
    count = len(output_size)
    sizes, cells = self.shape[-count:], list(output_size)
    if any([size % cell for size, cell in zip(sizes, cells, strict=True)]):
        raise UnsupportedOperatorError(f"adaptive max pooling from {list(sizes)} to {cells}, which does not divide it, is not "
                                       "exported")
    kernel = [size // cell for size, cell in zip(sizes, cells, strict=True)]
    return pooled("MaxPool", g, self, kernel, None, 0, count), None


# ---- normalization
def per_channel(g: Builder, value: Any, rank: int) -> Any:
    return value if rank == 2 else g.reshape(value, [-1, *[1] * (rank - 2)])


@converts("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional", "cudnn_batch_norm")
def batch_norm(g: Builder, out: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
               momentum: float, eps: float) -> Any:
    channels = input.shape[1]
    scale = g.constant(torch.ones(channels, dtype=input.dtype)) if weight is None else weight
    shift = g.constant(torch.zeros(channels, dtype=input.dtype)) if bias is None else bias
    if not training:
        return g.op("BatchNormalization", input, scale, shift, running_mean, running_var, epsilon=eps), None, None
    axes = [0, *range(2, input.rank)]
    variance, mean = moments(g, input, axes, 0, True)
    normal = g.op("Div", g.op("Sub", input, mean), g.op("Sqrt", g.op("Add", variance, g.constant(eps, input.dtype))))
    scaled = g.op("Mul", normal, per_channel(g, scale, input.rank))
    return g.op("Add", scaled, per_channel(g, shift, input.rank)), None, None


@converts("_native_batch_norm_legit_no_training")
def batch_norm_no_training(g: Builder, out: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                           momentum: float, eps: float) -> Any:
    return batch_norm(g, out, input, weight, bias, running_mean, running_var, False, momentum, eps)


@converts("native_layer_norm")
def layer_norm(g: Builder, out: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    count = len(normalized_shape)
    if g.opset >= 17:
        scale = g.constant(torch.ones(*normalized_shape, dtype=input.dtype)) if weight is None else weight
        return g.op("LayerNormalization", input, scale, bias, axis=-count, epsilon=eps), None, None
    axes = [*range(input.rank - count, input.rank)]
    variance, mean = moments(g, input, axes, 0, True)
    result = g.op("Div", g.op("Sub", input, mean), g.op("Sqrt", g.op("Add", variance, g.constant(eps, input.dtype))))
    result = result if weight is None else g.op("Mul", result, weight)
    return result if bias is None else g.op("Add", result, bias), None, None


@converts("native_group_norm")
def group_norm(g: Builder, out: Any, input: Any, weight: Any, bias: Any, N: Any, C: Any, HxW: Any, group: int,
               eps: float) -> Any:
    groups = g.reshape(input, [g.size(input, 0), group, -1])
    normal = g.op("InstanceNormalization", groups, g.constant(torch.ones(group, dtype=input.dtype)),
                  g.constant(torch.zeros(group, dtype=input.dtype)), epsilon=eps)
    result = g.op("Reshape", normal, g.op("Shape", input))
    result = result if weight is None else g.op("Mul", result, per_channel(g, weight, input.rank))
    return result if bias is None else g.op("Add", result, per_channel(g, bias, input.rank)), None, None


@converts("_fused_rms_norm", "rms_norm")
def rms_norm(g: Builder, out: Any, input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    axes = [*range(input.rank - len(normalized_shape), input.rank)]
    mean = g.reduce("ReduceMean", g.op("Mul", input, input), axes, True)
    smallest = torch.finfo(input.dtype).eps if eps is None else eps
    result = g.op("Div", input, g.op("Sqrt", g.op("Add", mean, g.constant(smallest, input.dtype))))
    result = result if weight is None else g.op("Mul", result, weight)
    return (result, None) if isinstance(out, tuple) else result


# ---- attention
@converts("_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention",
          "_scaled_dot_product_attention_math_for_mps")
def attention(g: Builder, out: Any, query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False,
              attn_mask: Any = None, scale: float | None = None) -> Any:
    dtype = query.dtype
    rank = query.rank
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = g.op("MatMul", g.op("Mul", query, g.constant(factor, dtype)), g.transpose(key, rank, rank - 2, rank - 1))
    if is_causal:
        rows, columns = [g.op("Range", g.constant(0), g.squeeze(g.size(x, rank - 2), [0]), g.constant(1)) for x in (query, key)]
        hidden = g.op("Less", g.unsqueeze(rows, [1]), g.unsqueeze(columns, [0]))
        scores = g.op("Where", hidden, g.constant(float("-inf"), dtype), scores)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = g.op("Where", attn_mask, scores, g.constant(float("-inf"), dtype))
    elif attn_mask is not None:
        scores = g.op("Add", scores, g.typed(attn_mask, dtype))
    result = g.op("MatMul", g.softmax("Softmax", scores, -1, rank), value)
    return (result, None) if isinstance(out, tuple) else result


# ---- recurrent layers
@converts("mkldnn_rnn_layer")
def lstm_layer(g: Builder, out: Any, input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx: Any, cx: Any,
               reverse: bool, batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool,
               bidirectional: bool, batch_first: bool, train: bool) -> Any:
    if mode != 2 or batch_sizes:
        raise UnsupportedOperatorError("of fused recurrent layers only LSTM on sequences of equal length is exported")

    def gates(weight: Any) -> str:
        """ONNX has the gates in the order input, output, forget, cell; the first axis says the direction."""
        i, f, c, o = g.split(weight, [hidden_size] * 4, 0)
        return g.unsqueeze(g.op("Concat", i, o, f, c, axis=0), [0])
    bias = g.op("Concat", gates(weight2), gates(weight3), axis=1) if has_biases else None
    state = [g.reshape(value, [1, -1, hidden_size]) for value in (hx, cx)]
    hidden, last, cell = g.op("LSTM", input, gates(weight0), gates(weight1), bias, None, *state, count=3,
                              hidden_size=hidden_size, direction="reverse" if reverse else "forward")
    shapes = [g.op("Shape", value) for value in (hx, cx)]
    return (g.squeeze(hidden, [1]), g.op("Reshape", last, shapes[0]), g.op("Reshape", cell, shapes[1]), None)


# ---- interpolation
def upsampled(mode: str, count: int) -> Callable[..., Any]:
    def convert(g: Builder, out: Any, self: Any, output_size: Any, *args: Any, **kwargs: Any) -> str:
        align = mode != "nearest" and bool(args and args[0])
        place = "asymmetric" if mode == "nearest" else "align_corners" if align else "pytorch_half_pixel"
        sizes = output_size if output_size is not None else out.shape[2:]
        lead = g.op("Slice", g.op("Shape", self), g.constant([0]), g.constant([2]), g.constant([0]))
        wanted = g.op("Concat", lead, g.ints(list(sizes)), axis=0)
        nothing = None if g.opset >= 13 else g.constant(torch.zeros(0))
        return g.op("Resize", self, nothing, nothing, wanted, mode=mode, coordinate_transformation_mode=place,
                    nearest_mode="floor" if mode == "nearest" else None, cubic_coeff_a=-0.75 if mode == "cubic" else None)
    return convert


for n, linear in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    converts(f"upsample_nearest{n}d")(upsampled("nearest", n))
    converts(f"upsample_{linear}")(upsampled("linear", n))
converts("upsample_bicubic2d")(upsampled("cubic", 2))


@converts("grid_sampler", "grid_sampler_2d")
def grid_sampler(g: Builder, out: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int,
                 align_corners: bool) -> str:
    modes = ["bilinear", "nearest", "bicubic"] if g.opset < 20 else ["linear", "nearest", "cubic"]
    return g.op("GridSample", input, grid, mode=modes[interpolation_mode],
                padding_mode=["zeros", "border", "reflection"][padding_mode], align_corners=int(align_corners))


@converts("native_dropout")
def native_dropout(g: Builder, out: Any, input: Any, p: float, train: bool | None) -> Any:
    if train:
        return g.op("Dropout", input, g.constant(p, torch.float32), g.constant(True, torch.bool)), None
    return g.op("Identity", input), None


@converts("im2col")
def im2col(g: Builder, out: Any, self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> str:
    _, channels, height, width = self.shape
    pads = g.op("Pad", self, g.constant([0, 0, *padding, 0, 0, *padding]), g.constant(0, out.dtype))
    spots = []
    for axis, size in enumerate((height, width)):
        reach = dilation[axis] * (kernel_size[axis] - 1)
        count = (size + 2 * padding[axis] - reach - 1) // stride[axis] + 1
        spots.append((torch.arange(kernel_size[axis]) * dilation[axis])[:, None] + torch.arange(count) * stride[axis])
    rows = g.op("Gather", pads, g.constant(spots[0]), axis=2)                  # batch, channel, kernel row, row, column
    both = g.op("Gather", rows, g.constant(spots[1]), axis=4)
    ordered = g.op("Transpose", both, perm=[0, 1, 2, 4, 3, 5])
    return g.reshape(ordered, [-1, *out.shape[1:]])
