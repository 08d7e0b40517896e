"""The examples that need nothing but retrograd run, and print what they are about."""
from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
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
