"""Rows side by side in memory, channels that are columns, resized images: values, and the same bits with any threads."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import fast_kernels
from retrograd.ops.nn import upsample

F: Any = torch.nn.functional
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def with_threads(compute: Any) -> list[Any]:
    """Results with 1, 2 and 7 threads: the same bits from compiled kernels, up to rounding from BLAS (in the plain core)."""
    threads, made = torch.get_num_threads(), []
    try:
        for count in (1, 2, 7):
            torch.set_num_threads(count)
            made.append(compute())
    finally:
        torch.set_num_threads(threads)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            if fast_kernels.native is not None:
                assert torch.equal(a, b)
            else:
                tolerance = TOLERANCE.get(a.dtype, 0.0)
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    return made[0]


def laid_out(x: Any, layout: str) -> Any:
    """The same values with other strides."""
    if layout == "sliced":
        return torch.stack([x, x], -1)[..., 0]
    return x.transpose(0, 1).contiguous().transpose(0, 1) if layout == "transposed" else x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
def test_short_rows_are_like_long_ones(dtype: Any, layout: str) -> None:
    for n in (1, 2, 3, 7, 16, 33, 47, 100, 130):
        x = laid_out((numbers(5, 200, n) * 3).to(dtype), layout)
        x[0, 1, 0] = float("inf")
        x[1, 0, n - 1] = float("nan")
        x[2, 2] = -float("inf")
        wide = x.double().numpy()
        with np.errstate(all="ignore"):
            most = wide.max(-1, keepdims=True)
            exps = np.exp(wide - most)
            finite = np.where(np.isinf(most), 0, most)
            whole = np.log(np.exp(wide - finite).sum(-1, keepdims=True)) + finite
            total = exps.sum(-1, keepdims=True)
            wanted = {"softmax": exps / total, "log_softmax": wide - most - np.log(total), "logsumexp": whole[..., 0]}
        for name, value in wanted.items():
            made, = with_threads(lambda name=name, x=x: [getattr(torch, name)(x, -1).nan_to_num(9, 8, 7)])
            assert made.dtype == dtype
            value = np.nan_to_num(value, nan=9, posinf=8, neginf=7)
            torch.testing.assert_close(made.double(), torch.from_numpy(value), rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape, dim", [((40, 130), 0), ((3, 7, 65), 1), ((2, 300, 4), 1), ((5, 6, 3), 0), ((2, 3, 9), 1)])
def test_softmax_along_a_dimension_is_that_of_rows(dtype: Any, shape: tuple[int, ...], dim: int) -> None:
    for name in ("softmax", "log_softmax", "logsumexp"):
        x = (numbers(*shape) * 3).to(dtype).requires_grad_()

        def run(name: str = name, x: Any = x) -> list[Any]:
            made = getattr(torch, name)(x, dim)
            grad, = torch.autograd.grad(made, x, torch.linspace(-1, 1, made.numel()).reshape(made.shape).to(dtype))
            return [made.detach(), grad]
        made, grad = with_threads(run)
        wide = x.detach().double().transpose(dim, -1).contiguous().requires_grad_()
        wanted = getattr(torch, name)(wide, -1)
        weights = torch.linspace(-1, 1, made.numel()).reshape(made.shape).to(dtype).double()
        weights = weights if name == "logsumexp" else weights.transpose(dim, -1)
        if name == "logsumexp":
            wanted = wanted.reshape([s for i, s in enumerate(wide.shape) if i != wide.ndim - 1])
            order = [i for i in range(wide.ndim) if i != dim]
            places = [dim if i == wide.ndim - 1 else i for i in order]
            wanted = wanted.permute([sorted(places).index(p) for p in places]) if len(places) > 1 else wanted
        expected, = torch.autograd.grad(wanted, wide, weights)
        wanted = wanted if name == "logsumexp" else wanted.transpose(dim, -1)
        torch.testing.assert_close(made.double(), wanted.detach(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        most = 4 * TOLERANCE[dtype]
        torch.testing.assert_close(grad.double(), expected.transpose(dim, -1), rtol=most, atol=most)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_gradients_that_are_one_number_are_like_others(name: str) -> None:
    for shape, dim in (((3, 20, 100), 1), ((90, 70), 0), ((4, 9, 40), 0)):
        x = numbers(*shape).requires_grad_()
        weight = numbers(*shape[1:])
        found, = torch.autograd.grad((getattr(torch, name)(x, dim) * 2).sum(), x)
        made = getattr(torch, name)(x, dim)
        wanted, = torch.autograd.grad(made, x, torch.full(made.shape, 2.0, dtype=torch.float64))
        torch.testing.assert_close(found, wanted)
        spread, = torch.autograd.grad(torch.softmax(x, dim), x, weight.expand(shape))
        wanted, = torch.autograd.grad(torch.softmax(x, dim), x, weight.expand(shape).contiguous())
        torch.testing.assert_close(spread, wanted)


@pytest.mark.parametrize("shape, dims", [((1000,), None), ((3, 700), 1), ((3, 700), (0, 1)), ((2, 30, 40), (1, 2)),
                                         ((2, 30, 40), (0, 2)), ((5, 64), 1), ((2, 1030), (1,))])
def test_sums_of_complex_numbers(shape: Any, dims: Any) -> None:
    for dtype in (torch.complex64, torch.complex128):
        x = torch.complex(numbers(*shape), numbers(*shape, seed=1)).to(dtype)
        for keepdim in (False, True) if dims is not None else (False,):
            found, = with_threads(lambda x=x, k=keepdim: [x.sum() if dims is None else x.sum(dims, k)])
            wanted = x.numpy().astype(np.complex128).sum(dims, keepdims=keepdim)
            assert found.shape == wanted.shape and found.dtype == dtype and found.is_contiguous()
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_softmax_down_columns_keeps_infinities_and_nan() -> None:
    x = numbers(70, 70)
    x[3, 5], x[4, 6], x[:, 7] = float("nan"), float("inf"), float("-inf")
    for name in ("softmax", "log_softmax"):
        made = getattr(torch, name)(x, 0)
        torch.testing.assert_close(made, getattr(torch, name)(x.t().contiguous(), 1).t(), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_a_matrix_is_that_of_images(dtype: Any, training: bool) -> None:
    x = (numbers(90, 50) * 2 + 1).to(dtype)
    weight, bias, mean, var = (numbers(50, seed=i).abs().to(dtype) for i in range(1, 5))
    grad = numbers(90, 50, seed=9).to(dtype)

    def run(x: Any, w: Any, b: Any, m: Any, v: Any, g: Any) -> list[Any]:
        leaves = [t.clone().requires_grad_() for t in (x, w, b)]
        running = m.clone(), v.clone()
        made = F.batch_norm(leaves[0], *running, leaves[1], leaves[2], training=training, momentum=0.1)
        return [made.detach(), *running, *torch.autograd.grad(made, leaves, g)]
    found = with_threads(lambda: run(x, weight, bias, mean, var, grad))
    wide = [t.double() for t in (weight, bias, mean, var)]
    rows = [t.double().t().reshape(1, 50, 90) for t in (x, grad)]
    wanted = run(rows[0], *wide, rows[1])
    wanted[0], wanted[3] = wanted[0][0].t(), wanted[3][0].t()
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=3 * TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("mode, shape", [("nearest", (2, 3, 9)), ("nearest", (2, 3, 9, 7)), ("nearest-exact", (2, 2, 5, 6, 4)),
                                         ("linear", (2, 3, 11)), ("bilinear", (2, 3, 9, 12)), ("trilinear", (1, 2, 5, 6, 4)),
                                         ("bicubic", (2, 2, 9, 8))])
def test_resizing_is_a_product_with_a_matrix(mode: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for factor in (2.0, 0.5, 1.7, 0.3):
            def run(dtype: Any = dtype, factor: float = factor) -> list[Any]:
                x = numbers(*shape).to(dtype).requires_grad_()
                made = F.interpolate(x, scale_factor=factor, mode=mode)
                weights = torch.linspace(0, 1, made.numel()).reshape(made.shape).to(dtype)
                return [made.detach(), *torch.autograd.grad(made, x, weights)]
            found = with_threads(run)
            with monkeypatch.context() as without:
                without.setattr(upsample, "native", None)
                wanted = run()
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_at_positions_round_at_each_step(dtype: Any) -> None:
    x, source = numbers(6, 40).to(dtype), numbers(6, 500, seed=1).to(dtype)
    index = torch.from_numpy(np.random.default_rng(2).integers(0, 40, (6, 500)))
    found, = with_threads(lambda: [x.scatter_add(1, index, source)])
    rows, = with_threads(lambda: [x.t().index_add(0, index[0], source.t()).contiguous()])
    wanted, wanted_rows = x.clone(), x.t().contiguous()
    for k in range(500):
        for r in range(6):
            wanted[r, index[r, k]] += source[r, k]
        wanted_rows[index[0, k]] += source[:, k]
    assert torch.equal(found, wanted) and torch.equal(rows, wanted_rows)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_in_derivatives_are_those_of_arithmetic(dtype: Any) -> None:
    x = numbers(300).abs().to(dtype).requires_grad_()
    grad, = torch.autograd.grad(x.sqrt().sum(), x)
    assert torch.equal(grad, torch.ones_like(x) / (x.detach().sqrt() * 2))
    grad, = torch.autograd.grad(x.log1p().sum(), x)
    assert torch.equal(grad, torch.ones_like(x) / (x.detach() + 1))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool], ids=str)
def test_narrow_integers_wrap_around_as_wide_ones_do(dtype: Any) -> None:
    random = np.random.default_rng(3)
    low, high = (0, 2) if dtype is torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1)
    a, b = (torch.from_numpy(random.integers(low, high, (70, 90))).to(dtype) for _ in range(2))
    names = ["add", "mul", "maximum", "minimum", "eq", "ne", "lt", "ge", "logical_and", "logical_xor", "bitwise_and",
             "bitwise_or", "bitwise_xor"] + ["sub"] * (dtype is not torch.bool)
    pairs = ((a, b), (a.t(), b.t()), (a[:, ::2], b[:, 1::2]), (a, b[:1]), (a[:, :1], b), (a, b[3, 4]))
    calls = [(name, x, y) for name in names for x, y in pairs]
    results = with_threads(lambda: [getattr(torch, name)(x, y) for name, x, y in calls])
    for (name, x, y), found in zip(calls, results, strict=True):
        wide = getattr(torch, name)(x.long(), y.long())
        assert found.dtype == (torch.bool if wide.dtype == torch.bool else dtype)
        assert torch.equal(found, wide.to(found.dtype)), name
    for name in names:
        function = getattr(torch, name)
        if dtype is not torch.bool and name in ("add", "sub", "mul", "eq", "lt", "bitwise_and", "bitwise_xor"):
            assert torch.equal(function(a, 1), function(a.long(), 1).to(function(a, 1).dtype)), name
    if dtype is not torch.bool:
        assert torch.equal(-a, (-a.long()).to(dtype))
        assert torch.equal(a.clone().add_(b, alpha=3), (a.long() + 3 * b.long()).to(dtype))
        assert torch.equal(a.clamp(1, 5), a.long().clamp(1, 5).to(dtype))
    assert torch.equal(torch.where(a > b, a, b), torch.where(a.long() > b.long(), a.long(), b.long()).to(dtype))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_parts_of_complex_numbers_are_treated_alike(dtype: Any) -> None:
    a, b = (torch.complex(numbers(60, 90, seed=s), numbers(60, 90, seed=s + 1)).to(dtype) for s in (0, 5))
    made = with_threads(lambda: [-a, a + b, a - b, torch.add(a, b, alpha=2), a.clone().sub_(b), a.sum(), a.sum(0),
                                 a.sum(1, True), a.reciprocal(), 1 / a, a.real.to(dtype)])
    x, y = a.numpy().astype(np.complex128), b.numpy().astype(np.complex128)
    wanted = [-x, x + y, x - y, x + 2 * y, x - y, x.sum(), x.sum(0), x.sum(1, keepdims=True), 1 / x, 1 / x, x.real + 0j]
    for found, value in zip(made, wanted, strict=True):
        most = 1e-4 if dtype is torch.complex64 else 1e-10
        np.testing.assert_allclose(found.numpy().astype(np.complex128), value, rtol=most, atol=most)
    far = torch.tensor([1e30 + 1e30j, 1e-30 - 1e-30j, 3 + 0j, 0 + 2j, 1e-20 + 1e20j], dtype=dtype)
    np.testing.assert_allclose(far.reciprocal().numpy(), 1 / far.numpy(), rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_running_sums_are_kept_in_a_wider_type(dtype: Any) -> None:
    x = (numbers(20, 30, 5) * 0.3).to(dtype)
    for dim in (0, 1, 2):
        found, product = with_threads(lambda d=dim: [x.cumsum(d), (x * 0.1 + 1).cumprod(d)])
        wide = x.numpy() if dtype is torch.float64 else x.float().numpy()
        kept: Any = np.float64 if dtype in (torch.float32, torch.float64) else np.float32
        assert torch.equal(found, torch.from_numpy(np.cumsum(wide.astype(kept), dim)).to(dtype))
        factors = (x * 0.1 + 1).double().numpy().astype(kept)
        assert torch.equal(product, torch.from_numpy(np.cumprod(factors, dim)).to(dtype))


@pytest.mark.parametrize("shape", [(50, 1), (7, 33), (30, 16)])
def test_distances_of_pairs_of_rows(shape: tuple[int, int]) -> None:
    for dtype in (torch.float32, torch.float64):
        x = numbers(*shape).to(dtype)
        x[3] = x[5]
        x.requires_grad_()
        found = F.pdist(x)
        grad, = torch.autograd.grad(found, x, torch.linspace(-1, 1, found.numel(), dtype=dtype))
        rows, columns = torch.triu_indices(len(x), len(x), 1)
        apart = x.double()[rows] - x.double()[columns]
        wanted = (apart * apart).sum(1).clamp_min(1e-60).sqrt()
        expected, = torch.autograd.grad(wanted, x, torch.linspace(-1, 1, found.numel(), dtype=torch.float64))
        torch.testing.assert_close(found, wanted.to(dtype), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(grad, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["elu", "selu", "celu", "softplus", "logaddexp", "xlogy"])
def test_choices_are_the_same_for_blocks_that_need_one_side_only(name: str) -> None:
    function = getattr(torch, name, None) or getattr(F, name)
    x = numbers(4000) * 10
    for values in (x, x.abs(), -x.abs(), x.clone().fill_(float("nan")), torch.zeros(4000)):
        for dtype in (torch.float32, torch.float64):
            arguments = [values.to(dtype)] * (2 if name in ("logaddexp", "xlogy") else 1)
            each = torch.cat([function(*[a[i:i + 1] for a in arguments]) for i in range(0, 4000, 97)])
            torch.testing.assert_close(function(*arguments)[::97], each, rtol=1e-6, atol=0, equal_nan=True)


def test_convolution_in_strips_is_that_of_the_whole_image() -> None:
    x, w = numbers(2, 12, 60, 44).requires_grad_(), numbers(8, 6, 3, 5).requires_grad_()
    for settings in (dict(padding=2), dict(stride=2, padding=1), dict(dilation=2, padding=3)):
        def run(settings: Any = settings) -> list[Any]:
            made = F.conv2d(x, w, groups=2, **settings)
            return [made.detach(), *torch.autograd.grad(made, (x, w), torch.ones_like(made).cumsum(-1))]
        found = run()
        kernel = dict(stride=1, padding=0, dilation=1) | settings
        columns = F.unfold(x.detach(), (3, 5), **kernel).reshape(2, 2, 6 * 15, -1)
        wanted = (w.detach().reshape(2, 4, 90) @ columns).reshape(found[0].shape)
        torch.testing.assert_close(found[0], wanted)
        slopes = torch.ones_like(wanted).cumsum(-1).reshape(2, 2, 4, -1)
        torch.testing.assert_close(found[2], (slopes @ columns.mT).sum(0).reshape(w.shape))
        back = (w.detach().reshape(2, 4, 90).mT @ slopes).reshape(2, 180, -1)
        torch.testing.assert_close(found[1], F.fold(back, (60, 44), (3, 5), **kernel))


@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (8, 2, 48), (9, 3, 49), (70, 31, 17), (130, 64, 100), (5, 129, 96)])
def test_products_of_bfloat16_are_added_up_in_float(m: int, k: int, n: int) -> None:
    for batch in ((), (3,)):
        a, b = (numbers(*batch, *s).to(torch.bfloat16) for s in ((m, k), (k, n)))
        wanted = a.double() @ b.double()
        most = 2 ** -8 * (a.double().abs() @ b.double().abs()).max().item()
        turned = [t.mT.contiguous().mT for t in (a, b)]
        for x, y in ((a, b), (turned[0], b), (a, turned[1]), turned, (a, b[0] if batch else b)):
            found, = with_threads(lambda x=x, y=y: [x @ y])
            assert found.dtype == torch.bfloat16
            expected = wanted if y.ndim == a.ndim else a.double() @ y.double()
            torch.testing.assert_close(found.double(), expected, rtol=8e-3, atol=most)
    bias = numbers(n).to(torch.bfloat16)
    found = torch.addmm(bias, a[0] if a.ndim == 3 else a, b[0] if b.ndim == 3 else b, beta=2, alpha=0.5)
    torch.testing.assert_close(found.double(), 2 * bias.double() + 0.5 * (a[0].double() @ b[0].double()), rtol=8e-3, atol=most)


IMAGES: Any = {
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
    "dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 1)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (2, 4)),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, (4, 7), mode="bicubic", align_corners=True),
    "nearest": lambda x: F.interpolate(x, (5, 30)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, x[0, :, 0, 0], x[0, :, 1, 1], True),
    "batch_norm of kept statistics": lambda x: F.batch_norm(x, x[0, :, 0, 0].detach(), x[0, :, 1, 1].detach() ** 2),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", list(IMAGES))
@pytest.mark.parametrize("channels", [3, 5, 300])
def test_images_with_their_channels_innermost_have_the_results_of_others(dtype: Any, name: str, channels: int) -> None:
    image = numbers(2, channels, 9, 11).to(dtype)
    if name.endswith("pool2d"):
        image[0, 1, 3, 4] = float("nan")
        image[1, 2, 0, 0] = float("inf")

    def run(x: Any) -> list[Any]:
        x = x.detach().requires_grad_()
        made = IMAGES[name](x)
        if not made.requires_grad:
            return [made]
        weights = torch.linspace(-1, 1, made.numel()).reshape(made.shape).to(dtype)
        return [made.detach(), *torch.autograd.grad(made, x, weights), *torch.autograd.grad(IMAGES[name](x).sum(), x)]
    last = torch.channels_last
    for x in (image.contiguous(memory_format=last), image.contiguous(memory_format=last)[:, 1:], image[..., ::2, 1:]):
        found, wanted = with_threads(lambda x=x: [t.nan_to_num(1e4, 2e4) for t in run(x)]), run(x.contiguous())
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b.nan_to_num(1e4, 2e4), rtol=TOLERANCE[dtype], atol=20 * TOLERANCE[dtype])
        if x.is_contiguous(memory_format=last):
            assert run(x)[0].is_contiguous(memory_format=last)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int64, torch.int32, torch.uint8, torch.bool], ids=str)
def test_short_runs_of_any_layout_are_combined_as_numpy_does(dtype: Any) -> None:
    random = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 33, 127, 128):
        whole = torch.from_numpy(random.integers(0, 2 if dtype == torch.bool else 12, (7, 9, n))).to(dtype)
        layouts = [whole, whole[:, :1], whole[:1], whole[..., :1], whole[0, 0], whole[:1, :, :1],
                   torch.stack([whole] * 2, -1)[..., 1],
                   whole.transpose(0, 2).contiguous().transpose(0, 2), whole.flip(1)[:, :1].expand(7, 9, n),
                   torch.cat([whole, whole], 1)[:, 2:11]]
        pairs = [(a, b) for a in layouts for b in layouts]
        for (a, b), made in zip(pairs, [torch.maximum(a, b) for a, b in pairs], strict=True):
            assert made.dtype == dtype
            assert np.array_equal(made.double().numpy(), np.maximum(a.double().numpy(), b.double().numpy()))
        copied = whole.clone()
        copied.add_(layouts[4]) if dtype != torch.bool else copied.logical_or_(layouts[4])
        total = whole.double().numpy() + layouts[4].double().numpy()
        assert np.array_equal(copied.double().numpy(), np.minimum(total, 1) if dtype == torch.bool else total)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_next_numbers_are_those_of_numpy(dtype: Any) -> None:
    info = np.finfo(dtype)
    ends = [0.0, 1, 2, 0.5, np.inf, info.tiny, info.smallest_subnormal, info.max]
    x, y = (grid.ravel() for grid in np.meshgrid(*[np.array([*ends, *[-e for e in ends], np.nan], dtype)] * 2))
    with np.errstate(all="ignore"):
        wanted = np.nextafter(x, y)
    made = torch.nextafter(torch.from_numpy(x.copy()), torch.from_numpy(y.copy())).numpy()
    assert np.array_equal(made, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(made)[wanted == 0], np.signbit(wanted)[wanted == 0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_short_rows_take_operands_that_are_constant_along_the_row(dtype: Any) -> None:
    for rows, n in ((8, 20), (10, 8), (70, 33), (129, 100)):
        for function in (F.softmax, F.log_softmax):
            x = numbers(rows, n).to(dtype).requires_grad_()
            weight = numbers(rows, 1, seed=1).to(dtype)
            y = function(x, 1)
            for one in (weight.expand(rows, n), torch.ones((), dtype=dtype).expand(rows, n)):
                (found,) = torch.autograd.grad(y, x, one, retain_graph=True)
                (wanted,) = torch.autograd.grad(y, x, one.contiguous(), retain_graph=True)
                tolerance = TOLERANCE[dtype] * n
                torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)
