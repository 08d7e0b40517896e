"""What the processor can do, as NumPy found it."""
from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np

# PyTorch's names of instructions -> NumPy's
INSTRUCTIONS = {"sse": "SSE", "sse2": "SSE2", "sse3": "SSE3", "ssse3": "SSSE3", "sse4_1": "SSE41", "sse4_2": "SSE42",
                "popcnt": "POPCNT",
                "avx": "AVX", "f16c": "F16C", "fma3": "FMA3", "avx2": "AVX2", "avx512_f": "AVX512F", "avx512_cd": "AVX512CD",
                "avx512_vl": "AVX512VL", "avx512_bw": "AVX512BW", "avx512_dq": "AVX512DQ", "avx512_vnni": "AVX512VNNI",
                "avx512_ifma": "AVX512IFMA", "avx512_vbmi": "AVX512VBMI", "avx512_vbmi2": "AVX512VBMI2",
                "avx512_bitalg": "AVX512BITALG", "avx512_vpopcntdq": "AVX512VPOPCNTDQ", "avx512_fp16": "AVX512FP16"}


def get_capabilities() -> dict[str, Any]:
    """The kind of processor, the number of its cores, and which instructions it has.

    >>> "avx2" in get_capabilities()
    True
    """
    found = np._core._multiarray_umath.__cpu_features__           # type: ignore[attr-defined]
    has = {name: bool(found.get(theirs, False)) for name, theirs in INSTRUCTIONS.items()}
    return {"architecture": platform.machine(), "num_logical_cores": os.cpu_count(), **has}


def is_avx2_supported() -> bool:
    """Whether the processor has AVX2.

    >>> is_avx2_supported() == get_capabilities()["avx2"]
    True
    """
    return bool(get_capabilities()["avx2"])


def is_avx512_supported() -> bool:
    """Whether the processor has the foundation of AVX-512.

    >>> is_avx512_supported() == get_capabilities()["avx512_f"]
    True
    """
    return bool(get_capabilities()["avx512_f"])
