"""torch.ao: the names that programs import from it."""
from __future__ import annotations
