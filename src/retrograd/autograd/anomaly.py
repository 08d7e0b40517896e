"""Anomaly mode: a failing backward names its forward call, and NaN gradients are failures.

NOTE [Anomaly]
While the mode is on, every recorded node stores the Python stack and, if a backward pass recorded it, the node that was
running ("parent"). When a node fails, one warning shows its stack, followed by one for each of its parents.
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.graph import name_of
from retrograd.core.hooks import hooks
from retrograd.core.origin import STACKS
from retrograd.core.state import set_flag, tls

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.core.graph import Node

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled",
           "set_detect_anomaly"]

NO_FORWARD = "No forward pass information available. Enable detect anomaly during forward pass for more information."


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    >>> is_anomaly_enabled()
    False
    """
    return bool(tls.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, if it is on, treats NaN as a failure.

    >>> is_anomaly_check_nan_enabled()
    True
    """
    return bool(tls.check_nan)


class detect_anomaly:
    """Report the forward call of backward nodes that fail or produce NaN within this scope.

    >>> import retrograd as torch, warnings
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with detect_anomaly():
    ...         (x / x).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'DivBackward0' returned nan values in its 1th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = tls.anomaly
        self.check_nan = check_nan
        self.prev_check_nan = tls.check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
                      "debugging.", UserWarning, stacklevel=2)

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *args: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Switch anomaly mode immediately; a `with` block restores the previous setting.

    >>> with set_detect_anomaly(True): is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = tls.anomaly
        self.prev_check_nan = tls.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode.

    >>> set_anomaly_enabled(False)
    """
    set_flag("anomaly", mode)
    set_flag("origins", tls.origins | STACKS if mode else tls.origins & ~STACKS)
    tls.check_nan = check_nan


# ---- called by the engine
def run_checked(node: Node, grads: Sequence[Any], wanted: Sequence[Any] | None) -> list[Any]:
    """Run a node and raise for NaN gradients."""
    results = node._run_(grads, wanted)
    if tls.check_nan:
        for i, grad in enumerate(results):
            if grad is not None and has_nan(grad):
                raise RuntimeError(f"Function '{name_of(node)}' returned nan values in its {i}th output.")
    return results


def has_nan(grad: Tensor) -> bool:
    if hooks.settle is not None:
        hooks.settle(grad)
    array = grad.array
    if array.dtype.kind == "V":
        array = array.astype(np.float32)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def report(node: Node) -> None:
    """Warn about a node that failed, then about the nodes whose backward recorded it."""
    show(f"Error detected in {name_of(node)}. " + origin(node, "caused the error"))
    seen = {id(node)}
    parent = node.metadata.get("parent_")
    while parent is not None and id(parent) not in seen:
        seen.add(id(parent))
        show(f"\n\nPrevious calculation was induced by {name_of(parent)}. "
             + origin(parent, "induced the previous calculation"))
        parent = parent.metadata.get("parent_")


def origin(node: Node, deed: str) -> str:
    lines = node.metadata.get("traceback_")
    return NO_FORWARD if lines is None else f"Traceback of forward call that {deed}:\n" + "".join(lines)


def show(text: str) -> None:
    """Warn, or print where warnings are errors, so that the real error propagates."""
    try:
        warnings.warn(text, UserWarning, stacklevel=2)
    except UserWarning as warning:
        print(f"{type(warning).__name__}: {warning}", file=sys.stderr)


hooks.anomaly = run_checked
hooks.anomaly_report = report
