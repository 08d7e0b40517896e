"""What compile records and gives to backends, and what programs can say to it."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import retrograd as torch
from retrograd import fx, nn
from retrograd.compile import callback, tape, trie
from retrograd.compile.errors import Unsupported
from retrograd.compile.recorder import known_programs
from retrograd.compile.state import backend_config, config, counters
from retrograd.compiler import decorators
from retrograd.core.state import tls


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    torch.compiler.reset()
    counters.clear()
    yield
    torch.compiler.reset()
    counters.clear()


class Keep:
    """A backend that keeps the graphs it is given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.inputs: list[Any] = []

    def __call__(self, module: Any, inputs: Any) -> Any:
        self.graphs.append(module)
        self.inputs.append(inputs)
        return module.forward

    def names(self) -> list[list[str]]:
        return [[node.name for node in graph.graph.nodes if node.op == "call_function"] for graph in self.graphs]


def graphs_of(function: Any, *calls: Any, **options: Any) -> Keep:
    keep = Keep()
    compiled = torch.compile(function, backend=keep, **options)
    for args in calls:
        compiled(*args)
    return keep


def test_backend_gets_a_graph_of_ops_and_example_inputs() -> None:
    x = torch.ones(2, 3)
    keep = graphs_of(lambda t: torch.relu(t) + t.sum(), (x,))
    module = keep.graphs[0]
    assert isinstance(module, fx.GraphModule) and keep.names() == [["relu", "sum_1", "add"]]
    assert keep.inputs[0][0] is x and torch.equal(module(x)[-1], torch.relu(x) + x.sum())
    assert counters["stats"] == {"unique_graphs": 1, "calls_captured": 3}


def test_graph_returns_what_is_still_alive() -> None:
    keep = graphs_of(lambda t: (t * 2).exp(), (torch.ones(2),))
    assert len(keep.graphs[0].graph.output_node().args[0]) == 1


@pytest.mark.parametrize(("options", "expected"), [({}, 2), ({"dynamic": True}, 1), ({"dynamic": False}, 4)])
def test_sizes_that_change(options: Any, expected: int) -> None:
    calls = [(torch.ones(n, 3),) for n in (2, 3, 4, 5, 2)]
    assert len(graphs_of(lambda t: t.exp() * 2, *calls, **options).graphs) == expected


def test_sizes_zero_and_one_are_not_symbols() -> None:
    assert len(graphs_of(lambda t: t * 2, *[(torch.ones(n),) for n in (4, 1, 0, 5, 1, 0)], dynamic=True).graphs) == 3


def test_marked_size_is_a_symbol_from_the_start() -> None:
    keep = Keep()
    f = torch.compile(lambda t: t * 2, backend=keep)
    for n in (3, 4, 5):
        t = torch.ones(n, 2)
        torch.compiler.mark_dynamic(t, 0)
        f(t)
    assert len(keep.graphs) == 1


def test_symbols_are_arguments_of_the_graph() -> None:
    keep = graphs_of(lambda t, n: t.repeat(n), (torch.ones(3), 4), dynamic=True)
    assert [n.name for n in keep.graphs[0].graph.find_nodes(op="placeholder")] == ["arg0_1", "s0"]
    assert keep.graphs[0](torch.ones(3), 2)[0].shape == (6,)


def test_another_sequence_is_another_graph() -> None:
    keep = graphs_of(lambda t, flag: t.sin() if flag else t.cos(), *[(torch.ones(2), flag) for flag in (True, False, True)])
    assert keep.names() == [["sin"], ["cos"]]


def test_value_that_is_asked_for_splits_the_graph() -> None:
    one = torch.ones(2)
    keep = graphs_of(lambda t: (t * 2 if t.sum().item() > 0 else t * 3) + 1, (one,), (one,), (-one,))
    assert keep.names() == [["sum_1"], ["mul", "add"], ["mul", "add"]]
    assert [reason.split("\n")[0] for reason in counters["graph_break"].elements()] == [
        "Unsupported Tensor.item() call with capture_scalar_outputs=False"]       # it is counted when it is new


def test_print_and_disabled_functions_split_the_graph(capsys: Any) -> None:
    @torch.compiler.disable
    def outside(t: Any) -> Any:
        return t.exp()

    def f(t: Any) -> Any:
        y = t * 2
        print("here")
        z = outside(y)
        return z + 1
    assert graphs_of(f, (torch.ones(2),)).names() == [["mul"], ["add"]]
    assert capsys.readouterr().out == "here\n"


def test_fullgraph_refuses_a_break_and_names_the_line() -> None:
    f = torch.compile(lambda t: t * 2 if t.sum() > 0 else t, fullgraph=True)
    with pytest.raises(Unsupported, match=r"(?s)Data-dependent branching.*_local_scalar_dense.*from user.*fullgraph=True"):
        f(torch.ones(2))
    assert torch.compile(lambda t: t * 2, fullgraph=True)(torch.ones(1)).tolist() == [2.0]


def test_fullgraph_allows_values_that_no_branch_goes_by() -> None:
    f = torch.compile(lambda t: (t * t.sum().item(), bool(t.sum() > 0), float(t[0]), torch.tensor([t[0], t[1]])),
                      fullgraph=True)
    for _ in range(4):
        scaled, flag, number, made = f(torch.tensor([1.0, 2.0]))
        assert (scaled.tolist(), flag, number, made.tolist()) == ([3.0, 6.0], True, 1.0, [1.0, 2.0])
    with pytest.raises(Unsupported, match="Data-dependent branching"):
        torch.compile(lambda t: not t.sum(), fullgraph=True)(torch.ones(2))


def test_backend_that_fails_fails_every_time() -> None:
    calls = []

    def fails(module: Any, inputs: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise ValueError("not yet")
        return module.forward
    f = torch.compile(lambda t: t + 1, backend=fails)
    for _ in range(2):
        with pytest.raises(torch.compiler.BackendCompilerFailed) as caught:
            f(torch.ones(1))
        assert type(caught.value.inner_exception) is ValueError and caught.value.backend_name == "fails"
    assert f(torch.ones(1)).tolist() == [2.0] and len(calls) == 3
    with pytest.raises(torch.compiler.BackendCompilerFailed, match="did not return callable"):
        torch.compile(lambda t: t + 1, backend=lambda module, inputs: 3)(torch.ones(1))


def test_callbacks_hear_of_compilations() -> None:
    heard: list[Any] = []
    start = callback.on_compile_start(lambda args: heard.append("start"))
    end = callback.on_compile_end(lambda args: heard.append(args.callback_trigger.name))
    f = torch.compile(lambda t: t * 2)
    f(torch.ones(1))
    f(torch.ones(1))
    callback.callback_handler.remove_start_callback(start)
    callback.callback_handler.remove_end_callback(end)
    f(torch.ones(2, 2))
    assert heard == ["start", "DYNAMO"]


def test_scope_in_which_graph_breaks_are_errors() -> None:
    def f(t: Any, strict: bool) -> Any:
        with decorators.error_on_graph_break(strict):
            torch.compiler.graph_break()
        return t + 1
    for fullgraph in (False, True):
        g = torch.compile(f, backend="eager", fullgraph=fullgraph)
        assert g(torch.ones(1), False).tolist() == [2.0]
        with pytest.raises(Unsupported, match=r"Call to `torch._dynamo.graph_break\(\)`"):
            g(torch.ones(1), True)


def test_rest_of_a_call_can_be_left_out() -> None:
    def f(t: Any) -> Any:
        t = t.sin()
        decorators.skip_frame("enough")
        return t.cos().exp()
    assert graphs_of(f, (torch.ones(2),), (torch.ones(2),)).names() == [["sin"]]


def test_settings_of_groups_can_be_patched_and_saved() -> None:
    backend = backend_config
    saved = backend.save_config()
    with backend.patch({"triton.cudagraphs": True, "max_autotune": True}):
        assert backend.triton.cudagraphs and backend.shallow_copy_dict()["triton.cudagraphs"]
        backend.load_config(saved)
        assert not backend.triton.cudagraphs and not backend.max_autotune
    assert not backend.triton.cudagraphs


def test_backend_by_name() -> None:
    assert torch.compiler.list_backends() == ["cudagraphs", "inductor"]
    assert {"eager", "aot_eager"} <= set(torch.compiler.list_backends(exclude_tags=()))
    with pytest.raises(torch.compiler.InvalidBackend, match="Invalid backend: 'nonsense'"):
        torch.compile(lambda t: t, backend="nonsense")


def test_error_of_a_backend_names_it() -> None:
    def broken(module: Any, inputs: Any) -> Any:
        raise ValueError("cannot")
    with pytest.raises(torch.compiler.BackendCompilerFailed, match="backend='broken' raised:\nValueError: cannot"):
        torch.compile(lambda t: t + 1, backend=broken)(torch.ones(1))


def test_default_backend_can_be_set() -> None:
    keep = Keep()
    torch.compiler.set_default_backend(keep)
    try:
        torch.compile(lambda t: t + 1)(torch.ones(1))
    finally:
        torch.compiler.set_default_backend(None)
    assert len(keep.graphs) == 1 and torch.compiler.get_default_backend() == "inductor"


def test_compile_is_a_decorator_with_and_without_arguments() -> None:
    @torch.compile
    def f(t: Any) -> Any:
        return t + 1

    @torch.compile(backend="eager", dynamic=True)
    def g(t: Any) -> Any:
        """Adds two."""
        return t + 2
    assert f(torch.zeros(1)).item() == 1 and g(torch.zeros(1)).item() == 2
    assert g.__name__ == "g" and g.__doc__ == "Adds two."
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)    # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(f, mode="default", options={"a": 1})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(f, mode="fast")
    assert torch.compile(f, disable=True) is f


def test_compiled_module_is_the_module_to_everybody() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    compiled = torch.compile(net)
    assert isinstance(compiled, nn.Module) and compiled[0] is net[0] and len(compiled) == 2 and compiled._orig_mod is net
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in net.parameters()]
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in net.state_dict()]
    compiled.eval()
    assert not net.training and not net[0].training
    compiled.note = "new"
    assert net.note == "new"
    x = torch.ones(1, 2)
    assert torch.equal(compiled(x), net(x))


def test_compiled_module_is_copied_and_pickled_with_its_settings() -> None:
    net = torch.compile(nn.Linear(2, 2), backend="eager", dynamic=True)
    x = torch.ones(1, 2)
    expected = net(x)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(twin(x), expected) and twin._orig_mod is not net._orig_mod
        assert (twin._program.backend, twin._program.dynamic) == ("eager", True)
        with torch.no_grad():
            twin.weight.zero_()
        assert not torch.equal(twin(x), expected) and torch.equal(net(x), expected)


def test_stance_makes_calls_eager() -> None:
    keep = Keep()
    f = torch.compile(lambda t: t + 1, backend=keep)
    with torch.compiler.set_stance("force_eager"):
        f(torch.ones(1))
    assert not keep.graphs

    @torch.compiler.set_stance("force_eager")
    def eager() -> Any:
        return f(torch.ones(1))
    eager()
    assert not keep.graphs
    f(torch.ones(1))
    assert len(keep.graphs) == 1
    with pytest.raises(RuntimeError, match="invalid torch.compile stance 'odd'"):
        torch.compiler.set_stance("odd")


def test_stance_decides_about_new_sizes() -> None:
    keep = Keep()
    f = torch.compile(lambda t: t + 1, backend=keep)
    f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="Detected recompile"):
        f(torch.ones(3))
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(torch.ones(3)).tolist() == [2.0] * 3
    assert len(keep.graphs) == 1


def test_module_compiles_its_own_calls() -> None:
    keep = Keep()
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = torch.ones(1, 2)
    expected = net(x)
    seen: list[str] = []
    net.register_forward_hook(lambda m, a, out: seen.append("hook"))
    net.compile(backend=keep)
    assert torch.equal(net(x), expected) and len(keep.graphs) == 1 and seen == ["hook"]
    assert isinstance(net, nn.Sequential) and type(net).__name__ == "Sequential"
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(nn.Sequential(*net)))):
        assert torch.equal(twin(x), expected)
    twin = copy.deepcopy(net)
    assert type(twin) is nn.Sequential and twin._compiled_call_impl is None and len(keep.graphs) == 1


def test_explain_counts_graphs_and_breaks() -> None:
    def f(t: Any) -> Any:
        y = t.sin()
        torch.compiler.graph_break("because")
        return y.cos() + 1
    found = torch.compiler.explain(f)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 3)
    assert found.break_reasons[0].user_stack[-1].name == "f" and len(found.ops_per_graph) == 2
    assert "because" in str(found) and "torch.ops.aten.sin.default" in found.source


def test_compiled_graph_keeps_no_tensors() -> None:
    import weakref
    keep = Keep()
    x = torch.ones(2)
    torch.compile(lambda t: t + 1, backend=keep)(x)
    keep.inputs.clear()
    gone = weakref.ref(x)
    del x
    assert gone() is None


def test_result_of_a_programs_own_backend_counts() -> None:
    runs: list[int] = []

    def swap(module: Any, inputs: Any) -> Any:
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.relu.default:
                node.target = torch.ops.aten.neg.default
        module.recompile()
        return lambda *args: runs.append(1) or module(*args)
    f = torch.compile(lambda t: torch.relu(t) * 2, backend=swap)
    assert [f(torch.ones(1)).item(), f(torch.ones(1) * 3).item()] == [-2.0, -6.0] and len(runs) == 2


def test_own_backend_writes_and_draws_once() -> None:
    def write(t: Any) -> Any:
        t.add_(1)
        return t * 2
    x = torch.zeros(2)
    assert torch.compile(write, backend=Keep())(x).tolist() == [2.0, 2.0] and x.tolist() == [1.0, 1.0]
    draw = torch.compile(lambda: torch.rand(2) + 1, backend=Keep())
    torch.manual_seed(0)
    got = [draw(), draw(), torch.rand(2)]
    torch.manual_seed(0)
    assert all([torch.equal(a, b) for a, b in zip(got, [torch.rand(2) + 1, torch.rand(2) + 1, torch.rand(2)], strict=True)])


def test_own_backend_does_not_run_on_inputs_that_were_results() -> None:
    runs: list[int] = []

    def write(t: Any) -> Any:
        torch.sum(t.clone(), -2, out=t)
        return t * 2
    f = torch.compile(write, backend=lambda module, inputs: lambda *args: runs.append(1) or module(*args))
    with pytest.warns(UserWarning, match="resized"):
        assert f(torch.ones(3, 2)).tolist() == [6.0, 6.0] and not runs


def test_reset_forgets_graphs() -> None:
    keep = Keep()
    f = torch.compile(lambda t: t + 1, backend=keep)
    f(torch.ones(1))
    f(torch.ones(1))
    assert len(keep.graphs) == 1
    torch.compiler.reset()
    f(torch.ones(1))
    assert len(keep.graphs) == 2


def test_calls_without_anything_new_run_as_they_are() -> None:
    modes: list[int] = []

    def f(t: Any, n: int) -> Any:
        modes.append(len(tls.dispatch_modes))
        return t * n
    g = torch.compile(f)
    for n in (2, 2, 2, 2, 3, 2):
        g(torch.ones(2), n)
    assert modes == [1, 1, 1, 0, 1, 0]
    assert counters["stats"]["unique_graphs"] == 2
    torch.compiler.reset()
    g(torch.ones(2), 2)
    assert modes[-1] == 1


def test_print_is_pythons_own_afterwards() -> None:
    before = print
    torch.compile(lambda t: t + 1)(torch.ones(1))
    assert print is before
    said: list[str] = []
    with mock.patch("builtins.print", said.append):
        torch.compile(lambda t: print("patched"))(torch.ones(1))
    assert said == ["patched"] and print is before


def test_compiled_graphs_are_used_under_names_of_torch() -> None:
    import subprocess
    import sys
    program = """
import retrograd.as_torch; retrograd.as_torch.install()
import torch, torch._dynamo, torch._dynamo.config, torch._inductor.config
from torch._dynamo import compiled_autograd, config
from torch._dynamo.utils import counters
config.compiled_autograd = True
assert torch._dynamo.config is config and torch._dynamo.config.compiled_autograd
x = torch.ones(2, requires_grad=True)
torch.compile(lambda: x.exp().sum().backward(), backend="eager")()
assert counters["compiled_autograd"]["captures"] == 1
torch._dynamo.reset()
assert compiled_autograd.compiled_autograd_enabled is False and next(compiled_autograd.COMPILE_COUNTER) == 0
print(torch._dynamo.explain(lambda t: t + 1)(x).graph_count)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr


def test_programs_that_are_different_every_time_cost_no_more_and_more() -> None:
    calls: list[int] = []

    def f(t: Any, n: float) -> Any:
        calls.append(len(tls.dispatch_modes))
        return t * n
    g = torch.compile(f)
    for i in range(300):
        assert g(torch.ones(2), 0.5 + i).tolist() == [0.5 + i] * 2
    known = known_programs[f.__code__]
    assert max(len(known.variants), len(known.sizes), len(known.symbols)) <= config.recompile_limit
    assert sum(calls) < 20 and len(g._program.steady) < 20
    for _ in range(200):                          # until it is one that comes again
        g(torch.ones(2), 1000.5)
    assert calls[-50:].count(1) <= 1


def test_alternatives_at_one_place_of_a_tape_are_few() -> None:
    def f(t: Any) -> Any:
        return (t * 2.0).exp() + t
    g = torch.compile(f)
    with backend_config.patch(fusion_threshold=0, fusion_code=False):
        for n in list(range(1, 200)) * 2:
            assert g(torch.zeros(n)).sum().item() == n
    assert len(trie.known.root.steps) <= tape.MOST_CHOICES


def counted(function: Any, **options: Any) -> tuple[Any, list[Any]]:
    """A compiled function and the graphs that its backend gets."""
    graphs: list[Any] = []

    def backend(module: Any, examples: Any) -> Any:
        graphs.append(module)
        return module.forward
    return torch.compile(function, backend=backend, **options), graphs


def test_grad_mode_has_graphs_of_its_own() -> None:
    f, graphs = counted(lambda t: t * 2)
    f(torch.ones(2))
    with torch.no_grad():
        f(torch.ones(2))
    f(torch.ones(2))
    assert len(graphs) == 2


def test_float_that_changes_becomes_an_argument_of_the_graph() -> None:
    f, graphs = counted(lambda t, n: t * n)
    for n in (2.0, 3.0, 4.5, -0.0, 0.0):
        assert repr(f(torch.ones(1), n)) == repr(torch.ones(1) * n)
    assert len(graphs) == 2
    assert [node.op for node in graphs[1].graph.nodes].count("placeholder") == 2


def test_floats_that_are_no_numbers_stay_constants() -> None:
    f, graphs = counted(lambda t, n: t * n)
    for n in (2.0, float("inf"), float("inf"), 3.0, float("nan"), float("nan")):
        assert repr(f(torch.ones(1), n)) == repr(torch.ones(1) * n)
    assert len(graphs) == 4


def test_zeros_of_both_signs_are_different_constants() -> None:
    f, _ = counted(lambda t, n: torch.full_like(t, n), dynamic=False)
    for n in (0.0, -0.0, 0.0):
        assert repr(f(torch.ones(1), n)) == repr(torch.full((1,), n))


def test_graphs_are_called_as_in_pytorch_and_counted_as_frames() -> None:
    f, graphs = counted(lambda t: t * 2)
    f(torch.ones(2))
    assert type(graphs[0]).__name__ == "GraphModule"
    assert counters["frames"] == {"total": 1, "ok": 1}


def test_setting_that_does_not_exist_is_named() -> None:
    with pytest.raises(AttributeError, match=r"torch\._dynamo\.config\.nonexistent does not exist"):
        config.nonexistent          # noqa: B018


def test_refused_recompilation_names_file_and_line() -> None:
    f = torch.compile(lambda t: t * 2, backend="eager", dynamic=False)
    f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="filename: .*line number: "):
        f(torch.ones(3))


def test_a_training_loop_does_not_grow_the_map_of_nodes() -> None:
    from retrograd.compile.recorder import Spans
    spans, variant, other = Spans(), object(), object()
    spans.add(0, 3, variant)        # type: ignore[arg-type]
    spans.add(3, 6, variant)        # type: ignore[arg-type]
    spans.add(6, 8, other)          # type: ignore[arg-type]
    assert len(spans.items) == 2
    assert [spans.find(n) for n in (1, 5, 6, 7, 9)] == [variant, variant, variant, other, None]


def test_passes_of_transforms_are_part_of_the_graph() -> None:
    graphs = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return module.forward
    x = torch.tensor([0.5, 2.0])
    for make, function in ((torch.func.grad, lambda x: (x ** 3).sum()), (torch.func.jacrev, torch.sin),
                           (torch.func.hessian, lambda x: (x ** 3).sum())):
        graphs.clear()
        compiled = torch.compile(make(function), backend=backend, fullgraph=True)
        torch.testing.assert_close(compiled(x), make(function)(x))
        torch.testing.assert_close(compiled(x * 2), make(function)(x * 2))
        assert len(graphs) == 1
        torch.testing.assert_close(graphs[0](x)[-1], make(function)(x))


@pytest.mark.parametrize("stance", ["fail_on_recompile", "eager_on_recompile"])
def test_inputs_of_other_types_are_a_recompile_for_stances(stance: str) -> None:
    counter = Keep()
    f = torch.compile(lambda x: x + 1, backend=counter)
    f(torch.ones(2))
    with torch.compiler.set_stance(stance):
        f(torch.ones(2))
        for x in (torch.ones(2).double(), torch.ones(2, 2), torch.ones(2, requires_grad=True)):
            if stance == "eager_on_recompile":
                f(x)
            else:
                with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is 'fail_on_recompile'"):
                    f(x)
    assert len(counter.graphs) == 1


def test_another_branch_is_no_recompile() -> None:
    f = torch.compile(lambda x: x.exp() if x.sum() > 0 else x.neg())
    f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        assert f(-torch.ones(2)).tolist() == [1, 1]


def test_backends_of_programs_are_passed_mode_and_options() -> None:
    given: list[Any] = []

    def backend(module: Any, inputs: Any, **settings: Any) -> Any:
        given.append(settings)
        return module.forward
    for settings in ({}, {"mode": "default"}, {"mode": "own"}, {"options": {"depth": 3}}):
        torch.compiler.reset()
        torch.compile(lambda x: x + 1, backend=backend, **settings)(torch.ones(1))
    assert given == [{}, {}, {"mode": "own"}, {"options": {"depth": 3}}]


def test_unknown_modes_and_options_of_the_default_backend_raise() -> None:
    def f(x: Any) -> Any:
        return x + 1
    with pytest.raises(RuntimeError, match="Unrecognized mode=own, should be one of: default"):
        torch.compile(f, mode="own")
    with pytest.raises(RuntimeError, match=r"Unexpected optimization option depth, known options are \["):
        torch.compile(f, options={"depth": 3})
    with pytest.raises(RuntimeError, match="Unexpected type of attr max_autotune, got str should be bool"):
        torch.compile(f, options={"max-autotune": "yes"})
    with pytest.raises(AssertionError, match="Expected dynamic to be a bool"):
        torch.compile(f, dynamic=3)     # type: ignore[arg-type]
    seen: list[Any] = []
    torch.compile(f, options={"post_grad_custom_post_pass": seen.append, "triton.cudagraphs": False})(torch.ones(1))
    assert len(seen) == 1


def test_hooks_of_a_compiled_module_are_its_own() -> None:
    seen: list[str] = []
    net = torch.nn.Linear(2, 2)
    f = torch.compile(net)
    net.register_forward_hook(lambda module, args, result: seen.append("inner"))
    f.register_forward_pre_hook(lambda module, args: seen.append("before"))
    f.register_forward_hook(lambda module, args, result: seen.append("after") or result * 0)
    f.register_full_backward_hook(lambda module, given, left: seen.append("backward"))
    for _ in range(4):
        seen.clear()
        f(torch.ones(1, 2, requires_grad=True)).sum().backward()
        assert seen == ["before", "inner", "after", "backward"]
    net(torch.ones(1, 2))
    assert seen[-1] == "inner"


def test_code_is_told_that_it_is_compiled() -> None:
    def where() -> tuple[bool, bool]:
        return torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling()
    left_out = torch.compiler.disable(where)
    f = torch.compile(lambda x: (x + 1, where(), left_out(), where())[1:])

    def fails(x: Any) -> Any:
        raise ValueError(where())
    g = torch.compile(fails)
    for _ in range(4):
        assert f(torch.ones(1)) == ((True, True), (False, False), (True, True))
        with pytest.raises(ValueError, match=r"\(True, True\)"):
            g(torch.ones(1))
        assert where() == left_out() == (False, False)
    with torch.compiler.set_stance("force_eager"):
        assert f(torch.ones(1))[0] == (False, False)
