"""Calls every public function, method and constructor as the first act of a process, and again in one that has used them all.

    python -m tests.first_use        prints what differs, as JSON

A process that has imported a package and nothing else forks for every name of that package: the child calls it and tells
its outcome (values, types, gradients, or the error). A warm process, where all tables are loaded, has called the same
name before with the same arguments, the first among some candidates that the name takes.
"""
from __future__ import annotations

import gc
import importlib
import json
import os
import pickle
import re
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.random

import retrograd as torch
from retrograd.core.tensor import COMPILED, FLAG_DUAL, new_tensor
from retrograd.ops.names import names

PACKAGES = ("retrograd", "retrograd.Tensor", "retrograd.linalg", "retrograd.special", "retrograd.fft", "retrograd.sparse",
            "retrograd.nn", "retrograd.nn.functional", "retrograd.nn.init", "retrograd.optim", "retrograd.distributions",
            "retrograd.func", "retrograd.autograd", "retrograd.autograd.functional", "retrograd.signal.windows")
# Candidates of arguments: x is a 3x4 tensor that requires grad, s a square one, v a vector, i integers, m a mask.
CANDIDATES = ("x", "x, x", "s", "s, s", "v, v", "i", "i, i", "m", "x, 1", "x, 0.5", "x, 1, i", "x, 0, v_i", "x, m, 0.5",
              "[x, x]", "", "3", "3, 4", "(3, 4)", "4, 2, 3", "x, (3, 4)", "x, (0, 1)", "x, 0, 1",
              "x, x, x", "x.abs(), x.abs()",
              "[x]", "[x], 0.1", "x, 2, 1", "lambda t: t.sum(), x", "image, 2", "x, 'relu'", "x, v_i3")
# They end or change the process, wait, or tell of the machine and of what was called before.
EXCLUDED = re.compile(r"seed|rng_state|^set_|_nesting$|data_ptr|get_num_threads|num_interop|is_warn_always|"
                      r"^(compile|randn?|empty\w*|new_empty\w*|normal|typename|default_generator|Generator|storage|untyped_storage|share_memory_|from_file|"
                      r"hash|__hash__|profiler|resize_\w*|cuda|xpu|ipu|pin_memory|is_shared|save|load|Event|Stream|vitals_enabled)$")
# What is a function and a method is called as a method in the compiled core, as a function in the plain one.
core_file = str(importlib.import_module("retrograd.core.dispatch").__file__)
LEFT_OUT = ("retrograd", "retrograd.Tensor") if not core_file.endswith(".py") else ("retrograd.Tensor", "retrograd")
PER_CHILD = 40          # names that the warm process calls in one fork
WORKERS = 2
HALF = int(COMPILED)        # every second name in compiled code, the others in plain Python: a minute less for each
LIMIT = 60              # seconds of one call


def names_of(package: str) -> list[str]:
    found = dir(resolve(package))
    operators = {n for n in found if n.startswith("__") and n not in dir(object)} if package.endswith("Tensor") else set()
    return [n for n in found if (not n.startswith("_") or n in operators) and not EXCLUDED.search(n)
            and not isinstance(getattr(resolve(package), n, None), types.ModuleType)
            and not (package == LEFT_OUT[0] and hasattr(resolve(LEFT_OUT[1]), n)) and not belongs_to_another_backend(n)]


def belongs_to_another_backend(name: str) -> bool:
    """Whether a name is that of an op which refuses all tensors."""
    return any([name in listed.split() for listed in names()["ops.shared.other_backends"]])


def resolve(package: str) -> Any:
    return torch.Tensor if package == "retrograd.Tensor" else importlib.import_module(package)


def given() -> dict[str, Any]:
    """The tensors of the candidates, made without a public function."""
    random = np.random.default_rng(0)
    x = new_tensor(random.uniform(0.1, 0.9, (3, 4))).requires_grad_()
    s = random.uniform(0.1, 0.9, (3, 3))
    return dict(torch=torch, x=x, s=new_tensor(s @ s.T + np.eye(3)).requires_grad_(),
                v=new_tensor(random.uniform(0.1, 0.9, 3)).requires_grad_(), i=new_tensor(random.integers(0, 3, (3, 4))),
                v_i=new_tensor(np.array([0, 2])), v_i3=new_tensor(np.array([0, 2, 1])),
                m=new_tensor(random.random((3, 4)) < 0.5),
                image=new_tensor(random.uniform(0.1, 0.9, (1, 2, 4, 4))).requires_grad_())


def unpacked(value: Any) -> Any:
    """An argument of a sample, as `packed` has written it."""
    if isinstance(value, tuple) and value[:1] == ("tensor",):
        return new_tensor(value[1].copy()).requires_grad_(value[2])
    return [unpacked(v) for v in value] if isinstance(value, list) else value


def packed(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return "tensor", np.ascontiguousarray(value.detach().array).reshape(value.shape), value.requires_grad
    if isinstance(value, (list, tuple)):
        return [packed(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise TypeError(f"{value!r} is not passed between processes")


def act(package: str, name: str, arguments: Any, seed: int | None = None) -> Any:
    """Call a name, and what is differentiable of its result backward; what comes of it, in plain values."""
    if seed is not None:
        torch.manual_seed(seed)
    tensors = given()
    try:
        if isinstance(arguments, str):
            args = list(eval(f"({arguments},)" if arguments else "()", tensors))
        else:
            args = [unpacked(a) for a in arguments]
            tensors = dict(enumerate(flatten(args)))
        if name.endswith("_") and not name.startswith("_") and args and isinstance(args[0], torch.Tensor):
            args[0] = args[0].detach()                # what is written to must be no leaf
        if package == "retrograd.Tensor":
            member = getattr(args[0], name)
            result = member(*args[1:]) if callable(member) else member
        else:
            member = getattr(resolve(package), name)
            result = member(*args) if callable(member) else type(member).__name__
        told = tell(result)
        leaves = [t for t in tensors.values() if isinstance(t, torch.Tensor) and t.requires_grad and t.is_leaf]
        flowing = [t for t in flatten(result) if isinstance(t, torch.Tensor) and t.requires_grad and t.grad_fn is not None]
        if flowing and leaves:
            try:
                seeds = [new_tensor(np.ones(t.shape, t.detach().array.dtype)) for t in flowing]
                told = told, tell(torch.autograd.grad(flowing, leaves, seeds, allow_unused=True))
            except Exception as error:
                told = told, refusal(error)
        return told
    except Exception as error:
        return refusal(error)


def refusal(error: Exception) -> Any:
    return "error", type(error).__name__, without_places(str(error))


def without_places(text: str) -> str:
    """The text without addresses, and without the module that C puts before the name of a compiled class."""
    return re.sub(r"0x[0-9a-f]+|\b\d{6,}\b|line \d+", "?", text).replace("'retrograd.core.tensor.Tensor'", "'Tensor'")


def flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from flatten(v)
    else:
        yield value


def tell(value: Any, depth: int = 0) -> Any:
    """A value without reference to its process."""
    if isinstance(value, torch.Tensor):
        about = [type(value).__name__, str(value.dtype), tuple(value.shape), value.requires_grad,
                 None if value.grad_fn is None else value.grad_fn.name()]
        if value._flags & ~FLAG_DUAL:                 # sparse, meta, or conjugated when read
            return [*about, without_places(repr(value))]
        return [*about, value.array.strides, value.array.tobytes()]
    if isinstance(value, (list, tuple)) and depth < 5:
        return [type(value).__name__, *[tell(v, depth + 1) for v in value]]
    if isinstance(value, dict) and depth < 5:
        return ["dict", *[(str(k), tell(v, depth + 1)) for k, v in value.items()]]
    if isinstance(value, torch.nn.Module if "retrograd.nn" in sys.modules else ()):
        return [type(value).__name__, without_places(repr(value)), tell(dict(value.state_dict()))]
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    return [type(value).__name__, without_places(repr(value))]


def samples_of(package: str, name: str) -> Iterator[Any]:
    """The arguments of the samples of the op that a name stands for."""
    from tests.ops.cases import BY_OP
    prefix = {"retrograd.linalg": "linalg_", "retrograd.special": "special_", "retrograd.fft": "fft_"}.get(package, "")
    chosen = [case for overload in ("default", "Tensor", "int", "dim", "self", "Tensor_Tensor", "Scalar", "tensor")
              for case in BY_OP.get(f"{prefix}{name.rstrip('_')}.{overload}", [])[:1]]
    for case in chosen:
        args = [a for a, p in zip(case.args, case.op.schema.params, strict=False) if not p.kwarg_only]
        try:
            yield packed(args)
        except TypeError:
            continue


# ---- processes
def start(work: Callable[[Any], None], limit: int = 0) -> tuple[int, int]:
    """Fork a process that tells what `work` has to tell: its id, and the end of the pipe to read from."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    signal.alarm(limit)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    pipe = os.fdopen(writer, "wb")

    def tell_one(value: Any) -> None:
        pickle.dump(value, pipe)
        pipe.flush()
    try:
        work(tell_one)
    finally:
        os._exit(0)


def told_by(child: int, reader: int) -> Iterator[Any]:
    with os.fdopen(reader, "rb") as pipe:
        while True:
            try:
                yield pickle.load(pipe)
            except EOFError:
                break
    os.waitpid(child, 0)


def in_child(work: Callable[[Any], None], limit: int = 0) -> list[Any]:
    """What `work` tells in a forked process, which may end early."""
    return [*told_by(*start(work, limit))]


def plan(told: Any) -> None:
    """Tell (package, name, arguments, outcome) of every name, as a process that has used them all sees it."""
    from retrograd.ops.load import load_all
    load_all()
    everything = [(package, name) for package in PACKAGES for name in names_of(package)][HALF::2]

    def outcome(package: str, name: str) -> tuple[Any, Any, Any]:
        """The arguments, the seed if it matters, and what comes of a call that is not the first."""
        first = None
        for arguments in (*samples_of(package, name), *CANDIDATES):
            made = act(package, name, arguments, 0)
            if not (isinstance(made, tuple) and made[0] == "error"):
                again = act(package, name, arguments, 0)
                return arguments, None if all(act(package, name, arguments, k) == again for k in range(1, 6)) else 0, again
            first = first or (arguments, None, made)
        assert first is not None
        return first

    def some(tell_one: Any, chosen: Any) -> None:
        for package, name in chosen:
            tell_one((package, name, *outcome(package, name)))

    for start in range(0, len(everything), PER_CHILD):
        chosen = everything[start:start + PER_CHILD]
        while chosen:                       # a name that ends the process is left out
            done = in_child(lambda tell_one, chosen=chosen: some(tell_one, chosen), LIMIT)
            for each in done:
                told(each)
            chosen = chosen[len(done) + 1:]


def serve(package: str, calls: Any, tell_one: Any) -> None:
    """Import a package, and call each of its names in a process of its own."""
    resolve(package)
    for name, arguments, seed, wanted in calls:
        got = in_child(lambda told, call=(package, name, arguments, seed): told(act(*call)), LIMIT)
        shown = arguments if isinstance(arguments, str) else "those of a sample"
        tell_one((f"{package}.{name}({shown})", wanted, got[0] if got else "no outcome"))


def main() -> None:
    warnings.simplefilter("ignore")
    gc.disable()                              # a collection would copy the pages that processes share
    calls: dict[str, list[Any]] = {package: [] for package in PACKAGES}
    for package, *call in in_child(plan):
        calls[package].append(call)

    def share(k: int, tell_one: Any) -> None:
        for package in PACKAGES:
            for told in in_child(lambda told, package=package: serve(package, calls[package][k::WORKERS], told)):
                tell_one(told)

    results = [r for each in [start(lambda told, k=k: share(k, told)) for k in range(WORKERS)] for r in told_by(*each)]
    wrong = {call: [repr(wanted)[:300], repr(got)[:300]] for call, wanted, got in results if wanted != got}
    refused = [call for call, wanted, _ in results if isinstance(wanted, tuple) and wanted[0] == "error"]
    print(json.dumps({"calls": len(results), "refused": refused, "different": wrong}, indent=1))


if __name__ == "__main__":
    main()
