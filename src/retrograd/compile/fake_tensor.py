"""Fake tensors: shapes, dtypes and devices without data; ops on them infer those of their results.

A FakeTensor is a meta tensor that reports the device of the real tensor. One that was made from
numbers that the program wrote down keeps them as its `constant`; small results of ops on constants alone are constants too.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

from retrograd.core import dtypes
from retrograd.core.device import CPU
from retrograd.core.device import device as make_device
from retrograd.core.modes import TorchDispatchMode, current_modes, no_dispatch
from retrograd.core.opdef import find_packet
from retrograd.core.subclass import TorchFunctionMode, instance
from retrograd.core.tags import Tag
from retrograd.core.tensor import Tensor
from retrograd.nn import Parameter

CONSTANT_NUMEL_LIMIT = 1


class UnsupportedFakeTensorException(RuntimeError):
    """There is no fake tensor like a tensor."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """An op has operands on several devices."""


class MetadataMismatchError(RuntimeError):
    """A fake result is not like the real one."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AboutOp(RuntimeError):
    """Something that an op cannot do without data."""

    def __init__(self, func: Any) -> None:
        super().__init__(str(func))
        self.func = func


class UnsupportedOperatorException(AboutOp):
    """A custom operator does not say what its results are like."""


class DataDependentOutputException(AboutOp):
    """An op reads a value that a fake tensor does not have."""


class DynamicOutputShapeException(AboutOp):
    """The result shape of an op depends on values that a fake tensor does not have."""


class FakeTensor(Tensor):
    """A tensor without data.

    >>> import retrograd as torch
    >>> with FakeTensorMode() as mode:
    ...     torch.ones(100, 200) @ torch.ones(200, 3)
    FakeTensor(..., size=(100, 3))
    """

    fake_mode: FakeTensorMode
    fake_device: Any
    constant: Any

    @staticmethod
    def __new__(cls, fake_mode: FakeTensorMode, elem: Any, device: Any, constant: Any = None) -> FakeTensor:
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        device = make_device(device)
        if not fake_mode.allow_meta and device.type == "meta":
            raise AssertionError("device.type must not be 'meta' when allow_meta is False")
        made = instance(cls, elem)
        made.fake_mode, made.fake_device, made.constant = fake_mode, numbered(device), constant
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @property
    def device(self) -> Any:
        return self.fake_device

    @property
    def is_cpu(self) -> bool:
        return self.fake_device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        return self.fake_device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        return self.fake_device.type == "meta"

    @classmethod
    def from_tensor(cls, t: Any, fake_mode: FakeTensorMode) -> Any:
        """A fake tensor of a mode that is like `t`."""
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        notes = [f"size={tuple(self.shape)}"]
        if str(self.fake_device) != "cpu":
            notes.insert(0, f"device='{self.fake_device}'")
        if self.dtype.is_floating_point and str(self.dtype) != "torch.float32" or not self.dtype.is_floating_point:
            notes.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            notes.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            notes.append("requires_grad=True")
        text = f"FakeTensor(..., {', '.join(notes)})"
        return f"Parameter({text})" if isinstance(self, Parameter) else text

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> Any:
        if self.constant is not None:
            with no_dispatch():
                return self.constant.tolist()
        raise DataDependentOutputException("aten._local_scalar_dense.default")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next(t.fake_mode for t in tensors_in((args, kwargs or {})) if isinstance(t, FakeTensor))
        return mode.run(func, args, kwargs or {})


class FakeTensorConverter:
    """Makes fake tensors like real ones, the same one for the same tensor."""

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.tensor_memo: dict[int, tuple[Any, Any]] = {}     # id of a tensor -> a weak reference to it, and the fake one

    def known(self, t: Any) -> Any:
        """The fake tensor that was made for `t`, if there is one."""
        found = self.tensor_memo.get(id(t))
        return found[1] if found is not None and found[0]() is t else None

    def keep(self, t: Any, fake: Any) -> None:
        key = id(t)
        self.tensor_memo[key] = (ref(t, lambda gone: self.tensor_memo.pop(key, None)), fake)

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Any, make_constant: bool = False, **options: Any) -> Any:
        """A fake tensor like `t`; with `make_constant` one that knows its values."""
        found = None if make_constant else self.known(t)
        if found is None:
            found = self.made(fake_mode, t, make_constant)
            if not make_constant:
                self.keep(t, found)
        return found

    def from_meta_and_device(self, fake_mode: FakeTensorMode, t: Any, device: Any) -> FakeTensor:
        """A fake tensor on `device` out of a meta tensor."""
        if t.device.type != "meta":
            raise AssertionError(f"tensor's device must be `meta`, got {t.device.type} instead")
        found = self.known(t)
        if found is None:
            found = FakeTensor(fake_mode, t, device)
            self.keep(t, found)
        return found  # type: ignore[no-any-return]

    def made(self, mode: FakeTensorMode, t: Any, make_constant: bool) -> Any:
        if t.is_quantized:
            raise UnsupportedFakeTensorException("quantized nyi in meta tensors")
        base = t._base if str(t.layout) == "torch.strided" else None
        if base is not None and base.dtype is t.dtype and not make_constant and not isinstance(t, Parameter):
            whole = self.from_real_tensor(mode, base)
            with mode:
                fake = whole.as_strided(t.shape, t.stride(), t.storage_offset())
        else:
            with no_dispatch():
                elem = like_on_meta(t)
            fake = FakeTensor(mode, elem, t.device, t if make_constant else None)
        if t.requires_grad and t.is_leaf:
            fake.requires_grad_()
        return Parameter(fake, t.requires_grad) if isinstance(t, Parameter) else fake


def like_on_meta(t: Any) -> Any:
    """A meta tensor with the geometry of `t`, in memory as large as its."""
    plain = t.detach()
    made = plain.to("meta")
    if str(t.layout) != "torch.strided" or t.is_conj() or t.is_neg():
        return made
    needed = plain.storage_offset() + sum([(n - 1) * step for n, step in zip(plain.shape, plain.stride(), strict=True)]) + 1
    whole = plain.new_empty(max(needed if plain.numel() else 0, plain.storage_offset()), device="meta")
    return whole.as_strided(plain.shape, plain.stride(), plain.storage_offset()).detach()


class FakeTensorMode(TorchDispatchMode):
    """A scope in which new tensors are fake, and ops on fake tensors give fake ones.

    >>> import retrograd as torch
    >>> mode = FakeTensorMode()
    >>> fake = mode.from_tensor(torch.ones(5, 2))
    >>> fake.t().shape, fake.sum().device
    (torch.Size([2, 5]), device(type='cpu'))
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
                 static_shapes: bool | None = None, export: bool = False, allow_meta: bool = True) -> None:
        self.allow_non_fake_inputs, self.allow_meta = allow_non_fake_inputs, allow_meta
        self.allow_fallback_kernels = allow_fallback_kernels
        self.shape_env, self.static_shapes = shape_env, True
        self.fake_tensor_converter = FakeTensorConverter()

    def from_tensor(self, tensor: Any, *, static_shapes: bool | None = None, **options: Any) -> Any:
        """A fake tensor like `tensor`."""
        if isinstance(tensor, FakeTensor) and tensor.fake_mode is self:
            return tensor
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op without data."""
        tensors = tensors_in((args, kwargs))
        for t in tensors:
            if isinstance(t, FakeTensor) and t.fake_mode is not self:
                raise AssertionError(f"Mixing fake modes NYI x.fake_mode={t.fake_mode} vs self={self}")
        if "lifts" in getattr(func, "traits", ()) and tensors and not isinstance(tensors[0], FakeTensor):
            return self.fake_tensor_converter.from_real_tensor(self, tensors[0], make_constant=True)
        known = bool(tensors) and all([isinstance(t, FakeTensor) and t.constant is not None for t in tensors])
        if tensors and "reads_values" in getattr(func, "traits", ()):
            if known:
                with no_dispatch():
                    return func(*changed(args, constant_of), **changed(kwargs, constant_of))
            raise DataDependentOutputException(func)
        if tensors and getattr(func, "meta", None) == "values":
            raise DynamicOutputShapeException(func)
        if func.name == "index" and any([t.dtype in MASKS for t in tensors[1:]]):
            raise DynamicOutputShapeException(find_packet("nonzero").default)  # type: ignore[union-attr]
        if not self.allow_non_fake_inputs:
            self.check(func, tensors, args)
        device = self.common_device(func, tensors)
        if "device" in kwargs or not tensors:
            device = kwargs.get("device") or device
            kwargs = {**kwargs, "device": make_device("meta")}
        written: dict[int, Any] = {}          # plain tensors that an op may write to -> the fake ones

        def plain(t: Any) -> Any:
            made = meta_of(t)
            written[id(made)] = t
            return made
        mutable = func._schema.is_mutable
        with no_dispatch():
            change = plain if mutable else meta_of
            given, named = changed(args, change), changed(kwargs, change)
            result = self.inferred(func, given, named)
            if Tag.inplace_view in func.tags:
                func(*args, **kwargs)             # the geometry of the fake tensor itself
            for t in tensors_in((given, named)) if mutable else ():
                fake = written[id(t)]
                if tuple(fake.shape) != tuple(t.shape):       # an output that was resized
                    fake.resize_(tuple(t.shape))
        found = changed(result, lambda t: written[id(t)] if id(t) in written else FakeTensor(self, t, device))
        self.keep_constants(func, args, kwargs, found, known)
        return found

    def inferred(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What an op gives on meta tensors."""
        try:
            return func(*args, **kwargs)
        except NotImplementedError as error:
            if func.namespace in BUILT_IN:
                raise
            if func.has_known_results():
                return func.known_results(args, kwargs)
            raise UnsupportedOperatorException(func) from error

    def keep_constants(self, func: Any, args: Any, kwargs: Any, found: Any, known: bool) -> None:
        """Compute small results of constants, and forget constants that are written over with values unknown."""
        results = tensors_in(found)
        if known and not getattr(func, "random", False) and all([t.numel() <= CONSTANT_NUMEL_LIMIT for t in results]):
            with no_dispatch():
                values = tensors_in(func(*changed(args, constant_of), **changed(kwargs, constant_of)))
            for t, value in zip(results, values, strict=True):
                t.constant = value
        elif func._schema.is_mutable:
            for t in results:
                t.constant = None

    def common_device(self, func: Any, tensors: list[Any]) -> Any:
        """The device of the results: that of the operands, of which numbers on the cpu may be elsewhere."""
        fakes = [t for t in tensors if isinstance(t, FakeTensor)]
        apart = [t for t in fakes if t.dim() or t.fake_device != CPU] or fakes
        if len({t.fake_device for t in apart}) > 1 and "any_device" not in getattr(func, "traits", ()):
            first, second = list(dict.fromkeys([str(t.fake_device) for t in apart]))[:2]
            raise FakeTensorDeviceMismatchError("Expected all tensors to be on the same device, but found at least two "
                                                f"devices, {first} and {second}!")
        return apart[0].fake_device if apart else CPU

    def check(self, func: Any, tensors: list[Any], args: Any) -> None:
        if any([not isinstance(t, FakeTensor) and t.dim() for t in tensors]):
            shown = ", ".join([repr(a) if isinstance(a, FakeTensor) else f"tensor([...], size={tuple(a.shape)})"
                               if isinstance(a, Tensor) else repr(a) for a in args])
            raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                                 f"'allow_non_fake_inputs'. Found in {func}({shown})")


MASKS = (dtypes.bool_, dtypes.uint8)
BUILT_IN = ("aten", "prims", "prim")


class FakeCopyMode(TorchFunctionMode):
    """A scope in which copies of real tensors, and of modules with them, are fake.

    >>> import copy
    >>> import retrograd as torch
    >>> with FakeCopyMode(FakeTensorMode()):
    ...     copy.deepcopy(torch.ones(2))
    FakeTensor(..., size=(2,))
    """

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return self.fake_mode.from_tensor(args[0], **kwargs)
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor)
            return memo[id(tensor)]
        return func(*args, **kwargs)


def numbered(device: Any) -> Any:
    """A device with its index: an accelerator's is the current one if none is said."""
    return device if device.index is not None or device.type in ("cpu", "meta") else make_device(device.type, 0)


def maybe_get_fake_mode(t: Any) -> FakeTensorMode | None:
    """The mode of a fake tensor, or of one that is around fake tensors; None for others.

    >>> maybe_get_fake_mode(3) is None
    True
    """
    if isinstance(t, FakeTensor):
        return t.fake_mode
    if isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__"):
        modes = [maybe_get_fake_mode(getattr(t, name)) for name in t.__tensor_flatten__()[0]]
        if any([mode is not modes[0] for mode in modes]):
            raise AssertionError("All inner tensor modes must be the same")
        return modes[0] if modes else None
    return None


def is_fake(x: Any) -> bool:
    """Whether a tensor is fake, or is around fake ones."""
    return maybe_get_fake_mode(x) is not None


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost mode in force."""
    return next((mode for mode in reversed(current_modes()) if isinstance(mode, FakeTensorMode)), None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The mode that is in force or that the tensors among `inputs` have; they must agree.

    >>> with FakeTensorMode() as mode:
    ...     detect_fake_mode() is mode
    True
    """
    found = [mode for mode in current_modes() if isinstance(mode, FakeTensorMode)][::-1]
    found += [t.fake_mode for t in tensors_in(inputs if isinstance(inputs, (list, tuple, dict, Tensor)) else ())
              if isinstance(t, FakeTensor)]
    for i, mode in enumerate(found):
        if mode is not found[0]:
            raise AssertionError(f"fake mode ({found[0]}) from active fake mode 0 doesn't match mode ({mode}) from fake tensor "
                                 f"input {i}")
    return found[0] if found else None


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """A scope in which new tensors are real; it gives the mode that was in force.

    >>> import retrograd as torch
    >>> with FakeTensorMode(), unset_fake_temporarily():
    ...     torch.ones(2)
    tensor([1., 1.])
    """
    mode = active_fake_mode()
    with no_dispatch():
        yield mode


def constant_of(t: Any) -> Any:
    return t.constant


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return [t for item in value.values() for t in tensors_in(item)] if isinstance(value, dict) else []


def changed(value: Any, change: Any) -> Any:
    """Nested values with every tensor replaced."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        items = [changed(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return {key: changed(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def meta_of(t: Any) -> Any:
    """The plain meta tensor of a fake one; of another, one like it."""
    if isinstance(t, FakeTensor):
        return instance(Tensor, t)
    return t.detach().to("meta")
