"""`vmap`, `grad` and their relatives, where PyTorch keeps them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd._functorch.vmap import get_chunk_sizes
from retrograd.transforms.grad import grad, grad_and_value
from retrograd.transforms.vmap import batch_size, check_out_dims, match_inputs, vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
               chunks: int = 2) -> Callable[..., Any]:
    """`vmap` that runs the examples in `chunks` equal parts, one after the other.

    >>> import retrograd as torch
    >>> chunk_vmap(torch.sin, chunks=2)(torch.zeros(4))
    tensor([0., 0., 0., 0.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(out_dims, func)
        size = first_size(func, args, in_dims)
        chunk = get_chunk_sizes(size, chunks)[0] if size else None
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness, chunk_size=chunk)(*args, **kwargs)
    return wrapped


def first_size(func: Any, args: Any, in_dims: Any) -> int:
    """How many examples there are, by the first argument that has some."""
    leaves, dims, _ = match_inputs(func, in_dims, args, negative=True)
    return batch_size(leaves, dims)
