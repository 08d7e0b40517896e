"""Optimizers and learning rate schedules."""
from __future__ import annotations

from retrograd.optim import lr_scheduler, swa_utils
from retrograd.optim._adafactor import Adafactor
from retrograd.optim._muon import Muon
from retrograd.optim.adadelta import Adadelta
from retrograd.optim.adagrad import Adagrad
from retrograd.optim.adam import Adam
from retrograd.optim.adamax import Adamax
from retrograd.optim.adamw import AdamW
from retrograd.optim.asgd import ASGD
from retrograd.optim.lbfgs import LBFGS
from retrograd.optim.nadam import NAdam
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.radam import RAdam
from retrograd.optim.rmsprop import RMSprop
from retrograd.optim.rprop import Rprop
from retrograd.optim.sgd import SGD
from retrograd.optim.sparse_adam import SparseAdam
from retrograd.utils._names import publish

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils"]
publish(globals(), __all__)
