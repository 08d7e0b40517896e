"""Makes one batch out of a list of samples: numbers and arrays become tensors, containers keep their structure."""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import retrograd as torch

default_collate_err_msg_format = ("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
                                  "found {}")
NOT_EQUAL = "each element in list of batch should be of equal size"


def default_convert(data: Any) -> Any:
    """`data` with NumPy arrays and numbers as tensors, its containers kept; what a loader without batches does.

    >>> default_convert({"a": np.array([1, 2])}), default_convert("text"), default_convert(1)
    ({'a': tensor([1, 2])}, 'text', 1)
    """
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        is_text = isinstance(data, np.ndarray) and data.dtype.kind in "SUO"
        return data if is_text or isinstance(data, (str, bytes)) else torch.as_tensor(data)
    if isinstance(data, Mapping):
        return filled(data, {key: default_convert(value) for key, value in data.items()})
    if is_namedtuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return filled(data, [default_convert(value) for value in data])
    return data


def is_namedtuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def filled(like: Any, values: Any) -> Any:
    """`values` in a container like `like`: a copy of it where it can be changed, which keeps its other attributes."""
    made: Any
    try:
        if isinstance(like, MutableMapping):
            made = copy.copy(like)
            made.update(values)
            return made
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for i, value in enumerate(values):
                made[i] = value
            return made
        return type(like)(values)
    except TypeError:       # it takes no assignments, or other arguments
        return values


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """A batch by the functions of `collate_fn_map`, by the type of the samples; containers are collated part by part.

    >>> collate([(1, "a"), (2, "b")], collate_fn_map={int: lambda batch, **_: sum(batch), str: lambda batch, **_: batch[0]})
    [3, 'a']
    """
    first = batch[0]
    kind = type(first)
    for key, function in (collate_fn_map or {}).items():
        if kind is key:
            return function(batch, collate_fn_map=collate_fn_map)
    for key, function in (collate_fn_map or {}).items():
        if isinstance(first, key):
            return function(batch, collate_fn_map=collate_fn_map)

    def together(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return filled(first, {key: together([sample[key] for sample in batch]) for key in first})
    if is_namedtuple(first):
        return kind(*(together(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(NOT_EQUAL)
        columns = [together(samples) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else filled(first, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    if first.is_nested or first.layout is not torch.strided:
        kind = "nested" if first.is_nested else "sparse"
        raise RuntimeError(f"Batches of {kind} tensors are not currently supported by the default collate_fn; please provide a "
                           "custom collate_fn to handle them appropriately.")
    return torch.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    if first.dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    return collate([torch.as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return torch.as_tensor(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return torch.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    torch.Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn, float: collate_float_fn, int: collate_int_fn,
    str: collate_str_fn, bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch of samples that are tensors, arrays, numbers, texts, or containers of these.

    >>> default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
