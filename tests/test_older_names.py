"""Names that programs use rarely: tensors on files, sparse types, kernels of attention, settings of factories."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as torch


def test_tensor_on_a_file_writes_through_when_shared(tmp_path: Path) -> None:
    path = tmp_path / "values"
    np.arange(4, dtype=np.float64).tofile(path)
    private = torch.from_file(path, size=4, dtype=torch.float64)
    private[0] = 9
    assert np.fromfile(path)[0] == 0
    torch.from_file(str(path), shared=True, size=4, dtype=torch.float64)[1] = 5
    assert np.fromfile(path).tolist() == [0, 5, 2, 3]
    with pytest.raises(RuntimeError, match="smaller than the required mapping size"):
        torch.from_file(path, size=400)


def test_sparse_types_make_and_know_sparse_tensors() -> None:
    indices = torch.tensor([[0, 1], [1, 0]])
    made = torch.sparse.FloatTensor(indices, torch.tensor([1.0, 2.0]), torch.Size([2, 2]))
    assert made.to_dense().tolist() == [[0.0, 1.0], [2.0, 0.0]]
    assert isinstance(made, torch.sparse.FloatTensor) and not isinstance(made, torch.sparse.LongTensor)
    assert not isinstance(torch.ones(2), torch.sparse.FloatTensor)
    assert torch.sparse.LongTensor(2, 3).shape == (2, 3)


def test_no_tensor_is_of_a_type_of_another_device() -> None:
    assert not isinstance(torch.ones(1), torch.cuda.HalfTensor)
    with pytest.raises(TypeError, match="type torch.cuda.FloatTensor not available"):
        torch.cuda.FloatTensor([1.0])


def test_kernels_of_attention_are_allowed_inside_a_block() -> None:
    cuda = torch.backends.cuda
    with pytest.warns(FutureWarning, match="sdp_kernel"), cuda.sdp_kernel(enable_flash=False, enable_mem_efficient=False):
        assert [cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled()] == [False, True, False]
    assert cuda.flash_sdp_enabled() and cuda.mem_efficient_sdp_enabled()
    cuda.enable_math_sdp(False)
    assert not cuda.math_sdp_enabled()
    cuda.enable_math_sdp(True)
    assert cuda.math_sdp_enabled()


def test_arguments_of_factories_are_sorted_out() -> None:
    assert torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}}) == {
        "device": "cpu", "dtype": torch.float64}
    with pytest.raises(TypeError, match="dtype specified twice"):
        torch.nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}})
    with pytest.raises(TypeError, match="unexpected kwargs"):
        torch.nn.factory_kwargs({"size": 1})


def test_types_of_compiled_code_are_written_and_compared() -> None:
    number = torch.IntType.get()
    types = [torch.ListType(number), torch.DictType(torch.StringType.get(), number), torch.TupleType([number, number]),
             torch.OptionalType(number), torch.UnionType([number, torch.TensorType.get()])]
    assert [str(kind) for kind in types] == ["List[int]", "Dict[str, int]", "Tuple[int, int]", "Optional[int]",
                                             "Union[Tensor, int]"]
    assert torch.ListType(number) == torch.ListType.ofInts() != torch.ListType.ofFloats()
    assert number.isSubtypeOf(torch.OptionalType(number)) and number.isSubtypeOf(torch.AnyType.get())
    assert not number.isSubtypeOf(torch.StringType.get())
    assert torch.TensorType.get().kind() == "TensorType"


def test_quantization_is_found_without_an_import_of_its_own() -> None:
    program = "import retrograd as torch; print(torch.ao.quantization.QuantStub.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "QuantStub"


def test_python_types_of_numbers_name_dtypes() -> None:
    assert torch.finfo(float).bits == torch.iinfo(int).bits == 64 and torch.finfo(complex).dtype == "float64"
    assert torch.promote_types(float, torch.float32) is torch.float64 and not torch.can_cast(float, int)
    assert torch.nn.Linear(1, 1).to(float).weight.dtype is torch.nn.Linear(1, 1).to("cpu", float).bias.dtype is torch.float64
    for function in (torch.finfo, torch.iinfo):
        with pytest.raises(TypeError, match=r"argument 'type' \(position 1\) must be torch.dtype, not type"):
            function(str)
    with pytest.raises(TypeError, match="to\\(\\) received an invalid combination"):
        torch.nn.Linear(1, 1).to([1])
