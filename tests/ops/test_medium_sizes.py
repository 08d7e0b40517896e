"""Kernels around the sizes where their loops change: lanes, short segments, rows of padding, small products of halves."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
import retrograd.nn.functional as F


def values(*shape: int, dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 100, 4095])
def test_extrema_of_rows(n: int, dtype: str) -> None:
    x = values(n, dtype=dtype)
    for _ in range(2):
        t = torch.tensor(x)
        assert t.argmax().item() == x.argmax() and t.argmin().item() == x.argmin()
        assert t.max(0).indices.item() == x.argmax() and t.min(0).indices.item() == x.argmin()
        np.testing.assert_array_equal([end.item() for end in t.aminmax()], [x.min(), x.max()])
        if dtype != "int64":
            x[n // 2] = np.nan                       # the first of several counts as the largest and the smallest
            x[n // 2 + n // 4] = np.nan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 4, 32, 33])
def test_norms_of_short_segments(width: int, dtype: str) -> None:
    x = values(6, 4, width, dtype=dtype)
    layer, mean, rstd = torch.native_layer_norm(torch.tensor(x), (width,), None, None, 1e-5)
    centred = x - x.mean(-1, keepdims=True)
    wanted = 1 / np.sqrt((centred.astype("d") ** 2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(layer.numpy(), centred * wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(rstd.numpy(), wanted, rtol=1e-4)
    np.testing.assert_allclose(mean.numpy(), x.mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
    groups = x.reshape(6, 2, -1)
    weight, bias = values(4, dtype=dtype), values(4, dtype=dtype)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    made = F.group_norm(torch.tensor(x), 2, torch.tensor(weight), torch.tensor(bias))
    np.testing.assert_allclose(made.numpy(), normal.reshape(x.shape) * weight[:, None] + bias[:, None], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 40), (8, 4, 30, 30)])
def test_padding_with_a_constant(shape: tuple[int, ...], dtype: str) -> None:
    x = values(*shape).astype(dtype)
    for pad in ([1, 2], [0, 0, 2, 1], [3, 0, 0, 1]):
        widths = [(0, 0)] * (len(shape) - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
        np.testing.assert_array_equal(F.pad(torch.tensor(x), pad, value=1).numpy(), np.pad(x, widths, constant_values=1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_small_products_of_halves_are_rounded_once(dtype: torch.dtype) -> None:
    a, b, c = (torch.tensor(values(*shape)).to(dtype) for shape in ((5, 6), (6, 7), (7,)))
    wide = a.float() @ b.float()
    assert torch.equal(a @ b, wide.to(dtype)) and torch.equal(b.mT @ a.mT, wide.mT.to(dtype))
    assert torch.equal(torch.addmm(c, a, b), (wide + c.float()).to(dtype))
    assert torch.equal(torch.stack([a, a]) @ torch.stack([b, b]), torch.stack([wide, wide]).to(dtype))
    with pytest.raises(RuntimeError):
        a @ a


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_small_products(dtype: str) -> None:
    a, b = values(300, 2, 3, dtype=dtype), values(300, 3, 4, dtype=dtype)
    np.testing.assert_allclose(torch.bmm(torch.tensor(a), torch.tensor(b)).numpy(), a @ b, rtol=1e-5, atol=1e-4)


def test_gate_halves_any_dimension() -> None:
    x = values(4, 6, 8)
    for dim in range(3):
        first, second = np.split(x, 2, dim)
        np.testing.assert_allclose(F.glu(torch.tensor(x), dim).numpy(), first / (1 + np.exp(-second)), rtol=1e-5, atol=1e-6)


def test_distances_and_three_way_products() -> None:
    for width in (1, 7, 16, 33):
        x = values(9, width)
        wanted = [np.linalg.norm(x[i] - x[j]) for i in range(9) for j in range(i + 1, 9)]
        np.testing.assert_allclose(torch.pdist(torch.tensor(x)).numpy(), wanted, rtol=1e-5)
    a, b, w = values(6, 5), values(6, 3), values(4, 5, 3)
    np.testing.assert_allclose(F.bilinear(*map(torch.tensor, (a, b, w))).numpy(), np.einsum("bi,oij,bj->bo", a, w, b),
                               rtol=1e-4, atol=1e-3)


def test_incomplete_gamma_integrals_of_turned_arrays() -> None:
    x = abs(values(5, 6, dtype="float64")) + 0.1
    t = torch.tensor(x)
    for f in (torch.igamma, torch.igammac):
        assert torch.equal(f(t.mT, t.mT), f(t, t).mT)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling_of_many_small_images(mode: str) -> None:
    x, grid = torch.tensor(values(30, 2, 3, 4)), torch.tensor(np.tanh(values(30, 3, 5, 2)))
    grids = [grid, grid[:, :2, :2].contiguous()]                     # 15 and 4 samples of an image, 64 in a batch
    for places in grids:
        leaves = [x.clone().requires_grad_(), places.clone().requires_grad_()]
        made = F.grid_sample(*leaves, mode=mode, align_corners=False)
        grads = torch.autograd.grad(made.square().sum(), leaves)
        for i in range(30):
            own = [x[i:i + 1].clone().requires_grad_(), places[i:i + 1].clone().requires_grad_()]
            one = F.grid_sample(*own, mode=mode, align_corners=False)
            assert torch.equal(one[0], made[i])
            for whole, part in zip(grads, torch.autograd.grad(one.square().sum(), own), strict=True):
                assert torch.equal(whole[i], part[0])


@pytest.mark.parametrize("order", [0.5, 1.5, 3.0, -1.0])
@pytest.mark.parametrize("shape", [(100, 4), (7, 100), (70, 33)])
def test_norms_of_any_order(shape: tuple[int, ...], order: float) -> None:
    x = values(*shape)
    for dim in (None, 0, 1):
        made = torch.linalg.vector_norm(torch.tensor(x), order, dim).numpy()
        np.testing.assert_allclose(made, (np.abs(x.astype("d")) ** order).sum(dim) ** (1 / order), rtol=2e-6)
    x[1, 1], x[2, 2], x[3, 3] = np.inf, np.nan, 0
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(torch.linalg.vector_norm(torch.tensor(x), order, 1).numpy(),
                                   (np.abs(x.astype("d")) ** order).sum(1) ** (1 / order), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_extrema_of_many_short_rows(dtype: str) -> None:
    x = values(2500, 5, dtype=dtype)
    if dtype != "int64":
        x[7, 2] = x[7, 4] = x[11, 0] = np.nan
    t = torch.tensor(x)
    for made, best in ((t.max(1), x.argmax(1)), (t.min(1), x.argmin(1))):
        np.testing.assert_array_equal(made.indices.numpy(), best)
        np.testing.assert_array_equal(made.values.numpy(), np.take_along_axis(x, best[:, None], 1)[:, 0])
    np.testing.assert_array_equal(t.argmax(1).numpy(), x.argmax(1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("dim", [0, 1])
def test_sorting_of_short_rows(dim: int, dtype: str) -> None:
    x = np.abs(values(600, 4, dtype="float64") * 20).astype(dtype)
    t = torch.tensor(x if dim else x.T.copy())
    places = np.argsort(x, 1, kind="stable")
    made = t.sort(dim=dim, stable=True)
    np.testing.assert_array_equal((made.indices if dim else made.indices.T).numpy(), places)
    best = t.topk(2, dim).values
    np.testing.assert_array_equal((best if dim else best.T).numpy(), -np.sort(-x.astype("d"), 1)[:, :2])


def test_sums_with_many_small_products() -> None:
    x, a, b = (torch.tensor(values(*shape)) for shape in ((2000, 2, 4), (2000, 2, 3), (2000, 3, 4)))
    wanted = x.double() * 0.5 + 2 * torch.einsum("nij,njk->nik", a.double(), b.double())
    np.testing.assert_allclose(torch.baddbmm(x, a, b, beta=0.5, alpha=2).numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)


EQUATIONS = ("bhqd,bhkd->bhqk", "bhqk,bhkd->bqhd", "ij,jk->ki", "abe,bcd->adce", "aec,dc->ade", "ab,ab->", "abc,cb->a",
             "a,ba->b", "abc,abd->cd", "ij,kj->ik", "ji,j->i")


@pytest.mark.parametrize("equation", EQUATIONS)
def test_two_operands_as_one_product(equation: str) -> None:
    for size in ({}, {"a": 1, "d": 1}, {"h": 1, "q": 1, "i": 1}):
        lengths = dict(zip("abcdehijkq", (3, 2, 4, 5, 6, 2, 3, 4, 2, 5), strict=True)) | size
        a, b = (values(*[lengths[label] for label in part]) for part in equation.split("->")[0].split(","))
        x, y = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
        made = torch.einsum(equation, x, y)
        wanted = np.einsum(equation, a, b)
        np.testing.assert_allclose(made.detach().numpy(), wanted, rtol=1e-5, atol=1e-4)
        assert made.grad_fn is not None and made.grad_fn.name() == "ViewBackward0"
        to_x, to_y = torch.autograd.grad(made.sum(), [x, y])
        out = equation.split("->")[1]
        first, second = equation.split("->")[0].split(",")
        ones = np.ones(wanted.shape, "f")
        if {*first} <= {*out, *second} and {*second} <= {*out, *first}:
            np.testing.assert_allclose(to_x.numpy(), np.einsum(f"{out},{second}->{first}", ones, b), rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(to_y.numpy(), np.einsum(f"{first},{out}->{second}", a, ones), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention_of_few_positions(scale: float | None, causal: bool, dtype: str) -> None:
    q, k, v = (values(2, 3, n, 4, dtype=dtype) for n in (5, 6, 6))
    for turned in (False, True):                            # heads behind positions, as layers split them
        leaves = [torch.tensor(a.swapaxes(1, 2).copy() if turned else a).requires_grad_() for a in (q, k, v)]
        given = [t.transpose(1, 2) if turned else t for t in leaves]
        for _ in range(2):                                  # the first call tells the kernel its product
            made = F.scaled_dot_product_attention(*given, is_causal=causal, scale=scale)
        scores = np.einsum("bhqd,bhkd->bhqk", q, k) * (0.5 if scale is None else scale)
        scores = np.where(np.tri(5, 6, dtype=bool), scores, -np.inf) if causal else scores
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(made.detach().numpy(), weights @ v, rtol=1e-4, atol=1e-4)
        to_value = torch.autograd.grad(made.sum(), leaves[2])[0].numpy()
        wanted = np.broadcast_to(weights.sum(2)[..., None], v.shape)
        np.testing.assert_allclose(to_value.swapaxes(1, 2) if turned else to_value, wanted, rtol=1e-4, atol=1e-4)
    output, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*given, 0.0, causal, scale=scale)
    assert output.is_contiguous() and sums.stride() == (15, 1, 3)
    np.testing.assert_allclose(sums.detach().numpy(), np.log(np.exp(scores.astype("d")).sum(-1)), rtol=1e-4, atol=1e-4)
