"""Parametrizations: a parameter computed by modules from other tensors each time it is read.

NOTE [How a parametrized module is made]
The module gets a class of its own, derived from the one it had, in which the parameter's name is a property. Reading it
runs the chain of parametrizations in `module.parametrizations[name]` on the original tensors that are kept there; writing
it runs their right inverses.
"""
from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from retrograd import Tensor, no_grad
from retrograd.nn.modules.container import ModuleDict, ModuleList
from retrograd.nn.parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]


class Cache:
    """Values of parametrized tensors, by module and name, while any `cached` block is open."""

    depth = 0
    values: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor at most once inside the block.

    >>> import retrograd as torch
    >>> from retrograd.nn.utils import parametrize
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    >>> layer.weight is layer.weight
    False
    """
    Cache.depth += 1
    try:
        yield
    finally:
        Cache.depth -= 1
        if not Cache.depth:
            Cache.values = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, with the tensors they start from: `original`, or `original0`, `original1`, ...

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
    ['original0', 'original1']
    """

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        self._keep_originals(original, self._inverted(original))
        if not unsafe:
            made = self()
            if not isinstance(made, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            for what, before, after in (("dtype", dtype, made.dtype), ("shape", shape, made.shape)):
                if before != after:
                    raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` "
                                     f"flag is enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}")

    def _inverted(self, value: Any) -> Any:
        """What the chain starts from to give `value`; a missing right inverse counts as the identity."""
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        continue
        return value

    def _keep_originals(self, original: Any, new: Any) -> None:
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                             f"Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for what in ("dtype", "device"):
                before, after = getattr(original, what), getattr(new, what)
                if before != after:
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the "
                                     f"{what}.\noriginal.{what}: {before}\nright_inverse(original).{what}: {after}")
            with no_grad():         # the parameter stays the object that optimizers know
                original.set_(new)
            register(self, "original", original)
            return
        for i, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                                 f"{i} of the sequence with type {type(tensor).__name__}.")
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))

    def right_inverse(self, value: Any) -> None:
        """Change the originals so that the chain gives `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has "
                                     f"dtype {self.original.dtype}")
                self.original.set_(value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence "
                                 f"of length {len(value)}.")
            for i, tensor in enumerate(value):
                if not isinstance(tensor, Tensor):
                    raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got element "
                                     f"{i} of type {type(tensor).__name__}.")
                kept = getattr(self, f"original{i}")
                if kept.dtype != tensor.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has "
                                     f"dtype {kept.dtype}")
                kept.set_(tensor)

    def forward(self) -> Any:  # type: ignore[override]
        first, *rest = self._modules.values()
        x = first(self.original) if self.is_tensor else first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            x = module(x)
        return x


def register(module: Any, name: str, tensor: Any) -> None:
    """Make `tensor` a parameter or a buffer of `module`, whichever it is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def give_own_class(module: Any) -> None:
    """See NOTE [How a parametrized module is made]."""
    before = type(module)

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        made = memo[id(self)] = self.__new__(type(self))
        made.__dict__ = deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
            if hasattr(self, slot):
                setattr(made, slot, deepcopy(getattr(self, slot), memo))
        return made

    def refuse(self: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                           "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-"
                           "checkpoint-for-inference-and-or-resuming-training")

    members: dict[str, Any] = {"__getstate__": refuse}
    if not hasattr(before, "__deepcopy__"):
        members["__deepcopy__"] = copied
    module.__class__ = type(f"Parametrized{before.__name__}", (before,), members)


def add_property(module: Any, name: str) -> None:
    """Make `name` a property of the module's own class."""
    def read(self: Any) -> Any:
        if not Cache.depth:
            return self.parametrizations[name]()
        key = (id(module), name)
        if key not in Cache.values:
            Cache.values[key] = self.parametrizations[name]()
        return Cache.values[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def check_addition(module: Any, name: str, parametrization: Any) -> None:
    """One more parametrization, and its inverse, must keep shape and dtype."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(after, what) != getattr(before, what):
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag "
                             f"is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                             f"parametrization(module.{name}).{what}: {getattr(after, what)}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(before, what):
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                             f"module.{name}, unless the `unsafe` flag is enabled.\n"
                             f"module.{name}.{what}: {getattr(before, what)}\n"
                             f"returned {what}: {getattr(back, what)}")


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Compute the module's parameter `tensor_name` by `parametrization` from now on; returns the module.

    >>> import retrograd as torch
    >>> from retrograd.nn.utils.parametrize import register_parametrization
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            check_addition(module, tensor_name, parametrization)
        chain = module.parametrizations[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            give_own_class(module)
            module.parametrizations = ModuleDict()
        add_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module, or one of its tensors, is parametrized.

    >>> import retrograd as torch
    >>> is_parametrized(torch.nn.Linear(2, 2))
    False
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make the tensor an ordinary one again, with its present value or with that of its original.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
    >>> type(remove_parametrizations(layer, "weight")).__name__
    'Linear'
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class the module had before it was parametrized.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
    >>> type(layer).__name__, type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give `to_module` the parametrizations of `from_module`, and the tensors they start from.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 2))
    >>> other = transfer_parametrizations_and_params(layer, torch.nn.Linear(2, 2))
    >>> torch.equal(layer.weight, other.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        chain = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in chain:
            register_parametrization(to_module, name, parametrization)
        made = to_module.parametrizations[name]
        for original in ["original"] if chain.is_tensor else [f"original{i}" for i in range(chain.ntensors)]:
            setattr(made, original, getattr(chain, original))
    return to_module
