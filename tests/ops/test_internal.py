"""Internal names of ops, and ops of backends that are not here."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from tests.test_as_torch import run_installed


class Anything:
    """An argument that takes over every function."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
        return str(func.__name__)


def test_functions_of_other_backends_refuse_tensors_and_ask_overriding_arguments():
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::quantize_per_tensor' with arguments from the 'CPU'"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    with pytest.raises(NotImplementedError, match="aten::q_scale"):
        torch.ones(2).q_scale()
    assert torch.q_scale(Anything()) == "q_scale" and torch.batch_norm_stats(Anything(), 0.1) == "batch_norm_stats"


def test_float_tensors_are_dequantized_to_themselves():
    assert torch.ones(2, dtype=torch.float64).dequantize().dtype == torch.float32
    assert [t.tolist() for t in torch.dequantize([torch.ones(1), torch.zeros(1)])] == [[1.0], [0.0]]


def test_ranges_of_sizes_are_checked():
    assert torch.sym_constrain_range(3, min=2, max=4) is None
    with pytest.raises(RuntimeError, match=r"Invalid value range for 7 between \[2, 4\]"):
        torch.sym_constrain_range(7, min=2, max=4)
    with pytest.raises(ValueError, match="must be greater than 2"):
        torch.sym_constrain_range_for_size(1, min=0, max=2)


def test_second_names_compute_what_the_first_do():
    x = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])
    assert torch._add_relu(x, x).tolist() == [[0, 4], [6, 0]]
    assert torch.equal(torch._logcumsumexp(x, 1), x.logcumsumexp(1)) and torch.native_norm(x).item() == x.norm().item()
    assert torch._lu_with_info(x)[2].item() == 0 and not torch.cudnn_is_acceptable(x)
    mean, var = torch.zeros(2), torch.ones(2)
    assert torch.allclose(torch.ops.aten._native_batch_norm_legit_no_training(x, None, None, mean, var, 0.1, 0.0)[0], x)


def test_errors_of_factorizations_name_the_batch_element():
    torch._linalg_check_errors(torch.tensor([0, 0]), "linalg.inv", is_matrix=False)
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"):
        torch._linalg_check_errors(torch.tensor([0, 2]), "linalg.inv", is_matrix=False)


def test_functions_of_the_c_module_are_named():
    run_installed("import torch\n"
                  "functions = torch._C._VariableFunctions\n"
                  "for name in ('_make_dual', '_pin_memory', 'quantized_max_pool2d', '__and__', '_mkldnn_reshape'):\n"
                  "    assert callable(getattr(functions, name)), name\n"
                  "import torch._custom_ops\n"
                  "assert torch._custom_ops.get_ctx is torch.library.get_ctx\n"
                  "assert callable(torch._C._nn.pad_sequence) and callable(torch._C._linalg._linalg_eigvals)\n"
                  "x = torch.ones(2)\n"
                  "with torch.autograd.forward_ad.dual_level():\n"
                  "    assert torch._unpack_dual(torch._make_dual(x, x, level=0), level=0).tangent.equal(x)\n"
                  "overridable = {f for group in torch.overrides.get_overridable_functions().values() for f in group}\n"
                  "assert torch.quantize_per_tensor in overridable and torch.Tensor.int_repr in overridable")
