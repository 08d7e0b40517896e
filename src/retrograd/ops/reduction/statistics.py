"""Composite numerical analysis and statistics: differences, integrals, quantiles, covariances."""
from __future__ import annotations

import math
import warnings
from typing import Any

from retrograd.core import dtypes
from retrograd.core.algorithms import native
from retrograd.core.api import expose
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.core.tensor import Size, Tensor, counter_of, new_tensor
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import over, times
from retrograd.ops.shared.families import will_differentiate, wrap_dim, wrap_dims
from retrograd.ops.views.slicing import slice_ as slice_op


def part(t: Any, dim: int, start: int, stop: int | None = None) -> Any:
    return call(slice_op, [t, dim, start, stop, 1])


# ---- differences
def diff(self: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    if self.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    axis = wrap_dim(dim, self.ndim)
    for t in (prepend, append):
        if t is not None and t.ndim != self.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for t in (prepend, append):
        if t is not None and any([t.shape[d] != self.shape[d] for d in range(self.ndim) if d != axis]):
            d = next(d for d in range(self.ndim) if d != axis and t.shape[d] != self.shape[d])
            raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input except along the "
                               f"differencing dimension; input.size({d}) = {self.shape[d]}, but got tensor.size({d}) = "
                               f"{t.shape[d]}")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:                            # PyTorch ignores `prepend` and `append`
        return late.zeros_like(self).copy_(self)
    parts = [t for t in (prepend, self, append) if t is not None]
    if len(parts) > 1:
        self = late.cat(parts, axis)
    for _ in range(min(n, self.shape[axis])):
        length = self.shape[axis]
        if is_ordinary(self) and not families.will_differentiate(self):      # without view tracking
            before = (slice(None),) * axis
            later, earlier = (new_tensor(self.array[(*before, ends)]) for ends in (slice(1, None), slice(None, length - 1)))
        else:
            later, earlier = self.narrow(axis, 1, length - 1), self.narrow(axis, 0, length - 1)
        self = late.logical_xor(later, earlier) if self.dtype.category == 0 else later - earlier
    return self


defop("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "
      "Tensor", kernel=diff, composite=True,
      doc="""The differences of neighbours along a dimension.
      >>> torch.diff(torch.tensor([1, 4, 9]))
      tensor([3, 5])
      """)


# ---- integrals
def no_bool(name: str, **tensors: Any) -> None:
    if any([t.dtype.category == 0 for t in tensors.values()]):
        arguments = " or ".join([f"`{argument}`" for argument in tensors])
        raise RuntimeError(f"{name}: received a bool input for {arguments}, but bool is not supported")


def neighbours(y: Any, dim: int) -> tuple[Any, Any]:
    return part(y, dim, 0, -1), part(y, dim, 1)


def widths(name: str, y: Any, x: Any, dim: int) -> Any:
    """The distances of the sample points, in a shape that broadcasts with y."""
    no_bool(name, x=x, y=y)
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [1] * y.ndim
        shape[dim] = x.shape[0]
        x = x.view(shape)
    elif x.ndim < y.ndim:
        x = x.view((*[1] * (y.ndim - x.ndim), *x.shape))
    later, earlier = part(x, dim, 1), part(x, dim, 0, -1)
    return later - earlier


def trapezoid_x(y: Any, x: Any, dim: int) -> Any:
    axis = wrap_dim(wrap_dim(dim, y.ndim), y.ndim, scalar_ok=False)
    if y.shape[axis] == 0:
        return late.empty([n for d, n in enumerate(y.shape) if d != axis], dtype=y.dtype, device=y.device).zero_()
    steps = widths("trapezoid", y, x, axis)
    left, right = neighbours(y, axis)
    return over(((left + right) * steps).sum(axis), 2)


def trapezoid_dx(y: Any, dx: Any, dim: int) -> Any:
    axis = wrap_dim(dim, y.ndim, scalar_ok=False)
    if y.shape[axis] == 0:
        return late.empty([n for d, n in enumerate(y.shape) if d != axis], dtype=y.dtype, device=y.device).zero_()
    no_bool("trapezoid", y=y)
    if isinstance(dx, (bool, complex)):
        raise RuntimeError("trapezoid: Currently, we only support dx as a real number.")
    ends = times(y.select(axis, 0) + y.select(axis, -1), 0.5)
    return times(y.sum(axis) - ends, dx)


def cumulative_x(y: Any, x: Any, dim: int) -> Any:
    axis = wrap_dim(wrap_dim(dim, y.ndim), y.ndim, scalar_ok=False)
    steps = widths("cumulative_trapezoid", y, x, axis)
    left, right = neighbours(y, axis)
    return over(((left + right) * steps).cumsum(axis), 2)


def cumulative_dx(y: Any, dx: Any, dim: int) -> Any:
    no_bool("cumulative_trapezoid", y=y)
    if isinstance(dx, (bool, complex)):
        raise RuntimeError("cumulative_trapezoid: Currently, we only support dx as a real number.")
    if not y.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, y.ndim)
    left, right = neighbours(y, axis)
    return times(left + right, dx / 2.0).cumsum(axis)


for name, by_points, by_step in (("trapezoid", trapezoid_x, trapezoid_dx), ("trapz", trapezoid_x, trapezoid_dx),
                                 ("cumulative_trapezoid", cumulative_x, cumulative_dx)):
    step = "float dx=1" if name == "trapz" else "Scalar dx=1"
    defop(f"{name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", kernel=by_points, composite=True, out=False,
          variants="function")
    defop(f"{name}.dx(Tensor y, *, {step}, int dim=-1) -> Tensor", kernel=by_step, composite=True, out=False,
          variants="function")


# ---- derivatives on a grid
def grid_derivative(self: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """Central differences inside, one-sided ones at both ends, for points at equal distance."""
    def at(start: Any, stop: Any) -> Any:
        return part(self, axis, start, stop)
    n = self.shape[axis]
    if edge_order == 1:
        first, last = at(1, 2) - at(0, 1), at(n - 1, n) - at(n - 2, n - 1)
    else:
        first = times(at(0, 1), -1.5) + times(at(1, 2), 2.0) - times(at(2, 3), 0.5)
        last = times(at(n - 3, n - 2), 0.5) - times(at(n - 2, n - 1), 2.0) + times(at(n - 1, n), 1.5)
    inner = at(2, n) - at(0, n - 2)
    return late.cat([over(first, spacing), over(inner, 2 * spacing), over(last, spacing)], axis)


def uneven_derivative(self: Any, axis: int, points: Any, edge_order: int) -> Any:
    """`grid_derivative` for uneven points: the parabola through three neighbours."""
    n = self.shape[axis]
    shape = [1] * self.ndim
    shape[axis] = -1
    steps = part(points, 0, 1) - part(points, 0, 0, -1)

    def at(start: int, stop: int) -> Any:
        return part(self, axis, start, stop)
    before, after = (s.reshape(shape) for s in (part(steps, 0, 0, -1), part(steps, 0, 1)))
    low = -after / (before * (before + after))
    middle = (after - before) / (before * after)
    high = before / (after * (before + after))
    inner = low * at(0, n - 2) + middle * at(1, n - 1) + high * at(2, n)
    if edge_order == 1:
        first, last = (at(1, 2) - at(0, 1)) / steps[0], (at(n - 1, n) - at(n - 2, n - 1)) / steps[n - 2]
    else:
        a, b = steps[0], steps[1]
        first = at(0, 1) * (-(2 * a + b) / (a * (a + b))) + at(1, 2) * ((a + b) / (a * b)) + at(2, 3) * (-a / (b * (a + b)))
        a, b = steps[n - 3], steps[n - 2]
        last = (at(n - 3, n - 2) * (b / (a * (a + b))) + at(n - 2, n - 1) * (-(a + b) / (a * b))
                + at(n - 1, n) * ((a + 2 * b) / (b * (a + b))))
    return late.cat([first, inner, last], axis)


def gradient_along(self: Any, spacing: Any, dim: Any, edge_order: int) -> Any:
    given = list(spacing) if isinstance(spacing, (list, tuple)) else None
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(self.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if given is not None and len(given) != len(dims):
        if dim is not None:
            raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments "
                               f"to have the same length, but got a spacing argument of length {len(given)} and a dim argument "
                               f"of length {len(dims)}.")
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                           f"'self.dim() = {self.ndim}', since dim argument was not given, but got a list of length "
                           f"{len(given)}")
    axes = wrap_dims(dims, self.ndim)
    if not self.ndim and dims:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    for points in given or ():
        if isinstance(points, Tensor) and points.ndim != 1:
            raise RuntimeError("torch.gradient expected each element of spacing to have one dimension, but got an element with "
                               f"{points.ndim} dimensions!")
        if isinstance(points, Tensor) and points.device != self.device:
            raise RuntimeError("torch.gradient expected each tensor to be on the same device, but got devices "
                               f"{self.device} and {points.device}!")
    if self.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    for axis in axes:
        if self.shape[axis] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    results = []
    for i, axis in enumerate(axes):
        step = given[i] if given is not None else 1.0 if spacing is None else spacing
        make = uneven_derivative if isinstance(step, Tensor) else grid_derivative
        results.append(make(self, axis, step, edge_order))
    return results


for overload, arguments in (
        ("scalarint", "Scalar? spacing=None, int? dim=None"), ("scalararray", "Scalar spacing, int[] dim"),
        ("scalarrayint", "Scalar[] spacing, int? dim=None"), ("scalarrayarray", "Scalar[] spacing, int[] dim"),
        ("tensorarrayint", "Tensor[] spacing, int? dim=None"), ("tensorarray", "Tensor[] spacing, int[] dim")):
    defop(f"gradient.{overload}(Tensor self, *, {arguments}, int edge_order=1) -> Tensor[]", kernel=gradient_along,
          composite=True, out=False, variants="function")
defop("gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", composite=True, out=False, variants="function",
      kernel=lambda self, dim, edge_order: gradient_along(self, None, dim, edge_order))


# ---- quantiles
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def check_quantile(self: Any, q: Any, interpolation: str) -> None:
    if self.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if self.array.dtype.char not in "fd":
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if self.dtype is not q.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError("quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                           f"{interpolation}")
    if hooks.settle is not None:
        hooks.settle(q)
    if not ((q.array >= 0) & (q.array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def ranks_in(ordered: Any, q: Any, ignore_nan: bool) -> Any:
    """The fractional positions of the quantiles among sorted values; the last one where a NaN decides."""
    if ignore_nan:
        ranks = q * (ordered.isnan().logical_not().sum(-1, True) - 1)
        return ranks.masked_fill(ranks < 0, 0)
    last = ordered.shape[-1] - 1
    places, spoilt = late.broadcast_tensors(q * last, ordered.isnan().any(-1, True))
    return places.masked_fill(spoilt, last)


def quantiles_at_once(name: str, self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    """The quantiles of a few elements on bare arrays, where no mode is on; None for the general path."""
    if native is None or not is_ordinary(self) or will_differentiate(self):
        return None
    array = getattr(native, name)(self.array, q, dim, keepdim, interpolation)
    if array is None:
        return None
    made = new_tensor(array)
    several = not isinstance(q, float) and q.ndim > 0
    counter_of(made).n = (3 if several else 1) + (interpolation in ("linear", "midpoint"))   # PyTorch's in-place writes
    return made


def quantile_by(name: str, ignore_nan: bool) -> Any:
    def composite(self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
        if is_ordinary(q) and not will_differentiate(q):
            made = quantiles_at_once(name, self, q.array, dim, keepdim, interpolation)
            if made is not None:
                return made
        check_quantile(self, q, interpolation)
        axis = None if dim is None else wrap_dim(dim, self.ndim)
        if axis is None:
            shape = [1] * self.ndim if keepdim else []
            ordered = self.flatten()
        else:
            shape = [1 if d == axis else n for d, n in enumerate(self.shape) if d != axis or keepdim]
            ordered = self if axis == self.ndim - 1 or self.ndim == 0 else self.unsqueeze(-1).transpose(axis, -1)
        ordered = ordered.sort()[0]
        ordered = ordered.view((*shape, ordered.shape[-1] if ordered.ndim else 1))
        ranks = ranks_in(ordered, q, ignore_nan)
        ranks = {"lower": late.floor, "higher": late.ceil, "nearest": late.round}.get(
            interpolation, lambda t: t)(ranks)
        ranks = ranks.unsqueeze(-1) if ranks.ndim == 0 else ranks
        low = ranks.detach().long()
        result = ordered.gather(-1, low)
        if interpolation in ("linear", "midpoint"):
            weights = late.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - low
            result.lerp_(ordered.gather(-1, ranks.detach().ceil().long()), weights)
        if q.ndim == 0:
            return result.squeeze_(-1)
        return result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)
    return composite


def quantile_of_number(name: str, ignore_nan: bool) -> Any:
    def composite(self: Any, q: float, dim: Any, keepdim: bool, interpolation: str) -> Any:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        made = quantiles_at_once(name, self, q, dim, keepdim, interpolation)
        if made is not None:
            return made
        q = late.full((), q, dtype=self.dtype, device=self.device)
        return quantile_by(name, ignore_nan)(self, q, dim, keepdim, interpolation)
    return composite


QUANTILE = "same: quantile() out tensor must be same dtype as the input tensor"
for name, ignore_nan in (("quantile", False), ("nanquantile", True)):
    defop(f'{name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor',
          kernel=quantile_by(name, ignore_nan), composite=True, out=QUANTILE, autocast="float32",
          traits=("out_copied",))
    defop(f'{name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor',
          kernel=quantile_of_number(name, ignore_nan), composite=True, out=QUANTILE, autocast="float32",
          traits=("out_copied",))


# ---- covariances
def check_weights(name: str, weights: Any, count: int, integral: bool) -> None:
    if weights.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} "
                           "dimensions")
    if weights.dtype.category != (1 if integral else 2):
        raise RuntimeError(f"cov(): expected {name} to have {'integral' if integral else 'floating point'} dtype but got "
                           f"{name} with {weights.dtype.legacy} dtype")
    if weights.numel() != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                           f"{weights.numel()} != {count}")
    if hooks.settle is not None:
        hooks.settle(weights)
    if weights.numel() and (weights.array < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def cov(self: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    if self.ndim > 2:
        raise RuntimeError("cov(): expected input to have two or fewer dimensions but got an input with "
                           f"{self.ndim} dimensions")
    if self.dtype.category == 0:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self.view((1, -1)) if self.ndim < 2 else self
    count = rows.shape[1]
    weights = None
    if fweights is not None:
        check_weights("fweights", fweights, count, True)
        weights = fweights
    if aweights is not None:
        check_weights("aweights", aweights, count, False)
        weights = aweights if weights is None else weights * aweights
    total: Any = None
    if weights is not None and count:
        total = weights.sum()
        if float(total) == 0:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = rows.sum(1) / count if weights is None else (rows * weights).sum(1) / total
    factor: Any
    if weights is not None and aweights is not None and correction != 0:
        factor = total - correction * (weights * aweights).sum() / total
    else:
        factor = count - correction if weights is None else total - correction
    if float(factor) <= 0:
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
                      UserWarning, stacklevel=2)
        factor = late.zeros_like(factor) if isinstance(factor, Tensor) else 0
    centred = rows - mean.unsqueeze(1)
    other = centred if weights is None else centred * weights
    return (late.mm(centred, other.t().conj()) / factor).squeeze()


def corrcoef(self: Any) -> Any:
    if self.ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{self.ndim} dimensions")
    matrix = cov(self, 1, None, None)
    if matrix.ndim == 0:
        return matrix / matrix
    diagonal = matrix.diag()
    spread = (late.real(diagonal) if diagonal.is_complex() else diagonal).sqrt()
    matrix = matrix / spread.view((-1, 1)) / spread.view((1, -1))
    if matrix.is_complex():
        return late.complex(late.real(matrix).clip(-1, 1), late.imag(matrix).clip(-1, 1))
    return matrix.clip(-1, 1)


defop("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> "
      "Tensor", kernel=cov, composite=True,
      out=False)
defop("corrcoef(Tensor self) -> Tensor", kernel=corrcoef, composite=True, out=False)


# ---- shapes and positions
@expose(seen=False)
def broadcast_shapes(*shapes: Any) -> Any:
    """The broadcast shape of several shapes."""
    for shape in shapes:
        if shape is not None and not isinstance(shape, (int, list, tuple)):
            raise RuntimeError("Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                               f"{shape}")
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes if s is not None]
    joint = [1] * max([len(s) for s in sizes], default=0)
    for index, shape in enumerate(sizes):
        for k in range(-1, -1 - len(shape), -1):
            if shape[k] in (1, joint[k]):
                continue
            if joint[k] != 1:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {shape[k]} at {k}! Mismatching argument at "
                                   f"index {index} had {shape}; but expected shape should be broadcastable to {joint}")
            if shape[k] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length! The argument at index "
                                 f"{index} has {shape}")
            joint[k] = shape[k]
    return Size(joint)


@expose(method=False)
def unravel_index(indices: Any, shape: Any) -> Any:
    """Positions in a flattened tensor as indices for each of its dimensions."""
    if not isinstance(indices, Tensor) or indices.dtype.category > 1 or indices.dtype.category == 0:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {getattr(indices, 'dtype', type(indices))}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any([n < 0 for n in sizes]):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = [math.prod(sizes[k + 1:]) for k in range(len(sizes))]
    if not sizes:
        return ()
    strides, lengths = (late.tensor(values, device=indices.device) for values in (steps, sizes))
    return indices.unsqueeze(-1).floor_divide(strides).remainder(lengths).unbind(-1)


