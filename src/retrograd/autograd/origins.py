"""`trace_origins`: autograd errors that name the source lines involved, and their texts."""
from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from retrograd.core.graph import AccumulateGrad, Node, edge_of, name_of
from retrograd.core.origin import LINES, PACKAGE, Origin, known_trail, origin_of_node, writes_of
from retrograd.core.state import set_flag, tls
from retrograd.core.tensor import Tensor

__all__ = ["Origin", "is_tracing_origins", "origin_of", "trace_origins"]

CUT_OFF = " torch.autograd.trace_origins(), on during the forward pass, makes this error name the line that cut it off."
UNUSED = " torch.autograd.trace_origins(), on during the forward pass, makes this error name the lines it was used in."


class trace_origins:
    """Record which line makes, saves, detaches and modifies each tensor, for use in autograd errors. It is on immediately;
    a `with` block ends it. It is per thread and keeps no tensor alive. Small ops take several
    times as long while it is on; off, it costs nothing. Anomaly mode includes it.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with trace_origins():
    ...     y = x.exp()
    ...     loss = y.detach().sum()
    >>> loss.backward()
    Traceback (most recent call last):
    RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
      `loss` has shape [] and was made by sum at <doctest ...>:3: loss = y.detach().sum()
      detached by detach at <doctest ...>:3: loss = y.detach().sum()
    """

    def __init__(self, mode: bool = True) -> None:
        self.before = tls.origins
        set_flag("origins", tls.origins | LINES if mode else tls.origins & ~LINES)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        set_flag("origins", self.before & LINES | tls.origins & ~LINES)


def is_tracing_origins() -> bool:
    """Whether lines are recorded: `trace_origins` or anomaly mode is on.

    >>> with trace_origins(): is_tracing_origins()
    True
    """
    return tls.origins != 0


def origin_of(value: Any) -> Origin | None:
    """The line that made a tensor or a node, None if it was not recorded.

    >>> import retrograd as torch
    >>> with trace_origins():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = x * 2
    >>> origin_of(y).op, origin_of(y).text, origin_of(x).line
    ('Mul', 'y = x * 2', 2)
    """
    if isinstance(value, Node):
        return origin_of_node(value)
    node = value.grad_fn
    if node is not None:
        return origin_of_node(node)
    trail = known_trail(value)
    return None if trail is None else trail.made


# ---- error texts; each begins with a space or a line break, because it follows PyTorch's own
def rootless(t: Tensor) -> str:
    """Why an output cannot be differentiated."""
    return without_grad(t) or "." + CUT_OFF


def without_grad(t: Tensor) -> str:
    """The recorded causes of a tensor that does not require grad; empty without any."""
    trail = known_trail(t)
    if trail is None:
        return ""
    return lines([introduced(t), *[origin.told(why) for why, origin in trail.causes]])


def unused(index: int, t: Any, roots: Sequence[Any]) -> str:
    """Why no gradient arrived at the input with this index."""
    reached = reachable(roots)
    if not isinstance(t, Tensor):
        facts = silent(t[0], reached) if t[0] in reached else [f"no path from the outputs leads to the node {name_of(t[0])}"]
        return " " + sentence(facts)
    node: Any = edge_of(t)
    facts = unused_facts(t, node, reached)
    trail = known_trail(t)
    if trail is None and origin_of_node(node) is None:
        return " " + sentence(facts) + UNUSED
    if trail is not None and node not in reached:
        facts += [origin.told("used where no gradient comes back: " + why) for why, origin in trail.cuts]
    return lines([introduced(t), *facts])


def unused_facts(t: Tensor, node: Node, reached: dict[Any, Any]) -> list[str]:
    if node in reached:
        return silent(node, reached)
    if t._view is not None and edge_of(t._view.base) in reached:
        return ["it is a view of a tensor that the graph uses: ask for the gradient of that tensor, or compute the outputs "
                "from the view"]
    if type(node) is AccumulateGrad:
        return ["it is a leaf that no op in the graph uses"]
    return ["no path from the outputs leads to it", *[
        write.told("changed by {}") + " (what was computed before has its old value)" for _, write in writes_of(t._counter)]]


def silent(node: Node, reached: Iterable[Any]) -> list[str]:
    """Name the nodes that could have sent a gradient to `node` but did not."""
    senders = [n for n in reached if any([following is node for following in n._next_])]
    return ["it is in the graph, but no gradient came from there", *[told_silence(n) for n in senders[:4]]]


def told_silence(node: Node) -> str:
    """Say that a node returned None, and where it was recorded if that is known."""
    silence, origin = f"None was returned by {name_of(node)}", origin_of_node(node)
    return silence if origin is None else origin.told(f"{silence}, recorded")


def reachable(roots: Sequence[Any]) -> dict[Any, None]:
    """The nodes that a pass from `roots` could visit."""
    found = dict.fromkeys([node for node, _ in roots])
    todo = list(found)
    while todo:
        for n in todo.pop()._next_:
            if n is not None and n not in found:
                found[n] = None
                todo.append(n)
    return found


def introduced(t: Tensor) -> str:
    """The caller's name for the tensor, its shape and its origin."""
    origin = origin_of(t)
    made = "" if origin is None else origin.told(" and was made by {}")
    return f"{called(t)} has shape {list(t.array.shape)}{made}"


def lines(facts: list[str]) -> str:
    return "".join(["\n  " + fact for fact in facts])


def sentence(facts: list[str]) -> str:
    text = "; ".join(facts)
    return text[0].upper() + text[1:] + "."


def called(t: Tensor) -> str:
    """The caller's variable name for `t`, or "it"."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    for name, value in frame.f_locals.items():
        if value is t and not name.startswith("_"):
            return f"`{name}`"
    return "it"
