"""The parts of the data loader: collating, fetching, workers, errors that travel between processes."""
from __future__ import annotations

import atexit

from retrograd.utils.data._utils import collate, fetch, pin_memory, signal_handling, worker

MP_STATUS_CHECK_INTERVAL = worker.MP_STATUS_CHECK_INTERVAL
HAS_NUMPY = True
python_exit_status = False          # True while Python shuts down, when it is too late to wait for processes


@atexit.register
def note_exit() -> None:
    global python_exit_status
    python_exit_status = True
