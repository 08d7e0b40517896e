"""Samples of the ops in retrograd/ops/views/slicing.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples

LAST = 2**63 - 1


@samples("select.int", "select_copy.int")
def select(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, 1)
    yield Sample(make(3, 4), -1, -1)
    yield Sample(make(3), 0, 2)
    yield Sample(make(0, 3), 1, 2)
    yield Sample(make.noncontiguous(3, 4), 1, 0)


@samples("select_backward.default")
def select_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4), (3, 4), 0, 1)
    yield Sample(make(), (3,), -1, -1)


@samples("slice.Tensor", "slice_copy.Tensor")
def slices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 0, 1, 3)
    yield Sample(make(3, 4), 1, -3, LAST, 2)
    yield Sample(make(3, 4), 0, 2, 1)
    yield Sample(make(3, 4), 1, None, 2)
    yield Sample(make(0, 3), 1, 1)
    yield Sample(make.noncontiguous(3, 4, dtype=torch.complex128), 1, 1, 3)


@samples("slice_backward.default")
def slice_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (6, 4), 0, 0, 3, 1)
    yield Sample(make(3, 4), (6, 4), 0, 0, 6, 2)


@samples("narrow.default", "narrow_copy.default")
def narrow(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, 1, 2)
    yield Sample(make(3, 4), 1, 4, 0)
    yield Sample(make(3, 4), 0, -2, 2)


@samples("narrow.Tensor")
def narrow_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, make.index(2), 1)


@samples("diagonal.default", "diagonal_copy.default")
def diagonal(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), -1)
    yield Sample(make(3, 4), 5)
    yield Sample(make(2, 3, 4), 0, 2, 1)
    yield Sample(make(2, 0, 4))


@samples("linalg_diagonal.default")
def linalg_diagonal(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4))
    yield Sample(make(3, 4), offset=1)


@samples("diagonal_backward.default")
def diagonal_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4), (4, 4), 0, 0, 1)
    yield Sample(make(4), (5, 4), -1, 0, 1)


@samples("diag_embed.default")
def diag_embed(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), -1, 0, 2)


@samples("diag.default", "diagflat.default")
def diag(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4))
    yield Sample(make(4), -2)
    yield Sample(make(3, 4), 1)


@samples("unfold.default", "unfold_copy.default")
def unfold(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4), 0, 2, 1)
    yield Sample(make(2, 7), -1, 3, 2)
    yield Sample(make(), 0, 1, 1)
    yield Sample(make(4), 0, 0, 1)


@samples("unfold_backward.default")
def unfold_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (6,), 0, 4, 1)
    yield Sample(make(3, 2), (7,), 0, 2, 2)


@samples("unbind.int", "unbind_copy.int")
def unbind(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), -1)
    yield Sample(make(3))


@samples("split.Tensor", "split_copy.Tensor", "unsafe_split.Tensor", "chunk.default", "unsafe_chunk.default",
         "tensor_split.sections")
def splits(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make(3, 4), 3, 1)
    yield Sample(make.noncontiguous(3, 4), 2, -1)


@samples("split.sizes", "split_with_sizes.default", "split_with_sizes_copy.default", "unsafe_split_with_sizes.default")
def splits_with_sizes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, 2))
    yield Sample(make(3, 4), (1, 0, 3), 1)


@samples("tensor_split.indices")
def tensor_split_indices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, 3), 1)
    yield Sample(make(3, 4), (2, 1))


@samples("tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make.index(2, 2), 1)
    yield Sample(make(3, 4), make.index(3, low=2))


@samples("hsplit.int", "dsplit.int")
def even_splits(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 2), 2)


@samples("vsplit.int")
def vsplit(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 2), 2)


@samples("hsplit.array", "vsplit.array", "dsplit.array")
def splits_at(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 3), (1, 2))


@samples("select_scatter.default")
def select_scatter(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), 0, 1)
    yield Sample(make(3, 4, order="F"), make(3), 1, -1)


@samples("slice_scatter.default")
def slice_scatter(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(3, 2), 1, 0, 4, 2)


@samples("diagonal_scatter.default")
def diagonal_scatter(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3))
    yield Sample(make(3, 4), make(2), -1)


@samples("as_strided_scatter.default")
def as_strided_scatter(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 2), (2, 2), (4, 1))
    yield Sample(make(3, 4), make(4), (4,), (1,), 3)


@samples("slice_inverse.default")
def slice_inverse(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, requires_grad=False)[:2], make(3, 4, requires_grad=False), 0, 0, 2, grad=False)
    # differentiated where the slice is everything: a copy of a part has no memory around it
    yield Sample(make(3, 4), make(3, 4), 0, 0, 3)
    yield Sample(make(3, 4), make(3, 4), 1)
