"""Functions of functions that PyTorch keeps under `torch._higher_order_ops`."""
from importlib import import_module
from typing import Any

from retrograd._higher_order_ops.associative_scan import associative_scan
from retrograd._higher_order_ops.control_flow import cond, map, scan, while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]

LATER = {"InvokeQuant": "regions", "invoke_quant": "regions", "invoke_quant_packed": "regions", "invoke_subgraph": "regions",
         "auto_functionalized": "effects", "auto_functionalized_v2": "effects"}


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(import_module(f"{__name__}.{LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
