"""vmap: results, the texts of its errors, writes, nesting, randomness, custom Functions, and the older `_vmap`."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import retrograd as torch
import retrograd.nn.functional as F
from retrograd.autograd import Function, forward_ad, grad
from retrograd.transforms.vmap import _vmap, vmap


def rows() -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def refused(kind: Any, text: str, function: Any, *args: Any) -> None:
    with pytest.raises(kind) as error:
        function(*args)
    assert type(error.value) is kind
    assert text in str(error.value)


# ---- results
def test_every_example_is_computed() -> None:
    assert vmap(lambda x: (x * 2 + 1).sum())(rows()).tolist() == [15.0, 33.0]


def test_an_example_looks_like_one() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.extend([type(x), x.shape, x.stride(), x.ndim, x.numel(), x.requires_grad, x.is_leaf])
        return x
    vmap(look)(rows().requires_grad_())
    assert seen == [torch.Tensor, (3,), (1,), 1, 3, False, True]


def test_untouched_input_comes_back_as_the_same_object() -> None:
    x = rows()
    assert vmap(lambda a: a)(x) is x
    assert vmap(lambda a: a, 1, 1)(x) is x
    assert _vmap(lambda a: a)(x) is x


def test_dimensions_in_and_out() -> None:
    x = rows()
    assert vmap(lambda a: a * 2, -1)(x).tolist() == (x.t() * 2).tolist()
    assert vmap(lambda a: a * 2, 0, -1)(x).shape == (3, 2)
    assert vmap(lambda a, b: a + b, (0, None))(x, x[0]).tolist() == (x + x[0]).tolist()


def test_nested_containers_go_in_and_out() -> None:
    Pair = namedtuple("Pair", "left right")
    made = vmap(lambda d, pair: {"sum": d["x"] + pair.left, "both": [pair.right, d["x"]]})({"x": rows()}, Pair(rows(), rows()))
    assert made["sum"].tolist() == (rows() * 2).tolist()
    assert made["both"][0].tolist() == rows().tolist()


def test_result_without_examples_is_repeated() -> None:
    made = vmap(lambda a: torch.ones(2))(rows())
    assert made.shape == (2, 2) and made.stride() == (0, 1)


def test_weak_example_does_not_promote() -> None:
    doubles = torch.ones(2, dtype=torch.float64)
    assert vmap(lambda a: a * torch.ones(3))(doubles).dtype is torch.float32
    assert vmap(lambda a: a * torch.ones(3, dtype=torch.int64))(doubles).dtype is torch.float64


def test_levels_nest() -> None:
    made = vmap(lambda a: vmap(lambda b: a * b + a)(torch.tensor([1.0, 2.0, 3.0])))(torch.tensor([10.0, 100.0]))
    assert made.tolist() == [[20.0, 30.0, 40.0], [200.0, 300.0, 400.0]]


def test_gradients_flow_through_all_examples() -> None:
    x, w = rows().requires_grad_(), torch.ones(3).requires_grad_()
    out = vmap(lambda a, b: (a * a * b).sum(), (0, None))(x, w)
    gx, gw = grad(out.sum(), (x, w))
    assert gx.tolist() == (rows() * 2).tolist()
    assert gw.tolist() == (rows() ** 2).sum(0).tolist()


def test_no_examples() -> None:
    assert vmap(lambda a: a * 2)(torch.zeros(0, 3)).shape == (0, 3)


def test_chunks_give_the_same() -> None:
    assert vmap(lambda a: (a * 2, a.sum()), chunk_size=1)(rows())[0].tolist() == (rows() * 2).tolist()


def test_index_of_every_example() -> None:
    assert vmap(lambda a, i: a[i])(rows(), torch.tensor([0, 2])).tolist() == [1.0, 6.0]


def test_printing_shows_all_examples() -> None:
    texts: list[str] = []
    vmap(vmap(lambda a: (texts.append(repr(a)), a)[1]))(torch.zeros(2, 2))
    assert texts == ["BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        "
                     "tensor([[0., 0.],\n                [0., 0.]])\n    )\n)"]


# ---- writes
def test_write_reaches_the_examples() -> None:
    x = rows()
    vmap(lambda a: a.add_(1), 1)(x)
    assert x.tolist() == (rows() + 1).tolist()


def test_assignment_reaches_the_examples() -> None:
    x = rows()

    def assign(a: Any) -> Any:
        a[0] = a[1] * 2
        a[2:] = 7.0
        return a
    assert vmap(assign)(x) is x
    assert x.tolist() == [[4.0, 2.0, 7.0], [10.0, 5.0, 7.0]]


def test_geometry_changes_in_place() -> None:
    assert vmap(lambda a: a.unsqueeze_(0))(rows()).shape == (2, 1, 3)


def test_shared_tensor_cannot_be_written_by_each() -> None:
    shared = torch.zeros(3)
    refused(RuntimeError, "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` "
                          "in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` not "
            "being "
            "vmapped over in a vmap.", vmap(lambda a: shared.copy_(a)), rows())
    refused(RuntimeError, "vmap: aten::copy_(self, *extra_args) is not possible", _vmap(lambda a: shared.copy_(a)), rows())
    refused(RuntimeError, "at level 1. Please try", vmap(lambda a: shared.addcmul_(a, a)), rows())


# ---- refusals
@pytest.mark.parametrize(("function", "text"), [
    (lambda a: a.sum().item(), "vmap: It looks like you're calling .item() on a Tensor."),
    (lambda a: float(a.sum()), "vmap: It looks like you're calling .item() on a Tensor."),
    (lambda a: a if a.sum() > 0 else -a, "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
                                         "flow."),
    (lambda a: a.tolist(), "Cannot access data pointer of Tensor that doesn't have storage"),
    (lambda a: a.data, "accessing `data` under vmap transform is not allowed"),
    (lambda a: a.requires_grad_(), "You are attempting to call Tensor.requires_grad_()"),
    (lambda a: a.nonzero(), "Attempted to vmap over aten::nonzero."),
    (lambda a: a[a > 0], "Attempting to batch over indexing with a boolean mask."),
    (lambda a: a.sum().backward(), "backward() called inside a functorch transform."),
    (lambda a: torch.add(a, a, out=torch.empty(3)), "Batching rule not implemented for aten::add.out; the fallback path "
                                                    "doesn't "
                                                    "work on out= or view ops."),
    (lambda a: torch.rand(3), "vmap: called random operation while in randomness error mode."),
    (lambda a: a.as_strided((5,), (1,), 0), "result = tensor.as_strided([5], [1], 0) can access memory outside of `tensor`."),
])
def test_what_has_no_meaning_for_one_example(function: Any, text: str) -> None:
    refused(RuntimeError, text, vmap(function), rows())


def test_escaped_example_is_refused() -> None:
    kept: list[Any] = []
    vmap(lambda a: (kept.append(a * 1), a)[1])(rows())
    refused(RuntimeError, "Either your tensor may have escaped from inside a function being vmapped", lambda: kept[0] * 2)


def identity(a: Any) -> Any:
    return a


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: vmap(identity, 5)(x), "vmap(identity, in_dims=5, ...)(<inputs>): Got in_dim=5 for some input, but that input is "
                                     "a "
                                     "Tensor of dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2."),
    (lambda x: _vmap(identity, -1)(x), "so expected in_dim to satisfy 0 <= in_dim < 2."),
    (lambda x: vmap(identity, [0])(x), "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                                       "inputs, got: <class 'list'>."),
    (lambda x: vmap(identity, (0, 0))(x), "in_dims has structure TreeSpec(tuple, None, [*,\n  *]) but inputs has structure "
                                          "TreeSpec(tuple, None, [*])."),
    (lambda x: vmap(identity)(3), "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"),
    (lambda x: vmap(identity)(), "got no inputs."),
    (lambda x: vmap(identity, (None,))(x), "vmap: Expected at least one Tensor to vmap over"),
    (lambda x: vmap(lambda a, b: a, (0, 1))(x, x), "got sizes [2, 3] for the mapped dimension"),
    (lambda x: vmap(lambda a: None)(x), "must only return Tensors, got type <class 'NoneType'>. Did you mean to set out_dims= "
                                        "to "
                                        "None for output?"),
    (lambda x: _vmap(lambda a: [a])(x), "must only return Tensors, got type <class 'list'> as the return."),
    (lambda x: vmap(identity, 0, "a")(x), "`out_dims` must be an int, None or a python collection of ints"),
    (lambda x: vmap(identity, 0, (0, 1))(x), "out_dims is not compatible with the structure of `outputs`."),
    (lambda x: vmap(identity, out_dims=None)(x), "`identity` can not return a BatchedTensor when out_dim is None"),
    (lambda x: vmap(identity, chunk_size=0)(x), "vmap: chunk_size should be None or greater than 0. (got 0)"),
])
def test_wrong_arguments_are_explained(call: Any, text: str) -> None:
    refused(ValueError, text, call, rows())


# ---- randomness
def test_same_randomness_for_all_examples() -> None:
    made = vmap(lambda a: a + torch.rand_like(a), randomness="same")(torch.zeros(2, 3))
    assert made[0].tolist() == made[1].tolist()


def test_different_randomness_for_each_example() -> None:
    torch.manual_seed(0)
    expected = torch.rand(2, 3)
    torch.manual_seed(0)
    assert vmap(lambda a: a + torch.rand(3), randomness="different")(torch.zeros(2, 3)).tolist() == expected.tolist()


def test_older_vmap_refuses_random_ops() -> None:
    refused(RuntimeError, "vmap: We do not yet support calling random operations inside of "
                          "vmap", _vmap(lambda a: torch.rand(3)),
            rows())


# ---- custom Functions
class Product(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, w: Any) -> Any:
        return x * w

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, g * x


def test_generated_rule_sums_gradients_of_shared_tensors() -> None:
    x, w = rows().requires_grad_(), torch.tensor([1.0, 2.0, 3.0]).requires_grad_()
    out = vmap(Product.apply, (0, None))(x, w)
    assert out.grad_fn.name() == "VmappedProductBackward"
    gx, gw = grad(out.sum(), (x, w))
    assert gx.tolist() == [[1.0, 2.0, 3.0]] * 2
    assert gw.tolist() == rows().sum(0).tolist()


def test_own_rule_is_told_where_the_examples_are() -> None:
    class Ruled(Product):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
            assert tuple(info) == (2, "error") and in_dims == (0, None)
            return Ruled.apply(x, w), 0
    assert vmap(Ruled.apply, (0, None))(rows(), torch.ones(3)).tolist() == rows().tolist()


def test_function_without_a_rule_is_refused() -> None:
    class Bare(Product):
        generate_vmap_rule = False
    refused(RuntimeError, "You tried to vmap over Bare, but it does not have vmap "
                          "support.", vmap(Bare.apply, (0, None)), rows(),
            torch.ones(3))


# ---- batched gradients and tangents
def test_batched_gradients_pass_hooks_and_writes() -> None:
    x = rows().requires_grad_()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    z = y.clone()
    z[0].mul_(x[1])
    z.t()[1].add_(x[:, 0])
    vectors = torch.arange(12.0).reshape(2, 2, 3)
    batched, = grad(z, x, vectors, retain_graph=True, is_grads_batched=True)
    for i in range(2):
        single, = grad(z, x, vectors[i], retain_graph=True)
        np.testing.assert_allclose(batched[i].numpy(), single.numpy(), 1e-6)


def test_batched_gradients_are_cast() -> None:
    x = torch.ones(2, 2).requires_grad_()
    made, = grad(x.sum(), x, torch.arange(3), is_grads_batched=True)
    assert made.dtype is torch.float32 and made[:, 0, 0].tolist() == [0.0, 1.0, 2.0]


def test_batched_gradients_must_fit() -> None:
    x = torch.ones(2, 2).requires_grad_()
    refused(RuntimeError, "If `is_grads_batched=True`, we interpret the first", lambda: grad(
        x.clone(), x, torch.ones(2, 2), is_grads_batched=True))


def test_tangent_of_the_right_layout_is_the_very_object() -> None:
    tangent = torch.zeros(2, 2, 2)

    def jvp(t: Any) -> Any:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(torch.zeros(2, 2), t))[1]
    assert _vmap(jvp)(tangent) is tangent


def test_written_view_shares_its_tangent_with_the_base() -> None:
    view = torch.zeros(2, 2).transpose(0, 1)

    def jvp(t: Any) -> Any:
        with forward_ad.dual_level():
            view.copy_(forward_ad.make_dual(torch.zeros(2, 2), t))
            return forward_ad.unpack_dual(view)[1], forward_ad.unpack_dual(view._base)[1]
    of_view, of_base = _vmap(jvp)(torch.arange(8.0).reshape(2, 2, 2))
    assert of_view._base is of_base
    assert of_base.tolist() == torch.arange(8.0).reshape(2, 2, 2).transpose(1, 2).tolist()


def test_tangents_of_batched_tensors() -> None:
    def square(x: Any, t: Any) -> Any:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(x, t) ** 2).tangent
    assert vmap(square)(rows(), torch.ones(2, 3)).tolist() == (rows() * 2).tolist()
    assert vmap(square, (None, 0))(rows(), torch.ones(4, 2, 3)).shape == (4, 2, 3)
    assert vmap(square, (0, None))(rows(), torch.ones(3)).tolist() == (rows() * 2).tolist()


def test_batched_tangent_meets_batched_value() -> None:
    def product(x: Any, t: Any) -> Any:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(3), t) * x).tangent
    assert vmap(product)(rows(), rows()).tolist() == (rows() ** 2).tolist()


def test_kron_takes_batches_in_any_layout() -> None:
    x, ones = torch.arange(24.0).view(2, 3, 4), torch.ones(2, 1)
    made = vmap(lambda t: torch.kron(t.t(), ones), in_dims=2)(x)
    assert torch.equal(made[1], torch.kron(x[:, :, 1].t().contiguous(), ones))


@pytest.mark.parametrize(("name", "shapes"), [
    ("addmm", ((3, 5), (3, 4), (4, 5))), ("addmv", ((3,), (3, 4), (4,))), ("addr", ((3, 4), (3,), (4,))),
    ("baddbmm", ((2, 3, 5), (2, 3, 4), (2, 4, 5))), ("addbmm", ((3, 5), (2, 3, 4), (2, 4, 5)))])
def test_a_batch_of_what_does_not_count_is_still_a_batch(name: str, shapes: Any) -> None:
    for place in range(3):
        args = [torch.randn((6, *shape) if i == place else shape) for i, shape in enumerate(shapes)]
        dims = tuple([0 if i == place else None for i in range(3)])
        def run(*given: Any) -> Any:
            return getattr(torch, name)(*given, beta=0)
        made = torch.func.vmap(run, in_dims=dims)(*args)
        wanted = torch.stack([run(*[t[k] if i == place else t for i, t in enumerate(args)]) for k in range(6)])
        torch.testing.assert_close(made, wanted)


def test_an_output_that_is_batched_further_out_cannot_have_no_dimension():
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda a: vmap(lambda b: a, out_dims=None)(torch.ones(4)))(torch.ones(2, 3))


def test_examples_have_no_memory_format():
    x = torch.ones(2, 1, 2, 2, 2)
    with pytest.raises(RuntimeError, match="NYI: querying is_contiguous inside of vmap for memory_format"):
        vmap(lambda t: t.contiguous(memory_format=torch.channels_last))(x)
    with pytest.raises(RuntimeError, match=r"NYI: Tensor.clone.memory_format. inside vmap .* .got ChannelsLast."):
        vmap(lambda t: t.clone(memory_format=torch.channels_last))(x)


@pytest.mark.parametrize("function", [torch.sin, torch.exp, torch.relu, lambda x: x.pow(2), lambda x: x.clamp(0, 1),
                                      torch.clone])
def test_functions_of_one_tensor_keep_the_place_of_the_examples(function: Any) -> None:
    x = torch.linspace(0.1, 0.9, 12).reshape(2, 2, 3).requires_grad_()
    made = vmap(function, in_dims=-1)(x)
    assert made.grad_fn.name() == "PermuteBackward0" and made.stride() == (1, 6, 3)
    torch.testing.assert_close(made, function(x).movedim(-1, 0))
    kept = vmap(function, in_dims=-1, out_dims=-1)(x)
    assert kept.grad_fn.name() != "PermuteBackward0" and kept.is_contiguous()


def test_a_contiguous_copy_has_the_examples_first() -> None:
    made = vmap(lambda x: x.contiguous(), in_dims=-1)(torch.ones(2, 2, 3))
    assert made.is_contiguous()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy,
                                  F.binary_cross_entropy_with_logits, F.soft_margin_loss])
def test_losses_of_pairs_are_reduced_for_each_example_at_once(loss: Any, reduction: str) -> None:
    x, y = torch.linspace(0.1, 0.9, 6).reshape(2, 3).requires_grad_(), torch.tensor([[1.0, 0, 1], [0, 0, 1]])

    def of_one(x: Any, y: Any) -> Any:
        return loss(x, y, reduction=reduction)
    made = vmap(of_one)(x, y)
    assert made.grad_fn.name() != "StackBackward0"
    torch.testing.assert_close(made, torch.stack([of_one(a, b) for a, b in zip(x, y, strict=True)]))
    grads = vmap(torch.func.grad(lambda a, b: of_one(a, b).sum()))(x.detach(), y)
    total = sum(of_one(a, b).sum() for a, b in zip(x, y, strict=True))
    torch.testing.assert_close(grads, torch.autograd.grad(total, x)[0])


def test_one_hot_of_examples_needs_the_number_of_classes() -> None:
    x = torch.tensor([[0, 1], [2, 3]])
    assert vmap(lambda x: F.one_hot(x, 3))(x).tolist() == [[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 0]]]
    with pytest.raises(RuntimeError, match="please provide an explicit positive num_classes"):
        vmap(F.one_hot)(x)


@pytest.mark.parametrize("settings", [{}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 1},
                                      {"weight": torch.tensor([1.0, 2.0, 3.0])}])
@pytest.mark.parametrize("rows", [(), (4,)])
def test_cross_entropy_of_examples_is_computed_at_once(settings: Any, rows: Any) -> None:
    x = torch.linspace(-1, 2, 2 * 3 * (rows[0] if rows else 1)).reshape(2, *rows, 3).requires_grad_()
    y = torch.tensor([[0, 1, 2, 1], [2, 0, 0, 1]])[:, :rows[0]] if rows else torch.tensor([0, 2])

    def of_one(x: Any, y: Any) -> Any:
        return F.cross_entropy(x, y, **settings)
    made = vmap(of_one)(x, y)
    assert made.grad_fn.name() != "StackBackward0"
    each = torch.stack([of_one(a, b) for a, b in zip(x, y, strict=True)])
    torch.testing.assert_close(made, each)
    (wanted,) = torch.autograd.grad(each.sum(), x)
    torch.testing.assert_close(torch.autograd.grad(made.sum(), x)[0], wanted)
    torch.testing.assert_close(vmap(torch.func.grad(lambda a, b: of_one(a, b).sum()))(x.detach(), y), wanted)
