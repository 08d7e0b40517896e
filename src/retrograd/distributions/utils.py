"""Helpers that all distributions share: broadcasting, probabilities and logits, cached attributes, triangular matrices."""
from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.nn.functional import softmax
from retrograd.overrides import is_tensor_like

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

# the Euler-Mascheroni constant
euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Broadcast numbers and tensors against each other; numbers take the dtype and device of the first tensor.

    >>> [tuple(t.shape) for t in broadcast_all(1.0, torch.zeros(2, 1), torch.zeros(3))]
    [(2, 3), (2, 3), (2, 3)]
    """
    if not all(is_tensor_like(v) or isinstance(v, (bool, int, float)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    if not all(is_tensor_like(v) for v in values):
        options: dict[str, Any] = dict(dtype=torch.get_default_dtype())
        for v in values:
            if isinstance(v, Tensor):
                options = dict(dtype=v.dtype, device=v.device)
                break
        values = tuple(v if is_tensor_like(v) else torch.tensor(v, **options) for v in values)
    return tuple(torch.broadcast_tensors(*values))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Draw standard normal values the way that `Normal.sample` draws them."""
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device), torch.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Any, dim: int) -> Any:
    """Sum out the last `dim` dimensions.

    >>> _sum_rightmost(torch.ones(2, 3, 4), 2)
    tensor([12., 12.])
    """
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities one machine epsilon away from 0 and 1.

    >>> clamp_probs(torch.tensor([0.0, 0.5])).log().isfinite()
    tensor([True, True])
    """
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Turn log odds (binary) or unnormalised log probabilities (along the last dimension) into probabilities.

    >>> logits_to_probs(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return torch.sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Turn probabilities into log odds (binary) or log probabilities.

    >>> probs_to_logits(torch.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    safe = clamp_probs(probs)
    return safe.log() - torch.log1p(-safe) if is_binary else safe.log()


class lazy_property:
    """An attribute that is computed when it is first read, with gradients, and then kept.

    >>> class Squared:
    ...     root = 3
    ...     @lazy_property
    ...     def value(self):
    ...         return self.root ** 2
    >>> Squared().value
    9
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)       # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows for its lazy attribute: a property, for tools that look for one."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)
        self.wrapped = wrapped


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Flatten the lower triangles of matrices, row by row.

    >>> tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Put vectors into the lower triangles of square matrices, row by row.

    >>> vec_to_tril_matrix(torch.tensor([1, 2, 3]))
    tensor([[1, 0],
            [2, 3]])
    """
    count, size = vec.shape[-1], max(1, -diag + 1)
    while _entries(size, diag) < count:
        size += 1
    if _entries(size, diag) != count:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
                         "square D x D matrix.")
    rows, columns = torch.tril_indices(size, size, diag)
    made = vec.new_zeros(vec.shape[:-1] + (size, size))
    made[..., rows, columns] = vec
    return made


def _entries(n: int, diag: int) -> int:
    """How many entries of an n x n matrix lie on and below a diagonal."""
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))
