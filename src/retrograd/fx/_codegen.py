"""From a Graph to the source of a `forward`."""
from __future__ import annotations

import builtins
import re
import types
import typing
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any, NamedTuple

import numpy as np

import retrograd
from retrograd import Tensor
from retrograd.fx._names import Namespace, is_ours, qualified_name, torch_with, type_repr
from retrograd.fx._wrap import wrap
from retrograd.fx.node import Node
from retrograd.utils import _pytree as pytree

INFIX = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}",
    "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}",
    "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}
IN_PLACE = {"iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
            "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
            "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}"}
# Generic classes of `typing` that have names of their own; of others the code names the class.
TYPING = {kind: vars(typing)[name] for kind, name in (
    (list, "List"), (dict, "Dict"), (set, "Set"), (frozenset, "FrozenSet"), (tuple, "Tuple"))}
SHORT_DTYPES = {retrograd.float16: "f16", retrograd.bfloat16: "bf16", retrograd.float32: "f32", retrograd.float64: "f64",
                retrograd.complex64: "c64", retrograd.complex128: "c128", retrograd.int8: "i8", retrograd.int16: "i16",
                retrograd.int32: "i32", retrograd.int64: "i64", retrograd.uint8: "u8", retrograd.bool: "b8"}


class PythonCode(NamedTuple):
    """Source, and what its global names stand for."""

    src: str
    globals: dict[str, Any]
    lineno_map: dict[int, int | None] | None = None
    prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """How the arguments of a function with nested inputs are taken apart, and its result put together."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class CodeGen:
    """Writes a graph as Python; a subclass may change the signature, the result and the lines."""

    def __init__(self, body_transformer: Any = None) -> None:
        self._body_transformer = body_transformer

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        if expanded_def:
            arguments = "".join([f"    {name},\n" for name in free_vars])
            return f"def {self._func_name}(\n{arguments}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    _func_name = "forward"

    def generate_output(self, output_args: Any) -> str:
        return f"return {repr_of(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        return args

    def process_outputs(self, outputs: Any) -> Any:
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        return []

    def _gen_python_code(self, nodes: Iterable[Node], root_module: str, namespace: Namespace, *, verbose: bool = False,
                         include_stride: bool = False, include_device: bool = False, expanded_def: bool = False,
                         **options: Any) -> PythonCode:
        return Writer(self, list(nodes), root_module, namespace, verbose, include_stride, include_device).write(expanded_def)


class Writer:
    """The writing of one graph."""

    def __init__(self, codegen: CodeGen, nodes: list[Node], root: str, names: Namespace, verbose: bool, strides: bool,
                 devices: bool) -> None:
        self.codegen, self.nodes, self.root, self.names = codegen, nodes, root, names
        self.verbose, self.strides, self.devices = verbose, strides, devices
        self.globals: dict[str, Any] = {"inf": float("inf"), "nan": float("nan"), "NoneType": type(None),
                                        "device": retrograd.device, "pytree": pytree}
        self.ours: dict[str, Any] = {}            # qualified names under `torch`
        self.wrapped: dict[str, None] = {}
        self.body: list[str] = []
        self.lines: list[int | None] = []         # which node each statement of the body is for
        self.parameters: list[str] = []
        self.returns = ""
        self.origin: Any = None

    def write(self, expanded_def: bool) -> PythonCode:
        for name, value in self.codegen.additional_globals():
            self.globals[name] = value
        unused = self.last_uses()
        for i, node in enumerate(self.nodes):
            if self.verbose:
                self.comment(node)
            start = len(self.body)
            self.statement(node)
            if node.op not in ("placeholder", "output"):
                gone = unused.get(node, [])
                if not node.users:
                    gone = [*gone, node]
                self.body.append(";  " + " = ".join([repr(g) for g in gone]) + " = None\n" if gone else "\n")
            elif node.op == "output":
                self.body.append("\n")
            self.lines += [i] * (len(self.body) - start)
        if not self.body or all([line.startswith("#") for line in self.body]):
            self.body.append("pass\n")
        if self.codegen._body_transformer:
            self.body = self.codegen._body_transformer(self.body)
        head = "".join([f'{self.name_of(wrap)}("{name}")\n' for name in self.wrapped])
        definition = self.codegen.gen_fn_def(self.parameters, self.returns, expanded_def=expanded_def)
        code = "".join(self.body)
        if not code.endswith("\n"):
            code += "\n"
        indented = "".join([f"    {line}\n" for line in code.split("\n")])[:-1]
        self.globals["torch"] = torch_with(self.ours)
        src = f"\n{head or chr(10)}\n{definition}\n{indented}"
        return PythonCode(src, self.globals, None)

    def last_uses(self) -> dict[Node, list[Node]]:
        """For each node, the values that are not used after it."""
        seen: set[Node] = set()
        found: dict[Node, list[Node]] = {}
        for user in reversed(self.nodes):
            for node in user._inputs:
                if node not in seen:
                    seen.add(node)
                    found.setdefault(user, []).append(node)
        return found

    # ---- names
    def name_of(self, obj: Any) -> str:
        """What the code calls a function, a type or another object."""
        if is_ours(obj) and obj is not retrograd.device:
            name = qualified_name(obj) if not isinstance(obj, type) else type_repr(obj)
            if name.startswith("torch.") and self.ours.setdefault(name, obj) is obj:
                return name
        name = qualified_name(obj) if callable(obj) and not isinstance(obj, type) else type_repr(obj)
        if "." not in name and hasattr(builtins, name):
            return name
        return self.as_global(name, obj)

    def as_global(self, name: str, obj: Any) -> str:
        """The name of an object among the globals of the code, made of its full name."""
        hint = name.replace(".", "_")
        for known, value in self.globals.items():
            if value is obj and known == hint:
                return known
        name = self.names.create_name(hint, obj if is_hashable(obj) else None)
        self.globals[name] = obj
        return name

    def annotation(self, kind: Any) -> str:
        return "" if kind is None or kind == () else self.type_name(kind)

    def type_name(self, kind: Any) -> str:
        """What the code calls a type; a generic one is put together from the names of its parts."""
        if isinstance(kind, str):
            return kind
        if kind is Ellipsis:
            return "..."
        if isinstance(kind, list):                       # the parameters of a Callable
            return f"[{','.join(map(self.type_name, kind))}]"
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.type_name, kind.__args__))
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            text = type_repr(kind)
            if text.startswith("torch."):
                self.ours[text] = kind
                return text
            return text if "." not in text and hasattr(builtins, text) else self.as_global(text, kind)
        if hasattr(kind, "__metadata__") or not hasattr(kind, "__args__"):        # Annotated[int, ...], typing.List
            return self.type_name(origin)
        if not isinstance(kind, types.GenericAlias) and origin in TYPING:
            outer = self.as_global(type_repr(TYPING[origin]), TYPING[origin])
        else:
            outer = self.type_name(origin)
        inner = [repr(part) if origin is typing.Literal else self.type_name(part) for part in typing.get_args(kind)]
        return f"{outer}[{','.join(inner)}]" if inner else outer

    def described(self, node: Node) -> str:
        """`: "f32[2, 3]"` where the value is known and asked for, else the declared type."""
        if self.verbose:
            text = describe(node.meta.get("val", node.meta.get("example_value")), self.strides, self.devices)
            if text is None and "tensor_meta" in node.meta and hasattr(node.meta["tensor_meta"], "dtype"):
                meta = node.meta["tensor_meta"]
                text = SHORT_DTYPES.get(meta.dtype, str(meta.dtype)) + str(list(meta.shape))
            if text is not None:
                return f': "{text}"'
        return f" : {self.annotation(node.type)}" if node.type is not None else ""

    # ---- lines
    def comment(self, node: Node) -> None:
        """Say which line of the user's program the following nodes are from."""
        if node.op in ("placeholder", "output"):
            return
        trace = node.stack_trace
        if trace:
            origin = summary(trace)
            if origin != self.origin:
                self.origin = origin
                self.body.append(f"{chr(10) if self.body else ''}# {origin}\n" if origin else "")
        elif self.origin != "":
            self.origin = ""
            self.body.append(f"{chr(10) if self.body else ''}# No stacktrace found for following nodes\n")

    def statement(self, node: Node) -> None:
        write = self.body.append
        kind = "" if node.op == "output" else self.described(node)
        me = repr(node)
        if node.op == "placeholder":
            default = f" = {repr_of(node.args[0], self)}" if node.args else ""
            self.parameters.append(f"{node.target}{kind}{default}")
            raw = node.target.replace("*", "")
            if raw != me:
                write(f"{me} = {raw}\n")
            return
        args = [repr_of(a, self) for a in node.args]
        if node.op == "call_method":
            write(f"{me}{kind} = {self.receiver(node.args[0], args[0])}.{node.target}({self.listed(args[1:], node.kwargs)})")
        elif node.op == "call_function":
            self.call_function(node, me, kind, args)
        elif node.op == "call_module":
            write(f"{me}{kind} = {attribute(self.root, node.target)}({self.listed(args, node.kwargs)})")
        elif node.op == "get_attr":
            write(f"{me}{kind} = {attribute(self.root, node.target)}")
        elif node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.annotation(node.type)}"
            write(self.codegen.generate_output(node.args[0]) if not isinstance(self.codegen, _PyTreeCodeGen)
                  and type(self.codegen).generate_output is not CodeGen.generate_output
                  else f"return {self.result(node)}")

    def result(self, node: Node) -> str:
        text = repr_of(node.args[0], self)
        return f"pytree.tree_unflatten({text}, self._out_spec)" if isinstance(self.codegen, _PyTreeCodeGen) and (
            self.codegen.pytree_info.out_spec) else text

    def receiver(self, arg: Any, text: str) -> str:
        return f"({text})" if isinstance(arg, int | float) and not isinstance(arg, bool) else text

    def call_function(self, node: Node, me: str, kind: str, args: list[str]) -> None:
        target, write = node.target, self.body.append
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", "")
        if module == "_operator" and name in INFIX and not node.kwargs:
            write(f"{me}{kind} = {INFIX[name].format(*args)}")
            return
        if module == "_operator" and name in IN_PLACE and not node.kwargs:
            write(f"{IN_PLACE[name].format(*args)};  {me}{kind} = {args[0]}")
            return
        if target is getattr and len(node.args) == 2 and isinstance(node.args[1], str) and is_attribute(node.args[1]):
            write(f"{me}{kind} = {args[0]}.{node.args[1]}")
            return
        function = self.name_of(target)
        if any([iskeyword(part) for part in function.split(".")]):        # ops.aten.random_.from
            function = attribute(*function.split(".", 1))
        if node.meta.get("is_wrapped") and not function.startswith("torch."):
            self.wrapped[function] = None
        write(f"{me}{kind} = {function}({self.listed(args, node.kwargs)})")

    def listed(self, args: list[str], kwargs: dict[str, Any]) -> str:
        return ", ".join([*args, *[f"{key} = {repr_of(value, self)}" for key, value in kwargs.items()]])


def repr_of(arg: Any, writer: Writer | None = None) -> str:
    """An argument as source."""
    if isinstance(arg, Node):
        return repr(arg)
    if isinstance(arg, tuple):
        items = [repr_of(a, writer) for a in arg]
        text = "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
        if hasattr(arg, "_fields"):
            name = type(arg).__name__ if writer is None else writer.name_of(type(arg))
            return f"{name}({', '.join(items)})"
        return text
    if isinstance(arg, list):
        return "[" + ", ".join([repr_of(a, writer) for a in arg]) + "]"
    if isinstance(arg, dict):
        return "{" + ", ".join([f"{key!r}: {repr_of(value, writer)}" for key, value in arg.items()]) + "}"
    if isinstance(arg, slice):
        return f"slice({repr_of(arg.start, writer)}, {repr_of(arg.stop, writer)}, {repr_of(arg.step, writer)})"
    if isinstance(arg, np.generic):               # the source does not import NumPy
        return repr(arg.item())
    if writer is not None:
        if isinstance(arg, type) or callable(arg) and hasattr(arg, "__name__") and not isinstance(arg, Tensor):
            return writer.name_of(arg)
        if type(arg).__module__ == "enum" or hasattr(type(arg), "__members__"):
            return f"{writer.name_of(type(arg))}.{arg.name}"
    return repr(arg)


def attribute(root: str, target: str) -> str:
    """`self.a.b`, with getattr for parts that are no identifiers."""
    text = root
    for part in target.split("."):
        text = f"{text}.{part}" if is_attribute(part) else f'getattr({text}, "{part}")'
    return text


def is_attribute(name: str) -> bool:
    """Whether a name can stand after a dot."""
    return name.isidentifier() and not iskeyword(name)


def describe(value: Any, strides: bool, devices: bool) -> str | None:
    """The kind of a value, such as f32[2, 3]."""
    if isinstance(value, Tensor):
        text = SHORT_DTYPES.get(value.dtype, str(value.dtype)) + str(list(value.shape))
        return text + (str(list(value.stride())) if strides else "") + (str(value.device) if devices else "")
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        return f"Sym({value})"
    return None


def summary(trace: str) -> str:
    """The innermost line of a stack trace, as a comment has it."""
    frames = re.findall(r'File "(.+?)", line (\d+), in (.+)\n *(.+)', trace)
    if not frames:
        return ""
    name, line, function, code = frames[-1]
    return f"File: {name}:{line} in {function}, code: {code.strip()}"


def is_hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None


class _PyTreeCodeGen(CodeGen):
    """Code for a function whose arguments or result are nested: the graph itself sees only what is in them."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        return out if self.pytree_info.out_spec is None else pytree.tree_unflatten(
            list(out) if isinstance(out, list | tuple) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        names = list(self.pytree_info.orig_args)
        has_self = bool(names) and names[0] == "self"
        definition = super().gen_fn_def(names, maybe_return_annotation, expanded_def=expanded_def)
        inputs = names[1:] if has_self else names
        flat = [name.partition(":")[0].partition("=")[0].strip() for name in free_vars]
        if flat:
            definition += f"\n    {', '.join(flat)}, = fx_pytree.tree_flatten_spec([{', '.join(inputs)}], self._in_spec)"
        return definition

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("fx_pytree", FlattenBySpec)]


class FlattenBySpec:
    """What generated code takes nested arguments apart with."""

    @staticmethod
    def tree_flatten_spec(tree: Any, spec: Any) -> list[Any]:
        leaves, found = pytree.tree_flatten(tree)
        return leaves
