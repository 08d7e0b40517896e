"""The older way to declare operators: a schema first, then kernels, shapes and gradients one by one, by name.

PyTorch has it under `torch._custom_ops`; `torch.library.custom_op` has taken its place.
"""
from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from inspect import isfunction
from typing import Any

from retrograd import library
from retrograd.library.infer import infer_schema
from retrograd.library.registry import Library, split_qualname

__all__ = ["custom_op", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]

RESERVED = {"prim", "prims", "aten", "at", "torch", "torchvision", "torchtext", "torchaudio", "quantized"}
DECLARED: dict[str, Declared] = {}


class Declared:
    """An operator and what has been registered for it, each with the line that did."""

    def __init__(self, qualname: str, schema: str) -> None:
        namespace, self.opname = split_qualname(qualname)
        self.qualname = qualname
        self.lib = Library(namespace, "FRAGMENT")
        self.lib.define(self.opname + schema)
        self.registered: dict[str, tuple[Any, str]] = {}
        library.register_autograd(qualname, self.backward, setup_context=self.save, lib=self.lib)

    def add(self, what: str, function: Any) -> None:
        if what in self.registered:
            raise RuntimeError(f"Attempting to register a {what} impl for operator {self.qualname} that already has a {what} "
                               f"impl registered from Python at {self.registered[what][1]}. This is not supported.")
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        self.registered[what] = (function, f"{frame.f_code.co_filename}:{frame.f_lineno}")

    def get(self, what: str) -> Any:
        return self.registered[what][0] if what in self.registered else None

    @property
    def arguments(self) -> list[Any]:
        return list(library._existing(self.qualname, "impl_backward").declared.arguments)

    def save(self, ctx: Any, inputs: Any, output: Any) -> None:
        if self.get("backward") is None:
            if self.get("save_for_backward") is not None:
                raise RuntimeError(f"We did not find a registered backward for {self.qualname}: impl_save_for_backward needs "
                                   "impl_backward")
            raise RuntimeError("Autograd has not been implemented for operator")
        keep = self.get("save_for_backward")
        if keep is None:
            raise RuntimeError(f"We did not find a save_for_backward for {self.qualname}: impl_backward needs "
                               "impl_save_for_backward")
        names = [argument.name for argument in self.arguments]
        ctx.kept = keep(namedtuple(f"{self.opname}_args", names)(*inputs), output)  # type: ignore[misc]

    def backward(self, ctx: Any, *grads: Any) -> Any:
        found = self.get("backward")(object(), ctx.kept, *grads)
        arguments = self.arguments
        tensors = {a.name for a in arguments if "Tensor" in str(a.type)}
        where = (f"In the backward function defined for {self.qualname} at {self.registered['backward'][1]} using the CustomOp "
                 "API, ")
        if not isinstance(found, dict):
            raise RuntimeError(where + f"expected the output of the backward function to be a dict but got {type(found)}")
        if set(found) != tensors:
            raise RuntimeError(where + f"expected the returned grad_input dict to have keys {tensors} but got {set(found)}")
        for a in arguments:
            value = found.get(a.name)
            if "[]" in str(a.type) and a.name in tensors and not isinstance(value, (list, tuple)):
                raise RuntimeError(where + f"for input '{a.name}' expected the grad_input dict to hold a list of gradients but "
                                   f"got object of type {type(value)}.")
        return tuple([found.get(a.name) for a in arguments])


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Declare an operator, by a schema or by a function that has annotations and does nothing.

    >>> import retrograd as torch
    >>> _ = custom_op("doc_older::double", "(Tensor x) -> Tensor")
    >>> @impl("doc_older::double")
    ... def _(x):
    ...     return x * 2
    >>> torch.ops.doc_older.double(torch.ones(1))
    tensor([2.])
    """
    if "::" not in qualname:
        raise ValueError(f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like "
                         "ns::foo")
    namespace, opname = split_qualname(qualname)
    if namespace in RESERVED:
        raise ValueError(f"custom_op(..., ns='{namespace}'): '{namespace}' is a reserved namespace, please choose something "
                         "else. ")
    if isinstance(func_or_schema, str):
        DECLARED[qualname] = Declared(qualname, func_or_schema)
        return None

    def declare(function: Any) -> Any:
        if not isfunction(function):
            raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(function)}")
        if function.__name__ != opname:
            raise ValueError(f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{opname}' but got "
                             f"'{function.__name__}'. Please either change the name of `func` or the qualname that is passed "
                             "to `custom_op`")
        DECLARED[qualname] = Declared(qualname, infer_schema(function, mutates_args=()))
        return function
    return declare if func_or_schema is None else declare(func_or_schema)


def find(qualname: str) -> Declared:
    if qualname not in DECLARED:
        raise ValueError(f"Could not find the operator {qualname}. Please make sure you have already registered the operator "
                         "and (if registered from C++) loaded it via torch.ops.load_library.")
    return DECLARED[qualname]


def impl(qualname: str, *, device_types: Any = ("cpu", "cuda"), func: Any = None) -> Any:
    """Register the kernel of an operator for some kinds of devices."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        op = find(qualname)
        kinds = [device_types] if isinstance(device_types, str) else list(device_types)
        for kind in kinds:
            op.add(kind, function)
        library.impl(qualname, kinds, function, lib=op.lib)
        return function
    return register if func is None else register(func)


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """Register what gives the shapes of an operator's results."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        library.register_fake(qualname, function, lib=find(qualname).lib, allow_override=True)
        return function
    return register if func is None else register(func)


def impl_save_for_backward(qualname: str, *, func: Any = None) -> Any:
    """Register what is kept for the backward pass: `func(inputs, output)` returns it."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        find(qualname).add("save_for_backward", function)
        return function
    return register if func is None else register(func)


def impl_backward(qualname: str, output_differentiability: Any = None, *, func: Any = None) -> Any:
    """Register the gradient of an operator: `func(ctx, saved, *grads)` returns a dict of gradients by argument name."""
    if output_differentiability is not None and not (isinstance(output_differentiability, list) and all(
            [isinstance(flag, bool) for flag in output_differentiability])):
        raise RuntimeError("impl_backward(output_differentiability): expected output_differentiability to be a list of bools "
                           f"with length equal to the number of outputs of this CustomOp got: {output_differentiability}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        find(qualname).add("backward", function)
        return function
    return register if func is None else register(func)


def _destroy(qualname: str) -> None:
    """Take an operator back."""
    find(qualname).lib._destroy()
    del DECLARED[qualname]
