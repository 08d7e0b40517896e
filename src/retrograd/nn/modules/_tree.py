"""The tree of a module: its parameters, buffers and submodules, one by one and by dotted name."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrograd.nn.parameter import Parameter


class Tree:
    """Finds and iterates over the members of a module and of all modules below it."""

    _modules: dict[str, Any]

    # ---- finding by dotted name
    def get_submodule(self, target: str) -> Any:
        """The submodule at the path `target`, such as "encoder.0".

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()))
        >>> model.get_submodule("0.1")
        Tanh()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Tree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put `module` at the path `target`; with `strict` there must be one already.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        >>> model.set_submodule("1", torch.nn.Tanh())
        >>> model[1]
        Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Tree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        return parent, name, getattr(parent, name)

    def get_parameter(self, target: str) -> Any:
        """The parameter at the path `target`.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3))
        >>> model.get_parameter("0.weight").shape
        torch.Size([3, 2])
        """
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Any:
        """The buffer at the path `target`.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
        >>> model.get_buffer("0.running_mean")
        tensor([0., 0.])
        """
        parent, name, found = self._get_member(target)
        if name not in parent._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # ---- iterating
    def _named_members(self, get_members: Any, prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield path + ("." if path else "") + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters of the module and, unless `recurse` is off, of its submodules.

        >>> import retrograd as torch
        >>> sum(p.numel() for p in torch.nn.Linear(2, 3).parameters())
        9
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The same with their dotted names.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.PReLU())
        >>> [(name, tuple(p.shape)) for name, p in model.named_parameters()]
        [('0.weight', (3, 2)), ('0.bias', (3,)), ('1.weight', (1,))]
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers of the module and, unless `recurse` is off, of its submodules.

        >>> import retrograd as torch
        >>> list(torch.nn.BatchNorm1d(2).buffers())
        [tensor([0., 0.]), tensor([1., 1.]), tensor(0)]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The same with their dotted names.

        >>> import retrograd as torch
        >>> [name for name, _ in torch.nn.BatchNorm1d(2).named_buffers(prefix="norm")]
        ['norm.running_mean', 'norm.running_var', 'norm.num_batches_tracked']
        """
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The modules directly below.

        >>> import retrograd as torch
        >>> list(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh())).children())
        [ReLU(), Sequential(
          (0): Tanh()
        )]
        """
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The same with their names.

        >>> import retrograd as torch
        >>> model = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
        >>> list(model.named_children())
        [('act', ReLU())]
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Any]:
        """The module itself and all below, each once.

        >>> import retrograd as torch
        >>> shared = torch.nn.ReLU()
        >>> [type(m).__name__ for m in torch.nn.Sequential(shared, torch.nn.Sequential(shared)).modules()]
        ['Sequential', 'ReLU', 'Sequential']
        """
        for _, module in self.named_modules():
            yield module

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The same with their dotted names.

        >>> import retrograd as torch
        >>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh()))
        >>> [name for name, _ in model.named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)
