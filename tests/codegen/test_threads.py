"""Threads and memory of the compiled kernels: any number of threads, forked children, several callers, reused blocks."""
from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import retrograd as torch


def large(seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random(300_000).astype(np.float32))


def test_threads_do_not_change_results() -> None:
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 7):
            torch.set_num_threads(count)
            assert torch.get_num_threads() == count
            x = large()
            results.append((x.exp().tolist(), x.sum().item(), x.reshape(300, 1000).softmax(1).tolist()))
    finally:
        torch.set_num_threads(threads)
    assert results[0] == results[1] == results[2]


def test_concurrent_callers_get_their_own_results() -> None:
    inputs = [large(i) for i in range(8)]
    wanted = [x.mul(2).sin().sum().item() for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(lambda x: x.mul(2).sin().sum().item(), inputs)) == wanted


def test_forked_child_computes() -> None:
    code = """
import os, retrograd as torch
torch.set_num_threads(3)
x = torch.ones(300_000)
assert x.add(1).sum().item() == 600_000
pid = os.fork()
if not pid:
    os._exit(0 if x.add(1).sum().item() == 600_000 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code],
         env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                          timeout=60)
    assert done.returncode == 0


def test_number_of_threads_comes_from_the_environment() -> None:
    code = "import retrograd as torch; print(torch.get_num_threads())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "3"})
    assert done.stdout == "3\n", done.stderr


def test_reused_memory_is_not_shared() -> None:
    kept = [torch.full((100_000,), float(i)) for i in range(6)]
    del kept[::2]
    fresh = [torch.full((100_000,), -1.0) for _ in range(6)]
    assert [t[0].item() for t in kept] == [1, 3, 5] and [t.max().item() for t in kept] == [1, 3, 5]
    assert all(t.max().item() == -1 for t in fresh)


def test_memory_statistics_follow_large_arrays() -> None:
    before = torch.cpu.memory_allocated()
    x = torch.zeros(1 << 20).add(1)
    during = torch.cpu.memory_allocated()
    assert during == before == 0 or during >= before + 4 * (1 << 20)
    assert torch.cpu.max_memory_allocated() >= during
    del x
    torch.cpu.empty_cache()
    assert torch.cpu.memory_reserved() == torch.cpu.memory_allocated()
