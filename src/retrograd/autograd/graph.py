"""`torch.autograd.graph`: nodes, gradient edges, hooks on saved tensors and on several tensors."""
from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

from retrograd.autograd.backward import GradientEdge, get_gradient_edge
from retrograd.autograd.engine import current_graph_task_id as current_graph_task_id
from retrograd.autograd.engine import will_engine_execute_node
from retrograd.autograd.mutation import allow_mutation_on_saved_tensors
from retrograd.autograd.stopping import DelayedError, UndefinedGrad
from retrograd.core import graph
from retrograd.core.graph import RemovableHandle
from retrograd.core.origin import here, note_write
from retrograd.core.state import add_saved_hooks, switches, tls
from retrograd.core.tensor import FLAG_INFERENCE, Tensor, bump
from retrograd.ops import late

__all__ = ["GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
           "set_warn_on_accumulate_grad_stream_mismatch"]


class Node(ABC):
    """Abstract base class of graph nodes, for isinstance tests; no node really inherits from it.

    >>> import retrograd as torch
    >>> isinstance(torch.ones(2, requires_grad=True).exp().grad_fn, Node)
    True
    """

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        if cls is not Node:
            return NotImplemented
        return other is Node or issubclass(other, (graph.Node, DelayedError, UndefinedGrad))

    @abstractmethod
    def name(self) -> str:
        """The name of the operation that this node differentiates.

        >>> import retrograd as torch
        >>> torch.ones(2, requires_grad=True).exp().grad_fn.name()
        'ExpBackward0'
        """
        raise NotImplementedError

    @property
    @abstractmethod
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that receive this node's gradients, with the output number of each.

        >>> import retrograd as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> [(node.name(), nr) for node, nr in (x.exp() + x.unbind()[1]).grad_fn.next_functions]
        [('ExpBackward0', 0), ('UnbindBackward0', 1)]
        """
        raise NotImplementedError

    @property
    @abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dict for user data, with the lifetime of the node.

        >>> import retrograd as torch
        >>> y = torch.ones(2, requires_grad=True).exp()
        >>> y.grad_fn.metadata["note"] = "from the encoder"
        >>> y.grad_fn.metadata
        {'note': 'from the encoder'}
        """
        raise NotImplementedError

    @abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_inputs, grad_outputs)` after the node has run; it may return other grad_inputs.

        >>> import retrograd as torch
        >>> x = torch.zeros(1, requires_grad=True)
        >>> y = x.exp()
        >>> handle = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10,))
        >>> y.backward()
        >>> x.grad
        tensor([10.])
        """
        raise NotImplementedError

    @abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_outputs)` before the node runs; it may return other grad_outputs.

        >>> import retrograd as torch
        >>> x = torch.zeros(1, requires_grad=True)
        >>> y = x.exp()
        >>> handle = y.grad_fn.register_prehook(lambda outputs: (outputs[0] + 1,))
        >>> y.backward()
        >>> x.grad
        tensor([2.])
        """
        raise NotImplementedError


# ---- hooks on saved tensors
class saved_tensors_hooks:
    """Save `pack_hook(tensor)` instead of each tensor within this scope; `unpack_hook` restores the tensor for backward.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: print("saved", t.shape) or t, lambda t: t):
    ...     y = x.exp()
    saved torch.Size([2])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        pop_saved_hooks()


def push_saved_hooks(pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
    if tls.saved_hooks_disabled is not None:
        raise RuntimeError(tls.saved_hooks_disabled)
    tls.saved_hooks.append((pack_hook, unpack_hook))
    add_saved_hooks(1)


def pop_saved_hooks() -> None:
    if not tls.saved_hooks:
        raise RuntimeError("there are no saved-tensor hooks to take off: this scope was left more often than entered")
    tls.saved_hooks.pop()
    add_saved_hooks(-1)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in CPU memory within this scope, and move them back to their device for backward.

    >>> import retrograd as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with save_on_cpu():
    ...     y = x * x
    >>> torch.autograd.grad(y, x)
    (tensor([6.]),)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Any:
            return tensor.device, late.cpu(tensor)

        def unpack(packed: Any) -> Any:
            device, tensor = packed
            return late.to(tensor, device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Raise an error with this message for saved-tensor hooks within this scope.

    >>> with disable_saved_tensors_hooks("not here"), saved_tensors_hooks(lambda t: t, lambda t: t):
    ...     pass
    Traceback (most recent call last):
    RuntimeError: not here
    """
    if tls.saved_hooks:
        raise RuntimeError(error_message)
    before = tls.saved_hooks_disabled
    tls.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        tls.saved_hooks_disabled = before


# ---- hooks on several tensors
class _MultiHandle(graph.RemovableHandle):
    """Removes all the hooks that one `register_multi_grad_hook` made."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all") -> _MultiHandle:
    """Call `fn` once per backward pass: with the gradients of all `tensors`, or ("any") with the first one to arrive.

    With "all", tensors that the pass does not reach count as None, and `fn` is called after the last one that it reaches.

    >>> import retrograd as torch
    >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = register_multi_grad_hook((x, y), lambda grads: print("gradients:", grads))
    >>> (x * 3).backward()
    gradients: [tensor([3.]), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "all":
        nodes = [node_finder(t) for t in tensors]
        whole = WhenAll(fn, nodes)
        return _MultiHandle(tuple([t.register_hook(functools.partial(whole, i)) for i, t in enumerate(tensors)]))
    first = WhenAny(fn)
    return _MultiHandle(tuple([t.register_hook(first) for t in tensors if t.requires_grad]))


def node_finder(tensor: Tensor) -> Callable[[], Any]:
    """A function that returns the node of `tensor` and keeps neither alive: hooks are stored on them, and a strong
    reference would be a cycle."""
    node = tensor.grad_fn
    if node is not None:
        return ref(node)
    if not tensor.requires_grad:
        raise AssertionError("Expected gradient function to be set")
    weak = ref(tensor)

    def accumulator() -> Any:
        # a leaf may get a new accumulator for every graph
        leaf = weak()
        return None if leaf is None else graph.accumulator(leaf)
    return accumulator


class WhenAll:
    """Collects the gradients of one backward pass until all expected ones have arrived; passes may run in several threads."""

    def __init__(self, fn: Any, nodes: list[Any]) -> None:
        self.fn, self.nodes = fn, nodes
        self.lock = threading.Lock()
        self.passes: dict[int, list[Any]] = {}     # graph task -> [number of expected calls, gradients]

    def __call__(self, index: int, grad: Any) -> None:
        task = current_graph_task_id()
        if task == -1:
            raise AssertionError("expected this hook to be called inside a backward call")
        with self.lock:
            state = self.passes.get(task)
            if state is None:
                found = [node() for node in self.nodes]
                coming = sum([node is not None and will_engine_execute_node(node) for node in found])
                state = self.passes[task] = [coming, [None] * len(self.nodes)]
            state[1][index] = grad
            state[0] -= 1
            if state[0]:
                return
            del self.passes[task]
        self.fn(state[1])


class WhenAny:
    """Passes on the first gradient of each backward pass."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.lock = threading.Lock()
        self.done: set[int] = set()

    def __call__(self, grad: Any) -> None:
        task = current_graph_task_id()
        if task == -1:
            raise AssertionError("expected this hook to be called inside a backward call")
        with self.lock:
            if task in self.done:
                return
            self.done.add(task)
        self.fn(grad)


# ---- versions
def increment_version(tensor: Any) -> None:
    """Count an in-place write made outside of autograd, for one tensor or several.

    >>> import retrograd as torch
    >>> x = torch.ones(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    if isinstance(tensor, Tensor):
        tensor = (tensor,)
    if not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensor:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not t._flags & FLAG_INFERENCE:
            bump(t)
            if switches.any_mode and tls.origins:
                note_write(t, here("increment_version"))


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn when a gradient arrives on another stream than its leaf's; without streams there is nothing to warn of.

    >>> set_warn_on_accumulate_grad_stream_mismatch(False)
    """
