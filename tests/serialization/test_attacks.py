"""Hostile files do nothing but raise UnpicklingError: the corpus in attacks.py, file by file."""
from __future__ import annotations

import builtins
import io
import os
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import tensor as core_tensor
from retrograd.serialization import allowlist, rebuild
from tests.serialization.attacks import FILES, GOOD, PROGRAMS, PROTO, STOP, archive, get, nested, put, tensor

LIMIT = 100 << 20           # bytes of memory that reading a small file may take at its peak; the largest has 64 MB
WATCHED: list[Any] = [builtins, os, np, core_tensor, rebuild, allowlist, torch.Tensor, torch.nn.Parameter]


def load(data: bytes, **kwargs: Any) -> Any:
    return torch.load(io.BytesIO(data), **kwargs)


def contents(thing: Any) -> dict[str, int]:
    return {name: id(value) for name, value in vars(thing).items()}


def refuse(data: bytes) -> None:
    torch.load(io.BytesIO(GOOD))                        # whatever is loaded lazily is loaded now
    before = [contents(thing) for thing in WATCHED]
    tracemalloc.start()
    try:
        with pytest.raises(pickle.UnpicklingError) as caught:
            load(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LIMIT
    assert 10 < len(str(caught.value)) < 2000
    for thing, was in zip(WATCHED, before, strict=True):
        assert contents(thing) == was


@pytest.mark.parametrize("attack", PROGRAMS)
def test_hostile_program_is_refused(attack: str) -> None:
    refuse(archive(PROTO + PROGRAMS[attack] + STOP))


@pytest.mark.parametrize("attack", FILES)
def test_hostile_file_is_refused(attack: str) -> None:
    refuse(FILES[attack])


def test_corpus_files_have_working_storages() -> None:
    assert load(GOOD).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_pickle_without_end_is_refused() -> None:
    for program in (PROTO, PROTO + b"N", PROTO + b"X", b"\x80", PROTO + b"\x8a\x09\x01", PROTO + b"ctorch\n"):
        refuse(archive(program))


def test_deep_structures_are_plain_data() -> None:
    deep = load(archive(PROTO + b"]" + b"]" * 100000 + b"a" * 100000 + STOP))
    for _ in range(100000):
        deep = deep[0]
    assert deep == []
    shared = load(archive(PROTO + nested(100) + STOP))          # 2 ** 100 numbers if one counts them all
    assert shared[0] is shared[1]
    load(archive(PROTO + b"K\x01" + b"\x85" * 100000 + STOP))


def test_expanded_tensor_takes_no_memory() -> None:
    found = load(archive(PROTO + tensor(b"(\x8a\x06" + (10 ** 12).to_bytes(6, "little") + b"t", b"(K\x00t") + STOP))
    assert found.shape == (10 ** 12,) and found.stride() == (0,)


def test_self_reference_is_read() -> None:
    found = load(archive(PROTO + b"]" + put(0) + get(0) + b"a" + STOP))
    assert found[0] is found


def test_file_cannot_reach_objects_of_safe_classes() -> None:
    class Safe:
        """Declared safe by the user."""
    with torch.serialization.safe_globals([(Safe, "safe.Safe")]):
        made = load(archive(PROTO + b"csafe\nSafe\n)\x81}X\x01\x00\x00\x00aK\x01sb" + STOP))
        assert vars(made) == {"a": 1}
        refuse(archive(PROTO + b"csafe\nSafe\n}X\x01\x00\x00\x00aK\x01sb" + STOP))      # the class itself stays as it is
        refuse(archive(PROTO + b"csafe\nSafe.__init__\n" + STOP))


def test_error_of_the_users_class_is_the_users() -> None:
    class Picky:
        """Refuses its state."""

        def __setstate__(self, state: Any) -> None:
            raise LookupError("my own error")
    with torch.serialization.safe_globals([(Picky, "safe.Picky")]), pytest.raises(LookupError, match="my own error"):
        load(archive(PROTO + b"csafe\nPicky\n)\x81}b" + STOP))


def test_error_of_map_location_is_the_users() -> None:
    def refuse_all(storage: Any, location: str) -> Any:
        raise ValueError("not here")
    with pytest.raises(ValueError, match="not here"):
        load(GOOD, map_location=refuse_all)
