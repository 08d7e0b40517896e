"""Kernels compute through `xp` only: they run on arrays of a device of its own (device_arrays.py), in either direction.

While the samples run forward and backward, every kernel that is called is also given the same arguments on the device, and
must come to the same values there. The ops whose kernels use NumPy, SciPy or the layout of memory are listed with why.
"""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd.backward import grad
from retrograd.core import dispatch
from retrograd.core.opdef import OpDef
from retrograd.utils._python_dispatch import TorchDispatchMode
from tests.ops.cases import ALL_OPS, CASES, UNDEFINED, floating, has_gradient, is_random, like, outputs, value
from tests.ops.device_arrays import given, returned, xp
from tests.ops.device_remaining import REMAINING

pytestmark = pytest.mark.filterwarnings("ignore")
PLAIN = str(dispatch.__file__).endswith(".py")


def same(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.allclose(a, b, 1e-12, 1e-12, equal_nan=True) if a.dtype.kind in "fc" else np.array_equal(a, b))


class Through(TorchDispatchMode):
    """Sends every op on as it is: while a mode is on, all of them go through the layers to their kernels."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Watched:
    """The kernel of an op, with what it comes to on the device beside it."""

    def __init__(self, op: OpDef, failed: dict[str, str], ran: set[str]) -> None:
        self.op, self.kernel, self.failed, self.ran = op, op.compute, failed, ran

    def __call__(self, namespace: Any, *values: Any) -> Any:
        if namespace is not np:                  # the plain core records the kernel's calls
            return self.kernel(namespace, *values)
        name = self.op.__name__
        there: Any = None
        if name not in self.failed:
            self.ran.add(name)
            arguments = given([v.copy() if isinstance(v, np.ndarray) and self.op.is_inplace else v for v in values])
            try:
                there = returned(self.kernel(xp, *arguments))
            except Exception as error:
                there = error
        result = self.kernel(np, *values)          # what raises here is a refusal, on the device as well
        if isinstance(there, Exception):
            self.failed[name] = f"{type(there).__name__}: {there}"
        elif name not in self.failed and not is_random(self.op) and self.op.name not in UNDEFINED:
            for a, b in zip(outputs(there), outputs(result), strict=True):
                if not same(np.asarray(a), np.asarray(b)):
                    self.failed[name] = "another value"
        return result


@contextmanager
def watched_kernels() -> Iterator[tuple[dict[str, str], set[str]]]:
    failed: dict[str, str] = {}
    ran: set[str] = set()
    watched = [op for op in ALL_OPS.values() if op.kernel is not None and not op.composite and not op.direct]
    kernels = [op.compute for op in watched]
    try:
        for op in watched:
            op.compute = Watched(op, failed, ran)
        yield failed, ran
    finally:
        for op, kernel in zip(watched, kernels, strict=True):
            op.compute = kernel


@pytest.mark.plain
def test_kernels_compute_through_xp() -> None:
    if not PLAIN:               # compiled algorithms take arrays of NumPy: the sources are asked
        run = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", __file__], text=True,
                             capture_output=True, env={**os.environ, "RETROGRAD_PLAIN": "1"})
        assert run.returncode == 0, run.stdout
        return
    with watched_kernels() as (failed, ran):
        for case in CASES:
            with Through():
                if not case.refused:
                    case.call(case.places, [like(t, value(t), requires_grad=t.requires_grad) for t in case.tensors()])
                if has_gradient(case):
                    leaves = [like(t, value(t), requires_grad=True) for t in case.tensors(case.differentiable)]
                    results = floating(case.observe(case.differentiable, leaves))
                    grad(results, leaves, [torch.ones_like(t) for t in results], allow_unused=True)
    listed = {name for names in REMAINING.values() for name in names}
    assert {name: reason for name, reason in failed.items() if name not in listed} == {}
    assert len(ran) > 600
    assert listed - set(failed) == set(), "they run on the device now: take them from the list"
