"""Colorings: what shares a color can be told apart, and banded patterns take as few colors as their band is wide."""
from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, random_array

from retrograd.func import color_hessian, color_jacobian


def banded(size: int, width: int) -> Any:
    offsets = list(range(-width, width + 1))
    return diags_array([1.0] * len(offsets), offsets=offsets, shape=(size, size)).tocsr()


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_a_color_share_no_row(seed: int) -> None:
    pattern = random_array((30, 20), density=0.1, rng=np.random.default_rng(seed)).tocsr()
    coloring = color_jacobian(pattern, "forward")
    for color in range(coloring.count):
        assert (pattern[:, coloring.colors == color] != 0).sum(1).max() <= 1


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_a_color_share_no_column(seed: int) -> None:
    pattern = random_array((20, 30), density=0.1, rng=np.random.default_rng(seed)).tocsr()
    coloring = color_jacobian(pattern, "reverse")
    for color in range(coloring.count):
        assert (pattern[coloring.colors == color] != 0).sum(0).max() <= 1


@pytest.mark.parametrize("seed", range(5))
def test_no_path_over_four_has_two_colors(seed: int) -> None:
    pattern = random_array((14, 14), density=0.12, rng=np.random.default_rng(seed)).toarray() != 0
    pattern |= pattern.T
    coloring = color_hessian(csr_array(pattern))
    colors = coloring.colors
    near = {v: [w for w in range(14) if pattern[v, w] and w != v] for v in range(14)}
    for v in near:
        assert all([colors[w] != colors[v] for w in near[v]])
        for a, b in combinations(near[v], 2):
            for last in near[b]:
                if last not in (v, a) and colors[a] == colors[b]:
                    assert colors[last] != colors[v]


def test_bands_take_as_many_colors_as_they_are_wide() -> None:
    assert color_jacobian(banded(100, 2)).count == 5
    assert color_hessian(banded(100, 1)).count == 3
    assert color_hessian(banded(100, 0)).count == 1


def test_a_full_row_is_left_to_reverse_mode() -> None:
    wide = csr_array(np.ones((1, 50)))
    assert color_jacobian(wide).mode == "reverse"
    assert color_jacobian(wide).count == 1
    assert color_jacobian(wide.T.tocsr()).mode == "forward"
    assert color_jacobian(wide, "forward").count == 50


def test_an_empty_pattern_has_no_elements_to_color() -> None:
    assert color_jacobian(csr_array((0, 0))).count == 0
    assert color_hessian(csr_array((0, 0))).count == 0


def test_mode_is_checked() -> None:
    with pytest.raises(ValueError, match="expected mode to be 'auto', 'forward' or 'reverse', got 'both'"):
        color_jacobian(csr_array((2, 2)), "both")
