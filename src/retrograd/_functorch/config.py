"""Settings under `torch._functorch.config`; none of them changes what is computed."""
from __future__ import annotations

debug_assert = False
debug_partitioner = False
functionalize_rng_ops = False
fake_tensor_allow_meta = False
treat_parameters_as_free_to_save = True
donated_buffer = False
