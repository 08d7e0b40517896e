"""In-place ops on lists of tensors, and the lists of parameters and gradients that optimizers ask for."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.core.lists import gradient_lists


def test_every_tensor_of_a_list_is_written_and_its_version_counted():
    targets = [torch.ones(3), torch.ones(2, 2), torch.ones(())]
    others = [torch.full_like(t, 2.0) for t in targets]
    torch._foreach_add_(targets, others, alpha=3)
    assert [t.flatten()[0].item() for t in targets] == [7.0, 7.0, 7.0]
    assert [t._version for t in targets] == [1, 1, 1]


def test_lists_take_views_subclasses_and_other_dtypes_as_single_calls_do():
    class Own(torch.Tensor):
        pass
    base = torch.arange(6.0)
    own = torch.ones(2).as_subclass(Own)
    targets = [base[::2], torch.ones(2, dtype=torch.float64), own]
    torch._foreach_mul_(targets, [torch.full((3,), 2.0), torch.full((2,), 2.0), torch.full((2,), 2.0)])
    assert base.tolist() == [0, 1, 4, 3, 8, 5]
    assert targets[1].tolist() == [2.0, 2.0] and own.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("kind", [list, tuple])
def test_functions_return_the_list_that_they_wrote_to(kind):
    given = kind([torch.ones(2)])
    for _ in range(4):                # plain Python writes a function out at the second call
        assert torch._foreach_add_(given, 1.0) is given
    assert type(torch._foreach_add(given, 1.0)) is tuple


def test_what_is_recorded_is_recorded_for_every_item():
    leaves = [torch.ones(2, requires_grad=True) for _ in range(2)]
    targets = [leaf * 2 for leaf in leaves]
    torch._foreach_mul_(targets, leaves)
    torch.stack(targets).sum().backward()
    assert [leaf.grad.tolist() for leaf in leaves] == [[4.0, 4.0], [4.0, 4.0]]


def test_leaves_that_require_grad_are_refused():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        torch._foreach_add_([torch.ones(2, requires_grad=True)], 1.0)


def test_an_operand_that_shares_memory_with_its_target_is_refused():
    base = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        torch._foreach_add_([base[:3]], [base[1:]])


def test_parameters_come_with_their_gradients_in_lists_of_bounded_size():
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(5)]
    for param in params[:4]:
        param.grad = torch.ones(3)
    made = gradient_lists(params, 6)
    assert [len(left) for left, _ in made] == [2, 2]
    assert all(p.grad is g for left, right in made for p, g in zip(left, right, strict=True))


@pytest.mark.parametrize("make", [
    lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.complex64)),
    lambda: torch.ones(2).as_subclass(type("Own", (torch.Tensor,), {})).requires_grad_()])
def test_unusual_parameters_are_not_put_into_lists(make):
    param = make()
    param.grad = torch.ones(2, dtype=param.dtype)
    assert gradient_lists([param], 100) is None


def test_a_parameter_that_comes_twice_is_not_put_into_lists():
    param = torch.nn.Parameter(torch.ones(2))
    param.grad = torch.ones(2)
    assert gradient_lists([param, param], 100) is None


@pytest.mark.parametrize(("name", "results"), [("_foreach_mul_", [12.25, 12.25]), ("_foreach_div_", [1.0, 1.0])])
def test_a_0d_operand_that_is_written_is_read_again(name, results):
    scale = torch.tensor(3.5)
    targets = [scale, torch.ones(2)]
    getattr(torch, name)(targets, scale)
    assert [t.reshape(-1)[0].item() for t in targets] == results


def test_a_step_of_adam_counts_the_writes_of_its_formula():
    param = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([param], weight_decay=0.1)
    param.sum().backward()
    optimizer.step()
    state = optimizer.state[param]
    assert [t._version for t in (param, state["exp_avg"], state["exp_avg_sq"])] == [2, 1, 2]


@pytest.mark.parametrize(("name", "first", "second"), [
    ("maximum", [0.5, 0.0, 1.0], [0.5, 1.0, 0.0]), ("minimum", [0.5, 1.0, 0.0], [0.5, 0.0, 1.0])])
def test_extremes_in_place_halve_the_gradient_at_ties(name, first, second):
    a, b = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    x = a * 1
    getattr(torch, f"_foreach_{name}_")([x], [b * 1])
    assert x.grad_fn.name() == f"{name.capitalize()}Backward0"
    x.sum().backward()
    assert a.grad.tolist() == first and b.grad.tolist() == second


def test_repeated_calls_of_list_ops_record_write_and_refuse_as_the_first_does():
    for _ in range(4):                                     # the plain core generates functions from the second call on
        leaves = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
        made = torch._foreach_mul(leaves, [2.0, 3])
        assert [t.grad_fn.name() for t in made] == ["ForeachMulBackward1ScalarList"] * 2
        assert torch.autograd.grad(made[1].sum(), leaves[1])[0].tolist() == [3.0] * 3
        with torch.no_grad():
            assert torch._foreach_add_(leaves, 1.0) is leaves and leaves[1].tolist() == [2.0] * 3
            assert leaves[0]._version == 1
        mixed = [torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(2, 2).t()]
        assert [t.dtype for t in torch._foreach_add(mixed, 0.5)] == [torch.float32] * 3
        with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 3"):
            torch._foreach_add(mixed[:2], mixed)
