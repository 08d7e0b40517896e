"""Library: where users declare operators and register kernels, and what takes them back."""
from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from retrograd.core.function_schema import parse_schema
from retrograd.core.opdef import OpDef
from retrograd.library import replaced, userop
from retrograd.library.infer import as_tags
from retrograd.library.tagged import check_tags
from retrograd.library.userop import KEYS, UserOp

RESERVED = ("prim",)
BLOCKS = {"DEF": "TORCH_LIBRARY", "FRAGMENT": "TORCH_LIBRARY_FRAGMENT", "IMPL": "TORCH_LIBRARY_IMPL"}
OWNERS: dict[str, str] = {"aten": "RegisterSchema.cpp"}        # where the one "DEF" library of a namespace was made
PENDING: dict[str, list[Any]] = {}    # kernels for ops that are not declared yet, by "namespace::name.overload"
DEVICE_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
                "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")


class Library:
    """A handle for declaring operators in a namespace ("DEF", "FRAGMENT") or only adding kernels to them ("IMPL").

    What it registered lasts as long as it does.

    >>> import retrograd as torch
    >>> lib = Library("doc_library", "DEF")
    >>> lib.define("scale(Tensor x, float by=2) -> Tensor")
    'scale'
    >>> lib.impl("scale", lambda x, by=2.0: x * by, "CompositeImplicitAutograd")
    >>> torch.ops.doc_library.scale(torch.ones(2), by=3)
    tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in BLOCKS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._where = caller()
        self._op_defs: set[str] = set()
        self._op_impls: set[str] = set()
        self._registration_handles: list[Any] = []
        if kind == "DEF":
            if ns in OWNERS:
                raise RuntimeError("Only a single TORCH_LIBRARY can be used to register the namespace " + ns + "; please put "
                                   "all of your definitions in a single TORCH_LIBRARY block.  If you were trying to specify "
                                   "implementations, consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If you "
                                   "really intended to define operators for a single namespace in a distributed way, you "
                                   "can use TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  Previous registration of "
                                   f"TORCH_LIBRARY was registered at {OWNERS[ns]}; latest registration was registered at "
                                   f"{self._where}")
            OWNERS[ns] = self._where
        self._undo: list[Callable[[], Any]] = [functools.partial(OWNERS.pop, ns, None)] if kind == "DEF" else []
        self._finalizer = weakref.finalize(self, undo_all, self._undo)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator; returns its name."""
        self.check_alive()
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(f'def("{schema.partition("(")[0].strip()}"): Cannot define an operator inside of a '
                               "TORCH_LIBRARY_IMPL block.  All def()s should be placed in the (unique) TORCH_LIBRARY block for "
                               "their namespace.  (Error occurred while processing TORCH_LIBRARY_IMPL block at "
                               f"{self._where})")
        parsed = parse_schema(schema)
        namespace, _, opname = parsed.name.rpartition("::")
        if namespace and namespace != self.ns:
            raise RuntimeError(f"Explicitly provided namespace ({namespace}) in schema string does not match namespace of "
                               f"enclosing {BLOCKS[self.kind]} block ({self.ns}).  Move this definition to the (unique) "
                               "TORCH_LIBRARY block corresponding to this namespace (and consider deleting the namespace "
                               "from your schema string.)  "
                               f"(Error occurred while processing {BLOCKS[self.kind]} block at {self._where})")
        tags = as_tags(tags)
        check_tags(parsed, tags)
        parsed.name = f"{self.ns}::{opname}"
        old = userop.find(self.ns, opname, parsed.overload_name)
        if old is not None:
            raise RuntimeError(f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. "
                               "Each overload's schema should only be registered with a single call to def(). Duplicate "
                               f"registration: registered at {self._where}. Original registration: registered at {old.where}")
        op = UserOp(self.ns, parsed, list(tags), self._where)
        userop.add(op)
        self._op_defs.add(parsed.qualified_name)
        self._undo.append(lambda: userop.remove(op))
        for key, kernel in PENDING.get(parsed.qualified_name, ()):
            op.kernels.setdefault(key, []).append(kernel)
        return f"{namespace}::{opname}" if namespace else opname

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """Register a kernel for a dispatch key; "" is CompositeImplicitAutograd, a kernel made of other ops. With
        `with_keyset` it gets the keys of the call as its first argument."""
        self.check_alive()
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or userop.IMPLICIT
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        if isinstance(op_name, UserOp):
            op_name = op_name.declared.qualified_name
        elif isinstance(op_name, OpDef):
            op_name = f"aten::{op_name.name}.{op_name.overload}"
        elif not isinstance(op_name, str):
            raise RuntimeError("impl should be passed either a name or an OpOverload object as the first argument, got "
                               f"{type(op_name)}")
        namespace, _, name = op_name.rpartition("::")
        if namespace and namespace != self.ns:
            raise RuntimeError(f'impl("{op_name}", ...): Explicitly provided namespace ({namespace}) in operator name does '
                               'not match '
                               f"namespace of enclosing {BLOCKS[self.kind]} block ({self.ns}).  Move this definition to the "
                               f"{BLOCKS[self.kind]} block corresponding to this namespace (and consider deleting the "
                               f"namespace from your schema string.)  (Error occurred while processing {BLOCKS[self.kind]} "
                               f"block at {self._where})")
        opname, _, overload = name.partition(".")
        overload = "" if overload == "default" else overload
        op = userop.find(self.ns, opname, overload)
        if with_keyset:
            fn = replaced.with_keys(fn)
        self._op_impls.add(f"{self.ns}/{name}/{key}")
        if op is None:
            builtin = replaced.find_builtin(opname, overload) if self.ns == "aten" else None
            if builtin is not None:
                userop.warn_override(f"aten::{builtin.schema.text}", "the table", key, "the table", self._where, allow_override)
                self._undo.append(replaced.add_kernel(builtin, key, userop.Kernel(fn, self._where)))
                return
            entry = (key, userop.Kernel(fn, self._where))
            waiting = PENDING.setdefault(f"{self.ns}::{name}", [])
            waiting.append(entry)
            self._undo.append(lambda: waiting.remove(entry))
            return
        if key == "Meta" and op.kernels.get(userop.IMPLICIT):
            raise RuntimeError(f"We should not register a meta kernel directly to the operator '{name}', because it has a "
                               "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and "
                               "ensure that we have meta kernels for the base ops that it decomposes into.")
        kernel = userop.add_kernel(op, key, fn, self._where, allow_override)
        self._undo.append(lambda: userop.remove_kernel(op, key, kernel))

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register what is called, as `fn(op, *args, **kwargs)`, for all ops that have no kernel for a key; only a library of
        the namespace "_" can."""
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(f'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                               f"{self.ns}")
        if not key:
            raise RuntimeError("A dispatch key is needed to register a fallback")
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        self._undo.append(replaced.add_fallback(key, userop.Kernel(replaced.with_keys(fn) if with_keyset else fn, self._where)))

    def check_alive(self) -> None:
        if not self._finalizer.alive:
            raise AssertionError("Library object has been destroyed")

    def _destroy(self) -> None:
        """Take back everything that was registered through this object."""
        self._finalizer()


def undo_all(actions: list[Callable[[], Any]]) -> None:
    while actions:
        actions.pop()()


def caller() -> str:
    """The place in the user's program that makes a Library."""
    frame = sys._getframe(2)
    while frame.f_back is not None and (frame.f_globals.get("__package__") or "").startswith("retrograd.library"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@contextlib.contextmanager
def scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library that is taken back when the scope ends."""
    lib = Library(ns, kind, dispatch_key)
    try:
        yield lib
    finally:
        lib._destroy()


def split_qualname(qualname: str) -> tuple[str, str]:
    """The namespace and the name in "namespace::name"."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed '
                         'to the '
                         "torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    return parts[0], parts[1]


def device_keys(device_types: Any) -> list[str]:
    """The dispatch keys for a device type, several, or (None, "default") all devices."""
    if device_types is None or device_types == "default":
        return [userop.EXPLICIT]
    names = [device_types] if isinstance(device_types, str) else list(device_types)
    return [userop.EXPLICIT if name == "default" else device_key(name) for name in names]


def device_key(name: str) -> str:
    if name in KEYS:
        return name
    if name not in DEVICE_TYPES:
        raise RuntimeError(f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {name}")
    return {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xla": "XLA", "mps": "MPS", "xpu": "XPU",
            "privateuseone": "PrivateUse1"}.get(name, name.upper())


def find_op(op: Any) -> UserOp | None:
    """The op that a name, an OpOverload or an object made by `custom_op` means."""
    if isinstance(op, UserOp):
        return op
    inner = getattr(op, "_opoverload", None)
    if inner is not None:
        return inner
    if not isinstance(op, str):
        return None
    namespace, name = split_qualname(op)
    opname, _, overload = name.partition(".")
    return userop.find(namespace, opname, "" if overload == "default" else overload)
