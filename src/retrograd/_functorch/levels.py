"""The levels of running transforms, one by one: entering and leaving them, wrapping and unwrapping tensors.

This is what PyTorch has under `torch._C._functorch`; `retrograd.func` does the same in scopes.
"""
from __future__ import annotations

import enum
from contextlib import ExitStack
from typing import Any

from retrograd.core.state import tls
from retrograd.core.tensor import FLAG_WRAPPER, Tensor
from retrograd.ops.shared.families import wrap_dim
from retrograd.transforms.base import running
from retrograd.transforms.batching import Vmap, is_batched, make_batched
from retrograd.transforms.functionalize import Functional
from retrograd.transforms.grad import Grad, reverse_level
from retrograd.transforms.jvp import forward_level
from retrograd.transforms.lifted import is_lifted, lift, living
from retrograd.transforms.tangents import Jvp
from retrograd.transforms.vmap import remove_batch


class TransformType(enum.Enum):
    """The kinds of transforms."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(enum.Enum):
    """What random ops do in a vmap."""

    Error = 0
    Same = 1
    Different = 2


def kind_of(level: Any) -> TransformType:
    """The kind of a running transform."""
    kinds = ((Vmap, TransformType.Vmap), (Grad, TransformType.Grad), (Jvp, TransformType.Jvp),
             (Functional, TransformType.Functionalize))
    return next((kind for cls, kind in kinds if isinstance(level, cls)), TransformType.Torch)


class CInterpreter:
    """A running transform as PyTorch shows it: its kind and its level."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def key(self) -> TransformType:
        return kind_of(self.transform)

    def level(self) -> int:
        depth: int = self.transform.level
        return depth


def get_interpreter_stack() -> list[CInterpreter] | None:
    """The running transforms, outermost first; None if there are none."""
    return [CInterpreter(level) for level in tls.transforms] if tls.transforms else None


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost running transform."""
    return CInterpreter(tls.transforms[-1]) if tls.transforms else None


def maybe_current_level() -> int | None:
    """How deep the innermost running transform is; None if there is none."""
    return len(tls.transforms) or None


def current_level() -> int:
    """How deep the innermost running transform is."""
    level = maybe_current_level()
    if level is None:
        raise RuntimeError("maybe_layer.has_value() INTERNAL ASSERT FAILED: no transform is running")
    return level


def get_dynamic_layer_stack_depth() -> int:
    return len(tls.transforms)


# ---- tensors
def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for the examples of the vmap that came before torch.func: there is none."""
    return False


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for the examples of a vmap."""
    return is_batched(tensor)


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether a tensor is one of a running grad, vjp or jvp."""
    return is_lifted(tensor) and isinstance(tensor._extra.batch.owner, (Grad, Jvp))


def is_functionaltensor(tensor: Tensor) -> bool:
    """Whether a tensor is one of a running functionalize."""
    return is_lifted(tensor) and isinstance(tensor._extra.batch.owner, Functional)


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is one of a running transform."""
    return bool(tensor._flags & FLAG_WRAPPER)


def get_unwrapped(tensor: Tensor) -> Any:
    """The tensor of the level below that a tensor of a transform stands for."""
    if not is_functorch_wrapped_tensor(tensor):
        raise RuntimeError("No wrappers present!")
    return tensor._extra.batch.value


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension that counts the examples; -1 if the tensor is not batched."""
    return tensor._extra.batch.dim if is_batched(tensor) else -1


def maybe_get_level(tensor: Tensor) -> int:
    """The level that a tensor belongs to; -1 if to none, -2 if that level is over."""
    if not is_functorch_wrapped_tensor(tensor):
        return -1
    return -2 if is_dead_tensor_wrapper(tensor) else tensor._extra.batch.owner.level


def is_dead_tensor_wrapper(tensor: Tensor) -> bool:
    """Whether a tensor has outlived the transform that it belongs to."""
    return is_lifted(tensor) and not tensor._extra.batch.owner.alive


def unwrap_if_dead(tensor: Tensor) -> Any:
    """What a tensor that has outlived its transform stands for."""
    return tensor._extra.batch.value if is_dead_tensor_wrapper(tensor) else tensor


def at_level(level: int) -> Any:
    """The running transform at a level."""
    if not 0 < level <= len(tls.transforms):
        raise RuntimeError(f"no transform runs at level {level}; the innermost one is at level {len(tls.transforms)}")
    return tls.transforms[level - 1]


def _add_batch_dim(tensor: Tensor, batch_dim: int, level: int) -> Any:
    """One tensor for all examples along `batch_dim`, at the vmap of that level."""
    return make_batched(tensor, wrap_dim(batch_dim, tensor.array.ndim), at_level(level))


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Any:
    """The tensor of all examples with its batch dimension at `out_dim`."""
    return remove_batch(tensor, out_dim, at_level(level))


def _unwrap_batched(tensor: Tensor, level: int) -> tuple[Any, int | None]:
    """The tensor of all examples and its batch dimension; None if it is not batched at that level."""
    if is_batched(tensor) and tensor._extra.batch.owner.level == level:
        return tensor._extra.batch.value, tensor._extra.batch.dim
    return tensor, None


def _wrap_for_grad(tensor: Tensor, level: int) -> Any:
    """The tensor at the grad, vjp or jvp of that level."""
    return lift(tensor, at_level(level))


def _unwrap_for_grad(tensor: Tensor, level: int) -> Any:
    """The tensor of the level below."""
    return tensor._extra.batch.value if is_lifted(tensor) and tensor._extra.batch.owner.level == level else tensor


def _wrap_functional_tensor(tensor: Tensor, level: int) -> Any:
    """The tensor at the functionalize of that level."""
    return at_level(level).wrap(tensor)


def _unwrap_functional_tensor(tensor: Tensor, reapply_views: bool = False) -> Any:
    """What a tensor of a functionalize stands for."""
    return tensor._extra.batch.owner.unwrap(tensor) if is_functionaltensor(tensor) else tensor


def _assert_wrapped_functional(unwrapped: Tensor, wrapped: Tensor) -> None:
    """Raise unless `wrapped` stands for `unwrapped` in a functionalize."""
    if not is_functionaltensor(wrapped) or _unwrap_functional_tensor(wrapped) is not unwrapped:
        raise RuntimeError("the wrapped tensor does not stand for the unwrapped one")


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Any:
    """Put dimension `src` in front of dimension `dst` of the others, and both into one."""
    rank = x.array.ndim
    src, dst = wrap_dim(src, rank), wrap_dim(dst, rank - 1)
    shape = list(x.shape)
    size = shape.pop(src)
    shape[dst] *= size
    return x.movedim(src, dst).reshape(shape)


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Any:
    """Split dimension `src` in two, the first of `size1` elements."""
    src = wrap_dim(src, x.array.ndim)
    shape = list(x.shape)
    if shape[src] % size1:
        raise RuntimeError(f"shape[src] % size1 == 0 INTERNAL ASSERT FAILED: {shape[src]} is no multiple of {size1}")
    shape[src:src + 1] = [size1, shape[src] // size1]
    return x.reshape(shape)


# ---- entering and leaving, innermost last
entered: list[Any] = []


def enter(scope: Any) -> int:
    scope.__enter__()
    entered.append(scope)
    return len(tls.transforms)


def leave() -> int:
    level = len(tls.transforms)
    entered.pop().__exit__(None, None, None)
    return level


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    return enter(running(Vmap(batch_size, randomness)))


def _grad_increment_nesting() -> int:
    return enter(reverse_level(Grad()))


def _jvp_increment_nesting() -> int:
    return enter(forward_level())


_vmap_decrement_nesting = _grad_decrement_nesting = _jvp_decrement_nesting = leave


def _func_increment_nesting(reapply_views: bool) -> int:
    level = Functional(not reapply_views)
    scopes = ExitStack()
    scopes.enter_context(running(level))
    scopes.enter_context(living(level))
    return enter(scopes)


_func_decrement_nesting = leave


# ---- switches
def set_inplace_requires_grad_allowed(allowed: bool) -> None:
    """Whether `requires_grad_` may be called in the innermost running transform."""
    at_level(current_level()).requires_grad_allowed = allowed


def get_inplace_requires_grad_allowed() -> bool:
    """Whether `requires_grad_` may be called in the innermost running transform."""
    allowed: bool = at_level(current_level()).requires_grad_allowed
    return allowed


class Settings:
    """Switches for the whole process."""

    single_level_functions: bool = False


def set_single_level_autograd_function_allowed(allowed: bool) -> None:
    """Whether Functions of one level may be applied inside of transforms."""
    Settings.single_level_functions = allowed


def get_single_level_autograd_function_allowed() -> bool:
    """Whether Functions of one level may be applied inside of transforms."""
    return Settings.single_level_functions


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Whether an op without a batching rule warns."""
    Vmap.warns_of_loops = enabled


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Whether an op without a batching rule runs in a loop over the examples, or raises."""
    Vmap.loops = enabled


def _is_vmap_fallback_enabled() -> bool:
    """Whether an op without a batching rule runs in a loop over the examples."""
    return Vmap.loops


# ---- for looking at it
dlevel = maybe_get_level


def dump_tensor(tensor: Tensor) -> None:
    """Print a tensor with the levels that it is wrapped in."""
    print(repr(tensor))
