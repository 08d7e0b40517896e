"""Compiled functions and modules: what `compile` returns."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from retrograd.compile import compiled_autograd, state
from retrograd.compile.backends import compile_graph, find_backend
from retrograd.compile.callback import CallbackTrigger, callback_handler
from retrograd.compile.deferred import Deferrer, active
from retrograd.compile.errors import BackendCompilerFailed, FailOnRecompileLimitHit, RecompileError
from retrograd.compile.recorder import (
    Known,
    Recorder,
    Segment,
    Variant,
    can_be_symbol,
    is_same_number,
    known_programs,
    recorders,
    spans,
)
from retrograd.compile.recorder import variant_numbers as numbers
from retrograd.compile.segment_graph import SegmentGraph
from retrograd.compile.signature import Steady, full_signature, settled
from retrograd.core.graph import sequence
from retrograd.core.modes import disable_current_modes
from retrograd.core.state import set_grad_enabled, tls
from retrograd.core.subclass import DisableTorchFunction
from retrograd.core.tensor import Tensor, new_tensor
from retrograd.fx import GraphModule
from retrograd.nn import Module
from retrograd.ops.create.generators import default_generator

__all__ = ["OptimizedModule", "Program"]

backward_state = compiled_autograd.ours
inside, stance = state.inside, state.stance
settings, backend_settings = vars(state.config), vars(state.backend_config)       # read faster than attributes of modules


STEADY_LIMIT = 1000
MOST_MISSES = 20
FIRST_PAUSE, LONGEST_PAUSE = 8, 128
LIMIT_HIT = "torch._dynamo hit config.recompile_limit"


class Program:
    """A function with its compile settings."""

    def __init__(self, function: Callable[..., Any], backend: Any, fullgraph: bool, dynamic: bool | None,
                 options: dict[str, Any]) -> None:
        self.function, self.backend = function, backend
        self.is_named = isinstance(backend, str | None)       # a built-in backend, whose results equal those of the ops
        self.compiler = find_backend(backend)
        self.fullgraph, self.dynamic, self.options = fullgraph, dynamic, options
        self.compiled_autograd = bool(state.config.compiled_autograd)     # the setting at compile time
        owner = getattr(function, "__self__", None)
        notes = owner.meta if isinstance(owner, GraphModule) else {}
        self.steals: list[str] = notes.get("steal_args", [])
        self.is_captured = "steal_args" in notes  # a captured backward pass: each place in it has graphs of its own
        if dynamic is None and (notes.get("symbolic_sizes") or not state.config.assume_static_by_default):
            self.dynamic = True

        self.reasons: list[Any] | None = None     # collects the reasons of graph breaks, on request
        self.steady: dict[Any, Steady] = {}       # by signature of the arguments
        self.last: Steady | None = None           # of the last unrecorded call
        self.pause = FIRST_PAUSE                  # calls to run unrecorded once the recompile limit is reached, or after
        self.unneeded = 0                         # many recorded calls with new arguments and nothing else that is new
        self.idle = 0                             # remaining ones

    # ---- calling
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def call(self, args: Any, kwargs: Any) -> Any:
        if stance.name == "force_eager" or settings["disable"]:
            return self.function(*args, **kwargs)
        mine = inside.__dict__                    # found once: each access to a thread's attribute looks for it
        mine["depth"] += 1
        try:
            if not self.compiled_autograd and not self.steals:
                return self.run(args, kwargs)
            with self.backward_scope():
                result = self.run(args, kwargs)
        finally:
            mine["depth"] -= 1
        if self.steals and args and isinstance(args[0], list):
            args[0].clear()
        return result

    def run(self, args: Any, kwargs: Any) -> Any:
        """Run the function, recorded or, where nothing new is expected, unrecorded (see `Steady`)."""
        if recorders.count and recorders.is_recording() or active.all and active.here():
            return self.function(*args, **kwargs)     # inside another compiled function, which records the ops
        if not self.is_named:
            return self.record(args, kwargs)[0]
        if not backend_settings["fusion_threshold"] and self.compiler is compile_graph and tls.slow_path == tls.inference:
            with Deferrer():
                result = self.function(*args, **kwargs)
            compiled_autograd.fuse_next(True)
            return result
        uncaptured, generation = backward_state.compiler is None, state.generation.number
        steady = settled(self.steady, self.last, args, kwargs, uncaptured, generation)
        if steady is not None:
            self.last = steady
            first = sequence.n
            if steady.fuses and steady.misses < MOST_MISSES and tls.slow_path == tls.inference:
                with Deferrer() as deferrer:
                    result = self.function(*args, **kwargs)
                steady.note(deferrer.misses)
                compiled_autograd.fuse_next(sequence.n > first)
            else:
                result = self.function(*args, **kwargs)
            if sequence.n > first and steady.variant is not None:
                spans.add(first, sequence.n, steady.variant)
            return result
        self.last = None                          # it may be replaced
        signature = full_signature(args, kwargs, uncaptured, generation)
        steady = self.steady.get(signature)
        if self.idle and steady is None:
            self.idle -= 1
            return self.function(*args, **kwargs)
        result, recorder = self.record(args, kwargs)
        self.unneeded = 0 if recorder.is_new else self.unneeded + (steady is None)
        if recorder.is_refused or self.unneeded > FIRST_PAUSE and steady is None:
            self.idle, self.pause = self.pause, min(2 * self.pause, LONGEST_PAUSE)
        if recorder.is_new or steady is None:
            if len(self.steady) > STEADY_LIMIT:
                self.steady.clear()
            steady = self.steady[signature] = Steady(signature)
        steady.hits += not recorder.is_new
        steady.fuses = self.compiler is compile_graph and recorder.weight.pays()
        steady.variant = recorder.variants[0] if len(recorder.variants) == 1 else None
        return result

    def record(self, args: Any, kwargs: Any) -> tuple[Any, Recorder]:
        recorder = Recorder(self)
        recorders.enter(recorder)
        try:
            with recorder:
                result = self.function(*args, **kwargs)
            recorder.end_segment()
        finally:
            recorders.leave()
        return result, recorder

    def backward_scope(self) -> AbstractContextManager[None]:
        """Compiled autograd during the call, if it was on when the function was compiled."""
        if not self.compiled_autograd or compiled_autograd.in_region():
            return nullcontext()
        dynamic = self.dynamic if self.dynamic is not None else not state.config.assume_static_by_default
        override = state.config.compiled_autograd_kwargs_override
        if override.keys() - {"fullgraph"}:
            raise AssertionError(f"Only `fullgraph` kwarg override is supported for now, but got {override.keys()}")
        fullgraph = override.get("fullgraph", self.fullgraph)
        return compiled_autograd.enable(backward_compiler(self.backend, fullgraph, self.dynamic), dynamic,
                                        ignore_active_disable_ctx=False)

    # ---- compiling
    def finish(self, segment: Segment, recorder: Recorder) -> None:
        """Find or create the variant of a recorded segment."""
        known = known_programs.setdefault(code_of(self.function), Known())
        key = tuple(segment.key)
        place = (self.compiler, self.fullgraph, self.dynamic, compiled_autograd.is_enabled(), recorder.grad, recorder.segments)
        settings = (*(place if self.is_captured else place[:-1]), key)
        recorder.segments += 1
        variants = known.variants.setdefault(settings, [])
        variant = next((v for v in variants if v.fits(segment.sizes)), None)
        if variant is None:
            sequence_of_ops = place, segment.functions()
            again = sequence_of_ops in known.sequences
            if again and state.stance.name == "fail_on_recompile":
                raise RuntimeError(f"Detected recompile when torch.compile stance is 'fail_on_recompile'. {self.location()}"
                                   + self.failures(variants, segment))
            if again and state.stance.name == "eager_on_recompile":
                if not variants:
                    del known.variants[settings]
                return
            if variants:
                state.recompiles_log.debug("Recompiling %s", self.recompile_reason(variants, segment))
            if known.compiled[place] and state.config.error_on_recompile:
                raise RecompileError(f"Recompiling {self.recompile_reason(variants, segment)}")
            if known.compiled[place] >= min(state.config.recompile_limit, state.config.cache_size_limit):
                if state.config.fail_on_recompile_limit_hit:
                    raise FailOnRecompileLimitHit(f"{LIMIT_HIT} ({state.config.recompile_limit})\n   function: {self.name()}")
                if not known.is_full:
                    known.is_full = True
                    state.recompiles_log.warning("%s (%s)\n   function: %s", LIMIT_HIT, state.config.recompile_limit,
                                                 self.name())
                if not variants:                  # segments that never repeat must not accumulate
                    del known.variants[settings]
                recorder.is_refused = True
                return
            known.compiled[place] += 1
            known.sequences.add(sequence_of_ops)
            variant = Variant(self.symbolic(known, key, segment), next(numbers), segment.sizes)
            variants.append(variant)
            recorder.is_new = True
            try:
                self.compile_variant(segment, variant)
            except BackendCompilerFailed:         # the next call fails in the same way
                variants.remove(variant)
                known.compiled[place] -= 1
                raise
        recorder.variants.append(variant)
        known.sizes[key] = segment.sizes
        variant.calls += 1
        if not self.is_named and variant.compiled is not None:
            self.run_compiled(segment, variant)
        spans.add(segment.first_node, sequence.n, variant)

    def is_new_break(self, place: int, reason: str) -> bool:
        """Whether a graph break is new at its position."""
        seen = known_programs.setdefault(code_of(self.function), Known()).breaks
        if (place, reason) in seen:
            return False
        seen.add((place, reason))
        return True

    def name(self) -> str:
        return f"'{getattr(self.function, '__qualname__', self.function)}'"

    def recompile_reason(self, variants: list[Variant], segment: Segment) -> str:
        """Why none of the variants can be used, the latest first."""
        code = code_of(self.function)
        place = f" in {code.co_filename}:{code.co_firstlineno}" if hasattr(code, "co_filename") else ""
        return f"function {self.name()[1:-1]}{place}{self.failures(variants, segment)}"

    def failures(self, variants: list[Variant], segment: Segment) -> str:
        reasons = [f"\n    - variant {number}: {reason}" for number, variant in reversed(list(enumerate(variants)))
                   for reason in variant.misfits(segment)] or ["\n    - other ops, or inputs of other types"]
        return "\n    triggered by the following guard failure(s):" + "".join(reasons)

    def location(self) -> str:
        """Where the function is defined, for messages."""
        code = code_of(self.function)
        if not hasattr(code, "co_filename"):
            return f"function name: {self.name()}"
        return f"filename: '{code.co_filename}', function name: '{code.co_name}', line number: {code.co_firstlineno}"

    def run_compiled(self, segment: Segment, variant: Variant) -> None:
        """Run the function that a user's backend returned for a segment, and take over its results. The ops have already
        run eagerly, so only segments without side effects run again. Differing results are taken only if the recorded graph
        itself reproduces the eager results: otherwise code other than ops contributed to them.
        """
        graph = variant.graph
        args = graph.arguments_of(segment) if segment.is_pure() else None
        if args is None:
            return
        before = default_generator.get_state().array.copy()
        with ungraded(), DisableTorchFunction(), disable_current_modes():
            results = variant.compiled(*args)
            if not np.array_equal(default_generator.get_state().array, before):       # random numbers must be drawn only once
                default_generator.set_state(new_tensor(before))
                return
            tensors = [segment.results[number]() if number in segment.results else None for number in graph.living]
            different = [pair for pair in zip(tensors, results, strict=True) if not is_same(*pair)]
            if different and all([is_same(t, r) for t, r in zip(tensors, self.graph_of(segment, variant, graph.living).module(
                    *graph.arguments_of(segment)), strict=True)]):
                for t, result in different:
                    if t is not None:
                        np.copyto(t.array, result.array)

    def graph_of(self, segment: Segment, variant: Variant, living: list[int] | None = None) -> SegmentGraph:
        return SegmentGraph(segment, variant, "inputs" in self.steals, living)

    def symbolic(self, known: Known, key: Any, segment: Segment) -> list[Any]:
        """The sizes of a new variant."""
        changed = known.symbols.setdefault(key, set())
        before = known.sizes.get(key)
        if before is not None:
            changed.update([i for i, (old, new) in enumerate(zip(before, segment.sizes, strict=True))
                            if not is_same_number(old, new)])
        if self.dynamic is False or not state.config.automatic_dynamic_shapes:
            changed = set()
        return [None if can_be_symbol(n) and i not in segment.fixed and (
            self.dynamic and type(n) is int or i in changed or i in segment.marked) else n for i, n in enumerate(segment.sizes)]

    def compile_variant(self, segment: Segment, variant: Variant) -> None:
        made = self.graph_of(segment, variant)
        module = made.module
        state.counters["stats"]["unique_graphs"] += 1
        state.counters["stats"]["calls_captured"] += len(segment.events)
        state.counters["frames"]["total"] += 1
        state.counters["frames"]["ok"] += 1
        variant.graph = made
        try:
            with callback_handler.install_callbacks(CallbackTrigger.DYNAMO, str(variant.number)):
                variant.compiled = self.compiler(module, made.examples, **self.options)
            if not callable(variant.compiled):
                raise AssertionError(f"compiler_fn did not return callable, but {variant.compiled!r}")
        except Exception as raised:
            variant.compiled = None
            if state.config.suppress_errors:
                return
            raise BackendCompilerFailed(self.backend, raised) from raised
        for node in module.graph.nodes:           # a compiled graph must not keep the tensors of its first call
            node.meta.pop("example_value", None)
            node.meta.pop("val", None)
        made.forget_tensors()


@contextmanager
def ungraded() -> Iterator[None]:
    """`no_grad` hidden from function modes."""
    was = set_grad_enabled(False)
    try:
        yield
    finally:
        set_grad_enabled(was)


def is_same(t: Any, result: Any) -> bool:
    """Whether a result equals the tensor's current value, or cannot be stored in it."""
    if t is None or not isinstance(result, Tensor) or result is t or t._flags or result._flags:
        return True
    if t.array.shape != result.array.shape or t.array.dtype != result.array.dtype:
        return True
    return t.array.tobytes() == result.array.tobytes()


def code_of(function: Any) -> Any:
    """The cache key of a function's segments."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    return code if code is not None else type(function)


compilers: dict[Any, Callable[[GraphModule], Any]] = {}


def backward_compiler(backend: Any, fullgraph: bool, dynamic: bool | None) -> Callable[[GraphModule], Any]:
    """The compiler of captured backward passes with the settings of a compiled function."""
    key = (backend, fullgraph, dynamic)
    if key not in compilers:
        def compile_backward(module: GraphModule) -> Any:
            return compiled(module, backend, fullgraph, dynamic)
        compilers[key] = compile_backward
    return compilers[key]


def compiled(function: Any, backend: Any, fullgraph: bool, dynamic: bool | None, options: dict[str, Any] | None = None
             ) -> Any:
    """`function` (or a module) compiled; the backend is called with `options`, those that are given."""
    options = options or {}
    if isinstance(function, Module):
        if isinstance(function, OptimizedModule):
            function = function._orig_mod
        return OptimizedModule(function, Program(function.__call__, backend, fullgraph, dynamic, options))
    original = getattr(function, "_torchdynamo_orig_callable", None)
    if original is not None:
        function = original
    program = Program(function, backend, fullgraph, dynamic, options)
    call = program.call

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(args, kwargs)
    run._torchdynamo_orig_callable = function     # type: ignore[attr-defined]
    run._program = program                        # type: ignore[attr-defined]
    return run


class OptimizedModule(Module):
    """A compiled module: calls are recorded, all other attributes are the original's."""

    def __init__(self, module: Module, program: Program) -> None:
        super().__init__()
        self.__dict__["_program"] = program
        self._orig_mod = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._program(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or name in self.__dict__:
            super().__setattr__(name, value)
            if name == "training" and "_orig_mod" in self.__dict__.get("_modules", {}):
                self._orig_mod.training = value
            return
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __reduce__(self) -> Any:
        program = self._program
        return compiled, (self._orig_mod, program.backend, program.fullgraph, program.dynamic, program.options)

    def __len__(self) -> int:
        return len(self._orig_mod)                # type: ignore[arg-type]

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]              # type: ignore[index]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)               # type: ignore[call-overload]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
