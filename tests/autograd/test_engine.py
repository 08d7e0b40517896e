"""The backward pass: which nodes run, in which order, what arrives where, and how deep, long and parallel it may get."""
from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function
from retrograd.autograd.engine import (
    current_graph_task_execution_order,
    current_graph_task_id,
    current_node,
    queue_callback,
    will_engine_execute_node,
)

backward, grad = torch.autograd.backward, torch.autograd.grad


def leaf(*values: float, dtype: Any = None) -> Any:
    return torch.tensor(list(values), dtype=dtype, requires_grad=True)


class Note(Function):
    """Passes its input on and calls a function when its gradient passes."""

    @staticmethod
    def forward(ctx: Any, x: Any, call: Any) -> Any:
        ctx.call = call
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        result = ctx.call(g)
        return (g if result is None else result), None


def note(log: list[Any], name: Any) -> Any:
    return lambda g: log.append(name)


# ---- the order of nodes
def test_the_node_made_last_runs_first() -> None:
    log: list[Any] = []
    x = leaf(1.0)
    branches = [Note.apply(x, note(log, i)) for i in range(6)]
    order = [3, 0, 5, 1, 4, 2]
    backward(sum([branches[i] for i in order], torch.zeros(1)))
    assert log == [5, 4, 3, 2, 1, 0]


def test_an_accumulator_runs_before_older_and_newer_nodes() -> None:
    log: list[Any] = []
    early, late = leaf(1.0), leaf(1.0)
    late.register_hook(note(log, "leaf"))
    early.register_hook(note(log, "other leaf"))
    side = Note.apply(early, note(log, "side"))
    out = Note.apply(side * late, note(log, "top"))
    out.backward()
    assert log == ["top", "leaf", "side", "other leaf"]


def test_a_node_waits_for_all_of_its_gradients() -> None:
    log: list[Any] = []
    x = leaf(2.0)
    shared = Note.apply(x, lambda g: log.append(("shared", g.item())))
    near = Note.apply(shared * 3, note(log, "near"))
    far = shared
    for i in range(3):
        far = Note.apply(far * 2, note(log, i))
    (near + far).backward()
    assert log == [2, 1, 0, "near", ("shared", 11.0)]
    assert x.grad.item() == 11.0


def test_roots_that_depend_on_each_other_run_once() -> None:
    log: list[Any] = []
    x = leaf(1.0)
    inner = Note.apply(x * 2, lambda g: log.append(g.item()))
    outer = inner * 5
    backward([inner, outer])
    assert log == [6.0]
    assert x.grad.item() == 12.0


def test_one_tensor_as_root_twice_counts_twice() -> None:
    x = leaf(1.0)
    y = x * 2
    backward([y, y], [torch.tensor([1.0]), torch.tensor([10.0])])
    assert x.grad.item() == 22.0


def test_all_outputs_of_a_node_arrive_together() -> None:
    log: list[Any] = []

    class Split(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1, x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            log.append([g.item() for g in grads])
            return sum(grads)

    x = leaf(1.0)
    a, b, c = Split.apply(x)
    (a.exp() * 0 + c * 7).backward()
    assert log == [[0.0, 0.0, 7.0]]


# ---- only some inputs
def test_inputs_run_no_other_branch() -> None:
    log: list[Any] = []
    a, b = leaf(2.0), leaf(3.0)
    out = Note.apply(a, note(log, "a")) * Note.apply(b, note(log, "b"))
    assert [g.item() for g in grad(out, a, retain_graph=True)] == [3.0]
    assert log == ["a"]
    out.backward(inputs=b)
    assert log == ["a", "b"]
    assert a.grad is None and b.grad.item() == 2.0


def test_what_lies_below_a_captured_tensor_does_not_run() -> None:
    log: list[Any] = []
    x = leaf(2.0)
    middle = Note.apply(x, note(log, "below")) * 3
    assert grad(middle * middle, middle)[0].item() == 12.0
    assert log == []


def test_backward_to_a_tensor_that_is_no_leaf_runs_what_is_below_it_no_more() -> None:
    log: list[Any] = []
    x = leaf(2.0)
    middle = Note.apply(x, note(log, "below")) * 3
    (middle * middle).backward(inputs=[middle])
    assert middle.grad.item() == 12.0 and x.grad is None
    assert log == []


def test_an_input_above_another_passes_its_gradient_on() -> None:
    x = leaf(2.0)
    y = x * 3
    z = y * y
    assert [g.item() for g in grad(z, [x, y, x, z])] == [36.0, 12.0, 36.0, 1.0]


def test_a_root_that_is_an_input_is_captured_as_given() -> None:
    x = leaf(2.0)
    start = torch.tensor([5.0])
    captured, = grad(x, x, start)
    assert captured.item() == 5.0


def test_two_outputs_of_one_node_are_captured_apart() -> None:
    x = torch.arange(4.0).requires_grad_()
    low, high = x.split(2)
    first, second = grad((low * 2).sum() + (high * 3).sum(), [low, high])
    assert first.tolist() == [2.0, 2.0] and second.tolist() == [3.0, 3.0]


def test_nodes_not_needed_keep_what_they_saved() -> None:
    a, b = leaf(2.0), leaf(3.0)
    left, right = a.exp(), b.exp()
    grad(left * right, left)
    right.backward()
    assert b.grad.item() == pytest.approx(20.0855369)


# ---- keeping the graph
def test_a_second_pass_over_a_freed_graph_is_refused() -> None:
    x = leaf(1.0)
    y = x.exp()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = x + 1
    z.backward()
    z.backward()                      # nothing was saved, so nothing is missing
    assert x.grad.item() == pytest.approx(2.71828182846 + 2)


def test_retain_graph_keeps_what_the_nodes_saved() -> None:
    x = leaf(3.0)
    y = x * x
    for times in (1, 2, 3):
        y.backward(retain_graph=True)
        assert x.grad.item() == 6.0 * times


def test_create_graph_gives_derivatives_of_any_order() -> None:
    x = leaf(2.0)
    y = x ** 5
    orders = []
    for _ in range(6):
        y, = grad(y, x, create_graph=True)
        orders.append(y.item())
    assert orders == [80.0, 160.0, 240.0, 240.0, 120.0, 0.0]


@pytest.mark.parametrize("create", [False, True])
def test_grad_mode_in_a_pass_is_create_graph_and_ends_with_it(create: bool) -> None:
    seen: list[Any] = []
    x = leaf(1.0)
    y = Note.apply(x, lambda g: seen.append(torch.is_grad_enabled()))
    with torch.no_grad():
        grad(y, x, create_graph=create)
        assert not torch.is_grad_enabled()
    assert seen == [create]


def test_an_error_restores_grad_mode_and_the_task() -> None:
    def fail(g: Any) -> Any:
        raise KeyError("mine")

    y = Note.apply(leaf(1.0), fail)
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    assert torch.is_grad_enabled() and current_graph_task_id() == -1 and current_node() is None


# ---- gradients that fit
@pytest.mark.parametrize(("shape", "made"), [((1,), (3,)), ((2, 1), (4, 2, 3)), ((), (2, 2)), ((1, 1), (1, 5))])
def test_a_gradient_is_summed_to_the_shape_of_its_input(shape: Any, made: Any) -> None:
    class Widen(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.expand(made).clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = torch.zeros(shape, requires_grad=True)
    Widen.apply(x).sum().backward()
    assert x.grad.shape == shape
    assert torch.equal(x.grad, torch.ones(made).sum_to_size(shape))


def test_a_gradient_of_another_shape_is_refused() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    y = Note.apply(x, lambda g: torch.zeros(4))
    with pytest.raises(RuntimeError, match=r"Function NoteBackward returned an invalid gradient at index 0 - got \[4\] but "
                                           r"expected shape compatible with \[2, 3\]"):
        y.sum().backward()


@pytest.mark.parametrize("wrong", [1.0, "text", [1]])
def test_a_gradient_that_is_no_tensor_is_refused(wrong: Any) -> None:
    y = Note.apply(leaf(1.0), lambda g: wrong)
    with pytest.raises(RuntimeError, match=rf"expected Variable or None \(got {type(wrong).__name__}\)"):
        y.backward()


def test_a_gradient_is_cast_to_the_dtype_of_its_input() -> None:
    x = leaf(1.0, dtype=torch.float32)
    Note.apply(x, lambda g: g.double()).backward()
    assert x.grad.dtype == torch.float32
    assert grad(Note.apply(x, lambda g: g.half()), x)[0].dtype == torch.float32


def test_the_real_part_is_taken_only_where_the_formula_mixes() -> None:
    x = leaf(2.0)
    z = x * torch.tensor([1 + 2j])
    assert grad(z, x, torch.tensor([1 + 1j]))[0].item() == 3.0
    with pytest.raises(RuntimeError, match="input_is_complex == grad_is_complex|expected a real gradient|isFloatingType"):
        Note.apply(x, lambda g: g.to(torch.complex64)).backward()


# ---- gradients that do not come
class Stop(Function):
    """A gradient of None."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None


def test_none_is_counted_and_passed_on() -> None:
    log: list[Any] = []

    class Ask(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append(g)
            return g

    x, y = leaf(1.0), leaf(1.0)
    (Stop.apply(Ask.apply(x)) + y).backward()
    assert log == [None] and x.grad is None and y.grad.item() == 1.0
    (Stop.apply(x * 2) + x * 3).backward()
    assert x.grad.item() == 3.0


def test_none_through_formulas_stays_none() -> None:
    x = leaf(1.0, 2.0)
    out = Stop.apply((x.exp() * x).view(2, 1).sum(0)).sum()
    assert grad(out, x, allow_unused=True) == (None,)


def test_none_from_one_of_two_branches_leaves_the_other() -> None:
    x = leaf(3.0)
    for first, second in ((Stop.apply(x), x * 2), (x * 2, Stop.apply(x))):
        assert grad(first + second, x)[0].item() == 2.0


# ---- callbacks
def test_callbacks_run_in_order_when_all_gradients_are_there() -> None:
    log: list[Any] = []
    x = leaf(1.0)

    def queue(g: Any) -> None:
        queue_callback(lambda: (log.append(("first", x.grad.item())), queue_callback(lambda: log.append("from one"))))
        queue_callback(lambda: log.append("second"))

    (Note.apply(x, queue) * 4).backward()
    assert log == [("first", 4.0), "second", "from one"]


def test_callbacks_are_for_passes_only() -> None:
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass."):
        queue_callback(lambda: None)


def test_an_inner_pass_runs_its_own_callbacks() -> None:
    log: list[Any] = []

    def inner(g: Any) -> None:
        with torch.enable_grad():
            Note.apply(leaf(1.0), lambda g: queue_callback(lambda: log.append("inner"))).backward()
        log.append("between")

    def outer(g: Any) -> None:
        queue_callback(lambda: log.append("outer"))

    Note.apply(Note.apply(leaf(1.0), inner), outer).backward()
    assert log == ["inner", "between", "outer"]


def test_an_error_in_a_callback_comes_out_of_backward() -> None:
    def fail() -> None:
        raise ZeroDivisionError("at the end")

    x = leaf(1.0)
    with pytest.raises(ZeroDivisionError, match="at the end"):
        Note.apply(x, lambda g: queue_callback(fail)).backward()
    assert x.grad.item() == 1.0


# ---- questions asked during a pass
def test_passes_have_numbers_that_rise() -> None:
    seen: list[int] = []

    def nested(g: Any) -> None:
        seen.append(current_graph_task_id())
        with torch.enable_grad():
            Note.apply(leaf(1.0), lambda g: seen.append(current_graph_task_id())).backward()
        seen.append(current_graph_task_id())

    assert current_graph_task_id() == -1
    Note.apply(leaf(1.0), nested).backward()
    Note.apply(leaf(1.0), lambda g: seen.append(current_graph_task_id())).backward()
    outer, inner, again, later = seen
    assert outer == again < inner < later
    assert current_graph_task_id() == -1


def test_the_running_node_is_known() -> None:
    seen: list[Any] = []
    x = leaf(1.0)
    x.register_hook(lambda g: seen.append(current_node()))
    y = Note.apply(x, lambda g: seen.append(current_node()))
    y.backward()
    assert current_node() is None
    assert seen[0] is y.grad_fn and seen[1].name() == "torch::autograd::AccumulateGrad"


def order_of(out: Any, **arguments: Any) -> list[str]:
    """What the execution order is said to be while the first node runs."""
    orders: list[Any] = []
    out.grad_fn.register_prehook(lambda grads: orders.append(current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        out.backward(**arguments)
    return [node.name() for node in orders[0]]


def test_execution_order_names_what_is_yet_to_run() -> None:
    x, y = leaf(1.0), leaf(2.0)
    sink = "torch::autograd::AccumulateGrad"
    assert order_of((x.exp() * y.sin()).tanh()) == [
        "TanhBackward0", "MulBackward0", "SinBackward0", sink, "ExpBackward0", sink]


def test_execution_order_leaves_out_what_is_not_needed() -> None:
    x, y = leaf(1.0), leaf(2.0)
    sink = "torch::autograd::AccumulateGrad"
    assert order_of((x.exp() * y.sin()).tanh(), inputs=[x]) == ["TanhBackward0", "MulBackward0", "ExpBackward0", sink]


def test_execution_order_has_its_conditions() -> None:
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        current_graph_task_execution_order()
    y = Note.apply(leaf(1.0), lambda g: current_graph_task_execution_order() and None)
    with pytest.raises(RuntimeError, match="expects the current backward to be executed with multithreading disabled"):
        y.backward()


def test_nodes_that_will_run_are_known() -> None:
    answers: list[Any] = []
    x, y = leaf(1.0), leaf(2.0)
    left, right = x.exp(), y.sin()
    elsewhere = (x * 2).grad_fn
    out = left * right
    nodes = (left.grad_fn, right.grad_fn, elsewhere)
    out.register_hook(lambda g: answers.append([will_engine_execute_node(n) for n in nodes]))
    out.backward(retain_graph=True)
    grad(out, x, retain_graph=True)
    out.backward(inputs=[y], retain_graph=True)
    grad(out, left)
    assert answers == [[True, True, False], [True, False, False], [False, True, False], [True, False, False]]


def test_asking_for_nodes_that_will_run_has_its_conditions() -> None:
    with pytest.raises(RuntimeError, match="_get_should_execute_nodes should only be called during the backward pass"):
        will_engine_execute_node(leaf(1.0).exp().grad_fn)
    with pytest.raises(RuntimeError, match="_will_engine_execute_node expects an grad_fn, but got"):
        will_engine_execute_node(3)
    x = leaf(1.0)
    y = x.exp()
    sink = y.grad_fn.next_functions[0][0]
    y.register_hook(lambda g: will_engine_execute_node(sink) and None)
    with pytest.raises(RuntimeError, match="A leaf node was passed to _will_engine_execute_node but we are currently"):
        grad(y, x)


# ---- passes within passes
def test_an_inner_pass_fills_grad_while_the_outer_one_waits() -> None:
    w = leaf(2.0)
    between: list[Any] = []

    def inner(g: Any) -> None:
        with torch.enable_grad():
            (w * w).backward()
        between.append(w.grad.item())

    (Note.apply(w * 3, inner)).backward()
    assert between == [4.0] and w.grad.item() == 7.0


def test_two_thousand_passes_one_inside_the_other() -> None:
    depth = 2000
    w = leaf(1.0)
    deepest: list[int] = []

    def make(level: int) -> Any:
        def nested(g: Any) -> None:
            if level == depth:
                deepest.append(level)
                return
            with torch.enable_grad():
                make(level + 1).sum().backward()
        return Note.apply(w, nested)

    make(1).sum().backward()
    assert deepest == [depth] and w.grad.item() == depth


def test_an_error_from_deep_inside_comes_out_whole() -> None:
    def make(level: int) -> Any:
        def nested(g: Any) -> None:
            if level == 130:
                raise LookupError(f"level {level}")
            with torch.enable_grad():
                make(level + 1).backward()
        return Note.apply(leaf(1.0), nested)

    with pytest.raises(LookupError, match="level 130"):
        make(1).backward()
    assert torch.is_grad_enabled() and current_graph_task_id() == -1


# ---- long graphs
LONG = 150_000


@pytest.mark.parametrize("op", ["add", "view", "mul"])
def test_a_long_chain_is_built_run_and_freed(op: str) -> None:
    length = LONG if op == "add" else LONG // 5
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y + x if op == "add" else y.view(1) if op == "view" else y * 1.0
    y.backward()
    assert x.grad.item() == (length + 1 if op == "add" else 1.0)
    gone = weakref.ref(y)
    del y
    assert gone() is None


def test_a_long_chain_that_never_ran_is_freed() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(LONG):
        y = y + 1.0
    first = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert first() is None
    finally:
        gc.enable()


def test_a_long_chain_can_be_pruned_and_differentiated_again() -> None:
    x, other = leaf(1.0), leaf(1.0)
    y = x
    for _ in range(5000):
        y = y * 1.0 + other * 0.0
    first, = grad(y * y, x, create_graph=True)
    second, = grad(first, x)
    assert first.item() == 2.0 and second.item() == 2.0


# ---- threads
def in_threads(count: int, work: Any) -> None:
    failures: list[BaseException] = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_threads_add_to_shared_leaves_without_loss() -> None:
    w = torch.ones(7, requires_grad=True)

    def work(i: int) -> None:
        for _ in range(50):
            (w * float(i + 1)).sum().backward()

    in_threads(6, work)
    assert w.grad.tolist() == [50.0 * 21] * 7


def test_threads_may_run_one_retained_graph() -> None:
    w = leaf(2.0)
    out = (w * w).exp().log()
    results: list[float] = []
    in_threads(4, lambda i: results.extend([grad(out, w, retain_graph=True)[0].item() for _ in range(20)]))
    assert results == pytest.approx([4.0] * 80)


def test_tasks_of_threads_are_their_own() -> None:
    seen: dict[int, list[int]] = {}
    wait = threading.Barrier(3)

    def work(i: int) -> None:
        def ask(g: Any) -> None:
            wait.wait()
            seen[i] = [current_graph_task_id()]
            wait.wait()
            seen[i].append(current_graph_task_id())
        Note.apply(leaf(1.0), ask).backward()

    in_threads(3, work)
    assert len({ids[0] for ids in seen.values()}) == 3
    assert all([ids[0] == ids[1] for ids in seen.values()])


def test_a_pass_runs_in_the_thread_that_asked_for_it() -> None:
    seen: list[Any] = []
    y = Note.apply(leaf(1.0), lambda g: seen.append(threading.get_ident()))
    expected: list[Any] = []

    def work(i: int) -> None:
        expected.append(threading.get_ident())
        y.backward()

    in_threads(1, work)
    assert seen == expected


def test_a_leaf_frozen_after_the_graph_was_built_gets_no_gradient() -> None:
    for freeze in (lambda t: t.requires_grad_(False), lambda t: t.detach_(), lambda t: setattr(t, "requires_grad", False)):
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = x * w
        freeze(x)
        y.sum().backward()
        assert x.grad is None and w.grad.tolist() == [1, 1]


def test_a_leaf_frozen_and_freed_again_gets_its_gradient() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    x.requires_grad_(False)
    x.requires_grad_(True)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("fn", [lambda x: x * x, lambda x: x.exp(), lambda x: x.prod()])
def test_freed_saved_tensors_are_an_error_without_incoming_gradients_too(fn: Any) -> None:
    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    y = fn(torch.ones(3, requires_grad=True))
    Nothing.apply(y).sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        Nothing.apply(y + 1).sum().backward()


def test_backward_to_a_non_leaf_runs_its_node_and_reads_what_it_saved() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sin()
    y.sum().backward(inputs=[y])
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward(inputs=[y])


def test_a_pruned_pass_unpacks_all_that_a_node_saved() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    seen: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append(1) or t):
        z = x * y
    torch.autograd.grad(z.sum(), x)
    assert len(seen) == 2


def test_a_pruned_pass_notices_a_write_to_what_an_unneeded_gradient_reads() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    base = x * 2
    z = base * y
    y.data = y.data.clone()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(z.sum(), x)


def test_a_pass_inside_of_a_pass_counts_for_itself():
    x = torch.tensor([2.0], requires_grad=True)
    shared = x * x

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                inner, = torch.autograd.grad(shared.sum(), x, retain_graph=True)      # the same nodes as the outer pass
            return grad * inner

    (Inner.apply(shared) + shared.sin() + shared).sum().backward()
    assert torch.allclose(x.grad, torch.tensor([(4 + torch.tensor(4.0).cos().item() + 1) * 4.0]))
    again = torch.tensor([2.0], requires_grad=True)
    (again * again).sum().backward()
    assert again.grad.item() == 4.0


@pytest.mark.parametrize("hooked", ["tensor", "accumulated"])
def test_accumulators_of_a_node_run_in_pytorchs_order(hooked: str) -> None:
    orders = {2: [0, 1], 3: [0, 1, 2], 4: [0, 2, 1, 3], 5: [0, 2, 4, 1, 3], 9: [0, 2, 6, 8, 5, 7, 4, 1, 3]}
    for count, expected in orders.items():
        leaves, log = [leaf(1.0) for _ in range(count)], []
        for i, x in enumerate(leaves):
            register = x.register_hook if hooked == "tensor" else x.register_post_accumulate_grad_hook
            register(lambda _, i=i, log=log: log.append(i))
        torch.cat(leaves).sum().backward()
        assert log == expected


def test_order_of_accumulators_in_larger_graphs() -> None:
    log: list[int] = []
    leaves = [leaf(1.0) for _ in range(5)]
    for i, x in enumerate(leaves):
        x.register_hook(lambda _, i=i: log.append(i))
    a, b, c, d, e = leaves
    torch.stack([a * b, c * d, e]).sum().backward()
    assert log == [4, 2, 3, 0, 1]
    log.clear()
    backward([a, b, c], [torch.ones(1)] * 3)
    assert log == [0, 1, 2]
