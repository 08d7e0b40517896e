"""Triangles of matrices, the places of their elements, and Kronecker products: tril, triu, tril_indices, kron."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import native
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.opdef import defop
from retrograd.core.tensor import new_tensor
from retrograd.ops.shared.families import in_front, will_differentiate
from retrograd.ops.shared.triangles import lower_part, upper_part
from retrograd.ops.views.shape import unsafe_view


# ---- triangles
def triangle(name: str, part: Any) -> Any:
    def kernel(xp: Any, self: Any, diagonal: int) -> Any:
        if self.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return part(self, diagonal)
    return kernel


tril = defop(
    "tril(Tensor self, SymInt diagonal=0) -> Tensor",
    kernel=triangle("tril", lower_part), inplace=True,
    vjp=dict(self=lambda grad, diagonal: grad.tril(diagonal)), jvp="linear", batch=in_front, pattern="moves",
    lower="@native.tril",
    traits=("chalf", "unguarded"),
    doc="""The elements on and below a diagonal, and zeros.
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """,
)
triu = defop(
    "triu(Tensor self, SymInt diagonal=0) -> Tensor",
    kernel=triangle("triu", upper_part), inplace=True,
    vjp=dict(self=lambda grad, diagonal: grad.triu(diagonal)), jvp="linear", batch=in_front, pattern="moves",
    lower="@native.triu",
    traits=("chalf", "unguarded"),
    doc="""The elements on and above a diagonal, and zeros.
    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """,
)


def triangle_indices(name: str, keep: Any) -> None:
    def kernel(xp: Any, row: int, col: int, offset: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
        if row < 0 or col < 0:
            which, value = ("row", row) if row < 0 else ("col", col)
            raise RuntimeError(f"{which} must be non-negative, got{value}")
        if dtype is not None and dtype.char not in "ilq":
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.BY_NUMPY[dtype].legacy}'")
        made = None if native is None else native.triangle_indices(row, col, offset, name == "tril_indices")
        if made is None:
            distance = xp.arange(col) - xp.arange(row)[:, None]
            made = lean.stack(xp.nonzero(keep(distance, offset)))
        return made.astype(dtype or np.int64, copy=False)
    defop(f"{name}(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, Device? "
          f"device=None, bool? pin_memory=None) -> Tensor", kernel=kernel, variants="function", out=False)


triangle_indices("tril_indices", lambda distance, offset: distance <= offset)
triangle_indices("triu_indices", lambda distance, offset: distance >= offset)


# ---- products of shapes
def kron_kernel(self: Any, other: Any) -> Any:
    """The Kronecker product."""
    a, b = self.array.shape, other.array.shape
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if is_ordinary(self) and is_ordinary(other) and self.array.dtype is other.array.dtype and not (
            will_differentiate(self) or will_differentiate(other)):
        left, right = self.array.reshape([n for x in a for n in (x, 1)]), other.array.reshape([n for x in b for n in (1, x)])
        made = (new_tensor(left) * new_tensor(right)).array
        return new_tensor(made.reshape([x * y for x, y in zip(a, b, strict=True)]))
    left = call(unsafe_view, [self, [n for x in a for n in (x, 1)]])
    right = call(unsafe_view, [other, [n for x in b for n in (1, x)]])
    return call(unsafe_view, [left * right, [x * y for x, y in zip(a, b, strict=True)]])


defop("kron(Tensor self, Tensor other) -> Tensor", kernel=kron_kernel, composite=True, lower="@native.kron",
      doc="""The Kronecker product.
      >>> torch.kron(torch.tensor([1, 2]), torch.tensor([1, 10]))
      tensor([ 1, 10,  2, 20])
      """)
