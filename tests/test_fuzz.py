"""Random programs give PyTorch's answers, which tools/fuzz.py has recorded."""
from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import fuzz, fuzz_calls

GOLDEN = {}
for name in ("fuzz", "fuzz_found"):         # random programs; short ones that once differed
    GOLDEN.update(json.loads(gzip.decompress((Path(__file__).parent / "golden" / f"{name}.json.gz").read_bytes())))


@pytest.fixture(scope="module")
def ask() -> Any:
    """retrograd in torch's place, in a process of its own."""
    asked = fuzz.Asked([sys.executable, str(Path(fuzz.__file__)), "--serve", "retrograd"])
    yield asked
    asked.process.stdin.close()
    asked.process.wait()
    asked.process.stdout.close()


@pytest.mark.parametrize("part", range(8))
def test_programs_answer_as_in_pytorch(ask: Any, part: int) -> None:
    seeds = sorted(GOLDEN)[part::8]
    assert seeds
    for seed in seeds:
        lines = fuzz.program(seed)
        ours, theirs = ask(lines), GOLDEN[seed]
        found = fuzz.differs(ours, theirs)
        assert found is None, "\n".join([f"seed {seed}: {found[1]}", *lines[:found[0] + 1], f"torch: {theirs[found[0]]}",
                                         f"ours:  {ours[found[0]]}"])


def test_a_difference_is_found_and_cut_down() -> None:
    def answers(lines: list[str]) -> list[Any]:
        return [[None, {"a": line.count("sin")}] for line in lines]

    def others(lines: list[str]) -> list[Any]:
        return [[None, {"a": 0}] for line in lines]
    lines = ["a = torch.ones(2)", "b = a + 1", "c = a.sin()", "d = c"]
    assert fuzz.differs(answers(lines), others(lines)) == (2, "kind")
    assert fuzz.cut_down(lines, answers, others, "kind") == ["c = a.sin()"]  # type: ignore[arg-type]


def test_the_tool_prints_programs() -> None:
    done = subprocess.run([sys.executable, str(Path(fuzz.__file__)), "--seeds", "3", "--show"], check=True, capture_output=True,
                          text=True, env={**os.environ})
    assert done.stdout.splitlines() == fuzz.generate(3)


def test_calls_are_made_of_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [["self", "Tensor", None, False], ["other", "Tensor", None, False], ["alpha", "number", "1", True]]
    monkeypatch.setattr(fuzz_calls, "FUNCTIONS", {("torch", "add"): [tensors, [*tensors, ["out", "Tensor!", None, True]]],
                                                  ("Tensor", "add_"): [tensors], ("F", "conv2d"): [
        [["input", "Tensor", None, False], ["weight", "Tensor", None, False], ["stride", "List[int]", "[1, 1]", False]]]})
    programs = [fuzz_calls.generate(seed) for seed in range(60)]
    assert programs == [fuzz_calls.generate(seed) for seed in range(60)]
    for lines in programs:
        compile("\n".join(lines), "program", "exec")
    text = "\n".join(["\n".join(lines) for lines in programs])
    assert all([part in text for part in ("torch.add(", ".add_(", "F.conv2d(", "out=", "alpha=", "torch.vmap(", ".backward(")])
