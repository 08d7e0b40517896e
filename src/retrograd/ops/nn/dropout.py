"""Dropout of elements and features, and alpha dropout."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import generator, lean
from retrograd.core.dtypes import BY_NUMPY, get_default_dtype, is_inexact_type
from retrograd.core.opdef import defop
from retrograd.core.state import tls
from retrograd.ops import late
from retrograd.ops.create.generators import default_generator
from retrograd.ops.shared import families


def dropped(input: Any, p: float, train: bool, inplace: bool, feature: bool = False, alpha: bool = False) -> Any:
    """`input` with random elements (or features) set to zero, the rest scaled so that the mean stays."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input.array.size == 0:
        return input
    if p == 1:
        zero = late.zeros((), dtype=input.dtype, device=input.device)
        return input.mul_(zero) if inplace else input * zero
    shape = input.array.shape
    if feature:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        noise = late.empty((*shape[:2], *[1] * (len(shape) - 2)), dtype=input.dtype, device=input.device)
    elif tls.transforms:
        noise = late.empty(shape, dtype=input.dtype, device=input.device)
    else:
        noise = late.empty_like(input)
    # Not in place under vmap: each example may need its own draw, but unbatched new memory is shared.
    noise = late.bernoulli(noise, 1 - p) if tls.transforms else noise.bernoulli_(1 - p)
    if not alpha:
        noise.div_(1 - p)
        return input.mul_(noise) if inplace else input * noise
    slope = 1.7580993408473766
    scale = 1 / math.sqrt((slope * slope * p + 1) * (1 - p))
    shift = (noise + -1).mul_(slope * scale).add_(slope * scale * p)
    noise.mul_(scale)
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


for name, feature, alpha in (("dropout", False, False), ("feature_dropout", True, False), ("alpha_dropout", False, True),
                             ("feature_alpha_dropout", True, True)):
    defop(f"{name}(Tensor input, float p, bool train) -> Tensor",
          kernel=lambda input, p, train, feature=feature, alpha=alpha: dropped(input, p, train, False, feature, alpha),
          composite=True, variants="function", out=False, traits=("random",),
          onnx=None if feature or alpha else "Identity")
    defop(f"{name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
          kernel=lambda self, p, train, feature=feature, alpha=alpha: dropped(self, p, train, True, feature, alpha),
          composite=True, variants="function", out=False, traits=("random",))


def native_dropout_kernel(xp: Any, input: Any, p: float, train: bool | None) -> Any:
    if train is False or input.size == 0:
        return input.copy(), lean.ones(input.shape, np.bool_)
    if not is_inexact_type(input.dtype):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {BY_NUMPY[input.dtype].legacy}")
    mask = generator.bernoulli(default_generator, input.shape, 1 - p, np.bool_)
    return input * mask.astype(input.dtype) * input.dtype.type(scale_of(p, train)), mask


def scale_of(p: float, train: bool | None) -> float:
    return 1.0 if train is False else 0.0 if p == 1 else 1.0 / (1.0 - p)


def native_dropout_backward_kernel(xp: Any, grad_output: Any, mask: Any, scale: float) -> Any:
    if not is_inexact_type(grad_output.dtype):
        grad_output = grad_output.astype(get_default_dtype().numpy)
    return grad_output * mask.astype(grad_output.dtype) * grad_output.dtype.type(scale)


native_dropout = defop(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    kernel=native_dropout_kernel,
    vjp=dict(input=lambda grad, result1, p, train: grad * result1 * scale_of(p, train)),
    jvp=lambda input_t, result1, p, train: (input_t * result1 * scale_of(p, train), late.zeros_like(result1)),
    batch=families.loop, variants="function", out=False, real_only=True, traits=("random",), pattern="elements", nested="parts",
)
native_dropout_backward = defop(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    kernel=native_dropout_backward_kernel, vjp=dict(grad_output=lambda grad, mask, scale: grad * mask * scale),
    jvp="linear", batch=families.pointwise, variants="", out=False, real_only=True,
    out_form="out",
)
