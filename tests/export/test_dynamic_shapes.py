"""Sizes that may change: how programs name them, which of them belong together, and what is refused."""
from __future__ import annotations

import io
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.compile.errors import UserError
from retrograd.export import AdditionalInputs, Dim, ShapesCollection, dims, export
from retrograd.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode


def module_of(function: Any) -> nn.Module:
    class Net(nn.Module):
        def forward(self, x: Any, y: Any = None) -> Any:
            return function(x) if y is None else function(x, y)
    return Net()


ADD = module_of(lambda x, y: x + y)
LARGE = module_of(lambda x: x * 2 if x.shape[0] > 3 else x)
HALVES = module_of(lambda x: x.reshape(2, -1))
PAIR = torch.ones(4, 3), torch.ones(4, 3)


def ranges(net: nn.Module, *args: Any, **shapes: Any) -> Any:
    return {name: tuple(found) for name, found in export(net, args, dynamic_shapes=shapes).range_constraints.items()}


def refusal(net: nn.Module, *args: Any, shapes: Any) -> str:
    with pytest.raises(UserError) as caught:
        export(net, args, dynamic_shapes=shapes)
    return str(caught.value)


def test_names_show_their_bounds_and_can_be_computed_with() -> None:
    batch = Dim("batch", min=2, max=16)
    assert repr(batch) == "Dim('batch', max=16)" and repr(Dim("z")) == "Dim('z', min=0)"
    assert [repr(d) for d in (2 * batch, batch + 1, 3 * batch - 1, dims("a", "b", max=5)[1])] == [
        "2*batch", "batch + 1", "3*batch - 1", "Dim('b', min=0, max=5)"]
    assert repr(Dim.AUTO(min=1, max=4)) == "DimHint(AUTO, min=1, max=4)" and repr(Dim.STATIC) == "DimHint(STATIC)"
    with pytest.raises(NotImplementedError, match=r"Attempted to multiply Dim\('batch', max=16\) with batch, where a positive"):
        batch * batch


def test_sizes_that_go_together_are_one_symbol() -> None:
    for hint in (Dim.AUTO, Dim.DYNAMIC):
        program = export(ADD, PAIR, dynamic_shapes={"x": {0: hint}, "y": {0: hint}})
        assert len(program.range_constraints) == 1
        assert program.module()(torch.ones(7, 3), torch.ones(7, 3)).shape == (7, 3)
        with pytest.raises(AssertionError, match=r"Guard failed: y.size\(\)\[0\] == x.size\(\)\[0\]"):
            program.module()(torch.ones(7, 3), torch.ones(6, 3))
    assert ranges(ADD, *PAIR, x={0: Dim.AUTO}, y=None) == {}      # the other one does not change
    assert ranges(ADD, *PAIR, x={0: Dim.STATIC}, y={0: 4}) == {}


def test_sizes_can_be_derived_from_others() -> None:
    n, shifted = Dim("n"), module_of(lambda x, y: x + y[1:])
    file = io.BytesIO()
    torch.export.save(export(shifted, (torch.ones(4), torch.ones(5)), dynamic_shapes={"x": {0: n}, "y": {0: n + 1}}), file)
    file.seek(0)
    module = torch.export.load(file).module()
    assert module(torch.ones(7), torch.ones(8)).shape == (7,)
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.ones(7), torch.ones(9))
    halves = export(HALVES, (torch.ones(4),), dynamic_shapes={"x": {0: 2 * n}})
    assert halves.module()(torch.ones(10)).shape == (2, 5)
    text = refusal(shifted, torch.ones(4), torch.ones(5), shapes={"x": {0: n}, "y": {0: Dim("m")}})
    assert "m = L['y'].size()[0] must always be related to the values of n = L['x'].size()[0] by m = n + 1" in text


def test_program_that_goes_by_a_size_narrows_its_range() -> None:
    assert ranges(LARGE, torch.ones(4), x={0: Dim.AUTO}) == {"s0": (4, None)}
    assert ranges(LARGE, torch.ones(3), x={0: Dim.AUTO}) == {"s0": (2, 3)}
    assert ranges(LARGE, torch.ones(4), x={0: Dim("n", min=4)}) == {"n": (4, None)}
    assert "guard 4 <= L['x'].size()[0]" in (text := refusal(LARGE, torch.ones(4), shapes={"x": {0: Dim("n")}}))
    assert text.endswith("Suggested fixes:\n  n = Dim('n', min=4)\n")
    small = module_of(lambda x: x * 2 if x.shape[0] < 10 else x)
    assert ranges(small, torch.ones(4), x={0: Dim.AUTO}) == {"s0": (2, 9)}
    assert "n = Dim('n', max=9)" in refusal(small, torch.ones(4), shapes={"x": {0: Dim("n")}})
    assert "(L['x'].size()[0] % 2) == 0" in refusal(HALVES, torch.ones(4), shapes={"x": {0: Dim("n")}})
    assert export(HALVES, (torch.ones(4),), dynamic_shapes={"x": {0: Dim.AUTO}}).module()(torch.ones(6)).shape == (2, 3)


@pytest.mark.parametrize(("shapes", "text"), [
    ({"x": {0: Dim("b")}}, "its top-level keys must be the arg names ['x', 'y'] of `inputs`, but here they are ['x']"),
    (({0: Dim("b")},), "`inputs` has 2 elements, but `dynamic_shapes` has 1 elements"),
    ({"x": {0: "s"}, "y": None}, "Unexpected dimension mapped to index 0 in input tensor shape {0: 's'} specified at "
                                 "`dynamic_shapes['x']`"),
    ({"x": 3, "y": None}, "Unexpected input tensor shape 3 specified at `dynamic_shapes['x']`"),
    ({"x": {0: Dim("b")}, "y": None}, "Constraints violated (b)!"),
    ({"x": {0: Dim.DYNAMIC}, "y": None}, "You marked L['x'].size()[0] as dynamic but your code specialized it"),
    ({"x": {0: Dim("a")}, "y": {0: Dim("b")}}, "b = L['y'].size()[0] and a = L['x'].size()[0] must always be equal."),
])
def test_declarations_that_do_not_fit_are_refused(shapes: Any, text: str) -> None:
    assert text in refusal(ADD, *PAIR, shapes=shapes)


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConstraintViolationError, match="Static shape constraint of 5 does not match input size of 4"):
        export(ADD, PAIR, dynamic_shapes={"x": {0: 5}, "y": None})
    with pytest.raises(ConstraintViolationError, match=r"4 not in range \[0, 3\]"):
        export(ADD, PAIR, dynamic_shapes={"x": {0: Dim("b", max=3)}, "y": None})
    with pytest.raises(ValueError, match="0/1 specialized due to hint of 1"):
        export(HALVES, (torch.ones(2, 1),), dynamic_shapes={"x": {1: Dim.DYNAMIC}})
    with pytest.raises(GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression"):
        export(module_of(lambda x: x if x.sum() > 0 else -x), (torch.ones(2),))


def test_shapes_by_tensor_and_by_example() -> None:
    x, shapes = torch.ones(4), ShapesCollection()
    shapes[x] = {0: Dim.AUTO}
    assert export(LARGE, (x,), dynamic_shapes=shapes).range_constraints == {"s0": (4, None)} and len(shapes) == 1
    more = AdditionalInputs()
    more.add((torch.ones(6, 3), torch.ones(6, 3)))
    program = export(ADD, PAIR, dynamic_shapes=more)
    more.verify(program)
    assert program.range_constraints == {"s0": (2, None)}


def test_constants_are_named_after_where_they_were_found() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.inner = nn.ReLU()
            self.inner.scale = torch.tensor(2.0)

        def forward(self, x: Any) -> Any:
            return self.inner(self.linear(x)) * self.inner.scale + torch.tensor([1.0, 2.0])
    program = export(Net(), (torch.ones(1, 2),))
    assert program.graph_signature.lifted_tensor_constants == ("inner.scale", "lifted_tensor_0")
    assert [spec.arg.name for spec in program.graph_signature.input_specs] == [
        "p_linear_weight", "p_linear_bias", "c_inner_scale", "c_lifted_tensor_0", "x"]
    with pytest.raises(NotImplementedError, match=r"Calling train\(\) is not supported yet."):
        program.module().train()


def test_extra_files_are_kept() -> None:
    file, found = io.BytesIO(), {"note.txt": ""}
    torch.export.save(export(ADD, PAIR), file, extra_files={"note.txt": "hello"})
    file.seek(0)
    torch.export.load(file, extra_files=found)
    assert found == {"note.txt": "hello"}
