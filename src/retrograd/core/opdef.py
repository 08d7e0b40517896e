"""OpDef: one op, declared once; `defop` adds it to the OPS registry.

NOTE [Columns]
schema   PyTorch's own: names, defaults, overload, aliases.
kernel   what to compute: the name of an xp function (ufuncs get in-place and out= for free), or a function of
         (xp, *args) over arrays in schema order; ScalarType arguments arrive as NumPy dtypes. None: the op has only
         kernels for sparse tensors (see ops/sparse/table.py).
promote  how the dtypes of tensor operands are promoted: None (not at all), "common", "float" (integers become the
         default float), "compare" (common, bool result); "widen" as a suffix flag is separate: `widen=True` computes
         float16 and bfloat16 in float32.
vjp      {input: rule}; a rule's parameter names say what is saved (see `compile_rules`). A tuple of inputs as key: one
         rule that returns one gradient for each. None: not differentiable. NOT_IMPLEMENTED: an error in backward.
jvp      "linear" (the op itself on the tangent), "multilinear" (a sum over the inputs), "elementwise" (from the vjp),
         or a function of (primals..., tangents...) written like a vjp rule with parameters `<input>_t` and `<input>_p`.
batch    a family or function that says how the op runs with an extra dimension.
meta     shape inference, for `meta` tensors and error texts; "values": the shape depends on values.
fast     for kernels that are functions: the xp function (or a function of the arrays alone) that gives the same result
         when all other arguments have their defaults; plain Python calls it (see plain/operators.py). It may return None for
         unsupported arguments.
scalars  the names of Scalar arguments that take part in dtype promotion.
check    a function of the arguments that raises what PyTorch raises for dtypes the op refuses, before promotion.
flips    the lazy bits (conjugate, negative) in which the result differs from its input.
constant the floating-point outputs without a gradient.
leading  the tensor whose memory order has priority, if not the first one.
exact    with `widen`: Python numbers and 0-d tensors are combined with half-precision tensors in float32, unrounded.
mixes    whether complex gradients for real inputs are reduced to their real parts; if not, they are an error.
elementwise  whether the result has the memory order of the operands; by default True for ops with pointwise batching.
real_only  PyTorch refuses to record the op when its result is complex.
lower    what a generated loop computes: an element, a reduction or a row (see codegen/loops.py).
variants where the op is public: "function", "method", both or neither.
autocast the precision under autocast: "lower", "float32" or "widest" (the widest of its operands').
traits   further properties: "random" (draws random numbers; implied by a Generator argument), "reads_values" (its result
         is not a tensor, and depends on values), "piecewise_linear" (linear between its kinks), "keeps_zero" (maps zero to
         zero: sparse tensors stay sparse), "view_copy" (a view op that copies), "inplace_view" (changes the geometry of its
         operand); for ops that write to an operand "guarded" (refuses to write to memory from which other elements are
         read), "unguarded" (its in-place form may write to memory that several elements share) and "apart" (to any memory
         that it reads; checked after the kernel, with "apart_first" before it if `dim` is valid, with "apart_checked" by the
         kernel); "takes_leaves" (the write is not differentiable: leaves that require
         grad are allowed); "casts" (the result may have a dtype without gradients), "pairs" (a view of complex numbers as
         pairs, or of pairs as complex numbers); "chalf" (takes complex32, computed in complex64), "as_is" (its kernel
         takes complex32 arrays); "any_device" (its operands may be on different devices), "lifts" (makes a constant a tensor of
         the program that is traced), "arithmetic" (vmap's error about its in-place form speaks of in-place arithmetic);
         "out_apart" (the out= form refuses to write to memory that it reads),
         "out_copied" and "out_untracked" (it accepts operands that require grad, see core/out.py), "out_first" (the dtype
         of out= is checked before everything else, with "out_after_dim" after `dim`), "out_dtype" (it computes in the
         dtype of out=), "out_last_first" (the dtypes of out= tensors are checked from the last to the first), "out_joint" (the
         dtype of out= is checked first: that of the operands after the first one, promoted).
pattern  which elements of the operands an element of the result depends on (see transforms/sparsity.py).
series   the recurrence of the Taylor coefficients, by its kind and numbers (see transforms/series.py).

Columns that few readers need are kept together, in the dict `facts`; `fact` finds one for a name:
called   the names of parameters in error texts of methods, where they are not the schema's.
deprecated  the argument orders of the overloads that PyTorch deprecates: "self, alpha, other", with
         "older=present" for a parameter that was renamed (see arguments.py).
doc      a sentence and an example, which the docstring of the public function shows (see documentation.py).
flops    how the floating-point operations are estimated, by its kind, where PyTorch's profiler does (see autograd/recorder.py).
foreach  `_foreach_<name>` applies the op to each tensor of a list (see ops/lists/foreach_unary.py).
inverse  how a write to a view changes its base, by its kind (see transforms/functionalize.py).
masked   how the op treats masked tensors, by its kind (see masked/maskedtensor/core.py).
nested   "parts": the op runs on each part of a nested tensor, as elementwise ops do (see nested/kernels.py).
number_form  "printed": error texts show the overload that takes a number for `other`.
onnx     the ONNX node that computes the op, after "Not " if it computes its negation (see onnx/conversions/elementwise.py).
steps    for a factory: the in-place op that fills the new tensor, and its arguments (see autograd/recorder.py).
"""
from __future__ import annotations

from _thread import allocate_lock
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.recipe import (
    DTYPE,
    GEOMETRY,
    LAYOUT,
    SHAPE,
    Plan,
    choose_kernel_calls,
    compile_rules,
    make_plan,
)
from retrograd.core.recipe import NOT_IMPLEMENTED as NOT_IMPLEMENTED  # part of the language of rows
from retrograd.core.schema import Schema

if TYPE_CHECKING:
    from retrograd.core.function_schema import FunctionSchema

FACTS = frozenset(("called", "deprecated", "doc", "flops", "foreach", "inverse", "masked", "nested", "number_form", "onnx",
                   "steps"))
UNSEEN = (DTYPE, GEOMETRY, SHAPE, LAYOUT)             # kinds that nodes keep without showing them


class OpName(str):
    """The name of an op: a str that is callable, since PyTorch has `op.name()`."""

    full: str

    def __call__(self) -> str:
        return self.full


class OpDef:
    """One overload of one op, with the columns that the interpreters read."""

    def __init__(self, schema: Schema, kernel: Any, *, vjp: Any = None, jvp: Any = None, batch: Any = None, lower: Any = None,
                 meta: Any = None, promote: str | None = None, widen: bool = False, node: str | None = None,
                 functional: Any = None, numbers: bool = False, composite: bool = False, fast: Any = None,
                 scalars: tuple[str, ...] = (), variants: str = "function, method", check: Any = None,
                 exact: bool = False, flips: int = 0, leading: int = 0, constant: tuple[int, ...] = (),
                 mixes: bool = True, elementwise: bool | None = None, real_only: bool = False, out: Any = None,
                 alias: tuple[str, str] | None = None, autocast: str | None = None, traits: tuple[str, ...] = (),
                 pattern: Any = None, series: Any = None, **facts: Any) -> None:
        if not FACTS.issuperset(facts):
            raise TypeError(f"{schema.name}: unknown columns {sorted(set(facts) - FACTS)}; see NOTE [Columns]")
        self.schema = schema
        self.name: Any = OpName(schema.name)
        self.name.full = f"aten::{schema.name}.{schema.overload}" if schema.overload else f"aten::{schema.name}"
        self.overload: str = schema.overload or "default"
        self.vjp = vjp
        self.jvp = jvp
        self.batch = batch
        self.lower = lower
        self.meta = meta
        self.promote = promote
        self.widen = widen
        self.functional = functional          # for an in-place or out= form: the op it is a form of
        # The allowed dtypes of out= tensors (see ops/shared/out_dtypes.py).
        self.out: str = out if isinstance(out, str) else ("cast" if composite or promote is not None else "same")
        self.alias = alias                    # for an alias: the name and overload of the aliased op
        self.meant: Any = None                # the aliased op, once this one is in use
        self.pure: Any = None                 # for an in-place form: the op that computes what it writes
        self.composite = composite            # made of other ops: `kernel` works on tensors and records nothing itself
        self.variants = variants
        self.numbers = numbers                # accepts Python numbers for tensors
        self.kernel = kernel
        self.direct: bool = isinstance(kernel, str)
        self.compute: Any = getattr(np, kernel) if self.direct else kernel
        # NumPy's function of the arrays alone, valid for the defaults of all other arguments.
        self.fast: Any = getattr(np, fast) if isinstance(fast, str) else fast or (self.compute if self.direct else None)
        self.ufunc: Any = self.fast if isinstance(self.fast, np.ufunc) else None     # also supports `out=`
        # Its result has the memory order of its operands, unless it has a memory_format argument. (Read from the schema's
        # text, since parameters are parsed on first use.)
        self.elementwise: bool = elementwise if elementwise is not None else getattr(batch, "elementwise", False) and not (
            composite or "Tensor(a" in schema.text or " memory_format" in schema.text)
        self.flips = flips                    # lazy bits (FLAG_CONJ, FLAG_NEG) in which the results differ from the input
        self.scalars = scalars                # Scalar arguments that take part in dtype promotion
        self.check: Any = check
        # `check` accepts all real operands of float32 and float64
        self.checks_dtypes: bool = getattr(check, "takes_floats", False)
        self.native: Any = None               # a compiled kernel of all arguments, arrays for tensors (see codegen/README.md)
        self.exact: bool = exact
        self.leading: int = leading
        self.constant: tuple[int, ...] = constant
        self.autocast = autocast
        self.traits = traits
        self.pattern = pattern
        self.series = series
        self.facts: dict[str, Any] = facts
        self.random: bool = not composite and ("random" in traits or "Generator" in schema.text)
        self.differentiable: bool = vjp is not None
        self.floats: bool = promote == "float"
        # Accepts real and complex operands together: the gradients of the real ones are real parts.
        self.mixes: bool = mixes
        self.real_only: bool = real_only      # no gradients are recorded for complex results
        self.node_name: str = node or camel(self.name) + "Backward0"
        self.packet: Any = None
        self._node_class: Any = None
        self.rules: Any = None                # compiled on first use
        self.declared_rules: Any = None       # the same in declaration order
        self.saved_names: Any = None          # by slot, as assigned by `Slots`: names, outputs and arguments of tensors
        self.saved_outputs: Any = None
        self.saved_args: Any = None
        self.attr_names: Any = None           # names and kinds of the saved values other than tensors
        self.attr_kinds: Any = None
        self.run: Any = None                  # plain core: runs its nodes (see plain/rules.py)
        self.short: Any = None                # the entry of `ops.aten.name.overload`, created by the first call (api.py)
        self.plans: dict[int, Plan] = {}
        self.usual_plans: list[Any] = [None] * 4      # those for the first two inputs, by mask
        self.inputs: tuple[int, ...] = ()
        self.quick: int = 0                   # see recipe.choose_kernel_calls
        self.straight: bool = False
        self.into: Any = None                 # for an in-place form: the compiled kernel that writes to its first argument
        self._ready: bool = False
        self.tail: tuple[Any, ...] = ()

    # ---- properties derived from the schema on first use, to keep import fast
    def prepare(self) -> None:
        """Derive what dispatch needs from the schema; safe for concurrent threads, since each assigns the same final
        values."""
        schema = self.schema
        params = schema.params
        self.is_view: bool = schema.is_view
        self.is_inplace: bool = schema.is_inplace
        self.is_out: bool = schema.is_out
        self.tensor_args: tuple[int, ...] = tuple([i for i, p in enumerate(params) if p.type == "Tensor"])
        self.dtype_args: tuple[int, ...] = tuple([i for i, p in enumerate(params) if p.type == "ScalarType"])
        self.scalar_args: tuple[int, ...] = tuple([i for i, p in enumerate(params) if p.name in self.scalars])
        self.has_lists: bool = any(params[i].is_list for i in self.tensor_args)
        self.device_arg: int = next((i for i, p in enumerate(params) if p.type == "Device"), -1)
        self.defaults: tuple[Any, ...] = tuple([p.default for p in params])
        self.tail = self.defaults[len(self.tensor_args):]      # those of the other arguments, where the tensors come first
        self.multiple: bool = len(schema.returns) != 1 or schema.returns[0].is_list
        self.returns_list: bool = len(schema.returns) == 1 and schema.returns[0].is_list
        shown = self.functional.schema if self.is_out and self.functional is not None else schema
        names = [r.name or "" for r in shown.returns]
        named = len(names) > 1 and all(names)
        self.result_type: Any = result_type(self.name + ("_out" if self.is_out else ""), tuple(names)) if named else None
        self.out_arg: int = next((i for i, p in enumerate(params) if p.writes and p.kwarg_only), -1)
        if self.alias is not None:
            self.meant = getattr(find_packet(self.alias[0]), self.alias[1])
        if self.is_inplace and not self.composite:
            self.pure = self.functional or function_of(self)
            if self.pure is not None and not self.pure._ready:
                self.pure.prepare()
        compile_rules(self)
        self.saves_result: bool = any([o >= 0 for o in self.saved_outputs])
        # For each of `tensor_args`, the bit that says in a mask that it needs a gradient; where it only matters whether any
        # does, 1 for all.
        bits = {argument: 1 << place for place, argument in enumerate(self.inputs)} if self.differentiable else {}
        self.grad_bits: tuple[int, ...] = tuple([1 if self.composite or self.is_inplace else bits.get(i, 0)
                                                 for i in self.tensor_args])
        if self.lower is not None or self.rules or hasattr(self.kernel, "library"):
            for install in KERNEL_INSTALLERS:
                install(self)
        # Ops that `dispatch.call_ordinary` can run in one go: one result, nothing written, no lists, no move to a device.
        simple = not (self.is_inplace or self.is_out or self.kernel is None or self.vjp == NOT_IMPLEMENTED
                      or self.device_arg >= 0 and self.tensor_args and self.differentiable)
        self.one_view: bool = (simple and self.is_view and self.differentiable and len(self.tensor_args) == 1
                               and not self.multiple
                               and not self.real_only)
        self.simple: bool = simple and (self.one_view or not self.flips)
        choose_kernel_calls(self)
        self._ready = True

    def shows(self, slot: int) -> bool:
        """Whether nodes show the attribute in `slot` as `_saved_<name>`."""
        kind, argument, _ = self.attr_kinds[slot]
        p = self.schema.params[argument]
        return kind not in UNSEEN and p.type != "ScalarType" and not (p.type == "Tensor" and p.is_list) and not (
            p.type == "bool" and p.optional)

    def plan(self, mask: int) -> Plan:
        """The plan for the inputs in `mask` (bit i: the i-th of `inputs` needs a gradient); cached."""
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.plans[mask] = make_plan(self, mask)
            if mask < 4:
                self.usual_plans[mask] = plan
        return plan

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return CALLERS["op"](self, args, kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.name}', overload='{self.overload}')>"

    def __str__(self) -> str:
        return f"aten.{self.name}.{self.overload}"

    # Properties rather than __getattr__, which would slow down every other attribute. (`__name__` is added by api.py, since
    # the Cython class does not support it.)
    @property
    def _schema(self) -> FunctionSchema:
        return CALLERS["schema"](self)

    @property
    def namespace(self) -> str:
        return "aten"

    @property
    def _opname(self) -> str:
        return self.name

    @property
    def _overloadname(self) -> str:
        return self.overload

    @property
    def overloadpacket(self) -> Any:
        return self.packet

    @property
    def qualified(self) -> str:
        """The name with its namespace; user-defined ops already have it in their name, so that tables by name never match
        them."""
        return self.name if "::" in self.name else f"aten::{self.name}"


class Packet:
    """All overloads of one op name: `ops.aten.add`, with `.Tensor` and so on as attributes."""

    default: OpDef

    def __init__(self, name: str) -> None:
        self.name = name
        self.overloads_: list[OpDef] = []
        self.unlisted: list[OpDef] = []   # reachable by their own names, and where no other overload fits
        self.schemas: list[Any] = []
        self.entry: Any = None            # the entry of its calls, created by the first
        self.declared: int = 0            # the number of declared rows; derived forms follow

    def add(self, op: OpDef, listed: bool = True) -> None:
        op.packet = self
        setattr(self, op.overload, op)
        if not listed:
            self.unlisted.append(op)
            return
        place = next((i for i, s in enumerate(self.schemas) if takes_number_for_tensor(s, op.schema)), len(self.schemas))
        self.overloads_.insert(place, op)
        self.schemas.insert(place, op.schema)
        self.entry = None

    def rows(self) -> list[OpDef]:
        """All overloads: those that public functions choose from, then the others."""
        return self.overloads_ + self.unlisted

    def overloads(self) -> list[str]:
        return [op.overload for op in self.rows()]

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return CALLERS["packet"](self, args, kwargs)

    def function(self, name: str, general: Callable[..., Any]) -> Callable[..., Any]:
        """A public function `name` for the calls of this op; `general` handles calls that modes or subclasses override."""
        return CALLERS["function"](self, name, general)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.name}')>"

    def __str__(self) -> str:
        return f"aten.{self.name}"


def takes_number_for_tensor(first: Schema, second: Schema) -> bool:
    """Whether `first` has an integer where `second` has a tensor: an argument that fits both is a tensor."""
    if first.is_out != second.is_out:
        return False
    for a, b in zip(first.params, second.params, strict=False):
        if a.kwarg_only or b.kwarg_only:
            return False
        if a.type != b.type or a.is_list != b.is_list:
            return a.type == "int" and b.type == "Tensor" and not (a.is_list or b.is_list)
    return False


OPS: dict[str, Packet] = {}           # by name; user-defined ops (see library/) by "namespace::name"
CALLERS: dict[str, Any] = {}          # the calls of ops and packets, set by api.py
KERNEL_INSTALLERS: list[Any] = []     # functions that install the compiled kernel of an op with a `lower` column
MODULES: dict[str, tuple[str, ...]] = {}      # name -> the modules that declare it, imported on demand


def defop(schema: str, kernel: Any, *, inplace: Any = None, out: Any = None, out_form: Any = None, numbers: Any = False,
          listed: Any = True, **columns: Any) -> OpDef:
    """Declare an op and, as the schema allows, its in-place and out= forms.

    `inplace` is True, "function" if the in-place form is a function as well as a method (torch.sin_), or a kernel of its own.
    With `out="aten"` the public function takes no `out=`: only `ops.aten` has that form. `out_form` is the overload of the out=
    form and the names of its outputs, "values(values, indices)", where PyTorch has its own. `listed=False`: calls by name never
    choose this overload. A row that takes `numbers` for its operand `other` has a Scalar overload as well.
    """
    unlisted = out == "aten" or out is False and not columns.get("composite")
    parsed = Schema(schema, allow_numbers_as_tensors=numbers)
    op = OpDef(parsed, kernel, numbers=numbers, out=None if unlisted else out, **columns)
    packet = packet_of(parsed.name)
    packet.add(op, listed)
    packet.declared += listed
    if inplace:
        add_form(op, "inplace", numbers, None if inplace is True else inplace)
        if numbers:
            add_form(op, "inplace number", numbers, None)
    if unlisted or out is not False:
        add_form(op, "unlisted" if unlisted else "out", numbers, out_form)
    if numbers:
        add_form(op, "number", numbers, None)
    return op


def add_form(op: OpDef, form: str, numbers: bool, extra: Any) -> None:
    """Declare lazily that `op` has a further form, created on first lookup; `extra` is the kernel of an in-place form, the
    `out_form` of an out= form."""
    name = op.name + ("_" if form.startswith("inplace") else "")
    FORMS.setdefault(name, []).append((op, form, numbers, extra))
    UNFINISHED.add(name)


FORMS: dict[str, list[tuple[OpDef, str, bool, Any]]] = {}
UNFINISHED: set[str] = set()          # names with pending forms or module imports
finishing = allocate_lock()


def packet_of(name: str) -> Packet:
    packet = OPS.get(name)
    if packet is None:
        packet = OPS[name] = Packet(name)
    return packet


def find_packet(name: str) -> Packet | None:
    """The packet `name`, including its derived forms."""
    if name in UNFINISHED:
        finish(name)
    return OPS.get(name)


def fact(name: str, column: str) -> Any:
    """What the rows of the op `name` say in a column of `facts`; None if nothing."""
    packet = find_packet(name)
    for row in [] if packet is None else packet.rows():
        if row.facts.get(column) is not None:
            return row.facts[column]
    return None


def load(name: str) -> None:
    """Import the modules that declare `name`."""
    for module in MODULES.get(name, ()):
        import_module(module)


def finish(name: str) -> None:
    """Complete the packet `name`: the rows of all tables, and the forms derived from them."""
    load(name)                        # not under the lock, which importing a table may need
    with finishing:
        for op, form, numbers, extra in FORMS.get(name, ()):
            if form.endswith("number"):
                add_number_form(packet_of(name), op)
            elif form == "inplace" or out_possible(op):
                packet_of(name).add(derive(op, form, numbers, extra), form != "unlisted")
        FORMS.pop(name, None)
        UNFINISHED.discard(name)


def function_of(op: OpDef) -> OpDef | None:
    """The functional op of a separately declared in-place row: the one with the same name and arguments, if there is one."""
    found = getattr(find_packet(op.name[:-1]), op.overload, None)
    return found if found is not None and names_of(found.schema.params) == names_of(op.schema.params) else None


def names_of(params: tuple[Any, ...]) -> list[str]:
    return [p.name for p in params]


def out_possible(op: OpDef) -> bool:
    schema = op.schema
    return not schema.is_view and not schema.mutable and all(r.type == "Tensor" and not r.is_list for r in schema.returns)


def add_number_form(packet: Packet, op: OpDef) -> None:
    """Add the Scalar overload of an op, or of its in-place form, whose operand `other` may be a number."""
    overload = op.overload.replace("Tensor", "Scalar") if op.overload != "default" else "Scalar"
    row = getattr(packet, op.overload, None)
    if row is None or overload in packet.overloads() or "Tensor other" not in row.schema.text:
        return
    text = row.schema.text.replace("Tensor other", "Scalar other", 1).replace("*, Scalar alpha", "Scalar alpha")
    head, _, arguments = text.partition("(")
    count = sum([not p.kwarg_only for p in row.schema.params])
    names = names_of(row.schema.params)[count:]

    def kernel(*values: Any) -> Any:
        return row(*values[:count], **dict(zip(names, values[count:], strict=True)))
    packet.add(OpDef(Schema(f"{head.partition('.')[0]}.{overload}({arguments}"), kernel, composite=True, variants="",
                     functional=row.functional), False)


def out_names(op: OpDef, numbers: bool, out_form: str | None) -> tuple[str, list[str]]:
    """The overload of an out= form and the names of its outputs."""
    returns = op.schema.returns
    names = [r.name or (f"out{i}" if len(returns) > 1 else "out") for i, r in enumerate(returns)]
    if out_form is not None:
        overload, _, named = out_form.partition("(")
        return overload, named[:-1].split(", ") if named else names
    if op.name.endswith("_backward") and names == ["out"]:
        return "grad_input", ["grad_input"]
    return f"{op.overload}_out" if op.overload != "default" and not (op.overload == "Tensor" and numbers) else "out", names


def out_overload(op: OpDef) -> str:
    """The overload of the out= form of `op`, also before that form exists."""
    for row, form, numbers, out_form in FORMS.get(op.name, ()):
        if row is op and form in ("out", "unlisted"):
            return out_names(op, numbers, out_form)[0]
    return next(row.overload for row in op.packet.rows() if row.functional is op and row.schema.is_out)


def derive(op: OpDef, form: str, numbers: bool, extra: Any) -> OpDef:
    """The in-place or out= form of a functional op."""
    kernel, out_form = (extra, None) if form == "inplace" else (None, extra)
    text = op.schema.text
    head, _, tail = text.partition("(")
    arguments, _, returned = tail.rpartition(" -> ")
    arguments = arguments.rstrip()[:-1]
    name, _, overload = head.partition(".")
    if form == "inplace":
        if hasattr(op.packet, "Tensor_Tensor"):       # overloads named by both operands: pow.Tensor_Scalar, but pow_.Scalar
            overload = overload.removeprefix("Tensor_")
        arguments = arguments.replace("Tensor self", "Tensor(a!) self", 1)
        schema = f"{name}_{'.' + overload if overload else ''}({arguments}) -> Tensor(a!)"
    else:
        returns = op.schema.returns
        letters = "abcdefgh"[:len(returns)]
        overload, names = out_names(op, numbers, out_form)
        outs = ", ".join(f"Tensor({c}!) {n}" for c, n in zip(letters, names, strict=True))
        star = "" if "*" in arguments else "*, "
        arguments = f"{arguments}, {star}{outs}" if arguments else f"*, {outs}"
        result = ", ".join(f"Tensor({c}!){f' {r.name}' if r.name else ''}" for c, r in zip(letters, returns, strict=True))
        result = f"({result})" if len(returns) > 1 else result
        schema = f"{name}.{overload}({arguments}) -> {result}"
    function, method = "function" in op.variants and (form != "inplace" or kernel == "function"), "method" in op.variants
    own = None if kernel == "function" else kernel
    derived = OpDef(Schema(schema, allow_numbers_as_tensors=numbers), own or op.kernel, vjp=op.vjp, jvp=op.jvp,
                    variants=", ".join(["function"] * function + ["method"] * method),
                    batch=op.batch, promote=op.promote, widen=op.widen, node=op.node_name, functional=op, numbers=numbers,
                    composite=op.composite and form == "inplace", scalars=op.scalars, check=op.check, exact=op.exact,
                    leading=op.leading, mixes=op.mixes, elementwise=op.elementwise, real_only=op.real_only, out=op.out,
                    autocast=op.autocast if form != "inplace" else None, traits=op.traits, pattern=op.pattern)
    return derived


RESULT_TYPES: dict[str, Any] = {}


def result_type(name: str, fields: tuple[str, ...]) -> type:
    """The named tuple that an op with several named outputs returns."""
    key = f"{name}({', '.join(fields)})"
    if key not in RESULT_TYPES:
        made = namedtuple(name, fields)  # type: ignore[misc]
        made.__module__ = "torch.return_types"
        count = len(fields)

        def make(cls: type, *values: Any) -> Any:
            """Create it from separate results, or from a sequence of them."""
            if len(values) != count:
                values = as_sequence(cls, values, count)
            return tuple.__new__(cls, values)
        made.__new__ = staticmethod(make)  # type: ignore[method-assign, assignment]
        made.n_fields = made.n_sequence_fields = count  # type: ignore[attr-defined]
        made.n_unnamed_fields = 0  # type: ignore[attr-defined]
        made.__repr__ = show_result  # type: ignore[method-assign]
        RESULT_TYPES[key] = made
    return RESULT_TYPES[key]


def as_sequence(cls: Any, values: Any, count: int) -> Any:
    """The results given as a single sequence argument."""
    if len(values) != 1 or not hasattr(values[0], "__len__"):
        raise TypeError("constructor requires a sequence")
    if len(values[0]) != count:
        raise TypeError(f"torch.return_types.{cls.__name__}() takes a {count}-sequence ({len(values[0])}-sequence given)")
    return values[0]


def show_result(self: Any) -> str:
    """The printed form of a named tuple of results."""
    items = ",\n".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
    return f"torch.return_types.{type(self).__name__}(\n{items})"


def camel(name: str) -> str:
    """add_ -> Add, log_softmax -> LogSoftmax, as PyTorch names nodes."""
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


Kernel = Callable[..., Any]
