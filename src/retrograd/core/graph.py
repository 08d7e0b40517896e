"""The recorded graph: nodes, the edges between them, and how a tensor finds its node.

NOTE [Nodes]
A node is one recorded computation. `_next_` holds the nodes that its gradients go to (None where no gradient is wanted)
and `_nrs_` which of their outputs each one is (None while all are 0). `_seq_` is the order of creation: the engine runs
later nodes first. `_saved_` holds tensors (see saved.py), `_attrs_` the other values a derivative needs.
`_shape_`/`_dtype_` describe the node's output, the gradients it takes; a node with several outputs (`_count_` > 1) has
tuples. `_waits_` is the number of gradients yet to arrive in the backward pass with the number `_mark_` (see engine.py).
A custom Function's ctx is its node, and users put attributes of any name on it: fields and methods of a node that
PyTorch's does not have begin and end with an underscore, so that `ctx._shape` or `ctx._run` is the user's.

NOTE [Accumulators]
A leaf's gradients end in its AccumulateGrad, which owns the leaf. The leaf refers to it weakly, so the pair dies with the
last graph that uses it; hooks that must outlive it are stored on the leaf.
That would create an accumulator for every op on a leaf, so until user code obtains it the ownership is reversed: the leaf
owns the accumulator, which refers to the leaf weakly, and the nodes that lead to it own the leaf (`_leaves_`). When it is
handed to user code (`show`) it becomes the owner.
"""
from __future__ import annotations

from itertools import count
from typing import Any
from weakref import ref

from retrograd.core import device as devices
from retrograd.core import dtypes
from retrograd.core.hooks import hooks
from retrograd.core.tensor import FLAG_PENDING, Size, Tensor, operators

LAST = 2**64 - 1          # the sequence number of accumulators: they run as soon as they are ready


class Sequence:
    """Numbers nodes in the order of their creation."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n: int = 0


sequence = Sequence()
numbers = sequence        # alias that is a C variable in the compiled module


class NodeHooks:
    """All hooks of one node; made when the first one is registered."""

    __slots__ = ("post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: Any = None       # {output_nr: {id: fn}}, the hooks of the tensors the node computed
        self.retain: Any = None       # {output_nr: fn}, fills .grad of a tensor that retains it
        self.pre: Any = None          # {id: fn(grad_outputs)}
        self.post: Any = None         # {id: fn(grad_inputs, grad_outputs)}


class Node:
    """One step of the backward graph."""

    __slots__ = ("__weakref__", "_attrs_", "_count_", "_dtype_", "_hooks_", "_leaves_", "_mark_", "_metadata_", "_next_",
                 "_nrs_", "_op_", "_saved_", "_seq_", "_shape_", "_versions_", "_waits_")

    def __init__(self) -> None:
        numbers.n += 1
        self._seq_: int = numbers.n
        self._next_: Any = ()
        self._nrs_: Any = None
        self._count_: int = 1
        self._shape_: Any = None
        self._dtype_: Any = None
        self._saved_: Any = None
        self._versions_: Any = None
        self._attrs_: Any = None
        self._leaves_: Any = None
        self._op_: Any = None              # the op that recorded it, if it is a table row
        self._hooks_: Any = None
        self._metadata_: Any = None
        self._mark_: int = 0
        self._waits_: int = 0

    def _run_(self, grads: Any, needed: Any) -> Any:
        """Turn the gradients of the outputs into one gradient per edge; `needed` says which (None: all)."""
        raise NotImplementedError

    def _release_(self) -> None:
        """Release the saved tensors."""

    def _shown_(self, nr: int) -> tuple[Any, int]:
        """The (node, output number) shown to users for output `nr` of this node."""
        return self, nr

    def name(self) -> str:
        """The name that PyTorch gives this kind of node."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __call__(self, *grads: Any) -> Any:
        if len(grads) != self._count_:
            raise TypeError(f"expected {self._count_} arguments, got {len(grads)} instead")
        results = run_node(self, list(grads))
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        nrs = self._nrs_
        return tuple([(None, 0) if n is None else show(n)._shown_(0 if nrs is None else nrs[i])
                      for i, n in enumerate(self._next_)])

    @property
    def requires_grad(self) -> bool:
        return True

    @property
    def metadata(self) -> dict[Any, Any]:
        if self._metadata_ is None:
            self._metadata_ = {}
        return self._metadata_

    @property
    def _input_metadata(self) -> Any:
        return tuple([InputMetadata(*shape_dtype(self, i)) for i in range(self._count_)])

    def _sequence_nr(self) -> int:
        return self._seq_

    def _set_sequence_nr(self, number: int) -> None:
        self._seq_ = number

    def register_hook(self, hook: Any) -> Any:
        return register(self, "post", hook)

    def register_prehook(self, hook: Any) -> Any:
        return register(self, "pre", hook)

    def _register_hook_dict(self, hooks: Any) -> None:
        """Run the hooks of a dict after the node, including hooks added to the dict later."""
        register(self, "post", lambda inputs, outputs: last_of(hooks, inputs, outputs))


def name_of(node: Node) -> str:
    """The name of a node, also of a custom Function's whose ctx has an attribute `name`."""
    return type(node).name(node)


def forward_name(node: Node) -> str:
    """The op's name in error texts: Mul for MulBackward0, Pow1 for PowBackward1."""
    name = name_of(node)
    stem, found, number = name.rpartition("Backward")
    if not found or not (number == "" or number.isdigit()):
        return name
    return stem if number in ("", "0") else stem + number


class InputMetadata:
    """What a node expects of one incoming gradient."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        symbolic = getattr(shape, "symbolic", None)      # set for nested tensors (see nested/parts.py)
        self.shape: Any = list(shape) if symbolic is None else Size(symbolic)
        self.dtype = dtypes.BY_NUMPY[dtype]
        self.device = devices.CPU
        self.is_nested_tensor = hasattr(shape, "symbolic")
        self.is_cpp_nested_tensor = self.is_nested_tensor and symbolic is None


class AccumulateGrad(Node):
    """Adds incoming gradients to `variable.grad`."""

    __slots__ = ("owned", "weak")

    def __init__(self, variable: Tensor) -> None:
        self.owned: Any = None              # the leaf, once user code holds this node
        self.weak: Any = ref(variable)
        self._seq_ = LAST
        self._next_ = ()
        self._count_ = 1
        self._nrs_ = self._saved_ = self._versions_ = self._attrs_ = self._leaves_ = None
        self._hooks_ = self._metadata_ = self._op_ = None
        self._mark_ = self._waits_ = 0
        self._shape_ = self._dtype_ = None    # read from the variable, whose data may be replaced

    @property
    def variable(self) -> Tensor:
        return leaf_of(self)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


def leaf_of(node: AccumulateGrad) -> Tensor:
    """The leaf of an AccumulateGrad."""
    t = node.owned
    return node.weak() if t is None else t


def show(node: Any) -> Any:
    """Prepare a node for user code: an accumulator must own its leaf from now on."""
    if type(node) is AccumulateGrad:
        sink = node
        if sink.owned is None:
            t = sink.owned = sink.weak()
            if t._sink is sink:
                t._sink = ref(sink)
    return node


def shape_dtype(node: Node, nr: int) -> tuple[Any, ...]:
    """The shape and NumPy dtype of output `nr` of `node`."""
    if type(node) is AccumulateGrad:
        sink = node
        array = leaf_of(sink).array
        return array.shape, array.dtype
    if node._count_ == 1:
        return node._shape_, node._dtype_
    return node._shape_[nr], node._dtype_[nr]


def accumulator(t: Tensor) -> Node:
    """The AccumulateGrad of leaf `t`, created if there is none alive."""
    return show(unseen_accumulator(t))


def unseen_accumulator(t: Tensor) -> Node:
    """`accumulator` for the library's own use while it holds `t`."""
    sink = t._sink
    if type(sink) is AccumulateGrad:
        return sink
    node = None if sink is None else sink()
    if node is None:
        node = t._sink = AccumulateGrad(t)
    return node


def edge_of(t: Tensor) -> Node | None:
    """The node that a gradient of `t` goes to, None if `t` needs none. Its output number is `t._nr`."""
    return show(unseen_edge(t))


def unseen_edge(t: Tensor) -> Node | None:
    """`edge_of` for the library's own use while it holds `t`."""
    if t._flags & FLAG_PENDING and hooks.settle is not None:
        hooks.settle(t)
    if t._view is not None:
        operators.dispatcher.refresh(t)
    node = t._node
    if node is not None:
        return node
    return unseen_accumulator(t) if t._requires else None


def edge_from(node: Node, t: Tensor) -> Node | None:
    """`edge_of` input `t` of `node`, which is being recorded and will own `t` if that is a leaf."""
    if t._view is None and t._node is None and t._requires and not t._flags & FLAG_PENDING:
        edge: Node | None = unseen_accumulator(t)
    else:
        edge = unseen_edge(t)
    if type(edge) is AccumulateGrad:
        sink = edge
        if sink.owned is None:
            leaves = node._leaves_
            if leaves is None:
                node._leaves_ = t
            elif type(leaves) is list:
                leaves.append(t)
            else:
                node._leaves_ = [*leaves, t] if type(leaves) is tuple else (leaves, t)
    return edge


def connect(node: Node, inputs: list[Any] | tuple[Any, ...]) -> None:
    """Set the edges of `node` to the producers of `inputs` (tensors or None)."""
    nexts = []
    nrs = None
    for i, t in enumerate(inputs):
        n = None if t is None else edge_of(t)
        nexts.append(n)
        if n is not None and t._nr:
            if nrs is None:
                nrs = [0] * len(inputs)
            nrs[i] = t._nr
    node._next_ = tuple(nexts)
    node._nrs_ = nrs


def set_history(t: Tensor, node: Node, nr: int) -> None:
    """Make `t` output `nr` of `node`."""
    t._node = node
    t._nr = nr
    t._requires = True


def describe_outputs(node: Node, outputs: list[Any] | tuple[Any, ...]) -> None:
    """Set the shapes and dtypes of the outputs of `node` (None where an output is not a tensor)."""
    if len(outputs) == 1 and outputs[0] is not None:
        array = outputs[0].array              # whose class may have a shape of its own (see nested/parts.py)
        node._shape_, node._dtype_ = array.shape, array.dtype
        return
    shapes: list[Any] = [None] * len(outputs)
    types: list[Any] = [None] * len(outputs)
    for nr in range(len(outputs)):
        if outputs[nr] is not None:
            array = outputs[nr].array
            shapes[nr], types[nr] = array.shape, array.dtype
    node._count_, node._shape_, node._dtype_ = len(outputs), tuple(shapes), tuple(types)


# ---- hooks on nodes; hooks.py and the engine run them
next_hook_id = count().__next__


class RemovableHandle:
    """Removes the hook it was returned for.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 10):
    ...     x.sum().backward()
    >>> x.sum().backward()          # the hook is gone
    >>> x.grad
    tensor([11., 11.])
    """

    __module__ = "retrograd.utils.hooks"       # the public location

    def __init__(self, hooks: dict[int, Any], owner: Any = None, *, extra_dict: Any = None) -> None:
        self.hooks_dict = hooks
        self.owner = owner            # the dict may be dropped with its owner while the handle lives
        self.extra_dicts = () if extra_dict is None else tuple(extra_dict) if isinstance(extra_dict, list) else (extra_dict,)
        self.id = next_hook_id()

    def remove(self) -> None:
        """Remove the hook; removing it twice is allowed.

        >>> import retrograd as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> handle = x.register_hook(print)
        >>> handle.remove()
        >>> x.sum().backward()          # nothing is printed
        """
        self.hooks_dict.pop(self.id, None)
        for marks in self.extra_dicts:            # other dicts keyed by the hook's id
            marks.pop(self.id, None)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def register(node: Node, kind: str, hook: Any) -> RemovableHandle:
    """Add a hook of `kind` ("pre" or "post") to `node`."""
    if node._hooks_ is None:
        node._hooks_ = NodeHooks()
    hooks = getattr(node._hooks_, kind)
    if hooks is None:
        hooks = {}
        setattr(node._hooks_, kind, hooks)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def last_of(hooks: Any, inputs: Any, outputs: Any) -> Any:
    """Pass the gradients of a node through the hooks of a dict in order."""
    given = outputs
    for hook in list(hooks.values()):
        changed = hook(inputs, given)
        given = given if changed is None else changed
    return None if given is outputs else given


def run_node(node: Any, grads: list[Any]) -> Any:
    """Run one node alone, for `node(grad)`."""
    return node._run_(grads, None)
