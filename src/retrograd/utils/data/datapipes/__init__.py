"""Data pipes: datasets made of other datasets, one step after the other."""
from __future__ import annotations

from retrograd.utils.data.datapipes import iter as iter
from retrograd.utils.data.datapipes import map as map
from retrograd.utils.data.datapipes import utils as utils
