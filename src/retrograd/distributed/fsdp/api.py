"""Settings of fully sharded data parallelism, as data."""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from retrograd.nn.modules.batchnorm import _BatchNorm

__all__ = ["BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
           "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
           "StateDictSettings", "StateDictType"]


class ShardingStrategy(Enum):
    """What is sharded: parameters, gradients and optimizer states, or less of it.

    >>> ShardingStrategy.FULL_SHARD.name
    'FULL_SHARD'
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are gathered during the backward pass."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """How the state of a sharded model is returned."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """By what optimizer states are keyed."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """The dtypes of a sharded model."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = field(default=(_BatchNorm,))


@dataclass
class CPUOffload:
    """Whether parameters rest in the memory of the host."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How a state is returned."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How a whole state is returned."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """How the state of one process is returned."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How a sharded state is returned."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How the state of an optimizer is returned."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How the whole state of an optimizer is returned."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How one process's state of an optimizer is returned."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How a sharded state of an optimizer is returned."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """All of these together."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
