"""`backward` and `grad` as they are called: arguments, first gradients, edges, and the errors for what does not fit."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd.graph import GradientEdge, get_gradient_edge
from retrograd.core.warn import Shown

backward, grad = torch.autograd.backward, torch.autograd.grad


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


# ---- first gradients
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_an_output_of_one_element_starts_from_one(shape: Any) -> None:
    x = torch.full(shape, 3.0, requires_grad=True)
    (x * x).backward()
    assert x.grad.item() == 6.0 and x.grad.shape == shape


@pytest.mark.parametrize("call", [lambda t, x: t.backward(), lambda t, x: backward(t), lambda t, x: grad(t, x)])
def test_larger_and_complex_outputs_need_a_gradient(call: Any) -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        call(x * 2, x)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs but got "
                                           "torch.complex64"):
        call(x.sum() * 1j, x)


def test_given_gradients_are_used() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.backward(torch.tensor([1.0, 10.0]), retain_graph=True)
    assert x.grad.tolist() == [3.0, 30.0]
    assert grad(y, x, torch.tensor([2.0, 0.0]))[0].tolist() == [6.0, 0.0]


def test_some_gradients_may_be_left_out() -> None:
    x = leaf(1.0, 2.0)
    first, second = x.sum(), x * 2
    backward([first, second], [None, torch.tensor([1.0, 10.0])])
    assert x.grad.tolist() == [3.0, 21.0]


@pytest.mark.parametrize(("given", "error", "message"), [
    (lambda: torch.ones(3), RuntimeError,
     r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\] has a shape of "
     r"torch.Size\(\[2\]\)."),
    (lambda: torch.ones(1, 2), RuntimeError, "Mismatch in shape"),
    (lambda: torch.ones(2, dtype=torch.complex64), RuntimeError,
     r"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
     r"grad_output\[0\] has a dtype of torch.complex64 and output\[0\] has a dtype of torch.float32."),
    (lambda: [], RuntimeError, "got 1 tensors and 0 gradients"),
    (lambda: [5.0], TypeError, "gradients can be either Tensors or None, but got float"),
])
@pytest.mark.parametrize("way", ["backward", "grad"])
def test_given_gradients_must_fit(given: Any, error: Any, message: str, way: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    with pytest.raises(error, match=message):
        if way == "backward":
            backward(y, given())
        else:
            grad(y, x, given())


def test_a_gradient_of_another_real_dtype_is_cast() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).backward(torch.tensor([1, 2]))
    assert x.grad.tolist() == [3.0, 6.0] and x.grad.dtype == torch.float32


# ---- outputs
def test_outputs_must_have_a_history() -> None:
    plain = torch.ones(1)
    for call in (lambda: backward(plain), lambda: plain.backward(), lambda: grad(plain, leaf(1.0))):
        with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
            call()
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad and does not have a grad_fn"):
        backward([leaf(1.0) * 2, plain])


def test_a_leaf_may_be_an_output() -> None:
    x = leaf(5.0)
    x.backward()
    assert x.grad.item() == 1.0
    assert grad(x, x)[0].item() == 1.0


def test_outputs_may_be_any_sequence() -> None:
    x = leaf(2.0)
    backward(y for y in (x * 2, x * 3))
    assert x.grad.item() == 5.0
    assert [g.item() for g in grad([x * 2, x * x], (x,))] == [6.0]


# ---- inputs
def test_inputs_of_grad_must_be_there_and_want_a_gradient() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty."):
        grad(x * 2, [])
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        grad(x * 2, [x, torch.ones(1)])


def test_inputs_of_backward_must_be_there_and_want_a_gradient() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty."):
        backward(x * 2, inputs=[])
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        backward(x * 2, inputs=[torch.ones(1)])


@pytest.mark.parametrize("as_list", [False, True])
def test_backward_fills_only_its_inputs(as_list: bool) -> None:
    a, b = leaf(2.0), leaf(3.0)
    c = a * b
    (c * c).backward(inputs=[a, c] if as_list else a)
    assert a.grad.item() == 36.0 and b.grad is None
    assert not as_list or c.grad.item() == 12.0


def test_backward_takes_an_input_that_the_graph_does_not_reach() -> None:
    a, b = leaf(2.0), leaf(3.0)
    (a * 2).backward(inputs=[b])
    assert a.grad is None and b.grad is None


def test_unused_inputs_are_an_error_none_or_zeros() -> None:
    x, unused = leaf(1.0), leaf(1.0, 2.0)
    y = x * 2
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph. Set allow_unused=True if this is the "
                                           "desired behavior."):
        grad(y, [x, unused])
    y = x * 2
    assert grad(y, [x, unused], allow_unused=True, retain_graph=True)[1] is None
    made = grad(y, [x, unused], materialize_grads=True, retain_graph=True)[1]
    assert made.tolist() == [0.0, 0.0] and not made.requires_grad
    assert grad(y, [unused], materialize_grads=True, create_graph=True)[0].requires_grad
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                                         "allow_unused=False."):
        grad(y, [unused], allow_unused=False, materialize_grads=True)


def test_grad_leaves_the_grad_of_its_inputs_alone() -> None:
    x = leaf(1.0)
    grad(x * 2, x)
    assert x.grad is None


def test_one_input_may_be_asked_for_twice() -> None:
    x = leaf(3.0)
    first, second = grad(x * x, [x, x])
    assert first.item() == second.item() == 6.0


# ---- keeping the graph
def test_retain_graph_follows_create_graph_unless_told() -> None:
    x = leaf(3.0)
    y = x ** 3
    first, = grad(y, x, create_graph=True)
    grad(y, x)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        grad(y, x)
    assert grad(first, x)[0].item() == 18.0
    y = x ** 3
    grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        grad(y, x)


# ---- what is neither tensor nor edge
def test_other_things_than_tensors_and_edges_are_refused() -> None:
    x = leaf(1.0)
    for call in (lambda: grad(x * 2, [3]), lambda: backward(x * 2, inputs=[3])):
        with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got int"):
            call()
    for call in (lambda: grad([3], x), lambda: backward([3])):
        with pytest.raises(AssertionError, match="Expected output to be a torch.Tensor"):
            call()
    with pytest.raises(RuntimeError, match="GradientEdge's first object must be an autograd.graph.Node but got NoneType"):
        grad(x * 2, GradientEdge(None, 0))


# ---- edges
def test_edges_stand_for_inputs_and_outputs() -> None:
    x = leaf(2.0)
    y = x * 3
    middle, start, end = get_gradient_edge(y), get_gradient_edge(x), get_gradient_edge(y * y)
    assert grad(y * y, middle)[0].item() == 12.0
    assert grad(y * y, start, retain_graph=True)[0].item() == 36.0
    assert [g.item() for g in grad(end, [start, middle], retain_graph=True)] == [36.0, 12.0]
    backward(end, inputs=start)
    assert x.grad.item() == 36.0


def test_an_edge_as_output_takes_a_given_gradient() -> None:
    x = leaf(1.0, 2.0)
    edge = get_gradient_edge(x * 3)
    assert grad(edge, x, torch.tensor([1.0, 10.0]))[0].tolist() == [3.0, 30.0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad(edge, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(edge, x, torch.ones(5))


def test_an_edge_names_one_output_of_its_node() -> None:
    x = torch.arange(4.0).requires_grad_()
    low, high = x.split(2)
    edge = get_gradient_edge(high)
    assert edge.output_nr == 1 and edge.node is low.grad_fn
    out = (low * 2).sum() + (high * 3).sum()
    assert grad(out, edge)[0].tolist() == [3.0, 3.0]
    backward(GradientEdge(low.grad_fn, 0), torch.ones(2))
    assert x.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_an_edge_keeps_what_it_needs_when_its_tensor_is_gone() -> None:
    x = leaf(2.0)
    edge = get_gradient_edge((x * x).exp().log())
    assert grad(edge, x)[0].item() == pytest.approx(4.0)


def test_a_gradient_for_an_edge_is_not_made_up() -> None:
    x, unused = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        grad(x * 2, [x, get_gradient_edge(unused)], materialize_grads=True)


# ---- several gradients at once
def test_batched_gradients_give_one_row_each() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    rows, = grad(y, x, torch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_batched_gradients_must_fit() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the first dimension of each "
                                           "grad_output as the batch dimension."):
        grad(x * 2, x, torch.ones(2, 3), is_grads_batched=True)


# ---- old names
def test_old_arguments_warn() -> None:
    x = leaf(1.0, 2.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead."):
        backward(x * 2, grad_variables=torch.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match=r"`grad_tensors` and `grad_variables` \(deprecated\) arguments both passed to "
                                               r"`backward\(\)`. Please only use `grad_tensors`."):
            backward(x * 2, torch.ones(2), grad_variables=torch.ones(2))
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        grad(x.sum(), x, only_inputs=False)


def test_backward_with_create_graph_warns_of_the_cycle() -> None:
    x = leaf(1.0)
    Shown.texts.clear()
    with pytest.warns(UserWarning, match="will create a reference cycle between the parameter and its gradient"):
        (x * x).backward(create_graph=True)
    (x * x).backward(create_graph=True)           # once is enough
    assert x.grad.requires_grad
    x.grad = None


# ---- transforms
def test_backward_is_refused_inside_vmap() -> None:
    def inner(t: Any) -> Any:
        (t * 2).sum().backward()
        return t

    with pytest.raises(RuntimeError, match="backward"):
        torch.vmap(inner)(torch.ones(2, 2))


def test_outputs_without_gradient_are_refused_before_inputs() -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        grad(torch.ones(1), [torch.ones(1)])
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.backward([torch.ones(1)], inputs=[torch.ones(1)])
