"""Trading computation for memory: `checkpoint` keeps a function's inputs and computes the rest again in backward."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import retrograd as torch
from retrograd import Tensor, autograd
from retrograd.utils._checkpoint_debug import debug_contexts
from retrograd.utils._checkpoint_recompute import (
    ALLOWED_DETERMINISM_CHECKS,
    CheckpointError,
    GraphExecGroup,
    autocast_state,
    run_without_reentrant,
)
from retrograd.utils._checkpoint_selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

__all__ = ["SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
           "GraphExecGroup", "SelectiveCheckpointContext", "_CachedTorchDispatchMode", "_CachingTorchDispatchMode",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
           "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled",
           "set_checkpoint_early_stop", "set_device_states"]

_DEFAULT_DETERMINISM_MODE = "default"


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The default `context_fn`: two contexts that do nothing.

    >>> with noop_context_fn()[0]: pass
    """
    return nullcontext(), nullcontext()


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
               determinism_check: str = _DEFAULT_DETERMINISM_MODE, debug: bool = False, early_stop: bool = True,
               **kwargs: Any) -> Any:
    """Call `function(*args, **kwargs)` without keeping what its backward needs: that is computed again when it is needed.

    >>> import retrograd as torch
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> y = checkpoint(lambda x: print("running") or x.sin().exp(), x, use_reentrant=False)
    running
    >>> y.backward()
    running
    >>> x.grad
    tensor([1.])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
                      f"2.9, calling checkpoint without use_reentrant will raise an exception. {CHOOSE}", stacklevel=2)
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    unpack_error_cb = None
    if debug if Settings.debug is None else Settings.debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, unpack_error_cb = debug_contexts()
    metadata_fn = ALLOWED_DETERMINISM_CHECKS.get(determinism_check)
    if metadata_fn is None:
        raise ValueError(f"determinism_check should be one of {list(ALLOWED_DETERMINISM_CHECKS)}, but got {determinism_check}")
    stop = early_stop if Settings.early_stop is None else Settings.early_stop
    return run_without_reentrant(function, preserve_rng_state, context_fn(), stop, unpack_error_cb, metadata_fn, args, kwargs)


CHOOSE = ("use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
          "use_reentrant=True. Refer to docs for more details on the differences between the two variants.")


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Call a chain of functions in `segments` parts, each but the last one checkpointed.

    >>> import retrograd as torch
    >>> x = torch.zeros(2, requires_grad=True)
    >>> checkpoint_sequential([torch.sin, torch.cos, torch.exp], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([-0., -0.])
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
                      f"In version 2.9 we will raise an exception if use_reentrant is not passed. {CHOOSE}", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for function in chain[start:end]:
                value = function(value)
            return value
        return forward

    size = len(chain) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(end, len(chain))(input)


# ---- settings
class Settings:
    """What the scopes below set for all calls; None leaves it to the arguments of `checkpoint`."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Generator[None, None, None]:
    """Whether recomputation stops as soon as all that backward needs is there; decided when forward runs.

    >>> with set_checkpoint_early_stop(False): pass
    """
    before, Settings.early_stop = Settings.early_stop, enable
    try:
        yield
    finally:
        Settings.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Generator[None, None, None]:
    """Override the `debug` argument of every `checkpoint` in this scope; None leaves it as it is.

    >>> with set_checkpoint_debug_enabled(None): pass
    """
    before, Settings.debug = Settings.debug, enabled
    try:
        yield
    finally:
        Settings.debug = before


class DefaultDeviceType:
    """The device whose random state is kept when no argument says which.

    >>> DefaultDeviceType.get_device_type()
    'cpu'
    """

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The accelerators that `args` are on, and their random states: none, since all computation is on the cpu.

    >>> get_device_states()
    ([], [])
    """
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the random states that `get_device_states` returned.

    >>> set_device_states([], [])
    """


# ---- the re-entrant way
class CheckpointFunction(autograd.Function):
    """Checkpointing as one node whose backward runs the function again and a backward pass through it.

    >>> x = torch.zeros(1, requires_grad=True)
    >>> CheckpointFunction.apply(torch.exp, True, x).backward()
    >>> x.grad
    tensor([1.])
    """

    is_traceable = False                      # its backward runs a backward pass

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.rng_state = torch.get_rng_state() if preserve_rng_state else None
        ctx.autocast = autocast_state()
        # Tensors go through the graph, so that they are checked for changes; what else there is stays in its place.
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if not autograd._is_checkpoint_valid():
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                               "`inputs` parameter to .backward(). To resolve this error, you can either set "
                               "use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[i] = tensor
        with torch.random.fork_rng(enabled=ctx.rng_state is not None):
            if ctx.rng_state is not None:
                torch.set_rng_state(ctx.rng_state)
            detached = detach_variable(tuple(inputs))
            with torch.enable_grad(), torch.autocast(**ctx.autocast):
                outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [(out, grad) for out, grad in zip(outputs, args, strict=False) if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        autograd.backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return None, None, *[a.grad if isinstance(a, Tensor) else None for a in detached]


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same arguments with the tensors cut from their graph; those that require grad still do.

    >>> import retrograd as torch
    >>> detach_variable((torch.ones(1, requires_grad=True) * 2, 3))
    (tensor([2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: " + type(inputs).__name__)
    out = []
    for value in inputs:
        if isinstance(value, Tensor):
            cut = value.detach()
            cut.requires_grad = value.requires_grad
            value = cut
        out.append(value)
    return tuple(out)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no argument requires grad: nothing would be computed in backward.

    >>> import retrograd as torch
    >>> check_backward_validity([torch.ones(1, requires_grad=True)])
    """
    if not any([isinstance(value, Tensor) and value.requires_grad for value in inputs]):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
