"""What modules hand on to the functions that make their tensors."""
from __future__ import annotations

from typing import Any


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The device, dtype and memory format among keyword arguments, also from a dict under `factory_kwargs`.

    >>> factory_kwargs({"dtype": "float64", "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': 'float64'}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - (simple | {"factory_kwargs"})
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in sorted(simple & kwargs.keys()):
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found
