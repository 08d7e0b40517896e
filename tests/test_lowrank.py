"""Decompositions by random projections."""
from __future__ import annotations

import pytest

import retrograd as torch


@pytest.mark.parametrize("shape", [(12, 5), (5, 12), (2, 9, 4)])
def test_matrix_of_low_rank_is_decomposed(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    a = torch.randn(*shape[:-1], 2, dtype=torch.float64) @ torch.randn(*shape[:-2], 2, shape[-1], dtype=torch.float64)
    u, s, v = torch.svd_lowrank(a, q=3)
    torch.testing.assert_close(u @ torch.diag_embed(s) @ v.mH, a)
    torch.testing.assert_close(s[..., :2], torch.linalg.svdvals(a)[..., :2])


def test_principal_components_are_centred() -> None:
    torch.manual_seed(0)
    a = torch.randn(20, 4, dtype=torch.float64) + 5
    _, s, v = torch.pca_lowrank(a, q=4)
    torch.testing.assert_close(s, torch.linalg.svdvals(a - a.mean(0)))
    assert v.shape == (4, 4)
    with pytest.raises(ValueError, match=r"q\(=5\) must be non-negative integer and not greater than min\(m, n\)=4"):
        torch.pca_lowrank(a, q=5)


def test_singular_values_are_pytorchs_from_the_same_seed() -> None:
    torch.manual_seed(0)
    a = torch.randn(10, 4)
    torch.testing.assert_close(torch.svd_lowrank(a, 3)[1], torch.tensor([4.4598856, 2.9270513, 1.9494085]))
