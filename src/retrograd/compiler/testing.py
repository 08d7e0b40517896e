"""Backends and functions that tests of compiled programs use: they count graphs, keep them, or make their text comparable."""
from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import retrograd as torch
from retrograd.compile import compiled_autograd, state
from retrograd.compile.api import backward_compiler
from retrograd.compile.backends import aot_eager, compile_graph, find_backend


class CompileCounter:
    """A backend that runs graphs as they are and counts them and their ops.

    >>> import retrograd as torch
    >>> counter = CompileCounter()
    >>> torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.zeros(1))
    tensor([1.])
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.clear()

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.count(gm)
        return gm.forward

    def count(self, gm: Any) -> None:
        self.frame_count += 1
        self.op_count += sum(["call" in node.op for node in gm.graph.nodes])
        self.graphs.append(gm)

    def clear(self) -> None:
        self.frame_count = self.op_count = 0
        self.graphs.clear()


class CompileCounterWithBackend(CompileCounter):
    """A backend that counts graphs and gives them to another one, which has a name."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.count(gm)
        return find_backend(self.backend)(gm, example_inputs)


class EagerAndRecordGraphs:
    """A backend that keeps the graphs, and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.example_inputs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        self.example_inputs.append(example_inputs)
        return gm.forward


class AotEagerAndRecordGraphs(EagerAndRecordGraphs):
    """A backend that keeps the graphs; their ops are below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.fw_graphs = self.graphs
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        super().__call__(gm, example_inputs)
        return aot_eager(gm, example_inputs)


class InductorAndRecordGraphs(EagerAndRecordGraphs):
    """A backend that keeps the graphs, and compiles them."""

    def __init__(self) -> None:
        super().__init__()
        self.inductor_graphs = self.graphs

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        super().__call__(gm, example_inputs)
        return compile_graph(gm, example_inputs)


def remove_trailing_space(code: str) -> str:
    """A text without spaces at the ends of lines.

    >>> remove_trailing_space("a  \\nb")
    'a\\nb'
    """
    return "\n".join([line.rstrip() for line in code.split("\n")])


def normalize_gm(gm_str: str) -> str:
    """The text of a graph without comments, and with a string for docstrings, so that it can be compared.

    >>> print(normalize_gm("# File: x\\na = 1  # why"))
    a = 1
    """
    lines = [re.sub(r"\s*#.*$", "", line) for line in gm_str.split("\n")]
    return remove_trailing_space("\n".join([line for line, before in zip(lines, gm_str.split("\n"), strict=True)
                                            if line.strip() or not before.strip()]))


def same(ref: Any, res: Any, fp64_ref: Any = None, cos_similarity: bool = False, tol: float = 1e-4, equal_nan: bool = False,
         **options: Any) -> bool:
    """Whether two results are the same up to rounding.

    >>> import retrograd as torch
    >>> same([torch.ones(2)], [torch.ones(2)]), same(torch.ones(2), torch.zeros(2))
    (True, False)
    """
    if isinstance(ref, torch.Tensor):
        return isinstance(res, torch.Tensor) and ref.shape == res.shape and ref.dtype == res.dtype and bool(
            torch.allclose(ref, res, atol=tol, rtol=tol, equal_nan=equal_nan))
    if isinstance(ref, dict):
        return isinstance(res, dict) and ref.keys() == res.keys() and all([
            same(ref[key], res[key], None, cos_similarity, tol, equal_nan) for key in ref])
    if isinstance(ref, list | tuple):
        return len(ref) == len(res) and all([same(a, b, None, cos_similarity, tol, equal_nan)
                                             for a, b in zip(ref, res, strict=True)])
    return bool(ref == res)


def rand_strided(size: Any, stride: Any, dtype: Any = torch.float32, device: Any = "cpu", extra_size: int = 0) -> Any:
    """A random tensor with the given strides.

    >>> rand_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    needed = 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]) + extra_size if all(size) else extra_size
    flat = torch.randn(needed, dtype=dtype, device=device) if dtype.is_floating_point else torch.randint(
        0, 2, (needed,), dtype=dtype, device=device)
    return torch.as_strided(flat, tuple(size), tuple(stride))


def maybe_enable_compiled_autograd(should_enable: bool, fullgraph: bool = True, dynamic: bool = True
                                   ) -> AbstractContextManager[None]:
    """A scope in which backward passes are captured and compiled, if `should_enable`.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with maybe_enable_compiled_autograd(False):
    ...     x.sum().backward()
    """
    if not should_enable:
        return nullcontext()
    return compiled_autograd.enable(backward_compiler("eager", fullgraph, dynamic), dynamic)


def clear_counters() -> None:
    """Set all counters back."""
    state.counters.clear()
