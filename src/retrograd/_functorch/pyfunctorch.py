"""Running transforms as objects that Python code can ask and step out of, under PyTorch's names."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd._functorch.levels import TransformType, kind_of
from retrograd.core.state import tls
from retrograd.transforms.base import only_outer
from retrograd.transforms.trees import map_leaves

__all__ = ["FuncTorchInterpreter", "FunctionalizeInterpreter", "GradInterpreter", "JvpInterpreter", "TransformType",
           "VmapInterpreter", "coerce_cinterpreter", "retrieve_all_functorch_interpreters",
           "retrieve_current_functorch_interpreter", "temporarily_clear_interpreter_stack",
           "temporarily_pop_interpreter_stack"]


class FuncTorchInterpreter:
    """A running transform."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def level(self) -> int:
        """How deep it is; the outermost has level 1."""
        depth: int = self.transform.level
        return depth

    def key(self) -> TransformType:
        """Its kind."""
        return kind_of(self.transform)

    @contextmanager
    def lower(self) -> Iterator[None]:
        """A scope in which only the transforms outside of this one are in force."""
        with self.beneath():
            yield

    def beneath(self) -> Any:
        return only_outer(self.transform.level - 1)

    def process(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Run a higher-order operator by its rule for this kind of transform."""
        return op.functorch_table[self.key()](self, *args, **kwargs)

    def check_state(self, state: Any) -> bool:
        return bool(state == self.get_state())

    def get_state(self) -> tuple[Any, ...]:
        return self.key(), self.level()


class VmapInterpreter(FuncTorchInterpreter):
    """A running vmap."""

    def batch_size(self) -> int:
        """The number of examples."""
        size: int = self.transform.size
        return size

    def randomness(self) -> str:
        """What random ops do."""
        name: str = self.transform.randomness
        return name

    def get_state(self) -> tuple[Any, ...]:
        return self.key(), self.level(), self.randomness()


class LevelInterpreter(FuncTorchInterpreter):
    """A running transform that has a level of lifted tensors."""

    def beneath(self) -> Any:
        return self.transform.beneath()

    def lift(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The tensors among the arguments on this level."""
        return map_leaves(self.transform.lifted, args), map_leaves(self.transform.lifted, kwargs)


class GradInterpreter(LevelInterpreter):
    """A running grad or vjp."""

    def prev_grad_mode(self) -> bool:
        """The grad mode of the level below."""
        mode: bool = self.transform.mode_below
        return mode


class JvpInterpreter(LevelInterpreter):
    """A running jvp."""


class FunctionalizeInterpreter(LevelInterpreter):
    """A running functionalize."""


KINDS = {TransformType.Vmap: VmapInterpreter, TransformType.Grad: GradInterpreter, TransformType.Jvp: JvpInterpreter,
         TransformType.Functionalize: FunctionalizeInterpreter}


def interpreter_of(transform: Any) -> FuncTorchInterpreter:
    kind = kind_of(transform)
    return KINDS.get(kind, FuncTorchInterpreter)(transform)


def coerce_cinterpreter(cinterpreter: Any) -> FuncTorchInterpreter:
    """The interpreter of a running transform."""
    return interpreter_of(cinterpreter.transform)


def retrieve_current_functorch_interpreter() -> FuncTorchInterpreter:
    """The innermost running transform."""
    if not tls.transforms:
        raise AssertionError("no transform is running")
    return interpreter_of(tls.transforms[-1])


def retrieve_all_functorch_interpreters() -> list[FuncTorchInterpreter]:
    """All running transforms, outermost first."""
    return [interpreter_of(level) for level in tls.transforms]


@contextmanager
def temporarily_pop_interpreter_stack() -> Iterator[None]:
    """A scope without the innermost transform."""
    with only_outer(len(tls.transforms) - 1):
        yield


@contextmanager
def temporarily_clear_interpreter_stack() -> Iterator[list[FuncTorchInterpreter]]:
    """A scope without any transform; gives those that were running."""
    running = retrieve_all_functorch_interpreters()
    with only_outer(0):
        yield running


def dispatch_functorch(op: Any, args: Any, kwargs: Any) -> Any:
    """Run a higher-order operator at the innermost transform."""
    return retrieve_current_functorch_interpreter().process(op, args, kwargs)
