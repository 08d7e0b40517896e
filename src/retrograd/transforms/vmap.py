"""`vmap`: a function of one example, run on all examples at once; and the older `_vmap` behind batched gradients.

    >>> import retrograd as torch
    >>> vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.core.hooks import hooks
from retrograd.core.tensor import FLAG_WRAPPER, Tensor
from retrograd.ops import late
from retrograd.ops.create.generators import default_generator
from retrograd.ops.shared.families import wrap_dim
from retrograd.transforms import functions, lifted
from retrograd.transforms.base import running
from retrograd.transforms.batching import Vmap, is_batched, make_batched
from retrograd.transforms.trees import TreeSpec, broadcast_and_flatten, flatten, unflatten

__all__ = ["vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """A function that applies `func` to every example along `in_dims` of its arguments and stacks the results.

    >>> import retrograd as torch
    >>> vmap(lambda row, number: row * number)(torch.ones(2, 3), torch.tensor([1.0, 2.0]))
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(out_dims, func)
        if PARTS and chunk_size is None:
            return run_parts(PARTS[0], func, in_dims, out_dims, randomness, args, kwargs)
        leaves, dims, spec = match_inputs(func, in_dims, args, negative=True)
        size = batch_size(leaves, dims)
        if chunk_size is not None and size:
            return in_chunks(func, leaves, dims, spec, size, chunk_size, out_dims, randomness, kwargs)
        return run(func, leaves, dims, spec, size, out_dims, randomness, kwargs)
    return wrapped


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
          allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """The older `vmap`: results are a tensor or a tuple of tensors, and random ops are refused."""
    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        if not isinstance(out_dims, int) and not (isinstance(out_dims, tuple) and all(isinstance(d, int) for d in out_dims)):
            raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int or a tuple of int "
                             "representing where in the outputs the vmapped dimension should appear.")
        leaves, dims, spec = match_inputs(func, in_dims, args, negative=False)
        sizes = [leaf.array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
        check_sizes(sizes)
        with running(Vmap(sizes[0], legacy=True)) as level:
            outputs = func(*unflatten(wrap_inputs(leaves, dims, level), spec))
            if not allow_none_pass_through:
                check_outputs(outputs, func)
            single = isinstance(outputs, Tensor)
            count = len(outputs) if isinstance(outputs, tuple) else 1
            where = out_dims if isinstance(out_dims, tuple) else (out_dims,) * count
            if len(where) != count:
                raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must have one dim per output "
                                 f"(got {count} outputs) of {name_of(func)}.")
            made = [None if out is None else remove_batch(out, dim, level)
                    for out, dim in zip((outputs,) if single else outputs, where, strict=False)]
        return made[0] if single else tuple(made)
    return wrapped


def batched_grads(one: Callable[..., Any], grads: Any, allow_unused: bool) -> Any:
    """`grad(is_grads_batched=True)`: one backward pass with a gradient for every example."""
    def vjp(grads: Any) -> Any:
        return tuple(one(*grads))
    return _vmap(vjp, 0, 0, allow_none_pass_through=True)(tuple(grads))


assert functions and lifted       # importing them registers transforms with custom Functions and the hooks


def sparse_jacobian(func: Callable[..., Any], inputs: Any) -> Any:
    """`functional.jacobian(sparse=True)`."""
    from retrograd.transforms import sparse
    return sparse.sparse_jacobian(func, tuple(range(len(inputs))))(*[t.detach() for t in inputs])


hooks.vmap = batched_grads
hooks.legacy_vmap = _vmap
hooks.sparse_jacobian = sparse_jacobian


# ---- running
PARTS: list[Any] = []       # the module of the parts by PyTorch's names, once a program has replaced one of them there


def run_parts(parts: Any, func: Any, in_dims: Any, out_dims: Any, randomness: str, args: Any, kwargs: Any) -> Any:
    """Run with the functions of `parts`, which may treat containers of a program's own as single arguments and results."""
    size, dims, leaves, spec = parts._process_batched_inputs(in_dims, args, func)
    with running(Vmap(size, randomness)) as level:
        outputs = func(*parts._create_batched_inputs(dims, leaves, level.level, spec), **kwargs)
        return parts._unwrap_batched(outputs, out_dims, level.level, size, func)


def run(func: Any, leaves: Any, dims: Any, spec: TreeSpec, size: int, out_dims: Any, randomness: str, kwargs: Any) -> Any:
    with running(Vmap(size, randomness)) as level:
        outputs = func(*unflatten(wrap_inputs(leaves, dims, level), spec), **kwargs)
        flat, out_spec = flatten(outputs)
        where = match_outputs(func, out_dims, outputs, out_spec)
        made = [unwrap_output(func, out, dim, level) for out, dim in zip(flat, where, strict=True)]
    return unflatten(made, out_spec)


def in_chunks(func: Any, leaves: Any, dims: Any, spec: TreeSpec, size: int, chunk: int, out_dims: Any, randomness: str,
              kwargs: Any) -> Any:
    """Run `chunk` examples at a time and concatenate the results."""
    results = []
    drawn_from = default_generator.get_state() if randomness == "same" else None
    for start in range(0, size, chunk):
        if drawn_from is not None:          # every chunk draws the same numbers as the first one
            default_generator.set_state(drawn_from)
        length = min(chunk, size - start)
        part = [leaf if dim is None else leaf.narrow(dim, start, length) for leaf, dim in zip(leaves, dims, strict=True)]
        results.append(run(func, part, dims, spec, length, out_dims, randomness, kwargs))
    flat = [flatten(result) for result in results]
    where = match_outputs(func, out_dims, results[0], flat[0][1])
    joined = [pieces[0] if dim is None else late.cat(list(pieces), dim)
              for pieces, dim in zip(zip(*[leaves for leaves, _ in flat], strict=True), where, strict=True)]
    return unflatten(joined, flat[0][1])


def wrap_inputs(leaves: Any, dims: Any, level: Vmap) -> list[Any]:
    return [leaf if dim is None else make_batched(leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)]


def remove_batch(out: Any, dim: int, level: Vmap) -> Any:
    """The tensor of all examples with its batch dimension at `dim`; the wrapped tensor itself if it is there already."""
    dim = wrap_dim(dim, out.array.ndim + 1)
    if is_batched(out, level):
        batch = out._extra.batch
        return batch.value if batch.dim == dim else batch.value.movedim(batch.dim, dim)
    shape = out.array.shape
    return out.unsqueeze(dim).expand((*shape[:dim], level.size, *shape[dim:]))


def unwrap_output(func: Any, out: Any, dim: int | None, level: Vmap) -> Any:
    if dim is None:
        if isinstance(out, Tensor) and out._flags & FLAG_WRAPPER and hasattr(out._extra.batch, "dim"):
            raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when out_dim is "
                             "None")
        return out
    if not isinstance(out, Tensor):
        raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type {type(out)}. Did "
                         "you mean to set out_dims= to None for output?")
    return remove_batch(out, dim, level)


# ---- checking arguments
def name_of(func: Any) -> str:
    return func.__name__ if hasattr(func, "__name__") else repr(func)


def match_inputs(func: Any, in_dims: Any, args: Any, negative: bool) -> tuple[list[Any], list[Any], TreeSpec]:
    """The leaves of the arguments, the batch dimension of each (None: it has none), and the structure of the arguments."""
    call = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(call + "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                                "inputs, "
                         f"got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying "
                         "to vmap over a function with no inputs. The latter is unsupported.")
    leaves, spec = flatten(tuple(args))
    dims = broadcast_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(call + f"in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{flatten(in_dims)[1]} but inputs has structure {spec}.")
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(call + f"Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, Tensor):
            raise ValueError(call + f"Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                             "non-Tensor arguments, please use None as the respective in_dim")
        rank = leaf.array.ndim
        low = -rank if negative else 0
        if not low <= dim < rank:
            raise ValueError(call + f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so "
                             f"expected in_dim to satisfy {f'-{rank}' if negative else 0} <= in_dim < {rank}.")
        dims[i] = dim % rank
    return leaves, dims, spec


def batch_size(leaves: Any, dims: Any) -> int:
    sizes = [leaf.array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    check_sizes(sizes)
    return sizes[0]


def check_sizes(sizes: list[int]) -> None:
    if any([size != sizes[0] for size in sizes]):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")


def check_out_dims(out_dims: Any, func: Any) -> None:
    if isinstance(out_dims, int):
        return
    if not all([dim is None or isinstance(dim, int) for dim in flatten(out_dims)[0]]):
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                         "collection of ints representing where in the outputs the vmapped dimension should appear.")


def match_outputs(func: Any, out_dims: Any, outputs: Any, spec: TreeSpec) -> list[Any]:
    """The batch dimension of every output."""
    if isinstance(outputs, Tensor):
        if out_dims is None or isinstance(out_dims, int):
            return [out_dims]
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            return list(out_dims)
        where = None
    else:
        where = broadcast_and_flatten(out_dims, spec)
    if where is None:
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure "
                         f"{spec}.")
    return where


def check_outputs(outputs: Any, func: Any) -> None:
    """Check that the results of the older vmap are a tensor or a tuple of tensors."""
    if isinstance(outputs, Tensor):
        return
    name = name_of(func)
    if not isinstance(outputs, tuple):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(outputs)} as the return.")
    for i, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)} for return {i}.")
