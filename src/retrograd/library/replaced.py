"""Kernels of users for built-in ops, `Library("aten", "IMPL").impl("neg", function, "CPU")`, and fallbacks for all ops.

Nothing of this is looked at until the first of them is registered; while there is one, ops of the thread that registered it
take the way through all layers, where dispatch asks here (`hooks.replaced`).
"""
from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from retrograd.core import dispatch
from retrograd.core.dispatch_keys import DispatchKey, DispatchKeySet, local_keys, priority
from retrograd.core.hooks import hooks
from retrograd.core.modes import as_called
from retrograd.core.opdef import OpDef, find_packet
from retrograd.core.state import add_slow_path, tls
from retrograd.library.layers import backend_of, below_autograd, here, is_fallthrough
from retrograd.library.userop import EXPLICIT, IMPLICIT, Kernel, UserOp

KERNELS: dict[Any, dict[str, list[Kernel]]] = {}      # by op and dispatch key, the one in force last
FALLBACKS: dict[str, list[Kernel]] = {}               # for ops without a kernel of their own, by key
MODES = ("TESTING_ONLY_GenericMode", "PreDispatch")   # keys that are in force by inclusion, before any other


def find_builtin(opname: str, overload: str) -> OpDef | None:
    """The overload of a built-in op, None if there is none of that name."""
    packet = find_packet(opname)
    found = None if packet is None else getattr(packet, overload or "default", None)
    if not isinstance(found, OpDef) or isinstance(found, UserOp):
        return None
    if not found._ready:
        found.prepare()
    return found


def add(stacks: dict[str, list[Kernel]], key: str, kernel: Kernel) -> Callable[[], None]:
    """Put a kernel in force; returns what takes it back."""
    stacks.setdefault(key, []).append(kernel)
    thread = get_ident()
    add_slow_path(1)
    hooks.replaced = run

    def remove() -> None:
        stacks[key].remove(kernel)
        if not stacks[key]:
            del stacks[key]
        for op in [op for op, found in KERNELS.items() if not found]:
            del KERNELS[op]
        if not KERNELS and not FALLBACKS:
            hooks.replaced = None
        if get_ident() == thread:
            add_slow_path(-1)
    return remove


def add_kernel(op: OpDef, key: str, kernel: Kernel) -> Callable[[], None]:
    """Let `kernel` answer for a built-in op at a key; returns what takes it back."""
    return add(KERNELS.setdefault(op, {}), key, kernel)


def add_fallback(key: str, kernel: Kernel) -> Callable[[], None]:
    """Let `kernel` answer at a key for ops that have none there; returns what takes it back."""
    return add(FALLBACKS, key, kernel)


def run(op: Any, args: Any, backend: bool) -> Any:
    """What a user's kernel makes of a call, as it meets autograd or (`backend`) the kernel; NotImplemented if there is none."""
    included = local_keys().included
    if not backend and FALLBACKS and included.keys:
        for key in MODES:
            if key in FALLBACKS and DispatchKey[key] in included.keys and DispatchKey[key] not in local_keys().excluded.keys:
                return called(op, FALLBACKS[key][-1].function, args, key, op)
    stacks = KERNELS.get(op)
    if stacks is None or op is here.in_table:
        return NotImplemented
    if not backend and (tls.below or tls.transforms or here.below) and not op.composite:
        return NotImplemented
    device = backend_of(op, args)
    if backend:
        names: tuple[str, ...] = (device, EXPLICIT)
    else:
        names = (f"Autograd{device}", "Autograd", *((device, EXPLICIT, IMPLICIT) if op.composite else ()))
    name = next((name for name in names if name in stacks), None)
    if name is None:
        return NotImplemented
    function = stacks[name][-1].function
    if is_fallthrough(function):
        return NotImplemented if backend else dispatch.below(op, args)
    if name not in (device, EXPLICIT):
        return called(op, function, args, name)
    with below_autograd():
        return called(op, function, args, name)


def called(op: Any, function: Any, args: Any, key: str, *first: Any) -> Any:
    """The result of a user's kernel, given the arguments as they would be written."""
    positional, keywords = as_called(op, args)
    if getattr(function, "takes_keys", False):
        first = (keyset(key), *first)
    return function(*first, *positional, **keywords)


def keyset(key: str) -> DispatchKeySet:
    """The keys that a kernel at `key` is told of: its own and those that a call still has to meet."""
    level = priority(DispatchKey[key])
    return DispatchKeySet(*[k for k in map(DispatchKey.__getitem__, ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"))
                            if priority(k) <= level], DispatchKey[key])


def with_keys(function: Any) -> Any:
    """`function`, told of the keys as its first argument."""
    def told(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
    told.takes_keys = True  # type: ignore[attr-defined]
    return told
