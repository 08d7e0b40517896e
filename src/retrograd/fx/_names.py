"""What things are called in generated code: names of values that are free, and qualified names of functions and types.

The text is PyTorch's, so functions of this library are written `torch.relu`, whatever module defines them.
"""
from __future__ import annotations

import builtins
import keyword
import re
import types
from typing import Any

import retrograd
from retrograd import Tensor

OP_TYPES = (type(retrograd.ops.aten.add), type(retrograd.ops.aten.add.Tensor))
WORDS = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | {"NoneType", "device", "inf", "nan", "torch"}


NO_LETTERS, NUMBERED = re.compile(r"\W+", re.ASCII), re.compile(r"(.*)_(\d+)")


class Namespace:
    """Hands out names: every one once.

    >>> names = Namespace()
    >>> names.create_name("relu", None), names.create_name("relu", None), names.create_name("sum", None)
    ('relu', 'relu_1', 'sum_1')
    """

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.last: dict[str, int] = {}            # stem -> the number that was added to it last
        self.names: dict[Any, str] = {}           # object -> the name that it was given

    def create_name(self, candidate: str, obj: Any) -> str:
        if obj is not None and obj in self.names:
            return self.names[obj]
        if not (candidate.isidentifier() and candidate.isascii()):
            candidate = NO_LETTERS.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = "_" + candidate
        found = NUMBERED.fullmatch(candidate) if candidate[-1].isdigit() else None
        stem, number = (candidate, 0) if found is None else (found[1], int(found[2]))
        if candidate in self.used or candidate in WORDS and not (obj is not None and builtin(candidate) is obj):
            number = max(number, self.last.get(stem, 0)) + 1
            while f"{stem}_{number}" in self.used:
                number += 1
            candidate = f"{stem}_{number}"
        self.last[stem] = max(number, self.last.get(stem, 0))
        self.used.add(candidate)
        if obj is not None:
            self.names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        self.names.setdefault(obj, name)


def builtin(name: str) -> Any:
    return getattr(builtins, name, None)


def snake_case(name: str) -> str:
    """`BatchNorm2d` as `batch_norm2d`."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def name_hint(target: Any) -> str:
    """What a value computed by `target` might be called."""
    if not callable(target):
        text = str(target)
        if text.startswith("__") and text.endswith("__"):
            text = text[2:-2]
        return snake_case(text)
    return snake_case(target.__name__ if hasattr(target, "__name__") else type(target).__name__)


# ---- qualified names
# functions of nn.functional that PyTorch has directly from its kernels
BOUND_TO_KERNELS = frozenset(["avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "log_sigmoid",
                              "logsigmoid", "one_hot", "pad", "scaled_dot_product_attention", "softplus", "softshrink"])


def qualified_name(obj: Any) -> str:
    """How generated code names a function or type.

    >>> import operator, retrograd as torch
    >>> qualified_name(operator.add), qualified_name(torch.relu), qualified_name(torch.nn.functional.relu)
    ('operator.add', 'torch.relu', 'torch.nn.functional.relu')
    """
    if isinstance(obj, OP_TYPES):
        return f"torch.ops.{obj}"
    name = getattr(obj, "__name__", None)
    if name is None:
        raise RuntimeError(f"cannot find a name for {obj!r}: it has no __name__")
    if builtin(name) is obj:
        return name
    if isinstance(obj, types.MethodDescriptorType | types.WrapperDescriptorType | types.MethodWrapperType) or (
            isinstance(obj, types.FunctionType) and vars(Tensor).get(name) is obj):
        return f"torch.Tensor.{name}"
    module = module_of(obj) or whichmodule(obj, name)
    if name == "<lambda>":
        name = re.sub(r"\W", "_", name)
    return f"{module}.{name}"


def whichmodule(obj: Any, name: str) -> str:
    raise RuntimeError(f"cannot find module for {obj!r}")


def module_of(obj: Any) -> str | None:
    """The module that PyTorch has `obj` in."""
    module = getattr(obj, "__module__", None)
    if module is None:
        return None
    if module == "_operator":
        return "operator"
    if module in ("retrograd.nn.functional", "torch.nn.functional"):
        return "torch._C._nn" if obj.__name__ in BOUND_TO_KERNELS else "torch.nn.functional"
    if module.startswith("retrograd.core") or module.startswith("retrograd.ops"):
        return "torch"
    if module == "retrograd" or module.startswith("retrograd."):
        return "torch" + module[len("retrograd"):]
    return str(module)


def is_ours(obj: Any) -> bool:
    """Whether generated code finds `obj` under `torch`."""
    if isinstance(obj, OP_TYPES):
        return True
    module = getattr(obj, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in ("torch", "retrograd")


def type_repr(obj: Any) -> str:
    """The text of an annotation.

    >>> import retrograd as torch
    >>> type_repr(torch.Tensor), type_repr(int), type_repr(list[int])
    ('torch.Tensor', 'int', 'list[int]')
    """
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{module_of(obj)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    if isinstance(obj, retrograd.dtype):
        return repr(obj)
    return re.sub(r"\bretrograd(\.core\.\w+)?\b", "torch", repr(obj))


class TorchNames(types.ModuleType):
    """`torch` for generated code that uses names which this library keeps elsewhere, such as torch._C._nn.linear."""

    def __init__(self) -> None:
        super().__init__("torch")

    def __getattr__(self, name: str) -> Any:
        return getattr(retrograd, name)


def torch_with(named: dict[str, Any]) -> Any:
    """An object on which every one of the qualified names (`torch.relu`) gives what it stands for."""
    missing = {name: obj for name, obj in named.items() if resolve(retrograd, name) is not obj}
    if not missing:
        return retrograd
    root = TorchNames()
    for name, obj in missing.items():
        here: Any = root
        *path, last = name.split(".")[1:]
        for part in path:
            inner = vars(here).get(part)
            if inner is None:
                found = getattr(here, part, None)
                inner = types.ModuleType(part)
                if found is not None:
                    inner.__dict__["__getattr__"] = lambda n, found=found: getattr(found, n)
                setattr(here, part, inner)
            here = inner
        setattr(here, last, obj)
    return root


def resolve(root: Any, name: str) -> Any:
    for part in name.split(".")[1:]:
        root = getattr(root, part, None)
    return root
