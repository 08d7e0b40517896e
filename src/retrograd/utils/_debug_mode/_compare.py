"""Where two runs of a program under DebugMode gave different values."""
from __future__ import annotations

from typing import Any

from retrograd.utils._debug_mode._calls import _DebugCall, _get_call_name, _OpCall, _RedistributeCall, _TritonKernelCall
from retrograd.utils._debug_mode._utils import _compute_rel_diff
from retrograd.utils._pytree import keystr, tree_map_with_path


def mismatches(logs1: list[_DebugCall], logs2: list[_DebugCall], compare_inputs: bool) -> list[dict[str, Any]]:
    """The values whose hashes differ; the calls of both runs have to be the same."""
    if len(logs1) != len(logs2):
        raise ValueError(f"Log lengths don't match: {len(logs1)} vs {len(logs2)}")
    found: list[dict[str, Any]] = []
    for index, (call1, call2) in enumerate(zip(logs1, logs2, strict=True)):
        check_same(index, call1, call2)
        for is_input in (False, True) if compare_inputs else (False,):
            hashes1, hashes2 = hashes_of(call1, is_input), hashes_of(call2, is_input)
            if (hashes1 is None) != (hashes2 is None):
                raise ValueError(f"{'Input' if is_input else 'Output'} hash presence inconsistent for {_get_call_name(call1)} "
                                 f"at index {index}: log1 has hash={hashes1 is not None}, log2 has hash="
                                 f"{hashes2 is not None}")
            if hashes1 is not None:
                found += differences(call1, hashes1, hashes2, is_input)
    return found


def check_same(index: int, call1: _DebugCall, call2: _DebugCall) -> None:
    """Refuse to compare calls of different functions."""
    kind1, kind2 = type(call1).__name__, type(call2).__name__
    if kind1 != kind2:
        raise ValueError(f"Call types don't match at index {index}: {kind1} vs {kind2}")
    name1, name2 = _get_call_name(call1), _get_call_name(call2)
    if name1 != name2:
        raise ValueError(f"Operators don't match at index {index}: {kind1}[{name1}] vs {kind1}[{name2}]")
    if call1.call_depth != call2.call_depth:
        raise ValueError(f"Call depths for {kind1}[{name1}] don't match at index {index}: {call1.call_depth} vs "
                         f"{call2.call_depth}")
    if isinstance(call1, _RedistributeCall) and isinstance(call2, _RedistributeCall) and tuple(call1) != tuple(call2):
        raise ValueError(f"Redistribute calls don't match at index {index}: {call1} vs {call2}")
    if (isinstance(call1, _TritonKernelCall) and isinstance(call2, _TritonKernelCall)
            and call1.kwargs_str != call2.kwargs_str):
        raise ValueError(f"Triton kernel call args don't match for {name1} at index {index}:\n\nlog1: {call1.kwargs_str}\n\n"
                         f"log2: {call2.kwargs_str}")


def hashes_of(call: _DebugCall, is_input: bool) -> Any:
    """The hashes that a call has, None without."""
    if isinstance(call, _TritonKernelCall):
        return call.pre_hashes if is_input else call.post_hashes
    if isinstance(call, _OpCall):
        return (call.log or {}).get("input_hash" if is_input else "hash")
    return None


def differences(call: _DebugCall, hashes1: Any, hashes2: Any, is_input: bool) -> list[dict[str, Any]]:
    """One entry for each hash that differs."""
    found: list[dict[str, Any]] = []
    is_kernel = isinstance(call, _TritonKernelCall)

    def compare(path: Any, hash1: Any, hash2: Any) -> None:
        if hash1 != hash2:
            found.append({"call_type": "triton kernel" if is_kernel else "torch op", "call": _get_call_name(call),
                          "arg_name": path[0].key if is_kernel else None, "pytree_path": None if is_kernel else keystr(path),
                          "hash1": hash1, "hash2": hash2, "rel_diff": _compute_rel_diff(hash1, hash2),
                          "is_input_hash": is_input})
    tree_map_with_path(compare, hashes1, hashes2)
    return found
