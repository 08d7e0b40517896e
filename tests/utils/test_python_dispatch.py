"""Dispatch modes and `__torch_dispatch__`: the stream of ops that they see, and what they may do to it."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd.engine import current_node
from retrograd.core.state import switches, tls
from retrograd.overrides import enable_reentrant_dispatch
from retrograd.utils._mode_utils import no_dispatch
from retrograd.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    is_in_torch_dispatch_mode,
    return_and_correct_aliasing,
)


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path
    yield
    assert (switches.any_mode, tls.slow_path) == before
    assert not tls.below


class Log(TorchDispatchMode):
    """Writes down each op with the node that runs it and its arguments other than tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.calls: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        node = current_node()
        self.seen.append(str(func) if node is None else f"{func} in {type(node).__name__}")
        self.calls.append((func, types, args, kwargs))
        return func(*args, **(kwargs or {}))


def test_the_stream_of_forward_and_backward() -> None:
    x = torch.ones(3, requires_grad=True)
    with Log() as log:
        x.mul(2).div(3).sum().backward()
    assert log.seen == [
        "aten.mul.Tensor", "aten.div.Tensor", "aten.sum.default", "aten.ones_like.default",
        "aten.expand.default in SumBackward0", "aten.div.Tensor in DivBackward0", "aten.mul.Tensor in MulBackward0",
        "aten.detach.default in AccumulateGrad"]
    assert torch.allclose(x.grad, torch.full((3,), 2 / 3))


def test_saved_output_is_detached_when_saved_and_when_used() -> None:
    x = torch.ones(3, requires_grad=True)
    with Log() as log:
        y = x.exp()
        y.backward(torch.ones(3))
    assert log.seen == ["aten.exp.default", "aten.detach.default", "aten.ones.default", "aten.detach.default in ExpBackward0",
                        "aten.mul.Tensor in ExpBackward0", "aten.detach.default in AccumulateGrad"]


def test_gradient_that_cannot_be_stolen_is_copied() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with Log() as log:
        x.sum().backward()
    assert log.seen[-2:] == ["aten.new_empty_strided.default in AccumulateGrad", "aten.copy_.default in AccumulateGrad"]


def test_second_gradient_is_added_in_place() -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    with Log() as log:
        (x * 2).sum().backward()
    assert log.seen[-1] == "aten.add_.Tensor in AccumulateGrad"
    assert x.grad.tolist() == [4.0, 4.0]


def test_arguments_come_without_defaults_and_keywords_by_name() -> None:
    x = torch.ones(2, 3)
    with Log() as log:
        torch.add(x, x, alpha=2)
        x.sum(1)
        x.sum(1, keepdim=True)
        torch.gt(x, 0)
    (add, types, args, kwargs), total, kept, compared = log.calls
    assert add is torch.ops.aten.add.Tensor
    assert types == ()
    assert args[0] is x
    assert kwargs == {"alpha": 2}
    assert (total[2][1:], total[3]) == (([1],), {})
    assert kept[2][1:] == ([1], True)
    assert compared[0] is torch.ops.aten.gt.Scalar


def test_out_form_is_seen_as_such() -> None:
    out = torch.empty(2)
    with Log() as log:
        torch.sin(torch.zeros(2), out=out)
    assert log.seen[-1] == "aten.sin.out"
    assert out.tolist() == [0.0, 0.0]


def test_modes_nest_innermost_first() -> None:
    order: list[str] = []

    class Named(TorchDispatchMode):
        def __init__(self, name: str) -> None:
            self.name = name

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    with Named("outer"), Named("inner") as inner:
        assert _get_current_dispatch_mode() is inner
        torch.ones(1)
    assert order == ["inner", "outer"]
    assert _get_current_dispatch_mode() is None


def test_what_a_handler_does_is_not_recorded_but_its_result_is() -> None:
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            assert not result.requires_grad
            return result * 2 if func is torch.ops.aten.sin.default else result

    x = torch.ones(1, requires_grad=True)
    with Doubles():
        y = x.sin()
    assert type(y.grad_fn).__name__ == "SinBackward0"
    assert y.item() == pytest.approx(2 * 0.8414709848)


def test_writes_and_views_keep_their_bookkeeping() -> None:
    x = torch.ones(4)
    with Log():
        view = x.view(2, 2)
        view.add_(1)
    assert view._base is x
    assert x._version == view._version == 1
    assert x.tolist() == [2.0] * 4


def test_error_in_a_handler_restores_the_stack() -> None:
    class Fails(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyError("no")

    with Fails() as mode:
        with pytest.raises(KeyError):
            torch.ones(1)
        assert _get_current_dispatch_mode() is mode


def test_no_dispatch_hides_ops() -> None:
    with Log() as log, no_dispatch():
        torch.ones(1) + 1
    assert log.seen == []


# ---- subclasses
class Boxed(torch.Tensor):
    """Holds a tensor and logs what is done with it."""

    seen: list[str] = []

    @staticmethod
    def __new__(cls: Any, inner: Any, requires_grad: bool = False) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, requires_grad=requires_grad)

    def __init__(self, inner: Any, requires_grad: bool = False) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func.__name__)

        def unbox(a: Any) -> Any:
            return a.inner if isinstance(a, Boxed) else a
        result = func(*[unbox(a) for a in args], **{k: unbox(v) for k, v in (kwargs or {}).items()})
        return Boxed(result) if isinstance(result, torch.Tensor) else result


def test_wrapper_subclass_goes_through_autograd() -> None:
    Boxed.seen.clear()
    x = Boxed(torch.tensor([1.0, 2.0]), requires_grad=True)
    y = x * x
    assert type(y) is Boxed
    assert type(y.grad_fn).__name__ == "MulBackward0"
    y.sum().backward()
    assert type(x.grad) is Boxed
    assert x.grad.inner.tolist() == [2.0, 4.0]
    assert Boxed.seen[:2] == ["mul.Tensor", "sum.default"]


def test_subclass_saved_as_output_is_detached_by_itself() -> None:
    Boxed.seen.clear()
    x = Boxed(torch.tensor([0.0]), requires_grad=True)
    x.exp().sum().backward()
    assert Boxed.seen == ["exp.default", "detach.default", "sum.default", "ones_like.default", "expand.default",
                          "detach.default", "mul.Tensor", "detach.default"]


def test_autograd_can_be_used_again_inside_a_handler() -> None:
    found: list[Any] = []

    class Inside(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            leaf = torch.ones(1, requires_grad=True)
            found.append(leaf.exp().grad_fn)
            with enable_reentrant_dispatch():
                found.append(leaf.exp().grad_fn)
            with no_dispatch():
                return func(*args, **kwargs)

    torch.ones(1).as_subclass(Inside).sin()
    assert found[0] is None
    assert found[1] is not None


def test_all_not_implemented_is_a_type_error() -> None:
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.sin.default'; all __torch_dispatch__"):
        torch.ones(1).as_subclass(Refuses).sin()


def test_wrapper_gives_back_what_it_wrote_to() -> None:
    x, y = torch.ones(2), torch.zeros(2)
    assert return_and_correct_aliasing(torch.ops.aten.add_.Tensor, (x, y), {}, y) is x
    assert return_and_correct_aliasing(torch.ops.aten.add.out, (x, x), {"out": y}, x) is y
    assert return_and_correct_aliasing(torch.ops.aten.add.Tensor, (x, y), {}, y) is y

    class Other(torch.Tensor):
        pass
    with pytest.raises(RuntimeError, match="expected types to match"):
        return_and_correct_aliasing(torch.ops.aten.view.default, (x, [2]), {}, x.as_subclass(Other))


class Aliasing(torch.Tensor):
    """A wrapper of one tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [a.inner if isinstance(a, Aliasing) else a for a in args]
        return return_and_correct_aliasing(func, args, kwargs, Aliasing(func(*plain, **(kwargs or {}))))


def test_views_of_wrappers_get_the_storage_of_their_base():
    x = Aliasing(torch.ones(4))
    assert x.view(2, 2).untyped_storage()._cdata == x.untyped_storage()._cdata
    assert (x + 1).untyped_storage()._cdata != x.untyped_storage()._cdata
    plain, other = torch.zeros(2, 2), torch.ones(4)
    assert return_and_correct_aliasing(torch.ops.aten.view.default, (plain, [4]), {}, other).tolist() == [0, 0, 0, 0]


def test_modes_may_say_that_they_belong_to_the_library():
    class Own(TorchDispatchMode):
        @classmethod
        def is_infra_mode(cls):
            return True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Own():
        assert is_in_torch_dispatch_mode() and not is_in_torch_dispatch_mode(include_infra_modes=False)


def stream(run: Any) -> list[str]:
    """The names of the ops that a mode sees, without the default overload."""
    with Log() as log:
        run()
    return [name.split(" ")[0].removeprefix("aten.").removesuffix(".default") for name in log.seen]


def gradient_stream(function: Any, *inputs: Any) -> list[str]:
    inputs = tuple(t.requires_grad_() for t in inputs)
    out = function(*inputs)
    weight = torch.ones_like(out)
    return stream(lambda: torch.autograd.grad(out, inputs, weight))


x32, y32 = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 1.0])


@pytest.mark.parametrize(("function", "count", "names"), [
    (lambda x: x.clamp(1, 2), 1, "scalar_tensor ge.Scalar le.Scalar logical_and where.self"),
    (torch.clamp_max, 2, "scalar_tensor gt.Tensor where.self scalar_tensor le.Tensor where.self"),
    (torch.maximum, 2, "div.Scalar eq.Tensor where.self gt.Tensor masked_fill_.Scalar "
                       "div.Scalar eq.Tensor where.self lt.Tensor masked_fill_.Scalar"),
    (torch.fmod, 2, "div.Tensor_mode neg mul.Tensor"),
    (torch.reciprocal, 1, "detach mul.Tensor neg mul.Tensor"),
    (torch.copysign, 2, "detach zeros div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor"),
    (lambda x: x.var(), 1, "mean sub.Tensor mul.Scalar mul.Tensor"),
    (lambda x: x.norm(), 1, "detach div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor"),
    (lambda x: torch.nn.functional.layer_norm(x, (3,)), 1, "native_layer_norm_backward"),
    (torch.atanh, 1, "pow.Tensor_Scalar empty_like fill_.Scalar sub_.Tensor mul.Scalar div.Tensor"),
    (torch.dist, 2, "detach sub.Tensor div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor "
                    "neg sub.Tensor div.Tensor eq.Scalar masked_fill_.Scalar mul.Tensor"),
], ids=lambda value: value.split(" ")[0] if isinstance(value, str) else None)
def test_formulas_take_pytorchs_steps(function: Any, count: int, names: str) -> None:
    assert gradient_stream(function, *[t.clone() for t in (x32, y32)[:count]]) == names.split()


@pytest.mark.parametrize(("run", "names"), [
    (lambda: torch.where(torch.tensor(True), torch.tensor(1.0), 0), "scalar_tensor where.self"),
    (lambda: torch.ones(2, 3).t().reshape(3, 1, 2), "ones t view"),
    (lambda: torch.linalg.inv(torch.eye(2)), "eye linalg_inv_ex _linalg_check_errors"),
    (lambda: torch.linalg.lu_factor(torch.eye(2)), "eye linalg_lu_factor_ex _linalg_check_errors"),
    (lambda: torch.linalg.eigvals(torch.eye(2)), "eye linalg_eig"),
], ids=["where", "reshape", "inv", "lu_factor", "eigvals"])
def test_composites_take_pytorchs_steps(run: Any, names: str) -> None:
    found = stream(run)
    assert [name for name in found if name != "lift_fresh"] == names.split()


def test_failed_factorization_raises_through_a_mode() -> None:
    with Log(), pytest.raises(RuntimeError, match=r"linalg.inv: The diagonal element 1 is zero"):
        torch.linalg.inv(torch.zeros(2, 2))
    with Log(), pytest.raises(RuntimeError, match=r"linalg.lu_factor: U\[1,1\] is zero"):
        torch.linalg.lu_factor(torch.zeros(2, 2))
    with Log(), pytest.raises(RuntimeError, match=r"\(Batch element 1\): D\[2,2\] is zero"):
        torch.linalg.ldl_factor(torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]))


def test_running_statistics_of_instance_norm_are_written_where_modes_see_it() -> None:
    mean, var = torch.zeros(2), torch.ones(2)
    found = stream(lambda: torch.nn.functional.instance_norm(torch.ones(2, 2, 3), mean, var))
    assert " ".join(found[-9:]) == "alias view mean.dim copy_ alias view mean.dim copy_ view"
    assert torch.allclose(mean, torch.tensor([0.1, 0.1]))


def test_masks_are_expanded_only_where_shapes_differ() -> None:
    x, mask, row = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)
    assert stream(lambda: torch.masked.sum(x, 1, mask=mask)) == ["lift_fresh", "where.self", "sum.dim_IntList"]
    assert stream(lambda: torch.masked.sum(x, 1, mask=row))[:2] == ["clone", "expand"]
