"""Batch norm folded into the layer before it, for inference."""
from __future__ import annotations

import copy
from typing import Any

import retrograd as torch
from retrograd.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def check_fusible(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what `conv` and then `bn` do.

    >>> import retrograd as torch
    >>> conv, bn = torch.nn.Conv1d(1, 2, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> x = torch.ones(1, 1, 3)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
    True
    """
    check_fusible(conv, bn)
    made = copy.deepcopy(conv)
    made.weight, made.bias = fuse_conv_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                  bn.bias, transpose)
    return made


def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
                         transpose: bool = False) -> tuple[Any, Any]:
    """Weight and bias of the convolution that does what a convolution and a batch norm do.

    >>> import retrograd as torch
    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 2), None, torch.tensor([3.0]), torch.tensor([4.0]),
    ...                                                    0.0, None, None)
    >>> weight.detach(), bias.detach()
    (tensor([[[0.5000, 0.5000]]]), tensor([-1.5000]))
    """
    weight_type, bias_type = conv_w.dtype, conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = torch.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = torch.zeros_like(bn_rm) if bn_b is None else bn_b
    spread = torch.rsqrt(bn_rv + bn_eps)
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (len(conv_w.shape) - 2)
    weight = (conv_w * (bn_w * spread).reshape(shape)).to(dtype=weight_type)
    bias = ((conv_b - bn_rm) * spread * bn_w + bn_b).to(dtype=bias_type)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A Linear that does what `linear` and then `bn` do.

    >>> import retrograd as torch
    >>> linear, bn = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> x = torch.ones(4, 3)
    >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))
    True
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
                             f"{linear.out_features} and bn.num_features={bn.num_features}")
    check_fusible(linear, bn)
    made = copy.deepcopy(linear)
    made.weight, made.bias = fuse_linear_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                    bn.bias)
    return made


def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any,
                           bn_b: Any) -> tuple[Any, Any]:
    """Weight and bias of the Linear that does what a Linear and a batch norm do.

    >>> import retrograd as torch
    >>> one = torch.ones(1)
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), None, one * 3, one * 4, 0.0, one, one)
    >>> weight.detach(), bias.detach()
    (tensor([[0.5000, 0.5000]]), tensor([-0.5000]))
    """
    weight_type, bias_type = linear_w.dtype, linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=weight_type)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_type)
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, linear_b.requires_grad)
