"""Questions about sizes: here they are numbers, so that all of them have answers."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from retrograd import SymInt

__all__ = ["DimDynamic", "GuardOnDataDependentSymNode", "ShapeEnv", "StatelessSymbolicContext", "SymbolicContext",
           "definitely_true", "free_symbols", "free_unbacked_symbols", "guard_int", "guard_or_false", "guard_or_true",
           "guard_size_oblivious", "has_free_symbols", "hint_int", "is_concrete_int", "is_nested_int", "is_symbolic",
           "statically_known_true", "sym_eq"]


class GuardOnDataDependentSymNode(RuntimeError):
    """A size that depends on values was asked for a truth value; sizes here never do."""


class DimDynamic(Enum):
    """What a dimension of a fake tensor may be; all are static here."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    SIZE_LIKE_UNBACKED = 3
    UNBACKED = 4
    INFER_STRIDE = 5
    OBLIVIOUS_SIZE = 6


@dataclass(frozen=True)
class SymbolicContext:
    """What is wanted of the sizes of a fake tensor."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """What is wanted of every dimension."""

    dynamic_sizes: Any = None
    dynamic_strides: Any = None
    constraint_sizes: Any = None
    constraint_strides: Any = None
    view_base_context: Any = None


class ShapeEnv:
    """The symbols for sizes and what is known of them: none, since the sizes of fake tensors are numbers.

    >>> ShapeEnv().guards
    []
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.guards: list[Any] = []
        self.var_to_val: dict[Any, Any] = {}
        self.replacements: dict[Any, Any] = {}
        self.frozen = False

    def freeze(self) -> None:
        """Take no further guards."""
        self.frozen = True

    def freeze_runtime_asserts(self) -> None:
        """Take no further assertions."""

    def format_guards(self, verbose: bool = False) -> str:
        """The guards, a line each."""
        return ""

    def produce_guards(self, *args: Any, **kwargs: Any) -> list[str]:
        """Conditions on inputs under which a graph holds, beside their sizes."""
        return []


class ConstraintViolationError(RuntimeError):
    """A size does not have a value that it was declared to have."""


def statically_known_true(x: Any) -> bool:
    """Whether a condition on sizes is true.

    >>> statically_known_true(2 < 3)
    True
    """
    return bool(x)


definitely_true = guard_or_false = guard_or_true = guard_size_oblivious = statically_known_true


def guard_int(a: Any) -> int:
    """A size as a number."""
    return int(a)


def hint_int(a: Any, fallback: int | None = None) -> int:
    """A size as a number."""
    return int(a)


def is_concrete_int(a: Any) -> bool:
    """Whether a size is a number: yes."""
    return isinstance(a, int)


def is_nested_int(val: Any) -> bool:
    """Whether a size is the length of a ragged dimension.

    >>> is_nested_int(SymInt()), is_nested_int(3)
    (True, False)
    """
    return isinstance(val, SymInt)


def is_symbolic(val: Any) -> bool:
    """Whether a value stands for a size rather than being one.

    >>> is_symbolic(3)
    False
    """
    return isinstance(val, SymInt) or getattr(val, "is_symbolic", False) is True


def free_symbols(val: Any) -> set[Any]:
    """The symbols in a size: none.

    >>> free_symbols(3)
    set()
    """
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val: Any) -> bool:
    """Whether a size has symbols: no."""
    return False


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two sizes, or lists of them, are equal.

    >>> sym_eq([2, 3], (2, 3))
    True
    """
    return list(x) == list(y) if isinstance(x, list | tuple) and isinstance(y, list | tuple) else bool(x == y)


def guard_bool(a: Any) -> bool:
    """A condition on sizes as a truth value."""
    return bool(a)


expect_true = guard_bool


def guard_float(a: Any) -> float:
    """A number that depends on sizes."""
    return float(a)


def guard_scalar(a: Any) -> Any:
    """A truth value, size or number as Python's.

    >>> guard_scalar(True), guard_scalar(2), guard_scalar(0.5)
    (True, 2, 0.5)
    """
    if isinstance(a, bool | int | float):
        return a
    raise AssertionError(f"unrecognized scalar {a}")


def statically_known_false(x: Any) -> bool:
    """Whether a condition on sizes is false."""
    return not x


def sym_and(x: Any, *others: Any) -> bool:
    """Whether all conditions hold.

    >>> sym_and(True, 2 < 3), sym_and(True, False)
    (True, False)
    """
    return all([x, *others])


def sym_or(x: Any, *others: Any) -> bool:
    """Whether one of the conditions holds."""
    return any([x, *others])


def is_concrete_bool(a: Any) -> bool:
    """Whether a truth value is one: yes."""
    return isinstance(a, bool)


def is_concrete_float(a: Any) -> bool:
    """Whether a number is one: yes."""
    return isinstance(a, float)


def fx_placeholder_vals(gm: Any) -> list[Any]:
    """What the inputs of a traced graph were like."""
    return [node.meta["val"] for node in gm.graph.nodes if node.op == "placeholder"]


def fx_placeholder_targets(gm: Any) -> list[str]:
    """The names of the inputs of a graph."""
    return [node.target for node in gm.graph.nodes if node.op == "placeholder"]
