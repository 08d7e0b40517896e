"""Optimizers and learning rate schedules."""
from __future__ import annotations

from retrograd.optim import lr_scheduler
from retrograd.optim.adadelta import Adadelta
from retrograd.optim.adagrad import Adagrad
from retrograd.optim.adam import Adam, AdamW
from retrograd.optim.adamax import Adamax
from retrograd.optim.asgd import ASGD
from retrograd.optim.lbfgs import LBFGS
from retrograd.optim.nadam import NAdam
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.radam import RAdam
from retrograd.optim.rmsprop import RMSprop
from retrograd.optim.rprop import Rprop
from retrograd.optim.sgd import SGD

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam",
           "RMSprop", "Rprop", "lr_scheduler"]
