"""Versions compare as PEP 440 says."""
from __future__ import annotations

import pytest

from retrograd.torch_version import TorchVersion

IN_ORDER = ["1.0.dev1", "1.0a1", "1.0b2", "1.0rc1.dev2", "1.0rc1", "1.0", "1.0+1.a", "1.0.post1", "1.2.3", "1.10", "2.13.0+cpu",
            "1!0.1"]


@pytest.mark.parametrize("i", range(len(IN_ORDER) - 1))
def test_versions_are_in_order(i: int) -> None:
    version, later = TorchVersion(IN_ORDER[i]), IN_ORDER[i + 1]
    assert version < later and version <= later and version != later and not version > later and not version >= later


def test_trailing_zeros_and_spelling_do_not_matter() -> None:
    assert TorchVersion("1.0") == "1.0.0" == TorchVersion("v1") and TorchVersion("1.0alpha1") == "1.0-a.1"


def test_tuples_are_versions() -> None:
    assert TorchVersion("2.13.0+cpu") > (2, 13) and TorchVersion("2.13") == (2, 13, 0)


def test_text_that_is_no_version_compares_as_text() -> None:
    assert TorchVersion("2.13") < "parrot" and not TorchVersion("2.13") > "parrot"


def test_numbers_do_not_compare() -> None:
    assert TorchVersion("2.13") != 2
    with pytest.raises(TypeError, match="'>' not supported between instances of 'TorchVersion' and 'int'"):
        TorchVersion("2.13") > 2  # noqa: B015
