"""Compiled autograd: the engine's walk over the nodes, captured as a graph, compiled once and used again.

NOTE [The cache]
A trie: from the root, one step for every node call with its key (see collect.py). A compiled pass is stored at the end of
its path, so that a miss can be attributed to the first node that differs. There is one trie for each compiler and for each
setting of anomaly mode. Sizes are not in the keys. With `dynamic=False` a pass also stores the sizes it was made for; sizes
that change become symbolic, at the cost of one more capture. While a compiled pass runs, compiled autograd is off: the
engine runs a nested backward.
"""
from __future__ import annotations

import functools
import itertools
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.autograd.engine import GraphTask, count_dependencies, find_needed, run_pass, run_task
from retrograd.autograd.grad_mode import set_multithreading_enabled
from retrograd.compile import state
from retrograd.compile.backward_graph import Builder
from retrograd.compile.breaks import BACKWARD
from retrograd.compile.collect import Collector, root_key
from retrograd.compile.deferred import Deferrer
from retrograd.compile.recorder import recorders, variant_of
from retrograd.core.hooks import hooks as services
from retrograd.core.state import tls
from retrograd.fx import GraphModule
from retrograd.ops import late

TURN_OFF = ("You can turn off compiled autograd by either:\n"
            "1. Moving the unsupported autograd call outside of the torch.compile'd region.\n"
            "2. Wrapping the unsupported autograd call in the torch._dynamo.compiled_autograd._disable() context manager.\n"
            "3. Setting torch._dynamo.config.compiled_autograd=False for the torch.compile call containing the unsupported "
            "autograd call.\n4. Setting torch._dynamo.config.compiled_autograd=False at the start of the program.")
NESTED = "Trying to run compiled autograd within another compiled autograd call, this is not supported yet. \n" + TURN_OFF

MOST_ELEMENTS = sys.maxsize >> 3                  # of arrays; the end of a slice may be larger
TRACED = "TRACED GRAPH\n ===== Compiled autograd graph =====\n %s"


class Entry:
    """A compiled pass."""

    def __init__(self, compiled: Callable[..., Any], module: Any, sizes: list[int | None], number: int) -> None:
        self.compiled, self.module, self.number = compiled, module, number
        self.outputs = list(module.graph.output_node().args[0])      # the nodes whose values it returns
        self.sizes = sizes                        # the required sizes; None for any
        self.hits = 0


class Step:
    """One step of the trie."""

    def __init__(self) -> None:
        self.following: dict[Any, Step] = {}
        self.entry: Entry | None = None


class State:
    """The state of the process."""

    def __init__(self) -> None:
        self.compiler: Any = None
        self.dynamic = False
        self.scopes: list[object] = []            # the open scopes
        self.ended: set[object] = set()           # scopes whose parent has ended before them
        self.disabled_depth = 0                   # number of open `disable` scopes
        self.running: int | None = None           # the thread that runs a compiled pass
        self.lock = threading.RLock()             # held by the thread that captures or runs a pass
        self.roots: dict[Any, Step] = {}
        self.numbered: dict[Any, Step] = {}       # the same passes in the order of PyTorch's logs, for messages
        self.verbose = False
        self.last_miss: str | None = None
        self.fuses = False                        # the next pass belongs to a function whose ops were fused


ours = State()
compiled_autograd_enabled = False                 # whether a scope has switched it on; read by programs
COMPILE_COUNTER: Iterator[int] = itertools.count()       # numbers the graphs


# ---- switching it on and off
def set_compiler(compiler: Any, dynamic: bool) -> tuple[Any, bool]:
    """Install a compiler (None to remove it); return the previous one."""
    before = ours.compiler, ours.dynamic
    ours.compiler, ours.dynamic = compiler, bool(dynamic) if compiler is not None else False
    update_service()
    return before


def update_service() -> None:
    """Redirect the engine's passes if there is a compiler, or a recorder that must see them."""
    services.compiled_backward = run if ours.compiler is not None or recorders.active or ours.fuses else None


def fuse_next(on: bool) -> None:
    """Defer and fuse the ops of the next backward pass too (see deferred.py)."""
    if on is not ours.fuses:
        ours.fuses = on
        update_service()


recorders.changed = update_service


@contextmanager
def enable(compiler_fn: Callable[[GraphModule], Callable[..., Any]], dynamic: bool = True,
           ignore_active_disable_ctx: bool = True) -> Iterator[None]:
    """A scope in which backward passes are captured and given to `compiler_fn`, whose result runs them.

    >>> import retrograd as torch
    >>> from retrograd.compile import compiled_autograd
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with compiled_autograd.enable(lambda module: print(type(module).__name__) or module):
    ...     (x * x).backward()
    CompiledAutograd0
    >>> x.grad
    tensor([6.])
    >>> compiled_autograd.reset()
    """
    if not isinstance(dynamic, bool):
        raise AssertionError(f"Expected dynamic to be bool, got {type(dynamic)}")
    if ours.disabled_depth and not ignore_active_disable_ctx or state.stance.name == "force_eager":
        yield
        return
    global compiled_autograd_enabled
    before_verbose = ours.verbose
    before = set_compiler(compiler_fn, dynamic)
    before_enabled, compiled_autograd_enabled = compiled_autograd_enabled, True
    ours.verbose = state.is_on(state.verbose_log)
    scope = object()
    ours.scopes.append(scope)
    before_threads = tls.multithreading
    set_multithreading_enabled(False)
    try:
        yield
    finally:
        if scope in ours.ended:                   # with its parent
            ours.ended.remove(scope)
        else:
            set_multithreading_enabled(before_threads)
            place = ours.scopes.index(scope)
            inner = ours.scopes[place + 1:]
            ours.ended.update(inner)
            del ours.scopes[place:]
            compiled_autograd_enabled, ours.verbose = before_enabled, before_verbose
            set_compiler(*before)
            if inner:
                raise AssertionError("Nested Compiled Autograd Contexts must return before their parent context")


@contextmanager
def disable() -> Iterator[None]:
    """A scope in which the engine runs backward passes, also in functions compiled with compiled autograd.

    >>> from retrograd.compile import compiled_autograd
    >>> with compiled_autograd.disable():
    ...     compiled_autograd.is_enabled()
    False
    """
    global compiled_autograd_enabled
    before = set_compiler(None, False)
    before_enabled, compiled_autograd_enabled = compiled_autograd_enabled, False
    ours.disabled_depth += 1
    try:
        yield
    finally:
        ours.disabled_depth -= 1
        compiled_autograd_enabled = before_enabled
        set_compiler(*before)


def is_enabled() -> bool:
    return ours.compiler is not None


def in_region() -> bool:
    """Whether a compiled pass is running."""
    return ours.running is not None


def reset() -> None:
    """Switch it off and forget all compiled passes; an open scope switches back on what it replaced when it ends."""
    global COMPILE_COUNTER, compiled_autograd_enabled
    if ours.running is not None:
        raise AssertionError("Cannot reset while in_compiled_autograd_region is True")
    set_compiler(None, False)
    compiled_autograd_enabled = False
    ours.roots, ours.numbered = {}, {}
    COMPILE_COUNTER = itertools.count()
    ours.verbose = False
    ours.last_miss = None


def set_verbose_logger(logger: Any) -> bool:
    ours.verbose = logger is not None
    return True


state.when_reset.append(reset)


# ---- running
def run(roots: Any, grads: Any, keep_graph: bool, create_graph: bool, inputs: Any, accumulate_grad: bool) -> Any:
    """The engine's `run_backward`, through a captured graph."""
    recorder = recorders.current()
    if recorder is not None and recorder.recording and not tls.transforms:      # the pass of a transform is part of the graph
        with recorder.suspended(BACKWARD):
            return run(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
    if ours.compiler is None or tls.transforms:   # as in PyTorch, passes of function transforms are not captured
        if tls.transforms or not ours.fuses or tls.slow_path:
            return run_pass(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
        fuse_next(False)
        with Deferrer():
            return run_pass(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
    if not ours.lock.acquire(blocking=False):     # another thread captures or runs one: the engine runs this pass
        return run_pass(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
    try:
        if ours.compiler is None:
            return run_pass(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
        if ours.running is not None:
            raise NotImplementedError(NESTED)
        return run_captured(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
    finally:
        ours.lock.release()


def run_captured(roots: Any, grads: Any, keep_graph: bool, create_graph: bool, inputs: Any, accumulate_grad: bool) -> Any:
    """Run a pass through its graph."""
    task = GraphTask(keep_graph, create_graph)
    count_dependencies(task, roots)
    if inputs is not None:
        find_needed(task, roots, inputs, accumulate_grad)
    collector = Collector(task, roots, grads, inputs, variant_of)
    results: list[Any] = []

    def work(task: Any) -> None:
        collector.collect()
        entry = find(collector)
        try:
            results.extend(execute(entry, collector))
        finally:                                  # also after an error, as in PyTorch
            if not keep_graph:
                release(collector)
    run_task(task, (), (), work)
    return results


def find(collector: Collector) -> Entry:
    """The compiled pass for the collected nodes; a new one if there is none."""
    settings = compiler_key(ours.compiler), tls.anomaly, tls.check_nan
    step = ours.roots.setdefault(settings, Step())
    miss = None
    for key in [root_key(collector), *[call.key for call in collector.calls]]:
        following = step.following.get(key)
        if following is None:
            if miss is None:
                collector.number_calls()
                miss = new_node(ours.numbered.setdefault(settings, Step()), collector)
            following = step.following[key] = Step()
        step = following
    # nodes recorded by a compiled forward with symbolic sizes have symbolic sizes too
    sizes: list[int | None] = [None if ours.dynamic or i in collector.symbolic else size
                               for i, size in enumerate(collector.sizes)]
    entry = step.entry
    if entry is not None:
        changed = [i for i, (old, new) in enumerate(zip(entry.sizes, collector.sizes, strict=True)) if old not in (None, new)]
        if not changed:
            entry.hits += 1
            return entry
        collector.number_calls()
        sizes = [None if i in changed else old for i, old in enumerate(entry.sizes)]
        symbolic = [i for i, size in enumerate(sizes) if size is None]        # the message counts these only
        miss = (f"Cache miss due to {len(changed)} changed tensor shapes (total of {len(symbolic)}): "
                + ", ".join([f"sizes[{symbolic.index(i)}]" for i in changed]))
    ours.last_miss = miss
    if ours.verbose and miss is not None:
        state.verbose_log.debug(miss)
    step.entry = capture(collector, sizes)
    return step.entry


def new_node(step: Step, collector: Collector) -> str:
    """The message for the first new node in the order of PyTorch's logs; `step` is the root of a trie in that order."""
    calls = sorted(collector.calls, key=lambda call: call.number)
    labels = ["torch::autograd::GraphRoot (NodeCall 0)", *[call.label() for call in calls]]
    miss = ""
    for label, key in zip(labels, [root_key(collector), *[call.key for call in calls]], strict=True):
        if key not in step.following:
            before = [key_size(k) for k in step.following if k[0] == key[0] or key[0] != "root" and k[0][:2] == key[0][:2]]
            miss = miss or (f"Cache miss due to new autograd node: {label} with key size {key_size(key)}, previous key "
                            f"sizes={before}")
            step.following[key] = Step()
        step = step.following[key]
    return miss


def compiler_key(compiler: Any) -> Any:
    """The key of a compiler: closures of the same code over the same values count as one."""
    if isinstance(compiler, functools.partial):
        return (compiler_key(compiler.func), tuple([compiler_key(a) for a in compiler.args]),
                tuple([(name, compiler_key(a)) for name, a in compiler.keywords.items()]))
    if isinstance(compiler, types.MethodType):
        return compiler_key(compiler.__func__), compiler_key(compiler.__self__)
    if isinstance(compiler, types.FunctionType):
        cells = [cell.cell_contents for cell in compiler.__closure__ or ()]
        return (compiler.__code__, tuple([c if c is compiler else compiler_key(c) for c in cells]),
                tuple([compiler_key(value) for value in compiler.__defaults__ or ()]))
    return compiler if compiler is None or isinstance(compiler, str | int | float) else Same(compiler)


class Same:
    """An object as a key, compared by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


def key_size(key: Any) -> int:
    return sum([key_size(part) for part in key]) if isinstance(key, tuple) else 1


def capture(collector: Collector, sizes: list[int | None]) -> Entry:
    """Build the graph and pass it to the compiler."""
    number = next(COMPILE_COUNTER)
    module = Builder(collector, number).build()
    module.meta["symbolic_sizes"] = None in sizes
    state.counters["compiled_autograd"]["captures"] += 1
    if state.is_on(state.verbose_log):
        state.verbose_log.debug(TRACED, module.print_readable(print_output=False))
    elif state.is_on(state.graph_log):
        state.graph_log.info(TRACED, module.print_readable(print_output=False))
    return Entry(ours.compiler(module), module, sizes, number)


def execute(entry: Entry, collector: Collector) -> Any:
    """Run a compiled pass, which owns its list of inputs and may empty it."""
    global compiled_autograd_enabled
    check = tls.anomaly and tls.check_nan
    leaves = [call.me for call in collector.calls if call.kind == "accumulate"]
    watched = [(ref, collector.inputs[ref.number]) for ref in leaves] if check else []
    for ref, leaf in watched:
        if leaf._grad is not None and has_nan(leaf._grad):
            raise AssertionError(f"Compiled autograd running under anomaly mode with inputs[{ref.number}] already having NaN "
                                 f"gradient. This is not supported. {TURN_OFF}")
    ours.running = threading.get_ident()
    before = set_compiler(None, False)
    before_enabled, compiled_autograd_enabled = compiled_autograd_enabled, False
    if tls.dispatch_modes:
        show_sizes(entry, collector)
    try:
        inputs = collector.inputs
        collector.inputs = []
        results = entry.compiled(inputs, tuple(collector.sizes), list(collector.scalars), collector.hooks,
                                 collector.packed_data)
        inputs.clear()
    finally:
        ours.running = None
        compiled_autograd_enabled = before_enabled
        set_compiler(*before)
    if check:
        check_nans(watched, results or [], entry.outputs)
    return results or []


def show_sizes(entry: Entry, collector: Collector) -> None:
    """Let modes see the sizes that a graph uses and that may change, as in PyTorch: the last one of an empty tensor each."""
    used = [node.args[1] for node in entry.module.graph.nodes if node.op == "call_function" and node.target is operator.getitem
            and getattr(node.args[0], "name", "") == "sizes"]
    numbers = [i for item in used for i in (range(*item.indices(len(collector.sizes))) if isinstance(item, slice) else (item,))]
    for i in sorted(set(numbers)):
        if entry.sizes[i] is None and 0 < collector.sizes[i] < MOST_ELEMENTS:
            late.empty((0, collector.sizes[i]))


def check_nans(watched: list[Any], results: Any, names: Any) -> None:
    bad = [f"inputs[{ref.number}]" for ref, leaf in watched if leaf._grad is not None and has_nan(leaf._grad)]
    if bad:
        raise RuntimeError(f"Compiled Autograd returned NaN gradients for parameters: {','.join(bad)}.")
    bad = [str(name) for name, grad in zip(names, results, strict=True) if grad is not None and has_nan(grad)]
    if bad:
        raise RuntimeError(f"Compiled Autograd returned NaN gradients for output nodes: {','.join(bad)}.")


def has_nan(t: Any) -> bool:
    return bool((t != t).any())


def release(collector: Collector) -> None:
    for call in collector.calls:
        if call.runs and call.kind != "accumulate" and (call.node._saved_ is not None or call.node._op_ is None):
            call.node._release_()


# ---- queries
def cache_info() -> list[Entry]:
    """All compiled passes."""
    found: list[Entry] = []
    todo = list(ours.roots.values())
    while todo:
        step = todo.pop()
        if step.entry is not None:
            found.append(step.entry)
        todo.extend(step.following.values())
    return sorted(found, key=lambda entry: entry.number)


def last_miss() -> str | None:
    """The reason of the last capture."""
    return ours.last_miss


def __getattr__(name: str) -> Any:
    if name == "in_compiled_autograd_region":         # programs read it as a variable
        return in_region()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
