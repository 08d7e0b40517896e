"""A report on the machine and the libraries, for bug reports: `python -m torch.utils.collect_env`."""
from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

import retrograd as torch

PACKAGES = ("numpy", "ml_dtypes", "scipy", "opt_einsum", "torchvision", "torchaudio", "mypy")


def get_pretty_env_info() -> str:
    """The report.

    >>> get_pretty_env_info().splitlines()[0].startswith("PyTorch version: ")
    True
    """
    lines = [f"PyTorch version: {torch.version.__version__}", "Is debug build: False",
             "CUDA used to build PyTorch: None", "ROCM used to build PyTorch: N/A", "",
             f"OS: {platform.platform()}", f"Python version: {sys.version}", f"Python platform: {platform.platform()}",
             "Is CUDA available: False", f"CPU: {platform.processor() or platform.machine()}, {os.cpu_count()} cores", "",
             "Versions of relevant libraries:"]
    for name in PACKAGES:
        try:
            lines.append(f"[pip3] {name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return "\n".join(lines)


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
