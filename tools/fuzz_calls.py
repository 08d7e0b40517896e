"""Makes random calls from PyTorch's schemas, for the comparison of tools/fuzz.py, which explains the options.

    python tools/fuzz_calls.py --torch /path/to/python --seeds 0:1000

A program makes tensors of all dtypes, shapes and layouts, and calls a function, a method or an in-place method with arguments
that its schema or signature suggests: most of them valid, but dims out of range and shapes that do not fit as well. A backward
pass follows, or the call stands under a grad mode, autocast, vmap, forward mode or another transform. A quarter of the programs
are several calls that take each other's results.
"""
from __future__ import annotations

import inspect
import json
import math
import random
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tools import fuzz

# Uninitialised memory, other devices and builds, the process as a whole, or nothing that a result shows.
LEFT_OUT = re.compile(
    "quantize|^q_|^q?scheme|int_repr|cudnn|miopen|mkldnn|fbgemm|mps|xla|cuda|vulkan|empty|sym_|nested|is_pinned|pin_memory|seed|"
    "record_stream|data_ptr|from_file|^get_|^set_|^is_autocast|save|wait$|^grad$|scaled_mm|grouped_mm|multi_head_attention|lstm|"
    "gru|rnn_|^rename|^align_|names|resize|sparse|choose_qparams|batch_norm_(elemt|gather|stats|backward|update)|^set$|^data$|"
    "^to_mkl|fused_moving|^handle_torch|^has_torch|Optional|^assert|unsafe_index|^chalf$|native_|_backward$|_copy$|^[cxi]pu$|"
    "^lu_|^index$|^triangular_solve|^Generator$|^Size$|^device$|^is_leaf$|overload|^output_nr$|retains_grad|_(stubs|jit)$|"
    "^random$|^coalesce|indices$|^values$|^to_dense|smm$|compile|^boolean_")
DTYPES = ["float32"] * 10 + ["float64"] * 5 + ["int64"] * 4 + ["complex64"] * 2 + (
    "complex128 bool bool int32 int16 int8 uint8 float16 float16 bfloat16 bfloat16").split()
FLOATING = ["float32", "float32", "float32", "float64", "float64", "complex64", "complex128", "bfloat16"]
RARE = ["float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"]
Shape = tuple[int, ...]
SHAPES: list[Shape] = [(2, 3)] * 4 + [(3,)] * 3 + [(3, 3)] * 2 + [(2, 3, 4)] * 2 + [
    (4,), (), (), (0,), (2, 0), (1,), (1, 3), (2, 1), (2, 2, 2, 2), (1, 2, 4, 4), (2, 3, 3), (5,), (2, 2)]
MATRICES: list[Shape] = [(3, 3), (2, 2), (2, 3), (2, 3, 3), (3, 2), (0, 0), (1, 1), (2, 2, 2)]
CHANNELS: list[Shape] = [(1, 2), (2, 3), (2,), (1, 1), (2, 4)]
SCALARS = ["2", "0.5", "-1", "0", "3", "2.5", "True", "1", "1j", "float('nan')", "float('inf')", "1e-3", "-2.5", "1.0", "0.0"]
INTEGERS = ["0", "1", "-1", "2", "1", "0", "3", "-2", "5"]
DIMS = ["0", "(0,)", "(0, 1)", "-1", "(-1,)", "(0, -1)", "()", "(1, 5)", "(0, 0)", "[1, 0]", "[-1, -2]"]
LISTS = ["2", "1", "(1,)", "(2, 2)", "(1, 2)", "[1, 1]", "()", "(2, 3)", "(1, 1, 1)"]
CHOICES = {name: values.split(" | ") for line in (Path(__file__).parent / "fuzz_arguments.txt").read_text().splitlines()[1:]
           for name, _, values in [line.partition(": ")]}
POSITIONS = re.compile("^ind(ex|ices)$|^target$|^offsets$|^labels?$|lengths$|^idx|batch_sizes|^repeats$|^boundaries$")
RANKED = re.compile(r"(?<!\d)([123])d(_with_indices)?$")
LINEAR = re.compile("linalg|cholesky|^inverse|det$|^mm|^bmm|matrix|solve|^lu|^qr|^svd|pinv|dist")
MODES = ["torch.no_grad()", "torch.inference_mode()", "torch.autocast('cpu', torch.bfloat16)", "torch.enable_grad()"]
ENDS = [["h.backward(torch.arange(1., 1 + h.numel()).reshape(h.shape).to(h.dtype))"], ["h.sum().backward()"],
        ["h = torch.autograd.grad((h * h.conj()).real.sum(), a, create_graph=True)[0]", "(h * h.conj()).real.sum().backward()"]]


# ---- PyTorch's functions
FUNCTIONS: dict[tuple[str, str], list[Any]] = {}       # (where, name) -> for each overload [name, type, default, keyword only]


def listed() -> list[Any]:
    """PyTorch's public functions as [where, name, parameters]; runs in a process that has it."""
    torch: Any = import_module("torch")
    functional, found = torch.nn.functional, []
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if "::" in name or name.startswith("_"):
            continue
        out = any([a.is_out for a in schema.arguments])
        given = [[a.name, str(a.type) + "!" * a.is_out, repr(a.default_value) if a.has_default_value() else None, a.kwarg_only]
                 for a in schema.arguments]
        prefix, _, rest = name.partition("_")
        if prefix in ("linalg", "fft", "special") and rest[:1] != "_" and hasattr(getattr(torch, prefix), rest):
            found.append([f"torch.{prefix}", rest, given])
        if hasattr(torch, name):
            found.append(["torch", name, given])
        if hasattr(functional, name) and not inspect.isfunction(getattr(functional, name)):
            found.append(["F", name, given])
        if hasattr(torch.Tensor, name) and not out and given and given[0][0] == "self":
            found.append(["Tensor", name, given])
    for where, space in (("F", functional), ("torch", torch.functional)):
        for name in dir(space):
            function = getattr(space, name)
            if name[0] != "_" and inspect.isfunction(function) and function.__module__.startswith("torch."):
                function = inspect.getclosurevars(function).nonlocals.get("if_false", function)      # chosen by an argument
                plain = [p for p in inspect.signature(function).parameters.values()
                         if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
                found.append([where, name, [
                    [p.name, str(p.annotation), None if p.default is p.empty else repr(p.default), p.kind == p.KEYWORD_ONLY]
                    for p in plain]])
    return found


def learn(python: str) -> None:
    """Ask PyTorch for its functions."""
    answer = subprocess.run([python, __file__, "--list"], check=True, capture_output=True, text=True).stdout
    for where, name, parameters in json.loads(answer):
        if not LEFT_OUT.search(name) and len(parameters) < 16 and all([p[0] != "out_dtype" for p in parameters]):
            FUNCTIONS.setdefault((where, name), []).append(parameters)


# ---- tensors
def values(draw: random.Random, shape: Shape, dtype: str, role: str = "") -> str:
    """An expression that makes a contiguous tensor. Roles: an "index", or a "matrix", which has full rank."""
    n, size = math.prod(shape), f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
    if role == "index":
        return f"(torch.arange({n}) % {draw.choice([2, 3, 1, 3])}).reshape({size})" + f".to(torch.{dtype})" * (dtype != "int64")
    if dtype == "bool":
        return f"(torch.arange({n}).reshape({size}) % {draw.choice([2, 3])} == 0)"
    full = f"(torch.arange({n}.) + 1).square().sin()"
    if dtype.startswith("complex"):
        return f"({full if role else f'torch.linspace(-1, 2, {n})'}.reshape({size}).to(torch.{dtype}) * (1 + 0.5j))"
    if dtype.startswith(("int", "uint")):
        start = draw.choice([0, 0, 1, -2]) if dtype.startswith("int") else 0
        return f"torch.arange({start}, {start + n}).reshape({size})" + f".to(torch.{dtype})" * (dtype != "int64")
    text = full if role else draw.choice([f"torch.linspace(-1, 2, {n})", f"torch.linspace(0.5, 2, {n})", full,
                                          f"torch.linspace(0.1, 0.9, {n})", f"(torch.arange({n}.) % 3)", f"torch.arange({n}.)",
                                          f"torch.ones({n})", f"torch.linspace(-1, 1, {n})"])
    return f"{text}.reshape({size})" + f".to(torch.{dtype})" * (dtype != "float32")


def tensor(draw: random.Random, shape: Shape, dtype: str, role: str = "") -> str:
    """An expression that makes a tensor of some layout."""
    kind = draw.random()
    if kind < 0.55 or 0 in shape or not shape:
        return values(draw, shape, dtype, role)
    if kind < 0.7:
        return values(draw, shape[::-1], dtype, role) + f".permute({', '.join(map(str, range(len(shape) - 1, -1, -1)))})"
    if kind < 0.78:
        return values(draw, (1, *shape[1:]), dtype, role) + f".expand({', '.join(map(str, shape))})"
    if kind < 0.86:
        return values(draw, (shape[0] + 1, *shape[1:]), dtype, role) + "[1:]"
    if kind < 0.94:
        return values(draw, (*shape[:-1], 2 * shape[-1]), dtype, role) + "[..., ::2]"
    made = values(draw, shape, dtype, role)
    if len(shape) == 4:
        return made + ".contiguous(memory_format=torch.channels_last)"
    return made + draw.choice([".conj()", ".conj().conj()"]) * dtype.startswith("complex")


class Call:
    """One random call: the statements that make its tensors, and its text."""

    def __init__(self, draw: random.Random, reuse: float = 0.06, known: str = "") -> None:
        self.draw, self.reuse, self.known = draw, reuse, known
        self.name = draw.choice(sorted({name for _, name in FUNCTIONS}))
        self.where = draw.choice([place for place, name in FUNCTIONS if name == self.name])
        self.parameters = draw.choice(FUNCTIONS[self.where, self.name])
        self.lines: list[str] = []
        self.dtype = draw.choice(RARE) if draw.random() < 0.005 else draw.choice(DTYPES)
        self.shape = draw.choice(SHAPES)
        self.grad = draw.random() < 0.6
        if self.grad and draw.random() < 0.85:
            self.dtype = draw.choice(FLOATING)
        ranked = RANKED.search(self.name)
        self.rank = int(ranked[1]) if ranked else 0
        self.linear = not ranked and bool(LINEAR.search(self.where + self.name))
        if ranked:
            self.shape = draw.choice(CHANNELS) + draw.choice([(4,), (5,), (3,)]) * self.rank
        elif self.linear and draw.random() < 0.8:
            self.shape = draw.choice(MATRICES)
            self.dtype = draw.choice(["float32", "float64", "complex64", "complex128", self.dtype])

    def shape_of(self, parameter: str) -> Shape:
        """A shape for a further tensor, most often one that fits the first."""
        draw, shape = self.draw, self.shape
        if self.rank and parameter in ("weight", "bias", "running_mean", "running_var") and len(shape) > 1:
            channels = shape[-self.rank - 1]
            if parameter == "weight" and "conv" in self.name:
                window = (draw.choice([1, 2, 3]),) * self.rank
                return (draw.choice([2, 3, channels]), draw.choice([channels, channels, 1]), *window)
            return (draw.choice([channels, 2]),)
        if parameter in ("weight", "bias", "running_mean", "running_var", "vec", "vec2", "tau") and draw.random() < 0.7:
            return shape[1:2] if "norm" in self.name and parameter[:3] != "vec" else shape[-1:]
        if parameter in ("mat2", "batch2", "B") and len(shape) > 1 and draw.random() < 0.7:
            return (*shape[:-2], shape[-1], draw.choice([2, 3, shape[-2]]))
        kind = draw.random()
        if kind < 0.6:
            return shape
        if kind < 0.7:
            return shape[1:]
        if kind < 0.78:
            return tuple([1 if draw.random() < 0.5 else n for n in shape])
        if kind < 0.84:
            return ()
        return (*shape[:-2], *shape[-2:][::-1]) if kind < 0.9 else draw.choice(SHAPES)

    def fresh(self) -> str:
        """A name for a new tensor."""
        name = ("abcdef"[len(self.known):] or "f")[0]
        self.known += name if name not in self.known else ""
        return name

    def made(self, parameter: str, first: bool = False) -> str:
        """The name of a tensor for a parameter."""
        draw = self.draw
        if self.known and draw.random() < self.reuse:
            return draw.choice(self.known)
        shape = self.shape if first else self.shape_of(parameter)
        dtype = self.dtype if draw.random() < 0.8 else draw.choice(DTYPES)
        role = "matrix" if self.linear else ""
        if POSITIONS.search(parameter) and draw.random() < 0.9:
            role, dtype = "index", "int64" if draw.random() < 0.85 else draw.choice(["int32", "uint8", self.dtype])
        elif parameter in ("mask", "condition", "attn_mask", "key_padding_mask") and draw.random() < 0.8:
            dtype = "bool"
        text = tensor(draw, shape, dtype, role)
        if self.grad and dtype.startswith(("float", "complex", "bfloat")) and draw.random() < 0.75:
            text = f"({text}).requires_grad_()"
            if first and self.name.endswith("_") and draw.random() < 0.85:           # written in place: no leaf
                text += draw.choice([".clone()", " * 1", ".clone()[:]"])
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def argument(self, parameter: str, kind: str, first: bool) -> str:
        """The text of an argument; `kind` is a type of a schema or an annotation."""
        draw = self.draw
        tensors = re.search(r"List\[(Optional\[)?Tensor|[Tt]uple\[Tensor|Tensor, \.\.\.", kind) or parameter == "tensors"
        if re.search("Optional|None.", kind) and draw.random() < 0.25:
            return "None"
        if parameter in CHOICES and not tensors and draw.random() < (0.2 if "Tensor" in kind else 0.9):
            return self.choice(parameter, kind)
        if tensors:
            parts = [self.made(parameter) for _ in range(draw.choice([1, 2, 2, 3]))]
            return draw.choice(["[{}]", "({},)"]).format(", ".join(parts))
        if "Tensor" in kind:
            return draw.choice(SCALARS) if not first and draw.random() < 0.04 else self.made(parameter, first)
        if "bool" in kind and "List" not in kind:
            return draw.choice(["True", "False"])
        if "List[int]" in kind or "tuple[int" in kind or kind == "None":         # or a list: annotations are not clear
            return draw.choice(DIMS if parameter in ("dim", "dims", "axis") else LISTS)
        if "List[float]" in kind:
            return draw.choice(["(0., 1.)", "[2.0]", "(2.0, 2.0)"])
        if "int" in kind:
            return draw.choice(INTEGERS) if draw.random() < 0.97 else draw.choice(["1.5", "True", "torch.tensor(1)", "'x'"])
        if "str" in kind:
            return "'mean'"
        return draw.choice(SCALARS if "number" in kind.lower() else ["0.5", "1.0", "2", "0", "-1.0", "1e-2"])

    def choice(self, parameter: str, kind: str) -> str:
        """One of the values that a parameter of this name takes, most often of the right type."""
        known = CHOICES[parameter]
        fitting = [text for text in known if ("'" in text) == ("str" in kind) or text == "None" and "Optional" in kind]
        return self.draw.choice(fitting if fitting and self.draw.random() < 0.97 and parameter != "padding" else known)

    def text(self) -> str:
        """The call itself."""
        draw = self.draw
        positional: list[str] = []
        named: list[str] = []
        outs: list[str] = []
        by_name = False
        for i, (parameter, kind, default, keyword) in enumerate(self.parameters):
            if kind.endswith("!") and keyword:
                dtype = self.dtype if draw.random() < 0.8 else draw.choice(DTYPES)
                shape = self.shape if draw.random() < 0.6 else draw.choice([(0,), self.shape_of("")])
                outs.append(self.fresh())
                self.lines.append(f"{outs[-1]} = {tensor(draw, shape, dtype)}")
                continue
            if default is not None and draw.random() < 0.6:
                by_name = True
                continue
            text = self.argument(parameter, kind, i == 0)
            by_name = by_name or keyword or i > 0 and draw.random() < 0.1
            if by_name:
                named.append(f"{parameter}={text}")
            else:
                positional.append(text)
        if outs:
            named.append("out=" + (outs[0] if len(outs) == 1 else f"({', '.join(outs)})"))
        if self.where == "Tensor" and positional:
            return f"{positional[0]}.{self.name}({', '.join([*positional[1:], *named])})"
        where = "torch.Tensor" if self.where == "Tensor" else self.where
        return f"{where}.{self.name}({', '.join([*positional, *named])})".replace("(self=", "(input=")


# ---- programs
def generate(seed: int) -> list[str]:
    """The statements of program number `seed`."""
    draw = random.Random(seed)
    if draw.random() < 0.25:
        return several(draw)
    call = Call(draw)
    text = call.text()
    lines = list(call.lines)
    first = "a" if lines else "torch.ones(2)"
    kind = draw.random()
    if kind < 0.6:
        lines += [f"g = {text}", "h = one(g)"]
    elif kind < 0.68:
        lines += [f"with {draw.choice(MODES)}: g = {text}", "h = one(g)"]
    elif kind < 0.78:
        dims = draw.choice(["", "", ", in_dims=-1", ", out_dims=-1", ", in_dims=1"])
        lines.append(f"h = torch.vmap(lambda a: one({text}){dims}, randomness='same')({first})")
    elif kind < 0.86:
        lines += [f"g = torch.func.jvp(lambda a: one({text}), ({first},), (torch.ones_like({first}),))", "h = g[1]"]
    elif kind < 0.92:
        dual = draw.choice(call.known[:2] or "a")
        lines.append(f"with fwAD.dual_level(): {dual} = fwAD.make_dual({dual}.detach(), {dual}.detach().cos()); "
                     f"g = fwAD.unpack_dual(one({text})); {dual} = None; h = g[1]")
    elif kind < 0.96:
        lines.append(f"h = torch.func.grad(lambda a: one({text}).abs().square().sum())({first})")
    else:
        transform = draw.choice(["jacrev", "jacfwd", "hessian", "functionalize"])
        lines.append(f"h = torch.func.{transform}(lambda a: one({text}))({first})")
    return lines + (draw.choice(ENDS) if call.grad else [])


def several(draw: random.Random) -> list[str]:
    """A program of several calls that take each other's results."""
    lines: list[str] = []
    known = ""
    for _ in range(draw.choice([2, 3, 4, 5])):
        call = Call(draw, reuse=0.75, known=known)
        text = call.text()
        known = call.known
        lines += [*call.lines, f"{draw.choice(known)} = one({text})" if known else text]
    return [*lines, f"h = {draw.choice(known or '1')}", *draw.choice(ENDS)]


if __name__ == "__main__":
    if "--list" in sys.argv:
        print(json.dumps(listed()))
    else:
        if "--torch" in sys.argv:
            learn(sys.argv[sys.argv.index("--torch") + 1])
        fuzz.main(generate, __doc__)
