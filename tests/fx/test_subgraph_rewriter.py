"""Patterns that are found by the one matcher of graphs, and what takes their place."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.fx.subgraph_rewriter import replace_pattern, replace_pattern_with_filters


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.act = torch.nn.Tanh()

    def forward(self, x: Any) -> Any:
        return self.act(self.linear(x))


class Other(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.gate = torch.nn.Sigmoid()

    def forward(self, x: Any) -> Any:
        return self.gate(x)


def test_modules_match_by_their_names_and_those_no_longer_called_go_away() -> None:
    traced = torch.fx.symbolic_trace(Scaled())
    pattern = torch.fx.Graph()
    pattern.output(pattern.call_module("linear", (pattern.placeholder("x"),)))
    assert len(replace_pattern(traced, pattern, Other())) == 1
    assert [name for name, _ in traced.named_children()] == ["act", "gate"]
    pattern = torch.fx.Graph()
    pattern.output(pattern.call_module("other_name", (pattern.placeholder("x"),)))
    assert replace_pattern(traced, pattern, lambda x: x) == []


def test_filters_and_callbacks_see_what_a_match_takes_and_gives() -> None:
    seen: list[Any] = []

    def accepts(match: Any, graph: Any, pattern: Any) -> bool:
        seen.append(([str(n) for n in match.placeholder_nodes], [str(n) for n in match.returning_nodes], match.anchors))
        return True

    def made(match: Any, graph: Any, pattern: Any) -> Any:
        new = torch.fx.Graph()
        new.output(new.call_function(torch.sin, (new.placeholder("a"),)))
        return new

    traced = torch.fx.symbolic_trace(lambda x: x.relu() + 1)
    done = replace_pattern_with_filters(traced, lambda x: x.relu(), match_filters=[accepts], replacement_callback=made)
    assert [(takes, gives) for takes, gives, _ in seen] == [(["x"], ["relu"])]
    assert seen[0][2] == [done[0].anchor] and [str(n) for n in done[0].replacements] == ["sin"]
    with pytest.raises(AssertionError, match="Must provide either a replacement GraphModule or a replacement callback"):
        replace_pattern_with_filters(traced, lambda x: torch.sin(x))
