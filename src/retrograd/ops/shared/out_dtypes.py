"""The dtypes that out= tensors may have: the `out` column of a row.

"cast"       any dtype that the result can be cast to; the default of ops that promote, and of those made of others
"same"       the result's dtype alone; the default of all others
"any"        any dtype; results are cast to it, with loss
"inexact: text" any floating-point or complex dtype
"bool: text" bool or uint8
"cat"        "cast" with an error of its own
"found", "scalar", "scalar_type"    the same with other error texts
"castable: op"                      "cast" in the words of linear algebra
"complex: op", "float: op"          any complex, any floating-point dtype
"same: text", "float: text"         with a text of the op's own that has a space in it: {value} and {out} are the dtypes,
                                    {c_value} and {c_out} their names in C++, {value_type} and {out_type} those of the tensor
                                    classes, {name} is the name of the output
"first || second"                   the first for results without dimensions, the second for others
"first // second"                   the first for the first output, the second for the second
"""
from __future__ import annotations

from typing import Any

from retrograd.core import dtypes
from retrograd.ops.shared.dtype_checks import type_name
from retrograd.ops.shared.elementwise import C_NAMES

TEXTS = {
    "cast": "result type {value} can't be cast to the desired output type {out}",
    "same": "Expected out tensor to have dtype {c_value}, but got {c_out} instead",
    "cat": "torch.cat(): input types can't be cast to the desired output type {out}",
    "found": "Found dtype {out} but expected {value}",
    "scalar": "expected scalar type {value} but found {out}",
    "scalar_type": "expected scalar_type {value} but found {out}",
    "castable": "{own}: Expected {name} to be safely castable from {value} dtype, but got {name} with dtype {out}",
    "complex": "{own} expects a complex output tensor, but got {out}",
    "float": "{own} expects a floating point output tensor, but got {out}",
}


def check_dtype(rule: str, value: Any, out: Any, name: str) -> None:
    """Refuse an out= tensor of dtype `out` for a result of dtype `value`."""
    kind, _, own = rule.partition(": ")
    if value is out or rule == "any" or kind == "inexact" and out.category > 1:
        return
    if kind in ("cast", "castable", "cat") and dtypes.can_cast(value, out) or kind == "complex" and out.is_complex or (
            kind == "float" and out.is_floating_point) or kind == "bool" and out is dtypes.uint8:
        return
    text = own if " " in own else TEXTS[kind]
    error = TypeError if kind == "cat" else RuntimeError
    raise error(text.format(value=value.legacy, out=out.legacy, c_value=C_NAMES[value.name], c_out=C_NAMES[out.name], own=own,
                            narrow=value.itemsize < 8, value_type=type_name(value.numpy), out_type=type_name(out.numpy),
                            name="result" if name == "out" else name))
