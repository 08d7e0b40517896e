"""The trie of programs: every sequence of ops that has waited, as places and the steps between them.

NOTE [The trie]
A Spot is a place in a program: the ops that have been taken since the tape was empty. A Step leads from one spot to the next;
it has an op and what each argument is: a value on the tape, a new input of some layout, a number, or a constant. An op that
fits a known step costs a comparison, an array and a tensor. What is computed for a sequence of ops (compile/joint.py) hangs
on the spot where it ends.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import OpDef

# What an argument is, if not the number of a value: a new input, a number that may change, one that is compared, a constant.
NEW_INPUT, LIFTED, COMPARED, FIXED = -1, -2, -3, -4


class Step:
    """An op at some place of a program. `kinds` says what each argument is, `values` what it must be like."""

    def __init__(self, op: OpDef, kinds: Any, values: Any, requires: Any, grad: bool, records: bool, event: Any) -> None:
        self.op: Any = op
        self.kinds: list[int] = kinds
        self.values: list[Any] = values
        self.requires: list[bool] = requires      # of each argument
        self.grad: bool = grad                    # grad mode
        self.records: bool = records              # the op has a node
        self.event: Any = event
        self.layout: Any = event.layout
        self.checks: Any = event.choice.checks if LIFTED in kinds else None       # what else they look at is known
        self.numbers: list[Any] = []              # for each Python number: (argument, its place on the tape or -1)
        start = len(values) - len(op.tail)
        self.plain: bool = all([value is default for value, default in zip(values[start:], op.tail, strict=True)])
        self.after: Any = None                    # the next Spot


class Spot:
    """A place in a program, after some ops."""

    def __init__(self, before: Any, step: Any) -> None:
        self.before: Any = before
        self.step: Any = step                     # what led here
        self.steps: list[Any] = []                # what has come next
        self.last: Any = None                     # the one that came last time
        self.numbers: list[Any] = []              # for each Python number so far: (its place on the tape or -1, its value)
        self.plans: dict[Any, Any] = {}           # values that were wanted -> how they are computed

    def path(self) -> list[Any]:
        found = []
        spot: Any = self
        while spot.step is not None:
            found.append(spot.step)
            spot = spot.before
        return found[::-1]


class Trie:
    """All places that are known."""

    def __init__(self) -> None:
        self.root: Any = Spot(None, None)
        self.size: int = 0

    def clear(self) -> None:
        self.root = Spot(None, None)
        self.size = 0


known = Trie()
