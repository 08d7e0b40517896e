"""Public functions, methods and attributes that are written in terms of other ops, as ops: `ops.aten.to.dtype(x, torch.int64)`.

A row is a schema alone. Its kernel is the function or method of that name, called with the required arguments in order and
the others by name where they are given.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late

FUNCTIONS = """
    to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False,
        MemoryFormat? memory_format=None) -> Tensor(a)
    to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False,
        MemoryFormat? memory_format=None) -> Tensor(a)
    to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None,
        bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
    to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False,
        MemoryFormat? memory_format=None) -> Tensor(a)
    conj(Tensor(a) self) -> Tensor(a)
    real(Tensor(a) self) -> Tensor(a)
    imag(Tensor(a) self) -> Tensor(a)
    resolve_conj(Tensor(a) self) -> Tensor(a)
    resolve_neg(Tensor(a) self) -> Tensor(a)
    chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
    detach_(Tensor(a!) self) -> Tensor(a!)
    requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)
    retain_grad(Tensor(a!) self) -> ()
    type_as(Tensor self, Tensor other) -> Tensor
    sum_to_size(Tensor self, SymInt[] size) -> Tensor
    resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor
    resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor
    pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)
    item(Tensor self) -> Scalar
    is_complex(Tensor self) -> bool
    is_floating_point(Tensor self) -> bool
    is_signed(Tensor self) -> bool
    is_conj(Tensor self) -> bool
    is_neg(Tensor self) -> bool
    is_inference(Tensor self) -> bool
    is_distributed(Tensor self) -> bool
    is_pinned(Tensor self, Device? device=None) -> bool
    is_set_to(Tensor self, Tensor tensor) -> bool
    _is_zerotensor(Tensor self) -> bool
    element_size(Tensor self) -> int
    get_device(Tensor self) -> int
    result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType
    result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType
    result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType
    result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType
    can_cast(ScalarType from_, ScalarType to) -> bool
    promote_types(ScalarType type1, ScalarType type2) -> ScalarType
    atleast_1d(Tensor self) -> Tensor
    atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]
    atleast_2d(Tensor self) -> Tensor
    atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]
    atleast_3d(Tensor self) -> Tensor
    atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]
    einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
    meshgrid(Tensor[] tensors) -> Tensor[]
    meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]
    stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,
        str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None,
        bool? align_to_window=None) -> Tensor
    istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,
        bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor
    _scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None,
        ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor
    _scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b,
        int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[],
        bool use_fast_accum=False) -> Tensor
    _grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor
    _weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor
    _shape_as_tensor(Tensor self) -> Tensor
    _dim_arange(Tensor like, int dim) -> Tensor
    coalesce(Tensor(a) self) -> Tensor(a)
    is_coalesced(Tensor self) -> bool
    crow_indices(Tensor(a) self) -> Tensor(a)
    col_indices(Tensor(a) self) -> Tensor(a)
    ccol_indices(Tensor(a) self) -> Tensor(a)
    row_indices(Tensor(a) self) -> Tensor(a)
    _indices(Tensor(a) self) -> Tensor(a)
    _values(Tensor(a) self) -> Tensor(a)
    _nnz(Tensor self) -> int
    sparse_dim(Tensor self) -> int
    dense_dim(Tensor self) -> int
    _dimI(Tensor self) -> int
    _dimV(Tensor self) -> int
    _coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)
    sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)
    sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)
    resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)
"""
SPREAD = """
    broadcast_tensors(Tensor[] tensors) -> Tensor[]
    cartesian_prod(Tensor[] tensors) -> Tensor
    chain_matmul(Tensor[] matrices) -> Tensor
"""
ATTRIBUTES = {
    "numpy_T(Tensor(a) self) -> Tensor(a)": "T", "matrix_H(Tensor(a) self) -> Tensor(a)": "H",
    "mT(Tensor(a) self) -> Tensor(a)": "mT", "mH(Tensor(a) self) -> Tensor(a)": "mH", "data(Tensor self) -> Tensor": "data",
    "is_leaf(Tensor self) -> bool": "is_leaf", "output_nr(Tensor self) -> int": "output_nr",
    "_version(Tensor self) -> int": "_version", "retains_grad(Tensor self) -> bool": "retains_grad",
}


def caller(name: str, holder: list[Any]) -> Any:
    """The kernel of an op that calls the function or method `name`; `holder` is filled with the op."""
    def kernel(*values: Any) -> Any:
        pairs = list(zip(holder[0].schema.params, values, strict=True))
        named = {p.name: v for p, v in pairs if (p.kwarg_only if p.required else v is not p.default)}
        given = [value for p, value in pairs if p.required and not p.kwarg_only]
        function = getattr(late, name, None)
        result = getattr(given[0], name)(*given[1:], **named) if function is None else function(*given, **named)
        return list(result) if isinstance(result, tuple) else result
    return kernel


def spreader(name: str) -> Any:
    """The kernel of an op whose list of tensors a function takes as its arguments."""
    def kernel(tensors: Any) -> Any:
        result = getattr(late, name)(*tensors)
        return list(result) if isinstance(result, tuple) else result
    return kernel


def declare(schema: str, kernel: Any, **columns: Any) -> OpDef:
    return defop(schema, kernel=kernel, composite=True, variants="", out=False, **columns)


def declare_caller(schema: str, **columns: Any) -> None:
    op: list[Any] = []
    op.append(declare(schema, caller(schema.partition("(")[0].partition(".")[0], op), **columns))


for text in FUNCTIONS.replace("\n        ", " ").strip().splitlines():
    declare_caller(text.strip())
declare_caller("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", onnx="Identity",
               masked="same mask")
for text in SPREAD.strip().splitlines():
    declare(text.strip(), spreader(text.strip().partition("(")[0]))
for text, attribute in ATTRIBUTES.items():
    declare(text, lambda self, attribute=attribute: getattr(self, attribute))
