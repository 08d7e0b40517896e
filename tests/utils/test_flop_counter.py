"""Operations are counted from shapes, by module and op."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.utils.flop_counter import FlopCounterMode, convert_num_with_suffix, get_suffix_str, register_flop_formula


def test_forward_and_backward_of_a_network_are_counted() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5))
    with FlopCounterMode(display=False) as counter:
        model(torch.randn(2, 3, 8, 8)).sum().backward()
    conv, linear = 2 * 36 * 9 * 2 * 4 * 3, 2 * 2 * 144 * 5
    counts = counter.get_flop_counts()["Global"]
    assert counts[torch.ops.aten.convolution] == conv == counts[torch.ops.aten.convolution_backward]
    assert counter.get_total_flops() == 2 * conv + 3 * linear
    assert counter.get_flop_counts()["Sequential.2"][torch.ops.aten.mm] == 2 * linear and "Sequential.0" in counter.get_table(5)


def test_formulas_can_be_given() -> None:
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.sin: lambda x, out_shape: x[0]}) as counter:
        torch.sin(torch.ones(7))
    assert counter.get_total_flops() == 7


def test_a_formula_is_for_a_packet_and_given_once() -> None:
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(torch.ops.aten.sin.default)(lambda x, out_shape: 0)
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        register_flop_formula(torch.ops.aten.mm)(lambda a, b, out_shape: 0)


def test_tables_show_the_whole_first_unless_one_module_is_the_whole() -> None:
    model = torch.nn.Linear(30, 40)
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(20, 30))
    assert "Global" not in counter.get_table() and " Linear" in counter.get_table()
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(20, 30)) @ torch.ones(40, 2)
    assert [line.split()[0] for line in counter.get_table().splitlines()[2:]] == ["Global", "-", "-", "Linear", "-"]
    assert counter.get_table(0).splitlines()[2].split() == ["Global", "51.200K", "100.00%"]
    assert [get_suffix_str(n) for n in (5, 1234, 12345678)] == ["", "", "M"] and convert_num_with_suffix(1500, "K") == "1.500K"
