"""DataParallel: a module on several devices, each with a part of the batch."""
from __future__ import annotations

from typing import Any

from retrograd.nn.modules.module import Module

NO_DEVICE = "Cannot access accelerator device when none is available."


class DataParallel(Module):
    """Runs a module on all accelerators; on a machine that has none, the module is called as it is.

    >>> from retrograd import nn, ones
    >>> model = nn.DataParallel(nn.ReLU())
    >>> model.device_ids
    []
    >>> model(-ones(2))
    tensor([0., 0.])
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: Any = None) -> Any:
    """`DataParallel(module)(inputs)` as a function; it needs an accelerator.

    >>> from retrograd import nn, ones
    >>> nn.parallel.data_parallel(nn.ReLU(), ones(1))
    Traceback (most recent call last):
        ...
    RuntimeError: device type could not be determined: data_parallel needs an accelerator, nn.DataParallel does not
    """
    raise RuntimeError("device type could not be determined: data_parallel needs an accelerator, nn.DataParallel does not")


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Call each module with its own inputs, each on its own accelerator.

    >>> from retrograd import nn, ones
    >>> nn.parallel.parallel_apply([nn.ReLU()], [ones(1)])
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    if kwargs_tup is not None and len(modules) != len(kwargs_tup):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of kwargs {len(kwargs_tup)}")
    if devices is not None and len(modules) != len(devices):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of devices {len(devices)}")
    raise RuntimeError(NO_DEVICE)


def replicate(network: Module, devices: Any, detach: bool = False) -> list[Module]:
    """Copies of a module for each device; without an accelerator only of modules that have no parameters or buffers.

    >>> from retrograd import nn
    >>> replicate(nn.ReLU(), [0, 1])
    [ReLU(), ReLU()]
    """
    if any([True for _ in network.parameters()]) or any([True for _ in network.buffers()]):
        raise AssertionError("Broadcast function not implemented for CPU tensors")
    return [copied(network) for _ in devices]


def copied(module: Module) -> Module:
    """A module with the attributes of another and copies of its children."""
    made = module.__new__(type(module))
    made.__dict__ = {name: value.copy() if isinstance(value, dict) else value for name, value in module.__dict__.items()}
    for name, child in module._modules.items():
        made._modules[name] = None if child is None else copied(child)
    return made
