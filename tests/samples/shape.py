"""Samples of the ops in retrograd/ops/views/shape.py and retrograd/ops/views/inplace.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("view.default", "reshape.default")
def reshapes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 6))
    yield Sample(make(3, 4), (-1,))
    yield Sample(make(), (1, 1))
    yield Sample(make(1), ())
    yield Sample(make(0, 3), (3, 0))
    yield Sample(make(2, 3, 1, 4), (6, 4))
    yield Sample(make(3, 4, dtype=torch.complex128), (12,))
    yield Sample(make.noncontiguous(3, 4), (3, 2, 2))


@samples("_unsafe_view.default", "_reshape_copy.default", "view_copy.default")
def plain_reshapes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 6))
    yield Sample(make(), (1,))
    yield Sample(make(0, 3), (0,))


@samples("view.dtype", "view_copy.dtype")
def dtype_views(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), torch.int64, grad=False)
    yield Sample(make(3, 4), torch.float32, grad=False)
    yield Sample(make(3, 4), torch.complex128, grad=False)


@samples("_reshape_alias.default")
def aliases(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (12,), (1,))
    yield Sample(make(3, 4), (2, 6), (6, 1))


@samples("reshape_as.default", "view_as.default")
def reshapes_as(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(2, 6, requires_grad=False))
    yield Sample(make(1), make(requires_grad=False))


@samples("expand_as.default")
def expand_as(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 1), make(2, 3, 4, requires_grad=False))
    yield Sample(make(), make(2, requires_grad=False))


@samples("flatten.using_ints")
def flatten(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4))
    yield Sample(make(2, 3, 4), 1)
    yield Sample(make(2, 3, 4), 0, 1)
    yield Sample(make.noncontiguous(2, 3, 4), 1, 2)
    yield Sample(make())


@samples("unflatten.int")
def unflatten(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, (2, 2))
    yield Sample(make(3, 4), -1, (2, -1))


@samples("ravel.default", "t.default", "t_copy.default", "squeeze.default", "squeeze_copy.default",
         "alias_copy.default")
def whole(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(4))
    yield Sample(make())
    yield Sample(make(1, 1))
    yield Sample(make(0, 3))
    yield Sample(make.noncontiguous(3, 4))


@samples("adjoint.default")
def adjoint(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(2, 3, 4, dtype=torch.complex128))


@samples("expand.default", "expand_copy.default", "broadcast_to.default")
def expansions(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 3, 4))
    yield Sample(make(1, 3, 1), (2, -1, 4))
    yield Sample(make(), (2, 3))
    yield Sample(make(), ())
    yield Sample(make(1), (0,))
    yield Sample(make.noncontiguous(3, 1), (3, 4))


@samples("as_strided.default", "as_strided_copy.default")
def as_strided(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 2), (4, 1))
    yield Sample(make(3, 4), (2, 2), (4, 1), 1)
    yield Sample(make(3, 4), (3, 3), (1, 1), note="overlapping")
    yield Sample(make(3, 4), (2, 3), (0, 1), note="expanded")
    yield Sample(make(3, 4, order="F"), (4,), (1,), 2)
    yield Sample(make(3, 4), (), ())
    yield Sample(make(3, 4), (0, 2), (1, 1))


@samples("transpose.int", "transpose_copy.int", "swapaxes.default", "swapdims.default", "movedim.int", "moveaxis.int")
def pairs_of_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, 1)
    yield Sample(make(2, 3, 4), -1, 0)
    yield Sample(make(2, 3), 1, 1)
    yield Sample(make(0, 3), 0, 1)
    yield Sample(make(3, 4, dtype=torch.complex128), 0, 1)


@samples("movedim.intlist", "moveaxis.intlist")
def movedim(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (0, 1), (1, 2))
    yield Sample(make(2, 3, 4), (), ())


@samples("permute.default", "permute_copy.default")
def permute(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (2, 0, 1))
    yield Sample(make(2, 3, 4), (-1, 1, 0))
    yield Sample(make(), ())
    yield Sample(make(2, 0, 4), (2, 0, 1))


@samples("squeeze.dim", "squeeze_copy.dim")
def squeeze_dim(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), 0)
    yield Sample(make(1, 3, 1), 1)
    yield Sample(make(1, 3, 1), -1)
    yield Sample(make(), 0)


@samples("squeeze.dims", "squeeze_copy.dims")
def squeeze_dims(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), (0, 2))
    yield Sample(make(1, 3, 1), (0, 1))
    yield Sample(make(1, 3), ())


@samples("unsqueeze.default", "unsqueeze_copy.default")
def unsqueeze(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0)
    yield Sample(make(3, 4), -1)
    yield Sample(make.noncontiguous(3, 4), 1)
    yield Sample(make(), 0)
    yield Sample(make(0, 3), 1)
