"""The overloads of `ops.aten` that follow from a row: out= forms, Scalar overloads, and public functions as ops."""
import pytest

import retrograd as torch

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


def test_selecting_from_an_empty_tensor_keeps_strides():
    x = torch.empty(0, 3, 3, 2)
    assert x[..., 1].stride() == (18, 6, 2)
    assert x[:, 1].stride() == (18, 2, 1)
    assert torch.empty(2, 0, 4)[1].stride() == (4, 1)
