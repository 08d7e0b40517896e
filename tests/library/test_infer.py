"""infer_schema: schemas out of annotations."""
from __future__ import annotations

from collections.abc import Sequence
from typing import List, Optional, Union  # noqa: UP035

import pytest

import retrograd as torch
from retrograd.library import infer_schema

Tensor = torch.Tensor
CPU = torch.device("cpu")


def many(x: Tensor, y: int, z: Optional[Tensor] = None, s: str = "a", b: bool = True, f: float = 1.0,  # noqa: UP045
         dt: torch.dtype | None = None, *, k: Union[int, float, bool] = 1, lt: List[Tensor],  # noqa: UP006, UP007
         ot: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor], int]: ...


def two(x: Tensor, y: Tensor) -> Tensor: ...
def nothing(x: Tensor) -> None: ...
def unannotated(x) -> Tensor: ...                  # type: ignore[no-untyped-def]
def unreturned(x: Tensor): ...                     # type: ignore[no-untyped-def]
def spread(*x: Tensor) -> Tensor: ...
def mapped(x: dict[str, int]) -> Tensor: ...
def maybe(x: Tensor) -> Tensor | None: ...
def listed(x: Tensor, n: Sequence[int] = (1, 2)) -> Tensor: ...


def test_annotations_become_types() -> None:
    assert infer_schema(many, mutates_args=()) == (
        '(Tensor x, SymInt y, Tensor? z=None, str s="a", bool b=True, float f=1.0, ScalarType? dt=None, *, Scalar k=1, '
        "Tensor[] lt, Tensor?[] ot) -> (Tensor, Tensor[], SymInt)")
    assert infer_schema(nothing, mutates_args={"x"}) == "(Tensor(a0!) x) -> ()"


def test_written_arguments_are_marked() -> None:
    assert infer_schema(two, mutates_args={"y"}) == "(Tensor x, Tensor(a1!) y) -> Tensor"
    assert infer_schema(two, mutates_args="unknown", op_name="n::two") == "n::two(Tensor(a0!) x, Tensor(a1!) y) -> Tensor"


@pytest.mark.parametrize(("function", "written", "message"), [
    (unannotated, (), "Parameter x must have a type annotation."),
    (unreturned, (), "No return type annotation was provided. Please add one."),
    (spread, (), "We do not support positional-only args, varargs, or varkwargs."),
    (mapped, (), "Parameter x has unsupported type"),
    (maybe, (), "Return has unsupported type"),
    (listed, (), "Parameter n has an unsupported default value type <class 'tuple'>"),
    (two, {"q"}, "{'q'} in mutates_args were not found in the custom op's signature"),
    (many, {"y"}, "Parameter y is in mutable_args but only Tensors or collections of Tensors can be mutated"),
])
def test_what_no_schema_can_say_is_refused(function: object, written: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        infer_schema(function, mutates_args=written)
    assert str(caught.value).startswith(f"infer_schema(func): {message}")


def test_dtypes_and_devices_are_defaults() -> None:
    def cast(x: torch.Tensor, dtype: torch.dtype = torch.float16, where: torch.device = CPU) -> torch.Tensor:
        assert dtype is torch.float16 and where == torch.device("cpu")
        return x.to(dtype)

    assert infer_schema(cast, mutates_args=()) == '(Tensor x, ScalarType dtype=float16, Device where="cpu") -> Tensor'
    op = torch.library.custom_op("defaults_of::cast", cast, mutates_args=())
    assert op(torch.ones(2)).dtype is torch.float16
    assert str(torch.ops.defaults_of.cast.default._schema) == (
        "defaults_of::cast(Tensor x, ScalarType dtype=5, Device where=cpu) -> Tensor")
