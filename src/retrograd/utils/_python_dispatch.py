"""Dispatch modes under PyTorch's names."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from retrograd import ops, strided
from retrograd.core.modes import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    no_dispatch,
)
from retrograd.core.modes import current_mode as _get_current_dispatch_mode
from retrograd.core.modes import current_modes as _get_current_dispatch_mode_stack
from retrograd.core.modes import disable_current_modes as _disable_current_modes
from retrograd.core.modes import pop_mode as _pop_mode
from retrograd.core.modes import push_mode as _push_mode
from retrograd.core.tags import Tag
from retrograd.core.tensor import Tensor

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode",
           "_get_current_dispatch_mode_stack", "_pop_mode", "_push_mode", "is_in_torch_dispatch_mode",
           "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing",
           "transform_subclass"]


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a dispatch mode is on; without `include_infra_modes`, one that is none of the library's own.

    >>> is_in_torch_dispatch_mode()
    False
    """
    modes = _get_current_dispatch_mode_stack()
    return any([include_infra_modes or not is_infra(mode) for mode in modes])


def is_infra(mode: Any) -> bool:
    """Whether a mode is one of the library's own (fake tensors, tracing, functionalization), or says that it is like these."""
    declared = getattr(type(mode), "is_infra_mode", None)
    if declared is not None and mode.is_infra_mode():
        return True
    return getattr(mode, "_mode_key", None) is not None or type(mode).__module__.startswith(("retrograd.", "torch."))


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is on that wants to see what compiled code does inside.

    >>> is_in_any_mode_without_ignore_compile_internals()
    False
    """
    return any([not getattr(type(mode), "ignore_compile_internals", bool)() for mode in _get_current_dispatch_mode_stack()])


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether `t` is a wrapper that can be taken apart with `__tensor_flatten__`.

    >>> import retrograd as torch
    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether the instances of a class are wrappers that can be taken apart.

    >>> import retrograd as torch
    >>> is_traceable_wrapper_subclass_type(torch.Tensor)
    False
    """
    return issubclass(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """A scope without the innermost mode, which it gives.

    >>> with BaseTorchDispatchMode() as mode, _pop_mode_temporarily() as popped:
    ...     popped is mode, is_in_torch_dispatch_mode()
    (True, False)
    """
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def _len_torch_dispatch_stack() -> int:
    """How many modes are on."""
    return len(_get_current_dispatch_mode_stack())


def _get_dispatch_stack_at(index: int) -> Any:
    """The mode at a place of the stack, outermost first."""
    return _get_current_dispatch_mode_stack()[index]


def any_torch_dispatch_mode_on_stack() -> bool:
    """Whether a mode is on."""
    return _len_torch_dispatch_stack() > 0


def transform_subclass(t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None) -> Any:
    """A wrapper like `t` around other inner tensors: `callback(name, inner)` for each.

    >>> import retrograd as torch
    >>> class Box(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, inner):
    ...         made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)
    ...         made.inner = inner
    ...         return made
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    ...     def __tensor_flatten__(self):
    ...         return ["inner"], None
    ...     @staticmethod
    ...     def __tensor_unflatten__(inner, context, size, stride):
    ...         return Box(inner["inner"])
    >>> transform_subclass(Box(torch.ones(2)), lambda name, inner: inner + 1).inner
    tensor([2., 2.])
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size or made.stride() != stride:
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {size} and "
                             f"strides equal to {stride}, but got: {made.shape}, {made.stride()}")
    return made


def share_storage(view: Tensor, source: Tensor) -> None:
    """Put a tensor into the storage of another, with its own sizes and strides."""
    with no_dispatch():
        storage = source.untyped_storage()
        if view.untyped_storage()._cdata != storage._cdata:
            ops.aten.set_.source_Storage_storage_offset(view, storage, view.storage_offset(), view.shape, view.stride())


@dataclass
class AliasInfo:
    """Which memory an argument or a result of an op shares, by letters, and whether it is written to."""

    alias_set: set[str]
    is_write: bool
    name: str | None


@dataclass
class SchemaInfo:
    """What the schema of an op says of shared memory."""

    args: list[AliasInfo]
    outs: list[AliasInfo]
    is_inplace_view_op: bool
    outs_write_aliases: list[str] | None                  # of the results, if the op writes to all of them
    read_only_alias_match_indexes: list[tuple[int, int]]      # arguments and the results that are views of them


def get_alias_info(func: Any) -> SchemaInfo:
    """What the schema of an op says of shared memory.

    >>> get_alias_info(ops.aten.view.default).read_only_alias_match_indexes
    [(0, 0)]
    >>> get_alias_info(ops.aten.add_.Tensor).outs_write_aliases
    ['a']
    """
    def info(argument: Any) -> AliasInfo:
        shared = argument.alias_info
        return AliasInfo(set() if shared is None else set(shared.before_set), shared is not None and shared.is_write,
                         argument.name or None)

    args, outs = [info(a) for a in func._schema.arguments], [info(r) for r in func._schema.returns]
    written = [out for out in outs if out.is_write and out.alias_set]
    views = [(i, o) for i, arg in enumerate(args) for o, out in enumerate(outs)
             if arg.alias_set & out.alias_set and not arg.is_write and not out.is_write]
    return SchemaInfo(args, outs, Tag.inplace_view in func.tags,
                      [sorted(out.alias_set)[0] for out in written] if outs and len(written) == len(outs) else None, views)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a wrapper's `__torch_dispatch__` returns for `func`, checked against its schema.

    An in-place or out= op gives back the argument that it writes to; a view op must give a wrapper of its input's class,
    which gets the storage of its input.

    >>> import retrograd as torch
    >>> x = torch.zeros(2)
    >>> return_and_correct_aliasing(torch.ops.aten.add_.Tensor, (x, 1), {}, x + 1) is x
    True
    """
    arguments = func._schema.arguments
    given = {a.name: value for a, value in zip(arguments, args, strict=False)} | dict(kwargs or {})
    returns = func._schema.returns
    several = isinstance(out, (list, tuple))
    outs = list(out) if several else [out]
    if func.is_view and isinstance(outs[0], Tensor):
        source = next((given.get(a.name) for a in arguments if a.alias_info is not None and not a.alias_info.is_write), None)
        if source is not None and type(source) is not type(outs[0]):
            raise RuntimeError(f"Called {func} with input of type {type(source)}\nand output of type {type(outs[0])}. But "
                               "expected types to match.")
        if source is not None and source.layout is strided and not source.is_nested:
            for view in outs:
                share_storage(view, source)
    if Tag.inplace_view in func.tags and isinstance(args[0], Tensor) and type(args[0]) is not Tensor:
        with no_dispatch():                   # the wrapper's own geometry
            func(*args, **(kwargs or {}))
    for i, returned in enumerate(returns):
        if returned.alias_info is None or not returned.alias_info.is_write:
            continue
        letters = set(returned.alias_info.before_set)
        written = [given[a.name] for a in arguments if a.alias_info is not None and a.alias_info.is_write
                   and letters & set(a.alias_info.before_set) and a.name in given]
        if written:
            outs[i] = written[0]
    return type(out)(outs) if several else outs[0]
