"""What needs a package that is not installed says which one."""
from __future__ import annotations

import subprocess
import sys


def said(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_summary_writer_needs_the_package_of_tensorboard() -> None:
    assert said("import sys; sys.modules['tensorboard'] = None\n"
                "try: from retrograd.utils.tensorboard import SummaryWriter\n"
                "except ModuleNotFoundError as missing: print(missing.name)") == "tensorboard"


def test_export_needs_the_package_of_onnx() -> None:
    assert said("import sys; sys.modules['onnx'] = None\n"
                "import retrograd as torch\n"
                "try: torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),))\n"
                "except torch.onnx.OnnxExporterError as error: print(error)").startswith("Module onnx is not installed!")
