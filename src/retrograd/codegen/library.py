"""Compiles C text to a loaded library, cached by hash in a directory shared between processes.

The directory is RETROGRAD_CACHE_DIR, or retrograd in XDG_CACHE_HOME or ~/.cache; where that is not writable, a temporary
one of this process. A library is named by the hash of its text, of the headers, of the flags and of the instruction set; it
is written under a temporary name and then renamed, so that processes never see a partial file.
"""
from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

HEADERS = Path(__file__).parent / "native"
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-std=gnu11", "-fopenmp-simd", "-ffp-contract=off",
         "-fvisibility=hidden", "-w", "-shared"]
MISSING = ("no C compiler works here: compiled functions run op by op, with the same results. Install gcc or clang, or name "
           "one in the environment variable CC.")


@cache
def compiler() -> list[str] | None:
    """The command of the C compiler; None if there is none."""
    named = os.environ.get("CC")
    for command in [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]:
        if command and shutil.which(command[0]):
            return command
    return None


@cache
def target_flags() -> list[str]:
    """The compiler flags for the instruction set: the x86-64 level that eager kernels use too."""
    level = instruction_set()
    if level == "plain":
        return []
    return [f"-march={level}", *(["-mprefer-vector-width=512"] if level == "x86-64-v4" else [])]


def instruction_set() -> str:
    native = loops()
    if native is not None:
        return str(native.instruction_set())
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "plain"
    flags = set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
    if {"avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd", "avx2", "fma"} <= flags:
        return "x86-64-v4"
    return "x86-64-v3" if {"avx2", "fma", "bmi2", "f16c"} <= flags else "plain"


@cache
def loops() -> Any:
    """The extension with the kernels of eager ops, None in the plain core."""
    try:
        from retrograd.core import _loops  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        return None
    return _loops


@cache
def pool() -> int:
    """The address of the thread pool's `parallel`, 0 if there is none."""
    return int(getattr(loops(), "parallel_address", 0))


@cache
def directory() -> Path:
    """The cache directory."""
    home = os.environ.get("RETROGRAD_CACHE_DIR")
    base = Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "retrograd"
    try:
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=base):
            pass
    except (OSError, RuntimeError):
        base = Path(tempfile.mkdtemp(prefix="retrograd"))
    return base


@cache
def fingerprint() -> bytes:
    """The inputs of a library other than its own text."""
    texts = [path.read_bytes() for path in sorted(HEADERS.glob("*.h"))]
    return hashlib.sha256(b"\0".join([*texts, " ".join([*(compiler() or []), *FLAGS, *target_flags()]).encode()])).digest()


loaded: dict[str, Any] = {}


def load(text: str) -> Any:
    """The library for a C text; None, with a warning the first time, if compilation fails."""
    if text in loaded:
        return loaded[text]
    loaded[text] = library = build(text)
    return library


def build(text: str) -> Any:
    command = compiler()
    if command is None or not HEADERS.is_dir():
        return warn(MISSING)
    path = directory() / f"{hashlib.sha256(fingerprint() + text.encode()).hexdigest()[:40]}.so"
    if path.exists():
        try:
            return ctypes.CDLL(str(path))
        except OSError:                           # damaged: made again
            pass
    with tempfile.TemporaryDirectory(dir=directory()) as folder:
        source, made = Path(folder) / f"{path.stem}.c", Path(folder) / path.name
        source.write_text(text)
        try:
            done = subprocess.run([*command, *FLAGS, *target_flags(), f"-I{HEADERS}", str(source), "-o", str(made), "-lm"],
                                  capture_output=True, text=True)
        except OSError as error:
            return warn(f"{MISSING} ({error})")
        if done.returncode:
            return warn(f"{MISSING} ({done.stderr.strip()[:500]})")
        os.replace(source, path.with_suffix(".c"))
        os.replace(made, path)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        return warn(f"{MISSING} ({error})")


@cache
def warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)
