"""Sparse tensors: their parts, kernels and constructors. Importing the package registers them."""
from __future__ import annotations

from retrograd.ops.sparse import (
    compressed_construct,
    compressed_ops,
    construct,
    convert,
    gradients,
    pointwise,
    products,
    reductions,
    shape,
    text,
)

TABLES = (compressed_construct, compressed_ops, construct, convert, gradients, pointwise, products, reductions, shape, text)
