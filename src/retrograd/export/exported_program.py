"""ExportedProgram: a graph with its parameters, which needs no other code to run."""
from __future__ import annotations

import copy
from typing import Any, NamedTuple

import retrograd as torch
from retrograd import nn
from retrograd.export.graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind
from retrograd.fx import GraphModule
from retrograd.utils import _pytree as pytree


class CallSpec(NamedTuple):
    """The structure of the inputs and of the results of a program."""

    in_spec: Any
    out_spec: Any


class ExportedProgram:
    """What `export` returns: `graph_module` computes results from parameters, buffers and inputs, all of them arguments.

    >>> import retrograd as torch
    >>> program = torch.export.export(torch.nn.Linear(2, 3), (torch.ones(4, 2),))
    >>> program.module()(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(self, graph_module: GraphModule, signature: ExportGraphSignature, state_dict: dict[str, Any],
                 constants: dict[str, Any], in_spec: Any, out_spec: Any, guards: dict[tuple[int, int], Any],
                 range_constraints: dict[str, Any], example_inputs: Any = None) -> None:
        self.graph_module, self.graph_signature = graph_module, signature
        self.state_dict, self.constants = state_dict, constants
        self.in_spec, self.out_spec = in_spec, out_spec
        self.guards = guards                      # (input, dimension) -> the size it must have, or the name of its symbol
        self.range_constraints = range_constraints
        self.example_inputs = example_inputs

    dialect = "ATEN"

    @property
    def graph(self) -> Any:
        return self.graph_module.graph

    @property
    def tensor_constants(self) -> dict[str, Any]:
        return self.constants

    @property
    def call_spec(self) -> CallSpec:
        return CallSpec(self.in_spec, self.out_spec)

    def validate(self) -> None:
        """Raise an error if the graph is not well formed."""
        self.graph.lint()

    def parameters(self) -> Any:
        return iter([self.state_dict[name] for name in self.graph_signature.parameters])

    def named_parameters(self) -> Any:
        return iter([(name, self.state_dict[name]) for name in self.graph_signature.parameters])

    def buffers(self) -> Any:
        return iter([value for _, value in self.named_buffers()])

    def named_buffers(self) -> Any:
        return iter([(name, self.state_dict.get(name, self.constants.get(name))) for name in self.graph_signature.buffers])

    def module(self, check_guards: bool = True) -> ExportedModule:
        """A module that runs the program; its parameters are the program's."""
        return ExportedModule(self)

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """The program itself: its ops are those below autograd."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False)
        text = "\n".join([f"    {line}" for line in code.split("\n")])
        signature = "\n".join([f"    {line}" if line else "    " for line in str(self.graph_signature).strip().split("\n")])
        return (f"ExportedProgram:\n{text}\nGraph signature: \n{signature}\n    \nRange constraints: "
                f"{self.range_constraints}\n")


class ExportedModule(nn.Module):
    """An exported program as a module."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.program = copy.copy(program)
        names = [*program.graph_signature.parameters, *program.graph_signature.buffers]
        for name in names:
            value = program.state_dict[name] if name in program.state_dict else program.constants[name]
            *path, last = name.split(".")
            here: Any = self
            for part in path:
                if part not in here._modules:
                    here.add_module(part, nn.Module())
                here = here._modules[part]
            if isinstance(value, nn.Parameter):
                here.register_parameter(last, value)
            else:
                here.register_buffer(last, value, persistent=name in program.state_dict)

    def train(self, mode: bool = True) -> Any:
        raise NotImplementedError(f"Calling {'train' if mode else 'eval'}() is not supported yet.")

    def eval(self) -> Any:
        raise NotImplementedError("Calling eval() is not supported yet.")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        program = self.program
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != program.in_spec:
            raise ValueError(f"Trying to flatten user inputs with exported input tree spec: \n{program.in_spec}\nbut "
                             f"actually got inputs with tree spec of: \n{spec}.")
        self.check(leaves)
        given = iter(leaves)
        values: list[Any] = []
        state = {**dict(self.named_parameters(remove_duplicate=False)), **dict(self.named_buffers(remove_duplicate=False))}
        for inner in program.graph_signature.input_specs:
            if inner.kind is InputKind.USER_INPUT:
                values.append(next(given))
            elif inner.kind is InputKind.CONSTANT_TENSOR:
                values.append(program.constants[str(inner.target)])
            else:
                values.append(state[str(inner.target)])
        results = program.graph_module(*values)
        outputs = []
        for outer, result in zip(program.graph_signature.output_specs, results, strict=True):
            if outer.kind is OutputKind.USER_OUTPUT:
                outputs.append(outer.arg.value if isinstance(outer.arg, ConstantArgument) else result)
                continue
            names = [s.arg.name for s in program.graph_signature.input_specs]
            is_buffer = outer.kind is OutputKind.BUFFER_MUTATION
            target = state[str(outer.target)] if is_buffer else values[names.index(str(outer.target))]
            with torch.no_grad():
                target.copy_(result)
        return pytree.tree_unflatten(outputs, program.out_spec)

    def check(self, leaves: list[Any]) -> None:
        """Refuse inputs that the program was not made for."""
        names = [spec.arg.name for spec in self.program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
        sizes: dict[str, tuple[int, str]] = {}    # symbol -> its value, and which size that is
        for (number, dim), expected in self.program.guards.items():
            name, leaf = names[number], leaves[number]
            if dim < 0:
                if not isinstance(leaf, torch.Tensor) and leaf != expected or isinstance(leaf, torch.Tensor) and (
                        leaf.dim() != expected):
                    raise AssertionError(f"Guard failed: {name} == {expected!r}" if not isinstance(leaf, torch.Tensor) else
                                         f"Guard failed: {name}.dim() == {expected}")
                continue
            shown, size = f"{name}.size()[{dim}]", leaf.shape[dim]
            if isinstance(expected, int):
                if size != expected:
                    raise AssertionError(f"Guard failed: {shown} == {expected}")
                continue
            symbol, factor, offset = (expected, 1, 0) if isinstance(expected, str) else expected
            value, rest = divmod(size - offset, factor)
            low, high = self.program.range_constraints.get(symbol, (0, None))
            first, source = sizes.setdefault(symbol, (value, shown))
            if rest or value != first:
                raise AssertionError(f"Guard failed: {shown} == {source}")
            if value < low:
                raise AssertionError(f"Guard failed: {shown} >= {low * factor + offset}")
            if high is not None and value > high:
                raise AssertionError(f"Guard failed: {shown} <= {high * factor + offset}")
