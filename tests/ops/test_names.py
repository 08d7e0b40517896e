"""The list of names that stand for tables not yet imported is what the tables declare."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_list_of_names_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "op_names.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
