"""Stand-ins for functions that PyTorch keeps private and programs call all the same; `as_torch` maps them to their places."""
from __future__ import annotations

import functools
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import retrograd as torch
from retrograd import _sparse_helpers
from retrograd.autograd import forward_ad
from retrograd.compile import state as compile_state
from retrograd.core import printing
from retrograd.core.state import tls
from retrograd.jit._state import current
from retrograd.nn.modules._converted import parse_to
from retrograd.nn.modules._hooks import everywhere
from retrograd.optim import lbfgs
from retrograd.profiler.profiler import ProfilerAction
from retrograd.serialization import rebuild
from retrograd.transforms.modules import replaced
from retrograd.transforms.vmap import vmap


# ---- torch._C
def parse_to_arguments(*args: Any, **kwargs: Any) -> Any:
    """The device, dtype, non_blocking and memory format that arguments of `to` mean."""
    return parse_to(args, kwargs)


def get_tracing_state() -> Any:
    """The state of the trace that runs in this thread, if one does."""
    return current.state


def log_api_usage_once(*args: Any, **kwargs: Any) -> None:
    """No-op: API usage is not counted, and no event is reported."""


def get_accelerator() -> Any:
    return torch.device("cpu")


def get_privateuse1_backend_name() -> str:
    return "privateuseone"


def are_functorch_transforms_active() -> bool:
    """Whether a transform such as vmap runs."""
    return bool(getattr(tls, "interpreters", None))


def is_torch_function_mode_enabled() -> bool:
    return bool(tls.function_modes)


class FunctionState(Enum):
    """The state of `__torch_function__`: enabled for modes and subclasses, for modes only, or disabled."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def get_function_state() -> FunctionState:
    return FunctionState(tls.function_disabled)


def set_function_state(state: FunctionState) -> None:
    tls.function_disabled = state.value


def module_exists(name: str) -> bool:
    """Whether a module can be imported; it is not."""
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def unwrap_shards(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Two values to be compared, as they are: no tensor is spread over processes."""
    return actual, expected


def is_extra_backend_available() -> bool:
    """Whether a program has registered a device of its own."""
    return False


def is_alias_of(a: Any, b: Any) -> bool:
    """Whether two tensors are over the same memory."""
    return a.untyped_storage() == b.untyped_storage()


class Graph:
    """A graph of compiled code, which there is none of; a name for annotations."""


class Value:
    """A value in a graph of compiled code, which there is none of; a name for annotations."""


class TransformGetItemToIndex(torch.overrides.TorchFunctionMode):
    """A scope in which indexing with 0-d tensors is indexing by tensors, which `vmap` maps; here it always is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


# ---- torch._utils
def get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; the cpu is -1."""
    if isinstance(device, int):
        return device
    device = torch.device(device) if isinstance(device, str) else device
    if isinstance(device, torch.device) and device.type == "cpu" and allow_cpu:
        return -1 if device.index is None else device.index
    if isinstance(device, torch.device) and device.index is not None:
        return device.index
    if optional:
        return 0
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def get_all_device_indices() -> list[int]:
    return []


def get_available_device_type() -> None:
    """The kind of accelerator: none."""
    return None


def element_size(dtype: Any) -> int:
    return dtype.itemsize


def flatten_dense_tensors(tensors: Any) -> Any:
    """The elements of several tensors in one vector."""
    return tensors[0].contiguous().view(-1) if len(tensors) == 1 else torch.cat([t.contiguous().view(-1) for t in tensors])


def unflatten_dense_tensors(flat: Any, tensors: Any) -> Any:
    """Pieces of a vector in the shapes of `tensors`."""
    pieces = torch.split(flat, [t.numel() for t in tensors])
    return tuple(piece.view_as(t) for piece, t in zip(pieces, tensors))


def first_tensor(value: Any) -> Any:
    """A tensor inside of lists, tuples and dictionaries; None if there is none."""
    if isinstance(value, torch.Tensor):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((found for found in map(first_tensor, parts) if found is not None), None)


def import_dotted_name(name: str) -> Any:
    """What a dotted path names."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, __import__(first))


class classproperty:
    """A property of a class."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)


rebuild_tensor_v2 = rebuild.rebuild_tensor
rebuild_parameter = rebuild.rebuild_parameter
rebuild_parameter_with_state = rebuild.rebuild_parameter_with_state


# ---- torch._inductor.decomposition
inductor_decompositions: dict[Any, Any] = {}


def register_inductor_decomposition(ops: Any) -> Callable[[Any], Any]:
    """A decorator that makes a function the decomposition of ops in the table of PyTorch's compiler."""
    return import_module("retrograd._decomp").register_decomposition(ops, inductor_decompositions)  # type: ignore[no-any-return]


# ---- torch._jit_internal
def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, module_name: str,
                     func_name: str) -> Callable[..., Any]:
    """One of two functions, by the value of a boolean argument."""
    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)
    chosen.__name__, chosen.__doc__ = func_name, if_true.__doc__ or if_false.__doc__
    return chosen


def unchanged(fn: Any) -> Any:
    """A decorator that changes nothing."""
    return fn


def is_compile_supported(device_type: Any) -> bool:
    """Whether a compiler makes code for a kind of device."""
    return torch.device(device_type).type == "cpu"


COLLATE_FUNCTION = Callable[[list[Any]], Any]
WORKER_FUNCTION = Callable[[int], None]


def contents_text(tensor: Any, indent: int) -> str:
    """The numbers of a tensor as it shows them, without the words around them."""
    return printing._contents(tensor.detach().numpy(), tuple(tensor.shape), indent)


NO_NUMBERS = re.compile(r"[SaUO]")      # kinds of NumPy arrays that become no tensors
PRESERVED_ATTRIBUTES = "_user_preserved_attributes"


def is_in_bad_fork() -> bool:
    """Whether CUDA was started before this process was forked: it never is."""
    return False


class CodeOnlyModule(torch.nn.Module):
    """A module that is nothing but attributes, to make a GraphModule from."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


BUFFER_HOOKS, MODULE_HOOKS = everywhere.buffer_registration, everywhere.module_registration
PARAMETER_HOOKS = everywhere.parameter_registration


def old_vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0) -> Any:
    """`vmap`, as it was called before."""
    warnings.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning, stacklevel=2)
    return vmap(func, in_dims, out_dims)


# ---- torch.backends


# ---- torch.nn.utils.stateless
def reparametrized(module: Any, parameters_and_buffers: dict[str, Any], *, tie_weights: bool = False, strict: bool = False,
                   stack_weights: bool = False) -> Any:
    """A block in which a module has other parameters and buffers."""
    return replaced(module, parameters_and_buffers, tie_weights, strict)


# ---- torch.profiler.profiler
def default_schedule(_: int) -> Any:
    """Record every step."""
    return ProfilerAction.RECORD


# ---- torch._prims_common
def is_contiguous(a: Any) -> bool:
    """Whether a tensor lies in memory in the order of its indices."""
    return a.is_contiguous()


# ---- torch._tensor_str
def add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The text of a tensor with what is said after its values."""
    made = [tensor_str]
    column = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        length = len(suffix)
        if force_newline or column + length + 2 > printing.options.linewidth:
            made.append(",\n" + " " * indent + suffix)
            column, force_newline = indent + length, False
        else:
            made.append(", " + suffix)
            column += length + 2
    return "".join([*made, ")"])


# ---- torch.autograd.functional, torch.optim
def without_tuples(res: Any, to_unpack: Any) -> Any:
    """Results without the tuples that the program's tensors were not in: `to_unpack` says which of the levels are to stay.

    >>> without_tuples(((1,), (2,)), (True, False))
    (1, 2)
    """
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple([row[0] for row in res])
    return res if outer else res[0]


def check_requires_grad(inputs: Any, input_type: str, strict: bool) -> None:
    """In strict mode, every one of `inputs` must be there and require grad; `input_type` names what they are."""
    if not strict:
        return
    if input_type not in ("outputs", "grad_inputs", "jacobian", "hessian"):
        raise RuntimeError("Invalid input_type to _check_requires_grad")
    for i, tensor in enumerate(inputs):
        if tensor is None or not tensor.requires_grad:
            raise RuntimeError(f"In strict mode, {input_type} {i} of the user-provided function must require gradients.")


def cubic_interpolate(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float,
                      bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic with values `f1`, `f2` and slopes `g1`, `g2` at two places is least.

    >>> cubic_interpolate(0.0, 1.0, -2.0, 2.0, 1.0, 2.0)
    1.0
    """
    return lbfgs.between(lbfgs.Point(x1, f1, None, g1), lbfgs.Point(x2, f2, None, g2), bounds)


def strong_wolfe(obj_func: Any, x: Any, t: float, d: Any, f: float, g: Any, gtd: float, c1: float = 1e-4, c2: float = 0.9,
                 tolerance_change: float = 1e-9, max_ls: int = 25) -> Any:
    """The line search of LBFGS for `obj_func(x, t, d)`, which returns a loss and a gradient."""
    return lbfgs.strong_wolfe(lambda length: obj_func(x, length, d), t, d, f, g, gtd, c1, c2, tolerance_change, max_ls)


def fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Which way an optimizer takes unless it is told: neither on the cpu, whose ordinary way is the fast one."""
    return False, False


def with_grad_if_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A step of an optimizer that records gradients only if the optimizer is differentiable."""
    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)
    return step


STATE_DICT = dict[str, Any]


# ---- torch.storage, torch._utils, torch.nn.modules.module
def load_from_bytes(data: bytes) -> Any:
    """The storage in a pickled tensor of PyTorch, which is a file of its own."""
    return torch.load(io.BytesIO(data), weights_only=False)


def set_state(obj: Any, state: Any) -> Any:
    """Give an object the attributes of a state: a dict, or a pair of dicts with the slots second."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    obj.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj


def add_indent(s_: str, numSpaces: int) -> str:
    """A text whose lines after the first begin with spaces.

    >>> add_indent("a\\nb", 2)
    'a\\n  b'
    """
    return s_.replace("\n", "\n" + " " * numSpaces)


# ---- torch._dynamo.utils, torch._subclasses, torch.distributed
def without_recompile_limit() -> Any:
    """A scope in which functions are compiled as often as it takes."""
    return compile_state.config.patch(recompile_limit=sys.maxsize, cache_size_limit=sys.maxsize)


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn unless the same was said before."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def no_module_state(module: Any) -> None:
    """What composable parallelism keeps of a module: nothing."""
    return None


# ---- torch._utils_internal
def file_path(*parts: str) -> str:
    """A file of the installed package."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(torch.__file__))), *parts)


def file_path_beside(*parts: str) -> str:
    """A file next to another."""
    return os.path.join(*parts)


def writable_path(path: str) -> str:
    """`path` if it can be written to, else a new folder."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


# ---- torch._export.wrappers
def exportable_constructor(constructor: Any) -> Any:
    """Mark the `__init__` of a tensor subclass as one that exported programs may call."""
    if constructor.__name__ != "__init__":
        raise RuntimeError(
            "torch._export.wrappers.mark_constructor_exportable_experimental can only be applied on subclass tensor.__init__"
            f"But, you are adding it on {constructor.__name__} which is not supported. If __init__ doesn't exist on your "
            "subclass, please add it. Look at DTensor.__init__ implementation for example")

    @functools.wraps(constructor)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(self, torch.Tensor):
            raise RuntimeError("torch._export.wrappers.mark_constructor_exportable_experimental can only be applied on "
                               f"subclass tensor.__init__, but {type(self)} is no tensor")
        constructor(self, *args, **kwargs)
    return __init__


# ---- torch._inductor.utils
GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]


# ---- torch._dynamo.utils
def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A copy of a tensor with its strides, its gradient and its requires_grad; contiguous where its elements overlap."""
    with torch.no_grad():
        kind = dtype or x.dtype
        overlaps = any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride(), strict=True))
        if x.layout is not torch.strided or x.is_meta or overlaps:
            made = x.detach().clone().to(kind)
        else:
            length = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True)) if x.numel() else 0
            made = torch.empty(length, dtype=kind, device=x.device).as_strided(x.shape, x.stride()).detach()
            made.copy_(x.detach())
        made.requires_grad_(x.requires_grad)
        if x.is_leaf and x.grad is not None:
            made.grad = clone_input(x.grad, dtype=dtype)
    return made


# ---- torch.autograd.function
def nested_map(condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None) -> Any:
    """A function that maps the leaves of nested lists, tuples and dicts for which `condition` holds."""
    def mapped(obj: Any) -> Any:
        if condition(obj):
            return fn(obj)
        if obj is None:
            return None
        if isinstance(obj, (list, tuple)):
            items = [mapped(item) for item in obj]
            return type(obj)(*items) if hasattr(obj, "_fields") else type(obj)(items)
        if isinstance(obj, dict):
            return {key: mapped(value) for key, value in obj.items()}
        raise ValueError(f"Auto nesting doesn't know how to process an input object of type {torch.typename(obj)}"
                         + (f". Accepted types: {condition_msg}, or lists/tuples of them" if condition_msg else ""))
    return mapped


def make_dual_at(primal: Any, tangent: Any, level: int) -> Any:
    return forward_ad.make_dual(primal, tangent, level=level)


def unpack_dual_at(dual: Any, level: int) -> Any:
    return forward_ad.unpack_dual(dual, level=level)


def make_dual_copy(primal: Any, tangent: Any, level: int) -> Any:
    return forward_ad.make_dual(primal, tangent, level=level).clone()


def primal_copy(self: Any, level: int) -> Any:
    return forward_ad.unpack_dual(self, level=level).primal.clone()


def sparse_broadcast_to_copy(self: Any, size: Any) -> Any:
    return _sparse_helpers._sparse_broadcast_to(self, size).clone()
