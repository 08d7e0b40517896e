"""Plans to split a module over devices. A plan is data and can be made anywhere; carrying it out needs processes."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from retrograd.distributed._absent import REASON
from retrograd.distributed.tensor.placement_types import Placement, Replicate, Shard

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel"]


class ParallelStyle(ABC):
    """What is done to one module; subclasses define `_apply`."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: Any) -> Any: ...


class Plan(ParallelStyle):
    """A style of PyTorch's own."""

    shown: tuple[str, ...] = ()

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} cannot be applied: {REASON}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)}' for name in self.shown])})"


class SplitWeights(Plan):
    """A module whose weights are split; a tensor comes in and goes out in a layout."""

    shown = ("input_layouts", "output_layouts", "use_local_output")
    comes: Placement = Replicate()
    goes: Placement = Replicate()

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__()
        self.input_layouts, self.output_layouts = (input_layouts or self.comes,), (output_layouts or self.goes,)
        self.use_local_output = use_local_output


class ColwiseParallel(SplitWeights):
    """Split a linear layer or an embedding by its outputs.

    >>> ColwiseParallel()
    ColwiseParallel(input_layouts=(Replicate(),), output_layouts=(Shard(dim=-1),), use_local_output=True)
    """

    goes = Shard(-1)

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts=input_layouts, output_layouts=output_layouts, use_local_output=use_local_output)
        self.desired_input_layouts = (Replicate(),)


class RowwiseParallel(SplitWeights):
    """Split a linear layer or an embedding by its inputs."""

    comes = Shard(-1)


class SequenceParallel(Plan):
    """Split the sequence, for layers with the same weights everywhere."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__()
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def __repr__(self) -> str:
        return f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, use_local_output={self.use_local_output})"


def as_tuple(layouts: Any) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(Plan):
    """Change the layouts of a module's inputs."""

    shown = ("input_layouts", "desired_input_layouts", "input_kwarg_layouts", "desired_input_kwarg_layouts", "use_local_output")

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
                 desired_input_kwarg_layouts: Any = None, use_local_output: bool = False) -> None:
        self.input_layouts, self.desired_input_layouts = as_tuple(input_layouts), as_tuple(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")


class PrepareModuleOutput(Plan):
    """Change the layouts of a module's outputs."""

    shown = ("output_layouts", "desired_output_layouts", "use_local_output")

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = as_tuple(output_layouts), as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")


class PrepareModuleInputOutput(Plan):
    """Change the layouts of a module's inputs and outputs."""

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
                 desired_input_kwarg_layouts: Any = None, use_local_input: bool = False, output_layouts: Any,
                 desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output)

    def __repr__(self) -> str:
        before = repr(self.prepare_module_input)[len("PrepareModuleInput("):-1].replace("use_local_output", "use_local_input")
        after = repr(self.prepare_module_output)[len("PrepareModuleOutput("):-1]
        return f"PrepareModuleInputOutput({before}, {after})"
