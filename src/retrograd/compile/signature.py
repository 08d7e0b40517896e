"""The signature of a call: the properties of its arguments on which its ops may depend; and the calls known by it."""
from __future__ import annotations

from typing import Any

from retrograd.core.lean import has_shape
from retrograd.core.state import grad_enabled
from retrograd.core.tensor import Tensor, wants_grad

DEEPEST = 4               # maximum depth of nested containers
FIRST_DISTANCE, LONGEST_DISTANCE = 100, 3200      # calls between two recorded calls of one kind


def signature_of(value: Any, depth: int) -> Any:
    """The signature of an argument, a hashable tuple."""
    if isinstance(value, Tensor):
        t = value
        array = t.array
        marked = bool(getattr(t, "_dynamo_dynamic_indices", None))
        return array.shape, array.dtype, wants_grad(t), marked
    kind = type(value)
    if value is None or kind is int or kind is bool or kind is str:
        return kind, value
    if isinstance(value, (list, tuple)) and depth:
        parts: list[Any] = [kind]
        for item in value:
            parts.append(signature_of(item, depth - 1))
        return tuple(parts)
    if isinstance(value, dict) and depth:
        parts = [dict]
        for key, item in value.items():
            parts.append((str(key), signature_of(item, depth - 1)))
        return tuple(parts)
    if isinstance(value, (bool, int, float, complex, str)):
        return kind, repr(value)
    return kind, getattr(value, "training", None)


def call_signature(args: Any, kwargs: Any) -> Any:
    """The signature of all arguments."""
    parts: list[Any] = []
    for value in args:
        parts.append(signature_of(value, DEEPEST - 1))
    if kwargs:
        parts.append(signature_of(kwargs, DEEPEST - 1))
    return tuple(parts)


def full_signature(args: Any, kwargs: Any, uncaptured: bool, generation: int) -> Any:
    """The signature of a call and its surroundings: grad mode, whether backward passes are captured, and the last reset."""
    return call_signature(args, kwargs), grad_enabled(), uncaptured, generation


class Steady:
    """A kind of call that was recorded before without anything new. The graphs of built-in backends give the same results
    as the ops, so recording them again would only cost time. After two calls without anything new, calls with such
    arguments run unrecorded, or with their ops deferred and fused where that pays (see deferred.py); the hundredth is
    recorded again, and later ones at growing intervals.
    """

    def __init__(self, signature: Any) -> None:
        self.hits = 0
        self.calls = 0
        self.recorded_next = FIRST_DISTANCE
        self.variant: Any = None                  # the segment of the whole call, if it is a single one
        self.fuses = False                        # its arrays are large enough to defer and fuse ops
        self.misses = 0                           # score of recent calls with ops that were new at their position
        parts, self.grad, self.uncaptured, self.generation = signature
        self.tensors: list[Any] | None = None     # of each: shape, dtype, whether it requires grad; None if not all are
        if all([len(part) == 4 and type(part[0]) is tuple and not part[3] for part in parts]):
            self.tensors = [part[:3] for part in parts]

    def fits(self, args: Any, kwargs: Any, uncaptured: bool, generation: int) -> bool:
        """Whether a call has the signature of this one; False if that takes more to say."""
        tensors = self.tensors
        if tensors is None or kwargs or len(args) != len(tensors) or uncaptured is not self.uncaptured or (
                generation != self.generation or grad_enabled() is not self.grad):
            return False
        i = 0
        for value in args:
            if not isinstance(value, Tensor):
                return False
            t = value
            array = t.array
            shape, dtype, requires = tensors[i]
            if array.dtype is not dtype or wants_grad(t) is not requires or not has_shape(array, shape) or (
                    getattr(t, "_dynamo_dynamic_indices", None)):
                return False
            i += 1
        return True

    def note(self, misses: int) -> None:
        """Record how many ops of a call were new to the tape: deferring does not pay where every call differs."""
        self.misses = self.misses + 1 if misses else self.misses // 2

    def is_due(self) -> bool:
        """Whether the next call may go unrecorded."""
        self.calls += 1
        if self.calls == self.recorded_next:
            self.recorded_next += min(self.calls, LONGEST_DISTANCE)
            return False
        return self.hits >= 2


def settled(known: dict[Any, Steady], last: Steady | None, args: Any, kwargs: Any, uncaptured: bool, generation: int
            ) -> Steady | None:
    """What is known about a call, if it may go unrecorded; `last` is what was known about the last one."""
    steady = last
    if steady is None or not steady.fits(args, kwargs, uncaptured, generation):
        steady = known.get(full_signature(args, kwargs, uncaptured, generation))
    return steady if steady is not None and steady.is_due() else None
