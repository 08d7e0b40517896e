"""Of several things wrong with a call with out=, PyTorch's is said first."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd as torch

leaf = torch.ones(2, 2, requires_grad=True)
plain = torch.ones(2, 2)
wide = torch.ones(2, dtype=torch.float64)
expanded = torch.ones(1, 3).expand(3, 3)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: torch.add(leaf, torch.ones(5), out=plain), "functions with out="),              # gradients, then shapes
    (lambda: torch.bitwise_and(plain > 0, plain > 0, out=leaf), "functions with out="),
    (lambda: torch.outer(leaf, plain, out=plain), "Expected 1-D argument self"),        # what the op itself looks at first
    (lambda: torch.outer(leaf[0], plain[0], out=torch.ones(2, 2)), "functions with out="),
    (lambda: torch.fft.fft(leaf, out=leaf), "fft expects a complex output tensor"),
    (lambda: torch.float_power(leaf, leaf, out=plain), "the output given to float_power"),
    (lambda: torch.clamp(torch.ones(2, 3), torch.ones(4, 3), out=expanded), "more than one element"),   # memory, then shapes
    (lambda: torch.bitwise_and(torch.ones(3, 3), one := torch.ones(1, dtype=torch.long), out=one), "output with shape"),
    (lambda: torch.atan2(torch.ones(2, dtype=torch.complex64), plain[0], out=torch.ones(2)), "result type ComplexFloat"),
    (lambda: torch.mm(plain > 0, plain > 0, out=torch.zeros(2, 2, dtype=torch.long)), "Expected out tensor to have dtype bool"),
    (lambda: torch.any(plain, 5, out=torch.ones(2)), "any only supports bool tensor"),        # dtypes, then dimensions
    (lambda: torch.cummax(plain, 5, out=(plain, plain)), "expected scalar_type Long"),
    (lambda: torch.frexp(plain.long(), out=(plain, plain)), "only supports floating-point"),
    (lambda: torch.gather(plain, 0, torch.tensor([0]), out=wide), "Expected out tensor to have dtype float"),
    (lambda: torch.gather(plain, 5, torch.tensor([0]), out=wide), "Dimension out of range"),
    (lambda: torch.index_copy(plain, 0, torch.tensor([0]), plain, out=wide), "Expected out tensor to have dtype float"),
    (lambda: torch.amax(plain, 5, out=wide), "Expected the dtype for input and out to match"),
    (lambda: torch.renorm(plain, 2, 5, 1.0, out=wide), "Expected out tensor to have dtype float"),
    (lambda: torch.mode(plain, 5, out=(plain, wide)), "expected scalar type 'Long' but got 'Double' for indices output"),
    (lambda: torch.cat([plain, torch.ones(5)], out=plain.long()), "input types can't be cast"),
    (lambda: torch.cat([plain, plain], 5, out=plain.long()), "Dimension out of range"),
    (lambda: torch.softmax(plain.long(), 0, out=wide), "Expected out tensor to have dtype long int, but got double"),
    (lambda: torch.min(plain, 0, out=(torch.empty(0), torch.ones(2, requires_grad=True))),
     "Expected out tensor to have dtype long int"),                   # an index has no gradient
    (lambda: torch.cumsum(plain, 0, dtype=torch.float64, out=plain), "Expected out tensor to have dtype double, but got float"),
    (lambda: torch.sum(plain, 0, dtype=torch.int64, out=wide), "Expected out tensor to have dtype long int, but got double"),
    (lambda: torch.mean(plain, 0, dtype=torch.float32, out=wide), "Expected out tensor to have dtype float, but got double"),
    (lambda: torch.mean(plain, 0, dtype=torch.int64, out=wide), "could not infer output dtype"),
    (lambda: torch.mean(plain + 0j, 0, out=plain.int()), "result type Float can't be cast to the desired output type Int"),
    (lambda: torch.softmax(plain, 0, torch.int64, out=wide), "Expected out tensor to have dtype long int, but got double"),
    (lambda: torch.norm(plain, 2, 0, out=wide), "Expected out tensor to have dtype float, but got double"),
])
def test_first_refusal_is_pytorchs(call: Any, said: str) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError), match=said.replace("(", r"\(")):
        call()


@pytest.mark.parametrize("write", [
    lambda x, out: torch.quantile(x, 0.5, 1, out=out), lambda x, out: torch.linalg.norm(x, 2, 1, out=out),
    lambda x, out: torch.inner(x, torch.ones(2), out=out), lambda x, out: torch.floor_divide(x, 2, out=out),
    lambda x, out: torch.diag(x, out=out), lambda x, out: torch.tensordot(x, torch.ones(2), 1, out=out)])
def test_ops_that_compute_and_copy_record_the_copy(write: Any) -> None:
    out = torch.zeros(2, 2) if "floor" in str(write.__code__.co_names) else torch.zeros(2)
    write(leaf, out)
    assert out.requires_grad and out.grad_fn is not None


@pytest.mark.parametrize("write", [
    lambda out: torch.quantile(plain, 0.5, 1, out=out), lambda out: torch.linalg.norm(plain, 2, 1, out=out)])
def test_copies_into_leaves_are_writes_in_place(write: Any) -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        write(torch.zeros(2, requires_grad=True))


def test_a_refused_call_leaves_its_tensors_alone() -> None:
    out = torch.zeros(3)
    with pytest.raises(RuntimeError):
        torch.frexp(torch.ones(2), out=(out, torch.zeros(2)))
    assert out.shape == (3,) and out._version == 0


def test_ops_take_numbers_for_numbers() -> None:
    with pytest.raises(RuntimeError, match="Expected a value of type 'number' for argument 'other' but instead found"):
        torch.ops.aten.add.Scalar(plain, torch.tensor(1.0))
    assert torch.ops.aten.add.Scalar(plain, 1.0).sum() == 8


@pytest.mark.parametrize(("call", "words"), [
    (lambda t: torch.index_select(t, 5, torch.tensor([0]), out=t), "Dimension out of range"),
    (lambda t: torch.kthvalue(t, 1, 0, out=(t, torch.empty(0, dtype=torch.long))), "non-zero size"),
])
def test_dimensions_are_checked_before_shared_memory(call: Any, words: str) -> None:
    with pytest.raises(IndexError, match=words):
        call(torch.zeros(0))


def test_an_out_tensor_that_grows_into_an_operand_is_refused() -> None:
    t = torch.arange(24.0).reshape(2, 3, 4)
    with pytest.raises(RuntimeError, match="single memory location"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.cat([t, t], 1, out=t[..., 1:])


def test_where_checks_the_promoted_dtype_before_shapes() -> None:
    condition, a, b = torch.ones(2, 3) > 0, torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Expected out type to be Double but got Long"):
        torch.where(condition, a, b, out=torch.empty(0, dtype=torch.long))


def test_median_checks_its_indices_first() -> None:
    with pytest.raises(RuntimeError, match="argument #1 'indices' to have scalar type Long; but got CPUBFloat16Type"):
        torch.median(torch.ones(2, 2), 0, out=(torch.empty(0, dtype=torch.int8), torch.empty(0, dtype=torch.bfloat16)))


def test_factories_write_to_tensors_with_history() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    torch.full((2,), -1.0, out=y[:2])
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.full((3,), 1.0, out=x)
