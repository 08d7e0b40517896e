"""Calls of public functions: whatever was called before, each call is bound as its own arguments say."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import retrograd as torch


def repeated(call: Any, times: int = 4) -> list[Any]:
    """A function is written out at the second call with arguments of some types, and used from the third on."""
    return [call() for _ in range(times)]


def test_lists_of_other_things_than_before_are_bound_anew() -> None:
    x = torch.arange(6.0)
    assert [[len(part) for part in made] for made in repeated(lambda: x.split([2, 4]))] == [[2, 4]] * 4
    for made in repeated(lambda: torch.tensor_split(x, [1, 2])):
        assert [len(part) for part in made] == [1, 1, 4]
    with pytest.raises(TypeError):
        x.split([2, "4"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        torch.cat([x, 1])  # type: ignore[list-item]
    assert torch.cat([x, x]).shape == (12,)


def test_a_tensor_in_the_place_of_a_number_is_taken_by_its_value() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    repeated(lambda: torch.sum(x, 1))
    assert torch.sum(x, torch.tensor(0)).tolist() == [3, 5, 7]  # type: ignore[call-overload]
    repeated(lambda: torch.select(x, 0, torch.tensor(1)))  # type: ignore[call-overload]
    assert torch.select(x, 0, torch.tensor(0)).tolist() == [0, 1, 2]  # type: ignore[call-overload]


def test_keywords_are_bound_by_name_whatever_their_order() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for made in repeated(lambda: torch.sum(x, keepdim=True, dim=1)):
        assert made.tolist() == [[3], [12]]
    for made in repeated(lambda: torch.sum(x, dim=1, keepdim=False)):
        assert made.tolist() == [3, 12]
    for made in repeated(lambda: torch.sum(x, axis=0)):  # type: ignore[call-overload]
        assert made.tolist() == [3, 5, 7]
    with pytest.raises(TypeError, match="unexpected keyword argument 'dims'"):
        torch.amax(x, 1, dims=1)  # type: ignore[call-overload]


def test_modes_that_are_on_see_calls_that_were_seen_before() -> None:
    seen: list[Any] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.arange(6.0).reshape(2, 3)
    repeated(lambda: torch.cumsum(x, 0))
    with Watch():
        torch.cumsum(x, 0)
    assert seen == [torch.cumsum]


def test_subclasses_see_calls_that_plain_tensors_made_before() -> None:
    class Mine(torch.Tensor):
        pass

    x = torch.arange(6.0).reshape(2, 3)
    repeated(lambda: torch.amax(x, 0))
    assert type(torch.amax(x.as_subclass(Mine), 0)) is Mine
    assert all(type(made) is Mine for made in repeated(lambda: torch.amax(x.as_subclass(Mine), 0)))


def test_gradients_are_recorded_by_the_state_of_each_call() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    leaf = x.clone().requires_grad_()
    for made in repeated(lambda: torch.amax(x, 0)):
        assert made.grad_fn is None
    for made in repeated(lambda: torch.amax(leaf, 0)):
        assert made.grad_fn is not None and made.grad_fn.name() == "AmaxBackward0"
    with torch.no_grad():
        assert all(made.grad_fn is None for made in repeated(lambda: torch.amax(leaf, 0)))
    parameter = torch.nn.Parameter(x)
    for made in repeated(lambda: torch.amax(parameter, 0)):
        assert made.grad_fn is not None and type(made) is torch.Tensor


def test_dtypes_that_need_promotion_are_promoted() -> None:
    single, integer = torch.ones(3), torch.ones(3, dtype=torch.int64)
    for first, second in ((single, single), (single, integer), (integer, integer), (single.double(), single)):
        for made in repeated(lambda first=first, second=second: torch.atan2(first, second)):
            assert made.dtype == (torch.float64 if first.dtype == torch.float64 else torch.float32)
            np.testing.assert_allclose(made.numpy(), np.pi / 4, rtol=1e-6)


def test_losses_are_reduced_only_where_they_say_so() -> None:
    x, y = torch.rand(3), torch.rand(3)
    for made in repeated(lambda: torch.kl_div(x, y)):
        assert made.shape == (3,)
    for made in repeated(lambda: torch.ops.aten.kl_div(x, y)):
        assert made.shape == ()


def test_errors_leave_calls_that_are_in_order_as_they_were() -> None:
    x = torch.ones(2, 3)
    repeated(lambda: torch.amax(x, 1))
    for _ in range(3):
        with pytest.raises(IndexError, match="Dimension out of range"):
            torch.amax(x, 5)
    assert torch.amax(x, 1).tolist() == [1, 1]


def test_classes_of_a_program_are_not_kept() -> None:
    x = torch.ones(2, 3)

    def use() -> Any:
        class Mine(torch.Tensor):
            pass

        class Place:
            def __index__(self) -> int:
                return 1
        for _ in range(3):
            torch.amax(x.as_subclass(Mine), 0)
            torch.select(x, 0, Place())  # type: ignore[call-overload]
        return weakref.ref(Place), weakref.ref(Mine)
    kept = use()
    gc.collect()
    assert [ref() for ref in kept] == [None, None]


def test_writes_that_were_written_out_still_count_and_check() -> None:
    x = torch.ones(2, 3)
    for made in repeated(lambda: torch.nn.functional.leaky_relu_(x, 0.5)):
        assert made is x
    before = x._version
    torch.abs_(x)
    assert x._version == before + 1
    leaf = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.abs_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.bernoulli_(0.5)
    repeated(lambda: x.lt_(x.clone()))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.lt_(torch.ones(4, 2, 3))
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(1).expand(3).abs_()
    part = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        part[1:].gt_(part[:3])
    recorded = leaf * 1
    assert recorded.abs_().grad_fn.name() == "AbsBackward0"
    with torch.no_grad():
        assert leaf.abs_() is leaf and leaf.requires_grad


def test_ops_inside_functions_of_several_ops_are_seen_after_they_were_written_out() -> None:
    seen: list[str] = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.arange(6.0).reshape(2, 3)
    repeated(lambda: torch.cov(x))
    with Watch():
        torch.cov(x)
    assert len(seen) > 3
    leaf = x.clone().requires_grad_()
    assert torch.cov(leaf).requires_grad
    with pytest.raises(RuntimeError):
        torch.cov(torch.ones(2, 2, 2))


def test_lists_of_numbers_are_bound_by_their_items() -> None:
    x = torch.ones(2)
    for made in repeated(lambda: torch._foreach_add([x, x], [1.0, 2])):
        assert [t.tolist() for t in made] == [[2, 2], [3, 3]]
    for made in repeated(lambda: torch._foreach_add([x, x], [x, x + 1])):
        assert [t.tolist() for t in made] == [[2, 2], [3, 3]]
    assert [t.dtype for t in torch._foreach_add([x], [1j])] == [torch.complex64]
    with pytest.raises(RuntimeError, match="same number of elements"):
        torch._foreach_add([x, x], [1.0])
