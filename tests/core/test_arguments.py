"""Claims about overload resolution; the error texts are those of PyTorch 2.13."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from core.fake_tensor import FakeTensor, install

from retrograd.core.arguments import resolve, type_name
from retrograd.core.schema import Schema


@pytest.fixture(autouse=True)
def fake_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


def schemas(*texts: str, numbers: bool = False) -> list[Schema]:
    return [Schema(text, allow_numbers_as_tensors=numbers) for text in texts]


T = FakeTensor([[1.0, 2.0]])
OPS: dict[str, list[Schema]] = {
    "sin": schemas("sin(Tensor self) -> Tensor", "sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
    "add": schemas(
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        numbers=True,
    ),
    "sum": schemas(
        "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out)"
        " -> Tensor(a!)",
    ),
    "mm": schemas(
        "mm(Tensor self, Tensor mat2) -> Tensor",
        "mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
        "mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
        "mm.dtype_out(Tensor self, Tensor mat2, ScalarType out_dtype, *, Tensor(a!) out) -> Tensor(a!)",
    ),
    "matmul": schemas("matmul(Tensor self, Tensor other) -> Tensor"),
    "view": schemas(
        "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", "view(Tensor(a) self, SymInt[] size) -> Tensor(a)"
    ),
    "cat": schemas("cat(Tensor[] tensors, int dim=0) -> Tensor"),
    "transpose": schemas("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"),
    "argmax": schemas("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    "zeros": schemas("zeros(SymInt[] size, *, ScalarType? dtype=None) -> Tensor"),
    "reshape": schemas("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)"),
    "clone": schemas("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    "t": schemas("t(Tensor(a) self) -> Tensor(a)"),
    "where": schemas(
        "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
        "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    ),
    "masked_fill": schemas(
        "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
        "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    ),
    "max": schemas(
        "max(Tensor self) -> Tensor",
        "max.other(Tensor self, Tensor other) -> Tensor",
        "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    ),
    "conv2d": schemas(
        "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0) -> Tensor",
        'conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding="valid")'
        " -> Tensor",
    ),
    "pow": schemas(
        "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
        "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    ),
    "index_put_": schemas(
        "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)"
    ),
}


def function_error(name: str, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(TypeError) as error:
        resolve(name, OPS[name], args, kwargs)
    return str(error.value)


def method_error(name: str, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(TypeError) as error:
        resolve(name, OPS[name], (T, *args), kwargs, is_method=True)
    return str(error.value)


def test_the_first_overload_that_fits_is_taken() -> None:
    assert resolve("sum", OPS["sum"], (T,), {}) == (0, [T, None])
    assert resolve("sum", OPS["sum"], (T, 1, True), {}) == (1, [T, (1,), True, None])
    assert resolve("sum", OPS["sum"], (T,), {"dim": 1, "out": T}) == (2, [T, (1,), False, None, T])
    assert resolve("pow", OPS["pow"], (2, T), {}) == (1, [2, T])
    assert resolve("pow", OPS["pow"], (T, 2), {}) == (2, [T, 2])


def test_out_none_is_no_out() -> None:
    assert resolve("sin", OPS["sin"], (T,), {"out": None}) == (0, [T])
    assert resolve("sin", OPS["sin"], (T,), {"out": T}) == (1, [T, T])


def test_methods_take_no_out() -> None:
    assert method_error("add", T, out=T) == "add() got an unexpected keyword argument 'out'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("sin", 1), "sin(): argument 'input' (position 1) must be Tensor, not int"),
        (("sin",), 'sin() missing 1 required positional arguments: "input"'),
        (("sin", T, 1), "sin() takes 1 positional argument but 2 were given"),
        (("matmul",), 'matmul() missing 2 required positional argument: "input", "other"'),
        (("mm", T, 3), "mm(): argument 'mat2' (position 2) must be Tensor, not int"),
        (("sum", T, 0, 1), "sum(): argument 'keepdim' (position 3) must be bool, not int"),
        (("cat", 1), "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not int"),
        (("cat", [T, 2]), "expected Tensor as element 1 in argument 0, but got int"),
        (("cat", [T], 0, 1), "cat() takes from 1 to 2 positional arguments but 3 were given"),
        (("zeros", "a"), "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
        (("zeros", [None]),
         "zeros(): argument 'size' (position 1) must be tuple of ints, but found element of type NoneType at pos 0"),
        (("zeros", 2, 3.0),
         "zeros(): argument 'size' failed to unpack the object at pos 2 with error \"type must be tuple of ints,"
         'but got float"'),
        (("add", T, [1]), "add(): argument 'other' (position 2) must be Tensor, not list"),
        (("add", T),
         "add() received an invalid combination of arguments - got (Tensor), but expected "
         "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"),
        (("add", T, 1, 2, 3, 4),
         "add() received an invalid combination of arguments - got (Tensor, !int!, !int!, !int!, !int!), but expected "
         "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"),
    ],
)  # fmt: skip
def test_function_errors_read_as_in_pytorch(call: tuple[Any, ...], message: str) -> None:
    assert function_error(*call) == message


def test_function_keyword_errors_read_as_in_pytorch() -> None:
    assert function_error("add", T, foo=1) == 'add() missing 1 required positional arguments: "other"'
    assert function_error("add", T, T, foo=1) == "add() got an unexpected keyword argument 'foo'"
    assert function_error("add", T, T, alpha="x") == "add(): argument 'alpha' must be Number, not str"
    assert function_error("sin", T, input=T) == "sin() got multiple values for argument 'input'"
    assert function_error("sum", T, dim=0, axis=0) == "sum() got an unexpected keyword argument 'axis'"
    assert function_error("add", other=T) == (
        "add() received an invalid combination of arguments - got unrecognized keyword arguments: other"
    )


def test_functions_with_several_overloads_list_them() -> None:
    assert function_error("sum", T, dim="x") == (
        "sum() received an invalid combination of arguments - got (Tensor, dim=str), but expected one of:\n"
        " * (Tensor input, *, torch.dtype dtype = None)\n"
        " * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n"
    )
    assert function_error("mm", T) == (
        "mm() received an invalid combination of arguments - got (Tensor), but expected one of:\n"
        " * (Tensor input, Tensor mat2, *, Tensor out = None)\n"
        " * (Tensor input, Tensor mat2, torch.dtype out_dtype, *, Tensor out = None)\n"
    )


def test_defaults_are_printed_as_pytorch_prints_them() -> None:
    lines = function_error("conv2d", T, T, stride="a").splitlines()
    start = "Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1"
    assert lines[1:] == [f" * ({start}, tuple of ints padding = 0)", f' * ({start}, str padding = "valid")']


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("add", "a"), "add(): argument 'other' (position 1) must be Tensor, not str"),
        (("transpose",), 'transpose() missing 2 required positional argument: "dim0", "dim1"'),
        (("transpose", 0, 1, 2), "transpose() takes 2 positional arguments but 3 were given"),
        (("argmax", 0, True, 1), "argmax() takes from 0 to 2 positional arguments but 3 were given"),
        (("sum", 1, 2, 3), "sum() takes from 1 to 2 positional arguments but 3 were given"),
        (("clone", 1), "clone() takes 0 positional arguments but 1 was given"),
        (("reshape", "a"), "reshape(): argument 'shape' (position 1) must be tuple of ints, not str"),
        (("t", 1), "TensorBase.t() takes no arguments (1 given)"),
        (("index_put_", (1,), T), "expected Tensor as element 0 in argument 0, but got int"),
        (("view", 3, 2.0),
         "view(): argument 'size' failed to unpack the object at pos 2 with error \"type must be tuple of ints,"
         'but got float"'),
    ],
)  # fmt: skip
def test_method_errors_read_as_in_pytorch(call: tuple[Any, ...], message: str) -> None:
    assert method_error(*call) == message


def test_method_keyword_errors_read_as_in_pytorch() -> None:
    assert method_error("argmax", dim=1.5) == "argmax(): argument 'dim' must be int, not float"
    assert method_error("t", foo=1) == "TensorBase.t() takes no keyword arguments"
    assert method_error("transpose", 0, 1, dim0=1) == "transpose() got multiple values for argument 'dim0'"


def test_method_overloads_are_annotated_with_what_did_not_fit() -> None:
    assert method_error("view", (True, 6)) == (
        "view() received an invalid combination of arguments - got (tuple), but expected one of:\n"
        " * (torch.dtype dtype)\n"
        "      didn't match because some of the arguments have invalid types: (!tuple of (bool, int)!)\n"
        " * (tuple of ints size)\n"
        "      didn't match because some of the arguments have invalid types: (!tuple of (bool, int)!)\n"
    )
    assert method_error("max", dim="a") == (
        "max() received an invalid combination of arguments - got (dim=str, ), but expected one of:\n"
        " * ()\n"
        "      didn't match because some of the keywords were incorrect: dim\n"
        " * (Tensor other)\n"
        "      didn't match because some of the keywords were incorrect: dim\n"
        " * (int dim, bool keepdim = False)\n"
    )
    assert method_error("masked_fill", mask=T, value="a") == (
        "masked_fill() received an invalid combination of arguments - got (value=str, mask=Tensor, ), "
        "but expected one of:\n"
        " * (Tensor mask, Tensor value)\n"
        "      didn't match because some of the arguments have invalid types: (mask=Tensor, !value=str!, )\n"
        " * (Tensor mask, Number value)\n"
        "      didn't match because some of the arguments have invalid types: (mask=Tensor, !value=str!, )\n"
    )
    assert method_error("sum", 1, 2, 3, 4) == (
        "sum() received an invalid combination of arguments - got (int, int, int, int), but expected one of:\n"
        " * (*, torch.dtype dtype = None)\n"
        " * (tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None)\n"
        "      didn't match because some of the arguments have invalid types: (!int!, !int!, !int!, !int!)\n"
    )


def test_overloads_without_a_tensor_self_are_no_methods() -> None:
    assert method_error("pow", "a").splitlines()[1::2] == [" * (Tensor exponent)", " * (Number exponent)"]


def test_a_receiver_that_is_not_the_first_parameter_is_left_out_too() -> None:
    assert " * (Tensor condition, Tensor other)\n" in method_error("where", T, "a")


def test_types_are_named_as_c_names_them() -> None:
    names = [type_name(value) for value in (1, None, np.ones(2), np.float32(1), FakeTensor(1), len)]
    assert names == ["int", "NoneType", "numpy.ndarray", "numpy.float32", "Tensor", "builtin_function_or_method"]
