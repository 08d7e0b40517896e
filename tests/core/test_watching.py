"""What subclasses see of attributes, plain methods and special methods, also when these are called by way of Tensor."""
from __future__ import annotations

import operator
from typing import Any

import pytest

import retrograd as torch
from retrograd import Tensor
from retrograd.overrides import TorchFunctionMode, resolve_name

METHODS = """item detach size stride storage_offset data_ptr numel is_contiguous dim is_floating_point is_complex backward
    requires_grad_ numpy tolist nelement ndimension _is_view is_signed is_inference is_conj is_neg get_device element_size
    retain_grad untyped_storage __int__ __float__ __complex__ __index__ __len__ __bool__ __repr__ __array__ __reversed__
    __dlpack_device__ __nonzero__ __long__""".split()
ATTRIBUTES = """shape ndim dtype device grad_fn is_leaf output_nr _version grad data requires_grad T H mT mH real imag layout
    is_sparse is_nested is_cuda is_meta itemsize nbytes name _base retains_grad _cdata __cuda_array_interface__""".split()


def recorder() -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    class Recorder(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return "taken over"
    return torch.tensor([3.0]).as_subclass(Recorder), seen


@pytest.mark.parametrize("name", METHODS)
def test_methods_called_by_way_of_tensor_are_seen(name: str) -> None:
    x, seen = recorder()
    method = getattr(Tensor, name)
    assert method(x) == "taken over"
    assert seen == [method] and method.__name__ == name


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_seen_as_reads_and_by_their_descriptors(name: str) -> None:
    x, seen = recorder()
    read = getattr(Tensor, name).__get__
    assert getattr(x, name) == "taken over" and read(x) == "taken over"
    assert seen == [read, read]
    assert resolve_name(read) == f"torch.Tensor.{name}.__get__"
    assert read.__self__.__qualname__.removeprefix("TensorBase.").removeprefix("Tensor.") == name


def test_writes_of_attributes_are_seen() -> None:
    x, seen = recorder()
    x.requires_grad = True
    x.grad = torch.ones(1)
    assert [resolve_name(f) for f in seen] == ["torch.Tensor.requires_grad.__set__", "torch.Tensor.grad.__set__"]
    with torch.overrides.DisableTorchFunctionSubclass():
        assert not x.requires_grad and x.grad is None


SPECIAL = [
    (lambda x: x[0], "__getitem__"), (lambda x: operator.setitem(x, 0, 1), "__setitem__"), (lambda x: 1 - x, "__rsub__"),
    (lambda x: 1 // x, "__rfloordiv__"), (lambda x: x // 2, "__floordiv__"), (lambda x: x ** 2, "__pow__"),
    (lambda x: 2 ** x, "__rpow__"), (lambda x: x % 2, "remainder"), (lambda x: x != 1, "ne"), (lambda x: x == 1, "__eq__"),
    (lambda x: x < 1, "lt"), (lambda x: x & 1, "__and__"), (lambda x: ~x, "__invert__"), (lambda x: abs(x), "abs"),
    (lambda x: +x, "positive"), (lambda x: -x, "neg"), (lambda x: x @ x, "matmul"), (lambda x: operator.iadd(x, 1), "add_"),
    (lambda x: operator.ipow(x, 2), "__ipow__"), (lambda x: x << 1, "__lshift__"), (lambda x: torch.ones(1) ** x, "__pow__"),
]


@pytest.mark.parametrize(("use", "name"), SPECIAL, ids=[name for _, name in SPECIAL])
def test_special_methods_are_seen_under_the_names_that_pytorch_has(use: Any, name: str) -> None:
    x, seen = recorder()
    use(x)
    assert [resolve_name(f) for f in seen] == [f"torch.Tensor.{name}"]


def test_the_default_handler_runs_what_was_called() -> None:
    class Marked(Tensor):
        pass
    x = torch.tensor([3.0, 4.0]).as_subclass(Marked)
    assert Tensor.dim(x) == 1 and Tensor.size(x, 0) == 2 and Tensor.shape.__get__(x) == (2,) and len(x) == 2
    assert type(2 ** x) is Marked and type(x[0]) is Marked and type(x.T if x.ndim == 2 else x.data) is Marked
    assert [type(part) for part in x] == [Marked, Marked]


def test_a_class_that_overrides_dispatch_alone_is_not_asked_about_functions() -> None:
    class Wrapper(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))
    x = Tensor._make_subclass(Wrapper, torch.ones(2, 3))
    assert x.shape == (2, 3) and x.dim() == 2 and len(x) == 2 and Tensor.dtype.__get__(x) is torch.float32


def test_an_operator_is_the_same_function_before_and_after_its_first_use() -> None:
    before = Tensor.__getitem__, Tensor.__setitem__
    x = torch.ones(2)
    x[0] = x[1]
    assert (Tensor.__getitem__, Tensor.__setitem__) == before


def test_the_state_of_the_oldest_pickles_is_put_into_a_tensor() -> None:
    x = torch.empty(0)
    x.__setstate__((torch.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1)))
    assert x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="must be its storage, offset, size and stride"):
        x.__setstate__({"array": None})


def test_modes_see_methods_and_special_methods_of_plain_tensors() -> None:
    seen: list[str] = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(resolve_name(func))
            return func(*args, **(kwargs or {}))
    x = torch.ones(1)
    with Log():
        assert int(x) == 1 and x[0] == 1 and x.tolist() == [1.0] and bool(x)
    assert seen == ["torch.Tensor.__int__", "torch.Tensor.__getitem__", "torch.Tensor.__eq__", "torch.Tensor.__bool__",
                    "torch.Tensor.tolist", "torch.Tensor.__bool__"]


def test_functions_and_methods_of_one_name_are_two_objects() -> None:
    assert torch.conj is not Tensor.conj and torch.resolve_neg is not Tensor.resolve_neg


class Like:
    """No tensor, but it takes part."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return resolve_name(func)


@pytest.mark.parametrize(("function", "name"), [
    (torch.zeros_like, "torch.zeros_like"), (lambda a: torch.split(a, a), "torch.split"),
    (torch.get_device, "torch.get_device"),
    (lambda a: torch.sym_max(a, a), "torch.sym_max"), (torch.sym_not, "torch.sym_not"), (torch.lobpcg, "torch.lobpcg"),
    (torch.nn.init.uniform_, "torch.nn.init.uniform_"), (torch.nn.functional.gelu, "torch.nn.functional.gelu"),
    (torch.pca_lowrank, "torch.pca_lowrank"),
])
def test_things_like_tensors_take_over_functions(function: Any, name: str) -> None:
    assert function(Like()).replace("functional.split", "split") == name


# ---- what modes see of plain tensors
class Names(TorchFunctionMode):
    """Keeps the names of what it sees."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append((torch.overrides.resolve_name(func), tuple(t.__name__ for t in types)))
        return func(*args, **(kwargs or {}))


def test_modes_see_attributes_and_quick_methods_of_plain_tensors():
    x = torch.ones(2, 3)
    with Names() as mode:
        assert (x.shape, x.dtype, x.T.shape, x.dim(), x.size(0), len(x)) == ((2, 3), torch.float32, (3, 2), 2, 2, 2)
        x.grad = None
    seen = [name for name, _ in mode.names]
    assert seen == ["torch.Tensor.shape.__get__", "torch.Tensor.dtype.__get__", "torch.Tensor.T.__get__",
                    "torch.Tensor.shape.__get__", "torch.Tensor.dim", "torch.Tensor.size", "torch.Tensor.__len__",
                    "torch.Tensor.grad.__set__"]
    assert mode.names[0][1] == ("Tensor",)


def test_attributes_are_themselves_again_after_the_last_mode():
    before = {name: vars(torch.Tensor)[name] for name in ("shape", "grad", "dim", "item")}
    with Names(), Names():
        assert vars(torch.Tensor)["shape"] is not before["shape"]
        assert torch.Tensor.dim is before["dim"]
    assert {name: vars(torch.Tensor)[name] for name in before} == before


def test_a_mode_can_be_known_by_the_getter_it_is_given():
    getter = torch.Tensor.shape.__get__

    class Fixed(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "mine" if func == getter else func(*args, **(kwargs or {}))
    with Fixed():
        assert torch.ones(2).shape == "mine"
    assert torch.ones(2).shape == (2,)


def test_modes_and_subclasses_see_the_gradient_function_and_ops_by_name():
    x = torch.ones(2, requires_grad=True)
    with Names() as mode:
        torch.autograd.grad(x.sum(), x)
        torch.ops.aten.sin(x)
        torch.ops.aten.cos.default(x)
        torch.manual_seed(0)
    assert [name for name, _ in mode.names] == ["torch.Tensor.sum", "torch.grad", "aten.sin", "aten.cos.default"]


def test_the_contents_of_a_printed_tensor_can_be_given():
    class Shown(torch.Tensor):
        def __repr__(self, *, tensor_contents=None):
            return super().__repr__(tensor_contents="contents")
    assert repr(torch.ones(2).as_subclass(Shown)) == "Shown(contents)"


def test_modes_see_grad_modes_and_backward_passes():
    x = torch.ones(2, requires_grad=True)
    with Names() as mode:
        with torch.no_grad():
            assert not torch.is_grad_enabled()
        with torch.enable_grad():
            pass
        assert torch.is_grad_enabled()
    assert [name.rpartition(".")[2] for name, _ in mode.names] == ["_set_grad_enabled"] * 4
    y = x.sum()
    with Names() as mode:
        torch.autograd.backward(y)
        torch.func.grad(lambda x: x.sin().sum())(torch.ones(2))
    assert [name.rpartition(".")[2] for name, _ in mode.names] == ["backward", "ones", "sin", "sum"]
