"""From tables to functions and methods: what is called how, and what a call without some arguments means."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch


def test_functions_of_losses_reduce_only_when_told_to() -> None:
    a, b = torch.tensor([0.5, 0.25]), torch.tensor([0.5, 1.0])
    assert torch.kl_div(a, b).shape == (2,)
    assert torch.kl_div(a, b, 1).shape == torch.kl_div(a, b, reduction=2).shape == ()
    assert torch.ops.aten.kl_div(a, b).shape == ()


def test_the_first_argument_of_a_function_may_be_named() -> None:
    x = torch.ones(2)
    assert torch.sum(input=x).item() == 2
    assert torch.add(input=x, other=x).tolist() == [2, 2]
    assert x.add(other=x).tolist() == [2, 2]



@pytest.mark.parametrize("name", ["min", "max"])
def test_one_element_integer_tensor_is_an_operand_and_no_dim(name: str) -> None:
    function, x = getattr(torch, name), torch.tensor([[3]])
    for other in (torch.tensor([[0]]), torch.tensor([0]), torch.tensor(0)):
        assert function(x, other).tolist() == getattr(x, name)(other).tolist() == [[0 if name == "min" else 3]]
    assert function(x, torch.tensor(0), True).values.tolist() == [[3]]


def test_integers_that_are_no_sizes_are_taken_of_tensors_without_dimensions_only() -> None:
    x = torch.arange(4).view(2, 2)
    assert x.argmax(torch.tensor(0)).tolist() == [1, 1] and x.reshape(torch.tensor([4])).shape == (4,)
    with pytest.raises(TypeError, match=r"argmax\(\): argument 'dim' \(position 1\) must be int, not Tensor"):
        x.argmax(torch.tensor([0]))


def test_objects_that_are_no_tensors_take_over_calls_of_written_functions() -> None:
    class Anything:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
            return func.__name__

    assert torch.broadcast_tensors(Anything(), torch.ones(1)) == "broadcast_tensors"
    assert torch.einsum("ij->ji", Anything()) == "einsum" == torch.einsum("ij,jk->ik", [Anything(), Anything()])
    with pytest.raises(TypeError):
        torch.broadcast_tensors(3, 4)


def test_old_argument_orders_are_taken() -> None:
    t = torch.ones(2, 2)
    assert torch.add(t, 2, t).tolist() == t.add(2, t).tolist() == [[3, 3], [3, 3]]
    assert torch.sub(t, 2, t)[0, 0] == -1 and torch.addcmul(t, 2, t, t)[0, 0] == 3 and torch.addcdiv(t, 2, t, t)[0, 0] == 3
    assert torch.addmm(1, t, 2, t, t)[0, 0] == 5 and torch.addmm(2, t, t, t)[0, 0] == 4
    assert torch.addmv(2, t[0], 3, t, t[0])[0] == 8 and torch.addr(2, t, 3, t[0], t[0])[0, 0] == 5


def test_writes_that_read_their_own_memory_are_refused() -> None:
    x, places = torch.arange(4.0), torch.arange(4)
    for write in (lambda: x.scatter_(0, places, x), lambda: x.index_copy_(0, places, x), lambda: x.index_add_(0, places, x)):
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single"):
            write()


def test_numbers_are_copied() -> None:
    z = torch.ones(2, dtype=torch.complex64)
    z.real = 5
    assert torch.ones(2).copy_(2).tolist() == [2, 2] and z.tolist() == [5, 5]


def test_a_weight_without_dimensions_may_be_of_another_dtype() -> None:
    x = torch.ones(2, dtype=torch.float64)
    assert torch.lerp(x, x * 3, torch.tensor(0.5)).tolist() == [2, 2]


def test_gradients_with_respect_to_a_dict_are_a_dict() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert torch.autograd.grad((x * x).sum(), {"x": x})["x"].tolist() == [2, 4]


def test_a_parameter_counts_writes_with_the_tensor_it_was_made_of() -> None:
    x = torch.ones(2)
    parameter = torch.nn.Parameter(x)
    x.add_(1)
    assert parameter._version == 1


def test_a_tensor_that_requires_grad_is_not_resized_without_grad_mode_either() -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize("index", [..., slice(None), (slice(None), 0), (..., 0)])
def test_memory_that_several_elements_share_is_not_assigned_to(index: Any) -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.ones(2).expand(2, 2)[index] = 1.5


@pytest.mark.parametrize(("call", "said"), [
    (lambda t: t.coalesce(1), r"TensorBase\.coalesce\(\) takes no arguments \(1 given\)"),
    (lambda t: t.conj(bogus=1), r"TensorBase\.conj\(\) takes no keyword arguments"),
    (lambda t: t.half(1, 2), r"^half\(\) takes 0 positional arguments but 2 were given"),
    (lambda t: t.half(bogus=1), r"^half\(\) got an unexpected keyword argument 'bogus'"),
    (lambda t: torch.is_complex([t]), r"argument 'input' \(position 1\) must be Tensor, not list")])
def test_calls_that_do_not_fit_are_refused_under_the_public_name(call: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call(torch.ones(2))


@pytest.mark.parametrize(("call", "said"), [
    (lambda x: torch.conv_tbc("a", x, x), r"conv_tbc\(\): argument 'input' \(position 1\) must be Tensor, not str"),
    (lambda x: torch.conv_tbc(x, x), r'conv_tbc\(\) missing 1 required positional arguments: "bias"'),
    (lambda x: torch.sspaddmm(x, x, 3), r"sspaddmm\(\): argument 'mat2' \(position 3\) must be Tensor, not int"),
    (lambda x: x.sparse_resize_(None, 1, 1), r"sparse_resize_\(\): argument 'size' \(position 1\) must be tuple of ints, not "),
    (lambda x: torch.istft(x, "a"), r"istft\(\): argument 'n_fft' \(position 2\) must be int, not str"),
    (lambda x: torch.lstm(x, 1, x, x), r"lstm\(\) received an invalid combination of arguments - got \(Tensor, int, Tensor"),
    (lambda x: torch.native_norm(x, "a"), r"native_norm\(\): argument 'p' \(position 2\) must be Number, not str"),
    (lambda x: x.is_contiguous(1), r"is_contiguous\(\) takes .* positional argument"),
    (lambda x: torch.linalg.solve_triangular(x, x, x), r"linalg_solve_triangular\(\) takes from 3 to 2 positional arguments"),
])
def test_functions_written_in_python_refuse_wrong_arguments_as_ops_do(call, said):
    with pytest.raises(TypeError, match=said):
        call(torch.ones(2, 2))


@pytest.mark.parametrize("receiver", [0.5, 2, "a", None, [1.0]])
def test_methods_are_of_tensors(receiver):
    for _ in range(3):                                    # the plain core specialises the calls that it has seen
        for method in (torch.Tensor.mul, torch.Tensor.abs, torch.Tensor.bfloat16):
            with pytest.raises(TypeError, match="for 'torch._C.TensorBase' objects doesn't apply to a"):
                method(receiver, *[torch.ones(2)] * (method is torch.Tensor.mul))
    with pytest.raises(TypeError, match=r"unbound method TensorBase.mul\(\) needs an argument"):
        torch.Tensor.mul()
