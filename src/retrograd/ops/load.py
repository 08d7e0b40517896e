"""Imports the op tables; importing a table declares its ops."""
from __future__ import annotations

from retrograd.ops import (
    copy,
    factory,
    fromdata,
    meta,
    pointwise,
    resize,
    shape,
)

TABLES = (
    copy,
    factory,
    fromdata,
    meta,
    pointwise,
    resize,
    shape,
)


def load_tables() -> None:
    """The tables are loaded by being imported above; this is where that becomes visible."""
    assert TABLES
