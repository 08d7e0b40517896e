"""The operators behind control flow: run as Python would, or written down by make_fx with their functions as submodules."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd._functorch.levels import get_unwrapped, is_batchedtensor
from retrograd.autograd import Function
from retrograd.compile.errors import UncapturedHigherOrderOpError
from retrograd.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, PythonKeyTracer, get_proxy_mode
from retrograd.fx.graph_module import GraphModule
from retrograd.library.higher_order import HigherOrderOperator
from retrograd.utils._python_dispatch import _disable_current_modes

__all__ = ["UncapturedHigherOrderOpError", "associative_scan_op", "cond_op", "map_impl", "scan_op", "while_loop_op"]


class ControlFlow(HigherOrderOperator):
    """An operator over functions and lists of tensors, whose results are a list of tensors."""

    labels: tuple[str, ...] = ()           # of the submodules that its functions are in a graph

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __call__(self, /, *args: Any) -> Any:
        mode = get_proxy_mode()
        if mode is None or not mode.enable_tracing:
            return self.run(*args)
        return self.written(mode, *args)

    def run(self, *args: Any) -> Any:
        """The results, by calling the functions."""
        raise NotImplementedError(self._name)

    def written(self, mode: ProxyTorchDispatchMode, *args: Any) -> Any:
        """The results, with a node for the operator in the graph of `mode`."""
        raise NotImplementedError(self._name)

    def add_node(self, mode: ProxyTorchDispatchMode, graphs: list[GraphModule], place: Callable[..., tuple[Any, ...]],
                 result: Any) -> Any:
        """A node whose arguments are what `place` makes of the functions' nodes, with `result` as its results."""
        tracer = mode.tracer
        nodes = []
        for label, graph in zip(self.labels, graphs, strict=True):
            number = 0
            while hasattr(tracer.root, f"{label}_{number}"):
                number += 1
            setattr(tracer.root, f"{label}_{number}", graph)
            nodes.append(tracer.create_node("get_attr", f"{label}_{number}", (), {}))
        proxy = tracer.proxy(tracer.create_node("call_function", self, tracer.create_arg(place(*nodes)), {}, name=self._name))
        quietly(tracer.track, result, proxy)
        return result


class BodyTracer(PythonKeyTracer):
    """Traces one of the functions; what the graph around it knows is to become an argument of the function."""

    def __init__(self, outer: PythonKeyTracer) -> None:
        super().__init__()
        self.outer = outer
        self.taken: list[Any] = []

    def constant(self, a: Any) -> Any:
        if id(a) in self.outer.known and not any([a is t for t in self.taken]):
            self.taken.append(a)
        return super().constant(a)


def body_graph(mode: ProxyTorchDispatchMode, f: Callable[..., Any], operands: list[Any], lifted: list[Any]) -> Any:
    """The function as a module over the operands and the tensors `lifted`, with what else it takes of the graph around it."""
    tracer = BodyTracer(mode.tracer)
    with _disable_current_modes():
        inputs = [t.detach().clone() if isinstance(t, torch.Tensor) else t for t in operands]
        for i, value in enumerate([*inputs, *lifted]):
            proxy = tracer.create_proxy("placeholder", f"arg{i}_1", (), {})
            if isinstance(value, torch.Tensor):
                tracer.track(value, proxy)
        with ProxyTorchDispatchMode(tracer, mode.tracing_mode, mode.decompositions):
            result = f(*inputs)
        if isinstance(result, list):
            result = tuple(result)
        tracer.create_node("output", "output", (tracer.create_arg(result),), {})
        return GraphModule(tracer.root, tracer.graph, "<lambda>"), tracer.taken


def body_graphs(mode: ProxyTorchDispatchMode, functions: list[tuple[Callable[..., Any], list[Any]]]) -> Any:
    """Modules for functions with their operands, and the tensors that all of them take besides these."""
    lifted: list[Any] = []
    for f, operands in functions:
        for t in body_graph(mode, f, operands, lifted)[1]:
            lifted.append(t)
    return [body_graph(mode, f, operands, lifted)[0] for f, operands in functions], lifted


def quietly(f: Callable[..., Any], *args: Any) -> Any:
    """The result of a function of which nothing is written down."""
    with _disable_current_modes():
        return f(*args)


def call_body(f: Callable[..., Any], args: Any) -> list[Any]:
    """The results of a function, or of a submodule of a graph, as a list."""
    result = f(*args)
    return list(result) if isinstance(result, (tuple, list)) else [result]


# ---- one of two
class CondOp(ControlFlow):
    labels = ("true_graph", "false_graph")

    def run(self, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
        if isinstance(pred, torch.Tensor) and is_batchedtensor(pred):
            yes, no = call_body(true_fn, operands), call_body(false_fn, operands)
            return tuple([torch.where(pred.reshape(()), a, b) for a, b in zip(yes, no, strict=True)])
        return tuple(call_body(true_fn if pred else false_fn, operands))

    def written(self, mode: ProxyTorchDispatchMode, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
        if not isinstance(pred, torch.Tensor):
            return self.run(pred, true_fn, false_fn, operands)
        if needs_gradient(operands):
            return GradientOfCond.apply(pred, true_fn, false_fn, *operands)
        values = list(operands)
        graphs, lifted = body_graphs(mode, [(true_fn, values), (false_fn, values)])
        result = quietly(self.run, pred, true_fn, false_fn, operands)
        return self.add_node(mode, graphs, lambda yes, no: (pred, yes, no, (*values, *lifted)), result)


class GradientOfCond(Function):
    """The operator in a graph that backward passes are written into: the derivative is the same choice of derivatives."""

    @staticmethod
    def forward(ctx: Any, pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
        ctx.pred, ctx.functions = pred, (true_fn, false_fn)
        ctx.save_for_backward(*operands)
        return cond_op(pred, true_fn, false_fn, operands)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        operands = ctx.saved_tensors
        derivatives = [derivative(f, len(operands)) for f in ctx.functions]
        return None, None, None, *cond_op(ctx.pred, *derivatives, (*operands, *grads))


def derivative(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function of operands and gradients of the results that gives the gradients of the operands."""
    def gradients(*args: Any) -> list[Any]:
        operands, grads = list(args[:count]), args[count:]
        places = [i for i, t in enumerate(operands) if t.is_floating_point() or t.is_complex()]
        for i in places:
            operands[i] = operands[i].detach().requires_grad_()
        with torch.enable_grad():
            results = call_body(f, operands)
        pairs = [(r, g) for r, g in zip(results, grads, strict=True) if r.requires_grad]
        wanted = [operands[i] for i in places]
        found = torch.autograd.grad([r for r, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True) if pairs else \
            [None] * len(wanted)
        made: list[Any] = [torch.zeros_like(t) for t in operands]
        for i, g in zip(places, found, strict=True):
            made[i] = made[i] if g is None else g
        return made
    return gradients


def needs_gradient(values: Any) -> bool:
    return torch.is_grad_enabled() and any([isinstance(t, torch.Tensor) and t.requires_grad for t in values])


# ---- loops
class WhileLoopOp(ControlFlow):
    labels = ("while_loop_cond_graph", "while_loop_body_graph")

    def run(self, cond_fn: Any, body_fn: Any, carried: Any, additional: Any = ()) -> Any:
        carried = tuple(carried)
        while True:
            pred = cond_fn(*carried, *additional)
            check_predicate(pred)
            if isinstance(pred, torch.Tensor) and is_batchedtensor(pred):
                if not anywhere(pred):
                    return carried
                made = checked_body(body_fn, carried, additional)
                carried = tuple([torch.where(pred.reshape(()), new, old) for new, old in zip(made, carried, strict=True)])
            elif not bool(pred):
                return carried
            else:
                carried = checked_body(body_fn, carried, additional)

    def written(self, mode: ProxyTorchDispatchMode, cond_fn: Any, body_fn: Any, carried: Any, additional: Any = ()) -> Any:
        values = [*carried, *additional]
        graphs, lifted = body_graphs(mode, [(cond_fn, values), (body_fn, values)])
        result = quietly(self.run, cond_fn, body_fn, carried, additional)
        return self.add_node(mode, graphs, lambda test, body: (test, body, tuple(carried), (*additional, *lifted)), result)


def anywhere(pred: Any) -> bool:
    """Whether a predicate is true of any example."""
    while is_batchedtensor(pred):
        pred = get_unwrapped(pred)
    return bool(pred.any())


def check_predicate(pred: Any) -> None:
    if isinstance(pred, torch.Tensor) and pred.numel() != 1 or not isinstance(pred, (bool, int, torch.Tensor)):
        raise RuntimeError("cond_fn must return a boolean scalar tensor or a boolean but got "
                           f"{type(pred)}" + (f" of shape {tuple(pred.shape)}" if isinstance(pred, torch.Tensor) else ""))


def checked_body(body_fn: Any, carried: tuple[Any, ...], additional: Any) -> tuple[Any, ...]:
    made = tuple(call_body(body_fn, (*carried, *additional)))
    check_same(made, carried, "body_fn_output", "carried_inputs")
    return made


def check_same(left: Any, right: Any, name: str, other: str) -> None:
    """Refuse values to be carried on whose number, shapes or dtypes change."""
    if len(left) != len(right):
        raise UncapturedHigherOrderOpError(f"Expected {name} and {other} to have same number of outputs but got "
                                           f"lhs:{list(left)} and rhs:{list(right)}")
    found = []
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            continue
        differ = [f"'{key}: {x} vs {y}'" for key, x, y in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype),
                                                           ("device", a.device, b.device)) if x != y]
        if differ:
            found.append(f"pair[{i}] differ in {', '.join(differ)}, where lhs is {describe(a)} and rhs is {describe(b)}")
    if found:
        raise UncapturedHigherOrderOpError(f"Expected {name} and {other} to have same metadata but found:\n" + "\n".join(found))


def describe(t: Any) -> str:
    return f"a tensor of shape {tuple(t.shape)} and {t.dtype}"


class ScanOp(ControlFlow):
    labels = ("scan_combine_graph",)

    def run(self, combine_fn: Any, init: Any, xs: Any, additional: Any = ()) -> Any:
        """Carries and then outputs, over slices along the first dimension."""
        count = len(init)
        carry, outputs = list(init), []
        for i in range(xs[0].shape[0]):
            made = call_body(combine_fn, (*carry, *[x[i] for x in xs], *additional))
            if i == 0:
                check_same(init, made[:count], "init", "carry")
            carry, output = made[:count], made[count:]
            outputs.append(output)
        return [*carry, *[torch.stack(column) for column in zip(*outputs, strict=True)]]

    def written(self, mode: ProxyTorchDispatchMode, combine_fn: Any, init: Any, xs: Any, additional: Any = ()) -> Any:
        if needs_gradient([*init, *xs, *additional]):
            return self.run(combine_fn, init, xs, additional)
        operands = [*init, *quietly(first_slices, xs), *additional]
        graphs, lifted = body_graphs(mode, [(combine_fn, operands)])
        result = quietly(self.run, combine_fn, init, xs, additional)
        return self.add_node(mode, graphs, lambda body: (body, list(init), list(xs), (*additional, *lifted)), result)


def first_slices(xs: Any) -> list[Any]:
    return [x[0] for x in xs]


class MapOp(ControlFlow):
    labels = ("body_graph",)

    def run(self, f: Any, xs: Any, args: Any) -> Any:
        rows = [call_body(f, (*[x[i] for x in xs], *args)) for i in range(xs[0].shape[0])]
        return [torch.stack(column) if isinstance(column[0], torch.Tensor) else column[0] for column in zip(*rows, strict=True)]

    def written(self, mode: ProxyTorchDispatchMode, f: Any, xs: Any, args: Any) -> Any:
        if needs_gradient([*xs, *args]):
            return self.run(f, xs, args)
        graphs, lifted = body_graphs(mode, [(f, [*quietly(first_slices, xs), *args])])
        result = quietly(self.run, f, xs, args)
        return self.add_node(mode, graphs, lambda body: (body, list(xs), [*args, *lifted]), result)


class AssociativeScanOp(ControlFlow):
    labels = ("associative_scan_combine_graph",)

    def run(self, combine_fn: Any, xs: Any, additional: Any = ()) -> Any:
        """Prefixes along the first dimension."""
        made = [first_slices(xs)]
        for i in range(1, xs[0].shape[0]):
            made.append(call_body(combine_fn, (*made[-1], *[x[i] for x in xs], *additional)))
        return [torch.stack(column) for column in zip(*made, strict=True)]

    def written(self, mode: ProxyTorchDispatchMode, combine_fn: Any, xs: Any, additional: Any = ()) -> Any:
        if needs_gradient([*xs, *additional]):
            return self.run(combine_fn, xs, additional)
        firsts = quietly(first_slices, xs)
        graphs, lifted = body_graphs(mode, [(combine_fn, [*firsts, *firsts, *additional])])
        result = quietly(self.run, combine_fn, xs, additional)
        return self.add_node(mode, graphs, lambda body: (body, list(xs), (*additional, *lifted)), result)


cond_op, while_loop_op, scan_op = CondOp("cond"), WhileLoopOp("while_loop"), ScanOp("scan")
map_impl, associative_scan_op = MapOp("map_impl"), AssociativeScanOp("associative_scan")
