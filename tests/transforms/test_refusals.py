"""What vmap, grad, vjp and jvp refuse, in PyTorch's words; randomness in chunks; gradients in inference mode."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from retrograd.nn import functional as F


def ones(*shape: int) -> Any:
    return torch.ones(shape)


# ---- ranks of examples
@pytest.mark.parametrize(("call", "text"), [
    (lambda: vmap(torch.dot)(ones(2, 3, 3), ones(2, 3, 3)), "Got wrong shapes for dot"),
    (lambda: vmap(torch.dot)(ones(3), ones(3)), "Got wrong shapes for dot"),
    (lambda: vmap(torch.vdot, (0, None))(ones(2, 3, 3), ones(3)), "Got wrong shapes for dot"),
    (lambda: vmap(torch.mv)(ones(2, 3), ones(2, 3)), r"Got incorrect dims for mv\(a, b\). a has dim 1and b has dim 1but"),
    (lambda: vmap(torch.mm)(ones(2, 3), ones(2, 3)), r"Got incorrect dims for mm\(a, b\). a has dim 1and b has dim 1but"),
    (lambda: vmap(torch.bmm)(ones(2, 3, 3), ones(2, 3, 3)), r"for bmm\(a, b\).*expected them to have dim 3 and dim 3"),
    (lambda: vmap(torch.addmm)(ones(2, 3, 3), ones(2, 3), ones(2, 3, 3)), r"Got incorrect dims for mm\(a, b\)"),
    (lambda: vmap(torch.addmv)(ones(2, 3), ones(2, 3), ones(2, 3)), r"Got incorrect dims for mv\(a, b\)"),
    (lambda: vmap(torch.addbmm)(ones(2, 3), ones(2, 3), ones(2, 3)), r"Got incorrect dims for bmm\(a, b\)"),
    (lambda: vmap(torch.baddbmm)(ones(2, 3, 3), ones(2, 3, 3), ones(2, 3, 3)), r"Got incorrect dims for bmm\(a, b\)"),
    (lambda: vmap(torch.addr)(ones(2, 3, 3), ones(2, 3, 3), ones(2, 3)), "addr: Expected 1-D argument vec1, but got 2-D"),
    (lambda: vmap(torch.t)(ones(2, 2, 3, 3)), r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D"),
    (lambda: vmap(torch.trace)(ones(2, 3)), "trace: expected a matrix, but got tensor with dim 1"),
    (lambda: vmap(torch.trace)(ones(2, 2, 2, 2)), "trace: expected a matrix, but got tensor with dim 3"),
    (lambda: vmap(torch.linalg.inv)(ones(2, 3)), "The input tensor A must have at least 2 dimensions"),
    (lambda: vmap(torch.linalg.qr)(ones(2, 3)), "linalg.qr: The input tensor A must have at least 2 dimensions"),
    (lambda: vmap(torch.linalg.svdvals)(ones(2, 3)), "The input tensor A must have at least 2 dimensions"),
    (lambda: vmap(torch.linalg.det)(ones(3)), "linalg.det: The input tensor A must have at least 2 dimensions"),
    (lambda: vmap(lambda a, b: a.masked_fill(a > 0, b))(ones(2, 3), ones(2, 3)), "only supports a 0-dimensional value tensor"),
])
def test_example_of_the_wrong_rank_is_refused(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()


def test_squeezed_dimension_must_be_one_of_the_example() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        vmap(lambda a: a.squeeze(1))(ones(3))
    assert vmap(lambda a: a.squeeze(0))(ones(3)).shape == (3,) and vmap(torch.squeeze)(ones(3)).shape == (3,)


def test_right_ranks_still_pass_with_shared_operands() -> None:
    a, b = torch.rand(2, 3, 3), torch.rand(3, 3)
    torch.testing.assert_close(vmap(torch.mm, (0, None))(a, b), a @ b)
    torch.testing.assert_close(vmap(torch.mv, (None, 0))(b, a[:, 0]), a[:, 0] @ b.T)
    torch.testing.assert_close(vmap(torch.dot, (0, None))(a[:, 0], b[0]), a[:, 0] @ b[0])
    torch.testing.assert_close(vmap(torch.addmm, (None, 0, None))(b, a, b), b + a @ b)


def test_statistics_shared_by_all_examples_are_not_updated_by_each() -> None:
    x = torch.rand(2, 4, 3)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the running_mean or running_var"):
        vmap(lambda a: F.batch_norm(a, torch.zeros(3), ones(3), training=True))(x)
    made = vmap(lambda a: F.batch_norm(a, None, None, training=True))(x)
    torch.testing.assert_close(made[0], F.batch_norm(x[0], None, None, training=True))
    assert vmap(lambda a: F.batch_norm(a, torch.zeros(3), ones(3), training=False))(x).shape == x.shape


# ---- randomness
DRAWS = [lambda a: torch.randn(2), torch.rand_like, lambda a: F.dropout(a, 0.5), lambda a: torch.randperm(5),
         lambda a: a.clone().uniform_(), lambda a: torch.normal(0.0, 1.0, (3,)), lambda a: F.alpha_dropout(a, 0.5, True)]


@pytest.mark.parametrize("draw", DRAWS)
def test_same_randomness_is_the_same_in_every_chunk(draw: Any) -> None:
    torch.manual_seed(1)
    whole = vmap(draw, randomness="same")(ones(5, 3))
    torch.manual_seed(1)
    assert torch.equal(vmap(draw, randomness="same", chunk_size=2)(ones(5, 3)), whole)
    assert all([torch.equal(row, whole[0]) for row in whole])


@pytest.mark.parametrize("draw", DRAWS)
def test_different_randomness_goes_on_from_chunk_to_chunk(draw: Any) -> None:
    torch.manual_seed(1)
    rows = vmap(draw, randomness="different", chunk_size=2)(torch.ones(4, 40))
    assert not torch.equal(rows[0], rows[2])


@pytest.mark.parametrize("drop", [F.dropout, F.alpha_dropout, F.dropout1d, F.feature_alpha_dropout])
def test_dropout_of_a_shared_tensor_may_differ_between_examples(drop: Any) -> None:
    torch.manual_seed(0)
    made = vmap(lambda a: drop(ones(30, 2), 0.5, True) + a, randomness="different")(torch.zeros(3))
    assert made.shape == (3, 30, 2) and not torch.equal(made[0], made[1])
    same = vmap(lambda a: drop(ones(30, 2), 0.5, True) + a, randomness="same")(torch.zeros(3))
    assert torch.equal(same[0], same[1])


def test_random_op_is_refused_unless_asked_for() -> None:
    for draw in DRAWS:
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            vmap(draw)(ones(2, 3))


# ---- gradients
def test_gradient_of_a_complex_output_is_refused() -> None:
    for transform in (grad, grad_and_value):
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs but got torch.c"):
            transform(lambda x: (x * 1j).sum())(ones(3))
    x = torch.tensor([1 + 2j])
    assert torch.equal(grad(lambda z: (z * z.conj()).real.sum())(x), 2 * x)


def test_function_without_output_is_named() -> None:
    for call in (lambda: vjp(lambda x: None, ones(2)), lambda: jacrev(lambda x: None)(ones(2))):
        with pytest.raises(RuntimeError, match=r"vjp\(f, \*primals\): Expected f to be a function that has non-empty output"):
            call()
    for call in (lambda: jvp(lambda x: None, (ones(2),), (ones(2),)), lambda: jacfwd(lambda x: None)(ones(2))):
        with pytest.raises(RuntimeError, match=r"jvp\(f, primals, tangents\): Expected f to be a function that has non-empty"):
            call()


def test_transforms_differentiate_in_inference_mode() -> None:
    x = torch.tensor([0.5, 1.0])
    with torch.inference_mode():
        inside = torch.tensor([0.5, 1.0])
        for given in (x, inside):
            torch.testing.assert_close(grad(lambda t: t.sin().sum())(given), x.cos())
            torch.testing.assert_close(vjp(torch.sin, given)[1](ones(2))[0], x.cos())
            torch.testing.assert_close(jacrev(torch.sin)(given), x.cos().diag())
            torch.testing.assert_close(jacfwd(torch.sin)(given), x.cos().diag())
            torch.testing.assert_close(hessian(lambda t: t.sin().sum())(given), -x.sin().diag())
            torch.testing.assert_close(vmap(grad(torch.sin))(given), x.cos())
            torch.testing.assert_close(grad(lambda t: grad(lambda u: u**3)(t))(given[1]), torch.tensor(6.0))
            torch.testing.assert_close(linearize(torch.sin, given)[1](ones(2)), x.cos())
        assert torch.is_inference_mode_enabled() and vmap(torch.sin)(inside).is_inference()
        for result in (grad(lambda t: t.sin().sum())(inside), vjp(torch.sin, x)[0], jvp(torch.sin, (x,), (x,))[1]):
            assert not result.is_inference()
    assert not torch.is_inference_mode_enabled()


def test_string_of_parameter_dicts_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected all elements of parameter_and_buffer_dicts to be dictionaries"):
        functional_call(torch.nn.Linear(1, 1), "ab", ones(1))


def test_one_draw_for_all_examples_cannot_take_probabilities_of_each() -> None:
    with pytest.raises(RuntimeError, match="Vmap does not currently support same randomness with a batched tensor input"):
        vmap(lambda t: t.bernoulli_(torch.full_like(t, 0.5)), randomness="same")(ones(3, 2))


def test_as_strided_under_vmap_refuses_a_size_and_stride_of_different_lengths() -> None:
    with pytest.raises(RuntimeError, match=r"size and stride must have the same length! Got size \[1\] and stride \[1, 2\]"):
        torch.vmap(lambda x: torch.as_strided(x, (1,), (1, 2)))(torch.ones(3, 4))


def test_linearize_refuses_integer_primals() -> None:
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int"):
        torch.func.linearize(lambda x: x, torch.ones(2, dtype=torch.int32))
