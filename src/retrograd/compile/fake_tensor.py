"""Fake tensors: shapes, dtypes and devices without data; ops on them infer those of their results.

A FakeTensor is a meta tensor that reports the device of the real tensor.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.device import CPU
from retrograd.core.device import device as make_device
from retrograd.core.modes import TorchDispatchMode, no_dispatch
from retrograd.core.subclass import instance
from retrograd.core.tags import Tag
from retrograd.core.tensor import Tensor
from retrograd.nn import Parameter


class DataDependentOutputException(RuntimeError):
    """An op reads a value that a fake tensor does not have."""

    def __init__(self, func: Any) -> None:
        super().__init__(str(func))
        self.func = func


class DynamicOutputShapeException(RuntimeError):
    """The result shape of an op depends on values that a fake tensor does not have."""

    def __init__(self, func: Any) -> None:
        super().__init__(str(func))
        self.func = func


class FakeTensor(Tensor):
    """A tensor without data.

    >>> import retrograd as torch
    >>> with FakeTensorMode() as mode:
    ...     torch.ones(100, 200) @ torch.ones(200, 3)
    FakeTensor(..., size=(100, 3))
    """

    fake_mode: FakeTensorMode
    fake_device: Any

    @staticmethod
    def __new__(cls, fake_mode: FakeTensorMode, elem: Any, device: Any) -> FakeTensor:
        made = instance(cls, elem)
        made.fake_mode, made.fake_device = fake_mode, make_device(device)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @property
    def device(self) -> Any:
        return self.fake_device

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
        return f"FakeTensor(..., {', '.join(notes)})"

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> Any:
        raise DataDependentOutputException("aten._local_scalar_dense.default")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next(t.fake_mode for t in tensors_in((args, kwargs or {})) if isinstance(t, FakeTensor))
        return mode.run(func, args, kwargs or {})


class FakeTensorMode(TorchDispatchMode):
    """A scope in which new tensors are fake, and ops on fake tensors give fake ones.

    >>> import retrograd as torch
    >>> mode = FakeTensorMode()
    >>> fake = mode.from_tensor(torch.ones(5, 2))
    >>> fake.t().shape, fake.sum().device
    (torch.Size([2, 5]), device(type='cpu'))
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
                 static_shapes: bool | None = None, export: bool = False) -> None:
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.static_shapes = shape_env, True

    def from_tensor(self, tensor: Any, *, static_shapes: bool | None = None, **options: Any) -> Any:
        """A fake tensor like `tensor`."""
        if isinstance(tensor, FakeTensor):
            return tensor
        with no_dispatch():
            elem = tensor.detach().to("meta")
        fake = FakeTensor(self, elem, tensor.device)
        if tensor.requires_grad and tensor.is_leaf:
            fake.requires_grad_()
        if isinstance(tensor, Parameter):
            return Parameter(fake, tensor.requires_grad)
        return fake

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op without data."""
        tensors = tensors_in((args, kwargs))
        if tensors and "reads_values" in getattr(func, "traits", ()):
            raise DataDependentOutputException(func)
        if tensors and getattr(func, "meta", None) == "values":
            raise DynamicOutputShapeException(func)
        if not self.allow_non_fake_inputs:
            self.check(func, tensors, args)
        device = next((t.fake_device for t in tensors if isinstance(t, FakeTensor)), CPU)
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
            result = func(*given, **named)
            if Tag.inplace_view in func.tags:
                func(*args, **kwargs)             # the geometry of the fake tensor itself
            for t in tensors_in((given, named)) if mutable else ():
                fake = written[id(t)]
                if tuple(fake.shape) != tuple(t.shape):       # an output that was resized
                    fake.resize_(tuple(t.shape))
        return changed(result, lambda t: written[id(t)] if id(t) in written else FakeTensor(self, t, device))

    def check(self, func: Any, tensors: list[Any], args: Any) -> None:
        if any([not isinstance(t, FakeTensor) and t.dim() for t in tensors]):
            shown = ", ".join([repr(a) if isinstance(a, FakeTensor) else f"tensor([...], size={tuple(a.shape)})"
                               if isinstance(a, Tensor) else repr(a) for a in args])
            raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                                 f"'allow_non_fake_inputs'. Found in {func}({shown})")


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
