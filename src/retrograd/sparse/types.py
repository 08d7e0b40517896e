"""The old types of sparse tensors: `torch.sparse.FloatTensor` and its like."""
from __future__ import annotations

from typing import Any

import retrograd as torch


class SparseType(type):
    """Calling one makes a tensor of indices and values, or an empty one of a size; isinstance goes by dtype and layout."""

    dtype: Any

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if args and isinstance(args[0], torch.Tensor):
            indices, values, *size = args
            if values.dtype != cls.dtype:
                raise TypeError(f"expected values of {cls.dtype}, but got {values.dtype}")
            return torch.sparse_coo_tensor(indices, values, *size, device=device)
        sizes = tuple(args[0]) if len(args) == 1 and isinstance(args[0], list | tuple) else args
        return torch.sparse_coo_tensor(size=sizes or (0,), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.dtype is cls.dtype and value.layout is torch.sparse_coo

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


TYPES = {name: SparseType(name, (), {"dtype": dtype, "is_cuda": False, "is_sparse": True, "__module__": "torch.sparse"})
         for name, dtype in {"FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16,
                             "BFloat16Tensor": torch.bfloat16, "LongTensor": torch.int64, "IntTensor": torch.int32,
                             "ShortTensor": torch.int16, "CharTensor": torch.int8, "ByteTensor": torch.uint8}.items()}
