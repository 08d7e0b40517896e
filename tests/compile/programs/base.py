"""What impure programs are written with. Each is a generator that gets `compile` and yields what can be observed."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import retrograd as torch

Compile = Callable[[Any], Any]
PROGRAMS: dict[str, Callable[[Compile], Iterator[Any]]] = {}


def program(function: Callable[[Compile], Iterator[Any]]) -> Callable[[Compile], Iterator[Any]]:
    PROGRAMS[function.__name__] = function
    return function


def x(*shape: int) -> Any:
    return torch.arange(float(np.prod(shape or (3,)))).reshape(shape or (3,)) + 1


def error(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as raised:
        return f"{type(raised).__name__}: {str(raised).splitlines()[0] if str(raised) else ''}"
    return "nothing raised"
