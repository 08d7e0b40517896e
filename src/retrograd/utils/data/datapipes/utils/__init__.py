"""What data pipes of files need."""
from __future__ import annotations

from retrograd.utils.data.datapipes.utils import common as common
