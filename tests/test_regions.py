"""Operators that keep a function in one piece call it; attention with functions takes its block mask as a tuple."""
from __future__ import annotations

import math

import pytest

import retrograd as torch
from retrograd import _higher_order_ops as hops
from retrograd._higher_order_ops.regions import flex_attention_op, invoke_subgraph, register_hook_op
from retrograd.nn.attention.flex_attention import _create_empty_block_mask, create_block_mask, flex_attention
from tests.test_as_torch import run_installed


def test_regions_return_what_their_function_returns():
    x = torch.arange(3.0)
    assert hops.invoke_quant(torch.neg, x).equal(-x)
    assert hops.invoke_quant_packed(lambda a, b: (a * b,), x, x)[0].equal(x * x)
    assert hops.InvokeQuant()(torch.neg, x, scheme="int8").equal(-x)
    assert invoke_subgraph(torch.neg, "name", x).equal(-x)
    with pytest.raises(AssertionError, match="identifier must be None or a string"):
        invoke_subgraph(torch.neg, 3, x)


def test_regions_are_ops_of_the_higher_order_namespace():
    assert torch.ops.higher_order.invoke_subgraph is invoke_subgraph
    assert torch.ops.higher_order.flex_attention is flex_attention_op


def test_hook_of_a_registered_tensor_gets_its_values():
    x = torch.ones(2, requires_grad=True)
    (register_hook_op(x, lambda grad, a, b: grad * a + b, 2, 1) * 3).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_attention_by_a_tuple_is_attention_by_its_mask():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 128, 4) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 128, 128)

    def score(s, b, h, i, j):
        return s + h

    output, lse, most = flex_attention_op(q, k, v, score, mask.as_tuple(), 0.5, {})
    expected, natural = flex_attention(q, k, v, score, mask, 0.5, return_lse=True)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(lse * math.log(2), natural)
    assert most.shape == lse.shape
    flat, nested = mask.as_tuple(), mask.as_tuple(flatten=False)
    assert flat[:2] == (128, 128) and nested[0] == (128, 128) and len(flat) == len(nested) + 2 == 17


def test_empty_block_mask_lets_every_query_see_every_key():
    q = torch.randn(1, 1, 8, 4)
    torch.testing.assert_close(flex_attention(q, q, q, block_mask=_create_empty_block_mask(q, q)), flex_attention(q, q, q))


def test_functions_keep_their_names_beside_modules_of_the_same_name():
    run_installed("import torch, torch._higher_order_ops.scan\n"
                  "from torch._higher_order_ops.scan import scan\n"
                  "from torch._higher_order_ops.invoke_subgraph import mark_compile_region\n"
                  "assert torch._higher_order_ops.scan is scan and callable(torch._higher_order_ops.while_loop)\n"
                  "assert mark_compile_region(abs) is abs")
