"""The errors of compiling, with PyTorch's names and inheritance."""
from __future__ import annotations

from enum import Enum, auto
from typing import Any


class TorchDynamoException(RuntimeError):
    """Base class of compilation errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler itself."""


class Unsupported(TorchDynamoException):
    """A graph break in a function that was compiled with fullgraph=True."""

    def __init__(self, msg: str, gb_type: str = "", skip_frame: bool = False, *, case_name: str | None = None,
                 real_stack: Any = None) -> None:
        super().__init__(msg)
        self.msg, self.gb_type, self.skip_frame, self.case_name = msg, gb_type, skip_frame, case_name
        self.real_stack = real_stack


class UserErrorType(Enum):
    """The kinds of mistakes that a `UserError` tells of."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(TorchDynamoException):
    """A user error of a given kind.

    >>> error = UserError(UserErrorType.INVALID_INPUT, "no tensors")
    >>> error.error_type.name, str(error)
    ('INVALID_INPUT', 'no tensors')
    """

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type, self.msg, self.case_name = error_type, msg, case_name


class TorchRuntimeError(TorchDynamoException):
    """An op of the program raised an error."""


class UncapturedHigherOrderOpError(TorchDynamoException):
    """The functions of a higher-order operator cannot be captured, or do not match."""


class RestartAnalysis(TorchDynamoException):
    """Compilation must start again."""


class SkipFrame(TorchDynamoException):
    """A function must not be compiled."""


class ResetRequired(TorchDynamoException):
    """Something was compiled with another backend, which cannot be undone without `reset()`."""

    def __init__(self) -> None:
        super().__init__("Must call `torch._dynamo.reset()` before changing backends.  Detected two calls to "
                         "`torch.compile()` with a different backend compiler arguments.")


class ShortenTraceback(TorchDynamoException):
    """An error whose traceback is shortened to the program's frames."""


class BackendCompilerFailed(ShortenTraceback):
    """A backend raised an error: `inner_exception`."""

    def __init__(self, backend_fn: Any, inner_exception: Exception, first_useful_frame: Any = None) -> None:
        self.backend_name = backend_fn if isinstance(backend_fn, str | None) else getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class InvalidBackend(TorchDynamoException):
    """No backend has that name.

    >>> print(InvalidBackend("fast"))
    Invalid backend: 'fast', see `torch._dynamo.list_backends()` for available backends.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class RecompileError(TorchDynamoException):
    """A recompilation where the configuration forbids it."""


class FailOnRecompileLimitHit(Exception):
    """A function reached the recompile limit where the configuration forbids it."""
