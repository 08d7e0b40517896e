"""Changes files of `torch.save` at random and loads them: each must load or raise UnpicklingError, quickly.

    python tools/mutate_files.py --count 100000 --seed 1

A mutation changes, inserts, removes, repeats or moves bytes: of the whole file, or of the pickle inside with the archive
written anew, so that checksums do not hide the interpreter. What goes wrong is printed with its seed.
"""
from __future__ import annotations

import argparse
import io
import pickle
import random
import sys
import time
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import retrograd as torch

SLOW = 5.0          # seconds that no small file may take


def originals() -> list[bytes]:
    """Files with everything that files can hold."""
    torch.manual_seed(0)
    generator = torch.Generator()
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    weight.note = ["text", 1.5]
    state = OrderedDict(weight=weight, bias=torch.ones(3, dtype=torch.bfloat16))
    state._metadata = {"": {"version": 1}}                              # type: ignore[attr-defined]
    base = torch.arange(12.0)
    objects: list[Any] = [
        {"state": state, "step": 3, "lr": 1e-3, "name": "model", 5: None},
        [base, base[2:8:2], base.reshape(3, 4).t(), torch.ones(2, device="meta"), torch.tensor([1 + 2j]).conj()],
        {"sparse": torch.eye(3).to_sparse(), "csr": torch.eye(3).to_sparse_csr(), "bools": torch.ones(3, dtype=torch.bool)},
        [{1, 2}, b"bytes", bytearray(b"more"), 1j, 2 ** 70, (1, (2, "3")), {(1, 2): 3}, torch.Size([1]), torch.float16,
         torch.strided, torch.device("cpu"), Counter("aab"), generator, torch.ones(2).untyped_storage(),
         torch.ones(2, dtype=torch.uint16)],
    ]
    files = []
    for obj in objects:
        for options in ({}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}):
            file = io.BytesIO()
            torch.save(obj, file, **options)                            # type: ignore[arg-type]
            files.append(file.getvalue())
    return files


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Change `data` in one to four places."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not made:
            break
        at, kind = rng.randrange(len(made)), rng.randrange(8)
        end = min(len(made), at + rng.choice((1, 1, 2, 4, 16)))
        if kind <= 2:
            made[at] = rng.randrange(256)
        elif kind == 3:
            made[at] = rng.choice(b".()]}tRb\x81\x85\x86Qqhcsuae0NK\x8aX\x00\xff\x7f\x80")
        elif kind == 4:
            del made[at:end]
        elif kind == 5:
            made[at:at] = bytes(rng.randrange(256) for _ in range(end - at))
        elif kind == 6:
            made[at:at] = made[at:end]
        else:
            other = rng.randrange(len(made))
            made[other:other] = made[at:end]
    return bytes(made) if rng.random() > 0.02 else bytes(made[:rng.randrange(len(made) + 1)])


def mutate_pickle(data: bytes, rng: random.Random) -> bytes:
    """Change the pickle of an archive, and write the archive as it was."""
    if not data.startswith(b"PK"):
        return mutate(data, rng)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as other:
        victim = rng.choice(["data.pkl"] * 9 + ["data/0"])
        for name in archive.namelist():
            content = archive.read(name)
            other.writestr(name, mutate(content, rng) if name.endswith("/" + victim) else content)
    return made.getvalue()


def attempt(data: bytes) -> str | None:
    """Load a file; returns what is wrong with the answer, if anything."""
    start = time.perf_counter()
    try:
        torch.load(io.BytesIO(data))
    except pickle.UnpicklingError as error:
        if not 5 < len(str(error)) < 2000:
            return f"an error text of {len(str(error))} characters"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "it takes too long" if time.perf_counter() - start > SLOW else None


def run(count: int, seed: int, report: Any = print) -> int:
    """Try `count` mutations; returns how many went wrong."""
    files, wrong = originals(), 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        data = rng.choice(files)
        problem = attempt((mutate_pickle if rng.random() < 0.7 else mutate)(data, rng))
        if problem is not None:
            wrong += 1
            report(f"seed {seed}, mutation {number}: {problem}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong = run(given.count, given.seed)
    print(f"{given.count} mutations, {wrong} wrong answers")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
