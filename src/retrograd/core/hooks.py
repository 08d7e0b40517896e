"""Hooks: the services of higher layers that lower ones call, each one attribute that the providing module fills in.

A provider that is not imported with the package is named here by `later`, which imports it on the first call; importing
it assigns the service.
"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

Service = Callable[..., Any]


def later(module: str, name: str) -> Service:
    """A stand-in for the service `name` that imports its provider on the first call."""
    def load(*args: Any, **kwargs: Any) -> Any:
        import_module(module)
        return getattr(hooks, name)(*args, **kwargs)
    return load


class Hooks:
    """One attribute per service; `hooks` is the only instance."""

    def __init__(self) -> None:
        # ---- __torch_function__, modes and subclasses (core/subclass.py, core/modes.py, core/autocast.py)
        self.torch_function: Service = later("retrograd.core.subclass", "torch_function")      # (function, args, kwargs)
        self.torch_operator: Service = later("retrograd.core.subclass", "torch_operator")      # (op, args)
        self.torch_special: Service = later("retrograd.core.subclass", "torch_special")        # (special method, args)
        self.described: Service = later("retrograd.core.described", "described")      # (tensor, fact) -> answer or None
        self.refused: Service = later("retrograd.library.arguments", "refused")      # (ops, args, kwargs, several)
        self.lifted: Service = later("retrograd.ops.memory.geometry_ops", "lifted")
        self.overrides_function: Service = later("retrograd.core.subclass", "overrides_function")      # (class)
        self.dispatch_mode: Service = later("retrograd.core.modes", "dispatch_mode")           # (op, args)
        self.dispatch_subclass: Service = later("retrograd.core.modes", "dispatch_subclass")   # (op, args)
        self.autocast: Service = later("retrograd.core.autocast", "autocast")                  # (op, args)
        self.write_out: Service = later("retrograd.core.out", "write_out")                 # (op, args)
        self.compute_out: Service = later("retrograd.core.out", "compute_out")             # (op, args)
        # ---- tensors from data, copies and gradients (ops/create, ops/memory)
        self.device_context: Service = later("retrograd.settings", "device_context")      # (device) -> scope
        self.construct: Service = later("retrograd.legacy", "construct")                       # (tensor, args, kwargs)
        self.legacy: Service = later("retrograd.legacy", "legacy")                             # (args, kwargs) -> tensor
        self.to_device: Service = later("retrograd.ops.create.from_data", "to_device")
        self.to: Service = later("retrograd.ops.memory.copy", "to")
        self.scalar_tensor: Service = later("retrograd.ops.create.constants", "scalar_tensor")
        self.detach: Service = later("retrograd.ops.memory.copy", "detach")
        self.cast: Service = later("retrograd.ops.memory.copy", "cast")                        # (grad, NumPy dtype)
        self.contiguous_clone: Service = later("retrograd.ops.memory.copy", "contiguous_clone")
        self.copy_to_layout: Service = later("retrograd.ops.memory.copy", "copy_to_layout")    # (grad, shape, strides)
        self.assign_out: Service = later("retrograd.ops.memory.copy", "assign_out")            # (out, value, op name)
        self.record_out: Service = later("retrograd.ops.memory.copy", "record_out")            # (out, value, rule, name)
        self.check_out_dtype: Service = later("retrograd.ops.memory.copy", "check_out_dtype")      # (rule, value, out, name)
        self.new_gradient: Service = later("retrograd.ops.memory.copy", "new_gradient")        # (grad, strides)
        self.first_gradient: Service = later("retrograd.ops.memory.copy", "first_gradient")
        self.add_gradient: Service = later("retrograd.ops.memory.copy", "add_gradient")        # (old, grad)
        self.ones_like: Service = later("retrograd.ops.memory.copy", "ones_like")              # (out, shape, dtype)
        self.is_channels_last: Service = later("retrograd.ops.memory.copy", "is_channels_last")
        self.resize_out: Service = later("retrograd.ops.memory.resize", "resize_out")
        self.resize_storage: Service = later("retrograd.core.resizing", "resize_storage")      # (storage, bytes)
        self.meta: Service = later("retrograd.ops.shared.meta", "meta")                        # (op, args)
        # ---- sparse tensors (ops/sparse)
        self.sparse: Service = later("retrograd.ops.sparse", "sparse")                         # (op, args)
        self.layout: Service = later("retrograd.ops.sparse", "layout")
        self.layout_name: Service = later("retrograd.ops.sparse", "layout_name")
        self.blocksize: Service = later("retrograd.ops.sparse", "blocksize")
        self.sparse_repr: Service = later("retrograd.ops.sparse", "sparse_repr")
        self.sparse_reduce: Service = later("retrograd.ops.sparse", "sparse_reduce")
        self.assign_sparse: Service = later("retrograd.ops.sparse", "assign_sparse")
        self.accumulate_sparse: Service = later("retrograd.ops.sparse", "accumulate_sparse")
        self.gather_gradient: Service = later("retrograd.ops.sparse", "gather_gradient")
        self.embedding_gradient: Service = later("retrograd.ops.sparse", "embedding_gradient")
        self.to_compressed: Service = later("retrograd.ops.sparse", "to_compressed")
        self.compressed_parts: Service = later("retrograd.ops.sparse", "compressed_parts")
        self.compressed_like: Service = later("retrograd.ops.sparse", "compressed_like")
        self.resize_compressed: Service = later("retrograd.ops.sparse", "resize_compressed")   # (tensor, size)
        self.missing_method: Service = later("retrograd.ops.sparse", "missing_method")
        # ---- nested tensors: None until retrograd.nested is imported
        self.nested: Service | None = None                                                     # (op, args) -> formula or None
        self.nested_answers: dict[str, Service] = {}
        self.nested_shape: Service = later("retrograd.nested", "nested_shape")
        self.to_padded: Service = later("retrograd.nested", "to_padded")      # (tensor, padding, output_size)
        # ---- user-registered kernels for built-in ops: None until one is registered (library/replaced.py)
        self.replaced: Service | None = None                                                   # (op, args, backend)
        # ---- the backward pass (autograd/anomaly.py)
        self.anomaly: Service = later("retrograd.autograd.anomaly", "anomaly")                 # (node, grads, wanted)
        self.anomaly_report: Service = later("retrograd.autograd.anomaly", "anomaly_report")   # (node)
        # ---- compiled autograd, while it is on: takes the arguments of engine.run_backward
        self.compiled_backward: Service | None = None
        # ---- recording (compile/recorder.py)
        self.unrecorded: Service = lambda function: nullcontext()      # a scope that is in no graph
        # ---- deferred execution (compile/deferred.py)
        self.settle: Service | None = None                                                     # (*tensors)
        # ---- transforms
        self.transform_function: Service = later("retrograd.transforms.functions", "transform_function")
        self.vmap: Service = later("retrograd.transforms.vmap", "vmap")                        # (one, grads, allow_unused)
        self.legacy_vmap: Service = later("retrograd.transforms.vmap", "legacy_vmap")
        self.sparse_jacobian: Service = later("retrograd.transforms.vmap", "sparse_jacobian")
        self.batched_data: Service = later("retrograd.transforms.batching", "batched_data")
        self.batched_detach: Service = later("retrograd.transforms.batching", "batched_detach")
        self.batched_dual: Service = later("retrograd.transforms.batching", "batched_dual")
        self.batched_geometry: Service = later("retrograd.transforms.batching", "batched_geometry")
        self.batched_get_data: Service = later("retrograd.transforms.batching", "batched_get_data")
        self.batched_item: Service = later("retrograd.transforms.batching", "batched_item")
        self.batched_list: Service = later("retrograd.transforms.batching", "batched_list")
        self.batched_new: Service = later("retrograd.transforms.batching", "batched_new")
        self.batched_repr: Service = later("retrograd.transforms.batching", "batched_repr")
        self.batched_undual: Service = later("retrograd.transforms.batching", "batched_undual")
        self.inner_forward_level: Service = later("retrograd.transforms.jvp", "inner_forward_level")
        self.inner_dual: Service = later("retrograd.transforms.jvp", "inner_dual")             # (tensor, tangent, level)
        self.inner_undual: Service = later("retrograd.transforms.jvp", "inner_undual")         # (tensor, level)
        self.batched_zeros: Service = later("retrograd.transforms.batching", "batched_zeros")
        self.batched_resize: Service = later("retrograd.transforms.lifted", "batched_resize")
        self.captured: Service = later("retrograd.transforms.lifted", "captured")
        self.escaped: Service = later("retrograd.transforms.batching", "escaped")


hooks = Hooks()
