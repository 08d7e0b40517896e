"""custom_op and what is registered with it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.library import custom_op, opcheck, register_autograd, register_fake, register_kernel
from retrograd.library.checks import OpCheckError


def make_sin(name: str) -> Any:
    @custom_op(f"t_custom::{name}", mutates_args=())
    def sin(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.asarray(np.sin(x.detach().numpy())))
    sin.register_fake(lambda x: torch.empty_like(x))
    return sin


def save_input(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def cos_rule(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
    return grad * ctx.saved_tensors[0].cos()


def test_gradient_is_the_registered_one() -> None:
    sin = make_sin("sin")
    sin.register_autograd(cos_rule, setup_context=save_input)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y = sin(x)
    assert y.grad_fn.name() == "GeneratedBackwardFor_t_custom_sin_defaultBackward"
    assert torch.autograd.gradcheck(sin, (x,))
    assert torch.autograd.gradgradcheck(sin, (x,))
    assert repr(sin) == "<CustomOpDef(t_custom::sin)>"


def test_gradient_works_under_transforms() -> None:
    sin = make_sin("sin_transforms")
    sin.register_autograd(cos_rule, setup_context=save_input)
    sin.register_vmap(lambda info, in_dims, x: (sin(x), in_dims[0]))
    x = torch.randn(3)
    assert torch.allclose(torch.func.vmap(torch.func.grad(sin))(x), x.cos())
    assert torch.allclose(torch.func.vmap(torch.func.grad(torch.func.grad(sin)))(x), -x.sin())


def test_without_a_gradient_backward_says_so() -> None:
    sin = make_sin("no_rule")
    y = sin(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="Trying to backward through t_custom.no_rule.default but no autograd formula was "
                                           "registered. Please use register_autograd to add one."):
        y.sum().backward()


def test_fake_gives_the_shape() -> None:
    sin = make_sin("fake")
    assert sin(torch.empty(2, 3, device="meta")).shape == (2, 3)

    @custom_op("t_custom::no_fake", mutates_args=())
    def no_fake(x: torch.Tensor) -> torch.Tensor:
        return x.clone()
    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        no_fake(torch.empty(2, device="meta"))


@pytest.mark.parametrize("body", [lambda x: x, lambda x: x.view(-1)])
def test_result_may_not_alias_inputs(body: Any) -> None:
    alias = custom_op("t_custom::alias", body, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        alias(torch.ones(2))


def test_declared_write_counts_as_one() -> None:
    @custom_op("t_custom::fill", mutates_args={"x"})
    def fill(x: torch.Tensor, value: float) -> None:
        x.numpy()[...] = value
    x = torch.zeros(2)
    assert fill(x, 5.0) is None
    assert x.tolist() == [5.0, 5.0]
    assert x._version == 1
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        fill.register_autograd(cos_rule)


def test_lists_and_keyword_only_arguments_reach_the_rules() -> None:
    @custom_op("t_custom::scale_all", mutates_args=())
    def scale_all(xs: Sequence[torch.Tensor], k: int = 3, *, q: float = 2.0) -> list[torch.Tensor]:
        return [x * k * q for x in xs]
    seen = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        seen.append((len(inputs[0]), inputs[1], keyword_only_inputs, len(output), ctx.needs_input_grad))
        ctx.by = inputs[1] * keyword_only_inputs["q"]
    scale_all.register_autograd(lambda ctx, grads: ([g * ctx.by for g in grads], None), setup_context=setup)
    x, y = torch.ones(2, requires_grad=True), torch.ones(1)
    a, b = scale_all([x, y])
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert seen == [(2, 3, {"q": 2.0}, 2, ([True, False], False, False))]
    scale_all.register_autograd(lambda ctx, grads: (grads[0], None), setup_context=setup)
    with pytest.raises(RuntimeError, match="Expected the return from backward to be of the same structure as the inputs"):
        scale_all([x, y])[0].sum().backward()


def test_kernel_for_a_device_is_preferred() -> None:
    sin = make_sin("devices")
    register_kernel("t_custom::devices", "cpu", lambda x: x + 1)
    assert sin(torch.zeros(1)).item() == 1.0
    with sin.set_kernel_enabled("cpu", enabled=False):
        assert sin(torch.zeros(1)).item() == 0.0


def test_schema_must_agree_with_mutates_args() -> None:
    with pytest.raises(ValueError, match="Please make these consistent"):
        custom_op("t_custom::differs", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")


def test_new_definition_replaces_the_old() -> None:
    custom_op("t_custom::again", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    custom_op("t_custom::again", lambda x: x + 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert torch.ops.t_custom.again(torch.zeros(1)).item() == 2.0


def test_registrations_by_name_need_the_op() -> None:
    with pytest.raises(AttributeError, match="'_OpNamespace' 't_custom' object has no attribute 'nope'"):
        register_autograd("t_custom::nope", cos_rule)
    with pytest.raises(RuntimeError, match="operator t_custom::nope does not exist"):
        register_fake("t_custom::nope", cos_rule)


def test_opcheck_finds_what_is_wrong() -> None:
    sin = make_sin("checked")
    sin.register_autograd(cos_rule, setup_context=save_input)
    x = torch.ones(2, requires_grad=True)
    assert set(opcheck(sin, (x,)).values()) == {"SUCCESS"}
    sin.register_fake(lambda x: x.new_empty(3))
    with pytest.raises(OpCheckError, match="test_faketensor failed with When comparing the output of"):
        opcheck(sin, (x,))

    @custom_op("t_custom::writes", mutates_args=())
    def writes(x: torch.Tensor) -> torch.Tensor:
        x.numpy()[...] = 0
        return x.clone()
    with pytest.raises(OpCheckError, match="Argument x is not defined as mutable but was mutated"):
        opcheck(writes, (torch.ones(2),), test_utils="test_schema")
    found = opcheck(writes, (torch.ones(2),), test_utils="test_schema", raise_exception=False)
    assert isinstance(found["test_schema"], RuntimeError)


def test_ops_inside_ops_are_recorded_apart() -> None:
    inner = make_sin("inner")
    inner.register_autograd(cos_rule, setup_context=save_input)

    @custom_op("t_custom::outer", mutates_args=())
    def outer(xs: Sequence[torch.Tensor]) -> torch.Tensor:
        return inner(xs[0]) * 2 + xs[1]
    outer.register_autograd(lambda ctx, grad: [grad * 2 * ctx.saved_tensors[0].cos(), grad],
                            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[0]))
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y = outer([x, x])
    assert type(y.grad_fn) is type(outer([x, x]).grad_fn)
    y.sum().backward()
    assert torch.allclose(x.grad, 2 * x.cos() + 1)


def test_keyword_only_arguments_have_no_gradients() -> None:
    @torch.library.custom_op("keywords::scale", mutates_args=())
    def scale(x: torch.Tensor, y: torch.Tensor, *, k: float) -> torch.Tensor:
        return x * y * k

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.k = keyword_only_inputs["k"]

    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y * ctx.k, grad * x * ctx.k

    scale.register_autograd(backward, setup_context=setup)
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    scale(x, y, k=2.0).sum().backward()
    assert x.grad.tolist() == [6, 6] and y.grad.tolist() == [2, 2]


def test_arguments_that_were_left_out_need_no_gradient():
    @torch.library.custom_op("left_out::scale", mutates_args=())
    def scale(x: torch.Tensor, by: int = 2) -> torch.Tensor:
        return x * by
    scale.register_autograd(lambda ctx, grad: grad * 2)
    x = torch.ones(2, requires_grad=True)
    scale(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        scale(x, 3).sum().backward()


def test_opcheck_compares_with_a_recorded_graph():
    @torch.library.custom_op("opcheck_graph::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2
    twice.register_fake(torch.empty_like)
    found = torch.library.opcheck(twice, (torch.ones(2),))
    assert list(found) == ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    assert set(found.values()) == {"SUCCESS"}


def test_a_tuple_parameter_is_refused_with_the_list_to_use():
    def function(x: tuple[int, int]) -> torch.Tensor:
        raise NotImplementedError
    with pytest.raises(ValueError, match=r"We do not support Tuple inputs in schema.*For example, list\[int\]"):
        torch.library.infer_schema(function, mutates_args=())


def test_registrations_refuse_what_names_no_operator() -> None:
    with pytest.raises(ValueError, match=r"register_autograd\(3\): got unexpected type for op: <class 'int'>"):
        torch.library.register_autograd(3, lambda ctx, grad: grad)
    with pytest.raises(ValueError, match=r"register_fake\(3\): got unexpected type for op"):
        torch.library.register_fake(3, lambda x: x)


def test_opcheck_takes_a_packet_with_one_overload() -> None:
    @torch.library.custom_op("test_packet::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2
    twice.register_fake(lambda x: torch.empty_like(x))
    assert torch.library.opcheck(torch.ops.test_packet.twice, (torch.ones(2),), test_utils="test_schema") == {
        "test_schema": "SUCCESS"}
    with pytest.raises(RuntimeError, match="opcheck can only test operators without overloads. Got the following overloads for "
                                           "aten::sin"):
        torch.library.opcheck(torch.ops.aten.sin, (torch.ones(2),))
    with pytest.raises(ValueError, match="op must be instance of torch._ops.OpOverload"):
        torch.library.opcheck(3, (torch.ones(2),))


def test_opcheck_names_the_metadata_that_a_fake_kernel_gets_wrong() -> None:
    @torch.library.custom_op("test_wrong_fake::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2
    twice.register_fake(lambda x: x.new_empty(3))
    with pytest.raises(OpCheckError, match=r"mismatched tensor metadata: Shapes torch.Size\(\[2\]\) and torch.Size\(\[3\]\)"):
        torch.library.opcheck(twice, (torch.ones(2),), test_utils="test_faketensor")
