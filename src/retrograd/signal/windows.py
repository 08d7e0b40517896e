"""Window functions: weights by which a piece of a signal fades in and out."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import retrograd as torch

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def window(name: str, M: int, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool,
           shape: Callable[[Any, float], Any]) -> Any:
    """`shape` of the positions 0 to M - 1, told the last position of the period: M - 1, or M if it is not symmetric."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M == 0:
        return torch.empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    if M == 1:
        return torch.ones((1,), dtype=dtype, device=device, requires_grad=requires_grad)
    made = shape(torch.arange(M, dtype=dtype, device=device), M - 1 if sym else M)
    return made.requires_grad_() if requires_grad else made         # transforms refuse requires_grad_(False) too


def cosines(a: Iterable[float], k: Any, last: float) -> Any:
    """The sum of alternating cosines with coefficients `a`."""
    return sum((-1) ** i * c * torch.cos(2 * math.pi * i * k / last) for i, c in enumerate(a))


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = torch.strided,
                   device: Any = None, requires_grad: bool = False) -> Any:
    """Alternating cosines with the coefficients `a`.

    >>> general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    a = list(a)
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return window("general_cosine", M, sym, dtype, layout, device, requires_grad, lambda k, last: cosines(a, k, last))


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = torch.strided,
                    device: Any = None, requires_grad: bool = False) -> Any:
    """alpha - (1 - alpha) cos(2 pi k / (M - 1)).

    >>> general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = torch.strided, device: Any = None,
            requires_grad: bool = False) -> Any:
    """0.54 - 0.46 cos(2 pi k / (M - 1)).

    >>> hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = torch.strided, device: Any = None,
         requires_grad: bool = False) -> Any:
    """0.5 - 0.5 cos(2 pi k / (M - 1)).

    >>> hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = torch.strided, device: Any = None,
             requires_grad: bool = False) -> Any:
    """Three cosines.

    >>> blackman(3).abs().round(decimals=4)
    tensor([0., 1., 0.])
    """
    return window("blackman", M, sym, dtype, layout, device, requires_grad,
                  lambda k, last: cosines([0.42, 0.5, 0.08], k, last))


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = torch.strided, device: Any = None,
            requires_grad: bool = False) -> Any:
    """Four cosines.

    >>> nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = torch.strided, device: Any = None,
             requires_grad: bool = False) -> Any:
    """A triangle.

    >>> bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return window("bartlett", M, sym, dtype, layout, device, requires_grad,
                  lambda k, last: 1 - torch.abs(-1 + k * (2 / last)))


def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = torch.strided, device: Any = None,
           requires_grad: bool = False) -> Any:
    """Half a period of a sine.

    >>> cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return window("cosine", M, sym, dtype, layout, device, requires_grad,
                  lambda k, last: torch.sin((k + 0.5) * (math.pi / (last + 1))))


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
                layout: Any = torch.strided, device: Any = None, requires_grad: bool = False) -> Any:
    """exp(-|k - center| / tau).

    >>> exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return window("exponential", M, sym, dtype, layout, device, requires_grad,
                  lambda k, last: torch.exp(-torch.abs(k - (last / 2 if center is None else center)) / tau))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = torch.strided,
             device: Any = None, requires_grad: bool = False) -> Any:
    """exp(-(k - center)^2 / (2 std^2)).

    >>> gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return window("gaussian", M, sym, dtype, layout, device, requires_grad,
                  lambda k, last: torch.exp(-(((k - last / 2) / (std * math.sqrt(2))) ** 2)))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = torch.strided,
           device: Any = None, requires_grad: bool = False) -> Any:
    """The Kaiser window of shape `beta`.

    >>> kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(k: Any, last: float) -> Any:
        place = torch.clamp(1 - (2 * k / last - 1) ** 2, min=0)
        return torch.i0(beta * torch.sqrt(place)) / torch.i0(torch.tensor(beta, dtype=k.dtype, device=k.device))
    return window("kaiser", M, sym, dtype, layout, device, requires_grad, shape)
