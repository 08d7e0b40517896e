"""How DebugMode shows tensors, summarises their values and finds the line of the program that made a call."""
from __future__ import annotations

import functools
import os
import re
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.autograd.engine import current_node
from retrograd.compile.fake_tensor import FakeTensor
from retrograd.core.api import TENSOR_METHODS
from retrograd.core.modes import no_dispatch
from retrograd.core.opdef import OpDef
from retrograd.utils._dtype_abbrs import dtype_abbrs
from retrograd.utils._pytree import tree_map
from retrograd.utils._traceback import CapturedTraceback
from retrograd.utils.weak import WeakIdRef

REDISTRIBUTE_FUNC = "redistribute_input"
PACKAGE = os.path.dirname(torch.__file__ or "") + os.path.sep

# What `DebugMode.dispatch_hooks` and its relatives have installed.
_DISPATCH_RECORD_HOOKS: list[Callable[..., Any]] = []
_DISPATCH_LOG_HOOKS: list[Callable[..., Any]] = []
_DISPATCH_PRE_LOG_HOOKS: list[Callable[..., Any]] = []
_RECORD_TRITON_OUTPUTS: bool = False
_TRITON_OUTPUT_HASH_FN: Callable[[Any], Any] | None = None
_TRITON_INPUT_HASH_FN: Callable[[Any], Any] | None = None
_IN_INDUCTOR_BENCHMARK: bool = False


class TensorIdTracker:
    """Numbers for tensors in the order in which they are first shown.

    >>> tracker, x, y = TensorIdTracker(), torch.ones(1), torch.ones(1)
    >>> tracker._id(x), tracker._id(y), tracker._id(x)
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self.tensor_memo: dict[WeakIdRef, int] = {}
        self.next_tensor_id = 0

    def _id(self, tensor: Any) -> int:
        key = WeakIdRef(tensor)
        if key not in self.tensor_memo:
            self.tensor_memo[key] = self.next_tensor_id
            self.next_tensor_id += 1
            weakref.finalize(tensor, self.tensor_memo.pop, key, None)
        return self.tensor_memo[key]


# ---- texts
def _stringify_shape(shape: Any) -> str:
    """
    >>> _stringify_shape(torch.Size([2, 3]))
    '[2, 3]'
    """
    return f"[{', '.join(map(str, shape))}]"


def _stringify_attributes(tensor: Any, attributes: list[str]) -> str:
    found = [f"{name}={getattr(tensor, name)}" for name in attributes if hasattr(tensor, name)]
    return f"{{{', '.join(found)}}}" if found else ""


def _tensor_debug_string(tensor: Any, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> str:
    """
    >>> _tensor_debug_string(torch.ones(2, 3), ["device"])
    't: f32[2, 3]{device=cpu}'
    """
    if not isinstance(tensor, torch.Tensor):
        raise RuntimeError(f"Unsupported tensor type: {type(tensor)}")
    kind = "ft" if isinstance(tensor, FakeTensor) else "t"
    number = "" if tensor_memo is None else f"${tensor_memo._id(tensor)}"
    dtype = dtype_abbrs.get(tensor.dtype, str(tensor.dtype))
    return f"{kind}{number}: {dtype}{_stringify_shape(tensor.shape)}{_stringify_attributes(tensor, attributes)}"


def _arg_to_str(arg: Any, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> str:
    return str(shown(arg, attributes, tensor_memo))


def shown(value: Any, attributes: list[str], tensor_memo: TensorIdTracker | None) -> Any:
    """Values with their tensors replaced by texts."""
    return tree_map(lambda x: _tensor_debug_string(x, attributes, tensor_memo) if isinstance(x, torch.Tensor) else x, value)


def _get_op_name(op: Any) -> str:
    if isinstance(op, OpDef):
        return str(op.__qualname__)  # type: ignore[attr-defined, unused-ignore]
    name = getattr(op, "__name__", None)
    if name and getattr(torch.Tensor, name, None) is op:
        return f"<method {name!r} of 'torch._C.TensorBase' objects>" if name in TENSOR_METHODS else f"torch._tensor.{name}"
    if hasattr(op, "__module__") and hasattr(op, "__name__"):
        return f"{op.__module__}.{op.__name__}"
    return str(op)


# ---- values
def without_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose own ops no mode sees."""
    @functools.wraps(function)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        with no_dispatch():
            return function(*args, **kwargs)
    return hidden


@without_modes
def norm_hash_fn(t: Any, use_scalar: bool = False) -> Any:
    """The sum of the absolute values of a tensor, in double precision.

    >>> norm_hash_fn(torch.tensor([1, -2]), use_scalar=True)
    3.0
    """
    if not (t.is_floating_point() or t.is_complex()):
        t = t.float()
    norm = t.contiguous().to(torch.complex128 if t.is_complex() else torch.float64).norm(p=1)
    return norm.item() if use_scalar else norm


@without_modes
def hash_tensor_fn(t: Any, use_scalar: bool = False) -> Any:
    """`torch.hash_tensor` of a tensor's values in the widest dtype of their kind.

    >>> hash_tensor_fn(torch.tensor([3, 5]), use_scalar=True)
    6
    """
    if t.is_complex():
        t = t.to(torch.complex128).view(torch.float64)
    else:
        t = t.to(torch.float64 if t.is_floating_point() else torch.int64)
    found = torch.hash_tensor(t) if t.numel() else torch.zeros((), dtype=torch.uint64)
    return found.item() if use_scalar else found


def _compute_rel_diff(hash1: Any, hash2: Any) -> Any:
    return abs(hash1 - hash2) / max(abs(hash1), abs(hash2), 1e-10)


# ---- places in the program
def _get_stack_trace() -> str:
    """The stack of the program at this place, without the frames of the library's dispatch."""
    frames = [frame for frame in CapturedTraceback.extract().summary()
              if not frame.filename.startswith((PACKAGE + "utils/_debug_mode", PACKAGE + "core"))]
    return "".join(traceback.StackSummary.from_list(frames).format())


def _maybe_get_autograd_trace() -> str | None:
    """In a backward pass, the stack of the forward call whose node runs."""
    node = current_node()
    lines = None if node is None else node.metadata.get("traceback_")
    return "".join(lines) if lines else None


FRAME = re.compile(r'^\s*File "(.+)", line (\d+), in (.+)\n\s*(.+)$', re.MULTILINE)


def _get_user_stack_trace(stack_trace_str: str) -> str | None:
    """The innermost frame of a stack that is outside of the library.

    >>> _get_user_stack_trace('  File "train.py", line 3, in step' + chr(10) + '    loss = f(x)' + chr(10))
    'File: train.py:3 in step, code: loss = f(x)'
    """
    frames = [frame for frame in FRAME.findall(stack_trace_str) if not frame[0].startswith(PACKAGE)]
    if not frames:
        return None
    file, line, name, code = frames[-1]
    return f"File: {file}:{line} in {name}, code: {code}"


# ---- hooks
def _run_hook(hook: Callable[..., Any], *args: Any) -> dict[str, Any]:
    found = hook(*args)
    if found is not None and not isinstance(found, dict):
        raise AssertionError(f"hook must return None or dict, got {type(found).__name__}")
    return found or {}


def _run_dispatch_pre_log_hooks(call: Any, func: Any, types: Any, args: Any, kwargs: Any) -> None:
    for hook in _DISPATCH_PRE_LOG_HOOKS:
        found = _run_hook(hook, func, types, args, kwargs, call)
        if found:
            call.log = {**(call.log or {}), **found}


def _run_dispatch_hooks(call: Any, func: Any, types: Any, args: Any, kwargs: Any, result: Any) -> None:
    for hooks, name in ((_DISPATCH_RECORD_HOOKS, "record"), (_DISPATCH_LOG_HOOKS, "log")):
        for hook in hooks:
            found = _run_hook(hook, func, types, args, kwargs, result)
            if found:
                setattr(call, name, {**(getattr(call, name) or {}), **found})
