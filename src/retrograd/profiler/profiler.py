"""A profiler that follows the steps of a program: which are skipped, which warm up, which are recorded, and for whom."""
from __future__ import annotations

import json
import os
import socket
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from retrograd.autograd import profiler as autograd_profiler
from retrograd.autograd.profiler_util import EventList

__all__ = ["ProfilerAction", "ProfilerActivity", "_KinetoProfile", "profile", "schedule", "supported_activities",
           "tensorboard_trace_handler"]


class ProfilerAction(Enum):
    """What to do in one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """What can be looked at; here, only the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


WARNED: set[str] = set()


def warn_once(text: str) -> None:
    if text not in WARNED:
        WARNED.add(text)
        warnings.warn(text, stacklevel=3)


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be looked at on this machine."""
    return {ProfilerActivity.CPU}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """A rule for steps: skip some, then again and again wait, warm up and record; the last recorded step is saved.

    >>> rule = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [rule(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if not (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0):
        raise AssertionError(f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
                             f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", UserWarning, stacklevel=2)

    def rule(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:                # the first round does not wait
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return rule


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes each trace into a folder, under a name that TensorBoard finds."""
    def handler(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class _KinetoProfile:
    """Records what this thread runs from `start` to `stop`, without a schedule.

    >>> import retrograd as torch
    >>> prof = _KinetoProfile()
    >>> prof.start()
    >>> x = torch.ones(2) + 1
    >>> prof.stop()
    >>> [event.name for event in prof.events()][-1]
    'aten::add'
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
                 experimental_config: Any = None, acc_events: bool = False) -> None:
        self.activities = supported_activities() if activities is None else set(activities)
        if not self.activities & set(ProfilerActivity):
            raise AssertionError("No valid profiler activities found")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.profiler: autograd_profiler.profile | None = None     # the one at work, or the last one that was
        self._tracing = False
        self._kept = EventList()                                   # with acc_events: those of earlier cycles
        self._metadata: dict[str, Any] = {}
        self._trace_id = uuid.uuid4().hex.upper()

    def start(self) -> None:
        self.start_trace()

    def stop(self) -> None:
        self.stop_trace()

    def get_trace_id(self) -> str | None:
        """The name of the trace; None before there is one."""
        return None if self.profiler is None else self._trace_id

    def start_trace(self) -> None:
        if self.profiler is not None and not self.acc_events:
            warn_once("Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                      "reported. To keep events across cycles, set acc_events=True.")
        self.profiler = autograd_profiler.profile(
            use_cpu=True, record_shapes=self.record_shapes, with_flops=self.with_flops, profile_memory=self.profile_memory,
            with_stack=self.with_stack, with_modules=self.with_modules, experimental_config=self.experimental_config)
        self.profiler.__enter__()
        self._tracing = True

    def stop_trace(self) -> None:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self.profiler.__exit__(None, None, None)
        self._tracing = False
        if self.acc_events:
            self.profiler.keep(self._kept)
            self._kept = self.profiler.function_events

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Look away for a while, or look again, without a new trace.

        >>> import retrograd as torch
        >>> with profile() as prof:
        ...     prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        ...     x = torch.ones(1)
        ...     prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
        ...     y = x + 1
        >>> [event.name for event in prof.events()]
        ['aten::add']
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # ---- results
    def _finished(self, deed: str) -> autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {deed}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last trace."""
        return self._finished("accessing events").function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The averages of the last trace."""
        return self._finished("getting key averages").key_averages(group_by_input_shape, group_by_stack_n,
                                                                   group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        self._finished("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        self._finished("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the traces that are exported from now on."""
        self._metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """`add_metadata_json` before the profiler has begun."""
        self.add_metadata_json(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same with a value that is JSON already."""
        self._metadata[key] = json.loads(value)


class profile(_KinetoProfile):
    """Records what this thread runs, all of it or the steps that a schedule chooses.

    >>> import retrograd as torch
    >>> with profile(activities=[ProfilerActivity.CPU]) as prof:
    ...     x = torch.ones(2) + 1
    >>> [event.name for event in prof.events()]
    ['aten::ones', 'aten::empty', 'aten::fill_', 'aten::add']
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None, on_trace_ready: Callable[..., Any] | None = None,
                 record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: Any = None, acc_events: bool = False,
                 use_cuda: bool | None = None) -> None:
        wanted = supported_activities() if activities is None else set(activities)
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
            wanted = wanted | {ProfilerActivity.CUDA} if use_cuda else wanted - {ProfilerActivity.CUDA}
        super().__init__(activities=wanted, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack,
                         with_flops=with_flops, with_modules=with_modules, experimental_config=experimental_config,
                         acc_events=acc_events)
        self.record_steps = schedule is not None
        self.schedule: Callable[[int], ProfilerAction] = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: autograd_profiler.record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        autograd_profiler.KinetoStepTracker.init_step_count("ProfilerStep")
        self._go(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def stop(self) -> None:
        self._close_step()
        if self.profiler is None and self.current_action in RECORDING:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._go(self.current_action, None)
        autograd_profiler.KinetoStepTracker.erase_step_count("ProfilerStep")

    def step(self) -> None:
        """Say that the next step of the program begins."""
        self._close_step()
        before = self.current_action
        autograd_profiler.KinetoStepTracker.increment_step("ProfilerStep")
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._go(before, self.current_action)
        self._open_step()

    def _open_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = autograd_profiler.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _close_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _go(self, before: ProfilerAction, action: ProfilerAction | None) -> None:
        """From one step to the next, or to the end (None)."""
        if self._tracing:
            finished = before is ProfilerAction.RECORD_AND_SAVE or action is None
            if finished or action not in RECORDING:
                self.stop_trace()
            if finished and self.on_trace_ready is not None:
                self.on_trace_ready(self)
            elif not finished and action not in RECORDING:
                warnings.warn("Incorrect schedule: RECORD followed by " + action.name, stacklevel=3)  # type: ignore[union-attr]
        if action in RECORDING and not self._tracing:
            self.start_trace()
