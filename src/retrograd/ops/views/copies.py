"""The copying forms of view ops: `permute_copy` and similar ops return a contiguous copy instead of a view."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.api import expose
from retrograd.core.opdef import OpDef, defop
from retrograd.ops.memory import copy
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.elementwise import limited
from retrograd.ops.shared.elementwise import ufunc as by_name
from retrograd.ops.views import complex as complexes
from retrograd.ops.views import shape, slicing


def copying(kernel: Any, op: OpDef | None = None) -> Any:
    """The kernel of a view op with its result copied."""
    def copied(xp: Any, *args: Any) -> Any:
        made = None
        if op is not None:
            if not op._ready:
                op.prepare()
            if op.native is not None:
                made = op.native(*args)
        if made is None:
            made = kernel(xp, *args)
        if type(made) is list:
            return [m.copy() for m in made]
        return np.array(made) if isinstance(made, np.generic) else made.copy()
    return copied


def reshaped(xp: Any, self: Any, size: Any) -> Any:
    """`view_copy`, which also supports shapes that need a copy."""
    return self.reshape(geometry.infer_size(size, self.size))


def add_copy(op: OpDef) -> None:
    head, _, rest = op.schema.text.partition("(")
    name, _, overload = head.partition(".")
    text = f"{name}_copy{'.' + overload if overload else ''}({rest}"
    for mark in ("(a -> *)", "(a)"):
        text = text.replace(mark, "")
    kernel = copying(reshaped) if op is shape.view else copying(op.kernel, op)
    defop(text, kernel=kernel, vjp=op.vjp, jvp=op.jvp, batch=op.batch, node=f"{op.node_name}_copy",
          variants="function", pattern=None if name.startswith("view_as") else "moves", traits=("view_copy",),
          elementwise=False, real_only=name in ("select", "slice", "view_as_complex") or op.real_only,
          onnx=op.facts.get("onnx"))


for view_op in (
    shape.view, shape.view_as_dtype, shape.expand, shape.as_strided, shape.t, shape.transpose, shape.permute, shape.squeeze,
    shape.squeeze_dim, shape.squeeze_dims, shape.unsqueeze, slicing.select, slicing.slice_, slicing.diagonal, slicing.unfold,
    slicing.unbind, slicing.split_tensor, slicing.split_with_sizes, complexes.view_as_real, complexes.view_as_complex,
    copy.alias, copy.detach,
):
    add_copy(view_op)
for schema, node, ufunc in (("_conj_copy(Tensor self) -> Tensor", "ConjBackward0_copy", "conjugate"),
                            ("_neg_view_copy(Tensor self) -> Tensor", "NegViewBackward0_copy", "negative")):
    rule = (lambda grad: grad.conj()) if ufunc == "conjugate" else (lambda grad: grad.neg())
    compute = copying(by_name(ufunc))
    kernel = compute if ufunc == "conjugate" else limited("neg_cpu", "iufcV", compute)
    defop(schema, kernel=kernel, vjp=dict(self=rule), jvp="linear", batch=families.pointwise, node=node,
          variants="function", real_only=True, elementwise=False)


def add_parts_copy(part: str) -> None:
    """Declare `values_copy` and similar ops: a copy of a part of a sparse tensor."""
    def copied(self: Any) -> Any:
        return getattr(self, part)().clone()
    copied.__name__, copied.__doc__ = f"{part}_copy", f"A copy of the {part.strip('_').replace('_', ' ')} of a sparse tensor."
    expose(copied, method=False)


for part in ("_indices", "_values", "indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices"):
    add_parts_copy(part)
