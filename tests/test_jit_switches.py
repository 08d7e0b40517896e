"""The switches of TorchScript keep what they are set to, under the names of the compiled extension."""
from __future__ import annotations

from retrograd.jit import _switches as switches
from tests.test_as_torch import run_installed


def test_a_switch_keeps_its_state():
    before = switches.can_fuse_on_cpu()
    switches.override_fuse_on_cpu(not before)
    assert switches.can_fuse_on_cpu() is not before
    switches.override_fuse_on_cpu(before)
    assert switches.can_fuse_on_cpu() is before


def test_an_exchange_returns_the_state_before():
    assert switches.set_profiling_executor(False) is True
    assert switches.set_profiling_executor(True) is False
    assert switches.graph_executor_optimize() is True


def test_execution_without_optimization_ends_with_its_scope():
    with switches.optimized_execution(False):
        assert switches.graph_executor_optimize() is False
    assert switches.graph_executor_optimize() is True


def test_emit_hooks_are_off_inside_of_the_scope():
    switches.set_emit_hooks(len, abs)
    try:
        with switches.disable_emit_hooks():
            assert switches.get_emit_hooks() == (None, None)
        assert switches.get_emit_hooks() == (len, abs)
    finally:
        switches.set_emit_hooks(None, None)


def test_modules_of_torchscript_are_found_under_their_names():
    run_installed("import torch, torch.jit._logging, torch.jit.quantized\n"
                  "from torch.jit.frontend import NotSupportedError, FrontendError\n"
                  "assert issubclass(NotSupportedError, FrontendError)\n"
                  "assert torch._C._get_graph_executor_optimize(True) is True\n"
                  "torch._C._jit_set_emit_hooks(None, None)\n"
                  "torch._C._jit_clear_class_registry()\n"
                  "torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()\n"
                  "torch.jit._state._clear_class_state()\n"
                  "with torch._jit_internal._disable_emit_hooks(), torch.jit.optimized_execution(False): pass")
