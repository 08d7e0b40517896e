"""Products of groups of matrices."""
from __future__ import annotations

from typing import Any

from retrograd.core.api import expose
from retrograd.core.dtypes import bfloat16, float16, float32, int32
from retrograd.ops import late


@expose(method=False)
def _grouped_mm(self: Any, mat2: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """One product per group; `offs` says where the groups end along the rows, columns or the common dimension."""
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if self.dtype not in (float32, bfloat16, float16):
        raise RuntimeError(f"Expected mat_a to be Float32, BFloat16 or Float16 matrix, got {self.dtype}")
    if (self.dim() == 3 and mat2.dim() == 3) is not (offs is None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if (self.dim() == 3 or mat2.dim() == 3) and self.shape[-1] != mat2.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if offs is None:
        result = late.bmm(self, mat2)
    else:
        if offs.dtype != int32:
            raise RuntimeError("Offsets have to be int32")
        ends = offs.tolist()
        spans = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        if self.dim() == 2 and mat2.dim() == 2:
            result = late.stack([self[:, span] @ mat2[span] for span in spans])
        elif self.dim() == 2:
            rest = self.new_zeros(len(self) - ends[-1], mat2.shape[-1])
            result = late.cat([*[self[span] @ mat2[i] for i, span in enumerate(spans)], rest])
        else:
            rest = self.new_zeros(self.shape[1], mat2.shape[1] - ends[-1])
            result = late.cat([*[self[i] @ mat2[:, span] for i, span in enumerate(spans)], rest], 1)
    return result if out_dtype is None else result.to(out_dtype)
