"""Scopes as decorators: of functions, of generators step by step, and not of classes."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from retrograd.utils._contextlib import _DecoratorContextManager, context_decorator

LOG: list[str] = []


class Scope(_DecoratorContextManager):
    def __enter__(self) -> None:
        LOG.append("in")

    def __exit__(self, *exc: object) -> None:
        LOG.append("out")


def several() -> Iterator[Any]:
    try:
        got = yield 1
        yield got
    except ValueError as error:
        LOG.append(str(error))
        yield 3
    finally:
        LOG.append("end")


def test_generators_run_each_step_within_the_scope() -> None:
    LOG.clear()
    steps = Scope()(several)()
    assert next(steps) == 1 and LOG == ["in", "out"] and steps.send(5) == 5
    assert list(steps) == [] and LOG[4:] == ["in", "end", "out"]


def test_errors_and_ends_reach_the_generator_within_the_scope() -> None:
    LOG.clear()
    steps = Scope()(several)()
    next(steps)
    assert steps.throw(ValueError("thrown")) == 3 and LOG == ["in", "out", "in", "thrown", "out"]
    steps.close()
    assert LOG[5:] == ["in", "end", "out"]


def test_classes_are_not_decorated_by_halves() -> None:
    class Thing:
        pass

    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        context_decorator(Scope, Thing)
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        made = Scope()(Thing)
    LOG.clear()
    assert type(made()).__name__ == "Thing" and LOG == ["in", "out"]
