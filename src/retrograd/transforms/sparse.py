"""Sparse Jacobians and Hessians: find the pattern, color it, multiply with a few vectors, and decompress.

    >>> import retrograd as torch
    >>> sparse_jacobian(lambda x: x[1:] * x[:-1])(torch.tensor([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]], dtype=float32)
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.core.tensor import Tensor, new_tensor
from retrograd.transforms.arguments import argument_paths, replace_arguments, select_arguments
from retrograd.transforms.coloring import Coloring, color_hessian, color_jacobian
from retrograd.transforms.grad import grad, run_vjp
from retrograd.transforms.jacobian import refuse_complex
from retrograd.transforms.jvp import run_jvp
from retrograd.transforms.sparsity import sparse_arrays, trace
from retrograd.transforms.trees import flatten, unflatten
from retrograd.transforms.vmap import vmap

__all__ = ["hessian_pattern", "jacobian_pattern", "sparse_hessian", "sparse_jacobian"]


def jacobian_pattern(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that returns the sparsity pattern of the Jacobian of `func`.

    The result is a boolean `csr_array` of SciPy: a row for each element of the outputs, a column for each element of the
    arguments `argnums`. It holds while the control flow is the same: an `if` on a value, `where` or `sort` may choose
    differently at other arguments.

    >>> import retrograd as torch
    >>> jacobian_pattern(lambda x: x[1:] * x[:-1])(torch.ones(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs, replace = chosen(args, argnums)
        return pattern_of(functools.partial(func, **kwargs) if kwargs else func, args, inputs, replace)
    return wrapper


def hessian_pattern(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """`jacobian_pattern` of the gradient of `func`, made symmetric.

    >>> import retrograd as torch
    >>> hessian_pattern(lambda x: (x[1:] * x[:-1]).sum())(torch.ones(3)).toarray()
    array([[False,  True, False],
           [ True, False,  True],
           [False,  True, False]])
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found = jacobian_pattern(grad(func, argnums), argnums)(*args, **kwargs)
        return (found + found.T).tocsr()
    return wrapper


def sparse_jacobian(func: Callable[..., Any], argnums: Any = 0, *, coloring: Coloring | None = None,
                    chunk_size: int | None = None) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func` as a `csr_array` of SciPy.

    Outputs and inputs are flattened: element [i, j] is the derivative of output element i by input element j. With
    several outputs or inputs there is a matrix for each pair of them, in the structure that `jacrev` gives. `coloring` is
    the result of `color_jacobian` for the pattern; without it both are computed at every call. `chunk_size` is the number
    of vectors multiplied at once.

    >>> import retrograd as torch
    >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1])(torch.ones(1000))
    >>> jacobian.shape, jacobian.nnz
    ((999, 1000), 1998)
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        called = functools.partial(func, **kwargs) if kwargs else func
        inputs, replace = chosen(args, argnums)
        refuse_complex("sparse_jacobian", "inputs", inputs)
        known = coloring or color_jacobian(pattern_of(called, args, inputs, replace))
        check_size(known, 1, sum([t.array.size for t in inputs]), "elements of the arguments")
        compress = pulled if known.mode == "reverse" else pushed
        compressed, shapes, out_spec = compress(called, args, argnums, inputs, known, chunk_size)
        check_size(known, 0, sum(shapes), "elements of the outputs")
        whole = decompressed(known, compressed)
        _, in_spec = flatten(select_arguments(args, argnums, argument_paths(argnums, args)))
        return in_blocks(whole, shapes, out_spec, [t.array.size for t in inputs], in_spec)
    return wrapper


def sparse_hessian(func: Callable[..., Any], argnums: int = 0, *, coloring: Coloring | None = None,
                   chunk_size: int | None = None) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of the scalar `func` as a `csr_array` of SciPy.

    `coloring` is the result of `color_hessian` for `hessian_pattern`; without it both are computed at every call.

    >>> import retrograd as torch
    >>> sparse_hessian(lambda x: (x[1:] * x[:-1] ** 2).sum())(torch.tensor([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]], dtype=float32)
    """
    if not isinstance(argnums, int):
        raise RuntimeError(f"sparse_hessian: Expected argnums to be an int: one argument, got {argnums}")
    gradient = grad(func, argnums)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        called = functools.partial(gradient, **kwargs) if kwargs else gradient
        inputs, _ = chosen(args, argnums)
        refuse_complex("sparse_hessian", "inputs", inputs)
        if len(inputs) != 1:
            raise RuntimeError(f"sparse_hessian: Expected the argument {argnums} to be a Tensor, got a structure of "
                               f"{len(inputs)}")
        known = coloring or color_hessian(hessian_pattern(func, argnums)(*args, **kwargs))
        check_size(known, 1, inputs[0].array.size, "elements of the argument")
        compressed, _, _ = pushed(called, args, argnums, inputs, known, chunk_size)
        return decompressed(known, compressed)
    return wrapper


# ---- parts
def chosen(args: Any, argnums: Any) -> tuple[list[Any], Any]:
    """The tensors among the arguments `argnums`, and a function that returns all arguments with those replaced."""
    paths = argument_paths(argnums, args)
    inputs, spec = flatten(select_arguments(args, argnums, paths))

    def replace(new: list[Any]) -> Any:
        return replace_arguments(args, argnums, paths, unflatten(new, spec))
    return inputs, replace


def pattern_of(func: Any, args: Any, inputs: list[Any], replace: Any) -> Any:
    sparse = sparse_arrays()
    values, _, patterns = trace(func, args, inputs, replace)
    total = sum([t.array.size for t in inputs])
    for value in values:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"jacobian_pattern(f)(*args): Expected f(*args) to return only tensors, got {type(value)}")
    rows = [sparse.csr_array((value.array.size, total), dtype=bool) if pattern is None else pattern
            for value, pattern in zip(values, patterns, strict=True)]
    made = rows[0] if len(rows) == 1 else sparse.vstack(rows, format="csr")
    made.sum_duplicates()
    return made


def check_size(coloring: Coloring, axis: int, size: int, what: str) -> None:
    if coloring.pattern.shape[axis] != size:
        raise RuntimeError(f"The coloring is of a pattern of shape {coloring.pattern.shape}, which does not fit: there are "
                           f"{size} {what}. A pattern serves arguments of the shapes that it was found for.")


def seeds(coloring: Coloring, tensors: list[Any]) -> list[Any]:
    """For each color the sum of its directions, in the shapes of the tensors."""
    made, start = [], 0
    for t in tensors:
        size = t.array.size
        array = np.zeros((coloring.count, size), t.array.dtype)
        array[coloring.colors[start:start + size], np.arange(size)] = 1
        made.append(new_tensor(array.reshape((coloring.count, *t.array.shape))))
        start += size
    return made


def pushed(func: Any, args: Any, argnums: Any, inputs: list[Any], coloring: Coloring, chunk_size: int | None) -> Any:
    """The products of the Jacobian with the directions of each color, by forward mode."""
    _, in_spec = flatten(select_arguments(args, argnums, argument_paths(argnums, args)))
    seen: list[Any] = []

    def column(tangents: Any) -> Any:
        _, made = run_jvp(func, args, unflatten(tangents, in_spec), argnums, False, False)
        flat, spec = flatten(made)
        refuse_complex("sparse_jacobian", "outputs", flat)
        seen[:] = [spec]
        return flat
    if coloring.count == 0:                   # empty pattern: only the shape is needed
        outputs, spec = flatten(func(*args))
        return None, [out.array.size for out in outputs], spec
    products = vmap(column, chunk_size=chunk_size)(seeds(coloring, inputs))
    arrays = [part.detach().resolve_conj().array.reshape((coloring.count, -1)) for part in products]
    return np.concatenate(arrays, 1), [a.shape[1] for a in arrays], seen[0]


def pulled(func: Any, args: Any, argnums: Any, inputs: list[Any], coloring: Coloring, chunk_size: int | None) -> Any:
    """The products of the transposed Jacobian with the gradients of each color, by reverse mode."""
    output, pull = run_vjp(func, args, argnums, False)
    outputs, out_spec = flatten(output)
    refuse_complex("sparse_jacobian", "outputs", outputs)
    sizes = [out.array.size for out in outputs]
    check_size(coloring, 0, sum(sizes), "elements of the outputs")
    if coloring.count == 0:
        return None, sizes, out_spec

    def row(cotangents: Any) -> Any:
        return flatten(pull(unflatten(cotangents, out_spec)))[0]
    products = vmap(row, chunk_size=chunk_size)(seeds(coloring, outputs))
    return np.concatenate([part.detach().array.reshape((coloring.count, -1)) for part in products], 1), sizes, out_spec


def decompressed(coloring: Coloring, compressed: Any) -> Any:
    """The matrix whose products with the colors are given."""
    sparse = sparse_arrays()
    pattern, colors = coloring.pattern, coloring.colors
    columns = pattern.indices
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    if compressed is None:
        data = np.zeros(0)
    elif coloring.mode == "reverse":
        data = compressed[colors[rows], columns]
    elif coloring.mode == "forward":
        data = compressed[colors[columns], rows]
    else:
        # where two neighbors in a row share a color, the element is unique in its mirrored position
        count = coloring.count
        key = rows * count + colors[columns]
        alone = np.bincount(key, minlength=pattern.shape[0] * count)[key] == 1
        data = np.where(alone, compressed[colors[columns], rows], compressed[colors[rows], columns])
    return sparse.csr_array((data, columns, pattern.indptr), shape=pattern.shape)


def in_blocks(whole: Any, out_sizes: list[int], out_spec: Any, in_sizes: list[int], in_spec: Any) -> Any:
    """The whole matrix, or its blocks in the structure of outputs and inputs if there are several."""
    if len(out_sizes) == 1 and len(in_sizes) == 1:
        return unflatten([unflatten([whole], in_spec)], out_spec)
    rows, columns = np.cumsum([0, *out_sizes]), np.cumsum([0, *in_sizes])
    return unflatten([unflatten([whole[rows[o]:rows[o + 1], columns[i]:columns[i + 1]] for i in range(len(in_sizes))], in_spec)
                      for o in range(len(out_sizes))], out_spec)
