"""Algorithms in C over several threads: the same bits for 1, 2 and 7 of them, in forked children too."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import retrograd as torch

F = torch.nn.functional


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def below(limit: int, *shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(1).integers(0, limit, shape))


X = normal(300, 500)
ALONG = below(300, 300, 500)
ROWS = below(300, 500)
IMAGES = normal(9, 6, 20, 20)
WHOLE = below(5, 9, 6, 20, 20).float() - 2
STACK = normal(40, 20, 20) + 20 * torch.eye(20)


def whole(*shape: int) -> Any:
    """Small whole numbers, whose products and sums are exact in any order: the BLAS has its own at any number of threads."""
    return below(5, *shape).float() - 2


def with_gradients(function: Callable[..., Any], *inputs: Any) -> list[Any]:
    leaves = [x.clone().requires_grad_() for x in inputs]
    result = function(*leaves)
    return [result, *torch.autograd.grad(result.square().sum(), leaves)]


CASES: dict[str, Callable[[], Any]] = {
    "flip": lambda: [X.flip(0), X.flip(1), X.flip(0, 1)],
    "roll": lambda: [X.roll(3, 0), X.roll(-7), X.roll((2, 5), (0, 1))],
    "contiguous": lambda: [X.t().contiguous(), IMAGES.permute(2, 0, 3, 1).contiguous(), X[::2, ::3].contiguous()],
    "cast": lambda: [X.to(d) for d in (torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool, torch.float16,
                                       torch.bfloat16)],
    "cast back": lambda: [X.to(d).t().float() for d in (torch.float64, torch.int64, torch.bool, torch.float16,
                                                        torch.bfloat16)],
    "join": lambda: [torch.cat([X, X.t().reshape(300, 500)], 1), torch.stack([X, X + 1], 1)],
    "gather": lambda: [X.gather(0, ALONG), X.gather(1, ALONG)],
    "scatter": lambda: [X.scatter_add(0, ALONG, X), X.scatter_add(1, ALONG, X),
                        X.scatter_reduce(1, ALONG, X, "amax"), X.scatter_reduce(0, ALONG, X, "prod")],
    "rows": lambda: [X[ROWS], X.index_add(0, ROWS, normal(500, 500)), X.index_add(1, ROWS[:300], normal(300, 300))],
    "masks": lambda: [X[X > 0], (X > 0).nonzero(), X.masked_select(X > 1)],
    "order": lambda: [*X.sort(1), *X.topk(10, 1), *X.kthvalue(5, 1), torch.searchsorted(X.sort(1).values, X)],
    "levels": lambda: [torch.fake_quantize_per_tensor_affine(X, 0.1, 1, -8, 7), torch.fake_quantize_per_channel_affine(
        X, torch.linspace(0.1, 1, 500), torch.zeros(500, dtype=torch.int32), 1, -8, 7)],
    "triangles": lambda: [X.tril(), X.triu(3)],
    "conv2d": lambda: [*with_gradients(lambda x, w: F.conv2d(x, w, padding=1), WHOLE, whole(8, 6, 3, 3)),
                       *with_gradients(lambda x, w: F.conv2d(x, w, stride=2, dilation=2), WHOLE, whole(8, 6, 3, 3))],
    "depthwise": lambda: with_gradients(lambda x, w: F.conv2d(x, w, padding=1, groups=6), WHOLE, whole(6, 1, 3, 3)),
    "conv_transpose2d": lambda: with_gradients(lambda x, w: F.conv_transpose2d(x, w, stride=2), WHOLE, whole(6, 4, 3, 3)),
    "pooling": lambda: [*with_gradients(lambda x: F.max_pool2d(x, 2), IMAGES), *with_gradients(lambda x: F.avg_pool2d(x, 3, 2),
                                                                                               IMAGES)],
    "windows": lambda: with_gradients(lambda x: F.unfold(x, 3), IMAGES),
    "bmm": lambda: with_gradients(torch.bmm, whole(20, 50, 60), whole(20, 60, 50)),
    "half matmul": lambda: [x @ x.t() for x in (whole(200, 300).half(), whole(200, 300).bfloat16())],
}


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 7):
            torch.set_num_threads(count)
            results.append([r.detach() for r in CASES[name]()])
    finally:
        torch.set_num_threads(threads)
    for first, *others in zip(*results, strict=True):
        for other in others:
            assert first.dtype == other.dtype and torch.equal(first, other)


def test_attention_and_solvers_agree_over_threads() -> None:
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 7):
            torch.set_num_threads(count)
            results.append([*with_gradients(lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True),
                                            normal(3, 5, 70, 16), normal(3, 5, 70, 16, seed=1)),
                            torch.linalg.inv(STACK), torch.linalg.solve(STACK, STACK[:, :, :3]), torch.linalg.det(STACK)])
    finally:
        torch.set_num_threads(threads)
    for first, *others in zip(*results, strict=True):
        for other in others:
            torch.testing.assert_close(first, other)


def test_copies_have_the_values_of_numpy() -> None:
    x = X.numpy()
    assert np.array_equal(X.flip(1).numpy(), x[:, ::-1])
    assert np.array_equal(X.roll((2, -5), (0, 1)).numpy(), np.roll(x, (2, -5), (0, 1)))
    assert np.array_equal(X.roll(7).numpy(), np.roll(x, 7))
    assert np.array_equal(X.t().contiguous().numpy(), np.ascontiguousarray(x.T))
    assert np.array_equal(X.expand(3, 300, 500).contiguous().numpy(), np.stack([x] * 3))
    for dtype in (torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.bool, torch.float16):
        assert np.array_equal(X.to(dtype).numpy(), x.astype(X.to(dtype).numpy().dtype))
    many = torch.arange(200_000)
    assert np.array_equal(many.to(torch.int16).numpy(), many.numpy().astype(np.int16))
    assert np.array_equal(many.to(torch.float16).numpy(), many.numpy().clip(max=65520).astype(np.float16))


def test_scattered_rows_and_elements_are_those_of_numpy() -> None:
    x, index, rows = X.double().numpy(), ALONG.numpy(), ROWS.numpy()
    wanted = x.copy()
    np.add.at(wanted, (index, np.arange(500)), x)
    assert np.allclose(X.double().scatter_add(0, ALONG, X.double()).numpy(), wanted)
    wanted = x.copy()
    np.add.at(wanted, rows, x[rows])
    assert np.allclose(X.double().index_add(0, ROWS, X.double()[ROWS]).numpy(), wanted)
    with pytest.raises(RuntimeError, match="out of bounds"):
        X.gather(0, ALONG + 1)


def test_masks_select_across_pieces() -> None:
    x = normal(70_000, 3)
    mask = x[:, 0] > 0
    assert np.array_equal(x[mask].numpy(), x.numpy()[mask.numpy()])
    assert np.array_equal((x > 1).nonzero().numpy(), np.argwhere(x.numpy() > 1))


def test_concurrent_callers_share_the_pool() -> None:
    def compute(k: int) -> float:
        return float((F.conv2d(IMAGES + k, torch.ones(8, 6, 3, 3)).sum() + X.flip(0).add(k).topk(3, 1).values.sum()).item())
    wanted = [compute(k) for k in range(6)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compute, range(6))) == wanted


def test_forked_child_runs_algorithms() -> None:
    code = """
import os, retrograd as torch
torch.set_num_threads(3)
x = torch.ones(400, 500)
w = torch.ones(4, 5, 3, 3)
def check():
    return torch.nn.functional.conv2d(x.reshape(8, 5, 50, 100), w).sum().item() + x.flip(0).sum().item() == 6973760
assert check()
pid = os.fork()
if not pid:
    os._exit(0 if check() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0
