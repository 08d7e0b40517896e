"""Wrapper subclasses that answer for their own size, strides, device and layout."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._python_dispatch import TorchDispatchMode

aten, prim = torch.ops.aten, torch.ops.prim
ANSWERS: dict[Any, Any] = {
    aten.sym_size.default: (7, 2), aten.dim.default: 2, aten.sym_numel.default: 14, aten.sym_stride.default: (2, 1),
    aten.sym_storage_offset.default: 3, aten.is_contiguous.default: False, aten.is_contiguous.memory_format: True,
    prim.device.default: torch.device("meta"), prim.layout.default: torch.sparse_csr,
}


class Answering(torch.Tensor):
    @staticmethod
    def __new__(cls, policy: str | None = None, **options: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (4,), dispatch_sizes_strides_policy=policy, **options)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return ANSWERS.get(func, NotImplemented)


def test_sizes_are_asked_for() -> None:
    x = Answering("sizes")
    assert x.shape == x.size() == (7, 2) and x.size(1) == 2 and x.ndim == x.dim() == 2 and x.numel() == 14
    assert x.stride() == (2, 1) and x.stride(0) == 2 and x.storage_offset() == 3 and type(x.shape) is torch.Size
    assert not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)


def test_strides_alone_are_asked_for() -> None:
    x = Answering("strides")
    assert x.shape == (4,) and x.dim() == 1 and x.storage_offset() == 0 and x.stride() == (2, 1) and not x.is_contiguous()


def test_nothing_is_asked_without_a_policy() -> None:
    x = Answering()
    assert x.shape == (4,) and x.stride() == (1,) and x.device.type == "cpu" and x.layout is torch.strided


def test_device_and_layout_are_asked_for() -> None:
    x = Answering(dispatch_device=True, dispatch_layout=True)
    assert x.device.type == "meta" and x.layout is torch.sparse_csr


def test_answers_may_be_left_out_or_refused() -> None:
    class Silent(Answering):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return None if func is aten.sym_size.default else NotImplemented
    assert Silent("sizes").shape == (4,)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.sym_numel'"):
        Silent("sizes").numel()
    with pytest.raises(ValueError, match="Unknown sizes_strides_policy: foo; expected 'strides' or 'sizes'"):
        Answering("foo")


def test_classes_must_be_tensors() -> None:
    for make in (torch.Tensor._make_subclass, torch.Tensor._make_wrapper_subclass):
        with pytest.raises(TypeError, match="class that does not inherit from Tensor"):
            make(int, torch.ones(1))
    with pytest.raises(TypeError, match=r"cls must be a type \(got int\)"):
        torch.ones(1).as_subclass(3)


def test_wrappers_may_be_on_meta() -> None:
    assert Answering(device="meta").is_meta


def test_facts_are_ops() -> None:
    x = torch.ones(2, 3).t()
    assert aten.sym_size.default(x) == [3, 2] and aten.stride.int(x, 0) == 1 and aten.dim.default(x) == 2
    assert aten.is_non_overlapping_and_dense.default(x) and not aten.is_contiguous.default(x)
    assert not aten.is_non_overlapping_and_dense.default(torch.ones(4)[::2])


def test_modes_see_data_become_tensors() -> None:
    seen: list[str] = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    with Log():
        assert torch.tensor([1.0, 2.0]).tolist() == [1, 2]
        torch.as_tensor([1])
    assert seen == ["aten.lift_fresh.default"] * 2


def test_modes_see_list_ops_as_one() -> None:
    seen: list[str] = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    pair = [torch.ones(2), torch.ones(3)]
    with Log():
        sums = torch._foreach_add(pair, 1)
        torch._foreach_mul_(pair, 2)
    assert seen == ["aten._foreach_add.Scalar", "aten._foreach_mul_.Scalar"]
    assert sums[1].tolist() == [2, 2, 2] and pair[0].tolist() == [2, 2]
    assert torch.ops.aten._foreach_neg_.default(pair) is None and torch._foreach_neg_(pair) is pair


def test_the_usual_memory_format_is_not_asked_for_by_name() -> None:
    asked = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            asked.append(str(func))
            return False
    made = torch.Tensor._make_wrapper_subclass(Asked, (2,), dispatch_sizes_strides_policy="strides")
    assert not made.is_contiguous(memory_format=torch.contiguous_format)
    assert not made.is_contiguous(memory_format=torch.channels_last)
    assert asked == ["aten.is_contiguous.default", "aten.is_contiguous.memory_format"]
