"""Samples of the ops in retrograd/ops/linalg/spectral.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import retrograd as torch
from tests.samples import Maker, Sample, samples
from tests.samples.solve import COMPLEX, hermitian, positive, regular

WIDE_AND_TALL = ((3, 3), (4, 3), (3, 4), (2, 4, 3))


def magnitudes(*tensors: Any) -> Any:
    """What vectors have in common that differ by a sign or a phase."""
    return [t.abs() for t in tensors]


@samples("linalg_qr.default")
def linalg_qr(make: Maker) -> Iterator[Sample]:
    for shape in (*WIDE_AND_TALL, (2, 3, 0), (0, 3)):
        yield Sample(make(*shape))
    yield Sample(make(3, 3), "complete")
    yield Sample(make(3, 4), "complete")
    yield Sample(make(4, 3), "complete", grad=False)
    yield Sample(make(4, 3), "r", grad=False)
    yield Sample(make(4, 3, dtype=COMPLEX))


@samples("qr.default")
def qr(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3))
    yield Sample(make(3, 4), some=False)


@samples("geqrf.default")
def geqrf(make: Maker) -> Iterator[Sample]:
    for shape in WIDE_AND_TALL:
        yield Sample(make(*shape))


@samples("_linalg_eigh.default", "linalg_eigh.default", "linalg_eigvalsh.default")
def eigh(make: Maker) -> Iterator[Sample]:
    for uplo in ("L", "U"):
        yield Sample(positive(make, 3, 3), uplo, before=hermitian, after=magnitudes)
        yield Sample(positive(make, 2, 3, 3), uplo, before=hermitian, after=magnitudes)
    yield Sample(positive(make, 3, 3, dtype=COMPLEX), before=hermitian, after=magnitudes)
    yield Sample(positive(make, 0, 3, 3), before=hermitian)


@samples("linalg_eig.default", "_linalg_eigvals.default", "linalg_eigvals.default")
def eig(make: Maker) -> Iterator[Sample]:
    yield Sample(positive(make, 3, 3), after=magnitudes)
    yield Sample(regular(make, 2, 3, 3), after=magnitudes)
    yield Sample(regular(make, 3, 3, dtype=COMPLEX), after=magnitudes)


@samples("_linalg_svd.default", "linalg_svd.default")
def svd(make: Maker) -> Iterator[Sample]:
    for shape in WIDE_AND_TALL:
        yield Sample(make(*shape), False, after=magnitudes)
    yield Sample(make(3, 3), True, after=magnitudes)
    yield Sample(make(4, 3), True, grad=False, after=magnitudes)
    yield Sample(make(4, 3, dtype=COMPLEX), False, after=magnitudes)
    yield Sample(make(0, 3, 3), False)


@samples("linalg_svdvals.default")
def svdvals(make: Maker) -> Iterator[Sample]:
    for shape in WIDE_AND_TALL:
        yield Sample(make(*shape))
    yield Sample(make(4, 3, dtype=COMPLEX))


@samples("svd.default")
def old_svd(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), after=magnitudes)
    yield Sample(make(3, 4), compute_uv=False)


@samples("linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float")
def pinv(make: Maker) -> Iterator[Sample]:
    for shape in (*WIDE_AND_TALL, (0, 3)):
        yield Sample(make(*shape))
    yield Sample(make(4, 3, dtype=COMPLEX))
    yield Sample(positive(make, 3, 3), hermitian=True, before=lambda A, atol, rtol, flag: (*hermitian(A), atol, rtol, flag))


@samples("linalg_pinv.default", "pinverse.default")
def pinv_rcond(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), 1e-10)


@samples("linalg_pinv.rcond_tensor")
def pinv_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), torch.tensor(1e-10, dtype=torch.float64))


@samples("linalg_lstsq.default")
def lstsq(make: Maker) -> Iterator[Sample]:
    for shape in ((3, 3), (4, 3), (3, 4), (2, 4, 3)):
        yield Sample(make(*shape), make(*shape[:-1], 2))
    yield Sample(make(4, 3), make(4, 2), driver="gelsd")
    yield Sample(make(4, 3), make(4, 2), driver="gels")
    yield Sample(make(4, 3), make(4))
    yield Sample(make(4, 3, dtype=COMPLEX), make(4, 2, dtype=COMPLEX))
