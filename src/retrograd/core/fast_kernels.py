"""Puts the compiled kernels for small arrays behind the ops, where they were built."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import KERNEL_INSTALLERS, OPS

kernels: Any = None
try:
    from retrograd.core import _kernels
    kernels = _kernels
except ImportError:     # not built, or RETROGRAD_PLAIN hides them
    pass


def use() -> bool:
    """Give ops their kernels, if there are any: to those in use now, to the others when they are prepared for use."""
    if kernels is None:
        return False
    KERNEL_INSTALLERS[:] = [install_kernel]
    for packet in OPS.values():
        for op in packet.overloads_:
            if op._ready:
                install_kernel(op)
    return True


def install_kernel(op: Any) -> None:
    """Let `op` compute small arrays with its compiled kernel, if it has one."""
    name = kernel_name(op)
    compiled = getattr(kernels, name, None) if is_lowered(op) else None
    fast = op.fast
    if compiled is not None and fast is not compiled:
        kernels.bind(name, fast)
        op.fast = compiled
        op.into = getattr(kernels, name + "_into", None)
        op.checks = True
        op.loose = False


def kernel_name(op: Any) -> str:
    return f"{op.name}_{op.overload}"


def is_lowered(op: Any) -> bool:
    """Whether `op` has a C expression that a kernel is made of."""
    return bool(op.lower) and op.fast is not None and op.functional is None
