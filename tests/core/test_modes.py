"""Dispatch modes: the stack of them, how calls are shown to a handler, and the scopes in which all are off."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.core import modes
from retrograd.core.modes import TorchDispatchMode
from retrograd.core.opdef import find_packet
from retrograd.core.state import switches, tls


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.run_flags, tls.below
    yield
    assert (switches.any_mode, tls.slow_path, tls.run_flags, tls.below) == before
    assert tls.dispatch_modes == []


class Log(TorchDispatchMode):
    """Notes what it is shown."""

    def __init__(self, seen: list[Any] | None = None, name: str = "") -> None:
        self.seen: list[Any] = [] if seen is None else seen
        self.name = name

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append((self.name, str(func)) if self.name else (str(func), args, kwargs))
        return func(*args, **(kwargs or {}))


def op_called(name: str, overload: str = "default") -> Any:
    op = getattr(find_packet(name), overload)
    if not op._ready:
        op.prepare()
    return op


# ---- the stack
def test_modes_are_asked_from_the_inside_out() -> None:
    seen: list[Any] = []
    with Log(seen, "outer"), Log(seen, "inner"):
        torch.ones(1) * 2
    assert seen == [("inner", "aten.ones.default"), ("outer", "aten.ones.default"),
                    ("inner", "aten.mul.Tensor"), ("outer", "aten.mul.Tensor")]


def test_the_current_mode_is_off_inside_its_own_handler() -> None:
    stacks: list[Any] = []

    class Ask(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            stacks.append(modes.current_modes())
            torch.ones(1) + 1
            return func(*args, **(kwargs or {}))

    outer, inner = Log(), Ask()
    with outer, inner:
        assert modes.current_mode() is inner and modes.current_modes() == [outer, inner]
        torch.zeros(1)
    assert modes.current_mode() is None
    assert stacks == [[outer]]
    assert [name for name, _, _ in outer.seen] == ["aten.ones.default", "aten.add.Tensor", "aten.zeros.default"]


def test_push_and_pop_count_what_is_on() -> None:
    before = switches.any_mode
    mode = Log()
    modes.push_mode(mode)
    assert switches.any_mode == before + 1 and tls.slow_path == 1
    assert modes.pop_mode() is mode
    assert switches.any_mode == before


def test_one_mode_may_be_entered_twice() -> None:
    log = Log()
    with log, log:
        torch.ones(1)
    assert len(log.seen) == 2


def test_a_mode_that_does_not_say_what_to_do_is_an_error() -> None:
    with TorchDispatchMode(), pytest.raises(NotImplementedError):
        torch.ones(1)


def test_a_mode_that_changes_nothing() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    with modes.BaseTorchDispatchMode():
        (x * x).backward()
    assert x.grad.item() == 4.0


def test_an_error_in_a_handler_leaves_the_stack_as_it_was() -> None:
    class Fail(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyError(func.name)

    outer, inner = Log(), Fail()
    with outer, inner:
        with pytest.raises(KeyError, match="ones"):
            torch.ones(1)
        assert modes.current_modes() == [outer, inner]


def test_a_handler_may_give_another_result() -> None:
    class Double(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return result * 2 if func.name == "add" else result

    x = torch.tensor([3.0], requires_grad=True)
    with Double():
        y = x + 1
    assert y.item() == 8.0 and y.grad_fn.name() == "AddBackward0"
    y.backward()
    assert x.grad.item() == 1.0


def test_other_threads_have_their_own_stack() -> None:
    log = Log()
    with log:
        thread = threading.Thread(target=lambda: torch.ones(1) + 1)
        thread.start()
        thread.join()
    assert log.seen == []


# ---- how calls are shown
@pytest.mark.parametrize(("run", "expected"), [
    (lambda x: x.sum(), ("aten.sum.default", 1, {})),
    (lambda x: x.sum(0), ("aten.sum.dim_IntList", 2, {})),
    (lambda x: x.sum(0, keepdim=True), ("aten.sum.dim_IntList", 3, {})),
    (lambda x: torch.add(x, x, alpha=2), ("aten.add.Tensor", 2, {"alpha": 2})),
    (lambda x: torch.add(x, x, alpha=1), ("aten.add.Tensor", 2, {})),
    (lambda x: x.transpose(0, 0), ("aten.transpose.int", 3, {})),
    (lambda x: x.clone(), ("aten.clone.default", 1, {})),
    (lambda x: x.sort(), ("aten.sort.default", 1, {})),
    (lambda x: x.sort(descending=True), ("aten.sort.default", 3, {})),
    (lambda x: torch.cat([x, x]), ("aten.cat.default", 1, {})),
    (lambda x: torch.cat((x, x), 0), ("aten.cat.default", 1, {})),
    (lambda x: x.add_(1), ("aten.add_.Tensor", 2, {})),
])
def test_defaults_are_left_out_and_keywords_named(run: Any, expected: Any) -> None:
    x = torch.ones(2)
    log = Log()
    with log:
        run(x)
    (name, args, kwargs), = log.seen
    assert (name, len(args), kwargs) == expected


def test_lists_are_shown_as_lists() -> None:
    x = torch.ones(2)
    log = Log()
    with log:
        torch.cat((x, x))
        x.view(1, 2)
        x.expand((2, 2))
    assert [type(args[0] if name == "aten.cat.default" else args[1]) for name, args, _ in log.seen] == [list] * 3


def test_factories_say_where_the_memory_is_to_be() -> None:
    log = Log()
    with log:
        torch.ones(2)
    (_, args, kwargs), = log.seen
    assert args == ([2],) and kwargs["device"].type == "cpu" and kwargs["pin_memory"] is False


def test_a_number_takes_the_overload_that_has_one() -> None:
    add, x = op_called("eq", "Tensor"), torch.ones(1)
    assert str(modes.number_form(add, [x, 2])[0]) == "aten.eq.Scalar"
    assert modes.number_form(add, [x, x]) == (add, [x, x])
    multiply = op_called("mul", "Tensor")
    assert modes.number_form(multiply, [x, 2])[0] is multiply          # takes numbers itself


def test_defaults_are_told_from_other_values() -> None:
    parameter = op_called("add", "Tensor").schema.params[2]
    assert modes.is_default(parameter, 1)
    assert not modes.is_default(parameter, True) and not modes.is_default(parameter, 1.0)
    assert not modes.is_default(parameter, torch.ones(1))


# ---- recording
def test_what_a_handler_calls_is_not_recorded_again() -> None:
    inside: list[Any] = []

    class Ask(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            inside.append((tls.below, (args[0] * 2).requires_grad))
            with modes.enable_reentrant_dispatch():
                inside.append((tls.below, (args[0] * 2).requires_grad))
            return func(*args, **(kwargs or {}))

    x = torch.tensor([2.0], requires_grad=True)
    with Ask():
        x.sin()
    assert inside == [(True, False), (False, True)]


# ---- scopes
def test_scopes_that_hide_modes() -> None:
    log = Log()
    with log:
        with modes.no_dispatch():
            torch.ones(1)
            assert modes.current_modes() == []
        with modes.disable_current_modes() as hidden:
            torch.ones(1)
            assert hidden == [log] and modes.current_modes() == []
            with Log() as other:
                torch.ones(1)
            assert len(other.seen) == 1
        assert log.seen == []
        torch.ones(1)
    assert len(log.seen) == 1


def test_scopes_end_with_an_error() -> None:
    log = Log()
    with log:
        for scope in (modes.no_dispatch, modes.disable_current_modes, modes.enable_reentrant_dispatch):
            with pytest.raises(KeyError), scope():
                raise KeyError
            assert modes.current_modes() == [log] and not tls.below and not tls.dispatch_disabled


# ---- subclasses that override dispatch
class Wrapped(torch.Tensor):
    """A tensor in another one; results are wrapped again."""

    log: list[str] = []

    @staticmethod
    def __new__(cls: Any, inside: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype, requires_grad=inside.requires_grad)

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.log.append(f"{cls.__name__} {func}")
        opened = [a.inside if isinstance(a, Wrapped) else a for a in args]
        result = func(*opened, **(kwargs or {}))
        return cls(result) if isinstance(result, torch.Tensor) else result


class Deeper(Wrapped):
    pass


def test_the_argument_of_the_most_derived_class_is_asked_first() -> None:
    Wrapped.log.clear()
    a, b = Wrapped(torch.ones(2)), Deeper(torch.ones(2))
    assert [type(t) for t in modes.overriding_arguments([a, b, a])] == [Deeper, Wrapped]
    assert modes.overriding_types([[a, torch.ones(1)], 3]) == (Wrapped,)
    assert type(a + b) is Deeper
    assert Wrapped.log == ["Deeper aten.add.Tensor"]


def test_a_mode_comes_before_a_subclass() -> None:
    Wrapped.log.clear()
    log = Log()
    x = Wrapped(torch.ones(2))
    with log:
        x + 1
    assert [name for name, _, _ in log.seen] == ["aten.add.Tensor"]
    assert Wrapped.log == ["Wrapped aten.add.Tensor"]


def test_call_without_a_handler_that_answers_is_an_error() -> None:
    class Silent(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch._ops.aten.add.Tensor'; all __torch_dispatch__ "
                                        "handlers returned NotImplemented"):
        Silent(torch.ones(2)) + 1


def test_only_classes_that_say_so_override() -> None:
    class Quiet(torch.Tensor):
        pass

    assert modes.overrides_dispatch(Wrapped) and modes.overrides_dispatch(Deeper)
    assert not modes.overrides_dispatch(Quiet) and not modes.overrides_dispatch(torch.Tensor)


def test_formulas_that_a_mode_sees_take_complex_numbers() -> None:
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, dtype=torch.complex128)
    y, z = (torch.full((2,), value, dtype=torch.float64, requires_grad=True) for value in (3.0, 2.0))
    plain = torch.autograd.grad(torch.addcdiv(x, y, z, value=2j).imag.sum(), [y, z])
    with Seen():
        seen = torch.autograd.grad(torch.addcdiv(x, y, z, value=2j).imag.sum(), [y, z])
    assert all(torch.equal(a, b) for a, b in zip(plain, seen, strict=True)) and plain[0].tolist() == [1.0, 1.0]
