"""The parts of the data loader: collating, fetching, workers, errors that travel between processes."""
from __future__ import annotations

from retrograd.utils.data._utils import collate, fetch, pin_memory, worker

MP_STATUS_CHECK_INTERVAL = worker.MP_STATUS_CHECK_INTERVAL
HAS_NUMPY = True
