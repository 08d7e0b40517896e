"""grid_sample and affine_grid: images and volumes sampled at the positions of a grid.

NOTE [Taps]
Along each dimension a sample is a sum over a few neighbouring elements (taps), weighted by polynomials in the distance to
the first of them; a sample is the sum over all combinations of taps. Every derivative by the grid is the same sum with
derivatives of the polynomials, so one class serves values, gradients and double backward. It runs over
arrays in kernels and over tensors in rules.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.copying import contiguous, converted
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.along import add_rows
from retrograd.ops.shared.elementwise import unsupported

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2

# For each tap its place and the coefficients of its weight, the constant one first.
TAPS: dict[int, Any] = {
    BILINEAR: ((0, (1.0, -1.0)), (1, (0.0, 1.0))),
    NEAREST: ((0, (1.0,)),),
    BICUBIC: ((-1, (0.0, -0.75, 1.5, -0.75)), (0, (1.0, 0.0, -2.25, 1.25)), (1, (0.0, 0.75, 1.5, -1.25)),
              (2, (0.0, 0.0, -0.75, 0.75))),
}


class OverArrays:
    """The sampler's operations on arrays."""

    floor, rint, abs, fmod, where = np.floor, np.rint, np.abs, np.fmod, np.where
    whole = staticmethod(lambda x: x.astype(np.int64))
    like = staticmethod(lambda x, other: x.astype(other.dtype))

    @staticmethod
    def pick(images: Any, index: Any) -> Any:
        made = np.empty((*images.shape[:2], index.shape[2]), images.dtype)
        for image, places, to in zip(images, index[:, 0], made, strict=True):      # one index for all channels
            image.take(places, 1, to, "clip")
        return made

    @staticmethod
    def spread(size: int, index: Any, values: Any) -> Any:
        batch, channels, count = values.shape
        made = np.zeros((batch * size, channels), values.dtype)
        rows = (index[:, 0] + np.arange(batch)[:, None] * size).reshape(-1)
        add_rows(made, rows, values.transpose(0, 2, 1).reshape(batch * count, channels), 0)
        return made.reshape(batch, size, channels).transpose(0, 2, 1)


class OverTensors:
    """The sampler's operations on tensors."""

    floor = staticmethod(lambda x: x.floor())
    rint = staticmethod(lambda x: x.round())
    abs = staticmethod(lambda x: x.abs())
    fmod = staticmethod(lambda x, y: x.fmod(y))
    where = staticmethod(lambda condition, x, y: late.where(condition, x, y))
    whole = staticmethod(lambda x: x.to(BY_NUMPY[np.dtype(np.int64)]))
    like = staticmethod(lambda x, other: x.to(other.dtype))

    @staticmethod
    def pick(images: Any, index: Any) -> Any:
        return images.gather(2, index.expand((-1, images.shape[1], -1)))

    @staticmethod
    def spread(size: int, index: Any, values: Any) -> Any:
        batch, channels, _ = values.shape
        return values.new_zeros((batch, channels, size)).scatter_add(2, index.expand((-1, channels, -1)), values)


class Sampler:
    """The settings of an op for images of some size, over arrays or over tensors."""

    def __init__(self, over: Any, sizes: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> None:
        self.over, self.sizes, self.grid = over, tuple(sizes), grid
        self.mode, self.padding, self.align_corners = mode, padding, align_corners
        self.rank, self.count = len(self.sizes), math.prod(self.sizes)
        self.plain = (0,) * self.rank
        self.taps = TAPS.get(mode, TAPS[BICUBIC])

    def bounded(self, x: Any, size: int) -> tuple[Any, Any]:
        """Coordinates moved into the image by the padding mode, and their derivatives."""
        slope: Any = 1
        if self.padding == REFLECTION:
            low, span = (0.0, float(size - 1)) if self.align_corners else (-0.5, float(size))
            if span == 0:
                return x * 0, x * 0
            moved = x - low
            far = self.over.abs(moved)
            extra, odd = self.over.fmod(far, span), self.over.fmod(self.over.floor(far / span), 2.0) != 0
            x = self.over.where(odd, span - extra, extra) + low
            slope = (1 - 2 * self.over.like(moved < 0, x)) * (1 - 2 * self.over.like(odd, x))
        # written so that NaN becomes 0
        inside = (x > 0) & (x < size - 1)
        return self.over.where(inside, x, self.over.like(x >= size - 1, x) * (size - 1)), self.over.like(inside, x) * slope

    def along(self, d: int, order: int) -> list[tuple[Any, Any]]:
        """The taps of one dimension: the index, and the weight differentiated `order` times by the grid."""
        size, grid = self.sizes[d], self.grid[..., self.rank - 1 - d]
        grid = grid.reshape((grid.shape[0], math.prod(grid.shape[1:])))
        factor = (size - 1) / 2 if self.align_corners else size / 2
        x = (grid + 1) * factor if self.align_corners else ((grid + 1) * size - 1) / 2
        cubic = self.taps is TAPS[BICUBIC]
        slope: Any = 1
        if not cubic and self.padding != ZEROS:
            x, slope = self.bounded(x, size)
        first = self.over.rint(x) if self.mode == NEAREST else self.over.floor(x)
        t, made = x - first, []
        for place, coefficients in self.taps:
            for _ in range(order):
                coefficients = [i * c * factor for i, c in enumerate(coefficients)][1:] or [0.0]
            weight: Any = 0.0
            for c in reversed(coefficients):
                weight = weight * t + c
            for _ in range(order):
                weight = weight * slope
            there = first + place
            if cubic and self.padding != ZEROS:
                there = self.bounded(there, size)[0]
            inside = (there > -1) & (there < size)
            made.append((self.over.whole(self.over.where(inside, there, 0.0)), weight * self.over.like(inside, t)))
        return made

    def corners(self, orders: Any) -> Iterator[tuple[Any, Any]]:
        """For each combination of taps the index into the flat image and the weight, as (batch, 1, samples)."""
        for combination in product(*[self.along(d, order) for d, order in enumerate(orders)]):
            index, weight = combination[0]
            for (place, factor), n in zip(combination[1:], self.sizes[1:], strict=True):
                index, weight = index * n + place, weight * factor
            yield index[:, None], weight[:, None]

    def sample(self, input: Any, orders: Any) -> Any:
        """The samples of `input`, or their derivative of the given order by each coordinate."""
        flat = input.reshape((*input.shape[:2], self.count))
        total = added([self.over.pick(flat, index) * weight for index, weight in self.corners(orders)])
        return total.reshape((*input.shape[:2], *self.grid.shape[1:-1]))

    def spread(self, grad: Any, orders: Any) -> Any:
        """The transpose of `sample`: adds each sample's gradient to its source elements."""
        flat = grad.reshape((*grad.shape[:2], math.prod(self.grid.shape[1:-1])))
        total = added([self.over.spread(self.count, index, flat * weight) for index, weight in self.corners(orders)])
        return total.reshape((*grad.shape[:2], *self.sizes))

    def once(self, d: int, base: Any = None) -> tuple[int, ...]:
        """The orders with one more derivative by coordinate `d` of the grid, whose first is that of the last dimension."""
        return tuple([n + (i == self.rank - 1 - d) for i, n in enumerate(base or self.plain)])

    def along_grid(self, input: Any, tangent: Any) -> Any:
        """The tangent of the samples for a tangent of the grid."""
        return sum([self.sample(input, self.once(d)) * tangent[..., d].unsqueeze(1) for d in range(self.rank)])


def check_shapes(input: Any, grid: Any) -> None:
    sizes, places = input.shape, grid.shape
    if len(sizes) > 2 and len(places) and sizes[0] == places[0] and places[-1] == len(sizes) - 2 and 0 not in sizes:
        return
    if sizes[:1] != places[:1]:
        shapes = f"input with sizes {list(sizes)} and grid with sizes {list(places)}"
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}")
    if places[-1] != len(sizes) - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with "
                           f"sizes {list(grid.shape)}")
    if 0 in sizes[2:]:
        raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                           f"{list(sizes)} with dimension {sizes[2:].index(0) + 2} being empty")


def wide(array: Any) -> Any:
    """bfloat16 as float32, in which it is computed."""
    return converted(array, np.float32) if array.dtype.kind == "V" else array


def rows(rank: int) -> Any:
    """Declare the op for images of `rank` dimensions, and its backward."""
    settings = "int interpolation_mode, int padding_mode, bool align_corners"
    name = f"grid_sampler_{rank}d"

    def check_dimensions(input: Any, grid: Any, mode: int) -> None:
        check_shapes(input, grid)
        if input.ndim != rank + 2 or grid.ndim != input.ndim:
            raise RuntimeError(f"grid_sampler(): expected {rank + 2}D input and grid with same number of dimensions, but got "
                               f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
        if mode == BICUBIC and rank == 3:
            raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
        if input.dtype.kind not in "fV" and input.size and grid.size:
            raise unsupported(f"{name}_cpu_kernel_impl" if rank == 2 else "grid_sampler3d_cpu", input.dtype)
        if input.dtype != grid.dtype:
            raise RuntimeError(f"expected scalar type {BY_NUMPY[input.dtype].legacy} but found {BY_NUMPY[grid.dtype].legacy}")

    def forward_kernel(xp: Any, input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
        check_dimensions(input, grid, mode)
        if not (input.size and grid.size):
            return xp.zeros((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
        image, place = wide(input), wide(grid)
        if native is not None and image.dtype.char in "fd":
            made = xp.empty((*input.shape[:2], *grid.shape[1:-1]), image.dtype)
            if native.grid_sample(contiguous(image), contiguous(place), mode, padding, align_corners, made):
                return made if image is input else converted(made, input.dtype)
        sampler = Sampler(OverArrays, input.shape[2:], wide(grid), mode, padding, align_corners)
        return xp.ascontiguousarray(sampler.sample(wide(input), sampler.plain), input.dtype)

    def backward_kernel(xp: Any, grad_output: Any, input: Any, grid: Any, mode: int, padding: int, align_corners: bool,
                        output_mask: Any) -> Any:
        check_dimensions(input, grid, mode)
        empty = not grad_output.size
        arrays = [] if empty else [wide(a) for a in (input, grid, grad_output)]
        if native is not None and not empty and arrays[0].dtype.char in "fd":
            kind = arrays[0].dtype
            made = xp.zeros(input.shape, kind) if output_mask[0] else None, xp.empty(grid.shape, kind)
            arrays = [contiguous(a) for a in arrays]
            if native.grid_sample(*arrays[:2], mode, padding, align_corners, arrays[2], *made):
                return made if kind == input.dtype else tuple([m if m is None else converted(m, input.dtype) for m in made])
        sampler = Sampler(OverArrays, input.shape[2:], wide(grid), mode, padding, align_corners)
        to_input, to_grid = None, xp.zeros(grid.shape, grid.dtype)       # the second is always computed
        if output_mask[0]:
            to_input = (xp.zeros(input.shape, input.dtype) if empty else
                        xp.ascontiguousarray(sampler.spread(wide(grad_output), sampler.plain), input.dtype))
        for d in range(0 if empty else rank):
            to_grid[..., d] = (sampler.sample(wide(input), sampler.once(d)) * wide(grad_output)).sum(1)
        return to_input, to_grid

    def forward_rule(grad: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool,
                     needed: Any) -> Any:
        return call(backward, [grad, input, grid, interpolation_mode, padding_mode, align_corners, tuple(needed)])

    def tangent(input_p: Any, input_t: Any, grid_p: Any, grid_t: Any, interpolation_mode: int, padding_mode: int,
                align_corners: bool) -> Any:
        sampler = Sampler(OverTensors, input_p.shape[2:], grid_p, interpolation_mode, padding_mode, align_corners)
        return sampler.sample(input_t, sampler.plain) + sampler.along_grid(input_p, grid_t)

    def backward_rule(grads: Any, grad_output: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int,
                      align_corners: bool, needed: Any) -> Any:
        of_input, of_grid = grads
        sampler = Sampler(OverTensors, input.shape[2:], grid, interpolation_mode, padding_mode, align_corners)
        to_output = to_input = to_grid = None
        if needed[0]:
            parts = [] if of_input is None else [sampler.sample(of_input, sampler.plain)]
            to_output = added(parts + ([] if of_grid is None else [sampler.along_grid(input, of_grid)]))
        if needed[1] and of_grid is not None and interpolation_mode != NEAREST:
            to_input = sum([sampler.spread(grad_output * of_grid[..., d].unsqueeze(1), sampler.once(d)) for d in range(rank)])
        if needed[2]:
            to_grid = late.stack([added(
                ([] if of_input is None else [sampler.sample(of_input, sampler.once(d))])
                + ([] if of_grid is None else [sampler.sample(input, sampler.once(e, sampler.once(d)))
                                               * of_grid[..., e].unsqueeze(1) for e in range(rank)]))
                for d in range(rank)], -1)
            to_grid = (to_grid * grad_output.unsqueeze(-1)).sum(1)
        return to_output, to_input, to_grid

    def backward_tangent(grad_output_p: Any, grad_output_t: Any, input_p: Any, input_t: Any, grid_p: Any, grid_t: Any,
                         interpolation_mode: int, padding_mode: int, align_corners: bool, output_mask: Any) -> Any:
        sampler = Sampler(OverTensors, input_p.shape[2:], grid_p, interpolation_mode, padding_mode, align_corners)
        to_input = None
        if output_mask[0]:
            to_input = sampler.spread(grad_output_t, sampler.plain) + sum([
                sampler.spread(grad_output_p * grid_t[..., d].unsqueeze(1), sampler.once(d)) for d in range(rank)])
        to_grid = late.stack([(
            grad_output_t * sampler.sample(input_p, sampler.once(d))
            + grad_output_p * (sampler.sample(input_t, sampler.once(d)) + sum([
                sampler.sample(input_p, sampler.once(e, sampler.once(d))) * grid_t[..., e].unsqueeze(1)
                for e in range(rank)]))).sum(1) for d in range(rank)], -1)
        return to_input, to_grid

    columns: Any = dict(batch=families.folded, real_only=True)
    backward = defop(
        f"{name}_backward(Tensor grad_output, Tensor input, Tensor grid, {settings}, bool[2] output_mask) -> "
        "(Tensor, Tensor)",
        kernel=backward_kernel, vjp={("grad_output", "input", "grid"): backward_rule}, jvp=backward_tangent, variants="",
        node=f"GridSampler{rank}DBackwardBackward0", **columns)
    forward = defop(
        f"{name}(Tensor input, Tensor grid, {settings}) -> Tensor",
        kernel=forward_kernel, vjp={("input", "grid"): forward_rule}, jvp=tangent, variants="function",
        node=f"GridSampler{rank}DBackward0", autocast="float32", lower="@native.grid_forward", **columns)
    return forward


def added(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0]) if parts else None


sampler_of = {4: rows(2), 5: rows(3)}


def grid_sampler_tensors(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    if input.array.ndim == grid.array.ndim and input.array.ndim in sampler_of:         # the op checks their sizes
        return call(sampler_of[input.array.ndim], [input, grid, interpolation_mode, padding_mode, align_corners])
    for t in (input, grid):
        if not t.array.ndim:
            families.wrap_dim(0, 0, scalar_ok=False)
    check_shapes(input.array, grid.array)
    if input.ndim not in sampler_of or input.ndim != grid.ndim:
        expected = 4 if input.ndim == 4 else 5
        raise RuntimeError(f"grid_sampler(): expected {expected}D input and grid with same number of dimensions, but got input "
                           f"with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    return call(sampler_of[input.ndim], [input, grid, interpolation_mode, padding_mode, align_corners])


defop("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
      kernel=grid_sampler_tensors, composite=True, variants="function", out=False, autocast="float32")


# ---- grids of affine maps
def base_points(xp: Any, size: Any, align_corners: bool, dtype: Any) -> Any:
    """The corners or middles of all pixels in [-1, 1], as rows (x, y, [z,] 1); not to be written to."""
    return known_points(tuple(size[2:]), align_corners, dtype) if math.prod(size[2:]) <= 4096 else points_of(
        size[2:], align_corners, dtype)


@lru_cache(maxsize=64)
def known_points(*settings: Any) -> Any:
    made = points_of(*settings)
    made.setflags(write=False)
    return made


def points_of(sizes: Any, align_corners: bool, dtype: Any) -> Any:
    xp = np
    axes = []
    for n in sizes:
        places = xp.linspace(-1, 1, n).astype(dtype) if n > 1 else xp.zeros(n, dtype)
        axes.append(places if align_corners or not n else places * ((n - 1) / n))
    mesh = xp.meshgrid(*axes, indexing="ij")
    return lean.stack([m.reshape(-1) for m in (*mesh[::-1], xp.ones_like(mesh[0]))], -1).astype(dtype)


def check_affine(theta: Any, size: Any, *rest: Any) -> None:
    dtype = theta.array.dtype
    for n in size[2:]:
        if dtype.kind == "b" or (n <= 1 and dtype.itemsize == 2 and dtype.kind in "fV"):
            raise unsupported("linspace_cpu" if n > 1 else "tensor_cpu", dtype)


def affine_kernel(xp: Any, theta: Any, size: Any, align_corners: bool) -> Any:
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    points = base_points(xp, size, align_corners, theta.dtype)
    if theta.ndim != 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{theta.ndim}, {theta.ndim - 1}], but got 2)")
    if theta.shape[0] != size[0] or theta.shape[2] != len(size) - 1:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {len(size) - 1}] but "
                           f"got: [{theta.shape[0]}, {theta.shape[2]}].")
    return xp.ascontiguousarray(xp.matmul(points, theta.transpose(0, 2, 1))).reshape(size[0], *size[2:], theta.shape[1])


def affine_backward_tensors(grad: Any, size: Any, align_corners: bool) -> Any:
    points = new_tensor(base_points(np, size, align_corners, grad.dtype.numpy))
    points = points.expand((size[0], *points.shape)).transpose(1, 2)
    return points.bmm(grad.reshape((size[0], points.shape[2], grad.shape[-1]))).transpose(1, 2)


def fold_affine(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule: examples are additional images."""
    first = families.move_to_front(args[0], dims[0])
    batch, sizes = first.shape[1], args[1]
    made = call(op, [first.reshape((size * batch, *first.shape[2:])), (size * sizes[0], *sizes[1:]), *args[2:]])
    return made.reshape((size, batch, *made.shape[1:])), 0


affine_grid_generator_backward = defop(
    "affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor",
    kernel=affine_backward_tensors, composite=True, variants="", out=False)
defop(
    "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    out="aten",
    kernel=affine_kernel, jvp="linear", batch=fold_affine, widen=True, check=check_affine, variants="function", real_only=True,
    vjp=dict(theta=lambda grad, size, align_corners: call(affine_grid_generator_backward, [grad, size, align_corners])))
