"""The language of loops: parses an op's `lower` column into passes over the data.

NOTE [Lower]
An alternative of `lower` is Python text over the op's arguments:

    "self * other"                                             one element (operands broadcast)
    "sum(self * self)"  "sqrt(sum(self * self))"               one reduction over the dims that the call names
    "x -> z | e = exp(x - max(x)); z = e / sum(e)"             a row: several passes along one dimension

Statements are separated by `;`, the value of the last one is the result. Supported are + - * / & | ^ ~, comparisons, `and`,
`or`, `not`, `a if c else b`, the functions of FUNCTIONS, the formulas of FORMULAS (inlined), and the reductions sum, mean,
prod, max, min, any, all. `numel` is the number of elements of `self`, `largest` the largest finite number of its dtype. A
text that begins with "by rows: " has a row-major result; otherwise elements lie in the order of the operands. One that begins
with "whole: " is not for half precision, which is computed in float and rounded. A tensor that is only ever a condition may be
a mask of bools; other tensors share one dtype.

`lower` may be a dict {guard: text}: the first alternative whose guard holds is taken. A guard is a list of `name=value`
("approximate='tanh'", "max=None"); an argument that the text uses must be a tensor or a number, one that neither uses
must have its default.

A row text declares its operands: one element per (row, column) unless marked `w:col` (one per column), `t:row` (one per
row), `t:idx` (one integer per row), `eps:num` (a number). An output marked `col` is summed over all rows. `x[t]` is
element t of the row, `col` the number of the column, `n` the number of columns.
"""
from __future__ import annotations

import ast
from typing import Any

REDUCE = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "max", "min": "min"}
HEAVY = {"exp", "log", "tanh", "erf", "erfc", "log1p", "log2", "log10", "exp2", "expm1", "pow", "sin", "cos", "tan",
         "sinh", "cosh",
         "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "hypot", "fmod", "sigmoid", "lgamma", "nextafter",
         "erfinv"}
INTEGER = {"abs", "maximum", "minimum", "fmax", "fmin", "sign", "where", "floor", "ceil", "trunc", "rint"}
FUNCTIONS = HEAVY | INTEGER | {"sqrt", "copysign", "clip"}
FAR = {"sin", "cos", "tan", "fmod"}      # large arguments go to the C library's functions
FORMULAS = {
    "rsqrt": ("x", "1 / sqrt(x)"),
    "isnan": ("x", "x != x"),
    "xlogy": ("x y", "y if y != y else 0 if x == 0 else x * log(y)"),
    "phi": ("x", "0.5 * (1 + erf(x * 0.7071067811865476))"),
    "softplus": ("x", "maximum(x, 0) + log1p(exp(-abs(x)))"),
}


class Substitute(ast.NodeTransformer):
    """Puts expressions in the places of variables; the names of functions stay."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> Any:
        return self.values.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> Any:
        node.args = [self.visit(a) for a in node.args]
        return node


class Inline(ast.NodeTransformer):
    """Inlines calls of formulas, `any` and `all`."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        name = called(node)
        if name in ("any", "all"):
            test = ast.Compare(node.args[0], [ast.NotEq()], [ast.Constant(0)])
            return ast.Call(ast.Name("max" if name == "any" else "min"), [test], [])
        if name not in FORMULAS:
            return node
        names, text = FORMULAS[name]
        given = Substitute(dict(zip(names.split(), node.args, strict=True)))
        return self.visit(given.visit(ast.parse(text, mode="eval").body))


def called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def operands(node: ast.expr) -> list[ast.expr]:
    """The arguments of a call."""
    assert isinstance(node, ast.Call)
    return node.args


def is_reduction(node: ast.AST) -> bool:
    return called(node) in REDUCE


def names_in(node: ast.AST) -> list[str]:
    return [c.id for c in ast.walk(node) if isinstance(c, ast.Name)]


def statements(text: str) -> list[tuple[str, ast.expr]]:
    """(target, expression) pairs; the target of a bare expression is `out`."""
    found = []
    for part in text.split(";"):
        node = ast.parse(part.strip()).body[0]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.append((node.targets[0].id, Inline().visit(node.value)))
        elif isinstance(node, ast.Expr):
            found.append(("out", Inline().visit(node.value)))
        else:
            raise SyntaxError(f"not an assignment: {part}")
    return found


def inlined(parts: list[tuple[str, ast.expr]]) -> Any:
    """The last statement with the earlier ones substituted."""
    known = Substitute({})
    for name, value in parts[:-1]:
        known.values[name] = known.visit(value)
    return known.visit(parts[-1][1])


def guards(text: str) -> dict[str, Any]:
    """The guard `a=1, b='x'` as a dict."""
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {k.arg or "": ast.literal_eval(k.value) for k in call.keywords}


def alternatives(lower: Any) -> list[tuple[dict[str, Any], str]]:
    """(guard, text) pairs of a `lower` column."""
    if isinstance(lower, dict):
        return [(guards(guard), text) for guard, text in lower.items()]
    return [({}, lower)]


class Program:
    """One parsed alternative: operands, numbers, steps in order and, for rows, the pass of each step. `kinds` maps each
    tensor to "elem", "mask", "col", "row" or "idx"; `what` maps each value to one per element ("e") or per row ("r") and
    the number of row reductions it depends on.
    """

    def __init__(self, name: str, text: str, kinds: dict[str, str], numbers: list[str]) -> None:
        self.by_rows = text.startswith("by rows: ")
        self.whole = text.startswith("whole: ")
        text = text.removeprefix("by rows: ").removeprefix("whole: ")
        self.name, self.text = name, text
        self.kinds = dict(kinds)
        self.inputs = list(kinds)
        self.numbers = numbers
        self.steps: list[tuple[str, ast.expr]] = []
        self.kept = 0                             # values that its C function buffers, set by c.row
        self.sinks: dict[str, str] = {}                # output summed over the rows -> the summed value
        head, arrow, body = text.partition("|")
        self.family = "row" if "->" in head and arrow else "point"
        self.outputs = [("out", "elem")]
        if self.family == "row":
            inputs, outputs = ([p.strip().partition(":")[::2] for p in part.split(",")] for part in head.split("->"))
            self.kinds = {n: k or "elem" for n, k in inputs if k != "num"}
            self.inputs = list(self.kinds)
            self.numbers = [n for n, k in inputs if k == "num"]
            self.outputs = [(n, k or "elem") for n, k in outputs]
            self.read_rows(statements(body))
        else:
            self.read(statements(text))

    # ---- one element, or one reduction
    def read(self, parts: list[tuple[str, ast.expr]]) -> None:
        reductions = [c for _, e in parts for c in ast.walk(e) if is_reduction(c)]
        self.steps = parts
        for name in [c for _, e in parts for c in ast.walk(e) if isinstance(c, ast.Name) and c.id in self.numbers]:
            name.is_argument = True                    # type: ignore[attr-defined]  # nan_to_num has one that is called nan
        used = {n for _, e in parts for n in names_in(e)}
        self.inputs = [n for n in self.inputs if n in used]
        self.numbers = [n for n in self.numbers if n in used] + ["numel"] * ("numel" in used)
        masks = {c.test.id for _, e in parts for c in ast.walk(e) if isinstance(c, ast.IfExp) and isinstance(c.test, ast.Name)}
        masks |= {c.args[0].id for _, e in parts for c in ast.walk(e) if called(c) == "where"
                  and isinstance(c, ast.Call) and isinstance(c.args[0], ast.Name)}
        for n in self.inputs:
            if n in masks:
                self.kinds[n] = "mask"
        if not reductions:
            return
        if len(reductions) > 1:
            raise SyntaxError(f"{self.name}: several reductions need a row text")
        parts = self.steps = [("out", inlined(parts))]
        inner = next(c for c in ast.walk(parts[0][1]) if isinstance(c, ast.Call) and is_reduction(c))
        self.family = "reduce"
        self.reducer = called(inner)
        self.term: Any = inner.args[0]

        class Take(ast.NodeTransformer):
            def visit_Call(self, node: ast.Call) -> Any:
                if node is inner:
                    acc: Any = ast.Name("acc")
                    return acc if called(node) != "mean" else ast.BinOp(acc, ast.Div(), ast.Name("n"))
                self.generic_visit(node)
                return node
        self.finish = Take().visit(parts[0][1])
        self.takes_integers = integral(self.term) and integral(self.finish)

    # ---- rows
    def read_rows(self, parts: list[tuple[str, ast.expr]]) -> None:
        self.operands = self.inputs + [n for n, _ in self.outputs if n not in self.inputs]
        self.what = {n: ("e" if k in ("elem", "mask", "col") else "r", 0) for n, k in self.kinds.items()}
        self.what.update({n: ("r", 0) for n in self.numbers}, col=("e", 0), n=("r", 0))
        self.current = {n: n for n in self.what}
        targets = dict(self.outputs)
        for target, value in parts:
            if targets.get(target) == "col":
                self.sinks[target] = called(value)
                value = operands(value)[0]
            self.add(target, self.hoist(value))
        self.heavy = {n for n, e in self.steps if any(called(c) in HEAVY for c in ast.walk(e))}
        self.passes = 1 + max([level for kind, level in self.what.values() if kind == "e"]
                              + [level - 1 for _, level in self.what.values()])

    def add(self, name: str, expr: ast.expr) -> str:
        fresh = name if name not in self.what else f"{name}_{len(self.steps)}"
        reads = [self.what[n] for n in names_in(expr) if n in self.what]
        level = max([level for _, level in reads], default=0)
        if is_reduction(expr):
            self.what[fresh] = ("r", 1 + level)
        else:
            indexed = {id(c.value) for c in ast.walk(expr) if isinstance(c, ast.Subscript)}
            plain = [c.id for c in ast.walk(expr) if isinstance(c, ast.Name) and id(c) not in indexed and c.id in self.what]
            self.what[fresh] = ("e" if any(self.what[n][0] == "e" for n in plain) else "r", level)
        self.steps.append((fresh, expr))
        self.current[name] = fresh
        return fresh

    def hoist(self, expr: ast.expr) -> Any:
        """Rename variables to their latest values, and turn reductions and per-row values into steps."""
        program = self

        def own(node: ast.expr) -> Any:
            return ast.Name(program.add(f"r{len(program.steps)}", node))

        def row_only(node: Any) -> bool:
            names = [n for n in names_in(node) if n in program.what]
            return bool(names) and not any(isinstance(c, ast.Subscript) for c in ast.walk(node)) and all(
                program.what[n][0] == "r" for n in names)

        class Hoist(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> Any:
                return ast.Name(program.current.get(node.id, node.id))

            def visit_Call(self, node: ast.Call) -> Any:
                node.args = [self.visit(a) for a in node.args]
                return own(node) if is_reduction(node) or row_only(node) else node

            def visit_BinOp(self, node: ast.BinOp) -> Any:
                self.generic_visit(node)
                return own(node) if isinstance(node.op, ast.Div) and row_only(node) else node
        return Hoist().visit(expr)

    # ---- properties of expressions
    @property
    def is_boolean(self) -> bool:
        """Whether the result is a truth value."""
        if self.family == "row":
            return False
        last = self.steps[-1][1]
        if self.family == "reduce":
            return self.reducer in ("max", "min") and truth(self.term) and isinstance(self.finish, ast.Name)
        return truth(last)

    @property
    def takes_ints(self) -> bool:
        if self.family == "reduce":
            return self.takes_integers
        return self.family == "point" and all(integral(e) for _, e in self.steps)

    @property
    def takes_bools(self) -> bool:
        """Whether bools can be computed as the integers 0 and 1; False for what PyTorch refuses (negation, -)."""
        return self.takes_ints and not any(isinstance(c, (ast.Sub, ast.USub, ast.Invert, ast.LShift, ast.RShift))
                                           or called(c) in ("abs", "sign", "floor", "ceil", "trunc", "rint")
                                           for _, e in self.steps for c in ast.walk(e))


def truth(e: ast.expr) -> bool:
    if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return truth(e.left) and truth(e.right)
    return isinstance(e, (ast.Compare, ast.BoolOp)) or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not))


def integral(e: ast.expr) -> bool:
    """Whether an expression is valid for integers with the same meaning; a constant such as 1.0 makes it invalid."""
    for c in ast.walk(e):
        if isinstance(c, ast.BinOp) and isinstance(c.op, (ast.Div, ast.Pow, ast.FloorDiv, ast.Mod)):
            return False
        if isinstance(c, ast.Constant) and not isinstance(c.value, int):
            return False
        if called(c) and called(c) not in INTEGER and called(c) not in REDUCE:
            return False
        if isinstance(c, ast.Name) and c.id in ("inf", "nan"):
            return False
    return True


def only_integral(e: ast.expr) -> bool:
    """Whether an expression is valid for integers only: bitwise operations."""
    return any(isinstance(c, ast.Invert) or (isinstance(c, ast.BinOp) and not truth(c) and isinstance(
        c.op, (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift))) for c in ast.walk(e))
