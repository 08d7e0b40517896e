"""The language of loops: what programs are read as, and that every op's `lower` can be read and written as C."""
from __future__ import annotations

from typing import Any

import pytest

from retrograd.codegen import c, table
from retrograd.codegen.loops import Program, guards
from tests.ops.cases import OPS

KERNELS = {f"{kernel.name}-{i}": kernel for i, kernel in enumerate(table.kernels()) if not isinstance(kernel, table.Hand)}
assert OPS


@pytest.mark.parametrize("name", KERNELS)
def test_program_is_written_as_c(name: str) -> None:
    kernel = KERNELS[name]
    text = c.source([(kernel.program, kernel.letters)], "loops")
    assert kernel.letters and f"static {'Acc' if kernel.program.family == 'reduce' else 'void'} {kernel.program.name}_" in text
    assert kernel.row(-1, 0, 0).startswith('{"')


def read(text: str, *tensors: str, numbers: Any = ()) -> Program:
    return Program("f", text, dict.fromkeys(tensors, "elem"), list(numbers))


def test_text_without_reduction_is_one_element() -> None:
    assert read("x * 2 + y", "x", "y", "unused").inputs == ["x", "y"]
    assert read("x * 2 + y", "x", "y").family == "point"


def test_condition_is_a_mask() -> None:
    assert read("x if c else y", "c", "x", "y").kinds == {"c": "mask", "x": "elem", "y": "elem"}


def test_one_reduction_has_a_term_and_an_end() -> None:
    program = read("sqrt(sum(x * x))", "x")
    assert program.family == "reduce" and program.reducer == "sum"


def test_several_reductions_need_a_row() -> None:
    with pytest.raises(SyntaxError, match="several reductions need a row text"):
        read("sum(x) / max(x)", "x")


def test_row_has_a_pass_for_each_reduction_that_waits_for_another() -> None:
    assert read("x -> z | e = exp(x - max(x)); z = e / sum(e)").passes == 3
    assert read("x -> z | z = x / sum(x)").passes == 2


@pytest.mark.parametrize(("text", "ints", "truth"), [("x + y", True, False), ("x / y", False, False), ("x < y", True, True),
                                                     ("x * 1.0", False, False), ("exp(x)", False, False),
                                                     ("(x != 0) & (y != 0)", True, True), ("abs(x) == inf", False, True)])
def test_program_knows_the_dtypes_it_is_for(text: str, ints: bool, truth: bool) -> None:
    program = read(text, "x", "y")
    assert (program.takes_ints, program.is_boolean) == (ints, truth)


def test_guard_names_values() -> None:
    assert guards("approximate='tanh', max=None") == {"approximate": "tanh", "max": None}
