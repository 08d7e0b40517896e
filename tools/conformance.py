"""Runs the external conformance suite and holds the library to the tests that it has passed before.

    python tools/conformance.py               every test in tests/conformance/passing.txt must still pass
    python tools/conformance.py --update      run everything, and add what passes now; the list only grows

The suite runs retrograd in torch's place, in the interpreter that runs this script: the installed package, or the
one in the folder given with --path. A listed test that fails is tried once more, alone, before it is believed.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "conformance" / "passing.txt"
SUITES = ("autograd_a", "autograd_b", "compiled", "fallback", "docs")
LONGEST_ARGUMENT = 100_000      # the kernel allows 128 KiB

Results = dict[str, dict]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", type=Path, default=ROOT.parent / "shared" / "conformance",
                        help="the folder of the suite (default: %(default)s)")
    parser.add_argument("--update", action="store_true", help="run everything and add what passes to the list")
    parser.add_argument("--slow", action="store_true", help="with --update, also run unlisted tests marked slow")
    parser.add_argument("--path", type=Path, help="the folder that holds the package (default: where it is installed)")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    runner = options.harness / "run.py"
    if not runner.exists():
        print(f"conformance: there is no suite in {options.harness}")
        return 2
    listed = read_list()
    if not listed and not options.update:
        print("conformance: no tests are listed yet")
        return 0

    path = options.path or package_folder()
    results: Results = {}
    if options.update:
        results |= run(runner, path, options.jobs, None, skip_slow=not options.slow)
    rest = sorted(listed - results.keys())
    if rest:
        results |= run(runner, path, options.jobs, rest)
    failed = failures(listed, results)
    if failed and any(passes(result) for result in results.values()):   # else the library does not even load
        print(f"conformance: trying {len(failed)} failures again, alone")
        results |= run(runner, path, 1, failed)
        failed = failures(listed, results)

    passing = {test for test, result in results.items() if passes(result)}
    if options.update:
        LIST.write_text("".join(f"{test}\n" for test in sorted(listed | passing)))
        print(f"conformance: {len(passing - listed)} new in the list, {len(listed | passing)} in all")
    for test in failed:
        result = results.get(test, {"status": "gone", "message": "the suite has no such test"})
        reason = (str(result.get("message") or "").strip().splitlines() or [""])[0]
        print(f"FAILED {test}: {result['status']} {reason[:200]}")
    counts = Counter(test.partition("::")[0] for test in passing)
    print("conformance: " + ", ".join(f"{suite} {counts[suite]}" for suite in SUITES if counts[suite])
          + f"; {len(passing)} of {len(results)} run passed, {len(failed)} of {len(listed)} listed failed")
    return 1 if failed else 0


def read_list() -> set[str]:
    return {line for line in LIST.read_text().splitlines() if line.partition("::")[0] in SUITES}


def passes(result: dict) -> bool:
    return result["status"] == "pass"


def failures(listed: set[str], results: Results) -> list[str]:
    return sorted(test for test in listed if test not in results or not passes(results[test]))


def package_folder() -> Path:
    spec = importlib.util.find_spec("retrograd")
    if spec is None or spec.origin is None:
        return ROOT / "src"
    return Path(spec.origin).parent.parent


def run(runner: Path, path: Path, jobs: int, tests: list[str] | None, skip_slow: bool = False) -> Results:
    """Run `tests`, or all of the suite's baseline, and return what the suite says about each."""
    with tempfile.TemporaryDirectory() as folder:
        out, build = Path(folder) / "out.json", Path(folder) / "build"
        command = [sys.executable, str(runner.resolve()), "--target", "retrograd", "--path", str(path),
                   "--jobs", str(jobs), "--json", str(out), "--build", str(build), "--summary"]
        if skip_slow:
            command.append("--skip-slow")
        for pattern in patterns(tests or []):
            command += ["-k", pattern]
        # Its exit status speaks of the whole baseline, not of our list; its working folder is searched for packages.
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not out.exists():
            sys.exit(f"conformance: the suite did not run\n{done.stdout[-3000:]}")
        answer = json.loads(out.read_text())
        if "target" in answer["errors"]:
            print(f"conformance: retrograd could not be loaded\n{answer['errors']['target'][-3000:]}")
        return answer["results"]


def patterns(tests: list[str]) -> list[str]:
    """Regular expressions that match exactly `tests`, few and each short enough for a command line."""
    found: list[str] = []
    group: list[str] = []
    size = 0
    for test in tests:
        escaped = re.escape(test)
        if group and size + len(escaped) > LONGEST_ARGUMENT:
            found.append(f"^(?:{'|'.join(group)})$")
            group, size = [], 0
        group.append(escaped)
        size += len(escaped) + 1
    if group:
        found.append(f"^(?:{'|'.join(group)})$")
    return found


if __name__ == "__main__":
    sys.exit(main())
