"""Factories: ops that make a tensor from sizes and numbers, and the public functions that call them."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from retrograd.core import dtypes
from retrograd.core.api import EXTRA_FUNCTIONS, EXTRA_METHODS, entry_of, overridden, wanted_by_another
from retrograd.core.arguments import resolve
from retrograd.core.device import names_cpu
from retrograd.core.dispatch import call
from retrograd.core.dtypes import is_inexact_type
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.schema import Schema
from retrograd.core.state import grad_enabled, inference, slow_path, switches
from retrograd.core.tensor import (
    FLAG_INFERENCE,
    FLAG_WRITABLE,
    FUNCTIONS_BY_NAME,
    counter_of,
    new_tensor,
    wants_grad,
)
from retrograd.core.views import INFERENCE_WRITE
from retrograd.ops import late
from retrograd.ops.memory.copy import strided

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
PUBLIC_OPTIONS = ("ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, "
                  "bool? requires_grad=False")
NEEDS_FLOAT = "Only Tensors of floating point and complex dtype can require gradients"
NO_PINNED = ("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
             "system.")
MEMORY_FORMAT = "MemoryFormat? memory_format=None"


# ---- the declaration
def factory(name: str, *forms: Any, fast: Any = None, method: bool = False, plain: bool = True, out: bool = True,
            memory_format: bool = False, **columns: Any) -> list[OpDef]:
    """Declare a factory: one op for each form, and the public function `name`, which tries them in this order.

    A form is (overload, parameters, kernel), and a dict of its own columns if it has any; `columns` are those of all forms.
    The options follow the parameters in the schema of the op; its `kernel` and `meta` take, after the arguments, only the
    dtype and, where the factory has one, the memory format. See `public` for the rest.
    """
    tail = f", {MEMORY_FORMAT}" if memory_format else ""
    chosen = with_memory_format if memory_format else with_dtype
    rows = []
    for overload, parameters, kernel, *own in forms:
        facts = {**columns, **(own[0] if own else {})}
        if "meta" in facts:
            facts["meta"] = chosen(facts["meta"])
        star = "" if "*" in parameters else " *,"
        schema = f"{name}{overload and '.'}{overload}({parameters},{star} {OPTIONS}{tail}) -> Tensor"
        rows.append(defop(schema, chosen(kernel), variants="", **facts))
    public(name, [(row, parameters) for row, (_, parameters, *_) in zip(rows, forms, strict=True)], fast=fast, method=method,
           plain=plain, out=out, tail=tail)
    return rows


def with_dtype(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` without the last three arguments: layout, device and pin_memory."""
    return lambda xp, *args: kernel(xp, *args[:-3])


def with_memory_format(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` without layout, device and pin_memory, which stand before the memory format."""
    return lambda xp, *args: kernel(xp, *args[:-4], args[-1])


# ---- from public calls to ops
def public(name: str, forms: Any, *, fast: Any = None, method: bool = False, plain: bool = True, out: bool = True,
           tail: str = "") -> Any:
    """Make `name` callable, as a function (`plain`), a `method` or both: `forms` lists (op, its own parameters as schema
    text), in the order they are tried; `tail` follows the parameters of all. Options that are not arguments of the op
    (requires_grad, out) are handled here. `fast(args, dtype)` returns the array of the most common calls, or None.
    """
    schemas: list[Schema] = []
    orders: list[Any] = []
    for _, params in forms:
        star = "" if "*" in params else ", *"
        schemas.append(Schema(f"{name}({params}{star}{tail}, {'Tensor? out=None, ' if out else ''}{PUBLIC_OPTIONS}) -> Tensor"))
        orders.append(None)

    def order_of(index: int) -> Any:
        order = orders[index]
        if order is None:
            order = orders[index] = argument_order(forms[index][0], schemas[index])
        return order

    def function(*args: Any, **kwargs: Any) -> Any:
        if fast is not None and (not switches.any_mode or not slow_path()):
            if not kwargs:
                array = fast(args, None)
                if array is not None:
                    return new_tensor(array)
            else:
                array = quick(fast, args, kwargs)
                if array is not None:
                    made = new_tensor(array)
                    made._requires = kwargs.get("requires_grad", False)
                    return made
        return bind(*args, **kwargs)

    def by_schema(*args: Any, **kwargs: Any) -> Any:
        if overridden(args, kwargs):
            return hooks.torch_function(function, args, kwargs)
        try:
            index, bound = resolve(name, schemas, args, kwargs, method)
        except TypeError:
            if wanted_by_another(args, kwargs):
                return hooks.torch_function(function, args, kwargs)
            raise
        return make(forms[index][0], order_of(index), bound)
    targets = [lambda bound, i=i: make(forms[i][0], order_of(i), bound) for i in range(len(forms))]
    bind = entry_of(name, schemas, targets, by_schema, method)
    if fast is None:
        function = bind
    function.__name__ = function.__qualname__ = name
    function.__module__ = "torch"
    FUNCTIONS_BY_NAME[name] = function
    if plain:
        EXTRA_FUNCTIONS[name] = function
    if method:
        EXTRA_METHODS[name] = function
    return function


def quick(fast: Any, args: Any, kwargs: Any) -> Any:
    """The array of a call whose keywords are dtype, requires_grad, and the device `cpu` and layout `strided` of ordinary
    tensors; None if it is not that simple."""
    dtype = requires = None
    for key, value in kwargs.items():
        if key == "dtype":
            dtype = value
        elif key == "requires_grad":
            requires = value
        elif not (key == "device" and names_cpu(value) or key == "layout" and value is strided
                  or key == "pin_memory" and value is False):
            return None
    if dtype is not None and type(dtype) is not dtypes.dtype or requires is not None and type(requires) is not bool:
        return None
    array = fast(args, dtype)
    return None if requires and array is not None and not is_inexact_type(array.dtype) else array


def argument_order(op: Any, schema: Schema) -> Any:
    """The positions of the op's arguments, then of `out` and `requires_grad`, among the public arguments."""
    index = {p.name: i for i, p in enumerate(schema.params)}
    return [index[p.name] for p in op.schema.params], index.get("out"), index["requires_grad"], index["dtype"]


def make(op: OpDef, order: Any, bound: Any) -> Any:
    """Run a factory op for a public call."""
    places, out_place, requires_place, dtype_place = order
    args = [bound[i] for i in places]
    out = None if out_place is None else bound[out_place]
    if bound[dtype_place + 3]:
        raise RuntimeError(NO_PINNED)
    if out is not None:
        made = fill_out(op, args, out, bound[dtype_place])
        if made._node is None:
            made._requires = False               # the default of a factory call
    else:
        device = bound[dtype_place + 2]
        if device is not None and op._ready and not op.tensor_args and names_cpu(device) and not (
                switches.any_mode and slow_path()):
            args[op.device_arg] = None             # the default
        made = call(op, args)
    if bound[requires_place]:
        require_grad(made)
    return made


SEQUENCES = ("arange", "linspace", "logspace", "range")


def fill_out(op: Any, args: Any, out: Any, dtype: Any) -> Any:
    """The out= form: run the op in the dtype of `out`, and copy the result there."""
    recorded = grad_enabled() and wants_grad(out)
    if recorded and op.name == "empty":
        raise RuntimeError("cannot resize variables that require grad")
    if recorded and (out.is_leaf or out._base is not None and out._base.is_leaf):
        raise RuntimeError(f"aten::{op.name}(): functions with out=... arguments don't support automatic differentiation, but "
                           "one of the arguments requires grad.")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})")
    if out._flags & FLAG_INFERENCE and not out._flags & FLAG_WRITABLE and not inference():
        raise RuntimeError(INFERENCE_WRITE)
    if not op._ready:
        op.prepare()
    args = list(args)
    if op.name == "range" and not (out.dtype.is_floating_point or out.dtype.category == 1):
        raise NotImplementedError(f'"range_cpu" not implemented for \'{out.dtype.legacy}\'')
    for i in op.dtype_args:
        args[i] = out.dtype
    made = call(op, args)
    if op.name in SEQUENCES and out.array.size == made.array.size:       # keep the shape of `out`
        made = late.view(made, out.array.shape)
    if recorded:
        hooks.record_out(out, made, "cast", "out")
        return out
    if out.array.shape != made.array.shape:
        if op.name == "arange" and out.array.size not in (0, made.array.size):
            warnings.warn(f"The number of elements in the out tensor of shape {list(out.array.shape)} is {out.array.size} "
                          f"which does not match the computed number of elements {made.array.size}. Note that this may "
                          "occur as a result of rounding error. The out tensor will be resized to a tensor of shape "
                          f"({made.array.size},).", UserWarning, stacklevel=4)
        late.resize_(out, made.array.shape)
        counter_of(out).n -= op.name != "empty"         # only the write itself is counted
    if op.name == "empty":
        return out
    hooks.assign_out(out, made, op.name)
    return out


def require_grad(t: Any) -> None:
    if not is_inexact_type(t.array.dtype):
        raise RuntimeError(NEEDS_FLOAT)
    t._requires = True
