"""Calls everything with wrong arguments in forked children, and tells which calls end the process.

    python tools/abuse.py [--only SUBSTR] [--share 0.1]

The tests make a part of these calls; this makes all of them, or a given share.
"""
from __future__ import annotations

import argparse
import inspect
import io
import os
import random
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

import retrograd as torch

MEMORY = 8 << 30            # bytes of address space for a child: a call that asks for more gets a MemoryError
SECONDS = 60                # for one call
Call = tuple[str, Callable[[], Any]]


class Odd:
    """An object that nothing expects."""


def arguments() -> list[tuple[Any, ...]]:
    """Argument lists with None, wrong ranks, empty and odd types."""
    torch.manual_seed(0)
    scalar, vector, matrix, cube = torch.tensor(1.5), torch.ones(2), torch.ones(2, 3), torch.ones(2, 3, 4)
    empty, none_left, whole = torch.ones(0), torch.ones(0, 3), torch.tensor([0, 5])
    flags, numbers = torch.tensor([True, False]), torch.tensor([1j, 2])
    wants = torch.ones(2, requires_grad=True)
    return [
        (), (None,), (None, None), (None, vector), (scalar,), (vector,), (matrix,), (cube,), (empty,), (none_left,), (whole,),
        (flags,), (numbers,), (wants,), (Odd(),), ("text",), ([],), ([None],), ([vector, None],), ([Odd()],), (3,), (-1,),
        (vector, None), (vector, vector), (vector, matrix), (matrix, vector), (matrix, matrix), (cube, cube), (empty, empty),
        (scalar, scalar), (scalar, 0), (scalar, -1), (scalar, 1), (vector, 0), (vector, 9), (vector, -9), (vector, Odd()),
        (vector, "text"), (vector, []), (vector, [None]), (vector, [0, 0, 0]), (vector, (9,)), (vector, [2 ** 70]),
        (vector, 1.5), (matrix, 1, 9), (matrix, -9, 1), (matrix, 0, 2 ** 70), (matrix, (0, 1), None), (matrix, [], []),
        (matrix, None, None), (vector, whole), (matrix, 0, whole), (matrix, 1, whole, matrix), (vector, 0, whole, 1.0),
        (vector, flags),
        (vector, vector, vector), (matrix, vector, vector), (vector, None, vector), (matrix, cube, cube),
        (scalar, scalar, scalar), (empty, empty, empty), (cube, vector, None, 9), (wants, wants), (wants, None, 0),
        (vector, vector, vector, vector), (matrix, matrix, None, None, None), (cube, cube, vector, (0,), (0,), (0,)),
        (cube, cube, None, 1, 0, 0, 1), (numbers, whole), (whole, whole, whole),
    ]


def batched_arguments() -> list[tuple[Any, ...]]:
    """What vmap is given: the first dimension is the batch, the rest too short or empty."""
    short, flat, matrix, cube = torch.zeros(0), torch.ones(3), torch.ones(3, 2), torch.ones(3, 2, 2)
    thin, none_left, whole = torch.ones(3, 0), torch.ones(0, 2), torch.tensor([0, 5, 1])
    return [(short,), (flat,), (matrix,), (cube,), (thin,), (none_left,), (whole,), (short, short), (flat, flat),
            (matrix, flat), (flat, matrix), (matrix, matrix), (cube, cube), (thin, thin), (whole, whole), (flat, whole),
            (flat, flat, flat), (matrix, flat, flat), (cube, cube, cube), (short, short, short), (flat, whole, flat)]


def further_arguments() -> list[tuple[Any, ...]]:
    """Arguments that follow the batched ones."""
    return [(), (0,), (1,), (-1,), (None,), (9,), (0, 1), (1, 0), (0, 0, 1), ([0],), ([],), (Odd(),)]


ARGUMENTS, BATCHED = arguments(), batched_arguments()


def calls_of(label: str, function: Callable[..., Any]) -> Iterator[Call]:
    """Calls of a function with each of the arguments."""
    for i in range(len(ARGUMENTS)):
        yield f"{label} {i}", lambda i=i: function(*arguments()[i])          # type: ignore[misc]


def batched_calls_of(label: str, function: Callable[..., Any]) -> Iterator[Call]:
    """The same under vmap."""
    for i in range(len(BATCHED)):
        for j, further in enumerate(further_arguments()):
            def call(i: int = i, further: Any = further) -> Any:
                return torch.vmap(lambda *args: function(*args, *further), randomness="different")(*batched_arguments()[i])
            yield f"vmap {label} {i} {j}", call


# names that change the process as a whole, or wait for others
LEFT_OUT = {"set_num_threads", "set_num_interop_threads", "init_process_group", "save", "load", "compile", "from_file", "_fork",
            "set_default_device", "set_default_dtype", "set_default_tensor_type", "set_printoptions", "__reduce_ex__"}


def functions_of(space: Any) -> dict[str, Callable[..., Any]]:
    """The functions of a module or class by name."""
    found = {name: getattr(space, name, None) for name in sorted(set(dir(space)) - LEFT_OUT)}
    return {name: value for name, value in found.items() if callable(value) and not inspect.isclass(value)}


def public_calls(share: float, seed: int = 0, only: str = "") -> list[Call]:
    """A share of all calls of public functions and methods, plain and under vmap."""
    spaces = {"torch": torch, "functional": torch.nn.functional, "Tensor": torch.Tensor, "linalg": torch.linalg,
              "fft": torch.fft, "special": torch.special}
    rng, made = random.Random(seed), []
    for label, space in spaces.items():
        for name, function in functions_of(space).items():
            if only in f"{label}.{name}":
                calls = [*calls_of(f"{label}.{name}", function), *batched_calls_of(f"{label}.{name}", function)]
                made += rng.sample(calls, max(1, int(share * len(calls))))
    return made


def survive(calls: list[Call]) -> list[str]:
    """Make the calls in a child, and go on in another one after a call that ended it; returns the labels of such calls."""
    deaths, start = [], 0
    while start < len(calls):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            make_calls(calls[start:], writing)
        os.close(writing)
        progress = b""
        while chunk := os.read(reading, 65536):
            progress += chunk
        os.close(reading)
        _, status = os.waitpid(child, 0)
        done = start + len(progress)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 and done == len(calls):
            break
        reason = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        deaths.append(f"{calls[done][0]}: {reason}")
        start = done + 1
    return deaths


def make_calls(calls: list[Call], progress: int) -> None:
    """What a child does: it writes a byte after each call, and does not return."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stdin = io.StringIO()
    with redirect_stdout(io.StringIO()):
        for _, call in calls:
            signal.alarm(SECONDS)
            try:
                call()
            except BaseException:           # whatever Python can catch is a fine answer, SystemExit included
                pass
            os.write(progress, b".")
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    calls = public_calls(given.share, given.seed, given.only)
    deaths = survive(calls)
    print(*deaths, f"{len(calls)} calls, {len(deaths)} ended the process", sep="\n")
    return len(deaths) > 0


if __name__ == "__main__":
    sys.exit(main())
