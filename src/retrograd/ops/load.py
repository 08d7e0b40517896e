"""Imports the op tables; importing a table declares its ops."""
from __future__ import annotations

from importlib import import_module

TABLES = """
    activation attention compare complexes contract conv copy dropout einsum embedding_bag extrema factorize factory
    fft foreach fromdata generators index inplace_views join layer_norm linalg linalg_more loss losses masked matmul
    meta misc norm numeric operators pointwise pool powers quick_views random reduce resize scan scatter shape slicing
    sort sparse special spectral stft tangents testing unary unfold upsample view_copies windows
""".split()


def load_tables() -> None:
    """Import every table, in this order: an op's overloads are tried in the order of their declaration."""
    for name in TABLES:
        import_module(f"retrograd.ops.{name}")
