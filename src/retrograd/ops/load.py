"""Which modules declare public names, and when they are imported: a few with the package, the others on first use."""
from __future__ import annotations

from importlib import import_module

from retrograd.core import api
from retrograd.ops.names import NAMES

# In this order where all are imported: an op's overloads are tried in the order of their declaration.
TABLES = """
    activation attention compare complexes contract conv copy ctc dropout einsum embedding_bag extrema factorize factory
    fft foreach fromdata functional_forms generators grid histogram index inplace_views join layer_norm linalg linalg_more
    loss losses margin masked matmul meta misc norm numeric operators packing padding pointwise pool powers quick_views random
    reduce resize scan scatter shape slicing sort sparse special spectral stft tangents testing unary unfold upsample
    view_copies windows
""".split()


# What is not a table and declares names too.
OTHERS = ("legacy", "storage", "transforms.vmap")


def announce() -> None:
    """Let the names of all modules be known."""
    api.announce(NAMES, "retrograd.")


def import_all() -> None:
    """Import every module that declares names."""
    for name in TABLES:
        import_module(f"retrograd.ops.{name}")
    for name in OTHERS:
        import_module(f"retrograd.{name}")


def load_all() -> None:
    """Import every module and make every name, for those who want to see all there is."""
    import_all()
    api.bind_all()
