"""The records of DebugMode: calls of ops, annotations, and calls that packages for other devices report."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import retrograd as torch
from retrograd.utils._debug_mode import _utils
from retrograd.utils._debug_mode._utils import (
    REDISTRIBUTE_FUNC,
    TensorIdTracker,
    _arg_to_str,
    _get_op_name,
    _get_stack_trace,
    _maybe_get_autograd_trace,
)
from retrograd.utils._pytree import tree_all, tree_map


class _DebugCall:
    """One line of the text, at a depth of calls."""

    def __init__(self, call_depth: int, record: dict[str, Any] | None = None, log: dict[str, Any] | None = None,
                 stack: bool = False) -> None:
        self.call_depth, self.record, self.log = call_depth, record, log
        self.output_str: str | None = None
        if stack:
            self.stack_trace: str | None = _get_stack_trace()
            self.fwd_stack_trace = _maybe_get_autograd_trace()

    def stringify_args(self, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> None:
        """Replace the arguments by their text, so that the record keeps no tensor alive."""
        raise NotImplementedError("Subclasses must implement stringify_args(), even if no-op")

    def stringify_output(self, output: Any, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> None:
        """Keep the text of the result."""
        if not tree_all(lambda x: x is None, output):
            self.output_str = f"  ->  {tree_map(lambda x: _arg_to_str(x, attributes, tensor_memo), output)}"

    def render(self, attributes: list[str]) -> str:
        raise NotImplementedError("Subclasses must implement string render()")

    def __repr__(self) -> str:
        return self.render([])


class _OpCall(_DebugCall):
    """A call of an op or a function."""

    def __init__(self, op: Any, args: Any, kwargs: dict[str, Any], call_depth: int, stack: bool = False) -> None:
        super().__init__(call_depth, stack=stack)
        self.op, self.args, self.kwargs = op, args, kwargs
        self.args_str: str | None = None
        self.kwargs_str: str | None = None

    def texts(self, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> tuple[str, str]:
        """The texts of the arguments by position and by name."""
        named = "".join([f", {name}={_arg_to_str(value, attributes, tensor_memo)}" for name, value in self.kwargs.items()])
        return ", ".join([_arg_to_str(arg, attributes, tensor_memo) for arg in self.args]), named

    def stringify_args(self, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> None:
        self.args_str, self.kwargs_str = self.texts(attributes, tensor_memo)
        del self.args, self.kwargs

    def render(self, attributes: list[str]) -> str:
        positional, named = self.texts(attributes) if self.args_str is None else (self.args_str, self.kwargs_str)
        return (f"{_get_op_name(self.op)}({positional}{named}){self.output_str or ''}"
                + (f"  # {self.log}" if self.log else ""))

    def __iter__(self) -> Iterator[Any]:
        if self.args_str is None:
            return iter((self.op, self.args, self.kwargs, self.call_depth))
        return iter((self.op, self.args_str, self.kwargs_str, self.call_depth))


class _AnnotateCall(_DebugCall):
    """A remark: of `DebugMode._annotate`, a named range, or a module that is entered."""

    def __init__(self, tag: Any, header: str, call_depth: int, stack: bool = False) -> None:
        super().__init__(call_depth, stack=stack)
        self.tag, self.header = tag, header

    def render(self, attributes: list[str]) -> str:
        return f"[{self.header}] {self.tag}"

    def __iter__(self) -> Iterator[Any]:
        return iter((self.render([]), (), {}, self.call_depth))


class _RedistributeCall(_DebugCall):
    """A sharded tensor that gets other placements; reported by `record_redistribute_calls`."""

    def __init__(self, arg: Any, src_placement: Any, dst_placement: Any, transform_info_str: str | None, call_depth: int,
                 stack: bool = False, is_explicit: bool = False) -> None:
        super().__init__(call_depth, stack=stack)
        self.arg, self.src_placement, self.dst_placement = arg, src_placement, dst_placement
        self.transform_info_str, self.is_explicit = transform_info_str, is_explicit
        self.is_outer_call = isinstance(arg, int)
        self.arg_str: str | None = None

    def stringify_args(self, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> None:
        self.arg_str = _arg_to_str(self.arg, attributes, tensor_memo)
        del self.arg

    def render(self, attributes: list[str]) -> str:
        arg = _arg_to_str(self.arg, attributes) if self.arg_str is None else self.arg_str
        if self.transform_info_str is not None:
            change = f"trace: {self.transform_info_str}"
        else:
            change = " -> ".join([_arg_to_str(place, attributes) for place in (self.src_placement, self.dst_placement)])
        kind = " [implicit] " if self.is_outer_call else " [explicit] " if self.is_explicit else ""
        return f"{REDISTRIBUTE_FUNC}{kind}({arg}, {change}){self.output_str or ''}"

    def __iter__(self) -> Iterator[Any]:
        arg = self.arg if self.arg_str is None else self.arg_str
        change = [self.transform_info_str] if self.transform_info_str else [self.src_placement, self.dst_placement]
        return iter((REDISTRIBUTE_FUNC, [arg, *change], {}, self.call_depth))


class _OutputPlacementCall(_DebugCall):
    """The placements of the result of a sharded op; reported by `record_output_placements`."""

    def __init__(self, placements_str: str, call_depth: int) -> None:
        super().__init__(call_depth)
        self.placements_str = placements_str

    def stringify_args(self, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> None:
        """Do nothing: there is a text already."""

    def render(self, attributes: list[str]) -> str:
        return f"-> output: {self.placements_str}"


class _TritonKernelCall(_DebugCall):
    """A launch of a generated kernel; reported by `record_triton_kernel`, and `finalize`d when it is done."""

    def __init__(self, kernel_name: str, kwargs: dict[str, Any], call_depth: int) -> None:
        super().__init__(call_depth)
        self.kernel_name, self.kwargs = kernel_name, kwargs
        self.kwargs_str: str | None = None
        self.pre_hashes: dict[str, Any] | None = None
        self.post_hashes: dict[str, Any] | None = None

    def hashes(self, function: Any) -> dict[str, Any] | None:
        if function is None:
            return None
        return {name: function(value) for name, value in self.kwargs.items() if isinstance(value, torch.Tensor)}

    def stringify_args(self, attributes: list[str], tensor_memo: TensorIdTracker | None = None) -> None:
        self.pre_hashes = self.hashes(_utils._TRITON_INPUT_HASH_FN)
        self.kwargs_str = ", ".join([f"{name}={_arg_to_str(value, attributes, tensor_memo)}"
                                     for name, value in self.kwargs.items()])

    def render(self, attributes: list[str]) -> str:
        text = f"[triton] {self.kernel_name}({self.kwargs_str})"
        for when, hashes in (("pre", self.pre_hashes), ("post", self.post_hashes)):
            if hashes:
                found = ", ".join([f"{name}: {value}" for name, value in hashes.items()])
                text += "\n  " + "  " * self.call_depth + f"# {when}-kernel hashes: {{{found}}}"
        return text + "\n"

    def finalize(self, device_interface: Any) -> None:
        """Wait for the kernel and keep what the hooks ask for."""
        device_interface.synchronize(device_interface.current_device())
        if _utils._RECORD_TRITON_OUTPUTS:
            self.record = {"output": {name: value.clone() if isinstance(value, torch.Tensor) else value
                                      for name, value in self.kwargs.items()}}
        self.post_hashes = self.hashes(_utils._TRITON_OUTPUT_HASH_FN)
        del self.kwargs

    def __iter__(self) -> Iterator[Any]:
        return iter((self.kernel_name, (), self.kwargs_str, self.call_depth))


def _get_call_name(call: _DebugCall) -> str:
    """What was called."""
    if isinstance(call, _OpCall):
        return _get_op_name(call.op)
    if isinstance(call, _TritonKernelCall):
        return call.kernel_name
    if isinstance(call, _RedistributeCall):
        return REDISTRIBUTE_FUNC
    return str(call)
