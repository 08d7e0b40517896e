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
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.ops import cases  # noqa: E402
from tests.ops.facts import KNOWN, RETROGRAD, TOLERANCE, Outcome, observe  # noqa: E402
from tools.pytorch import PYTORCH, Ended, answered  # noqa: E402

CASTS = ("float16", "bfloat16", "float32", "complex64", "int64", "bool")

# Where PyTorch has no answer to agree with: errors of its own (texts), and what would be compared is a surplus of ours.
LACKING = ("derivative for .* is not implemented", "INTERNAL ASSERT FAILED", "inconsistent range for TensorList output")

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


def compare_one(case: Any, dtype: str | None) -> list[tuple[str, str]]:
    wanted, got = (observe(library, case, dtype) for library in (PYTORCH, RETROGRAD))
    return list(differences(wanted, got, dtype))


def compare(group: list[Any]) -> Iterator[tuple[int, str, str]]:
    """The differences of an op: (sample, kind, both values)."""
    questions = [(case, dtype) for case in group for dtype in (None, *(CASTS if case.places else ()))]
    for (case, dtype), found in answered(compare_one, questions):
        if isinstance(found, Ended):
            print(f"{case} as {dtype} was not compared: {found}")
            continue
        yield from [(case.number, kind + (f" as {dtype}" if dtype else ""), both) for kind, both in found]


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
