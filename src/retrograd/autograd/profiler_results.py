"""Profiler results in the form of PyTorch's C++ layer: events with methods, and a tree of them."""
from __future__ import annotations

import time
from enum import Enum, IntEnum
from typing import Any

from retrograd.autograd.profiler_util import EventList, FunctionEvent
from retrograd.core.device import device

MEMORY = "[memory]"

__all__ = ["AllocationFields", "EventType", "ExperimentalConfig", "ProfilerEvent", "ProfilerResult", "RecordScope",
           "TorchOpFields"]


class RecordScope(IntEnum):
    """The kind of an event."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


class _EventType(Enum):
    """The kinds of events of a tree; ops and ranges are of the first."""

    TorchOp = 0
    Backend = 1
    Vulkan = 2
    Allocation = 3
    PyCall = 5
    PyCCall = 6
    Kineto = 7


EventType = _EventType


class ExperimentalConfig:
    """Options of PyTorch's profiler that have no effect here; stored for programs that read them."""

    def __init__(self, profiler_metrics: Any = (), profiler_measure_per_kernel: bool = False, verbose: bool = False,
                 performance_events: Any = (), enable_cuda_sync_events: bool = False, adjust_profiler_step: bool = False,
                 disable_external_correlation: bool = False, profile_all_threads: bool = False,
                 capture_overload_names: bool = False, **others: Any) -> None:
        self.profiler_metrics = list(profiler_metrics)
        self.profiler_measure_per_kernel = profiler_measure_per_kernel
        self.verbose = verbose
        self.performance_events = list(performance_events)
        self.enable_cuda_sync_events = enable_cuda_sync_events
        self.adjust_profiler_step = adjust_profiler_step
        self.disable_external_correlation = disable_external_correlation
        self.profile_all_threads = profile_all_threads
        self.capture_overload_names = capture_overload_names
        self.__dict__.update(others)


class KinetoEvent:
    """An event with accessor methods."""

    def __init__(self, event: FunctionEvent, origin: int) -> None:
        self._event = event
        self._origin = origin

    def name(self) -> str:
        return self._event.trace_name or self._event.name

    def start_ns(self) -> int:
        return self._origin + round(self._event.time_range.start * 1000)

    def end_ns(self) -> int:
        return self._origin + round(self._event.time_range.end * 1000)

    def duration_ns(self) -> int:
        return self.end_ns() - self.start_ns()

    def correlation_id(self) -> int:
        return self._event.id

    def external_id(self) -> int:
        return self._event.id

    def linked_correlation_id(self) -> int:
        return 0

    def shapes(self) -> Any:
        return self._event.input_shapes or []

    def concrete_inputs(self) -> Any:
        return self._event.concrete_inputs or []

    def stack(self) -> Any:
        return self._event.stack or []

    def scope(self) -> int:
        return int(self._event.scope)

    def sequence_nr(self) -> int:
        return self._event.sequence_nr

    def start_thread_id(self) -> int:
        return self._event.thread

    def end_thread_id(self) -> int:
        return self._event.thread

    def fwd_thread_id(self) -> int:
        return self._event.fwd_thread or 0

    def device_type(self) -> Any:
        return self._event.device_type

    def flops(self) -> int:
        return self._event.flops or 0

    def nbytes(self) -> int:
        return self._event.cpu_memory_usage

    def is_async(self) -> bool:
        return False

    def is_python_function(self) -> bool:
        return self._event.is_python_function

    def is_user_annotation(self) -> bool:
        return bool(self._event.is_user_annotation)

    def activity_type(self) -> str:
        return self._event.activity_type

    def dtypes(self) -> list[str]:
        return self._event.input_dtypes


class TorchOpFields:
    """The properties of an op other than its times."""

    def __init__(self, event: FunctionEvent) -> None:
        self.name = event.name
        self.scope = RecordScope(int(event.scope))
        self.sequence_number = event.sequence_nr
        self.inputs = [value.field() for value in event.inputs]
        self.allow_tf32_cublas = False


class AllocationFields:
    """Memory that was taken, or with a negative size given back."""

    def __init__(self, allocation: tuple[Any, ...]) -> None:
        _, self.alloc_size, self.ptr, self.total_allocated = allocation
        self.total_reserved = 0
        self.device = device("cpu")
        self.id = self.allocation_id = self.ptr


class ProfilerEvent:
    """A node of the tree of events: who called whom."""

    def __init__(self, event: FunctionEvent, origin: int, parent: ProfilerEvent | None, allocation: tuple[Any,
                 ...] | None = None) -> None:
        shown = KinetoEvent(event, origin)
        self.name = shown.name() if allocation is None else MEMORY
        self.id = self.correlation_id = event.id
        self.overload_name = event.overload_name
        self.start_tid = event.thread
        self.start_time_ns, self.end_time_ns = shown.start_ns(), shown.end_ns()
        self.duration_time_ns = shown.duration_ns()
        self.parent = parent
        self.children: list[ProfilerEvent] = []
        self.extra_fields: Any
        if allocation is not None or event.name == MEMORY:
            self.tag = EventType.Allocation
            self.extra_fields = AllocationFields(allocation or event.allocations[0])
            self.start_time_ns, self.duration_time_ns = self.end_time_ns, 0
        elif event.is_python_function:
            self.tag = EventType.PyCCall if event.python.callsite is None else EventType.PyCall
            self.extra_fields = event.python
        else:
            self.tag, self.extra_fields = EventType.TorchOp, TorchOpFields(event)
        self.typed = (self.tag, self.extra_fields)
        if self.tag is not EventType.Allocation:
            self.children = [*[ProfilerEvent(child, origin, self) for child in event.cpu_children],
                             *[ProfilerEvent(event, origin, self, part) for part in event.allocations]]


class ProfilerResult:
    """The results of one profiler run.

    >>> import retrograd as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     x = torch.ones(1) + 1
    >>> [event.name() for event in prof.kineto_results.events()]
    ['aten::ones', 'aten::empty', 'aten::fill_', 'aten::add']
    >>> [(node.name, len(node.children)) for node in prof.kineto_results.experimental_event_tree()]
    [('aten::ones', 2), ('aten::add', 0)]
    """

    def __init__(self, events: EventList) -> None:
        self._events = events
        self._origin = time.time_ns() - round(max([event.time_range.end for event in events], default=0) * 1000)

    def trace_start_ns(self) -> int:
        return self._origin

    def events(self) -> list[KinetoEvent]:
        return [KinetoEvent(event, self._origin) for event in self._events]

    def experimental_event_tree(self) -> list[ProfilerEvent]:
        return [ProfilerEvent(event, self._origin, None) for event in self._events if event.cpu_parent is None]
