"""out= tensors: which dtypes they may have, and that results stay inside of them."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd as torch

X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
REFUSED = [          # PyTorch's texts
    (lambda out: torch.neg(X, out=out), torch.float64, "Found dtype Double but expected Float"),
    (lambda out: torch.floor(X, out=out), torch.int64, "Found dtype Long but expected Float"),
    (lambda out: torch.ceil(X, out=out), torch.float16, "Found dtype Half but expected Float"),
    (lambda out: torch.nonzero(X, out=out), torch.int32,
     "nonzero: Expected out tensor to have scalar type Long but got scalar typeInt"),
    (lambda out: torch.all(X, out=out), torch.float32, "all only supports bool tensor for result, got: Float"),
    (lambda out: torch.any(X, out=out), torch.int64, "any only supports bool tensor for result, got: Long"),
    (lambda out: torch.isposinf(X, out=out), torch.float32, "isposinf does not support non-boolean outputs."),
    (lambda out: torch.quantile(X, 0.5, out=out), torch.float64, "out tensor must be same dtype as the input tensor"),
    (lambda out: torch.mm(X, X, out=out), torch.float64, "Expected out tensor to have dtype float, but got double instead"),
    (lambda out: torch.add(X, X, out=out), torch.int64, "result type Float can't be cast to the desired output type Long"),
    (lambda out: torch.linalg.cond(X, out=out), torch.int64, "linalg.cond: Expected result to be safely castable from Float"),
    (lambda out: torch.fft.fft(X, out=out), torch.float32, "fft expects a complex output tensor, but got Float"),
    (lambda out: torch.cummax(X, 0, out=(out, torch.empty(0, dtype=torch.int64))), torch.float64,
     "expected scalar_type Float but found Double"),
    (lambda out: torch.mode(X, 0, out=(out, torch.empty(0, dtype=torch.int64))), torch.float64,
     "expected scalar type 'Float' but got 'Double' for values output"),
    (lambda out: torch.max(X, 0, out=(torch.empty(0), out)), torch.int32,
     "Expected out tensor to have dtype long int, but got int instead"),
]
TAKEN = [(lambda out: torch.add(X, X, out=out), torch.float64), (lambda out: torch.sum(X, 0, out=out), torch.int64),
         (lambda out: torch.prod(X, 0, out=out), torch.int32), (lambda out: torch.cumsum(X, 0, out=out), torch.int64),
         (lambda out: torch.all(X, out=out), torch.uint8), (lambda out: torch.eq(X, X, out=out), torch.float32),
         (lambda out: torch.logical_not(X, out=out), torch.float64), (lambda out: torch.cat([X, X], out=out), torch.float64)]


@pytest.mark.parametrize(("call", "dtype", "text"), REFUSED)
def test_out_of_another_dtype_is_refused(call: Any, dtype: Any, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call(torch.empty(0, dtype=dtype))
    assert text in str(caught.value)


@pytest.mark.parametrize(("call", "dtype"), TAKEN)
def test_out_of_another_dtype_is_taken(call: Any, dtype: Any) -> None:
    out = torch.empty(0, dtype=dtype)
    assert call(out) is out and out.dtype is dtype and out.numel()


def test_cat_refuses_a_narrower_out_as_a_type_error() -> None:
    with pytest.raises(TypeError, match="input types can't be cast to the desired output type Long"):
        torch.cat([X, X], out=torch.empty(0, dtype=torch.int64))


@pytest.mark.parametrize("make", [lambda out: torch.arange(6, out=out), lambda out: torch.linspace(0, 5, 6, out=out),
                                  lambda out: torch.range(0, 5, out=out), lambda out: torch.logspace(0, 1, 6, out=out)])
@pytest.mark.filterwarnings("ignore:torch.range")
def test_a_sequence_fills_a_view_and_nothing_beside_it(make: Any) -> None:
    whole = torch.full((3, 4), -1.0)
    part = make(whole.narrow(1, 1, 2))
    assert part.shape == (3, 2) and part.stride() == (4, 1) and (whole[:, 0] == -1).all() and (whole[:, 3] == -1).all()
    assert torch.allclose(part.reshape(-1), make(torch.empty(6)))


def test_a_transposed_out_keeps_its_shape() -> None:
    whole = torch.zeros(3, 4)
    out = torch.arange(12, out=whole.t())
    assert out.shape == (4, 3) and out.stride() == (1, 4) and whole[0].tolist() == [0, 3, 6, 9]


def test_out_that_is_resized_stays_in_its_memory() -> None:
    whole = torch.zeros(4)
    part = whole[1:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.add(torch.ones(3), 1, out=part)
        assert whole.tolist() == [0, 2, 2, 2] and part.storage_offset() == 1
        torch.add(torch.ones(6), 2, out=part)         # too long for it: the memory moves, with all tensors on it
    assert whole.tolist() == [0, 3, 3, 3] and part.tolist() == [3] * 6 and whole.data_ptr() + 4 == part.data_ptr()


def test_norms_by_name_are_written() -> None:
    out = torch.zeros(())
    assert torch.norm(torch.eye(3), p="nuc", out=out) is out and out.item() == 3


# ---- factories
@pytest.mark.parametrize("factory", [
    lambda **k: torch.arange(3, **k), lambda **k: torch.ones(3, **k), lambda **k: torch.full((3,), 2.0, **k),
    lambda **k: torch.linspace(0, 1, 3, **k),
])
def test_factory_does_not_write_to_what_requires_grad(factory: Any) -> None:
    out = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
        factory(out=out)
    with torch.no_grad():
        assert factory(out=out) is out and not out.requires_grad


@pytest.mark.parametrize(("run", "words"), [
    (lambda o: torch.softmax(torch.ones(3), 0, out=o), "Expected out tensor to have dtype float, but got double instead"),
    (lambda o: torch.max(torch.ones(3, dtype=torch.complex64).real, out=o.long().sum()), "Expected canCast"),
    (lambda o: torch.hstack([torch.ones(2)], out=o.long()), "torch.cat.*can't be cast to the desired output type Long"),
])
def test_dtypes_that_out_may_not_have(run: Any, words: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=words):
        run(torch.zeros(3, dtype=torch.float64))


def test_dtypes_that_out_may_have() -> None:
    wide = torch.zeros(3, dtype=torch.float64)
    assert torch.bernoulli(torch.ones(3), out=wide).tolist() == [1.0, 1.0, 1.0]
    assert torch.max(torch.tensor([1, 3], dtype=torch.int32), out=torch.zeros((), dtype=torch.float64)) == 3
    logs = torch.zeros(3)
    torch.testing.assert_close(torch.nn.functional.logsigmoid(torch.ones(3), out=logs), torch.sigmoid(torch.ones(3)).log())
    assert logs.count_nonzero() == 3


@pytest.mark.parametrize("call", [
    lambda out: torch.sum(X, out=out), lambda out: torch.prod(X, out=out), lambda out: torch.median(X, out=out),
    lambda out: torch.clone(X, out=out), lambda out: torch.flip(X, (0,), out=out), lambda out: torch.remainder(2, X, out=out)])
def test_functions_without_an_out_form_refuse_it_although_aten_has_one(call: Any) -> None:
    with pytest.raises(TypeError):
        call(torch.empty(0))
    assert torch.ops.aten.clone.out(X, out=torch.empty(0)).equal(X)


def test_cat_into_out_ignores_the_rank_of_empty_vectors():
    out = torch.zeros(0)
    assert torch.cat([torch.zeros(0), torch.ones(2, 2)], 1, out=out).tolist() == [[1, 1], [1, 1]]


def test_sums_and_products_compute_in_the_dtype_of_out() -> None:
    x = torch.tensor([0.6, 0.7, 1.9])
    assert torch.sum(x, 0, out=torch.tensor(0)).item() == 1
    assert torch.prod(x, 0, out=torch.tensor(0)).item() == 0
    assert torch.cumsum(x, 0, out=torch.zeros(3, dtype=torch.int64)).tolist() == [0, 0, 1]
    assert torch.cumprod(torch.tensor([1.9, 2.9]), 0, out=torch.zeros(2, dtype=torch.int64)).tolist() == [1, 2]


def test_matmul_refuses_gradients_before_the_dtype_of_out() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="functions with out=... arguments don't support automatic differentiation"):
        torch.matmul(x, x, out=torch.empty(0, dtype=torch.int64))


@pytest.mark.parametrize("write", [
    lambda out: torch.mv(torch.eye(3).to(out.dtype), torch.ones(3, dtype=out.dtype), out=out),
    lambda out: torch.add(torch.ones(3), 0, out=out), lambda out: torch.sum(torch.eye(3), 0, out=out),
    lambda out: torch.cumprod(torch.ones(3), 0, out=out), lambda out: torch.cat([torch.ones(3)], out=out)])
def test_out_with_lazy_bits_has_the_values_of_the_result(write: Any) -> None:
    negated = (torch.ones(3) * (1 + 1j)).conj().imag
    conjugated = (torch.ones(3) * (1 + 1j)).conj()
    assert negated.is_neg() and conjugated.is_conj()
    assert write(negated).tolist() == [1, 1, 1] and write(conjugated).tolist() == [1, 1, 1]


@pytest.mark.parametrize("scan", [torch.cumsum, torch.cumprod])
def test_scans_write_bools_only_where_nothing_is_scanned(scan: Any) -> None:
    assert scan(torch.ones(()), 0, out=torch.empty((), dtype=torch.bool)).item() is True
    assert scan(torch.ones(0), 0, out=torch.empty(0, dtype=torch.bool)).shape == (0,)
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        scan(torch.ones(3), 0, out=torch.empty(3, dtype=torch.bool))
