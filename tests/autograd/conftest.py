"""What all tests of autograd leave as they found it."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograd.core.warn import Shown


@pytest.fixture(autouse=True)
def warnings_are_given_again() -> Iterator[None]:
    given = set(Shown.texts)
    yield
    Shown.texts.clear()                   # other tests wait for warnings that are given once
    Shown.texts.update(given)
