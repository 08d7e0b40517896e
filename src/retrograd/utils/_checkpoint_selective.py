"""Selective activation checkpointing: a policy says which results to keep, so that recomputation need not run those ops.

Forward runs under a mode that stores the results chosen by the policy, recomputation under one that hands them out again.
The n-th call of an op in one run corresponds to the n-th call of the same op in the other.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from enum import Enum
from typing import Any

from retrograd import Tensor, ops
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils._pytree import tree_map

OpOverload = type(ops.aten.sin.default)
OpOverloadPacket = type(ops.aten.sin)


class CheckpointPolicy(Enum):
    """What a policy answers about one call of an op.

    MUST asks that it be so; PREFER leaves room for a compiler. Results to be offloaded are kept in cpu memory.

    >>> CheckpointPolicy.PREFER_SAVE.value
    1
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD,
          CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the recomputation, and in forward what the op returned.

    >>> SelectiveCheckpointContext(is_recompute=True).is_recompute
    True
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


# Autograd makes these calls itself, and not the same ones in both runs.
SAC_IGNORED_OPS = {ops.aten.detach.default}

NONDETERMINISTIC = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global "
                    "state that changed between forward and backward.")
CONSUMED = object()


class _VersionWrapper:
    """A stored value, with the version it had."""

    def __init__(self, val: Any) -> None:
        self.val = val
        self.version = val._version if isinstance(val, Tensor) else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Any:
        if self.version is not None and not allow_cache_entry_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


def saves(policy: Any) -> bool:
    """Whether an answer of a policy, which may be a plain bool, means to keep the result."""
    return policy if isinstance(policy, bool) else policy in SAVING


def stored(value: Any, is_view: bool) -> _VersionWrapper:
    # The result will get its history when the mode has returned; what is stored must not, or it would keep the graph alive
    # that keeps the store alive.
    if isinstance(value, Tensor) and (is_view or value.is_floating_point() or value.is_complex()):
        value = value.detach()
    return _VersionWrapper(value)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """In forward: stores the results that the policy wants to keep, by op and number of the call."""

    def __init__(self, policy_fn: Callable[..., Any], storage: Any, ac_graph_id: Any = None) -> None:
        super().__init__()
        self.policy_fn, self.storage, self.ac_graph_id = policy_fn, storage, ac_graph_id
        self.func_counter: defaultdict[Any, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        index = self.func_counter[func]
        self.func_counter[func] += 1
        if saves(policy):
            is_view = func.is_view
            self.storage[func][index] = tree_map(lambda value: stored(value, is_view), out)
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """In recomputation: hands out what was stored, and lets other ops run."""

    def __init__(self, policy_fn: Callable[..., Any], storage: Any, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation
        self.func_counter: defaultdict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.func_counter.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=True), func, *args, **kwargs)
        index = self.func_counter[func]
        self.func_counter[func] += 1
        if not saves(policy):
            return func(*args, **kwargs)
        calls = self.storage.get(func)
        if calls is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {NONDETERMINISTIC}")
        if index not in calls:
            raise RuntimeError(f"{func} invocation index {index} encountered during backward but not found in storage. "
                               f"{NONDETERMINISTIC}")
        entry = calls[index]
        if entry is CONSUMED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed "
                               "under selective activation checkpoint.")
        calls[index] = CONSUMED
        return tree_map(lambda wrapper: wrapper.get_val(self.allow_cache_entry_mutation), entry)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The two contexts for `checkpoint(context_fn=)` that keep what a policy (or a list of ops) says.

    >>> import functools, retrograd as torch
    >>> from retrograd.utils.checkpoint import checkpoint
    >>> keep_products = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=keep_products).sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                hint = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                        "`torch.ops.aten.mm`, change it to "
                        "`torch.ops.aten.mm.default`." if isinstance(op, OpOverloadPacket) else "")
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}")
        kept = policy_fn_or_list

        def policy_fn(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy_fn = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: defaultdict[Any, dict[int, Any]] = defaultdict(dict)
    return (_CachingTorchDispatchMode(policy_fn, storage),
            _CachedTorchDispatchMode(policy_fn, storage, allow_cache_entry_mutation))
