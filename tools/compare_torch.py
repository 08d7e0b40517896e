"""Runs every op over its samples in PyTorch and in retrograd, and prints where they differ. Needs torch installed.

    python tools/compare_torch.py                     a table: op, what differs, in which samples
    python tools/compare_torch.py --only sum --detail   the ops whose names match the pattern, with both values

As the samples are: values, dtype, shape, strides, requires_grad, the name of grad_fn, the first and second gradients,
the tangents of forward mode, and the results of vmap over a batch of two. Cast to other dtypes: values, dtype, strides,
or the type of the error. Each op runs in a process of its own, since some samples end PyTorch's. What is known to differ
for good (KNOWN, and derivatives that PyTorch lacks) is not printed.
"""
from __future__ import annotations

import argparse
import os
import pickle
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import retrograd  # noqa: E402
from retrograd.autograd.backward import grad as retrograd_grad  # noqa: E402
from retrograd.core import storage  # noqa: E402
from retrograd.core.api import ops  # noqa: E402
from retrograd.core.tensor import new_tensor  # noqa: E402
from retrograd.ops.create.generators import default_generator  # noqa: E402
from tests.ops import cases  # noqa: E402

CASTS = ("float16", "bfloat16", "float32", "complex64", "int64", "bool")
TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float32": 2e-6, "complex64": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
NUMPY = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}      # what stands for them in arrays

# Where PyTorch has no answer to agree with: errors of its own (texts), and what would be compared is a surplus of ours.
LACKING = ("derivative for .* is not implemented", "INTERNAL ASSERT FAILED", "inconsistent range for TensorList output")
# Differences that stay: (pattern of "op kind", why).
KNOWN: tuple[tuple[str, str], ...] = (
    (r"^_foreach_copy\.default grad_fn|^_foreach_zero\.default (grad_fn|requires_grad)|^detach_copy\.default requires_grad",
     "PyTorch has no derivative there and records an error for backward"),
    (r"^addcdiv\.default gradient error", "PyTorch cannot divide a complex number by a real tensor there"),
    (r"^as_strided_scatter\.default (second )?gradient", "PyTorch gives the base the gradient of what was overwritten"),
    (r"^cholesky_inverse\.default tangent", "PyTorch's forward mode reads the triangle that the op does not"),
    (r"^_foreach_(maximum|minimum)\.Scalar(List)? tangent", "PyTorch's tangent is the number itself where that is larger"),
    (r"^(all|any)\.dims batched", "PyTorch's vmap takes an empty list of dimensions for all"),
    (r"^arg(max|min)\.default batched", "PyTorch's vmap keeps one dimension instead of all"),
    (r"^index_select\.default batched", "PyTorch's vmap repeats what an index of no dimensions selects"),
    (r"^_(log_)?softmax_backward_data\.default batched", "PyTorch's vmap sums over the examples if they have no dimensions"),
    (r"^_is_(all|any)_true\.default batched strides", "PyTorch's vmap gives one answer for all examples"),
    (r"^_?linalg_solve(_ex)?\.default batched$", "PyTorch's vmap takes the batch of B for a dimension of A"),
    (r"^_linalg_(slog)?det\.default (value|batched)", "which of A and its transpose was factorized"),
    (r"^_?linalg_(svd|eigh?)\.default (value|batched|(second )?gradient|tangent)( as \w+)?$", "signs are up to LAPACK"),
    (r"pool2d\.default words", "kernels for channels last have names of their own"),
    (r"^complex\.default error as float16", "there are no complex numbers of half precision"),
    (r"^(expand|broadcast_to)\.default strides as bool", "arrays of single bytes cannot tell no stride from the usual ones"),
)


class Side:
    """One of the two libraries, asked the same questions."""

    def __init__(self, module: Any, aten: Any, grad: Any, seed: Any) -> None:
        self.module, self.aten, self.grad, self.seed = module, aten, grad, seed
        self.tensor_class = module.Tensor

    def op(self, op: Any) -> Any:
        return getattr(getattr(self.aten, op.name), op.overload)

    def tensor(self, t: Any, dtype: str | None) -> Any:
        """A copy of a retrograd tensor in the same memory layout, or cast to another dtype."""
        name = t.dtype.name if dtype is None or (dtype != "bool" and t.dtype.category < 2) else dtype
        values = cast(cases.value(t), name)
        made = cases.like(t, values)
        if self.module is torch:
            made = as_torch(made)
        wants = t.requires_grad and name not in ("int64", "bool")
        return made.requires_grad_() if wants else made

    def argument(self, value: Any) -> Any:
        """A dtype, memory format and the like, in this library's words."""
        if self.module is torch and repr(value).startswith("torch."):
            return getattr(torch, repr(value).removeprefix("torch."))
        if isinstance(value, retrograd.Generator):
            value.manual_seed(1)
            return torch.Generator().manual_seed(1) if self.module is torch else value
        return [self.argument(v) for v in value] if isinstance(value, (list, tuple)) else value


def cast(array: Any, name: str) -> Any:
    wanted = getattr(retrograd, name).numpy
    if array.dtype.kind == "c" and wanted.kind != "c":
        array = array.real
    return array if array.dtype == wanted else array.astype(wanted)


def as_torch(t: Any) -> Any:
    array = t.array
    flat = np.array(storage.bytes_of(storage.owner_of(array)))
    dtype = getattr(torch, t.dtype.name)
    whole = torch.from_numpy(flat).view(dtype) if flat.size else torch.empty(0, dtype=dtype)
    return whole.as_strided(tuple(array.shape), tuple(t.stride()), t.storage_offset() if array.size else 0)


SIDES = (
    Side(torch, torch.ops.aten, torch.autograd.grad, torch.manual_seed),
    Side(retrograd, ops.aten, retrograd_grad, default_generator.manual_seed),
)


class Outcome:
    """What a call came to: facts by name, or an error."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.error: Exception | None = None


def observe(side: Side, case: Any, dtype: str | None) -> Outcome:
    """Call the op of a case in one library."""
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tensors = [side.tensor(t, dtype) for t in case.tensors()]
            args = [side.argument(a) for a in case.arguments(case.places, tensors)]
            leaves = [t for t in tensors if t.requires_grad]
            if case.op.schema.is_inplace:
                args[0] = args[0].clone()
            side.seed(1)
            outputs = cases.outputs(call(side, case.op, args))
            describe(side, case, outputs, outcome.facts)
        except Exception as error:
            outcome.error = error
            return outcome
        if dtype is None and case.sample.grad and leaves:
            attempt("gradient error", outcome.facts, differentiate, side, leaves, outputs)
        if dtype is None and not case.op.schema.is_inplace and not cases.is_random(case.op):
            if case.sample.grad and leaves:
                attempt("tangent error", outcome.facts, push_forward, side, case)
            if case.places and case.op.name not in cases.UNDEFINED:
                attempt("batched error", outcome.facts, batch, side, case)
    return outcome


def attempt(kind: str, facts: dict[str, Any], observation: Any, *args: Any) -> None:
    """Note what an observation finds, or else its error."""
    found: dict[str, Any] = {}
    try:
        observation(*args, found)
        facts.update(found)
    except Exception as error:
        facts[kind] = type(error).__name__ + ": " + str(error).split("\n")[0]


def push_forward(side: Side, case: Any, facts: dict[str, Any]) -> None:
    """Note the tangents of the outputs, with a tangent for each input that wants a gradient."""
    forward_ad = side.module.autograd.forward_ad
    with forward_ad.dual_level():
        tensors = [side.tensor(t, None) for t in case.tensors()]
        duals = [forward_ad.make_dual(t.detach(), seeded(side, t, 200 + i)) if t.requires_grad else t
                 for i, t in enumerate(tensors)]
        made = call(side, case.op, [side.argument(a) for a in case.arguments(case.places, duals)])
        for i, t in enumerate(cases.outputs(made)):
            if not isinstance(t, side.tensor_class):
                continue
            tangent = forward_ad.unpack_dual(t).tangent
            facts[f"{i} tangent"] = None if tangent is None else array_of(side, tangent)
            if tangent is not None:
                facts[f"{i} tangent dtype"], facts[f"{i} tangent strides"] = str(tangent.dtype), tuple(tangent.stride())


def batch(side: Side, case: Any, facts: dict[str, Any]) -> None:
    """Note the results of the op mapped over two examples; what they hold may differ unless it is positions or masks."""
    tensors = [side.tensor(t.detach(), None) for t in case.tensors()]

    def over(*tensors: Any) -> Any:
        made = call(side, case.op, [side.argument(a) for a in case.arguments(case.places, tensors)])
        return tuple([t for t in cases.outputs(made) if isinstance(t, side.tensor_class)])

    pairs = [side.module.stack([t, t * 0.75 if t.is_floating_point() else t]) for t in tensors]
    for i, t in enumerate(side.module.vmap(over)(*pairs)):
        facts[f"{i} batched"], facts[f"{i} batched dtype"] = array_of(side, t), str(t.dtype)
        facts[f"{i} batched strides"] = tuple(t.stride())


def call(side: Side, op: Any, args: Any) -> Any:
    params = op.schema.params
    positional = [a for a, p in zip(args, params, strict=False) if not p.kwarg_only]
    named = {p.name: a for a, p in zip(args, params, strict=False) if p.kwarg_only}
    return side.op(op)(*positional, **named)


def describe(side: Side, case: Any, outputs: Any, facts: dict[str, Any]) -> None:
    for i, t in enumerate(outputs):
        if not isinstance(t, side.tensor_class):
            facts[f"{i} value"] = t
            continue
        facts[f"{i} shape"], facts[f"{i} dtype"] = tuple(t.shape), str(t.dtype)
        facts[f"{i} strides"], facts[f"{i} requires_grad"] = tuple(t.stride()), t.requires_grad
        facts[f"{i} grad_fn"] = None if t.grad_fn is None else t.grad_fn.name()
        if case.op.name not in cases.UNDEFINED:
            facts[f"{i} value"] = array_of(side, t)


def array_of(side: Side, t: Any) -> Any:
    if side.module is retrograd:
        array = cases.value(t)
        return array.astype(np.float32) if array.dtype.kind == "V" else array
    t = t.detach().resolve_conj().resolve_neg()
    return t.to(NUMPY.get(t.dtype, t.dtype)).numpy(force=True)


def seeded(side: Side, like: Any, purpose: int, requires_grad: bool = False) -> Any:
    array = cases.direction(np.random.default_rng(purpose), array_of(side, like))
    made = side.tensor(new_tensor(np.array(array, order="C")), None).to(like.dtype)
    return made.requires_grad_() if requires_grad else made


def differentiate(side: Side, leaves: Any, outputs: Any, facts: dict[str, Any]) -> None:
    """Note the first and second gradients of the outputs."""
    outputs = [t for t in outputs if isinstance(t, side.tensor_class) and t.requires_grad]
    if not outputs:
        return
    seeds = [seeded(side, t, i, True) for i, t in enumerate(outputs)]
    first = side.grad(outputs, leaves, seeds, create_graph=True, allow_unused=True)
    note_gradients(side, "gradient", first, facts)
    recorded = [g for g in first if g is not None and g.requires_grad]
    if recorded:
        weights = [seeded(side, g, 100 + i) for i, g in enumerate(recorded)]
        note_gradients(side, "second gradient", side.grad(recorded, [*leaves, *seeds], weights, allow_unused=True), facts)


def note_gradients(side: Side, kind: str, gradients: Any, facts: dict[str, Any]) -> None:
    for i, g in enumerate(gradients):
        facts[f"{i} {kind}"] = None if g is None else array_of(side, g)
        if g is not None:
            facts[f"{i} {kind} dtype"], facts[f"{i} {kind} strides"] = str(g.dtype), tuple(g.stride())
            facts[f"{i} {kind} node"] = None if g.grad_fn is None else g.grad_fn.name()


def differences(wanted: Outcome, got: Outcome, dtype: str | None) -> Iterator[tuple[str, str]]:
    """What differs: (kind, both values)."""
    if wanted.error or got.error:
        if lacking(wanted.error):
            return
        if type(wanted.error).__name__ != type(got.error).__name__:
            yield "error", f"{wanted.error!r} | {got.error!r}"
        elif not first_line(got.error).startswith(first_line(wanted.error)):      # ours may say more
            yield "words", f"{first_line(wanted.error)} | {first_line(got.error)}"
        return
    names = list({**wanted.facts, **got.facts})
    if "gradient error" in names:
        surplus = lacking(wanted.facts.get("gradient error"))
        names = [n for n in names if "gradient" not in n] + ["gradient error"] * (not surplus)
    for kind in ("tangent", "batched"):              # where PyTorch cannot, there is nothing to agree with
        if f"{kind} error" in names:
            names = [n for n in names if kind not in n] + [f"{kind} error"] * (f"{kind} error" not in wanted.facts)
    for name in names:
        a, b = wanted.facts.get(name, "missing"), got.facts.get(name, "missing")
        if isinstance(a, str) and a == "torch::autograd::NotImplemented":
            continue
        if dtype is not None and name[2:] not in ("shape", "dtype", "strides", "value"):
            continue
        if not agree(a, b, wanted.facts.get(f"{name} dtype") or wanted.facts.get(f"{name.split()[0]} dtype", "torch.float64")):
            yield name[2:] if name[0].isdigit() else name, " ".join(f"{a!r} | {b!r}".split())


def first_line(error: Any) -> str:
    return str(error).split("\n")[0]


def lacking(error: Any) -> bool:
    return bool(re.search("|".join(LACKING), str(error)))


def known(name: str, kind: str) -> bool:
    return any(re.search(pattern, f"{name} {kind}") for pattern, _ in KNOWN)


def agree(a: Any, b: Any, dtype: str) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        tolerance = TOLERANCE.get(dtype.removeprefix("torch."), 0.0)
        with np.errstate(all="ignore"):
            return a.shape == b.shape and bool(np.allclose(a, b, tolerance, tolerance, equal_nan=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b or (isinstance(a, float) and isinstance(b, float) and (a != a and b != b or abs(a - b) < 1e-9)))


def compare(group: list[Any]) -> Iterator[tuple[int, str, str]]:
    """The differences of an op: (sample, kind, both values). A child runs the samples; the one that ends it is passed over."""
    pending = [(case, dtype) for case in group for dtype in (None, *(CASTS if case.places else ()))]
    while pending:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                for case, dtype in pending:
                    wanted, got = (observe(side, case, dtype) for side in SIDES)
                    pickle.dump(list(differences(wanted, got, dtype)), pipe)
                    pipe.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            for _ in range(len(pending)):
                try:
                    found = pickle.load(pipe)
                except EOFError:
                    break
                case, dtype = pending.pop(0)
                yield from [(case.number, kind + (f" as {dtype}" if dtype else ""), both) for kind, both in found]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if pending:
            case, dtype = pending.pop(0)
            print(f"{case} as {dtype} was not compared: {signal.Signals(-status).name if status < 0 else status}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="ops whose names match this pattern")
    parser.add_argument("--detail", action="store_true", help="show both values of each difference")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wrong = total = 0
    for name, group in cases.BY_OP.items():
        if not re.search(options.only, name):
            continue
        total += 1
        found: dict[str, list[str]] = {}
        for number, kind, both in compare(group):
            if not known(name, kind):
                found.setdefault(kind, []).append(f"{number}: {both}")
        if found:
            wrong += 1
            print(name)
            for kind, places in found.items():
                numbers = ",".join(sorted({p.split(":")[0] for p in places}, key=int))
                example = "" if options.detail else f"{places[0].partition(': ')[2]:.150}"
                print(f"    {kind:32} samples {numbers}   {example}".rstrip())
                if options.detail:
                    print("".join(f"        {place}\n" for place in places), end="")
            sys.stdout.flush()
    print(f"{wrong} of {total} ops differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
