"""An op that a user declared: the same kind of row as the built-in ones, with kernels by dispatch key.

NOTE [Ops of users]
To dispatch a UserOp is a composite op whose function is `layers.route`: that function takes it through the same layers as
a built-in op (autocast, transforms, autograd, modes and subclasses, backends), and at each of them asks whether the user
has registered something there. Which kernel answers for a key is decided here, by PyTorch's rules: the key's own; for a
backend the CompositeExplicitAutograd one, then the CompositeImplicitAutograd one; for autograd the Autograd one, and the
CompositeImplicitAutograd one only if the op has no kernel for the backend.
"""
from __future__ import annotations

import functools
import sys
import types
import warnings
from typing import Any

from retrograd.core import api
from retrograd.core.api import overridden
from retrograd.core.dispatch import call
from retrograd.core.function_schema import Argument, FunctionSchema
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OPS, OpDef, OpName, Packet
from retrograd.core.schema import Schema
from retrograd.core.tags import Tag
from retrograd.library import arguments, layers

EXPLICIT, IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"
BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1", "PrivateUse2",
            "PrivateUse3", "Meta", "SparseCPU", "SparseCUDA", "SparseCsrCPU", "SparseCsrCUDA", "NestedTensorCPU",
            "NestedTensorCUDA", "MkldnnCPU", "QuantizedCPU", "QuantizedCUDA")
KEYS = frozenset([*BACKENDS, *["Autograd" + b for b in BACKENDS[:16]], "Autograd", "AutogradOther", "AutogradNestedTensor",
                  EXPLICIT, IMPLICIT, "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutogradNestedTensor",
                  "ADInplaceOrView", "BackendSelect", "AutocastCPU", "AutocastCUDA", "AutocastXPU", "AutocastMPS",
                  "FuncTorchBatched", "Python", "Functionalize", "Conjugate", "Negative", "ZeroTensor"])


def fallthrough_kernel() -> None:
    """Registered for a key, it lets the op pass on to the next one.

    >>> import retrograd as torch
    >>> lib = torch.library.Library("doc_fallthrough", "DEF")
    >>> _ = lib.define("double(Tensor x) -> Tensor")
    >>> lib.impl("double", lambda x: x * 2, "CPU")
    >>> lib.impl("double", torch.library.fallthrough_kernel, "Autograd")
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class UserOp(OpDef):
    """One overload of an op of a user."""

    def __init__(self, namespace: str, schema: FunctionSchema, tags: list[Any], where: str) -> None:
        unnamed = [Argument("", r.type, r.alias_info, None, False) for r in schema.returns]     # users' ops give plain tuples
        text = str(FunctionSchema(schema.name, schema.overload_name, schema.arguments, unnamed))
        OpDef.__init__(self, Schema(text), functools.partial(layers.route, self), composite=True, variants="")
        self.declared = schema
        self.space, self.opname = namespace, schema.name.rpartition(":")[2]
        name = OpName(self.opname if namespace == "aten" else schema.name)
        name.full = schema.qualified_name
        self.name = name
        self.tags = tags
        self.where = where
        self.kernels: dict[str, list[Any]] = {}       # by dispatch key, the one in force last
        self.generated: Any = None                    # the custom Function that `register_autograd` made
        self.vmap_rule: Any = None
        self.dispatch_rules: dict[Any, Any] = {}      # by class of mode or tensor
        self.autocast_dtype: Any = None
        self.bumps: bool = False                      # it counts its writes itself

    def prepare(self) -> None:
        OpDef.prepare(self)
        self.writes: tuple[int, ...] = tuple([i for i, p in enumerate(self.schema.params) if p.writes])
        # What the interpreters do with in-place, out= and view ops goes by the built-in ones' conventions.
        self.is_view = any([a.alias_info is not None and not a.alias_info.is_write for a in self.declared.returns])
        self.is_inplace = self.is_out = False
        self.device_arg = -1

    # ---- which kernel
    def own_kernel(self, key: str) -> Any:
        """The kernel that was registered for just this key."""
        stack = self.kernels.get(key)
        return stack[-1].function if stack else None

    def backend_kernel(self, key: str) -> Any:
        return self.own_kernel(key) or self.own_kernel(EXPLICIT) or self.own_kernel(IMPLICIT)

    def autograd_kernel(self, key: str) -> Any:
        """What to run for the autograd key of backend `key`; None for the fallback."""
        found = self.own_kernel(f"Autograd{key if key in ('CPU', 'Meta') else 'Other'}") or self.own_kernel("Autograd")
        return found if found is not None or not self.decomposes(key) else self.own_kernel(IMPLICIT)

    def decomposes(self, key: str) -> bool:
        """Whether the op is made of others, for this backend."""
        return self.own_kernel(IMPLICIT) is not None and self.own_kernel(key) is None and self.own_kernel(EXPLICIT) is None

    # ---- results that follow from the declaration
    def has_known_results(self) -> bool:
        """Whether the results follow from the schema and the tags: see NOTE [Tagged schemas]."""
        schema = self.declared
        return Tag.out in self.tags or Tag.inplace in self.tags or schema.is_mutable and not schema.returns

    def known_results(self, args: Any, kwargs: Any) -> Any:
        """These results: nothing, the first argument, or the arguments that the op writes to."""
        if Tag.inplace in self.tags:
            return args[0]
        if Tag.out in self.tags:
            written = [kwargs[a.name] for a in self.declared.arguments if a.is_write]
            return written[0] if len(written) == 1 else tuple(written)
        return None

    # ---- what users see
    @property
    def namespace(self) -> str:
        return self.space

    @property
    def __name__(self) -> str:
        return f"{self.opname}.{self.overload}"

    @property
    def _schema(self) -> FunctionSchema:
        return self.declared

    @property
    def _name(self) -> str:
        return self.declared.qualified_name

    @property
    def _opname(self) -> str:
        return self.opname

    @property
    def _overloadname(self) -> str:
        return self.overload

    @property
    def __module__(self) -> str:  # type: ignore[override]
        return f"torch._ops.{self.namespace}"

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        return bool(self.kernels.get(str(key)))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if overridden(args, kwargs):
            return hooks.torch_function(self, args, kwargs)
        return call(self, arguments.bind(self, args, kwargs))

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.opname}', overload='{self.overload}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}.{self.overload}"


class UserPacket(Packet):
    """All overloads of one op name of a user."""

    def __init__(self, namespace: str, opname: str) -> None:
        Packet.__init__(self, opname if namespace == "aten" else f"{namespace}::{opname}")
        self.namespace, self.opname = namespace, opname

    def remove(self, op: UserOp) -> None:
        self.overloads_.remove(op)
        self.schemas.remove(op.schema)
        self.__dict__.pop(op.overload, None)

    @property
    def _qualified_op_name(self) -> str:
        return f"{self.namespace}::{self.opname}"

    @property
    def __name__(self) -> str:
        return self.opname

    @property
    def __module__(self) -> str:  # type: ignore[override]
        return f"torch._ops.{self.namespace}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if overridden(args, kwargs):
            return hooks.torch_function(self, args, kwargs)
        if len(self.overloads_) == 1:
            op = self.overloads_[0]
            return call(op, arguments.bind(op, args, kwargs))
        reasons = []
        for op in self.overloads_:
            try:
                bound = arguments.bind(op, args, kwargs)
            except RuntimeError as error:
                reasons.append(f"{error}\n\n")
                continue
            return call(op, bound)
        raise RuntimeError("Overloaded torch operator invoked from Python failed to match any schema:\n" + "".join(reasons))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}"


class Kernel:
    """A function registered for a dispatch key."""

    __slots__ = ("function", "where")

    def __init__(self, function: Any, where: str) -> None:
        self.function, self.where = function, where


# ---- the registry
def find(namespace: str, opname: str, overload: str = "") -> UserOp | None:
    """The overload of that name, None if no user has declared it."""
    packet = OPS.get(opname if namespace == "aten" else f"{namespace}::{opname}")
    if packet is None:
        return None
    found = [op for op in packet.overloads_ if op.overload == (overload or "default")]
    return found[0] if found and isinstance(found[0], UserOp) else None


def add(op: UserOp) -> None:
    """Put an op into the registry, where `torch.ops` finds it."""
    packet = OPS.get(op.name)
    if packet is None:
        packet = OPS[op.name] = UserPacket(op.namespace, op.opname)
        share_name_with_table(op.namespace)
    packet.add(op)


def remove(op: UserOp) -> None:
    packet = OPS[op.name]
    if isinstance(packet, UserPacket):
        packet.remove(op)
        if not packet.overloads_:
            del OPS[op.name]


class SharedNamespace(api.Namespace):
    """A user's namespace that is called like one of the op tables: what is no op is looked up in the table."""

    def __init__(self, name: str, table: Any) -> None:
        api.Namespace.__init__(self, name)
        self._table = table

    def __getattr__(self, name: str) -> Any:
        if f"{self._name}::{name}" in OPS:
            return api.Namespace.__getattr__(self, name)
        return getattr(self._table, name)


def share_name_with_table(namespace: str) -> None:
    package = sys.modules["retrograd.ops"]
    table = package.__dict__.get(namespace)
    if isinstance(table, types.ModuleType):
        package.__dict__[namespace] = SharedNamespace(namespace, table)


class Warned:
    """What is said only once."""

    override = False


def add_kernel(op: UserOp, key: str, function: Any, where: str, allow_override: bool = False) -> Kernel:
    """Register a kernel; the newest for a key is in force."""
    stack = op.kernels.setdefault(key, [])
    if stack:
        warn_override(op.declared, op.where, key, stack[-1].where, where, allow_override)
    kernel = Kernel(function, where)
    stack.append(kernel)
    return kernel


def warn_override(schema: Any, declared: str, key: str, previous: str, where: str, allow_override: bool) -> None:
    """Say once that a kernel takes the place of another."""
    if allow_override or Warned.override:
        return
    Warned.override = True
    warnings.warn("Warning only once for all operators,  other operators may also be overridden.\n"
                  "  Overriding a previously registered kernel for the same operator and the same dispatch key\n"
                  f"  operator: {schema}\n    registered at {declared}\n  dispatch key: {key}\n"
                  f"  previous kernel: registered at {previous}\n       new kernel: registered at {where}",
                  UserWarning, stacklevel=5)


def remove_kernel(op: UserOp, key: str, kernel: Kernel) -> None:
    op.kernels[key].remove(kernel)
    if not op.kernels[key]:
        del op.kernels[key]
