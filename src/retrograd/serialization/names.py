"""PyTorch's names for what retrograd has: how classes and functions are called in files.

A class is saved under the module where PyTorch defines it, so that both libraries can load whole modules, optimizers and
schedulers from each other's files.
"""
from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

PACKAGE = "retrograd"

# The public packages are laid out as PyTorch's, but for these.
HOMES = {"retrograd.optim.adam.AdamW": "torch.optim.adamw"}
# public modules whose names are the same in PyTorch, the most specific first
NAMESPACES = ("nn.functional", "nn.init", "nn.utils", "nn", "optim.lr_scheduler", "optim", "linalg", "fft", "special", "")


def is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def stands_for_torch(module: str) -> bool:
    """Whether a module of this name is retrograd's, under its own name or under PyTorch's, whose place it has taken."""
    return is_ours(module) or module.partition(".")[0] == "torch" and sys.modules.get("torch") in (None, sys.modules[PACKAGE])


def torch_name(obj: Any, name: str) -> tuple[str, str]:
    """The module and the name under which PyTorch knows a class or function of retrograd."""
    module = getattr(obj, "__module__", None) or ""
    ours = PACKAGE + module.removeprefix("torch") if module.partition(".")[0] == "torch" else module
    home = HOMES.get(f"{ours}.{name}")
    if home is not None:
        return home, name
    if not isinstance(obj, type):
        for space in NAMESPACES:
            holder = sys.modules.get(f"{PACKAGE}.{space}" if space else PACKAGE)
            if holder is not None and vars(holder).get(name) is obj:
                return f"torch.{space}" if space else "torch", name
    return "torch" + module.removeprefix(PACKAGE) if is_ours(module) else module, name


def find_ours(module: str, name: str) -> Any:
    """What retrograd has under a name of PyTorch's; None if there is no such thing."""
    places = [PACKAGE + module.removeprefix("torch")]
    if module.startswith("torch.nn.modules"):
        places.append(f"{PACKAGE}.nn")
    elif module.startswith("torch.optim"):
        places.append(f"{PACKAGE}.optim")
    for place in places:
        try:
            found: Any = import_module(place)
        except ImportError:
            continue
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None
