"""Forward mode through custom Functions: calls the user's `jvp` and checks that its results match those of forward."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrograd.core import forward
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor
from retrograd.ops import late

if TYPE_CHECKING:
    from retrograd.autograd.function import FunctionNode

VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view"
INPLACE = ("An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
           "input inplace, then the jvp function must modify the corresponding gradient inplace.")


def tangents_of(args: tuple[Any, ...]) -> list[Any]:
    """The tangent of every argument: None for non-differentiable ones, zeros where it is missing."""
    found: list[Tensor | None] = []
    for a in args:
        if not isinstance(a, Tensor) or a.dtype.category < 2:
            found.append(None)
            continue
        tangent = forward.tangent_of(a)
        found.append(late.zeros_like(a.detach()) if tangent is None else tangent)
    return found


def function_jvp(cls: Any, node: FunctionNode, args: tuple[Any, ...], tangents: Any,
                 outputs: Sequence[Any], dirty: Any) -> None:
    """Run `cls.jvp` and give the outputs their tangents."""
    versions = [None if t is None else t._version for t in tangents]
    was = tls.fwd_grad_enabled
    tls.fwd_grad_enabled = False
    node._in_jvp_ = True
    try:
        results = cls.jvp(node, *tangents)
    finally:
        node._in_jvp_ = False
        tls.fwd_grad_enabled = was
    results = results if isinstance(results, (tuple, list)) else (results,)
    if len(results) != len(outputs):
        raise RuntimeError(f"{cls.__name__}.jvp returned an incorrect number of outputs (expected {len(outputs)}, got "
                           f"{len(results)})")
    for i, (out, result) in enumerate(zip(outputs, results, strict=True)):
        facts = node._output_facts_[i]
        if facts is None or out.dtype.category < 2 or i in node._plain_outputs_:
            if result is not None:
                raise RuntimeError("A custom Function's jvp is returning a tangent for an output that is not differentiable "
                                   f"(output {i}). You should return None at that position instead.")
            continue
        if result is None:
            continue
        check_result(out, result, args, tangents, versions, id(out) in dirty)
        if result.array.shape != out.array.shape:
            raise RuntimeError(f"A custom Function's jvp returned a tangent of shape {list(result.array.shape)} for output "
                               f"{i}, whose shape is {list(out.array.shape)}. They must be the same.")
        if out._view is not None or id(out) in dirty:
            forward.attach(out, result)
        else:
            forward.give_tangent(out, result)


def check_result(out: Tensor, result: Tensor, args: tuple[Any, ...], tangents: Sequence[Any], versions: Sequence[Any],
                 is_dirty: bool) -> None:
    """A view must come with a view of the tangent, a written input with its tangent written."""
    if is_dirty:
        place = next((k for k, a in enumerate(args) if a is out), -1)
        if place >= 0 and (result is not tangents[place] or result._version == versions[place]):
            raise RuntimeError(INPLACE)
        return
    if out._view is None:
        return
    base = out._view.base
    for a, tangent in zip(args, tangents, strict=True):
        if isinstance(a, Tensor) and tangent is not None and root_of(a) is base:
            if result._view is None:
                raise RuntimeError(VIEW + ".")
            if result._view.base is not root_of(tangent):
                raise RuntimeError(VIEW + (" of the same base that the given grad input." if a._view is not None
                                           and tangent._view is not None else " of the given grad input."))
            return


def root_of(t: Tensor) -> Any:
    return t if t._view is None else t._view.base
