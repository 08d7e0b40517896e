"""What programs say to and ask of the compiler, under PyTorch's names."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

import retrograd as torch
from retrograd.compile import backends, breaks
from retrograd.compile import compile as compile_function
from retrograd.compile import state as _state
from retrograd.compile.api import OptimizedModule, compiled
from retrograd.compile.backends import (
    aot_eager,
    compile_graph,
    eager,
    find_backend,
    list_backends,
    register_backend,
)
from retrograd.compile.deferred import fused_source
from retrograd.compile.errors import BackendCompilerFailed, InvalidBackend, Unsupported
from retrograd.compile.recorder import recorders
from retrograd.compile.state import counters, set_logs
from retrograd.utils import _pytree as pytree

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain",
           "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "nested_compile_region", "reset", "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy"]

config = _state.config
aot_ids: Iterator[int] = itertools.count()


def compile(*args: Any, **kwargs: Any) -> Any:
    """The same as `retrograd.compile`."""
    return compile_function(*args, **kwargs)


def reset() -> None:
    """Forget all compiled graphs, counters excepted.

    >>> reset()
    """
    _state.reset()


_is_compiling_flag = _is_exporting_flag = False


@contextmanager
def _compiling_state_context() -> Iterator[None]:
    """Say that a program is being exported, which is a kind of compiling."""
    global _is_compiling_flag, _is_exporting_flag
    before = _is_compiling_flag, _is_exporting_flag
    _is_compiling_flag = _is_exporting_flag = True
    try:
        yield
    finally:
        _is_compiling_flag, _is_exporting_flag = before


def is_compiling() -> bool:
    """Whether the code that asks runs in a compiled function or is being exported.

    >>> is_compiling(), compile(lambda: is_compiling())()
    (False, True)
    """
    return _is_compiling_flag or _state.inside.depth > 0


def is_dynamo_compiling() -> bool:
    """Whether the code that asks runs in a compiled function.

    >>> is_dynamo_compiling()
    False
    """
    return _state.inside.depth > 0


def is_exporting() -> bool:
    """Whether the code that asks is being exported.

    >>> is_exporting()
    False
    """
    return _is_exporting_flag


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """Leave a function out of compiled functions that call it; also a decorator.

    >>> import retrograd as torch
    >>> @torch.compiler.disable
    ... def log(x):
    ...     return x.tolist()
    >>> torch.compile(lambda x: log(x + 1))(torch.ones(2))
    [2.0, 2.0]
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    if isinstance(fn, torch.nn.Module):
        fn.__dict__["forward"] = disable(fn.forward)
        return fn
    function = getattr(fn, "_torchdynamo_orig_callable", fn)

    @functools.wraps(function)
    def left_out(*args: Any, **kwargs: Any) -> Any:
        recorder = recorders.current()
        depth, _state.inside.depth = _state.inside.depth, 0
        try:
            if recorder is None or not recorder.recording:
                return function(*args, **kwargs)
            with recorder.suspended(breaks.left_out(function, reason)):
                return function(*args, **kwargs)
        finally:
            _state.inside.depth = depth
    left_out._torchdynamo_disable = True          # type: ignore[attr-defined]
    left_out._torchdynamo_disable_recursive = recursive       # type: ignore[attr-defined]
    left_out._torchdynamo_disable_msg = reason    # type: ignore[attr-defined]
    left_out._torchdynamo_orig_callable = function      # type: ignore[attr-defined]
    return left_out


_disable_dynamo = disable


def graph_break(msg: str = "") -> None:
    """End the graph here."""
    recorder = recorders.current()
    if recorder is not None and recorder.recording:
        recorder.break_graph(breaks.user_break(msg))


def allow_in_graph(fn: Any) -> Any:
    """Declare that a function may be in a graph: every one may.

    >>> allow_in_graph(abs) is abs
    True
    """
    return [allow_in_graph(each) for each in fn] if isinstance(fn, list | tuple) else fn


def assume_constant_result(fn: Any) -> Any:
    """Declare that a function returns the same value every time; it is called all the same."""
    return fn


def substitute_in_graph(original_fn: Any, *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False) -> Any:
    """A decorator that changes nothing: it offers a tracer another function in place of `original_fn`, which is run here."""
    return lambda function: function


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself, whose ops are part of the graph around it; also a decorator with arguments."""
    return fn if fn is not None else lambda function: function


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as a function of tensors.

    >>> import numpy, retrograd as torch
    >>> wrap_numpy(lambda x: numpy.sort(x))(torch.tensor([2, 1]))
    tensor([1, 2])
    """
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda x: x.numpy(), (args, kwargs))
        return pytree.tree_map_only(numpy.ndarray, torch.as_tensor, fn(*args, **kwargs))
    return wrapped


def set_default_backend(backend: Any) -> None:
    """Choose the backend that `compile` takes if it is not told one."""
    backends.default.backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """The backend that `compile` takes if it is not told one.

    >>> get_default_backend()
    'inductor'
    """
    return backends.default.backend


def cudagraph_mark_step_begin() -> None:
    """Tell CUDA graphs, of which there are none, that another step begins.

    >>> cudagraph_mark_step_begin()
    """


class set_stance:
    """How compiled functions behave from now on, or in a scope: "default" or "force_eager" (as if they were not compiled).

    >>> import retrograd as torch
    >>> with torch.compiler.set_stance("force_eager"):
    ...     torch.compile(lambda x: x + 1)(torch.ones(1))
    tensor([2.])
    """

    STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "aot_eager_then_compile",
               "eager_then_compile")

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in self.STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.stance = stance
        self.before = _state.stance.name
        _state.stance.name = stance

    def __enter__(self) -> None:
        _state.stance.name = self.stance

    def __exit__(self, *exc: object) -> None:
        _state.stance.name = self.before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _state.stance.name = self.before

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return function(*args, **kwargs)
        return run


def mark_dynamic(t: Any, index: Any, *, hint_override: Any = None, min: int | None = None, max: int | None = None,
                 specialize_on: Any = None) -> None:
    """Declare that sizes of a tensor change from call to call, so that they are symbols from the start.

    >>> import retrograd as torch
    >>> mark_dynamic(torch.ones(2, 3), 0)
    """
    marks = getattr(t, "_dynamo_dynamic_indices", None)
    if marks is None:
        marks = t._dynamo_dynamic_indices = set()
    marks.update(index if isinstance(index, list | tuple) else [index])
    t._has_dynamo_dim_marking = True


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Declare that sizes of a tensor may change from call to call.

    >>> import retrograd as torch
    >>> maybe_mark_dynamic(torch.ones(2, 3), 0)
    """
    mark_dynamic(t, index)


mark_unbacked = maybe_mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Declare that sizes of a tensor do not change: each one is compiled for. All of them without `index`.

    >>> import retrograd as torch
    >>> mark_static(torch.ones(2, 3), 0)
    """
    if isinstance(t, torch.nn.Module):
        return
    dims = set(range(t.dim()) if index is None else index if isinstance(index, list | tuple) else [index])
    (getattr(t, "_dynamo_dynamic_indices", None) or set()).difference_update(dims)
    if not hasattr(t, "_dynamo_static_indices"):
        t._dynamo_static_indices = set()
    t._dynamo_static_indices |= dims


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Declare that a tensor stays where it is in memory, which nothing here depends on."""


def optimize(backend: Any = "inductor", *, nopython: bool = False, dynamic: bool | None = None, **options: Any) -> Any:
    """`compile` with its arguments in another order: optimize(backend)(function)."""
    return lambda function: compiled(function, backend, nopython, dynamic)


def optimize_assert(backend: Any = "inductor", *, dynamic: bool | None = None, **options: Any) -> Any:
    return optimize(backend, nopython=True, dynamic=dynamic)


def set_locals_to_steal(gm: Any, names: list[str]) -> None:
    """Declare which arguments of a graph module are lists that it may empty."""
    gm.meta["steal_args"] = list(names)


class BytecodeHook:
    """A hook on rewritten bytecode, of which there is none: it is never called."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def remove(self) -> None:
        pass


def register_bytecode_hook(hook: Callable[..., Any]) -> BytecodeHook:
    return BytecodeHook(hook)


class ExplainOutput:
    """What `explain` found."""

    def __init__(self, graphs: list[Any], break_reasons: list[Any], fused: list[str]) -> None:
        self.graphs, self.break_reasons = graphs, break_reasons
        self.graph_count = len(graphs)
        self.ops_per_graph = [[node.target for node in graph.graph.nodes if node.op == "call_function"] for graph in graphs]
        self.out_guards: list[Any] = []           # nothing is guarded: Python runs
        self.graph_break_count = len(break_reasons)
        self.op_count = sum([node.op == "call_function" for graph in graphs for node in graph.graph.nodes])
        self.source = "\n".join([*[graph.code for graph in graphs], *fused])      # the graphs, and the C of fused ops

    def __repr__(self) -> str:
        reasons = "".join([f"  Break Reason {i + 1}:\n    Reason: {found.reason}\n    User Stack:\n" + "".join(
            [f"      {frame}\n" for frame in found.user_stack]) for i, found in enumerate(self.break_reasons)])
        ops = "".join([f"  Ops {i + 1}:\n" + "".join([f"    {op}\n" for op in found])
                       for i, found in enumerate(self.ops_per_graph)])
        return (f"Graph Count: {self.graph_count}\nGraph Break Count: {self.graph_break_count}\nOp Count: {self.op_count}\n"
                f"Break Reasons:\n{reasons}Ops per Graph:\n{ops}Out Guards:\n")


def explain(fn: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """A function that runs `fn` and says what graphs it has and where they are broken.

    >>> import retrograd as torch
    >>> explain(lambda x: torch.relu(x) + 1)(torch.ones(2)).graph_count
    1
    """
    def run(*args: Any, **kwargs: Any) -> ExplainOutput:
        graphs: list[Any] = []
        fused: list[str] = []

        def keep(gm: Any, example_inputs: Any) -> Any:
            graphs.append(gm)
            fused.extend(fused_source(gm, example_inputs))
            return gm.forward
        _state.reset()
        made = compiled(fn, keep, False, None)
        made._program.reasons = []
        made(*args, **kwargs)
        return ExplainOutput(graphs, made._program.reasons, fused)
    return run(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else run
