"""Makes random programs, runs them in PyTorch and in retrograd, and shows what differs.

    python tools/fuzz.py --torch /path/to/python --seeds 0:1000     programs that differ, cut down, by kind of difference
    python tools/fuzz.py --seeds 17 --show                          the text of a program
    python tools/fuzz.py --torch PYTHON --seeds 0:400 --record tests/golden/fuzz.json.gz      PyTorch's answers, for the tests

A program is a list of statements over a handful of tensors: views, writes in place, indexing, reductions, hooks, custom
Functions, grad modes, checkpoints, forward mode, transforms, optimizers and modules. After each statement every tensor is
looked at: values, dtype, strides, offset, version, is_leaf, requires_grad, the name of grad_fn, the gradient; of a
statement that raises, the type and the first line of the text. PYTHON is one that has torch; retrograd runs in this one.
"""
from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

PRELUDE = """
import torch, torch.nn.functional as F
import torch.autograd.forward_ad as fwAD
from torch.utils.checkpoint import checkpoint
log = []
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * 2
    @staticmethod
    def backward(ctx, g): log.append(ctx.saved_tensors[0].shape); return g * 2
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x
    @staticmethod
    def backward(ctx, g): return g * 3
class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.mark_dirty(x); x.mul_(2); return x
    @staticmethod
    def backward(ctx, g): return g * 2
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): ctx.set_materialize_grads(False); return x + 1, y * x
    @staticmethod
    def backward(ctx, g, h): return g, h
class Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): i = x.argmax(); ctx.mark_non_differentiable(i); return x.exp(), i
    @staticmethod
    def backward(ctx, g, i): return g
"""

MAKERS = ["torch.arange({n}.).reshape({s})", "torch.linspace(-1, 2, {n}).reshape({s})", "torch.ones({s})",
          "torch.linspace(0.5, 2, {n}, dtype=torch.float64).reshape({s})", "torch.arange({n}).reshape({s})",
          "torch.zeros({s})", "(torch.arange({n}.) % 3).reshape({s})",
          "torch.linspace(-1, 1, {n}).reshape({s}).to(torch.complex64)"]
SHAPES = ["2, 3", "3", "2, 2", "4", "1, 3", "3, 2, 2", "2, 1", "()"]
UNARY = ["sin", "cos", "exp", "tanh", "sigmoid", "relu", "abs", "neg", "square", "sqrt", "log1p", "sign", "floor", "clone",
         "contiguous", "detach", "conj", "reciprocal", "erf", "isnan", "float", "double", "long", "bool", "t", "frac"]
BINARY = ["{a} + {b}", "{a} * {b}", "{a} - {b}", "{a} / {b}", "torch.maximum({a}, {b})", "{a} @ {b}", "{a} < {b}",
          "{a} == {b}", "torch.where({a} > 0, {a}, {b})", "{a} ** 2", "2 - {a}", "{a} * 2.5", "torch.cat([{a}, {b}])",
          "torch.stack([{a}, {b}])", "{a} // 2", "{a} % 2", "torch.atan2({a}, {b})", "torch.outer({a}, {b})",
          "{a}.lerp({b}, 0.5)", "torch.add({a}, {b}, alpha=2)", "torch.addcmul({a}, {b}, {b})",
          "{a}.masked_fill({b} > 0, 1)", "{a} & {b}", "{a}.expand_as({b})", "{a}.type_as({b})"]
VIEWS = ["{a}.view(-1)", "{a}[0]", "{a}[..., ::2]", "{a}.narrow(0, 0, 1)", "{a}.unsqueeze(0)", "{a}.expand(2, -1)",
         "{a}.squeeze()", "{a}.transpose(0, -1)", "{a}.select(-1, 0)", "{a}.diagonal()", "{a}.unbind()[0]",
         "{a}.split(1)[0]", "{a}.flatten()", "{a}.view_as({a})", "{a}.as_strided((2,), (1,))", "{a}.detach()", "{a}[None]",
         "{a}[-1:]", "{a}.unfold(0, 1, 1)", "{a}.mT", "{a}.chunk(2)[-1]", "{a}.permute(-1)", "{a}.reshape(-1, 1)",
         "{a}.movedim(0, -1)", "{a}.real", "{a}.data", "{a}.swapaxes(0, 1)"]
WRITES = ["{a}.add_(1)", "{a}.mul_({b})", "{a}[0] = {b}", "{a}.zero_()", "{a}.copy_({b})", "{a}.fill_(2)",
          "{a}.clamp_(min=0)", "{a}.t_()", "{a}.unsqueeze_(0)", "{a}.detach_()", "{a}.requires_grad_()",
          "{a}.requires_grad_(False)", "{a}.data.mul_(2)", "{a}.sub_({b}, alpha=2)", "{a}.div_(2)", "{a}[..., 0] = 1.5",
          "{a}.exp_()", "{a}.squeeze_()", "{a}.masked_fill_({b} > 0, 3)", "{a}[{b} > 0] = 1",
          "{a}.index_fill_(0, torch.tensor([0]), 4)", "{a} += {b}", "{a} *= 2", "{a}.resize_(2)", "{a}.pow_(2)",
          "{a}.relu_()", "{a}.transpose_(0, -1)", "torch.add({a}, {b}, out={a})", "torch.sin({b}, out={a})",
          "{a}.set_({b})", "{a}.data = {b}", "{a}.grad = {b}", "{a}.index_add_(0, torch.tensor([0]), {b}[:1])",
          "{a}.scatter_(0, torch.tensor([0]), 2.)"]
READS = ["{a}[{b} > 0]", "{a}[torch.tensor([0, 0])]", "{a}.index_select(0, torch.tensor([0]))",
         "{a}.gather(0, torch.tensor([0]))", "{a}.sum()", "{a}.sum(0)", "{a}.mean(-1, keepdim=True)", "{a}.max(0).values",
         "{a}.sort(-1).values", "{a}.cumsum(0)", "{a}.topk(1).values", "{a}.std()", "{a}.norm()", "{a}.prod()",
         "{a}.logsumexp(0)", "{a}.softmax(-1)", "{a}.argmax()", "{a}.any()", "{a}.median()", "{a}.flip(0)", "{a}.roll(1)",
         "{a}.tril()", "{a}.repeat(2)", "{a}.clamp(0, 1)", "{a}.nonzero()", "{a}.unique()", "{a}.var(0)",
         "{a}.cummax(0).values", "{a}.amax(0)", "F.layer_norm({a}, {a}.shape[-1:])", "{a}.diff()", "F.pad({a}, (1, 1))",
         "F.gelu({a})", "F.dropout({a}, 0.)", "F.mse_loss({a}, {b})", "torch.einsum('i...,i...->i', {a}, {b})"]
BACKWARD = ["{a}.sum().backward()", "{a}.backward(torch.ones_like({a}))", "{a}.sum().backward(retain_graph=True)",
            "{v} = torch.autograd.grad({a}.sum(), {b}, allow_unused=True, retain_graph=True)[0]",
            "{v} = torch.autograd.grad({a}.sum(), {b}, create_graph=True)[0]", "{a}.retain_grad()", "{a}.grad.zero_()",
            "{a}.grad = None", "({a} * {b}).sum().backward()", "torch.autograd.backward([{a}.sum(), {b}.sum()])",
            "{a}.mean().backward(inputs=[{b}])",
            "{v} = torch.autograd.grad([{a}.sum()], [{b}], allow_unused=True, materialize_grads=True)[0]"]
HOOKS = ["{a}.register_hook(lambda g: g * 2)", "{a}.register_hook(lambda g: log.append(g.shape))",
         "{a}.grad_fn.register_hook(lambda i, o: log.append(len(i)))",
         "{a}.grad_fn.register_prehook(lambda o: log.append(len(o)))",
         "{a}.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.shape))",
         "{v} = {a}.grad_fn.next_functions[0][0].name()"]
SCOPES = ["with torch.no_grad(): {v} = {a} * 2", "with torch.inference_mode(): {v} = {a} * 2",
          "with torch.no_grad(): {a}.add_(1)", "with torch.no_grad(): {v} = {a}[0]",
          "with torch.inference_mode(): {a}.add_(1)", "with torch.enable_grad(): {v} = {a}.sin()",
          "with torch.autograd.set_detect_anomaly(False): {v} = {a}.sin()",
          "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): {v} = {a} * {a}",
          "with torch.autograd.graph.save_on_cpu(): {v} = {a}.exp()",
          "with torch.autograd.forward_ad.dual_level(): {v} = {a}.sin()"]
FUNCTIONS = ["{v} = Double.apply({a})", "{v} = Same.apply({a})", "{v} = Written.apply({a})",
             "{v} = Pair.apply({a}, {b})[1]", "{v} = Marked.apply({a})[0]", "{v} = Marked.apply({a})[1]",
             "{v} = Written.apply({a} * 1)", "{v} = Pair.apply({a}, {b})[0]"]
HIGHER = ["{v} = checkpoint(lambda x: (x * 2).sin(), {a}, use_reentrant=False)",
          "{v} = torch.func.grad(lambda x: (x ** 3).sum())({a})", "{v} = torch.vmap(lambda x: x.sum())({a})",
          "{v} = torch.vmap(lambda x, y: x * y)({a}, {b})", "{v} = torch.func.jvp(torch.sin, ({a},), ({a},))[1]",
          "{v} = torch.func.vjp(torch.sin, {a})[1]({a})[0]", "{v} = torch.func.jacrev(lambda x: x.sin())({a})",
          "{v} = torch.func.jacfwd(lambda x: x * x)({a})", "{v} = torch.func.hessian(lambda x: (x ** 3).sum())({a})",
          "{v} = torch.vmap(torch.func.grad(lambda x: (x * x).sum()))({a})",
          "{v} = torch.func.grad(lambda x: torch.vmap(torch.sin)(x).sum())({a})",
          "with fwAD.dual_level(): {v} = fwAD.unpack_dual(torch.sin(fwAD.make_dual({a}, {b}))).tangent",
          "with fwAD.dual_level(): {v} = fwAD.unpack_dual(fwAD.make_dual({a}, {b}).view(-1)[:2]).tangent",
          "{v} = torch.autograd.functional.jacobian(torch.sin, {a})", "{v} = torch.vmap(lambda x: x.add_(1))({a}.clone())",
          "{v} = torch.vmap(torch.sort)({a})[0]", "{v} = torch.func.functionalize(lambda x: x.clone().add_(1))({a})",
          "{v} = torch.func.linearize(torch.sin, {a})[1]({a})", "{v} = torch.vmap(lambda x: x.view(-1), in_dims=-1)({a})"]
TRAINING = ["o = torch.optim.SGD([{a}], lr=0.1, momentum=0.9)", "o = torch.optim.Adam([{a}], lr=0.1)", "o.zero_grad()",
            "o.step()", "o = torch.optim.AdamW([{a}], lr=0.1)",
            "m = torch.nn.Linear(3, 2); [p.data.fill_(0.5) for p in m.parameters()]", "{v} = m({a})", "m.zero_grad()",
            "{v} = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten(0))({a})", "{v} = m.weight",
            "{v} = torch.nn.Parameter({a})", "{v} = F.linear({a}, {b})", "{v} = torch.nn.LayerNorm(3)({a})"]
KINDS = [(VIEWS, 5), (WRITES, 5), (READS, 4), (BINARY, 4), (BACKWARD, 4), (HOOKS, 1), (SCOPES, 2), (FUNCTIONS, 2), (HIGHER, 2),
         (TRAINING, 1)]
ASSIGNS = (VIEWS, READS, BINARY)


# ---- programs
def generate(seed: int, length: int = 9) -> list[str]:
    """The statements of program number `seed`.

    >>> generate(0) == generate(0) != generate(1)
    True
    """
    draw = random.Random(seed)
    names = ["a"]
    lines = ["a = " + maker(draw)]
    lists, weights = zip(*KINDS, strict=True)
    for _ in range(length):
        if draw.random() < 0.15 and len(names) < 6:
            lines.append(f"{fresh(names)} = {maker(draw)}")
            continue
        chosen = draw.choices(lists, weights)[0]
        text = draw.choice(chosen)
        target = fresh(names) if draw.random() < 0.7 and len(names) < 6 else draw.choice(names)
        if chosen is READS and draw.random() < 0.4:
            chosen, text = READS, "{a}." + draw.choice(UNARY) + "()"
        a, b = draw.choice(names if target in names else names[:-1] or names), draw.choice(names)
        if b == target and target not in lines[0][:1] and not any([line.startswith(target + " = ") for line in lines]):
            b = a
        filled = text.replace("{a}", a).replace("{b}", b).replace("{v}", target)
        lines.append(f"{target} = {filled}" if any([chosen is kind for kind in ASSIGNS]) else filled)
        if target == names[-1] and not any([re.search(rf"\b{target} = ", line) for line in lines]):
            names.pop()
    return lines


def fresh(names: list[str]) -> str:
    names.append("abcdefgh"[len(names)])
    return names[-1]


def maker(draw: random.Random) -> str:
    shape = draw.choice(SHAPES)
    count = 1
    for n in re.findall(r"\d+", shape):
        count *= int(n)
    text = draw.choice(MAKERS).format(n=count, s=shape)
    return text + (".requires_grad_()" if draw.random() < 0.6 and f"arange({count})" not in text else "")


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
        now["log"] = len(space["log"])
        answers.append([problem, {name: value for name, value in now.items() if seen.get(name) != value}])
        seen = now
    return answers


def first_sentence(text: str) -> str:
    line = text.split("\n")[0]
    return re.sub(r"0x[0-9a-f]+", "0x", line)[:110]


def look(value: Any, torch: Any) -> Any:
    """A description of a value that can be compared and stored."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__ if not isinstance(value, (int, float, str)) else value
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
    grad = value.grad if leaf is True or value.retains_grad else None
    strides = [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1]      # the others say nothing
    return [list(value.shape), strides if value.numel() else None, value.storage_offset(),
            str(value.dtype).replace("retrograd.", "torch."), version, leaf, value.requires_grad, name, numbers(value, torch),
            None if grad is None else numbers(grad, torch)]


def numbers(value: Any, torch: Any) -> Any:
    with torch.no_grad():
        flat = value.detach().resolve_conj().resolve_neg().reshape(-1)
        if value.dtype.is_complex:
            flat = torch.view_as_real(flat).reshape(-1)
        return [shortened(n) for n in flat.tolist()[:24]]


def shortened(n: Any) -> Any:
    return n if not isinstance(n, float) else float(f"{n:.3g}") if n == n and abs(n) != float("inf") else str(n)


def differs(ours: list[Any], theirs: list[Any]) -> tuple[int, str] | None:
    """The first statement after which two answers differ, and what does."""
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if not same_text(a[0], b[0]):
            return i, "error"
        for name in sorted({*a[1], *b[1]}):
            x, y = a[1].get(name), b[1].get(name)
            if not alike(x, y):
                if isinstance(x, list) and isinstance(y, list) and len(x) == len(y) == len(FIELDS):
                    return i, next(f for f, p, q in zip(FIELDS, x, y, strict=True) if not alike(p, q))
                return i, "log" if name == "log" else "kind"
    return None


FIELDS = ("shape", "strides", "offset", "dtype", "version", "is_leaf", "requires_grad", "grad_fn", "values", "grad")


def same_text(a: Any, b: Any) -> bool:
    """Whether two errors agree: ours may say more than PyTorch's, and names nodes in full."""
    if a is None or b is None:
        return a is b
    a, b = [re.sub(r"(Output \d+ of \w+?)(Backward\d*)?( is a view)", r"\1\3", text)[:100] for text in (a, b)]
    return a[:70] == b[:70] or a.startswith(b.rstrip("."))


def alike(x: Any, y: Any) -> bool:
    """Whether two descriptions agree. Known differences: ours has derivatives where PyTorch has none (docs/differences.md)."""
    if isinstance(x, str) and isinstance(y, str) and (y == "torch::autograd::NotImplemented" or same_text(x, y)):
        return True
    if isinstance(x, float) and isinstance(y, (int, float)) or isinstance(y, float) and isinstance(x, (int, float)):
        return abs(x - y) <= 1e-2 * max(abs(x), abs(y)) + 1e-5
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all([alike(p, q) for p, q in zip(x, y, strict=True)])
    return bool(x == y)


# ---- both libraries
class Asked:
    """A process that answers programs, one per line."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, lines: list[str]) -> list[Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(lines) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def serve(library: str) -> None:
    if library == "retrograd":
        from retrograd import as_torch
        as_torch.install()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


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


def record(path: str, seeds: Any, ours: Asked, theirs: Asked) -> None:
    """Store PyTorch's answers to the programs that agree; the others are for the table that `main` prints."""
    answers = {seed: theirs(generate(seed)) for seed in seeds}
    agreed = {seed: given for seed, given in answers.items() if differs(ours(generate(seed)), given) is None}
    Path(path).write_bytes(gzip.compress(json.dumps(agreed, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{len(agreed)} of {len(answers)} programs recorded; the others differ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="a Python that has torch")
    parser.add_argument("--seeds", default="0:200", help="one number, or first:last")
    parser.add_argument("--show", action="store_true", help="print the programs and stop")
    parser.add_argument("--record", help="write PyTorch's answers to this file")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last) if last else int(first) + 1)
    if options.show:
        return print("\n\n".join("\n".join(generate(seed)) for seed in seeds))
    theirs = Asked([options.torch, __file__, "--serve", "torch"])
    ours = Asked([sys.executable, __file__, "--serve", "retrograd"])
    if options.record:
        return record(options.record, seeds, ours, theirs)
    count = 0
    for seed in seeds:
        lines = generate(seed)
        found = differs(ours(lines), theirs(lines))
        if found is None:
            continue
        count += 1
        short = cut_down(lines, ours, theirs, found[1])
        a, b = ours(short)[-1], theirs(short)[-1]
        print(f"==== seed {seed}: {found[1]}", *short, f"  torch:     {b}"[:400], f"  retrograd: {a}"[:400], sep="\n",
              flush=True)
    print(f"{count} of {len(seeds)} programs differ")


if __name__ == "__main__":
    main()
