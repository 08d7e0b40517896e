"""Fourier transforms: three kernels (complex to complex, real to complex and back) and the public functions made of them.

NOTE [Normalization]
The kernels' `normalization` is a number: 0 leaves sums as they are, 1 divides by the root of the number of points, 2 by
the number. `norm` of the public functions says which direction gets the factor.
"""
from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.opdef import OpDef, defop
from retrograd.core.state import slow_path, switches
from retrograd.core.tensor import new_tensor
from retrograd.core.threads import get_threads
from retrograd.ops import late
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import every, only
from retrograd.ops.shared.families import will_differentiate, wrap_dim
from retrograd.ops.views.slicing import slice_

# ---- kernels
ENGINES: list[Any] = []         # SciPy's inner function behind its argument checks; None if unknown


def engine() -> Any:
    """SciPy's transforms without its argument checks; None for unknown versions."""
    if not ENGINES:
        try:
            from scipy.fft._pocketfft import pypocketfft
            probe = np.ones(2, np.complex64)
            right = pypocketfft.c2c(probe, [0], True, 0, None, 1).tolist() == [2, 0] and (
                pypocketfft.r2c(probe.real, [0], True, 0, None, 1).tolist() == [2, 0]) and (
                pypocketfft.c2r(probe, [0], 2, False, 2, None, 1).tolist() == [1, 0])
            ENGINES.append(pypocketfft if right else None)
        except (ImportError, AttributeError, TypeError, ValueError):
            ENGINES.append(None)
    return ENGINES[0]


def transform(name: str, array: Any, axes: Any, normalization: int, forward: bool, sizes: Any = None) -> Any:
    """A transform by SciPy, which keeps single precision, on all threads."""
    plans = engine()
    if plans is not None and array.size and axes and array.dtype.char in "fdFD":
        threads = get_threads() if array.size > 32768 else 1
        if name == "rfftn":
            return plans.r2c(array, axes, True, normalization, None, threads)
        if name == "irfftn":
            return plans.c2r(array, axes, sizes[-1], False, normalization, None, threads)
        return plans.c2c(array, axes, forward, normalization, None, threads)
    from scipy import fft
    norm = ("backward" if forward else "forward", "ortho", "forward" if forward else "backward")[normalization]
    return getattr(fft, name)(array, sizes, axes, norm, workers=get_threads() if array.size > 32768 else 1)


def laid_out(source: Any, result: Any, dim: Any) -> Any:
    """The result with the transformed dimensions innermost, the others in the order of the input's memory."""
    strides = strides_of_result(source.strides, result.shape, tuple(dim))
    if storage.strides_of(result) == strides:
        return result
    made = storage.empty_strided(result.shape, strides, result.dtype)
    made[...] = result
    return made


@lru_cache(256)
def strides_of_result(source: tuple[int, ...], shape: tuple[int, ...], dim: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a result of some shape, from those of the input and the transformed dimensions."""
    rest = sorted([d for d in range(len(shape)) if d not in dim], key=lambda d: -source[d])
    strides = [0] * len(shape)
    step = 1
    for d in reversed([*rest, *dim]):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def by_stride(source: Any, dim: Any) -> list[int]:
    """The dimensions in the order of memory."""
    return sorted(dim, key=lambda d: -source.strides[d]) if len(dim) > 1 else list(dim)


def positive(dim: Any, ndim: int) -> list[int]:
    return [d if 0 <= d < ndim else wrap_dim(d, ndim) for d in dim]


def c2c_kernel(xp: Any, self: Any, dim: Any, normalization: int, forward: bool) -> Any:
    axes = positive(dim, self.ndim)
    if not axes:
        return self.copy()
    made = transform("fftn" if forward else "ifftn", self, axes, normalization, forward)
    return laid_out(self, made, by_stride(self, axes))


def mirrored(array: Any, normalization: int) -> Any:
    """The transform along the last dimension from half of the frequencies, the others being their conjugates; or None."""
    plans = engine()
    if native is None or plans is None or not array.size or array.dtype.char not in "fd":
        return None
    made = np.empty(array.shape, np.complex64 if array.dtype.char == "f" else np.complex128)
    half = made[..., :array.shape[-1] // 2 + 1]
    plans.r2c(array, [array.ndim - 1], True, normalization, half, get_threads() if array.size > 32768 else 1)
    native.mirror_spectrum(made)
    return made


def r2c_kernel(xp: Any, self: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    axes = positive(dim, self.ndim)
    if not onesided and axes == [self.ndim - 1]:
        made = mirrored(self, normalization)
        if made is not None:
            return laid_out(self, made, axes)
    made = transform("rfftn" if onesided else "fftn", self, axes, normalization, True)
    if not onesided and len(axes) == 1 and made.size:
        # Zero and half of the frequencies are real: their imaginary part is a positive zero.
        length, before = made.shape[axes[0]], (slice(None),) * axes[0]
        places = slice(0, 1) if length % 2 else slice(0, length // 2 + 1, length // 2)
        ends = made.imag[(*before, places)]
        xp.add(ends, 0, ends)
    return laid_out(self, made, [*by_stride(self, axes[:-1]), axes[-1]])


def c2r_kernel(xp: Any, self: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    axes = positive(dim, self.ndim)
    sizes = [*[self.shape[d] for d in axes[:-1]], last_dim_size]
    made = transform("irfftn", self, axes, normalization, False, sizes)
    return laid_out(self, made, [*by_stride(self, axes[:-1]), axes[-1]])


# ---- derivatives: the adjoint of a transform is one in the other direction
def r2c_gradient(grad: Any, self: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if onesided:
        last = wrap_dim(dim[-1], self.ndim)
        missing = self.shape[last] - grad.shape[last]
        if missing > 0:
            whole = grad.new_zeros([*grad.shape[:last], self.shape[last], *grad.shape[last + 1:]])
            whole.narrow(last, 0, grad.shape[last]).copy_(grad)
            grad = whole
    return late.real(call(c2c, [grad, dim, normalization, False]))


def c2r_gradient(grad: Any, dim: Any, normalization: int) -> Any:
    """The gradient of a complex-to-real transform: the unstored half contributes to the stored one."""
    made = call(r2c, [grad, dim, normalization, True])
    last = wrap_dim(dim[-1], grad.ndim)
    doubled = grad.shape[last] - made.shape[last]
    if doubled > 0:
        made.narrow(last, 1, doubled).mul_(2)
    return made


c2c = defop(
    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    kernel=c2c_kernel, check=only("Only supports complex dtypes, but found: {}", "C"), jvp="linear",
    batch=families.shift_dims("dim"), node="FftC2CBackward0", variants="function", lower="@native.fft_c2c",
    vjp=dict(self=lambda grad, dim, normalization, forward: call(c2c, [grad, dim, normalization, not forward])),
    pattern="dims",
)
r2c = defop(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    kernel=r2c_kernel, vjp=dict(self=r2c_gradient), jvp="linear", batch=families.shift_dims("dim"), node="FftR2CBackward0",
    variants="function", lower="@native.fft_r2c",
    check=every(only("Only supports floating-point dtypes, but found: {}", "FH"),
                only("MKL FFT doesn't support tensors of type: {}", "F")),
)
c2r = defop(
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    kernel=c2r_kernel, vjp=dict(self=c2r_gradient), jvp="linear", batch=families.shift_dims("dim"), node="FftC2RBackward0",
    variants="function", lower="@native.fft_c2r", check=only("Only supports complex dtypes, but found: {}", "C"),
)


# ---- arguments
def is_bare(x: Any) -> bool:
    """Whether ops on a tensor are neither recorded nor seen by a mode."""
    return is_ordinary(x) and not will_differentiate(x)


def computed(op: OpDef, args: Any) -> Any:
    """The op's result, by its kernel alone where nothing else is needed."""
    if not is_bare(args[0]):
        return call(op, args)
    array = args[0].array
    made = lean.natively(op, array, *args[1:])
    return new_tensor(op.compute(np, array, *args[1:]) if made is None else made)


def mode_of(norm: Any, forward: bool) -> int:
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def prepared(self: Any, need_complex: bool) -> Any:
    """The input in a dtype that has a transform."""
    char = self.array.dtype.char
    if char in "FD" or not need_complex and char in "fd":
        return self
    dtype = self.dtype
    if dtype.category >= 2 and self.array.dtype.char not in "fdFD":
        raise RuntimeError(f"Unsupported dtype {dtype.legacy}")
    if dtype.category < 2:
        dtype = dtypes.get_default_dtype()
    if need_complex and not dtype.is_complex:
        dtype = dtypes.complex128 if dtype is dtypes.float64 else dtypes.complex64
    if dtype is self.dtype:
        return self
    return new_tensor(self.array.astype(dtype.numpy)) if is_bare(self) else self.to(dtype)


def conjugated(x: Any, op: OpDef | None = None) -> Any:
    """The conjugate, for a transform; by `op`, or as a view, where a mode is on or ops are recorded."""
    return new_tensor(np.conj(x.array)) if is_bare(x) else x.conj() if op is None else op(x)


def check_points(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def one_dim(ndim: int, dim: int) -> int:
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def resized(x: Any, dims: Any, sizes: Any) -> Any:
    """The input cut or padded with zeros to the given sizes."""
    shape = x.array.shape
    if [shape[d] for d in dims] == sizes and 0 not in sizes:
        return x
    pad = [0] * (2 * x.ndim)
    for d, n in zip(dims, sizes, strict=True):
        if n == -1:
            continue
        check_points(n)
        if shape[d] < n:
            pad[2 * (x.ndim - 1 - d) + 1] = n - shape[d]
        elif shape[d] > n:
            x = call(slice_, [x, d, 0, n, 1])
    return late.constant_pad_nd(x, pad) if any(pad) else x


def shape_and_dims(self: Any, shape: Any, dim: Any) -> tuple[list[int], list[int]]:
    """The transformed dimensions and their sizes."""
    dims, sizes = arranged(self.array.shape, None if shape is None else tuple(shape), None if dim is None else tuple(dim))
    return list(dims), list(sizes)


@lru_cache(256)
def arranged(own: tuple[int, ...], shape: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    ndim = len(own)
    if dim is not None:
        dims = [one_dim(ndim, d) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if shape is not None:
        if dim is not None and len(dim) != len(shape):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(shape) > ndim:
            raise RuntimeError(f"Got shape with {len(shape)} values but input tensor only has {ndim} dimensions.")
        if dim is None:
            dims = list(range(ndim - len(shape), ndim))
        sizes = [own[d] if n == -1 else n for d, n in zip(dims, shape, strict=True)]
    else:
        dims = list(range(len(own))) if dim is None else dims
        sizes = [own[d] for d in dims]
    for n in sizes:
        check_points(n)
    return tuple(dims), tuple(sizes)


# ---- one dimension
def complex_transform(self: Any, n: Any, dim: int, norm: Any, forward: bool) -> Any:
    x = prepared(self, False)
    axis = one_dim(x.array.ndim, dim)
    check_points(x.array.shape[axis] if n is None else n)
    x = resized(x, [axis], [n]) if n is not None else x
    mode = mode_of(norm, forward)
    if x.is_complex():
        return computed(c2c, [x, (axis,), mode, forward])
    made = computed(r2c, [x, (axis,), mode, False])
    return made if forward else made.conj()


def real_transform(name: str, self: Any, n: Any, dim: int, norm: Any, forward: bool) -> Any:
    if self.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {self.dtype.legacy}")
    x = prepared(self, False)
    axis = one_dim(x.array.ndim, dim)
    check_points(x.array.shape[axis] if n is None else n)
    x = resized(x, [axis], [n]) if n is not None else x
    made = computed(r2c, [x, (axis,), mode_of(norm, forward), True])
    return made if forward else made.conj()


def to_real_transform(self: Any, n: Any, dim: int, norm: Any, forward: bool) -> Any:
    x = prepared(self, True)
    axis = one_dim(x.array.ndim, dim)
    size = 2 * (x.array.shape[axis] - 1) if n is None else n
    check_points(size)
    x = resized(x, [axis], [size // 2 + 1]) if n is not None else x
    return computed(c2r, [conjugated(x) if forward else x, (axis,), mode_of(norm, forward), size])


def kind_of(name: str) -> str:
    """Whether a transform's result is real or complex."""
    return "float" if name in ("irfft", "hfft") else "complex"


ONE = "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
for name, kernel in dict(
        fft=lambda self, n, dim, norm: complex_transform(self, n, dim, norm, True),
        ifft=lambda self, n, dim, norm: complex_transform(self, n, dim, norm, False),
        rfft=lambda self, n, dim, norm: real_transform("rfft", self, n, dim, norm, True),
        irfft=lambda self, n, dim, norm: to_real_transform(self, n, dim, norm, False),
        hfft=lambda self, n, dim, norm: to_real_transform(self, n, dim, norm, True),
        ihfft=lambda self, n, dim, norm: real_transform("ihfft", self, n, dim, norm, False)).items():
    defop(f"fft_{name}{ONE}", kernel=kernel, composite=True, variants="", out=f"{kind_of(name)}: {name}",
          autocast="float32", lower=None if name == "ihfft" else f"@native.{name}", traits=("out_first",))


# ---- several dimensions
def complex_transforms(self: Any, s: Any, dim: Any, norm: Any, forward: bool) -> Any:
    dims, sizes = shape_and_dims(self, s, dim)
    x = resized(prepared(self, not dims or not is_bare(self)), dims, sizes)      # the kernel accepts real numbers too
    return computed(c2c, [x, tuple(dims), mode_of(norm, forward), forward])


def real_transforms(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    if self.is_complex():
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {self.dtype.legacy}")
    x = prepared(self, False)
    dims, sizes = shape_and_dims(x, s, dim)
    if not dims:
        raise RuntimeError("rfftn must transform at least one axis")
    return computed(r2c, [resized(x, dims, sizes), tuple(dims), mode_of(norm, True), True])


def halved_dims(name: str, self: Any, s: Any, dim: Any) -> tuple[list[int], list[int], int]:
    """Dimensions and sizes of a transform to real numbers; the last size is that of its stored half."""
    dims, sizes = shape_and_dims(self, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = 2 * (self.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else s[-1]
    check_points(last)
    return dims, [*sizes[:-1], last // 2 + 1], last


def to_real_transforms(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    dims, sizes, last = halved_dims("irfftn", self, s, dim)
    x = resized(prepared(self, True), dims, sizes)
    return computed(c2r, [x, tuple(dims), mode_of(norm, False), last])


def hermitian_transforms(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    dims, sizes, last = halved_dims("hfftn", self, s, dim)
    x = resized(prepared(self, True), dims, sizes)
    mode = mode_of(norm, True)
    if len(dims) > 1:
        x = computed(c2c, [x, tuple(dims[:-1]), mode, True])
    return computed(c2r, [conjugated(x), (dims[-1],), mode, last])


def inverse_hermitian_transforms(self: Any, s: Any, dim: Any, norm: Any) -> Any:
    dims, sizes = shape_and_dims(self, s, dim)
    if self.is_complex():
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {self.dtype.legacy}")
    x = prepared(self, False)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    mode = mode_of(norm, False)
    made = computed(r2c, [resized(x, dims, sizes), (dims[-1],), mode, True])
    if len(dims) == 1:
        return made.conj()
    return computed(c2c, [conjugated(made, late.conj_physical), tuple(dims[:-1]), mode, False])


MANY = {"fft": lambda self, s, dim, norm: complex_transforms(self, s, dim, norm, True),
        "ifft": lambda self, s, dim, norm: complex_transforms(self, s, dim, norm, False),
        "rfft": real_transforms, "irfft": to_real_transforms, "hfft": hermitian_transforms,
        "ihfft": inverse_hermitian_transforms}
for name, kernel in MANY.items():
    column = f"{kind_of(name)}: {'fftn' if name == 'ifft' else name + 'n'}"
    whole: Any = {} if name in ("hfft", "ihfft") else {"autocast": "float32", "lower": f"@native.{name}n"}
    defop(f"fft_{name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", kernel=kernel,
          composite=True, variants="", out=column, **whole)
    defop(f"fft_{name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", kernel=kernel,
          composite=True, variants="", out=column, **whole)


# ---- frequencies
def shifted(sign: int) -> Any:
    def composite(self: Any, dim: Any) -> Any:
        dims = list(range(self.ndim)) if dim is None else [wrap_dim(d, self.ndim, scalar_ok=False) for d in dim]
        return late.roll(self, [(self.shape[d] + (sign < 0)) // 2 for d in dims], dims)
    return composite


defop("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", kernel=shifted(1), composite=True, variants="", out=False)
defop("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", kernel=shifted(-1), composite=True, variants="", out=False)


def frequency_dtype(name: str, dtype: Any) -> Any:
    made = dtype or dtypes.get_default_dtype()
    if made.category < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return made


def spacing(n: int, d: float) -> float:
    """The distance of two frequencies; infinite for no samples."""
    return math.inf if n * d == 0 else 1.0 / (n * d)


def frequencies(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    kind = frequency_dtype("fftfreq", dtype)
    half = n - (n // 2)
    if n > 0 and d and device is None is layout and kind.numpy.char in "fd" and not (switches.any_mode and slow_path()):
        steps = np.empty(n, kind.numpy)
        steps[:half] = range(half)
        steps[half:] = range(-(n // 2), 0)
        return new_tensor(steps * kind.numpy.type(1.0 / (n * d)))
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    made = late.arange(n, dtype=kind)
    call(slice_, [made, 0, half, None, 1]).copy_(late.arange(-(n // 2), 0, dtype=kind))
    return made.mul(spacing(n, d)) if n else made


def half_frequencies(n: int, d: float, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    kind, count = frequency_dtype("rfftfreq", dtype), int(n / 2) + 1
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    return late.arange(count, dtype=kind).mul(spacing(n, d))


FACTORY = ("(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
           "-> Tensor")
defop(f"fft_fftfreq{FACTORY}", kernel=frequencies, composite=True, variants="")
defop(f"fft_rfftfreq{FACTORY}", kernel=half_frequencies, composite=True, variants="")
