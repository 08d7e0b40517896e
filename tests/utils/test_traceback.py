"""Stacks are taken at once and shown later."""
from __future__ import annotations

import pickle

from retrograd.utils._traceback import CapturedTraceback, gather_traceback, shorten_filename, symbolize_tracebacks


def test_frames_are_listed_from_the_innermost_out() -> None:
    def inner() -> object:
        return gather_traceback(True, True, False)
    frames = symbolize_tracebacks([inner()])[0]
    assert [frame["name"] for frame in frames[:2]] == ["inner", "test_frames_are_listed_from_the_innermost_out"]
    assert frames[0]["filename"] == __file__ and frames[0]["line"] < frames[1]["line"]


def test_a_captured_stack_is_shown_outermost_first_and_travels_without_its_frames() -> None:
    captured = CapturedTraceback.extract()
    assert captured.summary()[-1].name == "test_a_captured_stack_is_shown_outermost_first_and_travels_without_its_frames"
    assert "captured = CapturedTraceback.extract()" in captured.format()[-1]
    assert CapturedTraceback.extract(skip=1).summary()[-1].name != captured.summary()[-1].name
    assert pickle.loads(pickle.dumps(captured)).format() == [] and CapturedTraceback.format_all([None]) == [None]
    assert shorten_filename("/x/y/z.py", base="/x/y/w") == "z.py"
