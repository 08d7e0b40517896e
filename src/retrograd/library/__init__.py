"""torch.library: operators declared by users, which autograd, transforms, modes and subclasses treat like built-in ones.

`custom_op` makes a Python function an operator; `Library` declares operators and registers kernels one by one.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from retrograd.core.api import ops
from retrograd.library.checks import opcheck
from retrograd.library.custom import (
    OPDEFS,
    CustomOpDef,
    check_functional,
    custom_op,
    generated_function,
    refuse_keyword_tensors,
    triton_op,
    wrap_triton,
)
from retrograd.library.found import get_kernel
from retrograd.library.infer import infer_schema
from retrograd.library.registry import Library, device_keys, find_op, split_qualname
from retrograd.library.registry import scoped_library as _scoped_library
from retrograd.library.userop import UserOp, fallthrough_kernel

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl",
           "impl_abstract",
           "infer_schema", "opcheck",
           "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch",
           "register_vmap", "triton_op", "wrap_triton"]

_libraries: list[Library] = []        # what the functions below registered lasts as long as the process


def _library_for(namespace: str, lib: Library | None, kind: str = "FRAGMENT") -> Library:
    if lib is None:
        lib = Library(namespace, kind)
        _libraries.append(lib)
    return lib


def _opdef(op: Any) -> CustomOpDef | None:
    """The object that `custom_op` made for an op, None for other ops."""
    if isinstance(op, CustomOpDef):
        return op
    name = op.declared.qualified_name if isinstance(op, UserOp) else op
    return OPDEFS.get(name.removesuffix(".default")) if isinstance(name, str) else None


def _existing(op: Any, caller: str) -> UserOp:
    _check_type(op, caller)
    found = find_op(op)
    if found is None:
        namespace, name = split_qualname(op)
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
    return found


def _check_type(op: Any, caller: str) -> None:
    if not isinstance(op, (str, UserOp, CustomOpDef)):
        raise ValueError(f"{caller}({op}): got unexpected type for op: {type(op)}")


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declare an operator, "namespace::name", with a schema such as "(Tensor x) -> Tensor".

    >>> import retrograd as torch
    >>> torch.library.define("doc_define::negative", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("doc_define::negative", "cpu")
    ... def negative(x):
    ...     return -x
    >>> torch.ops.doc_define.negative(torch.ones(2))
    tensor([-1., -1.])
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = split_qualname(qualname)
    if not schema.strip().startswith("("):
        raise ValueError('define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
                         f'"{schema}"')
    _library_for(namespace, lib).define(name + schema, alias_analysis="", tags=tags)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a kernel for device types ("cpu", "default") or dispatch keys; as a decorator if no function is given.

    `impl(lib, "name", "CPU")` is the older form.

    >>> import retrograd as torch
    >>> lib = torch.library.Library("doc_impl", "DEF")
    >>> _ = lib.define("twice(Tensor x) -> Tensor")
    >>> @torch.library.impl("doc_impl::twice", "cpu", lib=lib)
    ... def twice(x):
    ...     return x * 2
    >>> torch.ops.doc_impl.twice(torch.ones(2))
    tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        library, name, key = qualname, types, func or ""

        def register_older(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(name, function, key)
            return function
        return register_older
    namespace, _ = split_qualname(qualname)
    keys = device_keys((types,) if isinstance(types, str) else types)

    def register(function: Callable[..., Any]) -> None:
        home = _library_for(namespace, lib)
        for key in keys:
            home.impl(qualname, function, key)
    return register if func is None else register(func)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *,
                    lib: Library | None = None) -> Any:
    """Register a kernel of an operator for a device type, several, or (None) all of them.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_kernel::half", mutates_args=(), device_types="cuda")
    ... def half(x: torch.Tensor) -> torch.Tensor:
    ...     raise RuntimeError("not here")
    >>> @torch.library.register_kernel("doc_kernel::half", "cpu")
    ... def _(x):
    ...     return x / 2
    >>> half(torch.ones(2))
    tensor([0.5000, 0.5000])
    """
    _check_type(op, "register_kernel")
    opdef = _opdef(op)
    if opdef is not None:
        return opdef.register_kernel(device_types, func)
    return impl(op.declared.qualified_name if isinstance(op, UserOp) else op,
                "default" if device_types is None else device_types, func, lib=lib)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None,
                  allow_override: bool = False) -> Any:
    """Register what an operator does to shapes and dtypes: a function that is run on tensors without data.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_fake::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.cat([x, x])
    >>> @torch.library.register_fake("doc_fake::twice")
    ... def _(x):
    ...     return x.new_empty((2 * x.shape[0], *x.shape[1:]))
    >>> twice(torch.empty(3, 4, device="meta")).shape
    torch.Size([6, 4])
    """
    _check_type(op, "register_fake")
    opdef = _opdef(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if opdef is not None:
            return opdef.register_fake(function)
        found = find_op(op)
        if found is None:
            if ops.missing_libraries:       # it would have come with one of them
                return function
            raise RuntimeError(f"operator {op} does not exist")
        _library_for(found.namespace, lib).impl(found, function, "Meta", allow_override=True)
        return function
    return register if func is None else register(func)


def impl_abstract(qualname: Any, func: Callable[..., Any] | None = None, *, lib: Library | None = None,
                  _stacklevel: int = 1) -> Any:
    """The older name of `register_fake`.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_abstract::same", mutates_args=())
    ... def same(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     _ = torch.library.impl_abstract("doc_abstract::same", torch.empty_like)
    >>> same(torch.empty(3, device="meta")).shape
    torch.Size([3])
    """
    warnings.warn("`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we "
                  "will remove `torch.library.impl_abstract` in a future version of PyTorch.", FutureWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib) if func is not None else register_fake(qualname, lib=lib)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
                      lib: Library | None = None) -> None:
    """Register the gradient of an operator: `backward(ctx, *grads)` and `setup_context(ctx, inputs, output)`.

    >>> import retrograd as torch
    >>> lib = torch.library.Library("doc_autograd", "DEF")
    >>> _ = lib.define("square(Tensor x) -> Tensor")
    >>> lib.impl("square", lambda x: x * x, "CPU")
    >>> torch.library.register_autograd("doc_autograd::square", lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), lib=lib)
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> torch.ops.doc_autograd.square(x).backward()
    >>> x.grad
    tensor([6.])
    """
    opdef = _opdef(op)
    if opdef is not None:
        opdef.register_autograd(backward, setup_context=setup_context)
        return
    found = _existing(op, "register_autograd")
    check_functional(found, found)
    found.generated = generated_function(found, backward, setup_context)


class _FakeContext:
    """What a fake kernel may ask for: sizes that depend on data, which tensors without data cannot have here."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        raise import_module("retrograd.compile.fake_tensor").DynamicOutputShapeException(
            "the shape of this result depends on values, and tensors without data have none")

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


def get_ctx() -> _FakeContext:
    """For use inside a function that was given to `register_fake`: what it may ask for.

    >>> import retrograd as torch
    >>> hasattr(torch.library.get_ctx(), "new_dynamic_size")
    True
    """
    return _FakeContext()


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Register how an operator runs under vmap: `func(info, in_dims, *args)` returns (output, out_dims).

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_vmap::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> @torch.library.register_vmap("doc_vmap::twice")
    ... def _(info, in_dims, x):
    ...     return twice(x), in_dims[0]
    >>> torch.func.vmap(twice)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    found = _existing(op, "register_vmap")
    refuse_keyword_tensors("register_vmap with kwarg-only Tensor args. In the original definition of the op, please",
                           found.declared)

    def register(function: Callable[..., Any]) -> None:
        found.vmap_rule = function
    return register if func is None else register(func)


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Callable[..., Any] | None = None, /, *,
                            lib: Library | None = None) -> Any:
    """Register what a dispatch mode (`func(mode, op, types, args, kwargs)`) or tensor subclass does with an operator.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_dispatch::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> class Zeros(torch.utils._python_dispatch.TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> @torch.library.register_torch_dispatch("doc_dispatch::twice", Zeros)
    ... def _(mode, func, types, args, kwargs):
    ...     return torch.zeros_like(args[0])
    >>> with Zeros():
    ...     twice(torch.ones(2))
    tensor([0., 0.])
    """
    found = _existing(op, "register_torch_dispatch")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        found.dispatch_rules[torch_dispatch_class] = function
        return function
    return register if func is None else register(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Cast the floating-point inputs of an operator to a dtype while autocast is on.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_autocast::same", mutates_args=())
    ... def same(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> torch.library.register_autocast("doc_autocast::same", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     same(torch.ones(2)).dtype
    torch.bfloat16
    """
    device_keys(device_type)
    found = _existing(op, "register_autocast")
    if device_type == "cpu":
        found.autocast_dtype = cast_inputs
