"""What all tests of the core leave as they found it."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograd.core.state import switches, tls


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.run_flags
    yield
    assert (switches.any_mode, tls.slow_path, tls.run_flags) == before
