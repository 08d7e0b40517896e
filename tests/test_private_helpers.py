"""Helpers that PyTorch has in private modules and that tests and packages import from there."""
from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import retrograd as torch
from retrograd import _torch_lists as lists
from retrograd import _torch_settings as settings
from retrograd._library import utils as library
from retrograd._prims_common import alert_not_deterministic, check_layout, check_pin_memory, get_dtype
from retrograd.utils._functools import cache_method
from retrograd.utils._python_dispatch import get_alias_info
from retrograd.utils._thunk import Thunk
from retrograd.utils._typing_utils import not_none

aten = torch.ops.aten


def test_alias_info_tells_views_from_writes() -> None:
    view, written, out = get_alias_info(aten.split.Tensor), get_alias_info(aten.t_.default), get_alias_info(aten.add.out)
    assert (view.read_only_alias_match_indexes, view.outs_write_aliases) == ([(0, 0)], None)
    assert (written.is_inplace_view_op, written.outs_write_aliases) == (True, ["a"])
    assert [arg.name for arg in out.args if arg.is_write] == ["out"]
    assert get_alias_info(aten.sin.default).outs_write_aliases is None


def test_layout_constraints_of_operators() -> None:
    tagged = SimpleNamespace(tags=[torch.Tag.flexible_layout, torch.Tag.needs_exact_strides], namespace="mine")
    assert library.get_layout_constraint_tag(tagged) is torch.Tag.needs_exact_strides
    assert library.get_layout_constraint_tag(aten.sin.default, with_default=False) is None
    assert library.get_device_arg_index(aten.sin.default._schema) is None
    assert library.is_functional_schema("f(Tensor x) -> Tensor")
    assert not library.is_functional_schema("f(Tensor(a!) x) -> Tensor")
    assert not library.can_generate_trivial_fake_impl(aten.sin.default)


def test_tensors_are_grouped_by_type_and_size() -> None:
    ints, floats, more = torch.arange(2), torch.ones(2), torch.arange(4)
    assert [[t.tolist() for t in group] for group in lists.by_size([ints, floats, more], 20)] == [
        [[0, 1]], [[0, 1, 2, 3]], [[1.0, 1.0]]]
    assert lists.in_order_of([ints, floats], [floats, ints]) == (floats, ints)


def test_conversions_know_the_old_keyword() -> None:
    with pytest.warns(UserWarning, match="'async' is deprecated"):
        assert lists.is_asynchronous("type", False, {"async": True})
    with pytest.raises(TypeError, match=r"type\(\) got an unexpected keyword argument 'asynchronous'"):
        lists.is_asynchronous("type", False, {"asynchronous": True})
    assert lists.real_view(torch.tensor([1j])).tolist() == [[0.0, 1.0]]


def test_failing_callbacks_do_not_stop_the_others(caplog) -> None:
    def fail(x):
        raise ValueError(x)
    seen: list[int] = []
    callbacks = lists.CallbackRegistry("mine")
    callbacks.add_callback(fail)
    callbacks.add_callback(seen.append)
    callbacks.fire_callbacks(3)
    assert seen == [3] and "Exception in callback for mine" in caplog.text
    assert lists.try_import("numpy").__name__ == "numpy" and lists.try_import("no_such_module") is None


def test_deprecated_functions_warn_by_their_public_name() -> None:
    def _old(x):
        return x + 1
    assert settings.deprecated()(_old)(1) == 2
    module = sys.modules[__name__]
    with pytest.warns(UserWarning, match="old is DEPRECATED, please consider using an alternative"):
        assert module.old(1) == 2
    with pytest.raises(RuntimeError, match="Cannot create alias 'old'"):
        settings.deprecated()(_old)
    del module.old


def test_values_are_computed_once() -> None:
    class Numbers:
        calls = 0

        @cache_method
        def twice(self, n: int) -> int:
            self.calls += 1
            return 2 * n
    numbers = Numbers()
    assert [numbers.twice(2), numbers.twice(2), numbers.calls] == [4, 4, 1]
    with pytest.raises(AssertionError, match="does not accept keyword arguments"):
        numbers.twice(n=2)
    thunk = Thunk(lambda: seen.append(1))
    seen: list[int] = []
    thunk.force(), thunk.force()
    assert seen == [1]
    with pytest.raises(TypeError, match="value was None"):
        not_none(None)


def test_checks_of_reference_implementations() -> None:
    assert get_dtype(1) is torch.int64 and get_dtype(torch.ones(1)) is torch.float32
    with pytest.raises(NotImplementedError, match="PrimTorch doesn't support layout=torch.sparse_coo"):
        check_layout(torch.sparse_coo)
    with pytest.raises(NotImplementedError, match="pinned memory"):
        check_pin_memory(True)
    alert_not_deterministic("mine")
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="mine does not have a deterministic implementation, but you set"):
            alert_not_deterministic("mine")
    finally:
        torch.use_deterministic_algorithms(False)
