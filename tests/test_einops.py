"""Patterns of dimensions are read strictly, and rearranged tensors are views, permutations and reshapes."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd._functorch.package.einops import rearrange
from retrograd._functorch.package.einops._parsing import AnonymousAxis, ParsedExpression, comma_separate
from retrograd._functorch.package.einops.rearrange import DimensionBindError

X = torch.arange(120).view(2, 3, 4, 5)


@pytest.mark.parametrize(("pattern", "lengths", "wanted"), [
    ("a b c d -> d c b a", {}, lambda x: x.permute(3, 2, 1, 0)), ("a b c d -> (a b) c d", {}, lambda x: x.reshape(6, 4, 5)),
    ("a ... -> ... a", {}, lambda x: x.movedim(0, -1)),
    ("a b ... -> (b a) ...", {}, lambda x: x.transpose(0, 1).reshape(6, 4, 5)),
    ("... -> (...)", {}, lambda x: x.reshape(-1)), ("a b c d -> a (b c) 1 d", {}, lambda x: x.reshape(2, 12, 1, 5)),
    ("a b c d -> () a b c d", {}, lambda x: x[None]),
    ("a b (c1 c2) d -> a c2 b c1 d", {"c1": 2}, lambda x: x.reshape(2, 3, 2, 2, 5).permute(0, 3, 1, 2, 4)),
    (" a  b c   d->d (c b) a ", {"b": 3}, lambda x: x.permute(3, 2, 1, 0).reshape(5, 12, 2))])
def test_dimensions_are_rearranged(pattern: str, lengths: dict[str, int], wanted: Any) -> None:
    assert torch.equal(rearrange(X, pattern, **lengths), wanted(X))


def test_lists_are_stacked_and_numbers_have_no_dimensions() -> None:
    assert torch.equal(rearrange([X, X + 1], "n a b c d -> a (n b) c d"), torch.cat([X, X + 1], 1))
    assert rearrange(torch.tensor(1), " -> ").shape == () and rearrange(torch.tensor(1), " -> ()").shape == (1,)


@pytest.mark.parametrize(("pattern", "lengths", "kind", "text"), [
    ("a b c d -> a b c", {}, ValueError, "Identifiers only on one side of rearrange expression"),
    ("a a c d -> a c d", {}, ValueError, "Indexing expression contains duplicate dimension 'a'"),
    ("a b c d", {}, ValueError, "Pattern must contain a single '->' separator"),
    ("a b c d -> a b c d", {"e": 2}, ValueError, "Identifiers not found in rearrange expression: {'e'}"),
    ("a b c d -> a b c d", {"a": "q"}, TypeError, "rearrange axis lengths must be integers, got: <class 'str'>"),
    ("a b c d e -> a b c d e", {}, ValueError, r"must be equal to the number of dimensions in the tensor \(4\)"),
    ("a b c 2 -> a b c", {}, ValueError, "rearrange only supports unnamed axes of size 1"),
    ("a b c d -> a b c d ...", {}, ValueError, "Ellipsis found in right side, but not left side"),
    ("(...) d -> d ...", {}, ValueError, "Ellipsis is parenthesis in the left side is not allowed"),
    ("(a b) c d e -> a b c d e", {}, DimensionBindError, "cannot infer the sizes of two dimensions at once"),
    ("(a b) c d e -> a b c d e", {"a": 3}, DimensionBindError, "does not evenly fit into larger dimension: 2 vs"),
    ("b c h w -> b c (h w)", {"h": 5}, DimensionBindError, r"Dimension sizes to do not match \(4 != 5\)")])
def test_patterns_that_do_not_fit_are_refused(pattern: str, lengths: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        rearrange(X, pattern, **lengths)


@pytest.mark.parametrize(("expression", "text"), [
    ("a (b", "Imbalanced parentheses in expression: 'a .b'"), ("a b)", "Brackets are not balanced"),
    ("a ((b))", "Axis composition is one-level"), ("a . b", "Expression may contain dots only inside ellipsis"),
    ("... ...", "only one ellipsis for tensor"), ("1a", "Invalid axis identifier: 1a not a valid python identifier"),
    ("a_", "should not start or end with underscore"), ("a-b", "Unknown character '-'"), ("0", "should have positive length")])
def test_expressions_are_read_strictly(expression: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ParsedExpression(expression)


def test_expressions_know_their_names_and_groups() -> None:
    parsed = ParsedExpression("a (b 1) 1 2 (...)")
    assert parsed.composition[:3] == [["a"], ["b"], []] and parsed.has_ellipsis and parsed.has_ellipsis_parenthesized
    assert parsed.has_non_unitary_anonymous_axes and str(parsed.composition[3][0]) == "2-axis"
    assert AnonymousAxis("2") != AnonymousAxis("2") and comma_separate([("a",), "b"]) == "(a,), b"
    assert ParsedExpression("a _ _", allow_underscore=True).composition == [["a"], ["_"], ["_"]]
    with pytest.warns(RuntimeWarning, match="axes names that are keywords: if"):
        assert ParsedExpression.check_axis_name("if")
