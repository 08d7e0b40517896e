"""Convolution in one, two and three dimensions, plain and transposed, and its backward.

NOTE [Three products]
With windows of the input laid out as columns, a convolution is one matrix product, and so are its two gradients:
`correlate(input, weight)` gives the output, `spread(grad, weight)` the gradient of the input (the columns are added back
where they came from), `match(grad, input)` that of the weight. A transposed convolution is `spread` used as the forward op;
then `correlate` gives the gradient of its input. As the op is bilinear, its double backward is made of the same op again.
"""
from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any

from retrograd.core import lean
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.dtypes import is_complex_type
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.nn.pool import channels_last, following, packed, widened
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import proven, takes, type_name
from retrograd.ops.shared.elementwise import C_NAMES, times
from retrograd.ops.shared.images import channel_sums, convolve


# ---- the three products, over arrays
class Geometry:
    """The settings of a convolution."""

    def __init__(self, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
        rank = len(kernel)
        self.kernel = tuple(kernel)
        self.stride, self.padding, self.dilation = (widened(v, rank) for v in (stride, padding, dilation))
        self.groups = groups

    def output(self, sizes: Any) -> tuple[int, ...]:
        return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
                      zip(sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)])


@lru_cache(maxsize=256)
def known_geometry(*settings: Any) -> Geometry:
    return Geometry(*settings)


def geometry_of(kernel: Any, *settings: Any) -> Geometry:
    """The cached geometry for these settings."""
    return known_geometry(kernel, *[tuple(v) if isinstance(v, list) else v for v in settings])


def columns(xp: Any, array: Any, g: Geometry, sizes: Any) -> Any:
    """The first windows of `array`, `sizes` of them, as (groups, channels of a group * kernel, batch * output)."""
    padded = array
    if any(g.padding):
        padded = lean.zero_padded(array, g.padding)
    batch, channels = array.shape[:2]
    steps = padded.strides[2:]
    windows = lean.strided(
        padded, (batch, channels, *g.kernel, *sizes),
        (*padded.strides[:2], *[s * d for s, d in zip(steps, g.dilation, strict=True)],
         *[s * t for s, t in zip(steps, g.stride, strict=True)]))
    rank = len(g.kernel)
    order = (1, *range(2, 2 + rank), 0, *range(2 + rank, 2 + 2 * rank))
    rows = channels // g.groups * math.prod(g.kernel)
    return windows.transpose(order).reshape(g.groups, rows, batch * math.prod(sizes))


def as_rows(array: Any, groups: int) -> Any:
    """(batch, channels, *sizes) as (groups, channels of a group, batch * sizes)."""
    batch, channels = array.shape[:2]
    return array.swapaxes(0, 1).reshape(groups, channels // groups, batch * math.prod(array.shape[2:]))


def plus(made: Any, bias: Any) -> Any:
    """The outputs with the channel bias added in place."""
    if bias is not None:
        made += bias.reshape((-1,) + (1,) * (made.ndim - 2))
    return made


def correlate(xp: Any, array: Any, weight: Any, g: Geometry, sizes: Any, bias: Any = None) -> Any:
    batch, outputs = array.shape[0], weight.shape[0]
    done = convolve("correlate", array, weight, (batch, outputs, *sizes), g, bias)
    if done is not None:
        return done
    made = xp.matmul(weight.reshape(g.groups, outputs // g.groups, math.prod(weight.shape[1:])), columns(xp, array, g, sizes))
    return plus(packed(made.reshape(outputs, batch, *sizes).swapaxes(0, 1)), bias)


def spread(xp: Any, grad: Any, weight: Any, g: Geometry, sizes: Any, bias: Any = None) -> Any:
    """Send each output back to the window it came from; `sizes` are those of the result."""
    batch, outputs = grad.shape[:2]
    per_group = weight.shape[1]
    done = convolve("spread", (batch, g.groups * per_group, *sizes), weight, grad, g, bias)
    if done is not None:
        return done
    flat = weight.reshape(g.groups, outputs // g.groups, math.prod(weight.shape[1:]))
    cols = xp.matmul(flat.swapaxes(1, 2), as_rows(grad, g.groups))
    cols = cols.reshape(g.groups * per_group, *g.kernel, batch, *grad.shape[2:])
    padded = xp.zeros((g.groups * per_group, batch, *[n + 2 * p for n, p in zip(sizes, g.padding, strict=True)]), cols.dtype)
    for place in product(*map(range, g.kernel)):
        window = tuple([slice(k * d, k * d + (n - 1) * s + 1, s) if n else slice(0, 0) for k, d, n, s in
                        zip(place, g.dilation, grad.shape[2:], g.stride, strict=True)])
        padded[(slice(None), slice(None), *window)] += cols[(slice(None), *place)]
    inside = tuple([slice(p, p + n) for p, n in zip(g.padding, sizes, strict=True)])
    return plus(packed(padded[(slice(None), slice(None), *inside)].swapaxes(0, 1)), bias)


def match(xp: Any, grad: Any, array: Any, g: Geometry) -> Any:
    outputs, per_group = grad.shape[1], array.shape[1] // g.groups
    done = convolve("match", array, (outputs, per_group, *g.kernel), grad, g)
    if done is not None:
        return done
    made = xp.matmul(as_rows(grad, g.groups), columns(xp, array, g, grad.shape[2:]).swapaxes(1, 2))
    return packed(made.reshape(outputs, per_group, *g.kernel))


# ---- the op
def convolution_kernel(xp: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                       output_padding: Any, groups: int) -> Any:
    g = geometry_of(weight.shape[2:], stride, padding, dilation, groups)
    if transposed:
        extra = widened(output_padding, len(g.kernel))
        sizes = [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, s, p, d, k, e in
                 zip(input.shape[2:], g.stride, g.padding, g.dilation, g.kernel, extra, strict=True)]
        made = spread(xp, input, weight, g, sizes, bias)
    else:
        made = correlate(xp, input, weight, g, g.output(input.shape[2:]), bias)
    return in_order_of(xp, made, input, weight)


def in_order_of(xp: Any, made: Any, input: Any, weight: Any) -> Any:
    """The result in channels-last format if the input or the weight is; of volumes in the dtypes of PyTorch's fast kernels."""
    rank = made.ndim - 2
    if rank == 1 or rank == 3 and made.dtype.name not in FAST_VOLUMES:
        return made
    return following(made, input if channels_last(input, rank) else weight, rank)


FAST_VOLUMES = ("float32", "bfloat16")


def convolution_backward_kernel(xp: Any, grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any,
                                dilation: Any, transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> Any:
    g = geometry_of(weight.shape[2:], stride, padding, dilation, groups)
    to_input = to_weight = to_bias = None
    if output_mask[0]:
        to_input = (correlate if transposed else spread)(xp, grad_output, weight, g, input.shape[2:])
    if output_mask[1]:
        to_weight = match(xp, input, grad_output, g) if transposed else match(xp, grad_output, input, g)
    if output_mask[2]:
        to_bias = channel_sums(grad_output)
        if to_bias is None:
            to_bias = grad_output.sum((0, *range(2, grad_output.ndim)))
    return (*[t if t is None else in_order_of(xp, t, input, weight) for t in (to_input, to_weight)], to_bias)


def check_kernel(input: Any, dilation: Any, transposed: bool, backward: bool) -> None:
    """Check the dtypes; the kernels for one dimension are those for two."""
    rank = max(input.ndim - 2, 2)
    if transposed:
        name, letters = f"slow_conv_transpose{rank}d_{'backward_' * backward}out_cpu", "FH" if backward else "FHL"
    elif any([d != 1 for d in widened(dilation, 1)]):
        name, letters = "slow_conv_dilated<>", "FHL"
    elif backward:
        name, letters = f"slow_conv{rank}d_cpu_grad_input", "FH"
    else:
        name, letters = "slow_conv2d_cpu" if rank == 2 else "compute_columns3d", "FHI"
    takes(name, letters)(input)


def check_convolution_backward(grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any,
                               dilation: Any, transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> None:
    if grad_output.array.dtype.kind not in "fV":
        check_kernel(grad_output, dilation, transposed, True)


FITTING: set[Any] = set()          # shapes, dtypes and settings that passed the checks
MOST_FITTING = 1000


def check_convolution(input: Any, weight: Any, bias: Any, *settings: Any) -> None:
    x, w, b = input.array, weight.array, None if bias is None else bias.array
    key = (x.shape, w.shape, None if b is None else b.shape, x.dtype.num, w.dtype.num, None if b is None else b.dtype.num,
           *[tuple(v) if isinstance(v, list) else v for v in settings])
    if key in FITTING:
        return
    check_settings(input, weight, bias, *settings)
    if len(FITTING) >= MOST_FITTING:
        FITTING.clear()
    FITTING.add(key)


def check_settings(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                   output_padding: Any, groups: int) -> None:
    sizes, kernel = tuple(input.shape), tuple(weight.shape)
    rank = len(kernel)
    if rank < 3:
        raise RuntimeError("weight should have at least three dimensions")
    for name, values in (("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding)):
        if not isinstance(values, int) and len(values) not in (1, rank - 2):
            raise RuntimeError(f"expected {name} to be a single integer value or a list of {rank - 2} values to match the "
                               f"convolution dimensions, but got {name}={list(values)}")
    for name, values, least in (("padding", padding, 0), ("output_padding", output_padding, 0), ("stride", stride, 1),
                                ("dilation", dilation, 1)):
        if any([v < least for v in widened(values, rank - 2)]):
            what = "negative " + name if least == 0 else f"non-positive {name}"
            if name == "dilation":
                wide = in_two(widened(values, rank - 2), 1)
                told = ", ".join(by_side(name, wide)) if transposed else list(wide)
                raise RuntimeError(f"dilation should be greater than zero, but got {told}")
            raise RuntimeError(f"{what} is not supported")
    if groups <= 0:
        raise RuntimeError(f"non-positive groups is not supported\ngroups is {groups}.")
    if len(sizes) != rank:
        raise RuntimeError(f"Expected {rank}-dimensional input for {rank}-dimensional weight {list(kernel)}, but got "
                           f"{len(sizes)}-dimensional input of size {list(sizes)} instead")
    if bias is not None and bias.dtype is not input.dtype and not transposed:
        raise RuntimeError(f"Input type ({C_NAMES[input.dtype.name]}) and bias type ({C_NAMES[bias.dtype.name]}) should be "
                           "the same")
    shown = ", ".join(map(str, kernel))
    if kernel[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of "
                           f"size [{shown}] instead")
    if kernel[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
                           f"weight of size [[{shown}]] instead")
    if not transposed:
        check_plain(sizes, kernel, bias, stride, padding, dilation, groups, shown)
    else:
        if sizes[1] != kernel[0]:
            raise RuntimeError(f"Given transposed=1, weight of size [{shown}], expected input{list(sizes)} to have {kernel[0]} "
                               f"channels, but got {sizes[1]} channels instead")
        if bias is not None and (bias.ndim != 1 or bias.shape[0] != kernel[1] * groups):
            raise RuntimeError(f"Given transposed=1, weight of size [{shown}], expected bias to be 1-dimensional with "
                               f"{kernel[1] * groups} elements, but got bias of size {list(bias.shape)} instead")
        whole = input.array.dtype.kind in "biu" and input.dtype is weight.dtype
        if whole and bias is not None and bias.array.dtype.kind in "fV":
            check_kernel(input, dilation, transposed, False)
            raise RuntimeError(f"result type {bias.dtype.legacy} can't be cast to the desired output type {input.dtype.legacy}")
        check_transposed(sizes, kernel, *[widened(v, rank - 2) for v in (stride, padding, dilation, output_padding)])
    if input.dtype is not weight.dtype:
        if input.array.dtype.kind == "b":
            check_kernel(input, dilation, transposed, False)
        if is_complex_type(input.array.dtype) and not is_complex_type(weight.array.dtype):
            raise RuntimeError(f"Input type (CPU{input.dtype.legacy}Type) and weight type (torch.{weight.dtype.legacy}Tensor) "
                               "should be the same")
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {weight.dtype.legacy}\n"
                           "Input and weight must have the same dtype; .to() makes one that of the other.")
    if 0 in sizes[2:]:
        raise RuntimeError("Only zero batch or zero channel inputs are supported, but got input shape: "
                           f"{[*sizes[:2], *in_two(sizes[2:], 1)]}")
    if 0 in kernel[2:]:
        wide = in_two(kernel[2:], 1)
        told = ": " + " x ".join(map(str, wide)) + " (TxHxW)" if len(wide) == 3 else " " + " ".join(by_side("kernel", wide))
        raise RuntimeError(f"kernel size should be greater than zero, but got{told}")
    if input.array.dtype.kind not in "fV":
        check_kernel(input, dilation, transposed, False)


def in_two(values: Any, alone: int) -> tuple[int, ...]:
    """One-dimensional settings as two-dimensional ones with a trivial first dimension."""
    return (alone, *values) if len(values) == 1 else tuple(values)


def by_side(name: str, values: Any) -> list[str]:
    return [f"{name}_{side}: {n}" for side, n in zip(("depth", "height", "width")[-len(values):], values, strict=True)]


def check_transposed(sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, output_padding: Any) -> None:
    if any([o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation, strict=True)]):
        told = [*by_side("output_padding", in_two(output_padding, 0)), *by_side("stride", in_two(stride, 1)),
                *by_side("dilation", in_two(dilation, 1))]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(told)}")
    made = [(n - 1) * s - 2 * p + d * (k - 1) + 1 + o for n, k, s, p, d, o in
            zip(sizes[2:], kernel[2:], stride, padding, dilation, output_padding, strict=True)]
    if min(made) < 1:
        given, result = (" x ".join(map(str, in_two(v, 1))) for v in (sizes[2:], made))
        raise RuntimeError(f"Given input size per channel: ({given}). Calculated output size per channel: ({result}). Output "
                           "size is too small")


def check_plain(sizes: Any, kernel: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, shown: str) -> None:
    if sizes[1] != kernel[1] * groups:
        raise RuntimeError(f"Given groups={groups}, weight of size [{shown}], expected input{list(sizes)} to have "
                           f"{kernel[1] * groups} channels, but got {sizes[1]} channels instead")
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != kernel[0]):
        raise RuntimeError(f"Given weight of size [{shown}], expected bias to be 1-dimensional with {kernel[0]} elements, but "
                           f"got bias of size {list(bias.shape)} instead")
    g = Geometry(kernel[2:], stride, padding, dilation, groups)
    padded = [n + 2 * p for n, p in zip(sizes[2:], g.padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(g.kernel, g.dilation, strict=True)]
    if any([n < r for n, r in zip(padded, reach, strict=True)]):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                           f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size")


def convolution_rule(grad: Any, input: Any, weight: Any, bias_sym_sizes_opt: Any, stride: Any, padding: Any, dilation: Any,
                     transposed: bool, output_padding: Any, groups: int, needed: Any) -> Any:
    sizes = tuple(bias_sym_sizes_opt) if bias_sym_sizes_opt else None
    return call(convolution_backward, [grad, input, weight, sizes, stride, padding, dilation, transposed, output_padding,
                                       groups,
                                       list(needed)])


def convolution_tangent(input_p: Any, input_t: Any, weight_p: Any, weight_t: Any, bias_t: Any, stride: Any, padding: Any,
                        dilation: Any, transposed: bool, output_padding: Any, groups: int) -> Any:
    settings = [stride, padding, dilation, transposed, output_padding, groups]
    return call(convolution, [input_t, weight_p, bias_t, *settings]) + call(convolution, [input_p, weight_t, None, *settings])


def convolution_double(grads: Any, grad_output: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any,
                       transposed: bool, output_padding: Any, groups: int, needed: Any) -> Any:
    to_input, to_weight, to_bias = grads
    settings = [stride, padding, dilation, transposed, output_padding, groups]
    made: list[Any] = [None, None, None]
    if needed[0]:
        terms = []
        if to_input is not None:
            terms.append(call(convolution, [to_input, weight, None, *settings]))
        if to_weight is not None:
            terms.append(call(convolution, [input, to_weight, None, *settings]))
        if to_bias is not None:
            terms.append(to_bias.reshape((1, -1) + (1,) * (grad_output.ndim - 2)).expand_as(grad_output))
        for term in terms:
            made[0] = term if made[0] is None else made[0] + term
    if needed[1] and to_weight is not None:
        made[1] = double_of_input(grad_output, input, to_weight, settings)
    if needed[2] and to_input is not None:
        made[2] = double_of_weight(grad_output, to_input, weight, settings)
    return tuple(made)


def double_of_input(grad_output: Any, input: Any, to_weight: Any, settings: Any) -> Any:
    """The derivative of the weight's gradient with respect to the input, by differentiable convolutions."""
    stride, padding, dilation, transposed, _, groups = settings
    stride, padding, dilation = (widened(v, input.ndim - 2) for v in (stride, padding, dilation))
    extra = [0] * (input.ndim - 2)
    if not transposed:
        extra = [n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, s, p, d, k in zip(
            input.shape[2:], grad_output.shape[2:], stride, padding, dilation, to_weight.shape[2:], strict=True)]
    made = call(convolution, [grad_output, to_weight, None, stride, padding, dilation, not transposed, tuple(extra), groups])
    return cut(made, input)


def double_of_weight(grad_output: Any, to_input: Any, weight: Any, settings: Any) -> Any:
    """The derivative of the input's gradient with respect to the weight, with examples and channels temporarily swapped."""
    stride, padding, dilation, transposed, _, groups = settings
    pairs = zip(shares(to_input.transpose(0, 1), 0, groups), shares(grad_output.transpose(0, 1), 0, groups), strict=True)
    found = [call(convolution, [*((g, x) if transposed else (x, g)), None, dilation, padding, stride, False,
                                (0,) * (weight.ndim - 2), 1]) for x, g in pairs]
    return cut((found[0] if groups == 1 else late.cat(found, 1)).transpose(0, 1), weight)


def shares(t: Any, axis: int, groups: int) -> list[Any]:
    size = t.shape[axis] // groups
    return [t] if groups == 1 else [t.narrow(axis, i * size, size) for i in range(groups)]


def cut(t: Any, like: Any) -> Any:
    """`t` cropped to the spatial sizes of the other."""
    for d in range(2, t.ndim):
        t = t.narrow(d, 0, like.shape[d]) if t.shape[d] > like.shape[d] else t
    return t


def convolution_backward_tangent(grad_output_p: Any, grad_output_t: Any, input_p: Any, input_t: Any, weight_p: Any,
                                 weight_t: Any,
                                 stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                                 groups: int) -> Any:
    rest = [None, stride, padding, dilation, transposed, output_padding, groups]
    everything = call(convolution_backward, [grad_output_t, input_p, weight_p, *rest, [True, True, True]])
    more_input = call(convolution_backward, [grad_output_p, input_p, weight_t, *rest, [True, False, False]])[0]
    more_weight = call(convolution_backward, [grad_output_p, input_t, weight_p, *rest, [False, True, False]])[1]
    return everything[0] + more_input, everything[1] + more_weight, everything[2]


# ---- batching: an example with a weight of its own is a group of channels of its own
def as_groups(t: Any, dim: Any, size: int, axis: int) -> Any:
    """The examples concatenated along `axis`."""
    t = families.move_to_front(t, dim) if dim is not None else t.expand((size, *t.shape))
    t = t.movedim(0, axis)
    return t.reshape((*t.shape[:axis], size * t.shape[axis + 1], *t.shape[axis + 2:]))


def from_groups(t: Any, size: int, axis: int) -> Any:
    return t.reshape((*t.shape[:axis], size, t.shape[axis] // size, *t.shape[axis + 1:]))


def batched_convolution(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    input, weight, bias, *settings, groups = args
    if dims[1] is None and dims[2] is None:
        input = families.move_to_front(input, dims[0])
        made = call(op, [input.reshape((-1, *input.shape[2:])), weight, bias, *settings, groups])
        return made.reshape((size, input.shape[1], *made.shape[1:])), 0
    made = call(op, [as_groups(input, dims[0], size, 1), as_groups(weight, dims[1], size, 0),
                     None if bias is None else as_groups(bias, dims[2], size, 0), *settings, size * groups])
    return from_groups(made, size, 1), 1


def batched_convolution_backward(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    grad, input, weight, bias_sizes, *settings, groups, mask = args
    made = call(op, [as_groups(grad, dims[0], size, 1), as_groups(input, dims[1], size, 1), as_groups(weight, dims[2], size, 0),
                     None if bias_sizes is None else (size * bias_sizes[0],), *settings, size * groups, mask])
    places = (1, 0, 0)
    return (tuple([None if t is None else from_groups(t, size, axis) for t, axis in zip(made, places, strict=True)]),
            tuple([None if t is None else axis for t, axis in zip(made, places, strict=True)]))


SETTINGS = ("SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups")
convolution = defop(
    f"convolution(Tensor input, Tensor weight, Tensor? bias, {SETTINGS}) -> Tensor",
    out="aten",
    kernel=convolution_kernel, check=proven(check_convolution), lower="@native.convolution",
    vjp={("input", "weight", "bias"): convolution_rule},
    jvp=convolution_tangent, batch=batched_convolution, widen=True, variants="function", pattern="convolution",
    series="convolution",
)
convolution_backward = defop(
    f"convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, {SETTINGS}, bool[3] "
    "output_mask) -> (Tensor, Tensor, Tensor)",
    kernel=convolution_backward_kernel, check=check_convolution_backward,
    vjp={("grad_output", "input", "weight"): convolution_double}, jvp=convolution_backward_tangent,
    batch=batched_convolution_backward, widen=True, variants="",
)


def convolved(input: Any, weight: Any, bias: Any, *settings: Any) -> Any:
    """The convolution; a complex one uses three real ones."""
    if is_complex_type(input.array.dtype) and weight.dtype is not input.dtype:
        words = [type_name(t.array.dtype) for t in (input, weight)]
        raise RuntimeError(f"Input type ({words[0]}) and weight type ({words[1]}) should be the same")
    if input.dtype.name == "bfloat16" and weight.dtype is not input.dtype:
        raise RuntimeError(f"Input type (CPUBFloat16Type) and weight type (torch.{weight.dtype.legacy}Tensor) should be the "
                           "same or input should be a MKLDNN tensor and weight is a dense tensor")
    if not is_complex_type(input.array.dtype) or not is_complex_type(weight.array.dtype):
        return call(convolution, [input, weight, bias, *settings])
    if bias is not None and not bias.is_complex():
        words = [C_NAMES[t.dtype.name] if not settings[3] else name.format(t.dtype.legacy)
                 for t, name in ((input, "CPU{}Type"), (bias, "torch.{}Tensor"))]
        raise RuntimeError(f"Input type ({words[0]}) and bias type ({words[1]}) should be the same")
    (x, y), (u, v), (b, c) = parts(input), parts(weight), parts(bias)
    real = call(convolution, [x, u, b, *settings])
    imaginary = call(convolution, [y, v, None, *settings])
    both = call(convolution, [x + y, u + v, None if bias is None else b + c, *settings])
    return (real - imaginary) + times(both - real - imaginary, 1j)


def parts(t: Any) -> tuple[Any, Any]:
    """The real and the imaginary part, as views."""
    if t is None:
        return None, None
    pairs = late.view_as_real(late.resolve_conj(t))
    return pairs.select(-1, 0), pairs.select(-1, 1)


# ---- by number of dimensions; an unbatched input temporarily gets a batch dimension
def check_rank(name: str, rank: int, input: Any) -> None:
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: "
                           f"{list(input.shape)}")


def with_batch(name: str, rank: int, input: Any, run: Any) -> Any:
    check_rank(name, rank, input)
    if input.ndim == rank + 2:
        return run(input)
    return run(input.unsqueeze(0)).squeeze(0)


def check_bias(input: Any, bias: Any) -> None:
    if bias is not None and bias.array.dtype is not input.array.dtype:
        raise RuntimeError(f"Input type ({C_NAMES[input.dtype.name]}) and bias type ({C_NAMES[bias.dtype.name]}) should be "
                           "the same")


def plain(rank: int) -> Any:
    def kernel(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        check_bias(input, bias)
        return with_batch(f"conv{rank}d", rank, input, lambda batched: convolved(
            batched, weight, bias, widened(stride, rank), widened(padding, rank), widened(dilation, rank), False, (0,) * rank,
            groups))
    return kernel


def by_name(rank: int) -> Any:
    """Padding by name: "valid" is none, "same" keeps the size, with an odd amount added at the end."""
    def kernel(input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int) -> Any:
        stride, dilation = widened(stride, rank), widened(dilation, rank)
        if padding == "valid":
            return plain(rank)(input, weight, bias, stride, (0,) * rank, dilation, groups)
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        check_rank(f"conv{rank}d", rank, input)
        check_same((1, *input.shape)[-rank - 2:], weight.shape, stride, dilation)
        total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        left = [int(t / 2) for t in total]
        uneven = [t - 2 * n for t, n in zip(total, left, strict=True)]
        if any(uneven):
            pad = [n for extra in reversed(uneven) for n in (0, extra)]
            input = late.constant_pad_nd(input, pad, 0)
        return plain(rank)(input, weight, bias, stride, left, dilation, groups)
    return kernel


def check_same(sizes: Any, kernel: Any, stride: Any, dilation: Any) -> None:
    """Check the settings for padding="same"."""
    rank = len(kernel)
    if rank < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(sizes) != rank:
        raise RuntimeError(f"Expected {rank}-dimensional input for {rank}-dimensional weight{list(kernel)}, but got "
                           f"{len(sizes)}-dimensional input of size {list(sizes)} instead")
    for name, values in (("stride", stride), ("dilation", dilation)):
        if len(values) != rank - 2:
            raise RuntimeError(f"{name} cannot broadcast to {rank - 2} dimensions")
    if any([s != 1 for s in stride]):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if min(dilation) < 0:
        raise RuntimeError("negative padding is not supported")


def transposed(rank: int) -> Any:
    def kernel(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
               dilation: Any) -> Any:
        return with_batch(f"conv_transpose{rank}d", rank, input, lambda batched: convolved(
            batched, weight, bias, widened(stride, rank), widened(padding, rank), widened(dilation, rank), True,
            widened(output_padding, rank), groups))
    return kernel


for rank in (1, 2, 3):
    head = f"conv{rank}d%s(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{rank}] stride=1, %s, "
    tail = f"SymInt[{rank}] dilation=1, SymInt groups=1) -> Tensor"
    columns_of: Any = dict(composite=True, variants="function", out=False, autocast="lower", lower=f"@native.conv{rank}d")
    defop(head % ("", f"SymInt[{rank}] padding=0") + tail, kernel=plain(rank), **columns_of,
          flops="convolution" if rank == 2 else None)
    defop(head % (".padding", 'str padding="valid"') + tail, kernel=by_name(rank), **columns_of)
    defop(f"conv_transpose{rank}d{'.input' if rank > 1 else ''}(Tensor input, Tensor weight, Tensor? bias=None, "
          f"SymInt[{rank}] stride=1, SymInt[{rank}] padding=0, SymInt[{rank}] output_padding=0, SymInt groups=1, "
          f"SymInt[{rank}] dilation=1) -> Tensor", kernel=transposed(rank),
          **{**columns_of, "lower": f"@native.conv_transpose{rank}d"})


# The ops in traces of convolutions; their flags concern libraries that are not used here.
FLAGS = "bool benchmark, bool deterministic, bool cudnn_enabled"
convolution_of_backends = defop(
    f"_convolution(Tensor input, Tensor weight, Tensor? bias, {SETTINGS}, {FLAGS}, bool allow_tf32) -> Tensor",
    kernel=lambda xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *flags:
        convolution_kernel(xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups),
    check=lambda input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *flags:
        check_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups),
    vjp={("input", "weight", "bias"): convolution_rule}, jvp=convolution_tangent,
    batch=lambda op, args, dims, size: batched_convolution(convolution, args[:-4], dims[:-4], size),
    node="ConvolutionBackward1", widen=True, variants="function", out="aten",
)
defop(f"_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, {SETTINGS}, {FLAGS}) -> Tensor",
      kernel=lambda *args: call(convolution_of_backends, [*args, True]), composite=True, variants="function", out=False)


@expose(method=False, schema="conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor")
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution of (time, batch, channels) with weights (width, channels in, channels out)."""
    for name, t, dims in (("Input", input, "time, batch, in_channel"), ("Weight tensor", weight, "kernel_width, in_channels, "
                                                                     "out_channels")):
        if t.dim() != 3:
            raise RuntimeError(f"{name} must have 3 dims: {dims}.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    return late.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)
