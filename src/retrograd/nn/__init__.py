"""Neural networks: modules, their parameters, and the functions they are made of."""
from __future__ import annotations

from retrograd.nn import functional, init
from retrograd.nn.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from retrograd.nn.container import ModuleDict, ModuleList, Sequential
from retrograd.nn.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from retrograd.nn.linear import Bilinear, Flatten, Identity, Linear, Unflatten
from retrograd.nn.module import Module
from retrograd.nn.parameter import Buffer, Parameter
from retrograd.nn.parameter_container import ParameterDict, ParameterList
