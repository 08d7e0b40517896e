"""A debugger for backward passes: runs one node at a time, with gradients that can be inspected and changed.

NOTE [Stepping]
`Driver` drives the engine's own loop. Before a node runs, every node that it sends gradients to is made to wait for one
gradient more than there will be, so the loop returns after this one node. A final post-hook takes the results before they
are sent; the engine's `deliver` delivers them when the debugger moves on. Everything else (hooks, accumulation, releasing,
thread state, anomaly mode) is the engine's usual behaviour.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from retrograd.autograd.backward import (
    CREATE_GRAPH,
    as_tuple,
    backward_targets,
    first_gradients,
    grads_tuple,
    input_edge,
    root_edges,
)
from retrograd.autograd.engine import (
    GraphTask,
    count_dependencies,
    deliver,
    find_needed,
    is_wanted,
    loop,
    pop_ready,
    push_ready,
    run_task,
)
from retrograd.autograd.origins import Origin, origin_of
from retrograd.core.graph import AccumulateGrad, Node, forward_name, register, shape_dtype
from retrograd.core.origin import origin_of_node
from retrograd.core.state import switches, thread_state, tls
from retrograd.core.tensor import FLAG_SPARSE, Tensor
from retrograd.core.warn import warn_once

__all__ = ["Step", "Steps", "is_nonfinite", "origin_of", "step"]

NONFINITE = "nonfinite"


def step(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         inputs: Any = None, breakpoints: Sequence[Any] | None = ()) -> Steps:
    """A backward pass in single steps, with the arguments of `backward`: nodes run as the result is iterated over.

    `breakpoints` are the places where `Steps.continue_` stops.

    >>> import retrograd as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> for s in step((x * x).exp()):
    ...     print(s.name, s.incoming)
    ExpBackward0 [tensor([1.])]
    MulBackward0 [tensor([54.5981])]
    AccumulateGrad [tensor([218.3926])]
    >>> x.grad
    tensor([218.3926])
    """
    return Steps(tensors, grad_tensors, retain_graph, create_graph, inputs, breakpoints)


class Step:
    """One node of a stepped backward pass: about to run, or (`ran`) finished.

    >>> import retrograd as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> first = next(step(x * 3))
    >>> first.incoming[0] = torch.tensor([10.0])
    >>> first.run().outgoing
    [tensor([30.]), None]
    """

    def __init__(self, driver: Driver, index: int, node: Node, incoming: list[Any]) -> None:
        self.index = index                        # the number of nodes that ran before it
        self.node = node
        self.incoming = incoming                  # one gradient per output of the node; after it ran, as changed by hooks
        self.outgoing: list[Any] = []             # once it ran: one gradient per edge, not yet sent
        self.ran = False
        self.arrived = tuple(incoming)            # the incoming gradients before any replacement
        self.driver = driver

    @property
    def name(self) -> str:
        """The name of the node's class, such as MulBackward0.

        >>> import retrograd as torch
        >>> next(step(torch.ones(1, requires_grad=True) * 3)).name
        'MulBackward0'
        """
        return type(self.node).__name__

    @property
    def origin(self) -> Origin | None:
        """The line that recorded the node (for an accumulator: that made the leaf), if `trace_origins` was on.

        >>> import retrograd as torch
        >>> with torch.autograd.trace_origins():
        ...     y = torch.ones(1, requires_grad=True) * 3
        >>> next(step(y)).origin.text
        'y = torch.ones(1, requires_grad=True) * 3'
        """
        return origin_of_node(self.node) if self.leaf is None else origin_of(self.leaf)

    @property
    def leaf(self) -> Tensor | None:
        """The tensor whose `.grad` this step fills, None if the node is not an AccumulateGrad.

        >>> import retrograd as torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> [s.leaf is x for s in step(x * 3)]
        [False, True]
        """
        return self.node.variable if type(self.node) is AccumulateGrad else None

    def run(self) -> Step:
        """Run the node if it has not run yet; its results stay in `outgoing` until the next step.

        >>> import retrograd as torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> for s in step(x * 3):
        ...     if s.run().outgoing:
        ...         s.outgoing[0] += 1
        >>> x.grad
        tensor([4.])
        """
        if not self.ran:
            self.driver.run(self)
        return self

    def __str__(self) -> str:
        origin = self.origin
        return f"{self.index}: " + (self.name if origin is None else origin.told(self.name))

    def __repr__(self) -> str:
        return f"<step {self}{', done' if self.ran else ''}>"


class Steps(Iterator[Step]):
    """A backward pass that runs on demand; it may be abandoned early, which leaves the unreached part of the graph untouched.

    A breakpoint is the name of a node ("MulBackward0" or "Mul"), a line ("train.py:12", or 12 in any file, of graphs recorded
    under `trace_origins`), a node, a tensor (for the node that computed it), "nonfinite" (which stops after the node that
    made the first NaN or infinity), or a function of the next step.

    >>> import retrograd as torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> steps = step((x.sqrt() * 0).sum())
    >>> found = steps.continue_(until="nonfinite")
    >>> found.name, found.incoming, found.outgoing
    ('SqrtBackward0', [tensor([0., 0.])], [tensor([nan, 0.])])
    >>> found.outgoing[0] = torch.nan_to_num(found.outgoing[0])
    >>> steps.continue_()
    >>> x.grad
    tensor([0., 0.])
    """

    def __init__(self, tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None, breakpoints: Sequence[Any] | None = ()) -> None:
        if switches.any_mode and tls.transforms:
            raise RuntimeError(tls.transforms[-1].no_backward)
        outputs = as_tuple(tensors)
        if inputs is not None and len(inputs := as_tuple(inputs)) == 0:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        grads = first_gradients(outputs, grads_tuple(grad_tensors, len(outputs)), False)
        if create_graph:
            warn_once(CREATE_GRAPH, 3)
        targets = None if inputs is None else backward_targets(inputs)
        keeps = create_graph if retain_graph is None else bool(retain_graph)
        self.driver = Driver(root_edges(outputs), grads, keeps, create_graph, targets)
        self.current: Step | None = None
        self.spoilt = False                       # a NaN or infinity was reported
        self.breakpoints = checked_breakpoints(breakpoints, self.driver)

    # ---- moving on
    def __next__(self) -> Step:
        if self.driver.closed:
            raise StopIteration
        before, self.current = self.current, None
        if before is not None:
            before.run()
            self.driver.send(before)
        self.current = self.driver.next_step()
        if self.current is None:
            raise StopIteration
        return self.current

    def continue_(self, until: Any = ()) -> Step | None:
        """Run to the next breakpoint, or to one of `until`; return its step, None at the end of the pass.

        >>> import retrograd as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> steps = step((x * 2).exp().sum(), breakpoints="Exp")
        >>> steps.continue_()
        <step 1: ExpBackward0>
        >>> steps.continue_(until="AccumulateGrad").incoming
        [tensor([14.7781])]
        >>> steps.continue_()
        """
        places = [*self.breakpoints, *checked_breakpoints(until, self.driver)]
        nonfinite = any([place == NONFINITE for place in places if isinstance(place, str)])
        while not self.driver.closed:
            now = self.current
            if nonfinite and now is not None and not now.ran and is_nonfinite(now.run().outgoing) and (
                    not is_nonfinite(now.incoming)):
                self.spoilt = True
                return now
            now = next(self, None)
            if now is not None and any([matches(place, now) for place in places]):
                return now
            if nonfinite and now is not None and not self.spoilt and is_nonfinite(now.incoming):
                self.spoilt = True                # not from a node: it was passed in, or came from adding gradients
                return now
        return None

    def finish(self) -> None:
        """Run to the end, ignoring breakpoints.

        >>> import retrograd as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> step(x * 2, breakpoints="Mul").finish()
        >>> x.grad
        tensor([2.])
        """
        for _ in self:
            pass

    def close(self) -> None:
        """Abandon the pass: nodes that have not run keep their saved tensors, unreached leaves their `.grad`.

        >>> import retrograd as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> y = x.exp()
        >>> with step(y) as steps:
        ...     _ = next(steps)
        >>> y.backward()
        >>> x.grad
        tensor([2.7183])
        """
        self.current = None
        self.driver.close()

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<backward pass, {'closed' if self.driver.closed else 'at ' + repr(self.current)}>"


class Driver:
    """Runs the engine node by node; see NOTE [Stepping]."""

    def __init__(self, roots: Sequence[Any], grads: Sequence[Any], keep_graph: bool, create_graph: bool,
                 targets: Sequence[Any] | None) -> None:
        self.task = GraphTask(keep_graph, create_graph)
        count_dependencies(self.task, roots)
        if targets is not None:
            find_needed(self.task, roots, targets, True)
        self.ready: list[Any] = []                # a heap like the engine's own
        self.given = 0                            # the number of steps returned so far
        self.closed = False
        starts = list(dict.fromkeys([node for node, _ in roots]))
        self.hold(starts, lambda: run_task(self.task, roots, grads))
        for node in starts:
            self.push(node)

    def next_step(self) -> Step | None:
        """The node that the engine would run next; None at the end, after the callbacks."""
        while self.ready:
            node = pop_ready(self.ready)
            incoming = self.task.buffers.pop(node, None) or [None] * node._count_
            if self.task.needed is None or is_wanted(self.task, node):
                self.given += 1
                return Step(self, self.given - 1, node, incoming)
        try:
            run_task(self.task, (), ())           # only the callbacks are left
        finally:
            self.close()
        return None

    def run(self, now: Step) -> None:
        """Run the node of a step and keep its results."""
        if self.closed or now.index != self.given - 1:
            raise RuntimeError(f"{now!r} belongs to a pass that has gone on, or was closed: only the current step can run")
        node, task = now.node, self.task
        task.buffers[node] = checked_gradients(now)

        def take(results: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...]:
            now.outgoing, now.incoming = list(results), list(grads)
            return (None,) * len(results)

        def run_one(task: GraphTask) -> None:
            task.ready[:] = [node]
            loop(task, thread_state(), None)

        bare = node._hooks_ is None
        handle = None if type(node) is AccumulateGrad else register(node, "post", take)
        try:
            self.hold([n for n in dict.fromkeys(node._next_) if n is not None], lambda: run_task(task, (), (), run_one))
        except BaseException:
            self.close()
            raise
        finally:
            if handle is not None:
                handle.remove()
                if bare and not (node._hooks_.post or node._hooks_.pre or node._hooks_.tensor or node._hooks_.retain):
                    node._hooks_ = None
        now.ran = True

    def hold(self, nodes: list[Any], run: Callable[[], None]) -> None:
        """Call `run()` while none of `nodes` can become ready."""
        for node in nodes:
            self.task.waiting[node] += 1
        try:
            run()
        finally:
            for node in nodes:
                self.task.waiting[node] -= 1

    def send(self, now: Step) -> None:
        """Deliver the results of a step, and update the ready nodes."""
        node = now.node
        if len(now.outgoing) not in (0, len(node._next_)):
            raise ValueError(f"step.outgoing must have one gradient (or None) for each of the {len(node._next_)} edges of "
                             f"{now.name}, but has {len(now.outgoing)}")
        last = {n: i for i, n in enumerate(node._next_)}

        def route(task: GraphTask) -> None:
            for i, n in enumerate(node._next_):
                if n is None or task.needed is not None and not is_wanted(task, n):
                    continue
                if now.outgoing:
                    deliver(task, n, 0 if node._nrs_ is None else node._nrs_[i], now.outgoing[i], node, i)
                if last[n] == i:
                    self.push(n)

        try:
            run_task(self.task, (), (), route)
        except BaseException:
            self.close()
            raise

    def push(self, node: Node) -> None:
        if self.task.waiting[node] == 0:
            push_ready(self.ready, node)

    def close(self) -> None:
        self.closed = True
        self.ready.clear()
        self.task.buffers.clear()


# ---- breakpoints
def checked_breakpoints(breakpoints: Any, driver: Driver) -> list[Any]:
    """Breakpoints as a list; tensors become their nodes."""
    given = list(breakpoints) if isinstance(breakpoints, (list, tuple, set, frozenset)) else [breakpoints]
    found = [input_edge(place)[0] if isinstance(place, Tensor) else place for place in given]
    for place in found:
        if not isinstance(place, (str, int, Node)) and not callable(place):
            raise TypeError("a breakpoint is the name of a node, a line, a node, a tensor that requires grad, \"nonfinite\" or "
                            f"a function of a step, not {place!r}")
        if line_of(place) is not None and not any([origin_of_node(node) for node in driver.task.waiting]):
            raise ValueError(f"no line of this graph is known, so {place!r} is never reached: record it under "
                             "torch.autograd.trace_origins()")
    return found


def line_of(place: Any) -> tuple[str, int] | None:
    """The file and line that a breakpoint names."""
    if isinstance(place, int):
        return "", place
    if isinstance(place, str):
        file, found, line = place.rpartition(":")
        if found and line.isdigit():
            return file, int(line)
    return None


def matches(place: Any, now: Step) -> bool:
    """Whether a breakpoint is at the node that is about to run."""
    line = line_of(place)
    if line is not None:
        origin = now.origin
        return origin is not None and origin.line == line[1] and ("/" + origin.file).endswith(line[0] and "/" + line[0])
    if isinstance(place, str):
        return place in (now.name, now.node.name(), forward_name(now.node))
    return now.node is place if isinstance(place, Node) else bool(place(now))


def is_nonfinite(grads: Any) -> bool:
    """Whether a gradient, or one of several, has a nan or an inf.

    >>> import retrograd as torch
    >>> is_nonfinite([None, torch.tensor([1.0, float("inf")])])
    True
    """
    several: Any = (grads,) if isinstance(grads, Tensor) else grads
    for grad in several:
        if grad is not None:
            if grad._flags & FLAG_SPARSE:
                grad = grad.coalesce().values()
            array = grad.array
            if array.dtype.kind == "V":           # not a built-in NumPy dtype
                array = array.astype(np.float32)
            if array.dtype.kind in "fc" and not bool(np.isfinite(array).all()):
                return True
    return False


def checked_gradients(now: Step) -> list[Any]:
    """The incoming gradients, checked if they were replaced."""
    node = now.node
    if len(now.incoming) != node._count_:
        raise ValueError(f"step.incoming must have one gradient (or None) for each of the {node._count_} outputs of "
                         f"{now.name}, but has {len(now.incoming)}")
    for nr, grad in enumerate(now.incoming):
        if grad is None or grad is now.arrived[nr]:
            continue
        if not isinstance(grad, Tensor):
            raise TypeError(f"step.incoming[{nr}] must be a tensor or None, not {type(grad).__name__}")
        shape, dtype = shape_dtype(node, nr)
        if shape is not None and (grad.array.shape != tuple(shape) or grad.array.dtype != dtype):
            raise ValueError(f"step.incoming[{nr}] must be like the gradient that {now.name} expects, of shape {list(shape)} "
                             f"and dtype {dtype}, but has shape {list(grad.array.shape)} and dtype {grad.array.dtype}")
    return list(now.incoming)
