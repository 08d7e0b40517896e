"""Weights that collect the gradient of every example of a batch, for `call_for_per_sample_grads`."""
from retrograd.nn.utils._expanded_weights import rules as _rules
from retrograd.nn.utils._expanded_weights.expanded_weights_impl import ExpandedWeight

__all__ = ["ExpandedWeight"]
