"""DataParallel and what it is made of, on a machine without accelerators."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn import parallel
from retrograd.nn.parallel.scatter_gather import scatter_kwargs


def test_module_is_called_as_it_is() -> None:
    inner = nn.Linear(2, 3)
    model = nn.DataParallel(inner, device_ids=[0])
    x = torch.ones(4, 2, requires_grad=True)
    assert model.device_ids == []
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    model(x).sum().backward()
    assert inner.weight.grad.tolist() == [[4.0, 4.0]] * 3
    assert torch.equal(copy.deepcopy(model)(x), inner(x))
    assert repr(model) == "DataParallel(\n  (module): Linear(in_features=2, out_features=3, bias=True)\n)"


def test_structures_are_shared_out() -> None:
    assert parallel.scatter([1, (2, {"a": 3})], [0, 1]) == [[1, (2, {"a": 3})]] * 2
    assert parallel.scatter((), [0, 1]) == [(), ()]
    assert scatter_kwargs((), {"a": 1}, [0, 1]) == (((), ()), ({"a": 1}, {"a": 1}))
    assert parallel.gather([None, None], "cpu") is None


def test_module_without_parameters_is_replicated() -> None:
    source = nn.Sequential(nn.ReLU(), nn.Sigmoid())
    a, b = parallel.replicate(source, [0, 1])
    assert a is not b
    assert a[0] is not b[0]
    assert torch.equal(a(torch.ones(2)), source(torch.ones(2)))


@pytest.mark.parametrize(("run", "kind", "message"), [
    (lambda: parallel.scatter(torch.ones(2), [0, 1]), AssertionError, "not implemented for CPU tensors"),
    (lambda: parallel.gather([torch.ones(2)], "cpu"), AssertionError, "Gather function not implemented for CPU tensors"),
    (lambda: parallel.gather([{"a": 1}, {}], "cpu"), ValueError, "All dicts must have the same number of keys"),
    (lambda: parallel.replicate(nn.Linear(1, 1), [0]), AssertionError, "Broadcast function not implemented for CPU tensors"),
    (lambda: parallel.data_parallel(nn.ReLU(), torch.ones(1)), RuntimeError, "device type could not be determined"),
    (lambda: parallel.parallel_apply([nn.ReLU()], []), AssertionError, "is not equal to the number of inputs 0"),
    (lambda: parallel.parallel_apply([nn.ReLU()], [1]), RuntimeError, "Cannot access accelerator device"),
])
def test_what_needs_an_accelerator_says_so(run: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        run()
