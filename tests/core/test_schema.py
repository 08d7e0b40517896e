"""Claims about schema parsing and argument binding, checked with a stand-in tensor class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from core.fake_tensor import FakeTensor, install

from retrograd.core.schema import REQUIRED, ListItemError, Schema


@pytest.fixture(autouse=True)
def fake_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


T = FakeTensor([1.0, 2.0])
ADD = Schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", allow_numbers_as_tensors=True)
SUM = Schema("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
VIEW = Schema("view(Tensor(a) self, SymInt[] size) -> Tensor(a)")


def test_name_and_overload_are_read_at_once() -> None:
    assert (ADD.name, ADD.overload) == ("add", "Tensor")
    assert (VIEW.name, VIEW.overload) == ("view", "")


def test_params_carry_type_default_and_keyword_only() -> None:
    self, other, alpha = ADD.params
    assert (self.name, self.type, self.default, self.kwarg_only) == ("self", "Tensor", REQUIRED, False)
    assert (other.name, other.type) == ("other", "Tensor")
    assert (alpha.name, alpha.type, alpha.default, alpha.kwarg_only) == ("alpha", "Scalar", 1, True)
    assert ADD.tensor_params == (0, 1)


def test_symint_is_int_and_optional_is_marked() -> None:
    text = "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)"
    schema = Schema(text)
    assert [(p.type, p.optional, p.default) for p in schema.params[1:]] == [
        ("int", False, 0), ("int", True, None), ("int", True, None), ("int", False, 1),
    ]  # fmt: skip
    assert schema.params[0].alias == "a" and not schema.params[0].writes
    assert schema.is_view and not schema.mutable


def test_sized_lists_and_optional_items() -> None:
    assert (SUM.params[1].is_list, SUM.params[1].list_size, SUM.params[1].optional) == (True, 1, True)
    indices = Schema("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor").params[1]
    assert (indices.is_list, indices.item_optional, indices.optional) == (True, True, False)
    assert Schema("cat(Tensor[] tensors, int dim=0) -> Tensor").tensor_params == (0,)


def test_several_returns_have_names() -> None:
    returns = Schema("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)").returns
    assert [(r.type, r.name) for r in returns] == [("Tensor", "values"), ("Tensor", "indices")]


def test_a_list_of_views_is_a_view() -> None:
    schema = Schema("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
    assert schema.params[0].alias == "a"
    assert schema.returns[0].is_list and schema.returns[0].alias == "a"
    assert schema.is_view


def test_in_place_and_out_are_told_apart() -> None:
    in_place = Schema("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    assert in_place.is_inplace and in_place.mutable and not in_place.is_out and not in_place.is_view
    out = Schema("mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)")
    assert out.is_out and out.mutable and not out.is_inplace and not out.is_view


def test_no_params_and_no_returns_parse() -> None:
    assert Schema("seed() -> ()").params == () == Schema("seed() -> ()").returns


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("int[2] stride=1", (1, 1)),
        ("int[2] dim=[0, 1]", (0, 1)),
        ("int[] dims=[]", ()),
        ("float eps=1e-05", 1e-05),
        ("float p=1", 1.0),
        ("int reduction=Mean", 1),
        ("str padding='valid'", "valid"),
        ("bool keepdim=False", False),
        ("Generator? generator=None", None),
        ("MemoryFormat memory_format=contiguous_format", "contiguous_format"),
    ],
)
def test_defaults_are_python_values(param: str, value: object) -> None:
    default = Schema(f"f(Tensor self, {param}, int last=0) -> Tensor").params[1].default
    assert default == value and type(default) is type(value)


def test_defaults_are_filled_in() -> None:
    assert ADD.bind((T, T), {}) == [T, T, 1]
    assert ADD.bind((T,), {"alpha": 2, "other": T}) == [T, T, 2]


def test_numbers_stand_for_tensors_only_where_allowed() -> None:
    assert ADD.bind((T, 2), {}) == [T, 2, 1]
    bound = ADD.bind((1, np.float32(2)), {})
    assert bound == [1, 2.0, 1] and type(bound[1]) is float
    with pytest.raises(TypeError):
        Schema("maximum(Tensor self, Tensor other) -> Tensor").bind((T, 2), {})


def test_scalars_take_0d_tensors_that_need_no_gradient() -> None:
    assert ADD.bind((T, T), {"alpha": FakeTensor(3)}) == [T, T, 3]
    for refused in (FakeTensor([3]), FakeTensor(3.0, requires_grad=True), "x", None):
        assert ADD.try_bind((T, T), {"alpha": refused}) is None


def test_ints_are_anything_with_an_index_but_not_bools() -> None:
    select = Schema("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
    for one in (1, np.int32(1), FakeTensor(1), FakeTensor([1]), np.array(1)):
        bound = select.bind((T, 0, one), {})
        assert bound == [T, 0, 1] and type(bound[2]) is int
    for refused in (1.0, True, FakeTensor(1.0), FakeTensor(True), "1", None, np.bool_(True)):
        assert select.try_bind((T, 0, refused), {}) is None


def test_floats_take_any_real_number() -> None:
    dropout = Schema("dropout(Tensor input, float p, bool train) -> Tensor")
    for value in (1, 1.0, True, np.float32(1), np.int64(1), FakeTensor(1.0)):
        assert dropout.bind((T, value, True), {})[1] == 1.0
    assert dropout.try_bind((T, 1j, True), {}) is None
    assert dropout.try_bind((T, 1.0, 1), {}) is None


def test_a_single_int_fills_a_sized_list() -> None:
    assert SUM.bind((T, 1), {})[1] == (1,)
    assert SUM.bind((T, None), {})[1] is None
    pool = Schema("pool(Tensor self, int[2] kernel_size, int[2] stride=[]) -> Tensor")
    assert pool.bind((T, 3), {}) == [T, (3, 3), ()]
    assert pool.bind((T, 3, None), {}) == [T, (3, 3), ()]
    assert Schema("flip(Tensor self, int[] dims) -> Tensor").try_bind((T, 0), {}) is None


def test_separate_ints_make_a_list_only_where_it_is_the_sole_argument() -> None:
    assert VIEW.bind((T, 2, 3), {}, is_method=True) == [T, (2, 3)]
    assert VIEW.bind((T, (2, 3)), {}, is_method=True) == [T, (2, 3)]
    assert VIEW.try_bind((T, 2, 3), {}) is None
    assert VIEW.try_bind((T, True, 3), {}, is_method=True) is None
    zeros = Schema("zeros(SymInt[] size, *, ScalarType? dtype=None) -> Tensor")
    assert zeros.bind((2, np.int64(3)), {"dtype": float}) == [(2, 3), "float64"]
    assert SUM.try_bind((T, 1, 2), {}, is_method=True) is None


def test_bools_count_as_ints_after_the_first_item() -> None:
    assert VIEW.bind((T, 3, True), {}, is_method=True) == [T, (3, 1)]


def test_a_wrong_later_item_is_an_error_at_once() -> None:
    with pytest.raises(ListItemError):
        VIEW.try_bind((T, [3, 2.0]), {})


def test_devices_and_dtypes_go_through_their_hooks() -> None:
    schema = Schema("empty(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
    assert schema.bind(((2,),), {"device": "cpu", "dtype": int}) == [(2,), "int64", "device(cpu)"]
    assert schema.try_bind(((2,),), {"device": 1.5}) is None
    assert schema.try_bind(((2,),), {"dtype": "float32"}) is None
    assert schema.try_bind(((2,),), {"dtype": np.float32}) is None


def test_keyword_synonyms_of_numpy_are_taken() -> None:
    assert SUM.bind((T,), {"axis": 0, "keepdims": True}) == [T, (0,), True, None]
    for word in ("input", "x", "a", "x1"):
        assert ADD.bind((), {word: T, "x2": T}) == [T, T, 1]
    assert ADD.try_bind((), {"self": T, "other": T}) is None


def test_a_receiver_has_no_keyword() -> None:
    assert ADD.try_bind((T,), {"input": T, "other": T}, is_method=True) is None


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((T,), {}), ((T, T, T), {}), ((T, T), {"foo": 1}), ((T, T), {"other": T}), ((T,), {"alpha": 1})],
)
def test_calls_that_do_not_fit_are_refused(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert ADD.try_bind(args, kwargs) is None
    with pytest.raises(TypeError):
        ADD.bind(args, kwargs)


def test_the_receiver_goes_where_the_schema_has_self() -> None:
    where = Schema("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor")
    receiver, condition, other = FakeTensor(1), FakeTensor(True), FakeTensor(2)
    expected = [condition, receiver, other]
    assert where.bind((receiver, condition, other), {}, is_method=True) == expected
    assert where.bind((receiver, condition), {"other": other}, is_method=True) == expected
    assert where.bind((receiver,), {"other": other, "condition": condition}, is_method=True) == expected


def test_out_tuples_spread_over_several_outputs() -> None:
    schema = Schema(
        "max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values)"
        " -> (Tensor(a!) values, Tensor(b!) indices)"
    )
    values, indices = FakeTensor(1.0), FakeTensor(1)
    assert schema.bind((T, 0), {"out": (values, indices)}) == [T, 0, False, values, indices]


def test_text_that_is_no_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="not an operator schema"):
        Schema("nonsense")
