"""A setting that goes with deterministic algorithms: whether uninitialised memory is filled."""
from __future__ import annotations

fill_uninitialized_memory = True
