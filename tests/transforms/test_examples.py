"""vmap refuses what an example alone would be refused: no op takes the batch dimension for one of the example's."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.func import vmap
from tests.ops.cases import BY_OP, Case, is_random

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = sorted(name for name, cases in BY_OP.items() if not is_random(cases[0].op))


def examples_of(case: Case) -> Any:
    """Tensors of a sample, taken for several examples along their first dimension: each alone, and all that are as long."""
    tensors = case.tensors()
    long = [j for j, t in enumerate(tensors) if t.dim() and t.shape[0]]
    yield from [[j] for j in long]
    if len(long) > 1 and len({tensors[j].shape[0] for j in long}) == 1:
        yield long


def outcome(call: Any) -> Any:
    try:
        call()
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("part", range(8))
def test_what_one_example_refuses_vmap_refuses(part: int) -> None:
    count = 0
    for name in NAMES[part::8]:
        for case in BY_OP[name][:2]:
            for chosen in examples_of(case):
                places = [case.places[j] for j in chosen]
                batch = [case.tensors()[j].detach() for j in chosen]

                def run(*tensors: Any, case: Any = case, places: Any = places) -> Any:
                    return tuple([t for t in case.call(places, tensors) if isinstance(t, torch.Tensor)])
                alone = outcome(lambda run=run, batch=batch: run(*[t[0] for t in batch]))
                if alone is not None:
                    count += 1
                    together = outcome(lambda run=run, batch=batch: vmap(run)(*batch))
                    assert together is not None, f"{case}, examples in {chosen}: {alone!r} for one example, nothing for all"
    assert count > 20


@pytest.mark.parametrize("function", [torch.tril, torch.triu, lambda a: torch.nn.functional.pad(a, (1, 1, 1, 1))])
def test_rank_is_that_of_the_example_in_nested_vmaps(function: Any) -> None:
    x = torch.ones(2, 3, 4)
    with pytest.raises(RuntimeError):
        vmap(vmap(function))(x)
    assert vmap(function)(x).shape[0] == 2


def test_a_rule_that_fails_gives_way_to_the_loop() -> None:
    a, b = torch.eye(3) * 2, torch.ones(1, 3)
    torch.testing.assert_close(vmap(torch.linalg.solve, (None, 0))(a, b), torch.full((1, 3), 0.5))


def test_an_op_that_writes_to_its_operands_writes_once() -> None:
    torch.manual_seed(0)
    x, mean, var = torch.randn(2, 3, 2, 4), torch.zeros(2, 2), torch.ones(2, 2)
    vmap(lambda x, m, v: torch.nn.functional.batch_norm(x, m, v, training=True))(x, mean, var)
    for i in range(2):
        m, v = torch.zeros(2), torch.ones(2)
        torch.nn.functional.batch_norm(x[i], m, v, training=True)
        torch.testing.assert_close((mean[i], var[i]), (m, v))
