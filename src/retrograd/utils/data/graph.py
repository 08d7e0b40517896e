"""The graph of data pipes: which pipes a pipe takes its items from."""
from __future__ import annotations

import pickle
import types
import warnings
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

KINDS = (IterDataPipe, MapDataPipe)


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, Any]]:
    """A pipe by its id, together with the same for every pipe that it holds.

    >>> from retrograd.utils.data.datapipes.iter import IterableWrapper
    >>> pipe = IterableWrapper([1]).map(str)
    >>> [(found, list(inner.values())) for found, inner in traverse_dps(pipe).values()]
    [(MapperIterDataPipe, [(IterableWrapperIterDataPipe, {})])]
    """
    return traversed(datapipe, frozenset())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, tuple[Any, Any]]:
    """The older name of `traverse_dps`."""
    warnings.warn("`traverse` function is deprecated, please use `traverse_dps` instead.", FutureWarning, stacklevel=2)
    return traverse_dps(datapipe)


def traversed(pipe: Any, path: frozenset[int]) -> dict[int, tuple[Any, Any]]:
    if not isinstance(pipe, KINDS):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in path:
        return {}
    path |= {id(pipe)}
    inner: dict[int, tuple[Any, Any]] = {}
    for found in Held(pipe).pipes.values():
        inner.update(traversed(found, path))
    return {id(pipe): (pipe, inner)}


class Nowhere:
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        return len(data)


class Held(pickle.Pickler):
    """The pipes in the attributes of a pipe, through whatever containers and objects hold them, in the order of pickling."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(Nowhere(), protocol=4)
        self.pipes: dict[int, Any] = {}
        self.dump(vars(pipe))

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, KINDS):
            return None
        self.pipes[id(obj)] = obj
        return id(obj)

    def reducer_override(self, obj: Any) -> Any:
        if obj is str:
            return NotImplemented
        if isinstance(obj, (type, types.FunctionType, types.ModuleType, torch.Tensor, np.ndarray)):
            return str, ()
        try:
            return obj.__reduce_ex__(4)
        except Exception:           # objects that cannot be pickled are taken to hold no pipes
            return str, ()
