"""`functorch.compile`: graphs of functions and of their gradients, for compilers."""
from __future__ import annotations

from retrograd._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
    get_aot_compilation_context,
    get_aot_graph_name,
    get_graph_being_compiled,
    make_boxed_compiler,
    make_boxed_func,
)
from retrograd._functorch.compilers import (
    debug_compile,
    default_decompositions,
    draw_graph_compile,
    memory_efficient_fusion,
    nnc_jit,
    nop,
    print_compile,
    ts_compile,
)
from retrograd._functorch.config import settings as config
from retrograd._functorch.partitioners import default_partition, min_cut_rematerialization_partition

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module", "config",
           "debug_compile", "default_decompositions", "default_partition", "draw_graph_compile", "get_aot_compilation_context",
           "get_aot_graph_name", "get_graph_being_compiled", "make_boxed_compiler", "make_boxed_func",
           "memory_efficient_fusion", "min_cut_rematerialization_partition", "nnc_jit", "nop", "print_compile", "ts_compile"]
