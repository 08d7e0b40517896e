"""Compiled autograd: gradients and side effects are the engine's; passes are captured once for each structure."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd import fx, nn
from retrograd.compile import compiled_autograd
from retrograd.compile.state import backend_config, config, counters, set_logs, verbose_log
from retrograd.utils.checkpoint import checkpoint


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    torch.compiler.reset()
    counters.clear()
    yield
    torch.compiler.reset()
    counters.clear()


def as_it_is(module: Any) -> Any:
    return module


def captures() -> int:
    return counters["compiled_autograd"]["captures"] if "compiled_autograd" in counters else 0


def both(program: Any, times: int = 2) -> int:
    """Compare what a program yields with compiled autograd and without; return the number of captures."""
    torch.manual_seed(0)
    expected = [list(program()) for _ in range(times)]
    torch.manual_seed(0)
    with compiled_autograd.enable(as_it_is):
        got = [list(program()) for _ in range(times)]
    for a, b in zip(flat(got), flat(expected), strict=True):
        if isinstance(b, torch.Tensor):
            assert torch.equal(a, b) and a.dtype is b.dtype and a.stride() == b.stride() and a.requires_grad == b.requires_grad
        else:
            assert a == b
    return captures()


def flat(values: Any) -> list[Any]:
    if isinstance(values, list | tuple):
        return [item for value in values for item in flat(value)]
    return [values]


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3), nn.Sigmoid())


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x, x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensors
        return grad * ctx.factor + a * b * 0 * a.shape[0], None


# ---- programs
def train() -> Iterator[Any]:
    model = mlp()
    for batch in (2, 3, 5):
        model(torch.randn(batch, 4)).sum().backward()
        yield [p.grad for p in model.parameters()]
        model.zero_grad()


def fan_in() -> Iterator[Any]:
    y = torch.randn(1, 4, requires_grad=True)
    torch.sigmoid(torch.randn(3, 4) * y + torch.sin(y) + y.cos()).sum().backward()
    yield y.grad


def custom_function() -> Iterator[Any]:
    for n in (3, 7):
        x = torch.arange(float(n)).requires_grad_()
        Scale.apply(x, float(n)).sum().backward()
        yield x.grad


def all_hooks() -> Iterator[Any]:
    seen: list[str] = []
    model = mlp()
    weight = model[0].weight
    weight.register_hook(lambda g: seen.append("tensor") or g * 2)

    def triple(t: Any) -> None:
        seen.append("accumulated")
        t.grad.mul_(3)
    weight.register_post_accumulate_grad_hook(triple)
    sink = weight.view_as(weight).grad_fn.next_functions[0][0]
    sink.register_prehook(lambda gs: seen.append("pre") or (gs[0] + 1,))
    sink.register_hook(lambda gi, go: seen.append("post") or None)
    out = model(torch.randn(2, 4))
    out.grad_fn.register_hook(lambda gi, go: seen.append("node") or (gi[0] * 5,))
    out.retain_grad()
    out.sum().backward()
    yield [p.grad for p in model.parameters()], out.grad, seen


def views_and_writes() -> Iterator[Any]:
    x = torch.randn(3, 4, requires_grad=True)
    y = x * 2
    y[1:].mul_(torch.randn(2, 4))
    y[:, 0].zero_()
    (y.t() @ y).sum().backward()
    yield x.grad


def second_order() -> Iterator[Any]:
    x = torch.randn(3, requires_grad=True)
    first, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    second, = torch.autograd.grad((first.tanh() * x).sum(), x, create_graph=True)
    second.sum().backward()
    yield x.grad, first.detach(), second.detach()


def lists_and_several_outputs() -> Iterator[Any]:
    x, y = torch.randn(2, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    a, b, _ = torch.cat([x, y, x * y], 1).split(3, dim=1)
    values, places = torch.stack([a, b]).max(0)
    torch.autograd.backward([values.sum(), a.sort()[0].prod()])
    yield x.grad, y.grad, places


def complex_and_mixed() -> Iterator[Any]:
    x = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    w = torch.randn(3, requires_grad=True)
    d = torch.randn(3, dtype=torch.float64, requires_grad=True)
    ((x * w).abs() + d).sum().backward()
    yield x.grad, w.grad, d.grad


def saved_hooks() -> Iterator[Any]:
    order: list[str] = []
    x = torch.randn(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(),
                                                  lambda a: order.append("unpack") or torch.from_numpy(a)):
        y = (x.sin() * x.exp()).sum()
    y.backward()
    yield x.grad, order


def checkpointed() -> Iterator[Any]:
    for reentrant in (False, True):
        model = mlp()
        x = torch.randn(2, 4, requires_grad=True)
        runs: list[int] = []
        out = checkpoint(lambda t, m=model, r=runs: r.append(1) or m(t), x, use_reentrant=reentrant)
        out.sum().backward()
        yield x.grad, [p.grad for p in model.parameters()], len(runs)


def accumulated() -> Iterator[Any]:
    x = torch.randn(3, requires_grad=True)
    for _ in range(3):
        (x * x).sum().backward()
        yield x.grad.clone()
    kept = x.grad
    (x * 2).sum().backward()
    yield x.grad is kept
    strided = torch.randn(4, 3).t().requires_grad_()
    (strided * 2).sum().backward()
    yield strided.grad, strided.grad.stride()


def none_gradients() -> Iterator[Any]:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, y * 3

        @staticmethod
        def backward(ctx: Any, gx: Any, gy: Any) -> Any:
            return gx, None if gy is None else gy * 3
    x, y = torch.randn(2, requires_grad=True), torch.randn(2, requires_grad=True)
    a, b = Half.apply(x.exp(), y.exp())
    a.sum().backward()
    yield x.grad, y.grad


def module_hooks() -> Iterator[Any]:
    model = mlp()
    seen: list[Any] = []
    model[2].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].sum().item()))
    model[0].register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    model(torch.randn(2, 4)).sum().backward()
    yield [p.grad for p in model.parameters()], seen


def callbacks() -> Iterator[Any]:
    done: list[int] = []
    x = torch.randn(2, requires_grad=True)
    x.register_hook(lambda g: torch.autograd.Variable._execution_engine.queue_callback(lambda: done.append(1)))
    (x * 2).sum().backward()
    yield done


PROGRAMS = {f.__name__: f for f in (train, fan_in, custom_function, all_hooks, views_and_writes, second_order,
                                    lists_and_several_outputs, complex_and_mixed, saved_hooks, checkpointed, accumulated,
                                    none_gradients, module_hooks, callbacks)}
CAPTURES = {"train": 1, "fan_in": 1, "custom_function": 1, "all_hooks": 1, "views_and_writes": 1, "second_order": 3,
            "lists_and_several_outputs": 1, "accumulated": 4}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_the_engines_results(name: str) -> None:
    count = both(PROGRAMS[name])
    assert count == CAPTURES.get(name, count) and count >= 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_pass_gives_the_engines_results(name: str, backend: str) -> None:
    torch.manual_seed(0)
    expected = flat([list(PROGRAMS[name]()) for _ in range(2)])
    torch.manual_seed(0)
    with compiled_autograd.enable(lambda module: torch.compile(module, backend=backend)):
        got = flat([list(PROGRAMS[name]()) for _ in range(2)])
    # products of small matrices are summed in another order where nothing watches
    for a, b in zip(got, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-6) if isinstance(b, torch.Tensor) else (
            a == (pytest.approx(b) if isinstance(b, float) else b))


# ---- what shares a capture
def count(program: Any, values: Any, **options: Any) -> int:
    with compiled_autograd.enable(as_it_is, **options):
        for value in values:
            x = torch.ones(3, 4, requires_grad=True)
            program(x, value)
    return captures()


@pytest.mark.parametrize(("program", "values", "expected"), [
    (lambda x, v: (x * v).sum().backward(), [2.0, 3.0], 1),
    (lambda x, v: x.pow(v).sum().backward(), [2, 3], 2),
    (lambda x, v: x.sum(v).sum().backward(), [0, 1], 2),
    (lambda x, v: x[:, :v].sum().backward(), [1, 2, 3], 1),
    (lambda x, v: x.expand(v, 3, 4).sum().backward(), [2, 5], 1),
    (lambda x, v: (x * x if v else x * (x + 0)).sum().backward(), [True, False], 2),
    (lambda x, v: x.to(v).sum().backward(), [torch.float32, torch.float64], 2),
    (lambda x, v: x.sum().backward(retain_graph=v), [True, False], 1),
    (lambda x, v: torch.autograd.grad(x.sum(), x) if v else x.sum().backward(), [True, False], 2),
    (lambda x, v: (x.register_hook(v), (x * 2).sum().backward()), [lambda g: g, lambda g: g * 2, lambda g: None], 1),
    (lambda x, v: ([x.register_hook(print_nothing) for _ in range(v)], (x * 2).sum().backward()), [1, 2], 2),
])
def test_captures_depend_on_structure_alone(program: Any, values: Any, expected: int) -> None:
    assert count(program, values) == expected


def test_type_of_a_number_is_part_of_the_structure_and_its_value_is_not() -> None:
    counts = []
    with compiled_autograd.enable(as_it_is):
        for number in (2.0, 3.0, 3, 4, True, False):
            x = torch.ones(2, requires_grad=True)
            (x * number).sum().backward()
            assert x.grad.tolist() == [number, number]
            counts.append(captures())
    assert counts == [1, 1, 2, 2, 3, 3]


def test_passes_of_function_transforms_are_not_captured() -> None:
    with compiled_autograd.enable(as_it_is):
        assert torch.func.grad(lambda x: (x * x).sum())(torch.ones(2)).tolist() == [2.0, 2.0]
        assert torch.func.jacrev(lambda x: x * 3)(torch.ones(2)).tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert captures() == 0


def print_nothing(grad: Any) -> None:
    return None


def test_size_that_changes_is_a_symbol_from_then_on() -> None:
    with compiled_autograd.enable(as_it_is, dynamic=False):
        for n in (2, 3, 4, 5):
            torch.ones(n, requires_grad=True).exp().sum().backward()
    assert captures() == 2
    assert "changed tensor shapes" in str(compiled_autograd.last_miss())


def test_every_compiler_is_asked() -> None:
    for compiler in (lambda m: m, lambda m: m.forward):
        with compiled_autograd.enable(compiler):
            torch.ones(2, requires_grad=True).exp().sum().backward()
    assert captures() == 2


def test_miss_names_the_first_node_that_differs() -> None:
    with compiled_autograd.enable(as_it_is):
        torch.ones(2, requires_grad=True).exp().sum().backward()
        assert str(compiled_autograd.last_miss()).startswith(
            "Cache miss due to new autograd node: torch::autograd::GraphRoot (NodeCall 0)")
        torch.ones(2, requires_grad=True).sin().sum().backward()
    assert str(compiled_autograd.last_miss()).startswith("Cache miss due to new autograd node: SinBackward0 (NodeCall 2)")


def test_miss_follows_the_order_of_the_logs() -> None:
    model, x = mlp(), torch.randn(2, 4)
    with compiled_autograd.enable(as_it_is):
        for _ in range(2):
            model(x).sum().backward()
    assert str(compiled_autograd.last_miss()).startswith(      # the last layer's weight, which has a gradient now
        "Cache miss due to new autograd node: torch::autograd::AccumulateGrad (NodeCall 5)")


def test_miss_counts_the_sizes_that_may_change() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    misses = []
    with compiled_autograd.enable(as_it_is, dynamic=False):
        for n in (10, 11, 12):
            model(torch.randn(n, 4)).sum().backward()
            model.zero_grad()
            misses.append(str(compiled_autograd.last_miss()))
    assert misses[1] == misses[2] == (
        "Cache miss due to 4 changed tensor shapes (total of 4): sizes[0], sizes[1], sizes[2], sizes[3]")


def segments_of(program: Any) -> list[list[str]]:
    """The ops of each graph that a backend gets for the pass of `program`."""
    graphs: list[list[str]] = []

    def backend(module: Any, examples: Any) -> Any:
        graphs.append([str(node.target) for node in module.graph.nodes if node.op == "call_function"
                       and "getitem" not in str(node.target)])
        return module.forward
    with compiled_autograd.enable(lambda module: torch.compile(module, backend=backend, dynamic=True)):
        program()
    return graphs


def test_graph_ends_with_a_hook_that_breaks_it() -> None:
    def double(grad: Any) -> Any:
        print("", end="")
        return grad * 2

    def program() -> None:
        y = torch.ones(3, requires_grad=True).sin()
        y.register_hook(double)
        y.sum().backward()
    first, second, third = segments_of(program)
    assert len(second) == 1 and "mul" in second[0]
    assert any(["cos" in name for name in third])


def test_unpacking_for_a_formula_adds_no_op() -> None:
    def program() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 2, lambda t: t / 2):
            y = torch.ones(3, requires_grad=True).sin().sum()
        y.backward()
    names = [name for graph in segments_of(program) for name in graph]
    before = names[:["cos" in name for name in names].index(True)]
    assert not any(["detach" in name for name in before])


def test_log_has_misses_and_graphs(caplog: Any) -> None:
    set_logs(compiled_autograd_verbose=True)
    try:
        with caplog.at_level("DEBUG", verbose_log.name), compiled_autograd.enable(as_it_is):
            mlp()(torch.randn(2, 4)).sum().backward()
    finally:
        set_logs(compiled_autograd_verbose=False)
    text = caplog.text
    assert "Cache miss due to new autograd node: torch::autograd::GraphRoot (NodeCall 0)" in text
    for line in ("SumBackward0 (NodeCall 1)", "SigmoidBackward0 (NodeCall 2)", "AddmmBackward0 (NodeCall 3)",
                 "TBackward0 (NodeCall 4)", "torch::autograd::AccumulateGrad (NodeCall 5)", "ReluBackward0 (NodeCall 6)",
                 "AddmmBackward0 (NodeCall 7)", "TBackward0 (NodeCall 8)", "torch::autograd::AccumulateGrad (NodeCall 11)"):
        assert f"code: {line}" in text


def test_graph_takes_what_may_change() -> None:
    modules: list[Any] = []
    x = torch.ones(2, 3, requires_grad=True)
    x.register_hook(lambda g: g)
    with compiled_autograd.enable(lambda m: modules.append(m) or m):
        (x * x.exp()).sum().backward()
    module = modules[0]
    assert isinstance(module, fx.GraphModule) and type(module).__name__ == "CompiledAutograd0"
    assert [n.name for n in module.graph.find_nodes(op="placeholder")] == ["inputs", "sizes", "scalars", "hooks", "packed_data"]
    text = module.print_readable(print_output=False)
    assert "code: MulBackward0 (NodeCall 2)" in text and "hook_type = 'tensor_pre_hook'" in text


# ---- scopes
def test_innermost_scope_counts_and_scopes_are_nested() -> None:
    used: list[str] = []
    with compiled_autograd.enable(lambda m: used.append("outer") or m):
        with compiled_autograd.enable(lambda m: used.append("inner") or m):
            torch.ones(1, requires_grad=True).exp().backward()
        with compiled_autograd.disable():
            torch.ones(1, requires_grad=True).exp().backward()
        torch.ones(1, requires_grad=True).exp().backward()
    torch.ones(1, requires_grad=True).exp().backward()
    assert used == ["inner", "outer"] and not compiled_autograd.is_enabled()


def test_scopes_must_end_in_order() -> None:
    outer, inner = compiled_autograd.enable(as_it_is), compiled_autograd.enable(as_it_is)
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(AssertionError, match="Nested Compiled Autograd Contexts must return before their parent context"):
        outer.__exit__(None, None, None)
    assert not compiled_autograd.is_enabled() and torch.autograd.is_multithreading_enabled()
    inner.__exit__(None, None, None)
    assert not compiled_autograd.is_enabled() and torch.autograd.is_multithreading_enabled()


def test_dynamic_must_be_a_bool() -> None:
    with pytest.raises(AssertionError, match="Expected dynamic to be bool, got <class 'str'>"):
        compiled_autograd.enable(as_it_is, dynamic="no").__enter__()     # type: ignore[arg-type]


def test_backward_inside_of_a_compiled_one_is_the_engines() -> None:
    x = torch.ones(2, requires_grad=True)

    def hook(grad: Any) -> Any:
        assert compiled_autograd.in_region()
        inner = torch.ones(2, requires_grad=True)
        with torch.enable_grad():
            inner.exp().sum().backward()
        return grad * inner.grad
    x.register_hook(hook)
    with compiled_autograd.enable(as_it_is):
        (x * 2).sum().backward()
    assert captures() == 1 and torch.allclose(x.grad, 2 * torch.ones(2).exp())


def test_switching_it_on_inside_is_refused() -> None:
    x = torch.ones(2, requires_grad=True)

    def hook(grad: Any) -> None:
        with compiled_autograd.enable(as_it_is), torch.enable_grad():
            torch.ones(2, requires_grad=True).sum().backward()
    x.register_hook(hook)
    with compiled_autograd.enable(as_it_is), pytest.raises(NotImplementedError, match="within another compiled autograd call"):
        (x * 2).sum().backward()
    assert not compiled_autograd.in_region()


def test_other_threads_are_captured_too() -> None:
    x = torch.ones(2, requires_grad=True)
    with compiled_autograd.enable(as_it_is):
        thread = threading.Thread(target=lambda: x.exp().sum().backward())
        thread.start()
        thread.join()
    assert captures() == 1 and x.grad is not None


def test_compiled_function_uses_the_setting_of_its_compilation() -> None:
    x = torch.ones(2, requires_grad=True)

    def step() -> None:
        x.exp().sum().backward()
    with config.patch(compiled_autograd=True):
        inside = torch.compile(step)
    outside = torch.compile(step)
    outside()
    assert captures() == 0
    inside()
    inside()
    assert captures() == 1
    with compiled_autograd.disable():
        inside()
    assert captures() == 1


# ---- errors
def test_freed_graph_and_changed_tensor_are_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp().sum()
    with compiled_autograd.enable(as_it_is):
        y.backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            y.backward()
        z = x.exp()
        loss = (z * z).sum()
        z.detach().add_(1)
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            loss.backward()


def test_user_error_comes_through() -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: 1 / 0)
    with compiled_autograd.enable(as_it_is), pytest.raises(ZeroDivisionError):
        x.exp().sum().backward()
    assert compiled_autograd.in_region() is False and torch.is_grad_enabled()


def test_gradient_of_the_wrong_shape_is_refused() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return torch.ones(7)
    with compiled_autograd.enable(as_it_is), pytest.raises(
            RuntimeError, match=r"invalid gradient at index 0 - got \[7\] but expected shape compatible with \[3\]"):
        Wrong.apply(torch.ones(3, requires_grad=True)).sum().backward()


def test_anomaly_mode_finds_gradients_that_are_no_numbers() -> None:
    def run() -> None:
        x = torch.zeros(2, requires_grad=True)
        (x.sqrt() * 0).sum().backward()
    with compiled_autograd.enable(as_it_is):
        run()
        with pytest.warns(UserWarning), torch.autograd.detect_anomaly(), pytest.raises(
                RuntimeError, match="Compiled Autograd returned NaN gradients for parameters"):
            run()
    assert captures() == 2


def test_configuration_is_patched_for_a_while() -> None:
    with config.patch("recompile_limit", 3):
        assert config.recompile_limit == 3

        @config.patch(recompile_limit=4)
        def inner() -> Any:
            return config.recompile_limit
        assert inner() == 4 and config.recompile_limit == 3
    assert config.recompile_limit == 8 and backend_config.fallback_random is False


def test_what_is_no_setting_cannot_be_set() -> None:
    for change in (lambda: setattr(config, "no_setting", 1), lambda: config.patch(no_setting=1).__enter__()):
        with pytest.raises(AttributeError, match="torch._dynamo.config.no_setting does not exist"):
            change()
    with pytest.raises(AttributeError, match="no_setting"), config.patch(recompile_limit=1, no_setting=1):
        pass
    assert config.recompile_limit == 8 and not hasattr(config, "no_setting")
    with config.patch(_private=1):                # stored, for programs of other versions
        assert config._private == 1
    assert not hasattr(config, "_private")


def test_graphs_are_logged_by_the_level_of_now_and_misses_by_that_of_the_scope(caplog: Any) -> None:
    with compiled_autograd.enable(as_it_is):
        set_logs(compiled_autograd_verbose=True)
        try:
            with caplog.at_level("DEBUG", verbose_log.name):
                torch.ones(2, requires_grad=True).sum().backward()
        finally:
            set_logs(compiled_autograd_verbose=False)
    assert "SumBackward0 (NodeCall 1)" in caplog.text and "Cache miss" not in caplog.text


def test_callbacks_need_one_graph() -> None:
    calls: list[int] = []

    class Queues(torch.autograd.Function):
        breaks = False

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            torch.autograd.Variable._execution_engine.queue_callback(lambda: calls.append(1))
            if Queues.breaks:
                torch.compiler.graph_break()
            return grad * 2

    def compile(module: Any) -> Any:
        return torch.compile(module, backend=lambda gm, inputs: gm.forward)
    x = torch.ones(2, requires_grad=True)
    with compiled_autograd.enable(compile):
        Queues.apply(x).sum().backward()
        assert calls == [1]
        Queues.breaks = True
        with pytest.raises(AssertionError, match="only supported when Compiled Autograd is enabled with fullgraph=True"):
            Queues.apply(x).sum().backward()


def test_backward_that_is_not_traceable_is_between_graphs() -> None:
    graphs: list[Any] = []

    class Doubles(torch.autograd.Function):
        is_traceable = False

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def compile(module: Any, fullgraph: bool = False) -> Any:
        return torch.compile(module, fullgraph=fullgraph, backend=lambda gm, inputs: graphs.append(gm) or gm.forward)
    x = torch.ones(2, requires_grad=True)
    with compiled_autograd.enable(compile):
        Doubles.apply(x.exp()).exp().sum().backward()
    expected, = torch.autograd.grad((x.exp() * 2).exp().sum(), x)
    assert len(graphs) == 2 and torch.allclose(x.grad, expected)
    with compiled_autograd.enable(lambda module: compile(module, True)), pytest.raises(Exception, match="not traceable"):
        Doubles.apply(x.exp()).sum().backward()


def test_region_is_a_variable_too() -> None:
    seen: list[bool] = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: seen.append(compiled_autograd.in_compiled_autograd_region))
    with compiled_autograd.enable(as_it_is):
        (x * 2).sum().backward()
    assert seen == [True] and not compiled_autograd.in_compiled_autograd_region


def test_threads_go_backward_at_the_same_time() -> None:
    results: dict[int, list[float]] = {}
    start = threading.Barrier(4)

    def work(k: int) -> None:
        start.wait()
        for _ in range(5):
            x = torch.ones(3, requires_grad=True)
            x.register_hook(lambda grad: grad * 1)
            (x.sin() * k).sum().backward()
            results[k] = x.grad.tolist()
    expected = torch.ones(3).cos().tolist()
    with compiled_autograd.enable(lambda module: module):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert compiled_autograd.is_enabled() and not compiled_autograd.in_region()
    assert {k: [round(n / k, 4) for n in found] for k, found in results.items()} == {
        k: [round(n, 4) for n in expected] for k in range(1, 5)}


def test_nan_outputs_are_named_by_their_nodes() -> None:
    t = torch.zeros(2, requires_grad=True)
    names: list[str] = []

    def keep_names(module: Any) -> Any:
        names.extend([str(node) for node in module.graph.output_node().args[0]])
        return module
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly(), compiled_autograd.enable(
            keep_names), pytest.raises(RuntimeError) as raised:
        torch.autograd.grad((t.sqrt() * 0).sum(), t)
    assert str(raised.value) == f"Compiled Autograd returned NaN gradients for output nodes: {names[0]}."


def test_only_fullgraph_can_be_overridden() -> None:
    with config.patch(compiled_autograd=True, compiled_autograd_kwargs_override={"dynamic": True}):
        f = torch.compile(lambda t: t.sin().sum().backward(), backend="eager")
        with pytest.raises(AssertionError, match="Only `fullgraph` kwarg override is supported for now"):
            f(torch.ones(2, requires_grad=True))


def offloaded(folder: Any) -> Any:
    def pack(t: Any) -> Any:
        path = folder / "saved"
        torch.save(t, path)
        return path
    return torch.autograd.graph.saved_tensors_hooks(pack, torch.load)


@pytest.mark.parametrize(("kind", "graphs"), [("recomputed", 5), ("recomputed inside", 3), ("file", 2)])
def test_hooks_that_run_programs_or_read_files_are_between_graphs(tmp_path: Any, kind: str, graphs: int) -> None:
    made: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        made.append(module)
        return module.forward
    x = torch.arange(3.0).requires_grad_()
    if kind == "file":
        with offloaded(tmp_path):
            out = x ** 2
    else:
        out = checkpoint(lambda t: (t.sin() * t.cos()).exp(), x, use_reentrant=kind == "recomputed inside")
    with compiled_autograd.enable(lambda module: torch.compile(module, backend=backend)):
        out.sum().backward()
    y = x.detach().requires_grad_()
    (y ** 2 if kind == "file" else (y.sin() * y.cos()).exp()).sum().backward()
    assert torch.allclose(x.grad, y.grad) and len(made) == graphs and captures() == 1


def test_recomputation_is_in_the_graph_where_breaks_are_errors() -> None:
    x = torch.arange(3.0).requires_grad_()
    out = checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)
    with compiled_autograd.enable(lambda module: torch.compile(module, fullgraph=True)):
        out.sum().backward()
    assert torch.allclose(x.grad, x.cos() * x.sin().exp())


def test_graph_is_freed_by_a_pass_that_raises() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    x.register_hook(lambda grad: [][0])
    with compiled_autograd.enable(as_it_is):
        with pytest.raises(IndexError):
            loss.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            loss.backward()


def test_saved_tensors_may_be_modified_under_a_mode_that_clones_them() -> None:
    def program() -> Any:
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            a = torch.ones(2, 3, requires_grad=True)
            b = a.clone()
            c = b[:]                              # up to the largest integer, which is no size
            out = (c ** 2).sum()
            b *= 2
            out.backward()
        yield a.grad
    assert both(program) == 1


def test_leaves_are_inputs_after_saved_tensors_and_edges_to_one_place_share_sizes() -> None:
    leaf = torch.zeros(1, requires_grad=True)
    with compiled_autograd.enable(as_it_is), torch.autograd.set_detect_anomaly(True):
        with pytest.raises(RuntimeError, match=r"parameters: inputs\[2\]"):       # 0: the first gradient, 1: the square root
            leaf.sqrt().sum().backward(torch.tensor(float("nan")))

    x = torch.ones(2, requires_grad=True)
    with compiled_autograd.enable(as_it_is):
        (x * x).sum().backward()
        module = compiled_autograd.cache_info()[-1].module
    used = [node for node in module.graph.nodes if getattr((node.args or (None,))[0], "name", "") == "sizes"]
    assert len({str(node.args[1]) for node in used}) == 3


def test_reset_in_a_scope_ends_capture_until_its_end() -> None:
    with compiled_autograd.enable(as_it_is):
        with compiled_autograd.enable(as_it_is):
            torch.ones(1, requires_grad=True).exp().backward()
            torch.compiler.reset()
            torch.ones(1, requires_grad=True).exp().backward()
            assert not compiled_autograd.is_enabled() and captures() == 1
        torch.ones(1, requires_grad=True).exp().backward()      # the inner scope has put back the compiler of the outer one
        assert captures() == 2
    assert not compiled_autograd.is_enabled() and torch.autograd.is_multithreading_enabled()


def test_order_of_inputs_is_part_of_the_key() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with compiled_autograd.enable(as_it_is):
        for count, inputs in ((1, [x, y]), (2, [y, x]), (2, [x, y]), (3, [x])):
            (x * y).sum().backward(inputs=inputs)
            x.grad = y.grad = None
            assert captures() == count


def test_variable_says_that_capture_is_off_inside_a_captured_pass() -> None:
    seen: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: seen.append((compiled_autograd.in_region(), compiled_autograd.compiled_autograd_enabled)))
    with compiled_autograd.enable(as_it_is):
        (x * 2).sum().backward()
        seen.append((compiled_autograd.in_region(), compiled_autograd.compiled_autograd_enabled))
    assert seen == [(True, False), (False, True)]
