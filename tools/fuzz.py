"""Makes random programs, runs them in PyTorch and in retrograd, and shows what differs.

    python tools/fuzz.py --torch /path/to/python --seeds 0:1000     programs that differ, cut down, by kind of difference
    python tools/fuzz.py --seeds 17 --show                          the text of a program
    python tools/fuzz.py --torch PYTHON --seeds 0:400 --record tests/golden/fuzz.json.gz      PyTorch's answers, for the tests
    python tools/fuzz.py --torch PYTHON --programs FILE --record tests/golden/fuzz_found.json.gz     of programs in a file

A program is a list of statements over a handful of tensors: views, writes in place, indexing, reductions, hooks, custom
Functions, grad modes, checkpoints, forward mode, transforms, optimizers and modules. After each statement every tensor is
looked at: values, dtype, strides, offset, version, is_leaf, requires_grad, the name of grad_fn, the gradient; of a
statement that raises, the type and the first line of the text. PYTHON is one that has torch; retrograd runs in this one.
"""
from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 60               # for a program: a process that takes longer ends, as if it had crashed
PRELUDE = (Path(__file__).parent / "fuzz_prelude.txt").read_text()

MAKERS = ["torch.arange({n}.).reshape({s})", "torch.linspace(-1, 2, {n}).reshape({s})", "torch.ones({s})",
          "torch.linspace(0.5, 2, {n}, dtype=torch.float64).reshape({s})", "torch.arange({n}).reshape({s})",
          "torch.zeros({s})", "(torch.arange({n}.) % 3).reshape({s})", "torch.arange({n}).reshape({s}) % 2 == 0",
          "torch.linspace(-1, 1, {n}).reshape({s}).to(torch.complex64)", "torch.linspace(-2, 2, {n}).reshape({s}).to({t})",
          "torch.linspace(-1, 1, {n}).reshape({s}).T", "torch.linspace(-1, 1, {n}).reshape({s}) * (1 + 0.5j)"]
SHAPES = ["2, 3", "3", "2, 2", "4", "1, 3", "3, 2, 2", "2, 1", "()", "0", "2, 0", "1, 2, 2, 2", "3, 3", "1", "2, 3, 4"]
UNARY = ("sin cos exp tanh sigmoid relu abs neg square sqrt log1p sign floor clone contiguous detach conj reciprocal erf isnan "
         "float double long bool t frac round trunc ceil log exp2 expm1 rsqrt acos atan sinh acosh asinh atanh lgamma digamma "
         "erfinv i0 sinc log2 log10 logit isinf isfinite logical_not bitwise_not angle sgn signbit deg2rad half bfloat16 int "
         "nan_to_num positive isreal erfc tan cosh asin rad2deg").split()
DTYPES = ("float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128").split()
SCALARS = ["2", "0.5", "-1", "0", "3", "2.5", "True", "1", "1j", "float('nan')", "float('inf')", "torch.tensor(2)",
           "torch.tensor(1.5)", "torch.tensor(2., dtype=torch.float64)", "1e-3", "None"]
INDICES = ["0", "-1", "1", ":", "...", "None", "1:", "::2", ":1", "torch.tensor([0, 0])", "torch.tensor(0)", "[0, 1]", "True",
           "torch.tensor([[0], [1]])", "torch.tensor([True, False])", "False", "[True, False]", "torch.tensor([-1])", "5",
           "torch.tensor([], dtype=torch.long)", "torch.tensor([1], dtype=torch.int32)", "range(2)", "torch.tensor(True)",
           "0:0", "(0, 1)", "[[0, 1]]", "torch.tensor([0., 1.])", "torch.tensor([0, 1], dtype=torch.uint8)"]
LOSSES = ("MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss CrossEntropyLoss NLLLoss KLDivLoss PoissonNLLLoss "
          "SoftMarginLoss HingeEmbeddingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss").split()
FORMATS = ["torch.contiguous_format", "torch.preserve_format", "torch.channels_last"]


def statements() -> dict[str, tuple[int, list[str]]]:
    """The templates of fuzz_statements.txt: kind -> (weight, templates)."""
    kinds: dict[str, tuple[int, list[str]]] = {}
    for line in (Path(__file__).parent / "fuzz_statements.txt").read_text().splitlines():
        if heading := re.fullmatch(r"\[(\S+) (\d+)\]", line):
            templates: list[str] = []
            kinds[heading[1]] = int(heading[2]), templates
        elif not line.startswith("#"):
            templates.append(line)
    return kinds


STATEMENTS = statements()


# ---- programs
def generate(seed: int, length: int = 9) -> list[str]:
    """The statements of program number `seed`.

    >>> generate(0) == generate(0) != generate(1)
    True
    """
    draw = random.Random(seed)
    names = ["a"]
    lines = ["a = " + maker(draw)]
    kinds, weights = list(STATEMENTS), [weight for weight, _ in STATEMENTS.values()]
    for _ in range(length):
        if draw.random() < 0.15 and len(names) < 6:
            names.append("abcdef"[len(names)])
            lines.append(f"{names[-1]} = {maker(draw)}")
            continue
        kind = draw.choices(kinds, weights)[0]
        text = draw.choice(STATEMENTS[kind][1])
        if kind.endswith("="):
            text = "{v} = " + text
        operands = {letter: draw.choice(names) for letter in "abc"}
        if "{v}" in text and draw.random() < 0.7 and len(names) < 6:
            names.append("abcdef"[len(names)])
            operands["v"] = names[-1]
        else:
            operands["v"] = draw.choice(names)
        lines.append(re.sub(r"{(\w\w*)}", lambda slot, given=operands: given.get(slot[1]) or filler(slot[1], draw), text))
    return lines


def filler(slot: str, draw: random.Random) -> str:
    """The text for a slot of a template that is not the name of a tensor."""
    match slot:
        case "g":
            return "g"
        case "i":
            return draw.choice(INDICES)
        case "d":
            return draw.choice(["0", "-1", "1", "0", "-1", "1", "2", "-2", "5"])
        case "n":
            return draw.choice(SCALARS)
        case "t":
            return "torch." + draw.choice(DTYPES)
        case "s":
            return draw.choice(SHAPES)
        case "s2":
            return "(" + draw.choice(["2", "2, 3", "()", "0"]) + ",)" if draw.random() < 0.8 else "3"
        case "u":
            return draw.choice(UNARY)
        case "m":
            return draw.choice(FORMATS)
        case "loss":
            return draw.choice(LOSSES)
    return "{" + slot + "}"


def maker(draw: random.Random) -> str:
    shape = draw.choice(SHAPES)
    count = 1
    for n in re.findall(r"\d+", shape):
        count *= int(n)
    text = draw.choice(MAKERS).format(n=count, s=shape, t=filler("t", draw))
    return text + (".requires_grad_()" if draw.random() < 0.5 and not re.search(r"arange\(\d+\)|int|bool", text) else "")


# ---- answers
def answer(lines: list[str]) -> list[Any]:
    """What is seen after each statement of a program; `torch` is whichever library goes by that name here."""
    space: dict[str, Any] = {}
    exec(PRELUDE, space)
    seen: dict[str, Any] = {}
    answers = []
    for line in lines:
        problem = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(line, space)
            except Exception as error:
                problem = f"{type(error).__name__}: {first_sentence(str(error))}"
            now = {name: look(space[name], space["torch"]) for name in sorted(space) if len(name) == 1 and name in "abcdefgh"}
        now["log"] = [len(space["log"]), str(space["log"][-1:])]
        answers.append([problem, {name: value for name, value in now.items() if seen.get(name) != value}])
        seen = now
    return answers


def first_sentence(text: str) -> str:
    line = text.split("\n")[0].replace("'torch.Tensor' ", "'Tensor' ").replace("and 'torch.Tensor'", "and 'Tensor'").replace(
        "to torch.Tensor.", "to Tensor.")
    return re.sub(r"0x[0-9a-f]+", "0x", line.replace("'retrograd.", "'torch."))[:110]


def look(value: Any, torch: Any) -> Any:
    """A description of a value that can be compared and stored."""
    if not isinstance(value, torch.Tensor):
        return shortened(value) if isinstance(value, (int, float, str)) else re.sub(
            "0x[0-9a-f]+", "0x", str(value).replace("retrograd.", "torch."))[:200]
    try:
        version: Any = value._version
    except RuntimeError:
        version = "inference"
    try:
        node = value.grad_fn
        name: Any = None if node is None else node.name()
        leaf = value.is_leaf
    except RuntimeError as error:
        name = leaf = first_sentence(str(error))
    if value.is_nested or value.layout is not torch.strided:       # no strides, and no elements in a row
        parts = value.unbind() if value.is_nested else [value.to_dense()]
        return [str(value.layout).replace("retrograd.", "torch."), leaf, value.requires_grad, name,
                [[list(part.shape), numbers(part, torch)] for part in parts]]
    grad = value.grad if leaf is True or value.retains_grad else None
    strides = [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1]      # the others say nothing
    return [list(value.shape), strides if value.numel() else None, value.storage_offset() if value.numel() else 0,
            str(value.dtype).replace("retrograd.", "torch."), version, leaf, value.requires_grad, name, numbers(value, torch),
            None if grad is None else numbers(grad, torch)]


def numbers(value: Any, torch: Any) -> Any:
    try:
        with torch.no_grad():
            flat = value.detach().resolve_conj().resolve_neg().reshape(-1)
            if value.dtype.is_complex:
                flat = torch.view_as_real(flat).reshape(-1)
            return [shortened(n) for n in flat.tolist()[:24]]
    except (RuntimeError, NotImplementedError):          # no values, as of a meta tensor
        return "none"


def shortened(n: Any) -> Any:
    return n if not isinstance(n, float) else float(f"{n:.3g}") if n == n and abs(n) != float("inf") else str(n)


# Errors of PyTorch that come from deep inside and say little (docs/differences.md): ours may be another one.
ACCIDENTS = re.compile("setStorage: sizes|arg_spec must not be None|Expected isFloatingType|storage that is not resizable|"
                       "grad_input must be contiguous|expected Tensor as element .* but got NoneType|"
                       "MKL FFT error|'torch.dtype'|ArrayRef: invalid slice|INTERNAL ASSERT|Could this error|"
                       r"numel: integer multiplication overflow|mixed dtype \(CPU\)|"
                       r"select\(\): index 0 out of range for tensor of size|don't yet support saved tensor hooks|"
                       "Expected FakeTensor, got|Cannot access storage of SparseTensorImpl|Autograd not support dtype|"
                       "SmallVector unable to grow|Multiple dispatch failed|"
                       r"custom \(non-ATen\) operator whose output has alias")
WRITES_FIRST = re.compile(r"Inplace update to inference tensor|vmap: inplace arithmetic")


def documented(ours: Any, theirs: Any) -> bool:
    """Whether docs/differences.md says so of these two errors (None: no error); what follows cannot be compared."""
    if theirs is not None and re.search("derivative for.*not implemented|Trying to use forward AD with|"
                                        "vmap: we do not yet support|Batching rule not implemented", theirs):
        return True
    if theirs is not None and theirs.startswith("CheckpointError") and ours is None:          # inside of transforms
        return True
    if theirs is not None and ours is not None and "Boolean value" in theirs and "For complex Tensors" in ours:
        return True
    return theirs is not None and bool(ACCIDENTS.search(theirs) or ours is not None and WRITES_FIRST.search(ours))


def differs(ours: list[Any], theirs: list[Any]) -> tuple[int, str] | None:
    """The first statement after which two answers differ, and what does."""
    counted = True                   # versions of what is made of inference tensors differ
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if documented(a[0], b[0]) or re.search("torch::autograd::NotImplemented|INTERNAL ASSERT", str(b[1])):
            return None                              # ours has a derivative, or works
        counted = counted and "inference" not in str(b[1])
        if not same_text(a[0], b[0]):
            return i, "error"
        if a[0] is not None and a[1] != b[1]:        # a statement that failed half-way has left something behind
            return None
        for name in sorted({*a[1], *b[1]}):
            x, y = a[1].get(name), b[1].get(name)
            if not alike(x, y):
                if isinstance(x, list) and isinstance(y, list) and len(x) == len(y) == len(FIELDS):
                    if str(y[7]).startswith("Foreach") and x[7] is None:       # ours has a node where one is needed
                        return None
                    different = [f for f, p, q in zip(FIELDS, x, y, strict=True)
                                 if not (alike_values(p, q, y[3]) if f in ("values", "grad") else alike(p, q))]
                    if different == ["grad"] and ("AsStridedScatter" in str(b[1]) or y[9] == "none"):      # ours is right
                        return None
                    if different and (counted and y[8] != [] or different != ["version"]):
                        return i, different[0]
                    continue
                if counted or x is not None and y is not None:
                    return i, "log" if name == "log" else "kind"
    return None


FIELDS = ("shape", "strides", "offset", "dtype", "version", "is_leaf", "requires_grad", "grad_fn", "values", "grad")


def same_text(a: Any, b: Any) -> bool:
    """Whether two errors agree: ours may say more than PyTorch's, and names nodes in full."""
    if a is None or b is None:
        return a is b
    a, b = [re.sub(r"(Output \d+ of \w+?)(Backward\d*)?( is a view)", r"\1\3", text)[:100] for text in (a, b)]
    a, b = [re.sub(r"[\w:]+\(\): functions with out=", "functions with out=", text) for text in (a, b)]     # of what it is made
    return a[:70] == b[:70] or a.startswith(b.rstrip("."))


def alike_values(x: Any, y: Any, dtype: str) -> bool:
    """Whether two lists of numbers agree. Parts of complex numbers that are NaN in PyTorch may be numbers in ours."""
    if "complex" not in dtype or not isinstance(x, list) or not isinstance(y, list) or len(x) != len(y):
        return alike(x, y)
    return all([q == "nan" or alike(p, q) for p, q in zip(x, y, strict=True)])


def alike(x: Any, y: Any) -> bool:
    """Whether two descriptions agree. Known differences: ours has derivatives where PyTorch has none (docs/differences.md)."""
    if isinstance(x, str) and isinstance(y, str) and (
            alike_but_for_digits(x, y) or x.startswith("Output ") and same_text(x, y)):
        return True
    if isinstance(x, float) and isinstance(y, (int, float)) or isinstance(y, float) and isinstance(x, (int, float)):
        return abs(x - y) <= 1e-2 * max(abs(x), abs(y)) + 1e-5
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all([alike(p, q) for p, q in zip(x, y, strict=True)])
    return bool(x == y)


def alike_but_for_digits(x: str, y: str) -> bool:
    """Whether two texts are the same but for the last digits of their numbers."""
    number = r"-?\d+\.\d*(?:e[-+]\d+)?"
    if x == y or re.sub(number, "", x) != re.sub(number, "", y):
        return x == y
    return all([alike(float(p), float(q)) for p, q in zip(re.findall(number, x), re.findall(number, y), strict=True)])


# ---- both libraries
class Asked:
    """A process that answers programs, one per line."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, lines: list[str]) -> list[Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(lines) + "\n")
        self.process.stdin.flush()
        if given := self.process.stdout.readline():
            return json.loads(given)
        self.start()
        return [["the process ended", {}]] * len(lines)


def serve(library: str) -> None:
    if library == "retrograd":
        from retrograd import as_torch
        as_torch.install()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)                          # what programs print is no answer
    for line in sys.stdin:
        signal.alarm(SECONDS)
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


def cut_down(lines: list[str], ours: Asked, theirs: Asked, kind: str) -> list[str]:
    """The program without the statements that the difference does without."""
    found = differs(ours(lines), theirs(lines))
    lines = lines[:found[0] + 1] if found else lines
    i = len(lines) - 2
    while i >= 0:
        tried = lines[:i] + lines[i + 1:]
        got = differs(ours(tried), theirs(tried))
        if got is not None and got[1] == kind and got[0] == len(tried) - 1:
            lines = tried
        i -= 1
    return lines


def record(path: str, programs: dict[Any, list[str]], ours: Asked, theirs: Asked) -> None:
    """Store PyTorch's answers to the programs that agree; the others are for the table that `main` prints."""
    answers = {seed: theirs(lines) for seed, lines in programs.items()}
    agreed = {seed: given for seed, given in answers.items() if differs(ours(programs[seed]), given) is None}
    Path(path).write_bytes(gzip.compress(json.dumps(agreed, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{len(agreed)} of {len(answers)} programs recorded; the others differ")


def program(seed: int | str) -> list[str]:
    """The statements of a program that is named by its number or given as text."""
    return generate(int(seed)) if isinstance(seed, int) or seed.isdigit() else seed.splitlines()


def main(make: Callable[[int], list[str]] = generate, about: str | None = __doc__) -> None:
    """The tool, for programs that `make` makes of their numbers."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="a Python that has torch")
    parser.add_argument("--seeds", default="0:200", help="one number, or first:last")
    parser.add_argument("--programs", help="a file of programs, with an empty line after each, in the place of seeds")
    parser.add_argument("--show", action="store_true", help="print the programs and stop")
    parser.add_argument("--record", help="write PyTorch's answers to this file")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    first, _, last = options.seeds.partition(":")
    programs: dict[Any, list[str]] = {seed: make(seed) for seed in range(int(first), int(last) if last else int(first) + 1)}
    if options.programs:
        programs = {text: program(text) for text in Path(options.programs).read_text().strip().split("\n\n")}
    if options.show:
        return print("\n\n".join(["\n".join(lines) for lines in programs.values()]))
    theirs = Asked([options.torch, __file__, "--serve", "torch"])
    ours = Asked([sys.executable, __file__, "--serve", "retrograd"])
    if options.record:
        return record(options.record, programs, ours, theirs)
    count = 0
    for seed, lines in programs.items():
        found = differs(ours(lines), theirs(lines))
        if found is None:
            continue
        count += 1
        short = cut_down(lines, ours, theirs, found[1])
        a, b = ours(short)[-1], theirs(short)[-1]
        print(f"==== seed {seed}: {found[1]}", *short, f"  torch:     {b}"[:400], f"  retrograd: {a}"[:400], sep="\n",
              flush=True)
    print(f"{count} of {len(programs)} programs differ")


if __name__ == "__main__":
    main()
