"""Sizes and offsets that functions refuse, in PyTorch's words."""
import pytest

import retrograd as torch
from retrograd.nn import functional as F


@pytest.mark.parametrize("rank", [2, 3])
def test_adaptive_average_pooling_refuses_a_short_tuple(rank):
    pool = getattr(F, f"adaptive_avg_pool{rank}d")
    x = torch.ones((1, 1) + (4,) * rank)
    assert pool(x, 2).shape == (1, 1) + (2,) * rank
    with pytest.raises(RuntimeError, match=f"output_size must be {rank}"):
        torch.ops.aten.__getattr__(f"adaptive_avg_pool{rank}d")(x, (2,))


def test_embedding_bag_with_last_offset_needs_an_offset():
    bag = torch.nn.EmbeddingBag(4, 2, include_last_offset=True)
    with pytest.raises(RuntimeError, match="number of offset should be at least 1"):
        bag(torch.tensor([1]), torch.tensor([], dtype=torch.long))


def test_broadcast_shapes_refuses_negative_lengths():
    with pytest.raises(ValueError, match="broadcast a dimension with negative length"):
        torch.broadcast_shapes((2, -1), (3,))
