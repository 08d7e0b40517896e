"""torch.fft: discrete Fourier transforms."""
from __future__ import annotations

from typing import Any

from retrograd.core.api import make

NAMES = ("fft", "fft2", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2",
         "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn")
__all__ = [*NAMES, "fftfreq", "rfftfreq"]

for name in NAMES:
    globals()[name] = make(f"fft_{name}", False)
    globals()[name].__module__ = "torch._C._fft"
del name


def frequencies(name: str) -> Any:
    call = make(f"fft_{name}", False)

    def function(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        made = call(*args, **kwargs)
        return made.requires_grad_() if requires_grad else made
    function.__name__ = function.__qualname__ = f"fft_{name}"
    function.__module__ = "torch._C._fft"
    return function


fftfreq = frequencies("fftfreq")
rfftfreq = frequencies("rfftfreq")
