"""Installs the compiled kernels on the ops, where they were built; codegen/README.md states a kernel's contract."""
from __future__ import annotations

import os
from typing import Any

from retrograd.core import algorithms, dtypes
from retrograd.core.opdef import KERNEL_INSTALLERS, OPS, OpDef
from retrograd.core.recipe import choose_kernel_calls

ALGORITHM = "@native."      # prefix of `lower` in rows whose kernel is a function of core/native
native: Any = None        # the generated loops (codegen/table.py)
probe: Any = None         # kernels that are functions of other libraries
try:
    from retrograd.core import _loops  # type: ignore[attr-defined, unused-ignore]
    native = _loops
except ImportError:     # not built, or RETROGRAD_PLAIN hides them
    pass
try:
    from retrograd.core import probe  # type: ignore[attr-defined, no-redef, unused-ignore]
except ImportError:
    pass


def use() -> bool:
    """Install kernels, if there are any: now on the ops in use, on the others when they are prepared for use."""
    if algorithms.native is None and native is None:
        return False
    if native is not None:
        dtypes.bfloat16_callbacks.append(native.set_bfloat16)
        if len(dtypes.HALVES) > 1:
            native.set_bfloat16(dtypes.bfloat16.numpy)
        dtypes.default_dtype_callbacks.append(native.set_default)
        native.set_default(dtypes.get_default_dtype().numpy)
        native.use_memory()
        native.set_threads(default_threads())
    KERNEL_INSTALLERS[:] = [install_kernel]
    ready = [op for packet in OPS.values() for op in packet.overloads_ if op._ready]
    for op in ready:
        install_kernel(op)
    for op in ready:
        choose_kernel_calls(op)
    return True


def default_threads() -> int:
    """OMP_NUM_THREADS, or one thread for each core that this process may use."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def install_kernel(op: OpDef) -> None:
    """Let `op` compute with its compiled kernel, if it has one, and the rules that are loops with theirs."""
    if op.rules and native is not None:
        install_rules(op)
    library = getattr(op.kernel, "library", None)        # the whole kernel is this function
    if library is not None and not op.lower and probe is not None and op.functional is None and not op.schema.is_inplace:
        op.native = probe.Direct(library)
        return
    if not is_lowered(op):
        return
    if str(op.lower).startswith(ALGORITHM):
        op.native = getattr(algorithms.native, op.lower.removeprefix(ALGORITHM), None)
        return
    name = kernel_name(op)
    if op.overload == "Scalar" and native is not None and name not in native.kernels:
        tensor = getattr(OPS.get(op.name), "Tensor", None)
        if tensor is not None and tensor.lower == op.lower:        # the Tensor overload's kernel accepts a number as `other`
            name = kernel_name(tensor)
    if native is not None:
        op.native = native.kernels.get(name)


def install_rules(op: OpDef) -> None:
    """Let the rules of `op` compute with their kernels (codegen/rules.py); an in-place op has those of its functional form."""
    owner = op if op.pure is None else op.pure
    known = {rule.fn for rule in owner.rules}
    for rule in op.rules:
        if rule.fn in known:
            rule.native = native.kernels.get(f"{kernel_name(owner)}.{op.schema.params[op.inputs[rule.target]].name}")


def kernel_name(op: OpDef) -> str:
    return f"{op.name}_{op.overload}"


def is_lowered(op: OpDef) -> bool:
    """Whether a kernel is made of the op's `lower` column; in-place and out= forms use that of their functional op."""
    return bool(op.lower) and op.functional is None and (not op.schema.is_inplace or str(op.lower).startswith("@"))
