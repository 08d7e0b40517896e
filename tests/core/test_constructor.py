"""The class Tensor as a constructor, by itself and of subclasses."""
from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import retrograd as torch

MADE = [
    (lambda: torch.Tensor([1.0, 2.0]), (2,)), (lambda: torch.Tensor(2, 3), (2, 3)), (lambda: torch.Tensor(5), (5,)),
    (lambda: torch.Tensor(), (0,)), (lambda: torch.Tensor(torch.Size([2, 1])), (2, 1)), (lambda: torch.Tensor(size=(4,)), (4,)),
    (lambda: torch.Tensor(torch.ones(2).untyped_storage()), (2,)), (lambda: torch.Tensor(device="cpu"), (0,)),
    (lambda: torch.Tensor(np.ones((2, 2))), (2, 2)), (lambda: torch.Tensor(range(3)), (3,)),
    (lambda: torch.Tensor(np.int64(2)), (2,)), (lambda: torch.Tensor.__new__(torch.Tensor, [1.0, 2.0]), (2,)),
    (lambda: torch.Tensor.__new__(torch.Tensor), (0,)),
]


@pytest.mark.parametrize(("make", "shape"), MADE)
def test_the_class_makes_tensors_of_the_default_dtype(make: Any, shape: Any) -> None:
    made = make()
    assert type(made) is torch.Tensor and made.shape == shape and made.dtype is torch.float32 and made.is_leaf
    assert made.add(1).shape == shape and repr(made)


def test_a_tensor_of_a_tensor_is_an_alias() -> None:
    x = torch.tensor([1, 2])
    alias = torch.Tensor(x)
    alias.add_(1)
    assert alias.dtype is torch.int64 and x.tolist() == [2, 3] and x._version == alias._version == 1
    assert torch.Tensor(torch.ones(2, requires_grad=True) * 2).grad_fn.name() == "AliasBackward0"


@pytest.mark.parametrize(("args", "kind", "text"), [
    ((2.5,), TypeError, "data must be a sequence"), (("a",), TypeError, "invalid data type 'str'"),
    ((None,), TypeError, r"data must be a sequence \(got NoneType\)"), ((-1,), RuntimeError, "negative dimension -1"),
    (([[1], [2, 3]],), ValueError, "expected sequence of length 1 at dim 1")])
def test_what_makes_no_tensor_is_refused(args: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        torch.Tensor(*args)


def test_a_subclass_calls_the_constructor_above() -> None:
    class Tagged(torch.Tensor):
        def __new__(cls, data: Any, tag: Any = None) -> Any:
            return super().__new__(cls, data)

        def __init__(self, data: Any, tag: Any = None) -> None:
            super().__init__()
            self.tag = tag

    for data, values in (([1.0, 2.0], [1, 2]), (torch.ones(2), [1, 1]), (np.ones(2), [1, 1])):
        made = Tagged(data, "t")
        assert type(made) is Tagged and made.tag == "t" and made.tolist() == values and type(made + 1) is Tagged


@pytest.mark.parametrize("expression", ["Tensor([1., 2.])", "Tensor(2, 3).zero_()", "Tensor()", "Tensor(2).fill_(1)",
                                        "type('Sub', (torch.Tensor,), {})([1.])"])
def test_the_class_is_right_as_the_first_act_of_a_process(expression: str) -> None:
    text = f"import retrograd as torch; from retrograd import Tensor; t = {expression}; print(t, t + 1)"
    subprocess.run([sys.executable, "-c", text], check=True, capture_output=True)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_naming_the_device_of_ordinary_tensors_changes_nothing(device: Any) -> None:
    x = torch.ones(2, 3)
    meta = torch.empty(2, 3, device="meta")
    for make in (lambda **k: torch.zeros(2, 3, **k), lambda **k: torch.full((2,), 1.5, **k), lambda **k: torch.arange(3, **k),
                 lambda **k: torch.zeros_like(x, **k), lambda **k: x.new_zeros(2, **k), lambda **k: torch.tensor([1, 2], **k),
                 lambda **k: torch.eye(2, **k), lambda **k: torch.linspace(0, 1, 3, **k)):
        for _ in range(2):                     # the second call finds the op prepared
            made, wanted = make(device=device), make()
            assert made.dtype is wanted.dtype and made.device == wanted.device and torch.equal(made, wanted)
            assert make(device=device, dtype=torch.float64, requires_grad=True).requires_grad
        with torch.device("meta"):
            assert make(device=device).device.type == "cpu"
    assert torch.zeros(2, device=device, layout=torch.strided, pin_memory=False).layout is torch.strided
    assert torch.zeros_like(meta, device=device).device.type == "cpu" and torch.zeros_like(meta).device.type == "meta"
    assert meta.new_zeros(2, device=device).device.type == "cpu"
    assert x.to(device) is x and x.to(device, torch.float64).dtype is torch.float64
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        meta.to(device)
