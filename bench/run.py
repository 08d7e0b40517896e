"""Measures retrograd against PyTorch, side by side in one run.

    python bench/run.py [--plain] [--only SUBSTR] [--rounds N] [--json OUT] [--markdown]

Every row is the time of retrograd over that of PyTorch, below 1 is faster: one thread, the thread's CPU clock, the
contenders in alternation, the median of the paired rounds. Then the geometric mean, the cost of `import`, the size
of the installed package, and the memory that one recorded op keeps alive.
"""
from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from time import thread_time_ns
from typing import Any

from workloads import TRANSFORMS, WORKLOADS, Work

SAMPLE_NS = 4_000_000
IMPORT_ROUNDS = 9
CHAIN_OPS = 100_000
CONTENDERS = ("retrograd", "torch")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", action="store_true", help="measure the plain Python core, not the compiled one")
    parser.add_argument("--only", default="", metavar="SUBSTR", help="only rows whose name contains SUBSTR")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the numbers to OUT")
    parser.add_argument("--markdown", action="store_true", help="print a table for the README")
    options = parser.parse_args()
    if options.plain and os.environ.get("RETROGRAD_PLAIN") != "1":
        os.environ["RETROGRAD_PLAIN"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"      # read by the libraries when they load, hence before the imports below

    rows = measure_rows(options.only, options.rounds, show=not options.markdown)
    ratios = [row["ratio"] for name, row in rows.items() if name in WORKLOADS and row["ratio"] is not None]
    report: dict[str, Any] = {"build": build(), "rows": rows, "geometric_mean": geometric_mean(ratios)}
    if not options.only:
        report["import_seconds"] = import_seconds()
        report["package_bytes"] = {name: package_bytes(name) for name in CONTENDERS}
        report["node_bytes"] = {name: node_bytes(name) for name in CONTENDERS}
    print(markdown(report) if options.markdown else summary(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


# ---- time per unit of work

def measure_rows(only: str, rounds: int, show: bool) -> dict[str, dict[str, Any]]:
    import torch

    import retrograd

    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    rows = {}
    if show:
        print(f"{'':26} {'PyTorch':>10} {'retrograd':>10} {'ratio':>6}   ({build()})")
    for name, make in {**WORKLOADS, **TRANSFORMS}.items():
        if only not in name:
            continue
        rows[name] = row = measure(make(torch), attempt(make, retrograd), rounds)
        if show:
            ours, ratio = ("n/a", "") if row["ratio"] is None else (time(row["ns"]), times(row["ratio"]))
            print(f"{name:26} {time(row['torch_ns']):>10} {ours:>10} {ratio:>6}   {row.get('error', '')}".rstrip(),
                  flush=True)
    return rows


def attempt(make: Any, module: Any) -> Work | Exception:
    """The workload on `module`, or why it cannot be run there."""
    try:
        work = make(module)
        sample(work, 1)
    except Exception as error:
        return error
    return work


def measure(reference: Work, ours: Work | Exception, rounds: int) -> dict[str, Any]:
    works = [reference] if isinstance(ours, Exception) else [reference, ours]
    repeats = [calibrate(work) for work in works]
    times: list[list[float]] = [[] for _ in works]
    for turn in range(rounds):
        for i in range(len(works))[::1 if turn % 2 else -1]:
            times[i].append(sample(works[i], repeats[i]) / repeats[i] / works[i].units)
    row: dict[str, Any] = {"torch_ns": min(times[0]), "ns": None, "ratio": None}
    if isinstance(ours, Exception):
        row["error"] = f"{type(ours).__name__}: {ours}".splitlines()[0]
    else:
        row |= {"ns": min(times[1]), "ratio": statistics.median(b / a for a, b in zip(*times))}
    return row


def calibrate(work: Work) -> int:
    """How often to run for a sample that is long enough to time."""
    sample(work, 2)
    return max(1, min(2000, SAMPLE_NS // max(1, sample(work, 1))))


def sample(work: Work, repeats: int) -> int:
    run, prepare = work.run, work.prepare
    if prepare is None:
        start = thread_time_ns()
        for _ in range(repeats):
            run()
        return thread_time_ns() - start
    total = 0
    for _ in range(repeats):
        prepared = prepare()
        start = thread_time_ns()
        run(prepared)
        total += thread_time_ns() - start
        del prepared            # freeing the graph is no part of the backward pass
    return total


# ---- import, size, memory: each in processes of their own

def import_seconds() -> dict[str, float]:
    """CPU time of importing, beyond that of an interpreter which imports nothing."""
    statements = {"nothing": "pass", "numpy": "import numpy", **{name: f"import {name}" for name in CONTENDERS}}
    times: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(IMPORT_ROUNDS):
        for name, statement in statements.items():
            times[name].append(cpu_seconds([sys.executable, "-c", statement]))
    median = {name: statistics.median(values) for name, values in times.items()}
    return {name: value - median["nothing"] for name, value in median.items() if name != "nothing"}


def cpu_seconds(command: Sequence[str]) -> float:
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} failed")
    return usage.ru_utime + usage.ru_stime


def package_bytes(name: str) -> int:
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    return sum(path.stat().st_size for path in Path(spec.origin).parent.rglob("*")
               if path.is_file() and "__pycache__" not in path.parts)


NODE_BYTES = """
import gc, os, sys
import {name} as T
a, b = T.ones(4).requires_grad_(), T.ones(4)
def chain(n):
    x = a
    for _ in range(n):
        x = x * b
    return x
def resident():
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
chain(10)
before = resident()
last = chain({count})
print((resident() - before) / {count}, flush=True)
os._exit(0)
"""


def node_bytes(name: str) -> float | None:
    """Resident memory per op of a long recorded chain; None where the system does not tell."""
    if not Path("/proc/self/statm").exists():
        return None
    code = NODE_BYTES.format(name=name, count=CHAIN_OPS)
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


# ---- printing

def build() -> str:
    from importlib.machinery import EXTENSION_SUFFIXES

    spec = find_spec("retrograd.core.tensor")
    compiled = spec is not None and str(spec.origin).endswith(tuple(EXTENSION_SUFFIXES))
    return "compiled core" if compiled else "plain Python"


def geometric_mean(ratios: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def time(ns: float) -> str:
    return f"{ns:.0f} ns" if ns < 1e4 else f"{ns / 1e3:.1f} µs" if ns < 1e7 else f"{ns / 1e6:.1f} ms"


def times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.01 else f"1/{1 / ratio:.0f}"


def facts(report: dict[str, Any]) -> list[str]:
    """The measurements that are no rows, one line each."""
    lines = []
    if report["geometric_mean"] is not None:
        measured = sum(name in WORKLOADS and row["ratio"] is not None for name, row in report["rows"].items())
        lines.append(f"geometric mean of {measured} rows: {report['geometric_mean']:.2f}")
    if "import_seconds" in report:
        seconds, size, node = report["import_seconds"], report["package_bytes"], report["node_bytes"]
        lines.append(f"import: {seconds['retrograd']:.2f} s of CPU time, {seconds['retrograd'] / seconds['numpy']:.2f} "
                     f"times that of NumPy (PyTorch: {seconds['torch']:.2f} s)")
        lines.append(f"installed: {size['retrograd'] / 1e6:.1f} MB (PyTorch: {size['torch'] / 1e6:.0f} MB)")
        if all(value is not None for value in node.values()):
            lines.append(f"memory per recorded op of 4 elements: {node['retrograd']:.0f} bytes "
                         f"(PyTorch: {node['torch']:.0f})")
    return lines


def summary(report: dict[str, Any]) -> str:
    return "\n" + "\n".join(facts(report))


def markdown(report: dict[str, Any]) -> str:
    lines = [f"| {report['build']} | PyTorch | retrograd | ratio |", "|---|---|---|---|"]
    for name, row in report["rows"].items():
        ours = "| |" if row["ratio"] is None else f"{time(row['ns'])} | {times(row['ratio'])} |"
        lines.append(f"| {name} | {time(row['torch_ns'])} | {ours}")
    return "\n".join([*lines, "", *(f"- {fact}" for fact in facts(report))])


if __name__ == "__main__":
    sys.exit(main())
