"""What a profiler has recorded, as events with methods and as a tree."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd.profiler_results import EventType, RecordScope
from retrograd.profiler import profile, record_function


def recorded() -> Any:
    x = torch.ones(2, 3, requires_grad=True)
    with profile(record_shapes=True) as prof:
        with record_function("mine"):
            y = torch.add(x, x, alpha=2)
        y.sum().backward()
    return prof


def test_events_have_their_facts_as_methods() -> None:
    events = recorded().profiler.kineto_results.events()
    assert [event.name() for event in events[:2]] == ["mine", "aten::add"]
    mine, add = events[:2]
    assert mine.is_user_annotation() and mine.activity_type() == "user_annotation" and add.activity_type() == "cpu_op"
    assert add.concrete_inputs() == [None, None, 2] and add.shapes() == [[2, 3], [2, 3], []]
    assert mine.start_ns() <= add.start_ns() <= add.end_ns() <= mine.end_ns()
    assert add.duration_ns() == add.end_ns() - add.start_ns()


def test_the_tree_tells_who_called_whom() -> None:
    roots = recorded().profiler.kineto_results.experimental_event_tree()
    assert roots[0].name == "mine" and roots[0].parent is None
    (child,) = roots[0].children
    assert child.name == "aten::add" and child.parent is roots[0]
    assert child.tag is EventType.TorchOp and child.extra_fields.scope is RecordScope.FUNCTION
    assert roots[0].extra_fields.scope is RecordScope.USER_SCOPE


def test_numbers_among_the_arguments_are_noted_with_shapes_only() -> None:
    with profile() as prof:
        torch.add(torch.ones(1), 1)
    assert [event.concrete_inputs for event in prof.events()][-1] == []


def test_traces_say_where_they_were_made_and_what_they_are_told(tmp_path: Path) -> None:
    prof = profile()
    prof.preset_metadata_json("before", "[1]")
    with prof:
        torch.ones(1)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["before"] == [1] and {"host_name", "trace_id", "baseTimeNanoseconds"} <= set(trace)


def test_only_known_activities_are_taken() -> None:
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=["wrong"])


def test_arguments_are_described_in_events_trees_and_traces(tmp_path: Any) -> None:
    a = torch.ones(3, 4).t()
    with torch.profiler.profile(record_shapes=True) as prof:
        torch.cat([a, a]).sum(0, True)
        torch.ones(2, dtype=torch.float64)
        torch.add(a, a, alpha=3)
    events = {event.name: event for event in prof.events()}
    assert events["aten::cat"].input_dtypes == ["TensorList", "Scalar"] and events["aten::cat"].input_shapes == [[], []]
    assert events["aten::sum"].concrete_inputs == [None, [0], True, None]
    assert events["aten::sum"].input_dtypes == ["float", "ScalarList", "Scalar", ""]
    assert events["aten::ones"].concrete_inputs == [[2], 7, None, None, False]
    assert prof.profiler is not None and prof.profiler.kineto_results is not None
    tree = {node.name: node for node in prof.profiler.kineto_results.experimental_event_tree()}
    first, second, alpha = tree["aten::add"].extra_fields.inputs
    assert (first.sizes, first.strides, first.dtype, first.dim, alpha) == ([4, 3], [1, 4], torch.float32, 2, 3)
    assert first.id == second.id == tree["aten::cat"].extra_fields.inputs[0][0].id is not None
    summed = tree["aten::sum"].extra_fields.inputs
    assert summed[1:3] == [None, True] and summed[0].id != first.id
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    args = {row["name"]: row.get("args") for row in rows}
    assert args["aten::cat"]["Input Strides"] == [[[1, 4], [1, 4]], []] and args["aten::cat"]["Concrete Inputs"] == ["", "0"]
    assert args["aten::ones"]["Input type"] == ["ScalarList", "Scalar", "", "", "Scalar"]
    assert "Sequence number" not in args["aten::ones"] and {row.get("cat") for row in rows} >= {"cpu_op", "Trace"}


def test_a_profiler_may_look_away_for_a_while() -> None:
    with torch.autograd.profiler.profile() as prof:
        prof.toggle_collection_dynamic(False, [])
        x = torch.ones(2)
        prof.toggle_collection_dynamic(True, [])
        x * 2
    assert [event.name for event in prof.function_events] == ["aten::mul"]
