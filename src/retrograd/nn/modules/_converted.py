"""What is done to all parameters and buffers of a module: other dtypes and devices, modes, gradients."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import retrograd as torch
from retrograd import Tensor
from retrograd.nn.modules._tree import Tree
from retrograd.nn.parameter import Parameter

COMPLEX_WARNING = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not work as "
    "expected when using complex tensors as parameters or buffers. Please file an issue at https://github.com/pytorch/pytorch/"
    "issues/new?template=bug-report.yml if a complex module does not work as expected.")


class Converted(Tree):
    """Changes a module and all modules below it."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _call_impl: Callable[..., Any]
    _get_name: Callable[[], str]

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on every submodule, the deepest first, and on the module itself.

        >>> import retrograd as torch
        >>> def zero_bias(module):
        ...     if isinstance(module, torch.nn.Linear):
        ...         torch.nn.init.zeros_(module.bias)
        >>> torch.nn.Sequential(torch.nn.Linear(2, 2)).apply(zero_bias)[0].bias
        Parameter containing:
        tensor([0., 0.], requires_grad=True)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace the data of all parameters, their gradients and all buffers by what `fn` makes of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        swaps = torch.__future__.get_swap_module_params_on_conversion()
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with torch.no_grad():
                made = fn(param)
            fits = made.is_meta is param.is_meta and made.layout is param.layout and not (
                torch.__future__.get_overwrite_module_params_on_conversion())
            if swaps:
                self._swap(name, param, Parameter(made, param.requires_grad))
            elif fits:
                param.data = made
            else:       # a tensor cannot take such data; there is a new parameter in its place
                param = self._parameters[name] = Parameter(made, param.requires_grad)
            if grad is None:
                continue
            with torch.no_grad():
                made = fn(grad)
            param.grad = None                       # so that it may have another dtype than the parameter had
            if swaps:
                self._swap(f"{name}.grad", grad, made.requires_grad_(grad.requires_grad))
                param.grad = grad
            elif fits:
                grad.data = made
                param.grad = grad
            else:
                param.grad = made.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, old: Any, new: Any) -> None:
        """Exchange the contents of a tensor: every reference to it sees the new one."""
        try:
            torch.utils.swap_tensors(old, new)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating point (and complex) parameters and buffers to another dtype, and all to another device.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            if dtype.is_complex:
                warnings.warn(COMPLEX_WARNING, stacklevel=2)

        def convert(t: Any) -> Any:
            wanted = dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else t.dtype
            if memory_format is not None and t.ndim in (4, 5):
                return t.to(device or t.device, wanted, non_blocking, memory_format=memory_format)
            return t.to(device or t.device, wanted, non_blocking)

        try:
            return self._apply(convert)
        except NotImplementedError as error:
            if str(error).startswith("Cannot copy out of meta tensor; no data!"):
                raise NotImplementedError(f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
                                          "moving module from meta to a different device.") from None
            raise

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to `device` without copying values.

        >>> import retrograd as torch
        >>> outline = torch.nn.Linear(2, 3, device="meta")
        >>> outline.to_empty(device="cpu").weight.device
        device(type='cpu')
        """
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to `dst_type`.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).type(torch.float16).weight.dtype
        torch.float16
        """
        return self._apply(lambda t: t.type(dst_type))

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that processes share.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda t: t.share_memory_())

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).double().float().weight.dtype
        torch.float32
        """
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).double().weight.dtype
        torch.float64
        """
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).half().weight.dtype
        torch.float16
        """
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).bfloat16().weight.dtype
        torch.bfloat16
        """
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the cpu.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).cpu().weight.device
        device(type='cpu')
        """
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a CUDA device.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).cuda()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with CUDA enabled
        """
        return self._move("cuda", device)

    def xpu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an XPU.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).xpu()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with XPU enabled
        """
        return self._move("xpu", device)

    def ipu(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an IPU.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).ipu()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with IPU enabled
        """
        return self._move("ipu", device)

    def mtia(self, device: Any = None) -> Self:
        """Move all parameters and buffers to an MTIA device.

        >>> import retrograd as torch
        >>> torch.nn.Linear(2, 2).mtia()
        Traceback (most recent call last):
            ...
        AssertionError: Torch not compiled with MTIA enabled
        """
        return self._move("mtia", device)

    def _move(self, kind: str, device: Any) -> Self:
        place = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else device
        return self._apply(lambda t: t.to(place))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile what calling the module does, as `torch.compile` compiles a function.

        >>> import retrograd as torch
        >>> layer = torch.nn.ReLU()
        >>> layer.compile()
        >>> layer(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    def train(self, mode: bool = True) -> Self:
        """Set whether the module and all below are training.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Dropout()).eval()
        >>> model.train()[0].training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`.

        >>> import retrograd as torch
        >>> torch.nn.Dropout().eval()(torch.ones(3))
        tensor([1., 1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients of the parameters are wanted.

        >>> import retrograd as torch
        >>> [p.requires_grad for p in torch.nn.Linear(2, 2).requires_grad_(False).parameters()]
        [False, False]
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros.

        >>> import retrograd as torch
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> model(torch.ones(2)).backward()
        >>> model.weight.grad
        tensor([[1., 1.]])
        >>> model.zero_grad()
        >>> print(model.weight.grad)
        None
        """
        if getattr(self, "_is_replica", False):
            warnings.warn("Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                          "copied (in a differentiable manner) from the original module. This means they are not leaf nodes "
                          "in autograd and so don't accumulate gradients. If you need gradients in your forward method, "
                          "consider using autograd.grad instead.", stacklevel=2)
        for param in self.parameters():
            if param.grad is not None:
                if set_to_none:
                    param.grad = None
                    continue
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()


PYTHON_TYPES: dict[Any, Any] = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def is_dtype(value: Any) -> bool:
    return isinstance(value, torch.dtype) or (isinstance(value, type) and value in PYTHON_TYPES)


def parse_to(args: Any, kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, non_blocking and memory format that a call of `to` means."""
    rest, given = list(args), dict(kwargs)
    device, dtype, memory_format = given.pop("device", None), given.pop("dtype", None), given.pop("memory_format", None)
    non_blocking, tensor = given.pop("non_blocking", False), given.pop("tensor", None)
    given.pop("copy", None)
    wrong = bool(given) or not (memory_format is None or isinstance(memory_format, torch.memory_format))
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    elif rest and is_dtype(rest[0]):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, torch.device))):
        device = rest.pop(0)
        if rest and (rest[0] is None or is_dtype(rest[0])):
            dtype = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        non_blocking = rest.pop(0)
        if rest and isinstance(rest[0], bool):
            rest.pop(0)
    if wrong or rest:
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        tail = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
        raise TypeError(f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                        f" * (torch.device device = None, torch.dtype dtype = None, {tail}"
                        f" * (torch.dtype dtype, {tail} * (Tensor tensor, {tail}")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return None if device is None else torch.device(device), PYTHON_TYPES.get(dtype, dtype), non_blocking, memory_format
