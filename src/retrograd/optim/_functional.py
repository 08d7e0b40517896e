"""The optimizers as functions of lists, in one place."""
from __future__ import annotations

from retrograd.optim.adadelta import adadelta
from retrograd.optim.adagrad import adagrad
from retrograd.optim.adam import adam
from retrograd.optim.adamax import adamax
from retrograd.optim.adamw import adamw
from retrograd.optim.asgd import asgd
from retrograd.optim.nadam import nadam
from retrograd.optim.radam import radam
from retrograd.optim.rmsprop import rmsprop
from retrograd.optim.rprop import rprop
from retrograd.optim.sgd import sgd
from retrograd.optim.sparse_adam import sparse_adam

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd", "sparse_adam"]
