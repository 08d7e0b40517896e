"""Forward-mode automatic differentiation: tensors that carry a tangent, inside a `dual_level`.

    >>> import retrograd as torch
    >>> with dual_level():
    ...     x = make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    ...     unpack_dual(x * x).tangent
    tensor([ 2., 40.])
"""
from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from retrograd.autograd.grad_mode import _Scope
from retrograd.core import forward
from retrograd.core.dispatch import below
from retrograd.core.forward import levels, tangent_of
from retrograd.core.graph import Node, connect, describe_outputs, set_history
from retrograd.core.hooks import hooks
from retrograd.core.record import record
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_DUAL, FLAG_INFERENCE, FLAG_SUBCLASS, FLAG_WRAPPER, Tensor, new_tensor, wants_grad
from retrograd.core.views import mark_view
from retrograd.ops.memory.copy import alias
from retrograd.ops.views.shape import view

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current_level = -1
_inner: Any = None                    # the level and its scope, if it was opened inside a grad transform


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor, as `unpack_dual` returns them.

    >>> import retrograd as torch
    >>> with dual_level():
    ...     primal, tangent = unpack_dual(make_dual(torch.tensor([2.0]), torch.tensor([1.0])))
    >>> primal, tangent
    (tensor([2.]), tensor([1.]))
    """

    primal: Any
    tangent: Any


# ---- levels
def enter_dual_level() -> int:
    """Open a forward-mode level; `exit_dual_level` closes it.

    >>> enter_dual_level()
    0
    >>> exit_dual_level(level=0)
    """
    global _current_level, _inner
    if _current_level >= 0 or any([level.is_forward for level in tls.transforms]):
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    scope = hooks.inner_forward_level() if tls.transforms else None
    if scope is None:
        levels.current = 0
    else:
        _inner = scope.__enter__(), scope
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: all tensors lose their tangents.

    >>> import retrograd as torch
    >>> level = enter_dual_level()
    >>> x = make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
    >>> exit_dual_level()
    >>> with dual_level(): unpack_dual(x).tangent is None
    True
    """
    global _current_level, _inner
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not "
                           "supported.")
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if _inner is not None and (not tls.transforms or tls.transforms[-1] is not _inner[0]):
        raise RuntimeError("Trying to exit a forward AD level inside of a transform that was opened in it, or outside of the "
                           "one that it was opened in. This is not supported.")
    _current_level = -1
    if _inner is None:
        levels.close()
    else:
        (_, scope), _inner = _inner, None
        scope.__exit__(None, None, None)


class dual_level(_Scope):
    """Open a level: within this scope `make_dual` attaches tangents and ops propagate them.

    >>> with dual_level() as level: level
    0
    """

    __slots__ = ()

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        exit_dual_level()


class set_fwd_grad_enabled(_Scope):
    """Switch forward mode immediately; a `with` block or a decorated function restores the previous setting.

    >>> with set_fwd_grad_enabled(False): is_fwd_grad_enabled()
    False
    """

    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = tls.fwd_grad_enabled
        tls.fwd_grad_enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: type[BaseException] | None, exc_value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        tls.fwd_grad_enabled = self.prev

    def clone(self) -> set_fwd_grad_enabled:
        """A new scope with the same mode, which takes effect at once."""
        return type(self)(self.mode)


def is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed in this thread.

    >>> is_fwd_grad_enabled()
    True
    """
    enabled: bool = tls.fwd_grad_enabled
    return enabled


_set_fwd_grad_enabled = set_fwd_grad_enabled
_is_fwd_grad_enabled = is_fwd_grad_enabled


# ---- dual tensors
class Identity(Node):
    """The node of an unpacked primal: gradients pass through it as they are."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::Identity"

    def _run_(self, grads: Any, needed: Any) -> Any:
        return [grads[0]]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, the same object if its layout is that of `tensor`.

    >>> import retrograd as torch
    >>> with dual_level():
    ...     x = make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
    ...     unpack_dual(x ** 3).tangent
    tensor([12.])
    """
    if level is None:
        level = _current_level
    if level < 0:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    check_floating("primal", tensor)
    check_floating("tangent", tangent)
    if level != 0:
        raise RuntimeError("Invalid level given to _make_dual")
    if _inner is not None:
        return hooks.inner_dual(tensor, tangent, _inner[0])
    if tensor._flags & FLAG_WRAPPER:
        return hooks.batched_dual(make_dual, tensor, tangent)
    if tensor._flags & FLAG_DUAL and tangent_of(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
                           f"{level} is not supported.")
    dual = alias_of(tensor)
    if wants_grad(tensor) and tls.grad_enabled and not tensor._flags & FLAG_INFERENCE:
        shape = tensor.array.shape
        set_node(dual, record(view, [tensor, shape], 1, False))
    forward.give_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, as a view without tangent, and its tangent (None if it has none).

    >>> import retrograd as torch
    >>> with dual_level():
    ...     unpack_dual(torch.tensor([2.0]))
    UnpackedDualTensor(primal=tensor([2.]), tangent=None)
    """
    if level is None:
        level = _current_level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if level != 0:
        raise RuntimeError("Invalid level given to _fw_primal")
    if _inner is not None:
        return UnpackedDualTensor(*hooks.inner_undual(tensor, _inner[0]))
    if tensor._flags & FLAG_WRAPPER:
        return UnpackedDualTensor(*hooks.batched_undual(unpack_dual, tensor))
    tangent = tangent_of(tensor)
    primal = alias_of(tensor)
    if wants_grad(tensor) and tls.grad_enabled and not tensor._flags & FLAG_INFERENCE:
        node = Identity()
        connect(node, [tensor])
        set_node(primal, node)
    return UnpackedDualTensor(primal, tangent)


def check_floating(role: str, t: Tensor) -> None:
    if type(t) is Tensor and t.array.dtype.kind in "fc":
        return
    if not t.is_floating_point() and not t.is_complex():
        raise ValueError(f"Expected {role} to be floating point or complex, but got: {t.dtype}")


def alias_of(t: Tensor) -> Tensor:
    """A view of all of `t` that shares no tangent with it."""
    if t._flags & FLAG_SUBCLASS or (switches.any_mode and tls.dispatch_modes):
        twin = below(alias, [t])
    else:
        twin = new_tensor(t.array)
        twin._flags = t._flags & ~FLAG_DUAL
    if not t._flags & FLAG_INFERENCE:
        mark_view(None, None, t, twin)
        twin._view.op = forward.Boundary(twin)
    return twin


def set_node(t: Tensor, node: Node) -> None:
    describe_outputs(node, (t,))
    set_history(t, node, 0)
