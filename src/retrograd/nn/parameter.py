"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd import Tensor, empty, no_grad
from retrograd.overrides import disabled_torch_function


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Lets a subclass of Tensor that was wrapped in a Parameter pass as one."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is to be trained: it requires grad, and a module it is assigned to lists it.

    >>> import retrograd as torch
    >>> Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # Ops on parameters are ordinary: nothing is overridden, and results are plain tensors.
    __torch_function__ = disabled_torch_function

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        made = data.detach().requires_grad_(requires_grad)
        if type(made) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(made).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation.")
        made._is_param = True
        return made

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        """`__new__` has done everything."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        with no_grad():
            made = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild_parameter, (self.data, self.requires_grad, OrderedDict(), dict(vars(self)))


def rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any, attributes: dict[str, Any]) -> Any:
    """Used by pickle."""
    made = Parameter(data, requires_grad)
    made._backward_hooks = backward_hooks
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """A buffer is a tensor that says so."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state without being trained; `persistent` ones are in its state_dict.

    >>> import retrograd as torch
    >>> model = torch.nn.Module()
    >>> model.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(model.state_dict()), list(model.parameters())
    (['mean'], [])
    """

    persistent: bool
    _is_buffer: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet: it has a dtype and a device, and becomes an ordinary one by `materialize`."""

    cls_to_become: Any
    # What may be asked of it: questions about the dtype, and conversions.
    _allowed_methods = (Tensor.__hash__, Tensor.size, Tensor.copy_, Tensor.is_complex, Tensor.is_floating_point, Tensor.half,
                        Tensor.float, Tensor.double, Tensor.char, Tensor.short, Tensor.int, Tensor.long, Tensor.cuda,
                        Tensor.cpu, Tensor.to, Tensor.get_device)

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or tensor of this shape, with values that are not set.

        >>> weight = UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, weight.shape
        ('Parameter', torch.Size([2, 3]))
        """
        now = self.data
        self.data = empty(shape, device=now.device if device is None else device, dtype=now.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
                           "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
                           "`forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self) -> Any:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
                           "parameters before calling `module.share_memory()`.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in cls._allowed_methods or getattr(func, "__name__", "") in ("__get__", "__set__"):
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        name = getattr(func, "__name__", "")
        shown = f"<method {name!r} of 'torch._C.TensorBase' objects>" if getattr(Tensor, name, None) is func else func
        raise ValueError(f"Attempted to use an uninitialized parameter in {shown}. This error happens when you are using a "
                         f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
                         "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch "
                         "functions")


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape a lazy module learns from its first input.

    >>> UninitializedParameter()
    <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        """`__new__` has done everything."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class MaterializedBuffer(Tensor):
    """What an UninitializedBuffer becomes where Python cannot make it a Tensor: a Tensor in all but its class."""

    __torch_function__ = disabled_torch_function


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape a lazy module learns from its first input.

    >>> buffer = UninitializedBuffer()
    >>> buffer.materialize((2,))
    >>> buffer.shape
    torch.Size([2])
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        made = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        """`__new__` has done everything."""

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of this shape, with values that are not set."""
        try:
            super().materialize(shape, device, dtype)
        except TypeError:                       # an instance cannot take the class of a compiled type
            self.__class__ = MaterializedBuffer  # type: ignore[assignment]


def is_lazy(param: Any) -> bool:
    """Whether the parameter's shape is still unknown.

    >>> is_lazy(UninitializedParameter()), is_lazy(Parameter())
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)
