"""Records tests/golden/distributions.json: what PyTorch's distributions give. Run it with a PyTorch at hand."""
from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.distributions import cases  # noqa: E402


def shown(value: Any, digits: int) -> Any:
    """A tensor as its shape and rounded values."""
    if value is None:
        return None
    flat = [float(f"{x:.{digits}g}") for x in value.detach().double().reshape(-1).tolist()]
    return [list(value.shape), flat]


def attempt(call: Any, digits: int = 12) -> Any:
    try:
        return shown(call(), digits)
    except NotImplementedError:
        return "NotImplementedError"


def measure(torch: Any, make: Any, leaves: list[Any], digits: int) -> dict[str, Any]:
    """Everything that is compared of one distribution."""
    d = make()
    found: dict[str, Any] = {"repr": repr(d), "batch_shape": list(d.batch_shape), "event_shape": list(d.event_shape),
                             "has_rsample": d.has_rsample, "support": type(d.support).__name__}
    for name in ("mean", "mode", "variance", "stddev"):
        found[name] = attempt(lambda name=name: getattr(d, name), digits)
    found["entropy"] = attempt(d.entropy, digits)
    torch.manual_seed(7)
    drawn = d.sample((3,)).detach()
    found["sample"] = shown(drawn, digits)
    found["log_prob"] = attempt(lambda: d.log_prob(drawn), digits)
    found["cdf"] = attempt(lambda: d.cdf(drawn), digits)
    found["icdf"] = attempt(lambda: d.icdf(torch.full(drawn.shape, 0.3, dtype=drawn.dtype)), digits)
    if d.has_enumerate_support and not d.event_shape and found["repr"].find("count") < 0:
        found["support_values"] = attempt(d.enumerate_support, digits)
    wide = d.expand((2, *d.batch_shape))
    torch.manual_seed(8)
    again = wide.log_prob(drawn[:1].unsqueeze(0))
    found["expanded"] = [list(wide.batch_shape), shown(again, digits), shown(wide.sample(), digits)]
    value = gradients_of(make, leaves, lambda d: d.log_prob(drawn), torch)
    found["log_prob_grad"] = value and value[1]
    if d.has_rsample:
        found["rsample"], found["rsample_grad"] = gradients_of(make, leaves, lambda d: d.rsample((2,)), torch)
    return found


def gradients_of(make: Any, leaves: list[Any], call: Any, torch: Any) -> Any:
    """A value of a fresh instance, and the gradients of a weighted sum of it with respect to what the instance is made of."""
    leaves.clear()
    d = make()
    torch.manual_seed(9)
    value = call(d)
    if not value.requires_grad:
        return None
    weights = torch.arange(1.0, 1.0 + value.numel(), dtype=value.dtype).reshape(value.shape)
    try:
        gradients = torch.autograd.grad((value * weights).sum(), leaves, allow_unused=True)
    except RuntimeError:        # PyTorch cannot differentiate Wishart samples
        return shown(value, 9), None
    return shown(value, 9), [shown(g, 9) for g in gradients]


def divergences(torch: Any) -> dict[str, Any]:
    """The divergence of every registered pair that two cases stand for, and which pairs are registered."""
    made = {name: make() for name, make in cases.distributions(torch, []).items()}
    found = {}
    for a, p in made.items():
        for b, q in made.items():
            try:
                found[f"{a} {b}"] = shown(torch.distributions.kl_divergence(p, q), 10)
            except (NotImplementedError, RuntimeError, ValueError):
                continue
    return found


def transformed(torch: Any, make: Any, values: Any) -> dict[str, Any]:
    transform, x = make(), torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = transform(x)
    found = {"repr": repr(transform), "y": shown(y, 12), "bijective": transform.bijective,
             "x": attempt(lambda: transform.inv(y.detach())), "jacobian": attempt(lambda: transform.log_abs_det_jacobian(x, y)),
             "shape": list(transform.forward_shape(x.shape)), "back": list(transform.inverse_shape(y.shape)),
             "cached": transform.with_cache(1).inv(transform.with_cache(1)(x)) is x}
    try:
        found["sign"] = shown(torch.as_tensor(transform.sign), 6)
    except NotImplementedError:
        found["sign"] = None
    return found


def constraint(torch: Any, made: Any, values: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"repr": repr(made), "is_discrete": made.is_discrete, "event_dim": made.event_dim,
                             "check": made.check(torch.tensor(values)).tolist()}
    for name in ("biject_to", "transform_to"):
        try:
            found[name] = repr(getattr(torch.distributions, name)(made))
        except NotImplementedError as problem:
            found[name] = str(problem)
    return found


def refusal(call: Any) -> list[str]:
    try:
        call()
    except Exception as problem:
        return [type(problem).__name__, str(problem)]
    raise AssertionError("nothing was raised")


def record(torch: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaves: list[Any] = []
        made = cases.distributions(torch, leaves)
        single = {name: measure(torch, make, leaves, 7) for name, make in made.items()}
        torch.set_default_dtype(torch.float64)
        return {
            "float32": single,
            "float64": {name: measure(torch, make, leaves, 12) for name, make in made.items()},
            "kl": divergences(torch),
            "transforms": {name: transformed(torch, *case) for name, case in cases.transforms(torch).items()},
            "constraints": {name: constraint(torch, *case) for name, case in cases.constrained(torch).items()},
            "refused": {name: refusal(call) for name, call in cases.refused(torch).items()},
        }


def main() -> None:
    import torch

    groups = record(torch)
    texts = []
    for group, entries in groups.items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        texts.append(f"{json.dumps(group)}: {{\n{lines}\n}}")
    (HERE / "distributions.json").write_text("{\n" + ",\n".join(texts) + "\n}\n")


if __name__ == "__main__":
    main()
