"""`functional_call` and `stack_module_state`, where PyTorch keeps them."""
from __future__ import annotations

from retrograd.transforms.modules import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
