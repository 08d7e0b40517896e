"""Copies and conversions: clone, copy_, to, detach, contiguous, and the memory formats they keep."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import device as devices
from retrograd.core import dtypes, fast_kernels, lean, storage
from retrograd.core.api import expose
from retrograd.core.copying import SMALL, cast_array, copy_into, copy_of
from retrograd.core.dispatch import below, call, is_ordinary, resolve
from retrograd.core.hooks import hooks
from retrograd.core.kernels import broadcast_problem, check_writable
from retrograd.core.modes import install_detach
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.core.origin import DETACHED, note_detached
from retrograd.core.record import record
from retrograd.core.reserved import reserved_array
from retrograd.core.saved import alias as plain_alias
from retrograd.core.state import grad_enabled, slow_path, switches, tls
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_NEG,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    FLAG_WRITABLE,
    FUNCTIONS_BY_NAME,
    Tensor,
    bump,
    counter_of,
    new_tensor,
    wants_grad,
    wrap,
)
from retrograd.core.views import check_inplace
from retrograd.ops import late
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.out_dtypes import check_dtype


class NamedConstant:
    """A constant of the package: shown and pickled by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(NamedConstant):
    """The memory format of a tensor, such as `contiguous_format` or `channels_last`."""


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class layout(NamedConstant):
    """Whether a tensor is dense (`strided`) or one of the sparse kinds."""


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")
jagged = layout("jagged")


def channels_last_strides(shape: Any) -> tuple[int, ...]:
    """Strides with the channel dimension (1) innermost."""
    order = [0, *range(2, len(shape)), 1]
    strides = [0] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def format_strides(array: Any, form: Any) -> tuple[int, ...]:
    """The strides that a copy of `array` has in a memory format."""
    name = form.name if form is not None else "preserve_format"
    if name == "preserve_format":
        strides = storage.strides_of(array)
        if storage.is_non_overlapping_and_dense(array.shape, strides):
            return strides
        return inferred_strides(array.shape, strides)
    if name == "contiguous_format":
        return storage.contiguous_strides(array.shape)
    rank = 4 if name == "channels_last" else 5
    if array.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {name} format")
    return channels_last_strides(array.shape)


def inferred_strides(shape: Any, strides: Any) -> tuple[int, ...]:
    """Dense strides in the order of `strides`, as elementwise ops give their results."""
    order = sorted(range(len(shape)), key=lambda i: -i)
    for i in range(1, len(order)):                # insertion sort: ambiguous (stride 0) dimensions keep their place
        k = i
        for j in range(i - 1, -1, -1):
            a, b = order[j], order[k]
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] > strides[b] or (strides[a] == strides[b] and shape[a] > shape[b]):
                order[j], order[k] = b, a
                k = j
            else:
                break
    result = [0] * len(shape)
    step = 1
    for d in order:
        result[d] = step
        step *= max(shape[d], 1)
    return tuple(result)


def copied(array: Any, dtype: Any, strides: Any) -> Any:
    """A new array with the same values."""
    if dtype is None or array.dtype == dtype:
        if array.flags.c_contiguous and strides == storage.contiguous_strides(array.shape):
            return copy_of(array) if array.size > SMALL else array.copy()
    made = geometry.new_beside(array, array.shape, strides, dtype or array.dtype)
    copy_into(made, array)
    return made


def clone_kernel(xp: Any, self: Any, memory_format: Any) -> Any:
    return copied(self, None, format_strides(self, memory_format))


def clone_examples(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of clone: the copy keeps the position of the batch dimension, unless it is contiguous."""
    self, memory_format = args
    name = getattr(memory_format, "name", "preserve_format")
    if name not in ("contiguous_format", "preserve_format"):
        raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
                           "torch.preserve_format or torch.contiguous_format (got "
                           f"{''.join([part.capitalize() for part in name.split('_')])})")
    if name == "preserve_format":
        return call(op, args), dims[0]
    return call(op, [families.move_to_front(self, dims[0]), memory_format]), 0


clone_examples.refuses = clone_examples.elementwise = True  # type: ignore[attr-defined]
clone = defop(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    out="aten",
    kernel=clone_kernel,
    vjp=dict(self=lambda grad: grad), jvp="linear", batch=clone_examples, lower="@clone", pattern="elements",
    traits=("chalf",), onnx="Identity", masked="same mask",
    doc="""A copy, through which gradients flow.
    >>> torch.clone(torch.tensor([1.0]))
    tensor([1.])
    """,
)
alias = defop(
    "alias(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: self[...],
    vjp=dict(self=lambda grad: grad), jvp="linear", batch=families.pointwise, lower="@alias", variants="",
    onnx="Identity", masked="passthrough", inverse="same",
)
detach = defop(
    "detach(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: self[...], jvp="linear", batch=families.pointwise, lower="@alias", variants="",
    onnx="Identity", masked="same mask", inverse="same",
)
install_detach(detach)


def only_value(self: Any) -> Any:
    if self.numel() == 0:
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return self.item()


local_scalar_dense = defop(     # the op that dispatch modes see for `item`
    "_local_scalar_dense(Tensor self) -> Scalar", kernel=only_value, composite=True, variants="", out=False,
    traits=("reads_values",), masked="scalar",
)
to_copy = defop(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    kernel=lambda xp, self, dtype, layout, device, pin_memory, non_blocking, memory_format:
        copied(self, dtype, format_strides(self, memory_format)),
    vjp=dict(self=lambda grad, self_scalar_type: to(real_if(grad, self_scalar_type), self_scalar_type)),
    jvp="linear", batch=families.pointwise, node="ToCopyBackward0", variants="function", pattern="elements",
    traits=("casts", "chalf"), lower="@to_copy", masked="same mask", nested="parts",
)


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert to another dtype or device; the tensor itself if nothing changes."""
    if len(args) == 1 and not kwargs:
        if isinstance(args[0], dtypes.dtype):
            dtype = args[0]
            return self if dtype is self.dtype else call(to_copy, [self, dtype, None, None, None, False, None])
        if not self._flags and devices.names_cpu(args[0]):           # where ordinary tensors are
            return self
    dtype, device, copy, form = parse_to(args, kwargs)
    device = devices.parse_device(device) if device is not None else self.device
    same = (dtype is None or dtype is self.dtype) and device == self.device
    if same and not copy and (self._flags & FLAG_SPARSE or form in (None, preserve_format)
                              or form.name == suggested_format(self.array)):
        return self
    if device != self.device:
        if self._flags & FLAG_SUBCLASS and not tls.dispatch_disabled and (
                type(self).__torch_dispatch__ is not Tensor.__torch_dispatch__):      # its handler knows what it stands for
            return call(to_copy, [self, dtype, None, device, None, False, form])
        return change_device(self, dtype, device)
    return call(to_copy, [self, dtype if dtype is not None else self.dtype, None, None, None, False, form])


def suggested_format(array: Any) -> str:
    """The name of an array's memory format; anything that is not channels-last counts as contiguous."""
    if array.ndim in (4, 5) and geometry.channels_last_like(array):
        return "channels_last" if array.ndim == 4 else "channels_last_3d"
    return "contiguous_format"


TO_KEYWORDS = frozenset({"dtype", "device", "copy", "memory_format", "non_blocking", "other"})
TO_FIRST = ("torch.device device = None, torch.dtype dtype = None", "torch.dtype dtype", "Tensor tensor")
TO_FORMS = "\n".join([f" * ({first}, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)"
                      for first in TO_FIRST])


def parse_to(args: Any, kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The many forms of `to`: (dtype), (device, dtype), (other), each with non_blocking and copy."""
    dtype, device, form = kwargs.get("dtype"), kwargs.get("device"), kwargs.get("memory_format")
    rest = [kwargs["other"], *args] if "other" in kwargs else list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        dtype, device = other.dtype, other.device
    else:
        placed = bool(rest) and (rest[0] is None or isinstance(rest[0], (devices.device, str)) or type(rest[0]) is int)
        if placed:
            device = rest.pop(0)
        if rest and (names_dtype(rest[0]) or placed and rest[0] is None):
            dtype = rest.pop(0)
    if (not kwargs.keys() <= TO_KEYWORDS or rest and not isinstance(rest[0], bool)
            or dtype is not None and not names_dtype(dtype) or form is not None and not isinstance(form, memory_format)):
        names = [type_name(a) for a in args] + [f"{key}={type_name(value)}" for key, value in kwargs.items()]
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(names)}), but expected one of:\n"
                        + TO_FORMS)
    copy = bool(kwargs.get("copy", rest[1] if len(rest) > 1 else False))
    return None if dtype is None else dtypes.as_dtype(dtype), device, copy, form


def names_dtype(value: Any) -> bool:
    return isinstance(value, dtypes.dtype) or isinstance(value, type) and value in (float, int, bool, complex)


def type_name(value: Any) -> str:
    return "torch.dtype" if isinstance(value, dtypes.dtype) else type(value).__name__


def check_format(name: str, form: Any) -> None:
    if not isinstance(form, memory_format):
        raise TypeError(f"{name}(): argument 'memory_format' must be torch.memory_format, not {type(form).__name__}")


def change_device(self: Any, dtype: Any, device: Any) -> Any:
    dtype = (dtype or self.dtype).numpy
    if self._flags & FLAG_SPARSE:
        if self._flags & FLAG_META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if device.type == "meta":
            return late.zeros_like(self.detach(), dtype=dtypes.BY_NUMPY[dtype], device=device)
        raise NotImplementedError(f"retrograd has no sparse {device.type} tensors")
    if device.type == "meta":
        out = wrap(meta_array(self.array.shape, format_strides(self.array, None), dtype))
        out._flags |= FLAG_META
        if grad_enabled() and wants_grad(self):
            out._node = node = record(to_copy, [self, out.dtype, None, device, None, False, None], 1, False)
            node._shape_, node._dtype_ = out.array.shape, out.array.dtype
            out._requires = True
        return out
    if self._flags & FLAG_META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    raise devices.missing(device)


def meta_array(shape: Any, strides: Any, dtype: Any) -> Any:
    """An array with a geometry but no memory, which must never be read."""
    return reserved_array(shape, strides, dtype)


def copy_kernel(xp: Any, self: Any, src: Any, non_blocking: bool) -> Any:
    if not isinstance(src, np.ndarray):               # a number
        src = xp.asarray(src)
    try:
        return lean.broadcast_to(cast_array(src, self.dtype), self.shape)
    except ValueError:
        raise RuntimeError(copy_problem(self.shape, src.shape)) from None


def copy_problem(shape: Any, source: Any) -> str:
    return broadcast_problem(shape, source) or (
        f"output with shape {list(shape)} doesn't match the broadcast shape {list(lean.broadcast_shapes(shape, source))}")


copy_ = defop(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    kernel=copy_kernel,
    vjp=dict(self=lambda grad: late.zeros_like(grad),
             src=lambda grad, src_scalar_type: to(real_if(grad, src_scalar_type), src_scalar_type)),
    jvp="linear", batch=families.pointwise, node="CopyBackwards", variants="method", out=False, numbers=True,
    lower="@copy_", traits=("guarded", "casts", "chalf", "arithmetic", "any_device"), masked="copy", nested="parts",
    called={"src": "other"}, deprecated=("self, other=src, async=non_blocking",),
)


def real_if(grad: Any, dtype: Any) -> Any:
    """The real part of a complex gradient for a real tensor."""
    return late.real(grad) if grad.array.dtype.kind in "cW" and not dtype.is_complex else grad


def contiguous(self: Any, *, memory_format: Any = contiguous_format) -> Any:
    """The tensor itself if it is laid out that way, else a copy that is."""
    if not self._flags and memory_format is contiguous_format and self.array.flags.c_contiguous:
        return self
    check_format("contiguous", memory_format)
    if self._flags & FLAG_SPARSE and not self.is_nested:
        if hooks.layout_name(self) != "Sparse":
            self.is_contiguous(memory_format=memory_format)         # raises for compressed layouts
        return call(clone, [self, memory_format])
    if self.is_contiguous(memory_format=memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return call(clone, [self, memory_format])


def is_channels_last(self: Any, form: Any) -> bool:
    rank = 4 if form.name == "channels_last" else 5
    if self.array.ndim != rank:
        return False
    strides, wanted = storage.strides_of(self.array), channels_last_strides(self.array.shape)
    return all(n == 1 or s == w for n, s, w in zip(self.array.shape, strides, wanted, strict=True))


# ---- services for the core
def detached(self: Any) -> Any:
    """The same memory and version counter, no history."""
    if self._flags & FLAG_WRAPPER:
        return hooks.batched_detach(self)
    if self._flags & FLAG_SUBCLASS or (switches.any_mode and slow_path()):
        if self._flags & FLAG_SUBCLASS or tls.dispatch_modes:
            made = below(detach, [self])
            if not self._flags & FLAG_INFERENCE:      # what inference mode makes of ordinary tensors are new values only
                made._flags &= ~FLAG_INFERENCE
            made._counter = counter_of(self)
        else:
            made = plain_alias(self)
        if tls.origins:
            note_detached(self, made, DETACHED, "detach")
        return made
    made = plain_alias(self)
    if made._flags & FLAG_INFERENCE and not tls.inference:
        made._flags |= FLAG_WRITABLE
    return made


def plain_sum(array: Any, dims: Any) -> Any:
    return np.add.reduce(array, tuple(dims))


native_sum = plain_sum if fast_kernels.native is None else fast_kernels.native.kernels["sum_dim_IntList"]


def sum_to_size(grad: Any, size: Any) -> Any:
    """Sum over the dimensions along which `size` was broadcast to the tensor's shape."""
    size = tuple(size)
    shape = grad.array.shape
    if shape == size and size:
        return grad
    if not size:
        return grad.sum()
    extra = len(shape) - len(size)
    if extra > 0 and shape[extra:] == size:
        dims = list(range(extra))
    elif extra < 0 or any([n != 1 and n != shape[i + extra] for i, n in enumerate(size)]):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    else:
        dims = [*range(extra), *[i + extra for i, n in enumerate(size) if n == 1 and shape[i + extra] != 1]]
    if dims and grad.array.size <= 65536 and is_ordinary(grad) and grad.array.dtype.char in "fd" and not (
            grad_enabled() and wants_grad(grad)):
        made = native_sum(grad.array, dims)                     # no mode is on: bypasses the ops
        if not made.flags.c_contiguous:
            made = made.copy("C")
        return new_tensor(made if made.shape == size else made.reshape(size))     # a view could not become a `.grad`
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.view(size) if extra else grad


def copy_to_layout(grad: Any, shape: Any, strides: Any) -> Any:
    """A copy of `grad` with the given strides, recorded if grad mode is on."""
    if grad._flags & FLAG_WRAPPER:
        return late.copy_(hooks.batched_new(grad, shape, strides), grad)
    if grad._flags & FLAG_SUBCLASS or (switches.any_mode and tls.dispatch_modes):
        target = empty_beside(grad, shape, strides, None, None, None)
    else:
        target = new_tensor(storage.empty_strided(shape, strides, grad.array.dtype))
    return late.copy_(target, grad)


def assign_out(out: Any, value: Any, name: str, rule: str = "cast", output: str = "out") -> None:
    """Write the result of an op to its out= tensor."""
    if (out._flags | value._flags) & FLAG_SPARSE:
        hooks.assign_sparse(out, value)
        bump(out)
        return
    if " || " in rule:
        rule = rule.split(" || ")[1 if value.array.ndim else 0]
    check_dtype(rule, value.dtype, out.dtype, output)
    if (out._flags ^ value._flags) & FLAG_META:
        raise RuntimeError(f"Attempting to copy from device {value.device} to device {out.device}, but cross-device copies are "
                           "not allowed!")
    if out.array.shape != value.array.shape:
        hooks.resize_out(out, value)
    check_writable(out.array)
    if not out._flags & FLAG_META:
        out.array[...] = stored(value, out._flags)
    bump(out)


def stored(value: Any, flags: int) -> Any:
    """The array of `value` as it lies in the memory of a tensor with these flags: conjugated or negated by lazy bits."""
    array = resolve(value).array
    if flags & FLAG_CONJ:
        array = array.conj()
    return -array if flags & FLAG_NEG else array


def record_out(out: Any, value: Any, rule: str, output: str) -> None:
    """Copy the result of an op that requires grad into its out= tensor, which is recorded."""
    check_dtype(rule, value.dtype, out.dtype, output)
    if out.array.shape != value.array.shape:
        check_inplace(out, True)
        hooks.resize_out(out, value)
    late.copy_(out, value)


def first_gradient(variable: Any, grad: Any, strides: Any, alone: bool) -> Any:
    """The first gradient of a leaf while a mode is on: a `detach` that dispatch modes see if it has no other references,
    else a copy."""
    if grad._flags & (FLAG_CONJ | FLAG_NEG):
        grad = grad.resolve_conj().resolve_neg()
    if alone and storage.strides_of(grad.array) == strides:
        return detached(grad)
    return new_gradient(grad, strides)


def empty_beside(grad: Any, shape: Any, strides: Any, dtype: Any, layout: Any, device: Any) -> Any:
    """An uninitialised tensor made by an op that dispatch modes see."""
    packet = find_packet("new_empty_strided")
    assert packet is not None
    return call(packet.overloads_[0], [grad, shape, strides, dtype, layout, device, None])


def new_gradient(grad: Any, strides: Any) -> Any:
    """A copy of a gradient with the given strides, made of ops that dispatch modes see."""
    return late.copy_(empty_beside(grad, grad.array.shape, strides, grad.dtype, strided, grad.device), grad)


def add_gradient(old: Any, grad: Any) -> Any:
    if old.array.dtype != grad.array.dtype and not dtypes.can_cast(grad.dtype, old.dtype):
        return old + grad
    return late.add_(old, grad)


def ones_like(out: Any, shape: Any, dtype: Any) -> Any:
    """The gradient that backward starts with."""
    if isinstance(out, Tensor) and ((switches.any_mode and slow_path()) or out._flags):
        return late.ones_like(out, memory_format=preserve_format)
    return new_tensor(lean.ones(shape, dtype))


def cast(grad: Any, dtype: Any) -> Any:
    return to(grad, dtypes.BY_NUMPY[dtype])


hooks.new_gradient = new_gradient
hooks.contiguous_clone = lambda self: call(clone, [self, contiguous_format])
hooks.detach = detached
FUNCTIONS_BY_NAME["sum_to_size"] = sum_to_size
hooks.copy_to_layout = copy_to_layout
hooks.assign_out = assign_out
hooks.record_out = record_out
hooks.check_out_dtype = check_dtype
hooks.first_gradient = first_gradient
hooks.add_gradient = add_gradient
hooks.ones_like = ones_like
hooks.cast = cast
hooks.to = to
hooks.is_channels_last = is_channels_last


def by_dtype(name: str) -> Any:
    target = dtypes.BY_NAME.get(name) or dtypes.ALIASES[name]

    def convert(self: Any, *, memory_format: Any = None) -> Any:
        if memory_format is None:
            return to(self, target)
        check_format(name, memory_format)
        return to(self, target, memory_format=memory_format)
    convert.__name__ = convert.__qualname__ = name
    return convert


def to_type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor's type as a string, or the tensor converted to a type."""
    if dtype is None:
        kind = hooks.layout(self).name
        return f"torch.{dict(strided='', sparse_coo='sparse.').get(kind, 'sparse_csr.')}{self.dtype.legacy}Tensor"
    if isinstance(dtype, str):
        legacy = dtype.rpartition(".")[2].removesuffix("Tensor")
        found = [d for d in (*dtypes.ALL, dtypes.complex32) if d.legacy == legacy]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found[0]
    return to(self, getattr(dtype, "dtype", dtype) if not isinstance(dtype, dtypes.dtype) else dtype)


def cpu(self: Any, *, memory_format: Any = None) -> Any:
    if memory_format is not None:
        check_format("cpu", memory_format)
    return to(self, "cpu", memory_format=memory_format)


def type_as(self: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        raise TypeError(f"type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return to(self, other.dtype)


def sum_to_sizes(self: Any, *sizes: Any, **named: Any) -> Any:
    """`sum_to_size` with the size in one argument or several."""
    if not sizes and "size" in named:
        sizes = (named["size"],)
    if not sizes:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"')
    size = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"sum_to_size(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    return sum_to_size(self, size)


for public, function in dict(
    to=to, contiguous=contiguous, type=to_type, type_as=type_as,
    cpu=cpu,
    cuda=lambda self, device=None, non_blocking=False, memory_format=None: to(self, "cuda" if device is None else device),
    sum_to_size=sum_to_sizes,
    char=by_dtype("int8"), byte=by_dtype("uint8"),
    **{n: by_dtype(n) for n in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool", "cfloat", "cdouble",
                                "chalf")},
).items():
    expose(function, name=public, plain=False)
FUNCTIONS_BY_NAME["sum_to_size"] = sum_to_size
