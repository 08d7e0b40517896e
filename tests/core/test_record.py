"""Recorded nodes: names, edges, what is saved and shown of it for each combination of inputs, and the op table's plans."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.core.dispatch import call
from retrograd.core.opdef import NOT_IMPLEMENTED, OpDef, camel, find_packet
from retrograd.core.record import OpNode, node_class
from retrograd.core.schema import Schema


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def op_called(name: str, overload: str = "default") -> Any:
    op = getattr(find_packet(name), overload)
    if not op._ready:
        op.prepare()
    return op


# ---- names
@pytest.mark.parametrize(("run", "name"), [
    (lambda x: x + x, "AddBackward0"), (lambda x: x + 1, "AddBackward0"), (lambda x: x * 2, "MulBackward0"),
    (lambda x: x ** 2, "PowBackward0"), (lambda x: x ** x, "PowBackward1"), (lambda x: 2 ** x, "PowBackward2"),
    (lambda x: x.sum(), "SumBackward0"), (lambda x: x.sum(0), "SumBackward1"), (lambda x: x.mean(), "MeanBackward0"),
    (lambda x: x.log_softmax(0), "LogSoftmaxBackward0"), (lambda x: x[0], "SelectBackward0"),
    (lambda x: x[:1], "SliceBackward0"),
    (lambda x: x[[0]], "IndexBackward0"), (lambda x: x.view(1, 2), "ViewBackward0"), (lambda x: x.clone(), "CloneBackward0"),
    (lambda x: x.double(), "ToCopyBackward0"), (lambda x: torch.cat([x, x]), "CatBackward0"),
    (lambda x: x.view(1, 2) @ x.view(2, 1), "MmBackward0"), (lambda x: x @ x, "DotBackward0"),
    (lambda x: torch.zeros(2).copy_(x), "CopyBackwards"), (lambda x: x.max(0)[0], "MaxBackward0"),
    (lambda x: x.max(), "MaxBackward1"),
])
def test_nodes_are_named_as_in_pytorch(run: Any, name: str) -> None:
    node = run(leaf(1.0, 2.0)).grad_fn
    assert type(node).__name__ == name and node.name().removeprefix("torch::autograd::") == name


def test_overloads_that_share_a_name_share_a_class() -> None:
    x = leaf(1.0)
    assert type((x + 1).grad_fn) is type((x + x).grad_fn) is node_class(op_called("add", "Tensor"))
    assert isinstance(x.exp().grad_fn, OpNode)


@pytest.mark.parametrize(("name", "expected"), [("add_", "Add"), ("log_softmax", "LogSoftmax"), ("_softmax", "Softmax"),
                                               ("t", "T"), ("as_strided", "AsStrided"), ("mm", "Mm")])
def test_names_in_camel_case(name: str, expected: str) -> None:
    assert camel(name) == expected


# ---- edges
def test_edges_have_a_place_for_every_input() -> None:
    x, plain = leaf(1.0), torch.ones(1)
    assert [n is None for n, _ in (x * plain).grad_fn.next_functions] == [False, True]
    assert [n is None for n, _ in (plain * x).grad_fn.next_functions] == [True, False]
    assert [n is None for n, _ in torch.where(plain > 0, x, plain).grad_fn.next_functions] == [False, True]
    assert [n is None for n, _ in torch.cat([plain, x, plain]).grad_fn.next_functions] == [True, False, True]


def test_edges_name_the_output_that_they_lead_to() -> None:
    first, second = leaf(1.0, 2.0).unbind()
    assert [nr for _, nr in (second * first).grad_fn.next_functions] == [1, 0]
    assert [nr for _, nr in torch.stack([first, second]).grad_fn.next_functions] == [0, 1]
    assert [nr for _, nr in second.exp().grad_fn.next_functions] == [1]


def test_sequence_numbers_rise() -> None:
    x = leaf(1.0)
    nodes = [run().grad_fn for run in (lambda: x + 1, lambda: x.exp(), lambda: x[0], lambda: torch.cat([x]), lambda: x.sum())]
    numbers = [node._sequence_nr() for node in nodes]
    assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers)


# ---- what is saved
def test_attributes_show_what_the_formulas_use() -> None:
    x = leaf(1.0, 2.0, 3.0)
    assert (x ** 3).grad_fn._saved_exponent == 3
    assert x.sum(0, keepdim=True).grad_fn._saved_keepdim is True
    assert x.sum().grad_fn._saved_self_sym_sizes == (3,) and type(x.sum().grad_fn._saved_self_sym_sizes) is tuple
    assert x[1:].grad_fn._saved_start == 1
    assert torch.add(x, x, alpha=4).grad_fn._saved_alpha == 4
    assert x.softmax(-1).grad_fn._saved_dim == 2**64 - 1          # a negative number, as it is shown
    assert x[[0, 2]].grad_fn._saved_indices[0].tolist() == [0, 2]


def test_attributes_of_calls_with_default_arguments_are_shown_too() -> None:
    x = leaf(1.0)
    assert (x + x).grad_fn._saved_alpha == 1
    assert (x - x).grad_fn._saved_alpha == 1


def test_unknown_attributes_are_refused() -> None:
    node = leaf(1.0).exp().grad_fn
    for name in ("_saved_nothing", "_raw_saved_nothing", "other", "_saved_self"):
        with pytest.raises(AttributeError, match=f"'ExpBackward0' object has no attribute '{name}'"):
            getattr(node, name)


def test_dir_lists_what_is_saved() -> None:
    names = dir((leaf(1.0) * leaf(2.0)).grad_fn)
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other", "next_functions", "name"} <= set(names)


def test_saved_tensors_are_gone_after_backward_and_raw_ones_say_so() -> None:
    y = leaf(1.0).exp()
    node = y.grad_fn
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = node._saved_result
    with pytest.raises(RuntimeError):
        node._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


def test_saved_numbers_stay_after_backward() -> None:
    y = leaf(1.0) ** 3
    node = y.grad_fn
    y.backward()
    assert node._saved_exponent == 3


def test_a_result_is_saved_with_its_history() -> None:
    y = leaf(1.0).exp()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    assert y.grad_fn._saved_result.data_ptr() == y.data_ptr()


def test_an_in_place_op_saves_the_value_before_it() -> None:
    x = leaf(2.0)
    y = x * 1
    y.sin_()
    assert y.grad_fn._saved_self.item() == 2.0
    y.backward()
    assert x.grad.item() == pytest.approx(torch.tensor(2.0).cos().item())


# ---- results without gradient
def test_integer_and_boolean_results_have_no_history() -> None:
    x = leaf(1.0, 2.0)
    for out in (x > 1, x.long(), x.argmax(), x.sort()[1], x.max(0)[1], x.bool()):
        assert not out.requires_grad and out.grad_fn is None


def test_a_derivative_that_is_not_implemented_is_an_error_of_backward() -> None:
    made = call(OpDef(Schema("bare(Tensor self) -> Tensor"), "positive", vjp=NOT_IMPLEMENTED), [leaf(1.0)])
    with pytest.raises(NotImplementedError, match="the derivative for 'bare' is not implemented"):
        made.backward()


# ---- plans
def test_a_plan_saves_for_the_wanted_inputs_only() -> None:
    mul = op_called("mul", "Tensor")
    assert [plan.inputs for plan in (mul.plan(1), mul.plan(2))] == [((mul.saved_names.index("other"), 1),),
                                                                  ((mul.saved_names.index("self"), 0),)]
    assert len(mul.plan(3).inputs) == 2 and mul.plan(3) is mul.plan(3)
    add = op_called("add", "Tensor")
    assert add.plan(3).inputs == () == add.plan(3).outputs


def test_arguments_that_no_rule_reads_are_kept_only_where_they_differ_from_their_defaults() -> None:
    x = leaf(1.0, 2.0)
    usual, other = (x + 1.0).grad_fn, x.add(1.0, alpha=2).grad_fn
    assert usual._attrs_ is None and usual._saved_alpha == 1
    assert other._attrs_ is not None and other._saved_alpha == 2


def test_a_rule_that_asks_for_what_is_not_there_is_an_error() -> None:
    op = OpDef(Schema("bare(Tensor self) -> Tensor"), "positive", vjp=dict(self=lambda grad, nothing: grad))
    with pytest.raises(TypeError, match="a derivative rule asks for 'nothing', which is neither an argument nor a result"):
        op.prepare()


def test_forms_are_derived_from_the_schema() -> None:
    inplace = find_packet("mul_")
    assert inplace is not None
    op = op_called("mul_", "Tensor")
    assert op.is_inplace and op.functional is op_called("mul", "Tensor") and op.schema.text.endswith("-> Tensor(a!)")
    out = op_called("mul", "out")
    assert out.is_out and out.functional is op_called("mul", "Tensor")


def test_gradients_are_computed_in_the_alphabetical_order_of_inputs() -> None:
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4, requires_grad=True)
    seed = torch.ones(2, 4, requires_grad=True)
    of_self, of_mat2 = torch.autograd.grad(a @ b, (a, b), seed, create_graph=True)
    assert of_mat2.grad_fn._sequence_nr() < of_self.grad_fn._sequence_nr()
