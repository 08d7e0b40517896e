"""The backward pass: one loop over the recorded graph, latest node first.

NOTE [The engine]
A call of backward or grad is one GraphTask. First the incoming gradients of every reachable node are counted; then the
roots are made ready, and while any node is ready the one with the highest sequence number runs: its hooks, its formula,
its hooks again; then each result is delivered to the next node, which becomes ready when all of its gradients have
arrived. None is delivered and counted like any gradient. Nothing here recurses.
Counting by node and pass would need a dictionary of all nodes. So the outermost pass of the process writes its number and
the counts on the nodes themselves (`marked`); a pass that runs beside or inside of another one keeps them in `waiting`.
With `inputs`, only the nodes on a path to one of them run. `grad` captures the gradient that arrives at an input's node;
`backward(inputs=)` lets that node run too.
A nested backward finishes before the outer one continues; very deep nesting continues on other threads with fresh stacks.
"""
from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.autograd.accumulate import accumulate, private
from retrograd.autograd.hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks, run_value_hooks
from retrograd.core.graph import AccumulateGrad, Node, leaf_of, name_of, show
from retrograd.core.hooks import hooks as services
from retrograd.core.lean import has_shape
from retrograd.core.record import OpNode
from retrograd.core.state import add_saved_hooks, switch_grad, switches, thread_state, tls
from retrograd.core.subclass import Subclasses
from retrograd.core.tensor import FLAG_CONJ, FLAG_NEG, FLAG_PENDING, FLAG_SPARSE, Counter, Tensor, new_tensor
from retrograd.core.views import CopySlices
from retrograd.ops import late

Edges = Sequence[tuple[Any, int]]             # nodes and the numbers of their outputs
Grads = list[Any]                             # tensors; None where there is no gradient
NESTED_PER_THREAD = 40

next_task_id = count().__next__
marking = allocate_lock()         # held by the pass whose counts are on the nodes


class GraphTask:
    """One call of backward or grad."""

    __slots__ = ("buffers", "callbacks", "captured", "captures", "create_graph", "id", "keep_graph", "marked", "needed",
                 "node", "partial", "ready", "useful", "waiting", "whole")

    def __init__(self, keep_graph: bool, create_graph: bool) -> None:
        self.id: int = next_task_id()
        self.keep_graph: bool = keep_graph
        self.create_graph: bool = create_graph
        self.marked: bool = False                 # the nodes have the counts, with the mark `id` + 1
        self.waiting: dict[Node, int] = {}        # otherwise: node -> number of gradients yet to arrive
        self.buffers: dict[Node, Grads] = {}      # node -> the arrived gradients, one per output
        self.ready: list[Node] = []               # heap of nodes, see NOTE [Order]
        self.needed: Any = None                   # node -> whether it runs; None if all do
        self.captures: Any = None                 # node -> [(output number, position in the result)]
        self.useful: Any = None                   # the nodes that run or capture; only these receive gradients
        self.partial: bool = False                # there are others
        self.captured: Grads = []                 # what `grad` returns
        self.callbacks: list[Callable[[], Any]] = []
        self.node: Node | None = None             # the running node
        self.whole: bool = True                   # neither this pass nor an outer one is limited to `inputs`


def run_backward(roots: Edges, grads: Grads, keep_graph: bool, create_graph: bool, inputs: Edges | None,
                 accumulate_grad: bool) -> Grads:
    """Send `grads` backward from the (node, number) edges in `roots`.

    `inputs` are edges too, or None for all leaves. With `accumulate_grad` the inputs' nodes run (backward); without,
    the gradients arriving there are returned (grad).
    """
    compiled = services.compiled_backward         # another thread may reset it
    if compiled is not None:
        return compiled(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)
    return run_pass(roots, grads, keep_graph, create_graph, inputs, accumulate_grad)


def run_pass(roots: Edges, grads: Grads, keep_graph: bool, create_graph: bool, inputs: Edges | None,
             accumulate_grad: bool) -> Grads:
    """`run_backward` by the engine itself."""
    task = GraphTask(keep_graph, create_graph)
    task.marked = marking.acquire(False)
    try:
        if not task.marked:
            count_dependencies(task, roots)
        elif inputs is None:
            mark_dependencies(task, roots)
        if inputs is not None:
            find_needed(task, roots, inputs, accumulate_grad)
        depth = thread_state()["backward_depth"]
        if depth and depth % NESTED_PER_THREAD == 0:
            run_on_thread(task, roots, grads)
        else:
            run_task(task, roots, grads)
    finally:
        if task.marked:
            marking.release()
    return task.captured


def count_dependencies(task: GraphTask, roots: Edges) -> None:
    """Count the gradients that each reachable node will get from other nodes."""
    waiting = task.waiting
    todo = []
    for node, _ in roots:
        if node not in waiting:
            waiting[node] = 0
            todo.append(node)
    while todo:
        node = todo.pop()
        for n in node._next_:
            if n is not None:
                c = waiting.get(n)
                if c is None:
                    waiting[n] = 1
                    todo.append(n)
                else:
                    waiting[n] = c + 1


def mark_dependencies(task: GraphTask, roots: Edges) -> None:
    """`count_dependencies` on the nodes themselves."""
    mark = task.id + 1
    todo = []
    for node, _ in roots:
        if node._mark_ != mark:
            node._mark_ = mark
            node._waits_ = 0
            todo.append(node)
    while todo:
        node = todo.pop()
        for n in node._next_:
            if n is not None:
                if n._mark_ != mark:
                    n._mark_ = mark
                    n._waits_ = 1
                    if n._next_:
                        todo.append(n)
                else:
                    n._waits_ += 1


def waits_of(task: GraphTask, node: Node) -> int:
    """The number of gradients yet to arrive at a node of the graph."""
    return node._waits_ if task.marked else task.waiting[node]


def find_needed(task: GraphTask, roots: Edges, inputs: Edges, accumulate_grad: bool) -> None:
    """Find the nodes that must run for the gradients of `inputs`, and the captures at each node; mark the dependencies on the
    way (see `mark_dependencies`), if the counts are on the nodes."""
    mark = task.id + 1 if task.marked else 0
    needed: dict[Node, bool] = {}
    captures: dict[Node, list[tuple[int, int]]] = {}
    targets: dict[Node, list[tuple[int, int]]] = {} if accumulate_grad else captures
    position = 0
    for node, nr in inputs:
        found = targets.get(node)
        if found is None:
            found = targets[node] = []
        found.append((nr, position))
        position += 1
    task.captured = [None] * len(inputs)
    # Post-order walk: a node is needed if one of its edges leads to a target or to a needed node.
    useful = set(targets)
    stack = [root for root, _ in roots]
    if mark:
        for node in stack:
            node._mark_ = mark
            node._waits_ = 0
    while stack:
        node = stack[-1]
        if node not in needed:                    # first visit: its edges come before it
            needed[node] = False
            top = len(stack)
            for n in node._next_:
                if n is None:
                    continue
                if mark:
                    if n._mark_ != mark:
                        n._mark_ = mark
                        n._waits_ = 0
                    n._waits_ += 1
                if n not in needed:
                    if n._next_:
                        stack.append(n)
                    else:
                        needed[n] = False
            if len(stack) > top:
                continue
        stack.pop()
        for n in node._next_:
            if n is not None and n in useful:
                needed[node] = True
                useful.add(node)
                break
    if accumulate_grad:
        for node in targets:
            if node in needed:
                needed[node] = True
    task.needed = needed
    task.captures = captures
    task.useful = useful
    task.partial = not useful.issuperset(needed)


def run_task(task: GraphTask, roots: Edges, grads: Any, work: Callable[[GraphTask], Any] | None = None) -> None:
    """Run a graph task in this thread, or only its part `work(task)` (see debug.py)."""
    state = thread_state()
    was_task = state["task"]
    was_grad = switch_grad(state, task.create_graph)
    saved_hooks = state["saved_hooks"]
    hooks = list(saved_hooks) if saved_hooks else ()
    disabled = state["function_disabled"]
    if Subclasses.defined or state["function_modes"]:
        state["function_disabled"] = 2                # formulas are not visible to __torch_function__
    task.whole = task.needed is None and (was_task is None or was_task.whole)
    state["task"] = task
    state["backward_depth"] += 1
    try:
        if work is not None:
            work(task)
            return
        first = None
        if len(roots) == 1:
            first, nr = roots[0]
            grad = grads[0]
            if grad is not None:
                grad = fitted(first, nr, grad, None, 0)
                task.buffers[first] = [grad] if first._count_ == 1 else [
                    grad if i == nr else None for i in range(first._count_)]
                grad = None
            if (first._waits_ if task.marked else task.waiting[first]):       # it is held back (see debug.py)
                first = None
        else:
            deliver_roots(task, roots, grads)
        grads = None
        loop(task, state, first)
        while task.callbacks:
            task.callbacks.pop(0)()
    except BaseException:
        if tls.anomaly and task.node is not None:
            services.anomaly_report(task.node)
        raise
    finally:
        if len(saved_hooks) != len(hooks):            # hooks that a node pushed end with the pass
            add_saved_hooks(len(hooks) - len(saved_hooks))
            saved_hooks[:] = hooks
        state["function_disabled"] = disabled
        state["backward_depth"] -= 1
        state["task"] = was_task
        try:
            switch_grad(state, was_grad)
        except BaseException:             # interrupted before the switch
            switch_grad(state, was_grad)
            raise


def deliver_roots(task: GraphTask, roots: Edges, grads: Grads) -> None:
    """Deliver the first gradients of a pass from several roots, and make those ready that no other root leads to."""
    for (node, nr), grad in zip(roots, grads, strict=True):
        deliver(task, node, nr, grad, None, 0)
    for node in dict.fromkeys([node for node, _ in roots]):
        if waits_of(task, node) == 0:
            push_ready(task.ready, node)


# NOTE [Order]
# The order in which the accumulators of one node run is visible to hooks. They have the same sequence number, so that it
# depends on the heap: this is the binary heap of C++'s std::push_heap and std::pop_heap, from which PyTorch's order comes.
def push_ready(heap: list[Node], node: Node) -> None:
    """Add a node to the heap of ready nodes."""
    heap.append(node)
    sift_up(heap, len(heap) - 1, node)


def sift_up(heap: list[Node], hole: int, node: Node) -> None:
    """Put `node` at `hole`, or above it in place of earlier nodes."""
    seq = node._seq_
    while hole > 0:
        parent = (hole - 1) // 2
        above = heap[parent]
        if above._seq_ >= seq:
            break
        heap[hole] = above
        hole = parent
    heap[hole] = node


def pop_ready(heap: list[Node]) -> Node:
    """Remove and return the ready node that runs next."""
    last = heap.pop()
    size = len(heap)
    if size == 0:
        return last
    top = heap[0]
    hole, child = 0, 2
    while child < size:
        right = heap[child]
        left = heap[child - 1]
        if right._seq_ < left._seq_:
            heap[hole] = left
            hole = child - 1
        else:
            heap[hole] = right
            hole = child
        child = 2 * hole + 2
    if child == size:
        heap[hole] = heap[child - 1]
        hole = child - 1
    sift_up(heap, hole, last)
    return top


def loop(task: GraphTask, state: dict[str, Any], first: Node | None) -> None:
    """Run `first` and ready nodes until none is left; `state` are the switches of this thread."""
    ready, waiting, buffers, useful, captures = task.ready, task.waiting, task.buffers, task.useful, task.captures
    release, marked, partial = not task.keep_graph, task.marked, task.partial
    run_bits = (1 if release else 0) | (2 if state["run_flags"] == 1 else 0)      # see core/plain/rules.py
    watched = switches.any_mode and (state["anomaly"] or state["profiler"] is not None)
    direct = not watched and state["run_flags"] < 2       # no mode sees which node runs an op
    event = None
    t: Any = None
    leaf: Any = None
    array: Any = None
    while first is not None or ready:
        node: Any = pop_ready(ready) if first is None else first
        first = None
        grads: Any = buffers.pop(node, None)
        while node is not None:
            if grads is None:
                grads = [None] * node._count_
            task.node = node
            if watched:
                event = note_node(event, node)
            if captures is not None and node in captures:
                if not capture(task, node, grads):
                    break
            elif partial and not task.needed[node]:
                break
            hooks = node._hooks_
            if type(node) is AccumulateGrad:
                sink = node
                leaf = leaf_of(sink)
                if hooks is None and leaf._extra is None and not watched:
                    grad = grads[0]
                    grads = None
                    if grad is not None and leaf._requires:
                        accumulate(leaf, grad, task.create_graph, 0)
                else:
                    run_accumulator(task, node, grads)
                break
            if hooks is not None:
                grads = run_pre_hooks(node, grads)
            wanted = None
            if partial and len(node._next_) > 1:
                wanted = [n in useful for n in node._next_]
            if watched:
                results: Any = run_watched(node, grads, wanted)
            elif node._op_ is None or node._op_.run is None:
                results = node._run_(grads, wanted)
            else:                                     # plain core, where a node may release its saved tensors itself
                results = node._op_.run(node, grads, wanted, run_bits if node._hooks_ is None else run_bits & 2)
            if node._hooks_ is not None and node._hooks_.post is not None:
                results = run_post_hooks(node, fitted_results(node, results, task.needed, useful), grads, hooks is not None)
            grads = None
            if release and (node._saved_ is not None or node._op_ is None):
                node._release_()
            following = None
            nrs = node._nrs_
            i = -1
            for n in node._next_:
                i += 1
                if partial and n is not None and n not in useful:
                    if results[i] is not None and not isinstance(node, OpNode):      # custom Functions are always checked
                        fitted(n, 0 if nrs is None else nrs[i], results[i], node, i)
                    continue
                if n is None:
                    continue
                grad = results[i]
                if marked:
                    c = n._waits_ = n._waits_ - 1
                else:
                    c = waiting[n] - 1
                leaf = None
                if c == 0 and direct and type(n) is AccumulateGrad and n._hooks_ is None and node._op_ is not None and (
                        n not in buffers):
                    sink = n
                    leaf = sink.weak() if sink.owned is None else sink.owned
                if leaf is not None and leaf._extra is None:          # an accumulator that would run next
                    if grad is not None:
                        results[i] = None
                        fits = False
                        if type(grad) is Tensor:
                            t = grad
                            array = t.array
                            fits = array.dtype is leaf.array.dtype and has_shape(array, leaf.array.shape)
                        t = array = None
                        if not fits:
                            grad = fitted(n, 0, grad, node, i)
                        if captures is not None and n in captures:
                            for _, position in captures[n]:
                                task.captured[position] = grad
                        elif leaf._requires:
                            accumulate(leaf, grad, task.create_graph, 0)
                    if not marked:
                        waiting[n] = c
                    continue
                # A simple chain uses neither the heap nor the buffers.
                if c == 0 and following is None and n._count_ == 1 and not ready and (not buffers or n not in buffers):
                    following = n
                    fits = False
                    if type(grad) is Tensor:
                        t = grad
                        array = t.array
                        fits = n._dtype_ is array.dtype and has_shape(array, n._shape_)
                    grads = [grad] if fits else None if grad is None else [fitted(n, 0, grad, node, i)]
                    continue
                if grad is not None:
                    if type(results) is list:         # so that only the next node references it
                        results[i] = None
                    deliver(task, n, 0 if nrs is None else nrs[i], grad, node, i)
                if not marked:
                    waiting[n] = c
                if c == 0:
                    if following is not None:
                        push_ready(ready, following)
                        if grads is not None:
                            buffers[following] = grads
                            grads = None
                        following = None
                    push_ready(ready, n)
            results = grad = t = array = None
            node = following
    if watched:
        note_node(event, None)


def note_node(event: Any, node: Node | None) -> Any:
    """Notify the profiler, if any, that the node of `event` is finished and `node` is next."""
    return None if tls.profiler is None else tls.profiler.next_node(event, node)


def run_watched(node: Node, grads: Grads, wanted: list[bool] | None) -> Grads:
    """Run a node with anomaly mode, a profiler, or both active."""
    recorder = tls.profiler
    event = None if recorder is None else recorder.begin_node(node, grads)
    try:
        return services.anomaly(node, grads, wanted) if tls.anomaly else node._run_(grads, wanted)
    finally:
        if event is not None:
            recorder.end_of(event)


def is_wanted(task: GraphTask, node: Node) -> bool:
    """Whether `node` needs a gradient: it runs, or captures."""
    return node in task.useful


def capture(task: GraphTask, node: Node, grads: Grads) -> bool:
    """Capture the gradients that arrived at an input of `grad`; return whether the node also runs."""
    runs = task.needed.get(node, False)
    positions = task.captures.get(node)
    if positions is not None:
        if not runs and has_tensor_hooks(node):
            grads = run_tensor_hooks(node, grads)
        for nr, position in positions:
            task.captured[position] = grads[nr]
    return runs


def has_tensor_hooks(node: Node) -> bool:
    """Whether `run_tensor_hooks` may have a hook to run."""
    if type(node) is AccumulateGrad:
        sink = node
        return leaf_of(sink)._extra is not None
    return node._hooks_ is not None


def run_accumulator(task: GraphTask, node: AccumulateGrad, grads: Grads) -> None:
    """Run an accumulator with hooks, or while a mode or profiler is active."""
    given = grads
    grads = run_pre_hooks(node, grads)
    variable = node.variable
    recorder = tls.profiler
    event = None if recorder is None else recorder.begin_node(node, grads)
    grad = grads[0]
    if grad is not None and variable._requires:               # requires_grad may have been switched off since
        again = grads is not given and given[0] is grad
        accumulate(variable, grad, task.create_graph, 2 if again else 1)      # `grads` and hook arguments reference it too
    if event is not None:
        recorder.end_of(event)
    if grad is not None:
        extra = variable._extra
        if extra is not None and extra.post_hooks and run_value_hooks(extra.post_hooks, variable) is not variable:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if node._hooks_ is not None and node._hooks_.post is not None:
        run_post_hooks(node, [], grads, True)


def deliver(task: GraphTask, node: Node, nr: int, grad: Tensor | None, sender: Node | None, index: int) -> None:
    """Add `grad` to the gradient that has arrived at output `nr` of `node`."""
    if grad is None:
        return
    grad = fitted(node, nr, grad, sender, index)
    arrived = task.buffers.get(node)
    if arrived is None:
        arrived = task.buffers[node] = [None] * node._count_
    old = arrived[nr]
    if old is None:
        arrived[nr] = grad
    else:                         # sparse + dense is not defined, dense + sparse is
        new = grad
        array = old.array
        in_place = not task.create_graph and type(old) is Tensor and not (
            old._flags & ~FLAG_PENDING or new._flags & ~(FLAG_PENDING | FLAG_CONJ | FLAG_NEG)) and (
                getrefcount(old) <= Alone.count and array.base is None        # in PyTorch
                and (array.flags.c_contiguous or array.flags.f_contiguous))
        both = grad + old if old._flags & FLAG_SPARSE else old + grad
        if in_place:
            if both._counter is None:             # not `counter_of`, which computes a value that is pending
                both._counter = Counter()
            both._counter.n = 1 if old._counter is None else old._counter.n + 1
        arrived[nr] = both


class Alone:
    """The reference count of an arrived gradient without other references."""

    count: int = 0


def count_alone() -> None:
    arrived = [new_tensor(np.ones(1))]
    old = arrived[0]
    Alone.count = getrefcount(old)


count_alone()


def fitted(node: Node, nr: int, grad: Any, sender: Node | None, index: int) -> Tensor:
    """`grad` in the shape and dtype of output `nr` of `node`."""
    if type(node) is AccumulateGrad:
        sink = node
        leaf = leaf_of(sink)
        array = leaf.array
        shape, dtype = array.shape, array.dtype
        if leaf._extra is not None and leaf._extra.grad_dtype_set:
            return fit(grad, shape, dtype, node, sender, index)
    elif node._count_ == 1:
        shape, dtype = node._shape_, node._dtype_
    else:
        shape, dtype = node._shape_[nr], node._dtype_[nr]
    if type(grad) is Tensor:
        t = grad
        array = t.array
        if array.dtype is dtype and has_shape(array, shape):
            return grad
    return fit(grad, shape, dtype, node, sender, index)


def fitted_results(node: Node, results: Grads, needed: dict[Node, bool] | None, useful: Any) -> Grads:
    """The results of a node as its next nodes will receive them, for hooks."""
    made = list(results)
    for i, n in enumerate(node._next_):
        if n is not None and made[i] is not None and (needed is None or n in useful):
            made[i] = fitted(n, 0 if node._nrs_ is None else node._nrs_[i], made[i], node, i)
    return made


def fit(grad: Any, shape: Sequence[int] | None, dtype: np.dtype[Any], node: Node, sender: Node | None, index: int) -> Tensor:
    """Sum out broadcasting, cast to the expected dtype, take the real part where a real number is expected."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"expected Variable or None (got {type(grad).__name__})")
    if shape is None:
        return grad
    # The formulas of ops that mix real and complex operands end with the real part, so it comes before the sum.
    if grad.array.dtype.kind in "cW" and dtype.kind not in "cW" and (
            sender._op_.mixes if isinstance(sender, OpNode) else type(sender) is CopySlices):
        grad = late.real(grad)
    got = grad.array.shape
    if got != shape:
        if not expands_to(shape, got):
            origin = "" if sender is None else f"Function {name_of(sender)} returned an "
            raise RuntimeError(f"{origin}invalid gradient at index {index} - got {list(got)} but expected shape compatible "
                               f"with {list(shape)}")
        grad = late.sum_to_size(grad, shape)
    if type(node) is AccumulateGrad:
        extra = node.variable._extra
        if extra is not None and extra.grad_dtype_set:
            if extra.grad_dtype is None:
                return grad
            dtype = extra.grad_dtype.numpy
    have = grad.array.dtype
    if have is not dtype:
        if have.kind in "cW" and dtype.kind not in "cW":
            raise RuntimeError("Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be "
                               "true, but got false.  (Could this error message be improved?  If so, please report an "
                               "enhancement request to PyTorch.)")
        if have != dtype:
            grad = services.cast(grad, dtype)
    return grad


def expands_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether `shape` broadcasts to `target`."""
    if len(shape) > len(target):
        return False
    offset = len(target) - len(shape)
    for i, n in enumerate(shape):
        if n != 1 and n != target[offset + i]:
            return False
    return True


def run_on_thread(task: GraphTask, roots: Edges, grads: Grads) -> None:
    """Run a deeply nested task on a new thread, with this thread's modes, and wait for it."""
    caller = {name: getattr(tls, name) for name in INHERITED}
    failure: list[BaseException] = []

    def work() -> None:
        try:
            for name, value in caller.items():
                setattr(tls, name, value)
            run_task(task, roots, grads)
        except BaseException as error:
            failure.append(error)
        finally:
            for name in INHERITED:
                setattr(tls, name, getattr(type(tls), name, None) if name in CLASS_DEFAULTS else [])

    thread = import_module("threading").Thread(target=work)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]


CLASS_DEFAULTS = ("grad_enabled", "slow_path", "run_flags", "inference", "fwd_grad_enabled", "multithreading", "view_replay",
                  "check_nan", "origins",
                  "anomaly", "dual_level", "task", "backward_depth", "saved_hooks_disabled", "below", "dispatch_disabled",
                  "function_disabled", "autocast", "profiler")
INHERITED = (*CLASS_DEFAULTS, "saved_hooks", "dispatch_modes", "function_modes", "transforms", "stash")


def calibrate() -> None:
    """Measure for `accumulate` the reference counts of a gradient without other references."""
    leaf = new_tensor(np.ones(2))
    leaf._requires = True
    private.calibrating = True
    root = (leaf * leaf)._node
    root._next_ = (root._next_[0], None)
    run_task(prepared(root), [(root, 0)], [new_tensor(np.ones(2))])
    private.calibrating = False


def prepared(root: Any) -> GraphTask:
    """A pass from `root`, its dependencies counted."""
    if not isinstance(root, Node):
        raise TypeError(f"expected a node of the graph, not {type(root).__name__}")
    task = GraphTask(False, False)
    count_dependencies(task, [(root, 0)])
    return task


# ---- queries during a backward pass
def current_task() -> Any:
    return tls.task


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback` when the current backward pass has finished."""
    if tls.task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    tls.task.callbacks.append(callback)


def current_node() -> Any:
    """The node that the current backward pass is running, None outside of one."""
    return None if tls.task is None else show(tls.task.node)


def is_checkpoint_valid() -> bool:
    """Whether a node may run a nested backward that fills `.grad`: not while the pass is limited to `inputs`."""
    return tls.task is None or tls.task.whole


def current_graph_task_id() -> int:
    return -1 if tls.task is None else tls.task.id


def current_graph_task_execution_order() -> list[Any]:
    """The nodes that are yet to run in the current pass, in order."""
    task = tls.task
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if tls.multithreading:
        raise RuntimeError("_current_graph_task_execution_order expects the current backward to be executed with "
                           "multithreading disabled, e.g. by running:\n\nwith torch.autograd.set_multithreading_enabled"
                           "(False):\n    torch.autograd.grad(...)\n")
    left: dict[Node, int] = {}
    heap = list(task.ready)
    # the running node is no longer on the heap; it comes first
    order: list[Any] = []
    running = None if task.node is None or task.node in heap else task.node
    while running is not None or heap:
        node = pop_ready(heap) if running is None else running
        running = None
        if task.needed is not None and not is_wanted(task, node):
            continue
        order.append(show(node))
        if task.needed is not None and not task.needed.get(node, False):
            continue
        for n in node._next_:
            if n is not None:
                left[n] = left.get(n, waits_of(task, n)) - 1
                if left[n] == 0:
                    push_ready(heap, n)
    return order


def will_engine_execute_node(node: Any) -> bool:
    """Whether the current pass will run (or capture at) `node`."""
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if tls.task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    task = tls.task
    if task.needed is None:
        return bool(node._mark_ == task.id + 1) if task.marked else node in task.waiting
    if type(node) is AccumulateGrad and node in task.captures:
        raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                           "This is currently not supported.")
    return bool(task.needed.get(node, False) or node in task.captures)
