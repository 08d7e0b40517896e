"""One test for many examples, as strict as one test each: all of them run, and all failures are reported."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def run_all(check: Callable[[Any], None], examples: Iterable[Any]) -> None:
    """Run a check over all examples; what fails is raised together, each failure with the name of its example."""
    failures = []
    for example in examples:
        try:
            check(example)
        except Exception as error:
            error.add_note(f"for {example}")
            failures.append(error)
    if failures:
        raise ExceptionGroup(f"{len(failures)} failed", failures)
