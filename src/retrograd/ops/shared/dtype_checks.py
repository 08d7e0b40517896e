"""Checks for the `check` column: the supported dtypes of an op, and the error texts for others."""
from __future__ import annotations

from typing import Any

from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.ops.shared.elementwise import unsupported

# NumPy's dtype characters for the letters used by checks.
CHARACTERS = {"F": "fd", "H": "eE", "C": "FD", "I": "bhilqBHILQ", "L": "lq", "U": "B", "B": "?"}


def takes(kernel: str, letters: str, place: int = 0) -> Any:
    """A check that the tensor at `place` has a dtype supported by the named kernel.

    The letters: F float32 and float64, H the two of half precision, C complex, I all integers, L int64, U uint8, B bool.
    """
    characters = "".join([CHARACTERS[letter] for letter in letters])

    def check(*args: Any) -> None:
        t = args[place]
        if isinstance(t, Tensor) and t.array.dtype.char not in characters:
            raise unsupported(kernel, t.array.dtype)
    check.takes_floats = "F" in letters  # type: ignore[attr-defined]
    return check


def only(message: str, letters: str, place: int = 0, error: type[Exception] = RuntimeError) -> Any:
    """A check like `takes` with its own text, in which {} is the unsupported dtype."""
    characters = "".join([CHARACTERS[letter] for letter in letters])

    def check(*args: Any) -> None:
        t = args[place]
        if isinstance(t, Tensor) and t.array.dtype.char not in characters:
            raise error(message.format(t.dtype.legacy))
    check.takes_floats = "F" in letters  # type: ignore[attr-defined]
    return check


def without_gradient(function: str, *checks: Any, **places: int) -> Any:
    """A check for an op that has no derivatives by the named arguments, before other checks."""
    def check(*args: Any) -> None:
        if tls.grad_enabled:
            for name, i in places.items():
                if isinstance(args[i], Tensor) and wants_grad(args[i]):
                    raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument '{name}'. "
                                       "This input cannot have requires_grad True.")
        for other in checks:
            other(*args)
    return asked_always(check)


def asked_always(check: Any) -> Any:
    """A check of more than dtypes, which a compiled kernel cannot replace."""
    check.asks_more = True
    return check


def accepts_floats(check: Any) -> Any:
    """A check that accepts all real operands of float32 and float64."""
    check.takes_floats = True
    return check


def proven(check: Any) -> Any:
    """A check that the op's compiled kernel performs itself."""
    check.proven = True
    return check


def every(*checks: Any) -> Any:
    """Several checks in sequence."""
    def check(*args: Any) -> None:
        for each in checks:
            each(*args)
    check.takes_floats = all([getattr(each, "takes_floats", False) for each in checks])  # type: ignore[attr-defined]
    return check


def type_name(dtype: Any) -> str:
    """The legacy tensor class of a dtype; dtypes without one have another form of name."""
    legacy = BY_NUMPY[dtype].legacy
    return f"CPU{legacy}Type" if legacy in ("Bool", "BFloat16", "ComplexFloat", "ComplexDouble") else f"torch.{legacy}Tensor"


def check_types(function: str, number: int, name: str, dtype: Any, wanted: str) -> None:
    """Check that an argument has one of the allowed types, with the text of the embedding functions."""
    if BY_NUMPY[dtype].legacy not in wanted.split(", "):
        raise RuntimeError(f"Expected tensor for argument #{number} '{name}' to have one of the following scalar types: "
                           f"{wanted}; but got {type_name(dtype)} instead (while checking arguments for {function})")
