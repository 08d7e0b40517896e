"""Ahead-of-time autograd: a function is traced together with its backward, split in two graphs, and these are compiled."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd import autograd, nn
from retrograd._functorch.partitioners import default_partition
from retrograd.compile.backends import make_boxed_func
from retrograd.compiler import aot_ids as AOT_COUNTER
from retrograd.fx import GraphModule
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.utils import _pytree as pytree

__all__ = ["AOT_COUNTER", "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module",
           "get_aot_compilation_context", "get_aot_graph_name", "get_graph_being_compiled", "make_boxed_compiler",
           "make_boxed_func"]

NOT_BOXED = ("Your compiler for AOTAutograd is returning a function that doesn't take boxed arguments. Please wrap it with "
             "functorch.compile.make_boxed_func or handle the boxed arguments yourself. See "
             "https://github.com/pytorch/pytorch/pull/83137#issuecomment-1211320670 for rationale.")
TWICE = "torch.compile with aot_autograd does not currently support double backward"


class Names:
    """What is being compiled now, by name."""

    current = ["model", "0", ""]


def aot_function(fn: Callable[..., Any], fw_compiler: Callable[..., Any], bw_compiler: Callable[..., Any] | None = None,
                 partition_fn: Callable[..., Any] = default_partition, decompositions: Any = None, num_params_buffers: int = 0,
                 keep_inference_input_mutations: bool = False, inference_compiler: Callable[..., Any] | None = None, *,
                 dynamic: bool = False, enable_log: bool = True) -> Callable[..., Any]:
    """A function that computes `fn` by way of what compilers make of its forward and its backward graph.

    >>> import retrograd as torch
    >>> def show(gm, inputs):
    ...     print(gm.code.strip())
    ...     return make_boxed_func(gm.forward)
    >>> x = torch.zeros(2, requires_grad=True)
    >>> aot_function(lambda x: x.sin() * 2, show)(x).sum().backward()
    def forward(self, primals_1):
        sin = torch.ops.aten.sin.default(primals_1)
        mul = torch.ops.aten.mul.Tensor(sin, 2);  sin = None
        return (mul, primals_1)
    def forward(self, primals_1, tangents_1):
        mul_1 = torch.ops.aten.mul.Tensor(tangents_1, 2);  tangents_1 = None
        cos = torch.ops.aten.cos.default(primals_1);  primals_1 = None
        mul_2 = torch.ops.aten.mul.Tensor(mul_1, cos);  mul_1 = cos = None
        return (mul_2,)
    >>> x.grad
    tensor([2., 2.])
    """
    ahead = Ahead(fn, fw_compiler, bw_compiler or fw_compiler, inference_compiler or fw_compiler, partition_fn, decompositions)

    def returned_function(*args: Any, **kwargs: Any) -> Any:
        return ahead(args, kwargs)
    return returned_function


class Ahead:
    """A function with its compilers, and what they have made for each kind of arguments."""

    def __init__(self, fn: Any, forward: Any, backward: Any, inference: Any, partition: Any, decompositions: Any) -> None:
        self.fn, self.forward, self.backward, self.inference = fn, forward, backward, inference
        self.partition, self.decompositions = partition, decompositions
        self.known: dict[Any, Any] = {}

    def __call__(self, args: Any, kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        key = (spec, torch.is_grad_enabled(), *[description(value) for value in leaves])
        compiled = self.known.get(key)
        if compiled is None:
            compiled = self.known[key] = Compiled(self, leaves, spec)
        return compiled.run(leaves)


def description(value: Any) -> Any:
    """What a graph depends on of an argument."""
    if isinstance(value, torch.Tensor):
        strides = value.stride() if value.layout is torch.strided else value.layout
        return tuple(value.shape), strides, value.dtype, value.device, value.requires_grad, type(value)
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), repr(value) if isinstance(value, float) else value


class Compiled:
    """A function for one kind of arguments."""

    def __init__(self, ahead: Ahead, leaves: list[Any], spec: Any) -> None:
        self.ahead, self.spec = ahead, spec
        self.places = [i for i, value in enumerate(leaves) if isinstance(value, torch.Tensor)]
        self.constants = list(leaves)
        for i in self.places:
            self.constants[i] = None
        self.out_spec: Any = None
        self.outputs: list[Any] = []              # what is no tensor among the results; None for those that are
        self.written: list[int] = []              # the inputs that the function writes to
        self.fallback = False
        tensors = [leaves[i] for i in self.places]
        names = Names.current[:]
        Names.current[1] = str(next(AOT_COUNTER))
        try:
            differentiable = torch.is_grad_enabled() and any([t.requires_grad for t in tensors])
            with torch.random.fork_rng(devices=[]):           # to trace draws no random numbers
                self.function = self.with_gradients(tensors) if differentiable else self.without_gradients(tensors)
        finally:
            Names.current[:] = names

    def flat(self, *tensors: Any) -> list[Any]:
        """The function of tensors alone; its results that are tensors."""
        leaves = list(self.constants)
        for i, t in zip(self.places, tensors, strict=True):
            leaves[i] = t
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        results, self.out_spec = pytree.tree_flatten(self.ahead.fn(*args, **kwargs))
        self.outputs = [None if isinstance(value, torch.Tensor) else value for value in results]
        self.is_output = [isinstance(value, torch.Tensor) for value in results]
        return [value for value in results if isinstance(value, torch.Tensor)]

    def functional(self, tensors: list[Any]) -> Callable[..., Any]:
        """`flat` without writes to what it computes; writes to its inputs come last then."""
        module = make_fx(self.flat, self.ahead.decompositions)(*[t.detach().clone() for t in tensors])
        if not any([is_mutable(node) for node in module.graph.nodes]):
            return self.flat
        return torch.func.functionalize(self.flat, remove="mutations")

    def take_writes(self, module: GraphModule) -> list[Any]:
        """Take the writes to inputs out of a graph; returns what is to be written."""
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        values = {}
        for node in list(module.graph.nodes):
            if str(node.target) == "aten.copy_.default" and node.args[0] in inputs:
                values[inputs.index(node.args[0])] = node.args[1]
                node.replace_all_uses_with(node.args[1])
                module.graph.erase_node(node)
        self.written = list(values)
        return list(values.values())

    # ---- the graphs
    def without_gradients(self, tensors: list[Any]) -> Callable[..., Any]:
        plain = [t.detach().clone() for t in tensors]
        with torch.no_grad():
            function = self.functional(plain)
            module = make_fx(lambda *args: tuple(function(*args)), self.ahead.decompositions)(*plain)
        written = self.take_writes(module)
        change_output(module, lambda results: (*written, *results))
        Names.current[2] = "inference"
        return called(self.ahead.inference(module, tensors))

    def with_gradients(self, tensors: list[Any]) -> Callable[..., Any]:
        plain = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
        with torch.no_grad():
            function = self.functional(plain)
        if function is not self.flat:
            with torch.no_grad():
                module = make_fx(lambda *args: tuple(function(*args)))(*[t.detach() for t in plain])
            self.take_writes(module)
            if any([tensors[i].requires_grad for i in self.written]):      # their histories change: as it is, then
                self.fallback = True
                return self.flat
        outputs = function(*plain)
        wanted = [i for i, out in enumerate(outputs) if out.requires_grad]
        self.constant = [i for i, out in enumerate(outputs) if not out.requires_grad]
        tangents = [torch.ones_like(outputs[i].detach()) for i in wanted]
        self.needs = [t.requires_grad for t in plain]

        def joint(primals: Any, tangents: Any) -> Any:
            made = function(*primals)
            sources = [t for t in primals if t.requires_grad]
            found = iter(autograd.grad([made[i] for i in wanted], sources, tangents, allow_unused=True)
                         if wanted else [None] * len(sources))
            return [*made, *[next(found) if t.requires_grad else None for t in primals]]
        del outputs
        fresh = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
        module = without_writes(make_fx(joint, self.ahead.decompositions)(fresh, tangents), fresh, tangents)
        written = self.take_writes(module)
        change_output(module, lambda results: (*written, *results))
        forward, backward = self.ahead.partition(module, [fresh, tangents], num_fwd_outputs=len(written) + len(self.is_true()))
        Names.current[2] = "forward"
        run_forward = called(self.ahead.forward(forward, tensors))
        return joined(run_forward, Later(self.ahead.backward, backward, list(Names.current)), self, wanted)

    def is_true(self) -> list[bool]:
        return [flag for flag in self.is_output if flag]

    def run(self, leaves: list[Any]) -> Any:
        tensors = [leaves[i] for i in self.places]
        found = iter(self.function(*tensors))
        with torch.no_grad():
            for i in self.written if not self.fallback else ():
                tensors[i].copy_(next(found))
        results = [next(found) if flag else value for flag, value in zip(self.is_output, self.outputs, strict=True)]
        return pytree.tree_unflatten(results, self.out_spec)


class Later:
    """A backward graph, which is compiled when it is needed for the first time."""

    def __init__(self, compiler: Any, module: GraphModule, names: list[str]) -> None:
        self.compiler, self.module, self.names = compiler, module, names
        self.function: Any = None

    def __call__(self, *args: Any) -> list[Any]:
        if self.function is None:
            examples = [node.meta.get("val") for node in self.module.graph.nodes if node.op == "placeholder"]
            names, Names.current[:] = Names.current[:], [*self.names[:2], "backward"]
            try:
                self.function = called(self.compiler(self.module, examples))
            finally:
                Names.current[:] = names
        results: list[Any] = self.function(*args)
        return results


def without_writes(module: GraphModule, primals: list[Any], tangents: list[Any]) -> GraphModule:
    """A joint graph whose formulas write into memory of their own, as one of values alone."""
    inputs = module.graph.find_nodes(op="placeholder")
    if not any([is_mutable(node) and node.args[0] not in inputs for node in module.graph.nodes]):
        return module
    pure = torch.func.functionalize(module, remove="mutations")

    def joint(primals: Any, tangents: Any) -> Any:
        return pure(primals, tangents)
    with torch.no_grad():
        return make_fx(joint)([t.detach().clone() for t in primals], tangents)


def is_mutable(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def change_output(module: GraphModule, change: Callable[[Any], Any]) -> None:
    """Let a graph return something else, as a plain tuple."""
    graph = module.graph
    output = next(node for node in graph.nodes if node.op == "output")
    results = pytree.tree_leaves(output.args[0], is_leaf=lambda value: value is None)
    graph.erase_node(output)
    graph.output(tuple(change(results)))
    for node in list(graph.nodes):                # without autograd there is nothing to detach from
        if str(node.target) == "aten.detach.default":
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    graph.eliminate_dead_code()
    graph.set_codegen(type(graph)()._codegen)
    module.recompile()


def called(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """What a compiler returned, as a function of several arguments that returns a list."""
    if getattr(compiled, "_boxed_call", False):
        return lambda *args: as_list(compiled(list(args)))

    def call(*args: Any) -> list[Any]:
        warnings.warn(NOT_BOXED, stacklevel=3)
        return as_list(compiled(*args))
    return call


def as_list(results: Any) -> list[Any]:
    return list(results) if isinstance(results, list | tuple) else [results]


def joined(forward: Any, backward: Any, compiled: Compiled, wanted: list[int]) -> Callable[..., Any]:
    """A forward and a backward as one differentiable function."""
    class CompiledFunction(autograd.Function):
        """One node for everything."""

        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            results = forward(*tensors)
            count = len(compiled.written) + len(compiled.is_true())
            outputs, saved = results[:count], results[count:]
            ctx.save_for_backward(*saved)
            first = len(compiled.written)
            ctx.mark_non_differentiable(*outputs[:first], *[outputs[first + i] for i in compiled.constant])
            return tuple(outputs)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            first = len(compiled.written)
            given = (*ctx.saved_tensors, *[grads[first + i].contiguous() for i in wanted])
            if torch.is_grad_enabled() and any([t.requires_grad for t in given]):
                return Once.apply(backward, *given)
            return tuple(backward(*given))
    return CompiledFunction.apply


class Once(autograd.Function):
    """A backward graph without a compiled backward of its own."""

    @staticmethod
    def forward(ctx: Any, backward: Any, *given: Any) -> Any:
        return tuple(backward(*given))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(TWICE)


def aot_module(mod: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
    """A module whose forward and backward are compiled, with the parameters of `mod`.

    >>> import retrograd as torch
    >>> model = aot_module(torch.nn.Linear(2, 3), lambda gm, inputs: make_boxed_func(gm.forward))
    >>> model(torch.ones(4, 2)).shape, [name for name, _ in model.named_parameters()]
    (torch.Size([4, 3]), ['orig_module.weight', 'orig_module.bias'])
    """
    def functional_call(params: Any, buffers: Any, args: Any, kwargs: Any) -> Any:
        return torch.func.functional_call(mod, {**params, **buffers}, args, kwargs)
    compiled = aot_function(functional_call, *args, **kwargs)

    class AOTModule(nn.Module):
        """A compiled module."""

        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return compiled(dict(mod.named_parameters(remove_duplicate=False)), dict(mod.named_buffers(remove_duplicate=False)),
                            args, kwargs)
    return AOTModule()


def aot_module_simplified(mod: nn.Module, args: Any, fw_compiler: Callable[..., Any],
                          bw_compiler: Callable[..., Any] | None = None, partition_fn: Callable[..., Any] = default_partition,
                          decompositions: Any = None, keep_inference_input_mutations: bool = False,
                          inference_compiler: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """A module that returns a tuple of tensors, compiled for example arguments, as a function.

    >>> import retrograd as torch
    >>> module = torch.fx.symbolic_trace(lambda x: (x.sin(),))
    >>> aot_module_simplified(module, (torch.zeros(2),), lambda gm, inputs: make_boxed_func(gm.forward))(torch.zeros(2))
    (tensor([0., 0.]),)
    """
    tensors = {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}

    def functional_call(*flat: Any) -> Any:
        named = dict(zip(tensors, flat, strict=False))
        result = torch.func.functional_call(mod, named, flat[len(named):])
        if not isinstance(result, tuple):
            raise RuntimeError("Graph output must be a (). This is so that we can avoid pytree processing of the outputs. "
                               "Please change the module to have tuple outputs or use aot_module instead.")
        return result
    ahead = Ahead(functional_call, fw_compiler, bw_compiler or fw_compiler, inference_compiler or fw_compiler, partition_fn,
                  decompositions)
    flat = [*tensors.values(), *args]
    compiled = Compiled(ahead, *pytree.tree_flatten((tuple(flat), {})))

    def forward(*runtime_args: Any) -> Any:
        if any([description(new)[:-2] != description(old)[:-2] for new, old in zip(runtime_args, args, strict=True)
                if isinstance(old, torch.Tensor)]):
            return ahead((*tensors.values(), *runtime_args), {})      # other sizes than those of the examples
        return compiled.run([*tensors.values(), *runtime_args])
    return forward


compiled_function = aot_function
compiled_module = aot_module


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler whose functions take their arguments as one list.

    >>> make_boxed_compiler(lambda gm, inputs: gm)(lambda a, b: a + b, [])([1, 2])
    3
    """
    def boxed(fx_g: Any, inps: Any) -> Callable[..., Any]:
        return make_boxed_func(compiler(fx_g, inps))
    return boxed


def get_aot_graph_name() -> str:
    """The name of the graph that is being compiled: model, number and kind.

    >>> get_aot_graph_name()
    'model__0_'
    """
    model, number, kind = Names.current
    return f"{model}__{number}_{kind}"


get_graph_being_compiled = get_aot_graph_name


def get_aot_compilation_context() -> tuple[list[str], str, int]:
    """What is being compiled: the kind of graph, the name of the model and the number of the graph.

    >>> get_aot_compilation_context()
    ([], 'model', 0)
    """
    model, number, kind = Names.current
    return [kind] if kind else [], model, int(number)
