"""Every test and every documentation example starts from the same random state, so that a run repeats exactly."""

import random

import numpy as np

import retrograd


def pytest_runtest_setup() -> None:
    random.seed(0)
    np.random.seed(0)
    retrograd.manual_seed(0)
