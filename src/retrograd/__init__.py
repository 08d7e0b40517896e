"""retrograd: PyTorch's autograd, whole, in Python."""
from __future__ import annotations

import gc as _gc
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import Any as _Any

from retrograd import _finder

# The op tables are many objects and none of them is garbage: looking for it would be a fifth of the import.
_collects_garbage = _gc.isenabled()
_gc.disable()

# isort: split
from retrograd import autograd, methods
from retrograd.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from retrograd.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from retrograd.core import api as _api
from retrograd.core import fast_kernels as _kernels
from retrograd.core.device import device
from retrograd.core.dtypes import ALIASES, BY_NAME, dtype, finfo, iinfo
from retrograd.core.tensor import Size, Tensor
from retrograd.core.warn import is_warn_always_enabled, set_warn_always
from retrograd.ops.memory.copy import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from retrograd.ops import load as _tables
from retrograd.ops.linalg import matmul as _matmul
from retrograd.ops.elementwise import arithmetic as _pointwise

_kernels.use()
_tables.announce()
methods.install_all()
globals().update(BY_NAME)
globals().update(ALIASES)
if _collects_garbage:
    if not _gc.get_freeze_count():      # they go to the oldest generation, unseen
        _gc.freeze()
        _gc.unfreeze()
    _gc.enable()

__version__ = "0.1.0"
newaxis = None
_PACKAGE = __name__     # `__name__` is "torch" after as_torch.install()
# Imported when first asked for, as `retrograd.nn` or by `import retrograd.nn`.
_LATER = ("__config__", "__future__", "accelerator", "amp", "ao", "backends", "compile", "compiler", "cpu", "cuda",
          "distributed", "distributions", "export", "fft", "func", "functional", "futures", "fx", "hub", "jit", "library",
          "linalg", "masked", "monitor", "mps", "mtia", "multiprocessing", "nested", "nn", "onnx", "optim", "overrides",
          "profiler", "quantization", "quasirandom", "random", "return_types", "serialization", "signal", "sparse",
          "special", "storage", "testing", "torch_version", "types", "utils", "version", "xpu", "_decomp", "_dispatch",
          "_lobpcg", "_lowrank", "_prims", "_refs")
_ELSEWHERE = {
    "SymInt": "nested.symbols", "_assert": "fx._checks", "Tag": "core.tags", "load": "serialization", "lobpcg": "_lobpcg",
    "save": "serialization", "set_printoptions": "core.printing", "vmap": "transforms.vmap",
    **dict.fromkeys(("_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
                     "_check_tensor_all_with", "_check_type", "_check_value", "_check_with"), "_checks"),
    "ScriptModule": "jit", "ScriptFunction": "jit", "ScriptObject": "jit", "JITException": "jit", "classes": "_identity",
    "PyTorchFileReader": "_identity",
    "cond": "_higher_order_ops.control_flow", "while_loop": "_higher_order_ops.control_flow",
    "GradScaler": "amp.grad_scaler", "pca_lowrank": "_lowrank", "svd_lowrank": "_lowrank",
    "gru": "_recurrent", "lstm": "_recurrent", "rnn_relu": "_recurrent", "rnn_tanh": "_recurrent",
    "typename": "_identity", "get_device_module": "_identity", "compiled_with_cxx11_abi": "_identity",
    "is_vulkan_available": "_identity", "has_lapack": "_identity", "has_mkl": "_identity", "has_openmp": "_identity",
    "has_spectral": "_identity", "set_flush_denormal": "_identity", "get_file_path": "_identity",
    "Stream": "_identity", "Event": "_identity", "OutOfMemoryError": "cuda", "AcceleratorError": "_identity",
    **dict.fromkeys(("AnyType", "BoolType", "ComplexType", "DeviceObjType", "DictType", "FloatType", "FutureType", "IntType",
                     "ListType", "NoneType", "NumberType", "OptionalType", "PyObjectType", "StreamObjType", "StringType",
                     "TensorType", "TupleType", "Type", "UnionType"), "jit._types"),
    **dict.fromkeys(("_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long",
                     "_cast_Short", "_storage_classes", "_tensor_classes", "from_file",
                     "get_autocast_gpu_dtype", "legacy_contiguous_format",
                     "set_vital", "spmm"), "_older"),
    **dict.fromkeys(("per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
                     "per_tensor_symmetric", "qscheme"), "_qschemes"),
    "fused_moving_avg_obs_fake_quant": "ao.quantization._fused",
    "_disable_dynamo": "compiler",
    **dict.fromkeys(("_aminmax", "_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_",
                     "_compute_linear_combination", "_debug_has_internal_overlap", "_masked_softmax",
                     "_nnpack_available", "_weight_int8pack_mm"), "_numeric_helpers"),
    **dict.fromkeys(("_coalesce", "_sparse_broadcast_to", "_sparse_csr_prod", "_sparse_csr_sum", "_sparse_sum",
                     "_validate_compressed_sparse_indices", "hsmm", "native_norm", "saddmm"), "_sparse_helpers"),
    **dict.fromkeys(("_fused_sdp_choice", "_native_multi_head_attention", "_nested_tensor_from_mask",
                     "_nested_tensor_from_mask_left_aligned", "_transform_bias_rescale_qkv"), "nn.functions.native_attention"),
    "to_dlpack": "utils.dlpack",
    "thread_safe_generator": "random", "fork": "jit", "wait": "jit", "Future": "futures",
    **dict.fromkeys(("SymBool", "SymFloat", "_sym_acos", "_sym_asin", "_sym_atan", "_sym_cos", "_sym_cosh", "_sym_sin",
                     "_sym_sinh", "_sym_sqrt", "_sym_tan", "_sym_tanh", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min",
                     "sym_not", "sym_sqrt", "sym_sum"), "_symbolic"),
    "DisableTorchFunction": "core.subclass", "DisableTorchFunctionSubclass": "core.subclass",
    **dict.fromkeys(("are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode",
                     "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
                     "is_deterministic_algorithms_warn_only_enabled", "set_default_device", "set_deterministic_debug_mode",
                     "set_float32_matmul_precision", "set_num_interop_threads", "set_num_threads",
                     "use_deterministic_algorithms"), "settings"),
    **dict.fromkeys(("autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
                     "get_autocast_cpu_dtype", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
                     "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
                     "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled"), "amp.autocast_mode"),
}


def __getattr__(name: str) -> _Any:
    if name in _api.PUBLIC:                # see NOTE [Names bound on first use] in core/api.py
        value = globals()[name] = _api.function_named(name)
        return value
    if name in _ELSEWHERE:
        return getattr(_import_module(f"{_PACKAGE}.{_ELSEWHERE[name]}"), name)
    if name in _LATER:
        try:
            return _import_module(f"{_PACKAGE}.{name}")
        except ModuleNotFoundError as missing:
            if missing.name != f"{_PACKAGE}.{name}":
                raise
    if name == "__all__":
        return _import_module(f"{_PACKAGE}._exports").exported_names()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_api.PUBLIC, *_ELSEWHERE})
