"""torch.distributed without processes: it says so, its names can be imported, and using them raises clearly."""
from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import pytest

import retrograd as torch
import retrograd.distributed as dist
from retrograd.distributed import distributed_c10d

MODULES = [name for _, name, _ in pkgutil.walk_packages(dist.__path__, "retrograd.distributed.")]


def test_nothing_is_available() -> None:
    assert not dist.is_available() and not dist.is_initialized() and not dist.is_nccl_available()
    assert not dist.is_torchelastic_launched() and not dist.rpc.is_available() and not dist.is_backend_available("gloo")
    assert dist.group.WORLD is None and dist.GroupMember.WORLD is None


@pytest.mark.parametrize("name", MODULES)
def test_every_submodule_has_the_names_it_lists(name: str) -> None:
    module = import_module(name)
    for listed in getattr(module, "__all__", ()):
        assert hasattr(module, listed)


@pytest.mark.parametrize("name", distributed_c10d.NEEDS_GROUP)
def test_collective_says_that_there_is_no_group(name: str) -> None:
    with pytest.raises(ValueError, match="Default process group has not been initialized, please make sure to call"):
        getattr(dist, name)(torch.ones(2))


@pytest.mark.parametrize("call", [
    lambda: dist.init_process_group("nccl"), lambda: dist.TCPStore("localhost", 1),
    lambda: dist.device_mesh.init_device_mesh("cpu", (2,)), lambda: dist.fsdp.FullyShardedDataParallel(torch.nn.Linear(1, 1)),
    lambda: dist.tensor.distribute_tensor(torch.ones(1)), lambda: dist.optim.ZeroRedundancyOptimizer([]),
    lambda: dist.rpc.init_rpc("worker"), lambda: dist.checkpoint.save({}), lambda: dist.algorithms.Join([]),
])
def test_use_is_refused_with_the_reason(call: Any) -> None:
    with pytest.raises(RuntimeError, match=r"torch.distributed.is_available\(\) is False"):
        call()


def test_data_parallel_module_of_processes_is_refused() -> None:
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()


def test_classes_serve_in_isinstance_annotations_and_defaults() -> None:
    def reduce(tensor: Any, op: Any = dist.ReduceOp.SUM, group: dist.ProcessGroup | None = None) -> Any:
        return op

    assert reduce(None).name == "SUM" and repr(dist.ReduceOp.SUM) == "<RedOpType.SUM: 0>"
    assert not isinstance(torch.ones(1), dist.tensor.DTensor)
    assert dist.fsdp.ShardingStrategy.FULL_SHARD.name == "FULL_SHARD"
    assert dist.fsdp.MixedPrecision(param_dtype=torch.bfloat16).reduce_dtype is None
    assert dist.tensor.Shard(0) == dist.tensor.Shard(dim=0) and dist.tensor.Shard(0).is_shard()
    assert dist.Backend("NCCL") == dist.Backend.NCCL == "nccl"


def test_rank_on_the_node_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert dist.get_node_local_rank(fallback_rank=3) == 3
    with pytest.raises(RuntimeError, match="LOCAL_RANK is not in the environment"):
        dist.get_node_local_rank()
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert dist.get_node_local_rank() == 2


def test_recorded_entry_point_runs() -> None:
    from retrograd.distributed.elastic.multiprocessing.errors import record

    @record
    def main(x: int) -> int:
        """Doc."""
        return x + 1

    assert main(1) == 2 and main.__doc__ == "Doc."
