"""Every test and every documentation example starts from the same random state, so that a run repeats exactly."""

import random
from importlib.util import find_spec

import numpy as np

# What needs a package that a user may lack is collected where the package is; the `dev` extra has all of them.
OPTIONAL = {
    "onnx": ["src/retrograd/onnx/*", "tests/onnx/*"],
    "tensorboard": ["src/retrograd/utils/tensorboard/*", "tests/utils/tensorboard/*"],
}
collect_ignore_glob = [place for package, places in OPTIONAL.items() if find_spec(package) is None for place in places]


def pytest_runtest_setup() -> None:
    import retrograd  # not earlier: whether the sources or the installed package are tested is decided at collection

    random.seed(0)
    np.random.seed(0)
    retrograd.manual_seed(0)
