"""Functions of sparse tensors: `retrograd.sparse`, as `torch.sparse`."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.ops.sparse import products, reductions
from retrograd.ops.sparse.invariants import check_sparse_tensor_invariants
from retrograd.sparse.diagonals import as_sparse_gradcheck, sampled_addmm, spdiags

__all__ = ["addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
           "spdiags", "sum"]


def mm(sparse: Any, dense: Any, reduce: str | None = None) -> Any:
    """The product of a sparse matrix with a matrix; the gradient of the sparse one is sparse.

    With `reduce` ("sum", "mean", "amax", "amin") the products that a sum would add up are reduced otherwise.

    >>> import retrograd as torch
    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    check_tensors("_sparse_mm", sparse=sparse, dense=dense)
    return products.sparse_mm_tensors(sparse, dense) if reduce is None else mm_reduced(sparse, dense, reduce)


def check_tensors(name: str, **arguments: Any) -> None:
    """Refuse arguments that are no tensors."""
    for position, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}")


def mm_reduced(sparse: Any, dense: Any, reduce: str) -> Any:
    """`mm` with another reduction over the entries of a row, of a matrix in CSR format."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if sparse.layout.name != "sparse_csr":
        shown = "Sparse" if sparse.layout.name == "sparse_coo" else str(sparse.layout).removeprefix("torch.")
        raise RuntimeError(f"sparse_mm_reduce: Expected self to be in CSR format, but got layout {shown}")
    if sparse.dim() != 2 or dense.dim() != 2 or sparse.shape[1] != dense.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, sparse.shape))} and "
                           f"{'x'.join(map(str, dense.shape))})")
    if not sparse.is_floating_point():
        raise NotImplementedError(f'"spmm_reduce_kernel" not implemented for \'{sparse.dtype.legacy}\'')
    crow, columns = sparse.crow_indices(), sparse.col_indices()
    rows = late.arange(sparse.shape[0]).repeat_interleave(crow.diff())
    terms = sparse.values().unsqueeze(1) * dense[columns]
    zeros = terms.new_zeros(sparse.shape[0], dense.shape[1])
    return zeros.scatter_reduce(0, rows.unsqueeze(1).expand(terms.shape), terms, reduce, include_self=False)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * mat + alpha * (mat1 @ mat2), `mat1` being sparse."""
    check_tensors("_sparse_addmm", input=mat, mat1=mat1, mat2=mat2)
    return call(products.sparse_addmm, [mat, mat1, mat2, beta, alpha])


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all entries, or over some dimensions; unlike Tensor.sum, gradients stay sparse."""
    if dtype is not None:
        input = late.to(input, dtype)
    if dim is None:
        return late.coalesce(input).values().sum()
    return call(reductions.sparse_sum_dim, [input, (dim,) if isinstance(dim, int) else tuple(dim)])


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax along `dim` over the entries that are stored: the others count as -inf."""
    return call(reductions.sparse_softmax, [input if dtype is None else late.to(input, dtype), dim, False])


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return call(reductions.sparse_log_softmax, [input if dtype is None else late.to(input, dtype), dim, False])


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor"):
        types = import_module("retrograd.sparse.types").TYPES
        if name in types:
            return types[name]
    if name == "to_sparse_semi_structured" or name.startswith("SparseSemiStructuredTensor"):
        return getattr(import_module("retrograd.sparse.semi_structured"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
