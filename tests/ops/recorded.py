"""PyTorch's answers for every sample, recorded by tools/record_values.py: how they are written, found and compared.

A record holds dtypes, shapes, strides and the names of nodes as they are. Arrays of at most EXACT elements are written
out; of longer ones the record has two projections on fixed random vectors, in which any wrong element shows.
"""
from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.ops import cases
from tests.ops.facts import KNOWN, Outcome
from tests.samples import REGISTRY

FOLDER = Path(__file__).parents[1] / "golden" / "values"
REFUSED = FOLDER / "refused.json"             # the samples that PyTorch cannot run: "op-number": the reason
CASTS = ("float32", "float16", "bfloat16", "complex64", "int64", "bool")
GRADIENTS = (None, "float32")                 # the dtypes whose gradients are recorded
UNRECORDED = re.compile("gradient node|second gradient .")
DIGITS = {"float64": 11, "complex128": 11, "float32": 8, "complex64": 8}
EXACT = 8
TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 4e-6, "complex64": 4e-6, "float16": 2e-3, "complex32": 2e-3,
             "bfloat16": 1.6e-2}
# Where PyTorch has no answer to agree with: errors of its own; what would be compared is a surplus of ours.
LACKING = re.compile("derivative for .* is not implemented|INTERNAL ASSERT FAILED|inconsistent range for TensorList output"
                     "|has not been implemented yet|PyTorch has no operator|PyTorch's process ends")


def file_of(name: str) -> Path:
    """The file with the record of an op: one for each module of samples."""
    return FOLDER / f"{REGISTRY[name].__module__.rpartition('.')[2]}.json.gz"


@cache
def read(path: Path) -> dict[str, Any]:
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def record_of(case: Any) -> dict[str, Any] | None:
    """What is recorded of a case: facts or an error by dtype."""
    found: dict[str, Any] | None = read(file_of(case.op.__name__)).get(case.op.__name__, {}).get(str(case.number))
    return found if found is not None and found["inputs"] == describe_inputs(case) else None


def dtypes_of(case: Any) -> tuple[str | None, ...]:
    """The dtypes that a case is asked in; None leaves them as they are."""
    return (None, *CASTS) if case.places and case.sample.before is None else (None,)


def is_refused(record: dict[str, Any]) -> bool:
    """Whether PyTorch gives a value neither in double nor in single precision."""
    return all(isinstance(record.get(dtype, ""), str) for dtype in ("as is", "float32"))


def describe_inputs(case: Any) -> str:
    """A text that changes when a sample does."""
    fixed = not cases.is_random(case.op)          # noise is written to an argument
    parts = [f"{t.dtype} {tuple(t.shape)} {t.stride()} {np.sum(projections(cases.value(t))) if fixed else 0:.4e}"
             for t in case.tensors()]
    parts += [repr(a) for i, a in enumerate(case.args) if i not in {i for i, _ in case.places} and "Generator" not in repr(a)]
    return f"{zlib.crc32(' '.join(parts).encode()):08x}"


def encode(outcome: Outcome) -> Any:
    """The facts of an outcome, or its error, in terms of JSON."""
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {first_line(outcome.error)}"
    return {name: written(fact) for name, fact in outcome.facts.items() if not UNRECORDED.search(name)}


def first_line(error: Any) -> str:
    return str(error).split("\n")[0]


def written(fact: Any) -> Any:
    if isinstance(fact, np.ndarray):
        return {"a": list(fact.shape), "of": [rounded(x, fact.dtype.name) for x in numbers_of(fact)]}
    if isinstance(fact, (tuple, list)):
        return [written(x) for x in fact]
    if isinstance(fact, float):
        return rounded(fact, "float64")
    if fact is None or isinstance(fact, (bool, int, str)):
        return fact
    return str(fact)


def rounded(x: Any, dtype: str) -> Any:
    if isinstance(x, int):
        return x
    return float(f"{x:.{DIGITS.get(dtype, 6)}g}") if np.isfinite(x) else str(x)


def numbers_of(array: Any) -> list[Any]:
    """The elements of a small array (complex ones as pairs), or what stands for those of a large one."""
    flat = np.ascontiguousarray(array).ravel()
    if flat.dtype.kind == "W":             # complex32, which NumPy does not know as complex
        flat = flat.astype(np.complex64)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if flat.dtype.kind in "iub" and flat.size > EXACT:
        return [zlib.crc32(flat.astype(np.int64).tobytes())]
    if flat.dtype.kind in "iub":
        return [int(x) for x in flat]
    return [*flat.astype(np.float64).tolist()] if flat.size <= EXACT else projections(flat)


def projections(array: Any) -> list[float]:
    """Two inner products with fixed vectors; NaN and infinities count by number and position."""
    flat = np.ascontiguousarray(array).ravel()
    flat = (flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat).astype(np.float64)
    weights = weights_for(flat.size)
    finite = np.isfinite(flat)
    if not finite.all():
        kinds = np.select([np.isnan(flat), flat > 0, flat < 0], [100.0, 200.0, 300.0])
        flat = np.where(finite, flat, kinds)
    return (weights @ flat).tolist()


def scale_of(array: Any) -> float:
    """The magnitude that the rounding errors of the projections are measured by."""
    flat = np.abs(np.ascontiguousarray(array).ravel()).astype(np.float64)
    flat = flat[np.isfinite(flat)]
    return float(np.sqrt(flat @ flat)) if flat.size else 0.0


@cache
def weights_for(size: int) -> Any:
    return np.random.default_rng(size).uniform(0.5, 1.5, (2, size)) * np.random.default_rng(size + 1).choice([-1, 1], (2, size))


def agree(recorded: Any, fact: Any, dtype: str) -> bool:
    if isinstance(recorded, dict):
        if not isinstance(fact, np.ndarray) or list(fact.shape) != recorded["a"]:
            return False
        wanted, got = np.array(recorded["of"], np.float64), np.array(numbers_of(fact))
        tolerance = TOLERANCE.get(dtype.removeprefix("torch."), 0.0)
        return bool(np.allclose(got, wanted, tolerance, tolerance * max(1.0, scale_of(fact)), equal_nan=True))
    if isinstance(recorded, (float, str)) and isinstance(fact, float):
        return bool(np.isclose(fact, float(recorded), 1e-9, 1e-9, equal_nan=True))
    return bool(written(fact) == recorded)


def differences(name: str, recorded: Any, outcome: Outcome, dtype: str | None) -> list[str]:
    """How retrograd's outcome differs from the record of PyTorch's, but for differences that are known."""
    found = [*compare(recorded, outcome)]
    suffix = f" as {dtype}" if dtype else ""
    return [f"{name} {kind}{suffix}: {text}" for kind, text in found
            if not any(re.search(pattern, f"{name} {kind}{suffix}") for pattern, _ in KNOWN)]


def compare(recorded: Any, outcome: Outcome) -> Iterator[tuple[str, str]]:
    if isinstance(recorded, str) or outcome.error is not None:
        wanted, got = (x if isinstance(x, str) else "no error" for x in (recorded, encode(outcome)))
        if LACKING.search(wanted):
            return
        if wanted.partition(":")[0] != got.partition(":")[0]:
            yield "error", f"PyTorch: {wanted}; retrograd: {got}"
        return
    names = [n for n in {**recorded, **outcome.facts} if not UNRECORDED.search(n)]
    for kind in ("gradient", "tangent"):
        if f"{kind} error" in names:          # where PyTorch has no derivative, there is nothing to agree with
            error = recorded.get(f"{kind} error", "")
            surplus = bool(error) if kind == "tangent" else LACKING.search(error)
            names = [n for n in names if kind not in n] + [f"{kind} error"] * (not surplus)
    for fact in names:
        wanted, got = recorded.get(fact, "missing"), outcome.facts.get(fact, "missing")
        if wanted == "torch::autograd::NotImplemented" or (wanted == "missing" and "second gradient" in fact):
            continue                          # PyTorch has no derivative there
        kind = fact[2:] if fact[0].isdigit() else fact
        of = recorded.get(f"{fact} dtype") or recorded.get(f"{fact.split()[0]} dtype", "torch.float64")
        if "second gradient" in fact:
            if wanted is None and isinstance(got, np.ndarray) and not got.any():
                continue
            single = {"torch.float32", "torch.complex64"} & {str(x) for x in recorded.values()}
            of = "torch.float32" if single else "torch.float64"
        values = recorded.get(fact.removesuffix(" strides"))
        if fact.endswith(("gradient strides", "tangent strides")) and isinstance(values, dict) and got != "missing":
            wanted, got = [[s for s, n in zip(x, values["a"], strict=False) if n > 1] for x in (wanted, got)]
        if not agree(wanted, got, of):
            yield kind, f"PyTorch: {wanted}; retrograd: {written(got)}"
