"""Stand-ins for helpers of `torch._utils`: lists of tensors as flat ones, texts of calls, lists of callbacks."""
from __future__ import annotations

import importlib.util
import logging
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import retrograd as torch
from retrograd.core.printing import printoptions
from retrograd.overrides import resolve_name
from retrograd.utils._pytree import tree_map

logger = logging.getLogger(__name__)


# ---- conversions
def change_type(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """`self.type(dtype)`; without a dtype, the name of the class.

    >>> change_type(torch.ones(1), "torch.DoubleTensor").dtype
    torch.float64
    """
    non_blocking = is_asynchronous("type", non_blocking, kwargs)
    if dtype is None:
        return f"{type(self).__module__}.{type(self).__name__}"
    return self if dtype is type(self) else self.type(dtype, non_blocking=non_blocking)


def is_asynchronous(function_name: str, non_blocking: bool, kwargs: dict[str, Any]) -> bool:
    """The value of `non_blocking`, which once was called `async`."""
    if not kwargs:
        return non_blocking
    if list(kwargs) != ["async"]:
        raise TypeError(f"{function_name}() got an unexpected keyword argument '{next(k for k in kwargs if k != 'async')}'")
    warnings.warn("'async' is deprecated; use 'non_blocking'", stacklevel=2)
    return bool(kwargs["async"])


def real_view(tensor: Any) -> Any:
    """A complex tensor as pairs of real numbers; others unchanged."""
    return torch.view_as_real(tensor) if isinstance(tensor, torch.Tensor) and tensor.is_complex() else tensor


# ---- lists of tensors
def by_size(tensors: Iterable[Any], size_limit: int) -> Iterator[list[Any]]:
    """Tensors in groups of one type, each of at most `size_limit` bytes or one tensor.

    >>> [len(group) for group in by_size([torch.ones(2), torch.ones(2), torch.ones(4)], 16)]
    [2, 1]
    """
    groups: defaultdict[str, list[Any]] = defaultdict(list)
    sizes: defaultdict[str, int] = defaultdict(int)
    for tensor in tensors:
        kind = tensor.type()
        parts = [tensor._indices(), tensor._values()] if tensor.is_sparse else [tensor]
        size = sum([part.numel() * part.element_size() for part in parts])
        if groups[kind] and sizes[kind] + size > size_limit:
            yield groups[kind]
            groups[kind], sizes[kind] = [], 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from [group for group in groups.values() if group]


def in_order_of(tensors: Sequence[Any], ordered_tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The tensors so that their types follow each other as in `ordered_tensors`.

    >>> [t.dtype for t in in_order_of([torch.tensor(1), torch.tensor(2.0)], [torch.ones(1), torch.tensor(3)])]
    [torch.float32, torch.int64]
    """
    waiting: defaultdict[str, list[Any]] = defaultdict(list)
    for tensor in tensors:
        waiting[tensor.type()].append(tensor)
    queues = {kind: iter(group) for kind, group in waiting.items()}
    return tuple([next(queues[tensor.type()]) for tensor in ordered_tensors])


def flatten_sparse_tensors(tensors: Sequence[Any]) -> tuple[Any, Any]:
    """The coordinates of all tensors in one row, and their values."""
    return (torch.cat([t._indices().reshape(-1) for t in tensors]), torch.cat([t._values().reshape(-1) for t in tensors]))


def unflatten_sparse_tensors(flat: tuple[Any, Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Sparse tensors like `tensors` from their coordinates and values in rows.

    >>> x = torch.eye(2).to_sparse()
    >>> unflatten_sparse_tensors(flatten_sparse_tensors([x]), [x])[0].to_dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    indices = flat[0].split([t._indices().numel() for t in tensors])
    values = flat[1].split([t._values().numel() for t in tensors])
    return tuple([torch.sparse_coo_tensor(i.view(t._indices().shape), v.view(t._values().shape), t.shape)
                  for t, i, v in zip(tensors, indices, values, strict=True)])


# ---- texts and callbacks
def render_call(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> str:
    """A call as text, without the values of tensors.

    >>> render_call(torch.add, [torch.ones(2)], {"alpha": 2}).partition("(")[2]
    'tensor([...], size=(2,)), alpha=2)'
    """
    with printoptions(threshold=0, edgeitems=0):
        args, kwargs = tree_map(lambda t: t.detach() if isinstance(t, torch.Tensor) else t, (args, kwargs))
        shown = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"{resolve_name(fn) or str(fn)}({', '.join(shown)})"


class CallbackRegistry:
    """Functions that are called together; those that fail are logged.

    >>> callbacks = CallbackRegistry("greetings")
    >>> callbacks.add_callback(print)
    >>> callbacks.fire_callbacks("hello")
    hello
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[..., None]] = []

    def add_callback(self, cb: Callable[..., None]) -> None:
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: Any, **kwargs: Any) -> None:
        for callback in self.callback_list:
            try:
                callback(*args, **kwargs)
            except Exception:
                logger.exception("Exception in callback for %s registered with gpu trace", self.name)


def try_import(module_name: str) -> ModuleType | None:
    """A module, None if it is not there."""
    found = importlib.util.find_spec(module_name)
    return None if found is None else importlib.import_module(module_name)
