"""Measures every op's smallest sample against PyTorch: forward, and forward with backward.

    python bench/every_op.py [--only SUBSTR] [--rounds N] [--json OUT] [--slowest N]
                             [--elements N [--square]] [--dtype NAME] [--strided]

One process, one thread, the thread's CPU clock, contenders in alternation, the median of the paired rounds; float32.
An op is called by its public name (torch.sin, torch.nn.functional.gelu, Tensor.add_, ...), with the arguments of the first
of its samples that has elements and runs in both libraries. Then come the rows of a training loop.

`--elements` repeats a sample's tensors along their first dimension, or along all (`--square`), until the largest has about
so many elements; what needs one size, or more than 60 ms in PyTorch, is left out. `--strided` transposes them in memory.
"""
from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import math
import os
import resource
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import thread_time_ns
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"          # read by the libraries when they load

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
SAMPLE_NS = 400_000
UNCHECKED = ("_pad_packed_sequence.default",       # PyTorch writes beyond its memory when sizes do not fit together,
             "linalg_eig.default", "linalg_eigvals.default")        # or for singular matrices
MOST_MEMORY = 12 << 30                              # some ops make far larger results of large operands
NAMESPACES = ("", "nn.functional", "linalg", "special", "fft")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import retrograd  # noqa: E402
from retrograd.core.opdef import find_packet  # noqa: E402
from tests import samples  # noqa: E402
from tests.ops import cases as sample_cases  # noqa: E402, F401  (imports every file of samples)

Call = Callable[[], Any]
options = argparse.Namespace()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="SUBSTR")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--slowest", type=int, default=40)
    parser.add_argument("--elements", type=int)
    parser.add_argument("--square", action="store_true")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--strided", action="store_true")
    global options
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.elements:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    rows: dict[str, dict[str, float]] = {}
    for name, pairs in itertools.chain(cases(options.only), () if options.elements else training(options.only)):
        for kind, (theirs, ours) in pairs.items():
            try:
                with no_grad() if kind == "forward" else contextlib.nullcontext():
                    value = ratio(theirs, ours, options.rounds)
            except (RuntimeError, IndexError, ValueError):       # in-place ops that cannot be repeated
                continue
            rows.setdefault(name, {})[kind] = value
    for kind in ("forward", "both", "loop"):
        found = {name: row[kind] for name, row in rows.items() if kind in row}
        if found:
            mean = math.exp(statistics.fmean(map(math.log, found.values())))
            above = [sum(value > limit for value in found.values()) for limit in (1, 1.5, 2, 5)]
            print(f"{kind}: geometric mean {mean:.2f} of {len(found)} rows; above 1, 1.5, 2 and 5: {above}")
            for name, value in sorted(found.items(), key=lambda item: -item[1])[:options.slowest]:
                print(f"    {value:8.2f}  {name}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def ratio(theirs: Call, ours: Call, rounds: int) -> float:
    """Our time over PyTorch's. What first calls prepare (the plain core writes functions out) is no part of either."""
    once(theirs, 3), once(ours, 3)
    count = max(1, int(SAMPLE_NS / max(once(theirs, 3), 1)))
    own = max(1, int(SAMPLE_NS / max(once(ours, 3), 1)))
    return statistics.median([once(ours, own) / once(theirs, count) for _ in range(rounds)])


def once(call: Call, count: int) -> float:
    start = thread_time_ns()
    for _ in range(count):
        call()
    return max(thread_time_ns() - start, 1) / count


def public(module: Any, name: str) -> Any:
    """The public function called `name`, or the method."""
    for space in NAMESPACES:
        stem = name.removeprefix(f"{space}_") if space in ("linalg", "special", "fft") else name
        place = module
        for part in filter(None, space.split(".")):
            place = getattr(place, part)
        if stem == name and space in ("linalg", "special", "fft"):
            continue
        found = getattr(place, stem, None)
        if callable(found):
            return found
    return getattr(module.Tensor, name, None)


def cases(only: str) -> Iterator[tuple[str, dict[str, tuple[Call, Call]]]]:
    """Every op with samples: its calls in both libraries."""
    for name in sorted(samples.REGISTRY):
        if only not in name or (options.elements and name in UNCHECKED):
            continue
        stem, _, overload = name.partition(".")
        packet = find_packet(stem)
        function, reference = public(retrograd, stem), public(torch, stem)
        if packet is None or function is None or reference is None:
            continue
        made = first_common(name, function, reference)
        if made is not None:
            yield name, made


def first_common(name: str, function: Any, reference: Any) -> dict[str, tuple[Call, Call]] | None:
    """The calls of the first sample that has elements and runs in both libraries."""
    try:
        found = list(samples.REGISTRY[name](samples.Maker(name, retrograd.float32)))
    except Exception:
        return None
    for sample in found:
        tensors = [a for a in sample.args if isinstance(a, retrograd.Tensor)]
        if any(t.numel() == 0 or t.numel() > 4096 or t.layout != retrograd.strided for t in tensors):
            continue
        for grown in growths(tensors):
            try:
                ours = bind(function, sample, grown)
                theirs = bind(reference, sample, lambda t, grown=grown: as_torch(grown(t)))
                made = {"forward": (theirs[0], ours[0])}
                with no_grad():
                    once(theirs[0], 1)
                    if options.elements and once(theirs[0], 1) > 60_000_000:
                        return None
                    ours[0]()
                break
            except Exception:
                continue
        else:
            continue
        try:
            both = backward(torch, *theirs), backward(retrograd, *ours)
            for call in both:
                call()
            made["both"] = both
        except Exception:
            pass
        return made
    return None


def growths(tensors: list[Any]) -> Iterator[Callable[[Any], Any]]:
    """Ways to make the tensors of a sample larger; those that it does not take raise errors."""
    base = max(tensors, key=lambda t: t.numel(), default=None)
    if not options.elements:
        yield varied
    elif base is not None and base.ndim:
        times = max(1, options.elements // base.numel())
        each = max(1, round(times ** (1 / base.ndim)))
        first = base.shape[0]
        if not options.square:
            yield lambda t: varied(t, [times if t.shape[0] == first else 1, *[1] * (t.ndim - 1)] if t.ndim else [])
        yield lambda t: varied(t, [each] * t.ndim)
        yield lambda t: varied(t, [each if n > 1 else 1 for n in t.shape])


def varied(t: Any, times: list[int] | None = None) -> Any:
    """The tensor in the dtype, size and order that the options ask for."""
    array, dtype = t.detach().numpy(), t.dtype
    if dtype == retrograd.float32 and options.dtype != "float32":
        dtype = getattr(retrograd, options.dtype)
        array = array * 4 if not dtype.is_floating_point and not dtype.is_complex else array
    array = np.tile(array, times) if times else array
    made = retrograd.tensor(np.array(array)).to(dtype)
    if options.strided and made.ndim > 1:
        made = made.mT.contiguous().mT
    elif options.strided and made.ndim:
        made = retrograd.stack([made, made], 1)[:, 0]
    return made.requires_grad_(t.requires_grad and (dtype.is_floating_point or dtype.is_complex))


def bind(function: Any, sample: Any, convert: Any) -> tuple[Call, list[Any]]:
    def value(a: Any) -> Any:
        if isinstance(a, retrograd.Tensor):
            return convert(a)
        if isinstance(a, (list, tuple)) and any(isinstance(item, retrograd.Tensor) for item in a):
            return [value(item) for item in a]
        if convert is as_torch and repr(a).startswith("torch."):
            return getattr(torch, repr(a).removeprefix("torch."))
        return a
    args = [value(a) for a in sample.args]
    kwargs = {key: value(a) for key, a in sample.kwargs.items()}
    leaves = [t for a in args for t in (a if isinstance(a, list) else [a]) if getattr(t, "requires_grad", False)]
    return (lambda: function(*args, **kwargs)), leaves


def as_torch(t: Any) -> Any:
    made = torch.empty_strided(tuple(t.shape), t.stride(), dtype=getattr(torch, repr(t.dtype).removeprefix("torch.")))
    values = t.detach().float() if t.dtype == retrograd.bfloat16 else t.detach()
    return made.copy_(torch.from_numpy(values.numpy())).requires_grad_(t.requires_grad)


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Turns recording off in both libraries: in-place ops write to leaves that require grad."""
    with torch.no_grad(), retrograd.no_grad():
        yield


def backward(module: Any, call: Call, leaves: list[Any]) -> Call:
    if not leaves:
        raise ValueError("nothing to differentiate")
    grads: dict[int, Any] = {}

    def run() -> Any:
        result = call()
        out = result[0] if isinstance(result, (tuple, list)) else result
        grad = grads.get(0)
        if grad is None:
            grad = grads[0] = module.ones_like(out)
        return module.autograd.grad(out, leaves, grad, allow_unused=True)
    return run


def training(only: str) -> Iterator[tuple[str, dict[str, tuple[Call, Call]]]]:
    """The rows of a training loop."""
    for name, make in {"step of Linear(10,20)-ReLU-Linear(20,2), SGD": network, **optimizers()}.items():
        if only in name:
            yield name, {"loop": (make(torch), make(retrograd))}


def network(module: Any) -> Call:
    module.manual_seed(0)
    net = module.nn.Sequential(module.nn.Linear(10, 20), module.nn.ReLU(), module.nn.Linear(20, 2))
    optimizer = module.optim.SGD(net.parameters(), lr=0.1)
    x, y = module.randn(8, 10), module.randint(0, 2, (8,))

    def step() -> None:
        optimizer.zero_grad()
        module.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return step


def optimizers() -> dict[str, Callable[[Any], Call]]:
    def maker(kind: str, count: int) -> Callable[[Any], Call]:
        def make(module: Any) -> Call:
            parameters = [module.ones(20).requires_grad_() for _ in range(count)]
            for p in parameters:
                p.grad = module.ones(20)
            return getattr(module.optim, kind)(parameters, lr=0.01).step
        return make
    return {f"{kind} step, {count} parameters": maker(kind, count) for kind in ("SGD", "Adam") for count in (4, 200)}


if __name__ == "__main__":
    raise SystemExit(main())
