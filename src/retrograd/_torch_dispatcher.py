"""PyTorch's private view of its dispatcher, `torch._C._dispatch_*`: the ops and kernels that there are, the keys in force."""
from __future__ import annotations

import enum
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.core import api, modes, subclass
from retrograd.core.dispatch_keys import ALIASES, ALONE, BACKENDS, DispatchKey, DispatchKeySet, keys_of, local_keys, priority
from retrograd.core.dispatch_keys import parse_key as named_key
from retrograd.core.modes import Guard, no_dispatch
from retrograd.core.opdef import OPS, OpDef, Packet, find_packet
from retrograd.core.state import set_flag, set_grad_enabled, tls
from retrograd.core.subclass import DisableTorchFunctionSubclass
from retrograd.core.tensor import FLAG_CONJ, FLAG_NEG, FLAG_SPARSE, FLAG_SUBCLASS, FLAG_WRAPPER, Tensor
from retrograd.library import replaced
from retrograd.library.higher_order import HigherOrderOperator
from retrograd.library.layers import below_autograd
from retrograd.ops.load import load_all
from retrograd.transforms.base import only_outer


# ---- keys
def key_of(name: Any) -> Any:
    """A key by name, or the key itself."""
    return named_key(name) if isinstance(name, str) else name


def parse_key(name: str) -> Any:
    """A key by name, None if there is none."""
    return DispatchKey[name] if name in DispatchKey.__members__ else None


def key_name(key: Any) -> str:
    return str(key_of(key).name)


def key_set(keys: Any) -> DispatchKeySet:
    return keys if isinstance(keys, DispatchKeySet) else DispatchKeySet(key_of(keys))


def functionality_of(key: Any) -> Any:
    """The layer that a key of one backend belongs to."""
    return key if key.name in ALONE or key.name in ALIASES else DispatchKey[ALONE[priority(key)]]


def all_keys() -> DispatchKeySet:
    return DispatchKeySet(*[key for key in DispatchKey if key.name not in ALIASES and key.name != "Undefined"])


def keys_after(key: Any) -> DispatchKeySet:
    """The keys that a call meets after `key`."""
    return DispatchKeySet(*[k for k in all_keys().keys if priority(k) < priority(key)])


def is_in_alias(key: Any, alias: Any) -> bool:
    """Whether an alias stands for a key."""
    name, of = key_of(key).name, key_of(alias).name
    if of == "Autograd":
        return name.startswith("Autograd")
    if of.startswith("CompositeExplicit"):
        return name in BACKENDS or name.startswith(("Sparse", "Quantized", "NestedTensor"))
    if of == "CompositeImplicitAutograd":
        return name in BACKENDS or name.startswith(("Autograd", "Sparse", "Quantized"))
    return name == of


def backends_of(key: Any) -> DispatchKeySet:
    """The keys of the backend that an autograd key is for."""
    return DispatchKeySet(DispatchKey[key_of(key).name.removeprefix("Autograd")])


def key_set_of(t: Tensor) -> str:
    """The keys of a tensor, as text."""
    return repr(keys_of(t))


def key_for_device(name: str) -> str:
    """The name of the key of a kind of devices."""
    return next((backend for backend in BACKENDS if backend.lower() == name.lower()), "Undefined")


def count_of_backends() -> int:
    return len(BACKENDS)


def show_keys(keys: DispatchKeySet) -> str:
    return repr(keys)


# ---- ops
def overload_of(full_name: str) -> OpDef | None:
    """The overload that "aten::add.Tensor" names, None if there is none."""
    namespace, _, rest = full_name.partition("::")
    name, _, overload = rest.partition(".")
    packet = find_packet(name if namespace in ("aten", "prim", "prims") else f"{namespace}::{name}")
    found = None if packet is None else vars(packet).get(overload or "default")
    if isinstance(found, OpDef) and not found._ready:
        found.prepare()
    return found if isinstance(found, OpDef) else None


def has_kernel(full_name: str) -> bool:
    return overload_of(full_name) is not None


def known(full_name: str) -> Any:
    op = overload_of(full_name)
    if op is None:
        raise RuntimeError(f"operator {full_name} does not exist")
    return op


def has_kernel_for_key(full_name: str, key: Any) -> bool:
    op = known(full_name)
    name = key_name(key_of(key))
    return bool(op.has_kernel_for_dispatch_key(key_of(key))) or name in replaced.KERNELS.get(op, {})


def has_kernel_for_any_key(full_name: str, keys: Any) -> bool:
    return any([has_kernel_for_key(full_name, key) for key in key_set(keys)])


def has_computed_kernel(full_name: str, key: Any) -> bool:
    """Whether a call would find something to run at a key: a kernel, a composite one or a fallback."""
    op, name = known(full_name), key_name(key_of(key))
    own = getattr(op, "kernels", None)
    if own is None or name not in BACKENDS:
        return True
    return any([k in own for k in (name, "CompositeExplicitAutograd", "CompositeImplicitAutograd")])


def is_fallthrough_at(full_name: str, key: Any) -> bool:
    stacks: Any = getattr(known(full_name), "kernels", None) or replaced.KERNELS.get(known(full_name), {})
    stack = stacks.get(key_name(key_of(key)))
    return bool(stack) and replaced.is_fallthrough(stack[-1].function)


def has_fallback(key: Any) -> bool:
    return key_name(key_of(key)) not in BACKENDS[:-1]


def names_of_ops() -> list[str]:
    """The names of all overloads of all ops."""
    load_all()
    found = []
    for packet in list(OPS.values()):
        full = getattr(packet, "_qualified_op_name", f"aten::{packet.name}")
        found += [full if op.overload == "default" else f"{full}.{op.overload}" for op in packet.rows()]
    return found


def registrations_for(key: str = "") -> list[str]:
    """The names of the overloads with a kernel for a key."""
    return names_of_ops() if not key else [name for name in names_of_ops() if overload_of(name) is not None
                                           and has_kernel_for_key(name, key)]


def find_schema(name: str, overload: str) -> Any:
    op = overload_of(f"{name}.{overload}" if overload else name)
    if op is None:
        raise RuntimeError(f"Could not find schema for {name}.{overload}")
    return op


def schema_of(name: str, overload: str) -> Any:
    return find_schema(name, overload)._schema


def schemas_of(name: str) -> list[Any]:
    packet = packet_of(name)
    return [] if packet is None else [op._schema for op in packet.rows()]


def packet_of(name: str) -> Packet | None:
    namespace, _, rest = name.partition("::")
    return find_packet(rest if namespace == "aten" else name)


def operation(name: str) -> Any:
    """What runs an op of any overload, and the names of its overloads."""
    packet = packet_of(name)
    return (None, None) if packet is None else (packet, packet.overloads())


def operation_overload(name: str, overload: str) -> Any:
    op: Any = overload_of(f"{name}.{overload}" if overload else name)
    return None if op is None else (op, op, op.tags)


# ---- what is in force in this thread
def included() -> DispatchKeySet:
    return DispatchKeySet("BackendSelect", "ADInplaceOrView") | local_keys().included


def excluded() -> DispatchKeySet:
    autocast = () if tls.autocast is not None else [name for name in ALONE if name.startswith("Autocast")]
    return DispatchKeySet(*autocast) | local_keys().excluded


def is_included(key: Any) -> bool:
    return included().has(key_of(key))


def is_excluded(key: Any) -> bool:
    return excluded().has(key_of(key))


def set_included(key: Any, on: bool) -> None:
    keys = local_keys()
    keys.included = keys.included.add(key_of(key)) if on else keys.included.remove(key_of(key))


def set_excluded(key: Any, on: bool) -> None:
    keys = local_keys()
    keys.excluded = keys.excluded.add(key_of(key)) if on else keys.excluded.remove(key_of(key))


class ForceKeys(Guard):
    """A scope with just these keys included and excluded."""

    def begin(self, *args: Any) -> Any:
        keys = local_keys()
        before = keys.included, keys.excluded
        if args:
            keys.included, keys.excluded = key_set(args[0]), key_set(args[1])
        return before

    def end(self, before: Any) -> None:
        keys = local_keys()
        keys.included, keys.excluded = before


class IncludeKeys(ForceKeys):
    """A scope with more keys included."""

    def begin(self, *args: Any) -> Any:
        keys = local_keys()
        before = keys.included, keys.excluded
        keys.included = keys.included | key_set(args[0])
        return before


class ExcludeKeys(ForceKeys):
    """A scope without some keys: autocast, autograd and `__torch_dispatch__` are left out if they are among them."""

    def begin(self, *args: Any) -> Any:
        keys = local_keys()
        before = keys.included, keys.excluded
        keys.excluded = keys.excluded | key_set(args[0])
        names = {key.name for key in key_set(args[0])}
        self.autocast, self.grad = tls.autocast, tls.grad_enabled
        self.dispatch = no_dispatch() if "Python" in names else None
        if "AutocastCPU" in names:
            set_flag("autocast", None)
        if names & {"AutogradCPU", "AutogradFunctionality", "Autograd"}:
            set_grad_enabled(False)
        return before

    def end(self, before: Any) -> None:
        super().end(before)
        set_flag("autocast", self.autocast)
        set_grad_enabled(self.grad)
        if self.dispatch is not None:
            self.dispatch.__exit__()


class BelowAutograd(Guard):
    """A scope in which ops go past autograd."""

    def begin(self, *args: Any) -> Any:
        scope = below_autograd()
        scope.__enter__()
        return scope

    def end(self, before: Any) -> None:
        before.__exit__(None, None, None)


# ---- modes
class ModeKey(enum.Enum):
    """The kinds of modes that PyTorch's own tracing uses, of which there is at most one each."""

    FUNCTIONAL = 0
    PROXY = 1
    FAKE = 2


def infra_mode(key: ModeKey) -> Any:
    """The mode of a kind that is on, None if there is none."""
    return next((mode for mode in reversed(tls.dispatch_modes) if getattr(mode, "_mode_key", None) is key), None)


def pop_function_mode() -> Any:
    if not tls.function_modes:
        raise AssertionError("Trying to pop from empty mode stack")
    return subclass.pop_function_mode()


def function_mode_at(index: int) -> Any:
    return tls.function_modes[index]


def is_function_enabled() -> bool:
    """Whether `__torch_function__` of subclasses is honoured."""
    return not tls.function_disabled


def is_function_all_disabled() -> bool:
    """Whether neither subclasses nor modes see function calls."""
    return tls.function_disabled >= 2


class EnableTorchFunction(DisableTorchFunctionSubclass):
    """Within this scope subclasses and modes see function calls again."""

    def __enter__(self) -> None:
        self.before = tls.function_disabled
        tls.function_disabled = 0


# ---- tensors
def is_subclass_like(t: Any) -> bool:
    """Whether a tensor is of a class with a `__torch_dispatch__`, or of a running transform."""
    return bool(t._flags & FLAG_WRAPPER or t._flags & FLAG_SUBCLASS and modes.overrides_dispatch(type(t)))


def has_storage(t: Any) -> bool:
    return not t._flags & (FLAG_SPARSE | FLAG_WRAPPER)


def set_bit(t: Tensor, flag: int, on: bool) -> None:
    t._flags = t._flags | flag if on else t._flags & ~flag


def set_conj(t: Tensor, on: bool) -> None:
    """Say that the values of a tensor are to be read conjugated."""
    set_bit(t, FLAG_CONJ, on)


def set_neg(t: Tensor, on: bool) -> None:
    """Say that the values of a tensor are to be read negated."""
    set_bit(t, FLAG_NEG, on)


def data_address(t: Tensor) -> int:
    return t.data_ptr()


OpNamespace, AllOps = api.Namespace, api.Ops


# ---- kinds of operators
class OperatorBase(ABC):  # noqa: B024
    """What can be called as an operator: overloads, packets of them, and operators on functions."""


for kind in (OpDef, Packet, HigherOrderOperator):
    OperatorBase.register(kind)


@contextmanager
def without_transforms() -> Iterator[None]:
    """A scope in which no function transform sees ops."""
    with only_outer(0):
        yield


def is_alias(key: Any) -> bool:
    """Whether a key stands for several."""
    return key_of(key).name in ALIASES


def all_schemas() -> list[Any]:
    """The schemas of all built-in ops."""
    load_all()
    return [getattr(packet, overload)._schema for packet in OPS.values() for overload in packet.overloads()]
