"""Records tests/golden/printing.json: what PyTorch prints for a spread of tensors. Run it with a PyTorch at hand."""
from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import torch

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]


def numbers(rng: random.Random, dtype: str, count: int) -> list[Any]:
    """Random contents; a complex number is a pair."""
    if dtype == "bool":
        return [rng.random() < 0.5 for _ in range(count)]
    if dtype in INTEGERS:
        limits = torch.iinfo(getattr(torch, dtype))
        size = rng.choice([5, 100, 10**6, 2**62])
        return [rng.randint(max(limits.min, -size), min(limits.max, size)) for _ in range(count)]
    draw = rng.choice([
        lambda: rng.gauss(0, 1), lambda: float(rng.randint(-20, 20)), lambda: float(rng.randint(0, 10**9)),
        lambda: rng.gauss(0, 1) * 10 ** rng.uniform(-6, 6), lambda: rng.uniform(0, 1e-3),
        lambda: rng.choice([0.0, -0.0, 1.0, 0.5]), lambda: rng.uniform(900, 1100),
    ])
    special = rng.random() < 0.3

    def one() -> float:
        if special and rng.random() < 0.25:
            return rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0])
        return draw()

    # Five digits keep the JSON short.
    short = [float(f"{value:.5g}") for value in (one() for _ in range(2 * count))]
    return [[short[2 * i], short[2 * i + 1]] for i in range(count)] if dtype.startswith("complex") else short[:count]


def build(case: dict[str, Any]) -> torch.Tensor:
    """The tensor of a case, as PyTorch makes it."""
    dtype = getattr(torch, case["dtype"])
    if case.get("device") == "meta":
        made = torch.empty(case["shape"], dtype=dtype, device="meta")
    elif "scrambled" in case:
        # Contents that both sides compute, for tensors too large to write down.
        index = torch.arange(math.prod(case["shape"]), dtype=torch.int64)
        made = ((index * 2654435761 % 4294967296).double() / 4294967296 * case["scrambled"]).to(dtype)
        made = made.reshape(case["shape"])
    elif dtype.is_complex:
        pairs = torch.tensor(case["values"], dtype=torch.float64).reshape(-1, 2)
        made = torch.view_as_complex(pairs).to(dtype).reshape(case["shape"])
    elif dtype.is_floating_point:
        made = torch.tensor(case["values"], dtype=torch.float64).to(dtype).reshape(case["shape"])
    else:
        made = torch.tensor(case["values"], dtype=dtype).reshape(case["shape"])
    if case.get("requires_grad"):
        made.requires_grad_()
    return made


OPS = {
    "MulBackward0": lambda t: t * 1, "CloneBackward0": lambda t: t.clone(), "SubBackward0": lambda t: t - 0,
    "ViewBackward0": lambda t: t.view(t.shape),
}


def record(case: dict[str, Any]) -> dict[str, Any]:
    """Add the expected text to a case."""
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**case.get("options", {}))
    torch.set_default_dtype(getattr(torch, case.get("default", "float32")))
    made = build(case)
    if "node" in case:
        made = OPS[case["node"]](made.requires_grad_())
        assert type(made.grad_fn).__name__ == case["node"]
    case["text"] = repr(made)
    return case


def main() -> None:
    rng = random.Random(20)
    cases: list[dict[str, Any]] = []
    everything = [*FLOATS, *FLOATS, *INTEGERS, "complex64", "complex128", "bool"]
    for position in range(90):
        shape = [rng.choice([1, 2, 3, 4, 5, 7]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
        while math.prod(shape) > 60:
            shape.pop()
        dtype = everything[position % len(everything)]
        case: dict[str, Any] = {"dtype": dtype, "shape": shape, "values": numbers(rng, dtype, math.prod(shape))}
        if dtype not in INTEGERS and dtype != "bool":
            luck = rng.random()
            if luck < 0.2:
                case["requires_grad"] = True
            elif luck < 0.5:
                case["node"] = rng.choice(list(OPS))
        if position % 3 == 0:
            chosen = {
                "profile": rng.choice([None, "default", "short", "full"]), "precision": rng.choice([None, 0, 1, 2, 8]),
                "threshold": rng.choice([None, 0, 5, 20]), "edgeitems": rng.choice([None, 0, 1, 2]),
                "linewidth": rng.choice([None, 20, 40, 60, 120]), "sci_mode": rng.choice([None, True, False]),
            }
            case["options"] = {name: value for name, value in chosen.items() if value is not None}
        if position % 11 == 0:
            case["default"] = rng.choice(["float64", "float16", "bfloat16"])
        cases.append(case)
    for shape in ([0], [0, 3], [2, 0], [1, 0, 2]):
        for dtype in ("float32", "int64", "float64"):
            cases.append({"dtype": dtype, "shape": shape, "values": []})
    for dtype in ("float32", "int64", "bool"):
        cases.append({"dtype": dtype, "shape": [2, 3], "device": "meta"})
    cases.append({"dtype": "float32", "shape": [], "device": "meta", "requires_grad": True})
    large: list[tuple[list[int], str, float, dict[str, Any]]] = [
        ([1001], "float32", 1.0, {}), ([1000], "int64", 100.0, {}), ([2000], "int64", 1e6, {}),
        ([100, 100], "float64", 1e5, {}), ([12, 9, 11], "float32", 1e-3, {}), ([2, 600], "float16", 100.0, {}),
        ([600, 2], "bfloat16", 1.0, {}), ([6, 7, 40], "int32", 1e4, {}), ([3000], "bool", 2.0, {}),
        ([1500], "complex64", 10.0, {}), ([5000, 300], "float32", 1e9, {"profile": "short"}),
        ([1002], "float32", 3.0, {"profile": "full"}), ([40, 40], "float32", 1.0, {"edgeitems": 0}),
    ]
    for shape, dtype, scale, chosen in large:
        cases.append({"dtype": dtype, "shape": shape, "scrambled": scale, "options": chosen})
    recorded = [record(case) for case in cases]
    lines = ",\n".join(json.dumps(case) for case in recorded)
    (Path(__file__).parent / "printing.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
