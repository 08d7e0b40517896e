"""Every test and every documentation example starts from the same random state, so that a run repeats exactly."""

import random

import numpy as np


def pytest_runtest_setup() -> None:
    import retrograd  # not earlier: whether the sources or the installed package are tested is decided at collection

    random.seed(0)
    np.random.seed(0)
    retrograd.manual_seed(0)
