"""Custom Functions: a forward and a backward written by the user, as one node of the graph.

NOTE [What apply does to outputs]
`forward` runs with grad mode off; then every tensor it returned is fitted into the graph. An output that is not
differentiable has no history. An input marked dirty is returned as the same object with its history rewritten (on its base,
if it is a view). An input returned unchanged becomes a view of itself, so that it can have a history of its own. Any other
output gets the Function's node; if it happens to be a view, writing to it in place is refused from then on, because that
would bypass the custom backward. The ctx that the user sees is the node itself.
"""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.function_jvp import function_jvp, tangents_of
from retrograd.autograd.stopping import once_differentiable
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.forward import tangent_of
from retrograd.core.graph import Node, connect, describe_outputs, name_of, set_history
from retrograd.core.hooks import hooks
from retrograd.core.origin import cuts_of, here, note_results, remember, trail_of
from retrograd.core.saved import FREED, SavedTensor
from retrograd.core.state import set_grad_enabled, switches, tls
from retrograd.core.tensor import FLAG_DUAL, FLAG_INFERENCE, Tensor, bump, wants_grad
from retrograd.core.views import (
    DEFAULT,
    IN_CUSTOM_FUNCTION,
    MULTI_OUTPUT_NODE,
    check_inplace,
    detach_inplace,
    rebase,
)
from retrograd.ops import late

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """The context shared by forward, setup_context and backward.

    >>> import retrograd as torch
    >>> class Scale(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor             # anything that is no tensor is an attribute
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.factor, None
    >>> x = torch.ones(2, requires_grad=True)
    >>> Scale.apply(x, 5.0).sum().backward()
    >>> x.grad
    tensor([5., 5.])
    """

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward; read them there as `ctx.saved_tensors`.

        >>> import retrograd as torch
        >>> class Exp(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         result = x.exp()
        ...         ctx.save_for_backward(result)
        ...         return result
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         result, = ctx.saved_tensors
        ...         return grad * result
        >>> y = Exp.apply(torch.zeros(2, requires_grad=True))
        >>> y.grad_fn.saved_tensors
        (tensor([1., 1.], grad_fn=<ExpBackward>),)
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for the `jvp` of forward mode.

        >>> import retrograd as torch
        >>> import retrograd.autograd.forward_ad as fwAD
        >>> class Times(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, y):
        ...         ctx.save_for_forward(x, y)
        ...         return x * y
        ...     @staticmethod
        ...     def jvp(ctx, x_t, y_t):
        ...         x, y = ctx.saved_tensors
        ...         return x_t * y + x * y_t
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
        ...     fwAD.unpack_dual(Times.apply(x, x)).tangent
        tensor([4.])
        """
        for tensor in tensors:
            if not isinstance(tensor, Tensor) and tensor is not None:
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                                     "attributes on ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Declare the inputs that forward modified in place.

        >>> import retrograd as torch
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.mul_(2)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = torch.ones(2, requires_grad=True)
        >>> y = x.clone()
        >>> Double.apply(y) is y, y._version
        (True, 2)
        """
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Deprecated: warn, since outputs that share memory with inputs are detected.

        >>> FunctionCtx().mark_shared_storage()
        Traceback (most recent call last):
        FutureWarning: `mark_shared_storage` is deprecated. ...
        """
        warnings.warn("`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
                      "calls to `set_()` are not tracked", FutureWarning, stacklevel=2)

    def mark_non_differentiable(self, *args: Any) -> None:
        """Declare the outputs without a gradient.

        >>> import retrograd as torch
        >>> class Sort(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, places = x.sort()
        ...         ctx.mark_non_differentiable(places)
        ...         ctx.save_for_backward(places)
        ...         return values, places
        ...     @staticmethod
        ...     def backward(ctx, grad, _):
        ...         places, = ctx.saved_tensors
        ...         return torch.zeros_like(grad).index_add(0, places, grad)
        >>> values, places = Sort.apply(torch.tensor([3.0, 1.0], requires_grad=True))
        >>> values.requires_grad, places.requires_grad
        (True, False)
        """
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether missing gradients are zeros in backward (the default) or None.

        >>> import retrograd as torch
        >>> class Pair(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x * 2, x * 3
        ...     @staticmethod
        ...     def backward(ctx, first, second):
        ...         print(first, second)
        ...         return first * 2
        >>> x = torch.ones(1, requires_grad=True)
        >>> Pair.apply(x)[0].backward()
        tensor([1.]) None
        """
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads received an invalid combination of arguments - got "
                            f"({type(value).__name__}), but expected (bool)")
        self.materialize_grads = value


class FunctionNode(Node):
    """The fields of a custom Function's node, separate from its `__dict__`, which belongs to the user."""

    __slots__ = ("_arguments_", "_freed_", "_given_tensors_", "_in_jvp_", "_is_pure_view", "_materialize_non_diff_grads",
                 "_output_facts_", "_plain_outputs_", "_positions_", "dirty_tensors", "materialize_grads", "needs_input_grad",
                 "non_differentiable", "saved_for_forward", "to_save")

    def __init__(self) -> None:
        Node.__init__(self)
        self.materialize_grads: bool = True
        self._materialize_non_diff_grads: bool = True
        self.to_save: Any = None
        self.saved_for_forward: Any = None
        self.dirty_tensors: Any = None
        self.non_differentiable: Any = None
        self.needs_input_grad: Any = ()
        self._is_pure_view: bool = False
        self._positions_: Any = ()            # positions of forward's tensor arguments
        self._arguments_: int = 0             # number of forward's arguments
        self._freed_: bool = False
        self._given_tensors_: Any = None      # saved tensors already unpacked by a compiled backward pass
        self._output_facts_: Any = None
        self._plain_outputs_: Any = ()
        self._in_jvp_: bool = False


class BackwardCFunction(FunctionNode, FunctionCtx):
    """The node of a custom Function, and its ctx.

    >>> import retrograd as torch
    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         print(isinstance(ctx, BackwardCFunction), ctx.needs_input_grad)
    ...         return x * 2
    >>> Twice.apply(torch.ones(1, requires_grad=True)).grad_fn.name()
    True (True,)
    'TwiceBackward'
    """

    _forward_cls: Any = None

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors of forward, checked for modifications."""
        if self._in_jvp_:
            return () if self.saved_for_forward is None else tuple(self.saved_for_forward)
        if self._given_tensors_ is not None:
            return self._given_tensors_
        if self._freed_:
            raise RuntimeError(FREED)
        if self._saved_ is None:
            return () if self.to_save is None else tuple(self.to_save)
        return tuple([item.unpack(self) for item in self._saved_])

    @property
    def saved_variables(self) -> Any:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> Any:
        if self._freed_:
            raise RuntimeError(FREED)
        return () if self._saved_ is None else tuple(self._saved_)

    def _run_(self, grads: Sequence[Any], needed: Sequence[Any] | None) -> list[Any]:
        cls = self._forward_cls
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                               "implement one of them.")
        backward = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        if self.materialize_grads:
            grads = [zeros_for(self, i) if g is None else g for i, g in enumerate(grads)]
        disabled = tls.function_disabled
        if disabled:                          # the engine's formulas are hidden from subclasses, a user's backward is not
            tls.function_disabled = 0
        try:
            results = backward(self, list(grads)) if cls.boxed_grads_call else backward(self, *grads)
        finally:
            if disabled:
                tls.function_disabled = disabled
        return by_edge(self, results if isinstance(results, tuple) else (results,))

    def _release_(self) -> None:
        if self._saved_ is not None:
            for item in self._saved_:
                item.release()
            self._saved_ = None
            self._freed_ = True


def zeros_for(node: FunctionNode, i: int) -> Tensor | None:
    """Zeros for a missing gradient, None where the output is not a tensor."""
    facts = node._output_facts_[i]
    if facts is None:
        return None
    shape, dtype, differentiable = facts
    if not differentiable and not node._materialize_non_diff_grads:
        return None
    return late.zeros(shape, dtype=dtype)


def by_edge(node: FunctionNode, results: tuple[Any, ...]) -> list[Any]:
    """The gradients that backward returned, one per tensor argument of forward."""
    expected = node._arguments_
    if len(results) > expected and all([r is None for r in results[expected:]]):
        results = results[:expected]
    if len(results) != expected:
        raise RuntimeError(f"function {name_of(node)} returned an incorrect number of gradients (expected {expected}, got "
                           f"{len(results)})")
    routed: list[Tensor | None] = []
    for i, result in enumerate(results):
        if i not in node._positions_:
            if result is not None:
                raise RuntimeError(f"function {name_of(node)} returned a gradient different than None at position {i + 1}, "
                                   "but the corresponding forward input was not a Variable")
            continue
        if result is not None and not isinstance(result, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
        routed.append(result if node._next_[len(routed)] is not None else None)
    return routed


class FunctionMeta(type):
    """Creates the node class of every custom Function.

    >>> class Custom(Function):
    ...     pass
    >>> Custom._backward_cls.__name__, issubclass(Custom._backward_cls, BackwardCFunction)
    ('CustomBackward', True)
    """

    def __init__(cls, name: str, bases: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        node = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": cls.__module__})
        cls._backward_cls = node
        super().__init__(name, bases, attributes)


MUST_FORWARD = "You must implement the forward function for custom autograd.Function."
MUST_BACKWARD = ("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                 "backward mode AD.")


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of custom Functions.

    >>> import retrograd as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return grad * 3 * x ** 2
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor([12.])
    """

    generate_vmap_rule = False
    boxed_grads_call = False          # backward gets its gradients as one list, which it may empty
    _backward_cls: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
                      "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
                      "version of PyTorch.", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style "
                           "autograd function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    def __getattr__(self, name: str) -> Any:
        if name in NODE_ONLY:
            raise RuntimeError(f"Attribute '{name}' is invalid for this instance of _C._FunctionBase. Accessing this attribute "
                               "directly on an instance of autograd.Function is a legacy access pattern that is no longer "
                               "supported. For examples on how to use new-style autograd functions, see "
                               "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function ")
        if name == "metadata":
            raise RuntimeError("You attempted to access the anomaly metadata of a custom autograd function but the underlying "
                               "PyNode has already been deallocated.  The most likely reason this occurred is because you "
                               "assigned x.grad_fn to a local variable and then let the original variable get deallocated.  "
                               "Don't do that!  If you really have no way of restructuring your code so this is the case, "
                               "please file an issue reporting that you are affected by this.")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; with `ctx` as first argument unless the class has a `setup_context`.

        >>> class Unfinished(Function):
        ...     pass
        >>> Unfinished.apply(1.0)
        Traceback (most recent call last):
        NotImplementedError: You must implement the forward function for custom autograd.Function.
        """
        raise NotImplementedError(MUST_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        """Fill `ctx` from the inputs and outputs of a forward that does not take it.

        >>> import retrograd as torch
        >>> class Square(Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad * ctx.saved_tensors[0]
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> torch.autograd.grad(Square.apply(x), x)
        (tensor([6.]),)
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Turn the gradients of the outputs into gradients of the inputs.

        >>> import retrograd as torch
        >>> class Clip(Function):
        ...     @staticmethod
        ...     def forward(ctx, x, limit):
        ...         ctx.limit = limit
        ...         return x.clone()
        ...     @staticmethod
        ...     def backward(ctx, grad):            # one result per argument of forward; None for those that are no tensors
        ...         return grad.clamp(-ctx.limit, ctx.limit), None
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> torch.autograd.grad(Clip.apply(x, 0.5) * 100, x)
        (tensor([0.5000]),)
        """
        raise NotImplementedError(MUST_BACKWARD)

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """An alias of `backward`.

        >>> import retrograd as torch
        >>> class Twice(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def vjp(ctx, grad):
        ...         return grad * 2
        >>> x = torch.tensor([3.0], requires_grad=True)
        >>> torch.autograd.grad(Twice.apply(x), x)
        (tensor([2.]),)
        """
        raise NotImplementedError(MUST_BACKWARD)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Turn the tangents of the inputs into tangents of the outputs.

        >>> import retrograd as torch
        >>> import retrograd.autograd.forward_ad as fwAD
        >>> class Twice(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def jvp(ctx, tangent):
        ...         return tangent * 2
        >>> with fwAD.dual_level():
        ...     fwAD.unpack_dual(Twice.apply(fwAD.make_dual(torch.ones(1), torch.ones(1)))).tangent
        tensor([2.])
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward "
                                  "mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Run the Function under vmap; return (output, out_dims).

        >>> import retrograd as torch
        >>> class Total(Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x.sum()
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         pass
        ...     @staticmethod
        ...     def vmap(info, in_dims, x):
        ...         return x.movedim(in_dims[0], 0).flatten(1).sum(1), 0
        >>> torch.vmap(Total.apply)(torch.ones(3, 2))
        tensor([2., 2., 2.])
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function.

        >>> import retrograd as torch
        >>> class Negate(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return -x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return -grad
        >>> Negate.apply(torch.ones(1, requires_grad=True))
        tensor([-1.], grad_fn=<NegateBackward>)
        """
        split = cls.setup_context is not Function.setup_context
        if split:
            args = with_defaults(cls.forward, args, kwargs)
        elif kwargs:
            args = by_position(cls.forward, args, kwargs)
        if switches.any_mode and tls.transforms:
            return hooks.transform_function(cls, args)
        if switches.any_mode and tls.profiler is not None:
            return tls.profiler.run_function(cls.__name__, args, lambda: run_function(cls, args, split))
        return run_function(cls, args, split)


NODE_ONLY = ("_register_hook_dict", "register_hook", "register_prehook", "next_functions", "name", "_sequence_nr",
             "_set_sequence_nr", "_input_metadata")


@functools.lru_cache(maxsize=512)
def signature_of(forward: Callable[..., Any]) -> Any:
    return inspect.signature(forward)


def with_defaults(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Positional arguments with the defaults of `forward` filled in."""
    bound = signature_of(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def by_position(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Keyword arguments of a `forward` with ctx as positional ones; its defaults are not filled in."""
    names = [name for name, p in signature_of(forward).parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    for name in kwargs:
        if name not in names[len(args):]:
            raise TypeError(f"forward() got multiple values for argument '{name}'" if name in names else
                            f"forward() got an unexpected keyword argument '{name}'")
    values = list(args)
    while len(values) < len(args) + len(kwargs):
        name = names[len(values)]
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: '{name}' (position {len(values)})")
        values.append(kwargs[name])
    return tuple(values)


def run_function(cls: Any, args: tuple[Any, ...], split: bool) -> Any:
    """Run one call of a custom Function: forward, then set the history of the outputs."""
    node = cls._backward_cls()
    if switches.any_mode and tls.origins:
        remember(node)
    positions, inputs, needs, dual = [], [], [], False
    for i, a in enumerate(args):
        wants = False
        if isinstance(a, Tensor):
            positions.append(i)
            inputs.append(a)
            wants = wants_grad(a)
            dual = dual or bool(a._flags & FLAG_DUAL and tangent_of(a) is not None)
        needs.append(wants)
    node.needs_input_grad = tuple(needs)
    node._positions_ = positions
    node._arguments_ = len(args)
    recording = tls.grad_enabled and True in needs
    if recording:
        connect(node, inputs)
    tangents = None
    if dual:
        tangents = tangents_of(args)
        tls.fwd_grad_enabled = False
    cuts = [(t, cuts_of(t)) for t in inputs] if switches.any_mode and tls.origins else ()
    was = set_grad_enabled(False)
    try:
        if split:
            output = cls.forward(*args)
            cls.setup_context(node, args, output)
        else:
            output = cls.forward(node, *args)
    finally:
        try:
            set_grad_enabled(was)
        except BaseException:             # interrupted before the switch
            set_grad_enabled(was)
            raise
        if dual:
            tls.fwd_grad_enabled = True
    outputs = output if isinstance(output, tuple) else (output,)
    for marked, text in ((node.dirty_tensors, "mark_dirty can only accept variables, but argument "),
                         (node.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got ")):
        for t in marked or ():
            if not isinstance(t, Tensor):
                raise RuntimeError(f"{text}{t!r}")
    dirty = {id(t) for t in node.dirty_tensors} if node.dirty_tensors else ()
    for t in node.dirty_tensors or ():
        if not t._flags & FLAG_INFERENCE:
            bump(t)
    if dual and node.non_differentiable:
        named = {id(t) for t in node.non_differentiable}
        node._plain_outputs_ = [i for i, t in enumerate(outputs) if id(t) in named]
    wrapped = wrap_outputs(node, inputs, outputs, recording)
    node.dirty_tensors = node.non_differentiable = None       # a node must not reference its own outputs
    if dual:
        function_jvp(cls, node, args, tangents, wrapped, dirty)
    if recording:
        save_tensors(node, wrapped)
    if switches.any_mode and tls.origins:
        for t, known in cuts:             # detaches inside forward, which runs under no_grad, do not count
            trail_of(t).cuts = known
        changed = [t for t in wrapped if id(t) in dirty]
        note_results(here(cls.__name__), inputs, [t for t in wrapped if isinstance(t, Tensor)], changed)
    return wrapped if isinstance(output, tuple) else wrapped[0]


def wrap_outputs(node: BackwardCFunction, inputs: Sequence[Any], outputs: tuple[Any, ...], recording: bool) -> tuple[Any, ...]:
    """Connect every output of forward to the graph."""
    dirty = {id(t) for t in node.dirty_tensors} if node.dirty_tensors else ()
    plain = {id(t) for t in node.non_differentiable} if node.non_differentiable else ()
    known = {id(t) for t in inputs}
    if dirty:
        check_dirty(node, outputs, known)
    tensors = [t for t in outputs if isinstance(t, Tensor)]
    if node._is_pure_view and (len(inputs) != 1 or len(tensors) != 1):
        raise RuntimeError("Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if "
                           "you need to support more.")
    facts: list[Any] = []
    made: list[Any] = []
    replaced: dict[int, Any] = {}
    several = 0
    for nr, t in enumerate(outputs):
        if not isinstance(t, Tensor):
            facts.append(None)
            made.append(t)
            continue
        differentiable = recording and id(t) not in plain and t.array.dtype.kind in "fcVW"
        facts.append((t.array.shape, BY_NUMPY[t.array.dtype], differentiable))
        several += differentiable
        if id(t) in replaced:
            t = replaced[id(t)]
            if differentiable:
                t._nr = nr
            made.append(t)
            continue
        fitted = fit_output(node, inputs, t, nr, differentiable, id(t) in known, id(t) in dirty, len(tensors))
        replaced[id(t)] = replaced[id(fitted)] = fitted
        made.append(fitted)
    if several > 1:
        for t, fact in zip(made, facts, strict=True):
            if fact is not None and fact[2] and t._view is not None and id(t) not in dirty:
                t._view.creation = MULTI_OUTPUT_NODE
    node._output_facts_ = facts
    described = [t if fact is not None else None for t, fact in zip(made, facts, strict=True)]
    describe_outputs(node, described)
    return tuple(made)


def check_dirty(node: FunctionNode, outputs: tuple[Any, ...], known: Any) -> None:
    returned = {id(t) for t in outputs}
    for t in node.dirty_tensors:
        if id(t) not in returned:
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The "
                               "inputs that are modified inplace must all be outputs of the Function.")


def fit_output(node: BackwardCFunction, inputs: Sequence[Any], t: Tensor, nr: int, differentiable: bool, is_input: bool,
               is_dirty: bool, count: int) -> Tensor:
    """Connect one tensor output of forward; see NOTE [What apply does to outputs]."""
    if not differentiable:
        if is_dirty or not wants_grad(t):
            flag_view(node, inputs, t, is_input and is_dirty)
            if is_input and not is_dirty:
                t = itself_as_view(node, inputs, t) if not node._is_pure_view else t
            return t
        if is_input:
            return hooks.detach(t)
        if t._view is None:
            detach_inplace(t)
        return t
    if is_dirty:
        return rewrite(node, t, nr, is_input, count)
    if is_input:
        t = itself_as_view(node, inputs, t)
    else:
        flag_view(node, inputs, t, False)
    if t._view is not None:
        t._view.version = t._counter.n
    set_history(t, node, nr)
    return t


def flag_view(node: BackwardCFunction, inputs: Sequence[Any], t: Tensor, unchanged: bool) -> None:
    """Mark a view returned by a custom Function as not writable (or set how to replay it)."""
    if t._view is None or unchanged:
        return
    if node._is_pure_view:
        make_pure(node, inputs, t)
    elif tls.grad_enabled:
        t._view.creation = IN_CUSTOM_FUNCTION


def make_pure(node: BackwardCFunction, inputs: Any, t: Tensor) -> None:
    """Let a pure view be replayed by calling the Function again."""
    cls = node._forward_cls
    t._view.creation = DEFAULT
    t._view.op, t._view.args, t._view.parent = cls.apply, None, inputs[0]._view


def itself_as_view(node: BackwardCFunction, inputs: Sequence[Any], t: Tensor) -> Tensor:
    """An unchanged input that was returned: a view of all of it."""
    if not tls.grad_enabled or not isinstance(t, Tensor):
        return late.view_as(t, t)
    was = set_grad_enabled(False)
    try:
        out = late.view_as(t, t)
    finally:
        set_grad_enabled(was)
    if out._view is not None:
        flag_view(node, inputs, out, False)
    return out


def rewrite(node: Node, t: Tensor, nr: int, is_input: bool, count: int) -> Tensor:
    """An input that forward modified in place: the same object with a new history."""
    if not is_input:
        if t._view is not None:
            raise RuntimeError("jvp or backward: mark_dirty received a tensor that was not an input. Only input Tensors "
                               "should be given to ctx.mark_dirty().")
        warnings.warn("Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need "
                      "to pass it to mark_dirty().", UserWarning, stacklevel=4)
        set_history(t, node, nr)
        return t
    if t._requires and t._node is None:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if t._view is not None and count > 1:
        raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                           "return more than one Tensor. This is not supported by the current autograd engine. You should "
                           "either make sure the input is not a view (using .clone() for example) or make your Function only "
                           "return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
                           "returns a single Tensor and a second one that does the other operations). You can ask on the forum "
                           "https://discuss.pytorch.org/ if you need help to do this change. Note: your Function modifies "
                           "inplace an input that is a view of another Tensor.")
    check_inplace(t, True)
    if t._view is None:
        rebase(t, node)
        t._nr = nr
        return t
    node._shape_, node._dtype_ = t.array.shape, t.array.dtype
    rebase(t, reorder(node, t))
    return t


def reorder(node: Node, t: Tensor) -> Any:
    """The node with the edge of the written input first, as CopySlices needs it."""
    return InplaceOnView(node, t)


class InplaceOnView(Node):
    """Wraps a custom Function's node inside CopySlices, with the edge of the written view first."""

    def __init__(self, node: Node, t: Tensor) -> None:
        Node.__init__(self)
        self.node = node
        producer = t._node
        order = [i for i, n in enumerate(node._next_) if n is producer][:1] or [0]
        order += [i for i in range(len(node._next_)) if i not in order]
        self.order = order
        self._next_ = tuple([node._next_[i] for i in order])
        self._nrs_ = None if node._nrs_ is None else [node._nrs_[i] for i in order]

    def name(self) -> str:
        return name_of(self.node)

    def _run_(self, grads: Any, needed: Any) -> Any:
        results = self.node._run_(grads, None)
        return [results[i] for i in self.order]

    def _release_(self) -> None:
        self.node._release_()


def save_tensors(node: FunctionNode, outputs: tuple[Any, ...]) -> None:
    """Turn the arguments of save_for_backward into saved tensors."""
    tensors = node.to_save
    node.to_save = None
    if tensors is None:
        return
    positions = {id(t): i for i, t in enumerate(outputs) if isinstance(t, Tensor)}
    saved = []
    for i, t in enumerate(tensors):
        if t is None:
            saved.append(SavedTensor.nothing())
        elif isinstance(t, Tensor):
            nr = positions.get(id(t), -1)
            own = nr >= 0 and (t._node is node or (t._view is not None and id(t) in positions and t._requires
                                                   and t._node is not None and owns(t._view.base._node, node)))
            saved.append(SavedTensor.packed(t, node, own, nr if own else 0))
        else:
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
    node._saved_ = saved


def owns(outer: Any, node: Node) -> bool:
    """Whether a base's history is this Function's write to one of its views."""
    inner = getattr(outer, "inner", None)
    return inner is not None and getattr(inner, "node", None) is node


class InplaceFunction(Function):
    """Base class of Functions with an `inplace` flag; kept for programs that subclass it.

    >>> issubclass(InplaceFunction, Function)
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def traceable(cls: Any) -> Any:
    """Mark a Function as traceable; it has no effect.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     traceable(Function).is_traceable
    True
    >>> del Function.is_traceable
    """
    warnings.warn("The is_traceable field on torch.autograd.Function is deprecated", FutureWarning, stacklevel=2)
    cls.is_traceable = True
    return cls
