"""Saved tensors: values that a node keeps for its backward, packed when recorded and checked when used.

NOTE [Saved inputs and outputs]
An input is kept as the object itself, with its version. An output is kept as an alias without history (the output
itself would make a cycle: node -> output -> node) and gets its history back when it is unpacked. With saved-tensor hooks,
the result of the pack hook is kept instead. Most nodes keep bare tensors in `node._saved_` and their versions in
`node._versions_`; a slot holds a `SavedTensor` only once hooks are involved or Python asks for it. For an output without
views and in-place writes the bare array is enough; it becomes an alias when the output gets its version counter
(`share_counter`).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from retrograd.core.graph import AccumulateGrad, Node, edge_of, forward_name
from retrograd.core.origin import explain_write
from retrograd.core.state import run_flags, set_grad_enabled, switches, tls
from retrograd.core.tensor import (
    FLAG_DUAL,
    FLAG_INFERENCE,
    FLAG_PENDING,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    Tensor,
    counter_of,
    extra_of,
    new_tensor,
    operators,
    wants_grad,
)

if TYPE_CHECKING:
    from retrograd.core.dtypes import dtype

ndarray = np.ndarray

FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
         "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
         "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
         "saved tensors after calling backward.")
INFERENCE = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
             "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
             "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")
DETACHED = ("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
            "please use out-of-place `.detach()` instead")


def alias(t: Tensor) -> Tensor:
    """A tensor on the same memory with the same version counter and no history."""
    twin = new_tensor(t.array)
    twin._counter = counter_of(t)
    twin._flags = t._flags & ~(FLAG_DUAL | FLAG_SUBCLASS | FLAG_PENDING)
    if t._flags & FLAG_WRAPPER:
        twin._extra = t._extra
    elif t._flags & FLAG_SPARSE:
        extra_of(twin).sparse = t._extra.sparse.copy()
    return twin


class Watcher:
    """Creates the aliases of saved outputs while a dispatch mode must see the detach; modes.py installs the real one."""

    def detach(self, t: Tensor) -> Any:
        return alias(t)


watcher = Watcher()


def kept(t: Tensor) -> Tensor:
    """The alias or object to save for an output."""
    if t._requires and (t._flags & FLAG_SUBCLASS or (switches.any_mode and tls.dispatch_modes)):
        return watcher.detach(t)
    if t._flags & FLAG_SUBCLASS and not t._requires and t._node is None:      # without history there is no cycle
        counter_of(t)
        return t
    return alias(t)


def save_input(node: Node, slot: int, t: Any) -> None:
    """Keep argument `t` (a tensor, a number, None or a list) in `slot`."""
    if isinstance(t, Tensor):
        if t._flags & FLAG_INFERENCE:
            raise RuntimeError(INFERENCE)
        hooks = tls.saved_hooks
        if hooks:
            node._saved_[slot] = pack(t, False, 0, hooks[-1])
            return
        note_version(node, slot, t)
        node._saved_[slot] = t
    elif isinstance(t, (list, tuple)):
        for item in t:
            if isinstance(item, Tensor) and item._flags & FLAG_INFERENCE:
                raise RuntimeError(INFERENCE)
        node._saved_[slot] = [SavedTensor.packed(item, node, False, 0) if isinstance(item, Tensor) else item for item in t]
    else:
        node._saved_[slot] = t


def save_output(node: Node, slot: int, t: Tensor, nr: int) -> None:
    """Keep output `nr` of `node` in `slot`, without holding the output itself."""
    # Only an output whose grad_fn is `node` shares its counter later; otherwise the alias carries the counter from now on.
    if t._node is node and t._counter is None and t._flags == 0 and type(t) is Tensor and (
            switches.any_mode == 0 or run_flags() <= 1):
        node._saved_[slot] = t.array
        return
    hooks = tls.saved_hooks if switches.any_mode else None
    if hooks:
        node._saved_[slot] = pack(t, True, nr, hooks[-1])
        return
    twin = kept(t)
    if twin._counter.n:
        note_version(node, slot, twin)
    node._saved_[slot] = twin


def share_counter(t: Tensor) -> None:
    """Share the new version counter of `t` with its node, if that has saved the output."""
    node = t._node
    if node._saved_ is None:
        return
    array = t.array
    for slot, item in enumerate(node._saved_):
        if item is array:
            node._saved_[slot] = alias(t)
            continue
        twin = item._tensor if type(item) is SavedTensor and item._is_output else item
        if type(twin) is Tensor and twin.array is array and twin is not t:
            t._counter = twin._counter


def kept_alias(node: Node, slot: int) -> Any:
    """The content of `slot` in the form shown to Python: an alias with a counter, not the bare array of an output."""
    item = node._saved_[slot]
    if type(item) is ndarray:
        item = node._saved_[slot] = new_tensor(item)
        counter_of(item)
    return item


def note_version(node: Node, slot: int, t: Tensor) -> None:
    if t._counter is not None and t._counter.n:
        if node._versions_ is None:
            node._versions_ = [0] * len(node._saved_)
        node._versions_[slot] = t._counter.n


def unpack_slot(node: Node, slot: int) -> Any:
    """The value saved in `slot`; raises if it was modified since."""
    if node._saved_ is None:
        raise RuntimeError(FREED)
    t = node._saved_[slot]
    if isinstance(t, Tensor):
        held = t
        counter = held._counter
        if counter is not None and counter.n != (0 if node._versions_ is None else node._versions_[slot]):
            raise modified(node, slot, t)
        if node._op_.saves_result and node._op_.saved_outputs[slot] >= 0:      # one that hooks unpacked has its history
            return t if held._node is not None else restore_output(t, node, node._op_.saved_outputs[slot])
        if held._extra is not None and held._extra.detached and held._node is None:
            check_not_detached(node, slot, t)
        return t
    if type(t) is ndarray:
        return restore_array(t, node, node._op_.saved_outputs[slot])
    if type(t) is SavedTensor:
        return t.unpack(node)
    if isinstance(t, list):
        return [item.unpack() if type(item) is SavedTensor else item for item in t]
    return t


def has_history(t: Tensor, node: Node, nr: int) -> bool:
    """Whether output `nr` of `node` is differentiable."""
    op = None if node is None else node._op_
    return t.array.dtype.kind in "fcVW" and (op is None or nr not in op.constant)


def restore_output(t: Tensor, node: Node, nr: int) -> Tensor:
    """A saved output with its history restored."""
    differentiable = has_history(t, node, nr)
    if t._flags & FLAG_SUBCLASS and not differentiable:
        return t
    if differentiable and (t._flags & FLAG_SUBCLASS or (switches.any_mode and tls.dispatch_modes)):
        twin = watcher.detach(t)
    else:
        twin = new_tensor(t.array)
        twin._counter = t._counter
        twin._flags = t._flags
        if t._flags & FLAG_SPARSE:
            extra_of(twin).sparse = t._extra.sparse.copy()
    if t._flags & (FLAG_DUAL | FLAG_WRAPPER):
        twin._extra = t._extra            # gradients taken at a forward-mode level have tangents too
    if differentiable:
        twin._node = node
        twin._nr = nr
        twin._requires = True
    return twin


def restore_array(array: ndarray, node: Node, nr: int) -> Tensor:
    """A saved output whose bare array was kept, with its history restored."""
    twin = new_tensor(array)
    if switches.any_mode and tls.dispatch_modes:
        return restore_output(twin, node, nr)
    if array.dtype.kind in "fcVW" and nr not in node._op_.constant:
        twin._node = node
        twin._nr = nr
        twin._requires = True
    return twin


def check_not_detached(node: Node, slot: int, t: Tensor) -> None:
    argument = node._op_.saved_args[slot]
    if argument in node._op_.inputs and not node._op_.has_lists:
        producer = node._next_[node._op_.inputs.index(argument)]
        if producer is not None and type(producer) is not AccumulateGrad:
            raise RuntimeError(DETACHED)


def modified(node: Node, slot: int, t: Tensor) -> RuntimeError:
    """The error about a saved tensor that was written to."""
    expected = 0 if node._versions_ is None else node._versions_[slot]
    output = node._op_.saved_outputs[slot] if node._op_ is not None else -1
    if output >= 0 and (t.dtype.category < 2 or output in node._op_.constant):      # the output is not differentiable
        return modified_error(t, expected, None, 0, node)
    if output < 0 and t._view is not None:
        operators.dispatcher.refresh(t)
    return modified_error(t, expected, node if output >= 0 else t._node, output if output >= 0 else t._nr, node)


def type_name(dtype: dtype) -> str:
    """The tensor type in error texts: dtypes without a legacy tensor class have another form of name."""
    return f"CPU{dtype.legacy}Type" if dtype.is_complex or dtype.legacy in ("BFloat16",
                                                                            "Bool") else f"torch.{dtype.legacy}Tensor"


def modified_error(t: Tensor, expected: int, producer: Node | None, nr: int, saver: Node) -> RuntimeError:
    where = "" if producer is None or type(producer) is AccumulateGrad else (
        f", which is output {nr} of {forward_name(producer)},")
    kind = type_name(t.dtype)
    hint = ("Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!" if tls.anomaly else
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False).")
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(t.array.shape)}]{where} is at version {t._counter.n}; expected version {expected} instead. {hint}"
        + explain_write(t, expected, saver))


def pack(t: Tensor, is_output: bool, nr: int, hooks: Sequence[Any] | None) -> SavedTensor:
    """A SavedTensor for an input or for output `nr`, packed by `hooks` unless they are None."""
    if t._flags & FLAG_INFERENCE:
        raise RuntimeError(INFERENCE)
    self = SavedTensor.__new__(SavedTensor)
    self._hooks = None
    self._packed = None
    self._producer = None         # weak reference to the node whose output this is, unless that node holds this object
    self._released = False
    self._is_output = is_output
    if is_output:
        # An output's node is the one that holds this object, so it is known only through unpack's caller.
        self._nr = nr
        self._leaf = False
        self._requires = t.array.dtype.kind in "fcVW"
        self._node = None
    else:
        self._nr = t._nr
        self._requires = wants_grad(t)
        node = t.grad_fn if t._view is not None else t._node
        self._leaf = not self._requires or node is None
        self._node = edge_of(t) if self._leaf and self._requires else t._node
    self._version = 0 if t._counter is None else t._counter.n
    if hooks is not None:
        self._tensor = None
        pack_by(self, hooks, t)
    else:
        self._tensor = kept(t) if is_output else t
    return self


def pack_by(self: Any, hooks: Sequence[Any], t: Tensor) -> None:
    """Keep the result of the pack hook, the first of `hooks`, for `t`."""
    from_version = 0 if t._counter is None else t._counter.n
    was = set_grad_enabled(False)
    try:
        self._packed = hooks[0](t)
    finally:
        try:
            set_grad_enabled(was)
        except BaseException:             # interrupted before the switch
            set_grad_enabled(was)
            raise
    if (0 if t._counter is None else t._counter.n) != from_version:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
                           "pack hook cannot be modified by in-place operations as this can lead to unexpected "
                           "side-effects. Please open an issue if you need to perform in-place operations on the "
                           "input to a pack hook.")
    self._hooks = hooks
    self._tensor = None


class SavedTensor:
    """A saved tensor as Python sees it, whose hooks determine what is kept.

    >>> import retrograd as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> y = x.pow(2)
    >>> saved = y.grad_fn._raw_saved_self
    >>> saved.register_hooks(lambda t: t.tolist(), torch.tensor)        # kept as a list of numbers
    >>> saved.data
    [3.0]
    >>> torch.autograd.grad(y, x)
    (tensor([6.]),)
    """

    __slots__ = ("_hooks", "_is_output", "_leaf", "_node", "_nr", "_packed", "_producer", "_tensor", "_version", "_requires",
                 "_released")

    _hooks: Any
    _packed: Any
    _producer: Any
    _tensor: Any
    _node: Node | None
    _nr: int
    _version: int
    _is_output: bool
    _leaf: bool
    _released: bool
    _requires: bool

    def __init__(self, *args: Any) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @staticmethod
    def packed(t: Tensor, node: Node | None, is_output: bool, nr: int, use_default_hooks: bool = True) -> SavedTensor:
        """Save `t` for `node`, with this thread's default hooks if there are any."""
        hooks = tls.saved_hooks if use_default_hooks else None
        return pack(t, is_output, nr, hooks[-1] if hooks else None)

    @staticmethod
    def without_history(t: Tensor) -> Any:
        """`t` without its history, for saving an output; inside transforms, without that of the innermost level."""
        return kept(t)

    @staticmethod
    def nothing() -> SavedTensor:
        """A slot in which None was saved."""
        self = SavedTensor.__new__(SavedTensor)
        self._hooks = self._packed = self._tensor = self._node = self._producer = None
        self._released = self._is_output = self._leaf = self._requires = False
        self._nr = self._version = 0
        return self

    def register_hooks(self, *hooks: Any) -> None:
        """Pack the tensor now with the first hook; the second one must return a tensor for it."""
        if len(hooks) != 2 or not callable(hooks[0]) or not callable(hooks[1]):
            raise TypeError("register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                            "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                            "collections.abc.Callable) -> None\n\nInvoked with: "
                            + ", ".join([repr(self), *map(repr, hooks)]))
        if self._released:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate "
                               "values of the graph are freed when you call .backward() or autograd.grad(). Specify "
                               "retain_graph=True if you need to backward through the graph a second time or if you "
                               "need to access saved variables after calling backward.")
        if self._hooks is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
                               "one pair of hooks is allowed at a time.")
        if self._tensor is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        pack_by(self, hooks, alias(self._tensor))

    @property
    def data(self) -> Any:
        """The saved value: the packed object, or the tensor."""
        if self._hooks is not None:
            return self._packed
        t = self._tensor
        return alias(t) if t is not None and self._is_output else t

    @property
    def unpack_hook(self) -> Any:
        return None if self._hooks is None else self._hooks[1]

    def unpack(self, node: Node | None = None) -> Tensor | None:
        """The saved tensor, with its history."""
        if self._released:
            raise RuntimeError(FREED)
        owner: Any
        saver: Any
        owner = saver = node if node is not None or tls.task is None else tls.task.node
        if self._producer is not None:
            owner = self._producer()
        if self._hooks is None:
            t = self._tensor
            if t is None:
                return None
            if t._counter is not None and t._counter.n != self._version:
                raise modified_error(t, self._version, owner if self._is_output else t._node, self._nr, saver)
            if not self._is_output:
                if not self._leaf and t._node is None and self._node is not None and t._view is None:
                    raise RuntimeError(DETACHED)
                return t
            return restore_output(t, owner, self._nr)
        return self.with_history(self._hooks[1](self._packed), owner)

    def with_history(self, t: Any, owner: Node) -> Tensor:
        """The result of the unpack hook with the history of the packed tensor, which `owner` saved."""
        if self._producer is not None:
            owner = self._producer()
        if not isinstance(t, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(t).__name__}")
        if not self._requires and not t.requires_grad or self._is_output and not has_history(t, owner, self._nr):
            return t
        seen = t._flags & FLAG_SUBCLASS or (switches.any_mode and tls.dispatch_modes)
        twin = watcher.detach(t) if seen else alias(t)
        if self._leaf:
            # a leaf packed by hooks is unpacked as a different tensor that still sends its gradient to the leaf
            if self._requires and self._node is not None:
                twin._requires, twin._sink = True, ref(self._node)
            return twin
        twin._node = owner if self._is_output else self._node
        twin._nr = self._nr
        twin._requires = twin._node is not None
        return twin

    def release(self) -> None:
        self._released = True
        self._tensor = self._packed = self._hooks = None

