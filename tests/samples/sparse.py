"""Samples of the ops in retrograd/ops/sparse: their tensors are dense, and become sparse before the op runs.

What is differentiated is a function of dense tensors, so that every entry can be varied; a mask says which there are.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples

PLACES = (np.arange(12).reshape(3, 4) % 3 != 0).tolist()
OTHERS = (np.arange(12).reshape(3, 4) % 4 < 2).tolist()


def library_of(t: Any) -> Any:
    """The library that a tensor comes from: recorders of values run the samples in PyTorch."""
    return sys.modules[type(t).__module__.partition(".")[0]]


def coo(t: Any, places: Any = PLACES) -> Any:
    """The entries of `t` at some places, differentiably."""
    library = library_of(t)
    mask = library.tensor(places)
    return library.sparse_coo_tensor(mask.nonzero().t(), t[mask], t.shape).coalesce()


def dense(t: Any) -> list[Any]:
    return [t.to_dense()]


@samples("_sparse_coo_tensor_with_dims_and_tensors.default")
def from_parts(make: Maker) -> Iterator[Sample]:
    indices = new_tensor(np.array([[0, 2, 2], [1, 0, 3]]))
    yield Sample(2, 0, (3, 4), indices, make(3), layout=torch.sparse_coo, after=dense)
    yield Sample(2, 1, (3, 4, 2), indices, make(3, 2), layout=torch.sparse_coo, after=dense, note="dense dimension")
    repeated = new_tensor(np.array([[0, 2, 2], [1, 0, 0]]))
    yield Sample(2, 0, (3, 4), repeated, make(3), layout=torch.sparse_coo, after=dense, note="uncoalesced")


@samples("_sparse_compressed_tensor_unsafe.default")
def from_compressed_parts(make: Maker) -> Iterator[Sample]:
    ends, columns = new_tensor(np.array([0, 1, 1, 3])), new_tensor(np.array([1, 0, 3]))
    yield Sample(ends, columns, make(3), (3, 4), layout=torch.sparse_csr, after=dense)


@samples("_coalesce.default")
def coalesce(make: Maker) -> Iterator[Sample]:
    places = [[0, 2, 2], [1, 0, 0]]
    yield Sample(make(3), before=lambda t: [library_of(t).sparse_coo_tensor(places, t, (3, 4))], after=dense)


@samples("values.default")
def values(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), before=lambda t: [coo(t)])
    yield Sample(make(3, 4), before=lambda t: [t.to_sparse_csr()], note="compressed")


@samples("_sparse_values_at.default")
def values_at(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), new_tensor(np.array([[0, 2], [1, 0]])), before=lambda t, indices: [coo(t), indices])


@samples("to_dense.default", "_to_dense.default")
def to_dense(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), before=lambda t, *rest: [coo(t), *rest])
    yield Sample(make(3, 4), before=lambda t, *rest: [t.to_sparse_csr(), *rest], note="compressed")


@samples("to_sparse.default", "_to_sparse.default")
def to_sparse(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), after=dense)
    yield Sample(make(3, 4), layout=torch.sparse_csr, after=dense)


@samples("to_sparse.sparse_dim", "_to_sparse.sparse_dim")
def to_sparse_dim(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, after=dense)


@samples("to_sparse_csr.default", "_to_sparse_csr.default", "to_sparse_csc.default", "_to_sparse_csc.default")
def to_compressed(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), after=dense)


@samples("to_sparse_bsr.default", "_to_sparse_bsr.default", "to_sparse_bsc.default", "_to_sparse_bsc.default")
def to_blocks(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4), (1, 2), after=dense)


@samples("sparse_mask.default")
def sparse_mask(make: Maker) -> Iterator[Sample]:
    mask = make(3, 4, requires_grad=False)
    yield Sample(make(3, 4), mask, before=lambda t, m: [t, coo(m)], after=dense)
    yield Sample(make(3, 4), mask, before=lambda t, m: [coo(t, OTHERS), coo(m)], after=dense, note="sparse")


@samples("_sparse_mask_projection.default")
def mask_projection(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, requires_grad=False), before=lambda t, m, flag: [coo(t, OTHERS), coo(m), flag],
                 after=dense)


@samples("_sparse_addmm.default")
def addmm(make: Maker) -> Iterator[Sample]:
    def with_sparse(self: Any, mat1: Any, *rest: Any) -> Any:
        return [self, coo(mat1), *rest]
    yield Sample(make(3, 2), make(3, 4), make(4, 2), before=with_sparse)
    yield Sample(make(3, 2), make(3, 4), make(4, 2), beta=0.5, alpha=2, before=with_sparse)


@samples("_sparse_mm.default")
def mm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4, 2), before=lambda a, b: [coo(a), b])
    yield Sample(make(3, 4), make(3, 4), before=lambda a, b: [coo(a), coo(b).t()], after=dense, note="both sparse")


@samples("_sparse_sparse_matmul.default")
def sparse_matmul(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), before=lambda a, b: [coo(a), coo(b, OTHERS).t()], after=dense)


@samples("smm.default", "hspmm.default")
def refused_products(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, requires_grad=False), make(4, 2), before=lambda a, b: [coo(a), b], after=dense)


@samples("_sparse_sum.dim")
def sparse_sum(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), (0,), before=lambda t, dim: [coo(t), dim], after=dense)
    yield Sample(make(3, 4), (0, 1), before=lambda t, dim: [coo(t), dim], note="all")


@samples("_sparse_sum_backward.default")
def sparse_sum_backward(make: Maker) -> Iterator[Sample]:
    shape = make(3, 4, requires_grad=False)
    yield Sample(make(4), shape, (0,), before=lambda grad, t, dim: [grad.to_sparse(), coo(t), dim], after=dense)


@samples("_sparse_softmax.default", "_sparse_log_softmax.default")
def sparse_softmax(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, False, before=lambda t, *rest: [coo(t), *rest], after=dense)
    yield Sample(make(3, 4), 0, False, before=lambda t, *rest: [coo(t), *rest], after=dense)


@samples("_sparse_softmax_backward_data.default")
def softmax_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), 1, make(3, 4, requires_grad=False), after=dense,
                 before=lambda grad, out, dim, t: [coo(grad), coo(out), dim, coo(t)])


@samples("_sparse_log_softmax_backward_data.default")
def log_softmax_backward(make: Maker) -> Iterator[Sample]:
    t = make(3, 4, requires_grad=False)
    out = torch.sparse.log_softmax(coo(t), 1).to_dense().requires_grad_()
    yield Sample(make(3, 4), out, 1, t, after=dense,
                 before=lambda grad, out, dim, t: [coo(grad), coo(out), dim, coo(t)])


@samples("indices.default")
def indices(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, requires_grad=False), before=lambda t: [coo(t)])


@samples("_sparse_resize_.default")
def resize(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, requires_grad=False), (4, 5), 2, 0, False, before=lambda t, *rest: [coo(t), *rest], after=dense)
