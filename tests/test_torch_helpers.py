"""Private helpers of optimizers, graphs and the inference of schemas, under the names that PyTorch has for them."""
from __future__ import annotations

import operator
from importlib import import_module

import pytest

import retrograd as torch
from retrograd import _torch_helpers as helpers
from tests.test_as_torch import run_installed


def test_hooks_of_all_modules_are_seen():
    assert not helpers.has_hooks_of_all_modules()
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *args: None)
    assert helpers.has_hooks_of_all_modules() and len(helpers.FORWARD_HOOKS) == 1
    handle.remove()
    assert not helpers.has_hooks_of_all_modules()


def test_helpers_of_optimizers():
    assert helpers.number_of(torch.tensor(2.0)) == helpers.number_of(2.0) == 2.0
    assert helpers.square_root(9) == 3.0 and helpers.square_root(torch.tensor(9.0)).item() == 3.0
    params, states = [[torch.ones(2, dtype=torch.complex64), torch.ones(2)] for _ in range(2)]
    helpers.as_real(params, states)
    assert [t.shape for t in params + states] == [(2, 2), (2,), (2, 2), (2,)]
    assert helpers.dtype_of_steps() == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert helpers.dtype_of_steps() == torch.float64 and helpers.dtype_of_steps(is_fused=True) == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_hyperparameters_that_are_tensors_are_filled():
    lr = torch.tensor(0.1)
    group = {"lr": lr, "momentum": 0.5}
    helpers.set_hyperparameter(group, "lr", torch.tensor(0.25))
    helpers.set_hyperparameter(group, "momentum", 0.75)
    assert group["lr"] is lr and lr.item() == 0.25 and group["momentum"] == 0.75


@pytest.mark.parametrize("given, made", [
    (tuple, list), (tuple[int], list[int]), (tuple[str, ...], list[str]), (tuple[int, str], list[int | str])])
def test_lists_of_what_tuples_hold(given: type, made: type):
    assert helpers.list_of(given) == made


def test_operators_of_graphs_are_listed_with_their_forms():
    for name, form in {**helpers.MAGIC_METHODS, **helpers.IN_PLACE_METHODS}.items():
        assert name == "div" or hasattr(operator, name), name
        assert form.count("{}") in (1, 2)
    assert set(helpers.REFLECTABLE_METHODS) < set(helpers.MAGIC_METHODS)


def test_attributes_of_modules_by_dotted_names():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    assert helpers.has_attribute(model, "0.weight") and not helpers.has_attribute(model, "1.weight")
    helpers.delete_attribute(model, "0.weight")
    assert not helpers.has_attribute(model, "0.weight")


def test_names_are_found_where_pytorch_has_them():
    run_installed("import torch\n"
                  "from torch.nn.modules.module import _has_any_global_hook, _global_forward_hooks\n"
                  "from torch.optim.optimizer import _get_value, _get_scalar_dtype\n"
                  "from torch.optim.lr_scheduler import _enable_get_lr_call, StepLR\n"
                  "sched = StepLR(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0), 1)\n"
                  "with _enable_get_lr_call(sched): assert sched.get_lr() == [1.0]\n"
                  "from torch._library.infer_schema import tuple_to_list\n"
                  "from torch.fx.graph import magic_methods, inplace_methods, dtype_abbrs\n"
                  "from torch.fx.proxy import Scope, ScopeContextManager\n"
                  "from torch.masked.maskedtensor.reductions import REDUCE_NAMES\n"
                  "from torch.masked.maskedtensor.unary import UNARY_NAMES\n"
                  "from torch.masked.maskedtensor.binary import BINARY_NAMES\n"
                  "assert 'sum' in REDUCE_NAMES and 'sin' in UNARY_NAMES and 'add' in BINARY_NAMES\n"
                  "from torch._custom_op.impl import custom_op, infer_schema\n"
                  "assert torch._C._SDPBackend is torch.nn.attention.SDPBackend")


def test_names_that_packages_import_are_found():
    run_installed("import torch\n"
                  "from torch.nn.modules.conv import _ConvNd, _ConvTransposeMixin\n"
                  "from torch.nn.parallel.replicate import replicate\n"
                  "from torch.nn.parallel.parallel_apply import get_a_var, parallel_apply\n"
                  "assert torch.nn.parallel.replicate is replicate and torch.nn.parallel.parallel_apply is parallel_apply\n"
                  "x = torch.ones(1)\n"
                  "assert get_a_var({'a': [1, (x,)]}) is x and get_a_var([2]) is None\n"
                  "from torch._utils import _take_tensors\n"
                  "taken = _take_tensors([torch.ones(3), torch.ones(2), x.double(), x], 16)\n"
                  "assert [[len(t) for t in some] for some in taken] == [[3], [2, 1], [1]]\n"
                  "from torch._compile import _disable_dynamo\n"
                  "from torch.cuda._utils import _get_device_index\n"
                  "from torch.utils.data.datapipes.iter.combinatorics import ShufflerIterDataPipe\n"
                  "from torch.quantization.observer import MinMaxObserver\n"
                  "import torch.quantization.qconfig\n"
                  "assert torch.quantization.qconfig.QConfig is torch.ao.quantization.QConfig")


@pytest.mark.parametrize("module, name", [
    ("utils._pytree", "treespec_dumps"), ("utils._pytree", "is_namedtuple"), ("functional", "einsum"),
    ("functional", "broadcast_tensors"), ("library", "get_ctx"), ("jit", "ScriptModule"), ("jit", "CompilationUnit")])
def test_names_are_part_of_star_imports(module: str, name: str):
    assert name in import_module(f"retrograd.{module}").__all__
