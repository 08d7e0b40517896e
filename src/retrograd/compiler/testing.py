"""Backends and functions that tests of compiled programs use: they count graphs, keep them, or make their text comparable."""
from __future__ import annotations

import random
import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy

import retrograd as torch
from retrograd.compile import compiled_autograd, state
from retrograd.compile.api import backward_compiler, compiled
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


def reduce_to_scalar_loss(out: Any) -> Any:
    """A number that depends on everything in a result, to go backward from.

    >>> import retrograd as torch
    >>> reduce_to_scalar_loss([torch.ones(2), {"a": torch.ones(1)}])
    tensor(1.)
    """
    if isinstance(out, torch.Tensor):
        return out.sum() / out.numel()
    if isinstance(out, dict):
        out = list(out.values())
    if isinstance(out, list | tuple):
        return sum([reduce_to_scalar_loss(item) for item in out]) / len(out)
    raise NotImplementedError("Don't know how to reduce", type(out))


def requires_bwd_pass(out: Any) -> bool:
    """Whether something in a result requires grad.

    >>> import retrograd as torch
    >>> requires_bwd_pass((None, torch.ones(1, requires_grad=True)))
    True
    """
    if isinstance(out, torch.Tensor):
        return out.requires_grad
    if isinstance(out, list | tuple):
        return any([requires_bwd_pass(item) for item in out])
    if out is None or isinstance(out, int):
        return False
    raise NotImplementedError("Don't know how to reduce", type(out))


def clone_me(x: Any) -> Any:
    """A copy of a tensor without history that requires grad if the tensor does; None for None.

    >>> import retrograd as torch
    >>> clone_me(torch.ones(1, requires_grad=True)).is_leaf
    True
    """
    return None if x is None else x.detach().clone().requires_grad_(x.requires_grad)


def reset_rng_state(use_xla: bool = False) -> None:
    """Set all random number generators to the same place."""
    torch.manual_seed(1337)
    random.seed(1337)
    numpy.random.seed(1337)


def collect_results(model: Any, prediction: Any, loss: Any, example_inputs: Any) -> list[Any]:
    """What a training step gave: prediction, loss, gradients and buffers of the model, gradients of the inputs."""
    results = [prediction, loss]
    grads = {f"{name}.grad": clone_me(p.grad) for name, p in model.named_parameters() if p.grad is not None}
    params = {name: clone_me(p) for name, p in model.named_parameters()}
    results += [grads, params, {name: clone_me(b) for name, b in model.named_buffers()}]
    for item in example_inputs.values() if isinstance(example_inputs, dict) else example_inputs:
        if isinstance(item, list | tuple):
            results.extend([inner.grad for inner in item if isinstance(inner, torch.Tensor)])
        elif isinstance(item, torch.Tensor):
            results.append(item.grad)
    return results


def extract_graph(fn: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[Any], list[Any]]:
    """The result of a function, and the graphs that it is compiled to, twice: as captured and below autograd.

    >>> import retrograd as torch
    >>> result, graphs, _ = extract_graph(torch.sin, torch.zeros(1))
    >>> result.tolist(), len(graphs)
    ([0.0], 1)
    """
    backend = AotEagerAndRecordGraphs()
    result = compiled(fn, backend, False, None, None)(*args, **kwargs)
    return result, backend.graphs, backend.fw_graphs


def strip_comment(code: str) -> str:
    """A text without comments.

    >>> strip_comment("a = 1  # one")
    'a = 1'
    """
    return "\n".join([re.sub(r"\s*#.*$", "", line) for line in code.split("\n")])


def empty_line_normalizer(code: str) -> str:
    """A text without empty lines.

    >>> empty_line_normalizer("a\\n\\n\\nb")
    'a\\nb'
    """
    return re.sub(r"[\r\n]+", "\n", code)


def remove_optimized_module_prefix(name: str) -> str:
    """The name of a parameter of a compiled module as it is in the module itself.

    >>> remove_optimized_module_prefix("_orig_mod.weight")
    'weight'
    """
    return name.removeprefix("_orig_mod.")


def clear_counters() -> None:
    """Set all counters back."""
    state.counters.clear()
