"""Sobol sequences: points that fill a cube more evenly than random ones."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

import retrograd as torch

__all__ = ["SobolEngine"]

BITS = 30


class SobolEngine:
    """Points of a Sobol sequence in the unit cube of `dimension` dimensions, scrambled if asked for; needs scipy's table.

    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        directions = direction_numbers(dimension)
        shift = np.zeros(dimension, np.int64)
        if scramble:        # drawn in PyTorch's order: a shift, then a random lower triangular matrix of digits
            generator = None if seed is None else torch.Generator().manual_seed(seed)
            digits = torch.randint(2, (dimension, BITS), generator=generator).numpy()
            shift = digits @ (1 << np.arange(BITS, dtype=np.int64))
            lower = torch.randint(2, (dimension, BITS, BITS), generator=generator).tril().numpy()
            directions = scrambled(directions, lower)
        self.sobolstate, self.shift = torch.as_tensor(directions), torch.as_tensor(shift)
        self.quasi = self.shift.clone()

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next `n` points."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        points = np.empty((n, self.dimension), np.int64)
        state, quasi = self.sobolstate.numpy(), self.quasi.numpy()
        for i in range(n):
            self._advance(state, quasi)
            points[i] = quasi
        made = torch.as_tensor(points).to(dtype) / 2**BITS
        return made if out is None else out.resize_(made.shape).copy_(made)

    def _advance(self, state: Any, quasi: Any) -> None:
        """Go to the next point, which differs from the last in the digits of one direction; the first is where it stands."""
        if self.num_generated:
            index = self.num_generated - 1
            quasi ^= state[:, (~index & (index + 1)).bit_length() - 1]
        self.num_generated += 1

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next 2**m points; all points together must be a power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} "
                             f"points have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you "
                             "still want to do this, please use 'SobolEngine.draw()' instead.")
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out `n` points."""
        state, quasi = self.sobolstate.numpy(), self.quasi.numpy()
        for _ in range(n):
            self._advance(state, quasi)
        return self

    def __repr__(self) -> str:
        text = [f"dimension={self.dimension}"]
        if self.scramble:
            text.append("scramble=True")
        if self.seed is not None:
            text.append(f"seed={self.seed}")
        return f"{self.__class__.__name__}({', '.join(text)})"


def direction_numbers(dimension: int) -> Any:
    """The digits that change from point to point: Joe and Kuo's numbers, from the table that scipy has."""
    try:
        import scipy.stats
    except ImportError as error:
        raise ModuleNotFoundError("No module named 'scipy': SobolEngine takes the direction numbers from scipy "
                                  "(pip install scipy)", name="scipy") from error
    path = os.path.join(os.path.dirname(scipy.stats.__file__), "_sobol_direction_numbers.npz")
    with np.load(path) as table:
        polynomials, initial = table["poly"][:dimension].astype(np.int64), table["vinit"][:dimension].astype(np.int64)
    v = np.zeros((dimension, BITS), np.int64)
    v[0] = 1
    for d in range(1, dimension):
        polynomial = int(polynomials[d])
        degree = polynomial.bit_length() - 1
        v[d, :degree] = initial[d, :degree]
        for j in range(degree, BITS):
            value = int(v[d, j - degree])
            for k in range(degree):
                if polynomial >> (degree - 1 - k) & 1:
                    value ^= (2 << k) * int(v[d, j - k - 1])
            v[d, j] = value
    return v << np.arange(BITS - 1, -1, -1, dtype=np.int64)


def scrambled(directions: Any, lower: Any) -> Any:
    """Directions whose digits are multiplied, modulo 2, by triangular matrices with ones on the diagonal."""
    lower = lower.copy()
    places = np.arange(BITS)
    lower[:, places, places] = 1
    digits = directions[:, :, None] >> np.arange(BITS - 1, -1, -1) & 1      # the highest first
    made = np.einsum("dpk,djk->djp", lower, digits) & 1
    return made @ (1 << np.arange(BITS - 1, -1, -1, dtype=np.int64))
