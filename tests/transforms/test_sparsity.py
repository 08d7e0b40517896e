"""Patterns over every sample of every differentiable op: none is too small, and those that should be exact are."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.opdef import NOT_IMPLEMENTED
from retrograd.core.tensor import new_tensor
from retrograd.func import jacobian_pattern, jacrev
from tests.ops.cases import Case, is_random, like, over, value

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0", "ignore:.*is in beta and the API may change",
                                        "ignore:torch.[a-z_]+ is deprecated in favor of", "ignore:There is a performance drop",
                                        "ignore:The reduce argument of torch.scatter")
functional = torch.nn.functional


def has_jacobian(case: Case) -> bool:
    return bool(case.sample.grad and case.differentiable and case.op.vjp != NOT_IMPLEMENTED and not is_random(case.op)
                and all([t.array.dtype.kind == "f" for t in case.tensors(case.differentiable)]))


@over(has_jacobian)
def test_pattern_covers_the_jacobian(case: Case) -> None:
    given = [like(t, value(t), requires_grad=True) for t in case.tensors(case.differentiable)]
    made = case.observe(case.differentiable, given)
    places = [i for i, t in enumerate(made) if isinstance(t, torch.Tensor) and t.requires_grad and t.array.dtype.kind == "f"]
    inputs = [like(t, value(t)) for t in given]

    def function(*tensors: Any) -> Any:
        outputs = case.observe(case.differentiable, list(tensors))
        return tuple([outputs[i] for i in places])
    if not sum([made[i].array.size for i in places]):
        return
    everything = tuple(range(len(inputs)))
    pattern = jacobian_pattern(function, everything)(*inputs).toarray()
    rows = []
    for out, blocks in zip([made[i] for i in places], jacrev(function, everything)(*inputs), strict=True):
        rows.append(np.concatenate([value(b).reshape(out.array.size, t.array.size)
                                    for b, t in zip(blocks, inputs, strict=True)], 1))
    dense = np.concatenate(rows)
    assert pattern.shape == dense.shape
    assert not (dense[~pattern] != 0).any()


DIFFERENCES = new_tensor(np.eye(5, 6, 1) - np.eye(5, 6))

EXACT = {
    "elements": lambda x: x.sin() * x,
    "broadcast": lambda x: x[:, None] * x[:2],
    "views": lambda x: x.view(2, 3).t().reshape(-1)[1:].flip(0),
    "reductions": lambda x: x.view(2, 3).sum(1) + x.view(2, 3).amax(1),
    "softmax": lambda x: x.view(2, 3).softmax(1),
    "indexing": lambda x: x[torch.tensor([0, 0, 4])] * x[x > 0].sum(),
    "joining": lambda x: torch.cat([x[:2], torch.stack([x[5], x[0] * x[1]])]),
    "where": lambda x: torch.where(torch.tensor([True, False] * 3), x, x.flip(0)),
    "constant matrix": lambda x: (DIFFERENCES @ x) ** 2,
    "matrix of a view": lambda x: x.view(2, 3) @ DIFFERENCES[:3, :4],
    "both factors": lambda x: x.view(2, 3) @ x.view(3, 2),
    "batches of matrices": lambda x: torch.bmm(x.view(2, 1, 3), torch.ones(2, 3, 1, dtype=x.dtype)),
    "linear": lambda x: functional.linear(x.view(2, 3), torch.eye(3, dtype=x.dtype)[:2], x[:2]),
    "convolution": lambda x: functional.conv1d(x.view(1, 1, 6), torch.ones(2, 1, 2, dtype=x.dtype), padding=1, stride=2),
    "pooling": lambda x: functional.max_pool1d(x.view(1, 1, 6), 2),
    "sorting": lambda x: x.sort().values[:2],
    "scatter": lambda x: torch.zeros(4, dtype=x.dtype).index_add(0, torch.tensor([0, 1, 1, 2, 2, 2]), x),
    "steps": lambda x: x.floor() + torch.arange(6.0, dtype=x.dtype),
    "nothing": lambda x: torch.ones(2),
    "solve in a batch": lambda x: torch.linalg.solve(torch.eye(2, dtype=x.dtype).expand(3, 2, 2) * 2, x.view(3, 2, 1)).sum(-1),
    "vector product": lambda x: torch.linalg.cross(x.view(3, 2, 1), torch.ones(3, 2, 1, dtype=x.dtype) * 2, dim=0),
    "solve of a larger batch": lambda x: torch.linalg.solve(x.view(3, 2, 1) * torch.eye(2, dtype=x.dtype) + 5,
                                                            torch.ones(1, 3, 2, 2, dtype=x.dtype)),
}
# patterns that are larger than the Jacobian, by rule
LARGER = {"solve in a batch", "vector product", "solve of a larger batch"}


def write(x: Any) -> Any:
    y = x * 2
    y[1:].mul_(x[:-1])
    y.view(2, 3)[0].zero_()
    return y


EXACT["writes"] = write


@pytest.mark.parametrize("name", EXACT)
def test_pattern_is_that_of_the_jacobian(name: str) -> None:
    x = new_tensor(np.array([0.5, -1.5, 0.7, 2.5, -0.3, 1.1]))
    pattern = jacobian_pattern(EXACT[name])(x).toarray()
    dense = value(jacrev(EXACT[name])(x)).reshape(-1, 6)
    assert not (dense[~pattern] != 0).any()
    if name not in LARGER:
        np.testing.assert_array_equal(pattern, dense != 0)


def test_pattern_is_that_of_the_branch_taken() -> None:
    def function(x: Any) -> Any:
        return x * x[0] if x[0] > 0 else x
    assert jacobian_pattern(function)(torch.ones(3)).nnz == 5
    assert jacobian_pattern(function)(-torch.ones(3)).nnz == 3


def test_custom_function_depends_on_all_it_was_given() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Nothing is saved."""

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2
    assert jacobian_pattern(lambda x: Double.apply(x[:2]))(torch.ones(3)).toarray().tolist() == [[True, True, False]] * 2


def test_tensors_inside_of_a_transform_have_no_pattern() -> None:
    with pytest.raises(RuntimeError, match="Find the pattern before, and pass its coloring"):
        torch.vmap(lambda x: jacobian_pattern(torch.sin)(x))(torch.ones(2, 2))
