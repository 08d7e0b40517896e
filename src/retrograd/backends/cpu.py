"""The cpu."""
from __future__ import annotations

import os
import platform

import numpy as np

AVX512 = ("AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL")


def get_cpu_capability() -> str:
    """The vector instructions of the processor; programs choose between ways of computing by it, as by PyTorch's.

    >>> get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "DEFAULT"
    has = np._core._multiarray_umath.__cpu_features__    # type: ignore[attr-defined]
    wanted = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    if wanted == "default" or not (has["AVX2"] and has["FMA3"]):
        return "DEFAULT"
    return "AVX512" if wanted != "avx2" and all(has[name] for name in AVX512) else "AVX2"
