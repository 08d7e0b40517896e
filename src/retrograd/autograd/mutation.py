"""`allow_mutation_on_saved_tensors`: in-place writes to saved tensors copy the old values first, so backward stays right.

NOTE [Saved originals and clones]
Within the scope every saved tensor is packed as a handle. The handle leads, weakly, to the original tensor, or to its clone
once something is about to write to that memory. A dispatch mode sees every write before it happens; memory is identified by
address and version, so writes through a view, a base or a conjugate are detected too. Handles and clones die with the graph
that holds them.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from retrograd.core.modes import TorchDispatchMode
from retrograd.core.state import add_saved_hooks, tls
from retrograd.core.storage import address
from retrograd.core.tensor import Tensor
from retrograd.ops import late

OUTSIDE = ("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally "
           "recorded.")


class _Handle:
    """The packed form of a saved tensor."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """The tensors saved within one scope, and their clones."""

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[Any, _Handle] = WeakValueDictionary()
        self.sid_to_tid: defaultdict[Any, set[Any]] = defaultdict(set)

    def clear(self) -> None:
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        memory = memory_of(tensor)
        tid = (id(tensor), *memory)
        self.sid_to_tid[memory].add(tid)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: _Handle) -> Any:
        if handle in self.cloned:
            return self.cloned[handle]
        if handle not in self.original:
            raise AssertionError(OUTSIDE)
        return self.original[handle]

    def about_to_write(self, tensor: Tensor) -> None:
        """Clone the tensors that are still saved on the memory of `tensor`."""
        for tid in self.sid_to_tid.get(memory_of(tensor), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle not in self.cloned:
                self.cloned[handle] = late.clone(self.original.pop(handle))


def memory_of(tensor: Tensor) -> tuple[int, int]:
    """The key shared by all aliases of `tensor`: address and version."""
    return address(tensor.array) if tensor.array.size else 0, tensor._version


class _CloneArgBeforeMutateMode(TorchDispatchMode):
    """Clones saved tensors before an in-place op writes to them."""

    def __init__(self, context: _AllowMutationOnSavedContext) -> None:
        super().__init__()
        self.context = context

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for i, param in enumerate(func.schema.params):
            if param.writes:
                value = kwargs.get(param.name) if param.name in kwargs or i >= len(args) else args[i]
                for t in value if isinstance(value, (list, tuple)) else (value,):
                    if isinstance(t, Tensor):
                        self.context.about_to_write(t)
        return func(*args, **kwargs)


class Active:
    """Whether a scope is open; they do not nest."""

    scope = False


@contextmanager
def allow_mutation_on_saved_tensors() -> Generator[_AllowMutationOnSavedContext, None, None]:
    """Within this scope, in-place writes to tensors that are saved for backward are allowed.

    >>> import retrograd as torch
    >>> with allow_mutation_on_saved_tensors():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     out = (y * y).sum()
    ...     _ = y.sin_()
    ...     out.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if Active.scope:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    if tls.saved_hooks_disabled is not None:
        raise RuntimeError(tls.saved_hooks_disabled)
    context = _AllowMutationOnSavedContext()
    hooks = (context.pack, context.unpack)
    with _CloneArgBeforeMutateMode(context):
        tls.saved_hooks.append(hooks)
        add_saved_hooks(1)
        Active.scope = True
        try:
            yield context
        finally:
            Active.scope = False
            context.clear()
            tls.saved_hooks.pop()
            add_saved_hooks(-1)
