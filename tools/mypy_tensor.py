"""A plugin that tells mypy of the members of Tensor that the op tables install, and of ops before their declaration.

`core/tensor.py` declares only what the class itself has. Everything else is derived: the package is imported in a
separate process, and what `Tensor` then has is what mypy knows, with the returns that schemas and annotations give.

The rules of a row name rows declared further down, whose types mypy would infer too late: a name that is assigned the
result of a function returning an OpDef is an OpDef from the beginning of the scope.
"""
from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    MDEF,
    AssignmentStmt,
    ClassDef,
    Decorator,
    FuncDef,
    NameExpr,
    RefExpr,
    SymbolTableNode,
    Var,
)
from mypy.plugin import ClassDefContext, DynamicClassDefContext, Plugin, ReportConfigContext
from mypy.types import AnyType, CallableType, Instance, TupleType, Type, TypeOfAny, UnboundType

TENSOR = "retrograd.core.tensor.Tensor"
OPDEF = "retrograd.core.opdef.OpDef"
SRC = Path(__file__).resolve().parent.parent / "src"
LAST_LINE = 10**6       # below the class body, in which `float` is the builtin and not the method

# Prints the members of Tensor: {name: [whether it is a method, what it returns]}.
LIST = """
import inspect, json
import retrograd
from retrograd.core.api import EXTRA_METHODS
from retrograd.core.opdef import OPS
from retrograd.core.subclass import MEMBERS
from retrograd.core.tensor import Tensor
from retrograd.methods import PLAIN, PROPERTIES
from retrograd.ops.load import import_all
import_all()

def from_schemas(packet):
    schemas = [op.schema for op in packet.overloads_ if not op.schema.is_out and op.schema.takes_self]
    returns = {" ".join([r.type + "[]" * r.is_list for r in schema.returns]) for schema in schemas}
    return returns.pop() if len(returns) == 1 else "Any"

def from_annotations(function):
    return str(getattr(inspect.unwrap(function), "__annotations__", {}).get("return", "Any"))

found = {}
for name in dir(Tensor):
    member = inspect.getattr_static(Tensor, name)
    declared = {**PLAIN, **PROPERTIES, **MEMBERS, **EXTRA_METHODS}.get(name)
    packet = OPS.get(name)
    if declared is None and packet is not None:
        found[name] = [True, from_schemas(packet)]
    elif declared is None and name.endswith("_") and not name.startswith("_"):       # the in-place form of an op
        found[name] = [True, "Tensor"]
    elif callable(member) or isinstance(member, (staticmethod, classmethod)):
        found[name] = [True, from_annotations(getattr(declared, "__func__", declared))]
    else:
        found[name] = [False, from_annotations(getattr(declared, "fget", declared))]
print(json.dumps(found))
"""


def list_members() -> dict[str, tuple[bool, str]]:
    done = subprocess.run([sys.executable, "-c", LIST], env=os.environ | {"PYTHONPATH": str(SRC), "RETROGRAD_PLAIN": "1"},
                          capture_output=True, text=True)
    if done.returncode:
        raise ImportError("the members of Tensor cannot be listed: " + done.stderr.strip())
    found: dict[str, tuple[bool, str]] = json.loads(done.stdout)
    return found


MEMBERS = list_members()
DIGEST = hashlib.sha256(json.dumps(MEMBERS).encode()).hexdigest()


def declared(cls: ClassDef) -> set[str]:
    """The names that the body of a class declares."""
    found: set[str] = set()
    for statement in cls.defs.body:
        if isinstance(statement, AssignmentStmt):
            found.update(target.name for target in statement.lvalues if isinstance(target, NameExpr))
        elif isinstance(statement, FuncDef | Decorator):
            found.add(statement.name)
    return found


def add_members(context: ClassDefContext) -> None:
    info, api = context.cls.info, context.api
    tensor, anything = Instance(info, []), AnyType(TypeOfAny.explicit)
    named: dict[str, Type] = {name: api.named_type(f"builtins.{name}") for name in ("bool", "int", "float", "str")}
    named["Tensor"] = tensor

    def type_of(text: str) -> Type:
        if text == "Tensor[]":
            return api.named_type("builtins.tuple", [tensor])
        parts = text.split(" ")
        if len(parts) > 1 and set(parts) == {"Tensor"}:
            return TupleType([tensor] * len(parts), api.named_type("builtins.tuple", [tensor]))
        return named.get(text, anything)

    function = api.named_type("builtins.function")
    for name in sorted(MEMBERS.keys() - declared(context.cls) - set(dir(object))):
        is_method, returned = MEMBERS[name]
        kind = type_of(returned)
        if is_method:
            kind = CallableType([anything, anything], [ARG_STAR, ARG_STAR2], [None, None], kind, function)
        member = Var(name, kind)
        member.info = info
        member._fullname = f"{TENSOR}.{name}"
        member.line = LAST_LINE
        info.names[name] = SymbolTableNode(MDEF, member, plugin_generated=True)


def declare_op(context: DynamicClassDefContext) -> None:
    callee = context.call.callee
    function = callee.node if isinstance(callee, RefExpr) else None
    if not (isinstance(function, FuncDef) and isinstance(function.type, CallableType)):
        return
    returned = function.type.ret_type
    if isinstance(returned, Instance) and returned.type.fullname == OPDEF or (
            isinstance(returned, UnboundType) and returned.name == "OpDef"):
        op = context.api.lookup_qualified(context.name, context.call)
        if op is not None and isinstance(op.node, Var) and op.node.type is None:
            op.node.type = context.api.named_type_or_none(OPDEF)


class Members(Plugin):
    def get_dynamic_class_hook(self, fullname: str) -> Callable[[DynamicClassDefContext], None] | None:
        return declare_op if fullname.startswith("retrograd.") else None

    def get_customize_class_mro_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return add_members if fullname == TENSOR else None

    def report_config_data(self, ctx: ReportConfigContext) -> str | None:
        return DIGEST if ctx.id == TENSOR.rpartition(".")[0] else None         # mypy's cache is valid for one list of members


def plugin(version: str) -> type[Plugin]:
    return Members
