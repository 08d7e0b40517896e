"""The modules that declare public names: a few are imported with the package, the others on first use."""
from __future__ import annotations

from importlib import import_module

from retrograd.core import api
from retrograd.ops.names import names

# In this order where all are imported: an op's overloads are tried in the order of their declaration.
TABLES = """
    nn.activation nn.softmax nn.glu nn.prelu nn.attention elementwise.compare views.complex linalg.contract nn.conv
    memory.copy loss.ctc nn.dropout linalg.einsum nn.embedding_bag nn.fractional_pool reduction.extrema linalg.factors
    create.constants create.ranges signal.fft lists.foreach lists.foreach_unary lists.fused create.from_data
    memory.functional_forms create.generators nn.grid reduction.histogram indexing.index indexing.subscript
    views.inplace lists.join memory.rearrange linalg.triangles nn.constant_pad nn.layer_norm linalg.triangular
    linalg.solve linalg.cholesky linalg.lu linalg.determinants linalg.norms loss.kernels loss.composite loss.margin
    indexing.masked linalg.matmul shared.meta linalg.distance elementwise.integers nn.pixel_shuffle nn.recurrent
    memory.apply memory.geometry_ops nn.batch_norm nn.cells nn.rrelu reduction.statistics elementwise.operators
    nn.packing nn.padding nn.fake_quantize elementwise.arithmetic linalg.ldl reduction.segments nn.pool
    elementwise.binary create.random create.random_factories create.sampling reduction.sums memory.resize reduction.scan
    indexing.scatter indexing.slices indexing.flat views.shape views.slicing reduction.sort sparse elementwise.special
    linalg.spectral signal.stft memory.tangents shared.as_ops shared.cuda_only shared.other_backends
    shared.internal shared.testing elementwise.unary nn.unfold nn.upsample views.copies signal.windows linalg.grouped
    linalg.scaled
""".split()


# Modules other than tables that declare names.
OTHERS = ("legacy", "rare_methods", "storage", "transforms.vmap")

# Namespaces of ops of the distributed package.
COLLECTIVES = ("c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd")


def announce() -> None:
    """Register the names of all modules."""
    api.announce(names(), "retrograd.")
    api.NAMESPACES.update(dict.fromkeys(COLLECTIVES, "retrograd.distributed._ops"))


def import_all() -> None:
    """Import every module that declares names."""
    for name in TABLES:
        import_module(f"retrograd.ops.{name}")
    for name in OTHERS:
        import_module(f"retrograd.{name}")


def load_all() -> None:
    """Import every module and create every name, for code that lists all names."""
    import_all()
    api.bind_all()
