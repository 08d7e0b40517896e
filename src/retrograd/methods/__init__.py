"""Methods and attributes of Tensor that are not ops: the tables of all of them, and their installation."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from retrograd.autograd import hooks as tensor_hooks
from retrograd.autograd.engine import calibrate
from retrograd.core import subclass
from retrograd.core.api import EXTRA_METHODS, TENSOR_METHODS, expose, operators
from retrograd.core.device import CPU
from retrograd.core.forward import tangent_of
from retrograd.core.hooks import hooks
from retrograd.core.opdef import CALLERS
from retrograd.core.state import switches
from retrograd.core.subclass import through_function
from retrograd.core.tensor import (
    COMPILED,
    FLAG_META,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FUNCTIONS_BY_NAME,
    Tensor,
    install,
    length,
    name_descriptor,
    wants_grad,
)
from retrograd.core.watching import Attribute, attribute, is_watched, named, seen_method, watch
from retrograd.methods.copies import (
    FIELDS,
    __deepcopy__,
    __reduce_ex__,
    __setstate__,
    _clear_non_serializable_cached_data,
    rebuild,  # pickles of earlier versions name it here
)
from retrograd.methods.data import (
    __array__,
    __array_wrap__,
    __contains__,
    __div__,
    __dlpack__,
    __dlpack_device__,
    __format__,
    __idiv__,
    __index__,
    __iter__,
    __rdiv__,
    cuda_array_interface,
    detach,
    detach_,
    get_data,
    item,
    number_of,
    numpy,
    set_data,
    tensor_bool,
    tensor_repr,
    tolist,
)
from retrograd.methods.geometry import (
    _is_view,
    _view_func,
    data_ptr,
    dim,
    get_base,
    get_device,
    get_layout,
    is_complex,
    is_conj,
    is_contiguous,
    is_floating_point,
    is_inference,
    is_neg,
    is_set_to,
    is_signed,
    nbytes,
    numel,
    size,
    storage_offset,
    stride,
    untyped_storage,
)
from retrograd.methods.gradients import (
    del_grad,
    forbidden_delete,
    get_backward_hooks,
    get_grad,
    get_grad_dtype,
    get_post_hooks,
    keep_data,
    requires_grad_,
    set_backward_hooks,
    set_grad,
    set_grad_dtype,
    set_requires_grad,
    tensor_backward,
    volatile,
)
from retrograd.ops import late


def tensor_names(self: Any) -> list[str]:
    """The names of the class and of the instance, without those that are for tensors on other devices."""
    names = {*dir(type(self)), *self.__dict__} - {*FIELDS, "_cell", "volatile", "__cuda_array_interface__"}
    return sorted([name for name in names if answers(self, name)])


def answers(self: Any, name: str) -> bool:
    """Whether a tensor has what the class lists; private properties may be those of another layout."""
    listed = next((c.__dict__[name] for c in type(self).__mro__ if name in c.__dict__), None)     # which loads no table
    private = name.startswith("_") and isinstance(listed, property)
    return not (private or getattr(listed, "of_one_layout", False)) or hasattr(self, name)


tensor_names.__name__ = "__dir__"         # a function of that name in a module answers for the module


def set_part(part: Any, value: Any) -> None:
    """Write to the real or imaginary part of a tensor."""
    if isinstance(value, (Tensor, int, float)):
        late.copy_(part, value)
    else:
        part[...] = value


PROPERTIES: dict[str, Any] = dict(
    grad=property(get_grad, set_grad, del_grad),
    _grad_fn=property(lambda self: self.grad_fn, None, forbidden_delete("_grad_fn")),
    _backward_hooks=property(get_backward_hooks, set_backward_hooks, forbidden_delete("_backward_hooks")),
    data=property(get_data, set_data, keep_data),
    requires_grad=property(wants_grad, set_requires_grad, forbidden_delete("requires_grad")),
    grad_dtype=property(get_grad_dtype, set_grad_dtype),
    retains_grad=property(lambda self: bool(self._extra is not None and self._extra.retains_grad)),
    _base=property(get_base),
    _tangent=property(tangent_of),
    volatile=property(volatile),
    itemsize=property(lambda self: self.array.itemsize),
    nbytes=property(nbytes),
    is_cuda=property(lambda self: False),
    is_cpu=property(lambda self: self.device is CPU),
    is_meta=property(lambda self: bool(self._flags & FLAG_META)),
    layout=property(get_layout),
    is_sparse=property(lambda self: bool(self._flags & FLAG_SPARSE) and hooks.layout(self).name == "sparse_coo"),
    is_sparse_csr=property(lambda self: bool(self._flags & FLAG_SPARSE) and hooks.layout(self).name == "sparse_csr"),
    is_nested=property(lambda self: bool(self._flags & FLAG_SPARSE) and getattr(self._extra.sparse, "is_nested", False)),
    is_quantized=property(lambda self: False),
    is_mkldnn=property(lambda self: False),
    **{f"is_{kind}": property(lambda self: False) for kind in ("ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu")},
    name=property(lambda self: None),
    T=property(lambda self: late.numpy_T(self)),
    mT=property(lambda self: late.mT(self)),
    H=property(lambda self: late.matrix_H(self)),
    mH=property(lambda self: late.mH(self)),
    real=property(lambda self: late.real(self), lambda self, value: set_part(late.real(self), value)),
    imag=property(lambda self: late.imag(self), lambda self, value: set_part(late.imag(self), value)),
    _cdata=property(id, None, None, "A number that identifies the tensor."),
    _post_accumulate_grad_hooks=property(get_post_hooks, None, forbidden_delete("_post_accumulate_grad_hooks")),
    __cuda_array_interface__=property(cuda_array_interface),
)

PROPERTIES = {name: attribute(name, declared) for name, declared in PROPERTIES.items()}

# What programs call most asks subclasses itself; for the rest `seen_method` does.
QUICK = dict(item=item, detach=detach, size=size, stride=stride, storage_offset=storage_offset, data_ptr=data_ptr, numel=numel,
             is_contiguous=is_contiguous, dim=dim, is_floating_point=is_floating_point, is_complex=is_complex)
UNTYPED = frozenset({"size", "stride", "is_contiguous"})        # their handlers are not told of plain tensors
OTHERS = dict(
    backward=tensor_backward, requires_grad_=requires_grad_, detach_=detach_, numpy=numpy, __array__=__array__,
    __array_wrap__=__array_wrap__, tolist=tolist, __int__=lambda self: int(number_of(self, "int64_t")),
    __float__=lambda self: float(number_of(self, "double")), __complex__=lambda self: complex(number_of(self)),
    __index__=__index__, __format__=__format__, __contains__=__contains__, untyped_storage=untyped_storage, nelement=numel,
    ndimension=dim, _is_view=_is_view, _view_func=_view_func, is_signed=is_signed, is_inference=is_inference, is_conj=is_conj,
    is_neg=is_neg, get_device=get_device, is_set_to=is_set_to, element_size=lambda self: self.array.itemsize,
    __deepcopy__=__deepcopy__, __reduce_ex__=__reduce_ex__, __setstate__=__setstate__, register_hook=tensor_hooks.register_hook,
    retain_grad=tensor_hooks.retain_grad, __dlpack__=__dlpack__, __dlpack_device__=__dlpack_device__,
    register_post_accumulate_grad_hook=tensor_hooks.register_post_accumulate_grad_hook, __dir__=tensor_names,
    _clear_non_serializable_cached_data=_clear_non_serializable_cached_data,
)
PLAIN = {**QUICK, **{name: seen_method(name, method) for name, method in OTHERS.items()}, "__iter__": __iter__,
         "__div__": __div__, "__rdiv__": __rdiv__, "__idiv__": __idiv__,
         "__nonzero__": seen_method("__nonzero__", tensor_bool), "__long__": seen_method("__long__", OTHERS["__int__"])}
SLOTS = {"__repr__": tensor_repr, "__bool__": tensor_bool, "__len__": length}     # of which Tensor has the special methods
if COMPILED:                   # in C, what they return is a number; as functions they return what a subclass gives
    PLAIN.update({name: seen_method(name, method) for name, method in SLOTS.items()})


def __repr__(self: Any, *, tensor_contents: str | None = None) -> str:
    """The text of the tensor; `tensor_contents` stands in the place of its values."""
    if (self._flags & FLAG_SUBCLASS or switches.function_modes) and is_watched(self):
        return through_function(PLAIN["__repr__"], (self,), {"tensor_contents": tensor_contents}, (type(self),))
    return tensor_repr(self, tensor_contents=tensor_contents)


PLAIN["__repr__"] = __repr__


# Those that PyTorch also has as functions, torch.is_complex(x).
for function in (numel, is_floating_point, is_complex, is_signed, is_inference, is_conj, is_neg, get_device, detach, detach_):
    expose(function, method=False)


def schema_of(op: Any) -> Any:
    """`op._schema`; the parser is for the curious only, so it is not imported with the package."""
    text = op.schema.text.replace(OPTIONS, "") if op.schema.is_out else op.schema.text
    return import_module("retrograd.core.function_schema").parse_schema(f"aten::{text}")


# What the out= forms of factories take in functions and do not show in their schemas.
OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "


CALLERS["schema"] = schema_of


FIELD_NAMES = ("shape", "ndim", "dtype", "device", "grad_fn", "is_leaf", "output_nr", "_version")


def name_attribute(cls: Any, name: str) -> None:
    """Show an attribute that the class itself declares under the name that PyTorch's has, `TensorBase.shape`."""
    declared = vars(cls)[name]
    if isinstance(declared, property):
        install(cls, {name: named(name, Attribute(declared.fget, None, None, declared.__doc__))})
    else:
        name_descriptor(declared, f"TensorBase.{name}")


def install_all() -> None:
    """Put ops, methods and properties on Tensor."""
    install(Tensor, {**TENSOR_METHODS, **EXTRA_METHODS, **PLAIN, **PROPERTIES})
    install(Tensor, subclass.MEMBERS)
    subclass.find_alias()
    for name in FIELD_NAMES:
        name_attribute(Tensor, name)
    watch((*PROPERTIES, *FIELD_NAMES), QUICK, UNTYPED)
    FUNCTIONS_BY_NAME.update(SLOTS)
    FUNCTIONS_BY_NAME.update({name: OTHERS[name] for name in ("__int__", "__float__", "__index__", "__contains__")})
    FUNCTIONS_BY_NAME["__iter__"] = __iter__
    if operators is not None:
        operators.install()
        for name in ("calls", "rules", "tangents"):
            import_module(f"retrograd.core.plain.{name}").install()
    calibrate()


__all__ = ["FIELD_NAMES", "PLAIN", "PROPERTIES", "install_all"]
