"""DebugMode: a dispatch mode that writes down the calls of a program, as a text with one line for each."""
from __future__ import annotations

from retrograd.utils._debug_mode._calls import (
    _AnnotateCall,
    _DebugCall,
    _get_call_name,
    _OpCall,
    _OutputPlacementCall,
    _RedistributeCall,
    _TritonKernelCall,
)
from retrograd.utils._debug_mode._mode import DebugInterpreter, DebugMode, get_active_debug_mode
from retrograd.utils._debug_mode._utils import TensorIdTracker, _stringify_shape, hash_tensor_fn, norm_hash_fn

__all__ = ["DebugInterpreter", "DebugMode", "TensorIdTracker", "_AnnotateCall", "_DebugCall", "_OpCall", "_OutputPlacementCall",
           "_RedistributeCall", "_TritonKernelCall", "_get_call_name", "_stringify_shape", "get_active_debug_mode",
           "hash_tensor_fn", "norm_hash_fn"]
