"""The parts of transforms that PyTorch has under `torch._functorch` and `torch._C._functorch`."""
from __future__ import annotations

import warnings

import pytest

import retrograd as torch
from retrograd._functorch import deprecated, levels
from retrograd._functorch.apis import chunk_vmap
from retrograd._functorch.eager_transforms import _autograd_grad, _replace_args, _slice_argnums, enable_inplace_requires_grad
from retrograd._functorch.make_functional import (
    combine_state_for_ensemble,
    functional_init,
    functional_init_with_buffers,
    make_functional,
    make_functional_with_buffers,
)
from retrograd._functorch.pyfunctorch import (
    retrieve_all_functorch_interpreters,
    retrieve_current_functorch_interpreter,
    temporarily_clear_interpreter_stack,
    temporarily_pop_interpreter_stack,
)
from retrograd._functorch.vmap import get_chunk_sizes, restore_vmap
from retrograd.utils import _pytree as pytree


def test_batched_tensor_tells_its_level_and_dimension() -> None:
    seen = []

    def look(x):
        seen.append((levels.maybe_get_level(x), levels.maybe_get_bdim(x), levels.is_batchedtensor(x),
                     levels.get_unwrapped(x).shape))
        return x
    torch.vmap(look, in_dims=1)(torch.ones(2, 3))
    assert seen == [(1, 1, True, torch.Size([2, 3]))]


def test_tensor_of_grad_is_dead_after_it() -> None:
    kept = []
    torch.func.grad(lambda x: (kept.append(x), x.sum())[1])(torch.ones(2))
    assert levels.is_gradtrackingtensor(kept[0]) and levels.is_dead_tensor_wrapper(kept[0])
    assert levels.maybe_get_level(kept[0]) == -2
    assert levels.unwrap_if_dead(kept[0]).tolist() == [1, 1]


def test_levels_are_entered_and_left_one_by_one() -> None:
    level = levels._vmap_increment_nesting(2, "error")
    try:
        x = levels._add_batch_dim(torch.arange(6.0).view(2, 3), 0, level)
        y = levels._remove_batch_dim(x.sum(), level, 2, 0)
    finally:
        levels._vmap_decrement_nesting()
    assert y.tolist() == [3, 12] and levels.maybe_current_level() is None
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT"):
        levels.current_level()


def test_reshaping_moves_a_dimension_into_and_out_of_another() -> None:
    x = torch.arange(24).view(2, 3, 4)
    into = levels.reshape_dim_into(2, 0, x)
    assert into.shape == (8, 3) and torch.equal(into, x.permute(2, 0, 1).reshape(8, 3))
    assert levels.reshape_dim_outof(0, 4, into).shape == (4, 2, 3)
    with pytest.raises(RuntimeError, match="no multiple"):
        levels.reshape_dim_outof(0, 3, into)


def test_restored_vmap_keeps_batch_dimensions() -> None:
    out, dims = restore_vmap(lambda x, y: (x, y), (1, None), 3, "error")(torch.zeros(2, 3), torch.ones(1))
    assert out[0].shape == (2, 3) and dims == (1, None)


@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_chunks_give_what_vmap_gives(chunks: int) -> None:
    x = torch.arange(6.0).view(6, 1)
    assert torch.equal(chunk_vmap(torch.sum, chunks=chunks)(x), torch.vmap(torch.sum)(x))


def test_chunk_sizes_cover_all() -> None:
    assert get_chunk_sizes(7, 3) == [3, 3, 1] and get_chunk_sizes(6, 3) == [3, 3]


def test_interpreters_can_be_left() -> None:
    def inside(x):
        assert [i.level() for i in retrieve_all_functorch_interpreters()] == [1, 2]
        assert retrieve_current_functorch_interpreter().batch_size() == 2
        with temporarily_pop_interpreter_stack():
            assert levels.maybe_current_level() == 1
        with temporarily_clear_interpreter_stack():
            assert levels.maybe_current_level() is None
        return x.sum()
    torch.func.grad(lambda x: torch.vmap(inside)(x).sum())(torch.ones(2, 3))


def test_requires_grad_can_be_allowed_in_a_transform() -> None:
    def inside(x):
        with pytest.raises(RuntimeError, match="requires_grad_"):
            x.clone().requires_grad_()
        with enable_inplace_requires_grad(True):
            x.clone().requires_grad_()
        return x.sum()
    torch.func.grad(inside)(torch.ones(2))


def test_fallback_of_vmap_can_be_refused() -> None:
    levels._set_vmap_fallback_enabled(False)
    try:
        assert not levels._is_vmap_fallback_enabled()
        assert torch.vmap(torch.sin)(torch.zeros(2)).tolist() == [0, 0]
    finally:
        levels._set_vmap_fallback_enabled(True)


def test_arguments_are_chosen_and_replaced() -> None:
    assert _slice_argnums((1, 2, 3), 1) == (2,) and _slice_argnums((1, 2, 3), (0, -1)) == (1, 3)
    assert _replace_args((1, 2, 3), (9,), 1) == (1, 9, 3)
    with pytest.raises(RuntimeError, match="size 2, was of size 1"):
        _replace_args((1, 2, 3), (9,), (0, 1))


def test_gradients_without_a_path_are_zeros() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    assert [g.tolist() for g in _autograd_grad((x.sum(),), (x, y))] == [[1, 1], [0, 0, 0]]


def test_functional_module_takes_its_parameters() -> None:
    layer = torch.nn.Linear(2, 3)
    function, params = make_functional(layer)
    x = torch.randn(4, 2)
    assert torch.equal(function(params, x), layer(x))
    assert function.param_names == ("weight", "bias")
    assert not any(p.requires_grad for p in make_functional(layer, disable_autograd_tracking=True)[1])
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(torch.nn.BatchNorm1d(2))


def test_tied_parameters_of_a_functional_module_stay_tied() -> None:
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))
    function, params = make_functional(Tied())
    assert len(params) == 1
    assert function([2 * torch.eye(2)], torch.ones(2)).tolist() == [4, 4]


def test_buffers_of_a_functional_module_are_arguments() -> None:
    function, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2).eval())
    doubled = (torch.ones(2), torch.full((2,), 4.0), buffers[2])
    assert torch.allclose(function(params, doubled, torch.tensor([[3.0, 5.0]])), torch.tensor([[1.0, 2.0]]), atol=1e-4)


def test_ensembles_are_stacked() -> None:
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    function, params, buffers = combine_state_for_ensemble(models)
    x = torch.randn(5, 2)
    expected = torch.stack([m(x) for m in models])
    assert torch.allclose(torch.vmap(function, (0, 0, None))(params, buffers, x), expected, atol=1e-6)
    with pytest.raises(RuntimeError, match="at least one model"):
        combine_state_for_ensemble([])
    weights, run, names = functional_init(torch.nn.Linear, (3,))(2, 2)
    assert weights[0].shape == (3, 2, 2) and names == ("weight", "bias")
    assert torch.vmap(run, (0, None))(weights, (torch.ones(2),)).shape == (3, 2)
    assert len(functional_init_with_buffers(torch.nn.BatchNorm1d, (2,))(3)) == 5


def test_old_names_warn() -> None:
    with pytest.warns(FutureWarning, match=r"functorch.vmap` is deprecated.*torch.vmap"):
        deprecated.vmap(torch.sin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert deprecated.jacrev(torch.sin)(torch.zeros(1)).tolist() == [[1]]


def test_containers_of_users_go_through_transforms() -> None:
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b
    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda xs, _: Pair(*xs))
    try:
        out = torch.vmap(lambda p: Pair(p.a + p.b, p.a.sum()))(Pair(torch.ones(2, 3), torch.zeros(2, 3)))
        assert out.a.shape == (2, 3) and out.b.tolist() == [3, 3]
        grads = torch.func.grad(lambda p: (p.a * p.b).sum())(Pair(torch.ones(2), torch.full((2,), 3.0)))
        assert grads.a.tolist() == [3, 3] and grads.b.tolist() == [1, 1]
    finally:
        pytree._deregister_pytree_node(Pair)
