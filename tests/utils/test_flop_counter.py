"""Operations are counted from shapes, by module and op."""
from __future__ import annotations

import retrograd as torch
from retrograd.utils.flop_counter import FlopCounterMode


def test_forward_and_backward_of_a_network_are_counted() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5))
    with FlopCounterMode(display=False) as counter:
        model(torch.randn(2, 3, 8, 8)).sum().backward()
    conv, linear = 2 * 36 * 9 * 2 * 4 * 3, 2 * 2 * 144 * 5
    counts = counter.get_flop_counts()["Global"]
    assert counts[torch.ops.aten.convolution] == conv == counts[torch.ops.aten.convolution_backward]
    assert counter.get_total_flops() == 2 * conv + 3 * linear
    assert "Linear" in counter.get_table(5)


def test_formulas_can_be_given() -> None:
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.sin: lambda x, out_val: x.numel()}) as counter:
        torch.sin(torch.ones(7))
    assert counter.get_total_flops() == 7
