"""The cpu."""
from __future__ import annotations


def get_cpu_capability() -> str:
    """The vector instructions that kernels are written for; NumPy chooses its own.

    >>> get_cpu_capability()
    'DEFAULT'
    """
    return "DEFAULT"
