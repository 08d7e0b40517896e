"""The class Tensor itself: programs may add to it, compiled or not."""
from __future__ import annotations

import retrograd as torch


def test_programs_add_methods_and_properties_and_replace_operators() -> None:
    plain = torch.Tensor.__repr__
    try:
        torch.Tensor.doubled = lambda self: self * 2
        torch.Tensor.rank = property(lambda self: self.ndim)
        torch.Tensor.__repr__ = lambda self: "changed"
        x = torch.ones(2, 3)
        assert x.doubled().sum() == 12 and x.rank == 2 and repr(x) == "changed"
        assert torch.nn.Parameter(x).doubled().requires_grad
    finally:
        del torch.Tensor.doubled, torch.Tensor.rank
        torch.Tensor.__repr__ = plain
    assert not hasattr(x, "doubled") and repr(x).startswith("tensor(")
