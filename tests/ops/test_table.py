"""Every op of the tables is complete: it has samples, its rules name what exists, and no column is missing."""
from __future__ import annotations

from collections.abc import Callable

from retrograd.core import forward
from retrograd.core.opdef import NOT_IMPLEMENTED, OpDef
from tests.ops.cases import ALL_OPS, BROKEN, BY_OP, TABLE
from tests.samples import REGISTRY
from tests.together import run_all

# Differentiable, but no sample differentiates them.
MADE_UP = "gradients that are made up, to show which rule was called"
UNDIFFERENTIATED = {
    "_test_autograd_multiple_dispatch": MADE_UP, "_test_autograd_multiple_dispatch_view": MADE_UP,
    "_test_autograd_multiple_dispatch_view_copy": MADE_UP, "_test_warn_in_autograd": MADE_UP,
    "_sample_dirichlet": "its gradient follows the quantile of a sample: tests/distributions",
    "_standard_gamma": "as _sample_dirichlet",
    "special_zeta.other_scalar": "its only input has a derivative that is no known function",
}
# The derivative is refused, in PyTorch's words.
NO_RULE = {
    "_dirichlet_grad": "the second derivative of a quantile is no known function",
    "binomial": "samples are counts",
    "geqrf": "the reflectors of a QR factorization are differentiated through linalg_qr",
    "embedding_renorm_": "a constraint on parameters, which is applied to them and not differentiated",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "used where no graph is made of a gradient",
    "mkldnn_rnn_layer_backward": "as above",
    "_unique": "which of several equal elements a unique one comes from is not determined",
    "_unique2": "as _unique", "unique_dim": "as _unique", "unique_consecutive": "as _unique",
    "unique_dim_consecutive": "as _unique",
    "linalg_ldl_factor_ex": "its exchanges are no function of a matrix that a derivative could follow",
    "linalg_ldl_solve": "as linalg_ldl_factor_ex, which its operands come from",
    "_histogramdd_bin_edges": "a grid of counts; histogram has derivatives",
    "_histogramdd_from_bin_tensors": "as _histogramdd_bin_edges",
}


def test_every_op_has_samples() -> None:
    assert [name for name in TABLE if not BY_OP.get(name)] == [], "no entry in tests/samples"


def test_samples_belong_to_an_op() -> None:
    assert REGISTRY.keys() - ALL_OPS.keys() == set()


def each_op(check: Callable[[OpDef], None]) -> Callable[[], None]:
    """Make one test of a check of one op."""
    def test() -> None:
        run_all(check, TABLE.values())

    return test


@each_op
def test_rules_name_what_the_schema_has(op: OpDef) -> None:
    if op.__name__ in BROKEN:
        raise BROKEN[op.__name__]
    if isinstance(op.vjp, dict):
        for key in op.vjp:
            assert set(key if isinstance(key, tuple) else (key,)) <= {p.name for p in op.schema.params}
    if callable(op.jvp):
        forward.formula_sources(op)


@each_op
def test_columns_are_filled(op: OpDef) -> None:
    if op.composite:
        assert op.vjp is None and op.jvp is None and op.batch is None, "a composite op has the derivatives of its parts"
        return
    if op.tensor_args:
        assert callable(op.batch)
    assert (op.vjp == NOT_IMPLEMENTED) == (op.name in NO_RULE)
    if op.differentiable and op.vjp != NOT_IMPLEMENTED:
        assert op.jvp in ("linear", "multilinear", "elementwise") or callable(op.jvp)


@each_op
def test_differentiable_op_is_differentiated_by_a_sample(op: OpDef) -> None:
    if op.differentiable and op.vjp != NOT_IMPLEMENTED and not {op.name, op.__name__} & UNDIFFERENTIATED.keys():
        assert any((case.differentiable or case.refused) and case.sample.grad for case in BY_OP.get(op.__name__, ()))
