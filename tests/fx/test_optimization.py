"""Passes over models that are only evaluated."""
from __future__ import annotations

import retrograd as torch
from retrograd import nn
from retrograd.fx import symbolic_trace
from retrograd.fx.experimental.optimization import UnionFind, extract_subgraph, fuse, optimize_for_inference, remove_dropout


def model() -> nn.Module:
    torch.manual_seed(0)
    made = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Dropout(), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    made[1].running_mean.fill_(0.5)
    return made.eval()


def test_normalization_becomes_part_of_the_layer_before_it() -> None:
    before, x = model(), torch.randn(1, 1, 2, 3)
    layers = before[:2]
    fused = fuse(layers)
    assert [type(m) for m in fused.children()] == [nn.Conv2d]
    torch.testing.assert_close(fused(x), layers(x))
    assert type(layers[1]) is nn.BatchNorm2d                       # the model itself is unchanged


def test_normalization_by_the_batch_is_left_alone() -> None:
    layers = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False)).eval()
    assert [type(m) for m in fuse(layers).children()] == [nn.Linear, nn.BatchNorm1d]


def test_dropout_is_removed() -> None:
    kept = [type(m) for m in remove_dropout(model()[:3]).children()]
    assert kept == [nn.Conv2d, nn.BatchNorm2d]
    x = torch.randn(1, 1, 2, 3)
    ready = optimize_for_inference(model()[:3])
    assert [type(m) for m in ready.children()] == [nn.Conv2d]
    torch.testing.assert_close(ready(x), model()[:2](x))


def test_some_nodes_make_a_module() -> None:
    traced = symbolic_trace(lambda x: (x.relu() + 1) * 2)
    nodes = list(traced.graph.nodes)
    part = extract_subgraph(traced, nodes[1:3], nodes[:1], nodes[2:3])
    assert [v.item() for v in part(torch.tensor(3.0))] == [4.0]


def test_sets_are_united_under_the_larger() -> None:
    sets = UnionFind(4)
    for i in range(4):
        sets.make_set(i)
    assert sets.join(0, 1) is None and sets.join(2, 0) is None and sets.join(1, 2) == 0
    assert [sets.find(i) for i in range(4)] == [0, 0, 0, 3] and sets.size[0] == 3
