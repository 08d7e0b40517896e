"""Gives classes and functions the name of the module that publishes them, which is PyTorch's, where files are split."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PRIVATE_HOMES = ("nn.modules._", "nn.functions.", "optim.lr_scheduler.", "optim._")


def publish(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Set `__module__` of those of `names` that come from a private file to the module with this namespace.

    Pickles and reprs then carry the public path, as PyTorch's do.

    >>> import retrograd as torch
    >>> torch.nn.MultiheadAttention.__module__, torch.nn.functional.relu.__module__
    ('retrograd.nn.modules.activation', 'retrograd.nn.functional')
    """
    for name in names:
        value = namespace[name]
        home = getattr(value, "__module__", None) if callable(value) else None
        if isinstance(home, str) and home.partition(".")[2].startswith(PRIVATE_HOMES):
            value.__module__ = namespace["__name__"]
