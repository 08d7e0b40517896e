"""Sparse matrices from diagonals, products where a pattern has entries, and gradient checks of such entries."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.core.dtypes import int64
from retrograd.ops import late

__all__ = ["as_sparse_gradcheck", "sampled_addmm", "spdiags"]

LAYOUTS = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr",
           "sparse_bsc": "SparseBsc", "strided": "Strided"}


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix whose diagonals at `offsets` are the rows of `diagonals`; column j takes its entry from column j.

    >>> import retrograd as torch
    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0]]), torch.tensor([0]), (2, 2)).to_dense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    places = offsets.unsqueeze(0) if offsets.dim() == 0 else offsets
    if rows.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if places.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if rows.shape[0] != places.shape[0]:
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({places.shape[0]})")
    name = "sparse_coo" if layout is None else layout.name
    if name not in ("sparse_coo", "sparse_csr", "sparse_csc"):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {LAYOUTS[name]}")
    if places.dtype is not int64:
        kind = str(places.dtype).removeprefix("torch.")
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {LEGACY.get(kind, kind)}")
    numbers = places.tolist()
    if len(set(numbers)) != len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    height, width = shape
    entries = []
    for i, offset in enumerate(numbers):
        first, last = max(offset, 0), min(width, height + offset, rows.shape[1])
        entries += [(i, column - offset, column) for column in range(first, last)]
    which = late.tensor([[i for i, _, _ in entries], [r for _, r, _ in entries], [c for _, _, c in entries]], dtype=int64)
    which = which.view(3, len(entries))
    made = late.sparse_coo_tensor(which[1:], rows[which[0], which[2]], tuple(shape))
    if name == "sparse_coo":
        return made
    return made.to_sparse_csr() if name == "sparse_csr" else made.to_sparse_csc()


LEGACY = {"float32": "Float", "float64": "Double", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
          "bool": "Bool"}


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """beta * input + alpha * (mat1 @ mat2) where `input`, in CSR format, has entries.

    >>> import retrograd as torch
    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if input.layout.name != "sparse_csr":
        backend = "CPU" if input.layout.name == "strided" else LAYOUTS[input.layout.name] + "CPU"
        raise NotImplementedError("Could not run 'aten::sparse_sampled_addmm' with arguments from the "
                                  f"'{backend}' backend: the first argument must be in CSR format (Tensor.to_sparse_csr)")
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.layout.name != "strided":
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {LAYOUTS[t.layout.name]}")
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() < 2:
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {t.dim()}-D tensor")
    if not (input.is_floating_point() or input.is_complex()) or input.element_size() < 4:
        raise RuntimeError("sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, but got "
                           f"{input.dtype.legacy}")
    if mat1.dtype is not mat2.dtype:
        raise RuntimeError(f"sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got {mat1.dtype.legacy} and "
                           f"{mat2.dtype.legacy}")
    if input.dtype is not mat1.dtype:
        raise RuntimeError("sampled_addmm: Expected self and mat1 to have the same dtype, but got "
                           f"{input.dtype.legacy} and {mat1.dtype.legacy}")
    for i, (t, name) in ((-2, (mat1, "mat1")), (-1, (mat2, "mat2"))):
        if input.shape[i] != t.shape[i]:
            raise RuntimeError(f"sampled_addmm: self.shape[{i}] must match {name}.shape[{i}]")
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and "
                           f"{mat2.shape[-2]}x{mat2.shape[-1]})")
    crow, columns, values = input.crow_indices(), input.col_indices(), input.values()
    if not values.numel():
        return input * beta
    counts = crow.diff(dim=-1)
    batch = input.shape[:-2]
    rows = late.arange(input.shape[-2]).repeat_interleave(counts.reshape(-1, input.shape[-2])[0]) if not batch else late.stack(
        [late.arange(input.shape[-2]).repeat_interleave(c) for c in counts.reshape(-1, input.shape[-2])]).view(columns.shape)
    if batch:
        left = mat1.gather(-2, rows.unsqueeze(-1).expand(*rows.shape, mat1.shape[-1]))
        right = mat2.transpose(-1, -2).gather(-2, columns.unsqueeze(-1).expand(*columns.shape, mat1.shape[-1]))
    else:
        left, right = mat1[rows], mat2.transpose(-1, -2)[columns]
    return late.sparse_csr_tensor(crow, columns, beta * values + alpha * (left * right).sum(-1), tuple(input.shape))


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A `gradcheck` for functions of sparse tensors; with `masked=True` only stored entries vary.

    >>> import retrograd as torch
    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda t: torch.sparse.sum(t * 2), x, masked=True)
    True
    """
    @functools.wraps(gradcheck)
    def checked(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        masked = kwargs.pop("masked", False)
        given = (inputs,) if not isinstance(inputs, (list, tuple)) else tuple(inputs)
        parts: list[Any] = []
        layouts: list[Any] = []
        for t in given:
            if getattr(t, "requires_grad", False) and t.layout.name != "strided":
                stored = t.detach().coalesce() if t.layout.name == "sparse_coo" else t.detach()
                if not masked:
                    stored = with_all_entries(stored)
                layouts.append(stored)
                parts.append(stored.values().detach().clone().requires_grad_(True))
            else:
                layouts.append(None)
                parts.append(t)

        def of_values(*values: Any) -> Any:
            args = [v if stored is None else rebuilt(stored, v) for v, stored in zip(values, layouts, strict=True)]
            out = func(*args)
            if isinstance(out, (list, tuple)):
                return type(out)(dense(o) for o in out)
            return dense(out)
        return gradcheck(of_values, tuple(parts), **kwargs)
    return checked


def dense(t: Any) -> Any:
    return t.to_dense() if hasattr(t, "layout") and t.layout.name != "strided" else t


def with_all_entries(t: Any) -> Any:
    """The same tensor with zeros stored as well."""
    layout = t.layout.name
    ones = late.ones_like(t.to_dense())
    options = {"blocksize": tuple(t.values().shape[-2:])} if layout in ("sparse_bsr", "sparse_bsc") else {}
    pattern = getattr(ones, "to_sparse" if layout == "sparse_coo" else f"to_{layout}")(**options)
    full = t.to_dense()
    if layout == "sparse_coo":
        pattern = pattern.coalesce()
        return rebuilt(pattern, full[tuple(pattern.indices())])
    keys = late.arange(full.numel()).view(full.shape).to(full.dtype) + 1
    places = (getattr(keys, f"to_{layout}")(**options).values() - 1).to(int64)
    return rebuilt(pattern, full.reshape(-1)[places])


def rebuilt(t: Any, values: Any) -> Any:
    """A tensor with the entries of `t` in their places, and other values."""
    shape = tuple(t.shape)
    if t.layout.name == "sparse_coo":
        return late.sparse_coo_tensor(t.indices(), values, shape, is_coalesced=True)
    by_row = t.layout.name in ("sparse_csr", "sparse_bsr")
    outer, inner = (t.crow_indices(), t.col_indices()) if by_row else (t.ccol_indices(), t.row_indices())
    return late.sparse_compressed_tensor(outer, inner, values, shape, layout=t.layout)
