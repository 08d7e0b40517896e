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


def test_sizes_that_are_no_sequences_stand_for_every_dimension():
    assert torch.nn.MaxUnpool2d(0.5).kernel_size == (0.5, 0.5)
    assert torch.nn.ZeroPad2d(None).padding == (None,) * 4


def test_normalization_names_the_dimensions_that_inputs_lack():
    with pytest.raises(ValueError, match="CrossMapLRN2d: Expected input to be 4D, got 2D instead"):
        torch.nn.CrossMapLRN2d(3)(torch.ones(2, 3))
    with pytest.raises(ValueError, match="Input tensor must have at least 2 dimensions, but got 1"):
        torch.nn.RMSNorm([4, 4])(torch.ones(4))
