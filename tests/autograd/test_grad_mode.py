"""Grad modes as scopes, as plain calls, and as decorators of every kind of callable."""
from __future__ import annotations

import asyncio
import inspect
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from typing import Any

import pytest

from retrograd.autograd.grad_mode import (
    _enter_inference_mode,
    _exit_inference_mode,
    _force_original_view_tracking,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from retrograd.core.state import switches, tls

# A decorator, and the grad mode that it sets.
GRAD_DECORATORS: list[tuple[Callable[[Any], Any], bool]] = [
    (lambda f: no_grad()(f), False), (lambda f: no_grad(f), False), (lambda f: enable_grad()(f), True),
    (lambda f: enable_grad(f), True), (lambda f: set_grad_enabled(False)(f), False),
    (lambda f: set_grad_enabled(mode=True)(f), True), (lambda f: inference_mode(f), False),
    (lambda f: inference_mode(False)(f), True),
]
each_decorator = pytest.mark.parametrize("decorate, inside", GRAD_DECORATORS)


def modes() -> tuple[bool, bool, bool, bool]:
    return is_grad_enabled(), is_inference_mode_enabled(), tls.fwd_grad_enabled, is_multithreading_enabled()


NORMAL = (True, False, True, True)
INFERENCE = (False, True, False, False)


@pytest.fixture(autouse=True)
def everything_is_undone() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path
    yield
    assert (switches.any_mode, tls.slow_path) == before
    assert modes() == NORMAL
    assert not is_view_replay_enabled()


def test_scopes_nest_and_restore_after_errors() -> None:
    with no_grad():
        assert not is_grad_enabled()
        with no_grad():
            assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
            with pytest.raises(KeyError), no_grad():
                raise KeyError
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_a_scope_restores_what_was_before_it_whatever_happened_inside() -> None:
    with no_grad():
        set_grad_enabled(True)
        assert is_grad_enabled()
    assert is_grad_enabled()
    with enable_grad():
        set_grad_enabled(False)
    assert is_grad_enabled()
    with set_grad_enabled(False):
        set_grad_enabled(True)
        assert is_grad_enabled()
    assert is_grad_enabled()


def test_modes_belong_to_one_thread() -> None:
    seen: list[bool] = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_set_grad_enabled_acts_at_once_and_can_be_entered_again() -> None:
    scope = set_grad_enabled(False)
    assert not is_grad_enabled()
    assert repr(scope) == "torch.autograd.grad_mode.set_grad_enabled(mode=False)"
    with scope:
        assert not is_grad_enabled()
    assert is_grad_enabled()
    with scope:
        assert not is_grad_enabled()
    assert is_grad_enabled()
    with pytest.raises(TypeError, match=r"^set_grad_enabled\(\): argument 'enabled' \(position 1\) must be bool, "
                                        "not int$"):
        set_grad_enabled(1)  # type: ignore[arg-type]


def test_set_grad_enabled_as_decorator_leaves_the_mode_alone() -> None:
    scope = set_grad_enabled(False)
    decorated = scope(is_grad_enabled)
    assert is_grad_enabled()
    assert decorated() is False
    assert is_grad_enabled()


@each_decorator
def test_function(decorate: Callable[[Any], Any], inside: bool) -> None:
    @decorate
    def function(first: int, *, second: int = 2) -> tuple[bool, int]:
        """Says what it does."""
        if first:
            return function(first - 1, second=second)  # the mode must survive the inner call's end
        return is_grad_enabled(), second

    assert inspect.signature(function.__wrapped__).parameters.keys() == {"first", "second"}
    assert (function.__name__, function.__doc__) == ("function", "Says what it does.")
    for around in (True, False):
        with set_grad_enabled(around):
            assert function(3, second=5) == (inside, 5)
            assert is_grad_enabled() is around


def test_method() -> None:
    class Holder:
        @no_grad()
        def with_parentheses(self) -> bool:
            return is_grad_enabled()

        @enable_grad
        def without(self) -> bool:
            return is_grad_enabled()

    assert Holder().with_parentheses() is False
    with no_grad():
        assert Holder().without() is True


@each_decorator
def test_generator(decorate: Callable[[Any], Any], inside: bool) -> None:
    @decorate
    def generator() -> Generator[int, int, str]:
        for index in range(4):
            assert is_grad_enabled() is inside
            received = yield index
            assert is_grad_enabled() is inside
            assert received == 10 * index
        return "end"

    assert inspect.isgeneratorfunction(generator)
    with set_grad_enabled(not inside):
        steps = generator()
        produced = next(steps)
        with pytest.raises(StopIteration) as stop:
            while True:
                assert is_grad_enabled() is not inside
                produced = steps.send(10 * produced)
        assert stop.value.value == "end"
        assert is_grad_enabled() is not inside


@each_decorator
def test_generator_throw_and_close(decorate: Callable[[Any], Any], inside: bool) -> None:
    seen: list[str] = []

    @decorate
    def generator() -> Generator[int, None, None]:
        index = 0
        while True:
            try:
                yield index
                index += 1
            except KeyError:
                assert is_grad_enabled() is inside
                index = -1
            except IndexError:
                assert is_grad_enabled() is inside
                raise LookupError from None
            except GeneratorExit:
                assert is_grad_enabled() is inside
                seen.append("closed")
                raise

    with set_grad_enabled(not inside):
        steps = generator()
        assert [next(steps), next(steps)] == [0, 1]
        assert steps.throw(KeyError()) == -1
        assert next(steps) == 0
        steps.close()
        assert seen == ["closed"]
        steps = generator()
        next(steps)
        with pytest.raises(LookupError):
            steps.throw(IndexError())
        steps = generator()
        next(steps)
        del steps
        assert seen == ["closed", "closed"]
        assert is_grad_enabled() is not inside


@each_decorator
def test_coroutine(decorate: Callable[[Any], Any], inside: bool) -> None:
    @decorate
    async def coroutine(number: int) -> int:
        assert is_grad_enabled() is inside
        await asyncio.sleep(0)
        assert is_grad_enabled() is inside
        with pytest.raises(KeyError):
            await fail()
        return number

    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError

    async def other() -> None:
        for _ in range(5):
            assert is_grad_enabled()  # runs between the steps of the decorated ones
            await asyncio.sleep(0)

    async def main() -> list[Any]:
        return await asyncio.gather(coroutine(1), other(), coroutine(2))

    assert inspect.iscoroutinefunction(coroutine)
    assert asyncio.run(main()) == [1, None, 2]


@each_decorator
def test_async_generator(decorate: Callable[[Any], Any], inside: bool) -> None:
    seen: list[Any] = []

    @decorate
    async def generator() -> AsyncGenerator[int, int]:
        index = 0
        while index < 3:
            try:
                assert is_grad_enabled() is inside
                await asyncio.sleep(0)
                assert is_grad_enabled() is inside
                seen.append((yield index))
                index += 1
            except KeyError:
                assert is_grad_enabled() is inside
                index = 2
            finally:
                assert is_grad_enabled() is inside

    async def main() -> None:
        async for _ in generator():
            assert is_grad_enabled()
        steps = generator()
        assert await anext(steps) == 0
        assert await steps.asend(7) == 1
        assert await steps.athrow(KeyError()) == 2
        await steps.aclose()
        assert is_grad_enabled()

    assert inspect.isasyncgenfunction(generator)
    asyncio.run(main())
    assert seen == [None, None, None, 7]


def test_class_decoration_is_deprecated_and_covers_construction_only() -> None:
    class Plain:
        def __init__(self) -> None:
            assert not is_grad_enabled()

        def method(self) -> bool:
            return is_grad_enabled()

    for decorator in (no_grad(), no_grad):
        with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
            made = decorator(Plain)
        assert made().method() is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        no_grad()(Plain.method)


def test_inference_mode_switches_everything_and_back() -> None:
    with inference_mode():
        assert modes() == INFERENCE
        with inference_mode(False):
            assert modes() == NORMAL
            with inference_mode():
                assert modes() == INFERENCE
        assert modes() == INFERENCE
        with enable_grad():
            assert modes() == (True, True, False, False)
        set_grad_enabled(True)
    assert modes() == NORMAL
    with no_grad():
        with inference_mode(False):
            assert modes() == NORMAL
        assert not is_grad_enabled()
    scope = _enter_inference_mode(True)
    assert modes() == INFERENCE
    _exit_inference_mode(scope)


def test_inference_mode_decorator_forms() -> None:
    for decorated, expected in ((inference_mode(modes), INFERENCE), (inference_mode(mode=modes), INFERENCE),
                                (inference_mode()(modes), INFERENCE), (inference_mode(True)(modes), INFERENCE),
                                (inference_mode(mode=False)(modes), NORMAL)):
        assert decorated() == expected


def test_multithreading_flag() -> None:
    with set_multithreading_enabled(False) as entered:
        assert entered is None
        assert not is_multithreading_enabled()
    assert is_multithreading_enabled()
    set_multithreading_enabled(False)
    assert not is_multithreading_enabled()
    set_multithreading_enabled(True)


def test_view_replay_flag() -> None:
    with _force_original_view_tracking(False):
        _force_original_view_tracking(True)
        assert is_view_replay_enabled()
    assert not is_view_replay_enabled()
    decorated = _force_original_view_tracking(True)(is_view_replay_enabled)
    assert not is_view_replay_enabled()
    assert decorated() is True
    assert not is_view_replay_enabled()
    with pytest.raises(TypeError, match="must be bool, not int"):
        _force_original_view_tracking(3)  # type: ignore[arg-type]


def test_clone() -> None:
    assert type(no_grad().clone()) is no_grad
    assert inference_mode(False).clone().mode is False
    with no_grad():
        scope = set_grad_enabled(True)
        set_grad_enabled(False)
        assert scope.clone().mode is True
        assert is_grad_enabled()
