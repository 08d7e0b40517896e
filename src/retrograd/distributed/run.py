"""The launcher of the command line: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "config_from_args", "get_args_parser", "main", "parse_args", "run",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
