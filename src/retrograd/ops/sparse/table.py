"""The registry of sparse kernels, and their lookup.

`compute` in core/dispatch.py calls this for every op with a sparse operand, and for ops without another kernel. A sparse
kernel is a function of (op, *args) in schema order that takes and returns tensors below autograd.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.core import dtypes
from retrograd.core.dispatch import compute
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.ops.sparse.coo import NAMES, is_coo, is_sparse, replace
from retrograd.ops.sparse.outlines import run_outlined, without_data

KEEPS_ZERO = "keeps.zero"             # key for all ops whose row sets it
KERNELS: dict[str, Any] = {}          # "add.Tensor" -> kernel; "default" is the overload without a name
COMPRESSED: dict[str, Any] = {}       # the same for operands of a compressed layout


def sparse_kernel(*names: str) -> Callable[[Any], Any]:
    """Register a kernel for calls with a COO operand."""
    def register(kernel: Any) -> Any:
        for name in names:
            KERNELS[name if "." in name else name + ".default"] = kernel
        return kernel
    return register


def compressed_kernel(*names: str) -> Callable[[Any], Any]:
    """Register a kernel for calls with a compressed operand."""
    def register(kernel: Any) -> Any:
        for name in names:
            COMPRESSED[name if "." in name else name + ".default"] = kernel
        return kernel
    return register


def tensors_among(args: Any) -> list[Any]:
    return [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]


def run(op: OpDef, args: Any) -> Any:
    """Run the sparse kernel of `op`."""
    return run_outlined(run_kernel, op, args) if without_data(op, args) else run_kernel(op, args)


def run_kernel(op: OpDef, args: Any) -> Any:
    sparse = [t for t in tensors_among(args) if is_sparse(t)]
    is_compressed = any([not is_coo(t) for t in sparse])
    kernels = COMPRESSED if is_compressed else KERNELS
    kernel = kernel_of(op, kernels)
    if kernel is not None:
        return kernel(op, *args)
    if op.is_inplace and op.functional is not None:
        kernel = kernel_of(op.functional, kernels)
        if kernel is not None:
            if not op.functional._ready:
                op.functional.prepare()
            made = kernel(op.functional, *args)
            if not dtypes.can_cast(made.dtype, args[0].dtype):
                raise RuntimeError(f"result type {made.dtype.legacy} can't be cast to the desired output type "
                                   f"{args[0].dtype.legacy}")
            write(args[0], made)
            return args[0]
    if is_compressed and op.promote is not None:
        layout = next(t for t in sparse if not is_coo(t))._extra.sparse.layout
        raise RuntimeError(f"unsupported tensor layout: {NAMES[layout.name]}")
    raise missing(op, args, "SparseCsrCPU" if is_compressed else "SparseCPU" if sparse else "CPU")


def kernel_of(op: OpDef, kernels: dict[str, Any]) -> Any:
    """The op's own kernel, or the shared one of ops that keep zeros."""
    kernel = kernels.get(f"{op.name}.{op.overload}")
    if kernel is None and "keeps_zero" in op.traits and not op.schema.mutable:
        kernel = kernels[KEEPS_ZERO]
    return kernel


def write(target: Any, made: Any) -> None:
    """Write the result of an in-place op to its target."""
    if is_sparse(target):
        replace(target, made)
    else:
        target.array[...] = late.to_dense(made).array if is_sparse(made) else made.array


# what PyTorch runs first for some ops
STEPS = {"isfinite": ("ne", "Scalar"), "logical_not": ("logical_not", "out")}


def missing(op: Any, args: Any, backend: str) -> NotImplementedError:
    """PyTorch's error for an op that a layout does not support."""
    overload = op.overload
    if overload == "Tensor" and getattr(op, "numbers", False) and len(args) > 1 and not isinstance(args[1], Tensor):
        overload = "Scalar"
    if op.name in STEPS:
        op_name, overload = STEPS[op.name]
    else:
        op_name = op.name
    name = f"aten::{op_name}" + ("" if overload == "default" else f".{overload}")
    return NotImplementedError(
        f"Could not run '{name}' with arguments from the '{backend}' backend. This could be because the operator doesn't exist "
        "for this backend, or was omitted during the selective/custom build process (if using custom build). If you are a "
        "Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. "
        f"'{name}' is only available for these backends: [{'CPU, Meta' if backend != 'CPU' else 'SparseCPU, SparseCsrCPU'}].")


class View:
    """The op named in PyTorch's error for sparse results of a vmap loop, which cannot be stacked."""

    name, overload = "view", "default"


def unbatched(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of ops with sparse results: raises, since they cannot be batched."""
    raise missing(View, args, "SparseCPU")


unbatched.refuses = True        # type: ignore[attr-defined]


def on_values(op: OpDef, values: Any, *rest: Any) -> Any:
    """Run the dense kernel of `op` on a tensor of values."""
    return compute(op, [values, *rest])


hooks.sparse = run
