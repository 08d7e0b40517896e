"""The cases of the generic op tests: every sample of every op, and how to call an op as a function of its tensors."""
from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import forward, storage
from retrograd.core.opdef import FORMS, NOT_IMPLEMENTED, OPS, OpDef, find_packet
from retrograd.core.tensor import new_tensor
from retrograd.ops.create.generators import default_generator
from retrograd.ops.load import load_all
from tests.samples import REGISTRY, Maker, Sample
from tests.together import run_all

for path in sorted((Path(__file__).parent.parent / "samples").glob("[!_]*.py")):
    import_module(f"tests.samples.{path.stem}")
load_all()
for name in list(FORMS):
    find_packet(name)

def is_elsewhere(op: OpDef) -> bool:
    """Whether an op was declared by a user, is one of nested tensors, pins memory, which no device here can, is a public
    function as an op, an internal name or belongs to another backend; tests/library, tests/nested, tests/test_storage.py
    and core/test_overloads.py are about those."""
    return "::" in op.name or "_nested_" in op.name or op.name in ("to_padded_tensor", "_pin_memory") or (
        getattr(op.kernel, "__module__", "") in PUBLIC_FORMS)


PUBLIC_FORMS = tuple(f"retrograd.ops.shared.{name}" for name in ("as_ops", "cuda_only", "internal", "other_backends"))

# The ops of the tables, by "name.overload"; their in-place and out= forms are not among them. Ops on sparse tensors have no
# kernel for arrays, and what runs here compares arrays: tests/sparse/test_columns.py runs what can be asked of them.
ALL_OPS: dict[str, OpDef] = {op.__name__: op for packet in OPS.values() for op in packet.rows()
                             if (op in packet.overloads_ or op.__name__ in REGISTRY) and op.functional is None
                             and not is_elsewhere(op)}
ABOUT_SPARSE = {name for name, op in ALL_OPS.items() if op.kernel is None or "sparse" in name} | {
    "to_dense.default", "smm.default", "hspmm.default"}
TABLE: dict[str, OpDef] = {name: op for name, op in ALL_OPS.items() if name not in ABOUT_SPARSE}
BROKEN: dict[str, Exception] = {}     # whose rules do not fit their schema; test_table.py reports them
for name, op in ALL_OPS.items():
    try:
        op.prepare()
    except Exception as error:
        BROKEN[name] = error

# Their values are whatever was in memory.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
# What they return depends on how their input lies in memory, or on its bits, not only on its values.
LAYOUT = {"as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter", "_as_strided_backward", "_reshape_alias",
          "slice_inverse", "view.dtype", "view_copy.dtype", "view_as_complex", "view_as_complex_copy", "set_", "resize_",
          "resize_as_", "_new_zeros_with_same_feature_meta", "stride", "sym_stride", "storage_offset", "sym_storage_offset",
          "is_contiguous", "is_strides_like_format", "is_non_overlapping_and_dense"}
# Their values are random, although their schemas have no generator.
RANDOM = {"rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "rrelu", "dropout",
          "native_dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"}


class Case:
    """One sample of one op."""

    def __init__(self, op: Any, number: int, sample: Sample) -> None:
        self.op, self.number, self.sample = op, number, sample
        params = op.schema.params
        bound = op.schema.bind(sample.args, sample.kwargs)
        self.args: list[Any] = list(bound)
        self.names = [p.name for p in params]
        inputs = set(op.inputs) if op.differentiable else set(op.tensor_args) if op.composite else set()
        # where the tensors are: (argument, position in its list or None)
        self.places = [(i, k) for i in op.tensor_args for k, t in items(self.args[i]) if isinstance(t, torch.Tensor)]
        self.differentiable = [(i, k) for i, k in self.places if i in inputs and self.at(i, k).requires_grad]
        # ops without a derivative for complex results refuse to record one
        self.refused = bool(op.real_only and self.differentiable) and self.gives_complex()
        if self.refused:
            self.differentiable = []

    def __str__(self) -> str:
        note = f"-{self.sample.note.replace(' ', '_')}" if self.sample.note else ""
        return f"{self.op.__name__}-{self.number}{note}"

    def at(self, i: int, k: Any) -> Any:
        return self.args[i] if k is None else self.args[i][k]

    def tensors(self, places: Any = None) -> list[Any]:
        return [self.at(i, k) for i, k in (self.places if places is None else places)]

    def arguments(self, places: Any, tensors: Any) -> list[Any]:
        """The arguments with other tensors at `places`."""
        args = [list(a) if isinstance(a, (list, tuple)) else a for a in self.args]
        for (i, k), t in zip(places, tensors, strict=True):
            if k is None:
                args[i] = t
            else:
                args[i][k] = t
        return args

    def call(self, places: Any = (), tensors: Any = (), op: Any = None) -> list[Any]:
        """Call the op, with other tensors at `places`, and return its outputs as a list."""
        op = op or self.op
        args = self.arguments(places, tensors)
        if op.is_inplace:
            args[0] = args[0].clone()         # the sample must stay as it is
        return outputs(invoke(op, args))

    def observe(self, places: Any, tensors: Any) -> list[Any]:
        """What derivatives are taken of: the outputs, or what the sample makes of them."""
        sample = self.sample
        if sample.before is None and sample.after is None:
            return self.call(places, tensors)
        args = self.arguments(places, tensors)
        made = outputs(invoke(self.op, args if sample.before is None else list(sample.before(*args))))
        return made if sample.after is None else list(sample.after(*made))

    @cached_property
    def flowing(self) -> list[int]:
        """Which of the outputs gradients flow through."""
        given = [like(t, value(t), requires_grad=True) for t in self.tensors(self.differentiable)]
        with warnings.catch_warnings(action="ignore"):
            made = self.observe(self.differentiable, given)
        return [i for i, t in enumerate(made) if isinstance(t, torch.Tensor) and t.requires_grad]

    def gives_complex(self) -> bool:
        with warnings.catch_warnings(action="ignore"):
            made = self.call(self.places, [t.detach() for t in self.tensors()])
        return any([isinstance(t, torch.Tensor) and t.dtype.is_complex for t in made])

    def random(self, purpose: str = "") -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(f"{self}{purpose}".encode()))


def items(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(enumerate(value)) if isinstance(value, (list, tuple)) else iter([(None, value)])


def invoke(op: Any, args: Any) -> Any:
    """Call an op with its arguments in schema order."""
    params = op.schema.params
    positional = [a for a, p in zip(args, params, strict=False) if not p.kwarg_only]
    named = {p.name: a for a, p in zip(args, params, strict=False) if p.kwarg_only}
    if is_random(op):
        for generator in [default_generator, *[a for a in args if isinstance(a, torch.Generator)]]:
            generator.manual_seed(1)
    return op(*positional, **named)


def outputs(result: Any) -> list[Any]:
    """All results, those in lists among them one by one."""
    return [t for part in result for t in outputs(part)] if isinstance(result, (list, tuple)) else [result]


def floating(tensors: Any) -> list[Any]:
    """The outputs through which gradients flow."""
    return [t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad]


def is_random(op: Any) -> bool:
    return op.name.rstrip("_") in RANDOM or any(p.type == "Generator" for p in op.schema.params)


def has_gradient(case: Case) -> bool:
    """Whether the sample says that there is something to differentiate, and the op how."""
    # a normal sample depends on mean and deviation, but its gradient is zero by definition
    return bool(case.sample.grad and case.differentiable and case.op.vjp != NOT_IMPLEMENTED and case.op.name != "normal"
                and case.flowing)


def is_batchable(case: Case) -> bool:
    """Whether there are derivatives to be batched: examples that draw at random agree with no loop."""
    return has_gradient(case) and not is_random(case.op)


def is_layout(op: Any) -> bool:
    return op.name in LAYOUT or op.__name__ in LAYOUT


def cases(table: dict[str, OpDef]) -> list[Case]:
    found = []
    for name, entry in sorted(REGISTRY.items()):
        if name in table and name not in BROKEN:
            found += [Case(table[name], i, sample) for i, sample in enumerate(entry(Maker(name)))]
    return found


CASES = cases(TABLE)
SPARSE_CASES = cases({name: ALL_OPS[name] for name in ABOUT_SPARSE})
BY_OP: dict[str, list[Case]] = {}
for case in CASES:
    BY_OP.setdefault(case.op.__name__, []).append(case)


def over(condition: Callable[[Case], Any], among: list[Case] = CASES) -> Callable[[Any], Callable[[str], None]]:
    """Make one test per op of a check of one case: it runs over all cases that meet a condition, and reports all that fail.

    A test per case would spend more time in pytest than in ops. `of_case` of the test is the check itself.
    """
    chosen: dict[str, list[Case]] = {}
    for case in among:
        if condition(case):
            chosen.setdefault(case.op.__name__, []).append(case)

    def decorate(check: Callable[[Case], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("op", chosen)
        def test(op: str) -> None:
            run_all(check, chosen[op])

        test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
        test.of_case = check            # type: ignore[attr-defined]
        return test

    return decorate


# ---- tensors
def like(t: Any, values: Any, *, requires_grad: bool = False) -> Any:
    """A tensor with these values and, if its elements do not overlap, the memory layout of `t`."""
    values = np.asarray(values)
    made = new_tensor(np.array(values)) if overlaps(t.array) else forward.zeros_in_layout(new_tensor(values), t)
    made.array[...] = values
    return made.requires_grad_() if requires_grad else made


def overlaps(array: Any) -> bool:
    return 0 in array.strides or not storage.is_non_overlapping_and_dense(array.shape, storage.strides_of(array)) and (
        np.lib.array_utils.byte_bounds(array)[1] - np.lib.array_utils.byte_bounds(array)[0] < array.nbytes)


def value(t: Any) -> Any:
    """The values of a tensor as an array."""
    t = t.detach()
    return t.resolve_conj().resolve_neg().array if t._flags else t.array


def direction(random: np.random.Generator, array: Any) -> Any:
    made = random.standard_normal(array.shape)
    return (made + 1j * random.standard_normal(array.shape) if array.dtype.kind == "c" else made).astype(array.dtype)


def inner(a: Any, b: Any) -> float:
    """Re <a, b>, where zeros in `a` hide whatever is in `b`; a missing gradient is zero."""
    return 0.0 if a is None or b is None else float(np.sum(np.where(a == 0, 0, np.conj(a) * b)).real)
