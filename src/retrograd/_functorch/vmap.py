"""The parts that `vmap` is made of, under PyTorch's names."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from retrograd._functorch.levels import _add_batch_dim, _remove_batch_dim
from retrograd.core.tensor import Tensor
from retrograd.transforms.base import running
from retrograd.transforms.batching import Vmap, is_batched
from retrograd.transforms.trees import broadcast_and_flatten, flatten, unflatten
from retrograd.transforms.vmap import PARTS, match_inputs, vmap
from retrograd.transforms.vmap import batch_size as size_of
from retrograd.transforms.vmap import check_out_dims as _check_out_dims_is_int_or_int_pytree
from retrograd.transforms.vmap import name_of as _get_name

__all__ = ["_add_batch_dim", "_check_out_dims_is_int_or_int_pytree", "_get_name", "_maybe_remove_batch_dim",
           "_process_batched_inputs",
           "_remove_batch_dim", "_validate_and_get_batch_size", "get_chunk_sizes", "restore_vmap", "unwrap_batched", "vmap",
           "vmap_impl", "vmap_increment_nesting", "wrap_batched"]


@contextmanager
def vmap_increment_nesting(batch_size: int, randomness: str) -> Iterator[int]:
    """A scope in which one more vmap runs; gives its level."""
    with running(Vmap(batch_size, randomness)) as level:
        yield level.level


def vmap_impl(func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None, *args: Any,
              **kwargs: Any) -> Any:
    """`vmap(func, ...)(*args, **kwargs)` in one call."""
    return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)


def _process_batched_inputs(in_dims: Any, args: Any, func: Callable[..., Any]) -> tuple[int, list[Any], list[Any], Any]:
    """The number of examples, the batch dimension of every leaf of the arguments, these leaves, and their structure."""
    leaves, dims, spec = match_inputs(func, in_dims, args, negative=True)
    return size_of(leaves, dims), dims, leaves, spec


def _validate_and_get_batch_size(flat_in_dims: list[Any], flat_args: list[Any]) -> int:
    """The number of examples that all the batched arguments agree on."""
    return size_of(flat_args, flat_in_dims)


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any:
    """A result of the function `name` with its batch dimension at `out_dim`; without one where that is None.

    >>> _maybe_remove_batch_dim("f", 3, 1, 2, None)
    3
    """
    is_tensor = isinstance(batched_output, Tensor)
    if out_dim is not None:
        if not is_tensor:
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you "
                             "mean to set out_dims= to None for output?")
        return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)
    if is_tensor and is_batched(batched_output):
        raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
    return batched_output


def get_chunk_sizes(total_elems: int, chunk_size: int) -> list[int]:
    """The sizes of parts of `chunk_size` elements each, the last one smaller if they do not come out even.

    >>> get_chunk_sizes(7, 3)
    [3, 3, 1]
    """
    whole, rest = divmod(total_elems, chunk_size)
    return [chunk_size] * whole + ([rest] if rest else [])


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str) -> Callable[..., Any]:
    """`vmap` whose results keep their batch dimensions where they are: the wrapped function returns them and these.

    >>> import retrograd as torch
    >>> restore_vmap(torch.sum, (0,), 2, "error")(torch.ones(2, 3))
    (tensor([3., 3.]), 0)
    """
    def inner(*args: Any, **kwargs: Any) -> Any:
        with vmap_increment_nesting(batch_size, randomness) as level:
            outputs = func(*wrap_batched(args, in_dims, level), **kwargs)
            return unwrap_batched(outputs, level)
    return inner


def wrap_batched(args: Any, bdims: Any, level: int) -> Any:
    """The arguments as batched tensors of a level."""
    leaves, spec = flatten(args)
    dims = broadcast_and_flatten(bdims, spec)
    if dims is None:
        raise RuntimeError(f"the batch dimensions {bdims} do not fit the structure {spec} of the arguments")
    return unflatten([leaf if dim is None else _add_batch_dim(leaf, dim, level)
                      for leaf, dim in zip(leaves, dims, strict=True)], spec)


def unwrap_batched(args: Any, level: int) -> tuple[Any, Any]:
    """Tensors of all examples, and where each one's batch dimension is; None for what is not batched at that level."""
    leaves, spec = flatten(args)
    if not leaves:
        return args, ()

    def parts(leaf: Any) -> tuple[Any, Any]:
        if isinstance(leaf, Tensor) and is_batched(leaf) and leaf._extra.batch.owner.level == level:
            return leaf._extra.batch.value, leaf._extra.batch.dim
        return leaf, None
    pairs = [parts(leaf) for leaf in leaves]
    return unflatten([value for value, _ in pairs], spec), unflatten([dim for _, dim in pairs], spec)


# ---- one step each
def _as_tuple(value: Any, num_elements: int, error_message_lambda: Callable[[], str]) -> tuple[Any, ...]:
    """A tuple of so many elements; a value that is none is the tuple of it.

    >>> _as_tuple(3, 1, lambda: ""), _as_tuple((1, 2), 2, lambda: "")
    ((3,), (1, 2))
    """
    if not isinstance(value, tuple):
        return (value,)
    if len(value) != num_elements:
        raise ValueError(error_message_lambda())
    return value


def _num_outputs(batched_outputs: Any) -> int:
    """How many results a function has returned."""
    return len(batched_outputs) if isinstance(batched_outputs, tuple) else 1


def _check_randomness_arg(randomness: str) -> None:
    """Refuse what is no way of handling random ops."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError("Only allowed values for randomness are 'error', 'different', or 'same'. Got " + str(randomness))


def _create_batched_inputs(flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: Any) -> Any:
    """The arguments with each leaf batched along its dimension at a level."""
    return unflatten([leaf if dim is None else _add_batch_dim(leaf, dim, vmap_level)
                      for dim, leaf in zip(flat_in_dims, flat_args, strict=True)], args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]) -> Any:
    """The results with the batch dimension of each at its place in `out_dims`."""
    leaves, spec = flatten(batched_outputs)
    dims = [out_dims] if isinstance(out_dims, int) and len(leaves) == 1 else broadcast_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure "
                         f"{spec}.")
    return unflatten([_maybe_remove_batch_dim(_get_name(func), leaf, vmap_level, batch_size, dim)
                      for leaf, dim in zip(leaves, dims, strict=True)], spec)


def _flat_vmap(func: Callable[..., Any], batch_size: int, flat_in_dims: list[Any], flat_args: list[Any], args_spec: Any,
               out_dims: Any, randomness: str, **kwargs: Any) -> Any:
    """A vmap of arguments that are taken apart already."""
    with vmap_increment_nesting(batch_size, randomness) as level:
        outputs = func(*_create_batched_inputs(flat_in_dims, flat_args, level, args_spec), **kwargs)
        return _unwrap_batched(outputs, out_dims, level, batch_size, func)


# ---- replaced parts
class Parts(ModuleType):
    """This module: `vmap` calls a function of it that a program has replaced."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("_process_batched_inputs", "_create_batched_inputs", "_unwrap_batched"):
            PARTS[:] = [self]


sys.modules[__name__].__class__ = Parts
