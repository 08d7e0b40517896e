"""Dispatch keys, the names of the layers that a call goes through, and sets of them, numbered as in PyTorch."""
from __future__ import annotations

import enum
from collections.abc import Iterator
from threading import local
from typing import Any

from retrograd.core.tensor import FLAG_CONJ, FLAG_META, FLAG_NEG, FLAG_SPARSE, FLAG_SUBCLASS, FLAG_WRAPPER, Tensor

__all__ = ["DispatchKey", "DispatchKeySet", "keys_of"]

BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1", "PrivateUse2",
            "PrivateUse3", "Meta")
# from the last layer that a call reaches to the first
ALONE = ("Undefined", "Dense", "FPGA", "Vulkan", "Metal", "Quantized", "CustomRNGKeyId", "MkldnnCPU", "Sparse", "SparseCsr",
         "NestedTensor", "BackendSelect", "Python", "Fake", "FuncTorchDynamicLayerBackMode", "Functionalize", "Named",
         "Conjugate", "Negative", "ZeroTensor", "ADInplaceOrView", "AutogradOther", "AutogradFunctionality",
         "AutogradNestedTensor", "Tracer", "AutocastCPU", "AutocastMTIA", "AutocastXPU", "AutocastIPU", "AutocastHPU",
         "AutocastXLA", "AutocastMPS", "AutocastCUDA", "AutocastPrivateUse1", "FuncTorchBatched",
         "BatchedNestedTensor", "FuncTorchVmapMode", "Batched", "VmapMode", "FuncTorchGradWrapper", "DeferredInit",
         "PythonTLSSnapshot", "FuncTorchDynamicLayerFrontMode", "TESTING_ONLY_GenericWrapper", "TESTING_ONLY_GenericMode",
         "PreDispatch", "PythonDispatcher")
PER_BACKEND = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")
ALIASES = ("Autograd", "CompositeImplicitAutograd", "FuncTorchBatchedDecomposition", "CompositeImplicitAutogradNestedTensor",
           "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


def ordered_names() -> list[str]:
    """The names by priority: runtime keys, then those of one backend each, then aliases."""
    names = list(ALONE)
    for kind in PER_BACKEND:
        names += [kind + backend for backend in BACKENDS]
    return names + list(ALIASES)


NAMES = ordered_names()
new_enum: Any = enum.Enum          # mypy knows the members of an enumeration only from a literal
DispatchKey = new_enum("DispatchKey", {name: i for i, name in enumerate(NAMES)}, module="torch._C")


def priority(key: Any) -> int:
    """The priority of a key: higher numbers run first."""
    for kind, layer in (("Autograd", "AutogradFunctionality"), ("NestedTensor", "NestedTensor"), ("SparseCsr", "SparseCsr"),
                        ("Sparse", "Sparse"), ("Quantized", "Quantized"), ("", "Dense")):
        if key.name not in ALONE and key.name not in ALIASES and key.name.startswith(kind):
            return ALONE.index(layer)
    return ALONE.index(key.name) if key.name in ALONE else len(ALONE)


class LocalKeys(local):
    """The keys that this thread includes and excludes, independently of the tensors."""

    def __init__(self) -> None:
        self.included, self.excluded = DispatchKeySet(), DispatchKeySet()


def local_keys() -> LocalKeys:
    return LOCAL


def parse_key(name: str) -> Any:
    """The dispatch key of a name."""
    if name not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return DispatchKey[name]


class DispatchKeySet:
    """A set of dispatch keys.

    >>> keys = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutogradCPU)
    >>> keys.highestPriorityTypeId().name, keys.has(DispatchKey.Meta)
    ('AutogradCPU', False)
    """

    def __init__(self, *keys: Any) -> None:
        self.keys = frozenset(parse_key(key) if isinstance(key, str) else key
                              for given in keys for key in (given if isinstance(given, DispatchKeySet) else (given,)))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self.keys & other.keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self.keys - other.keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.keys == other.keys

    def __hash__(self) -> int:
        return hash(self.keys)

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(self.keys, key=lambda key: (priority(key), key.value)))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join([key.name for key in self])})"

    def has(self, key: Any) -> bool:
        return key in self.keys

    def add(self, key: Any) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        return DispatchKeySet(*(self.keys - {key}))

    def highestPriorityTypeId(self) -> Any:
        """The key that a call reaches first."""
        return max(self.keys, key=lambda key: (priority(key), key.value)) if self.keys else DispatchKey["Undefined"]

    def raw_repr(self) -> int:
        """The set as an integer bit mask."""
        return sum(1 << key.value for key in self.keys)

    @staticmethod
    def from_raw_repr(bits: int) -> DispatchKeySet:
        """The set for an integer bit mask."""
        return DispatchKeySet(*[key for key in DispatchKey if bits >> key.value & 1])


LOCAL = LocalKeys()


def keys_of(tensor: Any) -> DispatchKeySet:
    """The dispatch keys of a tensor."""
    flags = tensor._flags
    kind = "Sparse" if flags & FLAG_SPARSE else ""
    if kind and str(tensor.layout) != "torch.sparse_coo":
        kind = "SparseCsr"
    backend = "Meta" if flags & FLAG_META else "CPU"
    names = [kind + backend]
    if not tensor.is_inference():
        names += ["ADInplaceOrView", f"Autograd{backend}"]
    names += [f"Autocast{backend}"] if backend == "CPU" else []
    names += [name for flag, name in ((FLAG_CONJ, "Conjugate"), (FLAG_NEG, "Negative")) if flags & flag]
    plain: Any = Tensor
    if flags & FLAG_SUBCLASS and type(tensor).__torch_dispatch__ is not plain.__torch_dispatch__:
        names += ["Python", "PythonTLSSnapshot"]
    if flags & FLAG_WRAPPER:
        names = ["FuncTorchBatched" if hasattr(tensor._extra.batch, "dim") else "FuncTorchGradWrapper"]
    return DispatchKeySet(*[DispatchKey[name] for name in names])
