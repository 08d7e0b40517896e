"""The overloads of `ops.aten` that follow from a row: out= forms, Scalar overloads, and public functions as ops."""
import operator

import pytest

import retrograd as torch
from retrograd.ops import late
from retrograd.ops.shared import as_ops

aten = torch.ops.aten

# Recorded from PyTorch: how out= forms are called, what they show, and how defaults are printed.
SCHEMAS = """
    add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
    add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
    div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
    div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)
    multiply.Scalar(Tensor self, Scalar other) -> Tensor
    mul.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
    eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
    greater.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
    clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)
    relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    tanh_backward.grad_input(Tensor grad_output, Tensor output, *, Tensor(a!) grad_input) -> Tensor(a!)
    hardswish_backward.out(Tensor grad_output, Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)
    sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)
    zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)
    arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)
    conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
    avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor
    avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor
    isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor
    to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
    contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
"""  # noqa: E501


@pytest.mark.parametrize("schema", [line.strip() for line in SCHEMAS.strip().splitlines()])
def test_schemas_are_those_of_pytorch(schema):
    name, _, overload = schema.partition("(")[0].partition(".")
    packet = getattr(aten, name)
    assert (overload or "default") in packet.overloads()
    assert str(getattr(packet, overload or "default")._schema) == f"aten::{schema}"


def test_unlisted_overloads_run_by_name_and_where_no_other_fits():
    x = torch.tensor([[1.5, 2.0], [3.0, 4.0]])
    out = torch.empty(2, 2)
    assert aten.clone(x, out=out) is out and out.equal(x)
    assert aten.sigmoid_backward.grad_input(x, x, grad_input=out).equal(x * x * (1 - x))
    assert aten.add.Scalar(x, 2, 3).equal(x + 6)
    assert aten.add_.Scalar(x.clone(), 2, 3).equal(x + 6)
    assert aten.div.Scalar_mode(x, 2, rounding_mode="floor").equal(x // 2)
    assert aten.multiply_.Scalar(x.clone(), 2).equal(x * 2)
    with pytest.raises(TypeError, match="relu"):
        torch.relu(x, out=out)


def test_public_functions_and_methods_are_ops():
    x, z = torch.tensor([[1.5, 2.0], [3.0, 4.0]]), torch.tensor([1 + 2j, 3 - 1j])
    assert aten.to.dtype(x, torch.int64).dtype is torch.int64
    assert aten.to.dtype_layout(x) is x
    assert aten.contiguous(x.t()).stride() == (2, 1)
    assert aten.numpy_T(x).equal(x.T)
    assert aten.imag(z).equal(z.imag)
    assert aten.item(x[0, 0]) == 1.5
    assert not aten.detach_(x.clone().requires_grad_() * 2).requires_grad
    assert aten.einsum("ij,jk->ik", [x, x]).equal(x @ x)
    assert [t.shape for t in aten.broadcast_tensors([x, x[0]])] == [(2, 2), (2, 2)]
    assert aten.meshgrid.indexing([x[0], x[1]], indexing="xy")[0].equal(torch.meshgrid(x[0], x[1], indexing="xy")[0])
    assert aten.result_type.Scalar(x, 3) is torch.float32


def test_every_function_as_an_op_exists():
    rows = [line.strip() for line in (as_ops.FUNCTIONS + as_ops.SPREAD).splitlines() if line.startswith("    ") and "(" in line
            and not line.startswith("        ")]
    names = {row.partition("(")[0].partition(".")[0] for row in rows}
    assert len(names) > 60
    assert [name for name in names if not hasattr(late, name) and not hasattr(torch.Tensor, name)] == []


def test_ops_of_other_devices_can_be_named_but_not_called():
    op = aten._scaled_dot_product_flash_attention.default
    assert str(op._schema).startswith("aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float")
    with pytest.raises(NotImplementedError, match="Could not run 'aten::_scaled_dot_product_flash_attention' with arguments"):
        op(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    with pytest.raises(AssertionError, match="Jiterator is only supported on CUDA and ROCm GPUs, none are available"):
        torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T x) { return x + x; }")(torch.ones(2))


def test_selecting_from_an_empty_tensor_keeps_strides():
    x = torch.empty(0, 3, 3, 2)
    assert x[..., 1].stride() == (18, 6, 2)
    assert x[:, 1].stride() == (18, 2, 1)
    assert torch.empty(2, 0, 4)[1].stride() == (4, 1)


class Declines(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


@pytest.mark.parametrize("call, text", [
    (lambda a, x: a + x, r"unsupported operand type\(s\) for \+: 'Declines' and 'Tensor'"),
    (lambda a, x: x - a, r"unsupported operand type\(s\) for -: 'Tensor' and 'Declines'"),
    (lambda a, x: x @ a, r"unsupported operand type\(s\) for @: 'Tensor' and 'Declines'"),
    (lambda a, x: operator.iadd(a, x), r"unsupported operand type\(s\) for \+=: 'Declines' and 'Tensor'"),
    (lambda a, x: operator.ipow(x, a), r"unsupported operand type\(s\) for \*\*=: 'Tensor' and 'Declines'"),
    (lambda a, x: -a, r"Multiple dispatch failed for 'torch.Tensor.neg'"),
    (lambda a, x: len(a), r"no implementation found for 'torch._tensor.__len__' on types that implement __torch_function__"),
    (lambda a, x: torch.split(a, 1), r"no implementation found for 'torch.functional.split' on types"),
    (lambda a, x: torch.linalg.norm(a), r"Multiple dispatch failed for 'torch.linalg.linalg_norm'"),
])
def test_operands_that_decline_are_refused(call, text):
    with pytest.raises(TypeError, match=text):
        call(torch.ones(2).as_subclass(Declines), torch.ones(2))


def test_boolean_alpha_is_for_boolean_results():
    x, flags = torch.ones(2), torch.ones(2, dtype=torch.bool)
    for call in (lambda: x.add_(x, alpha=True), lambda: x.sub_(x, alpha=True), lambda: x.add_(1, alpha=True)):
        with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
            call()
    assert flags.clone().add_(flags, alpha=True).equal(flags)


def test_negative_bit_of_bools_has_no_value():
    x = torch._neg_view(torch.tensor([True, False]))
    for call in (x.resolve_neg, x.clone, lambda: x + 1):
        with pytest.raises(NotImplementedError, match="\"neg_cpu\" not implemented for 'Bool'"):
            call()


def test_out_memory_of_indexing_is_checked_before_and_after_resizing():
    index = torch.tensor([2, 1, 0])
    shared = torch.zeros(1, 1).expand(2, 6)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.index_select(torch.ones(3, 6), 1, torch.tensor([0, 1]), out=shared)
    with pytest.raises(RuntimeError, match="some elements of the input tensor"), pytest.warns(UserWarning, match="resized"):
        torch.gather(index.clone(), 0, index[1:], out=index[:1])


def test_overloads_name_their_packet_and_tags_by_pytorchs_private_names_too():
    op = torch.ops.aten.add.Tensor
    assert op._overloadpacket is torch.ops.aten.add and op._tags == op.tags


def test_operators_are_of_pytorchs_module_and_their_classes_of_their_own():
    overload = torch.ops.aten.add.Tensor
    assert overload.__module__ == torch.ops.aten.add.__module__ == "torch._ops.aten"
    assert type(overload).__module__ == "retrograd.core.opdef"


def test_tags_are_printed_by_name():
    assert str(torch.Tag.pointwise) == "Tag.pointwise" and f"{torch.Tag.core}" == "Tag.core"


def test_error_for_too_many_positional_arguments_counts_those_alone():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"aten::add\(\) takes 2 positional argument\(s\) but 3 was/were given"):
        torch.ops.aten.add.Tensor(x, x, 2)
    with pytest.raises(RuntimeError, match=r"aten::sin\(\) expected at most 1 argument\(s\) but received 3"):
        torch.ops.aten.sin.default(x, 2, 3)
