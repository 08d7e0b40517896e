"""Ops that nested tensors bring along, and those that have other formulas, and other nodes, for them."""
from __future__ import annotations

import math
from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.core.schema import Schema
from retrograd.core.tensor import Tensor
from retrograd.nested.kernels import KERNELS, missing, tensors_among
from retrograd.nested.parts import arrays_of, is_jagged, is_nested
from retrograd.ops import late

from_list = defop(
    "_nested_tensor_from_tensor_list(Tensor[] list, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor",
    kernel=None, vjp=dict(list=lambda grad, list_scalar_type:
                          [g.to(dtype) for g, dtype in zip(grad.unbind(0), list_scalar_type, strict=True)]),
    jvp="linear", node="NestedTensorFromTensorListBackward0", variants="", out=False)
from_padded = defop(
    "_nested_from_padded_and_nested_example(Tensor padded, Tensor nt_example) -> Tensor",
    kernel=None, vjp=dict(padded=lambda grad, padded_sym_sizes: call(to_padded, [grad, 0.0, padded_sym_sizes])),
    jvp="linear", variants="", out=False)
to_padded = defop(
    "to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor",
    kernel=None, vjp=dict(self=lambda grad, self: call(from_padded, [grad, self])), jvp="linear", variants="", out=False)
from_jagged = defop(
    # no view to autograd, which could not make one again out of strides
    "_nested_view_from_jagged(Tensor self, Tensor offsets, Tensor? lengths=None, int ragged_idx=0, int? min_seqlen=None, "
    "int? max_seqlen=None) -> Tensor",
    kernel=None, vjp=dict(self=lambda grad: call(get_values, [grad])), jvp="linear", node="NestedViewFromJaggedBackward0",
    variants="", out=False)
get_values = defop(
    "_nested_get_values(Tensor(a) self) -> Tensor(a)",
    kernel=None, vjp=dict(self=lambda grad, self: call(with_values, [grad, self, -1])), jvp="linear", variants="", out=False)
with_values = defop(
    "_nested_with_values(Tensor values, Tensor nt_example, int axis=-1) -> Tensor",
    kernel=None, vjp=dict(values=lambda grad, nt_example:
                          call(get_values if is_jagged(nt_example) else TWINS["values.default"], [grad])),
    jvp="linear", variants="", out=False)
sum_backward = defop(
    "_nested_sum_backward(Tensor grad, Tensor self, int[1]? dim, bool keepdim=False) -> Tensor",
    kernel=None, vjp=dict(grad=lambda grads, dim, keepdim: grads[0].sum(dim, keepdim)), jvp="linear", variants="", out=False)
select_backward = defop(
    "_nested_select_backward(Tensor grad_output, Tensor self, int dim, int index) -> Tensor",
    kernel=None, vjp=dict(grad_output=lambda grad, dim, index: grad.select(dim, index)), jvp="linear", variants="", out=False)

TWINS: dict[str, OpDef] = {}


def twin(text: str, vjp: Any, node: str) -> OpDef:
    """Declare how an op is differentiated where an operand is nested; its kernel is in kernels.py."""
    schema = Schema(text)
    op = OpDef(schema, None, vjp=vjp, jvp=None, node=node)
    op.prepare()
    packet = find_packet(schema.name)
    assert packet is not None
    op.packet = packet
    TWINS[f"{op.name}.{op.overload}"] = op
    return op


def choose(op: OpDef, args: Any) -> Any:
    """The op itself, or its twin for nested operands."""
    name = f"{op.name}.{op.overload}"
    found = TWINS.get(name)
    if found is op:
        return op
    if name in JAGGED and any([is_jagged(t) for t in tensors_among(args)]):
        return jagged_twin(op, name)
    if found is None or not any([is_nested(t) for t in tensors_among(args)]):
        return op
    return get_values if op.name == "values" and is_jagged(args[0]) else found


JAGGED: dict[str, Any] = {}           # "stack.default" -> function of the op's arguments, in terms of other ops
JAGGED_TWINS: dict[str, OpDef] = {}


def jagged_form(*names: str) -> Any:
    """Say how an op is carried out where an operand is jagged, by ops on what its parts are slices of."""
    def register(function: Any) -> Any:
        for name in names:
            JAGGED[name if "." in name else name + ".default"] = function
        return function
    return register


def jagged_kernel(*names: str) -> Any:
    """Say what an op computes where an operand is jagged, in terms of other ops; its formula is a twin's."""
    def register(function: Any) -> Any:
        def kernel(op: OpDef, *args: Any) -> Any:
            if any([is_jagged(t) for t in tensors_among(args)]):
                return function(*[detached(a) for a in args])
            before = KERNELS_BEFORE[f"{op.name}.{op.overload}"]
            if before is None:
                raise missing(op, args, "NestedTensorCPU")
            return before(op, *args)
        for name in names:
            full = name if "." in name else name + ".default"
            KERNELS_BEFORE[full], KERNELS[full] = KERNELS.get(full), kernel
        return function
    return register


KERNELS_BEFORE: dict[str, Any] = {}


def detached(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach()
    return [detached(v) for v in value] if isinstance(value, (list, tuple)) else value


def jagged_twin(op: OpDef, name: str) -> OpDef:
    found = JAGGED_TWINS.get(name)
    if found is None:
        found = JAGGED_TWINS[name] = OpDef(op.schema, None)
        found.prepare()
        found.packet, found.composite, found.compute = op.packet, True, JAGGED[name]
    return found


def gather(grads: Any, self: Any) -> Any:
    """The gradient of a nested tensor out of gradients of its parts, None being zeros."""
    made = [late.zeros(array.shape, dtype=self.dtype) if g is None else g
            for g, array in zip(grads, arrays_of(self), strict=True)]
    return regather(made, self)


def regather(parts: Any, self: Any) -> Any:
    """A nested tensor of parts that is ragged as `self` is."""
    if not is_jagged(self):
        return call(from_list, [parts, None, None, None, None])
    return call(with_values, [late.cat(parts, self._extra.sparse.axis), self, -1])


def gather_chunks(grads: Any, self: Any) -> Any:
    """The gradient of a nested tensor out of gradients of pieces along its last dimension."""
    parts = [None if g is None else g.unbind(0) for g in grads]
    made = []
    for i, array in enumerate(arrays_of(self)):
        shape = (*array.shape[:-1], array.shape[-1] // len(grads))
        pieces = [late.zeros(shape, dtype=self.dtype) if p is None else p[i] for p in parts]
        made.append(late.cat(pieces, -1))
    return regather(made, self)


def split_parts(grad: Any, tensors: Any, dim: int) -> list[Any]:
    """The gradients of nested tensors out of the gradient of all their parts in a row."""
    if is_jagged(grad):
        pieces = call(get_values, [grad]).split([t.array.shape[dim] for t in tensors], dim % grad.array.ndim - 1)
        return [call(with_values, [piece, t, -1]) for piece, t in zip(pieces, tensors, strict=True)]
    parts, made, at = grad.unbind(0), [], 0
    for t in tensors:
        count = len(arrays_of(t))
        made.append(call(from_list, [list(parts[at:at + count]), None, None, None, None]))
        at += count
    return made


def shaped_like(grad: Any, self: Any) -> Any:
    """A gradient whose parts get the shapes that those of `self` have."""
    if is_jagged(self):
        return call(with_values, [call(get_values, [grad]).reshape(self._extra.sparse.whole.shape), self, -1])
    made = [g.reshape(array.shape) for g, array in zip(grad.unbind(0), arrays_of(self), strict=True)]
    return regather(made, self)


def rows(t: Any) -> Any:
    """The last dimension of all parts as the rows of a matrix."""
    whole = t if t._extra.sparse.is_contiguous else t.clone()
    return call(get_values if is_jagged(t) else TWINS["values.default"], [whole]).reshape(-1, t.array.shape[-1])


def spread_over(grad: Any, self: Any) -> Any:
    """The gradient of a sum of everything."""
    return late.ones_like(self) * grad


def spread_dims(grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a sum of a jagged tensor over some dimensions."""
    rank = self.array.ndim
    dims = sorted([d % rank for d in dim or range(rank)])
    if not keepdim:
        if is_jagged(grad):
            values = call(get_values, [grad])
            for d in dims:
                values = values.unsqueeze(d - 1)
            grad = call(with_values, [values, self, -1])
        else:
            for d in dims:
                grad = grad.unsqueeze(d)
    return late.ones_like(self) * grad


def count_dims(self: Any, dim: Any) -> Any:
    """How many elements every mean over some dimensions is taken of, as a number or a tensor of one for every part."""
    data, rank = self._extra.sparse, self.array.ndim
    dims = [d % rank for d in dim or range(rank)]
    if 0 in dims:
        return math.prod([data.whole.shape[d - 1] for d in dims if d])
    if data.axis + 1 not in dims:
        return math.prod([self.array.shape[d] for d in dims])
    return data.ragged.offsets.diff().reshape(-1, *(1,) * (rank - 1))


def product_gradient(grad: Any, self: Any, other: Any) -> Any:
    """The gradient of the right factor of a product."""
    if not is_nested(other):
        return rows(self).t().mm(rows(grad))
    return self.transpose(-1, -2).matmul(grad)


twin("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", dict(self=gather), "UnbindBackwardAutogradNestedTensor0")
twin("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     dict(self=lambda grad, self, dim, index: call(select_backward, [grad, self, dim, index])),
     "SelectBackwardAutogradNestedTensor0")
twin("values(Tensor(a) self) -> Tensor(a)", dict(self=lambda grad, self: call(with_values, [grad, self, -1])),
     "ValuesBackwardAutogradNestedTensor0")
twin("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     dict(self=lambda grad, self, dim, keepdim: spread_dims(grad, self, dim, keepdim) if is_jagged(self) else
          call(sum_backward, [grad, self, dim, keepdim])),
     "SumBackwardAutogradNestedTensor1")
twin("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     dict(self=lambda grad, self, dim, keepdim: spread_dims(grad, self, dim, keepdim) / count_dims(self, dim)),
     "MeanBackward1")
twin("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", dict(self=shaped_like), "ViewBackwardAutogradNestedTensor0")
twin("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", dict(self=shaped_like), "ViewBackwardAutogradNestedTensor0")
twin("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", dict(self=shaped_like), "SqueezeBackwardAutogradNestedTensor0")
twin("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", dict(self=gather_chunks),
     "ChunkBackwardAutogradNestedTensor0")
twin("cat(Tensor[] tensors, int dim=0) -> Tensor", dict(tensors=split_parts), "CatBackward0")
twin("matmul(Tensor self, Tensor other) -> Tensor",
     dict(self=lambda grad, other: grad.matmul(other.transpose(-1, -2).conj()),
          other=product_gradient), "MatmulBackward0")
twin("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     dict(self=lambda grad, self: spread_over(grad, self) / self.numel()), "MeanBackwardAutogradNestedTensor0")
twin("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", dict(self=spread_over), "SumBackwardAutogradNestedTensor0")
twin("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     dict(input=lambda grad, weight: late.linear(grad, weight.t()),
          weight=lambda grad, input: rows(grad).t().mm(rows(input)), bias=lambda grad: rows(grad).sum(0)), "LinearBackward0")


def attend(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: Any,
           enable_gqa: bool) -> Any:
    """Attention of every part to itself, as products."""
    if attn_mask is not None or is_causal or enable_gqa:
        raise RuntimeError("_scaled_dot_product_attention: Nested tensors for query / key / value are only supported when no "
                           "explicit attn_mask is set, and without is_causal and enable_gqa")
    scale = query.array.shape[-1] ** -0.5 if scale is None else scale
    weights = (query * scale).matmul(key.transpose(-2, -1)).softmax(-1)
    return (late.dropout(weights, dropout_p, True) if dropout_p else weights).matmul(value)


twin("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
     "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor", None, "").composite = True
TWINS["scaled_dot_product_attention.default"].compute = attend
# The gradients are wrong on purpose: they show which formula ran (see ops/shared/testing.py).
twin("_test_autograd_multiple_dispatch.fullcoverage(Tensor self) -> Tensor", dict(self=lambda grad: grad * grad),
     "TestAutogradMultipleDispatchBackwardAutogradNestedTensor0")
twin("_test_autograd_multiple_dispatch.ntonly(Tensor self, bool b) -> Tensor", dict(self=lambda grad: grad * grad + grad),
     "TestAutogradMultipleDispatchBackwardAutogradNestedTensor1")
for _name in ("fullcoverage", "ntonly"):
    KERNELS[f"_test_autograd_multiple_dispatch.{_name}"] = lambda op, self, *rest: late.clone(self.detach())

get_values.prepare()
hooks.nested = choose
