"""Arguments for several devices, and results from them: tensors would be cut and moved, all else is shared out as it is."""
from __future__ import annotations

from typing import Any

from retrograd import Tensor, device


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """The parts of `inputs` for each device; structures are taken apart, what is no tensor goes to all of them.

    >>> scatter({"mode": "fast"}, [0, 1])
    [{'mode': 'fast'}, {'mode': 'fast'}]
    """
    if isinstance(inputs, Tensor):
        raise AssertionError(f"Scatter function not implemented for CPU tensors: there is no device {target_gpus[0]} to move "
                             "a part to")
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return [type(inputs)(*parts) for parts in zip(*[scatter(item, target_gpus, dim) for item in inputs], strict=True)]
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*[scatter(item, target_gpus, dim) for item in inputs], strict=True))
    if isinstance(inputs, list) and inputs:
        return [list(parts) for parts in zip(*[scatter(item, target_gpus, dim) for item in inputs], strict=True)]
    if isinstance(inputs, dict) and inputs:
        items = [scatter(item, target_gpus, dim) for item in inputs.items()]
        return [type(inputs)(parts) for parts in zip(*items, strict=True)]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0) -> Any:
    """`scatter` for the positional and the keyword arguments of a call, as many of the one as of the other.

    >>> scatter_kwargs((1,), {}, [0, 1])
    (((1,), (1,)), ({}, {}))
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    keyword = scatter(kwargs, target_gpus, dim) if kwargs else []
    positional += [() for _ in range(len(keyword) - len(positional))]
    keyword += [{} for _ in range(len(positional) - len(keyword))]
    return tuple(positional), tuple(keyword)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """One result out of those of several devices.

    >>> from retrograd import nn
    >>> nn.parallel.gather([{"loss": None}, {"loss": None}], "cpu")
    {'loss': None}
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        if all([out.device == device("cpu") for out in outputs]):
            raise AssertionError("Gather function not implemented for CPU tensors")
    if first is None:
        return None
    if isinstance(first, dict):
        if not all([len(out) == len(first) for out in outputs]):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([out[key] for out in outputs], target_device, dim)) for key in first)
    return type(first)(map(lambda *parts: gather(parts, target_device, dim), *outputs))
