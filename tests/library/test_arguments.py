"""Calls of users' ops: what fits a schema, and the words for what does not."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd.library import Library


@pytest.fixture
def lib() -> object:
    made = Library("t_args", "FRAGMENT")
    yield made
    made._destroy()


KINDS = dict(s="a", f=1.0, b=True, q=1, d=torch.float32, i=1, v="cpu", l=[1, 2], bs=[True], fs=[1.0])


@pytest.mark.parametrize(("change", "expected"), [
    ({"f": 1}, 1.0), ({"b": 1}, True), ({"q": 1j}, 1j), ({"i": True}, 1), ({"i": torch.tensor(3)}, 3), ({"i": np.int64(3)}, 3),
    ({"v": torch.device("cpu")}, torch.device("cpu")), ({"l": 3}, [3, 3]), ({"l": (1, 2)}, [1, 2]), ({"fs": [1]}, [1.0]),
    ({"f": torch.tensor(2.0)}, 2.0), ({"b": None}, False),
])
def test_value_is_converted(lib: Library, change: dict[str, object], expected: object) -> None:
    seen: list[dict[str, object]] = []
    lib.define("f(*, str s, float f, bool b, Scalar q, ScalarType d, int i, Device v, int[2] l, bool[] bs, float[] fs) -> ()")
    lib.impl("f", lambda **given: seen.append(given), "CompositeExplicitAutograd")
    torch.ops.t_args.f(**{**KINDS, **change})
    (name,) = change
    assert seen[0][name] == expected
    assert type(seen[0][name]) is type(expected)


@pytest.mark.parametrize(("args", "kwargs", "message"), [
    ((1, None, 1), {}, "t_args::g() Expected a value of type 'Tensor' for argument 'a' but instead found type 'int'.\n"
     "Position: 0\nValue: 1\nDeclaration: t_args::g(Tensor a, Tensor b, int c) -> Tensor\n"
     "Cast error details: Unable to cast 1 to Tensor"),
    ((None,), {}, "t_args::g() is missing value for argument 'b'. Declaration: t_args::g(Tensor a, Tensor b, int c) -> Tensor"),
    ((None, None, 1, 2), {}, "t_args::g() expected at most 3 argument(s) but received 4 argument(s). Declaration: "
     "t_args::g(Tensor a, Tensor b, int c) -> Tensor"),
])
def test_misfit_is_explained(lib: Library, args: tuple[object, ...], kwargs: dict[str, object], message: str) -> None:
    lib.define("g(Tensor a, Tensor b, int c) -> Tensor")
    with pytest.raises(RuntimeError) as caught:
        torch.ops.t_args.g(*args, **kwargs)
    assert str(caught.value) == message


def test_wrong_kind_of_number_is_refused(lib: Library) -> None:
    lib.define("h(Tensor a, int c) -> Tensor")
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'int' for argument 'c' but instead found type 'float'"):
        torch.ops.t_args.h(torch.ones(1), 1.5)


@pytest.mark.parametrize(("schema", "result", "message"), [
    ("f(Tensor x) -> Tensor", 3, "Unable to cast 3 to Tensor"),
    ("f(Tensor x) -> ()", 5, "Expected PythonKernelHolder for t_args::f to return None"),
    ("f(Tensor x) -> int", "s", "Unable to cast Python instance of type <class 'str'>"),
    ("f(Tensor x) -> Tensor[]", (None,), "Unable to cast Python instance of type <class 'tuple'>"),
])
def test_wrong_result_is_refused(lib: Library, schema: str, result: object, message: str) -> None:
    lib.define(schema)
    lib.impl("f", lambda x: result, "CPU")
    with pytest.raises(RuntimeError, match=message):
        torch.ops.t_args.f(torch.ones(1))


def test_results_have_the_form_of_the_schema(lib: Library) -> None:
    lib.define("f(Tensor x) -> (Tensor a, Tensor b)")
    lib.impl("f", lambda x: [x, x + 1], "CPU")
    lib.define("g(Tensor[] x) -> Tensor[]")
    lib.impl("g", lambda x: tuple(x), "CPU")
    lib.define("h(Tensor x) -> (Tensor, int)")
    lib.impl("h", lambda x: (x, 5), "CPU")
    x = torch.ones(1)
    assert type(torch.ops.t_args.f(x)) is tuple
    assert type(torch.ops.t_args.g((x, x))) is list
    assert torch.ops.t_args.h(x)[1] == 5


def test_call_without_tensors_needs_a_kernel_for_all_backends(lib: Library) -> None:
    lib.define("f() -> Tensor")
    lib.impl("f", lambda: torch.ones(1), "CPU")
    with pytest.raises(NotImplementedError, match="There were no tensor arguments to this function"):
        torch.ops.t_args.f()
    lib.impl("f", lambda: torch.ones(1), "CompositeExplicitAutograd")
    assert torch.ops.t_args.f().item() == 1.0
