"""Linear maps: Identity, Linear, Bilinear, LazyLinear."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.nn import functional, init
from retrograd.nn.modules.lazy import LazyModuleMixin
from retrograd.nn.modules.module import Module
from retrograd.nn.parameter import Parameter, UninitializedParameter


class Identity(Module):
    """Gives back its input; takes any arguments.

    >>> import retrograd as torch
    >>> torch.nn.Identity()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """y = x A' + b.

    >>> from retrograd import manual_seed, nn, ones
    >>> _ = manual_seed(0)
    >>> nn.Linear(3, 2)(ones(1, 3))
    tensor([[-0.1812, -0.0347]], grad_fn=<AddmmBackward0>)
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Any
    bias: Any

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        own = self._parameters            # where `__getattr__` looks, after a search that takes longer than the whole call
        if "weight" in own and "bias" in own and type(self).__getattr__ is Module.__getattr__:
            return functional.linear(input, own["weight"], own["bias"])
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of attention, under the name that PyTorch shows."""


class Bilinear(Module):
    """y = x1' A x2 + b.

    >>> import retrograd as torch
    >>> layer = torch.nn.Bilinear(2, 3, 4)
    >>> layer(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(torch.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the last size of its first input.

    >>> import retrograd as torch
    >>> torch.nn.LazyLinear(4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:  # type: ignore[override]
        """Take in_features from the input."""
        found = input.shape[-1]
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.in_features = found
                self.weight.materialize((self.out_features, found))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if found != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {found} is not equal to in_features from "
                                     f"self.weight: {self.weight.shape[-1]}")
            self.in_features = found
