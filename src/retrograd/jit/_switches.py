"""The switches of TorchScript's compiler: each keeps what it is set to, and none has an effect, because nothing is compiled."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# The state in which PyTorch starts. Setting `profiling_executor` or `optimize` returns the state before.
state: dict[str, Any] = {
    "cpu_fusion": True, "gpu_fusion": False, "cpu_fusion_legacy": False, "texpr_fusion": True, "llvm": False,
    "autodiff_inlining": True, "fusion_inlining": True, "inline_everything": False, "shapes_test_mode": False,
    "tracer_warnings": True, "profiling_executor": True, "optimize": True, "profiled_runs": 1, "emit_hooks": (None, None),
}


def reader(name: str) -> Callable[[], Any]:
    return lambda: state[name]


def writer(name: str) -> Callable[[Any], None]:
    def write(value: Any) -> None:
        state[name] = value

    return write


def exchange(name: str) -> Callable[..., Any]:
    """A function that returns the state, and sets it where it is given a new one."""
    def read_and_write(value: Any = None) -> Any:
        before = state[name]
        if value is not None:
            state[name] = value
        return before

    return read_and_write


can_fuse_on_cpu, can_fuse_on_gpu = reader("cpu_fusion"), reader("gpu_fusion")
override_fuse_on_cpu, override_fuse_on_gpu = writer("cpu_fusion"), writer("gpu_fusion")
override_fuse_on_cpu_legacy = writer("cpu_fusion_legacy")
texpr_enabled, set_texpr_enabled = reader("texpr_fusion"), writer("texpr_fusion")
get_must_use_llvm, set_must_use_llvm = reader("llvm"), writer("llvm")
set_autodiff_inlining = writer("autodiff_inlining")
get_fusion_inlining, set_fusion_inlining = reader("fusion_inlining"), writer("fusion_inlining")
get_inline_everything, set_inline_everything = reader("inline_everything"), writer("inline_everything")
get_shapes_test_mode, set_shapes_test_mode = reader("shapes_test_mode"), writer("shapes_test_mode")
get_tracer_warnings, set_tracer_warnings = reader("tracer_warnings"), writer("tracer_warnings")
set_profiling_executor, graph_executor_optimize = exchange("profiling_executor"), exchange("optimize")
set_profiled_runs = exchange("profiled_runs")


def set_emit_hooks(on_module: Any, on_function: Any) -> None:
    """Functions to be called for each compiled module and function, of which there is none."""
    state["emit_hooks"] = on_module, on_function


def get_emit_hooks() -> Any:
    return state["emit_hooks"]


@contextmanager
def disable_emit_hooks() -> Iterator[None]:
    """No hook is called inside."""
    before = get_emit_hooks()
    set_emit_hooks(None, None)
    try:
        yield
    finally:
        set_emit_hooks(*before)


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Whether compiled functions are optimized inside.

    >>> with optimized_execution(False): pass
    """
    before = graph_executor_optimize()
    state["optimize"] = should_optimize
    try:
        yield
    finally:
        state["optimize"] = before


def clear_classes() -> None:
    """Forget the classes that were compiled: there are none."""


class ConcreteTypeStore:
    """The types of compiled modules, of which there are none."""

    def __init__(self) -> None:
        self.type_store: dict[Any, Any] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()


class FrontendError(Exception):
    """Python that TorchScript cannot compile."""

    def __init__(self, source_range: Any, msg: str) -> None:
        super().__init__(msg)
        self.source_range, self.msg = source_range, msg


class NotSupportedError(FrontendError):
    """A part of Python that TorchScript does not have."""


class UnsupportedNodeError(NotSupportedError):
    """A kind of syntax that TorchScript does not have."""


class FrontendTypeError(FrontendError):
    """An annotation that TorchScript does not know."""
