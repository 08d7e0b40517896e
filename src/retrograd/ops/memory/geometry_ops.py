"""Tensor metadata as ops (size, stride, device, ...), which `__torch_dispatch__` handlers see and may override."""
from __future__ import annotations

from typing import Any

from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.state import tls
from retrograd.ops.shared import geometry


def about(schema: str, kernel: Any) -> OpDef:
    """Declare an op whose result is not a tensor."""
    return defop(schema, kernel=kernel, composite=True, variants="", out=False)


about("dim(Tensor self) -> int", lambda self: self.dim())
for prefix, integer in (("", "int"), ("sym_", "SymInt")):
    about(f"{prefix}size(Tensor self) -> {integer}[]", lambda self: list(self.size()))
    about(f"{prefix}size.int(Tensor self, int dim) -> {integer}", lambda self, dim: self.size(dim))
    about(f"{prefix}stride(Tensor self) -> {integer}[]", lambda self: list(self.stride()))
    about(f"{prefix}stride.int(Tensor self, int dim) -> {integer}", lambda self, dim: self.stride(dim))
    about(f"{prefix}numel(Tensor self) -> {integer}", lambda self: self.numel())
    about(f"{prefix}storage_offset(Tensor self) -> {integer}", lambda self: self.storage_offset())
about("is_contiguous(Tensor self) -> bool", lambda self: self.is_contiguous())
about("is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
      lambda self, memory_format: self.is_contiguous(memory_format=memory_format))
about("is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool",
      lambda self, memory_format: has_channels_last(self, memory_format))
about("is_non_overlapping_and_dense(Tensor self) -> bool", lambda self: is_dense(self))
about("device(Tensor a) -> Device", lambda a: a.device)          # in the namespace `prim`
about("layout(Tensor a) -> Layout", lambda a: a.layout)


def has_channels_last(t: Any, memory_format: Any) -> bool:
    """Whether the strides are channels-last; strides that fit several formats count as contiguous."""
    rank = {"channels_last": 4, "channels_last_3d": 5}.get(memory_format.name)
    return t.dim() == rank and bool(geometry.channels_last_like(t.array))


def is_dense(t: Any) -> bool:
    """Whether the elements fill one block of memory without gaps or overlap."""
    expected = 1
    for stride, n in sorted([(stride, n) for stride, n in zip(t.stride(), t.size(), strict=True) if n != 1]):
        if n == 0:
            return True
        if stride != expected:
            return False
        expected *= n
    return True


# ---- data from outside
defop("lift(Tensor self) -> Tensor", kernel=lambda self: self, composite=True, variants="", out=False, onnx="Identity",
      traits=("lifts",))
lift_fresh = defop("lift_fresh(Tensor(a) self) -> Tensor(a)", kernel=lambda self: self, composite=True, variants="", out=False,
                   onnx="Identity", traits=("lifts",))
defop("lift_fresh_copy(Tensor self) -> Tensor", kernel=lambda self: self.clone(), composite=True, variants="", out=False,
      onnx="Identity", traits=("lifts",))


def lifted(t: Any) -> Any:
    """A tensor made from data, passed through the active dispatch mode."""
    if getattr(tls.dispatch_modes[-1], "_process", None) is not None:
        return t
    lift_fresh.prepare()
    return hooks.dispatch_mode(lift_fresh, [t])


hooks.lifted = lifted
