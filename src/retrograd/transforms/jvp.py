"""Forward mode as a transform: `jvp` and `linearize` of functions, at a level of their own.

    >>> import retrograd as torch
    >>> jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.autograd.forward_ad import check_floating
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.state import set_flag, tls
from retrograd.core.tensor import FLAG_WRAPPER, Tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import alias
from retrograd.transforms.arguments import argument_paths, replace_arguments, select_arguments
from retrograd.transforms.base import running
from retrograd.transforms.grad import Grad, unwrap_aux
from retrograd.transforms.lifted import lift, living
from retrograd.transforms.tangents import Jvp, in_layout
from retrograd.transforms.trees import flatten, unflatten

__all__ = ["jvp", "linearize"]

API = "jvp(f, primals, tangents): "


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of `func` at `primals` and its derivative in the direction of `tangents`.

    >>> import retrograd as torch
    >>> jvp(lambda x: x * x, (torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    return run_jvp(func, primals, tangents, None, strict, has_aux)


def run_jvp(func: Any, primals: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool) -> Any:
    """`jvp` with respect to the arguments `argnums` (None: all of them)."""
    if not isinstance(primals, tuple):
        raise RuntimeError(API + "Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    paths = None if argnums is None else argument_paths(argnums, primals)
    chosen = primals if paths is None else select_arguments(primals, argnums, paths)
    flat, spec = flatten(chosen)
    directions, direction_spec = flatten(tangents)
    if spec != direction_spec:
        raise RuntimeError(API + "Expected primals and tangents to have the same python structure. For example, if primals is "
                                 "a "
                           "tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{spec} and tangents with structure {direction_spec}")
    check_tensors(flat, "primals")
    check_tensors(directions, "tangents")
    with forward_level() as level:
        duals = [dual(t, direction, level) for t, direction in zip(flat, directions, strict=True)]
        given = unflatten(duals, spec)
        output = func(*(given if paths is None else replace_arguments(primals, argnums, paths, given)))
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(API + "output of function f should be a tuple: (output, aux) if has_aux is True")
            output, aux = output
            aux = unwrap_aux(aux, level)
        outputs, out_spec = flatten(output)
        if not outputs or len(outputs) == 1 and outputs[0] is None:
            raise RuntimeError(API + f"Expected f to be a function that has non-empty output (got output = {outputs})")
        for out in outputs:
            if not isinstance(out, Tensor):
                raise RuntimeError(API + f"expected f(*primals) to return only tensors, got unsupported type {type(out)}")
        pairs = [undual(out, level, strict) for out in outputs]
    made = unflatten([value for value, _ in pairs], out_spec), unflatten([tangent for _, tangent in pairs], out_spec)
    return (*made, aux) if has_aux else made


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """The value of `func` and its derivative there as a function of the direction.

    The derivative runs `func` again for every direction; it takes only tensors of the shapes and dtypes of `primals`.

    >>> import retrograd as torch
    >>> value, derivative = linearize(torch.sin, torch.tensor([0.0, 0.0]))
    >>> derivative(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    output = func(*primals)
    flat, spec = flatten(primals)
    for t in flat:
        if isinstance(t, Tensor) and not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {t.dtype}")
    def jvp_fn(*tangents: Any) -> Any:
        directions, direction_spec = flatten(tangents)
        if direction_spec != spec:
            raise RuntimeError(f"Expected the tangents {direction_spec} to have the same argspec as the primals {spec}")
        for i, (t, direction) in enumerate(zip(flat, directions, strict=True)):
            if direction.shape != t.shape:
                raise RuntimeError(f"tangent:{i} with shape {direction.shape} in flattened pytree doesn't match the shape "
                                   f"{t.shape} of the corresponding primal.")
            if direction.dtype != t.dtype:
                raise RuntimeError(f"tangent:{i} with dtype {direction.dtype} in flattened pytree doesn't match the dtype "
                                   f"{t.dtype} of the corresponding primal.")
            if direction.device != t.device:
                raise RuntimeError(f"tangent:{i} with device {direction.device} in flattened pytree doesn't match the device "
                                   f"{t.device} of the corresponding primal.")
        tls.linearizing, was = True, tls.linearizing
        try:
            copies = [direction if direction._flags & FLAG_WRAPPER else t.new_zeros(t.shape).copy_(direction)
                      for t, direction in zip(flat, directions, strict=True)]
            return run_jvp(func, primals, unflatten(copies, spec), None, False, False)[1]
        finally:
            tls.linearizing = was
    return output, jvp_fn


# ---- parts
@contextmanager
def forward_level() -> Iterator[Jvp]:
    """A new innermost level, with tangents on."""
    level = Jvp()
    was = tls.fwd_grad_enabled
    with running(level), living(level):
        tls.fwd_grad_enabled, inference = True, set_flag("inference", False)
        try:
            yield level
        finally:
            tls.fwd_grad_enabled = was
            set_flag("inference", inference)


def check_tensors(flat: list[Any], what: str) -> None:
    for t in flat:
        if not isinstance(t, Tensor):
            raise RuntimeError(API + f"Expected {what} to only contain Tensors, got {type(t)}")
    if not flat:
        raise RuntimeError(API + f"Expected {what} to contain at least one Tensor.")


def dual(t: Any, tangent: Any, level: Jvp) -> Any:
    """An input of the function: a value with its tangent."""
    check_floating("primal", t)
    check_floating("tangent", tangent)
    if tangent.array.shape != t.array.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, "
                           f"this is not supported. Tensor is of size {list(t.array.shape)} while the given forward "
                           f"gradient is of size {list(tangent.array.shape)}.")
    with level.beneath():
        if t._flags & FLAG_WRAPPER and not tangent._flags & FLAG_WRAPPER:
            tangent = late.zeros_like(t) + tangent      # a tangent that may be written per example must be batched
        return lift(call(alias, [t]) if wants_grad(t) else t, level, in_layout(tangent, t))


# ---- `forward_ad.dual_level` inside a grad transform: its tangents are tensors of that transform
def inner_forward_level() -> Any:
    """A scope with a new level; None outside of grad transforms."""
    return forward_level() if any([isinstance(level, Grad) for level in tls.transforms]) else None


def inner_dual(t: Any, tangent: Any, level: Jvp) -> Any:
    """`forward_ad.make_dual` at such a level."""
    if level.tangent_of(t) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is "
                           "not supported.")
    return dual(level.unwrap(t), level.unwrap(tangent), level)


def inner_undual(t: Any, level: Jvp) -> tuple[Any, Any]:
    """`forward_ad.unpack_dual` at such a level."""
    with level.beneath():
        return call(alias, [level.unwrap(t)]), level.tangent_of(t)


hooks.inner_forward_level, hooks.inner_dual, hooks.inner_undual = inner_forward_level, inner_dual, inner_undual


def undual(out: Any, level: Jvp, strict: bool) -> tuple[Any, Any]:
    """The value and the tangent of an output; zeros if it does not depend on the inputs."""
    with level.beneath():
        tangent = level.tangent_of(out)
        value = level.unwrap(out)
        if tangent is None and strict:
            raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is "
                               "not allowed with strict=True.")
        return call(alias, [value]), late.zeros_like(value) if tangent is None else tangent

