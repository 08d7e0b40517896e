"""The types of tensors on a GPU: no tensor is of one, and none can be made."""
from __future__ import annotations

from typing import Any


class DeviceType(type):
    """A type whose tensors would lie on a GPU.

    >>> import retrograd as torch
    >>> isinstance(torch.ones(2), torch.cuda.FloatTensor)
    False
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")

    def __instancecheck__(cls, value: Any) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


TYPES = {f"{kind}Tensor": DeviceType(f"{kind}Tensor", (), {"is_cuda": True, "is_sparse": False, "__module__": "torch.cuda"})
         for kind in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")}
