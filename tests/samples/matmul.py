"""Samples of the ops in retrograd/ops/linalg/matmul.py, contract.py and einsum.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("mm.default")
def mm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, 4))
    yield Sample(make(3, 2, order="F"), make(2, 4, order="F"))
    yield Sample(make.noncontiguous(2, 3), make(3, 4))
    yield Sample(make(2, 0), make(0, 3))
    yield Sample(make(2, 3, dtype=torch.complex128), make(3, 2, dtype=torch.complex128))


@samples("bmm.default")
def bmm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2, 3), make(5, 3, 4))
    yield Sample(make(0, 2, 3), make(0, 3, 4))
    yield Sample(make(2, 2, 3, dtype=torch.complex128), make(2, 3, 2, dtype=torch.complex128))


@samples("addmm.default")
def addmm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4), make(2, 3), make(3, 4))
    yield Sample(make(4), make(2, 3), make(3, 4, order="F"), beta=0.5, alpha=2)
    yield Sample(make(), make(2, 3), make(3, 4), beta=2)
    yield Sample(make(2, 3), make(2, 0), make(0, 3), beta=2)


@samples("addmm_.default")
def addmm_in_place(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4), make(2, 3), make(3, 4))
    yield Sample(make(2, 4), make(2, 3), make(3, 4), beta=0.5, alpha=2)


@samples("baddbmm.default")
def baddbmm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2, 4), make(5, 2, 3), make(5, 3, 4))
    yield Sample(make(4), make(5, 2, 3), make(5, 3, 4), beta=0.5, alpha=2)


@samples("addbmm.default")
def addbmm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4), make(5, 2, 3), make(5, 3, 4))
    yield Sample(make(4), make(5, 2, 3), make(5, 3, 4), beta=0.5, alpha=2)
    yield Sample(make(), make(2, 2, 0), make(2, 0, 3), beta=2)


@samples("addmv.default")
def addmv(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2), make(2, 3), make(3))
    yield Sample(make(1), make(2, 3), make(3), beta=0.5, alpha=2)


@samples("addr.default")
def addr(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2), make(3))
    yield Sample(make(3), make(2), make(3), beta=0.5, alpha=2)


@samples("mv.default")
def mv(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3))
    yield Sample(make(2, 0), make(0))
    yield Sample(make(2, 3, dtype=torch.complex128), make(3, dtype=torch.complex128))


@samples("dot.default", "vdot.default")
def dot(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3), make(3))
    yield Sample(make(0), make(0))
    yield Sample(make.noncontiguous(3), make(3))
    yield Sample(make(3, dtype=torch.complex128), make(3, dtype=torch.complex128))


@samples("matmul.default", "linalg_matmul.default")
def matmul(make: Maker) -> Iterator[Sample]:
    for first, second in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)),
                          ((5, 2, 3), (3, 4)), ((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
                          ((5, 2, 3), (1, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((5, 0, 3), (3, 4))):
        yield Sample(make(*first), make(*second))
        yield Sample(make(*first), make(*second, requires_grad=False))
        yield Sample(make(*first, requires_grad=False), make(*second))


@samples("linear.default")
def linear(make: Maker) -> Iterator[Sample]:
    for shape in ((2, 3), (5, 2, 3), (3,)):
        yield Sample(make(*shape), make(4, 3))
        yield Sample(make(*shape), make(4, 3), make(4))
    yield Sample(make(3, 2, 3).transpose(0, 1), make(4, 3), make(4))


@samples("bilinear.default")
def bilinear(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 4), make(5, 3, 4))
    yield Sample(make(2, 6, 3), make(2, 6, 4), make(5, 3, 4), make(5))
    yield Sample(make(3), make(4), make(5, 3, 4))


@samples("_trilinear.default")
def trilinear(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(5, 3, 4), make(2, 4), (1, 3), (0,), (1, 2), (2, 3))


@samples("tensordot.default")
def tensordot(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(4, 3, 5), [2, 1], [0, 1])
    yield Sample(make(2, 3), make(2, 3), [0, 1], [0, 1])
    yield Sample(make(1, 3), make(2, 3), [0], [0])
    yield Sample(make(2), make(3), [], [])


@samples("inner.default")
def inner(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(4, 3))
    yield Sample(make(3), make(3))
    yield Sample(make(), make(3))


@samples("outer.default", "ger.default")
def outer(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2), make(3))
    yield Sample(make(0), make(3))


@samples("linalg_multi_dot.default")
def multi_dot(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(3, 4)])
    yield Sample([make(2, 3), make(3, 4), make(4, 5)])
    yield Sample([make(3), make(3, 4), make(4, 5), make(5)])


@samples("linalg_cross.default")
def linalg_cross(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3))
    yield Sample(make(3, 1), make(3, 2), dim=0)
    yield Sample(make(3, dtype=torch.complex128), make(3, dtype=torch.complex128))


@samples("cross.default")
def cross(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3), 1)


@samples("linalg_vecdot.default")
def vecdot(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3))
    yield Sample(make(2, 3), make(1, 3), dim=0)


@samples("_int_mm.default")
def int_mm(make: Maker) -> Iterator[Sample]:
    bytes_of = dict(low=-128, dtype="int8")
    yield Sample(make.index(128, 2, 3, **bytes_of), make.index(128, 3, 4, **bytes_of))
