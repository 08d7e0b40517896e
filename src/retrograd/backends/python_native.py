"""Languages embedded in Python that kernels may be written in: none is used here."""
from __future__ import annotations

__all__ = ["all_dsls", "available_dsls"]

all_dsls: list[str] = []
available_dsls: list[str] = []
