"""Samples of the ops in retrograd/ops/signal/fft.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples

COMPLEX = torch.complex128


@samples("_fft_c2c.default")
def c2c(make: Maker) -> Iterator[Sample]:
    for normalization in (0, 1, 2):
        yield Sample(make(3, 4, dtype=COMPLEX), (1,), normalization, True)
        yield Sample(make(3, 4, dtype=COMPLEX), (0, 1), normalization, False)


@samples("_fft_r2c.default")
def r2c(make: Maker) -> Iterator[Sample]:
    for n in (4, 5):
        yield Sample(make(3, n), (1,), 0, True)
        yield Sample(make(3, n), (1, 0), 1, True)
        yield Sample(make(3, n), (0, 1), 2, False)


@samples("_fft_c2r.default")
def c2r(make: Maker) -> Iterator[Sample]:
    for n in (4, 5):
        yield Sample(make(2, 3, dtype=COMPLEX), (1,), 0, n)
        yield Sample(make(2, 3, dtype=COMPLEX), (0, 1), 2, n)


@samples("fft_fft.default", "fft_ifft.default", "fft_irfft.default", "fft_hfft.default")
def of_complex(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4, dtype=COMPLEX), norm="ortho")
    yield Sample(make(3, 4, dtype=COMPLEX), 3, 0)
    yield Sample(make(3, 4, dtype=COMPLEX), 6, norm="forward")


@samples("fft_rfft.default", "fft_ihfft.default")
def of_real(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 3, 0, "ortho")
    yield Sample(make(3, 4), 6, norm="forward")


@samples(*[f"fft_{name}{end}.default" for name in ("fft", "ifft", "irfft", "hfft") for end in "2n"])
def of_complex_matrices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(2, 3, 4, dtype=COMPLEX), norm="ortho")
    yield Sample(make(3, 4, dtype=COMPLEX), (2, 6))
    yield Sample(make(3, 4, dtype=COMPLEX), dim=(1, 0))


@samples(*[f"fft_{name}{end}.default" for name in ("rfft", "ihfft") for end in "2n"])
def of_real_matrices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(2, 3, 4), (2, 6), norm="ortho")
    yield Sample(make(3, 4), dim=(1, 0))


@samples("fft_fftshift.default", "fft_ifftshift.default")
def shift(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), (1,))


@samples("fft_fftfreq.default", "fft_rfftfreq.default")
def frequencies(make: Maker) -> Iterator[Sample]:
    yield Sample(4)
    yield Sample(5, 0.5, dtype=torch.float64)
