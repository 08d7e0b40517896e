"""NumPy's functions by shorter ways, and methods that are answered in C: they give what the longer ways give."""
from __future__ import annotations

import itertools
import pickle
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.core import dispatch, lean
from retrograd.core.dtypes import result_type_of

SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (0,), (0, 1), (4, 1, 3)]


@pytest.mark.parametrize("shapes", list(itertools.product(SHAPES, repeat=2)))
def test_shapes_broadcast_as_in_numpy(shapes: Any) -> None:
    try:
        wanted = np.broadcast_shapes(*shapes, (1,))
    except ValueError:
        with pytest.raises(ValueError):
            lean.broadcast_shapes(*shapes, (1,))
    else:
        assert lean.broadcast_shapes(*shapes, (1,)) == wanted


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_within_looks_at_all_elements(dtype: Any) -> None:
    for values, inside in (([0, 1, 4], True), ([0, 5], False), ([4, 0, 5, 1], False), ([], True)):
        assert lean.within(np.array(values, dtype), 0, 5) is inside
        assert lean.within(np.array(values, dtype)[::-1], 0, 5) is inside
    assert not lean.within(np.array([-1, 0]), 0, 5) and lean.within(np.array([-1, 0]), -1, 5)


def test_result_types_follow_the_default() -> None:
    assert result_type_of([retrograd.int64], [], [1.5]) is retrograd.float32
    retrograd.set_default_dtype(retrograd.float64)
    try:
        assert result_type_of([retrograd.int64], [], [1.5]) is retrograd.float64
    finally:
        retrograd.set_default_dtype(retrograd.float32)
    assert result_type_of([retrograd.int64], [], [1.5]) is retrograd.float32


def test_methods_say_what_a_tensor_is() -> None:
    x = retrograd.arange(24.0).reshape(2, 3, 4)[:, 1:].transpose(0, 2)
    assert (x.dim(), x.numel(), x.size(), x.size(-1), x.size(dim=0)) == (3, 16, (4, 2, 2), 2, 4)
    assert (x.stride(), x.stride(-1), x.stride(dim=1), x.storage_offset()) == ((1, 4, 12), 12, 4, 4)
    assert not x.is_contiguous() and x.transpose(0, 2).contiguous().is_contiguous(memory_format=retrograd.contiguous_format)
    assert retrograd.numel(x) == retrograd.numel(input=x) == 16
    assert type(x.size()) is retrograd.Size
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(3)
    with pytest.raises(RuntimeError, match="a Tensor with 16 elements cannot be converted to Scalar"):
        x.item()
    assert retrograd.tensor(2.5, dtype=retrograd.bfloat16).item() == 2.5 and retrograd.tensor([3]).item() == 3
    assert pickle.loads(pickle.dumps(retrograd.Tensor.numel)) is retrograd.Tensor.numel


def test_methods_that_say_what_a_tensor_is_ask_subclasses() -> None:
    seen: list[Any] = []

    class Watching(retrograd.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = retrograd.ones(2, 3).as_subclass(Watching)
    seen.clear()
    assert x.numel() == 6 and x.size(1) == 3
    assert seen == [retrograd.Tensor.numel, retrograd.Tensor.size]


def test_one_element_decides_what_a_tensor_is_worth() -> None:
    assert retrograd.tensor(0.5) and not retrograd.tensor([0]) and retrograd.tensor(float("nan"))
    assert retrograd.tensor([1 + 0j]).conj()
    for wrong in (retrograd.ones(2), retrograd.ones(0)):
        with pytest.raises(RuntimeError, match="Boolean value of Tensor with"):
            bool(wrong)


def test_ops_are_called_with_names_and_defaults() -> None:
    aten = retrograd.ops.aten
    x = retrograd.tensor([[4.0, 2.0], [2.0, 5.0]])
    factor = aten.linalg_cholesky_ex.default(x, upper=True)[0]
    assert retrograd.equal(factor.mT @ factor, x)
    assert retrograd.equal(aten.add.Tensor(x, x, alpha=2), x * 3) and retrograd.equal(aten.sum.dim_IntList(x, [0]), x.sum(0))
    assert isinstance(aten.split.Tensor(x, 1), list)
    with pytest.raises((TypeError, RuntimeError)):
        aten.add.Tensor(x, x, beta=2)


def test_lazy_conjugates_are_views() -> None:
    x = retrograd.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x.conj()
    assert y.is_conj() and y._base is x and not y.conj().is_conj()
    y.abs().sum().backward()
    assert x.grad is not None and retrograd.allclose(x.grad, x.detach() / x.detach().abs())


def test_geometry_changes_in_place_count_as_writes() -> None:
    x = retrograd.zeros(2, 1, 3)
    assert x.squeeze_(1) is x and x.shape == (2, 3) and x._version == 1
    assert x.t_().shape == (3, 2) and x.unsqueeze_(0).transpose_(0, 2).shape == (2, 3, 1) and x._version == 4
    y = retrograd.zeros(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        y.t_()
    with pytest.raises(RuntimeError, match="t_\\(\\) expects a tensor with <= 2 dimensions"):
        retrograd.zeros(1, 2, 3).t_()


def test_arguments_of_rare_kinds_bind() -> None:
    x = retrograd.arange(24.0).reshape(1, 2, 3, 4)
    assert x.clone(memory_format=retrograd.channels_last).stride() == (24, 1, 8, 2)
    assert x.amax(-1).shape == (1, 2, 3) and x.amax((0, 1)).shape == (3, 4) and x.amax(()).item() == x.amax([]).item() == 23
    first, second = (retrograd.rand(2, generator=retrograd.Generator().manual_seed(3)) for _ in range(2))
    assert retrograd.equal(first, second) and retrograd.zeros(2, layout=retrograd.strided).tolist() == [0, 0]
    rows = retrograd.tensor([0, 1])
    assert retrograd.ops.aten.index.Tensor(x[0, 0], [None, rows]).shape == (3, 2)
    assert retrograd.zeros(1).set_(x, 4, (2, 2), (4, 1)).tolist() == [[4, 5], [8, 9]]
    counts, _ = retrograd.histogramdd(x[0, 0, :, :2], [retrograd.tensor([0.0, 5.0, 9.0]), retrograd.tensor([0.0, 9.0])])
    assert counts.tolist() == [[2], [1]]
    assert x.view(retrograd.int32).dtype is retrograd.int32 and x.view(retrograd.float64).shape == (1, 2, 3, 2)
    for wrong in (lambda: x.clone(memory_format=3), lambda: retrograd.rand(2, generator=x), lambda: x.amax("a"),
                  lambda: retrograd.ops.aten.index.Tensor(x, [3.5])):
        with pytest.raises((TypeError, RuntimeError)):
            wrong()


def test_a_tensor_for_all_of_a_list_is_no_number() -> None:
    x = retrograd.ones(2, requires_grad=True)
    two = retrograd.tensor(2.0)
    names = [getattr(retrograd, f"_foreach_{name}")([x], two)[0].grad_fn.name() for name in ("mul", "div", "add")]
    assert names == ["ForeachMulBackward0Tensor", "ForeachDivBackward0Tensor", "ForeachAddBackward1Scalar"]


def test_dimensions_move_as_in_numpy() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    for source, target in ((0, 2), (-1, 0), ((0, 1), (1, 2)), ((2, 0), (0, 1))):
        wanted = np.moveaxis(x, source, target)
        assert retrograd.from_numpy(x).movedim(source, target).tolist() == wanted.tolist()
    with pytest.raises(RuntimeError, match="repeated dim in `source`"):
        retrograd.zeros(2, 2).movedim((0, 0), (0, 1))


def test_masks_are_filled_with_any_number_that_fits() -> None:
    x, mask = retrograd.arange(4.0), retrograd.tensor([True, False, True, False])
    for number in (-float("inf"), 2, 0.1, -3.4e38):
        wanted = [np.float32(number), 1, np.float32(number), 3]
        assert x.masked_fill(mask, number).tolist() == x.masked_fill(mask, retrograd.tensor(number)).tolist() == wanted
    assert x.masked_fill(mask, float("nan")).isnan().tolist() == mask.tolist()
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        x.masked_fill(mask, 1e39)
    assert x.reshape(2, 2).t().masked_fill(mask.reshape(2, 2), 9.0).tolist() == [[9, 2], [9, 3]]


def test_powers_are_spaced_evenly_in_their_exponents() -> None:
    for dtype in (retrograd.float32, retrograd.float64):
        made = retrograd.logspace(-2, 3, 6, dtype=dtype)
        assert retrograd.allclose(made, retrograd.tensor([0.01, 0.1, 1, 10, 100, 1000], dtype=dtype))
    assert retrograd.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8]
    assert retrograd.equal(retrograd.logspace(retrograd.tensor(0.0), 3, 4), retrograd.logspace(0, 3, 4))


def test_expanded_values_cannot_be_written() -> None:
    for shape in ((3,), (1, 3), (2, 1, 1)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        made = lean.broadcast_to(x, (2, 4, 3))
        assert made.tolist() == np.broadcast_to(x, (2, 4, 3)).tolist() and not made.flags.writeable
        with pytest.raises(ValueError, match="broadcast"):
            lean.broadcast_to(x, (2, 4, 5) if shape[-1] > 1 else (3, 4, 3))


@pytest.mark.parametrize("args", [[1, 2, 3], (1, 2), [1], (), list(range(20))])
def test_calls_with_another_first_argument(args: Any) -> None:
    compiled: Any = lean if str(dispatch.__file__).endswith(".py") else import_module("retrograd.core.probe")
    assert compiled.rest_of(args) == lean.rest_of(args) == tuple(args[1:])
    assert compiled.spread_with(lambda *given: given, "x", args) == lean.spread_with(lambda *given: given, "x", args)
