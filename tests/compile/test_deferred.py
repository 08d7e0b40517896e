"""Deferred ops: what waits, what ends the wait, and that only the time tells the difference."""
from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.compile.deferred import Deferrer, codes, settle
from retrograd.compile.state import backend_config
from retrograd.compile.tape import clear_spares
from retrograd.compile.waiting import layout_of, layouts
from retrograd.core.exposed import is_exposed
from retrograd.core.tensor import FLAG_PENDING


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    with backend_config.patch(fusion_code=False):
        yield


def repeated(f: Callable[..., Any], *args: Any) -> Any:
    """What `f` gives the third time that its ops are deferred: the layouts of results are known, and there is a program."""
    for _ in range(3):
        with Deferrer():
            result = f(*args)
    return result


def is_pending(t: Any) -> bool:
    return bool(t._flags & FLAG_PENDING)


def test_elementwise_ops_wait_until_the_scope_ends() -> None:
    layouts.clear()                               # as if nothing had been computed before
    x = torch.arange(6.0)
    seen = []

    def f() -> Any:
        y = x * 2 + 1
        seen.append(is_pending(y))
        return y
    assert repeated(f).tolist() == [1, 3, 5, 7, 9, 11]
    assert seen == [False, True, True]


ASKING: dict[str, Callable[[Any], Any]] = {
    "item": lambda y: y[1].item(), "list": lambda y: y.tolist(), "numpy": lambda y: y.numpy().tolist(), "text": repr,
    "storage": lambda y: y.untyped_storage().tolist(), "pickle": lambda y: pickle.loads(pickle.dumps(y)).tolist(),
    "copy": lambda y: copy.deepcopy(y).tolist(), "truth": lambda y: bool(y[2] > 1), "reduction": lambda y: float(y.sum()),
    "data": lambda y: y.data.tolist(), "view": lambda y: y.view(3, 2).t().tolist(),
    "dlpack": lambda y: np.from_dlpack(y).tolist(),
    "index": lambda y: y[torch.tensor([2, 1])].tolist(), "iteration": lambda y: [float(v) for v in y],
    "product": lambda y: (y @ y).item(), "halves": lambda y: y.half().tolist(), "contains": lambda y: 3.0 in y,
    "format": lambda y: f"{y[0]:.2f}", "equal": lambda y: torch.equal(y, y), "set_data": lambda y: set_data(y)}


def set_data(y: Any) -> Any:
    z = torch.zeros(6)
    z.data = y
    return z.tolist()


@pytest.mark.parametrize("name", ASKING)
def test_a_value_that_is_asked_for_is_there(name: str) -> None:
    x = torch.arange(6.0)
    expected = ASKING[name](x * 2 + 1)
    assert repeated(lambda: ASKING[name](x * 2 + 1)) == expected


def test_a_write_comes_after_what_waits_for_the_old_value() -> None:
    x = torch.ones(4)

    def f() -> Any:
        y = x * 3
        x.add_(1)
        return y + x
    with Deferrer():
        first = f()
    with Deferrer():
        second = f()
    assert (first.tolist(), second.tolist()) == ([5.0] * 4, [9.0] * 4)


def test_a_write_through_a_view_comes_after_what_waits() -> None:
    x = torch.ones(4)
    row = x[1:3]

    def f() -> Any:
        y = x * 3
        row.zero_()
        z = y + x
        row.fill_(1)
        return z
    assert repeated(f).tolist() == [4, 3, 3, 4]


def test_memory_that_numpy_shares_is_read_at_once() -> None:
    memory = np.ones(3, np.float32)
    x = torch.from_numpy(memory)
    shown = torch.ones(3)
    view = shown.numpy()
    assert is_exposed(x.array) and is_exposed(shown[1:].array) and not is_exposed(torch.ones(3).array)

    def f() -> Any:
        y, z = x * 2, shown * 2
        memory[:] = view[:] = 7
        result = y + z
        memory[:] = view[:] = 1
        return result
    assert repeated(f).tolist() == [4, 4, 4]


def test_a_storage_that_was_taken_before_is_written_after_what_waits() -> None:
    x = torch.ones(3)
    bytes_ = x.untyped_storage()

    def f() -> Any:
        y = x * 2
        bytes_.fill_(0)
        z = y + 0
        x.fill_(1)
        return z
    assert repeated(f).tolist() == [2, 2, 2]


def test_a_thread_sees_values() -> None:
    x = torch.ones(3)

    def f() -> Any:
        seen: list[Any] = []
        y = x * 2 + 1
        thread = threading.Thread(target=lambda: (seen.append((y + 1).tolist()), x.mul_(5)))
        thread.start()
        thread.join()
        x.fill_(1)
        return seen, y.tolist()
    assert repeated(f) == ([[4, 4, 4]], [3, 3, 3])


def test_a_thread_that_was_there_before_writes_after_what_waits() -> None:
    x = torch.ones(3)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()

        def f() -> Any:
            y = x * 2 + 1
            pool.submit(x.mul_, 5).result()
            z = y + x
            x.fill_(1)
            return z.tolist()
        assert repeated(f) == [8, 8, 8]


def test_ops_that_wait_for_a_thread_do_not_block_it() -> None:
    x = torch.ones(3)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()

        class Asking(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, t: Any) -> Any:
                return t + pool.submit(t.tolist).result(timeout=20)[0]

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad
        assert repeated(lambda: Asking.apply(x * 2 + 1) * 2).tolist() == [12, 12, 12]


def test_values_are_there_after_an_error() -> None:
    x = torch.ones(3)
    kept: list[Any] = []

    def f() -> None:
        kept.append(x * 2 + 1)
        raise ValueError("no")
    for _ in range(2):
        with pytest.raises(ValueError), Deferrer():
            f()
    assert [t.tolist() for t in kept] == [[3, 3, 3]] * 2


def test_an_error_comes_from_the_op_that_makes_it() -> None:
    x, y = torch.ones(3), torch.ones(4)

    def f() -> str:
        z = x * 2
        with pytest.raises(RuntimeError, match="must match the size"):
            z + y
        return "after"
    assert repeated(f) == "after"


def test_gradients_and_saved_values_are_those_of_eager() -> None:
    def f(x: Any) -> Any:
        y = torch.sigmoid(x) * x.exp()
        (y * y).sum().backward()
        return y.detach(), x.grad
    expected = f(torch.linspace(-1, 1, 5).requires_grad_())
    for got, wanted in zip(repeated(lambda: f(torch.linspace(-1, 1, 5).requires_grad_())), expected, strict=True):
        torch.testing.assert_close(got, wanted)


def test_a_saved_value_that_changes_is_an_error_as_always() -> None:
    def f() -> None:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        z = y * 2
        y.add_(1)
        z.sum()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    repeated(f)


def test_random_numbers_come_in_the_same_order() -> None:
    def f() -> Any:
        torch.manual_seed(3)
        x = torch.rand(4) * 2
        return x + torch.nn.functional.dropout(x, 0.5)
    expected = f()
    assert repeated(f).tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (2, 3)])
def test_shapes_of_all_kinds(shape: tuple[int, ...]) -> None:
    x = torch.ones(shape)
    assert torch.equal(repeated(lambda: (x + 1) * x), torch.full(shape, 2.0))


def test_layouts_are_those_of_eager() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    for view in (x.transpose(0, 2), x[:, ::2], x.permute(1, 2, 0), x.expand(2, 3, 4), x[..., :1]):
        expected = (view * 2).exp() + x[0, 0, 0]
        got = repeated(lambda view=view: (view * 2).exp() + x[0, 0, 0])
        assert got.stride() == expected.stride() and torch.equal(got, expected)


def test_values_without_references_are_not_stored() -> None:
    torch.compiler.reset()
    x = torch.ones(4)
    repeated(lambda: x * 2 + 1 - x)
    code, = codes.values()
    region, = [call.region for call in code.calls]
    assert len(region.statements) == 3 and len(region.outputs) == 1


def test_other_dtypes_and_subclasses_do_not_wait() -> None:
    class Mine(torch.Tensor):
        pass

    def f(x: Any) -> Any:
        y = x * 2
        assert not is_pending(y)
        return y + x
    for x in (torch.arange(3), torch.ones(3, dtype=torch.bfloat16), torch.ones(3, dtype=torch.complex64),
              torch.ones(3).as_subclass(Mine)):
        assert torch.equal(repeated(f, x), f(x))


def test_changing_numbers_share_one_program() -> None:
    torch.compiler.reset()
    x = torch.ones(4)
    for k in range(5):
        with Deferrer():
            y = x * float(k) + 1
        assert y.tolist() == [k + 1.0] * 4
    assert len(codes) == 1


def test_asking_twice_is_harmless() -> None:
    settle()
    with Deferrer():
        settle()
        y = torch.ones(2) * 2
        settle(y)
        assert y.tolist() == [2, 2]
        settle(y)


def test_the_backward_pass_of_a_fused_function_is_fused_too() -> None:
    def f(x: Any) -> Any:
        y = torch.sigmoid(x) * x
        return (y * torch.tanh(y)).sum()
    x = torch.linspace(-1, 1, 6, requires_grad=True)
    f(x).backward()
    expected, g = x.grad, torch.compile(f)
    torch.compiler.reset()
    with backend_config.patch(fusion_threshold=0):
        for _ in range(3):
            x.grad = None
            g(x).backward()
            torch.testing.assert_close(x.grad, expected)
            assert not is_pending(x.grad)
    assert len(codes) > 1
    first, = torch.autograd.grad(g(x), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, torch.autograd.functional.hessian(f, x.detach()).sum(0))


def test_long_programs_are_cut_into_several_loops() -> None:
    x = torch.ones(4)

    def f() -> Any:
        y = x
        for _ in range(100):
            y = y * 1.01 + 0.5
        return y
    torch.compiler.reset()
    assert torch.equal(repeated(f), f())
    lengths = [len(call.region.statements) for code in codes.values() if code for call in code.calls]
    assert len(lengths) > 3 and max(lengths) <= 32


def test_transforms_of_fused_functions_and_fused_transforms() -> None:
    def f(x: Any) -> Any:
        return (torch.sin(x) * x + x.exp()).sum()
    func, x = torch.func, torch.linspace(-1, 1, 12).reshape(3, 4)
    v = torch.ones_like(x)
    with backend_config.patch(fusion_threshold=0):
        g = torch.compile(f)
        for _ in range(3):
            for made, wanted in [
                    (func.grad(g)(x), func.grad(f)(x)), (torch.compile(func.grad(f))(x), func.grad(f)(x)),
                    (func.vmap(g)(x), func.vmap(f)(x)), (torch.compile(func.vmap(func.grad(f)))(x), func.vmap(func.grad(f))(x)),
                    (func.jvp(g, (x,), (v,))[1], func.jvp(f, (x,), (v,))[1]),
                    (torch.compile(func.hessian(f))(x[0]), func.hessian(f)(x[0]))]:
                torch.testing.assert_close(made, wanted)


def test_large_arguments_in_fused_code() -> None:
    values = torch.tensor([1.0, 1e7, -1e10, 1e30, 3e38])
    f = torch.compile(lambda t: [(t * 1.0).sin(), (t * 1.0).cos(), torch.fmod(t * 1.0, 0.7)])
    expected = [values.sin(), values.cos(), torch.fmod(values, 0.7)]
    with backend_config.patch(fusion_threshold=0):
        for _ in range(4):
            torch.testing.assert_close(f(values), expected)


def test_results_larger_than_the_caches_are_written_whole() -> None:
    x, rows = torch.arange(2_800_001) % 1000 / 8, torch.arange(3.0).reshape(-1, 1)
    f = torch.compile(lambda: [(x * 2 + rows) * 0.5, (x * 2 + rows) > 4])
    expected = f()
    with backend_config.patch(fusion_threshold=0, fusion_code=True):
        for _ in range(3):
            assert all([torch.equal(made, wanted) for made, wanted in zip(f(), expected, strict=True)])


def test_subtracting_a_bool_still_raises_after_deferred_subtractions() -> None:
    x = torch.rand(4)
    for _ in range(3):
        with Deferrer():
            assert torch.equal(x - 0.5, torch.sub(x, 0.5))
            with pytest.raises(RuntimeError, match="with a bool tensor"):
                x - True


def test_parameter_made_of_a_pending_tensor_has_its_value() -> None:
    x = torch.ones(3)

    def function() -> Any:
        parameter = torch.nn.Parameter(x * 2 + 1)
        assert parameter.grad_fn is None and parameter.is_leaf and not is_pending(parameter)
        return parameter

    assert repeated(function).tolist() == [3.0, 3.0, 3.0]


def test_arrays_of_values_that_are_never_stored_are_kept_up_to_a_limit() -> None:
    clear_spares()
    kept = []
    for size in range(200_000, 200_012):
        x = torch.ones(size)
        for _ in range(2):                        # the first time compiles
            assert (repeated(lambda x: (x * 2 + 1) * 3, x)[:2] == 9).all()
        kept.append(layout_of(x.array))
    assert len(kept[-1].spare) == 2 and sum([layout.span * len(layout.spare) for layout in kept]) <= 1 << 24
    clear_spares()
    assert not any([layout.spare for layout in kept])
