"""FileCheck finds pieces of a text in the order and in the places that are asked for."""
from __future__ import annotations

import pytest

from retrograd.testing import FileCheck

TEXT = "one two\nthree four\none five\nsix"


@pytest.mark.parametrize("checks", [
    FileCheck().check("two").check("four"),
    FileCheck().check("two").check_not("seven").check("four"),
    FileCheck().check("six").check_not("one"),
    FileCheck().check("three").check_same("four"),
    FileCheck().check("two").check_next("three"),
    FileCheck().check_count("one", 2).check("six"),
    FileCheck().check_count("one", 2, exactly=True),
    FileCheck().check_count("seven", 0, exactly=True),
    FileCheck().check_dag("four").check_dag("two").check("five"),
    FileCheck().check_regex("t.o").check_regex(r"f\w+"),
], ids=range(10))
def test_text_passes(checks) -> None:
    assert checks.run(TEXT) is None


@pytest.mark.parametrize(("checks", "problem"), [
    (FileCheck().check("four").check("two"), 'Expected to find "two" but did not find it'),
    (FileCheck().check("two").check_not("three").check("four"), 'Expected to not find "three" but found it'),
    (FileCheck().check_not("one").check("four"), 'Expected to not find "one" but found it'),
    (FileCheck().check("four").check_not("six"), 'Expected to not find "six" but found it'),
    (FileCheck().check("three").check_same("five"), r'Expected to not find "\\n" but found it'),
    (FileCheck().check("two").check_next("five"), r'Expected to not find "\\n" but found it'),
    (FileCheck().check_count("one", 3), 'Expected to find "one" but did not find it'),
    (FileCheck().check_count("one", 1, exactly=True), 'Expected to not find "one" but found it'),
    (FileCheck().check_dag("five").check_dag("two").check("three"), 'Expected to find "three" but did not find it'),
    (FileCheck().check_regex("q.z"), 'Expected to find regex "q.z" but did not find it'),
    (FileCheck(), "No checks have been added"),
], ids=range(11))
def test_text_fails(checks, problem) -> None:
    with pytest.raises(RuntimeError, match=problem):
        checks.run(TEXT)


def test_checks_are_read_from_lines() -> None:
    FileCheck().run("# CHECK: two\n# CHECK-NEXT: three\n# CHECK-NOT: seven\n# CHECK-COUNT-EXACTLY-1: one", TEXT)
    with pytest.raises(RuntimeError, match="From CHECK-SAME: three"):
        FileCheck().run("# CHECK: two\n# CHECK-SAME: three", TEXT)
