"""The examples run: those about retrograd print what they are about, the PyTorch programs reach PyTorch's numbers."""
from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
HOME = str(Path(retrograd.__file__ or "").resolve().parent.parent)
RECORDED = json.loads((EXAMPLES / "recorded.json").read_text())
SAID = {
    "origins.py": ["saved for the backward of Exp at examples/origins.py:10: scores = x.exp()",
                   "changed by div_ at examples/origins.py:12: scores /= total.detach()",
                   "taken through .data at examples/origins.py:18: hidden = x * w.data",
                   "detached by detach at examples/origins.py:24: size = w.detach().norm()"],
    "step_backward.py": ["0: MeanBackward0 at examples/step_backward.py:17: return near.mean()",
                         "the gradient of centre is [nan, nan]",
                         "goes out: [nan, 0.03333333507180214, 0.0833333358168602]",
                         "mended, the gradient of centre is [-0.2, 0.067]"],
}


@pytest.mark.parametrize("name", SAID)
def test_example_says_what_it_is_about(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for text in SAID[name]:
        assert text in printed


@pytest.mark.parametrize("name", RECORDED["short"])
def test_pytorch_program_reaches_the_numbers_of_pytorch_and_compiled_its_own(name: str) -> None:
    env = os.environ | {"PYTHONPATH": HOME, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "retrograd", "run", "tools/record_examples.py", "--show", name, "--compiled"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES.parent, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    eager, compiled = json.loads(done.stdout)
    assert eager == pytest.approx(RECORDED["short"][name], rel=1e-3, abs=1e-5)
    assert compiled == pytest.approx(eager, rel=1e-5, abs=1e-6)


def test_every_pytorch_program_among_the_examples_is_recorded() -> None:
    programs = [path.stem for path in EXAMPLES.glob("*.py") if "\nimport torch\n" in path.read_text()]
    assert sorted(programs) == sorted(RECORDED["short"])


def test_demo_has_the_losses_of_pytorch_to_compare_with() -> None:
    assert RECORDED["version"].startswith("2.13") and len(RECORDED["demo"]) == 60
