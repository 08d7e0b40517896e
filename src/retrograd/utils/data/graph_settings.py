"""Settings of all data pipes of a graph: shuffling, seeds, and the share of one of several processes."""
from __future__ import annotations

import inspect
import warnings
from typing import Any

import retrograd as torch
from retrograd.utils.data.graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: dict[int, tuple[Any, Any]]) -> list[Any]:
    """The pipes of what `traverse_dps` finds, each once.

    >>> from retrograd.utils.data.datapipes.iter import IterableWrapper
    >>> get_all_graph_pipes(traverse_dps(IterableWrapper([1]).map(str)))
    [MapperIterDataPipe, IterableWrapperIterDataPipe]
    """
    found: dict[int, Any] = {}
    collect(graph, found)
    return list(found.values())


def collect(graph: dict[int, tuple[Any, Any]], found: dict[int, Any]) -> None:
    for key, (pipe, inner) in graph.items():
        if key not in found:
            found[key] = pipe
            collect(inner, found)


def has_methods(pipe: Any, *names: str) -> bool:
    return all([inspect.ismethod(getattr(pipe, name, None)) for name in names])


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Tell the pipes that share their items with other processes which process this is.

    >>> from retrograd.utils.data.datapipes.iter import IterableWrapper
    >>> list(apply_sharding(IterableWrapper(range(5)).sharding_filter(), 2, 1))
    [1, 3]
    """
    share(traverse_dps(datapipe), None, (num_of_instances, instance_id))
    return datapipe


def share(graph: dict[int, tuple[Any, Any]], before: Any, shares: tuple[int, int]) -> None:
    for pipe, inner in graph.values():
        found = before
        if has_methods(pipe, "apply_sharding"):
            if before is not None:
                raise RuntimeError("Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                                   f"Sharding already applied to {before} while trying to apply to {pipe}")
            pipe.apply_sharding(*shares)
            found = pipe
        share(inner, found, shares)


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch all shuffling on or off; with none to switch on, a `Shuffler` comes last."""
    if shuffle is None:
        return datapipe
    pipes = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if has_methods(pipe, "set_shuffle", "set_seed")]
    if shuffle and not pipes:
        warnings.warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware "
                      "that the default buffer size might not be sufficient for your task.", stacklevel=3)
        datapipe = datapipe.shuffle()
        pipes = [datapipe]
    for pipe in pipes:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give every pipe that draws random numbers a seed drawn from `rng`."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if has_methods(pipe, "set_seed"):
            pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The older name of `apply_random_seed`."""
    warnings.warn("`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases.\nPlease use "
                  "`apply_random_seed` instead.", FutureWarning, stacklevel=2)
    return apply_random_seed(datapipe, rng)
