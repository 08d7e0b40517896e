"""The trie of programs: every sequence of deferred ops, as spots and the steps between them.

NOTE [The trie]
A Spot is a position in a program: the ops deferred since the tape was empty. A Step leads from one spot to the next; it has
an op and the kind of each argument: a value on the tape, a new input of some layout, a number, or a constant. An op that
matches a known step costs a comparison, an array and a tensor. The plans for a sequence of ops (compile/joint.py) are
stored on the spot where it ends.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import OpDef

# The kind of an argument that is not a value number: a new input, a variable number, a compared number, a constant.
NEW_INPUT, LIFTED, COMPARED, FIXED = -1, -2, -3, -4


class Step:
    """An op at a position of a program; `kinds` are the kinds of its arguments, `values` what they must match."""

    def __init__(self, op: OpDef, kinds: Any, values: Any, requires: Any, grad: bool, records: bool, event: Any) -> None:
        self.op: Any = op
        self.kinds: list[int] = kinds
        self.first: int = kinds[0] if kinds else FIXED            # the first two as C integers when compiled
        self.second: int = kinds[1] if len(kinds) > 1 else FIXED
        self.values: list[Any] = values
        self.requires: list[bool] = requires      # for each argument
        self.grad: bool = grad                    # grad mode
        self.records: bool = records              # whether the op records a node
        self.event: Any = event
        self.layout: Any = event.layout
        self.checks: Any = event.choice.checks if LIFTED in kinds else None       # the other conditions are known to hold
        self.numbers: list[Any] = []              # for each Python number: (argument, its place on the tape or -1)
        start = len(values) - len(op.tail)
        self.plain: bool = all([value is default for value, default in zip(values[start:], op.tail, strict=True)])
        self.after: Any = None                    # the next Spot

    def compare(self, i: int, value: Any) -> None:
        """Let only `value` match argument `i`."""
        self.kinds[i], self.values[i] = COMPARED, value
        if i == 0:
            self.first = COMPARED
        elif i == 1:
            self.second = COMPARED


class Spot:
    """A position in a program, after some ops."""

    def __init__(self, before: Any, step: Any) -> None:
        self.before: Any = before
        self.step: Any = step                     # the step that leads here
        self.steps: list[Any] = []                # the known next steps
        self.last: Any = None                     # the most recent one
        self.numbers: list[Any] = []              # for each Python number so far: (its place on the tape or -1, its value)
        self.plans: dict[Any, Any] = {}           # wanted values -> their plan

    def path(self) -> list[Any]:
        found = []
        spot: Any = self
        while spot.step is not None:
            found.append(spot.step)
            spot = spot.before
        return found[::-1]


class Trie:
    """All known spots."""

    def __init__(self) -> None:
        self.root: Any = Spot(None, None)
        self.size: int = 0

    def clear(self) -> None:
        self.root = Spot(None, None)
        self.size = 0


known = Trie()
