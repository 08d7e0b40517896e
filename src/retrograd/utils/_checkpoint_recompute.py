"""Checkpointing by recomputation: saved tensors are dropped in forward and computed again when backward first asks for one.

NOTE [Frames and holders]
One call of `checkpoint` is a Frame. In forward every saved tensor is packed as an empty Holder; the frame remembers its
holders weakly and in order. When a backward pass (known by its id) first unpacks one, the function runs again, and the
i-th tensor that it saves belongs to the i-th holder, if that is still alive. The holder keeps the value until it is taken
out, once, so everything recomputed lives no longer than needed.
The graph owns the holders and, through the hooks, the frame; the frame owns no part of the graph that uses it. So all of it
dies with the graph, without the garbage collector.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import ref

import retrograd as torch
from retrograd import Tensor
from retrograd.autograd import SavedTensor
from retrograd.autograd.graph import current_graph_task_id, saved_tensors_hooks


class CheckpointError(RuntimeError):
    """What the function saved when it ran again is not what it saved the first time.

    >>> import retrograd as torch
    >>> from retrograd.utils.checkpoint import checkpoint
    >>> calls = []
    >>> def fickle(x):
    ...     calls.append(1)
    ...     return x.exp() if len(calls) == 1 else x.sin().exp()
    >>> y = checkpoint(fickle, torch.ones(1, requires_grad=True), use_reentrant=False, early_stop=False)
    >>> y.backward()
    Traceback (most recent call last):
    retrograd.utils._checkpoint_recompute.CheckpointError: ...
    """


class _StopRecomputationError(Exception):
    """Ends a recomputation when everything that backward needs has been computed."""


class GraphExecGroup:
    """Backward passes inside this scope share one recomputation; no two of them may need the same saved tensor.

    >>> import retrograd as torch
    >>> from retrograd.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> def halves(x):
    ...     print("running")
    ...     y = x.sin()
    ...     return y, y.cos()
    >>> y, z = checkpoint(halves, x, use_reentrant=False)
    running
    >>> with GraphExecGroup():
    ...     (grad_y,) = torch.autograd.grad(z.sum(), y)
    ...     (grad_x,) = torch.autograd.grad(y, x, grad_y)
    running
    """

    def __enter__(self) -> GraphExecGroup:
        if current.group is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {current.group}")
        current.group = self
        return self

    def __exit__(self, *args: object) -> None:
        if current.group is None:
            raise RuntimeError("Not in a graph execution group.")
        current.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return current.group


class Current(threading.local):
    """The group that this thread is in."""

    group: GraphExecGroup | None = None


current = Current()


class _Holder:
    """Stands in the graph for a saved tensor; for each backward pass that recomputed it, the value (None once it is taken)."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[Any, Tensor | None] = {}


class Once:
    """The id of an access outside of any backward pass."""


class _CheckpointFrame:
    """One call of `checkpoint`."""

    def __init__(self, recompute_fn: Callable[..., Any], early_stop: bool, unpack_error_cb: Callable[[Any], None] | None,
                 metadata_fn: Callable[[Tensor], Any]) -> None:
        self.recompute_fn, self.early_stop = recompute_fn, early_stop
        self.unpack_error_cb, self.metadata_fn = unpack_error_cb, metadata_fn
        self.inputs: tuple[Any, ...] = ()
        self.weak_holders: list[ref[_Holder]] = []
        self.x_metadatas: list[Any] = []
        self.recomp_counter: dict[Any, int] = {}                                # pass -> tensors saved by the recomputation
        self.done: set[Any] = set()                                             # passes that have recomputed
        self.forward_completed = False
        self.ignore_saved_mismatch = False

    def save_inputs(self, args: Any) -> None:
        """Keep the arguments; hooks of a checkpoint around this one see the tensors among them as saved."""
        self.inputs = tuple([SavedTensor.packed(a, None, False, 0) if isinstance(a, Tensor) else a for a in args])

    def get_inputs(self) -> list[Any]:
        return [a.unpack() if isinstance(a, SavedTensor) else a for a in self.inputs]

    def recompute(self, key: Any) -> None:
        """Run the function again for the pass `key`."""
        args = self.get_inputs()
        self.recomp_counter[key] = 0
        try:
            with _recomputation_hook(ref(self), key), torch.enable_grad():
                self.recompute_fn(*args)
        except _StopRecomputationError:
            pass
        self.done.add(key)
        self.check_recomputed_tensors_match(key)

    def take(self, holder: _Holder, key: Any) -> Tensor:
        """The recomputed value for `holder`, which can be had once."""
        value = holder.values.get(key)
        if value is None:
            overlap = ""
            if isinstance(key, GraphExecGroup):
                overlap = ("Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                           "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. ")
            raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                                  f"once. {overlap}If you are calling ctx.saved_tensors in backward, make sure to do so only "
                                  "once. Otherwise please open an issue with details on your use case.")
        holder.values[key] = None
        return value

    def forget(self, key: Any) -> None:
        """Drop all that was recomputed for `key`."""
        for weak in self.weak_holders:
            holder = weak()
            if holder is not None:
                holder.values.pop(key, None)
        del self.recomp_counter[key]
        self.done.discard(key)

    def check_recomputed_tensors_match(self, key: Any) -> None:
        if self.ignore_saved_mismatch:
            # an unpack inside the function itself: forward has not yet saved all that it will save
            return
        count = self.recomp_counter[key]
        if count != len(self.weak_holders):
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                                  f"and recomputation.\nNumber of tensors saved during forward: {len(self.weak_holders)}\n"
                                  f"Number of tensors saved during recomputation: {count}.\n{TIP}")
        differences = ""
        for i, weak in enumerate(self.weak_holders):
            holder = weak()
            value = None if holder is None else holder.values[key]
            if value is None:
                continue
            found = self.metadata_fn(value)
            if found != self.x_metadatas[i]:
                differences += (f"tensor at position {i}:\nsaved metadata: {self.x_metadatas[i]}\n"
                                f"recomputed metadata: {found}\n")
        if differences:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                                  f"than during the forward pass.\n{differences}.\n{TIP}")


TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
list the operators of both runs.
"""


class _checkpoint_hook(saved_tensors_hooks):
    """In forward: holders instead of tensors; in backward: values out of the recomputation."""

    def __init__(self, frame: _CheckpointFrame) -> None:
        def pack_hook(x: Tensor) -> _Holder:
            holder = _Holder()
            frame.weak_holders.append(ref(holder))
            frame.x_metadatas.append(frame.metadata_fn(x))
            return holder

        def unpack_hook(holder: _Holder) -> Tensor:
            task: Any = current.group
            if task is None:
                task = current_graph_task_id()
            key = Once() if task == -1 else task
            try:
                if key not in frame.done:
                    frame.recompute(key)
                value = frame.take(holder, key)
            except CheckpointError as error:
                if frame.unpack_error_cb is not None:
                    frame.unpack_error_cb(error)
                raise
            if task == -1:
                frame.forget(key)
            return value

        unpack_hook.is_traceable = False      # type: ignore[attr-defined]  # it runs a program again
        super().__init__(pack_hook, unpack_hook)


class _recomputation_hook(saved_tensors_hooks):
    """While the function runs again: hand what it saves to the holders of the first run."""

    def __init__(self, target_frame_ref: ref[_CheckpointFrame], key: Any) -> None:
        def pack_hook(x: Tensor) -> Tensor:
            x = SavedTensor.without_history(x) if x.requires_grad else x     # on this level of transforms only
            frame = target_frame_ref()
            assert frame is not None
            index = frame.recomp_counter[key]
            frame.recomp_counter[key] = index + 1
            if index >= len(frame.weak_holders):
                if frame.forward_completed:
                    raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than "
                                          f"during the original forward pass.\n{TIP}")
                # A backward inside the function unpacks before forward is over: later tensors have no counterpart yet.
                frame.ignore_saved_mismatch = True
                return x
            holder = frame.weak_holders[index]()
            if holder is not None:
                holder.values[key] = x
            if frame.early_stop and index + 1 == len(frame.weak_holders):
                raise _StopRecomputationError
            return x

        def unpack_hook(x: Tensor) -> Tensor:
            # The function may run a backward pass of its own; the values it needs are the ones it has just saved.
            return x

        super().__init__(pack_hook, unpack_hook)


def run_without_reentrant(fn: Callable[..., Any], preserve_rng_state: bool,
                          contexts: tuple[AbstractContextManager[Any], AbstractContextManager[Any]], early_stop: bool,
                          unpack_error_cb: Callable[[Any], None] | None, metadata_fn: Callable[[Tensor], Any],
                          args: Any, kwargs: Any) -> Any:
    """Call `fn(*args, **kwargs)`, saving nothing but its arguments."""
    forward_context, recompute_context = contexts
    rng_state = torch.get_rng_state() if preserve_rng_state else None
    autocast = autocast_state()

    def recompute_fn(*inputs: Any) -> None:
        with torch.random.fork_rng(enabled=rng_state is not None):
            if rng_state is not None:
                torch.set_rng_state(rng_state)
            with nullcontext() if autocast_state() == autocast else torch.autocast(**autocast), recompute_context:
                fn(*inputs, **kwargs)

    frame = _CheckpointFrame(recompute_fn, early_stop, unpack_error_cb, metadata_fn)
    if not torch.is_grad_enabled():
        return fn(*args, **kwargs)
    frame.save_inputs(args)
    with _checkpoint_hook(frame), forward_context:
        result = fn(*args, **kwargs)
    frame.forward_completed = True
    return result


def autocast_state() -> dict[str, Any]:
    """The arguments of `autocast` that bring back what is in force now."""
    return {"device_type": "cpu", "enabled": torch.is_autocast_enabled("cpu"), "dtype": torch.get_autocast_dtype("cpu"),
            "cache_enabled": torch.is_autocast_cache_enabled()}


def default_metadata(x: Tensor) -> dict[str, Any]:
    """What must be the same of a tensor saved in both runs."""
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


ALLOWED_DETERMINISM_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": default_metadata, "none": lambda _: None}
