"""opcheck: tests that an operator was registered as it behaves."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from retrograd.core.opdef import OpDef, Packet
from retrograd.core.storage import owner_of, strides_of
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.library.arguments import bind, declaration, map_tensors, tensors_in
from retrograd.library.fallback import autograd_fallback_mode
from retrograd.library.registry import find_op


class OpCheckError(Exception):
    """A test of `opcheck` failed."""


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = (
        "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
        raise_exception: bool = True) -> dict[str, Any]:
    """Check with given arguments that an operator does what its registrations say; returns what each test found.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_check::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> _ = double.register_fake(lambda x: torch.empty_like(x))
    >>> torch.library.opcheck(double, (torch.ones(2),), test_utils=("test_schema", "test_faketensor"))
    {'test_schema': 'SUCCESS', 'test_faketensor': 'SUCCESS'}
    """
    if isinstance(op, Packet):
        if len(op.rows()) > 1:
            raise RuntimeError(f"opcheck can only test operators without overloads. Got the following overloads for "
                               f"{str(op).replace('.', '::')}: {op.overloads()}")
        op = op.rows()[0]
    found = op if type(op) is OpDef else find_op(op)
    if found is None:
        raise ValueError("opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, "
                         f"got {type(op)}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in TESTS]
    if unknown:
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(TESTS)} but it was "
                         f"not: {unknown}")
    results: dict[str, Any] = {}
    for name in names:
        try:
            TESTS[name](found, bind(found, args, kwargs or {}))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            results[name] = error
    return results


def copies(args: Any) -> Any:
    """The same arguments in memory of their own."""
    return map_tensors(lambda t: t.detach().clone().requires_grad_(t.requires_grad), args)


def run(op: Any, args: Any) -> Any:
    names = [p.name for p in op.schema.params]
    split = next((i for i, p in enumerate(op.schema.params) if p.kwarg_only), len(names))
    return op(*args[:split], **dict(zip(names[split:], args[split:], strict=True)))


def check_schema(op: Any, args: Any) -> None:
    """Whether it writes only to what its schema says, and returns views only where that says so."""
    given = map_tensors(lambda t: t.detach().clone(), args)
    before = map_tensors(lambda t: t.array.copy(), given)
    result = run(op, given)
    for i, (declared, now) in enumerate(zip(declaration(op).arguments, given, strict=True)):
        for t, old in zip(tensors_in([now]), flat_arrays(before[i]), strict=True):
            if not declared.is_write and not np.array_equal(t.array, old, equal_nan=t.array.dtype.kind in "fc"):
                raise RuntimeError(f"Argument {declared.name} is not defined as mutable but was mutated")
    values = result if len(declaration(op).returns) > 1 else (result,)
    for nr, (out, value) in enumerate(zip(declaration(op).returns, values, strict=False)):
        for t in tensors_in([value]):
            for declared, arg in zip(declaration(op).arguments, given, strict=True):
                shared = any([owner_of(t.array) is owner_of(a.array) for a in tensors_in([arg]) if t.array.size])
                if shared and (out.alias_info is None or declared.alias_info is None):
                    raise RuntimeError(f"Argument {declared.name} is not defined to alias output but was aliasing (output "
                                       f"{nr})")


def flat_arrays(value: Any) -> list[Any]:
    return [v for v in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(v, np.ndarray)]


def check_autograd_registration(op: Any, args: Any) -> None:
    """Whether an op whose outputs carry gradients has its gradient registered where autograd looks for it."""
    given = copies(args)
    if type(op) is OpDef or not any([wants_grad(t) for t in tensors_in(given)]):      # the tables have formulas of their own
        return
    if op.generated is not None or op.autograd_kernel("CPU") is not None:
        return
    with autograd_fallback_mode("nothing"):
        result = run(op, given)
    if any([t.requires_grad and not any([t is g for g in tensors_in(given)]) for t in tensors_in(result)]):
        raise AssertionError(f"{declaration(op).name}: at least one output of this operator requires grad but it has no "
                             "autograd kernel: the gradient is recorded below autograd. Register it with "
                             "torch.library.register_autograd, "
                             "or the kernel as CompositeImplicitAutograd.")


def check_fake(op: Any, args: Any) -> None:
    """Whether the op on tensors without data gives results of the same shapes, strides and dtypes."""
    real = run(op, map_tensors(lambda t: t.detach().clone(), args))
    fake = run(op, map_tensors(lambda t: t.detach().to("meta"), args))
    expected, found = tensors_in([real]) if isinstance(real, Tensor) else tensors_in(real), tensors_in(
        [fake] if isinstance(fake, Tensor) else fake)
    if len(expected) != len(found):
        raise RuntimeError(f"the fake impl returned {len(found)} tensors, the operator {len(expected)}")
    for a, b in zip(expected, found, strict=True):
        for what, x, y in (("Shapes", a.shape, b.shape), ("Dtypes", a.dtype, b.dtype),
                           ("Strides", strides_of(a.array), strides_of(b.array))):
            if x != y:
                raise RuntimeError(f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched "
                                   f"tensor metadata: {what} {x} and {y} are not equal!")


def check_traced(op: Any, args: Any) -> None:
    """Whether a recorded graph of the op gives what the op gives; it is recorded with tensors that have no data."""
    check_fake(op, args)
    make_fx = import_module("retrograd.fx.experimental.proxy_tensor").make_fx
    given = copies(args)
    tensors = tensors_in(given)

    def function(*values: Any) -> Any:
        replaced = dict(zip(map(id, tensors), values, strict=True))
        return run(op, map_tensors(lambda t: replaced[id(t)], given))
    plain = [t.detach().clone() for t in tensors]
    graph = make_fx(function)(*[t.clone() for t in plain])
    expected, found = function(*[t.clone() for t in plain]), graph(*[t.clone() for t in plain])
    for a, b in zip(flat_tensors(expected), flat_tensors(found), strict=True):
        if not np.allclose(a.array, b.array, equal_nan=True):
            raise AssertionError(f"{declaration(op).name}: the recorded graph does not give what the operator gives; it may "
                                 "depend on something that is no argument")


def flat_tensors(value: Any) -> list[Any]:
    return tensors_in([value]) if isinstance(value, Tensor) else tensors_in(value) if value is not None else []


TESTS: dict[str, Callable[[Any, Any], None]] = {
    "test_schema": check_schema, "test_autograd_registration": check_autograd_registration, "test_faketensor": check_fake,
    "test_aot_dispatch_static": check_traced, "test_aot_dispatch_dynamic": check_traced}
