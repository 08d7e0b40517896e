"""`FileCheck`: whether a text holds certain pieces in a certain order."""
from __future__ import annotations

import re
from typing import Any, NamedTuple

SPEC = re.compile(r"#\s*CHECK(-NEXT|-SAME|-NOT|-DAG|-REGEX|-COUNT-EXACTLY-\d+|-COUNT-\d+)?:\s?(.*)")


class Check(NamedTuple):
    kind: str
    text: str
    times: int = 1

    def __str__(self) -> str:
        return f"CHECK{'-' if self.kind else ''}{self.kind}{f'-{self.times}' if self.kind == 'COUNT' else ''}: {self.text}"


class FileCheck:
    """Checks of a text, each from where the one before it ended.

    >>> FileCheck().check("add").check_not("div").check_next("mul").run("x = add(y)\\nz = mul(x)")
    """

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def add(self, kind: str, text: str, count: int = 1) -> FileCheck:
        self.checks.append(Check(kind, text, count))
        return self

    def check(self, text: str) -> FileCheck:
        """The text comes next, somewhere."""
        return self.add("", text)

    def check_not(self, text: str) -> FileCheck:
        """The text does not come between what is found before and after it."""
        return self.add("NOT", text)

    def check_same(self, text: str) -> FileCheck:
        """The text comes on the line where the last check ended."""
        return self.add("SAME", text)

    def check_next(self, text: str) -> FileCheck:
        """The text comes on the next line."""
        return self.add("NEXT", text)

    def check_dag(self, text: str) -> FileCheck:
        """The texts of checks of this kind that follow each other come in any order."""
        return self.add("DAG", text)

    def check_regex(self, text: str) -> FileCheck:
        """A match of the regular expression comes next."""
        return self.add("REGEX", text)

    def check_count(self, str: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes so many times, and with `exactly` not once more."""
        if count:
            self.add("COUNT", str, count)
        return self.add("NOT", str) if exactly else self

    def run(self, *texts: Any) -> None:
        """Check a text; of two texts the first holds more checks, in lines such as `# CHECK-NEXT: mul`."""
        checks = self.checks
        if len(texts) == 2:
            checks = checks + [check for found in SPEC.finditer(str(texts[0])) for check in parsed(*found.groups())]
        if not checks:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        text, end = str(texts[-1]), 0
        absent: list[Check] = []
        at = 0
        while at < len(checks):
            check = checks[at]
            at += 1
            if check.kind == "NOT":
                absent.append(check)
                continue
            begin, stop = find(text, end, check)
            while check.kind == "DAG" and at < len(checks) and checks[at].kind == "DAG":
                first, last = find(text, end, checks[at])
                begin, stop, at = min(begin, first), max(stop, last), at + 1
            refuse(text, end, begin, absent)
            absent, end = [], stop
        refuse(text, end, len(text), absent)


def parsed(kind: str | None, text: str) -> list[Check]:
    """What a line of checks means."""
    kind = (kind or "").removeprefix("-")
    name, _, count = kind.rpartition("-") if kind.startswith("COUNT") else (kind, "", "1")
    exactly = [Check("NOT", text)] if name == "COUNT-EXACTLY" else []
    return [Check(name.removesuffix("-EXACTLY"), text, int(count)), *exactly]


def find(text: str, start: int, check: Check) -> tuple[int, int]:
    """Where a check begins and ends, searched from `start`."""
    if check.kind == "REGEX":
        match = re.compile(check.text).search(text, start)
        if match is None:
            raise failure(f'Expected to find regex "{check.text}" but did not find it', text[start:], check)
        return match.span()
    line = start
    if check.kind == "NEXT":
        line = text.find("\n", start) + 1 or len(text)
    begin = stop = line
    for i in range(check.times):
        found = text.find(check.text, stop)
        if found < 0:
            raise failure(f'Expected to find "{check.text}" but did not find it', text[start:], check)
        begin, stop = begin if i else found, found + len(check.text)
    if check.kind in ("SAME", "NEXT") and "\n" in text[line:begin]:
        raise failure('Expected to not find "\\n" but found it', text[start:], check)
    return begin, stop


def refuse(text: str, start: int, stop: int, checks: list[Check]) -> None:
    """Raise if one of `checks` is found between two places."""
    for check in checks:
        if check.text in text[start:stop]:
            raise failure(f'Expected to not find "{check.text}" but found it', text[start:stop], check)


def failure(problem: str, searched: str, check: Check) -> RuntimeError:
    return RuntimeError(f"{problem}\nSearched string:\n{searched}\nFrom {check}\n")
