"""Plans to split modules over devices: data that can be made without processes."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.distributed._tensor.placement_types import DTensorSpec, Placement
from retrograd.distributed.tensor import Replicate, Shard
from retrograd.distributed.tensor.parallel import ColwiseParallel, ParallelStyle, parallelize_module, style
from retrograd.distributed.tensor.parallel.style import PrepareModuleInput, PrepareModuleInputOutput, RowwiseParallel


def test_a_plan_is_data() -> None:
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel(output_layouts=Shard(1))}
    assert plan["up"].input_layouts == (Replicate(),) and plan["up"].output_layouts == (Shard(-1),)
    assert repr(plan["down"]) == "RowwiseParallel(input_layouts=(Shard(dim=-1),), output_layouts=(Shard(dim=1),), " \
                                 "use_local_output=True)"
    both = PrepareModuleInputOutput(input_layouts=Shard(0), desired_input_layouts=Replicate(), output_layouts=Replicate(),
                                    desired_output_layouts=Shard(0))
    assert both.prepare_module_input.input_layouts == (Shard(0),) and "use_local_input=False" in repr(both)
    assert isinstance(plan["up"], ParallelStyle) and ParallelStyle is style.ParallelStyle


def test_layouts_must_match() -> None:
    with pytest.raises(AssertionError, match="desired module inputs should not be None!"):
        PrepareModuleInput(input_layouts=Shard(0))
    with pytest.raises(AssertionError, match="input_layouts and desired_input_layouts should have same length!"):
        PrepareModuleInput(input_layouts=(Shard(0), Shard(0)), desired_input_layouts=(Replicate(),))


def test_carrying_out_a_plan_needs_processes() -> None:
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="the distributed package is not built in"):
        ColwiseParallel()._apply(layer, None)
    with pytest.raises(RuntimeError, match="the distributed package is not built in"):
        parallelize_module(layer, None, ColwiseParallel())


def test_older_module_names_the_same_placements() -> None:
    assert isinstance(Shard(0), Placement) and not isinstance(Shard(0), DTensorSpec)
