"""Recording: the node of an op, its edges, the values saved before and after the kernel, and running its rules.

NOTE [Plans]
Which tensors and values a node keeps depends on which inputs need a gradient: only rules that will run may save. An op
computes this once for every combination (`OpDef.plan`). Saved inputs are taken before the kernel runs, outputs after it.
"""
from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.graph import Node, describe_outputs, edge_from, sequence
from retrograd.core.hooks import hooks
from retrograd.core.lean import new_instance, own_fields, pooled, spread, untrack_fields
from retrograd.core.opdef import OpDef
from retrograd.core.origin import remember
from retrograd.core.recipe import (
    ATTR,
    BLOCKSIZE,
    DTYPE,
    GEOMETRY,
    GRAD,
    GRADS,
    LAYOUT,
    NDIM,
    NEEDED,
    NOT_IMPLEMENTED,
    NUMEL,
    SAVED,
    SHAPE,
    SIZES,
    STRIDES,
    VALUE,
)
from retrograd.core.saved import (
    FREED,
    SavedTensor,
    has_history,
    kept_alias,
    note_version,
    restore_array,
    save_input,
    save_output,
    unpack_slot,
)
from retrograd.core.state import run_flags, switches, tls
from retrograd.core.storage import offset_of, strides_of
from retrograd.core.tensor import FLAG_DUAL, FLAG_WRAPPER, Tensor, new_tensor, wrap

ndarray = np.ndarray
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


class OpNode(Node):
    """The node of a table op, whose rules compute its gradients."""

    __slots__ = ()

    def _run_(self, grads: Any, needed: Any) -> Any:
        op = self._op_
        nexts = self._next_
        results: list[Any] = [None] * len(nexts)
        grad = grads[0]
        if grad is None and (len(grads) == 1 or all([g is None for g in grads])):
            check_saved(self)
            return results
        if op.vjp is NOT_IMPLEMENTED:
            if op.node_name == "NotImplemented":
                raise RuntimeError(f"derivative for aten::{op.name} is not implemented")
            what = f"inplace version of {op.name[:-1]}" if op.is_inplace else op.name
            raise NotImplementedError(f"the derivative for '{what}' is not implemented.")
        if op.has_lists:
            return self.apply_lists(grads, needed)
        if has_packed(self) or (switches.any_mode and op.saves_result and tls.dispatch_modes and has_output_to_show(self)):
            return run_unpacked(self, grads, needed)
        bare = switches.any_mode and switches.tape is None and run_flags() == 1      # nothing is recorded, no mode is on
        for rule in op.rules:
            i = rule.target
            wanted = nexts[i] is not None and (needed is None or needed[i])
            if rule.many:
                for i in rule.targets:
                    if nexts[i] is not None and (needed is None or needed[i]):
                        wanted = True
            if not wanted:
                check_rule(self, rule)
                continue
            out = rule_result(self, rule, grad) if bare and rule.native is not None else None
            if out is not None:
                results[i] = out
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
                results[i] = out
        return results

    def apply_lists(self, grads: Any, needed: Any) -> Any:
        """`apply` for ops with lists of tensors among their inputs: one edge for each item."""
        op = self._op_
        starts, counts = self._attrs_[len(op.attr_names)]
        results: list[Any] = [None] * len(self._next_)
        for rule in op.rules:
            spans = [(starts[i], counts[i]) for i in rule.targets]
            flags = [[self._next_[s + k] is not None and (needed is None or needed[s + k])
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

    def _release_(self) -> None:
        if self._saved_ is not None:
            for item in self._saved_:
                if type(item) is SavedTensor:
                    item.release()
                elif type(item) is list:
                    for entry in item:
                        if type(entry) is SavedTensor:
                            entry.release()
            self._saved_ = None

    def __dir__(self) -> Any:
        op = self._op_
        shown = {*["_saved_" + n for n in [*op.saved_names, *[n for i, n in enumerate(op.attr_names) if op.shows(i)]]],
                 *["_raw_saved_" + n for n in op.saved_names]}
        return [n for n in object.__dir__(self) if n in shown or not n.startswith(("_saved_", "_raw_saved_"))]


own_fields(OpNode)


def check_saved(node: Node) -> None:
    """Unpack what the rules would read, for a node without incoming gradients: a freed or modified tensor is an error."""
    op = node._op_
    if op.has_lists or not op.saved_names:
        return
    for rule in op.rules:
        check_rule(node, rule)


def check_rule(node: Node, rule: Any) -> None:
    """Unpack what a rule with a recorded edge would read: nodes unpack everything, also for gradients that are not needed."""
    if any([node._next_[i] is not None for i in rule.targets]):
        for kind, index in rule.sources:
            if kind == SAVED:
                unpack_slot(node, index)


def has_packed(node: Node) -> bool:
    """Whether a saved value must be unpacked."""
    if node._saved_ is not None:
        for item in node._saved_:
            if type(item) is SavedTensor:
                return True
    return False


def has_output_to_show(node: Node) -> bool:
    """Whether a saved output is yet to be detached, which dispatch modes see."""
    if node._saved_ is not None:
        for slot, item in enumerate(node._saved_):
            if is_output_to_show(node, slot, item):
                return True
    return False


def is_output_to_show(node: Node, slot: int, item: Any) -> bool:
    nr = node._op_.saved_outputs[slot]
    if nr < 0:
        return False
    if type(item) is ndarray:
        return item.dtype.kind in "fcVW" and nr not in node._op_.constant
    return isinstance(item, Tensor) and item._node is None and has_history(item, node, nr)


def run_unpacked(node: Node, grads: Any, needed: Any) -> Any:
    """Run a node with packed values: each is unpacked once, in the order of the slots, as hooks and modes can tell."""
    saved, versions = node._saved_, node._versions_
    opened, expected = list(saved), [0] * len(saved)
    for slot, item in enumerate(saved):
        if type(item) is SavedTensor:
            value = item.unpack(node)
        elif switches.any_mode and tls.dispatch_modes and is_output_to_show(node, slot, item):
            value = unpack_slot(node, slot)
        else:
            value = item
        if value is not item:
            opened[slot] = value
            expected[slot] = 0 if value is None or value._counter is None else value._counter.n
        elif versions is not None:
            expected[slot] = versions[slot]
    node._saved_, node._versions_ = opened, expected
    try:
        return node._run_(grads, needed)
    finally:
        if node._saved_ is opened:
            node._saved_ = saved
        node._versions_ = versions


def rule_result(node: Node, rule: Any, grad: Any) -> Any:
    """The result of a rule that is a loop, on bare arrays (see codegen/rules.py); None if an operand is not ordinary: the rule
    on tensors promotes it, restores its memory order, or raises."""
    if grad._flags:
        return None
    array = grad.array
    dtype = array.dtype
    if dtype is not FLOAT32 and dtype is not FLOAT64 or not array.flags.c_contiguous:
        return None
    values = []
    for kind, index in rule.sources:
        if kind == GRAD:
            values.append(array)
        elif kind == ATTR:
            values.append(node._attrs_[index])
        elif node._saved_ is None:
            return None
        else:
            item = node._saved_[index]
            if isinstance(item, Tensor):
                t = item
                counter = t._counter
                if t._flags or t._extra is not None or counter is not None and (
                        counter.n != (0 if node._versions_ is None else node._versions_[index])):
                    return None
                item = t.array
            elif type(item) is not ndarray:
                return None
            other = item
            if other.dtype is not dtype or not other.flags.c_contiguous:
                return None
            values.append(item)
    made = spread(rule.native, values)
    return None if made is None else new_tensor(made)


def unpack_fast(node: Node, slot: int) -> Any:
    """`unpack_slot` for the most common cases: an unmodified plain input tensor, or an output."""
    if node._saved_ is None:
        return unpack_slot(node, slot)
    if type(node._saved_[slot]) is ndarray:
        return restore_array(node._saved_[slot], node, node._op_.saved_outputs[slot])
    if isinstance(node._saved_[slot], Tensor):
        t = node._saved_[slot]
        counter = t._counter
        if t._flags == 0 and (counter is None or (node._versions_ is None and counter.n == 0)) and t._extra is None and not (
                node._op_.saves_result and node._op_.saved_outputs[slot] >= 0):
            return t
    return unpack_slot(node, slot)


def rule_arguments(node: Node, rule: Any, grads: Any, needed: Any) -> Any:
    """The arguments of a rule, by the names of its parameters."""
    values = []
    for kind, index in rule.sources:
        if kind == GRAD:
            values.append(grads[0])
        elif kind == SAVED:
            values.append(unpack_slot(node, index))
        elif kind == ATTR:
            values.append(node._attrs_[index])
        elif kind == GRADS:
            values.append(grads)
        else:
            nexts = node._next_
            values.append([nexts[i] is not None and (needed is None or needed[i]) for i in range(len(nexts))])
    return values


def saved_attribute(node: Any, name: str) -> Any:
    """`node._saved_x` and `node._raw_saved_x`."""
    op = node._op_
    raw = name.startswith("_raw")
    key = name[len("_raw_saved_"):] if raw else name[len("_saved_"):]
    if key in op.attr_names and not raw and op.shows(op.attr_names.index(key)):
        slot = op.attr_names.index(key)
        kind, argument, _ = op.attr_kinds[slot]
        param = op.schema.params[argument]
        if node._attrs_ is not None:
            value = node._attrs_[slot]
        else:                                            # see `has_defaults`
            value = op.defaults[argument] if kind == VALUE else None
        if value is None and kind == STRIDES:
            return ()
        if key.endswith("_sizes_opt") and not value:
            return (0,)                                  # PyTorch's value for the sizes of an omitted tensor
        if kind == VALUE and param.type in ("int", "SymInt"):
            return tuple([unsigned(v) for v in value]) if isinstance(value, (list, tuple)) else unsigned(value)
        return tuple(value) if type(value) is list else value
    if key not in op.saved_names:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")
    slot = op.saved_names.index(key)
    if node._saved_ is None and not op.has_lists:
        plan = op.plan(sum([1 << i for i, n in enumerate(node._next_) if n is not None]))
        if not plan.inputs and not plan.outputs:              # the rules in use save nothing
            return SavedTensor.nothing() if raw else None
    if node._saved_ is None:
        if not raw:
            raise RuntimeError(FREED)
        released = SavedTensor.nothing()
        released.release()
        return released
    item = kept_alias(node, slot)
    if not raw:
        if type(item) is SavedTensor:
            return item.unpack(node)
        value = unpack_slot(node, slot)
        if type(value) in (int, float, complex, bool):
            return wrap(np.asarray(value, np.float64 if type(value) is float else None))
        return tuple(value) if type(value) is list else value
    if isinstance(item, Tensor):
        output = op.saved_outputs[slot]
        version = 0 if node._versions_ is None else node._versions_[slot]
        item = SavedTensor.packed(item, node, output >= 0, max(output, 0), False)
        item._version = version
        node._saved_[slot] = item
    elif item is None or not isinstance(item, (SavedTensor, list)):
        return SavedTensor.nothing()
    elif isinstance(item, list):
        return tuple([SavedTensor.nothing() if entry is None else entry for entry in item])
    return item


def unsigned(value: Any) -> Any:
    """A saved integer as shown by nodes: negative ones wrap around."""
    return value + 2**64 if type(value) is int and value < 0 else value


def node_class(op: OpDef) -> Any:
    """The class of the nodes that `op` records, named as in PyTorch."""
    made = op._node_class
    if made is None:
        if not op._ready:
            op.prepare()
        made = op._node_class = NODE_CLASSES.get(op.node_name)
        if made is None:
            members: dict[str, Any] = {"__slots__": (), "__module__": "torch.autograd"}
            # the few without a formula
            if not op.node_name[-1].isdigit() and not op.node_name.endswith("_copy") and not (
                    op.node_name.startswith("Foreach")):
                full = "torch::autograd::" + op.node_name
                members["name"] = lambda self: full
            made = op._node_class = pooled(type(op.node_name, (OpNode,), members))
            NODE_CLASSES[op.node_name] = made
        show_saved(op, made)
    return made


NODE_CLASSES: dict[str, Any] = {}


def show_saved(op: Any, cls: Any) -> None:
    """Add a property for each saved value (with __getattr__ every attribute of a node would be slow)."""
    names = [f"_saved_{n}" for n in [*op.saved_names, *op.attr_names]] + [f"_raw_saved_{n}" for n in op.saved_names]
    for name in names:
        if name not in vars(cls):             # several ops may share a node class
            setattr(cls, name, saved_property(name))


def saved_property(name: str) -> property:
    return property(lambda node: saved_attribute(node, name))


# ---- recording
def new_node(op: OpDef) -> Any:
    """A node of `op` without edges, without the cost of `Node.__init__`, since every recorded op creates one."""
    cls = op._node_class
    if cls is None:
        cls = node_class(op)
    node = new_instance(cls)
    sequence.n += 1
    node._seq_ = sequence.n
    node._count_ = 1
    node._op_ = op
    return node


def plan_of(op: Any, mask: int) -> Any:
    """`op.plan`, from a list where no more than the first two inputs need gradients."""
    plan = op.usual_plans[mask] if mask < 4 else None
    return op.plan(mask) if plan is None else plan


def record(op: Any, args: Any, mask: int, inplace: bool) -> Any:
    """A node for `op` with its edges and saved inputs; the inputs in `mask` need a gradient. The last arguments may be missing
    where they have their defaults."""
    node = new_node(op)
    if op.has_lists:
        record_lists(op, args, node)
        if switches.any_mode and tls.origins:
            remember(node)
        return node
    plan = plan_of(op, mask)
    count = len(op.inputs)
    if count == 1:
        node._next_ = (edge_at(node, op, args, mask, 0),)
    elif count == 2 and op.vjp is not NOT_IMPLEMENTED:
        node._next_ = (edge_at(node, op, args, mask, 0), edge_at(node, op, args, mask, 1))
    else:
        nexts = [edge_at(node, op, args, mask, i) for i in range(count)]
        if op.vjp is NOT_IMPLEMENTED and op.node_name == "NotImplemented":
            nexts = [n for n in nexts if n is not None]
        node._next_ = tuple(nexts)
    if plan.inputs or plan.outputs:
        node._saved_ = [None] * len(op.saved_names)
        if plan.slot >= 0:
            keep_input(node, plan.slot, args[plan.arg], inplace and plan.arg == 0)
            if plan.slot2 >= 0:
                keep_input(node, plan.slot2, args[plan.arg2], inplace and plan.arg2 == 0)
                for slot, arg in plan.rest:
                    keep_input(node, slot, args[arg], inplace and arg == 0)
    if plan.attrs and not (plan.only_shown and has_defaults(op, plan, args)):
        values = [None] * len(op.attr_names)
        for each in plan.kept:
            a = each
            value = args[a.arg] if a.arg < len(args) else op.defaults[a.arg]
            values[a.slot] = attribute_value(a.kind, value, a.extra)
        node._attrs_ = tuple(values)           # a tuple of numbers is untracked by the garbage collector, a list never is
    untrack_fields(node)
    if switches.any_mode and tls.origins:
        remember(node)
    return node


def keep_input(node: Any, slot: int, value: Any, written: bool) -> None:
    """Save an argument; a tensor that the op will write is copied."""
    if written:
        value = value.clone() if not value._flags & ~(FLAG_DUAL | FLAG_WRAPPER) else value.detach().clone()
    if isinstance(value, Tensor) and (switches.any_mode == 0 or run_flags() <= 1):      # no hooks on saved tensors
        t = value
        if t._flags == 0:
            if t._counter is not None:
                note_version(node, slot, t)
            node._saved_[slot] = value
            return
    save_input(node, slot, value)


def edge_at(node: Any, op: Any, args: Any, mask: int, place: int) -> Any:
    """The edge of `node` to the producer of the input at `place`; None if that needs no gradient."""
    if not mask >> place & 1:
        return None
    i = op.inputs[place]
    source = args[i]
    n = source._node
    if n is None or source._view is not None:
        n = edge_from(node, source)
    if source._nr and n is not None:
        if node._nrs_ is None:
            node._nrs_ = [0] * len(op.inputs)
        node._nrs_[place] = source._nr
    return n


def has_defaults(op: OpDef, plan: Any, args: Any) -> bool:
    """Whether the arguments that a node would only show have their default values, which it need not keep."""
    for each in plan.kept:
        a = each
        if a.arg < len(args) and args[a.arg] is not op.defaults[a.arg]:
            return False
    return True


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
    nexts = [None] * len(inputs)
    for i in range(len(inputs)):
        if isinstance(inputs[i], Tensor):
            source = inputs[i]
            n = source._node
            if n is None or source._view is not None:
                n = edge_from(node, source)
            nexts[i] = n
            if source._nr and n is not None:
                if node._nrs_ is None:
                    node._nrs_ = [0] * len(inputs)
                node._nrs_[i] = source._nr
    node._next_ = tuple(nexts)
    plan = op.plan((1 << len(op.inputs)) - 1)
    if plan.inputs or plan.outputs:
        node._saved_ = [None] * len(op.saved_names)
        for slot, arg in plan.inputs:
            save_input(node, slot, args[arg])
    attrs: list[Any] = [None] * len(op.attr_names)
    for slot, kind, arg, extra in plan.attrs:
        attrs[slot] = attribute_value(kind, args[arg], extra)
    attrs.append((starts, counts))
    node._attrs_ = tuple(attrs)


def attribute_value(kind: int, value: Any, extra: int) -> Any:
    """The value of an attribute slot for an argument."""
    if kind == VALUE:
        return value
    if type(value) is Tensor:
        t = value
        array = t.array
        if kind == SIZES:
            return array.shape
        if kind == STRIDES:
            return strides_of(array)
    if isinstance(value, (list, tuple)):
        return [attribute_value(kind, item, extra) for item in value]
    if not isinstance(value, Tensor):
        return () if kind in (SIZES, STRIDES) else 0 if kind == NDIM else None
    array = value.array
    if kind == SIZES or kind == SHAPE:
        return array.shape
    if kind == DTYPE:
        return BY_NUMPY[array.dtype]
    if kind == NDIM:
        return array.ndim
    if kind == STRIDES:
        return strides_of(array)
    if kind == GEOMETRY:
        return array.shape, strides_of(array), offset_of(array)
    if kind == NUMEL:
        return array.size
    if kind == LAYOUT or kind == BLOCKSIZE:
        return (hooks.layout if kind == LAYOUT else hooks.blocksize)(value)
    if not -array.ndim <= extra < array.ndim:      # recorded before the kernel checks its arguments
        if not array.ndim:
            raise IndexError(f"Dimension specified as {extra} but tensor has no dimensions")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-array.ndim}, {array.ndim - 1}], but got "
                         f"{extra})")
    return array.shape[extra]


def finish(op: OpDef, node: Node, mask: int, outputs: Any) -> None:
    """Give the outputs their history and save those that the rules use."""
    shown: list[Any] = [None] * len(outputs)
    for nr in range(len(outputs)):
        if outputs[nr] is not None:
            t = outputs[nr]
            dtype = t.array.dtype
            if (dtype is FLOAT32 or dtype is FLOAT64 or BY_NUMPY[dtype].category >= 2) and (
                    not op.constant or nr not in op.constant):
                if op.real_only and dtype.kind in "cW":
                    raise RuntimeError(f"{op.name} does not support automatic differentiation for outputs with complex dtype.")
                shown[nr] = t
    if len(shown) == 1 and shown[0] is None:
        dropped(op, outputs[0].array)
    while len(shown) > 1 and shown[-1] is None and outputs[len(shown) - 1] is not None:      # never receives a gradient
        shown.pop()
    describe_outputs(node, shown)
    for nr in range(len(shown)):
        if shown[nr] is not None:
            t = shown[nr]
            t._node = node
            t._nr = nr
            t._requires = True
    save_results(op, node, mask, outputs)


def save_result(op: OpDef, node: Node, mask: int, output: Tensor) -> None:
    """`save_results` for an op with one result."""
    plan = plan_of(op, mask)
    if plan.result >= 0 and not op.has_lists:
        save_output(node, plan.result, output, 0)
    else:
        save_results(op, node, mask, (output,))


def save_results(op: OpDef, node: Node, mask: int, outputs: Any) -> None:
    plan = op.plan((1 << len(op.inputs)) - 1 if op.has_lists else mask)
    if not plan.outputs:
        return
    for slot, nr in plan.outputs:
        if op.returns_list:
            node._saved_[slot] = [SavedTensor.packed(t, node, True, i) for i, t in enumerate(outputs)]
        else:
            save_output(node, slot, outputs[nr], nr)


def save_written(op: OpDef, node: Node, mask: int, target: Any) -> None:
    """`save_results` of an in-place op; a value written through a view has the view's new history, not the op's."""
    save_results(op, node, mask, (target,))
    if target._view is not None and target._node is not None:
        plan = op.plan(mask)
        for slot, _ in plan.outputs:
            if isinstance(node._saved_[slot], Tensor):
                node._saved_[slot] = SavedTensor.packed(target, node, True, target._nr, False)
            node._saved_[slot]._producer = ref(target._node)


def dropped(op: OpDef, array: Any) -> bool:
    """Whether a recorded op may have a result without gradient; raises for ops that may not."""
    if "casts" in op.traits:
        return True
    raise RuntimeError(f"Autograd not support dtype: {BY_NUMPY[array.dtype].legacy}")
