"""Devices: `cpu` computes with NumPy, `cuda` with CuPy, `meta` only infers shapes."""
from __future__ import annotations

from typing import Any

from retrograd.core.hooks import hooks

# The device types that PyTorch names; tensors exist on the first and on "meta" (see `missing`).
KNOWN = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
         "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")


class device:
    """A device that holds tensors, such as `device("cpu")` or `device("cuda", 0)`.

    >>> device("cpu")
    device(type='cpu')
    >>> device("cuda:1").index
    1
    """

    __slots__ = ("type", "index", "_entered")

    def __init__(self, type: str, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type: str = type.type
            self.index: int | None = type.index
            return
        if isinstance(type, int):                # the index of an accelerator
            raise RuntimeError("Cannot access accelerator device when none is available.")
        kind, _, number = type.partition(":")
        if kind not in KNOWN:
            raise RuntimeError(f"Expected one of {', '.join(KNOWN)} device type at start of device string: {type}")
        if number:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        self.type = kind
        self.index = index

    def __enter__(self) -> device:
        """Create new tensors on this device until the scope ends."""
        context = hooks.device_context(self)
        if not hasattr(self, "_entered"):
            self._entered: list[Any] = []
        self._entered.append(context)
        context.__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        self._entered.pop().__exit__(*args)

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index) if self.index is not None else (self.type,))


CPU = device("cpu")
META = device("meta")


def parse_device(value: Any) -> device:
    """Turn a device, a string or None into a device (None means cpu)."""
    if value is None:
        return CPU
    return value if type(value) is device else device(value)


def names_cpu(value: Any) -> bool:
    """Whether a value given as a device names the cpu without an index."""
    if type(value) is device:
        return value.type == "cpu" and value.index is None
    return type(value) is str and value == "cpu"


def missing(value: device) -> Exception:
    """The error for a tensor on a device that is not available."""
    return AssertionError(f"Torch not compiled with {value.type.upper()} enabled")
