"""Graph breaks: PyTorch's texts for their reasons, and the operations that read a tensor's value."""
from __future__ import annotations

import dis
import sys
from typing import Any, NamedTuple

PRINT = "Failed to trace builtin operator\n  Explanation: a graph cannot hold a call of `print`."
BACKWARD = "Unsupported Tensor.backward() call\n  Explanation: a backward pass has graphs of its own."
BRANCH = ("Data-dependent branching\n  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`): {op}\n"
          "  Hint: Use `torch.cond` or `torch.where`.")
ITEM = ("Unsupported Tensor.item() call with capture_scalar_outputs=False\n  Explanation: the program asks for the value of a "
        "tensor: {op}")


def user_break(message: str) -> str:
    return f"Call to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break. Message: {message or None}"


def skipped_frame(message: str) -> str:
    return f"Call to `torch._dynamo.skip_frame()`\n  Explanation: User-inserted skip frame. Message: {message}"


def skipped(function: str) -> str:
    return ("Attempted to call function marked as skipped\n  Explanation: Dynamo developers have intentionally marked that the "
            f"function `{function}` should not be traced.")


def left_out(function: Any, reason: str | None) -> str:
    return ("Skip calling `torch.compiler.disable()`d function\n  Explanation: Skip calling function "
            f"`{function}` since it was wrapped with `torch.compiler.disable` (reason: {reason})")


class GraphCompileReason(NamedTuple):
    """The reason of a graph break and its place in the program."""

    reason: str
    user_stack: list[Any]
    graph_break: bool = True


HOME = __file__.rpartition("/compile/")[0]
BRANCHES = {number for name, number in dis.opmap.items() if "JUMP" in name or name in ("UNARY_NOT", "TO_BOOL")}
COMPARE_OP = dis.opmap["COMPARE_OP"]
TO_BOOL_FLAG = 16 if sys.version_info >= (3, 13) else 0       # in the argument of a comparison that a branch follows


def is_branch() -> bool:
    """Whether the program's innermost frame reads the value at a branch instruction."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HOME):
        frame = frame.f_back
    if frame is None:
        return False
    code, place = frame.f_code.co_code, frame.f_lasti
    return code[place] in BRANCHES or code[place] == COMPARE_OP and code[place + 1] & TO_BOOL_FLAG != 0
