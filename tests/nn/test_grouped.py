"""Products of groups of matrices and of scaled ones follow their formulas."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.nn import functional as F

ENDS = torch.tensor([2, 6], dtype=torch.int32)


def test_groups_of_rows_columns_and_the_common_dimension() -> None:
    a, b = torch.randn(6, 8), torch.randn(2, 8, 4)
    assert torch.equal(F.grouped_mm(a, b, offs=ENDS), torch.cat([a[:2] @ b[0], a[2:] @ b[1]]))
    c, d = torch.randn(2, 3, 8), torch.randn(8, 6)
    assert torch.equal(F.grouped_mm(c, d, offs=ENDS), torch.cat([c[0] @ d[:, :2], c[1] @ d[:, 2:]], 1))
    e, f = torch.randn(3, 6), torch.randn(6, 4)
    assert torch.equal(F.grouped_mm(e, f, offs=ENDS), torch.stack([e[:, :2] @ f[:2], e[:, 2:] @ f[2:]]))
    assert torch.equal(F.grouped_mm(c, b), torch.bmm(c, b))


def test_gradients_reach_both_operands() -> None:
    a, b = torch.randn(6, 3, dtype=torch.float32, requires_grad=True), torch.randn(2, 3, 4, requires_grad=True)
    F.grouped_mm(a, b, offs=ENDS).sum().backward()
    torch.testing.assert_close(a.grad[:2], b.detach()[0].sum(1).expand(2, 3))
    torch.testing.assert_close(b.grad[1], a.detach()[2:].sum(0)[:, None].expand(3, 4))


def test_products_of_groups_are_an_op() -> None:
    a, b = torch.randn(6, 8), torch.randn(2, 8, 4)
    assert torch.equal(torch.ops.aten._grouped_mm.default(a, b, ENDS), F.grouped_mm(a, b, offs=ENDS))
    assert torch.equal(torch._grouped_mm(a, b, offs=ENDS), F.grouped_mm(a, b, offs=ENDS))


def test_arguments_that_do_not_fit_are_refused() -> None:
    a, b = torch.ones(6, 8), torch.ones(2, 8, 4)
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        F.grouped_mm(a, b)
    with pytest.raises(RuntimeError, match="Offsets have to be int32"):
        F.grouped_mm(a, b, offs=ENDS.long())
    with pytest.raises(RuntimeError, match="contraction dimension"):
        F.grouped_mm(torch.ones(6, 7), b, offs=ENDS)
    with pytest.raises(RuntimeError, match="Expected mat_a to be Float32"):
        F.grouped_mm(a.double(), b.double(), offs=ENDS)


def test_scales_of_tensors_rows_and_blocks_are_applied() -> None:
    a, b = torch.ones(2, 32), torch.ones(32, 3)
    one, row, block = F.ScalingType.TensorWise, F.ScalingType.RowWise, F.ScalingType.BlockWise1x16
    low = [t.to(torch.float8_e4m3fn) for t in (a, b)]
    assert (F.scaled_mm(*low[:1], low[1], torch.tensor([2.0]), one, torch.tensor([3.0]), one) == 192).all()
    rows = F.scaled_mm(low[0], low[1], torch.tensor([[1.0], [2.0]]), row, torch.ones(1, 3), row, output_dtype=torch.float32)
    assert rows[:, 0].tolist() == [32.0, 64.0]
    blocks = F.scaled_mm(low[0], low[1], torch.tensor([[1.0, 2.0], [3.0, 4.0]]), block, torch.ones(2, 3), block,
                         output_dtype=torch.float32)
    assert blocks[:, 0].tolist() == [48.0, 112.0]


def test_groups_with_scales_are_refused_on_the_cpu() -> None:
    one = F.ScalingType.TensorWise
    with pytest.raises(NotImplementedError, match="'aten::_scaled_grouped_mm_v2' with arguments from the 'CPU' backend"):
        F.scaled_grouped_mm(torch.ones(2, 2), torch.ones(2, 2), torch.ones(1), one, torch.ones(1), one)


def test_products_with_scales_are_ops() -> None:
    a, b = torch.randn(4, 8).to(torch.float8_e4m3fn), torch.randn(3, 8).to(torch.float8_e4m3fn).t()
    two, rows, columns = torch.tensor(2.0), torch.rand(4, 1), torch.rand(1, 3)
    product = a.float() @ b.float()
    torch.testing.assert_close(torch._scaled_mm(a, b, two, two, out_dtype=torch.float32), 4 * product)
    torch.testing.assert_close(torch._scaled_mm(a, b, rows, columns, out_dtype=torch.float32), rows * product * columns)
    assert torch.ops.aten._scaled_mm(a, b, two, two).dtype is torch.float8_e4m3fn
    by_lists = torch._scaled_mm_v2(a, b, [rows], [1], [0], [columns], [1], [0], torch.ones(3), torch.float32)
    torch.testing.assert_close(by_lists, rows * product * columns + 1)


def test_scales_that_do_not_fit_are_refused() -> None:
    a, b, one = torch.ones(4, 8).to(torch.float8_e4m3fn), torch.ones(8, 3).to(torch.float8_e4m3fn), torch.tensor(1.0)
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        torch._scaled_mm(a, b, torch.ones(2), one)
    with pytest.raises(ValueError, match="a and b should be float8"):
        torch._scaled_mm(a.float(), b.float(), one, one)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch._scaled_mm(a, b[:4], one, one)
    with pytest.raises(NotImplementedError, match="unswizzled"):
        torch._scaled_mm_v2(a, b, [one], [0], [1], [one], [0], [0], None, None)
