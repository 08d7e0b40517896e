"""Dispatch modes and `__torch_dispatch__` subclasses: which handler gets an op below autograd, and in which form.

NOTE [Below autograd]
A handler replaces the kernel, after autograd has recorded the op. Ops that it calls must not be recorded again, so while it
runs `tls.below` sends ops straight to the next mode or to the kernel. A mode is off the stack while its handler runs, so it
does not see the handler's own ops.
"""
from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from retrograd.core import saved
from retrograd.core.device import CPU
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef
from retrograd.core.saved import Watcher, alias
from retrograd.core.state import add_slow_path, switches, tls
from retrograd.core.tensor import FLAG_DUAL, FLAG_SUBCLASS, FLAG_WRAPPER, Tensor, counter_of, new_tensor

if TYPE_CHECKING:
    from retrograd.core.schema import Param


class TorchDispatchMode:
    """A scope in which every op goes to `__torch_dispatch__(func, types, args, kwargs)`.

    >>> import retrograd as torch
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.ones(2).mul(3)
    aten.ones.default
    aten.mul.Tensor
    """

    _process: Any = None          # replaces `__torch_dispatch__`; takes (op, arguments in schema order)
    _is_hidden = False            # internal: not listed among the modes that programs can query

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_mode(self)
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing.

    >>> from retrograd import ones
    >>> from retrograd.utils._python_dispatch import BaseTorchDispatchMode, is_in_torch_dispatch_mode
    >>> with BaseTorchDispatchMode():
    ...     ones(2) + 1, is_in_torch_dispatch_mode()
    (tensor([2., 2.]), True)
    """

    def __torch_dispatch__(self, func: OpDef, types: Sequence[Any], args: Sequence[Any] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def push_mode(mode: Any) -> None:
    """Push `mode` onto the stack; `pop_mode` removes it.

    >>> from retrograd.utils._python_dispatch import BaseTorchDispatchMode, _get_current_dispatch_mode, _pop_mode, _push_mode
    >>> mode = BaseTorchDispatchMode()
    >>> _push_mode(mode)
    >>> _get_current_dispatch_mode() is mode
    True
    >>> _pop_mode() is mode
    True
    """
    tls.dispatch_modes.append(mode)
    add_slow_path(1)


def pop_mode() -> Any:
    """Remove the innermost mode and return it.

    >>> from retrograd.utils._python_dispatch import BaseTorchDispatchMode, _get_current_dispatch_mode, _pop_mode, _push_mode
    >>> _push_mode(BaseTorchDispatchMode())
    >>> _ = _pop_mode()
    >>> _get_current_dispatch_mode() is None
    True
    """
    shown = current_modes()
    mode = shown.pop()
    remove_mode(mode)
    return mode


def remove_mode(mode: Any) -> None:
    """Remove `mode` from any place in the stack."""
    modes = tls.dispatch_modes
    place = len(modes) - 1
    while place >= 0 and modes[place] is not mode:
        place -= 1
    if place >= 0:
        del modes[place]
        add_slow_path(-1)


def is_shown(mode: Any) -> bool:
    return not getattr(mode, "_is_hidden", False)


def is_seen() -> bool:
    """Whether a dispatch mode sees the ops: a formula then takes the very steps of PyTorch's.

    >>> is_seen()
    False
    """
    modes = tls.dispatch_modes if switches.any_mode else None
    return modes is not None and len(modes) > 0 and is_shown(modes[-1]) and getattr(modes[-1], "_process", None) is None


def current_mode() -> Any:
    """The innermost mode, None if there is none.

    >>> from retrograd.utils._python_dispatch import BaseTorchDispatchMode, _get_current_dispatch_mode
    >>> with BaseTorchDispatchMode() as mode:
    ...     _get_current_dispatch_mode() is mode
    True
    """
    return next((mode for mode in reversed(tls.dispatch_modes) if is_shown(mode)), None)


def current_modes() -> list[Any]:
    """All modes, innermost last.

    >>> from retrograd.utils._python_dispatch import BaseTorchDispatchMode, _get_current_dispatch_mode_stack
    >>> with BaseTorchDispatchMode() as outer, BaseTorchDispatchMode() as inner:
    ...     _get_current_dispatch_mode_stack() == [outer, inner]
    True
    """
    return [mode for mode in tls.dispatch_modes if is_shown(mode)]


# ---- calling handlers
def through_mode(op: OpDef, args: Sequence[Any], types: tuple[Any, ...] = ()) -> Any:
    """Run the op through the innermost mode."""
    modes = tls.dispatch_modes
    process = getattr(modes[-1], "_process", None)
    if process is not None:
        return process(op, args)
    op, args = number_form(op, args)
    mode = modes.pop()
    was = tls.below
    tls.below = True
    try:
        positional, keywords = as_called(op, args)
        result = mode.__torch_dispatch__(op, types or overriding_types(args), positional, keywords)
        if result is NotImplemented and overriding_arguments(args):
            return through_subclass(op, args)
    finally:
        tls.below = was
        modes.append(mode)
    if result is NotImplemented:
        raise refused_by(op, [f"mode object {mode}"])
    return checked_result(op, result)


def through_subclass(op: OpDef, args: Sequence[Any]) -> Any:
    """Run the op through the arguments that override dispatch, subclasses before their bases."""
    op, args = number_form(op, args)
    overriding = overriding_arguments(args)
    types = tuple([type(t) for t in overriding])
    positional, keywords = as_called(op, args)
    was = tls.below
    tls.below = True
    add_slow_path(1)
    try:
        for t in overriding:
            result = type(t).__torch_dispatch__(op, types, positional, keywords)
            if result is not NotImplemented:
                return checked_result(op, result)
    finally:
        add_slow_path(-1)
        tls.below = was
    raise refused_by(op, [f"tensor subclass {t}" for t in types])


def refused_by(op: OpDef, handlers: list[str]) -> TypeError:
    return TypeError(f"Multiple dispatch failed for 'torch._ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented:"
                     + "".join([f"\n\n  - {handler}" for handler in handlers])
                     + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def checked_result(op: OpDef, result: Any) -> Any:
    """The result of a handler, checked to be a tensor where the schema returns one."""
    if result is None or isinstance(result, Tensor) or op.multiple or op.schema.returns[0].type != "Tensor":
        return result
    raise RuntimeError(f"Unable to cast {result} to Tensor")


def overrides_dispatch(cls: Any) -> bool:
    return cls.__torch_dispatch__ is not disabled_torch_dispatch


def disabled_torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The default `__torch_dispatch__`: run the op without further subclass dispatch."""
    was = tls.dispatch_disabled
    tls.dispatch_disabled = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        tls.dispatch_disabled = was


def overriding_arguments(args: Sequence[Any]) -> list[Any]:
    """One argument of each type that overrides dispatch, in order of precedence."""
    found: list[Any] = []
    for value in args:
        for t in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(t, Tensor) and t._flags & FLAG_SUBCLASS and overrides_dispatch(type(t)):
                if not any([type(other) is type(t) for other in found]):
                    place = next((i for i, other in enumerate(found) if issubclass(type(t), type(other))), len(found))
                    found.insert(place, t)
    return found


def overriding_types(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([type(t) for t in overriding_arguments(args)])


def number_form(op: OpDef, args: Sequence[Any]) -> tuple[Any, ...]:
    """The overload and arguments that PyTorch calls when a number is given for a tensor argument of `op`."""
    if op.numbers or not any([type(args[i]) in NUMBERS for i in op.tensor_args]):
        return op, args
    form = getattr(op.packet, "Scalar", None) if op.overload == "Tensor" else None
    if form is not None:
        if not form._ready:
            form.prepare()
        return form, args
    dtypes = [args[i].dtype for i in op.tensor_args if isinstance(args[i], Tensor)]
    dtype = max(dtypes, key=lambda d: d.category)
    return op, [hooks.scalar_tensor(a, dtype) if i in op.tensor_args and type(a) in NUMBERS else a
                for i, a in enumerate(args)]


NUMBERS = (bool, int, float, complex)


def as_called(op: OpDef, args: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments in schema order as PyTorch passes them on: keyword-only ones by name, without those that are defaults."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    needed = 0
    for param, value in zip(op.schema.params, args, strict=True):
        if param.is_list and isinstance(value, tuple):
            value = list(value)
        if param.kwarg_only:
            if not is_default(param, value):
                keywords[param.name] = value
        else:
            positional.append(value)
            if not is_default(param, value):
                needed = len(positional)
    if tls.task is not None and keywords.get("pin_memory") is False and op.tensor_args:
        del keywords["pin_memory"]            # public functions pass it, formulas do not
    if op.device_arg >= 0 and not op.tensor_args:
        # A factory called from Python always passes device and pin_memory.
        if "device" not in keywords:
            keywords["device"] = CPU
        if any([p.name == "pin_memory" for p in op.schema.params]):
            keywords.setdefault("pin_memory", False)
        keywords = {p.name: keywords[p.name] for p in op.schema.params if p.name in keywords}
    return tuple(positional[:needed]), keywords


def is_default(param: Param, value: Any) -> bool:
    if value is param.default:
        return True
    if isinstance(value, Tensor) or type(value) is list and any([isinstance(v, Tensor) for v in value]):
        return False
    default = param.default
    if type(value) is list and type(default) is tuple:
        default = list(default)
    return type(value) is type(default) and bool(value == default)


# ---- scopes
class Guard:
    """A scope that begins when the object is created and ends with its `with` block or with the object."""

    ended = False

    def begin(self, *args: Any) -> Any:
        """Make the change; return what `end` needs to undo it."""

    def end(self, before: Any) -> None:
        """Undo the change."""

    def __init__(self, *args: Any) -> None:
        self.before = self.begin(*args)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        if not self.ended:
            self.ended = True
            self.end(self.before)

    def __del__(self) -> None:
        if "before" in self.__dict__:
            self.__exit__()


class no_dispatch(Guard):
    """Disable modes and `__torch_dispatch__` within this scope."""

    def begin(self, *args: Any) -> tuple[Any, ...]:
        before = tls.dispatch_modes, tls.dispatch_disabled
        tls.dispatch_modes, tls.dispatch_disabled = [], True
        return before

    def end(self, before: tuple[Any, ...]) -> None:
        tls.dispatch_modes, tls.dispatch_disabled = before


@contextmanager
def disable_current_modes() -> Generator[list[Any], None, None]:
    """Disable the currently active modes within this scope.

    >>> from retrograd.utils._python_dispatch import BaseTorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode
    >>> with BaseTorchDispatchMode(), _disable_current_modes():
    ...     print(_get_current_dispatch_mode())
    None
    """
    modes, shown, tls.dispatch_modes = tls.dispatch_modes, current_modes(), []
    try:
        yield shown
    finally:
        tls.dispatch_modes = modes


@contextmanager
def enable_reentrant_dispatch() -> Generator[None, None, None]:
    """Let autograd record ops again within this scope, inside a handler.

    >>> import retrograd as torch
    >>> class Gradient(torch.utils._python_dispatch.TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         with torch.overrides.enable_reentrant_dispatch():
    ...             x = torch.tensor(3.0, requires_grad=True)
    ...             (x * x).backward()
    ...         return x.grad
    >>> one = torch.ones(1)
    >>> with Gradient():
    ...     one + 1
    tensor(6.)
    """
    was, tls.below = tls.below, False
    try:
        yield
    finally:
        tls.below = was


class SeenDetach(Watcher):
    """Makes the detach of saved outputs visible to modes and subclasses."""

    op: Any = None

    def detach(self, t: Tensor) -> Tensor:
        if t._flags & FLAG_WRAPPER:              # belongs to a transform: modes and subclasses run below all transforms
            twin = new_tensor(t.array)
            twin._flags, twin._extra, twin._counter = t._flags, t._extra, counter_of(t)
            return twin
        if tls.dispatch_modes:
            twin = through_mode(self.op, [t], (Tensor,))
        elif overrides_dispatch(type(t)) and not tls.dispatch_disabled:
            twin = through_subclass(self.op, [t])
        else:
            return alias(t)
        twin._counter = counter_of(t)
        twin._node, twin._requires = None, False
        if t._flags & FLAG_DUAL and twin._extra is None:      # gradients taken at a forward-mode level have tangents too
            twin._flags |= FLAG_DUAL
            twin._extra = t._extra
        return twin


def install_detach(op: OpDef) -> None:
    """Use `op` to save outputs while a mode is on."""
    op.prepare()
    SeenDetach.op = op
    saved.watcher = SeenDetach()


hooks.dispatch_mode = through_mode
hooks.dispatch_subclass = through_subclass
