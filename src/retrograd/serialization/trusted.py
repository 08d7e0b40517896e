"""Python's own unpickler, for `weights_only=False`: the file may run any code, so its source must be trusted."""
from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

from retrograd.serialization.allowlist import find_allowed
from retrograd.serialization.names import find_ours
from retrograd.serialization.unpickler import ForeignError


def trusted_unpickler(data: bytes, position: int, load_storage: Callable[[Any], Any], pickle_module: Any = pickle,
                      **options: Any) -> Any:
    """An unpickler over `data`, from `position` on, that knows storages and PyTorch's names."""
    file = io.BytesIO(data)
    file.seek(position)

    class TrustedUnpickler(pickle_module.Unpickler):                # type: ignore[misc, name-defined]
        """Finds PyTorch's names among retrograd's."""

        def find_class(self, module: str, name: str) -> Any:
            if module == "torch" or module.startswith("torch."):
                found = find_allowed(f"{module}.{name}") or find_ours(module, name)
                if found is not None:
                    return found
            return super().find_class(module, name)

        def persistent_load(self, saved_id: Any) -> Any:
            try:
                return load_storage(saved_id)
            except ForeignError as error:
                raise error.error from None

    class Sequence:
        """Reads one pickle after the other; each has a memo of its own."""

        def __init__(self) -> None:
            self.position = position

        def load(self) -> Any:
            file.seek(self.position)
            unpickler = TrustedUnpickler(file, **options)
            result = unpickler.load()
            self.position = file.tell()
            return result

    return Sequence()
