"""Where storages go when they are loaded: `map_location`, and the devices that programs register."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from retrograd.core.device import device
from retrograd.core.reserved import contiguous_array
from retrograd.core.storage import UntypedStorage
from retrograd.serialization.errors import ArchiveError, shown

WITHOUT_DATA: WeakSet[UntypedStorage] = WeakSet()       # storages on the meta device
PACKAGES: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []


def register_package(priority: int, tagger: Callable[[Any], str | None],
                     deserializer: Callable[[Any, str], Any]) -> None:
    """Add a kind of place: `tagger` names the place of a storage, `deserializer` puts one there; both may return None.

    >>> register_package(1000, lambda storage: None, lambda storage, location: None)
    >>> _ = PACKAGES.pop()
    """
    PACKAGES.append((priority, tagger, deserializer))
    PACKAGES.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The name of the place where a storage is.

    >>> from retrograd import UntypedStorage
    >>> location_tag(UntypedStorage(2))
    'cpu'
    """
    for _, tagger, _ in PACKAGES:
        location = tagger(storage)
        if location:
            return location
    return "cpu"


def default_restore_location(storage: Any, location: str) -> Any:
    """Put a storage that was read into the place of that name.

    >>> from retrograd import UntypedStorage
    >>> len(default_restore_location(UntypedStorage(2), "cpu"))
    2
    """
    for _, _, deserializer in PACKAGES:
        result = deserializer(storage, location)
        if result is not None:
            return result
    if location == "cpu":
        return storage
    if location == "meta":
        made = UntypedStorage(contiguous_array((storage.nbytes(),), np.uint8))
        WITHOUT_DATA.add(made)
        return made
    kind = location.partition(":")[0]
    if kind in ("cuda", "mps", "xpu", "hpu", "xla", "mtia"):
        raise ArchiveError(f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is "
                           "False. If you are running on a CPU-only machine, please use torch.load with "
                           "map_location=torch.device('cpu') to map your storages to the CPU.")
    raise ArchiveError(f"don't know how to restore data location of torch.storage.{type(storage).__name__} (tagged with "
                       f"{shown(location)})")


def placement(map_location: Any) -> Callable[[Any, str], Any]:
    """What `map_location` means for one storage that was saved at a location."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if callable(map_location):
        def chosen(storage: Any, location: str) -> Any:
            result = map_location(storage, location)
            return default_restore_location(storage, location) if result is None else result
        return chosen
    if not isinstance(map_location, (str, device)):
        raise TypeError(f"'{type(map_location).__name__}' object is not callable. map_location is a device, its name, a dict "
                        "of names, or a function of a storage and the name of its location")
    return lambda storage, location: default_restore_location(storage, str(map_location))
