"""Forward mode in the plain core: an op on ordinary tensors and its tangent are computed on bare arrays.

The steps of `forward.run` as one function for the ops of the fast path: linear ones run again on the tangents, in products
each factor is replaced in turn, and elementwise functions use the traced rule of their backward (see NOTE [Rules on arrays]
in rules.py; the Jacobian is diagonal, so it is its own transpose).
Ordinary means float32 or float64, contiguous, no requires_grad, no tangent on a base, no mode on. All other calls go
through the dispatcher of dispatch.
"""
from __future__ import annotations

from textwrap import indent
from typing import Any

import numpy as np

from retrograd.core.forward import attach, here
from retrograd.core.opdef import OpDef
from retrograd.core.plain.operators import COMMON, WRITERS, new_text, run_text
from retrograd.core.plain.programs import General, saved_slots
from retrograd.core.plain.rules import general_attributes
from retrograd.core.recipe import GRAD, NOT_IMPLEMENTED, SAVED

HEAD = """
def dual(TENSORS):
    if switches.any_mode or here.lends or not tls.fwd_grad_enabled:
        return OTHERWISE
"""

# the array of a tensor and that of its tangent (None if it has none)
OPERAND = """
ARRAY = TENSOR.array
TANGENT = None
if TENSOR._flags:
    s = TENSOR._extra.tangent
    if s is None or s._flags or s._requires or s._view is not None or s.array.dtype is not ARRAY.dtype:
        return OTHERWISE
    TANGENT = s.array
if TENSOR._requires or (TENSOR._view is not None and TENSOR._view.base._requires) or (
        ARRAY.ndim > 1 and not ARRAY.flags.c_contiguous):
    return OTHERWISE
"""

ONE = """
d = x.dtype
if d is not F32 and d is not F64:
    return OTHERWISE
p, g = fast(x), tx
"""

TWO = """
d = x.dtype
if (d is not F32 and d is not F64) or y.dtype is not d or x.shape != y.shape:
    return OTHERWISE
p = fast(x, y)
"""

LINEAR = {1: "z = fast(tx)\n", 2: "z = None if tx is None or ty is None else fast(tx, ty)\n"}

PRODUCT = """
if tx is None:
    z = fast(x, ty)
else:
    z = fast(tx, y)
    if ty is not None:
        z = add(z, fast(x, ty))
"""

RESULT = """
if p is None or z is None:
    return OTHERWISE
if type(p) is not ndarray:
    p, z = asarray(p), asarray(z)
""" + new_text("t", "p") + new_text("s", "z") + """
attach(t, s)
return t
"""


def written_dual(op: OpDef, dispatcher: Any) -> Any:
    """The function for dual tensors of an op of one or two tensors; other calls go to `dispatcher`."""
    count = len(op.tensor_args)
    space: dict[str, Any] = dict(COMMON, op=op, fast=op.fast, dispatcher=dispatcher, here=here, attach=attach, add=np.add)
    lines = tangent_lines(op, count, space)
    body = "return OTHERWISE\n"
    if lines is not None:
        operands = [OPERAND.replace("TENSOR", tensor).replace("ARRAY", array).replace("TANGENT", f"t{array}")
                    for tensor, array in zip("ab"[:count], "xy", strict=False)]
        body = "".join(operands) + (ONE if count == 1 else TWO) + lines + RESULT
    tensors = ", ".join("ab"[:count])
    text = HEAD.replace("TENSORS", tensors) + indent(body, "    ")
    run_text(text.replace("OTHERWISE", f"dispatcher.{'unary' if count == 1 else 'binary'}(op, {tensors})"), op.name, space)
    return space["dual"]


def tangent_lines(op: OpDef, count: int, space: dict[str, Any]) -> str | None:
    """The lines that compute the tangent z of the result p; None if arrays do not suffice."""
    if op.vjp == NOT_IMPLEMENTED or not op.differentiable or op.fast is None or op.is_view:
        return None
    if op.jvp == "linear":
        return LINEAR[count]
    if op.jvp == "multilinear" and count == 2:
        return PRODUCT
    if op.jvp != "elementwise" or count != 1 or len(op.rules) != 1 or op.rules[0].missing:
        return None
    rule, = op.rules
    if any([kind not in (GRAD, SAVED) for kind, _ in rule.sources]) or general_attributes(op) is None:
        return None
    space["general"] = General(op, {}, True)
    saved = "".join([f", {'x' if op.saved_args[slot] >= 0 else 'p'}" for slot in saved_slots(op)])
    return f"z = general[d, True]\nif z is not None: z = z(tx{saved})\n"


def install() -> None:
    """Install the generated functions for functions and operators."""
    WRITERS["dual"] = written_dual
