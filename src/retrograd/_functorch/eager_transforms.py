"""Derivatives of functions and the parts they are made of, under PyTorch's names."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import retrograd
from retrograd._functorch.levels import (
    _unwrap_functional_tensor,
    _wrap_for_grad,
    _wrap_functional_tensor,
    at_level,
    current_level,
    get_inplace_requires_grad_allowed,
    set_inplace_requires_grad_allowed,
)
from retrograd.core.tensor import Tensor
from retrograd.transforms.arguments import argument_paths, checked, replace_arguments, select_arguments
from retrograd.transforms.functionalize import functionalize
from retrograd.transforms.grad import Grad, grad, grad_and_value, reverse_level, run_grad, run_vjp, vjp
from retrograd.transforms.jacobian import hessian, jacfwd, jacrev, refuse_complex, standard_basis
from retrograd.transforms.jvp import forward_level, jvp, linearize, run_jvp
from retrograd.transforms.trees import map_leaves

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


# ---- in one call
def grad_impl(func: Callable[..., Any], argnums: Any, has_aux: bool, args: Any, kwargs: Any) -> Any:
    """`grad(func, argnums, has_aux)(*args, **kwargs)`."""
    results = run_grad(func, argnums, has_aux, args, kwargs)
    return (results[0], results[1][1]) if has_aux else results[0]


def grad_and_value_impl(func: Callable[..., Any], argnums: Any, has_aux: bool, args: Any, kwargs: Any) -> Any:
    """`grad_and_value(func, argnums, has_aux)(*args, **kwargs)`."""
    return run_grad(func, argnums, has_aux, args, kwargs)


def _vjp_with_argnums(func: Callable[..., Any], *primals: Any, argnums: Any = None, has_aux: bool = False) -> Any:
    """`vjp` with respect to some of the arguments."""
    return run_vjp(func, primals, argnums, has_aux)


def _jvp_with_argnums(func: Callable[..., Any], primals: Any, tangents: Any, argnums: Any, *, strict: bool = False,
                      has_aux: bool) -> Any:
    """`jvp` with respect to some of the arguments."""
    return run_jvp(func, primals, tangents, argnums, strict, has_aux)


# ---- levels
@contextmanager
def grad_increment_nesting() -> Iterator[int]:
    """A scope in which one more reverse-mode transform runs; gives its level."""
    with reverse_level(Grad()) as level:
        yield level.level


@contextmanager
def jvp_increment_nesting() -> Iterator[int]:
    """A scope in which one more forward-mode transform runs; gives its level."""
    with forward_level() as level:
        yield level.level


@contextmanager
def enable_inplace_requires_grad(enabled: bool) -> Iterator[None]:
    """A scope in which `requires_grad_` may be called in the innermost transform."""
    was = get_inplace_requires_grad_allowed()
    set_inplace_requires_grad_allowed(enabled)
    try:
        yield
    finally:
        set_inplace_requires_grad_allowed(was)


def _set_tensor_requires_grad(x: Any) -> Any:
    return x.requires_grad_()


def _create_differentiable(inps: Any, level: int | None = None) -> Any:
    """The tensors as leaves whose gradients are wanted."""
    def create_differentiable(x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        with enable_inplace_requires_grad(True):
            return _set_tensor_requires_grad(x)
    return map_leaves(create_differentiable, inps)


def _undo_create_differentiable(inps: Any, level: int | None = None) -> Any:
    """The tensors of the level below."""
    owner = at_level(current_level() if level is None else level)

    def unwrap_tensors(x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        return owner.unwrap(x)
    return map_leaves(unwrap_tensors, inps)


def _wrap_tensor_for_grad(maybe_tensor: Any, level: int) -> Any:
    return _wrap_for_grad(maybe_tensor, level) if isinstance(maybe_tensor, Tensor) else maybe_tensor


def _wrap_all_tensors(tensor_pytree: Any, level: int) -> Any:
    """The tensors at a level."""
    return map_leaves(lambda leaf: _wrap_tensor_for_grad(leaf, level), tensor_pytree)


def _wrap_all_tensors_to_functional(tensor_pytree: Any, level: int) -> Any:
    """The tensors at the functionalize of a level."""
    return map_leaves(lambda leaf: _wrap_functional_tensor(leaf, level) if isinstance(leaf, Tensor) else leaf, tensor_pytree)


def _unwrap_all_tensors_from_functional(tensor_pytree: Any, *, reapply_views: bool) -> Any:
    """What tensors of a functionalize stand for."""
    return map_leaves(lambda leaf: _unwrap_functional_tensor(leaf, reapply_views) if isinstance(leaf, Tensor) else leaf,
                      tensor_pytree)


# ---- differentiation
def _is_differentiable(maybe_tensor: Any) -> bool:
    return isinstance(maybe_tensor, Tensor) and maybe_tensor.requires_grad


def _any_differentiable(tensor_or_tuple_of_tensors: Any) -> bool:
    if isinstance(tensor_or_tuple_of_tensors, tuple):
        return any(_is_differentiable(t) for t in tensor_or_tuple_of_tensors)
    return _is_differentiable(tensor_or_tuple_of_tensors)


def _autograd_grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool = False,
                   create_graph: bool = True) -> tuple[Any, ...]:
    """`autograd.grad` whose outputs need not require gradients, and which gives zeros where there is no path."""
    if grad_outputs is None:
        pairs = [(out, None) for out in outputs if out.requires_grad]
    else:
        pairs = [(out, g) for out, g in zip(outputs, grad_outputs, strict=False) if out.requires_grad]
    if not pairs:
        return tuple(retrograd.zeros_like(inp) for inp in inputs)
    found = retrograd.autograd.grad([out for out, _ in pairs], inputs, None if grad_outputs is None else [g for _, g in pairs],
                                    retain_graph=retain_graph, create_graph=create_graph, allow_unused=True)
    return tuple(retrograd.zeros_like(inp) if g is None else g for g, inp in zip(found, inputs, strict=True))


# ---- arguments
def _as_tuple(val: Any) -> tuple[Any, ...]:
    return val if isinstance(val, tuple) else (val,)


def _validate_and_wrap_argnum(argnum: Any, num_args: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    return checked(argnum, num_args)


def _validate_and_wrap_argnums(argnums: Any, num_args: int) -> Any:
    if isinstance(argnums, int):
        return _validate_and_wrap_argnum(argnums, num_args)
    if isinstance(argnums, tuple):
        return tuple(_validate_and_wrap_argnum(argnum, num_args) for argnum in argnums)
    raise AssertionError("Should never get here")


def _check_unique_non_empty(argnums: Any) -> None:
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        if len(set(argnums)) != len(argnums):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")


def _slice_argnums(args: Any, argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that `argnums` names.

    >>> _slice_argnums((1, 2, 3), (0, -1))
    (1, 3)
    """
    chosen = select_arguments(args, argnums, argument_paths(argnums, args))
    return (chosen,) if isinstance(argnums, int) and as_tuple else chosen


def _replace_args(old_args: Any, new_args: Any, argnums: Any) -> tuple[Any, ...]:
    """All arguments, with those that `argnums` names replaced."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    new = new_args[0] if isinstance(argnums, int) else new_args
    if len(new_args) != len(_as_tuple(argnums)):
        raise RuntimeError(f"new_args should be of size {len(_as_tuple(argnums))}, was of size {len(new_args)}")
    return replace_arguments(old_args, argnums, argument_paths(argnums, old_args), new)


# ---- checks
def _construct_standard_basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """For every element of all the tensors together, tensors that are one there and zero elsewhere."""
    return tuple(standard_basis(list(tensors)))


def error_if_complex(func_name: str, args: Any, is_input: bool) -> None:
    """Refuse complex tensors."""
    flat: list[Any] = []
    map_leaves(flat.append, args)
    refuse_complex(func_name, "inputs" if is_input else "outputs", flat)


def assert_flat_tuple_of_tensors(elts: Any, api: str, argname: str) -> None:
    if not isinstance(elts, tuple):
        raise RuntimeError(f"{api}: Expected {argname} to be a tuple of Tensors, got {type(elts)}")
    for elt in elts:
        if not isinstance(elt, Tensor):
            raise RuntimeError(f"{api}: Expected {argname} to be a tuple of Tensors, got a tuple with an element of type "
                               f"{type(elt)}")
    if not elts:
        raise RuntimeError(f"{api}: Expected {argname} to be a non-empty tuple of Tensors.")


def assert_non_empty_tensor_output(output: list[Any], api: str) -> None:
    if not output or len(output) == 1 and output[0] is None:
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {output})")
    for o in output:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(o)}")


def assert_output_is_tensor_or_tensors(output: Any, api: str) -> None:
    if isinstance(output, Tensor):
        return
    if not isinstance(output, tuple):
        raise RuntimeError(f"{api}: Expected output of f to be a Tensor or Tensors, got {type(output)}")
    if not output:
        raise RuntimeError(f"{api}: Expected output of f to be a non-empty tuple of Tensors.")
    for out in output:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{api}: Expected output of f to be a Tensor or Tensors, got {type(out)} as an output")
