"""Optimizers and learning rate schedules."""
from __future__ import annotations

from retrograd.optim import lr_scheduler
from retrograd.optim.adagrad import Adagrad
from retrograd.optim.adam import Adam, AdamW
from retrograd.optim.optimizer import Optimizer
from retrograd.optim.rmsprop import RMSprop
from retrograd.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
