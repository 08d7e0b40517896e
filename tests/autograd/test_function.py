"""Custom Functions: what forward may return and mark, what backward is given and may give, and where it runs."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function, forward_ad
from retrograd.autograd.function import once_differentiable

grad = torch.autograd.grad


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def function(forward: Any, backward: Any = None, **members: Any) -> Any:
    """A Function made of two functions, called Made."""
    given = {name: staticmethod(member) if callable(member) else member for name, member in members.items()}
    if backward is not None:
        given["backward"] = staticmethod(backward)
    return type("Made", (Function,), dict(forward=staticmethod(forward), **given))


def passed(ctx: Any, g: Any) -> Any:
    return g


# ---- arguments
def test_needs_input_grad_has_an_entry_for_every_argument() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[0] * 2

    made = function(forward, lambda ctx, g: (g, None, None, None))
    node = made.apply(leaf(1.0), 5, torch.ones(1), leaf(2.0)).grad_fn
    assert seen == [(True, False, False, True)] and node.needs_input_grad == seen[0]
    with torch.no_grad():
        assert made.apply(leaf(1.0), 5).grad_fn is None


def test_grad_mode_is_off_in_forward_and_as_asked_in_backward() -> None:
    seen: list[bool] = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return g * 2

    x = leaf(1.0)
    made = function(forward, backward)
    grad(made.apply(x), x)
    grad(made.apply(x), x, create_graph=True)
    assert seen == [False, False, False, True]
    assert torch.is_grad_enabled()


def test_keyword_arguments_take_their_places() -> None:
    made = function(lambda ctx, x, y=2, z=3: x * y * z, lambda ctx, g: (g, None, None))
    x = leaf(1.0)
    assert made.apply(x, z=5, y=3).item() == 15.0
    assert made.apply(z=5, y=1, x=x).grad_fn.needs_input_grad == (True, False, False)
    assert made.apply(x=x).grad_fn.needs_input_grad == (True,)
    with pytest.raises(TypeError, match=r"forward\(\) got an unexpected keyword argument 'w'"):
        made.apply(x, w=1)
    with pytest.raises(TypeError, match=r"forward\(\) missing required argument: 'y' \(position 1\)"):
        made.apply(x, z=1)


# ---- setup_context
def test_setup_context_sees_inputs_with_defaults_and_the_outputs() -> None:
    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((inputs[1:], output.item(), torch.is_grad_enabled()))
        ctx.save_for_backward(inputs[0])
        ctx.factor = inputs[1]

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor * ctx.saved_tensors[0], None

    made = function(lambda x, factor=3: x * x * factor / 2, backward, setup_context=setup)
    x = leaf(2.0)
    assert grad(made.apply(x), x)[0].item() == 6.0
    assert grad(made.apply(x, factor=5), x)[0].item() == 10.0
    assert seen == [((3,), 6.0, False), ((5,), 10.0, False)]


# ---- outputs
def test_outputs_that_are_no_tensors_pass_through() -> None:
    received: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        received.append(grads)
        return grads[1]

    token = object()
    made = function(lambda ctx, x: (token, x * 2, None, [x * 3]), backward)
    x = leaf(1.0)
    first, second, third, fourth = made.apply(x)
    assert first is token and third is None and fourth[0].grad_fn is None
    second.backward()
    assert len(received[0]) == 4 and [g is None for g in received[0]] == [True, False, True, True]
    assert x.grad.item() == 1.0


def test_a_list_is_one_output_that_is_no_tensor() -> None:
    out = function(lambda ctx, x: [x * 2], passed).apply(leaf(1.0))
    assert type(out) is list and not out[0].requires_grad


def test_integer_outputs_are_not_differentiable() -> None:
    whole, part = function(lambda ctx, x: (x.long(), x * 2), lambda ctx, a, b: b).apply(leaf(1.0))
    assert not whole.requires_grad and part.grad_fn.name() == "MadeBackward"


def test_outputs_have_numbers() -> None:
    a, b, c = function(lambda ctx, x: (x * 1, None, x * 2), lambda ctx, *g: g[0]).apply(leaf(1.0))[::1]
    assert (a.output_nr, c.output_nr) == (0, 2) and a.grad_fn is c.grad_fn


def test_an_input_returned_as_it_is_becomes_a_view_of_itself() -> None:
    x = leaf(1.0)
    out = function(lambda ctx, t: t, lambda ctx, g: g * 7).apply(x)
    assert out is not x and out._base is x and out.grad_fn.name() == "MadeBackward"
    out.backward()
    assert x.grad.item() == 7.0 and x.is_leaf


@pytest.mark.parametrize("forward", [lambda ctx, t: t, lambda ctx, t: t.view(-1), lambda ctx, t: t[:1]])
def test_a_view_that_leaves_a_function_must_not_be_written_to(forward: Any) -> None:
    out = function(forward, passed).apply(leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="Output 0 of MadeBackward is a view and is being modified inplace. This view was "
                                           "created inside a custom Function"):
        out.mul_(2)
    with torch.no_grad():
        out.mul_(2)


def test_several_views_that_leave_a_function_must_not_be_written_to() -> None:
    first, _ = function(lambda ctx, t: (t.view(-1), t.view(-1)), lambda ctx, a, b: a + b).apply(leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="Output 0 of MadeBackward is a view and is being modified inplace. This view is the "
                                           "output of a function that returns multiple views."):
        first.mul_(2)


# ---- mark_dirty
def tripled(ctx: Any, t: Any) -> Any:
    ctx.mark_dirty(t)
    return t.mul_(3)


def test_a_dirty_input_is_returned_with_a_new_history() -> None:
    made = function(tripled, lambda ctx, g: g * 3)
    x = leaf(2.0)
    y = x * 1
    before = y.grad_fn
    out = made.apply(y)
    assert out is y and y.grad_fn.name() == "MadeBackward" and y._version == 2
    assert y.grad_fn.next_functions[0][0] is before
    (out * out).backward()
    assert x.grad.item() == 36.0


def test_a_dirty_view_rewrites_the_history_of_its_base() -> None:
    made = function(tripled, lambda ctx, g: g * 100)
    x = leaf(1.0, 2.0)
    base = x * 1
    part = base[:1]
    out = made.apply(part)
    assert out is part and base.grad_fn.name() == "torch::autograd::CopySlices"
    assert part.grad_fn.name() == "AsStridedBackward0"
    base.sum().backward()
    assert x.grad.tolist() == [100.0, 1.0] and base.tolist() == [3.0, 2.0]


def test_what_may_be_dirty() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation."):
        function(tripled, passed).apply(x)

    def forgets(ctx: Any, t: Any) -> Any:
        ctx.mark_dirty(t)
        return t * 2

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        function(forgets, passed).apply(x * 1)

    def both(ctx: Any, t: Any) -> Any:
        ctx.mark_dirty(t)
        return t.mul_(2), t * 2

    with pytest.raises(RuntimeError, match="If your Function modifies inplace an input that is a view of another Tensor"):
        function(both, passed).apply((x * 1)[:1])

    def number(ctx: Any, t: Any) -> Any:
        ctx.mark_dirty(5)
        return t * 2

    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables, but argument "):
        function(number, passed).apply(x)


# ---- mark_non_differentiable
def test_outputs_without_gradient_still_have_a_place_in_backward() -> None:
    received: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        plain = x * 5
        ctx.mark_non_differentiable(plain)
        return plain, x * 2

    def backward(ctx: Any, *grads: Any) -> Any:
        received.extend([g.tolist() for g in grads])
        return grads[1]

    x = leaf(1.0)
    plain, out = function(forward, backward).apply(x)
    assert not plain.requires_grad and plain.grad_fn is None
    out.backward()
    assert received == [[0.0], [1.0]]


def test_an_input_marked_as_without_gradient_is_detached() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(x)
        return x, x * 2

    x = leaf(1.0)
    same, _ = function(forward, lambda ctx, a, b: b).apply(x)
    assert same is not x and not same.requires_grad and x.requires_grad


def test_only_tensors_can_be_marked() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable("x")
        return x * 2

    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments, but got "):
        function(forward, passed).apply(leaf(1.0))


# ---- gradients that did not arrive
@pytest.mark.parametrize("materialize", [True, False])
def test_missing_gradients_are_zeros_or_none(materialize: bool) -> None:
    received: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 1, x.double().expand(2, 1).clone()

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        received.append(b)
        return a

    function(forward, backward).apply(leaf(1.0))[0].backward()
    if materialize:
        zeros, = received
        assert zeros.tolist() == [[0.0], [0.0]] and zeros.dtype == torch.float64
    else:
        assert received == [None]


def test_materialize_is_true_or_false() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(1)
        return x * 1

    with pytest.raises(TypeError, match="set_materialize_grads received an invalid combination of arguments"):
        function(forward, passed).apply(leaf(1.0))


# ---- what backward may return
def test_too_many_gradients_are_fine_if_they_are_none() -> None:
    x = leaf(1.0)
    function(lambda ctx, t: t * 1, lambda ctx, g: (g, None, None)).apply(x).backward()
    assert x.grad.item() == 1.0


@pytest.mark.parametrize(("results", "message"), [
    ((1,), r"function MadeBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
    ((1, None, 1), r"function MadeBackward returned an incorrect number of gradients \(expected 2, got 3\)"),
    ((1, 1), "function MadeBackward returned a gradient different than None at position 2, but the corresponding forward "
             "input was not a Variable"),
])
def test_the_number_of_gradients_is_checked(results: Any, message: str) -> None:
    made = function(lambda ctx, t, n: t * n, lambda ctx, g: tuple([None if r is None else g for r in results]))
    with pytest.raises(RuntimeError, match=message):
        made.apply(leaf(1.0), 2).backward()


def test_a_list_of_gradients_is_no_gradient() -> None:
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got list\)"):
        function(lambda ctx, t: t * 1, lambda ctx, g: [g]).apply(leaf(1.0)).backward()


def test_gradients_of_inputs_that_want_none_are_dropped() -> None:
    x, plain = leaf(1.0), torch.ones(1)
    function(lambda ctx, a, b: a * b, lambda ctx, g: (g, g)).apply(x, plain).backward()
    assert x.grad.item() == 1.0 and plain.grad is None


def test_backward_or_vjp_but_one_of_them() -> None:
    must = "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward"
    with pytest.raises(NotImplementedError, match=must):
        function(lambda ctx, t: t * 1).apply(leaf(1.0)).backward()
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed."):
        function(lambda ctx, t: t * 1, passed, vjp=passed).apply(leaf(1.0)).backward()
    x = leaf(1.0)
    assert grad(function(lambda ctx, t: t * 1, vjp=lambda ctx, g: g * 9).apply(x), x)[0].item() == 9.0


# ---- saving
def saving(*choose: Any) -> Any:
    """A Function that saves what `choose` picks of (input, output)."""
    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(*[(x, out, None)[i] for i in choose])
        return out

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]

    return function(forward, backward)


def test_saved_tensors_are_the_input_itself_and_the_output_with_its_node() -> None:
    x = leaf(0.0)
    out = saving(0, 1, 2).apply(x)
    first, second, third = out.grad_fn.saved_tensors
    assert first is x and second.grad_fn is out.grad_fn and third is None
    assert len(out.grad_fn._raw_saved_tensors) == 3


@pytest.mark.parametrize("write", ["input", "output"])
def test_a_saved_tensor_that_was_written_to_is_refused(write: str) -> None:
    x = leaf(0.0) * 1
    out = saving(0, 1).apply(x)
    with torch.no_grad():
        (x if write == "input" else out).add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified"):
        out.backward()


def test_saved_tensors_are_gone_after_backward() -> None:
    out = saving(0).apply(leaf(0.0))
    node = out.grad_fn
    out.backward()
    for read in (lambda: node.saved_tensors, lambda: node._raw_saved_tensors):
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            read()


def test_saved_output_makes_no_cycle() -> None:
    gc.disable()
    try:
        out = saving(1).apply(leaf(0.0))
        gone = weakref.ref(out)
        del out
        assert gone() is None
    finally:
        gc.enable()


def test_only_tensors_can_be_saved() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, 3)
        return x * 1

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        function(forward, passed).apply(leaf(1.0))

    def forward_mode(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x, 3)
        return x * 1

    with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tensors"):
        function(forward_mode, passed).apply(leaf(1.0))


def test_double_backward_goes_through_a_saved_output() -> None:
    x = leaf(0.5)
    first, = grad(saving(1).apply(x), x, create_graph=True)
    assert grad(first, x)[0].item() == pytest.approx(x.exp().item())


def test_double_backward_goes_through_a_saved_input() -> None:
    def forward(ctx: Any, t: Any) -> Any:
        ctx.save_for_backward(t)
        return t ** 3

    x = leaf(0.5)
    made = function(forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    first, = grad(made.apply(x), x, create_graph=True)
    assert grad(first, x)[0].item() == 3.0


# ---- forward mode
def test_jvp_reads_what_was_saved_for_it() -> None:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_forward(x, y)
        ctx.save_for_backward(y)
        return x * y

    def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
        x, y = ctx.saved_tensors
        return (0 if x_t is None else x_t * y) + (0 if y_t is None else x * y_t)

    made = function(forward, lambda ctx, g: (g * ctx.saved_tensors[0], None), jvp=jvp)
    x, y = torch.tensor([2.0]), torch.tensor([5.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.tensor([1.0]))
        assert forward_ad.unpack_dual(made.apply(dual, y)).tangent.item() == 5.0
        assert forward_ad.unpack_dual(made.apply(y, dual)).tangent.item() == 5.0
        assert forward_ad.unpack_dual(made.apply(dual, dual)).tangent.item() == 4.0


def test_a_function_without_jvp_says_so() -> None:
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="You must implement the jvp function for custom"):
        function(lambda ctx, t: t * 1, passed).apply(forward_ad.make_dual(torch.ones(1), torch.ones(1)))


# ---- vmap
def test_vmap_uses_the_rule_or_the_generated_one_or_refuses() -> None:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    seen: list[Any] = []

    def rule(info: Any, in_dims: Any, x: Any, n: Any) -> Any:
        seen.append((info.batch_size, in_dims))
        return x.movedim(in_dims[0], 0) * n, 0

    data = torch.arange(6.0).reshape(2, 3)
    ruled = function(lambda x, n: x * n, setup_context=setup, vmap=rule)
    assert torch.equal(torch.vmap(lambda t: ruled.apply(t, 2), in_dims=1)(data), data.T * 2)
    assert seen == [(3, (1, None))]
    generated = function(lambda x, n: x * n, setup_context=setup, generate_vmap_rule=True)
    assert torch.equal(torch.vmap(lambda t: generated.apply(t, 2))(data), data * 2)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        torch.vmap(lambda t: function(lambda x: x * 1, setup_context=setup).apply(t))(data)


# ---- once_differentiable
@pytest.mark.parametrize("as_tuple", [False, True])
def test_backward_marked_once_differentiable_gives_its_gradient_once(as_tuple: bool) -> None:
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        made = torch.from_numpy(g.numpy() * 2)
        return (made,) if as_tuple else made

    x = leaf(1.0, 1.0, 1.0)
    first, = grad(function(lambda ctx, t: t * 2, backward).apply(x).exp().sum(), x, create_graph=True)
    assert first.shape == (3,) and first.requires_grad
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        first.sum().backward()


def test_once_differentiable_is_invisible_to_a_single_pass() -> None:
    made = function(lambda ctx, t: t * 2, once_differentiable(lambda ctx, g: g * 2))
    x = leaf(1.0)
    first, = grad(made.apply(x), x)
    assert first.item() == 2.0 and not first.requires_grad
    first, = grad(made.apply(x), x, create_graph=True)       # the gradient that came in wants none
    assert not first.requires_grad


# ---- classes
def test_functions_are_not_instantiated() -> None:
    made = function(lambda ctx, t: t * 1, passed)
    with pytest.warns(DeprecationWarning, match="should not be instantiated. Methods on autograd functions are all static"):
        instance = made()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated."):
        instance(leaf(1.0))


def test_forward_must_exist() -> None:
    with pytest.raises(NotImplementedError, match="You must implement the forward function for custom autograd.Function."):
        type("Empty", (Function,), {}).apply(leaf(1.0))


def test_a_subclass_has_a_node_of_its_own_name() -> None:
    base = function(lambda ctx, t: t * 1, passed)
    derived = type("Derived", (base,), dict(backward=staticmethod(lambda ctx, g: g * 4)))
    x = leaf(1.0)
    out = derived.apply(x)
    assert out.grad_fn.name() == "DerivedBackward" and type(out.grad_fn).__name__ == "DerivedBackward"
    assert grad(out, x)[0].item() == 4.0


def test_deprecated_names_warn() -> None:
    node = saving(0).apply(leaf(1.0)).grad_fn
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        assert len(node.saved_variables) == 1
    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        torch.autograd.function.FunctionCtx().mark_shared_storage()


def test_backward_gets_its_gradients_in_a_box() -> None:
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 2, y * 3

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            assert type(grads) is list
            return grads[0] * 2, grads[1] * 3

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = Boxed.apply(x, y)
    (a + b).sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [3, 3]


def test_ctx_takes_attributes_of_any_name() -> None:
    taken = set(dir(torch.autograd.function.BackwardCFunction))
    names = ["_" + name for name in ("shape dtype count next op saved hooks seq run release nrs attrs leaves metadata versions "
             "shown positions arguments freed output_facts zeros by_edge inner level dims").split()]
    assert not taken & set(names)

    class Twice(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            for name in names:
                setattr(ctx, name, name)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert [getattr(ctx, name) for name in names] == names
            return grad * 2 + 0 * ctx.saved_tensors[0]

    x = torch.ones(2, 3, requires_grad=True)
    y = Twice.apply(x)
    assert vars(y.grad_fn) == dict(zip(names, names, strict=True))
    y.sum().backward()
    assert x.grad.tolist() == torch.vmap(torch.func.grad(lambda row: Twice.apply(row).sum()))(x).tolist() == [[2.0] * 3] * 2


def test_a_leaf_that_is_a_view_is_refused_as_a_leaf() -> None:
    class Written(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(1), x * 2

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return first + second

    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        Written.apply(torch.ones(4).reshape(2, 2).requires_grad_())
