"""The old name of `torch.hub.load_state_dict_from_url`."""
from __future__ import annotations

from retrograd.hub import load_state_dict_from_url as load_url
from retrograd.hub import tqdm

__all__ = ["load_url", "tqdm"]
