"""Fused regions as compiled C: the values of eager's kernels, in every layout; the cache of libraries."""
from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.codegen import library
from retrograd.codegen.fused import Region, region_text
from retrograd.compile.deferred import Deferrer, codes
from retrograd.compile.regions import choices_of, statement
from retrograd.compile.waiting import Event, layout_of
from tests.ops.cases import TABLE


def chain(x: Any, w: Any, s: Any) -> Any:
    y = torch.sin(x) * 2.5 + w
    z = torch.where(y > s, y, torch.exp(-y)) / (1 + x * x)
    return y, z, (z < 0.5), torch.tanh(z) - torch.clamp(y, min=0.25)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETROGRAD_CACHE_DIR", str(tmp_path))
    for forgotten in (library.directory, library.compiler, library.fingerprint, library.warn):
        forgotten.cache_clear()
    library.loaded.clear()
    torch.compiler.reset()
    return tmp_path


def deferred(*args: Any) -> Any:
    for _ in range(3):
        with Deferrer():
            result = chain(*args)
    return result


def test_regions_compute_what_ops_compute(cache: Path) -> None:
    if library.compiler() is None:
        return
    torch.manual_seed(0)
    x = torch.randn(6, 5, 7)
    x[0, 0, 0], x[0, 0, 1], x[0, 0, 2], x[1, 0, 0] = float("nan"), float("inf"), -float("inf"), 1e7
    cases = [(x, torch.randn(7), torch.tensor(0.5)), (x.transpose(0, 2), torch.randn(7, 5, 1), torch.tensor(0.5)),
             (x[:, ::2], torch.randn(6, 1, 1), torch.tensor(0.5)),
             (x[:0], torch.randn(7), torch.tensor(0.5)), (x.double(), torch.randn(7).double(), torch.tensor(0.5).double())]
    for case in cases:
        for got, wanted in zip(deferred(*case), chain(*case), strict=True):
            assert got.stride() == wanted.stride()
            torch.testing.assert_close(got, wanted, equal_nan=True)
    made = [code for code in codes.values() if code is not None]
    assert all([code.function is not None for code in made])
    assert len({code.source for code in made}) < len(made)             # layouts are no part of the text
    assert len(list(cache.glob("*.so"))) == len({code.source for code in made})


def test_regions_declare_every_name_that_a_program_uses() -> None:
    layout = layout_of(np.zeros((3, 4), np.float32))
    for name, op in TABLE.items():
        for choice in choices_of(op):
            given = len(choice.numbers) + (choice.counted >= 0)
            operands = *range(len(choice.tensors)), *[-1 - i for i in range(given)]
            made = statement(Event(choice, operands, 99, layout, "f", 2 if choice.sums else -1))
            inputs = tuple([(i, "?" if mask else "f") for i, (_, _, mask) in enumerate(choice.tensors)])
            stored, sums = ((), (made,)) if choice.sums else ((made,), ())
            text = region_text(Region("f", inputs, ((99, "f"),) * len(stored), stored, sums, frozenset()), "region")
            assert set(re.findall(r"\bv_\w+", text)) <= {*re.findall(r"const T (v_\w+)", text), "v_n", "v_acc"}, name


def test_programs_use_the_number_of_elements_and_the_largest_number() -> None:
    def f(x: Any, y: Any) -> Any:
        loss = torch.nn.functional.mse_loss(torch.sin(x), y)
        return *torch.autograd.grad(loss, x), torch.nan_to_num(y / 0 * 2)
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        x, y = torch.randn(5, 3, dtype=dtype, requires_grad=True), torch.randn(5, 3, dtype=dtype)
        for _ in range(4):
            with warnings.catch_warnings(action="error" if library.compiler() else "ignore"), Deferrer():
                made = f(x, y)
        for got, wanted in zip(made, f(x, y), strict=True):
            torch.testing.assert_close(got, wanted)


def sums(x: Any, w: Any) -> Any:
    y = torch.cos(x) * w
    total = (y * y).mean()
    rows = y.sum(-1, keepdim=True)
    return total, rows, y - rows, y.sum((1, 2)), torch.linalg.vector_norm(y), total * 2, y.exp().sum(dim=(-2, -1), keepdim=True)


def test_sums_are_part_of_regions() -> None:
    if library.compiler() is None:
        return
    torch.manual_seed(0)
    x = torch.randn(3, 4, 5)
    x[1, 2, 3] = 1e8
    big = torch.randn(3, 70, 500)
    cases = [(x, torch.randn(5)), (x.transpose(0, 1), torch.tensor(2.0)), (x[:, :, :1], torch.randn(3, 1, 1)),
             (x[:1, :1], torch.randn(5)), (big, torch.randn(70, 1)), (big, torch.tensor(2.0))]
    for case in cases:
        for _ in range(3):
            with Deferrer():
                made = sums(*case)
        for got, wanted in zip(made, sums(*case), strict=True):
            assert got.stride() == wanted.stride()
            torch.testing.assert_close(got, wanted)
    assert any([code is not None and code.calls[0].region.sums for code in codes.values()])


def test_without_a_compiler_the_results_are_the_same_and_one_warning_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    library.compiler.cache_clear()
    x = torch.linspace(-2, 2, 12)
    case = x, torch.ones(12), torch.tensor(0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for got, wanted in zip(deferred(*case), chain(*case), strict=True):
            assert torch.equal(got, wanted)
    assert [str(w.message).startswith("no C compiler works here") for w in caught] == [True]
    library.compiler.cache_clear()


def test_a_directory_that_cannot_be_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("RETROGRAD_CACHE_DIR", str(file))
    library.directory.cache_clear()
    assert library.directory().is_dir() and library.directory() != file


def test_a_damaged_library_is_made_again(cache: Path) -> None:
    if library.compiler() is None:
        return
    text = '#include "fused.h"\n__attribute__((visibility("default"))) int answer(void) { return 42; }\n'
    assert library.build(text).answer() == 42
    made, = cache.glob("*.so")
    made.unlink()                                 # the loaded one stays mapped
    made.write_bytes(b"damaged")
    with warnings.catch_warnings(action="error"):
        assert library.build(text).answer() == 42


def test_processes_share_the_cache(cache: Path) -> None:
    if library.compiler() is None:
        return
    text = ("import retrograd as torch\nfrom retrograd.compile.deferred import Deferrer\nx = torch.ones(3)\n"
            "for _ in range(3):\n    with Deferrer():\n        y = x * 2 + 1\nprint(y.tolist())")
    running = [subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in running] == ["[3.0, 3.0, 3.0]\n"] * 2
    assert len(list(cache.glob("*.so"))) == 1 and not [path for path in cache.iterdir() if path.is_dir()]


def test_explain_shows_the_source() -> None:
    if library.compiler() is None:
        return
    source = torch.compiler.explain(lambda x: torch.sin(x) * 2)(torch.ones(3)).source
    assert "torch.ops.aten.sin" in source and "sin_f(v_a0)" in source


@pytest.mark.once
def test_the_installed_headers_are_those_that_regions_include() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    installed = project["tool"]["setuptools"]["package-data"]["retrograd.codegen"]
    found, todo = set(), ["fused.h"]
    while todo:
        name = todo.pop()
        found.add(f"native/{name}")
        todo += re.findall(r'#include "(\w+\.h)"', (library.HEADERS / name).read_text())
    assert set(installed) == found
