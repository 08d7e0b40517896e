"""Derivatives of whole functions, `torch.autograd.functional`: Jacobians, Hessians and their products with vectors.

    >>> import retrograd as torch
    >>> jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.autograd.grad_mode import enable_grad, set_grad_enabled
from retrograd.core.hooks import hooks
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, wants_grad
from retrograd.ops import late

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

Function = Callable[..., Any]
Tensors = tuple[Any, ...]

OUTPUTS = "outputs of the user-provided function"
NOT_STRICT = "This is not allowed in strict mode"


# ---- products with vectors
def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func` and the product of `v` (a vector like the outputs) with its Jacobian.

    >>> import retrograd as torch
    >>> vjp(lambda x: x.exp().sum(), torch.zeros(2))
    (tensor(2.), tensor([1., 1.]))
    >>> vjp(lambda x, y: 2 * x + 3 * y, (torch.ones(2), torch.ones(2)), torch.tensor([1.0, 10.0]))
    (tensor([5., 5.]), (tensor([ 2., 20.]), tensor([ 3., 30.])))
    """
    with enable_grad():
        many_in, inputs = as_tuple(inputs, "inputs", "vjp")
        inputs = prepared(inputs, create_graph, True)
        many_out, outputs = as_tuple(func(*inputs), OUTPUTS, "vjp")
        check_requires_grad(outputs, NO_GRAD, strict)
        if v is not None:
            v = prepared(as_tuple(v, "v", "vjp")[1], create_graph, False)
            check_vector(v, outputs, many_out)
        elif len(outputs) != 1 or outputs[0].nelement() != 1:
            raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a "
                               "single element.")
    with set_grad_enabled(create_graph or tls.grad_enabled):
        grads = gradients(outputs, inputs, v, create_graph)
        product = with_zeros(grads, inputs, strict, create_graph, NO_OUTPUT, "jacobian")
    return finished(outputs, many_out, create_graph), finished(product, many_in, create_graph)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func` and the product of its Jacobian with `v` (a vector like the inputs).

    >>> import retrograd as torch
    >>> jvp(lambda x: x * x, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        _, inputs, v = inputs_and_vector(inputs, v, create_graph, "jvp")
        many_out, outputs = as_tuple(func(*inputs), OUTPUTS, "jvp")
        check_requires_grad(outputs, NO_GRAD, strict)
        # The product with a vector on the left is linear in that vector: its derivative is the product on the right.
        left = zeros_with_grad(outputs)
        grads = gradients(outputs, inputs, left, True)
        check_requires_grad(grads, NO_GRAD_INPUT, strict)
    with set_grad_enabled(create_graph or tls.grad_enabled):
        again = gradients(grads, left, v, create_graph)
        product = with_zeros(again, outputs, strict, create_graph, NO_TRICK, "jacobian")
    return finished(outputs, many_out, create_graph), finished(product, many_out, create_graph)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of `func`, a single number, and the product of `v` with its Hessian.

    >>> import retrograd as torch
    >>> vhp(lambda x: x.pow(3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        many_in, inputs, v = inputs_and_vector(inputs, v, create_graph, "vhp")
        outputs = single_output(func, inputs, strict, "vhp")
        first = gradients(outputs, inputs, None, True)
        check_requires_grad(first, NO_JACOBIAN, strict)
    with set_grad_enabled(create_graph or tls.grad_enabled):
        second = gradients(first, inputs, v, create_graph)
        product = with_zeros(second, inputs, strict, create_graph, NO_SECOND, "hessian")
    return finished(outputs, False, create_graph), finished(product, many_in, create_graph)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of `func`, a single number, and the product of its Hessian with `v`; `vhp` is faster and mostly the same.

    >>> import retrograd as torch
    >>> hvp(lambda x: x.pow(3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        many_in, inputs, v = inputs_and_vector(inputs, v, create_graph, "hvp")
        outputs = single_output(func, inputs, strict, "hvp")
        first = gradients(outputs, inputs, None, True)
        check_requires_grad(first, NO_JACOBIAN, strict)
        left = zeros_with_grad(inputs)          # as in jvp, but of the gradient
        second = gradients(first, inputs, left, True)
    with set_grad_enabled(create_graph or tls.grad_enabled):
        again = gradients(second, left, v, create_graph)
        product = with_zeros(again, inputs, strict, create_graph, NO_SECOND_TRICK, "hessian")
    return finished(outputs, False, create_graph), finished(product, many_in, create_graph)


# ---- whole Jacobians and Hessians
def jacobian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode", *, sparse: bool = False) -> Any:
    """The derivative of every element of the outputs with respect to every element of the inputs.

    With several outputs and inputs, `result[i][j]` is that of output `i` with respect to input `j`. With `sparse=True` they
    are `csr_array`s of SciPy, with outputs and inputs flat, found as `func.sparse_jacobian` does, whatever the strategy.

    >>> import retrograd as torch
    >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    >>> jacobian(lambda x, y: x * y, (x, y), vectorize=True)
    (tensor([[3., 0.],
            [0., 3.]]), tensor([[1.],
            [2.]]))
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more '
                             'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
                             '"reverse-mode".')
    if sparse:
        if create_graph or strict:
            other = "create_graph" if create_graph else "strict"
            raise RuntimeError(f"torch.autograd.functional.jacobian: `sparse=True` and `{other}=True` are not supported "
                               f"together. Please set `{other}=False`, or use a dense Jacobian.")
        many_in, inputs = as_tuple(inputs, "inputs", "jacobian")
        made = hooks.sparse_jacobian(func, inputs)
        return nested(made if isinstance(made[0], tuple) else (made,), isinstance(made[0], tuple), many_in)
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-mode\"` "
                                      "are not supported together (yet). Please either set `create_graph=False` or "
                                      "`strategy=\"reverse-mode\"`.")
        return forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        many_in, inputs = as_tuple(inputs, "inputs", "jacobian")
        inputs = prepared(inputs, create_graph, True)
        many_out, outputs = as_tuple(func(*inputs), OUTPUTS, "jacobian")
        check_requires_grad(outputs, NO_GRAD, strict)
        if vectorize:
            if strict:
                raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                                   "together. Please either set `strict=False` or `vectorize=False`.")
            made = all_rows_at_once(outputs, inputs, create_graph)
        else:
            made = tuple([row_by_row(i, out, inputs, create_graph, strict) for i, out in enumerate(outputs)])
        return nested(detached(made, create_graph), many_out, many_in)


def hessian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The second derivatives of `func`, a single number, with respect to every two elements of the inputs.

    >>> import retrograd as torch
    >>> hessian(lambda x: x.pow(3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many_in, inputs = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*args: Any) -> Tensor:
        return single_output(func, args, strict, "hessian")[0].squeeze()

    def first(*args: Any) -> tuple[Any, ...]:
        if outer_jacobian_strategy == "forward-mode":
            # Duals do not require grad by themselves, and the inner derivative would be cut off from them.
            args = tuple([t.requires_grad_(True) for t in args])
        made = jacobian(number, args, create_graph=True)
        check_requires_grad(made, NO_JACOBIAN, strict)
        return made
    made = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return nested(made, many_in, many_in)


def row_by_row(place: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobians of one output, with a backward pass for each of its elements."""
    rows: list[list[Any]] = [[] for _ in inputs]
    for j in range(output.nelement()):
        grads = gradients((output.reshape(-1)[j],), inputs, None, create_graph, retain_graph=True)
        for i, (t, g) in enumerate(zip(inputs, grads, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(f"Output {place} of the user-provided function is independent of input {i}. "
                                       f"{NOT_STRICT}.")
                g = late.zeros_like(t)
            elif strict and create_graph and not g.requires_grad:
                # PyTorch names the output's number here.
                raise RuntimeError(f"The jacobian of the user-provided function is independent of input {place}. {NOT_STRICT} "
                                   "when create_graph=True.")
            rows[i].append(g)
    return tuple([late.stack(made, 0).view(output.size() + t.size()) for made, t in zip(rows, inputs, strict=True)])


def all_rows_at_once(outputs: Tensors, inputs: Tensors, create_graph: bool) -> tuple[Tensors, ...]:
    """The Jacobians of all outputs by one backward pass, batched over all their elements."""
    sizes = [out.numel() for out in outputs]
    flat = tuple([out.reshape(-1) for out in outputs])
    grads = gradients(flat, inputs, unit_vectors(outputs, sizes), create_graph, is_grads_batched=True)
    columns = []
    for t, g in zip(inputs, grads, strict=True):
        if g is None:
            g = late.zeros_like(t).expand((sum(sizes), *t.shape))
        columns.append([part.view(out.shape + t.shape) for part, out in zip(g.split(sizes, 0), outputs, strict=True)])
    return tuple(zip(*columns, strict=True))


def forward_jacobian(func: Function, inputs: Any, strict: bool, vectorize: bool) -> Any:
    """The Jacobians of all outputs by one run of `func`, whose tangents are batched over all elements of the inputs."""
    if strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `strategy=\"forward-mode\"` are not "
                           "supported together (yet). Please either set `strict=False` or `strategy=\"reverse-mode\"`.")
    many_in, inputs = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                  "`vectorize=True`.")
    sizes = [t.numel() for t in inputs]
    many_out, shapes = False, []

    def tangents_of(tangents: Tensors) -> Tensors:
        nonlocal many_out
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(t, tangent.view_as(t)) for t, tangent in zip(inputs, tangents, strict=True)]
            many_out, outputs = as_tuple(func(*duals), "outputs", None)
            made = []
            for out in outputs:
                primal, tangent = forward_ad.unpack_dual(out)
                shapes.append(primal.shape)
                made.append(late.zeros_like(primal) if tangent is None else tangent)
            return tuple(made)
    columns = hooks.legacy_vmap(tangents_of)(unit_vectors(inputs, sizes))
    made = []
    for column, shape in zip(columns, shapes, strict=True):
        parts = zip(column.split(sizes, 0), inputs, strict=True)
        made.append([part.permute(*range(1, part.dim()), 0).reshape(shape + t.shape) for part, t in parts])
    return nested(made, many_out, many_in)


def unit_vectors(tensors: Tensors, sizes: list[int]) -> Tensors:
    """For each tensor a matrix whose rows are its part of the unit vectors of all elements of all of them together."""
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total, before, made = sum(sizes), 0, []
    for t, size in zip(tensors, sizes, strict=True):
        block = t.new_zeros((total, size))
        block.diagonal(-before).fill_(1)
        made.append(block)
        before += size
    return tuple(made)


# ---- arguments
def as_tuple(value: Any, role: str | None = None, caller: str | None = None) -> tuple[bool, Tensors]:
    """Whether `value` is a tuple, and it as one; nothing but tensors is allowed in it."""
    many = isinstance(value, tuple)
    made = value if many else (value,)
    for i, t in enumerate(made):
        if not isinstance(t, Tensor):
            where = f"value at index {i}" if many else f"given {role}"
            raise TypeError(f"The {role} given to {caller} must be either a Tensor or a tuple of Tensors but the {where} has "
                            f"type {type(t)}.")
    return many, made


def prepared(tensors: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """New tensors to differentiate with respect to, connected to the given ones only with create_graph."""
    made = []
    for t in tensors:
        if create_graph and wants_grad(t):
            made.append(t.clone() if t.is_sparse else t.view_as(t))
        else:
            made.append(t.detach().requires_grad_(need_graph))
    return tuple(made)


def inputs_and_vector(inputs: Any, v: Any, create_graph: bool, caller: str) -> tuple[bool, Tensors, Any]:
    """(Whether the inputs are a tuple, the inputs, the vector like them)."""
    many, inputs = as_tuple(inputs, "inputs", caller)
    inputs = prepared(inputs, create_graph, True)
    if v is not None:
        v = prepared(as_tuple(v, "v", caller)[1], create_graph, False)
        check_vector(v, inputs, many)
    elif len(inputs) != 1 or inputs[0].nelement() != 1:
        raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                           "single element.")
    return many, inputs, v


def check_vector(v: Tensors, like: Tensors, many: bool) -> None:
    if len(v) != len(like):
        if many:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (part, t) in enumerate(zip(v, like, strict=True)):
        if part.size() != t.size():
            entry = f"Entry {i} in " if many else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {t.size()} but got {part.size()}.")


def single_output(func: Function, inputs: Tensors, strict: bool, caller: str) -> Tensors:
    """The output of a function that must return one number."""
    many, outputs = as_tuple(func(*inputs), OUTPUTS, caller)
    check_requires_grad(outputs, NO_GRAD, strict)
    if many:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {caller} should contain a single element")
    return outputs


# ---- error texts of strict mode, with a placeholder for the tensor's index
NO_GRAD = ("Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
           "differentiable manner from the input when running in strict mode.")
NO_GRAD_INPUT = ("The gradient with respect to input {} is independent of the inputs of the user-provided function. "
                 f"{NOT_STRICT}.")
NO_JACOBIAN = ("While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
               f"independent of the input. {NOT_STRICT}. You should ensure that your function is twice differentiable and that "
               "the jacobian depends on the inputs (this would be violated by a linear function for example).")
NO_OUTPUT = f"The output of the user-provided function is independent of input {{}}. {NOT_STRICT}."
NO_TRICK = ("The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
            f"backward trick to compute forward mode gradients. {NOT_STRICT}.")
NO_SECOND = f"The jacobian of the user-provided function is independent of input {{}}. {NOT_STRICT}."
NO_SECOND_TRICK = (f"The hessian of the user-provided function is independent of entry {{}} in the grad_jacobian. {NOT_STRICT} "
                   "as it prevents from using the double backward trick to replace forward mode AD.")


def check_requires_grad(tensors: tuple[Any, ...], message: str, strict: bool) -> None:
    """Raise in strict mode if a tensor is missing or does not require grad."""
    if not strict:
        return
    for i, t in enumerate((tensors,) if isinstance(tensors, Tensor) else tensors):
        if t is None:
            raise RuntimeError(NO_OUTPUT.format(i))
        if not wants_grad(t):
            raise RuntimeError(message.format(i))


# ---- gradients and results
def gradients(outputs: tuple[Any, ...], inputs: Tensors, vectors: tuple[Any, ...] | None = None, create_graph: bool = False,
              **options: Any) -> Tensors:
    """`grad` of the outputs that require grad; None for inputs that none of them depends on."""
    vectors = (None,) * len(outputs) if vectors is None else vectors
    kept = [(out, v) for out, v in zip(outputs, vectors, strict=True) if out is not None and wants_grad(out)]
    if not kept:
        return (None,) * len(inputs)
    return grad([out for out, _ in kept], inputs, [v for _, v in kept], allow_unused=True, create_graph=create_graph, **options)


def zeros_with_grad(tensors: Tensors) -> Tensors:
    return tuple([late.zeros_like(t, requires_grad=True) for t in tensors])


def with_zeros(grads: Tensors, like: Tensors, strict: bool, create_graph: bool, missing: str, what: str) -> Tensors:
    """The gradients with missing ones replaced by zeros; strict mode raises."""
    made = []
    for i, (g, t) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(missing.format(i))
            g = late.zeros_like(t)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(f"The {what} of the user-provided function is independent of input {i}. {NOT_STRICT} when "
                               "create_graph=True.")
        made.append(g)
    return tuple(made)


def detached(tensors: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """A (nested) tuple of tensors, detached without create_graph; an empty one is an error, as in PyTorch."""
    if isinstance(tensors[0], Tensor):
        return tensors if create_graph else tuple([t.detach() for t in tensors])
    return tuple([detached(part, create_graph) for part in tensors])


def finished(tensors: Tensors, many: bool, create_graph: bool) -> Any:
    made = detached(tensors, create_graph)
    return made if many else made[0]


def nested(made: Sequence[Any], outer: bool, inner: bool) -> Any:
    """Results by output and by input, without the tuple levels that the user's arguments did not have."""
    if not outer:
        made = made[0]
        return made if inner else made[0]
    return made if inner else tuple([row[0] for row in made])
