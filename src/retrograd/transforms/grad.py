"""Reverse mode as a transform: `grad`, `grad_and_value` and `vjp` of functions, at a level of their own.

    >>> import retrograd as torch
    >>> grad(grad(torch.sin))(torch.tensor(0.0))
    tensor(-0.)
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.autograd.backward import first_gradients, input_edge
from retrograd.autograd.engine import run_backward
from retrograd.autograd.function import run_function
from retrograd.core.dispatch import autograd
from retrograd.core.dtypes import is_complex_type, is_inexact_type
from retrograd.core.opdef import OpDef
from retrograd.core.out import refuse_gradients
from retrograd.core.state import set_flag, set_grad_enabled, tls
from retrograd.core.subclass import DisableTorchFunction
from retrograd.core.tensor import FLAG_WRAPPER, Tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import preserve_format
from retrograd.transforms import functions
from retrograd.transforms.arguments import argument_paths, replace_arguments, select_arguments
from retrograd.transforms.base import only_outer, running
from retrograd.transforms.lifted import LOST, Level, lift, living
from retrograd.transforms.trees import flatten, map_leaves, unflatten

__all__ = ["grad", "grad_and_value", "vjp"]

class Grad(Level):
    """Records a graph of lifted tensors."""

    stays = True              # recording may itself run ops of this level: clones, regenerated views

    def __init__(self) -> None:
        self.mode_below: bool = tls.grad_enabled
        self.watchers: Any = None     # the dispatch modes, which run below all levels

    def run_lifted(self, op: OpDef, args: Any) -> Any:
        lifted = lifted_arguments(self, op, args)
        if lifted is None or op.is_out and not self.records_out(op, args, lifted):
            return self.lower(op, args)
        modes = tls.dispatch_modes
        if not modes:
            return self.record(op, lifted)
        self.watchers, tls.dispatch_modes = modes, []
        try:
            return self.record(op, lifted)
        finally:
            self.watchers, tls.dispatch_modes = None, modes

    def records_out(self, op: OpDef, args: Any, lifted: Any) -> bool:
        """Whether a write to an out= tensor is recorded here; one from outside takes results without derivatives only."""
        return bool(tls.grad_enabled and refuse_gradients(op, lifted[:op.out_arg], lifted[op.out_arg:])
                    and all([self.owns(t) for t in args[op.out_arg:]]))

    def record(self, op: OpDef, args: Any) -> Any:
        return autograd(op, args)     # calls `lower` in place of the kernel

    def lifted(self, t: Any) -> Any:
        """`t` as a tensor of this level: a constant if it comes from below."""
        if self.owns(t) or not isinstance(t, Tensor):
            return t
        t = LOST.unwrap(t)            # the value of an exited inner level may belong to this one
        return t if self.owns(t) else lift(self.unwrap(t), self)

    def beneath(self) -> Any:
        return beneath(self)

    def apply_function(self, cls: Any, args: Any) -> Any:
        """Run a custom Function: its forward on the level below, its other methods on this one."""
        leaves, spec = flatten(args)
        inputs = [self.lifted(leaf) for leaf in leaves]
        level = self
        recording = tls.grad_enabled          # of this level; forward runs with it off, which must not affect the level below

        def forward(*given: Any) -> Any:
            flat, structure = flatten(given)
            values = [level.unwrap(leaf) for leaf in flat]
            was = set_grad_enabled(recording)
            try:
                with level.beneath():
                    output = functions.apply_anywhere(cls, unflatten(values, structure))
            finally:
                set_grad_enabled(was)
            made, out_spec = flatten(output)
            same = {id(value): leaf for value, leaf in zip(values, flat, strict=True)}
            return unflatten([same.get(id(out)) if id(out) in same else lift(out, level) if isinstance(out, Tensor) else out
                              for out in made], out_spec)

        lowered = type(cls.__name__, (cls,), {"forward": staticmethod(forward), "__module__": cls.__module__})
        return run_function(lowered, unflatten(inputs, spec), True)


def lifted_arguments(level: Grad, op: Any, args: Any) -> Any:
    """The arguments with their tensors on this level; None if there are none."""
    lifted = list(args)
    found = False
    for i in op.tensor_args:
        value = lifted[i]
        if isinstance(value, (list, tuple)):
            lifted[i] = [level.lifted(t) for t in value]
            found = found or any([isinstance(t, Tensor) for t in value])
        elif isinstance(value, Tensor):
            t = value
            found = True
            if not (t._flags & FLAG_WRAPPER and t._extra.batch.owner is level):
                lifted[i] = level.lifted(t)
    return lifted if found else None


class beneath(only_outer):
    """Activate the level below, with its own grad mode and dispatch modes. A `no_grad` inside this level applies to the one
    below too; one around this level does not apply to this level.
    """

    def __init__(self, level: Grad) -> None:
        super().__init__(len(tls.transforms) - 1)
        self.level = level

    def __enter__(self) -> None:
        self.mode = set_grad_enabled(tls.grad_enabled and self.level.mode_below)
        self.modes = tls.dispatch_modes
        if self.level.watchers is not None:
            tls.dispatch_modes = self.level.watchers
        super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__()
        tls.dispatch_modes = self.modes
        set_grad_enabled(self.mode)


@contextmanager
def reverse_level(level: Grad) -> Iterator[Grad]:
    """Make `level` the innermost one, with recording on."""
    level.mode_below = tls.grad_enabled
    with running(level), living(level):
        was = set_grad_enabled(True), set_flag("inference", False)
        try:
            yield level
        finally:
            set_grad_enabled(was[0])
            set_flag("inference", was[1])


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of the scalar `func` with respect to its arguments `argnums`.

    >>> import retrograd as torch
    >>> grad(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        results = run_grad(func, argnums, has_aux, args, kwargs)
        return (results[0], results[1][1]) if has_aux else results[0]
    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`grad` that returns the value of `func` too.

    >>> import retrograd as torch
    >>> grad_and_value(torch.exp)(torch.tensor(0.0))
    (tensor(1.), tensor(1.))
    """
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return run_grad(func, argnums, has_aux, args, kwargs)
    return wrapper


def run_grad(func: Any, argnums: Any, has_aux: bool, args: Any, kwargs: Any) -> Any:
    with reverse_level(Grad()) as level:
        args = map_leaves(level.lifted, args)
        kwargs = map_leaves(level.lifted, kwargs)
        paths = argument_paths(argnums, args)
        inputs, spec = flatten(select_arguments(args, argnums, paths))
        leaves = [leaf_of(t, level) for t in inputs]
        args = replace_arguments(args, argnums, paths, unflatten(leaves, spec))
        output = func(*args, **kwargs)
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError("grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux "
                                   "is True")
            output, aux = output
        output = LOST.unwrap(output)
        if not isinstance(output, Tensor):
            raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                               f"{type(output)}")
        if output.array.ndim:
            raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                               f"{output.array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        if is_complex_type(output.array.dtype) and output.requires_grad:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        with DisableTorchFunction():          # function modes see only the program's own calls
            first = late.ones_like(output, memory_format=preserve_format)
        grads = pull_back(level, [output_edge(output, level)], leaf_edges(leaves), leaves, [first], False)
        value = level.unwrap(output)
        if has_aux:
            return unflatten(grads, spec), (value, unwrap_aux(aux, level))
        return unflatten(grads, spec), value


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func` and a function that turns gradients of its outputs into gradients of its inputs.

    >>> import retrograd as torch
    >>> value, pull = vjp(torch.sin, torch.tensor([0.0, 0.0]))
    >>> pull(torch.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    return run_vjp(func, primals, None, has_aux)


def run_vjp(func: Any, primals: Any, argnums: Any, has_aux: bool) -> Any:
    """`vjp` with respect to the arguments `argnums` (None: all of them)."""
    with reverse_level(Grad()) as level:
        args = map_leaves(level.lifted, primals)
        paths = None if argnums is None else argument_paths(argnums, args)
        inputs, in_spec = flatten(args if paths is None else select_arguments(args, argnums, paths))
        leaves = [leaf_of(t, level) for t in inputs]
        given = unflatten(leaves, in_spec)
        output = func(*(given if paths is None else replace_arguments(args, argnums, paths, given)))
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError("vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True")
            output, aux = output
            aux = unwrap_aux(aux, level)
        outputs, out_spec = flatten(output)
        outputs = [LOST.unwrap(out) for out in outputs]
        if not outputs or len(outputs) == 1 and outputs[0] is None:
            raise RuntimeError("vjp(f, *primals): Expected f to be a function that has non-empty output (got output = "
                               f"{outputs})")
        for out in outputs:
            if not isinstance(out, Tensor):
                raise RuntimeError("vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type "
                                   f"{type(out)}")
            if not is_inexact_type(out.array.dtype):
                raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with "
                                   f"dtype {out.dtype}")
        roots, targets = [output_edge(out, level) for out in outputs], leaf_edges(leaves)
        results = [level.unwrap(out) for out in outputs]

    def wrapper(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, spec = flatten(cotangents)
        if spec != out_spec:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                               f"function. cotangents: {short(spec)}, primal output: {short(out_spec)}")
        used = [i for i, root in enumerate(roots) if root is not None]
        given = first_gradients(tuple([outputs[i] for i in used]), tuple([flat[i] for i in used]), False)
        # The level has ended, but its graph is alive: it runs inside the transforms active now.
        with reverse_level(level):
            grads = pull_back(level, [roots[i] for i in used], targets, leaves, [level.lifted(c) for c in given], retain_graph)
        return unflatten(grads, in_spec)

    made = unflatten(results, out_spec)
    return (made, wrapper, aux) if has_aux else (made, wrapper)


def short(spec: Any) -> str:
    """The form of a structure in the error about cotangents."""
    if spec.kind is None:
        return "*"
    inner = ", ".join([short(child) for child in spec.children])
    if spec.kind is tuple:
        return f"({inner},)" if len(spec.children) == 1 else f"({inner})"
    if spec.kind is list:
        return f"[{inner}]"
    if isinstance(spec.context, list) and spec.kind is dict:
        return "{" + ", ".join([f"{key!r}: "
                                f"{short(child)}" for key, child in zip(spec.context, spec.children, strict=True)]) + "}"
    return repr(spec)


# ---- parts
def leaf_of(t: Any, level: Grad) -> Any:
    """An input as a new leaf of this level, distinct from every object that the function may hold."""
    if not isinstance(t, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    if not is_inexact_type(t.array.dtype):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    leaf = lift(level.unwrap(t), level)
    leaf._requires = True
    return leaf


def leaf_edges(leaves: list[Any]) -> list[Any]:
    return [input_edge(t) for t in leaves]


def output_edge(t: Any, level: Grad) -> Any:
    """The gradient edge of an output; None if it depends on no input."""
    return input_edge(t) if level.owns(t) and wants_grad(t) else None


def pull_back(level: Grad, roots: Any, targets: Any, leaves: Any, grads: Any, keep: bool) -> list[Any]:
    """The gradients of the inputs as tensors of the level below; zeros for those that no gradient reaches."""
    used = [(root, g) for root, g in zip(roots, grads, strict=True) if root is not None and g is not None]
    found: Any = [None] * len(leaves)
    if used:
        # With create_graph, although the graph is not returned: without it formulas use saved values that have no
        # derivatives on the level below.
        found = run_backward([root for root, _ in used], [g for _, g in used], keep, True, targets, False)
    return [level.unwrap(late.zeros_like(t) if g is None else g) for t, g in zip(leaves, found, strict=True)]


def unwrap_aux(aux: Any, level: Level) -> Any:
    """The second output of a function with `has_aux`, on the level below."""
    for leaf in flatten(aux)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return map_leaves(level.unwrap, aux)
