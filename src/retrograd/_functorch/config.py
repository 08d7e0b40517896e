"""Settings under `torch._functorch.config`: the object that holds them takes the place of the module."""
from __future__ import annotations

import sys

from retrograd.compile.state import Config

settings = Config(__name__, debug_assert=False, debug_partitioner=False, functionalize_rng_ops=False,
                  fake_tensor_allow_meta=False, treat_parameters_as_free_to_save=True, donated_buffer=False,
                  activation_memory_budget=1.0)   # the part of the memory for values between forward and backward that is used
module = sys.modules[__name__]
for name in ("__spec__", "__file__", "__package__", "__loader__", "__doc__"):
    setattr(settings, name, getattr(module, name))
settings.__dict__["settings"] = settings
sys.modules[__name__] = settings
