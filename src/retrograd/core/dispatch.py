"""The one door every op goes through: record it, run its kernel, wrap what comes out.

NOTE [The short way and the long way]
`unary`, `binary` and `call` are the short way. They make one test for anything unusual in this thread
(`switches`, see state.py) and one in the tensors (`_odd`, see tensor.py); if both are clear they record and compute.
The long way (`call_long`) goes through the layers from the outside in: transforms, inference mode, autograd with
forward mode, dispatch modes and subclasses, conjugate and negative bits, devices. Each layer is a function of (op, args)
that calls the one below. Arguments are a list in schema order; a Python number may stand where the schema says Tensor.
"""
from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from retrograd.core import forward, opdef, views
from retrograd.core.device import missing
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.graph import Node, accumulator, describe_outputs, edge_of, sequence, set_history
from retrograd.core.kernels import check_overlap, compute_arrays, in_order, run_kernel, write_into
from retrograd.core.opdef import ATTR, AUTOCAST, GRAD, GRADS, NEEDED, NOT_IMPLEMENTED, SAVED
from retrograd.core.origin import remember
from retrograd.core.saved import FREED, SavedTensor, note_version, save_input, save_output, unpack
from retrograd.core.state import switches, tls
from retrograd.core.storage import offset_of, strides_of
from retrograd.core.tensor import (
    ODD_CONJ,
    ODD_DUAL,
    ODD_INFERENCE,
    ODD_META,
    ODD_NEG,
    ODD_SPARSE,
    ODD_SUBCLASS,
    ODD_WRAPPER,
    Counter,
    Door,
    Size,
    Tensor,
    bump,
    counter_of,
    new_tensor,
    operators,
    wants_grad,
    wrap,
)
from retrograd.core.views import MULTI_OUTPUT_NODE, Replayer, check_inplace, mark_view, rebase, refresh

ndarray = np.ndarray


class OpNode(Node):
    """The node of an op from the table; its rules say how gradients pass through it."""

    __slots__ = ("op",)

    def _run(self, grads: Any, needed: Any) -> Any:
        op = self.op
        nexts = self._next
        results: list[Any] = [None] * len(nexts)
        grad = grads[0]
        if grad is None and (len(grads) == 1 or all([g is None for g in grads])):
            return results
        if op.vjp == NOT_IMPLEMENTED:
            if op.node_name == "NotImplemented":
                raise RuntimeError(f"derivative for aten::{op.name} is not implemented")
            what = f"inplace version of {op.name[:-1]}" if op.is_inplace else op.name
            raise NotImplementedError(f"the derivative for '{what}' is not implemented.")
        if op.has_lists:
            return self.apply_lists(grads, needed)
        for rule in op.rules:
            wanted = False
            for i in rule.targets:
                if nexts[i] is not None and (needed is None or needed[i]):
                    wanted = True
            if not wanted:
                continue
            if rule.shape == 1:
                out = rule.fn(grad)
            elif rule.shape == 2:
                out = rule.fn(grad, unpack_fast(self, rule.index))
            else:
                out = rule.fn(*rule_arguments(self, rule, grads, needed))
            if rule.many:
                for i, g in zip(rule.targets, out, strict=True):
                    if nexts[i] is not None:
                        results[i] = g
            else:
                results[rule.targets[0]] = out
        return results

    def apply_lists(self, grads: Any, needed: Any) -> Any:
        """`apply` for ops some of whose inputs are lists of tensors: one edge for each of their items."""
        op = self.op
        starts, counts = self._attrs[len(op.attr_names)]
        results: list[Any] = [None] * len(self._next)
        for rule in op.rules:
            spans = [(starts[i], counts[i]) for i in rule.targets]
            flags = [[self._next[s + k] is not None and (needed is None or needed[s + k])
                      for k in range(max(c, 1) if c != 0 else 0)] for s, c in spans]
            if not any([any(f) for f in flags]):
                continue
            values = [(flags[0] if len(flags) == 1 else flags) if kind == NEEDED else value
                      for (kind, _), value in zip(rule.sources, rule_arguments(self, rule, grads, needed), strict=True)]
            outs = rule.fn(*values)
            if not rule.many:
                outs = (outs,)
            for (start, number), out in zip(spans, outs, strict=True):
                if number < 0:                       # a single tensor
                    results[start] = out
                else:
                    for k in range(number):
                        results[start + k] = None if out is None else out[k]
        return results

    def _release(self) -> None:
        if self._saved is not None:
            for item in self._saved:
                if type(item) is SavedTensor:
                    item.release()
                elif type(item) is list:
                    for entry in item:
                        if type(entry) is SavedTensor:
                            entry.release()
            self._saved = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_") or name.startswith("_raw_saved_"):
            return saved_attribute(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> Any:
        op = self.op
        names = ["_saved_" + n for n in [*op.saved_names, *[n for i, n in enumerate(op.attr_names) if op.shows(i)]]]
        names += ["_raw_saved_" + n for n in op.saved_names]
        return [*object.__dir__(self), *names]


def unpack_fast(node: Any, slot: int) -> Any:
    """`unpack` for the commonest case: a plain tensor that was an input and has not been written to."""
    if node._saved is not None and type(node._saved[slot]) is Tensor:
        t = node._saved[slot]
        counter = t._counter
        if (counter is None or (node._versions is None and counter.n == 0)) and t._extra is None and not (
                node.op.saves_result and node.op.saved_outputs[slot] >= 0):
            return t
    return unpack(node, slot)


def rule_arguments(node: Any, rule: Any, grads: Any, needed: Any) -> Any:
    """What a rule asks for by the names of its parameters."""
    values = []
    for kind, index in rule.sources:
        if kind == GRAD:
            values.append(grads[0])
        elif kind == SAVED:
            values.append(unpack(node, index))
        elif kind == ATTR:
            values.append(node._attrs[index])
        elif kind == GRADS:
            values.append(grads)
        else:
            nexts = node._next
            values.append([nexts[i] is not None and (needed is None or needed[i]) for i in range(len(nexts))])
    return values


def saved_attribute(node: Any, name: str) -> Any:
    """`node._saved_x` and `node._raw_saved_x`."""
    op = node.op
    raw = name.startswith("_raw")
    key = name[len("_raw_saved_"):] if raw else name[len("_saved_"):]
    if key in op.attr_names and not raw and op.shows(op.attr_names.index(key)):
        slot = op.attr_names.index(key)
        kind, argument, _ = op.attr_kinds[slot]
        param = op.schema.params[argument]
        if node._attrs is not None:
            value = node._attrs[slot]
        else:                                            # a call with default arguments, by the short way
            value = op.tail[argument - len(op.tensor_args)] if kind == opdef.VALUE else None
        if value is None and kind == opdef.STRIDES:
            return ()
        if key.endswith("_sizes_opt") and not value:
            return (0,)                                  # as PyTorch shows the sizes of a tensor that was not given
        if kind in (opdef.SIZES, opdef.SHAPE) and type(value) is tuple:
            return Size(value)
        if kind == opdef.VALUE and param.type in ("int", "SymInt"):
            return tuple([unsigned(v) for v in value]) if isinstance(value, (list, tuple)) else unsigned(value)
        return tuple(value) if type(value) is list else value
    if key not in op.saved_names:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")
    slot = op.saved_names.index(key)
    if node._saved is None and not op.has_lists:
        plan = op.plan(sum([1 << i for i, n in enumerate(node._next) if n is not None]))
        if not plan.inputs and not plan.outputs:              # the rules in use needed nothing
            return SavedTensor.nothing() if raw else None
    if node._saved is None:
        if not raw:
            raise RuntimeError(FREED)
        released = SavedTensor.nothing()
        released.release()
        return released
    item = node._saved[slot]
    if not raw:
        if type(item) is SavedTensor:
            return item.unpack(node)
        value = unpack(node, slot)
        if type(value) in (int, float, complex, bool):
            return wrap(np.asarray(value, np.float64 if type(value) is float else None))
        return tuple(value) if type(value) is list else value
    if isinstance(item, Tensor):
        output = op.saved_outputs[slot]
        version = 0 if node._versions is None else node._versions[slot]
        item = SavedTensor.packed(item, node, output >= 0, max(output, 0), False)
        item._version = version
        node._saved[slot] = item
    elif item is None or not isinstance(item, (SavedTensor, list)):
        return SavedTensor.nothing()
    elif isinstance(item, list):
        return tuple([SavedTensor.nothing() if entry is None else entry for entry in item])
    return item


def unsigned(value: Any) -> Any:
    """A saved integer as nodes show it: negative ones wrap around."""
    return value + 2**64 if type(value) is int and value < 0 else value


def node_class(op: Any) -> Any:
    """The class of the nodes that `op` records, named as in PyTorch."""
    made = op._node_class
    if made is None:
        if not op._ready:
            op.prepare()
        made = op._node_class = NODE_CLASSES.get(op.node_name)
        if made is None:
            members: dict[str, Any] = {"__slots__": (), "__module__": "torch.autograd"}
            # the few that are not made out of a formula
            if not op.node_name[-1].isdigit() and not op.node_name.endswith("_copy"):
                full = "torch::autograd::" + op.node_name
                members["name"] = lambda self: full
            made = op._node_class = type(op.node_name, (OpNode,), members)
            NODE_CLASSES[op.node_name] = made
    return made


NODE_CLASSES: dict[str, Any] = {}


# ---- recording
def record(op: Any, args: Any, mask: int, inplace: bool) -> Any:
    """A node for `op` with its edges and saved inputs; the inputs in `mask` need a gradient."""
    cls = op._node_class
    if cls is None:
        cls = node_class(op)
    node = cls()
    node.op = op
    if op.has_lists:
        record_lists(op, args, node)
        if switches.unusual and tls.anomaly:
            remember(node)
        return node
    plan = op.plans.get(mask)
    if plan is None:
        plan = op.plan(mask)
    nexts = []
    i = 0
    for arg in op.inputs:
        n = None
        if mask >> i & 1:
            source = args[arg]
            n = source._node
            if n is None or source._view is not None:
                n = edge_of(source)
            if source._nr and n is not None:
                if node._nrs is None:
                    node._nrs = [0] * len(op.inputs)
                node._nrs[i] = source._nr
        nexts.append(n)
        i += 1
    node._next = tuple(nexts) if op.node_name != "NotImplemented" else tuple([n for n in nexts if n is not None])
    if plan.inputs or plan.outputs:
        node._saved = [None] * len(op.saved_names)
        plain = switches.unusual == 0 or not tls.special
        for slot, arg in plan.inputs:
            t = args[arg]
            if inplace and arg == 0:
                t = t.clone() if not t._odd & ~ODD_DUAL else t.detach().clone()
            if plain and type(t) is Tensor and t._odd == 0:
                if t._counter is not None:
                    note_version(node, slot, t)
                node._saved[slot] = t
            else:
                save_input(node, slot, t)
    if plan.attrs:
        node._attrs = [None] * len(op.attr_names)
        for slot, kind, arg, extra in plan.attrs:
            node._attrs[slot] = attribute_value(kind, args[arg], extra)
    if switches.unusual and tls.anomaly:
        remember(node)
    return node


def number_fits(op: Any, array: Any, number: Any) -> bool:
    """Whether NumPy gives an array with a Python number the dtype that PyTorch does."""
    kind = array.dtype.kind
    if op.exact and array.dtype.itemsize == 2 and kind in "fV":
        return False
    if type(number) is float:
        return kind in "fc"
    return type(number) is int and (kind in "fcV" or (kind in "iu" and not op.floats)) and -2147483648 <= number <= 127


def record_short(op: Any, a: Any, b: Any, mask: int) -> Any:
    """`record` for the short way: one or two tensors without anything unusual (`b` may be a number)."""
    cls = op._node_class
    if cls is None:
        cls = node_class(op)
    plan = op.short_plans[mask]
    if plan is None:
        plan = op.short_plans[mask] = op.short_plan(mask)
    node = OpNode.__new__(cls)            # without __init__: a call saved
    sequence.n += 1
    node._seq = sequence.n
    node._count = 1
    node._nrs = node._saved = node._versions = node._attrs = node._hooks = node._metadata = None
    node.op = op
    first = second = None
    nr = 0
    if mask & 1:
        first = a._node
        if first is None or a._view is not None:
            first = edge_of(a)
        nr = a._nr
    if b is None:
        node._next = (first,)
        if nr:
            node._nrs = [nr]
    else:
        if mask & 2:
            other = b
            second = other._node
            if second is None or other._view is not None:
                second = edge_of(other)
            node._next = (first, second)
            if nr or other._nr:
                node._nrs = [nr, other._nr]
        else:
            node._next = (first, None) if op.two_inputs else (first,)
            if nr:
                node._nrs = [nr, 0]
    if plan.saves:
        saved = node._saved = [None] * plan.saves
        if plan.first >= 0:
            saved[plan.first] = a
            if a._counter is not None:
                note_version(node, plan.first, a)
        if plan.second >= 0:
            saved[plan.second] = b
            if type(b) is Tensor:
                other = b
                if other._counter is not None:
                    note_version(node, plan.second, other)
    if plan.attrs:
        node._attrs = [None] * len(op.attr_names)
        for slot, kind, arg, extra in plan.attrs:
            node._attrs[slot] = attribute_value(kind, a if arg == 0 else b if arg == 1 and b is not None else
                                               op.tail[arg - len(op.tensor_args)], extra)
    return node


def record_lists(op: Any, args: Any, node: Any) -> None:
    """Edges and saved values of an op with lists of tensors among its inputs."""
    inputs: list[Any] = []
    starts, counts = [], []
    for arg in op.inputs:
        value = args[arg]
        starts.append(len(inputs))
        if isinstance(value, (list, tuple)):
            counts.append(len(value))
            inputs.extend(value)
        else:
            counts.append(-1)
            inputs.append(value)
    nexts = [edge_of(t) if isinstance(t, Tensor) else None for t in inputs]
    node._next = tuple(nexts)
    if any([n is not None and t._nr for n, t in zip(nexts, inputs, strict=True)]):
        node._nrs = [t._nr if n is not None else 0 for n, t in zip(nexts, inputs, strict=True)]
    plan = op.plan((1 << len(op.inputs)) - 1)
    if plan.inputs or plan.outputs:
        node._saved = [None] * len(op.saved_names)
        for slot, arg in plan.inputs:
            save_input(node, slot, args[arg])
    attrs = [None] * len(op.attr_names)
    for slot, kind, arg, extra in plan.attrs:
        attrs[slot] = attribute_value(kind, args[arg], extra)
    node._attrs = [*attrs, (starts, counts)]


def attribute_value(kind: int, value: Any, extra: int) -> Any:
    """What an attribute slot keeps of an argument."""
    if kind == opdef.VALUE:
        return value
    if isinstance(value, (list, tuple)):
        return [attribute_value(kind, item, extra) for item in value]
    if not isinstance(value, Tensor):
        return () if kind in (opdef.SIZES, opdef.STRIDES) else 0 if kind == opdef.NDIM else None
    array = value.array
    if kind == opdef.SIZES or kind == opdef.SHAPE:
        return array.shape
    if kind == opdef.DTYPE:
        return BY_NUMPY[array.dtype]
    if kind == opdef.NDIM:
        return array.ndim
    if kind == opdef.STRIDES:
        return strides_of(array)
    if kind == opdef.GEOMETRY:
        return array.shape, strides_of(array), offset_of(array)
    if kind == opdef.NUMEL:
        return array.size
    if kind == opdef.LAYOUT or kind == opdef.BLOCKSIZE:
        return METHODS["__layout__" if kind == opdef.LAYOUT else "__blocksize__"](value)
    return array.shape[extra]


def finish(op: Any, node: Any, mask: int, outputs: Any) -> None:
    """Give the outputs their history and save those that the rules use."""
    shown = [t if t is not None and BY_NUMPY[t.array.dtype].category >= 2 and nr not in op.constant else None
             for nr, t in enumerate(outputs)]
    if op.real_only and any([t is not None and t.array.dtype.kind == "c" for t in shown]):
        raise RuntimeError(f"{op.name} does not support automatic differentiation for outputs with complex dtype.")
    if len(outputs) == 1 and shown[0] is None:
        dropped(op, outputs[0].array)
    describe_outputs(node, shown)
    for nr, t in enumerate(shown):
        if t is not None:
            set_history(t, node, nr)
    save_results(op, node, mask, outputs)


def save_results(op: Any, node: Any, mask: int, outputs: Any) -> None:
    plan = op.plan((1 << len(op.inputs)) - 1 if op.has_lists else mask)
    if not plan.outputs:
        return
    for slot, nr in plan.outputs:
        if op.returns_list:
            node._saved[slot] = [SavedTensor.packed(t, node, True, i) for i, t in enumerate(outputs)]
        else:
            save_output(node, slot, outputs[nr], nr)


def save_written(op: Any, node: Any, mask: int, target: Any) -> None:
    """`save_results` of an in-place op; what was written through a view has the view's new history, not the op's."""
    save_results(op, node, mask, (target,))
    if target._view is not None and target._node is not None:
        for slot, _ in op.plan(mask).outputs:
            if isinstance(node._saved[slot], Tensor):
                node._saved[slot] = SavedTensor.packed(target, node, True, target._nr, False)
            node._saved[slot]._producer = ref(target._node)


# ---- the short way
class Dispatch(Door):
    """The entrances that Tensor's operators and the generated functions use."""

    def unary(self, op: Any, a: Any) -> Any:
        """An op of one tensor and no other arguments."""
        if a._odd:
            return call_operator(op, [a, *op.tail])
        x = a.array
        if op.floats and not op.checks and x.dtype.kind not in "fcV":
            if switches.unusual and tls.special:
                return call_operator(op, [a, *op.tail])
            return call_general(op, [a, *op.tail])
        requires = a._requires or (a._view is not None and a._view.base._requires)
        if switches.unusual:
            way = tls.way
            if way:
                if way > 1:
                    return call_operator(op, [a, *op.tail])
                requires = False
        try:
            z = op.fast(x)
        except TypeError:          # a dtype that NumPy refuses: the long way says so in PyTorch's words
            return call_general(op, [a, *op.tail])
        if type(z) is not ndarray:
            if z is None:
                return call_general(op, [a, *op.tail])
            z = np.asarray(z)
        out = new_tensor(z)
        if requires and op.differentiable:
            node = record_short(op, a, None, 1)
            node._shape = z.shape
            node._dtype = z.dtype
            out._node = node
            out._requires = True
            if op.saves_result:
                save_results(op, node, 1, (out,))
        return out

    def binary(self, op: Any, a: Any, b: Any) -> Any:
        """An op of two tensors, or of a tensor and a number."""
        x = a.array
        mask = 0
        if isinstance(b, Tensor):
            other = b
            if a._odd or other._odd:
                return call_operator(op, [a, b, *op.tail])
            y = other.array
            if not op.checks and (x.dtype is not y.dtype or (op.floats and x.dtype.kind not in "fcV")):
                return call_operator(op, [a, b, *op.tail]) if switches.unusual and tls.special else call_general(
                    op, [a, b, *op.tail])
            if other._requires or (other._view is not None and other._view.base._requires):
                mask = 2
        else:
            if a._odd or not (op.checks and type(b) is float or number_fits(op, x, b)):
                return call_number(op, a, b)
            y = b
        if a._requires or (a._view is not None and a._view.base._requires):
            mask |= 1
        if switches.unusual:
            way = tls.way
            if way:
                if way > 1:
                    return call_operator(op, [a, b, *op.tail])
                mask = 0
        fast = op.fast
        if fast is None:
            return call_general(op, [a, b, *op.tail])
        try:
            z = fast(x, y)
        except Exception:
            return call_general(op, [a, b, *op.tail])
        if type(z) is not ndarray:
            if z is None:
                return call_general(op, [a, b, *op.tail])
            z = np.asarray(z)
        elif z.ndim > 1 and op.loose and (op.leading or not x.flags.c_contiguous):      # otherwise NumPy's order is right
            z = in_order(op, [x, y], z)
        out = new_tensor(z)
        if mask and op.differentiable:
            node = record_short(op, a, b, mask)
            node._shape = z.shape
            node._dtype = z.dtype
            out._node = node
            out._requires = True
            if op.saves_result:
                save_results(op, node, mask, (out,))
        return out

    def inplace(self, op: Any, a: Any, b: Any) -> Any:
        """The in-place form of a binary op (`op` is that form, its functional op has a ufunc)."""
        x = a.array
        requires = a._requires or a._view is not None
        if isinstance(b, Tensor):
            other = b
            y = other.array
            if a._odd or other._odd or x.dtype is not y.dtype or (y.ndim and y.shape != x.shape):
                return call_operator(op, [a, b, *op.tail])
            requires = requires or other._requires or other._view is not None
            if requires and x is not y and (x.base is not None or y.base is not None):
                check_overlap(x, (other,))
        else:
            if a._odd or not number_fits(op, x, b):
                return call_operator(op, [a, b, *op.tail])
            y = b
        if switches.unusual:
            if tls.special:
                return call_operator(op, [a, b, *op.tail])
            requires = requires and tls.grad_enabled
        if not x.flags.c_contiguous or (op.floats and x.dtype.kind not in "fcV"):
            return call_general(op, [a, b, *op.tail])
        node = None
        if requires:
            mask = 1 if wants_grad(a) else 0
            if type(b) is Tensor and wants_grad(b):
                mask |= 2
            if mask != 1 or op.plan(1).first >= 0 or op.saves_result:     # a rule that uses the old or the new value
                if mask:
                    return call_general(op, [a, b, *op.tail])
            else:
                check_inplace(a, True)
                node = record_short(op, a, b, 1)
        try:
            into = op.functional.into
            if into is None or into(x, y) is None:
                op.functional.ufunc(x, y, x)
        except Exception:
            return call_general(op, [a, b, *op.tail])
        if a._counter is None:
            a._counter = Counter()
        a._counter.n += 1
        if node is not None:
            node._shape = x.shape
            node._dtype = x.dtype
            rebase(a, node)
        return a

    def call(self, op: Any, args: Any) -> Any:
        """Any op, with its arguments as a list in schema order."""
        return call(op, args)

    def refresh(self, tensor: Any) -> None:
        refresh(tensor)

    def function(self, name: str, args: Any) -> Any:
        return METHODS[name](*args)


METHODS: dict[str, Any] = {}          # what the rarer operators call, by name; filled by api.py


def call(op: Any, args: Any) -> Any:
    """Run any op of the table on arguments in schema order."""
    if not op._ready:
        op.prepare()
    if switches.unusual and tls.special:
        return call_long(op, args)
    for i in op.tensor_args:
        value = args[i]
        if isinstance(value, Tensor):
            t = value
            if t._odd:
                return call_long(op, args)
        elif op.has_lists and isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Tensor) and item._odd:
                    return call_long(op, args)
    return call_plain(op, args)


def call_operator(op: Any, args: Any) -> Any:
    """The long way from an operator: whoever overrides the public function is asked first."""
    if not op._ready:
        op.prepare()
    count = min(len(op.tensor_args), 2)
    if tls.function_disabled == 0:
        for t in args[:count]:
            if isinstance(t, Tensor) and t._odd & ODD_SUBCLASS:
                return METHODS["__torch_operator__"](op, args[:count])
    if tls.function_modes and tls.function_disabled < 2:
        return METHODS["__torch_operator__"](op, args[:count])
    return call(op, args)


def call_number(op: Any, a: Any, b: Any) -> Any:
    """A binary op whose second operand is not a plain tensor: a number, an array, a subclass, or an error."""
    if isinstance(b, (Tensor, bool, int, float, complex)):
        return call_operator(op, [a, b, *op.tail])
    if isinstance(b, np.generic) and b.dtype.kind in "fiubc":
        return call_operator(op, [a, b.item(), *op.tail])
    if hasattr(b, "__torch_function__") and not tls.function_disabled:
        return METHODS["__torch_operator__"](op, [a, b])
    return METHODS["__binary__"](op, a, b)


def call_plain(op: Any, args: Any) -> Any:
    """Tensors that have nothing unusual about them: the short way if this call fits it, else the general one."""
    if not op._ready:
        op.prepare()
    if op.shortcut and len(args) == op.shortcut + len(op.tail) and has_defaults(op, args):
        if op.shortcut == 1:
            return door.unary(op, args[0])
        if isinstance(args[0], Tensor) and isinstance(args[1], Tensor):
            return door.binary(op, args[0], args[1])
    return call_general(op, args)


def has_defaults(op: Any, args: Any) -> bool:
    """Whether the arguments after the tensors are the ones that `fast` is for; True is not 1 here."""
    i = op.shortcut
    for default in op.tail:
        value = args[i]
        if value is not default and (type(value) is not type(default) or value != default):
            return False
        i += 1
    return True


def call_general(op: Any, args: Any) -> Any:
    """Autograd and kernel in one, for tensors that have nothing unusual about them."""
    if op.composite:
        return op.compute(*args)
    if not op.simple:
        return autograd(op, args)
    values = list(args)
    for i in op.tensor_args:
        value = args[i]
        if isinstance(value, Tensor):
            t = value
            values[i] = t.array
    mask = 0
    if op.differentiable and (switches.unusual == 0 or tls.grad_enabled):
        bit = 1
        for i in op.inputs:
            value = args[i]
            if isinstance(value, Tensor):
                t = value
                if t._requires or (t._view is not None and t._view.base._requires):
                    mask |= bit
            bit <<= 1
    node = record(op, args, mask, False) if mask else None
    z = run_kernel(op, args, values)
    if type(z) is not ndarray:
        z = np.asarray(z)
    out = new_tensor(z)
    if op.is_view and z is not values[0]:
        if op.differentiable:
            mark_view(op, (args[1:], None), args[0], out)
        else:
            out._counter = counter_of(args[0])
    if node is not None and (z.dtype.kind in "fcV" or not dropped(op, z)):
        node._shape = z.shape
        node._dtype = z.dtype
        out._node = node
        out._requires = True
        if op.saves_result:
            save_results(op, node, mask, (out,))
    return out


def dropped(op: Any, array: Any) -> bool:
    """Whether a recorded op may have a result without gradient; those that may not raise."""
    if op.name in ("_to_copy", "view"):
        return True
    raise RuntimeError(f"Autograd not support dtype: {BY_NUMPY[array.dtype].legacy}")


def make_view(op: Any, source: Any, args: Any, array: Any) -> Any:
    """The tensor for `array`, which `op` with `args` after the tensor makes of an ordinary one: a way past binding."""
    out = new_tensor(array)
    mark_view(op, (args, None), source, out)
    if wants_grad(source) and (switches.unusual == 0 or tls.grad_enabled):
        if not op._ready:
            op.prepare()
        node = record(op, (source, *args), 1, False)
        node._shape = array.shape
        node._dtype = array.dtype
        out._node = node
        out._requires = True
    return out


def is_ordinary(t: Any) -> bool:
    """Whether nothing about this tensor or thread asks for the long way."""
    return not t._odd and (switches.unusual == 0 or not tls.special)


# ---- the layers, from the outside in
def call_long(op: Any, args: Any) -> Any:
    """The long way: every layer is asked."""
    if not op._ready:
        op.prepare()
    if switches.unusual and tls.profiler is not None:
        return tls.profiler.run_op(op, args, call_layers)
    return call_layers(op, args)


def call_layers(op: Any, args: Any) -> Any:
    """The layers, one around the other."""
    if tls.autocast is not None and not tls.below and op.name in AUTOCAST:
        return METHODS["__autocast__"](op, args)
    if op.composite:
        return op.compute(*args)
    if tls.below:
        return below(op, args)
    if tls.transforms:
        return tls.transforms[-1].process(op, args)
    if forward.levels.current >= 0:
        return forward.run(op, args, autograd)
    return autograd(op, args)


def autograd(op: Any, args: Any) -> Any:
    """Record the op if a gradient is wanted, then run it on the layer below."""
    mask = 0
    target = None
    if op.is_inplace or op.is_out:
        if op.is_out:
            return write_out(op, args)
        target = args[0]
    if op.differentiable or target is not None:
        if tls.grad_enabled:
            mask = gradient_mask(op, args)
            if mask and all_inference(op, args):
                mask = 0
            if target is not None and op.name == "copy_" and target.array.dtype.kind not in "fcV":
                mask = 0
        if target is not None:
            check_inplace(target, mask != 0 or wants_grad(target))
            if target._odd & ODD_INFERENCE == 0 and mask and not op.differentiable:
                raise RuntimeError(f"the derivative for '{op.name}' is not implemented.")
    node = record(op, args, mask, target is not None) if mask and op.differentiable else None
    if target is not None:
        below(op, args)
        if not target._odd & ODD_INFERENCE:
            bump(target)
        if node is not None:
            node._shape, node._dtype = target.array.shape, target.array.dtype
            rebase(target, node)
            save_written(op, node, mask, target)
        return target
    result = below(op, args)
    if op.is_view:
        view_results(op, args, result)
    if node is not None:
        outputs = result if op.multiple else (result,)
        finish(op, node, mask, outputs)
    return result


def gradient_mask(op: Any, args: Any) -> int:
    """Which of the op's differentiable inputs require grad, as bits."""
    mask = 0
    for bit, i in enumerate(op.inputs):
        t = args[i]
        if isinstance(t, Tensor):
            if wants_grad(t) and not (t._odd & ODD_WRAPPER and not tls.transforms):   # it has left its level
                mask |= 1 << bit
        elif isinstance(t, (list, tuple)):
            for item in t:
                if isinstance(item, Tensor) and wants_grad(item):
                    mask |= 1 << bit
                    break
    return mask


def all_inference(op: Any, args: Any) -> bool:
    """Inference tensors bypass autograd, unless a normal tensor takes part."""
    found = False
    for i in op.tensor_args:
        values = args[i] if isinstance(args[i], (list, tuple)) else (args[i],)
        for t in values:
            if isinstance(t, Tensor):
                if not t._odd & ODD_INFERENCE:
                    return False
                found = True
    return found


def view_results(op: Any, args: Any, result: Any) -> None:
    """Note of each result that it is a view of the first argument."""
    source = args[0]
    if source._odd & ODD_INFERENCE:
        for t in result if op.multiple else (result,):
            t._odd |= ODD_INFERENCE
        return
    if not op.differentiable:
        result._counter = counter_of(source)
        return
    if op.multiple:
        for i, t in enumerate(result):
            t._odd &= ~ODD_INFERENCE
            mark_view(op, (args[1:], i), source, t, MULTI_OUTPUT_NODE if tls.grad_enabled else 0)
    elif result is not source:
        result._odd &= ~ODD_INFERENCE
        mark_view(op, (args[1:], None), source, result)


def below(op: Any, args: Any) -> Any:
    """Below autograd: dispatch modes first, then the kernel."""
    if tls.special and tls.dispatch_modes:
        return METHODS["__dispatch_mode__"](op, args)
    return compute(op, args)


def compute(op: Any, args: Any) -> Any:
    """Run the kernel and wrap its results; lazy conjugation and negation are resolved for ops that do not know them."""
    odd = 0
    for i in op.tensor_args:
        for t in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
            if isinstance(t, Tensor):
                odd |= t._odd
    if odd & ODD_SUBCLASS and not tls.dispatch_disabled and overrides_dispatch(op, args):
        return METHODS["__dispatch_subclass__"](op, args)
    if op.is_out:
        return compute_out(op, args)
    if odd & ODD_WRAPPER:             # no transform took it: its own has ended
        return METHODS["__escaped__"](op, args)
    if odd & (ODD_CONJ | ODD_NEG) and not op.is_view:
        return compute_resolved(op, args)
    if odd & ODD_SPARSE or op.kernel is None or op.device_arg > 0 and wants_sparse(args[op.device_arg - 1]):
        return METHODS["__sparse__"](op, args)
    device = args[op.device_arg] if op.device_arg >= 0 else None
    if odd & ODD_META or device is not None and device.type == "meta":
        return METHODS["__meta__"](op, args)
    if device is not None and device.type != "cpu":
        raise missing(device)
    arrays = compute_arrays(op, args)
    if op.is_inplace:
        write_into(op, args[0], arrays)
        return args[0]
    bits = odd & (ODD_CONJ | ODD_NEG) ^ op.flips
    if op.multiple:
        made: Any = [None if a is None else wrap(a) for a in arrays]
        if bits:
            for t in made:
                t._odd |= bits
        return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)
    out = wrap(arrays)
    if bits:
        out._odd |= bits
    return out


def wants_sparse(layout: Any) -> bool:
    """Whether a factory is asked for another layout than the strided one; the argument stands before the device."""
    return layout is not None and getattr(layout, "name", "strided") != "strided"


def overrides_dispatch(op: Any, args: Any) -> bool:
    """Whether an argument is of a class with a `__torch_dispatch__` of its own."""
    for i in op.tensor_args:
        for t in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
            if isinstance(t, Tensor) and t._odd & ODD_SUBCLASS and (
                    type(t).__torch_dispatch__ is not Tensor.__torch_dispatch__):
                return True
    return False


def compute_resolved(op: Any, args: Any) -> Any:
    """`compute` on operands whose conjugate and negative bits have been applied."""
    target = args[0] if op.is_inplace else None
    plain: list[Any] = [resolve(a) if isinstance(a, Tensor) else [resolve(t) if isinstance(t, Tensor) else t for t in a]
             if isinstance(a, (list, tuple)) else a for a in args]
    if target is not None and target._odd & (ODD_CONJ | ODD_NEG):
        compute(op, plain)
        value = plain[0].array
        value = np.conj(value) if target._odd & ODD_CONJ else value
        target.array[...] = np.negative(value) if target._odd & ODD_NEG else value
        return target
    if target is not None:
        plain[0] = target
    return compute(op, plain)


def resolve(t: Any) -> Any:
    """`t` with its conjugate and negative bits applied."""
    if not t._odd & (ODD_CONJ | ODD_NEG):
        return t
    array = t.array
    if t._odd & ODD_CONJ:
        array = np.conj(array)
    if t._odd & ODD_NEG:
        array = np.negative(array)
    return new_tensor(array)


def write_out(op: Any, args: Any) -> Any:
    """The out= form of an op: compute the functional form, then copy into `out`."""
    outs = args[op.out_arg:]
    inputs = args[:op.out_arg]
    if tls.grad_enabled:
        tensors = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]
        if any([wants_grad(t) for t in tensors]) and not all([t._odd & ODD_INFERENCE for t in tensors]):
            raise RuntimeError(f"{op.name}(): functions with out=... arguments don't support automatic differentiation, "
                               "but one of the arguments requires grad.")
    for out in outs:
        if out._odd & ODD_INFERENCE and not tls.inference:
            raise RuntimeError(views.INFERENCE_WRITE)
    if not op.functional._ready:
        op.functional.prepare()
    if not op.functional.composite:
        return below(op, args)
    return assign_out(op, outs, op.functional.compute(*inputs))


def compute_out(op: Any, args: Any) -> Any:
    """Run the kernel of an out= form."""
    if not op.functional._ready:
        op.functional.prepare()
    if op.functional.promote is not None:
        for out in args[op.out_arg:]:
            check_overlap(out.array, args[:op.out_arg])
    return assign_out(op, args[op.out_arg:], compute(op.functional, args[:op.out_arg]))


def assign_out(op: Any, outs: Any, result: Any) -> Any:
    for out, value in zip(outs, result if op.functional.multiple else (result,), strict=True):
        METHODS["__assign_out__"](out, value, op.name)
    return op.functional.result_type(*outs) if op.functional.multiple and op.functional.result_type else (
        tuple(outs) if len(outs) > 1 else outs[0])


# ---- what views need of dispatch
class ViewDispatch(Replayer):
    """Lets views.py call ops."""

    as_strided: Any = None

    def call(self, op: Any, args: Any) -> Any:
        return call(op, args)

    def as_strided_node(self, t: Any, base: Any) -> Any:
        """An AsStridedBackward0 that leads from view `t` to its base."""
        array = t.array
        args = (base, array.shape, strides_of(array), offset_of(array))
        node = record(self.as_strided, args, 1, False)
        node._shape, node._dtype = array.shape, array.dtype
        return node

    def contiguous_clone(self, t: Any) -> Any:
        return METHODS["__contiguous_clone__"](t)

    def backward_copy(self, grad: Any, shape: Any, strides: Any) -> Any:
        return METHODS["__copy_to_layout__"](grad, shape, strides)


door = Dispatch()
operators.door = door
views.replayer = ViewDispatch()
view_dispatch = views.replayer

__all__ = ["Counter", "accumulator", "call", "record"]
