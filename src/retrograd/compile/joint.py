"""Plans that compute deferred ops, and the joint node that represents several of them in the graph.

NOTE [Joint graphs]
There is one plan for each sequence of ops and set of wanted values. It is compiled the second time: the forward is one C
file, and so is the backward, which is traced: the ops run again on placeholders, autograd records them and runs backward,
and the ops of both are recorded. Forward values that the backward uses are either saved, or recomputed where elementwise
ops on saved values suffice.
A value that a program still holds may later get hooks, or its gradient be requested. So no joint node spans such a value:
the ops are split there, and each part has its own node. Where the backward cannot be traced, or as long as nothing is
compiled, the ops have their usual nodes.

NOTE [Double backward]
With create_graph, a joint node runs its ops again with autograd, on its inputs.
Once user code has inspected a joint node, it leads to the usual nodes: the graph of a gradient leads to them too, and a pass
must find each of them once. Where it was inspected during a pass, or has several outputs, it runs them in a pass of their own.
"""
from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from retrograd.autograd.engine import run_pass
from retrograd.compile.regions import Code, Lifted
from retrograd.compile.tape import resolve
from retrograd.compile.tracing import Part, arguments, traced
from retrograd.compile.trie import Spot
from retrograd.compile.waiting import Layout
from retrograd.core import dispatch
from retrograd.core.graph import Node, edge_from, edge_of
from retrograd.core.hooks import hooks
from retrograd.core.record import OpNode, node_class, record, save_results
from retrograd.core.saved import SavedTensor, modified_error, share_counter
from retrograd.core.state import set_grad_enabled, swap_saved_hooks, switches, tls
from retrograd.core.tensor import FLAG_PENDING, Counter, Tensor, new_tensor, wants_grad
from retrograd.ops import late

LARGE = 1 << 20           # bytes; arrays up to this size are kept for reuse
MOST_PLANS = 500          # maximum number of compiled plans


class Compiled:
    """The number of plans compiled since the last reset."""

    count = 0

    def clear(self) -> None:
        self.count = 0


compiled = Compiled()


# ---- plans
class Plan:
    """Computes the wanted values of a sequence of ops."""

    def __init__(self, spot: Spot, wanted: tuple[int, ...]) -> None:
        self.steps = spot.path()
        self.numbers = [value if place < 0 else Lifted(place) for place, value in spot.numbers]
        self.wanted = wanted
        self.seen = 0
        self.code: Any = None
        self.parts: list[Part] = []
        self.nodes = any([step.records for step in self.steps])      # whether ops record nodes
        self.stored: set[int] = set(wanted)
        self.spare: list[Any] = []                # ops whose results are never stored and not large
        self.watched: list[int] = []              # wanted values that the usual nodes save

    def compile(self, numbers: list[float], compiles: bool) -> None:
        """Compile the plan."""
        compiled.count += 1
        steps = self.steps
        values: dict[int, Layout] = {}
        needs: dict[int, bool] = {}
        for step in steps:
            choice, event = step.event.choice, step.event
            for (i, *_), operand in zip(choice.tensors, event.operands, strict=False):
                if operand >= 0 and operand not in values:
                    values[operand], needs[operand] = step.values[i], step.requires[i]
            values[event.value], needs[event.value] = event.layout, step.records
        if self.nodes:
            parts = divided(steps, self.wanted, needs)
            for part in parts:
                flows = {o for step in part.steps if step.records for o in step.event.operands}      # gradients go there
                part.needs = [needs[slot] and slot in flows for slot in part.inputs]
                part.backward = traced(part, values, numbers, compiles)
            if all([part.backward is not None for part in parts]):
                self.parts, self.nodes = parts, False
                for part in parts:
                    part.describe(values, self.wanted)
                self.watched = sorted({slot for part in parts for slot in part.watched})
                made = {step.event.value for step in steps}
                self.stored.update([slot for part in parts for slot in [*part.inputs, *[s for s, _ in part.backward.saved]]
                                    if slot in made])
            else:
                self.stored.update([step.event.value for step in steps])
        self.code = Code([step.event for step in steps], values, self.stored, compiles, self.numbers)
        self.spare = [step.event for step in steps if step.event.value not in self.stored and step.layout.span <= LARGE]

    def run(self, arrays: list[Any], cells: list[Any], tensors: list[Any], numbers: list[float]) -> None:
        self.code.run(arrays, numbers)
        release_inputs(tensors)
        if self.nodes:
            record_steps(self, arrays, cells, tensors, numbers)
        made: dict[int, tuple[Any, int]] = {}
        counters = {slot: Counter() for slot in self.watched if cells[slot] is not None}
        for part in self.parts:
            node = CompiledFunctionBackward(part, arrays, tensors, numbers, made, counters)
            for nr, slot in enumerate(part.outputs):
                made[slot] = node, nr
        for slot in self.wanted if made else ():
            cell = cells[slot]
            if slot in made:
                cell.node, cell.nr = made[slot]
            if slot in counters:
                cell.counter = counters[slot]


def divided(steps: list[Any], wanted: tuple[int, ...], needs: dict[int, bool]) -> list[Part]:
    """Split a sequence of ops into parts: each ends with a wanted value that requires grad and is used again."""
    last: dict[int, int] = {}                     # slot -> the last op that uses it
    for k, step in enumerate(steps):
        last.update(dict.fromkeys([o for o in step.event.operands if o >= 0], k))
    ends = [k + 1 for k, step in enumerate(steps) if step.event.value in wanted and step.records
            and last.get(step.event.value, -1) > k]
    parts = []
    start = 0
    for end in [*ends, len(steps)]:
        for own in connected(steps[start:end]):
            made = {step.event.value for step in own}
            given = list(dict.fromkeys([o for step in own for o in step.event.operands if o >= 0 and o not in made]))
            outputs = [step.event.value for step in own if step.records and (
                step.event.value in wanted or last.get(step.event.value, -1) >= end)]
            if outputs:
                parts.append(Part(own, given, outputs))
        start = end
    return parts


def connected(steps: list[Any]) -> list[list[Any]]:
    """Group ops by independent graph, in order: a backward pass over one does not affect the others."""
    graphs: dict[int, list[Any]] = {}             # value that requires grad -> the ops of its graph
    made = {step.event.value: step for step in steps}
    for step in steps:
        if not step.records:
            continue
        graph = [step]
        for operand in step.event.operands:
            other = graphs.get(operand)
            if other is not None and other is not graph:
                other.extend(graph)
                for member in graph:
                    graphs[member.event.value] = other
                graph = other
        graphs[step.event.value] = graph
    found = []
    for graph in {id(graph): graph for graph in graphs.values()}.values():
        needed = {step.event.value for step in graph}
        for step in reversed(steps):              # values computed without grad belong to every graph that uses them
            if step.event.value in needed:
                needed.update([o for o in step.event.operands if o in made and o not in graphs])
        found.append([step for step in steps if step.event.value in needed])
    return found


def finish(plans: Any, spot: Any, wanted: Any, arrays: Any, cells: Any, tensors: Any, numbers: Any, node: Any) -> Any:
    """Run the ops of a tape; `plans` collects those worth compiling. Returns ops whose arrays are free."""
    plan = spot.plans.get(wanted)
    if plan is None:
        plan = spot.plans[wanted] = Plan(spot, wanted)
    if not wanted:
        return ()
    unused: Any = ()
    if plan.code is not None:
        plan.run(arrays, cells, tensors, numbers)
        unused = plan.spare
    else:
        plan.seen += 1
        if plan.seen == 2 and compiled.count < MOST_PLANS:
            plans.append((plan, list(numbers)))
        compute_steps(plan, arrays, numbers)
        release_inputs(tensors)
        record_steps(plan, arrays, cells, tensors, numbers)
    if node is not None:
        node.lead_to(wanted, cells, arrays)
    return unused


def compute_steps(plan: Any, arrays: Any, numbers: Any) -> None:
    """Compute ops one by one."""
    values = [new_tensor(array) for array in arrays]
    for step in plan.steps:
        array = arrays[step.event.value]
        array[...] = dispatch.compute(step.op, arguments(step, values, numbers)).array.reshape(array.shape)


def release_inputs(tensors: Any) -> None:
    """Mark the inputs as read, so that they may be written."""
    for t in tensors:
        if t is not None and t._flags & FLAG_PENDING:
            resolve(t)


def record_steps(plan: Any, arrays: Any, cells: Any, tensors: Any, numbers: Any) -> None:
    """Record the usual nodes of ops."""
    values = list(tensors)
    saved_hooks, modes = swap_saved_hooks([]), tls.dispatch_modes
    tls.dispatch_modes = []                       # modes that have come since do not see what waited
    try:
        for step in plan.steps:
            slot, op = step.event.value, step.op
            out = values[slot] = new_tensor(arrays[slot])
            args = arguments(step, values, numbers)
            if slot in plan.wanted:
                out._counter = cells[slot].counter = Counter()
            if step.records:
                mask = sum([1 << bit for bit, i in enumerate(op.inputs) if isinstance(args[i], Tensor) and wants_grad(args[i])])
                node = out._node = record(op, args, mask, False)
                node._shape_, node._dtype_ = out.array.shape, out.array.dtype
                out._requires = True
                if op.saves_result:
                    save_results(op, node, mask, (out,))
                if slot in plan.wanted:
                    cells[slot].node = node
    finally:
        tls.dispatch_modes = modes
        swap_saved_hooks(saved_hooks)


def replace_counter(t: Any, counter: Any) -> None:
    """Give a tensor, and its node's saved copy of it, the version counter of another one."""
    before, t._counter = t._counter, counter
    if t._node is not None:
        share_counter(t)
        for item in t._node._saved_ or ():
            if isinstance(item, Tensor) and before is not None and item._counter is before:
                item._counter = counter


def has_new_history(t: Any, edge: Any, nr: int) -> bool:
    """Whether an input was written to since its edge was `edge`."""
    if t._node is None:
        return False
    return t._node is not edge or t._nr != nr or t._view is not None and t._view.version != t._counter.n


def is_watched() -> bool:
    """Whether another feature sees the ops of this thread: a mode, a profiler, anomaly mode..."""
    return bool(tls.slow_path > (tls.deferrer is not None and tls.deferrer in tls.dispatch_modes))


# ---- the node
class Boundary(Node):
    """The end of a partial pass: keeps the gradient that arrives."""

    def __init__(self, layout: Any) -> None:
        super().__init__()
        self._count_, self._shape_, self._dtype_ = 1, layout.shape, layout.dtype
        self._next_ = ()
        self.grad: Any = None

    def _run_(self, grads: Any, needed: Any) -> Any:
        self.grad = grads[0]
        return []

    def _release_(self) -> None:
        pass


class CompiledFunctionBackward(Node):
    """The joint node of several ops."""

    joins = True

    def __init__(self, part: Part, arrays: Any, tensors: Any, numbers: Any, made: Any, counters: Any) -> None:
        super().__init__()
        self.part, self.numbers = part, numbers
        self._count_, self._shape_, self._dtype_ = len(part.outputs), part.shape, part.dtype
        self.inputs: Any = [tensors[slot] for slot in part.inputs]
        self.between: Any = None                  # slot -> (array, node, number) of inputs that are outputs of other parts
        edges: list[Any] = []
        nrs = []
        copies = {slot: arrays[slot].copy("K") for slot in part.copied} if part.copied else {}
        for slot, t, needs in zip(part.inputs, self.inputs, part.needs, strict=True):
            edge, nr = None, 0
            if t is None:
                edge, nr = made[slot] if needs else (None, 0)
                self.between = self.between or {}
                self.between[slot] = copies.get(slot, arrays[slot]), edge, nr
            elif needs:
                edge, nr = edge_from(self, t), t._nr
            edges.append(edge)
            nrs.append(nr)
        self._next_, self._nrs_ = tuple(edges), nrs
        self.arrays: Any = [copies.get(slot, arrays[slot]) for slot, _ in part.backward.saved]
        self.versions: Any = [0 if t is None or t._counter is None else t._counter.n for t in self.inputs]
        self.counters = [(slot, counters[slot]) for slot in part.watched if slot in counters]      # also held by programs
        self.usual: Any = None                    # the usual nodes, once user code has inspected this one
        self.ran: Any = None                      # the outputs that the last backward pass covered, if not all
        self.done: Any = None                     # the values whose nodes have been released, if not all
        self.pictures: Any = None                 # nodes for inspection only

    def _shown_(self, nr: int) -> tuple[Any, int]:
        """The usual node of the op that made output `nr`, shown to user code."""
        if self.usual is None:
            released = self.arrays is None
            if not released:
                try:
                    self.check(True, None)
                except RuntimeError:              # they can no longer be recorded: show released ones
                    if self.pictures is None:
                        self.pictures = self.released_nodes()
                    return self.pictures[nr]
            if released:
                self.usual = self.released_nodes()
            else:
                values = self.values_again(False)
                for slot in self.done or ():
                    if values[slot]._node is not None:
                        values[slot]._node._release_()
                self.usual = [(values[slot]._node, values[slot]._nr) for slot in self.part.outputs]
            self.ran = None
            self._release_()
        if tls.task is None and len(self.usual) == 1:         # no pass has counted the edges, and all it gets is for one node
            (node, number), = self.usual
            self._next_, self._nrs_ = (node,), [number]
        return self.usual[nr]

    def released_nodes(self) -> list[Any]:
        """The usual nodes in their state after a backward pass: without saved tensors."""
        inputs, between = self.inputs, self.between
        self.make_dummies()
        values = self.values_again(False)
        self.inputs, self.between = inputs, between
        for slot in self.part.behind(self.part.outputs):
            if values[slot]._node is not None:
                values[slot]._node._release_()
        return [(values[slot]._node, values[slot]._nr) for slot in self.part.outputs]

    def _release_(self) -> None:
        """Release the values saved for the outputs that a backward pass covered; the others may still have a pass."""
        if self.ran is not None and self.arrays is not None:
            self.done = self.part.behind(self.ran) | (self.done or set())
            if any([slot not in self.done for slot in self.part.outputs]):
                return
        self.arrays = self.inputs = self.between = None

    def check(self, again: bool, outputs: Any) -> None:
        """Raise if a saved value was modified; with `again`, also the inputs of ops that run again for `outputs` (or all)."""
        part = self.part
        kept = part.kept if outputs is None else part.saved_by(part.behind(outputs))
        needed = (part.matters if outputs is None else part.before(kept, part.stored)) if again else kept
        for slot, t, version in zip(part.inputs, self.inputs, self.versions, strict=True):
            if t is not None and t._counter is not None and t._counter.n != version and slot in needed:
                raise modified_error(t, version, t._node, t._nr, self)
        for slot, counter in self.counters:
            if counter.n and slot in kept:
                makers = [step for step in part.steps if step.event.value == slot]
                layout = makers[0].layout if makers else part.layouts[part.inputs.index(slot)]
                t = new_tensor(layout.new())
                t._counter = counter
                raise modified_error(t, 0, node_class(makers[0].op)() if makers else self.between[slot][1], 0, self)

    def _run_(self, grads: Any, needed: Any) -> Any:
        if self.usual is not None:
            return list(grads) if self._next_[0] is self.usual[0][0] else self.run_usual(grads)
        for g in grads:
            if g is not None and g._flags and hooks.settle is not None:
                hooks.settle(g)
        missing = [g is None for g in grads]
        self.ran = [slot for slot, none in zip(self.part.outputs, missing, strict=True) if not none] if any(missing) else None
        if tls.grad_enabled or self.done or self.arrays is None or self.ran is not None or is_watched() or any(
                [g._flags for g in grads]):
            return self.run_again(grads, tls.grad_enabled)
        self.check(False, None)
        backward = self.part.backward
        values: list[Any] = [None] * backward.count
        tensors: dict[int, Any] = {}              # one tensor per value, so that reference counts show sharing
        for (_, number), array in zip(backward.saved, self.arrays, strict=True):
            values[number] = array
            tensors[number] = None
        for (number, layout), grad in zip(backward.grads, grads, strict=True):
            if number >= 0:
                array = grad.array
                if not layout.is_of(array) or not array.flags.aligned:
                    array = layout.new()
                    array[...] = grad.array
                values[number] = array
                tensors[number] = grad
        for found in backward.results:
            if found is not None and values[found[0]] is None:
                values[found[0]] = backward.layouts[found[0]].new()
        backward.code.run(values, self.numbers)
        made: list[Any] = []
        for found in backward.results:
            if found is None:
                made.append(None)
                continue
            number, shape = found
            if number not in tensors:
                t = tensors[number] = new_tensor(values[number])
                if number in backward.versions:
                    t._counter = Counter()
                    t._counter.n = backward.versions[number]
            elif tensors[number] is None:         # saved values may be used again
                tensors[number] = new_tensor(values[number].copy("K"))
            made.append(tensors[number] if shape is None else new_tensor(np.broadcast_to(values[number], shape)))
        return made

    def run_usual(self, grads: Any) -> Any:
        """The gradients through the usual nodes: a pass from those that have gradients."""
        own: set[Any] = set()
        todo = [node for node, _ in self.usual]
        behind = [(n, 0 if nr is None else nr) for n, nr in zip(self._next_, self._nrs_, strict=True)]
        while todo:
            node = todo.pop()
            if node not in own:
                own.add(node)
                todo.extend([n for i, n in enumerate(node._next_) if n is not None and (
                    n, 0 if node._nrs_ is None else node._nrs_[i]) not in behind])
        ends = {edge: Boundary(layout) for edge, layout in zip(behind, self.part.layouts, strict=True) if edge[0] is not None}
        before = [(node, node._next_, node._nrs_) for node in own]
        roots = [(*edge, g) for edge, g in zip(self.usual, grads, strict=True) if g is not None]
        tape, switches.tape = switches.tape, None
        try:
            for node, nexts, nrs in before:
                edges = [(n, 0 if nrs is None else nrs[i]) for i, n in enumerate(nexts)]
                node._next_ = tuple([ends.get(edge, edge[0]) for edge in edges])
                node._nrs_ = [0 if edge in ends else edge[1] for edge in edges]
            run_pass([(node, nr) for node, nr, _ in roots], [g for *_, g in roots],
                     tls.task is None or tls.task.keep_graph, tls.grad_enabled, None, True)
        finally:
            for node, nexts, nrs in before:
                node._next_, node._nrs_ = nexts, nrs
            switches.tape = tape if tape is not None and tape.open else None      # type: ignore[attr-defined]
        return [ends.pop(edge).grad if edge in ends else None for edge in behind]

    def make_dummies(self) -> None:
        """Placeholders for released inputs: gradients that depend on no values can still be computed."""
        self.inputs = []
        for layout, edge, nr in zip(self.part.layouts, self._next_, self._nrs_, strict=True):
            t = new_tensor(np.ones(layout.shape, layout.dtype))
            if edge is not None:
                t._node, t._nr, t._requires = edge, nr, True
            self.inputs.append(t)

    def values_again(self, fresh: bool) -> dict[int, Any]:
        """The values of the ops, run again with autograd; with `fresh` on new tensors that alias their inputs."""
        was, saved_hooks, tape = set_grad_enabled(True), swap_saved_hooks([]), switches.tape
        below, autocast, modes = tls.below, tls.autocast, tls.dispatch_modes
        switches.tape = tls.autocast = None       # as in the first run, whatever is active now
        tls.below, tls.dispatch_modes = False, []
        try:
            values: dict[int, Any] = {}
            counters = dict(self.counters)
            saved = {} if self.arrays is None else dict(zip([slot for slot, _ in self.part.backward.saved], self.arrays,
                                                            strict=True))
            for slot, t, needs, edge, edge_nr in zip(self.part.inputs, self.inputs, self.part.needs, self._next_, self._nrs_,
                                                     strict=True):
                if t is None:
                    array, node, nr = self.between[slot]
                    t = new_tensor(array)
                    t._counter = counters.get(slot)
                    if needs:
                        t._node, t._nr, t._requires = node, nr, True
                elif needs and has_new_history(t, edge, edge_nr):
                    now, t = t, new_tensor(t.array)
                    t._counter, t._node, t._nr, t._requires = now._counter, edge, edge_nr, True
                values[slot] = late.view(t, t.array.shape) if needs and fresh else t
            for step in self.part.steps:
                set_grad_enabled(step.grad)
                slot = step.event.value
                out = values[slot] = dispatch.call(step.op, arguments(step, values, self.numbers))
                if slot in saved:                 # inputs may have been written to since
                    out.array[...] = saved[slot].reshape(out.array.shape)
                if slot in counters:              # the program's tensor keeps its version counter, so that writes are detected
                    replace_counter(out, counters[slot])
                if slot in self.part.outputs and (self._hooks_ is not None or not fresh):
                    self.lead_back(out, self.part.outputs.index(slot))
            return values
        finally:
            tls.below, tls.autocast, tls.dispatch_modes = below, autocast, modes
            set_grad_enabled(was)
            swap_saved_hooks(saved_hooks)
            switches.tape = tape if tape is not None and tape.open else None      # type: ignore[attr-defined]

    def lead_back(self, out: Any, nr: int) -> None:
        """Let the op that made output `nr` save it with this node's history, which has the hooks of the program's tensor."""
        node = out._node
        if node is None or not isinstance(node, OpNode) or node._saved_ is None or not node._op_.saves_result:
            return
        for place, output in enumerate(node._op_.saved_outputs):
            if output >= 0 and node._saved_[place] is not None:
                node._saved_[place] = saved = SavedTensor.packed(out, node, True, nr, False)
                saved._producer = ref(self)

    def run_again(self, grads: Any, create_graph: bool) -> Any:
        """The gradients by running the ops again, with create_graph if requested."""
        released = self.arrays is None
        if released:
            self.make_dummies()
        else:
            self.check(True, self.ran)
        values = self.values_again(True)
        if released:
            self._release_()
        for slot in self.part.behind(self.part.outputs) if released else self.done or ():      # using them raises
            if values[slot]._node is not None:
                values[slot]._node._release_()
        needs = self.part.needs
        outs = [(values[slot], g) for slot, g in zip(self.part.outputs, grads, strict=True) if g is not None]
        sources = [values[slot] for slot, needed in zip(self.part.inputs, needs, strict=True) if needed]
        if not outs:
            return [None] * len(needs)
        tape, switches.tape = switches.tape, None
        try:
            found = iter(run_pass([(edge_of(t), t._nr) for t, _ in outs], [g for _, g in outs], True, create_graph,
                                  [(edge_of(t), t._nr) for t in sources], False))
        finally:
            switches.tape = tape if tape is not None and tape.open else None      # type: ignore[attr-defined]
        return [next(found) if needed else None for needed in needs]
