"""Learning rate schedules."""
from __future__ import annotations

from retrograd.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from retrograd.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from retrograd.optim.lr_scheduler.base import per_group as _format_param
from retrograd.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from retrograd.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from retrograd.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from retrograd.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from retrograd.optim.lr_scheduler.lambdas import LambdaLR, MultiplicativeLR
from retrograd.optim.lr_scheduler.plateau import ReduceLROnPlateau
from retrograd.utils._names import publish

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
           "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler", "_format_param"]
publish(globals(), __all__)
