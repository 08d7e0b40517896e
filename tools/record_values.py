"""Records PyTorch's answers for the samples of every op under tests/golden/values. Needs torch installed.

    python tools/record_values.py                 the samples that have no record, or were changed since
    python tools/record_values.py --only sum      those of the ops whose names match the pattern, again
    python tools/record_values.py --all           everything again

As the samples are: values, dtypes, strides, nodes, the first gradients and the tangents of forward mode. Cast to other
dtypes: values, dtypes, strides or the error, and for float32 the first gradients. What PyTorch cannot run is listed with
its reason in tests/golden/values/refused.json. tests/ops/test_recorded.py compares.
"""
from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.ops import cases, recorded  # noqa: E402
from tests.ops.facts import observe  # noqa: E402
from tools.pytorch import PYTORCH, Ended, answered  # noqa: E402


def record(case: Any, dtype: str | None) -> Any:
    return recorded.encode(observe(PYTORCH, case, dtype, batched=False, gradients=recorded.GRADIENTS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="ops whose names match this pattern")
    parser.add_argument("--all", action="store_true", help="ops that are recorded already, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    recorded.FOLDER.mkdir(exist_ok=True)
    everything = [*cases.CASES, *cases.SPARSE_CASES]
    again = bool(options.all or options.only)
    pending = [case for case in everything
               if re.search(options.only, case.op.__name__) and (again or recorded.record_of(case) is None)]
    files: dict[Path, dict[str, Any]] = {}
    for case in everything:                   # what is recorded of samples that are no more goes
        name, path = case.op.__name__, recorded.file_of(case.op.__name__)
        old = recorded.read(path).get(name, {}).get(str(case.number))
        answers = files.setdefault(path, {}).setdefault(name, {})
        if old is not None:
            answers[str(case.number)] = old
    print(f"{len(pending)} of {len(everything)} samples to record")
    for case in pending:
        answers = files[recorded.file_of(case.op.__name__)][case.op.__name__]
        answers[str(case.number)] = {"inputs": recorded.describe_inputs(case)}
    questions = [(case, dtype) for case in pending for dtype in recorded.dtypes_of(case)]
    for (asked, dtype), answer in answered(record, questions):
        shown = f"PyTorch's process ends: {answer}" if isinstance(answer, Ended) else answer
        files[recorded.file_of(asked.op.__name__)][asked.op.__name__][str(asked.number)][dtype or "as is"] = shown
    for path, records in files.items():
        text = json.dumps(records, separators=(",", ":"), sort_keys=True).encode()
        path.write_bytes(gzip.compress(text, 9, mtime=0))
    for path in {*recorded.FOLDER.glob("*.gz")} - {*files}:
        path.unlink()
    refused = {f"{name}-{number}": answers["as is"] for records in files.values() for name, by_number in records.items()
               for number, answers in by_number.items() if recorded.is_refused(answers)}
    recorded.REFUSED.write_text(json.dumps(dict(sorted(refused.items())), indent=0) + "\n")


if __name__ == "__main__":
    main()
