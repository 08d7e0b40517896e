"""Jacobians of a function for gradcheck, by finite differences and by its derivatives.

NOTE [Shapes of Jacobians]
The Jacobian of an output with respect to an input is a matrix with a row for every element of the input and a column for
every element of the output. In fast mode it is projected onto two random vectors: `u` on the side of the input and `v` on
that of the output. A complex input has two vectors, one for each part.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.core.dtypes import complex64, complex128, float32, float64, int64
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.ops.create.generators import Generator
from retrograd.ops.memory.copy import contiguous_format

Function = Callable[..., Any]
Inputs = Sequence[Any]
Outputs = Sequence[Tensor]


class GradcheckError(RuntimeError):
    """Raised by gradcheck and gradgradcheck for wrong derivatives.

    >>> import retrograd as torch
    >>> x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    >>> try:
    ...     torch.autograd.gradcheck(lambda x: x * x.detach(), x)
    ... except GradcheckError as error:
    ...     print(str(error)[:36])
    Jacobian mismatch for output 0 with
    """


# ---- kinds of values
def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def is_float(value: Any) -> bool:
    """Whether a value is a floating-point or complex tensor."""
    return is_tensor(value) and (value.is_floating_point() or value.is_complex())


def layout_of(t: Tensor) -> str:
    return str(getattr(t, "layout", "torch.strided")).removeprefix("torch.")


def is_sparse(t: Tensor) -> bool:
    return layout_of(t).startswith("sparse_")


def is_mkldnn(t: Tensor) -> bool:
    return layout_of(t) == "_mkldnn"


def tensors_in(value: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """The tensors in a nested value."""
    if is_tensor(value):
        if value.requires_grad or not only_requiring_grad:
            yield value
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for item in value:
            yield from tensors_in(item, only_requiring_grad)


def differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple([out for out in as_tuple(outputs) if out.requires_grad])


def positions(inputs: Inputs) -> list[int]:
    """The positions of the inputs that require grad."""
    return [i for i, t in enumerate(inputs) if is_tensor(t) and t.requires_grad]


def indices(t: Tensor) -> Iterator[tuple[int, ...]]:
    return product(*[range(n) for n in t.shape])


# ---- by finite differences
def numerical_jacobians(fn: Function, inputs: Inputs, outputs: Sequence[Any] | None = None, target: Any = None,
                        eps: float = 1e-3, is_forward_ad: bool = False) -> list[Any]:
    """For every tensor of `target` that requires grad, the Jacobians of all outputs."""
    inputs = as_tuple(inputs)
    if outputs is None:
        outputs = as_tuple(fn(*inputs))
    if not is_forward_ad and any([out.is_complex() for out in outputs]):
        raise ValueError("Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return "
                         "complex outputs.")
    if target is None:
        target = inputs
    places = positions(target)
    return [numerical_jacobian(fn, inputs, outputs, eps, t, is_forward_ad)
            for t, _ in zip(tensors_in(target, True), places, strict=False)]


def numerical_jacobian(fn: Function, inputs: Inputs, outputs: Outputs, eps: float, t: Tensor, forward: bool) -> tuple[Any, ...]:
    """The Jacobians of all outputs with respect to `t`, which is modified in place between calls of `fn`."""
    data = writable(t)
    complex_input = t.is_complex()
    jacobians = [out.new_zeros((t.numel(), out.numel()), dtype=t.dtype if complex_input else out.dtype)
                 for out in outputs if is_float(out)]
    for row, index in places(t):
        def change(delta: Any, index: Sequence[Any] = index) -> tuple[Any, ...]:
            return difference(fn, inputs, data[index], delta, eps, f"on index {index} ")
        columns = directional(change, eps, eps, complex_input, forward)
        for i, jacobian in enumerate(jacobians):
            jacobian[row] = columns[i]
    return tuple(jacobians)


def writable(t: Tensor) -> Tensor:
    """The tensor's values, for writes that autograd does not track."""
    if is_mkldnn(t):
        raise NotImplementedError(f"finite differences for {t.layout} input")
    if is_sparse(t):
        return (t._values() if layout_of(t) == "sparse_coo" else t.detach().values()).data
    return t.data


def places(t: Tensor) -> Iterator[tuple[int, tuple[int, ...]]]:
    """For every stored element, its flat index in the dense tensor and its index among the values."""
    if is_sparse(t):
        yield from zip(stored_rows(t), indices(writable(t)), strict=True)
    else:
        yield from enumerate(indices(t))


def stored_rows(t: Tensor) -> list[int]:
    """The flat indices in the dense tensor of the values of a sparse one."""
    if layout_of(t) != "sparse_coo":
        values = writable(t)
        numbers = late.arange(t.numel()).reshape(t.shape)
        return [int(n) for n in late.sparse_mask(numbers, t.detach()).values().reshape(-1).tolist()][:values.numel()]
    dense = writable(t).numel() // max(t._nnz(), 1)
    rows: list[int] = []
    for column in zip(*t._indices().tolist(), strict=True) if t.sparse_dim() else [()] * t._nnz():
        row = 0
        for i, size in zip(column, t.shape, strict=False):
            row = row * size + i
        rows.extend(range(row * dense, (row + 1) * dense))
    return rows


def filled(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The inputs with sparse ones replaced by others in which every element is stored."""
    return tuple([fill_out(t) if is_tensor(t) and is_sparse(t) else t for t in inputs])


def fill_out(t: Tensor) -> Tensor:
    layout = layout_of(t)
    options: Any = {"blocksize": t.values().shape[1:3]} if layout in ("sparse_bsr", "sparse_bsc") else {}
    ones = late.ones(t.shape, dtype=t.dtype)
    pattern = late.to_sparse(ones, t.sparse_dim()) if layout == "sparse_coo" else late.to_sparse(
        ones, layout=t.layout, dense_dim=t.dense_dim(), **options)
    return late.sparse_mask(t.detach().to_dense(), pattern).requires_grad_(t.requires_grad)


def difference(fn: Function, inputs: Inputs, part: Tensor, delta: Any, eps: float, where: str) -> tuple[Any, ...]:
    """The central difference of all outputs when `part` of an input changes by `delta`."""
    before = part.clone()
    part.copy_(before - delta)
    low = [out.clone() for out in as_tuple(fn(*inputs))]
    part.copy_(before + delta)
    high = [out.clone() for out in as_tuple(fn(*inputs))]
    part.copy_(before)
    made = []
    for a, b in zip(low, high, strict=False):
        check_same(a, b, eps, where)
        made.append(((b - a) / (2 * eps)).detach().reshape(-1))
    return tuple(made)


def check_same(a: Tensor, b: Tensor, eps: float, where: str) -> None:
    for fact in ("shape", "dtype"):
        if getattr(a, fact) != getattr(b, fact):
            raise AssertionError(f"Expected `func` to return outputs with the same {fact} when inputs are perturbed {where}by "
                                 f"{eps}, but got: {fact}s {getattr(a, fact)} and {getattr(b, fact)}.")


def directional(change: Function, real: Any, imaginary: Any, complex_input: bool, forward: bool) -> list[Any]:
    """The derivative of all outputs in one direction; for complex inputs that of the conjugate Wirtinger kind."""
    by_real = change(real)
    if not complex_input:
        if not forward and any([d.is_complex() for d in by_real]):
            raise AssertionError("Expected ds_dx to be real-valued, not complex.")
        return list(by_real)
    by_imaginary = change(imaginary * 1j)
    if any([d.is_complex() for d in by_real]):
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    return [x + y * 1j for x, y in zip(by_real, by_imaginary, strict=False)]


def numerical_jvp(fn: Function, inputs: Inputs, place: int, u: Any, eps: float, forward: bool) -> list[Any]:
    """The derivative of all outputs when input `place` moves along `u`."""
    t = inputs[place]
    data = writable(t)
    parts = u if isinstance(u, tuple) else (u, u)
    if is_sparse(t):
        parts = tuple([part[late.tensor(stored_rows(t), dtype=int64)] for part in parts])
    real, imaginary = [part.reshape(data.shape) * eps for part in parts]
    return directional(lambda delta: difference(fn, inputs, data, delta, eps, ""), real, imaginary, t.is_complex(), forward)


def numerical_projections(fn: Function, inputs: Inputs, outputs: Outputs, all_u: Sequence[Any], all_v: Sequence[Any] | None,
                          eps: float,
                          forward: bool) -> list[list[Any]]:
    """For every input, each output's Jacobian projected onto `u` and `v` (applied to `u` only, without `v`)."""
    projections = []
    for place, u in zip(positions(inputs), all_u, strict=False):
        moved = numerical_jvp(fn, inputs, place, u, eps, forward)
        outs = as_tuple(outputs)
        if len(moved) != len(outs):
            raise AssertionError(f"Expected all_Ju and func_out to have the same length, but got {len(moved)} and {len(outs)}")
        moved = [column for column, out in zip(moved, outs, strict=True) if is_float(out)]
        projections.append(moved if all_v is None else [(v * column).sum() for v, column in zip(all_v, moved, strict=False)])
    return projections


# ---- by reverse mode
NONDETERMINISTIC = """\n
NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""


def zeros_like(t: Tensor) -> Tensor:
    return late.zeros_like(t, memory_format=contiguous_format)


def gradient_rows(inputs: list[Any], output: Tensor, v: Tensor | None) -> list[list[Any]]:
    """For every input the gradients of `v` times the output, or without `v` those of each of its elements."""
    def vjp(grad_output: Tensor) -> list[Any]:
        grads = grad(output, inputs, grad_output, retain_graph=True, allow_unused=True)
        return [g.clone() if isinstance(g, Tensor) else None for g in grads]
    sample = output.clone()
    if v is not None:
        return [[g] for g in vjp(v.reshape(sample.shape))]
    whole = zeros_like(sample)
    flat = whole.view(-1)
    rows: list[list[Any]] = []
    for j in range(flat.numel()):
        flat.zero_()
        flat[j] = 1.0
        for i, g in enumerate(vjp(whole)):
            if j == 0:
                rows.append([])
            rows[i].append(g)
    return rows


def stack_rows(rows: Sequence[Any], inputs: Inputs, count: int) -> tuple[tuple[Any, ...], bool, bool]:
    """The rows as Jacobians, and whether all gradients had the size and the dtype of their input."""
    jacobians = [late.zeros((t.numel(), count), dtype=t.dtype) for t in inputs if is_float(t) and t.requires_grad]
    sizes_ok = dtypes_ok = True
    for t, jacobian, grads in zip(tensors_in(inputs, True), jacobians, rows, strict=False):
        for j, g in enumerate(grads):
            if g is None:
                jacobian[:, j].zero_()
                continue
            if g.size() != t.size():
                sizes_ok = False
            elif g.dtype != t.dtype:
                dtypes_ok = False
            dense = g if layout_of(g) == "strided" else g.to_dense()
            if jacobian[:, j].numel() != dense.numel():
                raise AssertionError(f"Expected out_jacobian column to have {dense.numel()} elements, but got "
                                     f"{jacobian[:, j].numel()}")
            jacobian[:, j] = dense.reshape(-1)
    return tuple(jacobians), sizes_ok, dtypes_ok


def equal_within(first: tuple[Any, ...], second: tuple[Any, ...], tolerance: float) -> bool:
    return not any([a.numel() != 0 and bool((a - b).abs().max() > tolerance) for a, b in zip(first, second, strict=True)])


def backward_jacobians(inputs: Inputs, output: Tensor, tolerance: float,
                       v: Tensor | None = None) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """The Jacobians of `output`; whether a second run gave the same; whether sizes and dtypes were right."""
    wanted = list(tensors_in(inputs, True))
    first = gradient_rows(wanted, output, v)
    second = gradient_rows(wanted, output, v)
    count = output.numel() if v is None else 1
    jacobians, sizes_ok, dtypes_ok = stack_rows(first, inputs, count)
    again, _, _ = stack_rows(second, inputs, count)
    return jacobians, equal_within(jacobians, again, tolerance), sizes_ok, dtypes_ok


def checked_backward_jacobians(inputs: Inputs, output: Tensor, tolerance: float, check_dtypes: bool,
                               v: Tensor | None = None) -> tuple[Any, ...]:
    jacobians, reentrant, sizes_ok, dtypes_ok = backward_jacobians(inputs, output, tolerance, v)
    # PyTorch swaps the two flags, and so the error texts.
    if not sizes_ok and check_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not dtypes_ok:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not reentrant:
        raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                             "gives different values, although analytical gradient matches numerical gradient."
                             f"The tolerance for nondeterminism was {tolerance}." + NONDETERMINISTIC)
    return jacobians


def backward_projections(inputs: Inputs, outputs: Outputs, tolerance: float, check_dtypes: bool, all_v: Sequence[Any],
                         all_u: Sequence[Any]) -> list[Any]:
    """For every output, its Jacobians with respect to the inputs projected onto `u` and `v`."""
    projections = []
    for output, v in zip(outputs, all_v, strict=True):
        row = []
        for jacobian, u in zip(checked_backward_jacobians(inputs, output, tolerance, check_dtypes, v), all_u, strict=False):
            vector = jacobian.reshape(-1)
            if vector.is_complex():
                parts = late.view_as_real(vector.resolve_conj())
                row.append(parts.select(-1, 0).dot(u[0]) + 1j * parts.select(-1, 1).dot(u[1]))
            else:
                row.append(vector.dot(u))
        projections.append(row)
    return projections


# ---- by forward mode
def dual_inputs(inputs: Inputs) -> tuple[list[Any], list[Any]]:
    """The inputs with tangents (zeros, to be written to) where a derivative is wanted; and those tangents."""
    duals, tangents = [], []
    for t in inputs:
        if is_tensor(t) and t.requires_grad:
            if is_mkldnn(t):
                raise ValueError("MKLDNN inputs are not support for forward AD gradcheck.")
            t = forward_ad.make_dual(t.detach(), late.zeros_like(t))
            tangents.append(forward_ad.unpack_dual(t)[1])
        duals.append(t)
    return duals, tangents


def output_tangents(fn: Function, duals: Sequence[Any], check_dtypes: bool) -> list[Any]:
    """The tangents of the outputs that can have one; None where there is none."""
    made = []
    for out in as_tuple(fn(*duals)):
        if is_float(out):
            value, tangent = forward_ad.unpack_dual(out)
            if check_dtypes and tangent is not None and value.is_complex() != tangent.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            made.append(tangent)
    return made


def forward_jacobians(fn: Function, inputs: Inputs, outputs: Outputs, check_dtypes: bool = False,
                      all_u: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """For every input the Jacobians of all outputs by forward mode, applied to `u` if that is given."""
    wanted = [t for t in inputs if is_tensor(t) and t.requires_grad]
    if any([t.is_complex() for t in wanted]):
        raise ValueError("Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad.")
    jacobians = tuple([tuple([out.new_zeros((1 if all_u else t.numel(), out.numel())) for out in outputs if is_float(out)])
                       for t in wanted])
    with forward_ad.dual_level():
        duals, tangents = dual_inputs(inputs)

        def fill(rows: Sequence[Any]) -> None:
            for row, tangent in zip(rows, output_tangents(fn, duals, check_dtypes), strict=False):
                if tangent is None:
                    row.zero_()
                else:
                    row.copy_(tangent.reshape(-1))
        for i, tangent in enumerate(tangents):
            if all_u:
                tangent.copy_(all_u[i].view_as(tangent))
                fill([jacobian[0] for jacobian in jacobians[i]])
                tangent.zero_()
                continue
            for row, index in enumerate(indices(tangent)):
                tangent[index] = 1.0
                fill([jacobian[row] for jacobian in jacobians[i]])
                tangent[index] = 0.0
    if all_u:
        return tuple([tuple([jacobian[0] for jacobian in of_input]) for of_input in jacobians])
    return jacobians


# ---- random vectors for fast mode
REAL = {complex128: float64, complex64: float32}


def random_vectors(inputs: Inputs, outputs: Outputs, forward: bool) -> tuple[Any, list[Any]]:
    """(`v` for each output, `u` for each input): the same in every run, so that failures are reproducible."""
    generator = Generator()

    def unit(t: Tensor, real: bool) -> Tensor:
        vector = late.rand(t.numel(), generator=generator).to(REAL.get(t.dtype, t.dtype) if real else t.dtype)
        if is_sparse(t):                  # zero where nothing is stored
            rows = late.tensor(stored_rows(t), dtype=int64)
            vector = late.zeros_like(vector).index_put((rows,), vector[rows])
        vector /= vector.norm()
        return vector
    all_u: list[Any] = []
    for t in inputs:
        u = unit(t, True)
        all_u.append((u, unit(t, True)) if t.is_complex() else u)
    return None if forward else [unit(out, False) for out in outputs], all_u
