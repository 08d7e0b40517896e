"""Colorings of sparsity patterns: columns (or rows) of one color are computed together and remain separable."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Coloring", "color_hessian", "color_jacobian"]


@dataclass(frozen=True)
class Coloring:
    """A pattern with a color for each of its columns ("forward", "symmetric") or rows ("reverse")."""

    pattern: Any
    colors: Any
    mode: str

    @property
    def count(self) -> int:
        """The number of Jacobian products that the coloring needs."""
        return int(self.colors.max(initial=-1)) + 1


def color_jacobian(pattern: Any, mode: str = "auto") -> Coloring:
    """Give columns that share no row the same color, or rows that share no column.

    "forward" colors columns, for products with tangents; "reverse" rows, for products with gradients, which cost about
    twice as much each; "auto" chooses the cheaper one.

    >>> from scipy.sparse import eye_array
    >>> color_jacobian(eye_array(4)).count
    1
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"color_jacobian: expected mode to be 'auto', 'forward' or 'reverse', got {mode!r}")
    rows, columns = pattern.tocsr(), pattern.tocsc()
    if mode == "reverse":
        return Coloring(rows, greedy(rows, columns.shape[1]), "reverse")
    forward = greedy(columns, rows.shape[0])
    if mode == "auto":
        # a row coloring needs at least as many colors as the densest column has elements
        fullest = int(np.diff(columns.indptr).max(initial=0))
        if 2 * fullest < forward.max(initial=-1) + 1:
            reverse = greedy(rows, columns.shape[1])
            if 2 * (reverse.max(initial=-1) + 1) < forward.max(initial=-1) + 1:
                return Coloring(rows, reverse, "reverse")
    return Coloring(rows, forward, "forward")


def greedy(lines: Any, crossing: int) -> Any:
    """The first free color for each line (a column or a row); used colors are bits of the lines that it crosses."""
    taken = [0] * crossing
    bounds, crossed = lines.indptr.tolist(), lines.indices.tolist()
    colors = np.zeros(len(bounds) - 1, np.int64)
    for line in range(len(bounds) - 1):
        those = crossed[bounds[line]:bounds[line + 1]]
        used = 0
        for other in those:
            used |= taken[other]
        bit = ~used & used + 1
        colors[line] = bit.bit_length() - 1
        for other in those:
            taken[other] |= bit
    return colors


def color_hessian(pattern: Any) -> Coloring:
    """Color a symmetric pattern so that each element can be recovered from one of its two positions.

    Neighbors differ, and no path over four elements has only two colors (a star coloring).

    >>> from scipy.sparse import diags_array
    >>> color_hessian(diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6))).count
    3
    """
    rows = pattern.tocsr()
    rows = (rows + rows.T).tocsr()
    size = rows.shape[0]
    bounds, places = rows.indptr.tolist(), rows.indices.tolist()
    neighbors = [[w for w in places[bounds[v]:bounds[v + 1]] if w != v] for v in range(size)]
    bits = [0] * size                         # the color of each, as a bit; 0 if not yet colored
    once = [0] * size                         # colors among the neighbors
    twice = [0] * size                        # colors of more than one neighbor
    for v in range(size):
        used = 0
        for w in neighbors[v]:
            bit = bits[w]
            if not bit:
                used |= once[w]
                continue
            used |= bit
            for x in neighbors[w]:
                if twice[x] & bit:
                    used |= bits[x]
        bit = bits[v] = ~used & used + 1
        for w in neighbors[v]:
            twice[w] |= once[w] & bit
            once[w] |= bit
    return Coloring(rows, np.array([bit.bit_length() - 1 for bit in bits], np.int64), "symmetric")
