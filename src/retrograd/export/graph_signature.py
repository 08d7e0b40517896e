"""What the arguments and results of an exported graph are."""
from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """A value that is no tensor."""

    name: str
    value: Any


class InputKind(enum.Enum):
    """What an argument is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()


class OutputKind(enum.Enum):
    """What a result is."""

    USER_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    USER_INPUT_MUTATION = enum.auto()


@dataclass
class InputSpec:
    """One argument: its node, and the parameter or buffer that it is."""

    kind: InputKind
    arg: Any
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = f" target='{self.target}'" if self.target is not None else ""
        kept = f" persistent={self.persistent}" if self.persistent is not None else ""
        return f"{self.arg.name}: {self.kind.name}{target}{kept}"


@dataclass
class OutputSpec:
    """One result: its node, and the buffer or argument that it is the new value of."""

    kind: OutputKind
    arg: Any
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}" + (f" target='{self.target}'" if self.target is not None else "")


@dataclass
class ExportGraphSignature:
    """All arguments and results of a graph, in order."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    backward_signature = assertion_dep_token = None       # no graph of a program has its backward

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple([spec.target for spec in self.input_specs if spec.kind is kind and spec.target is not None])

    def _written(self, kind: OutputKind) -> Mapping[str, str]:
        return MappingProxyType({s.arg.name: s.target for s in self.output_specs if s.kind is kind and s.target is not None})

    @property
    def parameters(self) -> tuple[str, ...]:
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        return tuple([str(spec.target) for spec in self.input_specs if spec.persistent is False])

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        return self._inputs(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        return tuple([spec.arg.value if isinstance(spec.arg, ConstantArgument) else spec.arg.name
                      for spec in self.input_specs if spec.kind is InputKind.USER_INPUT])

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        return tuple([spec.arg.value if isinstance(spec.arg, ConstantArgument) else spec.arg.name
                      for spec in self.output_specs if spec.kind is OutputKind.USER_OUTPUT])

    def _inputs(self, kind: InputKind) -> Mapping[str, str]:
        return MappingProxyType({s.arg.name: s.target for s in self.input_specs if s.kind is kind and s.target is not None})

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        return self._inputs(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        return self._inputs(InputKind.BUFFER)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        return self._written(OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        return self._written(OutputKind.USER_INPUT_MUTATION)

    def replace_all_uses(self, old: str, new: str) -> None:
        """Let specs that name one node name another."""
        specs: list[InputSpec | OutputSpec] = [*self.input_specs, *self.output_specs]
        for spec in specs:
            if isinstance(spec.arg, TensorArgument) and spec.arg.name == old:
                spec.arg.name = new

    def __str__(self) -> str:
        lines = ["# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs)]
        return "\n" + "\n".join(lines) + "\n"
