"""`torch.nn.functional`: the layers as functions of their inputs and weights."""
from __future__ import annotations

import retrograd as torch
from retrograd.nn.functions.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from retrograd.nn.functions.base import aten
from retrograd.nn.functions.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)

linear, one_hot, pad = aten("linear"), aten("one_hot"), aten("pad")
bilinear = torch.bilinear

__all__ = [
    "alpha_dropout", "bilinear", "celu", "celu_", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_",
    "feature_alpha_dropout", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
    "leaky_relu", "leaky_relu_", "linear", "log_softmax", "logsigmoid", "mish", "one_hot", "pad", "prelu", "relu", "relu6",
    "relu_", "rrelu", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_",
]
