"""What `checkpoint(..., debug=True)` reports: the operators of both runs, with the places that called them."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any
from weakref import ref

from retrograd import Tensor
from retrograd.utils._checkpoint_recompute import CheckpointError
from retrograd.utils._python_dispatch import TorchDispatchMode

SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
         "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "b8"}


class Log(TorchDispatchMode):
    """Writes down every operator that runs, and from where it was called."""

    def __init__(self, run: str) -> None:
        super().__init__()
        self.run = run
        self.operators: list[str] = []
        self.stacks: list[str] = []
        self.numbers: dict[int, tuple[Any, int]] = {}      # id -> weak reference and number, for ids are used again
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        shown = [self.show(a) for a in args] + [f"{name}={self.show(value)}" for name, value in kwargs.items()]
        out = func(*args, **kwargs)
        results = out if isinstance(out, (list, tuple)) else (out,)
        names = ", ".join([self.name(t) for t in results if isinstance(t, Tensor)])
        self.operators.append(f"{names} = torch._ops.{func}({', '.join(shown)})")
        self.stacks.append("".join(traceback.format_list(traceback.extract_stack()[:-1])))
        return out

    def number(self, t: Tensor) -> str:
        known = self.numbers.get(id(t))
        if known is None or known[0]() is not t:
            known = self.numbers[id(t)] = (ref(t), self.count)
            self.count += 1
        return f"${known[1]}"

    def name(self, t: Tensor) -> str:
        dtype = str(t.dtype).removeprefix("torch.")
        return f"{self.number(t)}: {SHORT.get(dtype, dtype)}{list(t.shape)}"

    def show(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.number(value)
        if isinstance(value, (list, tuple)):
            return str([self.show(item) for item in value])
        return repr(value)

    def with_stacks(self) -> str:
        total = len(self.operators)
        return "\n\n".join([f"{line}   ({i} of {total} in {self.run})\n\n{stack}"
                            for i, (line, stack) in enumerate(zip(self.operators, self.stacks, strict=True), 1)])


def debug_contexts() -> tuple[Callable[[], tuple[Any, Any]], Callable[[Any], None]]:
    """A `context_fn` that logs both runs, and what to do with an error while unpacking: raise one that shows the logs."""
    original, again = Log("original"), Log("recompute")

    def explain(error: Any) -> None:
        raise CheckpointError(REPORT.format(
            original_stacks=original.with_stacks(), again_stacks=again.with_stacks(),
            original="\n".join(original.operators), again="\n".join(again.operators), error=error)) from error

    return lambda: (original, again), explain


LINE = "+" + "-" * 78 + "+"
REPORT = f""" An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
The end of this message says how to read them.

{LINE}
|  1. Stack traces of the operators that ran in the original forward           |
{LINE}

{{original_stacks}}

{LINE}
|  2. Stack traces of the operators that ran during recomputation              |
{LINE}

{{again_stacks}}

{LINE}
|  3. Log of operators in the original forward and recomputation               |
{LINE}
(Recomputation makes "detach" calls of its own: those differences mean nothing.)

Operations executed during the original forward:

{{original}}

Operations executed during recomputation:

{{again}}

{LINE}
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 the tensors saved during recomputation are not those saved in the original
 forward. Different operators may have run: look in part 3 for the first one
 that differs, and in parts 1 and 2 for where it was called.

 {{error}}
"""
