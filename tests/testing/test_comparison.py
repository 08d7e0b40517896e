"""torch.testing.assert_close: which differences it finds, in which words, and pairs of a program's own."""
from __future__ import annotations

import re

import numpy as np
import pytest

import retrograd as torch
from retrograd.testing import assert_close
from retrograd.testing._comparison import (
    BooleanPair,
    ErrorMeta,
    NonePair,
    NumberPair,
    ObjectPair,
    Pair,
    TensorLikePair,
    default_tolerances,
    not_close_error_metas,
    originate_pairs,
)


def refused(actual, expected, text: str, error: type[Exception] = AssertionError, **options) -> None:
    with pytest.raises(error, match=re.escape(text)):
        assert_close(actual, expected, **options)


def test_tensors_that_differ_are_counted_and_measured() -> None:
    actual, expected = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.5], [3.0, 8.0]])
    refused(actual, expected, "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\n"
            "Greatest absolute difference: 4.0 at index (1, 1) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 0.5 at index (1, 1) (up to 1.3e-06 allowed)")
    refused(torch.tensor([100], dtype=torch.int8), torch.tensor([-100], dtype=torch.int8),
            "Greatest absolute difference: 200 at index (0,)\nGreatest relative difference: 2.0 at index (0,)")


def test_numbers_and_scalars_are_shown() -> None:
    text = "Scalars are not equal!\n\nExpected 4 but got 3.\nAbsolute difference: 1\nRelative difference: 0.25"
    refused(3, 4, text)
    refused(torch.tensor(3), torch.tensor(4), text)
    refused(1, 1.0, "The (d)types do not match: <class 'int'> != <class 'float'>.")
    assert_close(np.float32(1), np.float64(1))
    assert_close(float("inf"), float("inf"))
    refused(float("inf"), -float("inf"), "Absolute difference: inf")
    refused(float("nan"), float("nan"), "Expected nan but got nan.")
    assert_close(float("nan"), float("nan"), equal_nan=True)


def test_items_are_named_by_their_place() -> None:
    refused({"a": [1, torch.ones(1)]}, {"a": [1, torch.zeros(1)]}, "The failure occurred for item ['a'][1]")
    refused([None], [1], "None mismatch: None is not 1\n\nThe failure occurred for item [0]")
    refused([1, 2], [1], "The length of the sequences mismatch: 2 != 1")
    refused({"a": 1, "b": 2}, {"a": 1, "c": 3}, "Missing keys in the actual mapping: ['c']\n"
            "Additional keys in the actual mapping: ['b']")
    refused("a", "a", "No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>.", TypeError)
    refused([1.0], [1.0], "must be either specified or omitted, but got no rtol.\n\nThe failure occurred for item [0]",
            ValueError, atol=1.0)


@pytest.mark.parametrize(("layout", "kind"), [("csr", "crow"), ("csc", "ccol"), ("bsr", "crow"), ("bsc", "ccol")])
def test_compressed_tensors_are_compared_by_their_parts(layout, kind) -> None:
    def made(values) -> torch.Tensor:
        blocks = {"blocksize": (1, 1)} if layout[0] == "b" else {}
        return torch.tensor(values).to_sparse(layout=getattr(torch, f"sparse_{layout}"), **blocks)

    eye, name = made([[1.0, 0.0], [0.0, 1.0]]), layout.upper()
    refused(eye, made([[1.0, 1.0], [1.0, 1.0]]), f"specified values in sparse {name} tensors does not match: 2 != 4")
    refused(eye, made([[2.0, 0.0], [0.0, 1.0]]), f"Sparse {name} values are not close!")
    other = [[1.0, 1.0], [0.0, 0.0]] if kind == "crow" else [[1.0, 0.0], [1.0, 0.0]]
    refused(eye, made(other), f"Sparse {name} {kind}_indices are not equal!")


def test_coordinates_are_compared_by_their_parts() -> None:
    eye = torch.eye(2).to_sparse()
    refused(eye, torch.eye(2).to_sparse(1), "The number of sparse dimensions in sparse COO tensors does not match: 2 != 1")
    refused(eye, torch.ones(2, 2).to_sparse(), "The number of specified values in sparse COO tensors does not match: 2 != 4")
    refused(eye, torch.tensor([[1.0, 1.0], [0.0, 0.0]]).to_sparse(), "Sparse COO indices are not equal!")
    refused(eye, 2 * eye, "Sparse COO values are not close!")
    assert_close(eye, torch.eye(2), check_layout=False)


def test_bytes_of_floats_are_compared_bit_by_bit() -> None:
    ones, zeros = torch.ones(2).to(torch.float8_e4m3fn), torch.zeros(2).to(torch.float8_e4m3fn)
    refused(ones, zeros, "Tensor-likes are not 'equal'!\n\nMismatched elements: 2 / 2 (100.0%)\n"
            "The first mismatched element is at index (0,).")
    refused(ones, ones, "are not supported for bitwise comparison", rtol=0.1, atol=0.0)


def test_a_text_of_the_caller_replaces_or_wraps_the_text() -> None:
    refused(1, 2, "mine", msg="mine")
    refused(1, 2, "seen: Scalars are not equal!", msg=lambda text: f"seen: {text}")


class Upper(Pair):
    """Strings, without regard to case."""

    def __init__(self, actual, expected, **options) -> None:
        self._check_inputs_isinstance(actual, expected, cls=str)
        super().__init__(actual, expected, **options)

    def compare(self) -> None:
        if self.actual.upper() != self.expected.upper():
            self._fail(AssertionError, f"{self.actual} is another word than {self.expected}")


def test_pairs_of_a_program_are_asked_in_order() -> None:
    found = not_close_error_metas(["a", "b", 1], ["A", "c", 2], pair_types=(Upper, NumberPair))
    assert [(each.msg.splitlines()[0], each.id) for each in found] == [("b is another word than c", (1,)),
                                                                        ("Scalars are not equal!", (2,))]
    with pytest.raises(TypeError, match="No comparison pair"):
        not_close_error_metas("a", 1, pair_types=(Upper, NumberPair))


def test_every_kind_of_value_has_its_pair() -> None:
    kinds = (NonePair, BooleanPair, NumberPair, TensorLikePair, ObjectPair)
    pairs = originate_pairs([None, True, 1, np.ones(2), "a"], [1, np.bool_(False), np.int64(2), np.ones(2), "b"],
                            pair_types=kinds)
    assert tuple([type(pair) for pair in pairs]) == kinds
    assert repr(pairs[2]) == ("NumberPair(\n    id=(2,),\n    actual=1,\n    expected=2,\n    rtol=0.0,\n    atol=0.0,\n"
                              "    equal_nan=False,\n    check_dtype=False,\n)")


def test_what_a_pair_did_not_expect_is_passed_on_with_the_pair() -> None:
    class Broken(Pair):
        def compare(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(RuntimeError, match=r"(?s)Comparing.*Broken\(.*unexpected exception"):
        not_close_error_metas(1, 2, pair_types=(Broken,))
    with pytest.raises(RuntimeError, match="Comparing"):       # the truth of a tensor of two elements
        not_close_error_metas(torch.ones(2), torch.ones(2))


def test_tolerances_are_those_of_the_wider_dtype() -> None:
    assert default_tolerances(torch.float64, torch.ones(1, dtype=torch.bfloat16)) == (1.6e-2, 1e-5)
    assert default_tolerances(torch.ones(1).long()) == (0.0, 0.0)
    with pytest.raises(TypeError, match=r"Expected a torch.Tensor or a torch.dtype"):
        default_tolerances(1)
    assert isinstance(ErrorMeta(ValueError, "x").to_error(), ValueError)
