"""The way of a user's op through the layers: autocast, transforms, autograd, modes and subclasses, backends."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from retrograd.core import dtypes
from retrograd.core.dispatch import call, overrides_dispatch, resolve
from retrograd.core.dispatch_keys import DispatchKeySet, keys_of
from retrograd.core.hooks import hooks
from retrograd.core.modes import as_called, overriding_arguments, overriding_types
from retrograd.core.state import set_grad_enabled, tls
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_META,
    FLAG_NEG,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    Tensor,
    bump,
    wants_grad,
)
from retrograd.library import fallback
from retrograd.library.arguments import check_result, map_tensors, tensors_in
from retrograd.ops.shared import families
from retrograd.transforms.base import only_outer
from retrograd.transforms.batching import Vmap, make_batched
from retrograd.transforms.functions import VmapInfo
from retrograd.transforms.grad import Grad
from retrograd.transforms.lifted import Level, lift
from retrograd.transforms.trees import broadcast_and_flatten, flatten, unflatten


class Here(local):
    """Whether this thread has asked for what is below autograd, and the op that it runs by its row in the table."""

    below: bool = False
    in_table: Any = None


here = Here()


def route(op: Any, *args: Any) -> Any:
    """Run a user's op from the outermost layer."""
    if tls.below or here.below:
        return below(op, args)
    if tls.autocast is not None:
        autocast = op.own_kernel("AutocastCPU")
        if autocast is not None:
            return through_autocast(op, args, lambda: called(op, autocast, args))
        if op.autocast_dtype is not None:
            return through_autocast(op, args, lambda: call(op, map_tensors(lambda t: cast(t, op.autocast_dtype), list(args))))
    if tls.transforms:
        return through_transforms(op, args)
    return autograd(op, args)


def called(op: Any, kernel: Any, args: Any) -> Any:
    """Call a kernel as PyTorch does, without arguments that have their default values."""
    positional, keywords = as_called(op, args)
    if getattr(kernel, "takes_keys", False):
        positional = (DispatchKeySet(*map(keys_of, tensors_in(args))), *positional)
    return check_result(op, kernel(*positional, **keywords))


# ---- autocast
def through_autocast(op: Any, args: Any, run: Any) -> Any:
    was, tls.autocast = tls.autocast, None
    try:
        return run()
    finally:
        tls.autocast = was


def cast(t: Any, dtype: Any) -> Any:
    return t.to(dtype) if t.is_floating_point() and t.dtype is not dtypes.float64 else t


# ---- transforms
def through_transforms(op: Any, args: Any) -> Any:
    """Let the innermost transform that the op concerns do it."""
    if op.decomposes(backend_of(op, args)):
        return called(op, op.backend_kernel("CPU"), args)
    stack = tls.transforms
    for depth in range(len(stack) - 1, -1, -1):
        level = stack[depth]
        if isinstance(level, Vmap):
            if any([level.unwrap(t)[1] is not None for t in tensors_in(args)]):
                with only_outer(depth):
                    return batched(op, args, level)
        else:
            with only_outer(depth + 1):
                return at_level(op, args, level)
    return autograd(op, args)


def at_level(op: Any, args: Any, level: Any) -> Any:
    """Differentiate the op on a level of its own; its kernel runs on the level below."""
    level.check_captured(op, tensors_in([args[i] for i in op.writes]))
    if not isinstance(level, Grad):
        kernel = op.autograd_kernel(backend_of(op, args))
        return lower(op, args, level) if kernel is None or is_fallthrough(kernel) else called(op, kernel, args)
    lifted = map_tensors(level.lifted, list(args))
    level.watchers, tls.dispatch_modes = tls.dispatch_modes, []
    try:
        return autograd(op, lifted)
    finally:
        level.watchers, tls.dispatch_modes = None, level.watchers


def lower(op: Any, args: Any, level: Any) -> Any:
    """Run the op on the level below and lift its results; what it was given and returns is what the caller had."""
    same: dict[int, Any] = {}

    def unwrapped(t: Any) -> Any:
        value = level.unwrap(t)
        same[id(value)] = t
        return value
    values = map_tensors(unwrapped, list(args))
    was, here.below = here.below, False
    try:
        with level.beneath():
            result = call(op, values)
    finally:
        here.below = was
    return map_tensors(lambda t: same[id(t)] if id(t) in same else lift(t, level), result)


def batched(op: Any, args: Any, level: Any) -> Any:
    """Run the op for all examples at once by the user's rule, or for one after the other."""
    leaves, spec = flatten(list(args))
    pairs = [level.unwrap(leaf) for leaf in leaves]
    values, dims = unflatten([v for v, _ in pairs], spec), unflatten([d for _, d in pairs], spec)
    if op.vmap_rule is not None:
        positional, keywords = as_called(op, values)
        result = op.vmap_rule(VmapInfo(level.size, level.randomness), tuple(dims[:len(positional)]), *positional, **keywords)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(f"Expected the vmap function registered for {op.declared.name} to return (output, out_dims), "
                               f"got {type(result)}")
        return wrapped(*result, level)
    if op.writes or op.is_view:
        raise RuntimeError(f"Batching rule not implemented for {op.declared.name}; the fallback path doesn't work on out= or "
                           "view ops.")
    warnings.warn(f"There is a performance drop because we have not yet implemented the batching rule for {op.declared.name}. "
                  "Please file us an issue on GitHub so that we can prioritize its implementation.", UserWarning, stacklevel=2)
    if level.size == 0:
        return level.wrap_results(op, *level.no_examples(op, values, dims))
    return level.wrap_results(op, *families.loop(op, values, dims, level.size))


def wrapped(output: Any, out_dims: Any, level: Any) -> Any:
    flat, spec = flatten(output)
    where = [None] * len(flat) if out_dims is None else broadcast_and_flatten(out_dims, spec)
    if where is None:
        raise RuntimeError("the vmap function returned out_dims that do not fit its output")
    return unflatten([out if dim is None or not isinstance(out, Tensor) else make_batched(out, dim % out.array.ndim, level)
                      for out, dim in zip(flat, where, strict=True)], spec)


# ---- autograd
def autograd(op: Any, args: Any) -> Any:
    """The layer of autograd: what the user registered for it, or the fallback."""
    key = backend_of(op, args)
    if (tls.inference or all([t.is_inference() for t in tensors_in(args)])) and not op.decomposes(key):
        return below(op, args)                    # there is nothing to record, in inference mode and of its tensors
    kernel = op.autograd_kernel(key)
    if kernel is not None:
        return below(op, args) if is_fallthrough(kernel) else called(op, kernel, args)
    if op.generated is not None:
        if tls.grad_enabled and any([wants_grad(t) for t in tensors_in(args)]):
            return op.generated.call(op, args)
        with below_autograd():
            return below(op, args)
    return fallback.run(op, args, below)


def is_fallthrough(kernel: Any) -> bool:
    return getattr(kernel, "__name__", "") == "fallthrough_kernel"


@contextmanager
def below_autograd() -> Iterator[None]:
    """Within this scope users' ops go past autograd, and nothing is recorded."""
    was, here.below = here.below, True
    mode = set_grad_enabled(False)
    forward, tls.fwd_grad_enabled = tls.fwd_grad_enabled, False
    try:
        yield
    finally:
        here.below, tls.fwd_grad_enabled = was, forward
        set_grad_enabled(mode)


# ---- below autograd
def below(op: Any, args: Any) -> Any:
    """Modes and subclasses, then the kernel for the backend."""
    if tls.dispatch_modes:
        return through_mode(op, args)
    flags = 0
    for t in tensors_in(args):
        flags |= t._flags
    if flags & FLAG_SUBCLASS and not tls.dispatch_disabled and overrides_dispatch(op, args):
        return through_subclass(op, args)
    if flags & FLAG_WRAPPER:
        level = tls.transforms[-1] if tls.transforms else None
        if isinstance(level, Level):
            return lower(op, args, level)
        return hooks.escaped(op, list(args))
    if flags & (FLAG_CONJ | FLAG_NEG) and not op.writes:
        args = map_tensors(resolve, list(args))
    if op.bumps:
        result = run_kernel(op, args)
        for t in tensors_in([args[i] for i in op.writes]):
            if not t.is_inference():
                bump(t)
        return result
    return run_kernel(op, args)


def through_mode(op: Any, args: Any) -> Any:
    mode = tls.dispatch_modes[-1]
    rule = op.dispatch_rules.get(type(mode))
    if rule is None:
        return hooks.dispatch_mode(op, list(args))
    positional, keywords = as_called(op, args)
    tls.dispatch_modes.pop()
    was, tls.below = tls.below, True
    try:
        return rule(mode, op, overriding_types(args), positional, keywords)
    finally:
        tls.below = was
        tls.dispatch_modes.append(mode)


def through_subclass(op: Any, args: Any) -> Any:
    for t in overriding_arguments(args):
        rule = op.dispatch_rules.get(type(t))
        if rule is not None:
            positional, keywords = as_called(op, args)
            return rule(op, overriding_types(args), positional, keywords)
    return hooks.dispatch_subclass(op, list(args))


def backend_of(op: Any, args: Any) -> str:
    """The backend key that the tensors among the arguments call for; "Undefined" if there are none."""
    tensors = tensors_in(args)
    if not tensors:
        device = next((a for p, a in zip(op.schema.params, args, strict=True) if p.type == "Device" and a is not None), None)
        return "Undefined" if device is None else {"cpu": "CPU", "meta": "Meta", "cuda": "CUDA"}.get(device.type, "CPU")
    flags = 0
    for t in tensors:
        flags |= t._flags
    return "SparseCPU" if flags & FLAG_SPARSE else "Meta" if flags & FLAG_META else "CPU"


def run_kernel(op: Any, args: Any) -> Any:
    """Run the kernel for the backend of the arguments."""
    key = backend_of(op, args)
    kernel = op.backend_kernel(key)
    if kernel is None or is_fallthrough(kernel):
        raise NotImplementedError(no_kernel(op, key))
    was, here.below = here.below, False           # what the kernel calls starts at the top again
    try:
        return called(op, kernel, args)
    finally:
        here.below = was


def no_kernel(op: Any, key: str) -> str:
    name = op.declared.qualified_name
    have = ", ".join(sorted(op.kernels)) or "none"
    remedy = f"\n\nlib.impl({name.rpartition(':')[2]!r}, function, {key!r}) registers a kernel for it."
    if key == "Undefined":
        return ("There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no fallback "
                f"function is registered for schema {name}.  This usually means that this function requires a non-empty list "
                "of Tensors, or that you (the operator writer) forgot to register a fallback function.  Available functions "
                f"are [{have}].")
    if key == "Meta":
        return (f"{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
                "registered. You may have run into this message while using an operator with PT2 compilation APIs "
                "(torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl. "
                "Please see the following for next steps:  "
                "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html")
    return (f"Could not run '{name}' with arguments from the '{key}' backend. This could be because the operator doesn't exist "
            "for this backend, or was omitted during the selective/custom build process (if using custom build). If you are a "
            "Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions. "
            f"'{name}' is only available for these backends: [{have}].{remedy}")

