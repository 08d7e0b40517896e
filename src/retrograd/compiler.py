"""torch.compiler where nothing is compiled: functions run as Python, and marks for a compiler have no effect."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ContextDecorator, contextmanager
from typing import Any

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "get_default_backend",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset",
           "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy"]


class Settings:
    """The settings in force."""

    backend: Any = "inductor"


counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable[..., Any] = "inductor", mode: str | None = None,
            options: dict[str, Any] | None = None, disable: bool = False) -> Any:
    """The function or module itself, which runs as the Python that it is.

    >>> @compile(dynamic=True)
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is not None:
        if not callable(model):
            raise RuntimeError("Model must be callable: torch.compile takes a function or a module, but got "
                               f"{type(model).__name__}")
        return model
    return lambda function: compile(function, mode=mode, options=options)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself; also a decorator with arguments.

    >>> disable(max) is max, disable(recursive=False)(max) is max
    (True, True)
    """
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """The function itself, or the list of functions."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself."""
    return fn


def substitute_in_graph(original_fn: Any, *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False) -> Any:
    """A decorator that changes nothing: it offers a compiler another function in place of `original_fn`."""
    return lambda function: function


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself; also a decorator with arguments."""
    return fn if fn is not None else lambda function: function


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as a function of tensors.

    >>> import numpy, retrograd as torch
    >>> wrap_numpy(lambda x: numpy.sort(x))(torch.tensor([2, 1]))
    tensor([1, 2])
    """
    import retrograd as torch

    pytree = torch.utils._pytree

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda x: x.numpy(), (args, kwargs))
        import numpy
        return pytree.tree_map_only(numpy.ndarray, torch.as_tensor, fn(*args, **kwargs))
    return wrapped


def is_compiling() -> bool:
    """Whether a compiler traces this call.

    >>> is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Forget all compiled code.

    >>> reset()
    """
    counters.clear()


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of compilers.

    >>> list_backends()
    []
    """
    return []


def set_default_backend(backend: Any) -> None:
    """Choose the compiler that `compile` takes if it is not told one."""
    Settings.backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """The compiler that `compile` takes if it is not told one.

    >>> get_default_backend()
    'inductor'
    """
    return Settings.backend


class set_stance(ContextDecorator):
    """A scope in which compiled functions run in another way; they always run as Python.

    >>> with set_stance("force_eager"): pass
    """

    STANCES = ("default", "eager_on_recompile", "fail_on_recompile", "force_eager", "eager_then_compile",
               "aot_eager_then_compile")

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in self.STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.stance = stance

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


def cudagraph_mark_step_begin() -> None:
    """Tell CUDA graphs that another step begins.

    >>> cudagraph_mark_step_begin()
    """


def graph_break(msg: str = "") -> None:
    """End the graph that is traced here.

    >>> graph_break()
    """


def mark_dynamic(t: Any, index: Any, *, min: int | None = None, max: int | None = None, **options: Any) -> None:
    """Tell a compiler that a size changes from call to call."""


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that changes nothing."""
    return lambda function: function


optimize_assert = optimize


@contextmanager
def patch_config(*args: Any, **changes: Any) -> Any:
    """A scope with other settings of a compiler."""
    yield
