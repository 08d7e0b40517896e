"""A KeyboardInterrupt anywhere leaves grad mode, modes, levels and hooks as they were; threads add up exactly."""
from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import retrograd as torch
from retrograd import func
from retrograd.autograd import forward_ad
from retrograd.core import forward
from retrograd.core.state import switches, tls
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils.checkpoint import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def backward() -> Any:
    x = torch.ones(3, requires_grad=True)
    (x.sin().sum() * x.prod()).backward()
    return x.grad


def transforms() -> Any:
    return func.vmap(func.grad(lambda x: (x.sin() * x).sum()))(torch.ones(2, 3)) + func.hessian(lambda x: (x ** 3).sum())(
        torch.ones(1))


def dual_numbers() -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(2), torch.ones(2)).sin()).tangent


def checkpoints() -> Any:
    x = torch.ones(3, requires_grad=True)
    for reentrant in (False, True):
        checkpoint(lambda y: (y * 2).sin(), x, use_reentrant=reentrant).sum().backward()
    return x.grad


def modes() -> Any:
    with torch.no_grad(), Passing(), torch.autocast("cpu", dtype=torch.bfloat16):
        return (torch.ones(2, 2) @ torch.ones(2, 2)).float()


def saved_hooks() -> Any:
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t), torch.autograd.set_detect_anomaly(True):
        (x * x).sum().backward()
    return x.grad


PROGRAMS = [backward, transforms, dual_numbers, checkpoints, modes, saved_hooks]


def state() -> Any:
    kept = {name: list(value) if isinstance(value, list) else value for name, value in tls.__dict__.items() if name != "stash"}
    return kept, switches.any_mode, switches.function_modes, forward.levels.current


@pytest.mark.parametrize("program", PROGRAMS)
def test_interrupt_at_the_start_of_any_call_leaves_no_trace(program: Any) -> None:
    # Signals arrive where functions start. Scopes of the user's own `with` are not ours to protect while they are entered.
    expected, before = program().tolist(), state()
    step = 0
    while True:
        step += 1
        seen = 0

        def interrupt(frame: Any, event: str, arg: Any, step: int = step) -> None:
            nonlocal seen
            if event != "call" or "retrograd" not in frame.f_code.co_filename:
                return
            outer = frame
            while outer is not None:
                if outer.f_code.co_name in ("__enter__", "__exit__", "__init__"):
                    return
                outer = outer.f_back
            seen += 1
            if seen == step:
                raise KeyboardInterrupt
        sys.setprofile(interrupt)
        try:
            program()
        except KeyboardInterrupt:
            sys.setprofile(None)
            assert state() == before, f"step {step}"
            if step % 16 == 0:
                assert program().tolist() == expected, f"after step {step}"
            continue
        finally:
            sys.setprofile(None)
        break
    assert program().tolist() == expected


def test_gradients_of_eight_threads_add_up() -> None:
    count = 200
    weights = [torch.zeros(4, requires_grad=True), torch.zeros(4, requires_grad=True)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(count):
                (weights[0] * (number + 1) + weights[1] * 2).sum().backward()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert weights[0].grad.tolist() == [count * 36.0] * 4 and weights[1].grad.tolist() == [count * 16.0] * 4
