"""The dispatcher that every op goes through: records it, runs its kernel, wraps the results.

NOTE [The fast path and the slow path]
`call_ordinary` is the fast path: one test for any mode in this thread (`switches`, see state.py), one of each tensor
(`_flags`, see tensor.py); if all are clear it records and computes.
The slow path (`call_slow`) goes through the layers from the outside in: transforms, inference mode, autograd with
forward mode, dispatch modes and subclasses, conjugate and negative bits, devices. Each layer is a function of (op, args)
that calls the one below. Arguments are a list in schema order; a Python number may stand where the schema says Tensor.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import forward, views
from retrograd.core.convert import fitting
from retrograd.core.device import missing
from retrograd.core.forward import run as run_dual
from retrograd.core.hooks import hooks
from retrograd.core.kernels import (
    FLOAT32,
    FLOAT64,
    check_writable,
    compute_arrays,
    run_kernel,
    write_into,
)
from retrograd.core.lean import rest_of, spread, spread_with
from retrograd.core.opdef import OpDef, find_packet
from retrograd.core.origin import note_call
from retrograd.core.quick import quick_result, tensors_of, write_quick, write_straight
from retrograd.core.record import dropped, finish, record, save_result, save_written
from retrograd.core.saved import share_counter
from retrograd.core.state import grad_enabled, inference, run_flags, slow_path, switches, tls
from retrograd.core.storage import offset_of, strides_of
from retrograd.core.tensor import (
    FLAG_CONJ,
    FLAG_DUAL,
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_NEG,
    FLAG_PENDING,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    FUNCTIONS_BY_NAME,
    Dispatcher,
    Tensor,
    View,
    bump,
    counter_of,
    new_tensor,
    operators,
    wants_grad,
    wrap,
)
from retrograd.core.views import (
    DEFAULT,
    INFERENCE_MODE,
    LONGEST,
    MULTI_OUTPUT_NODE,
    NO_GRAD_MODE,
    Replayer,
    check_inplace,
    mark_view,
    rebase,
    refresh,
    shorten,
)

ndarray = np.ndarray


# ---- the fast path
class Dispatch(Dispatcher):
    """The entry points for Tensor's operators and generated functions."""

    def unary(self, op: OpDef, a: Any) -> Any:
        """An op of one tensor, with the defaults of its other arguments."""
        if switches.tape is not None:
            made = switches.tape.unary(op, a)
            if made is not None:
                return made
        if op.straight:
            made = call_straight(op, a, None)
            if made is not None:
                return made
        args = [a, *op.tail]
        if a._flags or switches.any_mode and slow_path():
            return run_dual(op, args, autograd) if a._flags == FLAG_DUAL and not switches.any_mode else call_operator(op, args)
        return call_ordinary(op, args)

    def binary(self, op: OpDef, a: Any, b: Any) -> Any:
        """An op of two tensors, or of a tensor and a number, with the defaults of its other arguments."""
        if switches.tape is not None:
            made = switches.tape.binary(op, a, b)
            if made is not None:
                return made
        flags = a._flags
        if isinstance(b, Tensor):
            other = b
            flags |= other._flags
        elif type(b) is not float and (type(b) is not int or not -2147483648 <= b <= 2147483647):
            return call_number(op, a, b)
        if op.straight:
            made = call_straight(op, a, b)
            if made is not None:
                return made
        args = [a, b, *op.tail]
        if flags or switches.any_mode and slow_path():
            return run_dual(op, args, autograd) if flags == FLAG_DUAL and not switches.any_mode else call_operator(op, args)
        return call_ordinary(op, args)

    def call(self, op: OpDef, args: Any) -> Any:
        """Any op, with its arguments as a list in schema order."""
        return call(op, args)

    def refresh(self, tensor: Tensor) -> None:
        refresh(tensor)

    def counted(self, tensor: Tensor) -> None:
        share_counter(tensor)

    def function(self, name: str, args: Any) -> Any:
        if switches.any_mode and tls.function_modes:
            return hooks.torch_special(name, args)
        for t in args:
            if isinstance(t, Tensor) and t._flags & FLAG_SUBCLASS and not tls.function_disabled:
                return hooks.torch_special(name, args)
        return FUNCTIONS_BY_NAME[name](*args)


def call_straight(op: Any, a: Any, b: Any) -> Any:
    """`call_ordinary` for one or two operands and a compiled kernel of them alone (`op.straight`, see recipe.py); `b` is None
    for an op of one. None if a tensor, a mode or the kernel needs more."""
    if a._flags or switches.any_mode and slow_path():
        return None
    x = a.array
    mask = 1 if a._requires or (a._view is not None and a._view.base._requires) else 0
    y = b
    if isinstance(b, Tensor):
        other = b
        if other._flags:
            return None
        y = other.array
        if other._requires or (other._view is not None and other._view.base._requires):
            mask |= 2
    if switches.any_mode and mask and not grad_enabled():
        mask = 0
    if op.is_inplace:
        return None if mask or a._view is not None or not write_straight(op, x, y) else bumped(a)
    made = op.native(x) if b is None else op.native(x, y)
    if type(made) is not ndarray:
        return None
    out = new_tensor(made)
    if mask and op.differentiable:
        node = record(op, (a,) if b is None else (a, b), mask, False)
        z = made
        node._shape_ = z.shape
        node._dtype_ = z.dtype
        out._node = node
        out._requires = True
        if op.saves_result:
            save_result(op, node, mask, out)
    return out


def bumped(t: Tensor) -> Tensor:
    bump(t)
    return t


def call(op: Any, args: Any) -> Any:
    """Run any op of the table on arguments in schema order."""
    if not op._ready:
        op.prepare()
    if switches.any_mode and slow_path():
        if switches.tape is not None:
            made = switches.tape.call(op, args)
            if made is not None:
                return made
        return call_slow(op, args)
    return call_ordinary(op, args)


def call_operator(op: OpDef, args: Any) -> Any:
    """The slow path from an operator: overrides of the public function come first."""
    if not op._ready:
        op.prepare()
    count = min(len(op.tensor_args), 2)
    if tls.function_disabled == 0:
        for t in args[:count]:
            if isinstance(t, Tensor) and t._flags & FLAG_SUBCLASS:
                return hooks.torch_operator(op, args[:count])
    if tls.function_modes and tls.function_disabled < 2:
        return hooks.torch_operator(op, args[:count])
    return call(op, args)


def call_number(op: OpDef, a: Any, b: Any) -> Any:
    """A binary op whose second operand is not a plain tensor: a number, an array, a subclass, or an error."""
    if isinstance(b, (Tensor, bool, int, float, complex)):
        if type(b) is int:
            b = fitting(b)
        return call_operator(op, [a, b, *op.tail])
    if isinstance(b, np.generic) and b.dtype.kind in "fiubc":
        return call_operator(op, [a, b.item(), *op.tail])
    if hasattr(b, "__torch_function__") and not tls.function_disabled:
        return hooks.torch_operator(op, [a, b])
    return FUNCTIONS_BY_NAME["__binary__"](op, a, b)


def call_ordinary(op: Any, args: Any) -> Any:
    """Run an op in a thread without modes: one pass over its tensors, then its node, its kernel and new tensors.

    A tensor with flags takes the call to the slow path.
    """
    if not op._ready:
        op.prepare()
    if op.one_view:
        t = args[0]
        return call_view(op, args) if t._flags == 0 else call_slow(op, args)
    if op.is_out:                         # a reference to its array here would make a resized output look shared
        return call_slow(op, args)
    if op.composite and (not op.quick or op.is_inplace):
        return call_composite(op, args)
    records = switches.any_mode == 0 or grad_enabled()
    values = list(args)
    mask = 0                              # bit i: the i-th of op.inputs needs a gradient
    floats = True                         # all operands are tensors of float32 or float64, or real numbers
    for k in range(len(op.tensor_args)):
        i = op.tensor_args[k]
        value = values[i]
        if isinstance(value, Tensor):
            t = value
            if t._flags:
                return call_slow(op, args)
            if records and (t._requires or (t._view is not None and t._view.base._requires)):
                mask |= op.grad_bits[k]
            array = t.array
            if array.dtype is not FLOAT32 and array.dtype is not FLOAT64:
                floats = False
            values[i] = array
        elif isinstance(value, (list, tuple)):
            arrays = []
            for item in value:
                if isinstance(item, Tensor):
                    t = item
                    if t._flags:
                        return call_slow(op, args)
                    if records and (t._requires or (t._view is not None and t._view.base._requires)):
                        mask |= op.grad_bits[k]
                    array = t.array
                    if array.dtype is not FLOAT32 and array.dtype is not FLOAT64:
                        floats = False
                    item = array
                arrays.append(item)
            values[i] = arrays
        elif value is not None and type(value) is not float and type(value) is not int:
            floats = False
    if op.composite:
        if mask == 0:
            made = quick_result(op, args, values, floats)
            if made is not None:
                return new_tensor(made) if type(made) is ndarray else tensors_of(op, made)
        return op.compute(*args)
    if op.is_inplace:
        return call_inplace(op, args, values, mask, floats, records)
    return record_and_run(op, args, values, mask, floats)


def call_composite(op: Any, args: Any) -> Any:
    """`call_ordinary` for an op that only calls others; it holds no reference to an array (`resize_` counts them)."""
    for i in op.tensor_args:
        value = args[i]
        if isinstance(value, Tensor):
            t = value
            if t._flags:
                return call_slow(op, args)
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Tensor):
                    t = item
                    if t._flags:
                        return call_slow(op, args)
    if op.meant is not None:
        return call_ordinary(op.meant, args)
    return spread(op.compute, args) if type(args) is list else op.compute(*args)


def record_and_run(op: Any, args: Any, values: Any, mask: int, floats: bool) -> Any:
    """Record an op if a gradient is wanted, run its kernel on `values` (`args` with arrays for tensors), wrap the results."""
    if not op.simple or op.device_arg >= 0 and (args[op.device_arg] is not None or args[op.device_arg - 1] is not None):
        return autograd(op, args)
    if op.real_only and mask and takes_complex(op, args):
        return autograd(op, args)
    node = record(op, args, mask, False) if mask else None
    made = quick_result(op, args, values, floats) if op.quick else None
    if made is None:
        made = run_kernel(op, args, values)
    if op.multiple:
        made = tensors_of(op, made)
        if op.is_view:
            view_results(op, args, made)
        if node is not None:
            finish(op, node, mask, made)
        return made
    z = made if type(made) is ndarray else np.asarray(made)
    out = new_tensor(z)
    if op.is_view and z is not values[0]:
        if op.differentiable:              # a view of the first of several tensors
            mark_view(op, args[1:], args[0], out)
        else:
            out._counter = counter_of(args[0])
    if node is not None and (z.dtype.kind in "fcVW" or not dropped(op, z)):
        if op.real_only and z.dtype.kind in "cW":
            finish(op, node, mask, (out,))
            return out
        node._shape_ = z.shape
        node._dtype_ = z.dtype
        out._node = node
        out._requires = True
        if op.saves_result:
            save_result(op, node, mask, out)
    return out


def call_inplace(op: Any, args: Any, values: Any, mask: int, floats: bool, records: bool) -> Any:
    """Run an in-place op on tensors without flags: its node, the kernel that writes, the target's new history.

    `mask` is not 0 if a tensor needs a gradient.
    """
    target = args[0]
    node = None
    if records and (mask or target._view is not None):
        mask = gradients_of_write(op, args, gradient_mask(op, args) if mask else 0)
        node = record(op, args, mask, True) if mask else None
    if not op.quick or not write_quick(op, args, values, floats):
        write_into(op, target, compute_arrays(op, args))
    bump(target)
    if node is not None:
        node._shape_ = target.array.shape
        node._dtype_ = target.array.dtype
        rebase(target, node)
        if op.saves_result:
            save_written(op, node, mask, target)
    return target


def takes_complex(op: Any, args: Any) -> bool:
    """Whether a tensor among the arguments is complex, or in a list."""
    for i in op.tensor_args:
        t = args[i]
        if isinstance(t, Tensor):
            if t.array.dtype.kind in "cW":
                return True
        elif t is not None:
            return True
    return False


def call_view(op: OpDef, args: Any) -> Any:
    """`call_ordinary` for one differentiable view of one tensor."""
    if not op._ready:
        op.prepare()
    source = args[0]
    native = op.native
    x = source.array
    made = None
    if native is not None and op.check is None:
        made = spread_with(native, x, args)
    if made is None:
        if source._view is not None and (switches.any_mode == 0 or grad_enabled()):
            refresh(source)               # if its base was overwritten, that is the first error
        made = run_kernel(op, args, [x, *args[1:]])
    out = make_view(op, source, rest_of(args), made)
    out._flags |= op.flips
    return out


def make_view(op: OpDef, source: Any, args: Any, array: Any) -> Any:
    """The view tensor on `array`, made by `op` with `args` from an ordinary tensor; skips binding."""
    creation = DEFAULT
    if switches.any_mode and (inference() or not grad_enabled()):
        creation = INFERENCE_MODE if inference() else NO_GRAD_MODE
    out = new_tensor(array)
    counter = source._counter
    if counter is None:
        counter = counter_of(source)
    out._counter = counter
    view = out._view = View.__new__(View)
    view.op = op
    view.args = args
    view.output = -1
    view.version = counter.n
    parent = source._view
    if parent is not None and parent.depth >= LONGEST:
        parent = shorten(source)
    view.parent = parent
    if parent is None:
        view.depth = 0
        view.base = source
        view.creation = creation
        wanted = source._requires
    else:
        view.depth = parent.depth + 1
        view.base = parent.base
        view.creation = creation if creation != DEFAULT else parent.creation
        wanted = source._requires or parent.base._requires
    if wanted and creation == DEFAULT:
        if not op._ready:
            op.prepare()
        node = record(op, (source, *args), 1, False)
        node._shape_ = array.shape
        node._dtype_ = array.dtype
        out._node = node
        out._requires = True
    return out


def transpose_matrix(t: Any) -> Any:
    """The transpose of a matrix, for derivative rules; skips view tracking when nothing records and no mode is on.
    Transposing twice returns the original array, so that a gradient can become `.grad` without a copy."""
    if switches.any_mode and run_flags() == 1 and isinstance(t, Tensor) and t._flags == 0:
        array = t.array
        base = array.base
        if type(base) is ndarray and is_transposed(array, base):
            return new_tensor(base)
        return new_tensor(array.T)
    return t.t()


def is_transposed(array: Any, base: Any) -> bool:
    """Whether `array` is `base.T`, for a contiguous array `base` of its dtype."""
    return (base.dtype == array.dtype and base.flags.c_contiguous and base.shape == array.shape[::-1] and
            base.strides == array.strides[::-1])


def is_ordinary(t: Tensor) -> bool:
    """Whether neither this tensor nor this thread needs the slow path."""
    return not t._flags and (switches.any_mode == 0 or not slow_path())


# ---- the layers, from the outside in
def call_slow(op: OpDef, args: Any) -> Any:
    """The slow path through all layers."""
    if not op._ready:
        op.prepare()
    if switches.any_mode:
        if slow_path() == 1 and tls.deferrer is not None and not tls.below and tls.dispatch_modes:
            return tls.deferrer.take(op, args)
        layers = call_traced if tls.origins else call_layers
        return layers(op, args) if tls.profiler is None else tls.profiler.run_op(op, args, layers)
    return call_layers(op, args)


def call_traced(op: OpDef, args: Any) -> Any:
    """The layers, recording the source line of the call."""
    result = call_layers(op, args)
    note_call(op, args, result)
    return result


def call_layers(op: OpDef, args: Any) -> Any:
    """The layers, outermost first."""
    if hooks.replaced is not None:
        made = hooks.replaced(op, args, False)
        if made is not NotImplemented:
            return made
    if tls.autocast is not None and not tls.below and op.autocast is not None:
        return hooks.autocast(op, args)
    nested = hooks.nested           # set once nested tensors are in use, which may have other formulas
    if nested is not None:
        op = nested(op, args)
    if op.composite:
        return op.compute(*args)
    if tls.below:
        return below(op, args)
    if tls.transforms:
        return tls.transforms[-1].process(op, args)
    if forward.levels.current >= 0:
        return forward.run(op, args, autograd)
    return autograd(op, args)


def autograd(op: OpDef, args: Any) -> Any:
    """Record the op if a gradient is needed, then run it on the layer below."""
    if op.is_out:
        return hooks.write_out(op, args)
    recording = grad_enabled() and not inference()
    mask = gradient_mask(op, args) if recording and (op.differentiable or op.is_inplace) else 0
    if mask and all_inference(op, args):
        mask = 0
    if op.is_inplace:
        return write_recorded(op, args, mask)
    node = record(op, args, mask, False) if mask else None
    result = below(op, args)
    if op.is_view:
        view_results(op, args, result)
    if node is not None:
        outputs = result if op.multiple else (result,)
        finish(op, node, mask, outputs)
    return result


def write_recorded(op: OpDef, args: Any, mask: int) -> Any:
    """`autograd` for an in-place op."""
    target = args[0]
    mask = gradients_of_write(op, args, mask)
    node = record(op, args, mask, True) if mask else None
    below(op, args)
    if not target._flags & FLAG_INFERENCE:
        bump(target)
    if node is not None:
        node._shape_, node._dtype_ = target.array.shape, target.array.dtype
        rebase(target, node)
        save_written(op, node, mask, target)
    return target


def gradients_of_write(op: OpDef, args: Any, mask: int) -> int:
    """Which of the gradients in `mask` an in-place op records; raises if autograd cannot record the write."""
    target = args[0]
    if mask and "casts" in op.traits and target.array.dtype.kind not in "fcVW":
        mask = 0
    check_inplace(target, mask != 0 or wants_grad(target) and "takes_leaves" not in op.traits)
    if mask and not op.differentiable:
        if not target._flags & FLAG_INFERENCE:
            raise RuntimeError(f"the derivative for '{op.name}' is not implemented.")
        mask = 0
    return mask


def gradient_mask(op: OpDef, args: Any) -> int:
    """The op's differentiable inputs that require grad, as bits."""
    mask = 0
    for bit, i in enumerate(op.inputs):
        value = args[i]
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor):
                t = item
                if t._flags & FLAG_PENDING and hooks.settle is not None:      # its node may change then
                    hooks.settle(t)
                if wants_grad(t) and not (t._flags & FLAG_WRAPPER and not tls.transforms):   # its level has ended
                    mask |= 1 << bit
    return mask


def all_inference(op: Any, args: Any) -> bool:
    """Whether all tensors are inference tensors, which bypass autograd."""
    found = False
    for i in op.tensor_args:
        values = args[i] if isinstance(args[i], (list, tuple)) else (args[i],)
        for t in values:
            if isinstance(t, Tensor):
                if not t._flags & FLAG_INFERENCE:
                    return False
                found = True
    return found


def view_results(op: OpDef, args: Any, result: Any) -> None:
    """Mark each result as a view of the first argument."""
    source = args[0]
    if source._flags & FLAG_INFERENCE:
        for t in result if op.multiple else (result,):
            t._flags |= FLAG_INFERENCE
        return
    if not op.differentiable:
        result._counter = counter_of(source)
        result._flags &= ~FLAG_INFERENCE
        return
    if op.multiple:
        for i, t in enumerate(result):
            t._flags &= ~FLAG_INFERENCE
            mark_view(op, args[1:], source, t, MULTI_OUTPUT_NODE if grad_enabled() else 0, i)
    elif result is not source:
        result._flags &= ~FLAG_INFERENCE
        mark_view(op, args[1:], source, result)


def below(op: OpDef, args: Any) -> Any:
    """Below autograd: dispatch modes first, then the kernel."""
    if slow_path() and tls.dispatch_modes:
        return hooks.dispatch_mode(op, args)
    return compute(op, args)


def compute(op: Any, args: Any) -> Any:
    """Run the kernel and wrap its results; lazy conjugation and negation are resolved for ops that do not support them."""
    flags = 0
    for i in op.tensor_args:
        for t in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
            if isinstance(t, Tensor):
                flags |= t._flags
    if flags & FLAG_PENDING and hooks.settle is not None:
        hooks.settle(*[t for i in op.tensor_args for t in (args[i] if isinstance(args[i], (list, tuple)) else (args[i],))
                       if isinstance(t, Tensor)])
    if flags & FLAG_SUBCLASS and not tls.dispatch_disabled and overrides_dispatch(op, args):
        return hooks.dispatch_subclass(op, args)
    if hooks.replaced is not None:
        replaced = hooks.replaced(op, args, True)
        if replaced is not NotImplemented:
            return replaced
    if op.is_out:
        return hooks.compute_out(op, args)
    if flags & FLAG_WRAPPER:             # no transform handled it: its own has ended
        return hooks.escaped(op, args)
    if flags & (FLAG_CONJ | FLAG_NEG) and not op.is_view:
        return compute_resolved(op, args)
    if flags & FLAG_SPARSE or op.kernel is None or op.device_arg > 0 and wants_sparse(args[op.device_arg - 1]):
        return hooks.sparse(op, args)
    device = args[op.device_arg] if op.device_arg >= 0 else None
    if flags & FLAG_META or device is not None and device.type == "meta":
        shaped = hooks.meta(op, args)
        lazy = flags & (FLAG_CONJ | FLAG_NEG) ^ op.flips
        for t in (shaped if op.multiple else (shaped,)) if lazy else ():
            t._flags |= lazy
        return shaped
    if device is not None and device.type != "cpu":
        raise missing(device)
    arrays = compute_arrays(op, args)
    if op.is_inplace:
        write_into(op, args[0], arrays)
        return args[0]
    bits = flags & (FLAG_CONJ | FLAG_NEG) ^ op.flips
    if op.multiple:
        made: Any = [None if a is None else wrap(a) for a in arrays]
        if bits:
            for t in made:
                t._flags |= bits
        return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)
    out = wrap(arrays)
    if bits:
        out._flags |= bits
    return out


def wants_sparse(layout: Any) -> bool:
    """Whether a factory is called with a layout other than strided; the argument precedes the device."""
    return layout is not None and (getattr(layout, "name", None) or "strided") != "strided"


def overrides_dispatch(op: Any, args: Any) -> bool:
    """Whether an argument's class overrides `__torch_dispatch__`."""
    for i in op.tensor_args:
        for t in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
            if isinstance(t, Tensor) and t._flags & FLAG_SUBCLASS and (
                    type(t).__torch_dispatch__ is not Tensor.__torch_dispatch__):
                return True
    return False


def compute_resolved(op: OpDef, args: Any) -> Any:
    """`compute` on operands whose conjugate and negative bits have been applied."""
    target = args[0] if op.is_inplace else None
    plain: list[Any] = [resolve(a) if isinstance(a, Tensor) else [resolve(t) if isinstance(t, Tensor) else t for t in a]
             if isinstance(a, (list, tuple)) else a for a in args]
    if target is not None and target._flags & (FLAG_CONJ | FLAG_NEG):
        compute(op, plain)
        if target._flags & FLAG_META:
            return target
        check_writable(target.array)
        value = plain[0].array
        value = np.conj(value) if target._flags & FLAG_CONJ else value
        target.array[...] = np.negative(value) if target._flags & FLAG_NEG else value
        return target
    if target is not None:
        plain[0] = target
    return compute(op, plain)


def resolve(t: Tensor) -> Any:
    """`t` with its conjugate and negative bits applied; its values are there."""
    if t._flags & FLAG_PENDING and hooks.settle is not None:
        hooks.settle(t)
    if not t._flags & (FLAG_CONJ | FLAG_NEG):
        return t
    array = t.array
    if t._flags & FLAG_META:
        made = new_tensor(array)
        made._flags |= FLAG_META
        return made
    if t._flags & FLAG_CONJ:
        array = np.conj(array)
    if t._flags & FLAG_NEG:
        if array.dtype.kind == "b":
            raise NotImplementedError("\"neg_cpu\" not implemented for 'Bool'")
        array = np.negative(array)
    return new_tensor(np.asarray(array))      # NumPy returns a scalar for 0-d arrays


# ---- services for views
class ViewDispatch(Replayer):
    """Lets views.py call ops."""

    @property
    def as_strided(self) -> Any:
        return find_packet("as_strided").default  # type: ignore[union-attr]

    def call(self, op: OpDef, args: Any) -> Any:
        return call(op, args)

    def as_strided_node(self, t: Tensor, base: Any) -> Any:
        """An AsStridedBackward0 that leads from view `t` to its base."""
        array = t.array
        args = (base, array.shape, strides_of(array), offset_of(array))
        node = record(self.as_strided, args, 1, False)
        node._shape_, node._dtype_ = array.shape, array.dtype
        return node

    def contiguous_clone(self, t: Tensor) -> Any:
        return hooks.contiguous_clone(t)

    def backward_copy(self, grad: Any, shape: Any, strides: Any) -> Any:
        return hooks.copy_to_layout(grad, shape, strides)


dispatcher = Dispatch()
operators.dispatcher = dispatcher
views.replayer = ViewDispatch()
