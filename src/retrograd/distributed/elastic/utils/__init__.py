"""Helpers of launchers that programs import."""
from __future__ import annotations

from retrograd.distributed.elastic.utils import distributed as distributed
