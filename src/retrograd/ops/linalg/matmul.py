"""Products of matrices and vectors: mm, bmm, mv, dot and the forms that add to a tensor."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import matrices, native
from retrograd.core.copying import copy_of
from retrograd.core.dispatch import transpose_matrix
from retrograd.core.dtypes import HALVES
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import FUNCTIONS_BY_NAME, operators
from retrograd.ops import late
from retrograd.ops.linalg.lapack import address_of
from retrograd.ops.shared import elementwise, families
from retrograd.ops.shared.dtype_checks import proven, type_name
from retrograd.ops.shared.families import conj


def words(array: Any) -> str:
    """The C++ name of an array's element type."""
    return elementwise.C_NAMES[dtypes.BY_NUMPY[array.dtype].name]


def legacy(array: Any) -> str:
    return dtypes.BY_NUMPY[array.dtype].legacy


def same_scalar_type(a: Any, b: Any) -> None:
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {legacy(a)} but found {legacy(b)}")


def no_bool(name: str, array: Any) -> None:
    if array.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


def refuse_bool(name: str, self: Any, left: Any, right: Any) -> None:
    """Raise for bool matmul, and for bool `self` added to an empty product."""
    if self.dtype.kind == "b" and not (left.size and right.size):
        raise RuntimeError("result type Long can't be cast to the desired output type Bool")
    no_bool(name, self)


def expandable(array: Any, shape: Any) -> None:
    """PyTorch's errors for a tensor that cannot be expanded to the shape of a product."""
    if array.ndim > len(shape):
        name = f"{type_name(array.dtype)}{{{list(array.shape)}}}"
        raise RuntimeError(f"expand({name}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater "
                           f"or equal to the number of dimensions in the tensor ({array.ndim})")
    for k in range(1, array.ndim + 1):
        if array.shape[-k] not in (1, shape[-k]):
            raise RuntimeError(f"The expanded size of the tensor ({shape[-k]}) must match the existing size "
                               f"({array.shape[-k]}) at non-singleton dimension {len(shape) - k}.  Target sizes: "
                               f"{list(shape)}.  Tensor sizes: {list(array.shape)}")


def wide(array: Any) -> Any:
    """Half precision multiplies and adds in float32."""
    return copy_of(array, np.float32) if array.itemsize == 2 and array.dtype.kind in "fV" else array


def narrow(array: Any, dtype: Any) -> Any:
    """A float32 result in half precision."""
    return copy_of(array, dtype)


EXACT = 2.0 ** 53             # integers up to this are exact in double precision


def any_product(xp: Any, a: Any, b: Any) -> Any:
    """A product; integers are multiplied as doubles where that is exact, since BLAS has no integer product."""
    if a.dtype.kind in "iu" and b.ndim > 1 and a.size and b.size and a.size * b.shape[-1] >= 4096:
        bound = [max(abs(float(m.max())), abs(float(m.min()))) for m in (a, b)]
        if bound[0] * bound[1] * a.shape[-1] < EXACT:
            return xp.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(a.dtype, copy=False)
    return stacked(a, b) if a.ndim == 3 == b.ndim and type(a) in lean.ARRAYS else xp.matmul(a, b)


def wide_product(xp: Any, a: Any, b: Any) -> Any:
    """A product, of half precision in float32."""
    if a.dtype.kind == "V" == b.dtype.kind and native is not None:
        if a.ndim > 2 == b.ndim and a.flags.c_contiguous:
            flat = native.multiply_bfloat(a.reshape(-1, a.shape[-1]), b)
            made = None if flat is None else flat.reshape(*a.shape[:-1], b.shape[-1])
        else:
            made = native.multiply_bfloat(a, b)
        if made is not None:
            return made
    return any_product(xp, wide(a), wide(b))


def product(xp: Any, a: Any, b: Any) -> Any:
    """Matrix product in the dtype of the operands, row-major."""
    if a.dtype.kind == "V" or a.dtype == np.float16:
        return narrow(wide_product(xp, a, b), a.dtype)
    return xp.ascontiguousarray(any_product(xp, a, b))


def fast_mm(a: Any, b: Any) -> Any:
    """`mm` of the usual dtypes; None for all other cases."""
    if a.ndim == 2 and b.ndim == 2 and a.dtype is b.dtype and a.dtype.char in "fdFD":
        return matrices(a, b)
    return None


def fits(self: Any, first: Any, second: Any) -> bool:
    """Whether all share one dtype that needs no conversion."""
    return self.dtype is first.dtype and first.dtype is second.dtype and self.dtype.char in "fd"


def combined(xp: Any, self: Any, made: Any, beta: Any, alpha: Any) -> Any:
    """beta * self + alpha * made; `self` is ignored when beta is 0, including its NaNs."""
    kept = self.dtype
    made = wide(made)
    if alpha != 1:
        made = made * made.dtype.type(as_number(alpha, made.dtype))
    if beta != 0:
        self = wide(self)
        made = made + (self if beta == 1 else self * self.dtype.type(as_number(beta, self.dtype)))
    return narrow(made, kept) if kept in HALVES else made.astype(kept, copy=False)


def added(xp: Any, self: Any, made: Any, beta: Any, alpha: Any) -> Any:
    """`combined` for real arrays of one dtype, in place in the new array `made`."""
    if alpha != 1:
        xp.multiply(made, made.dtype.type(as_number(alpha, made.dtype)), made)
    if beta != 0:
        xp.add(made, self if beta == 1 else self * self.dtype.type(as_number(beta, self.dtype)), made)
    return made


def as_number(value: Any, dtype: Any) -> Any:
    if isinstance(value, complex) and dtype.kind != "c" and not value.imag:
        value = value.real
    if dtype.kind not in "iu":
        return value
    value, bound = int(value), 1 << 8 * dtype.itemsize
    if dtype.kind == "u" and -bound < value < 0:
        return value + bound
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise elementwise.overflow(dtype)
    return value


def times(value: Any, factor: Any) -> Any:
    """value * factor, without an op when the factor is 1."""
    return value if factor == 1 else elementwise.times(value, conj(factor))


# ---- kernels
def check_mm(self: Any, mat2: Any) -> None:
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied "
                           f"({self.shape[0]}x{self.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})")


def mm_kernel(xp: Any, self: Any, mat2: Any) -> Any:
    if self.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_mm(self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {words(self)} != {words(mat2)}")
    if self.size and mat2.size:
        no_bool("addmm_impl_cpu_", self)
    made = fast_mm(self, mat2) if type(self) in lean.ARRAYS else None
    return product(xp, self, mat2) if made is None else made


def addmm_kernel(xp: Any, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    dtype = self.dtype
    if (beta == 1 and alpha == 1 and dtype.char in "fd" and mat1.dtype is dtype and mat2.dtype is dtype and mat1.ndim == 2
            and mat2.ndim == 2 and self.ndim == 1 and mat1.shape[1] == mat2.shape[0] and self.shape[0] == mat2.shape[1]):
        made = matrices(mat1, mat2) if xp is np else xp.matmul(mat1, mat2)       # a linear layer: no check or conversion needed
        made += self
        return made
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {legacy(self)} and {legacy(mat2)}")
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {legacy(mat1)} and {legacy(mat2)}")
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix.ndim}-D tensor")
    check_mm(mat1, mat2)
    expandable(self, (mat1.shape[0], mat2.shape[1]))
    if mat1.shape[0] and mat2.shape[1]:
        refuse_bool("addmm_impl_cpu_", self, mat1, mat2)
    return combined(xp, self, wide_product(xp, mat1, mat2), beta, alpha)


def in_its_place(kernel: Any) -> Any:
    """The kernel of an in-place sum, whose result keeps the tensor's shape."""
    def in_place(xp: Any, self: Any, *rest: Any) -> Any:
        result = kernel(xp, self, *rest)
        if result.shape != self.shape:
            raise RuntimeError(f"Bad in-place call: input tensor size {list(self.shape)} and output tensor size "
                               f"{list(result.shape)} should match")
        return result
    return in_place


def check_stacks(batch1: Any, batch2: Any) -> None:
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")


def check_bmm(batch1: Any, batch2: Any) -> None:
    check_stacks(batch1, batch2)
    if batch2.shape[0] != batch1.shape[0] or batch2.shape[1] != batch1.shape[2]:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{batch1.shape[0]}, {batch1.shape[2]}] but got: [{batch2.shape[0]}, {batch2.shape[1]}].")


def bmm_kernel(xp: Any, self: Any, mat2: Any) -> Any:
    check_bmm(self, mat2)
    same_scalar_type(self, mat2)
    if self.size and mat2.size:
        no_bool("bmm", self)
    made = fast_bmm(self, mat2) if type(self) in lean.ARRAYS else None
    return product(xp, self, mat2) if made is None else made


def fast_bmm(a: Any, b: Any) -> Any:
    if a.ndim == 3 and b.ndim == 3 and a.dtype is b.dtype and a.dtype.char in "fdFD" and a.shape[0] == b.shape[0]:
        if a.shape[2] == 1 and b.shape[1] == 1 and a.size * b.shape[2] > OUTER_PRODUCTS:
            return np.einsum("ni,nk->nik", a[:, :, 0], b[:, 0], order="C")
        return stacked(a, b)
    return None


def stacked(a: Any, b: Any) -> Any:
    """The products of two batches of matrices; large ones in parallel."""
    if native is not None and a.dtype.char in GEMM and a.size * b.shape[2] >= LARGE_STACK and len(a) == len(b) > 1 and (
            a.shape[2] == b.shape[1] and a.dtype == b.dtype):
        made = np.empty((len(a), a.shape[1], b.shape[2]), a.dtype)
        if native.multiply(a, b, made, address_of(GEMM[a.dtype.char])):
            return made
    return np.matmul(a, b)


GEMM = {"f": "sgemm", "d": "dgemm", "F": "cgemm", "D": "zgemm"}
if native is not None:
    native.use_products(np.dot, fast_bmm)
LARGE_STACK = 1 << 18         # multiplications from which threads pay off
OUTER_PRODUCTS = 1024         # result size from which a plain loop is faster than a matrix product each


def baddbmm_kernel(xp: Any, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    if fits(self, batch1, batch2) and self.ndim == batch1.ndim == batch2.ndim == 3 and (
            self.shape == (*batch1.shape[:2], batch2.shape[2]) and batch1.shape[::2] == batch2.shape[:2]):
        made = native.bmm(batch1, batch2) if native is not None and self.dtype.kind == "f" else None
        return added(xp, self, any_product(xp, batch1, batch2) if made is None else made, beta, alpha)
    for batch, dim in ((batch1, 0), (batch1, 1), (batch2, 2)):
        families.wrap_dim(dim, batch.ndim, scalar_ok=False)
    expandable(self, (*batch1.shape[:2], batch2.shape[2]))
    check_stacks(batch1, batch2)
    if not self.dtype == batch1.dtype == batch2.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {words(self)}, batch1: {words(batch1)}, batch2: "
                           f"{words(batch2)}")
    check_bmm(batch1, batch2)
    refuse_bool("baddbmm", self, batch1, batch2)
    return combined(xp, self, wide_product(xp, batch1, batch2), beta, alpha)


def addbmm_kernel(xp: Any, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    for batch, dim in ((batch1, 1), (batch2, 2)):
        families.wrap_dim(dim, batch.ndim, scalar_ok=False)
    expandable(self, (batch1.shape[1], batch2.shape[2]))
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError("batch1 and batch2 must have same number of batches, got "
                           f"{batch1.shape[0]} and {batch2.shape[0]}")
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and "
                           f"{batch2.shape[1]}x{batch2.shape[2]})")
    same_scalar_type(batch1, batch2)
    same_scalar_type(self, batch1)
    refuse_bool("addmm_impl_cpu_", self, batch1, batch2)
    return combined(xp, self, xp.matmul(wide(batch1), wide(batch2)).sum(0, dtype=wide(batch1).dtype), beta, alpha)


def check_mv(self_ndim: int, self_size: int, mat: Any, vec: Any) -> None:
    if self_ndim > 1 or mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self_ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or self_size not in (1, mat.shape[0]):
        raise RuntimeError(f"size mismatch, got input ({self_size}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})")


def mv_kernel(xp: Any, self: Any, vec: Any) -> Any:
    if self.dtype is vec.dtype and self.dtype.char in "fd" and self.ndim == 2 and vec.shape == self.shape[1:]:
        return self.dot(vec)
    families.wrap_dim(0, self.ndim, scalar_ok=False)
    check_mv(1, self.shape[0] if self.ndim else 1, self, vec)
    if self.dtype != vec.dtype:
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {legacy(vec)}, {legacy(self)}, and "
                           f"{legacy(vec)}")
    if self.size:
        no_bool("addmv_impl_cpu", self)
    return product(xp, self, vec)


def addmv_kernel(xp: Any, self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    if fits(self, mat, vec) and mat.ndim == 2 and vec.shape == mat.shape[1:] and self.shape == mat.shape[:1]:
        return added(xp, self, mat.dot(vec), beta, alpha)
    check_mv(self.ndim, self.shape[0] if self.ndim else 1, mat, vec)
    if not self.dtype == mat.dtype == vec.dtype:
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {legacy(self)}, {legacy(mat)}, and "
                           f"{legacy(vec)}")
    if mat.size:
        no_bool("addmv_impl_cpu", self)
    return combined(xp, self, wide(mat).dot(wide(vec)), beta, alpha)


def addr_kernel(xp: Any, self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    if fits(self, vec1, vec2) and vec1.ndim == vec2.ndim == 1 and self.flags.c_contiguous and (
            self.shape == (vec1.shape[0], vec2.shape[0]) and type(beta) is not bool and type(alpha) is not bool):
        return added(xp, self, xp.multiply(vec1[:, None], vec2), beta, alpha)
    for name, vec in (("vec1", vec1), ("vec2", vec2)):
        if vec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vec.ndim}-D")
    expandable(self, (vec1.shape[0], vec2.shape[0]))
    common = dtypes.promote_types(dtypes.promote_types(dtypes.BY_NUMPY[vec1.dtype], dtypes.BY_NUMPY[vec2.dtype]),
                                  dtypes.BY_NUMPY[self.dtype])
    for name, value in (("beta", beta), ("alpha", alpha)):
        if common.category < 2 and isinstance(value, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        if isinstance(value, bool) and common.category:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    self, vec1, vec2 = (a.astype(common.numpy, copy=False) for a in (self, vec1, vec2))
    if common.category == 0:
        made = xp.logical_and(xp.multiply.outer(vec1, vec2), bool(alpha))
        return xp.logical_or(made, self) if beta else made
    made = combined(xp, self, xp.multiply.outer(wide(vec1), wide(vec2)), beta, alpha)
    return made.copy("F") if self.flags.f_contiguous and not self.flags.c_contiguous and self.shape == made.shape else made


def addr_in_place(xp: Any, self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    if vec1.ndim == vec2.ndim == 1:
        if self.ndim != 2:
            raise RuntimeError(f"2D tensor expected, got {self.ndim}D tensor for input")
        if self.shape != (vec1.shape[0], vec2.shape[0]):
            raise RuntimeError(f"size mismatch, input: {list(self.shape)}, v1: {list(vec1.shape)}, v2: {list(vec2.shape)}")
    return addr_kernel(xp, self, vec1, vec2, beta, alpha)


def check_dot(self: Any, other: Any) -> None:
    if self.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    if self.dtype != other.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {legacy(self)} and {legacy(other)}")
    if self.shape != other.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor {list(self.shape)} and src {list(other.shape)} to have "
                           f"the same number of elements, but got {self.size} and {other.size} elements respectively")
    no_bool("dot", self)


def dot_kernel(xp: Any, self: Any, tensor: Any) -> Any:
    made = fast_dot(self, tensor) if type(self) in lean.ARRAYS else None
    if made is not None:
        return made
    check_dot(self, tensor)
    return xp.asarray(xp.dot(wide(self), wide(tensor))).astype(self.dtype, copy=False)


def vdot_kernel(xp: Any, self: Any, other: Any) -> Any:
    made = fast_dot(self, other) if self.dtype.kind == "f" else None
    if made is not None:
        return made
    check_dot(self, other)
    return np.asarray(xp.dot(wide(self).conj(), wide(other))).astype(self.dtype, copy=False)


def fast_dot(a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1 and a.dtype is b.dtype and a.dtype.char in "fdFD" and a.shape == b.shape:
        return np.asarray(np.dot(a, b))
    return None


# ---- derivatives. The gradient of an operand gets the operand's layout: a transposed matrix gets a transposed gradient.
def column_major(sizes: Any, strides: Any) -> bool:
    return strides[0] == 1 and strides[1] == sizes[0]


def mm_self_gradient(grad: Any, mat2: Any, self_sym_sizes: Any, self_sym_strides: Any) -> Any:
    if column_major(self_sym_sizes, self_sym_strides):
        return transpose_matrix(conj(mat2) @ transpose_matrix(grad))
    return grad @ conj(transpose_matrix(mat2))


def mm_mat2_gradient(grad: Any, self: Any, mat2_sym_sizes: Any, mat2_sym_strides: Any) -> Any:
    if column_major(mat2_sym_sizes, mat2_sym_strides):
        return transpose_matrix(transpose_matrix(grad) @ conj(self))
    return conj(transpose_matrix(self)) @ grad


def mat1_gradient(grad: Any, mat2: Any, sizes: Any, strides: Any, alpha: Any) -> Any:
    return times(mm_self_gradient(grad, mat2, sizes, strides), alpha)


def mat2_gradient(grad: Any, mat1: Any, sizes: Any, strides: Any, alpha: Any) -> Any:
    return times(mm_mat2_gradient(grad, mat1, sizes, strides), alpha)


# ---- batching
def check_ranks(name: str, args: Any, dims: Any, *expected: int) -> None:
    """Refuse factors whose examples are not vectors or matrices: a batched product would accept them."""
    found = families.example_ranks(args, dims)
    if found != list(expected):
        if name == "dot":
            raise RuntimeError(f"Got wrong shapes for dot: the examples have {found[0]} and {found[1]} dimensions, not 1 and 1")
        raise RuntimeError(f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {found[0]}and b has dim "
                           f"{found[1]}but expected them to have dim {expected[0]} and dim {expected[1]}")


FACTOR_RANKS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}


def batched_mm(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """A stack of matrix products."""
    check_ranks(op.name, args, dims, *FACTOR_RANKS[op.name])
    a, b = (families.move_to_front(t, d) for t, d in zip(args, dims, strict=True))
    return late.matmul(a, b), 0


def batched_mv(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    check_ranks("mv", args, dims, 2, 1)
    a, b = (families.move_to_front(t, d) for t, d in zip(args, dims, strict=True))
    if dims[1] is None:
        return late.matmul(a, b), 0
    if dims[0] is None:
        return late.matmul(a, b.t()), 1
    return late.matmul(a, b.unsqueeze(-1)).squeeze(-1), 0


def batched_dot(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    check_ranks("dot", args, dims, 1, 1)
    a, b = (families.move_to_front(t, d) for t, d in zip(args, dims, strict=True))
    a = conj(a) if op.name == "vdot" else a
    if None in dims:
        return late.matmul(a, b.t()), 0
    return late.matmul(a.unsqueeze(-2), b.unsqueeze(-1)).squeeze(-1).squeeze(-1), 0


# ---- the table
mm = defop(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    kernel=mm_kernel, fast=fast_mm,
    vjp=dict(self=mm_self_gradient, mat2=mm_mat2_gradient),
    jvp="multilinear", batch=batched_mm, lower="@native.mm", autocast="lower", pattern=("product", 0, 1), flops=("product", 0),
    doc="""The product of two matrices.
    >>> torch.mm(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    """,
)


def int_mm(xp: Any, self: Any, mat2: Any) -> Any:
    """A product of bytes, in the narrowest dtype of the BLAS that is exact."""
    exact = np.float32 if self.shape[-1] <= 2 ** 24 // (255 * 128) else np.float64
    return xp.matmul(self.astype(exact), mat2.astype(exact)).astype(np.int32)


def check_int_mm(self: Any, mat2: Any) -> None:
    a, b = self.array, mat2.array
    for name, array in (("self", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {array.ndim}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {a.shape[1]} and {b.shape[0]}")
    if a.dtype.name not in ("int8", "uint8"):
        raise RuntimeError(f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {words(a)}")
    if b.dtype.name != "int8":
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {words(b)}")


defop(
    "_int_mm(Tensor self, Tensor mat2) -> Tensor",
    kernel=int_mm, check=proven(check_int_mm), lower="@native.int_mm",
    batch=families.loop, variants="function",
)
bmm = defop(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    kernel=bmm_kernel, fast=fast_bmm,
    vjp=dict(self=lambda grad, mat2: grad.bmm(conj(mat2.transpose(1, 2))),
             mat2=lambda grad, self: conj(self.transpose(1, 2)).bmm(grad)),
    jvp="multilinear", batch=batched_mm, lower="@native.bmm", autocast="lower", pattern=("product", 0, 1), flops=("product", 0),
    doc="""Matrix products of a batch.
    >>> torch.bmm(torch.ones(3, 2, 4), torch.ones(3, 4, 5)).shape
    torch.Size([3, 2, 5])
    """,
)
ADDMM = dict(
    self=lambda grad, beta: times(grad, beta),
    mat1=lambda grad, mat2, mat1_sym_sizes, mat1_sym_strides, alpha:
        mat1_gradient(grad, mat2, mat1_sym_sizes, mat1_sym_strides, alpha),
    mat2=lambda grad, mat1, mat2_sym_sizes, mat2_sym_strides, alpha:
        mat2_gradient(grad, mat1, mat2_sym_sizes, mat2_sym_strides, alpha),
)


def plainly(value: Any, factor: Any) -> Any:
    return value if factor == 1 else value * factor


def addmm_tangent(self_t: Any, mat1_p: Any, mat1_t: Any, mat2_p: Any, mat2_t: Any, beta: Any, alpha: Any) -> Any:
    return plainly(self_t, beta) + plainly(mat1_t.mm(mat2_p) + mat1_p.mm(mat2_t), alpha)


def deprecated_orders(factors: str) -> tuple[str, ...]:
    return f"beta, self, alpha, {factors}", f"beta, self, {factors}"


addmm = defop(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=addmm_kernel, vjp=ADDMM, jvp=addmm_tangent,
    deprecated=deprecated_orders("mat1, mat2"),
    batch=lambda op, args, dims, size: sum_batch("mm", args, dims, size), lower="@native.addmm", autocast="lower",
    pattern=("product", 1, 2), series=("affine", "mm"), flops=("product", 1),
    doc="""A matrix product, times `alpha`, plus `beta` times the first argument.
    >>> torch.addmm(torch.ones(2), torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 3.],
            [4., 5.]])
    """,
)
addmm_ = defop(
    "addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)",
    kernel=in_its_place(addmm_kernel), vjp=ADDMM, jvp=addmm_tangent, batch=families.loop, node="AddmmBackward0",
    variants="method", out=False,
)


def sum_batch(name: str, args: Any, dims: Any, size: int) -> Any:
    """Batched beta * self + alpha * product."""
    if name == "outer":
        for which, rank in zip(("vec1", "vec2"), families.example_ranks(args[1:3], dims[1:3]), strict=True):
            if rank != 1:
                raise RuntimeError(f"addr: Expected 1-D argument {which}, but got {rank}-D")
    else:
        check_ranks(name, args[1:3], dims[1:3], *FACTOR_RANKS[name])
    self, first, second, beta, alpha = args
    first, second = families.move_to_front(first, dims[1]), families.move_to_front(second, dims[2])
    if dims[1] is None and dims[2] is None:
        made = getattr(late, name)(first, second)
    elif name == "mv":
        made = families.move_to_front(*batched_mv(mv, args[1:3], dims[1:3], size))
    elif name == "outer":
        made = first.unsqueeze(-1) * second.unsqueeze(-2)
    else:
        made = late.matmul(first, second)
    rank = {"mm": 2, "mv": 1, "bmm": 3, "outer": 2}[name]
    if dims[0] is not None:
        self = families.move_to_front(self, dims[0])
        if self.ndim - 1 < rank:
            self = self.reshape((size, *[1] * (rank + 1 - self.ndim), *self.shape[1:]))
    made = plainly(made, alpha)
    if beta != 0:
        return plainly(self, beta) + made, 0
    return (made.expand((size, *made.shape)) if dims[1] is None and dims[2] is None else made), 0


def batched_addbmm(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """Multiply the matrices of all examples at once, and sum for each."""
    check_ranks("bmm", args[1:3], dims[1:3], 3, 3)
    self, left, right = [families.move_to_front(t, d) if d is not None else t.unsqueeze(0)
                         for t, d in zip(args[:3], dims[:3], strict=True)]
    made = plainly(late.matmul(left, right).sum(1), args[4])
    self = self.reshape((self.shape[0], *[1] * (3 - self.ndim), *self.shape[1:]))
    if args[3] == 0:                      # `self` is ignored, including its NaNs
        return made.expand((size, *made.shape[1:])), 0
    return (made + plainly(self, args[3])).expand((size, *made.shape[1:])), 0


baddbmm = defop(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=baddbmm_kernel,
    deprecated=deprecated_orders("batch1, batch2"),
    vjp=dict(self=lambda grad, beta: times(grad, beta),
             batch1=lambda grad, batch2, alpha: times(grad.bmm(conj(batch2.transpose(1, 2))), alpha),
             batch2=lambda grad, batch1, alpha: times(conj(batch1.transpose(1, 2)).bmm(grad), alpha)),
    jvp=lambda self_t, batch1_p, batch1_t, batch2_p, batch2_t, beta, alpha:
        plainly(self_t, beta) + plainly(batch1_t.bmm(batch2_p) + batch1_p.bmm(batch2_t), alpha),
    batch=lambda op, args, dims, size: sum_batch("bmm", args, dims, size), inplace=in_its_place(baddbmm_kernel),
    autocast="lower", pattern=("product", 1, 2), series=("affine", "bmm"), lower="@native.baddbmm", flops=("product", 1),
    doc="""A batch of matrix products, times `alpha`, plus `beta` times the first argument.
    >>> torch.baddbmm(torch.ones(1, 1, 1), torch.full((1, 1, 1), 2.0), torch.full((1, 1, 1), 3.0)).item()
    7.0
    """,
)
addbmm = defop(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=addbmm_kernel,
    deprecated=deprecated_orders("batch1, batch2"),
    vjp=dict(self=lambda grad, beta: times(grad, beta),
             batch1=lambda grad, batch2, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2, alpha:
             times(spread(grad, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2).bmm(
                 conj(batch2.transpose(1, 2))), alpha),
             batch2=lambda grad, batch1, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2, alpha:
             times(conj(batch1.transpose(1, 2)).bmm(
                 spread(grad, batch1_sym_argsize_0, batch1_sym_argsize_1, batch2_sym_argsize_2)), alpha)),
    jvp=lambda self_t, batch1_p, batch1_t, batch2_p, batch2_t, beta, alpha:
        plainly(self_t, beta) + plainly((batch1_t.bmm(batch2_p) + batch1_p.bmm(batch2_t)).sum(0), alpha),
    batch=batched_addbmm, inplace=True, autocast="lower",
)


def spread(grad: Any, batches: int, rows: int, columns: int) -> Any:
    return grad.unsqueeze(0).expand((batches, rows, columns))


addmv = defop(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=addmv_kernel,
    deprecated=deprecated_orders("mat, vec"),
    vjp=dict(self=lambda grad, beta: times(grad, beta),
             mat=lambda grad, vec, alpha: times(grad.ger(conj(vec)), alpha),
             vec=lambda grad, mat, alpha: times(conj(mat.t()).mv(grad), alpha)),
    jvp=lambda self_t, mat_p, mat_t, vec_p, vec_t, beta, alpha:
        plainly(self_t, beta) + plainly(mat_t.mv(vec_p) + mat_p.mv(vec_t), alpha),
    batch=lambda op, args, dims, size: sum_batch("mv", args, dims, size), inplace="function", pattern=("product", 1, 2),
    series=("affine", "mv"), lower="@native.addmv",
)
addr = defop(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    out="cast",
    kernel=addr_kernel,
    deprecated=deprecated_orders("vec1, vec2"),
    vjp=dict(self=lambda grad, beta: times(grad, beta),
             vec1=lambda grad, vec2, alpha: times(grad.mv(conj(vec2)), alpha),
             vec2=lambda grad, vec1, alpha: times(grad.t().mv(conj(vec1)), alpha)),
    jvp=lambda self_t, vec1_p, vec1_t, vec2_p, vec2_t, beta, alpha:
        plainly(self_t, beta) + plainly(vec1_t.outer(vec2_p) + vec1_p.outer(vec2_t), alpha),
    batch=lambda op, args, dims, size: sum_batch("outer", args, dims, size), inplace=addr_in_place,
    lower="@native.addr",
)
mv = defop(
    "mv(Tensor self, Tensor vec) -> Tensor",
    kernel=mv_kernel,
    vjp=dict(self=lambda grad, vec: grad.ger(conj(vec)), vec=lambda grad, self: conj(self).t().mv(grad)),
    jvp="multilinear", batch=batched_mv, pattern=("product", 0, 1), lower="@native.mv",
    doc="""The product of a matrix and a vector.
    >>> torch.mv(torch.eye(2), torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """,
)
dot = defop(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    out="same: result dtype {out} does not match input dtype {value}",
    kernel=dot_kernel, fast=fast_dot,
    vjp=dict(self=lambda grad, tensor: grad * conj(tensor), tensor=lambda grad, self: grad * conj(self)),
    jvp="multilinear", batch=batched_dot, pattern=("product", 0, 1), traits=("out_first",), lower="@native.dot",
    doc="""The inner product of two vectors.
    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """,
)
vdot = defop(
    "vdot(Tensor self, Tensor other) -> Tensor",
    out="same: result dtype {out} does not match input dtype {value}",
    kernel=vdot_kernel,
    vjp=dict(self=lambda grad, other: conj(grad) * other, other=lambda grad, self: grad * self),
    jvp="multilinear", batch=batched_dot, pattern=("product", 0, 1), traits=("out_first",), lower="@native.vdot",
)


# ---- three-way products
def pair_product(xp: Any, a: Any, b: Any, left: Any) -> Any:
    """The sum of products of two (array, dimensions) pairs over the dimensions that are not `left`, as such a pair."""
    shared = [d for d in a[1] if d in b[1]]
    batch, inner = [d for d in shared if d in left], [d for d in shared if d not in left]
    single = [[d for d in dims if d not in shared] for _, dims in (a, b)]
    if any([d not in left for dims in single for d in dims]) or any(
            [a[0].shape[a[1].index(d)] != b[0].shape[b[1].index(d)] for d in shared]):
        left = [d for d in sorted({*a[1], *b[1]}) if d in left]
        return xp.einsum(a[0], a[1], b[0], b[1], left), left

    def grouped(array: Any, dims: Any, *groups: Any) -> Any:
        sizes = [math.prod([array.shape[dims.index(d)] for d in group]) for group in groups]
        order = [dims.index(d) for group in (batch, *groups) for d in group]
        return array.transpose(order).reshape([array.shape[dims.index(d)] for d in batch] + sizes)
    made = (matrices if xp is np and not batch else xp.matmul)(grouped(*a, single[0], inner), grouped(*b, inner, single[1]))
    sizes = [array.shape[dims.index(d)] for (array, dims), own in zip((a, b), single, strict=True) for d in own]
    return made.reshape([*made.shape[:len(batch)], *sizes]), batch + single[0] + single[1]


def trilinear_kernel(xp: Any, i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
                     unroll_dim: int) -> Any:
    total = i1.ndim + len(expand1)
    no_bool("bmm", i1)
    arrays = [wide(array) for array in (i1, i2, i3)]
    kept = tuple([tuple([d for d in range(total) if d not in missing]) for missing in (expand1, expand2, expand3)])
    left = tuple([d for d in range(total) if d not in sumdim])
    pairs = list(zip(arrays, [list(dims) for dims in kept], strict=True))
    sizes = {d: n for array, dims in pairs for d, n in zip(dims, array.shape, strict=True) if n != 1}
    last = min(range(3), key=lambda i: math.prod([n for d, n in sizes.items() if d in {*kept[i - 1], *kept[i - 2]}]))
    made = pair_product(xp, pairs[last - 2], pairs[last - 1], {*left, *kept[last]})
    result, dims = pair_product(xp, made, pairs[last], left)
    result = result.transpose([dims.index(d) for d in left])
    return xp.ascontiguousarray(result).astype(i1.dtype, copy=False)


def trilinear_gradient(grad: Any, i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
                       needed: Any) -> Any:
    """Each gradient is a trilinear product with the sum and one expansion exchanged."""
    return (trilinear(grad, i2, i3, sumdim, expand2, expand3, expand1) if needed[0] else None,
            trilinear(i1, grad, i3, expand1, sumdim, expand3, expand2) if needed[1] else None,
            trilinear(i1, i2, grad, expand1, expand2, sumdim, expand3) if needed[2] else None)


trilinear = defop(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) "
    "-> Tensor",
    kernel=trilinear_kernel, vjp={("i1", "i2", "i3"): trilinear_gradient}, jvp="multilinear", batch=families.loop,
    variants="", out=False, real_only=True,
)


# ---- the vector product
def check_cross(self: Any, other: Any, dim: int) -> None:
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = families.wrap_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and "
                           f"{other.shape[axis]}")


def cross_kernel(xp: Any, self: Any, other: Any, dim: int) -> Any:
    made = None if native is None else native.cross(self, other, dim)
    if made is not None:
        return made
    check_cross(self, other, dim)
    problem = broadcast_problem(self.shape, other.shape)
    if problem is not None:
        raise RuntimeError(problem)
    no_bool("cross", self)
    same_scalar_type(self, other)
    before = (slice(None),) * families.wrap_dim(dim, self.ndim)
    places = [(*before, k) for k in range(3)]
    a, b = ([t[place] for place in places] for t in (wide(self), wide(other)))
    shape = self.shape if self.shape == other.shape else lean.broadcast_shapes(self.shape, other.shape)
    made = xp.empty(shape, self.dtype)
    for k, place in enumerate(places):
        i, j = (k + 1) % 3, (k + 2) % 3
        made[place] = a[i] * b[j] - a[j] * b[i]
    return made


linalg_cross = defop(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    out="same",
    kernel=cross_kernel,
    vjp=dict(self=lambda grad, other, dim: late.linalg_cross(conj(other), grad, dim=dim),
             other=lambda grad, self, dim: late.linalg_cross(grad, conj(self), dim=dim)), traits=("out_apart",),
    jvp="multilinear", batch=families.shift_dims("dim"), variants="", pattern="dims",
)
FUNCTIONS_BY_NAME["linalg_cross"] = linalg_cross
for op in (mm, bmm, addmm, mv, dot):
    op.prepare()
operators.matmul = mm          # two matrices; the rest of `@` goes through matmul
