"""Modules come from the library of compiled ones; RETROGRAD_PLAIN chooses the Python sources."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import retrograd._finder

FINDER = Path(retrograd._finder.__file__ or "")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package `retrograd` with a source, and a library that is not even loadable."""
    folder = tmp_path / "retrograd"
    (folder / "core").mkdir(parents=True)
    shutil.copy(FINDER, folder / "_finder.py")
    (folder / "__init__.py").write_text("from retrograd import _finder\n")
    (folder / "core" / "__init__.py").write_text("")
    (folder / "core" / "tensor.py").write_text("source = True\n")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    (folder / f"_compiled{suffix}").write_text("not a library")
    (folder / "core" / f"_native{suffix}").write_text("not a library")
    return tmp_path


def run(package: Path, plain: str, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=package,
                          env=os.environ | {"RETROGRAD_PLAIN": plain, "PYTHONPATH": str(package)}, timeout=60)


def test_plain_imports_the_source(package: Path) -> None:
    done = run(package, "1", "from retrograd.core import tensor; print(tensor.source)")
    assert done.stdout == "True\n", done.stderr


def test_plain_does_not_see_extensions_without_source(package: Path) -> None:
    done = run(package, "1", "import retrograd.core._native")
    assert "ModuleNotFoundError" in done.stderr and "RETROGRAD_PLAIN" in done.stderr


@pytest.mark.parametrize("value", ["", "0"])
def test_otherwise_the_library_comes_first(package: Path, value: str) -> None:
    done = run(package, value, "from retrograd.core import tensor")
    assert "ImportError" in done.stderr and "ModuleNotFoundError" not in done.stderr
