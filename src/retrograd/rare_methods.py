"""Methods of tensors that few programs use: the order of dimensions, older names, and those that only name a replacement."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.core.api import expose
from retrograd.core.dtypes import bfloat16, float16, float32, int64
from retrograd.core.hooks import hooks
from retrograd.core.swapping import swap
from retrograd.core.tensor import FLAG_PENDING, Tensor
from retrograd.ops import late
from retrograd.storage import STORAGE_TYPES, TypedStorage

REMOVED = {
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
           "complex tensors.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.",
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments "
             "reversed and does not return the LU factorization.",
    "symeig": "The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
              "lower triangular portion. Use `torch.linalg.eigh`.",
}


@expose(plain=False, schema="to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor")
def to_padded_tensor(self: Tensor, padding: float, output_size: Any = None) -> Any:
    """The parts of a nested tensor side by side, filled up with `padding`.

    >>> import retrograd as torch
    >>> torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]).to_padded_tensor(0.0)
    tensor([[1., 0.],
            [1., 1.]])
    """
    return hooks.to_padded(self, padding, output_size)


@expose(plain=False)
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to that with the smallest.

    >>> import retrograd as torch
    >>> torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last).dim_order()
    (0, 2, 3, 1)
    """
    if self.array.ndim == 0:
        return ()
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, bool) and not formats:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check and not formats and not has_one_order(self) or formats and sum(
            [self.is_contiguous(memory_format=f) for f in formats]) > 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    strides = self.stride()
    # of equal strides the dimension with more elements comes later in memory
    return tuple(sorted(range(self.array.ndim), key=lambda d: (-strides[d], self.array.shape[d] != 1, d)))


def has_one_order(t: Any) -> bool:
    """Whether the strides alone say in which order the dimensions are."""
    strides = [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]
    return len(set(strides)) == len(strides) and all([n > 1 for n in t.shape])


@expose(plain=False)
def __reversed__(self: Tensor) -> Tensor:
    """The tensor with its first dimension in reverse."""
    return self if self.array.ndim == 0 else late.flip(self, (0,))


@expose(plain=False)
def _swap_with(self: Tensor, other: Tensor) -> None:
    """Exchange the contents of two tensors; `torch.utils.swap_tensors` checks whether that is safe."""
    if hooks.settle is not None and (self._flags | other._flags) & FLAG_PENDING:
        hooks.settle(self, other)                 # the tape knows tensors by identity
    swap(self, other)


@expose(plain=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `load_state_dict` puts in the place of this tensor when parameters are swapped: `other`, or a copy of it."""
    if assign:
        return other.detach()
    return self.detach().copy_(other).detach()


@expose(plain=False)
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The same elements in another shape, as `view` gives them."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=3)
    shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if int(np.prod(shape)) != self.numel():
        raise RuntimeError(f"requested resize to {'x'.join(map(str, shape))} ({int(np.prod(shape))} elements in total), but "
                           f"the given tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). "
                           "autograd's resize can only change the shape of a given tensor, while preserving the number of "
                           "elements. ")
    return self.contiguous().view(shape)


@expose(plain=False)
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements in the shape of another tensor."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=3)
    return self.contiguous().view(tensor.shape)


@expose(plain=False)
def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in coordinate format."""
    return self.to_sparse()


@expose(plain=False)
def _typed_storage(self: Tensor) -> TypedStorage:
    """The memory of a tensor as elements of its dtype, without a warning."""
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


@expose(plain=False)
def storage_type(self: Tensor) -> Any:
    """The class of the tensor's storage."""
    return STORAGE_TYPES[f"{self.dtype.legacy}Storage"]


@expose
def _is_zerotensor(self: Tensor) -> bool:
    """Whether a tensor is zeros without memory; none is."""
    return False


@expose(name="is_distributed", schema="is_distributed(Tensor self) -> bool")
def is_distributed(self: Tensor) -> bool:
    """Whether a tensor is spread over several processes; none is."""
    return False


@expose(plain=False)
def qscheme(self: Tensor) -> Any:
    """How the numbers of a quantized tensor are scaled; no tensor here is quantized."""
    raise RuntimeError("Could not run 'aten::qscheme' with arguments from the 'CPU' backend: the tensor is not quantized.")


@expose(plain=False)
def record_stream(self: Tensor, s: Any) -> None:
    """Keep the memory of a CUDA tensor while a stream uses it; tensors here are in memory of the CPU."""
    raise NotImplementedError("Could not run 'aten::record_stream' with arguments from the 'CPU' backend: streams are CUDA's.")


@expose(plain=False)
def _autocast_to_reduced_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: Any,
                                   cpu_dtype: Any) -> Tensor:
    """The tensor in autocast's dtype if it is of float32 on a device for which autocast is on."""
    return self.to(cpu_dtype) if cpu_enabled and self.device.type == "cpu" and self.dtype == float32 else self


@expose(plain=False)
def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    """The tensor in float32 if it is of half precision on a device for which autocast is on."""
    return self.float() if cpu_enabled and self.device.type == "cpu" and self.dtype in (float16, bfloat16) else self


@expose(plain=False)
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading."""
    return self.data_ptr()


@expose(plain=False)
def reinforce(self: Tensor, reward: Any) -> None:
    """Refused: stochastic functions were removed from PyTorch."""
    raise RuntimeError("reinforce() was removed.\nUse torch.distributions instead.\nSee "
                       "https://pytorch.org/docs/main/distributions.html")


def removed(name: str, remedy: str) -> Any:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {remedy}")
    refuse.__name__ = name
    refuse.__doc__ = f"Refused: {remedy}"
    return refuse


for old, remedy in REMOVED.items():
    expose(removed(old, remedy), name=old)


def elsewhere(kind: str, error: Any) -> Any:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise error
    refuse.__name__ = kind
    refuse.__doc__ = "Refused: there is no such device."
    return refuse


expose(elsewhere("xpu", AssertionError("Torch not compiled with XPU enabled")), name="xpu", plain=False)
expose(elsewhere("ipu", RuntimeError("PyTorch is not linked with support for ipu devices")), name="ipu", plain=False)
expose(elsewhere("mtia", AssertionError("Torch not compiled with MTIA enabled.")), name="mtia", plain=False)


@expose(method=False)
def _shape_as_tensor(self: Tensor) -> Tensor:
    """The lengths of the dimensions as a tensor."""
    return late.tensor(list(self.shape), dtype=int64)


@expose(method=False)
def _stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Tensor:
    """`stack` without the check of shapes that callers have made."""
    return late.stack(tensors, dim) if out is None else late.stack(tensors, dim, out=out)


@expose(method=False)
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """`g` times `v` divided by the norm of its slices along `dim`."""
    return v * (g / late.norm_except_dim(v, 2, dim))


@expose
def _addmm_activation(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False,
                      out: Any = None) -> Tensor:
    """`addmm`, and ReLU or GELU of its result."""
    made = late.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    made = made * (0.5 * (1 + late.erf(made * 0.5 ** 0.5))) if use_gelu else late.relu(made)
    return made if out is None else late.copy_(late.resize_(out, made.shape), made)


@expose
def _conj_physical(self: Tensor) -> Tensor:
    """The conjugate in memory of its own."""
    return late.conj_physical(self)


@expose(plain=False)
def _fix_weakref(self: Tensor) -> None:
    """Weak references to a tensor that lives are valid: nothing is to be done."""


@expose(plain=False)
def _to_dense(self: Tensor, dtype: Any = None, masked_grad: bool | None = None) -> Any:
    """`to_dense`, of sparse tensors."""
    return self.to_dense(dtype, masked_grad=masked_grad)


for layout in ("", "_csr", "_csc", "_bsr", "_bsc"):
    def convert(self: Any, *args: Any, method: str = f"to_sparse{layout}", **kwargs: Any) -> Any:
        """A tensor in a sparse layout."""
        return getattr(self, method)(*args, **kwargs)
    expose(convert, name=f"_to_sparse{layout}", plain=False)


@expose(method=False)
def _assert_tensor_metadata(a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None,
                            layout: Any = None) -> None:
    """Raise unless a tensor has the shape, strides and dtype that are given."""
    if size is not None and list(size) != list(a.shape):
        raise RuntimeError(f"Tensor sizes mismatch! Expected: {list(size)}, Got: {list(a.shape)}")
    if stride is not None and list(stride) != list(a.stride()):
        raise RuntimeError(f"Tensor strides mismatch! Expected: {list(stride)}, Got: {list(a.stride())}")
    if dtype is not None and dtype != a.dtype:
        raise RuntimeError(f"Tensor dtype mismatch! Expected: {dtype.legacy}, Got: {a.dtype}")
    if device is not None and str(device) != str(a.device):
        raise RuntimeError(f"Tensor device mismatch! Expected: {device}, Got: {a.device}")
    if layout is not None and layout != a.layout:
        raise RuntimeError(f"Tensor layout mismatch! Expected: {layout}, Got: {a.layout}")


@expose(method=False)
def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """The indices of a dimension."""
    return late.arange(like.shape[dim])


@expose(method=False)
def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    """Whether the memory of one tensor can be put under the other: both are dense, or both sparse."""
    return (self.layout == from_.layout) and self.is_nested == from_.is_nested
