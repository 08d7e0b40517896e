"""`backward` and `grad`: checking the arguments, making the first gradients, calling the engine."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from retrograd.autograd import origins
from retrograd.autograd.engine import run_backward
from retrograd.autograd.hooks import retain_grad
from retrograd.core.api import overridden, wants_call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.graph import AccumulateGrad, Node, edge_of, shape_dtype, unseen_accumulator, unseen_edge
from retrograd.core.hooks import hooks
from retrograd.core.state import switches, tls
from retrograd.core.subclass import Subclasses
from retrograd.core.tensor import FLAG_SUBCLASS, Size, Tensor, wants_grad
from retrograd.core.warn import warn_once
from retrograd.ops import late


class NoInputsError(RuntimeError, ValueError):
    """`grad` was called without inputs: a subclass of both exception types that PyTorch versions raise."""


NoInputsError.__name__ = NoInputsError.__qualname__ = "RuntimeError"       # as tracebacks of the current version show it


class GradientEdge(NamedTuple):
    """Output `output_nr` of `node`, accepted in place of a tensor by backward and grad.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> edge = GradientEdge(y.grad_fn, 0)
    >>> torch.autograd.grad(y.exp().sum(), edge)[0].shape
    torch.Size([2])
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge through which the gradient of `tensor` flows.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> get_gradient_edge(x.exp()).node.name()
    'ExpBackward0'
    >>> get_gradient_edge(x).node.variable is x
    True
    """
    if not wants_grad(tensor):
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if not tensor._requires and tensor.grad_fn is None:         # a view made under no_grad of a tensor that requires grad
        raise AssertionError("Expected gradient function to be set")
    node: Any = edge_of(tensor)
    return GradientEdge(node, tensor._nr)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves (or of `inputs`).

    >>> import retrograd as torch
    >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([4., 6.])
    """
    if switches.any_mode and tls.transforms:
        raise RuntimeError(tls.transforms[-1].no_backward)
    if seen_by_mode() or not isinstance(tensors, Tensor) and wants_call((tensors,)):
        return hooks.torch_function(backward, (tensors,), dict(
            grad_tensors=grad_tensors, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs))
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is None:
            grad_tensors = grad_variables
        else:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                               "Please only use `grad_tensors`.")
    if inputs is not None:
        inputs = as_tuple(inputs)
        if len(inputs) == 0:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = as_tuple(tensors)
    grads = first_gradients(outputs, grads_tuple(grad_tensors, len(outputs)), False)
    if retain_graph is None:
        retain_graph = create_graph
    if create_graph:
        warn_once(CREATE_GRAPH, 2)
    roots = root_edges(outputs)
    targets = None if inputs is None else backward_targets(inputs)
    run_backward(roots, grads, bool(retain_graph), create_graph, targets, True)


def backward_targets(inputs: tuple[Any, ...]) -> list[Any]:
    """The edges of the `inputs` of `backward`; non-leaf tensors among them retain their gradients."""
    targets = []
    for i, t in enumerate(inputs):
        if isinstance(t, Tensor):
            if not wants_grad(t):
                raise RuntimeError(f"can't retain_grad on Tensor that has requires_grad=False (input {i})"
                                   + origins.without_grad(t))
            if t._recorded is not None:
                retain_grad(t)
        targets.append(input_edge(t))
    return targets


def seen_by_mode() -> bool:
    """Whether a function mode overrides a public function."""
    return bool(switches.function_modes and tls.function_modes and tls.function_disabled < 2)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: Any = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> Any:
    """Return the gradient of `outputs` with respect to each of `inputs`: a tuple, or a dict with the keys of a dict.

    >>> import retrograd as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> torch.autograd.grad(x * x, [x])
    (tensor([4.]),)
    """
    results: Sequence[Any]
    if only_inputs and not (materialize_grads or is_grads_batched or switches.function_modes):
        usual = usual_call(outputs, inputs, grad_outputs)
        if usual is not None:
            roots, grads, targets = usual
            results = run_backward(roots, grads, create_graph if retain_graph is None else bool(retain_graph), create_graph,
                                   targets, False)
            return tuple(results if is_complete(results) else finish(
                results, as_tuple(inputs), roots, bool(allow_unused), False, create_graph))
    if not (is_ordinary(outputs) and is_ordinary(inputs)) and (wants_call((outputs, inputs)) or is_overridden(outputs, inputs)):
        return hooks.torch_function(grad, (outputs, inputs), dict(
            grad_outputs=grad_outputs, retain_graph=retain_graph, create_graph=create_graph, only_inputs=only_inputs,
            allow_unused=allow_unused, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads))
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if allow_unused is None:
        allow_unused = materialize_grads
    names = list(inputs) if isinstance(inputs, dict) else None
    outputs, inputs = as_tuple(outputs), as_tuple(inputs if names is None else tuple(inputs.values()))
    if len(inputs) == 0:
        raise NoInputsError("`inputs` argument to `grad()` cannot be empty. grad requires non-empty inputs.")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
                      "other parts of the graph, please use torch.autograd.backward.", FutureWarning, stacklevel=2)
    given = grads_tuple(grad_outputs, len(outputs))
    grads = first_gradients(outputs, given, is_grads_batched)
    if retain_graph is None:
        retain_graph = create_graph
    if is_grads_batched and any([g is None for g in grads]):
        raise ValueError("vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type "
                         f"{type(None)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim "
                         "(outputs that do not require grad need gradients)")
    roots = root_edges(outputs)
    targets = [input_edge(t) for t in inputs]
    for i in range(len(targets)):
        if targets[i][0] is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad"
                               f" (the input at index {i}; call requires_grad_() on it before it is used)"
                               + origins.without_grad(inputs[i]))
    if is_grads_batched:
        results = run_batched(roots, grads, create_graph, targets, bool(allow_unused))
    else:
        results = run_backward(roots, grads, bool(retain_graph), create_graph, targets, False)
    if not is_complete(results):
        results = finish(results, inputs, roots, bool(allow_unused), materialize_grads, create_graph)
    made = tuple(results)
    return made if names is None else dict(zip(names, made, strict=True))


def usual_call(output: Any, inputs: Any, grad: Any) -> Any:
    """The roots, the first gradients and the targets of a call of `grad` with one result; None if a tensor has flags or needs
    no gradient, so that this takes more to say."""
    if not isinstance(output, Tensor) or grad is not None and not isinstance(grad, Tensor):
        return None
    roots = usual_edges((output,))
    targets = None if roots is None else usual_edges(inputs if type(inputs) in (list, tuple) else (inputs,))
    if not targets:
        return None
    if type(grad) is Tensor:
        first = grad
        if first.array.dtype is output.array.dtype and first.array.shape == output.array.shape:
            return roots, [grad], targets
    return roots, first_gradients((output,), (grad,), False), targets


def usual_edges(tensors: Any) -> list[Any] | None:
    """The edges of tensors without flags that need gradients; None if there is another value among them."""
    edges = []
    for value in tensors:
        if not isinstance(value, Tensor):
            return None
        t = value
        if t._flags:
            return None
        node = t._node
        if node is None or t._view is not None:
            node = t._sink
            if type(node) is not AccumulateGrad or t._view is not None or not t._requires:
                node, _ = input_edge(t)
                if node is None:
                    return None
        edges.append((node, t._nr))
    return edges


def is_complete(results: Any) -> bool:
    """Whether there is a gradient for each input."""
    if not isinstance(results, list):
        return False
    for result in results:
        if result is None:
            return False
    return True


def run_batched(roots: Sequence[Any], grads: Sequence[Any], create_graph: bool, targets: Sequence[Any],
                allow_unused: bool) -> tuple[Any, ...]:
    """One backward pass for a batch of gradients, under vmap."""
    def one(*batched: Any) -> list[Any]:
        return run_backward(roots, list(batched), True, create_graph, targets, False)
    return hooks.vmap(one, grads, allow_unused)


def is_ordinary(value: Any) -> bool:
    """Whether `value` is a tensor, or a tuple or list of tensors, that no mode or class wants to see in a call of `grad`."""
    if switches.function_modes:
        return False
    if isinstance(value, Tensor):
        t = value
        return not t._flags & FLAG_SUBCLASS
    if type(value) is not tuple and type(value) is not list:
        return False
    for item in value:
        if not isinstance(item, Tensor):
            return False
        t = item
        if t._flags & FLAG_SUBCLASS:
            return False
    return True


def is_overridden(outputs: Any, inputs: Any) -> bool:
    """Whether a mode or the class of a tensor overrides `grad`."""
    if not (switches.function_modes or Subclasses.defined):
        return False
    return overridden((outputs, tuple(inputs.values()) if isinstance(inputs, dict) else inputs), {})


def finish(results: Sequence[Any], inputs: tuple[Any, ...], roots: Sequence[Any], allow_unused: bool, materialize_grads: bool,
           create_graph: bool) -> list[Any]:
    """Raise for inputs that no gradient reached."""
    results = list(results)
    if materialize_grads and any(r is None and not isinstance(t, Tensor) for r, t in zip(results, inputs, strict=True)):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    for i, (result, t) in enumerate(zip(results, inputs, strict=True)):
        if result is None:
            if materialize_grads:
                results[i] = late.zeros_like(t, requires_grad=create_graph)
            elif not allow_unused:
                raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                                   "Set allow_unused=True if this is the desired behavior." + origins.unused(i, t, roots))
    return results


def as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor) or isinstance(value, GradientEdge):
        return (value,)
    return tuple(value)


def grads_tuple(grads: Any, count: int) -> tuple[Any, ...]:
    if grads is None:
        return (None,) * count
    given = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    if len(given) < count:
        raise RuntimeError(f"got {count} tensors and {len(given)} gradients")
    return given[:count]


def input_edge(t: Any) -> tuple[Any, ...]:
    if isinstance(t, Tensor):
        if not wants_grad(t):
            return None, 0
        node = unseen_edge(t)
        return (node if node is not None else unseen_accumulator(t)), t._nr
    if not isinstance(t, GradientEdge):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    if not isinstance(t[0], Node):
        raise RuntimeError(f"GradientEdge's first object must be an autograd.graph.Node but got {type(t[0]).__name__}")
    return t[0], t[1]


def root_edges(outputs: tuple[Any, ...]) -> list[Any]:
    edges = []
    for i, t in enumerate(outputs):
        node, nr = input_edge(t)
        if node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn"
                               + origins.rootless(t))
        edges.append((node, nr))
    return edges


def output_facts(t: Any) -> tuple[Any, Any]:
    """Shape and NumPy dtype of a tensor or of a gradient edge."""
    if isinstance(t, Tensor):
        return t.array.shape, t.array.dtype
    if not isinstance(t, GradientEdge):
        raise AssertionError(f"Expected output to be a torch.Tensor, got {type(t).__name__}")
    return shape_dtype(t[0], t[1])


def first_gradients(outputs: tuple[Any, ...], grads: tuple[Any, ...], batched: bool) -> list[Any]:
    """The root gradients: the given ones after checks, or ones for scalars."""
    made: list[Any] = []
    for i in range(len(outputs)):
        out, g = outputs[i], grads[i]
        if type(g) is Tensor and type(out) is Tensor and not batched:
            t, first = out, g
            if first.array.dtype is t.array.dtype and first.array.shape == t.array.shape:
                made.append(g)
                continue
        shape, dtype = output_facts(out)
        if g is None:
            if isinstance(out, Tensor) and not wants_grad(out):
                made.append(None)
                continue
            if shape and prod(shape) != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if BY_NUMPY[dtype].category != 2:
                raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                                   f"{BY_NUMPY[dtype]}")
            made.append(hooks.ones_like(out, shape, dtype))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        check_gradient(out, g, shape, dtype, i, batched)
        made.append(g)
    return made


def calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output (or gradient edge) and of its gradient, which must agree."""
    if getattr(output, "is_nested", False) or grad.is_nested:
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with Nested Tensor.")
        return output._nested_tensor_size(), grad._nested_tensor_size()
    return Size(output_facts(output)[0]), Size(first_of_batch(grad) if is_grads_batched else grad.array.shape)


def first_of_batch(grad: Tensor) -> tuple[Any, ...]:
    """The shape of the gradient of the first example: there must be one."""
    shape = grad.array.shape
    if not shape:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                         "convert a 0-dim tensor to a number")
    if shape[0] == 0:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    return shape[1:]


def check_gradient(out: Any, g: Tensor, shape: tuple[int, ...], dtype: Any, i: int, batched: bool) -> None:
    have = first_of_batch(g) if batched else g.array.shape
    if tuple(have) != tuple(shape):
        if batched:
            raise RuntimeError("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                               f"dimension. The sizes of the remaining dimensions are expected to match the shape of "
                               f"corresponding output, but a mismatch was detected: grad_output[{i}] has a shape of "
                               f"{Size(g.array.shape)} and output[{i}] has a shape of {Size(shape)}. If you only want some "
                               "tensors in `grad_output` to be considered batched, consider using vmap.")
        raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {Size(have)} and output[{i}] has a shape of "
                           f"{Size(shape)}.")
    if (dtype.kind in "cW") != (g.array.dtype.kind in "cW"):
        raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                           f"dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of "
                           f"{BY_NUMPY[dtype]}.")


CREATE_GRAPH = ("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
                "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
                "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
                "the cycle and avoid the leak.")
