"""The ops that masked tensors support, as packets of `torch.ops.aten`, looked up on first use."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor.binary import BINARY_NAMES
from retrograd.masked.maskedtensor.passthrough import PASSTHROUGH_NAMES
from retrograd.masked.maskedtensor.reductions import REDUCE_NAMES
from retrograd.masked.maskedtensor.unary import UNARY_NAMES

INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if name not in ("angle", "positive", "signbit", "isnan")]
INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES
                        if name not in ("logaddexp", "logaddexp2", "equal", "fmin", "minimum", "maximum", "fmax")]
LISTS = {"NATIVE_UNARY_FNS": UNARY_NAMES, "NATIVE_INPLACE_UNARY_FNS": INPLACE_UNARY_NAMES, "NATIVE_BINARY_FNS": BINARY_NAMES,
         "NATIVE_INPLACE_BINARY_FNS": INPLACE_BINARY_NAMES, "NATIVE_REDUCE_FNS": REDUCE_NAMES,
         "PASSTHROUGH_FNS": PASSTHROUGH_NAMES}


def __getattr__(name: str) -> Any:
    if name in LISTS:
        return [getattr(torch.ops.aten, op) for op in LISTS[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
