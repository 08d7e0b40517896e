"""Reads and replaces tensors and submodules of a module by dotted names: `torch.nn.utils._named_member_accessor`."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from retrograd import Tensor
from retrograd.nn import Module, Parameter

MISSING = object()


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a tensor where a module has a parameter, a buffer or an attribute `name`.

    >>> from retrograd import nn, ones
    >>> layer = nn.Linear(1, 1)
    >>> set_tensor(layer, "weight", ones(1, 1))
    >>> layer.weight
    tensor([[1.]])
    """
    check_module(module)
    if not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    check_name(name)
    setattr_quietly(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of another and return that one.

    >>> from retrograd import nn, ones
    >>> layer = nn.Linear(1, 1)
    >>> before = swap_tensor(layer, "weight", ones(1, 1))
    >>> isinstance(before, nn.Parameter), isinstance(swap_tensor(layer, "weight", before), nn.Parameter)
    (True, False)
    """
    check_module(module)
    if tensor is not MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    check_name(name)
    before: Any = MISSING
    for holder in (module._parameters, module._buffers, module.__dict__):
        if name in holder:
            before = holder[name]
            break
    else:
        if hasattr(module, name):
            before = getattr(module, name)
        elif not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    setattr_quietly(module, name, tensor)
    return before


def setattr_quietly(module: Module, name: str, tensor: Any) -> None:
    """Replace a member where it is, also a parameter by a tensor that is none."""
    if name in module._parameters:
        holder: dict[str, Any] = module._parameters
    elif name in module._buffers:
        holder = module._buffers
    elif isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
        return
    else:
        holder = module.__dict__
    if tensor is MISSING:
        holder.pop(name, None)
    else:
        holder[name] = tensor


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a submodule in the place of another and return that one."""
    check_module(module)
    check_module(submodule)
    check_name(name)
    if name not in module._modules:
        raise KeyError(f'submodule "{name}" does not exist')
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


def check_module(module: Any) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")


def check_name(name: str) -> None:
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


class NamedMemberAccessor:
    """Members of a module and of the modules below it, by names such as "layer.weight".

    >>> from retrograd import nn, zeros
    >>> accessor = NamedMemberAccessor(nn.Sequential(nn.Linear(1, 1)))
    >>> accessor.set_tensor("0.weight", zeros(1, 1))
    >>> accessor.get_tensor("0.weight")
    tensor([[0.]])
    """

    def __init__(self, module: Module) -> None:
        self.module = module

    def get_submodule(self, name: str) -> Module:
        """The submodule of that name; the module itself for the empty one."""
        found: Any = self.module
        for part in name.split(".") if name else ():
            try:
                found = getattr(found, part)
            except AttributeError as error:
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`") from error
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{part}`: {found} is not an instance of torch.nn.Module")
        return found

    def place(self, name: str) -> tuple[Module, str]:
        """The module that holds a member, and the member's name there."""
        prefix, _, last = name.rpartition(".")
        return self.get_submodule(prefix), last

    def swap_submodule(self, path: str, value: Module) -> Module:
        module, name = self.place(path)
        return swap_submodule(module, name, value)

    def get_tensor(self, name: str) -> Any:
        module, last = self.place(name)
        if not hasattr(module, last):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found: Any = getattr(module, last)
        if not isinstance(found, Tensor) and found is not None:
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Tensor) -> None:
        module, last = self.place(name)
        set_tensor(module, last, value)

    def del_tensor(self, name: str) -> None:
        module, last = self.place(name)
        self.get_tensor(name)
        delattr(module, last)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        module, last = self.place(name)
        return swap_tensor(module, last, value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        for name, value in zip(list(names), list(values), strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        return [self.swap_tensor(name, value, allow_missing=allow_missing)
                for name, value in zip(list(names), list(values), strict=True)]

    def swap_tensors_dict(self, named_tensors: dict[str, Any], allow_missing: bool = False) -> tuple[dict[str, Any], list[str]]:
        """Swap several and return those from before and the names that were missing; after an error all is as it was."""
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, tensor in named_tensors.items():
                before[name] = self.swap_tensor(name, tensor, allow_missing=True)
                if before[name] is MISSING:
                    missing.append(name)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(repr(name) for name in missing)}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among `keys`, and the keys that name no tensor."""
        given = set(keys)
        there = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(there - given), sorted(given - there)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
