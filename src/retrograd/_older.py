"""Functions and names of `torch` that programs use rarely: tensors on files, casts by name."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch
from retrograd.core.storage import UntypedStorage

legacy_contiguous_format = torch.contiguous_format


def get_autocast_gpu_dtype() -> Any:
    """The dtype that autocast has on a GPU.

    >>> get_autocast_gpu_dtype()
    torch.float16
    """
    return torch.get_autocast_dtype("cuda")


def cast_to(dtype: Any, name: str) -> Any:
    """The function `name`, which gives a tensor another dtype."""
    def cast(self: Any, non_blocking: bool = False) -> Any:
        return self.to(dtype)
    cast.__name__ = cast.__qualname__ = name
    cast.__module__ = torch.__name__
    return cast


_cast_Long, _cast_Int = cast_to(torch.int64, "_cast_Long"), cast_to(torch.int32, "_cast_Int")
_cast_Float, _cast_Double = cast_to(torch.float32, "_cast_Float"), cast_to(torch.float64, "_cast_Double")
_cast_Half, _cast_Short = cast_to(torch.float16, "_cast_Half"), cast_to(torch.int16, "_cast_Short")
_cast_Byte, _cast_Char = cast_to(torch.uint8, "_cast_Byte"), cast_to(torch.int8, "_cast_Char")
KINDS = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_tensor_classes = {getattr(torch, f"{kind}Tensor") for kind in KINDS}
_storage_classes = {torch.UntypedStorage, *[getattr(torch, f"{kind}Storage") for kind in KINDS]}


def from_file(filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None,
              device: Any = None, pin_memory: bool = False) -> Any:
    """A tensor on the memory of a file; with `shared` what is written to it reaches the file.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(torch.arange(3.0).numpy().tobytes()), file.flush()
    ...     torch.from_file(file.name, size=3)
    tensor([0., 1., 2.])
    """
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    kind = dtype or torch.get_default_dtype()
    storage = UntypedStorage.from_file(filename, bool(shared), size * kind.itemsize)
    return torch.empty(0, dtype=kind).set_(storage, 0, (size,), (1,))


def spmm(input: Any, mat2: Any) -> Any:
    """The product of two matrices, of which the first is usually sparse.

    >>> spmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return torch.mm(input, mat2)


def set_vital(module_name: str, attr_name: str, value: str) -> None:
    """Once a note for statistics about runs; PyTorch keeps none any more."""
    warnings.warn("'set_vital' is deprecated, please do not call", stacklevel=2)
