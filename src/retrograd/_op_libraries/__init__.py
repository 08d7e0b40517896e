"""Ops of compiled libraries, written in Python: `torch.ops.load_library` declares those of the libraries named here.

A library is compiled against PyTorch's own C++ library and cannot be loaded. What it would register are ops with schemas; a
module of this package declares the same ops with `torch.library`, and an op that is not written raises when it is called.
"""
from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import retrograd as torch

# "folder/file" of a library -> the module of this package that declares its ops
MODULES = {
    "lib/_torchaudio": "torchaudio_build",
    "lib/libtorchaudio": "torchaudio",
    "torchvision/_C": "torchvision",
}
refuse = torch.ops.load_library


def install() -> None:
    """Let `torch.ops.load_library` know the libraries of this package."""
    torch.ops.load_library = load_library


def load_library(path: Any) -> None:
    """Declare the ops of a known library; any other is refused."""
    file = Path(path)
    module = MODULES.get(f"{file.parent.name}/{file.name.partition('.')[0]}")
    if module is None or not file.exists():
        refuse(path)
    import_module(f"{__name__}.{module}")


def declare(namespace: str, schemas: dict[str, Any]) -> Any:
    """Declare ops by their schemas, with the functions that compute them; None stands for one that is not written."""
    library = torch.library.Library(namespace, "DEF")
    for schema, function in schemas.items():
        name = schema.partition("(")[0]
        library.define(schema)
        library.impl(name, unwritten(f"{namespace}::{name}") if function is None else function, "CPU")
    return library


def unwritten(name: str) -> Any:
    def refuse_call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Could not run '{name}': it is an op of a compiled library, which retrograd cannot "
                                  "load, and has no Python form here")
    return refuse_call
