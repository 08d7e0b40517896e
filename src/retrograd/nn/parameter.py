"""Parameter and Buffer: tensors that a module registers when they are assigned to it."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from retrograd import Tensor, empty, no_grad
from retrograd.overrides import disabled_torch_function


class ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Lets a subclass of Tensor that was wrapped in a Parameter pass as one."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=ParameterMeta):
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


class BufferMeta(type(Tensor)):  # type: ignore[misc]
    """A buffer is a tensor that says so."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=BufferMeta):
    """A tensor that belongs to a module's state without being trained; `persistent` ones are in its state_dict.

    >>> import retrograd as torch
    >>> model = torch.nn.Module()
    >>> model.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(model.state_dict()), list(model.parameters())
    (['mean'], [])
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


class UninitializedTensorMixin:
    """What lazy modules give their parameters before shapes are known; retrograd has no lazy modules."""


def is_lazy(param: Any) -> bool:
    """Whether the parameter's shape is still unknown."""
    return isinstance(param, UninitializedTensorMixin)
