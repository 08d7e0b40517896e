"""Views and in-place writes: base and recipe, histories that follow a write, and writes that are refused."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch

grad = torch.autograd.grad
COPY_SLICES = "torch::autograd::CopySlices"


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def numbers(*shape: int) -> Any:
    total = 1
    for n in shape:
        total *= n
    return torch.arange(float(total)).reshape(shape).clone()


# ---- bases
VIEWS = {
    "view": lambda t: t.view(6), "slice": lambda t: t[:1], "select": lambda t: t[1], "transpose": lambda t: t.t(),
    "expand": lambda t: t.expand(4, 2, 3), "squeeze": lambda t: t.unsqueeze(0).squeeze(0), "diagonal": lambda t: t.diagonal(),
    "as_strided": lambda t: t.as_strided((2,), (1,), 1), "unfold": lambda t: t.unfold(1, 2, 2),
    "view_as": lambda t: t.view_as(t),
    "permute": lambda t: t.permute(1, 0), "narrow": lambda t: t.narrow(1, 1, 2), "detach": lambda t: t.detach(),
    "real": lambda t: t.real, "split": lambda t: t.split(1)[1], "chunk": lambda t: t.chunk(2)[0],
    "unbind": lambda t: t.unbind()[1],
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_version_with_its_base(name: str) -> None:
    base = numbers(2, 3)
    view = VIEWS[name](base)
    if name not in ("detach", "real"):
        assert view._is_view() and view._base is base
    before = base._version
    if name != "expand":
        view.mul_(2)
        assert base._version == view._version == before + 1
    base.add_(1)
    assert base._version == view._version
    assert torch.equal(view, VIEWS[name](base))


def test_a_view_of_a_view_has_the_root_for_its_base() -> None:
    root = numbers(2, 3)
    last = root.view(6)[2:].view(2, 2).t()
    assert last._base is root and root._base is None


def test_a_clone_is_no_view() -> None:
    root = numbers(2, 3)
    for made in (root.clone(), root.reshape(3, 2).contiguous() + 0, root.t().contiguous(), root[[0, 1]]):
        assert not made._is_view() and made._base is None


# ---- a write through a view
def test_a_write_through_a_view_is_part_of_the_history_of_its_base() -> None:
    x, w = leaf(1.0, 2.0, 3.0), leaf(5.0)
    base = x * 1
    base[1:2].mul_(w)
    assert base.grad_fn.name() == COPY_SLICES
    assert [n.name() for n, _ in base.grad_fn.next_functions] == ["MulBackward0", "torch::autograd::AccumulateGrad"]
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 5.0, 1.0] and w.grad.item() == 2.0


def test_writing_into_memory_without_history_starts_one() -> None:
    w = leaf(5.0, 7.0)
    base = torch.zeros(3)
    view = base[1:]
    assert not view.requires_grad
    view.copy_(w)
    assert base.requires_grad and base.grad_fn.name() == COPY_SLICES and view.requires_grad
    (base * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert w.grad.tolist() == [10.0, 100.0]


def test_a_view_made_before_a_write_to_its_base_follows() -> None:
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    view = base[:2]
    assert view.grad_fn.name() == "SliceBackward0"
    base.mul_(10)
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert view.grad_fn.next_functions[0][0] is base.grad_fn
    view.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 0.0]


def test_the_history_of_a_view_is_made_anew_once_per_write() -> None:
    base = leaf(1.0, 2.0) * 1
    view = base[:1]
    base.mul_(2)
    first = view.grad_fn
    assert view.grad_fn is first
    base.mul_(2)
    assert view.grad_fn is not first


def test_a_view_sees_a_write_through_its_sibling() -> None:
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    left, right = base[:2], base[1:]
    left.mul_(10)
    right.mul_(3)
    left.sum().backward()
    assert left.tolist() == [10.0, 60.0] and x.grad.tolist() == [10.0, 30.0, 0.0]


def test_overlapping_writes_one_after_the_other() -> None:
    x = leaf(1.0, 1.0, 1.0, 1.0)
    base = x.clone()
    for i in range(3):
        base[i:i + 2].mul_(float(i + 2))
    base.sum().backward()
    assert base.tolist() == [2.0, 6.0, 12.0, 4.0] and x.grad.tolist() == [2.0, 6.0, 12.0, 4.0]


def test_a_write_through_a_chain_of_views() -> None:
    x = torch.ones(2, 3, 4, requires_grad=True)
    base = x * 1
    base.permute(2, 0, 1)[1:3].select(1, 1)[:, 2].mul_(7)
    base.sum().backward()
    expected = torch.ones(2, 3, 4)
    expected[1, 2, 1:3] = 7
    assert torch.equal(x.grad, expected)


def test_a_write_through_a_view_of_non_contiguous_memory() -> None:
    x = numbers(3, 4).t().requires_grad_()
    base = x * 1
    base[1:3].zero_()
    base.sum().backward()
    assert x.grad.tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]


def test_an_assignment_with_an_index_is_a_write() -> None:
    x, w = leaf(1.0, 2.0, 3.0), leaf(9.0)
    base = x * 1
    base[0] = w[0] * 2
    base[torch.tensor([False, True, False])] = 0.0
    (base * torch.tensor([3.0, 4.0, 5.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 5.0] and w.grad.tolist() == [6.0]


def test_a_write_can_be_differentiated_twice() -> None:
    x = leaf(2.0, 3.0)
    base = x * x
    base[:1].mul_(x[:1])
    first, = grad(base.sum(), x, create_graph=True)
    second, = grad(first.sum(), x)
    assert first.tolist() == [12.0, 6.0] and second.tolist() == [12.0, 2.0]


def test_a_write_through_a_complex_view() -> None:
    z = torch.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    base = z * 1
    torch.view_as_real(base)[:, 0].mul_(5)
    assert base.tolist() == [5 + 2j, 15 + 4j]
    torch.view_as_real(base).sum().backward()
    assert z.grad.tolist() == [5 + 1j, 5 + 1j]


def test_view_replay_remakes_the_recipe() -> None:
    with torch.autograd._force_original_view_tracking(True):
        base = leaf(1.0, 2.0, 3.0, 4.0) * 1
        view = base.view(2, 2).t()
        base.mul_(2)
        assert view.grad_fn.name() == "TBackward0"
        assert view.grad_fn.next_functions[0][0].name() == "ViewBackward0"


def test_a_saved_view_that_its_base_was_written_under_is_refused() -> None:
    base = leaf(1.0, 2.0) * 1
    out = base[:1].sin()
    base.add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified by"):
        out.backward()


def test_copy_slices_frees_what_its_op_saved() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0)
    base = x * 1
    base[:1].mul_(w)
    base.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        base.sum().backward()


def test_only_the_needed_part_of_a_write_runs() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0)
    base = x * 1
    base[:1].mul_(w)
    out = base.sum()
    assert grad(out, w, retain_graph=True)[0].item() == 1.0
    assert grad(out, x)[0].tolist() == [3.0, 1.0]


# ---- writes that are refused
def test_a_leaf_that_wants_a_gradient_is_not_written_to() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        x[:1].add_(1)
    assert x.tolist() == [1.0, 2.0] and x._version == 0
    with torch.no_grad():
        x.add_(1)
        x[:1].add_(1)
    assert x.tolist() == [3.0, 3.0] and x.is_leaf


@pytest.mark.parametrize(("make", "name"), [
    (lambda t: t.unbind(), "UnbindBackward0"), (lambda t: t.split(1), "SplitBackward0"),
    (lambda t: t.chunk(2), "SplitBackward0")])
def test_one_of_several_views_is_not_written_to(make: Any, name: str) -> None:
    x = leaf(1.0, 2.0)
    base = x * 1
    first, second = make(base)
    assert first.grad_fn.name() == name and second.grad_fn is first.grad_fn and second.output_nr == 1
    with pytest.raises(RuntimeError, match=f"Output 0 of {name} is a view and is being modified inplace. This view is the "
                                           "output of a function that returns multiple views. Such functions do not allow the "
                                           "output views to be modified inplace."):
        first.mul_(2)
    base.mul_(3)
    with pytest.raises(RuntimeError, match=f"Output 1 of {name} is a view and its base or another view of its base has been "
                                           "modified inplace."):
        second.sum().backward()


@pytest.mark.parametrize("view", [lambda t: t.view(1, 3), lambda t: t.transpose(0, 9), lambda t: t.expand(7, 7)])
def test_a_view_of_an_overwritten_view_names_the_write_before_a_wrong_argument(view: Any) -> None:
    base = leaf(1.0, 2.0, 3.0, 4.0) * 1
    first, _ = base.chunk(2)
    base.mul_(2)
    with pytest.raises(RuntimeError, match="Output 0 of SplitBackward0 is a view and its base"):
        view(first)
    with torch.no_grad(), pytest.raises((RuntimeError, IndexError), match="invalid for input|out of range|must match"):
        view(first)


def test_several_views_without_a_gradient_may_be_written_to() -> None:
    base = torch.zeros(2)
    first, second = base.unbind()
    first.add_(1)
    second.add_(2)
    assert base.tolist() == [1.0, 2.0]


def test_a_view_made_without_grad_mode_is_not_written_to_with_it() -> None:
    base = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        view = base[:1]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode "
                                           "enabled. Given that this use case is ambiguous and error-prone, it is forbidden."):
        view.mul_(2)
    with torch.no_grad():
        view.mul_(2)
    assert base.tolist() == [2.0, 2.0]


def test_a_view_of_a_view_made_without_grad_mode_is_not_written_to() -> None:
    base = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        inner = base[:1]
    view = inner.view(1)
    with pytest.raises(RuntimeError, match="Output 0 of ViewBackward0 is a view of a view which was created in no_grad mode "
                                           "and is being modified inplace with grad mode enabled."):
        view.mul_(2)


def test_an_inference_tensor_is_not_written_to_outside() -> None:
    with torch.inference_mode():
        made = torch.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed."):
        made.add_(1)
    with torch.inference_mode():
        made.fill_(7)
    assert made.tolist() == [7.0, 7.0]


def test_views_are_not_detached_in_place() -> None:
    base = leaf(1.0, 2.0) * 1
    with pytest.raises(RuntimeError, match=r"Can't detach views in-place. Use detach\(\) instead."):
        base[:1].detach_()
    base.detach_()
    assert not base.requires_grad and base.is_leaf


def test_an_expanded_tensor_is_not_written_to() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.zeros(1).expand(3).add_(1)


# ---- requires_grad
def test_a_view_made_before_its_leaf_wanted_a_gradient_wants_one_too() -> None:
    x = torch.zeros(2)
    early = x[:1]
    x.requires_grad_()
    late = x[:1]
    assert early.requires_grad and late.requires_grad
    assert early.is_leaf and not late.is_leaf


def test_requires_grad_of_a_view_that_is_no_leaf_cannot_be_unset() -> None:
    view = (leaf(1.0) * 1)[:1]
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables."):
        view.requires_grad = False


def test_errors_about_views_say_in_which_mode_they_were_made() -> None:
    base = leaf(1.0, 2.0) * 1
    with torch.inference_mode():
        view = base[:1]
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace in normal "
                                           "mode."):
        view.mul_(2)
    part, _ = torch.ones(2).unbind()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode "
                                           "enabled. This view is the output of a function that returns multiple views."):
        part.mul_(leaf(1.0)[0])


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x[0].add_(1), lambda x: x.__setitem__(0, 5.0), lambda x: x.view(6).mul_(2),
    lambda x: x.copy_(torch.ones(2, 3, requires_grad=True)), lambda x: x.t().zero_()])
def test_a_leaf_that_is_a_view_is_not_written_to(write: Any) -> None:
    x = torch.zeros(6).view(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in"):
        write(x)
    with torch.no_grad():
        x.add_(1)
    assert x.is_leaf and x.tolist() == [[1, 1, 1]] * 2


def test_gradient_of_t_keeps_the_dtype_of_a_view_in_another_dtype() -> None:
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    bits = torch.tensor([1.5, -2.0], dtype=torch.float64).view(torch.int64)
    (grad,) = torch.autograd.grad(x.t(), x, torch.from_numpy(bits.numpy().copy()).view(torch.float64))
    assert grad.tolist() == [1.5, -2.0]


def test_writing_to_a_view_after_one_of_the_two_got_other_data() -> None:
    for swap_base in (False, True):
        weight = torch.ones(4, 3, requires_grad=True)
        base = weight * 1
        view = base.t()
        if swap_base:
            base.data = torch.zeros(4, 3)
        else:
            view.data = torch.zeros(3, 4)
        view.add_(1)
        view.sum().backward()
        assert weight.grad.tolist() == torch.ones(4, 3).tolist()
        assert view.tolist() == torch.full((3, 4), 2.0 if swap_base else 1.0).tolist()


def test_views_of_pairs_are_replayed_after_a_write() -> None:
    x = torch.ones(2, 2, requires_grad=True) * 1
    y = torch.view_as_real(torch.view_as_complex(x))
    x.mul_(2)
    assert y.grad_fn.name() == "ViewAsRealBackward0"
    z = torch.ones(2, requires_grad=True) * 1j
    twice = z.conj().conj()
    z.mul_(2)
    assert twice.grad_fn.name() == "ConjBackward0" and not twice.is_conj()
