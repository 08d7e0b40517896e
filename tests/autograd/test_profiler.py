"""The autograd profiler: which events it shows, with which numbers, and that it leaves nothing behind."""
from __future__ import annotations

import json
import sqlite3
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function
from retrograd.autograd.profiler import (
    KinetoStepTracker,
    RecordFunctionFast,
    emit_itt,
    emit_nvtx,
    kineto_available,
    load_nvprof,
    profile,
    profiler_enabled,
    record_function,
)
from retrograd.autograd.profiler_results import EventType
from retrograd.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from retrograd.autograd.python_calls import PythonCalls
from retrograd.core.state import switches, tls
from retrograd.profiler import ProfilerActivity, itt, schedule, tensorboard_trace_handler
from retrograd.profiler import profile as step_profile

EVALUATE = "autograd::engine::evaluate_function: "


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.profiler
    yield
    assert (switches.any_mode, tls.slow_path, tls.profiler) == before


def names(prof: Any) -> list[str]:
    return [event.name for event in prof.function_events]


def tree(prof: Any) -> list[Any]:
    """The names of the events as nested lists."""
    def below(event: Any) -> Any:
        return [event.name, *[below(child) for child in event.cpu_children]] if event.cpu_children else event.name
    return [below(event) for event in prof.function_events if event.cpu_parent is None]


def event(name: str, start: float, end: float, **more: Any) -> FunctionEvent:
    return FunctionEvent(id=0, name=name, thread=0, start_us=start, end_us=end, **more)


# ---- which events there are
def test_ops_are_events_in_the_order_they_ran() -> None:
    x = torch.ones(2)
    with profile() as prof:
        assert profiler_enabled()
        x * 2 + 4
    assert not profiler_enabled()
    assert names(prof) == ["aten::mul", "aten::add"]


def test_composites_contain_the_ops_that_they_are_made_of() -> None:
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with profile() as prof:
        torch.nn.functional.linear(x, weight, bias)
    assert tree(prof) == [["aten::linear", "aten::t", "aten::addmm"]]


@pytest.mark.parametrize("name, fill", [("ones", "fill_"), ("zeros", "zero_"), ("rand", "uniform_"), ("randn", "normal_")])
def test_factories_are_empty_and_a_fill_with_the_same_result(name: str, fill: str) -> None:
    make = getattr(torch, name)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        torch.manual_seed(3)
        expected = make(3, 5, dtype=dtype)
        torch.manual_seed(3)
        with profile() as prof:
            made = make(3, 5, dtype=dtype, requires_grad=True)
        assert tree(prof) == [["aten::" + name, "aten::empty", "aten::" + fill]]
        assert made.requires_grad and made.dtype is dtype
        assert torch.equal(made.detach(), expected)
        assert [e.sequence_nr for e in prof.function_events] == [-1, -1, -1]


def test_errors_of_factories_are_the_same() -> None:
    with pytest.raises(RuntimeError) as plain:
        torch.zeros(-1)
    with pytest.raises(RuntimeError) as watched, profile():
        torch.zeros(-1)
    assert str(plain.value) == str(watched.value)


def test_a_backward_pass_has_two_events_for_each_node() -> None:
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        (x * x).sum().backward()
    leaf = "torch::autograd::AccumulateGrad"
    assert tree(prof)[-3:] == [
        [EVALUATE + "SumBackward0", ["SumBackward0", "aten::expand"]],
        [EVALUATE + "MulBackward0", ["MulBackward0", "aten::mul", "aten::mul"], "aten::add"],
        [EVALUATE + leaf, leaf],
    ]


def test_an_accumulator_that_only_captures_does_not_run() -> None:
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        torch.autograd.grad(x.sum(), x)
    assert names(prof)[-1] == EVALUATE + "torch::autograd::AccumulateGrad"


def test_gradients_are_the_same_and_as_private_as_without_profiler() -> None:
    def gradient() -> Any:
        x = torch.arange(4.0, requires_grad=True)
        (x.exp() * x).sum().backward()
        return x.grad
    expected = gradient()
    with profile():
        got = gradient()
    assert torch.equal(got, expected)


def test_custom_functions_are_events_by_their_name() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        y = Square.apply(x)
        y.sum().backward()
    forward, mul = prof.function_events[:2]
    node = next(e for e in prof.function_events if e.name == "SquareBackward")
    assert (forward.name, mul.name, mul.sequence_nr) == ("Square", "aten::mul", -1)
    assert forward.sequence_nr == node.sequence_nr >= 0


# ---- numbers
def test_an_op_and_its_node_share_a_sequence_number() -> None:
    with profile() as prof:
        x = torch.randn(3, 3, requires_grad=True)
        (x + x).sum(dim=None).backward()
    for op, node in (("aten::add", "AddBackward0"), ("aten::sum", "SumBackward1")):
        forward = next(e for e in prof.function_events if e.name == op)
        backward = [e for e in prof.function_events if e.name.endswith(node)]
        assert [e.name for e in backward] == [EVALUATE + node, node]
        assert [e.sequence_nr for e in backward] == [forward.sequence_nr] * 2
        assert forward.fwd_thread == 0 and [e.fwd_thread for e in backward] == [forward.thread] * 2
        assert [e.scope for e in backward] == [0, 1]


def test_below_autograd_there_are_no_sequence_numbers() -> None:
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        with torch.no_grad():
            x + x
        with torch.inference_mode():
            x + x
        torch.zeros_like(x)
    assert [e.sequence_nr for e in prof.function_events] == [-1, -1, -1]


def test_double_backward_numbers_what_it_records() -> None:
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        (grad,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
        grad.sum().backward()
    forward = {e.sequence_nr for e in prof.function_events if e.name == "aten::mul" and e.sequence_nr >= 0}
    backward = {e.sequence_nr for e in prof.function_events if e.name == "MulBackward0"}
    assert backward == forward and len(forward) == 3


def test_shapes_are_those_of_tensor_arguments() -> None:
    x, weight = torch.ones(2, 3), torch.ones(4, 3)
    with profile(record_shapes=True) as prof:
        torch.nn.functional.linear(x, weight)
        torch.cat([x, x])
        x + 1
    shapes = {e.name: e.input_shapes for e in prof.function_events}
    assert shapes["aten::linear"] == [[2, 3], [4, 3], []]
    assert shapes["aten::cat"] == [[], []]
    assert shapes["aten::add"] == [[2, 3], [], []]


def test_flops_of_products_and_convolutions() -> None:
    a, b = torch.ones(4, 5), torch.ones(5, 6)
    image, kernel = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2)
    with profile(with_flops=True) as prof:
        a.mm(b)
        torch.addmm(torch.ones(4, 6), a, b)
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        a * a
        torch.nn.functional.conv2d(image, kernel)
    flops = {e.name: e.flops for e in prof.function_events if e.flops}
    assert flops == {"aten::mm": 240, "aten::addmm": 240, "aten::bmm": 240, "aten::mul": 20, "aten::conv2d": 72}
    assert "Total FLOPs" in prof.table()


def test_memory_counts_new_results_only() -> None:
    x = torch.ones(4, 5)
    with profile(profile_memory=True) as prof:
        x + x
        x.t()
        x.add_(1)
    assert [(e.name, e.cpu_memory_usage) for e in prof.function_events] == [
        ("aten::add", 80), ("[memory]", -80), ("aten::t", 0), ("aten::add_", 0)]
    assert "Self CPU Mem" in prof.table()


def test_stacks_begin_at_the_user() -> None:
    x = torch.ones(2)
    with profile(with_stack=True) as prof:
        x.sin()
    event, = [e for e in prof.function_events if e.name == "aten::sin"]
    assert "test_stacks_begin_at_the_user" in event.stack[0]
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()


def within(node: Any) -> list[str]:
    """The names of a node of the tree of events and of what is in it."""
    return [node.name, *[name for child in node.children for name in within(child)]]


def test_calls_of_functions_and_modules_are_events() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    x = torch.ones(1, 2)
    model(x)                                        # what is loaded on first use is loaded now

    def step() -> Any:
        return model(x)

    with profile(with_stack=True) as prof:
        step()
    outer, = prof.kineto_results.experimental_event_tree()
    here, = [e for e in prof.function_events if e.name.endswith("): step")]
    assert here.is_python_function and here.activity_type == "python_function"
    names = [e.name for e in prof.function_events if e.name.startswith("nn.Module")]
    assert names == ["nn.Module: Sequential_0", "nn.Module: Linear_0", "nn.Module: ReLU_0", "nn.Module: Linear_1"]
    found = [e for e in walk(outer) if e.name == "nn.Module: Linear_0"]
    assert found[0].tag is EventType.PyCall and found[0].extra_fields.module.cls_name == "Linear"
    assert [p[0] for p in found[0].extra_fields.module.parameters] == ["weight", "bias"]
    assert "aten::linear" in within(found[0])
    callsite = next(e for e in walk(outer) if e.name.endswith("): step")).extra_fields.callsite
    assert callsite.function_name == "step" and callsite.file_name == __file__
    assert sys.getprofile() is None or not isinstance(getattr(sys.getprofile(), "__self__", None), PythonCalls)


def walk(node: Any) -> list[Any]:
    return [node, *[found for child in node.children for found in walk(child)]]


def test_calls_that_raise_are_closed() -> None:
    def fail() -> None:
        raise ValueError

    with profile(with_stack=True) as prof:
        with pytest.raises(ValueError):
            fail()
        after = len("after")
    event, = [e for e in prof.function_events if e.name.endswith("): fail")]
    assert event.time_range.end < max(e.time_range.end for e in prof.function_events) and after


def test_memory_that_is_given_back_is_an_event_or_part_of_an_op(tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        x = torch.ones(3)
        y = x * 2
        del x
        del y
    found = [e for e in prof.function_events if e.name == "[memory]"]
    assert [e.cpu_memory_usage for e in found] == [-12, -12]
    nodes = [n for top in prof.kineto_results.experimental_event_tree() for n in walk(top) if n.tag is EventType.Allocation]
    assert [n.extra_fields.alloc_size for n in nodes] == [12, 12, -12, -12]
    assert [n.extra_fields.total_allocated for n in nodes] == [12, 24, 12, 0]
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [row["args"]["Bytes"] for row in rows if row["name"] == "[memory]"] == [12, 12, -12, -12]


def test_events_of_several_cycles_are_kept_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrograd.profiler.profiler.WARNED", set())
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1)
    counts = []
    for keep in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.profiler.profile(schedule=plan, acc_events=keep) as prof:
                for _ in range(4):
                    torch.ones(1).sin()
                    prof.step()
        assert ["clears events at the end of each cycle" in str(w.message) for w in caught] == [True] * (not keep)
        counts.append(len([e for e in prof.events() if e.name == "aten::sin"]))
    assert counts == [1, 2] and isinstance(prof, torch.profiler._KinetoProfile) and prof.get_trace_id()
    with pytest.raises(AssertionError, match="Profiler must be initialized before stopping trace"):
        torch.profiler.profile().stop()


# ---- named ranges
def test_ranges_contain_what_runs_within_them() -> None:
    x = torch.ones(2)
    with profile() as prof:
        with record_function("outer"):
            x * 2
            with record_function("inner"):
                x - 1
    assert tree(prof) == [["outer", "aten::mul", ["inner", "aten::sub"]]]
    assert prof.function_events[0].scope == 7 and prof.function_events[0].is_user_annotation


def test_ranges_decorate_functions_even_recursive_ones() -> None:
    x = torch.ones(2)

    @record_function("count")
    def count_down(n: int) -> None:
        x.sin()
        if n:
            count_down(n - 1)

    with profile() as prof:
        count_down(2)
    assert tree(prof) == [["count", "aten::sin", ["count", "aten::sin", ["count", "aten::sin"]]]]


def test_ranges_may_be_left_out_of_order_and_without_profiler() -> None:
    outer = record_function("outer")
    outer.__enter__()
    with record_function("inner"):
        outer.__exit__(None, None, None)
    with pytest.raises(AssertionError, match="Expected record to be set"):
        record_function("never").__exit__(None, None, None)


def test_ranges_by_hand() -> None:
    with profile() as prof:
        handle = torch.ops.profiler._record_function_enter("bar", None)
        torch.ops.profiler._record_function_exit(handle)
        torch.ops.profiler._record_function_enter("never left")
    assert names(prof) == ["bar", "never left"]
    assert all(e.time_range.end > 0 for e in prof.function_events)


# ---- scopes
def test_a_profiler_is_used_once() -> None:
    prof = profile()
    assert repr(prof) == "<unfinished torch.autograd.profile>" and prof.table() == "" and prof.self_cpu_time_total == 0
    with prof, pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        prof.__enter__()
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        prof.__enter__()


def test_a_disabled_profiler_does_nothing() -> None:
    prof = profile(enabled=False)
    with prof as entered:
        assert entered is None and not profiler_enabled()
    assert repr(prof) == "None"
    with pytest.raises(AttributeError):
        prof.key_averages()


def test_an_inner_profiler_has_the_inner_events() -> None:
    x = torch.ones(2)
    with profile() as outer:
        x.sin()
        with profile() as inner:
            x.cos()
        x.tan()
    assert (names(outer), names(inner)) == (["aten::sin", "aten::tan"], ["aten::cos"])


def test_other_threads_are_not_seen() -> None:
    x = torch.ones(2)
    with profile() as prof:
        thread = threading.Thread(target=lambda: x.sin())
        thread.start()
        thread.join()
    assert names(prof) == []


def test_an_error_ends_the_events_it_leaves() -> None:
    class Fails(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ValueError("no")

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no"), profile() as prof:
        Fails.apply(x).sum().backward()
    assert names(prof)[-2:] == [EVALUATE + "FailsBackward", "FailsBackward"]
    assert all(e.time_range.elapsed_us() >= 0 for e in prof.function_events)


def test_works_beside_anomaly_mode() -> None:
    x = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="returned nan values"), profile() as prof, torch.autograd.detect_anomaly():
            (x / x).sum().backward()
    assert "DivBackward0" in names(prof)


def test_devices_that_are_missing_are_said_to_be() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        profile(use_device="cuda")
    with pytest.raises(AssertionError, match="Device-only events supported only with Kineto"):
        profile(use_cpu=False)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"), emit_nvtx():
        pass
    with emit_itt() as scope, pytest.raises(RuntimeError, match="ITT annotation context manager is not reentrant"):
        scope.__enter__()
    assert not itt.is_available() and kineto_available()
    with pytest.raises(RuntimeError, match="ITT functions not installed"), itt.range("x"):
        pass


# ---- lists, averages, tables
def test_an_event_lies_within_the_innermost_that_contains_it() -> None:
    events = EventList([event("a", 0, 10), event("b", 1, 5), event("c", 2, 3), event("d", 5, 9), event("e", 6, 6)])
    events._build_tree()
    assert [e.cpu_parent and e.cpu_parent.name for e in events] == [None, "a", "b", "a", "d"]
    assert [e.self_cpu_time_total for e in events] == [2, 3, 1, 4, 0]
    assert events.self_cpu_time_total == 10


def test_an_event_that_only_overlaps_is_no_child() -> None:
    events = EventList([event("a", 0, 2), event("b", 1, 2), event("c", 1, 3)])
    events._populate_cpu_children()
    assert [[c.name for c in e.cpu_children] for e in events] == [[], [], ["b"]]


def test_an_only_child_of_the_same_name_is_merged() -> None:
    events = EventList([event("a", 0, 10), event("a", 1, 9), event("b", 2, 4)])
    events._build_tree()
    assert [(e.name, e.self_cpu_time_total) for e in events] == [("a", 8), ("b", 2)]


def test_averages_by_name_and_by_shape() -> None:
    events = EventList([event("a", 0, 2, input_shapes=[[1]]), event("a", 3, 7, input_shapes=[[2]])])
    events._build_tree()
    assert [(a.key, a.count, a.cpu_time) for a in events.key_averages()] == [("a", 2, 3.0)]
    assert [a.input_shapes for a in events.key_averages(group_by_input_shapes=True)] == [[[1]], [[2]]]
    total = events.total_average()
    assert (total.key, total.count, total.cpu_time_total) == ("Total", 2, 6)


def test_averages_of_different_things_are_refused() -> None:
    average = FunctionEventAvg().add(event("a", 0, 1))
    with pytest.raises(AssertionError, match="Expected keys to match, but got b vs a"):
        average.add(event("b", 0, 1))


def test_the_table_reads_as_pytorchs() -> None:
    rule = "-------  " + "------------  " * 7
    assert EventList([event("foo", 10, 15, node_id=0)]).table(header="HDR") == "\n".join([
        "=" * 105, "HDR", rule,
        "   Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls       Node ID  ", rule,
        "    foo       100.00%       5.000us       100.00%       5.000us       5.000us             1             0  ", rule,
        "Self CPU time total: 5.000us", ""])


def test_the_table_cuts_what_is_too_wide() -> None:
    events = EventList([event("x" * 70, 0, 3, input_shapes=[[1] * 40])])
    line = events.table().splitlines()[3]
    assert line.startswith("x" * 52 + "...  ") and line.endswith("  " + str([[1] * 40])[:80] + "  ")
    assert "x" * 70 in events.table(max_name_column_width=None)


def test_the_table_sorts_and_limits() -> None:
    events = EventList([event("short", 0, 1), event("long", 2, 9)])
    assert "short" not in events.table(sort_by="cpu_time_total", row_limit=1)
    with pytest.raises(AttributeError):
        events.table(sort_by="zork")
    assert EventList().table() == ""


def test_str_is_the_table() -> None:
    with profile() as prof:
        torch.ones(3).sum()
    assert str(prof) == prof.table() == prof.function_events.table()


# ---- files
def test_traces_are_json_and_saved_once(tmp_path: Path) -> None:
    with profile(record_shapes=True) as prof, record_function("range"):
        torch.ones(3)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [(r["cat"], r["name"]) for r in rows if r["ph"] == "X"] == [
        ("user_annotation", "range"), ("cpu_op", "aten::ones"), ("cpu_op", "aten::empty"), ("cpu_op", "aten::fill_"),
        ("Trace", "PyTorch Profiler (0)")]
    with pytest.raises(RuntimeError, match="Trace is already saved"):
        prof.export_chrome_trace(str(tmp_path / "again.json"))
    prof.function_events.export_chrome_trace(str(tmp_path / "list.json"))
    assert json.loads((tmp_path / "list.json").read_text())[0]["name"] == "range"


def test_stacks_are_written_outermost_first(tmp_path: Path) -> None:
    events = EventList([event("a", 0, 8, stack=["f.py(3): inner one", "f.py(9): outer"])])
    events.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
    assert (tmp_path / "stacks").read_text() == "f.py(9):_outer;f.py(3):_inner_one 8\n"
    with pytest.raises(ValueError, match="metric should be one of"):
        events.export_stacks(str(tmp_path / "stacks"), "zork")
    with profile() as prof:
        pass
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        prof.export_stacks(str(tmp_path / "stacks"))


def test_nvprof_traces_are_read(tmp_path: Path) -> None:
    path = str(tmp_path / "trace.db")
    base = sqlite3.connect(path)
    base.executescript("""
        CREATE TABLE StringTable(_id_, value);
        INSERT INTO StringTable VALUES (1, 'aten::add'), (2, 'aten::mul'), (3, 'kernel');
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(id, name, timestamp);
        INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (7, 1, 1000), (7, 0, 9000), (8, 2, 10000), (8, 0, 15000);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, correlationId);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (211, 2000, 3000, 55);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(name, start, end, correlationId);
        INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (3, 4000, 6500, 55);
    """)
    base.close()
    events = load_nvprof(path)
    assert [(e.id, e.name, e.cpu_time_total) for e in events] == [(7, "aten::add", 8000), (8, "aten::mul", 5000)]
    assert [(k.name, k.duration) for k in events[0].kernels] == [("kernel", 2500)]


# ---- steps
def test_a_schedule_chooses_the_steps(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    rule = schedule(wait=1, warmup=1, active=2, repeat=1)
    with step_profile(activities=[ProfilerActivity.CPU], schedule=rule,
                      on_trace_ready=lambda p: seen.append([e.name for e in p.events()])) as prof:
        for _ in range(5):
            torch.ones(2)
            prof.step()
    assert seen == [["ProfilerStep*", "aten::ones", "aten::empty", "aten::fill_"] * 2]
    with step_profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path), "me")) as prof:
        torch.ones(2)
    assert [p.name.startswith("me.") and p.name.endswith(".pt.trace.json") for p in tmp_path.iterdir()] == [True]


def test_schedules_check_their_arguments() -> None:
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments. Got wait=-1"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.warns(UserWarning, match="Profiler won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError, match="Profiler must be initialized before accessing events"):
        step_profile().events()


def test_a_range_ends_with_the_future_it_is_given():
    with profile() as prof:
        with record_function("waits") as scope:
            future = torch.futures.Future()
            done = scope._call_end_callbacks_on_future(future)
        future.set_result(3)
    assert done.value() == 3
    assert [event.name for event in prof.function_events] == ["waits"]
    with pytest.raises(RuntimeError, match="can only be called once"):
        scope._call_end_callbacks_on_future(future)


def test_a_fast_range_notes_its_values_and_is_entered_by_turns():
    scope = RecordFunctionFast("fast", [torch.ones(2, 3), 4], {"by": 2})
    with profile(record_shapes=True) as prof:
        with scope:
            torch.ones(2)
    event = prof.function_events[0]
    assert (event.name, event.input_shapes, event.concrete_inputs, event.kwinputs) == (
        "fast", [[2, 3], []], [None, 4], {"by": 2})
    assert [child.name for child in event.cpu_children] == ["aten::ones"]
    with pytest.raises(RuntimeError, match="no guard is set"):
        scope.__exit__(None, None, None)
    with scope, pytest.raises(RuntimeError, match="already set"):
        scope.__enter__()


def test_the_step_of_a_program_is_that_of_its_fastest_part():
    KinetoStepTracker.init_step_count("first")
    KinetoStepTracker.init_step_count("second")
    start = KinetoStepTracker.current_step()
    assert [KinetoStepTracker.increment_step(name) - start for name in ("first", "second", "second")] == [1, 1, 2]
    assert KinetoStepTracker.erase_step_count("first")
    assert KinetoStepTracker.erase_step_count("second")
    assert not KinetoStepTracker.erase_step_count("second")


def test_functions_written_with_ops_numbers_and_batches_are_events():
    x = torch.ones(2, 2)
    with profile() as prof:
        torch.einsum("ij,jk->ik", x, x)
        x.sum().item()
        list(torch.utils.data.DataLoader([1, 2], batch_size=2))
    names = [event.name for event in prof.function_events]
    for name in ("aten::einsum", "aten::item", "aten::_local_scalar_dense",
                 "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
        assert name in names
