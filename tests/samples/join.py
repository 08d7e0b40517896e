"""Samples of the ops in retrograd/ops/lists/join.py, memory/rearrange.py, linalg/triangles.py and nn/constant_pad.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("cat.default", "concat.default", "concatenate.default")
def cat(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 4), make(2, 4)])
    yield Sample([make(3, 4), make(3, 2), make(3, 1, requires_grad=False)], -1)
    yield Sample([make(3, 4), make(0)], note="1-D without elements")
    yield Sample([make(0, 3), make(2, 3)])
    yield Sample([make.noncontiguous(3, 4), make(3, 4, order="F")], 1)
    yield Sample([make(2), make(2, dtype=torch.complex128)])
    yield Sample([make(3)])


@samples("stack.default")
def stack(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 4), make(3, 4)])
    yield Sample([make(3, 4), make(3, 4, order="F")], -1)
    yield Sample([make(), make()])
    yield Sample([make(0, 3), make(0, 3)], 1)


@samples("hstack.default", "vstack.default", "row_stack.default", "dstack.default", "column_stack.default")
def stacks(make: Maker) -> Iterator[Sample]:
    yield Sample([make(4), make(4)])
    yield Sample([make(3, 4), make(3, 4)])
    yield Sample([make(), make()])


@samples("block_diag.default")
def block_diag(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 4), make(2, 1)])
    yield Sample([make(3), make(), make(2, 2)])


@samples("combinations.default")
def combinations(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4))
    yield Sample(make(4), 3)
    yield Sample(make(3), 2, True)
    yield Sample(make(2), 3)


@samples("repeat.default", "tile.default")
def repeat(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 1))
    yield Sample(make(3, 4), (2, 3, 2))
    yield Sample(make(3, 4), (1, 1))
    yield Sample(make(3, 4), (0, 2))
    yield Sample(make(), (3,))


@samples("repeat_interleave.Tensor")
def repeat_interleave(make: Maker) -> Iterator[Sample]:
    yield Sample(make.index(3, 4), grad=False)


@samples("repeat_interleave.self_Tensor")
def repeat_interleave_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.index(4, 3), 0)
    yield Sample(make(3, 4), make.index(3, 1, low=1))


@samples("repeat_interleave.self_int")
def repeat_interleave_int(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make(3, 4), 2, 1)
    yield Sample(make(3, 4), 2, 0, output_size=6)


@samples("flip.default")
def flip(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (0,))
    yield Sample(make(3, 4, order="F"), (0, -1))
    yield Sample(make(3, 4), ())
    yield Sample(make(0, 3), (0,))


@samples("fliplr.default", "flipud.default")
def flips(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))


@samples("roll.default")
def roll(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1,))
    yield Sample(make(3, 4), (-1,), (0,))
    yield Sample(make(3, 4), (1, 5), (0, 1))
    yield Sample(make(3, 4), (1, 2), (1, 1))


@samples("rot90.default")
def rot90(make: Maker) -> Iterator[Sample]:
    for k in range(-1, 4):
        yield Sample(make(3, 4), k)
    yield Sample(make(2, 3, 4), 1, (0, -1))


@samples("tril.default", "triu.default")
def triangles(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(2, 3, 4), 1)
    yield Sample(make(3, 4, order="F"), -1)
    yield Sample(make(0, 3))


@samples("tril_indices.default", "triu_indices.default")
def triangle_indices(make: Maker) -> Iterator[Sample]:
    yield Sample(3, 4, grad=False)
    yield Sample(3, 4, -1, dtype=torch.int32, grad=False)


@samples("kron.default")
def kron(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 2))
    yield Sample(make(4), make(2, 2))
    yield Sample(make(), make(2))


@samples("constant_pad_nd.default")
def constant_pad_nd(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, 2))
    yield Sample(make(3, 4), (1, -1, 0, 2), 2.5)
    yield Sample(make(3, 4), (-1, -1))


@samples("pad.default")
def pad(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, 2))
    yield Sample(make(2, 3, 4), (1, 2), "reflect")
    yield Sample(make(2, 3, 4), (1, 2), "replicate")
    yield Sample(make(2, 3, 4), (1, 2), "circular")


@samples("_chunk_cat.default")
def chunk_cat(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(2, 5)], 1, 2)
    yield Sample([make(3, 2)], 0, 2)
