"""`rearrange`: what patterns mean, and PyTorch's texts for those that mean nothing."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.func import grad, rearrange, vmap
from retrograd.transforms.rearrange import DimensionBindError


def example() -> Any:
    return torch.arange(24.0).reshape(2, 3, 4)


PATTERNS: dict[str, Any] = {
    "a b c -> c b a": lambda x: x.transpose(2, 1, 0),
    "a b c -> (a b) c": lambda x: x.reshape(6, 4),
    "... c -> c ...": lambda x: x.transpose(2, 0, 1),
    "a ... -> ... a": lambda x: x.transpose(1, 2, 0),
    "a b c -> a 1 b c": lambda x: x[:, None],
    "a b c -> a () b c": lambda x: x[:, None],
    "... -> (...)": lambda x: x.reshape(-1),
    "a ... c -> (a c) ...": lambda x: x.transpose(0, 2, 1).reshape(8, 3),
    "... c -> (c ...)": lambda x: x.transpose(2, 0, 1).reshape(-1),
    "a b c -> (c a) b": lambda x: x.transpose(2, 0, 1).reshape(8, 3),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern_says_where_dimensions_go(pattern: str) -> None:
    np.testing.assert_array_equal(rearrange(example(), pattern).numpy(), PATTERNS[pattern](example().numpy()))


def test_a_dimension_is_split_by_sizes_given() -> None:
    made = rearrange(example(), "a b (c1 c2) -> a c2 b c1", c1=2)
    np.testing.assert_array_equal(made.numpy(), example().numpy().reshape(2, 3, 2, 2).transpose(0, 3, 1, 2))


def test_a_list_is_stacked() -> None:
    assert rearrange([example(), example() + 1], "n a b c -> a n b c").shape == (2, 2, 3, 4)


def test_it_is_differentiable_and_batched() -> None:
    x = example()
    assert grad(lambda x: (rearrange(x, "a b c -> (c b a)") * torch.arange(24.0)).sum())(x)[1, 0, 0].item() == 1.0
    assert vmap(lambda row: rearrange(row, "b c -> c b"))(x).shape == (2, 4, 3)


@pytest.mark.parametrize(("pattern", "sizes", "error", "text"), [
    ("a b -> b a", {}, ValueError, "Number of dimensions in pattern (2) must be equal to the number of dimensions in the "
                                   "tensor (3)"),
    ("a b c -> a b", {}, ValueError, "Identifiers only on one side of rearrange expression (should be on both): {'c'}"),
    ("a a c -> a c", {}, ValueError, "Indexing expression contains duplicate dimension 'a'"),
    ("a b c", {}, ValueError, "Pattern must contain a single '->' separator"),
    ("a b c -> (a b c", {}, ValueError, "Imbalanced parentheses in expression: ' (a b c'"),
    ("a b c -> a) b c", {}, ValueError, "Brackets are not balanced"),
    ("((a b)) c d -> a b c d", {}, ValueError, "Axis composition is one-level (brackets inside brackets not allowed)"),
    ("a b c -> a (b c) ...", {}, ValueError, "Ellipsis found in right side, but not left side of a pattern"),
    ("(...) c -> c ...", {}, ValueError, "Ellipsis is parenthesis in the left side is not allowed: (...) c -> c ..."),
    ("... ... c -> c ...", {}, ValueError, "only one ellipsis for tensor"),
    ("a. b c -> b c a.", {}, ValueError, "Expression may contain dots only inside ellipsis (...)"),
    ("_a b c -> b c _a", {}, ValueError, "Invalid axis identifier: _a\naxis name should should not start or end with "
                                         "underscore"),
    ("1a b c -> b", {}, ValueError, "Invalid axis identifier: 1a\nnot a valid python identifier"),
    ("a b 2 -> a b 2", {}, ValueError, "rearrange only supports unnamed axes of size 1"),
    ("a b c -> a b c", {"d": 3}, ValueError, "Identifiers not found in rearrange expression: {'d'}"),
    ("(a1 a2) b c -> a1 a2 b c", {}, DimensionBindError, "cannot infer the sizes of two dimensions at once d0 and d1"),
    ("(a1 a2) b c -> a1 a2 b c", {"a1": 5}, DimensionBindError, "inferred dimension does not evenly fit into larger "
                                                                "dimension: 2 vs (5, '?')"),
    ("a b c -> a b c", {"a": 5}, DimensionBindError, "Dimension sizes to do not match (2 != 5) when matching "
                                                      "dimension pack (d0,)"),
])
def test_what_means_nothing_is_refused(pattern: str, sizes: dict[str, int], error: Any, text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        rearrange(example(), pattern, **sizes)


def test_a_keyword_as_a_name_is_discouraged() -> None:
    with pytest.warns(RuntimeWarning, match="It is discouraged to use axes names that are keywords: if"):
        rearrange(example(), "if b c -> b c if")
