"""DebugMode writes down the calls of a program."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.compile.fake_tensor import FakeTensorMode
from retrograd.utils._debug_mode import DebugInterpreter, DebugMode, get_active_debug_mode, hash_tensor_fn, norm_hash_fn


def lines(mode: DebugMode) -> list[str]:
    return mode.debug_string().split("\n")


def test_ops_of_forward_and_backward_have_a_line_each():
    x = torch.ones(2, 3, requires_grad=True)
    with DebugMode() as mode:
        (x * 2).sum().backward()
    assert lines(mode)[:2] == ["    aten::mul.Tensor(t: f32[2, 3], 2)  ->  t: f32[2, 3]",
                               "    aten::sum(t: f32[2, 3])  ->  t: f32[]"]
    assert any("aten::expand(t: f32[], [2, 3])" in line for line in lines(mode))


def test_functions_stand_above_their_ops():
    x = torch.ones(2)
    with DebugMode(record_torchfunction=True, record_ids=True) as mode:
        torch.nn.functional.relu(x).add(1)
    module = torch.nn.functional.__name__
    assert lines(mode) == [f"  {module}.relu(t$0: f32[2], inplace=False)  ->  t$1: f32[2]",
                           "      aten::relu(t$0: f32[2])  ->  t$1: f32[2]",
                           "  <method 'add' of 'torch._C.TensorBase' objects>(t$1: f32[2], 1)  ->  t$2: f32[2]",
                           "      aten::add.Tensor(t$1: f32[2], 1)  ->  t$2: f32[2]"]


def test_modules_ranges_and_remarks_indent_what_they_hold():
    model = nn.Sequential(nn.ReLU())
    with DebugMode(record_nn_module=True, record_output=False) as mode:
        DebugMode._annotate("start")
        with torch.profiler.record_function("region"):
            model(torch.ones(1))
    shown = [line for line in lines(mode) if "ones" not in line]
    assert shown == ["  [annotate] start", "  [record function] region", "      [nn.Mod] Sequential",
                     "        [nn.Mod] Sequential.0", "          aten::relu(t: f32[1])"]
    assert mode.call_depth == 0


def test_attributes_of_tensors_are_shown():
    x = torch.ones(2)
    x.tag = "mine"
    with DebugMode(record_tensor_attributes=["tag"]) as mode:
        x.neg()
    assert lines(mode) == ["    aten::neg(t: f32[2]{tag=mine})  ->  t: f32[2]"]


def test_arguments_are_kept_only_on_request():
    x = torch.ones(2)
    with DebugMode(store_original_args=True) as kept, DebugMode() as shown:
        x.neg()
    assert kept.logs == [] or kept.logs[0].args[0] is x
    assert not hasattr(shown.logs[0], "args")
    assert tuple(shown.logs[0])[1:] == ("t: f32[2]", "", 1)


def test_fake_tensors_are_shown_on_request():
    with FakeTensorMode():
        with DebugMode() as silent:
            torch.ones(1)
        with DebugMode(record_faketensor=True) as loud:
            torch.ones(1)
    assert silent.logs == []
    assert lines(loud) == ["    aten::ones([1], device=cpu, pin_memory=False)  ->  ft: f32[1]"]


def test_hashes_of_arguments_are_taken_before_the_op():
    x = torch.ones(4)
    with DebugMode() as mode, DebugMode.log_tensor_hashes(hash_inputs=True):
        x.add_(1)
    assert mode.logs[0].log == {"input_hash": ((4.0, None), {}), "hash": 8.0}
    with DebugMode() as mode, DebugMode.log_tensor_hashes(["norm", "hash_tensor"]):
        x.max(0)
    assert mode.logs[0].log["hash"][1] == (0.0, 0)


def test_hash_functions():
    assert norm_hash_fn(torch.tensor([1 + 0j, -2j]), use_scalar=True) == 3.0
    assert norm_hash_fn(torch.tensor([1.0, -2.0])).dtype == torch.float64
    assert hash_tensor_fn(torch.tensor([], dtype=torch.int64), use_scalar=True) == 0
    with pytest.raises(AssertionError, match="hash_type must be 'norm' or 'hash_tensor', got 'bad'"), \
            DebugMode.log_tensor_hashes("bad"):
        pass
    with pytest.raises(NotImplementedError, match="expected hash_fn to be callable"), DebugMode.log_tensor_hashes(3):
        pass


def test_hooks_add_to_records_and_lines():
    def count(func, types, args, kwargs, result):
        return {"arguments": len(args)}
    with DebugMode() as mode, DebugMode.dispatch_hooks(record_hook=count, log_hook=count), DebugMode.record_outputs():
        torch.ones(2)
    assert mode.logs[0].record["arguments"] == 1
    assert mode.logs[0].record["output"].tolist() == [1.0, 1.0]
    assert mode.debug_string().endswith("# {'arguments': 1}")
    with pytest.raises(AssertionError, match="hook must return None or dict, got int"), \
            DebugMode(), DebugMode.dispatch_hooks(log_hook=lambda *args: 3):
        torch.ones(2)


def run(factor, function):
    with DebugMode() as mode, DebugMode.log_tensor_hashes(hash_inputs=True):
        function(torch.ones(4) * factor)
    return mode.logs


def test_two_runs_are_compared_by_their_hashes():
    found = DebugMode.check_hash_mismatches(run(1, torch.sum), run(2, torch.sum))
    assert [(m["call"], m["hash1"], m["hash2"], m["rel_diff"]) for m in found] == [
        ("aten::mul.Tensor", 4.0, 8.0, 0.5), ("aten::sum", 4.0, 8.0, 0.5)]
    found = DebugMode.check_hash_mismatches(run(1, torch.sum), run(2, torch.sum), compare_inputs=True)
    assert [m["pytree_path"] for m in found if m["is_input_hash"]] == ["[0][0]"]
    with pytest.raises(ValueError, match="Log lengths don't match: 3 vs 0"):
        DebugMode.check_hash_mismatches(run(1, torch.sum), [])
    with pytest.raises(ValueError, match="Operators don't match at index 2"):
        DebugMode.check_hash_mismatches(run(1, torch.sum), run(1, torch.mean))


def test_stacks_name_the_line_of_the_program():
    x = torch.ones(1, requires_grad=True)
    with DebugMode(record_stack_trace=True) as mode:
        y = x.sin()        # the line
        y.backward()
    assert "# the line" in mode.logs[0].stack_trace
    backward = next(call for call in mode.logs if "cos" in str(call))
    assert "# the line" in backward.fwd_stack_trace
    assert "y = x.sin()" in lines(mode)[0]


def test_the_active_mode_is_found():
    assert get_active_debug_mode() is None
    with DebugMode() as mode:
        assert get_active_debug_mode() is mode


def test_an_interpreter_shows_the_modules_of_nodes():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.ops.aten.relu.default, (x,))
    node.meta["nn_module_stack"] = {"relu": ("L['self'].relu", nn.ReLU)}
    graph.output(node)
    with DebugMode(record_nn_module=True) as mode:
        DebugInterpreter(torch.fx.GraphModule(nn.Module(), graph), "mine").run(torch.ones(1))
    assert [str(call) for call in mode.logs if "ones" not in str(call)] == [
        "[mine region (compile)] enter", "[nn.Mod (compile)] L['self'].relu", "aten::relu(t: f32[1])  ->  t: f32[1]",
        "[mine region (compile)] exit"]
    with pytest.raises(RuntimeError, match="No DebugMode is currently active"):
        DebugInterpreter(torch.fx.GraphModule(nn.Module(), graph), "mine")


def test_modes_of_programs_see_ranges():
    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), args[:1]))
            return func(*args, **(kwargs or {}))
    seen: list = []
    with Log(), torch.profiler.profile() as prof, torch.profiler.record_function("mine"):
        pass
    assert [name for name, _ in seen] == ["profiler._record_function_enter_new.default",
                                          "profiler._record_function_exit._RecordFunction"]
    assert seen[0][1] == ("mine",)
    assert "mine" in [event.name for event in prof.events()]
