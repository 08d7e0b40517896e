"""Methods of tensors and storages that few programs use."""
from __future__ import annotations

import copy
import weakref

import numpy as np
import pytest

import retrograd as torch
from retrograd.nn import _reduction
from retrograd.nn.utils import prune


def test_order_of_dimensions_follows_strides() -> None:
    x = torch.ones(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3) and x.permute(3, 0, 1, 2).dim_order() == (1, 2, 3, 0)
    assert x.to(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1) and torch.ones(()).dim_order() == ()
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        torch.ones(1, 1, 2).dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="must be a bool or a list"):
        x.dim_order(ambiguity_check=3)


def test_reversed_flips_the_first_dimension() -> None:
    assert reversed(torch.arange(3)).tolist() == [2, 1, 0] and reversed(torch.ones(())).shape == ()


def test_older_resizes_are_views() -> None:
    x = torch.arange(6.0, requires_grad=True)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(2, 3).shape == (2, 3)
    with pytest.warns(UserWarning, match="resize_as"):
        assert x.resize_as(torch.ones(3, 2)).shape == (3, 2)
    with pytest.warns(UserWarning, match="resize"), pytest.raises(RuntimeError, match="autograd's resize can only change"):
        x.resize(5)


@pytest.mark.parametrize("name", ["eig", "lstsq", "solve", "symeig"])
def test_removed_functions_say_so(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"deprecated since version 1.9 and is now removed"):
        getattr(torch.eye(2), name)()


def test_module_load_copies_or_takes() -> None:
    own, other = torch.zeros(2), torch.ones(2)
    assert own.module_load(other).data_ptr() == own.data_ptr() and own.tolist() == [1, 1]
    assert own.module_load(other, assign=True).data_ptr() == other.data_ptr()


def test_typed_storage_has_quiet_names() -> None:
    storage = torch.arange(3.0)._typed_storage()
    assert storage._size() == 3 and storage._nbytes() == 12 and storage._getitem(2) == 2 and storage._dtype is torch.float32
    storage._setitem(0, 5)
    assert storage.tolist() == [5, 1, 2] and not storage._is_shared()
    again = copy.deepcopy(storage)
    again[0] = 7
    assert storage[0] == 5 and storage.to(device="cpu") is storage
    assert torch.ones(2).storage_type() is torch.FloatStorage


def test_bytes_become_storages() -> None:
    assert torch.UntypedStorage.from_buffer(b"\x01\x02", "little", dtype=torch.int16).tolist() == [1, 2]
    assert torch.UntypedStorage.from_buffer(b"\x01\x02\x03\x04", "big", dtype=torch.int16).tolist() == [2, 1, 4, 3]
    assert torch.TypedStorage.from_buffer(b"\x01\x00\x02\x00", "little", dtype=torch.int16).tolist() == [1, 2]
    given = dict(byte_order="native", dtype=torch.uint8)
    for wrong in (dict(byte_order="odd"), dict(offset=9), dict(count=9), dict(offset=1, dtype=torch.int16)):
        with pytest.raises(ValueError, match="byte_order|offset|elements|multiple"):
            torch.UntypedStorage.from_buffer(b"\x01\x02", **given | wrong)
    with pytest.raises(RuntimeError, match="^argument 'dtype' cannot be None"):
        torch.UntypedStorage.from_buffer(b"\x01\x02", "native")
    with pytest.raises(RuntimeError, match="^function missing required argument 'byte_order'"):
        torch.UntypedStorage.from_buffer(b"\x01\x02", dtype=torch.int16)


def test_storages_refuse_indices_values_and_dtypes_of_other_types() -> None:
    storage = torch.UntypedStorage([1, 2])
    with pytest.raises(TypeError, match="^can't index a torch.UntypedStorage with str"):
        storage["a"]
    with pytest.raises(RuntimeError, match="^can only set storage content with a int types, but got str instead"):
        storage[0] = "a"
    with pytest.raises(RuntimeError, match="^expected torch.dtype, but got <class 'int'>"):
        torch.TypedStorage(dtype=5)


def test_numbers_of_numpy_are_looked_for_in_tensors() -> None:
    assert np.int64(3) in torch.tensor([1, 3]) and np.float32(2) not in torch.tensor([1.0, 3.0])
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar, but you passed in a <class 'str'>"):
        "a" in torch.ones(2)  # noqa: B015


def test_untyped_storages_convert_copy_and_swap() -> None:
    storage = torch.tensor([1, 2], dtype=torch.int16).untyped_storage()
    assert list(storage) == [1, 0, 2, 0] and storage.int().tolist() == [1, 0, 2, 0] and storage.bool()[1] is False
    storage.byteswap(torch.int16)
    assert list(storage) == [0, 1, 0, 2] and len(storage.new()) == 0 and storage.to(device="cpu") is storage
    twice = copy.deepcopy([storage, storage])
    assert twice[0] is twice[1] and twice[0] is not storage


def test_reductions_have_numbers_and_older_flags() -> None:
    assert [_reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    assert _reduction.legacy_get_enum(False, True, emit_warning=False) == 2
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert _reduction.legacy_get_string(None, False) == "none"
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        _reduction.get_enum("x")


def test_amounts_to_prune_are_checked_and_counted() -> None:
    with pytest.raises(TypeError, match="Invalid type for amount"):
        prune._validate_pruning_amount_init("a")
    for wrong in (-1, 1.5, 20.0):
        with pytest.raises(ValueError, match="should either be a float in the range"):
            prune._validate_pruning_amount_init(wrong)
    with pytest.raises(ValueError, match="amount=20 should be smaller than the number of parameters to prune=19"):
        prune._validate_pruning_amount(20, 19)
    assert prune._compute_nparams_toprune(0.25, 8) == 2 and prune._compute_nparams_toprune(3, 8) == 3
    assert prune._compute_norm(torch.ones(3, 2), 1, 0).tolist() == [2, 2, 2]


def test_batch_norm_wants_a_positive_eps() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="eps must be positive during training, but got 0.0"):
        torch.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
    with pytest.raises(ValueError, match="eps must be non-negative"):
        torch.nn.functional.batch_norm(x, torch.zeros(3), torch.ones(3), eps=-1.0)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_loading_adds_no_settings_that_an_optimizer_does_not_have(name: str) -> None:
    optimizer = getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(2, 2))])
    before = list(optimizer.param_groups[0])
    optimizer.load_state_dict(optimizer.state_dict())
    assert set(optimizer.param_groups[0]) == set(before)


@pytest.mark.parametrize("gelu", [False, True])
def test_products_are_activated(gelu: bool) -> None:
    bias, a, b = torch.randn(4), torch.randn(2, 3, requires_grad=True), torch.randn(3, 4)
    plain = torch.addmm(bias, a, b, beta=2, alpha=0.5)
    wanted = torch.nn.functional.gelu(plain) if gelu else plain.relu()
    torch.testing.assert_close(torch._addmm_activation(bias, a, b, beta=2, alpha=0.5, use_gelu=gelu), wanted)
    out = torch.empty(2, 4)
    assert torch._addmm_activation(bias, a.detach(), b, out=out) is out
    torch.testing.assert_close(bias._addmm_activation(a, b), torch.addmm(bias, a, b).relu())


def test_sparse_layouts_and_sums_have_private_names() -> None:
    eye = torch.eye(2)
    for name in ("", "_csr", "_csc"):
        made = getattr(eye, f"_to_sparse{name}")()
        assert made.layout != torch.strided and torch.equal(made._to_dense(), eye)
    assert torch._sparse_sum(eye.to_sparse(), dim=[0]).to_dense().tolist() == [1, 1]
    assert torch.native_norm(2 * eye.to_sparse(), 1).item() == 4
    assert torch._coalesce(torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))).to_dense().tolist() == [3, 0]


def test_metadata_is_asserted() -> None:
    t = torch.ones(2, 3)
    torch._assert_tensor_metadata(t, [2, 3], [3, 1], torch.float32, device="cpu", layout=torch.strided)
    for options, text in (({"size": [3]}, r"Tensor sizes mismatch! Expected: \[3\], Got: \[2, 3\]"),
                          ({"stride": [1, 1]}, "Tensor strides mismatch"), ({"dtype": torch.int32}, "Expected: Int, Got:"),
                          ({"layout": torch.sparse_coo}, "Tensor layout mismatch")):
        with pytest.raises(RuntimeError, match=text):
            torch._assert_tensor_metadata(t, **options)
    assert torch._dim_arange(t, 1).tolist() == [0, 1, 2]
    assert torch._has_compatible_shallow_copy_type(t, t) and not torch._has_compatible_shallow_copy_type(t, t.to_sparse())


def test_weak_references_stay_valid() -> None:
    t, storage = torch.ones(2), torch.UntypedStorage(2)
    references = weakref.ref(t), weakref.ref(storage)
    t._fix_weakref()
    storage._fix_weakref()
    assert references[0]() is t and references[1]() is storage


def test_classes_of_tensors_and_storages_are_listed() -> None:
    assert torch.FloatTensor in torch._tensor_classes and torch.LongStorage in torch._storage_classes
    assert torch._cast_Half(torch.ones(1)).dtype is torch.float16 and torch._cast_Char(torch.ones(1)).dtype is torch.int8
    assert torch.equal(torch._conj_physical(torch.tensor([1j])), torch.tensor([-1j]))
