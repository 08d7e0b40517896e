"""The operators, functions and methods of the fast path give what the dispatcher gives: values, nodes, what is saved."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad, graph
from retrograd.core.opdef import find_packet
from retrograd.core.tensor import operators

dispatcher = getattr(operators.dispatcher, "behind", operators.dispatcher)         # that of dispatch, also in plain Python


def op_called(name: str) -> Any:
    packet = find_packet(name)
    assert packet is not None
    op = packet.default
    if not op._ready:
        op.prepare()
    return op


BINARY = {
    "add": (lambda a, b: a + b, lambda: operators.add), "sub": (lambda a, b: a - b, lambda: operators.sub),
    "mul": (lambda a, b: a * b, lambda: operators.mul), "div": (lambda a, b: a / b, lambda: operators.div),
    "add function": (torch.add, lambda: operators.add), "mul method": (lambda a, b: a.mul(b), lambda: operators.mul),
}
UNARY = {
    "neg": (lambda a: -a, lambda: operators.neg), "sin": (lambda a: a.sin(), lambda: op_called("sin")),
    "sin function": (torch.sin, lambda: op_called("sin")), "relu": (torch.relu, lambda: op_called("relu")),
    "exp": (lambda a: a.exp(), lambda: op_called("exp")), "tanh": (torch.tanh, lambda: op_called("tanh")),
    "sum": (lambda a: a.sum(), lambda: op_called("sum")),
}


def leaf(shape: Any, dtype: Any = torch.float32) -> Any:
    count = int(np.prod(shape))
    return (torch.arange(count, dtype=dtype).reshape(shape) + 0.5).clone().requires_grad_()


def plain(shape: Any, dtype: Any = torch.float32) -> Any:
    return leaf(shape, dtype).detach() * 2


def inner(shape: Any) -> Any:
    return leaf(shape) * 1.5


def written(shape: Any) -> Any:
    t = inner(shape)
    t.mul_(2.0)
    return t


def of_leaf(shape: Any) -> Any:
    return leaf((2, *shape))[1]


def behind(shape: Any) -> Any:
    """A view whose base has been written to since."""
    base = leaf((2, *shape)) * 1.0
    view = base[1]
    base.mul_(2.0)
    return view


def second_output(shape: Any) -> Any:
    return leaf((2, *shape)).unbind()[1]


def parameter(shape: Any) -> Any:
    return torch.nn.Parameter(plain(shape))


def turned(shape: Any) -> Any:
    return leaf(tuple(reversed(shape))).permute(tuple(reversed(range(len(shape)))))


TENSORS = [leaf, plain, inner, written, of_leaf, behind, second_output, parameter, turned]
SHAPES: list[Any] = [(), (3,), (2, 3), (0,), (2, 0)]


# ---- comparing
def facts(t: Any) -> Any:
    """Everything about a result that a user can see, but the identity of its node."""
    return (type(t), t.dtype, t.shape, t.stride(), t.requires_grad, t.is_leaf, t._version, t._is_view(), t.output_nr,
            t.detach().tolist())


def edges(node: Any) -> Any:
    """The nodes that a node leads to: themselves where they are lasting, by name where a view remakes them."""
    return [None if n is None else (n.name(), nr, n if n.name() != "AsStridedBackward0" else None)
            for n, nr in node.next_functions]


def saved(node: Any) -> Any:
    names = sorted([n for n in dir(node) if n.startswith("_saved_")])
    return [(name, shown(getattr(node, name))) for name in names]


def shown(value: Any) -> Any:
    return (value.tolist(), value._version, value.requires_grad) if isinstance(value, torch.Tensor) else value


def same(short: Any, long: Any) -> None:
    assert facts(short) == facts(long)
    first, second = short.grad_fn, long.grad_fn
    assert (first is None) == (second is None)
    if first is None:
        return
    assert type(first) is type(second) and first.name() == second.name()
    assert edges(first) == edges(second)
    assert saved(first) == saved(second)
    assert first._sequence_nr() < second._sequence_nr()


def same_gradients(short: Any, long: Any, *inputs: Any) -> None:
    wanted = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    if wanted:
        weights = torch.ones(short.shape, dtype=short.dtype) * 3
        for a, b in zip(torch.autograd.grad(short, wanted, weights), torch.autograd.grad(long, wanted, weights), strict=True):
            assert facts(a) == facts(b)


# ---- tensors of every kind
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_ops_of_all_kinds_of_tensors(name: str, shape: Any) -> None:
    run, op = BINARY[name]
    for first in TENSORS:
        for second in TENSORS:
            a, b = first(shape), second(shape)
            short, long = run(a, b), dispatcher.binary(op(), a, b)
            same(short, long)
            same_gradients(short, long, a, b)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_ops_of_all_kinds_of_tensors(name: str, shape: Any) -> None:
    run, op = UNARY[name]
    for make in TENSORS:
        a = make(shape)
        short, long = run(a), dispatcher.unary(op(), a)
        same(short, long)
        same_gradients(short, long, a)


def test_matrix_products_of_all_kinds_of_matrices() -> None:
    for first in TENSORS:
        for second in TENSORS:
            a, b = first((2, 3)), second((3, 2))
            short, long = a @ b, dispatcher.binary(operators.matmul, a, b)
            same(short, long)
            same_gradients(short, long, a, b)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_one_tensor_as_both_operands(name: str) -> None:
    run, op = BINARY[name]
    for make in TENSORS:
        a = make((3,))
        short, long = run(a, a), dispatcher.binary(op(), a, a)
        same(short, long)
        same_gradients(short, long, a)


@pytest.mark.parametrize(("first", "second"), [((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2,)), ((2,), ()),
                                               ((1,), ()), ((0, 2), (1, 2))], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_broadcasting(name: str, first: Any, second: Any) -> None:
    run, op = BINARY[name]
    a, b = leaf(first), leaf(second)
    short, long = run(a, b), dispatcher.binary(op(), a, b)
    same(short, long)
    same_gradients(short, long, a, b)


# ---- numbers
@pytest.mark.parametrize("number", [2, 0.5, -3, 0, True, 1 + 2j, 2**40, -2**40, float("inf"), float("nan"), 127, 128])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_a_tensor_and_a_number(name: str, number: Any) -> None:
    run, op = BINARY[name]
    for a in (leaf((3,)), plain(()), of_leaf((2,)), leaf((2,), torch.float64)):
        if name == "sub" and number is True:
            continue
        short, long = run(a, number), dispatcher.binary(op(), a, number)
        assert repr(facts(short)) == repr(facts(long))       # nan is not equal to itself
        if short.grad_fn is not None:
            assert type(short.grad_fn) is type(long.grad_fn) and edges(short.grad_fn) == edges(long.grad_fn)


def test_numbers_on_the_left() -> None:
    a = leaf((3,))
    for short, long in ((2 + a, a + 2), (2 * a, a * 2), (3.0 - a, -(a - 3.0)), (6 / a, a.reciprocal() * 6)):
        assert torch.allclose(short, long) and short.requires_grad
    assert (3.0 - a).grad_fn.name() == "RsubBackward1"
    assert (6 / a).grad_fn.next_functions[0][0].name() == "ReciprocalBackward0"


# ---- dtypes
DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "int64", "uint8", "bool"]


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_mixed_dtypes(name: str, first: str) -> None:
    run, op = BINARY[name]
    for second in DTYPES:
        a = torch.ones(3, dtype=getattr(torch, first))
        b = torch.ones(3, dtype=getattr(torch, second))
        same(run(a, b), dispatcher.binary(op(), a, b))
        if (name, first, second) == ("div", "float16", "complex64"):         # PyTorch has no quotients of complex32
            with pytest.raises(NotImplementedError, match="div_cpu"):
                run(a, b[0])
            continue
        same(run(a, b[0]), dispatcher.binary(op(), a, b[0]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "sum"])
def test_unary_ops_of_other_dtypes(name: str, dtype: str) -> None:
    run, op = UNARY[name]
    a = torch.ones(3, dtype=getattr(torch, dtype))
    same(run(a), dispatcher.unary(op(), a))


# ---- errors
@pytest.mark.parametrize("run", [
    lambda a: a + torch.ones(4), lambda a: a * torch.ones(2, 2), lambda a: a @ torch.ones(2, 2),
    lambda a: torch.ones(2, 3) @ a[:2],
    lambda a: a + "text", lambda a: a * None, lambda a: -torch.ones(2, dtype=torch.bool), lambda a: a - [1, 2],
    lambda a: torch.ones(2, dtype=torch.bool) - torch.ones(2, dtype=torch.bool), lambda a: torch.sin("text"),
    lambda a: torch.sin(), lambda a: torch.add(a, a, a, a, a), lambda a: a.sin(3),
])
def test_what_does_not_fit_is_an_error_and_leaves_no_trace(run: Any) -> None:
    a = leaf((3,))
    with pytest.raises((RuntimeError, TypeError)):
        run(a)
    assert a._version == 0 and a.grad is None


def test_errors_are_the_ones_of_the_door() -> None:
    a, b = leaf((3,)), leaf((4,))
    messages = []
    for run in (lambda: a + b, lambda: dispatcher.binary(operators.add, a, b)):
        with pytest.raises(RuntimeError) as caught:
            run()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith("The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0")


# ---- in place
@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_"])
def test_writes_in_place(name: str) -> None:
    functional = {"add_": "add", "sub_": "sub", "mul_": "mul", "div_": "div"}[name]
    run = BINARY[functional][0]
    for first in (plain, inner, written, behind):
        for second in (plain, leaf, inner, turned):
            a, b = first((2, 3)), second((2, 3))
            version, expected = a._version, run(a.detach(), b.detach()).tolist()
            assert getattr(a, name)(b) is a
            assert a.tolist() == expected and a._version == version + 1
            assert a.requires_grad == (first is not plain or second is not plain)


def test_a_write_of_plain_tensors_notes_the_version_for_who_saved_it() -> None:
    x, factor = leaf((3,)), plain((3,))
    out = x * factor
    factor.add_(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        out.sum().backward()


def test_a_leaf_is_not_written_to() -> None:
    a = leaf((3,))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."):
        a.add_(torch.ones(3))
    assert a._version == 0


def test_a_write_to_a_tensor_by_itself() -> None:
    a = plain((3,))
    expected = (a + a).tolist()
    a.add_(a)
    assert a.tolist() == expected and a._version == 1


# ---- what is saved
def test_versions_are_those_at_the_time_of_saving() -> None:
    a, b = written((3,)), leaf((3,))
    node = (a * b).grad_fn
    assert a._version == 1
    assert node._saved_self._version == 1
    a.mul_(2.0)
    with pytest.raises(RuntimeError, match="expected version 1 instead"):
        _ = node._saved_self


def test_only_what_a_needed_rule_uses_is_saved() -> None:
    a, b = leaf((3,)), plain((3,))
    for node in ((a * b).grad_fn, dispatcher.binary(operators.mul, a, b).grad_fn):
        assert node._saved_self is None and node._saved_other is b
    for node in ((b * a).grad_fn, dispatcher.binary(operators.mul, b, a).grad_fn):
        assert node._saved_self is b and node._saved_other is None


def test_saved_inputs_are_the_tensors_themselves() -> None:
    a = leaf((3,))
    assert a.sin().grad_fn._saved_self is a
    p = parameter((3,))
    assert (p * a).grad_fn._saved_self is p


# ---- with modes and profilers
def test_no_grad_records_nothing() -> None:
    a = leaf((2, 2))
    with torch.no_grad():
        for out in (a + a, a * 2, -a, a @ a, a.sin(), torch.relu(a), a.sum()):
            assert out.grad_fn is None and not out.requires_grad


def test_inference_mode_marks_results() -> None:
    a = leaf((2, 2))
    with torch.inference_mode():
        assert all([out.is_inference() for out in (a + a, a * 2, -a, a @ a, a.sin(), a.sum())])


def test_dispatch_modes_see_operators() -> None:
    seen: list[str] = []

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    a = plain((2, 2))
    with Log():
        _ = a + a, a * 2.0, -a, a @ a, a.sin(), a.add_(a)
    assert seen == ["add", "mul", "neg", "mm", "sin", "add_"]


def test_saved_tensor_hooks_see_what_operators_save() -> None:
    packed: list[Any] = []
    a, b = leaf((2,)), leaf((2,))
    with graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        out = a * b
        a.sin()
        a + b
    assert len(packed) == 3
    out.sum().backward()
    assert torch.equal(a.grad, b.detach())


def test_tangents_pass_through_operators() -> None:
    a, t = plain((2, 2)), torch.ones(2, 2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, t)
        for out, expected in ((dual + a, t), (dual * a, a), (a * dual, a), (-dual, -t), (dual @ a, t @ a),
                              (dual.sin(), a.cos())):
            assert torch.allclose(forward_ad.unpack_dual(out).tangent, expected)


def test_subclasses_see_operators() -> None:
    class Seen(torch.Tensor):
        pass

    a = plain((2, 2)).as_subclass(Seen)
    b = plain((2, 2))
    assert all([type(out) is Seen for out in (a + b, b + a, a * 2, 2 * a, -a, a @ b, b @ a, a.sin(), torch.sin(a), a.sum())])


class Derived(torch.nn.Parameter):
    pass


@pytest.mark.parametrize(("run", "name"), [
    (lambda a, b: a + b, "AddBackward0"), (lambda a, b: a - b, "SubBackward0"), (lambda a, b: a * b, "MulBackward0"),
    (lambda a, b: a / b, "DivBackward0"), (lambda a, b: a ** b, "PowBackward1"), (lambda a, b: a % b, "RemainderBackward1"),
    (lambda a, b: a @ b, "DotBackward0"),
])
def test_a_parameter_on_the_right_stays_there(run: Any, name: str) -> None:
    right = torch.tensor([2.0, 4.0])
    for b in (torch.nn.Parameter(right), Derived(right), right.clone().requires_grad_()):
        a = leaf((2,))
        out = run(a, b)
        assert out.grad_fn.name() == name
        assert [n.variable is t for (n, _), t in zip(out.grad_fn.next_functions, (a, b), strict=True)] == [True, True]


def test_a_subclass_on_the_right_stays_there() -> None:
    seen: list[Any] = []

    class Log(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append([type(a) for a in args])
            return super().__torch_function__(func, types, args, kwargs or {})

    a, b = plain((2,)), plain((2,)).as_subclass(Log)
    seen.clear()
    _ = a + b, a - b, a * b, a / b, a % b, a ** b
    assert seen == [[torch.Tensor, Log]] * 6


def test_operators_look_like_functions_of_the_class() -> None:
    for name in ("__add__", "__mul__", "__truediv__", "__neg__", "__matmul__", "__radd__"):
        function = getattr(torch.Tensor, name)
        assert callable(function)
    a = plain((2,))
    assert torch.equal(torch.Tensor.__add__(a, a), a * 2)
    assert a.__add__(a).tolist() == (a + a).tolist()


def test_something_else_may_answer_from_the_right() -> None:
    class Other:
        def __radd__(self, left: Any) -> str:
            return "mine"

        def __rmatmul__(self, left: Any) -> str:
            return "mine, too"

    assert plain((2,)) + Other() == "mine"
    assert plain((2, 2)) @ Other() == "mine, too"


def test_number_keeps_the_strides_of_dimensions_of_size_one() -> None:
    x = torch.ones(4, 1).t()
    assert [(x * 1.5).stride(), (1.5 + x).stride(), (x - torch.tensor(1.0)).stride()] == [(1, 1)] * 3
    assert [(x + x).stride(), (x.contiguous() * 2).stride(), (torch.ones(1, 4) * 2).stride()] == [(4, 1), (1, 1), (4, 1)]
