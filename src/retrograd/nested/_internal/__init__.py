"""torch.nested._internal: the names under which programs reach into jagged tensors."""
from __future__ import annotations

from retrograd.nested._internal import nested_tensor as nested_tensor
