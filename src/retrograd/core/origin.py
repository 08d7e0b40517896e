"""Where a node was recorded: the Python stack and the node that was running, kept only in anomaly mode."""
from __future__ import annotations

import os
from typing import Any

from retrograd.core.state import tls

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def remember(node: Any) -> None:
    """Note in the node's metadata where it came from; it dies with the node."""
    import traceback  # seldom needed, and slow to import

    # how an op gets recorded, or an engine gets to call a backward, is of no use to whoever reads this
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(PACKAGE)]
    node.metadata["traceback_"] = traceback.StackSummary.from_list(frames).format()
    parent = None if tls.task is None else tls.task.node
    if parent is not None:
        node.metadata["parent_"] = parent
