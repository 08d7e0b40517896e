"""Profiler results as data: events, lists of events, and averages over events of the same kind."""
from __future__ import annotations

import json
import warnings
from collections import defaultdict, namedtuple
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from retrograd.autograd.profiler_table import build_table, format_memory, format_time, format_time_share

__all__ = ["EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel"]

_format_time, _format_time_share, _format_memory = format_time, format_time_share, format_memory

Kernel = namedtuple("Kernel", ["name", "device", "duration"])
STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


class DeviceType(IntEnum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


class Interval:
    """A span of time, in microseconds.

    >>> Interval(2, 5).elapsed_us()
    3
    """

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        return self.end - self.start


class FormattedTimesMixin:
    """Times as text, and times per call; shared by events and averages."""

    count: int
    cpu_time_total: float
    device_time_total: float
    self_cpu_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count

    cpu_time_str = property(lambda self: format_time(self.cpu_time))
    device_time_str = property(lambda self: format_time(self.device_time))
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total))
    device_time_total_str = property(lambda self: format_time(self.device_time_total))
    self_cpu_time_total_str = property(lambda self: format_time(self.self_cpu_time_total))
    self_device_time_total_str = property(lambda self: format_time(self.self_device_time_total))

    @property
    def cuda_time(self) -> float:
        return renamed(self, "cuda_time")


def renamed(event: Any, old: str) -> Any:
    """A property that reads an attribute under its deprecated name."""
    new = old.replace("cuda", "device")
    warnings.warn(f"`{old}` is deprecated. Use `{new}` instead.", FutureWarning, stacklevel=3)
    return getattr(event, new)


class FunctionEvent(FormattedTimesMixin):
    """One call of an op, a backward node, or a named range.

    >>> event = FunctionEvent(id=1, name="work", thread=0, start_us=10, end_us=15)
    >>> event.cpu_time_total, event.cpu_time_str
    (5, '5.000us')
    """

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: str | None = None,
                 fwd_thread: int | None = None, input_shapes: Any = None, stack: Any = None, scope: int = 0,
                 use_device: str | None = None, cpu_memory_usage: int = 0, device_memory_usage: int = 0,
                 is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1, node_id: int = -1,
                 device_type: Any = DeviceType.CPU, device_index: int = 0, device_resource_id: int | None = None,
                 is_legacy: bool = False, flops: int | None = None, trace_name: str | None = None,
                 concrete_inputs: Any = None, kwinputs: Any = None, is_user_annotation: bool = False) -> None:
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.count: int = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.inputs: Any = []             # the arguments, with `record_shapes`
        self.is_python_function = False
        self.python: Any = None           # the call of a Python function that it is
        self.allocations: list[Any] = []  # memory taken and given back: (time, bytes, address, bytes in all)
        self.self_cpu_percent = -1
        self.total_cpu_percent = -1
        self.total_device_percent = -1

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a kernel that the event launched on a device."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent | None) -> None:
        """Set the innermost event that contains this one."""
        self.cpu_parent = parent

    @property
    def external_id(self) -> int:
        return self.id

    @property
    def input_dtypes(self) -> list[str]:
        """The type names of the arguments; for tensors, of their elements."""
        return [value.kind() for value in self.inputs]

    @property
    def activity_type(self) -> str:
        if self.is_python_function:
            return "python_function"
        if self.name == "[memory]":
            return "cpu_instant_event"
        return "user_annotation" if self.is_user_annotation else "cpu_op"

    @property
    def on_cpu(self) -> bool:
        return bool(self.device_type == DeviceType.CPU)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us() if self.on_cpu else 0

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        # an asynchronous event has no children: work within its interval belongs to other events
        if self.is_async or not self.on_cpu:
            return 0
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        if self.is_async or self.use_device is None:
            return 0
        if self.on_cpu:
            return sum([k.duration for k in self.kernels]) + sum([c.device_time_total for c in self.cpu_children])
        return self.time_range.elapsed_us()

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        if self.on_cpu:
            return self.device_time_total - sum([child.device_time_total for child in self.cpu_children])
        return self.device_time_total

    @property
    def self_cpu_memory_usage(self) -> int:
        if self.is_async or not self.on_cpu:
            return 0
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children])

    @property
    def self_device_memory_usage(self) -> int:
        if self.is_async or not self.on_cpu:
            return 0
        return self.device_memory_usage - sum([child.device_memory_usage for child in self.cpu_children])

    @property
    def cuda_time_total(self) -> Any:
        return renamed(self, "cuda_time_total")

    @property
    def self_cuda_time_total(self) -> Any:
        return renamed(self, "self_cuda_time_total")

    @property
    def self_cuda_memory_usage(self) -> Any:
        return renamed(self, "self_cuda_memory_usage")

    @property
    def key(self) -> str:
        return self.name

    def __repr__(self) -> str:
        device = self.use_device
        return (f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
                f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
                f"start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[child.id for child in self.cpu_children]} {device}_time={self.device_time_str} "
                f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
                f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage} "
                f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>")


class FunctionEventAvg(FormattedTimesMixin):
    """The sum over several events of one key.

    >>> total = FunctionEventAvg()
    >>> for start, end in [(10, 15), (20, 30)]:
    ...     _ = total.add(FunctionEvent(id=0, name="work", thread=0, start_us=start, end_us=end))
    >>> total.count, total.cpu_time_total, total.cpu_time
    (2, 15, 7.5)
    """

    SUMMED = ("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total", "cpu_memory_usage",
              "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage", "count")
    TAKEN = ("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes", "stack",
             "scope", "device_type", "is_legacy", "use_device", "is_user_annotation")

    def __init__(self) -> None:
        self.key: Any = None
        self.count: int = 0
        self.node_id: int = 0
        self.is_async: bool = False
        self.is_remote: bool = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage: int = 0
        self.device_memory_usage: int = 0
        self.self_cpu_memory_usage: int = 0
        self.self_device_memory_usage: int = 0
        self.cpu_children: Any = None
        self.cpu_parent: Any = None
        self.device_type: Any = DeviceType.CPU
        self.is_legacy: bool = False
        self.flops: int = 0

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or the events of another average, of the same key."""
        if self.key is None:               # the first event sets the key
            for name in self.TAKEN:
                setattr(self, name, getattr(other, name, None))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in self.SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
                f"self_{device}_time={self.self_device_time_total_str} {device}_time={self.device_time_str} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
                f"{device}_memory_usage={self.device_memory_usage}>")


class EventList(list[Any]):
    """Events, or averages, that can be shown as a table, aggregated and exported."""

    def __init__(self, events: Iterable[Any] = (), *, use_device: str | None = None, profile_memory: bool = False,
                 with_flops: bool = False) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def _build_tree(self) -> None:
        """Nest the events by their intervals."""
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Give each event its parent: the innermost event of the same thread that contains it.

        An event that overlaps another only partly is not its child.
        """
        threads: dict[Any, list[Any]] = defaultdict(list)
        for event in self:
            if event.device_type == DeviceType.CPU and not event.is_async:
                threads[event.thread, event.node_id].append(event)
        for events in threads.values():
            around: list[Any] = []
            for event in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
                start, end = event.time_range.start, event.time_range.end
                while around and (start >= around[-1].time_range.end or end > around[-1].time_range.end):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """Merge an event with its only child of the same name."""
        while True:
            gone = set()
            for event in self:
                parent = event.cpu_parent
                if parent is not None and parent.name == event.name and len(parent.cpu_children) == 1:
                    parent.cpu_children = event.cpu_children
                    parent.kernels = event.kernels
                    for child in event.cpu_children:
                        child.cpu_parent = parent
                    gone.add(id(event))
            if not gone:
                return
            self[:] = [event for event in self if id(event) not in gone]

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each moment counted once."""
        return sum([event.self_cpu_time_total for event in self])

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """The events as a table of text, the largest value of `sort_by` first; `row_limit` -1 shows all."""
        return build_table(self, sort_by=sort_by, row_limit=row_limit, max_src_column_width=max_src_column_width,
                           max_name_column_width=max_name_column_width, max_shapes_column_width=max_shapes_column_width,
                           header=header, top_level_events_only=top_level_events_only, time_unit=time_unit,
                           profile_memory=self._profile_memory, with_flops=self._with_flops)

    def __str__(self) -> str:
        return self.table()

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """One average for each name (and input shapes, and innermost frames, if asked)."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        groups: dict[tuple[Any, ...], FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            stack = (event.stack or [])[:group_by_stack_n]
            key = (event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation,
                   str(event.input_shapes) if group_by_input_shapes else "", tuple(stack),
                   event.overload_name if group_by_overload_name else "")
            groups[key].add(event)
            groups[key].stack = stack
        for average in groups.values():
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return EventList(groups.values(), use_device=self._use_device, profile_memory=self._profile_memory,
                         with_flops=self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """All events as one average, whose key is "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None
            total.add(event)
        total.key = "Total"
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        return list(STACK_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write stacks, outermost frame first, with what was measured in each: the input of flame graph tools."""
        if metric not in STACK_METRICS:
            raise ValueError(f"metric should be one of: {STACK_METRICS!s}")
        table = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                value = getattr(event, metric.replace("cuda", "device").replace("xpu", "device")
                                .replace("privateuse1", "device"))
                if event.stack and int(value) > 0:
                    file.write(";".join([entry.translate(table) for entry in reversed(event.stack)]) + f" {int(value)}\n")

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a JSON list that chrome://tracing can show."""
        rows = [{"name": event.trace_name, "ph": "X", "ts": event.time_range.start, "dur": event.time_range.elapsed_us(),
                 "tid": f" node_id:{event.node_id}, thread_id:{event.thread} " if event.is_remote else event.thread,
                 "pid": "CPU functions", "args": {}} for event in self if event.trace_name is not None]
        with open(path, "w") as file:
            json.dump(rows, file)
