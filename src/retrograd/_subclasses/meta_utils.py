"""Meta tensors like other tensors: with their geometry, views and autograd state, without their data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import retrograd as torch
from retrograd.compile.fake_tensor import like_on_meta
from retrograd.utils._python_dispatch import _disable_current_modes

__all__ = ["MetaConverter", "assert_eq", "assert_metadata_eq", "is_sparse_any", "is_sparse_compressed",
           "is_sparse_compressed_layout", "is_sparse_coo", "safe_grad", "safe_is_leaf"]

COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def is_sparse_coo(t: Any) -> bool:
    """Whether `t` is a sparse tensor of coordinates."""
    return isinstance(t, torch.Tensor) and t.layout is torch.sparse_coo


def is_sparse_compressed_layout(layout: Any) -> bool:
    """Whether a layout compresses rows or columns."""
    return layout in COMPRESSED


def is_sparse_compressed(t: Any) -> bool:
    """Whether `t` is a sparse tensor with compressed rows or columns."""
    return isinstance(t, torch.Tensor) and is_sparse_compressed_layout(t.layout)


def is_sparse_any(t: Any) -> bool:
    """Whether `t` is a sparse tensor.

    >>> is_sparse_any(torch.ones(2).to_sparse()), is_sparse_any(torch.ones(2)), is_sparse_any(3)
    (True, False, False)
    """
    return is_sparse_coo(t) or is_sparse_compressed(t)


def safe_is_leaf(t: Any) -> bool:
    """Whether a tensor was made by the user; no where it does not say."""
    try:
        return bool(t.is_leaf)
    except RuntimeError:
        return False


def safe_grad(t: Any) -> Any:
    """The gradient of a leaf; None for others, without their warning."""
    return t.grad if safe_is_leaf(t) else None


def assert_eq(a: Any, b: Any) -> None:
    """Raise unless two values are equal."""
    if a != b:
        raise AssertionError(f"{a} != {b}")


def assert_metadata_eq(assert_eq: Callable[[Any, Any], None], m1: Any, m2: Any, *, skip_symbolic: bool = False,
                       skip_leaf: bool = False) -> None:
    """Compare what is known of two tensors without looking at values, their gradients included.

    >>> assert_metadata_eq(assert_eq, torch.ones(2), torch.zeros(2))
    """
    assert_eq(m1.dtype, m2.dtype)
    assert_eq(m1.shape, m2.shape)
    assert_eq(m1.requires_grad, m2.requires_grad)
    if not skip_leaf:
        assert_eq(safe_is_leaf(m1), safe_is_leaf(m2))
    assert_eq((m1.grad_fn is not None) and not skip_leaf, (m2.grad_fn is not None) and not skip_leaf)
    assert_eq(m1.is_sparse, m2.is_sparse)
    assert_eq(m1.is_inference(), m2.is_inference())
    assert_eq(m1.is_conj(), m2.is_conj())
    assert_eq(m1.is_neg(), m2.is_neg())
    first, second = safe_grad(m1), safe_grad(m2)
    assert_eq(first is not None, second is not None)
    if first is not None:
        assert_metadata_eq(assert_eq, first, second, skip_symbolic=skip_symbolic)
    if is_sparse_coo(m1):
        assert_eq(m1.dense_dim(), m2.dense_dim())
        assert_eq(m1.sparse_dim(), m2.sparse_dim())
        assert_eq(m1.is_coalesced(), m2.is_coalesced())
    elif not is_sparse_any(m1):
        assert_eq(m1.stride(), m2.stride())
        assert_eq(m1.storage_offset(), m2.storage_offset())
        assert_eq(m1._is_view(), m2._is_view())
        if m1._is_view():
            assert_metadata_eq(assert_eq, m1._base, m2._base, skip_symbolic=skip_symbolic, skip_leaf=skip_leaf)


class MetaConverter:
    """Makes meta tensors like others: the same one for the same tensor, and views of one for views of one.

    >>> convert, x = MetaConverter(), torch.ones(4)
    >>> convert(x) is convert(x), convert(x[1:])._base is convert(x), convert(3)
    (True, True, 3)
    """

    def __init__(self, *, copy_data: bool = False) -> None:
        self.tensor_memo: dict[int, tuple[Any, Any]] = {}
        self.hit = self.miss = 0
        self.arg_cnt = 0

    def successful(self) -> bool:
        """Whether tensors were converted, all of them."""
        return self.hit > 0 and self.miss == 0

    def __call__(self, t: Any, shape_env: Any = None, *, callback: Callable[[Callable[[], Any]], Any] | None = None) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        self.arg_cnt += 1
        if t.is_quantized or type(t) not in (torch.Tensor, torch.nn.Parameter):
            self.miss += 1
            return NotImplemented
        self.hit += 1
        made = self.known(t)
        return made if callback is None else callback(lambda: made)

    def known(self, t: Any) -> Any:
        """The meta tensor for `t`, made if there is none."""
        found = self.tensor_memo.get(id(t))
        if found is not None and found[0]() is t:
            return found[1]
        key = id(t)
        made = self.made(t)
        self.tensor_memo[key] = (ref(t, lambda gone: self.tensor_memo.pop(key, None)), made)
        return made

    def made(self, t: Any) -> Any:
        base = t._base if t.layout is torch.strided else None
        if base is not None and base.dtype is t.dtype:
            whole = self.known(base)
            with torch.enable_grad() if t.grad_fn is not None else torch.no_grad():
                made = whole.as_strided(t.shape, t.stride(), t.storage_offset())
                made = made.conj() if t.is_conj() != made.is_conj() else made
                made = torch._neg_view(made) if t.is_neg() != made.is_neg() else made
        else:
            with _disable_current_modes():
                made = like_on_meta(t)
            if t.grad_fn is not None:             # a result keeps that it is one
                with torch.enable_grad():
                    made = made.requires_grad_().clone()
        if t.requires_grad and t.is_leaf:
            made.requires_grad_()
        if isinstance(t, torch.nn.Parameter):
            made = torch.nn.Parameter(made, t.requires_grad)
        grad = safe_grad(t)
        if grad is not None:
            made.grad = self.known(grad)
        return made
