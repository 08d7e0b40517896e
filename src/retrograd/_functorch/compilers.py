"""Compilers for aot_function that run graphs as they are, print them, or save less between forward and backward."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import nn, ops
from retrograd._decomp import get_decompositions
from retrograd._functorch.aot_autograd import aot_function, aot_module, make_boxed_compiler
from retrograd._functorch.partitioners import min_cut_rematerialization_partition
from retrograd.fx import GraphModule

__all__ = ["debug_compile", "default_decompositions", "draw_graph_compile", "memory_efficient_fusion", "nnc_jit", "nop",
           "print_compile", "ts_compile"]

default_decompositions = get_decompositions([getattr(ops.aten, name) for name in (
    "gelu_backward", "leaky_relu_backward", "sigmoid_backward", "threshold_backward", "hardtanh_backward",
    "hardsigmoid_backward", "hardswish_backward", "tanh_backward", "silu_backward", "elu_backward", "masked_fill", "elu",
    "leaky_relu", "hardtanh", "hardswish", "hardsigmoid", "conj_physical")])


@make_boxed_compiler
def nop(fx_g: GraphModule, _: Any) -> Callable[..., Any]:
    """The graph as it is.

    >>> import retrograd as torch
    >>> aot_function(lambda x: x + 1, nop)(torch.ones(2))
    tensor([2., 2.])
    """
    return fx_g


@make_boxed_compiler
def ts_compile(fx_g: GraphModule, inps: Any) -> Callable[..., Any]:
    """The graph as a script, which runs as it is.

    >>> import retrograd as torch
    >>> aot_function(lambda x: x + 1, ts_compile)(torch.ones(2))
    tensor([2., 2.])
    """
    return fx_g


def nnc_jit(f: Any) -> Any:
    """A function whose graphs are scripts."""
    return aot_function(f, ts_compile)


def draw_graph_compile(name: str, clear_meta: bool = True) -> Callable[..., Any]:
    """A compiler that draws graphs to files."""
    raise RuntimeError("FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                       "Python package manager. retrograd does not draw graphs: print(graph_module.code) shows one.")


@make_boxed_compiler
def print_compile(fx_g: GraphModule, _: Any) -> Callable[..., Any]:
    """The graph as it is, printed.

    >>> import retrograd as torch
    >>> aot_function(lambda x: x + 1, print_compile)(torch.ones(2))     # doctest: +ELLIPSIS
    <BLANKLINE>
    ...
    tensor([2., 2.])
    """
    print(fx_g.code)
    return fx_g


@make_boxed_compiler
def debug_compile(fx_g: GraphModule, inps: Any) -> Callable[..., Any]:
    """The graph as it is, printed with the shapes of its inputs."""
    print(f"{fx_g.code}\ninputs: {[tuple(t.shape) for t in inps]}")
    return fx_g


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """A function or module whose backward computes again what is cheap, instead of saving it.

    >>> import retrograd as torch
    >>> x = torch.zeros(2, requires_grad=True)
    >>> memory_efficient_fusion(lambda x: x.sin().cos().exp())(x).sum().backward()
    >>> x.grad
    tensor([-0., -0.])
    """
    config = {"fw_compiler": nop, "bw_compiler": nop, "partition_fn": min_cut_rematerialization_partition, **kwargs}
    return aot_module(fn, **config) if isinstance(fn, nn.Module) else aot_function(fn, **config)
