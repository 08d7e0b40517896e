"""Arguments and results of users' ops: checked against the schema, with PyTorch's words for what does not fit."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from retrograd.core import convert
from retrograd.core.convert import MISMATCH
from retrograd.core.dtypes import BY_NAME
from retrograd.core.function_schema import SCALAR_TYPES
from retrograd.core.hooks import hooks
from retrograd.core.schema import REQUIRED
from retrograd.core.tensor import Tensor


def bind(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The call's arguments in schema order, defaults filled in; RuntimeError when they do not fit."""
    if not op._ready:
        op.prepare()
    params, declared = op.schema.params, declaration(op)
    positional = sum([not p.kwarg_only for p in params])
    count = len(args) + len(kwargs)
    where = f"Declaration: {declared}"
    head = f"{declared.name}()"
    if count > len(params) or len(args) > positional:
        limit = len(params) if count > len(params) else positional
        given = count if count > len(params) else len(args)
        kind = "" if count > len(params) else "positional "
        if kind and positional < len(params):
            raise RuntimeError(f"{head} takes {limit} positional argument(s) but {given} was/were given.  {where}")
        raise RuntimeError(f"{head} expected at most {limit} {kind}argument(s) but received {given} {kind}argument(s). {where}")
    bound: list[Any] = []
    used = 0
    for i, param in enumerate(params):
        if i < len(args):
            value = args[i]
        elif param.name in kwargs:
            value = kwargs[param.name]
            used += 1
        elif param.default is not REQUIRED:
            bound.append(default_of(param))
            continue
        else:
            raise RuntimeError(f"{head} is missing value for argument '{param.name}'. {where}")
        bound.append(fitted(op, i, value, head, where))
    if used < len(kwargs):
        names = [p.name for p in params]
        unknown = next((name for name in kwargs if name not in names), None)
        if unknown is not None:
            raise RuntimeError(f"Unknown keyword argument '{unknown}' for operator '{declared.name}'. Schema: {declared}")
        twice = next(name for name in kwargs if names.index(name) < len(args))
        raise RuntimeError(f"{head} got multiple values for argument '{twice}'. {where}")
    return bound


def default_of(param: Any) -> Any:
    """The default of a parameter as kernels get it; schemas have numbers for dtypes and names for devices."""
    default = param.default
    if param.type == "ScalarType" and type(default) is int:
        return BY_NAME[SCALAR_TYPES[default]]
    if param.type == "Device" and type(default) is str:
        return convert.to_device(default)
    return list(default) if param.is_list and isinstance(default, tuple) else default


def declaration(op: Any) -> Any:
    """The schema of an op as PyTorch writes it."""
    return op.declared if hasattr(op, "declared") else op._schema


def refused(ops: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], several: bool) -> None:
    """Say why a call of an op, or of a name with several overloads, cannot be bound, in the words of `torch.ops`. The functions
    of the library itself call ops too; theirs are the words of the public functions."""
    frame = inspect.currentframe()
    while frame is not None and (frame.f_globals.get("__package__") or "").startswith(("retrograd.core", "retrograd.library")):
        frame = frame.f_back
    if frame is not None and (frame.f_globals.get("__package__") or "").partition(".")[0] == "retrograd":
        return
    reasons = []
    for op in ops:
        try:
            bind(op, args, kwargs)
            return
        except RuntimeError as error:
            reasons.append(str(error))
    if reasons:
        head = "Overloaded torch operator invoked from Python failed to match any schema:\n" if several else ""
        raise RuntimeError(head + "\n\n".join(reasons)) from None


hooks.refused = refused


def fitted(op: Any, i: int, value: Any, head: str, where: str) -> Any:
    """Argument `i` in the form in which kernels get it."""
    param = op.schema.params[i]
    if param.is_list:
        made = as_list(param, value)
    elif value is None:
        made = None if param.optional or param.type in ("Tensor", "Any", "Generator") or param.default is None else MISMATCH
        if param.type == "bool" and made is MISMATCH:
            made = False
    else:
        made = single(param.type, value)
    if made is not MISMATCH:
        return made
    shown = declaration(op).arguments[i].type
    raise RuntimeError(f"{head} Expected a value of type '{shown}' for argument '{param.name}' but instead found type "
                       f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\n{where}\nCast error details: "
                       f"{why_not(param, value)}")


def why_not(param: Any, value: Any) -> str:
    if param.type == "Tensor" and not param.is_list:
        return f"Unable to cast {value} to Tensor"
    if param.type == "Scalar" and not param.is_list:
        return f"Cannot cast {value} to number"
    if param.item_optional and isinstance(value, (list, tuple)):
        wrong = next(item for item in value if item is not None and not isinstance(item, Tensor))
        return f"Unable to cast {wrong} to Tensor"
    return (f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES "
            "or compile in debug mode for details)").replace("retrograd.core.tensor.Tensor", "torch.Tensor")


def as_list(param: Any, value: Any) -> Any:
    if value is None:
        return None if param.optional else MISMATCH
    if not isinstance(value, (list, tuple)) and not (isinstance(value, np.ndarray) and value.ndim == 1):
        if param.list_size:
            item = single(param.type, value)
            return MISMATCH if item is MISMATCH else [item] * param.list_size
        return MISMATCH
    made = [None if item is None and param.item_optional else single(param.type, item) for item in value]
    return MISMATCH if any([item is MISMATCH for item in made]) else made


def single(kind: str, value: Any) -> Any:
    """One value, or MISMATCH."""
    if kind == "Tensor":
        return value if isinstance(value, Tensor) else MISMATCH
    if kind == "bool":
        return bool(value) if isinstance(value, (bool, int, np.bool_)) else MISMATCH
    if kind == "int":
        return int(value) if isinstance(value, bool) or isinstance(value, Tensor) and not value.ndim else convert.to_int(value)
    if kind == "Scalar":
        return convert._plain_number(value)
    if kind == "Device":
        return MISMATCH if isinstance(value, int) else convert.to_device(value)
    if kind == "ScalarType":
        return value if convert.is_dtype(value) else MISMATCH
    if kind == "complex":
        return complex(value) if isinstance(value, (int, float, complex)) else MISMATCH
    return convert._SINGLE.get(kind, convert.accept_anything)(value)


# ---- results
def check_result(op: Any, result: Any) -> Any:
    """What a kernel returned, in the form in which the schema has it."""
    returns = op.declared.returns
    if not returns:
        if result is not None:
            raise RuntimeError(f"Expected PythonKernelHolder for {op.declared.name} to return None but it returned something "
                               "else instead.")
        return None
    if len(returns) == 1:
        return check_item(returns[0], result)
    if not isinstance(result, (tuple, list)):
        raise TypeError(f"Object of type '{type(result).__name__}' is not an instance of 'sequence'")
    if len(result) != len(returns):
        raise RuntimeError(f"{op.declared.name} returned {len(result)} values, but its schema has {len(returns)}: "
                           f"{op.declared}")
    return tuple([check_item(declared, item) for declared, item in zip(returns, result, strict=True)])


def check_item(declared: Any, value: Any) -> Any:
    kind = declared.type
    if kind.is_list:
        if isinstance(value, (list, tuple)) and not (kind.base == "Tensor" and "?" not in kind.around and any(
                [not isinstance(item, Tensor) for item in value])):
            return list(value)
    elif kind.base == "Tensor":
        if value is None or isinstance(value, Tensor):
            return value
        raise RuntimeError(f"Unable to cast {value} to Tensor")
    elif value is None and kind.is_optional or single("int" if kind.base == "SymInt" else kind.base, value) is not MISMATCH:
        return value
    raise RuntimeError(f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define "
                       "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)")


def tensors_in(values: Any) -> list[Any]:
    """The tensors among values, those in lists and tuples included."""
    found: list[Any] = []
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if isinstance(item, Tensor)]
    return found


def map_tensors(function: Any, values: Any) -> Any:
    """The same structure of lists and tuples with `function` applied to its tensors."""
    if isinstance(values, Tensor):
        return function(values)
    if isinstance(values, (list, tuple)):
        return type(values)([map_tensors(function, value) for value in values])
    return values
