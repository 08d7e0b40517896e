"""The kernel that answers for an operator at a dispatch key, as an object that can be called: `get_kernel`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.core import dispatch
from retrograd.core.dispatch_keys import DispatchKeySet
from retrograd.core.opdef import OpDef
from retrograd.library import replaced, userop
from retrograd.library.custom import CustomOpDef
from retrograd.library.layers import here
from retrograd.library.userop import EXPLICIT, IMPLICIT, UserOp

ALIASES = ("Autograd", EXPLICIT, IMPLICIT, "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutogradNestedTensor")


class SafeKernelFunction:
    """A kernel that stays what it was when another one is registered for its key."""

    def __init__(self, op: OpDef, function: Callable[..., Any], where: str) -> None:
        self.op_handle, self._function, self._where = op, function, where

    def call_boxed(self, keys: DispatchKeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel with the keys of the call and the operator's arguments."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='{self._where}')"


def get_kernel(op: Any, dispatch_key: Any) -> SafeKernelFunction:
    """The kernel that an operator has for a dispatch key; a kernel registered later can call it.

    >>> import retrograd as torch
    >>> add = get_kernel("aten::add.Tensor", "CPU")
    >>> add.call_boxed(DispatchKeySet(), torch.ones(2), torch.ones(2), alpha=2)
    tensor([3., 3.])
    """
    if not isinstance(op, (str, OpDef, CustomOpDef)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    key = dispatch_key if isinstance(dispatch_key, str) else dispatch_key.name
    if key not in userop.KEYS:
        raise ValueError(f"Invalid dispatch key: {key}")
    found = op._opoverload if isinstance(op, CustomOpDef) else find(op) if isinstance(op, str) else op
    if key in ALIASES:
        raise RuntimeError("Alias keys do not have runtime kernel registrations.")
    if isinstance(found, UserOp):
        kernel = found.own_kernel(key) or (found.backend_kernel(key) if key in userop.BACKENDS else None)
        if kernel is None:
            raise RuntimeError(f"no kernel for {key} for operator {found.declared.qualified_name}")
        return SafeKernelFunction(found, kernel, f"registered at {found.where}")
    stack = replaced.KERNELS.get(found, {}).get(key)
    if stack:
        return SafeKernelFunction(found, stack[-1].function, f"registered at {stack[-1].where}")
    return SafeKernelFunction(found, builtin(found, key), "registered in the table")


def find(name: str) -> OpDef:
    namespace, _, rest = name.rpartition("::")
    opname, _, overload = rest.partition(".")
    overload = "" if overload == "default" else overload
    found: OpDef | None = userop.find(namespace, opname, overload)
    if found is None and namespace == "aten":
        found = replaced.find_builtin(opname, overload)
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    return found


def builtin(op: OpDef, key: str) -> Callable[..., Any]:
    """A built-in op from the layer of a key on."""
    def kernel(*args: Any, **kwargs: Any) -> Any:
        bound = op.schema.bind(args, kwargs)
        before, here.in_table = here.in_table, op
        try:
            if op.composite:
                return op.compute(*bound)
            return dispatch.compute(op, bound) if key in userop.BACKENDS else dispatch.call(op, bound)
        finally:
            here.in_table = before
    return kernel
