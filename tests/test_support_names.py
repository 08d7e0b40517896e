"""Every documented public name of PyTorch exists here, or docs/support.md lists it under a reason."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd
from tests.loading import TOOLS, load_tool

pytestmark = pytest.mark.once
TOOL = TOOLS / "support_names.py"
HOME = str(Path(retrograd.__file__ or "").resolve().parent.parent)


def test_every_public_name_exists_or_is_listed_with_a_reason() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"PYTHONPATH": HOME})
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_without_a_reason_or_a_line_on_the_page_are_found() -> None:
    tool = load_tool("support_names")
    assert tool.problems({"torch.nn": ["no_such_name"]}) == [
        "torch.nn.no_such_name is missing without a reason",
        "torch.nn.no_such_name is missing on support.md: run tools/support_names.py"]


def test_names_of_modules_and_members_of_classes_are_recorded() -> None:
    names = load_tool("support_names").recorded()
    assert {"Linear", "Module", "Module.state_dict"} <= set(names["torch.nn"])
    assert len([n for n in names["torch"] if n.startswith("Tensor.")]) > 400
    assert "matrix_norm" in names["torch.linalg"]
