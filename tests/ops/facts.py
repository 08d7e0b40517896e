"""What can be observed of a sample in one library: results, gradients and tangents, as facts by name.

The library is retrograd or PyTorch: tools/compare_torch.py asks both, tools/record_values.py records PyTorch's answers,
and test_recorded.py compares retrograd's with the record.
"""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import retrograd
from retrograd.autograd.backward import grad as retrograd_grad
from retrograd.core import storage
from retrograd.core.tensor import new_tensor
from retrograd.ops.create.generators import default_generator
from tests.ops import cases

# Differences from PyTorch that stay: (pattern of "op kind", why).
KNOWN: tuple[tuple[str, str], ...] = (
    (r"^_foreach_copy\.default grad_fn|^_foreach_zero\.default (grad_fn|requires_grad)|^detach_copy\.default requires_grad",
     "PyTorch has no derivative there and records an error for backward"),
    (r"^_fake_quantize_learnable_per_\w+_affine\.default gradient error", "PyTorch has these gradients in float32 alone"),
    (r"^addcdiv\.default gradient error", "PyTorch cannot divide a complex number by a real tensor there"),
    (r"^as_strided_scatter\.default (second )?gradient", "PyTorch gives the base the gradient of what was overwritten"),
    (r"^cholesky_inverse\.default tangent", "PyTorch's forward mode reads the triangle that the op does not"),
    (r"^_foreach_(maximum|minimum)\.Scalar(List)? tangent", "PyTorch's tangent is the number itself where that is larger"),
    (r"^(all|any)\.dims batched", "PyTorch's vmap takes an empty list of dimensions for all"),
    (r"^arg(max|min)\.default batched", "PyTorch's vmap keeps one dimension instead of all"),
    (r"^index_select\.default batched", "PyTorch's vmap repeats what an index of no dimensions selects"),
    (r"^_(log_)?softmax_backward_data\.default batched", "PyTorch's vmap sums over the examples if they have no dimensions"),
    (r"^_is_(all|any)_true\.default batched strides", "PyTorch's vmap gives one answer for all examples"),
    (r"^_?linalg_solve(_ex)?\.default batched$", "PyTorch's vmap takes the batch of B for a dimension of A"),
    (r"^_linalg_(slog)?det\.default (value|batched)", "which of A and its transpose was factorized"),
    (r"^(_?linalg_(svd|eigh?)|svd)\.default batched", "signs are up to LAPACK"),
    (r"pool2d\.default words", "kernels for channels last have names of their own"),
    (r"^(_foreach_powsum\.Scalar|_scaled_dot_product_flash_attention_for_cpu_backward\.default|_safe_softmax\.default"
     r"|_segment_reduce_backward\.default|affine_grid_generator_backward\.default|rrelu_with_noise_backward\.default"
     r"|(gru|lstm)_cell\.default|_unsafe_masked_index(_put_accumulate)?\.default|mkldnn_rnn_layer(_backward)?\.default) error",
     "a dtype or shape that PyTorch's kernel lacks"),
    (r"^mkldnn_rnn_layer\.default (dtype|shape|value|gradient)", "the workspace of the library, and gradients read from it"),
    (r"^(_histogramdd_bin_edges|_histogramdd_from_bin_tensors|histogramdd)\.\w+ error", "histogramdd takes float and double"),
    (r"^(fractional_max_pool2d|multi_margin_loss|multilabel_margin_loss(_forward)?|linalg_ldl_factor(_ex)?)\.default "
     "(error|dtype) as", "PyTorch's kernels do not look at the dtype of inputs without elements"),
    (r"^(segment_reduce|nll_loss2d_backward|_neg_view)\.default error as bool", "another reason is found first"),
    (r"^lift(_fresh(_copy)?)?\.default|^zero\.default error as complex64", "marks of tracing, that PyTorch records"),
    (r"^(randint_like\.\w+|_(test_functorch_fallback|foobar)\.default) requires_grad",
     "PyTorch has no derivative there and records an error for backward"),
    (r"^randint\.\w+ dtype", "the default of PyTorch's functions is int64, that of its operators float32"),
    (r"^(linalg_cond\.\w+|vander\.default|narrow_copy\.default) gradient error", "PyTorch's derivative fails there"),
    (r"^_sparse_(add)?mm\.default second gradient", "PyTorch does not record the gradients of sparse operands"),
    (r"^_sparse_(compressed_tensor_unsafe|coo_tensor_with_dims_and_tensors)\.default", "PyTorch takes the default dtype for "
     "that of the values, and has no derivative of compressed ones"),
    (r"^_standard_gamma_grad\.default", "PyTorch has four digits of it, and no derivative"),
    (r"^(linalg_)?matrix_exp\.default value as b?float16", "PyTorch's results there are wrong or NaN"),
    (r"^grid_sampler\w*\.default value as b?float16", "PyTorch computes positions in half precision"),
    (r"^(pow|float_power)\.Tensor_Tensor value as complex64", "0 ** 0 is NaN in PyTorch's loop for complex numbers"),
    (r"^(special_)?logsumexp\.default tangent", "PyTorch's tangent is NaN where its gradient is 0"),
    (r"^(norm\.ScalarOpt_dim_dtype|prod\.default) tangent", "PyTorch's tangents have the dtype of the input, or of dtype="),
    (r"^scatter_reduce\.two tangent", "PyTorch drops tangents of products"),
    (r"^triangular_solve\.default tangent", "PyTorch's forward mode reads the triangle that the op does not"),
    (r"^(_?linalg_svd|permute_copy)\.default tangent strides|^linalg_solve_triangular\.default gradient strides"
     r"|^conv2d\.default strides as complex64", "the strides of results that are computed otherwise"),
    (r"^linalg_solve\.default gradient as float32", "the matrix is nearly singular"),
    (r"^pad\.default grad_fn", "PyTorch writes circular padding in pieces"),
    (r"^(expand|broadcast_to)\.default strides as bool", "arrays of single bytes cannot tell no stride from the usual ones"),
)
TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float32": 2e-6, "complex64": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


class Library:
    """One of the two libraries, asked the same questions."""

    def __init__(self, module: Any, grad: Any, seed: Any) -> None:
        self.module, self.grad, self.seed = module, grad, seed
        self.tensor_class = module.Tensor

    def call(self, op: Any, args: Any) -> Any:
        """Call an op of the table with its arguments in schema order."""
        params = op.schema.params
        positional = [a for a, p in zip(args, params, strict=False) if not p.kwarg_only]
        named = {p.name: a for a, p in zip(args, params, strict=False) if p.kwarg_only}
        self.seed(1)
        return self.function(op)(*positional, **named)

    def function(self, op: Any) -> Any:
        """The op in this library."""
        return op

    def adopt(self, t: Any) -> Any:
        """A retrograd tensor, as one of this library in the same memory layout."""
        return t

    def tensor(self, t: Any, dtype: str | None) -> Any:
        """A copy of a retrograd tensor in the same memory layout, or cast to another dtype."""
        name = t.dtype.name if dtype is None or (dtype != "bool" and t.dtype.category < 2) else dtype
        made = self.adopt(cases.like(t, cast(cases.value(t), name)))
        return made.requires_grad_() if t.requires_grad and name not in ("int64", "bool") else made

    def argument(self, value: Any) -> Any:
        """A dtype, memory format and the like, in this library's words."""
        if isinstance(value, retrograd.Generator):
            return value.manual_seed(1)
        return [self.argument(v) for v in value] if isinstance(value, (list, tuple)) else value

    def arguments(self, case: Any, tensors: Any) -> list[Any]:
        """The arguments of a case with these tensors, ready for the op; what it writes to is a copy."""
        args = [self.argument(a) for a in case.arguments(case.places, tensors)]
        if case.op.schema.is_inplace:
            args[0] = args[0].clone()
        return args

    def array(self, t: Any) -> Any:
        """The values of a tensor, narrow floats as float32."""
        array = np.asarray(cases.value(t))
        return array.astype(np.float32) if array.dtype.kind == "V" else array


RETROGRAD = Library(retrograd, retrograd_grad, default_generator.manual_seed)


def cast(array: Any, name: str) -> Any:
    wanted = getattr(retrograd, name).numpy
    if array.dtype.kind == "c" and wanted.kind != "c":
        array = array.real
    return array if array.dtype == wanted else array.astype(wanted)


def memory_of(t: Any) -> Any:
    """The whole memory of a retrograd tensor, as bytes."""
    return np.array(storage.bytes_of(storage.owner_of(t.array)))


class Outcome:
    """What a call came to: facts by name, or an error."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.error: Exception | None = None


def observe(library: Library, case: Any, dtype: str | None, batched: bool = True,
            gradients: tuple[str | None, ...] = (None,)) -> Outcome:
    """Call the op of a case in one library; derivatives are observed for the dtypes in `gradients`, second ones for None."""
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tensors = [library.tensor(t, dtype) for t in case.tensors()]
            if case.refused:                  # its derivative; the values are there
                tensors = [t.detach() for t in tensors]
            leaves = [t for t in tensors if t.requires_grad]
            outputs = results_of(library, case, tensors)
            describe(library, case, outputs, outcome.facts)
        except Exception as error:
            outcome.error = error
            return outcome
        if dtype in gradients and case.sample.grad and leaves:
            attempt("gradient error", outcome.facts, differentiate, library, leaves, outputs, dtype is None)
        if dtype is None and not case.op.schema.is_inplace and not cases.is_random(case.op):
            if case.sample.grad and leaves:
                attempt("tangent error", outcome.facts, push_forward, library, case)
            if batched and case.places and case.op.name not in cases.UNDEFINED:
                attempt("batched error", outcome.facts, batch, library, case)
    return outcome


def results_of(library: Library, case: Any, tensors: Any) -> list[Any]:
    """The outputs; those that are determined only in part, and the inputs of sparse ops, as the sample makes them."""
    sample, args = case.sample, library.arguments(case, tensors)
    if sample.before is not None:
        args = [*sample.before(*args)]
    made = cases.outputs(library.call(case.op, args))
    return made if sample.after is None else [*sample.after(*made)]


def attempt(kind: str, facts: dict[str, Any], observation: Any, *args: Any) -> None:
    """Note what an observation finds, or else its error."""
    found: dict[str, Any] = {}
    try:
        observation(*args, found)
        facts.update(found)
    except Exception as error:
        facts[kind] = type(error).__name__ + ": " + str(error).split("\n")[0]


def push_forward(library: Library, case: Any, facts: dict[str, Any]) -> None:
    """Note the tangents of the outputs, with a tangent for each input that wants a gradient."""
    forward_ad = library.module.autograd.forward_ad
    with forward_ad.dual_level():
        tensors = [library.tensor(t, None) for t in case.tensors()]
        duals = [forward_ad.make_dual(t.detach(), seeded(library, t, 200 + i)) if t.requires_grad else t
                 for i, t in enumerate(tensors)]
        for i, t in enumerate(results_of(library, case, duals)):
            if not isinstance(t, library.tensor_class):
                continue
            tangent = forward_ad.unpack_dual(t).tangent
            facts[f"{i} tangent"] = None if tangent is None else library.array(tangent)
            if tangent is not None:
                facts[f"{i} tangent dtype"], facts[f"{i} tangent strides"] = str(tangent.dtype), tuple(tangent.stride())


def batch(library: Library, case: Any, facts: dict[str, Any]) -> None:
    """Note the results of the op mapped over two examples; what they hold may differ unless it is positions or masks."""
    tensors = [library.tensor(t.detach(), None) for t in case.tensors()]

    def over(*tensors: Any) -> Any:
        return tuple([t for t in results_of(library, case, tensors) if isinstance(t, library.tensor_class)])

    pairs = [library.module.stack([t, t * 0.75 if t.is_floating_point() else t]) for t in tensors]
    for i, t in enumerate(library.module.vmap(over)(*pairs)):
        facts[f"{i} batched"], facts[f"{i} batched dtype"] = library.array(t), str(t.dtype)
        facts[f"{i} batched strides"] = tuple(t.stride())


def describe(library: Library, case: Any, outputs: Any, facts: dict[str, Any]) -> None:
    for i, t in enumerate(outputs):
        if not isinstance(t, library.tensor_class):
            facts[f"{i} value"] = t
            continue
        facts[f"{i} shape"], facts[f"{i} dtype"] = tuple(t.shape), str(t.dtype)
        facts[f"{i} strides"], facts[f"{i} requires_grad"] = tuple(t.stride()), t.requires_grad
        facts[f"{i} grad_fn"] = None if t.grad_fn is None else t.grad_fn.name()
        if case.op.name not in cases.UNDEFINED:
            facts[f"{i} value"] = library.array(t)


def seeded(library: Library, like: Any, purpose: int, requires_grad: bool = False) -> Any:
    array = cases.direction(np.random.default_rng(purpose), library.array(like))
    made = library.tensor(new_tensor(np.array(array, order="C")), None).to(like.dtype)
    return made.requires_grad_() if requires_grad else made


def differentiate(library: Library, leaves: Any, outputs: Any, second: bool, facts: dict[str, Any]) -> None:
    """Note the first and second gradients of the outputs."""
    outputs = [t for t in outputs if isinstance(t, library.tensor_class) and t.requires_grad]
    if not outputs:
        return
    seeds = [seeded(library, t, i, True) for i, t in enumerate(outputs)]
    first = library.grad(outputs, leaves, seeds, create_graph=second, allow_unused=True)
    note_gradients(library, "gradient", first, second, facts)
    recorded = [g for g in first if g is not None and g.requires_grad]
    if recorded and second:
        weights = [seeded(library, g, 100 + i) for i, g in enumerate(first) if g is not None and g.requires_grad]
        note_gradients(library, "second gradient", library.grad(recorded, [*leaves, *seeds], weights, allow_unused=True),
                       True, facts)


def note_gradients(library: Library, kind: str, gradients: Any, nodes: bool, facts: dict[str, Any]) -> None:
    for i, g in enumerate(gradients):
        facts[f"{i} {kind}"] = None if g is None else library.array(g)
        if g is not None:
            facts[f"{i} {kind} dtype"], facts[f"{i} {kind} strides"] = str(g.dtype), tuple(g.stride())
            if nodes:
                facts[f"{i} {kind} node"] = None if g.grad_fn is None else g.grad_fn.name()
