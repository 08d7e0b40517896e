"""`functional_call` and `stack_module_state`, where PyTorch keeps them."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.transforms.modules import functional_call, stack_module_state

__all__ = ["construct_stacked_leaf", "functional_call", "stack_module_state"]


def construct_stacked_leaf(tensors: Any, name: str) -> Any:
    """Tensors of several models as one leaf, which requires grad if they all do.

    >>> construct_stacked_leaf((torch.ones(1), torch.zeros(1)), "weight")
    tensor([[1.],
            [0.]])
    """
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return torch.stack(tensors).detach().requires_grad_(True in wanted)
