"""Origins: the source lines that made, saved, detached or modified a value, recorded only on request.

NOTE [Origins]
`tls.origins` says what this thread records: LINES while `autograd.trace_origins` is on, STACKS (and lines) in anomaly mode.
Either sets `slow_path`, so every op takes the slow path through dispatch, which calls `note_call`; with neither,
none of this code runs. A line is that of the innermost frame outside of this package.
Nodes keep theirs in their metadata, version counters the last writes, tensors a `Trail` in their `_extra`. All of these
hold texts and numbers, never tensors or nodes, and die with what they belong to. (The stack and the parent node that
anomaly mode adds are PyTorch's.)
A tensor that does not require grad has causes: the lines that detached it, or its inputs, from everything that requires
grad. Causes propagate from op to op, a few at most, so that a long loop does not grow a long history.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrograd.core.graph import Node, forward_name
from retrograd.core.opdef import OpDef
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, extra_of, wants_grad

if TYPE_CHECKING:
    from retrograd.core.tensor import Counter

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LINES, STACKS = 1, 2
# reasons for a missing gradient, as they appear in error texts
DETACHED = "detached by {}"
DATA = "taken through .data"
NO_GRAD = "computed by {} under no_grad"
INFERENCE = "computed by {} in inference mode"
CONSTANT = "computed by {}, which has no derivative,"
MADE = "made by {} with requires_grad=False"
SWITCHED_OFF = "set to requires_grad=False"
KEPT = 4              # maximum number of causes, cuts and writes per tensor


class Origin:
    """One line of a program and the op that it ran.

    >>> Origin("exp", "train.py", 12, "step")
    <exp at train.py:12>
    """

    __slots__ = ("file", "function", "line", "op", "parent")

    def __init__(self, op: str, file: str, line: int, function: str, parent: Origin | None = None) -> None:
        self.op = op
        self.file = file
        self.line = line
        self.function = function
        self.parent: Origin | None = parent       # for nodes recorded during a backward pass: the origin of the running node

    @property
    def place(self) -> str:
        """`file:line`; the path is relative if the file is below the current directory."""
        here = os.getcwd() + os.sep
        return f"{self.file.removeprefix(here)}:{self.line}"

    @property
    def text(self) -> str:
        """The source line itself, empty if it cannot be read."""
        import linecache  # seldom needed

        return linecache.getline(self.file, self.line).strip()

    def told(self, deed: str) -> str:
        """The line preceded by a description of what it did, in which `{}` is the op's name."""
        text = self.text
        parent = "" if self.parent is None else self.parent.told(", while running the backward of {}")
        return f"{deed.format(self.op)} at {self.place}" + (f": {text}" if text else "") + parent

    def __str__(self) -> str:
        return self.told("{}")

    def __repr__(self) -> str:
        return f"<{self.op} at {self.place}>"


class Trail:
    """The trace of a tensor: where it was made, why it does not require grad, where its gradient was cut off."""

    __slots__ = ("causes", "cuts", "made")

    def __init__(self) -> None:
        self.made: Origin | None = None
        self.causes: tuple[Any, ...] = ()         # (why, Origin) of a tensor that does not require grad
        self.cuts: tuple[Any, ...] = ()           # (why, Origin) of uses that send no gradient back


def here(op: str) -> Origin:
    """The source line running now, outside of this package."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return Origin(op, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


# ---- nodes
def remember(node: Node, name: str = "") -> None:
    """Store the node's origin (and the op's `name` for error texts) in its metadata."""
    task = tls.task
    parent = None if task is None else task.node
    origin = node.metadata["origin_"] = here(name or forward_name(node))
    if parent is not None:
        origin.parent = origin_of_node(parent)
    if not tls.origins & STACKS:
        return
    import traceback  # seldom needed, and slow to import

    # frames of the recorder and the engine do not help the user
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(PACKAGE)]
    node.metadata["traceback_"] = traceback.StackSummary.from_list(frames).format()
    if parent is not None:
        node.metadata["parent_"] = parent


def origin_of_node(node: Node) -> Origin | None:
    """The line that recorded `node`, None if origins were off."""
    return None if node is None or node._metadata_ is None else node._metadata_.get("origin_")


# ---- tensors
def trail_of(t: Tensor) -> Trail:
    extra = extra_of(t)
    if extra.trail is None:
        extra.trail = Trail()
    return extra.trail


def known_trail(t: Tensor) -> Trail | None:
    """The trail of `t`, None if nothing is known of it."""
    return None if t._extra is None else t._extra.trail


def each(value: Any) -> list[Any]:
    """The tensors in one argument or result."""
    if isinstance(value, Tensor):
        return [value]
    return [t for t in value if isinstance(t, Tensor)] if isinstance(value, (list, tuple)) else []


def is_quiet() -> bool:
    """Whether ops have no source line of their own: a handler below autograd or a formula runs them."""
    return tls.below or (tls.task is not None and not tls.grad_enabled)


def note_call(op: OpDef, args: Sequence[Any], result: Any) -> None:
    """Record what a call of `op` made, wrote to and detached."""
    results = each(result)
    if not op.schema.mutable and all([wants_grad(t) for t in results]):
        return                            # the node holds its line
    quiet = is_quiet()
    if quiet and not op.schema.mutable:
        return
    origin = here(op.name)
    written = [t for param, value in zip(op.schema.params, args, strict=True) if param.writes
               for t in each(value)] if op.schema.mutable else []
    if quiet:                             # a hook may write to a tensor that another node has saved
        for t in written:
            note_write(t, origin)
    else:
        note_results(origin, [t for value in args for t in each(value)], results, written)


def note_results(origin: Origin, inputs: Sequence[Any], results: Sequence[Any], written: Sequence[Any]) -> None:
    for t in written:
        note_write(t, origin)
    known = {id(t) for t in inputs}
    lost = [t for t in [*results, *written] if not wants_grad(t)]
    if not lost:
        return
    sources = [t for t in inputs if wants_grad(t)]
    if sources:
        why = INFERENCE if tls.inference else CONSTANT if tls.grad_enabled else NO_GRAD
        causes: tuple[Any, ...] = ((why, origin),)
        for t in sources:
            note_cut(t, why, origin)
    else:
        causes = merged([cause for t in inputs for cause in causes_of(t)]) if inputs else ((MADE, origin),)
    for t in lost:
        trail = trail_of(t)
        if id(t) in known:                # written in place: earlier causes still apply
            trail.causes = merged([*causes, *trail.causes])
        else:
            trail.made, trail.causes = origin, causes


def causes_of(t: Tensor) -> tuple[Any, ...]:
    trail = known_trail(t)
    return () if trail is None else trail.causes


def cuts_of(t: Tensor) -> tuple[Any, ...]:
    trail = known_trail(t)
    return () if trail is None else trail.cuts


def merged(causes: list[Any]) -> tuple[Any, ...]:
    """A few of `causes`, one per line; where a gradient was cut off is preferred over where a constant was made."""
    found = {(why, origin.op, origin.file, origin.line): (why, origin) for why, origin in causes}
    return tuple(sorted(found.values(), key=lambda cause: cause[0] == MADE)[:KEPT])


def note_made(t: Tensor, name: str) -> None:
    """Record where a tensor was made from non-tensor data."""
    if is_quiet():
        return
    trail = trail_of(t)
    trail.made = here(name)
    trail.causes = ((MADE, trail.made),)


def note_detached(source: Tensor, made: Tensor, why: str, name: str) -> None:
    """Record that `made` is `source` without its history."""
    if is_quiet():
        return
    origin = here(name)
    trail = trail_of(made)
    if made is not source:
        trail.made = origin
    trail.causes = ((why, origin),) if made is source or wants_grad(source) else causes_of(source)
    if made is not source and wants_grad(source):
        note_cut(source, why, origin)


def note_cut(t: Tensor, why: str, origin: Origin) -> None:
    """Record that a use of `t` sends no gradient back to it; of the uses in one line the outermost op is kept."""
    trail = trail_of(t)
    others = [cut for cut in trail.cuts if (cut[1].file, cut[1].line) != (origin.file, origin.line)]
    trail.cuts = (*others, (why, origin))[-KEPT:]


# ---- writes
def note_write(t: Tensor, origin: Origin) -> None:
    """Record the op that wrote the current version of `t`: within a composite op, the innermost."""
    counter = t._counter
    if counter is None or not counter.n:
        return
    lines = written_lines(counter)
    if not lines or int(lines[-1].split("\t", 1)[0]) != counter.n:
        lines.append(f"{counter.n}\t{origin.op}\t{origin.line}\t{origin.function}\t{origin.file}")
        counter.writes = "\n".join(lines[-KEPT:])


def written_lines(counter: Any) -> list[str]:
    """The last writes stored on a counter, as text: object references would make every counter garbage-collector tracked."""
    return (getattr(counter, "writes", None) or "").splitlines()       # plain core: the slot is empty until the first write


def writes_of(counter: Counter) -> list[tuple[int, Origin]]:
    """The last recorded writes: the version that each made, and its origin."""
    found = []
    for text in written_lines(counter):
        version, op, line, function, file = text.split("\t", 4)
        found.append((int(version), Origin(op, file, int(line), function)))
    return found


def explain_write(t: Tensor, expected: int, saver: Node) -> str:
    """The two lines for an error about a modified saved tensor: where it was saved, where it was modified."""
    saved = origin_of_node(saver)
    changed = [origin for version, origin in writes_of(t._counter) if version > expected]
    if saved is None and not changed:
        return (" torch.autograd.trace_origins(), on during the forward pass, makes this error name the line that saved the "
                "value and the line that changed it.")
    lines = [saved.told("saved for the backward of {}") if saved is not None else "saved where origins were not traced"]
    lines += [origin.told("changed by {}") for origin in changed] or ["changed where origins were not traced"]
    return "".join(["\n  " + line for line in lines])
