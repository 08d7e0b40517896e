"""PyTorch as the library that tests/ops/facts.py asks. Needs torch installed."""
from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from typing import Any

import torch

import retrograd
from tests.ops.facts import Library, memory_of

NUMPY = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}      # what stands for them in arrays


class PyTorch(Library):
    """Ops by their names in torch.ops.aten, or else as functions, methods and attributes."""

    def function(self, op: Any) -> Any:
        packet, params = getattr(torch.ops.aten, op.name, None), op.schema.params
        if op.overload in getattr(packet, "overloads", list)() and not any(p.type == "Storage" for p in params):
            found = getattr(packet, op.overload)
            if ["Tensor" in str(a.type) for a in found._schema.arguments] == ["Tensor" in str(p.type) for p in params]:
                return found                  # and no other operator of that name
        if hasattr(torch.Tensor, op.name):
            method = getattr(torch.Tensor, op.name)
            return method if callable(method) else lambda t: getattr(t, op.name)
        for place in (torch, torch.nn.functional, torch.special, torch.linalg):
            if hasattr(place, op.name):
                return getattr(place, op.name)
        raise NotImplementedError(f"PyTorch has no operator aten::{op.name}.{op.overload}")

    def adopt(self, t: Any) -> Any:
        flat, dtype = memory_of(t), getattr(torch, t.dtype.name)
        whole = torch.from_numpy(flat).view(dtype) if flat.size else torch.empty(0, dtype=dtype)
        return whole.as_strided(tuple(t.shape), tuple(t.stride()), t.storage_offset() if t.array.size else 0)

    def argument(self, value: Any) -> Any:
        if isinstance(value, retrograd.Generator):
            return torch.Generator().manual_seed(1)
        if isinstance(value, retrograd.Tensor):
            return self.adopt(value)
        if isinstance(value, retrograd.UntypedStorage):
            return torch.UntypedStorage(value.tolist())
        if repr(value).startswith("torch."):
            return getattr(torch, repr(value).removeprefix("torch."))
        return super().argument(value)

    def array(self, t: Any) -> Any:
        t = t.detach().resolve_conj().resolve_neg()
        return t.to(NUMPY.get(t.dtype, t.dtype)).numpy(force=True)


PYTORCH = PyTorch(torch, torch.autograd.grad, torch.manual_seed)


class Ended(Exception):
    """What stands for the answer to a question that ended the process: a signal, or an exit status."""


def answered(ask: Callable[..., Any], questions: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Each question (a tuple of arguments of `ask`) with its answer, by a child: some end PyTorch's process."""
    pending = [*questions]
    while pending:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                for question in pending:
                    pickle.dump(ask(*question), pipe)
                    pipe.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            for _ in range(len(pending)):
                try:
                    answer = pickle.load(pipe)
                except EOFError:
                    break
                yield pending.pop(0), answer
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if pending:
            yield pending.pop(0), Ended(signal.Signals(-status).name if status < 0 else str(status))
