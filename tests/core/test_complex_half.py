"""complex32: values, dtypes, draws and gradients are PyTorch's, and ops without a kernel for it say so."""
from __future__ import annotations

import io
from typing import Any

import pytest

import retrograd as torch

pytest.importorskip("ml_dtypes")
HALF, WHOLE = torch.float16, torch.complex32


def sample() -> Any:
    return torch.tensor([[1 + 2j, 0.5j], [0, 3 - 1j]], dtype=WHOLE)


def test_promotion_keeps_half_precision_with_half_and_integers() -> None:
    joined = {other: torch.promote_types(WHOLE, other) for other in (torch.bool, torch.int64, HALF, torch.bfloat16,
                                                                     torch.float32, torch.float64, torch.complex64)}
    assert list(joined.values()) == [WHOLE, WHOLE, WHOLE, torch.complex64, torch.complex64, torch.complex128, torch.complex64]
    assert (torch.ones(2, dtype=HALF) * 1j).dtype is WHOLE is HALF.to_complex() and WHOLE.to_real() is HALF
    assert (torch.ones(2, dtype=torch.bfloat16) * 1j).dtype is torch.complex64


@pytest.mark.parametrize(("compute", "expected"), [
    (lambda x: x + x, [[2 + 4j, 1j], [0, 6 - 2j]]),
    (lambda x: x * 1j, [[-2 + 1j, -0.5], [0, 1 + 3j]]),
    (lambda x: 1 - x, [[-2j, 1 - 0.5j], [1, -2 + 1j]]),
    (lambda x: x.conj() + 0, [[1 - 2j, -0.5j], [0, 3 + 1j]]),
    (lambda x: x.clone().index_add_(0, torch.tensor([0]), x[1:], alpha=2), [[1 + 2j, 6 - 1.5j], [0, 3 - 1j]]),
    (lambda x: x.masked_fill(x == 0, 2), [[1 + 2j, 0.5j], [2, 3 - 1j]]),
    (lambda x: torch.where(x == 0, x + 1, x), [[1 + 2j, 0.5j], [1, 3 - 1j]]),
    (lambda x: torch.cat([x[:1], x[1:].half()]), [[1 + 2j, 0.5j], [0, 3]]),
    (lambda x: torch.complex(x.real, x.imag).t(), [[1 + 2j, 0], [0.5j, 3 - 1j]]),
])
def test_values_are_pytorchs(compute: Any, expected: list[list[complex]]) -> None:
    made = compute(sample())
    assert made.dtype is WHOLE and made.tolist() == expected


def test_real_parts_are_of_half_precision_and_share_memory() -> None:
    x = sample()
    torch.view_as_real(x)[..., 1].zero_()
    assert x.abs().dtype is x.real.dtype is x.imag.dtype is HALF and x.tolist() == [[1, 0], [0, 3]]
    assert torch.view_as_complex(torch.ones(2, 2, dtype=HALF)).tolist() == [1 + 1j, 1 + 1j]
    assert x.bool().tolist() == [[True, False], [False, True]] and x.view(HALF).shape == (2, 4)


def test_draws_are_pytorchs() -> None:
    torch.manual_seed(0)
    assert torch.view_as_real(torch.randn(2, dtype=WHOLE)).tolist() == DRAWN[0]
    assert torch.view_as_real(torch.testing.make_tensor(2, dtype=WHOLE, device="cpu")).tolist() == DRAWN[1]


DRAWN = ([[1.08984375, -0.20751953125], [-1.541015625, 0.40185546875]],
         [[-0.798828125, 2.380859375], [-2.720703125, -1.76953125]])


def test_gradients_are_conjugate_and_of_half_precision() -> None:
    x = sample().requires_grad_()
    (x * x.conj()).abs().sum().backward()
    assert x.grad is not None and x.grad.dtype is WHOLE
    assert x.grad.tolist() == [[2 + 4j, 1j], [0, 6 - 2j]]
    made, = torch.autograd.grad(x.real.sum(), x)
    assert made.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("compute", [torch.sin, torch.exp, torch.mean, torch.reciprocal, torch.angle, lambda x: x / x,
                                     lambda x: x < 1, lambda x: x @ x, lambda x: x**2])
def test_ops_without_a_kernel_say_so(compute: Any) -> None:
    with pytest.raises(NotImplementedError, match=r'".*" not implemented for \'ComplexHalf\''):
        compute(sample())
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        sample().numpy()


def test_text_files_and_numbers() -> None:
    x = sample()
    assert repr(x[1]) == "tensor([0.+0.j, 3.-1.j], dtype=torch.complex32)"
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert torch.equal(torch.load(file), x) and x[0, 0].item() == 1 + 2j and x.type() == "torch.ComplexHalfTensor"
    x[0] = 5j
    assert x[0].tolist() == [5j, 5j] and x.to(torch.complex64).chalf().dtype is WHOLE


def test_results_of_other_types_take_no_complex_numbers() -> None:
    with pytest.raises(RuntimeError, match="result type ComplexHalf can't be cast to the desired output type Half"):
        torch.ones(2, dtype=HALF).add_(sample()[0])
    assert torch.ones(2, dtype=torch.complex64).add_(sample()[0]).tolist() == [2 + 2j, 1 + 0.5j]
