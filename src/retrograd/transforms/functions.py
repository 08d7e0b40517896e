"""Custom Functions under transforms: by their own `vmap` rule, or by a rule generated from their other methods."""
from __future__ import annotations

from itertools import chain, repeat
from typing import Any, NamedTuple

from retrograd.autograd.function import Function, run_function
from retrograd.core.hooks import hooks
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor
from retrograd.transforms.base import only_outer, running
from retrograd.transforms.batching import Vmap, is_batched, make_batched
from retrograd.transforms.trees import broadcast_and_flatten, flatten, unflatten

SEE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The `info` argument of a Function's `vmap`."""

    batch_size: int
    randomness: str


def apply_function(cls: Any, args: Any) -> Any:
    """`cls.apply(*args)` while transforms are running."""
    split = cls.setup_context is not Function.setup_context
    if tls.transforms[-1].legacy:
        return run_function(cls, args, split)
    if not split:
        raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
                           "must override the setup_context staticmethod. " + SEE)
    stack = tls.transforms
    for depth in range(len(stack) - 1, -1, -1):
        level = stack[depth]
        if not isinstance(level, Vmap):
            with only_outer(depth + 1):
                return level.apply_function(cls, args)
        if any([is_batched(leaf, level) for leaf in flatten(args)[0]]):
            return apply_batched(cls, args, level, depth)
    return run_function(cls, args, True)


hooks.transform_function = apply_function


def apply_anywhere(cls: Any, args: Any) -> Any:
    """`cls.apply(*args)` with or without transforms, for a Function already checked to support them."""
    return apply_function(cls, args) if tls.transforms else run_function(cls, args, True)


def apply_batched(cls: Any, args: Any, level: Any, depth: int) -> Any:
    """Run a Function with batched arguments."""
    own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden "
                           "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod "
                           "to avoid ambiguity. " + SEE)
    if not cls.generate_vmap_rule and not own:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and "
                           "implement the vmap staticmethod or set generate_vmap_rule=True. " + SEE)
    leaves, spec = flatten(args)
    pairs = [level.unwrap(leaf) for leaf in leaves]
    values, in_dims = [value for value, _ in pairs], [dim for _, dim in pairs]
    with only_outer(depth):
        if own:
            result = cls.vmap(VmapInfo(level.size, level.randomness), unflatten(in_dims, spec), *unflatten(values, spec))
            if not (isinstance(result, tuple) and len(result) == 2):
                got = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
                raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
                                   f"structure compatible with the output. Got {got} instead, from {cls.__name__}.vmap. " + SEE)
            output, dims = result
        else:
            made = generated(cls, in_dims, spec, level.size, level.randomness)
            output = made.apply(*values)
            dims = unflatten(made.out_dims, flatten(output)[1])
    flat, out_spec = flatten(output)
    where = [None] * len(flat) if dims is None else broadcast_and_flatten(dims, out_spec)
    if where is None:
        raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
                           f"Expected out_dims={dims} to be compatible with the structure of `output`. out_dims has structure "
                           f"{flatten(dims)[1]} but output has structure {out_spec}. " + SEE)
    # An input that is returned stays the same tensor: a Function that writes to it must return it.
    given = {(id(value), dim): leaf for leaf, (value, dim) in zip(leaves, pairs, strict=True) if dim is not None}
    return unflatten([rewrapped(out, dim, given, level) for out, dim in zip(flat, where, strict=True)], out_spec)


def rewrapped(out: Any, dim: int | None, given: dict[Any, Any], level: Vmap) -> Any:
    """An output of a vmap staticmethod as a batched tensor: the input of `given` that it is, or a new one."""
    if dim is None or not isinstance(out, Tensor):
        return out
    dim %= out.array.ndim
    leaf = given.get((id(out), dim))
    return make_batched(out, dim, level) if leaf is None else leaf


def wrapped(values: Any, dims: Any, level: Vmap) -> list[Any]:
    return [value if dim is None or not isinstance(value, Tensor) else make_batched(value, dim, level)
            for value, dim in zip(values, dims, strict=True)]


class BatchedCtx:
    """The ctx of a Function's methods under vmap: the tensors it shows are batched, the ones it stores are not.

    Its own fields have names that PyTorch reserves, so that all others are free for the user's attributes.
    """

    def __init__(self, ctx: Any, level: Vmap, dims: dict[str, Any]) -> None:
        self.__dict__.update(_pt_inner_ctx=ctx, _pt_current_level=level, _pt_saved_dims=dims)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._pt_inner_ctx, name, value)

    def save_for_backward(self, *tensors: Any) -> None:
        self._pt_inner_ctx.save_for_backward(*unwrapped(self, "backward", tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._pt_inner_ctx.save_for_forward(*unwrapped(self, "forward", tensors))

    @property
    def saved_tensors(self) -> Any:
        saved = self._pt_inner_ctx.saved_tensors
        dims = self._pt_saved_dims.get("backward")
        if dims is None or len(dims) != len(saved):
            dims = self._pt_saved_dims["forward"]
        return tuple(wrapped(saved, dims, self._pt_current_level))


def unwrapped(ctx: BatchedCtx, kind: str, tensors: Any) -> list[Any]:
    pairs = [ctx._pt_current_level.unwrap(t) for t in tensors]
    ctx._pt_saved_dims[kind] = [dim for _, dim in pairs]
    return [value for value, _ in pairs]


def generated(cls: Any, in_dims: list[Any], spec: Any, size: int, randomness: str) -> Any:
    """A Function on all examples whose methods run those of `cls` under vmap."""
    kept: dict[str, Any] = {}
    shapes: list[Any] = []

    class Vmapped(Function):
        generate_vmap_rule = True             # inside another vmap
        out_dims: list[Any] = []

        @staticmethod
        def forward(*values: Any) -> Any:
            with running(Vmap(size, randomness)) as level:
                output = cls.forward(*unflatten(wrapped(values, in_dims, level), spec))
                flat, out_spec = flatten(output)
                pairs = [level.unwrap(out) for out in flat]
            Vmapped.out_dims = [dim for _, dim in pairs]
            return unflatten([value for value, _ in pairs], out_spec)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            flat, out_spec = flatten(output)
            shapes.extend([example_shape(value, dim) for value, dim in zip(inputs, in_dims, strict=True)])
            with running(Vmap(size, randomness)) as level:
                cls.setup_context(BatchedCtx(ctx, level, kept), unflatten(wrapped(inputs, in_dims, level), spec),
                                  unflatten(wrapped(flat, Vmapped.out_dims, level), out_spec))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if kept.get("backward"):          # a second pass raises even if the rule does not read them
                assert ctx.saved_tensors is not None
            with running(Vmap(size, randomness)) as level:
                rule = cls.vjp if cls.vjp is not Function.vjp else cls.backward
                made = rule(BatchedCtx(ctx, level, kept), *wrapped(grads, Vmapped.out_dims, level))
                made = made if isinstance(made, (tuple, list)) else (made,)
                pairs = [level.unwrap(summed_to(g, shape)) for g, shape in zip(made, chain(shapes, repeat(None)), strict=False)]
            return tuple([fitted(value, dim, wanted, size) for (value, dim), wanted in zip(pairs, in_dims, strict=False)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with running(Vmap(size, randomness)) as level:
                made = cls.jvp(BatchedCtx(ctx, level, kept), *wrapped(tangents, in_dims, level))
                several = isinstance(made, (tuple, list))
                pairs = [level.unwrap(t) for t in (made if several else (made,))]
            fit = [fitted(value, dim, wanted, size) for (value, dim), wanted in zip(pairs, Vmapped.out_dims, strict=True)]
            return tuple(fit) if several else fit[0]

    Vmapped.__name__ = Vmapped.__qualname__ = f"Vmapped{cls.__name__}"
    Vmapped._backward_cls.__name__ = Vmapped._backward_cls.__qualname__ = f"Vmapped{cls.__name__}Backward"
    return Vmapped


def example_shape(value: Any, dim: int | None) -> Any:
    """The shape of one example of an input; None if it is no tensor."""
    if not isinstance(value, Tensor):
        return None
    shape = tuple(value.shape)
    return shape if dim is None else shape[:dim] + shape[dim + 1:]


def summed_to(grad: Any, shape: Any) -> Any:
    """A gradient for one example in the shape of its input, if it has that shape but for broadcasting."""
    if not isinstance(grad, Tensor) or shape is None or tuple(grad.shape) == shape or len(shape) > grad.dim():
        return grad
    fits = all([want in (1, have) for want, have in zip(reversed(shape), reversed(grad.shape), strict=False)])
    return grad.sum_to_size(shape) if fits else grad


def fitted(value: Any, dim: Any, wanted: Any, size: int) -> Any:
    """A gradient with its batch dimension moved to that of its tensor; summed over examples if the tensor is unbatched."""
    if not isinstance(value, Tensor) or dim == wanted:
        return value
    if wanted is None:
        return value.sum(dim)
    if dim is None:
        shape = value.array.shape
        return value.unsqueeze(wanted).expand((*shape[:wanted], size, *shape[wanted:]))
    return value.movedim(dim, wanted)
