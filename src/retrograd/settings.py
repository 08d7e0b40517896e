"""Settings of the whole process that programs make: determinism, precision of matrix products, threads, default device.

Ops are deterministic whatever the number of threads, and compute in the precision of their dtype. What asking for determinism
does change is in core/deterministic.py; the other settings are kept and told.
"""
from __future__ import annotations

import os
from functools import cache
from typing import Any

import retrograd as torch
from retrograd.core import threads
from retrograd.core.deterministic import Mode
from retrograd.core.device import device as device_class
from retrograd.core.hooks import hooks
from retrograd.core.state import tls
from retrograd.core.subclass import TorchFunctionMode

__all__ = ["are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode",
           "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
           "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision",
           "set_default_device", "set_num_interop_threads", "set_num_threads", "use_deterministic_algorithms"]


class Settings:
    """The settings in force."""

    precision = "highest"
    interop_threads = os.cpu_count() or 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same result each time; all do.

    >>> use_deterministic_algorithms(True)
    >>> are_deterministic_algorithms_enabled()
    True
    >>> use_deterministic_algorithms(False)
    """
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}")
    Mode.asked, Mode.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were asked for.

    >>> are_deterministic_algorithms_enabled()
    False
    """
    return Mode.asked


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether only warnings were asked for where there are none.

    >>> is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return Mode.warn_only


def get_deterministic_fill_uninitialized_memory() -> bool:
    """Whether uninitialised memory is filled in deterministic mode."""
    return Mode.fill_memory


def set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    """Fill uninitialised memory in deterministic mode, or leave it."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    Mode.fill_memory = mode


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as a number or a word: 0 or "default", 1 or "warn", 2 or "error".

    >>> set_deterministic_debug_mode("warn")
    >>> get_deterministic_debug_mode()
    1
    >>> set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    words = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in words:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                               f"{debug_mode}")
        debug_mode = words.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """The setting as a number.

    >>> get_deterministic_debug_mode()
    0
    """
    return (1 if Mode.warn_only else 2) if Mode.asked else 0


def set_float32_matmul_precision(precision: str) -> None:
    """How exact matrix products of float32 have to be at least; they are always as exact as can be.

    >>> set_float32_matmul_precision("highest")
    """
    if precision in ("highest", "high", "medium"):       # others are passed over
        Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """How exact matrix products of float32 have to be at least.

    >>> get_float32_matmul_precision()
    'highest'
    """
    return Settings.precision


def checked(name: str, number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return number


def set_num_threads(number: int) -> None:
    """How many threads an op may use, in the compiled kernels and in matrix products.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    """
    threads.set_threads(checked("set_num_threads", number))


def get_num_threads() -> int:
    """How many threads an op may use.

    >>> set_num_threads(3)
    >>> get_num_threads()
    3
    """
    return threads.get_threads()


def set_num_interop_threads(number: int) -> None:
    """How many ops may run at the same time; they run one after the other.

    >>> set_num_interop_threads(1)
    """
    Settings.interop_threads = checked("set_num_interop_threads", number)


def get_num_interop_threads() -> int:
    """How many ops may run at the same time.

    >>> set_num_interop_threads(1)
    >>> get_num_interop_threads()
    1
    """
    return Settings.interop_threads


# ---- the default device
CONSTRUCTORS = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye full hamming_window
    hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor sparse_bsc_tensor
    sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros
""".split()


@cache
def _device_constructors() -> set[Any]:
    """The functions that take their device from the scope if they are not told one."""
    named = {getattr(torch, name) for name in CONSTRUCTORS if hasattr(torch, name)}
    return named | {torch.fft.fftfreq, torch.fft.rfftfreq}


class DeviceContext(TorchFunctionMode):
    """A scope in which new tensors are made on `device`.

    >>> with DeviceContext("meta"):
    ...     torch.ones(2).device
    device(type='meta')
    """

    watches_attributes = False

    def __init__(self, device: Any) -> None:
        self.device = device_class(device)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


class Default:
    """The scope that `set_default_device` has entered, which is never left."""

    context: DeviceContext | None = None


def set_default_device(device: Any) -> None:
    """Make new tensors on `device` from now on; None means the cpu again.

    >>> set_default_device("meta")
    >>> torch.ones(2).device, torch.get_default_device()
    (device(type='meta'), device(type='meta'))
    >>> set_default_device(None)
    """
    if Default.context is not None:
        Default.context.__exit__(None, None, None)
        Default.context = None
    if device is not None:
        Default.context = DeviceContext(device)
        Default.context.__enter__()


def get_default_device() -> Any:
    """Where new tensors are made.

    >>> get_default_device()
    device(type='cpu')
    """
    for mode in reversed(tls.function_modes):
        if isinstance(mode, DeviceContext):
            return mode.device
    return device_class("cpu")


hooks.device_context = DeviceContext
