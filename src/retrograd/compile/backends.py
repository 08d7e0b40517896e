"""Backends: functions that turn a captured graph into a callable."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.compile import state
from retrograd.compile.errors import InvalidBackend
from retrograd.fx import GraphModule

Backend = Callable[[GraphModule, list[Any]], Callable[..., Any]]


def eager(gm: GraphModule, example_inputs: list[Any], **options: Any) -> Callable[..., Any]:
    """The graph itself."""
    return gm.forward


def aot_eager(gm: GraphModule, example_inputs: list[Any], **options: Any) -> Callable[..., Any]:
    """The graph itself; its ops are below autograd already."""
    return gm.forward


def compile_graph(gm: GraphModule, example_inputs: list[Any], options: Any = None, mode: str | None = None
                  ) -> Callable[..., Any]:
    """The graph after the passes that the configuration names."""
    with state.backend_config.patch({name.replace("-", "_"): value for name, value in (options or {}).items()
                                     if name not in FOR_GUARDS}):
        for when in ("post_grad_custom_pre_pass", "post_grad_custom_post_pass"):
            change = getattr(state.backend_config, when, None)
            if change is not None:
                change(gm.graph)
    return gm.forward


MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
FOR_GUARDS = ("guard_filter_fn",)                 # an option that nothing here needs: there are no guards


def check_options(backend: Any, mode: str | None = None, options: Any = None) -> None:
    """Refuse modes and options that the default backend does not know; other backends are passed them."""
    if (default.backend if backend is None else backend) != "inductor":
        return
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    for name, value in (options or {}).items():
        name = name.replace("-", "_")
        if name in FOR_GUARDS:
            continue
        kept, key = state.backend_config.find(name)
        if key not in kept:
            raise RuntimeError(f"Unexpected optimization option {name}, known options are "
                               f"{list(state.backend_config.shallow_copy_dict())}")
        if kept[key] is not None and value is not None and type(value) is not type(kept[key]):
            raise RuntimeError(f"Unexpected type of attr {name}, got {type(value).__name__} should be "
                               f"{type(kept[key]).__name__}")


def aot_autograd(*, fw_compiler: Any = None, bw_compiler: Any = None, inference_compiler: Any = None,
                 **options: Any) -> Backend:
    """A backend that gives the graph to `fw_compiler`: its ops are below autograd already.

    >>> import retrograd as torch
    >>> backend = aot_autograd(fw_compiler=lambda gm, inputs: print(len(inputs), "input") or make_boxed_func(gm.forward))
    >>> torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    1 input
    tensor([2., 2.])
    """
    def backend(gm: GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        compiled = (fw_compiler or inference_compiler or eager)(gm, example_inputs)
        return unboxed(compiled) if getattr(compiled, "_boxed_call", False) else compiled
    return backend


def make_boxed_func(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes its arguments as one list."""
    def boxed(args: list[Any]) -> Any:
        return f(*args)
    boxed._boxed_call = True      # type: ignore[attr-defined]
    return boxed


def unboxed(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: f(list(args))


BACKENDS: dict[str, Backend] = {"inductor": compile_graph, "cudagraphs": eager}       # no device here has graphs
TAGS: dict[str, Any] = {}
for name in ("eager", "eager_noexcept", "pre_dispatch_eager"):
    BACKENDS[name], TAGS[name] = eager, ("debug",)
for name in ("aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner"):
    BACKENDS[name], TAGS[name] = aot_eager, ("debug",)


def register_backend(compiler_fn: Backend | None = None, name: str | None = None, tags: Any = ()) -> Any:
    """Register a backend under a name for `compile`.

    >>> import retrograd as torch
    >>> @torch.compiler.register_backend
    ... def counting(gm, example_inputs):
    ...     print(len(gm.graph.nodes), "nodes")
    ...     return gm.forward
    >>> torch.compile(lambda x: x + 1, backend="counting")(torch.ones(2))
    3 nodes
    tensor([2., 2.])
    """
    def register(function: Backend) -> Backend:
        BACKENDS[name or function.__name__], TAGS[name or function.__name__] = function, tuple(tags)
        return function
    return register if compiler_fn is None else register(compiler_fn)


class Default:
    """The default backend."""

    backend: Any = "inductor"


default = Default()


def find_backend(backend: Any) -> Backend:
    if backend is None:
        backend = default.backend
    if callable(backend):
        return backend
    if backend not in BACKENDS:
        raise InvalidBackend(backend)
    return BACKENDS[backend]


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of the backends, without those that have one of the tags.

    >>> list_backends()
    ['cudagraphs', 'inductor']
    """
    excluded = set(exclude_tags or ())
    return sorted([name for name in BACKENDS if not excluded.intersection(TAGS.get(name, ()))])
