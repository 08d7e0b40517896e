"""Jacobians of functions: rows by `vjp`, columns by `jvp`, batched by `vmap`.

    >>> import retrograd as torch
    >>> jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.core.dtypes import is_complex_type
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.transforms.arguments import argument_paths, select_arguments
from retrograd.transforms.grad import run_vjp
from retrograd.transforms.jvp import run_jvp
from retrograd.transforms.trees import flatten, unflatten
from retrograd.transforms.vmap import vmap

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`, by reverse mode.

    `chunk_size` is the number of rows computed at once. A Jacobian has the structure of the outputs, with the structure of
    the inputs in place of each leaf.

    >>> import retrograd as torch
    >>> jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        called = functools.partial(func, **kwargs) if kwargs else func
        inputs, in_spec = flatten(select_arguments(args, argnums, argument_paths(argnums, args)))
        refuse_complex("jacrev", "inputs", flatten(args)[0])
        output, pull, *aux = run_vjp(called, args, argnums, has_aux)
        outputs, out_spec = flatten(output)
        refuse_complex("jacrev", "outputs", outputs)

        def row(cotangents: Any) -> Any:
            return flatten(pull(unflatten(cotangents, out_spec)))[0]

        sizes = [out.array.size for out in outputs]
        rows = map_basis(row, standard_basis(outputs), sum(sizes), chunk_size, "error")
        columns = [part.split(sizes, 0) for part in rows]             # for each input: the rows of each output
        made = [unflatten([viewed(columns[i][o], (*out.array.shape, *t.array.shape)) for i, t in enumerate(inputs)], in_spec)
                for o, out in enumerate(outputs)]
        result = unflatten(made, out_spec)
        return (result, aux[0]) if has_aux else result
    return wrapper


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, chunk_size: int | None = None,
           randomness: str = "error") -> Callable[..., Any]:
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`, by forward mode.

    >>> import retrograd as torch
    >>> jacfwd(torch.exp)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacfwd: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        called = functools.partial(func, **kwargs) if kwargs else func
        inputs, in_spec = flatten(select_arguments(args, argnums, argument_paths(argnums, args)))
        sizes = [t.numel() for t in inputs]
        refuse_complex("jacfwd", "inputs", flatten(args)[0])
        seen: list[Any] = []

        def column(tangents: Any) -> Any:
            made = run_jvp(called, args, unflatten(tangents, in_spec), argnums, False, has_aux)
            tangents_out, spec = flatten(made[1])
            refuse_complex("jacfwd", "outputs", tangents_out)
            aux, aux_spec = flatten(made[2]) if has_aux else ([], None)
            seen[:] = [spec, aux_spec, len(tangents_out)]
            return tangents_out + aux

        # the aux output does not depend on the direction: take that of the first one
        total = sum(sizes)
        columns = map_basis(column, standard_basis(inputs), total, chunk_size, randomness)
        out_spec, aux_spec, count = seen
        made = []
        for part in columns[:count]:
            shape = part.array.shape[1:]
            pieces = part.split(sizes, 0)
            made.append(unflatten([viewed(piece.movedim(0, -1), (*shape, *t.array.shape)) if t.array.ndim else
                                   piece.movedim(0, -1).squeeze(-1) for piece, t in zip(pieces, inputs, strict=True)], in_spec))
        result = unflatten(made, out_spec)
        return (result, unflatten([part[0] for part in columns[count:]], aux_spec)) if has_aux else result
    return wrapper


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of `func`: forward mode over reverse mode.

    >>> import retrograd as torch
    >>> hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ---- parts
def refuse_complex(api: str, what: str, tensors: list[Any]) -> None:
    for i, t in enumerate(tensors):
        if isinstance(t, Tensor) and is_complex_type(t.array.dtype):
            raise RuntimeError(f"{api}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}")


def standard_basis(tensors: list[Any]) -> list[Any]:
    """For every element of all the tensors together, tensors of their shapes that are one there and zero elsewhere."""
    sizes = [t.array.size for t in tensors]
    total = sum(sizes)
    made = []
    start = 0
    for t, size in zip(tensors, sizes, strict=True):
        part = t.new_zeros((total, size))
        if size:
            part.diagonal(-start).fill_(1)
        made.append(part.view((total, *t.array.shape)))
        start += size
    return made


def map_basis(func: Any, basis: list[Any], total: int, chunk_size: int | None, randomness: str) -> list[Any]:
    """`func` of every direction, the results stacked."""
    if total == 1 and randomness == "error":      # one direction does not need vmap, which would double the cost
        return [part.unsqueeze(0) for part in func([part[0] for part in basis])]
    if chunk_size != 1:
        return list(vmap(func, randomness=randomness, chunk_size=chunk_size)(basis))
    rows = [func([part[i] for part in basis]) for i in range(total)]
    return [late.stack(list(parts)) for parts in zip(*rows, strict=True)]


def viewed(t: Any, shape: Any) -> Any:
    """`t` in another shape, as a view where its strides allow one."""
    try:
        return t.view(shape)
    except RuntimeError:
        return t.reshape(shape)
