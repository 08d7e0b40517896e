"""Derivatives of functions: products with Jacobians and Hessians, and whole ones, by backward passes.

`create_graph` makes the results differentiable; `strict` turns derivatives that are zero because there is no connection
into errors.
"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.autograd.grad_mode import enable_grad
from retrograd.core.dispatch import METHODS
from retrograd.core.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), v'J): the product of a vector with the Jacobian.

    >>> import retrograd as torch
    >>> vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        call = Call(func, inputs, "vjp", create_graph, strict)
        if v is not None:
            v = vector(v, call.outputs, call.output_is_tuple)
        elif len(call.outputs) != 1 or call.outputs[0].array.size != 1:
            raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a "
                               "single element.")
    with enable_grad() if create_graph else nullcontext():
        found = gradients(call.outputs, call.inputs, v, create_graph)
        result = filled(found, call.inputs, strict, create_graph, "back")
    return call.finish(call.outputs, call.output_is_tuple), call.finish(result, call.input_is_tuple)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), Jv): the product of the Jacobian with a vector, by two backward passes.

    >>> import retrograd as torch
    >>> jvp(lambda x: x.sum() * x, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([3., 6.]), tensor([5., 7.]))
    """
    with enable_grad():
        call = Call(func, inputs, "jvp", create_graph, strict)
        v = input_vector(v, call)
        # The gradient is linear in the gradients of the outputs; its derivative with respect to them is what is wanted.
        seeds = tuple([METHODS["zeros_like"](out, requires_grad=True) for out in call.outputs])
        backward = gradients(call.outputs, call.inputs, seeds, True)
        require_grad(backward, "grad_inputs", strict)
    with enable_grad() if create_graph else nullcontext():
        found = gradients(backward, seeds, v, create_graph)
        result = filled(found, call.outputs, strict, create_graph, "back_trick")
    return call.finish(call.outputs, call.output_is_tuple), call.finish(result, call.output_is_tuple)


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode") -> Any:
    """The Jacobian: for every output and input a tensor of the shape of both.

    >>> import retrograd as torch
    >>> jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
                             'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
                             '"reverse-mode".')
    if strategy == "forward-mode":
        return forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        call = Call(func, inputs, "jacobian", create_graph, strict)
        if vectorize:
            if strict:
                raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                                   "together. Please either set `strict=False` or `vectorize=False`.")
            rows = batched_rows(call, create_graph)
        else:
            rows = [one_by_one(call, i, out, create_graph, strict) for i, out in enumerate(call.outputs)]
        blocks = [tuple([block.view(tuple(out.shape) + tuple(t.shape)) for block, t in zip(row, call.inputs, strict=True)])
                  for row, out in zip(rows, call.outputs, strict=True)]
    rows = [call.finish(row, call.input_is_tuple) for row in blocks]
    return tuple(rows) if call.output_is_tuple else rows[0]


def one_by_one(call: Call, i: int, out: Any, create_graph: bool, strict: bool) -> list[Any]:
    """The rows of the Jacobian of one output, an element of it at a time; stacked for each input."""
    columns: list[list[Any]] = [[] for _ in call.inputs]
    for j in range(out.array.size):
        found = gradients((out.reshape(-1)[j],), call.inputs, None, create_graph, keep=True)
        for k, (g, t) in enumerate(zip(found, call.inputs, strict=True)):
            if g is None and strict:
                raise RuntimeError(f"Output {i} of the user-provided function is independent of input {k}. This is not allowed "
                                   "in strict mode.")
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError("The jacobian of the user-provided function is independent of input "
                                   f"{k}. This is not allowed in strict mode when create_graph=True.")
            columns[k].append(METHODS["zeros_like"](t) if g is None else g)
    return [METHODS["stack"](column, 0) if column else METHODS["zeros"]((0, *t.shape), dtype=t.dtype)
            for column, t in zip(columns, call.inputs, strict=True)]


def batched_rows(call: Call, create_graph: bool) -> list[list[Any]]:
    """The same for all outputs in one batched backward pass."""
    sizes = [out.array.size for out in call.outputs]
    basis = []
    for i, out in enumerate(call.outputs):
        # one row for every element of every output: ones on the diagonal of this output's own rows
        parts = [METHODS["eye"](n, dtype=out.dtype) if i == k else METHODS["zeros"]((n, sizes[i]), dtype=out.dtype)
                 for k, n in enumerate(sizes)]
        basis.append(METHODS["cat"](parts, 0).reshape((sum(sizes), *out.shape)))
    pairs = [(out, seed) for out, seed in zip(call.outputs, basis, strict=True) if out.requires_grad]
    found: Any = [None] * len(call.inputs)
    if pairs:
        found = grad([out for out, _ in pairs], call.inputs, [seed for _, seed in pairs], create_graph=create_graph,
                     allow_unused=True, is_grads_batched=True)
    whole = [METHODS["zeros"]((sum(sizes), *t.shape), dtype=t.dtype) if g is None else g
             for g, t in zip(found, call.inputs, strict=True)]
    split = [METHODS["split_with_sizes"](g, sizes, 0) for g in whole]
    return [[parts[i].contiguous() for parts in split] for i in range(len(sizes))]


def forward_jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """The Jacobian, column by column, by forward mode."""
    if strict:
        raise RuntimeError('torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
                           'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.')
    if create_graph:
        raise NotImplementedError('torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are '
                                  'not supported together (yet). Please either set `create_graph=False` or '
                                  '`strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                  "`vectorize=True`.")
    tensors, input_is_tuple = as_tuple(inputs, "inputs", "jacobian")
    columns: list[list[list[Any]]] = []
    output_is_tuple = False
    for k, t in enumerate(tensors):
        columns.append([])
        for j in range(t.array.size):
            seed = METHODS["zeros"]((t.array.size,), dtype=t.dtype)
            seed[j] = 1
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(u, seed.reshape(u.shape)) if i == k else u for i, u in enumerate(tensors)]
                outputs, output_is_tuple = as_tuple(func(*duals), "outputs of the user-provided function", "jacobian")
                pairs = [forward_ad.unpack_dual(out) for out in outputs]
                columns[k].append([METHODS["zeros_like"](p.primal) if p.tangent is None else p.tangent for p in pairs])
    count = len(columns[0][0])
    rows = []
    for i in range(count):
        row = [METHODS["stack"]([column[i] for column in columns[k]], -1).reshape((*columns[k][0][i].shape, *t.shape))
               for k, t in enumerate(tensors)]
        rows.append(row if input_is_tuple else row[0])
    return rows if output_is_tuple else rows[0]


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one number as result: for every pair of inputs a tensor of the shape of both.

    >>> import retrograd as torch
    >>> hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    input_is_tuple = as_tuple(inputs, "inputs", "hessian")[1]
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*args: Any) -> Any:
        out = func(*args)
        outputs, is_tuple = as_tuple(out, "outputs of the user-provided function", "hessian")
        single(outputs, is_tuple, "hessian")
        return out.squeeze()

    def slope(*args: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple([t.requires_grad_(True) for t in args])
        found = jacobian(number, args, create_graph=True)
        require_grad(found, "jacobian", strict)
        return found

    found = jacobian(slope, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize,
                     strategy=outer_jacobian_strategy)
    if input_is_tuple:
        return tuple([tuple(row) for row in found])
    return found[0]


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), v'H): the product of a vector with the Hessian.

    >>> import retrograd as torch
    >>> vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call = Call(func, inputs, "vhp", create_graph, False)
        v = input_vector(v, call)
        single(call.outputs, call.output_is_tuple, "vhp")
        slope = gradients(call.outputs, call.inputs, None, True)
        require_grad(slope, "jacobian", strict)
    with enable_grad() if create_graph else nullcontext():
        found = gradients(slope, call.inputs, v, create_graph)
        result = filled(found, call.inputs, strict, create_graph, "double_back")
    return call.finish(call.outputs, call.output_is_tuple), call.finish(result, call.input_is_tuple)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), Hv): the product of the Hessian with a vector; `vhp` is cheaper and, where H is symmetric, the same.

    >>> import retrograd as torch
    >>> hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call = Call(func, inputs, "hvp", create_graph, strict)
        v = input_vector(v, call)
        single(call.outputs, call.output_is_tuple, "hvp")
        slope = gradients(call.outputs, call.inputs, None, True)
        require_grad(slope, "jacobian", strict)
        seeds = tuple([METHODS["zeros_like"](t, requires_grad=True) for t in call.inputs])
        backward = gradients(slope, call.inputs, seeds, True)
        require_grad(backward, "hessian", strict)
    with enable_grad() if create_graph else nullcontext():
        found = gradients(backward, seeds, v, create_graph)
        result = filled(found, call.inputs, strict, create_graph, "double_back_trick")
    return call.finish(call.outputs, call.output_is_tuple), call.finish(result, call.input_is_tuple)


# ---- one call of the function
class Call:
    """The inputs made ready, and what the function returned for them."""

    def __init__(self, func: Callable[..., Any], inputs: Any, name: str, create_graph: bool, strict: bool) -> None:
        given, self.input_is_tuple = as_tuple(inputs, "inputs", name)
        self.create_graph = create_graph
        # A view keeps the way to what the user's inputs were computed from.
        self.inputs = tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in given])
        self.outputs, self.output_is_tuple = as_tuple(func(*self.inputs), "outputs of the user-provided function", name)
        require_grad(self.outputs, "outputs", strict)

    def finish(self, values: Any, is_tuple: bool) -> Any:
        """A result in the structure that the user knows, cut off the graph if it is not wanted."""
        made = tuple(values) if self.create_graph else tuple([t.detach() for t in values])
        return made if is_tuple else made[0]


def as_tuple(value: Any, what: str, name: str) -> tuple[tuple[Any, ...], bool]:
    """`value` as a tuple of tensors, and whether it was one."""
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            if not isinstance(item, Tensor):
                raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at "
                                f"index {i} has type {type(item)}.")
        return value, True
    if not isinstance(value, Tensor):
        raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the given {what} has "
                        f"type {type(value)}.")
    return (value,), False


def single(outputs: Any, is_tuple: bool, name: str) -> None:
    if is_tuple:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def input_vector(v: Any, call: Call) -> Any:
    if v is not None:
        return vector(v, call.inputs, call.input_is_tuple)
    if len(call.inputs) != 1 or call.inputs[0].array.size != 1:
        raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                           "single element.")
    return (METHODS["ones_like"](call.inputs[0]),)


def vector(v: Any, like: Any, is_tuple: bool) -> tuple[Any, ...]:
    """The vector given by the user, checked to have the shapes of `like`."""
    given = as_tuple(v, "v", "v")[0]
    if len(given) != len(like):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (t, expected) in enumerate(zip(given, like, strict=True)):
        if t.shape != expected.shape:
            entry = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {expected.shape} but got {t.shape}.")
    return given


# ---- backward passes
def gradients(outputs: Any, inputs: Any, seeds: Any, create_graph: bool, keep: bool | None = None) -> Any:
    """`grad` with None for what is not connected, outputs without a graph included."""
    if seeds is None:
        seeds = (None,) * len(outputs)
    pairs = [(out, seed) for out, seed in zip(outputs, seeds, strict=True) if out is not None and out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad([out for out, _ in pairs], inputs, [seed for _, seed in pairs], allow_unused=True, create_graph=create_graph,
                retain_graph=keep)


MISSING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the "
                  "double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
                   "mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is "
                         "not allowed in strict mode as it prevents from using the double backward trick to replace "
                         "forward mode AD.",
}


def filled(found: Any, like: Any, strict: bool, create_graph: bool, stage: str) -> list[Any]:
    """Gradients with zeros for what is not connected; in strict mode that is an error."""
    result = []
    for i, (g, t) in enumerate(zip(found, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(MISSING[stage].format(i=i))
            g = METHODS["zeros_like"](t)
        elif strict and create_graph and not g.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(f"The {what} of the user-provided function is independent of input {i}. This is not allowed in "
                               "strict mode when create_graph=True.")
        result.append(g)
    return result


def require_grad(values: Any, kind: str, strict: bool) -> None:
    """In strict mode, refuse values that no gradient can flow back from."""
    if not strict:
        return
    for i, t in enumerate(values if isinstance(values, (list, tuple)) else (values,)):
        if t is None:
            raise RuntimeError(MISSING["back"].format(i=i))
        if t.requires_grad:
            continue
        if kind == "hessian":
            raise RuntimeError(f"The hessian of the user-provided function with respect to input {i} is independent of the "
                               "input. This is not allowed in strict mode when create_graph=True. You should ensure that your "
                               "function is thrice differentiable and that the hessian depends on the inputs.")
        if kind == "jacobian":
            raise RuntimeError("While computing the hessian, found that the jacobian of the user-provided function with "
                               f"respect to input {i} is independent of the input. This is not allowed in strict mode. You "
                               "should ensure that your function is twice differentiable and that the jacobian depends on the "
                               "inputs (this would be violated by a linear function for example).")
        if kind == "grad_inputs":
            raise RuntimeError(f"The gradient with respect to input {i} is independent of the inputs of the user-provided "
                               "function. This is not allowed in strict mode.")
        raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed "
                           "in a differentiable manner from the input when running in strict mode.")
