"""The autograd profiler: which ops ran, when, how long, in which named range, and the backward node of each."""
from __future__ import annotations

import gzip
import json
import os
import socket
import uuid
import warnings
from contextlib import ContextDecorator
from typing import Any

from retrograd.autograd.nvprof import load_nvprof, parse_nvprof_trace
from retrograd.autograd.profiler_inputs import number_memory
from retrograd.autograd.profiler_results import ProfilerResult
from retrograd.autograd.profiler_util import EventList, FunctionEvent
from retrograd.autograd.recorder import FUNCTION, MEMORY, USER_SCOPE, Recorder
from retrograd.core.api import ops
from retrograd.core.state import set_flag, tls

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "kineto_available", "load_nvprof", "parse_nvprof_trace",
           "profile", "profiler_enabled", "record_function"]

STEP = "ProfilerStep"     # ranges of this name are numbered in a trace and aggregated in a table


class profile:
    """Record the ops of this thread within this scope; afterwards the object holds the results.

    >>> import retrograd as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with profile() as prof:
    ...     y = (x * x).sum()
    ...     y.backward()
    >>> [event.name for event in prof.function_events][:2]
    ['aten::mul', 'aten::sum']
    >>> {average.key: average.count for average in prof.key_averages()}["MulBackward0"]
    1

    `record_shapes` records the shapes of tensor arguments, `with_flops` estimates the work of products and convolutions,
    `profile_memory` the memory of new results, `with_stack` the Python frames of the caller.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
                 record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
                 experimental_config: Any = None, acc_events: bool = False, custom_trace_id_callback: Any = None) -> None:
        self.enabled: bool = enabled
        if not enabled:
            return
        self.use_cuda = use_cuda
        if use_cuda:
            warnings.warn("The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                          FutureWarning, stacklevel=2)
            use_device = "cuda"
        if use_device == "cuda":
            warnings.warn("CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=2)
        elif use_device is not None:
            warnings.warn(f"The {use_device} is not a valid device option.", UserWarning, stacklevel=2)
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        self.use_device: str | None = None
        self.use_cpu = use_cpu
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.experimental_config = experimental_config
        self.entered = False
        self._recorder: Recorder | None = None
        self._previous: Recorder | None = None
        self._events: EventList | None = None
        self._saved = False

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recorder = Recorder(self.record_shapes, self.with_flops, self.profile_memory, self.with_stack)
        self._previous = set_flag("profiler", self._recorder)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled and self._recorder is not None:
            set_flag("profiler", self._previous)
            self._recorder.stop()
            self._events = events_of(self._recorder, self.profile_memory, self.with_flops)

    def keep(self, earlier: EventList) -> None:
        """Put the events of an earlier trace before those of this one."""
        if self._events is not None and earlier:
            self._events = EventList([*earlier, *self._events], profile_memory=self.profile_memory, with_flops=self.with_flops)

    def toggle_collection_dynamic(self, enabled: bool, activities: Any) -> None:
        """Pause or resume recording."""
        if self._recorder is not None and self._events is None:
            set_flag("profiler", self._recorder if enabled else self._previous)

    @property
    def function_events(self) -> EventList:
        """Every event, in the order of their beginnings; none while the scope is open."""
        if not self.enabled:
            raise AttributeError("'profile' object has no events: it was made with enabled=False")
        if self._events is None:
            return EventList(profile_memory=self.profile_memory, with_flops=self.with_flops)
        return self._events

    @property
    def kineto_results(self) -> ProfilerResult | None:
        """The same events in the form of PyTorch's lower layer; None while the scope is open."""
        return None if self._events is None else ProfilerResult(self._events)

    def __repr__(self) -> str:
        if not self.enabled:
            return "None"
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return repr(self) if not self.enabled or self._events is None else str(self._events)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80, header: str | None = None,
              top_level_events_only: bool = False) -> str:
        """The events as a table of text."""
        return self.function_events.table(sort_by, row_limit, max_src_column_width, max_name_column_width,
                                          max_shapes_column_width, header, top_level_events_only)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """One average for each name; also for each set of input shapes, or of innermost frames, if asked."""
        if self.function_events is not self._events:
            return EventList()
        return self._events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> Any:
        """All events as one average."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, each moment counted once."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str, metadata: dict[str, str] | None = None) -> None:
        """Write the events for chrome://tracing or Perfetto; a name that ends in .gz is compressed. Works once."""
        events = self.function_events
        if self._saved:
            raise RuntimeError("Trace is already saved.")
        if self._events is None:
            raise AttributeError("there is no trace to save: the profiler has not run")
        self._saved = True
        wanted = {name: 1 for name in ("record_shapes", "profile_memory", "with_stack", "with_flops") if getattr(self, name)}
        text = json.dumps({**(metadata or {}), **wanted, "schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms",
                           "baseTimeNanoseconds": 0, "host_name": socket.gethostname(), "trace_id": uuid.uuid4().hex.upper(),
                           "traceEvents": trace_rows(events), "traceName": str(path)}, indent=1)
        with gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w") as file:
            file.write(text)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks recorded by `with_stack`, for flame graph tools."""
        events = self.function_events
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        events.export_stacks(path, metric)


class record_function(ContextDecorator):
    """A range with a name, for profilers to show; as a scope or around a function.

    >>> with profile() as prof:
    ...     with record_function("my step"):
    ...         pass
    >>> prof.function_events[0].name
    'my step'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name: str = name
        self.args: str | None = args
        self.run_callbacks_on_exit: bool = True
        self.record: Any = None

    def _recreate_cm(self) -> record_function:
        return type(self)(self.name, self.args)      # one range for each call of a decorated function

    def __enter__(self) -> record_function:
        self.record = ops.profiler._record_function_enter_new(self.name, self.args)
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.run_callbacks_on_exit:
            return
        if self.record is None:
            raise AssertionError("Expected record to be set")
        ops.profiler._record_function_exit(self.record)

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """Let the range end when `fut` is done; returns a future of the same value that is done after that."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False

        def finish(done: Any) -> Any:
            ops.profiler._record_function_exit(self.record)
            return done.value()
        return fut.then(finish)


class RecordFunctionFast:
    """A named range with optional values, recorded with `record_shapes`; reusable.

    >>> with profile(record_shapes=True) as prof:
    ...     with RecordFunctionFast("my step", [1, 2]):
    ...         pass
    >>> prof.function_events[0].name, prof.function_events[0].concrete_inputs
    ('my step', [1, 2])
    """

    def __init__(self, name: str, input_values: Any = None, keyword_values: dict[str, Any] | None = None) -> None:
        self.name, self.input_values, self.keyword_values = name, list(input_values or ()), dict(keyword_values or {})
        self.entered = False
        self.recorder: Recorder | None = None
        self.record: Any = None

    def __enter__(self) -> Any:
        if self.entered:
            raise RuntimeError("Trying to enter a new record_function_fast context but the guard is unexpectedly already set")
        self.entered, self.recorder = True, tls.profiler
        if self.recorder is not None:
            self.record = self.recorder.begin(self.name, FUNCTION, -1, self.input_values)
            self.record.keywords = self.keyword_values
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.entered:
            raise RuntimeError("Trying to exit an active record_function_fast context but no guard is set")
        self.entered = False
        if self.recorder is not None:
            self.recorder.end_of(self.record)


class KinetoStepTracker:
    """The current step of a program in which several parts count steps: the maximum.

    >>> KinetoStepTracker.init_step_count("doc")
    >>> KinetoStepTracker.increment_step("doc") == KinetoStepTracker.current_step()
    True
    >>> KinetoStepTracker.erase_step_count("doc")
    True
    """

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of one part; returns the step of the program."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        new_step = max(cls._step_dict.values())
        if new_step > cls._current_step:
            if new_step - cls._current_step > 1:
                warnings.warn("Profiler step count has increased more than 1 - current_step = "
                              f"{cls._current_step} step dict =  {cls._step_dict}", stacklevel=2)
            cls._current_step = new_step
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        return cls._current_step


class Annotating:
    """Annotates ops for an external profiler while `enabled`; not re-entrant."""

    maker = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self.maker} annotation context manager is not reentrant")
        self.entered = True
        return self.started()

    def started(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


class emit_nvtx(Annotating):
    """Annotate ops for NVIDIA's profilers: entering it raises, since CUDA is not available.

    >>> with emit_nvtx(): pass
    Traceback (most recent call last):
    AssertionError: Torch not compiled with CUDA enabled
    """

    maker = "NVTX"

    def started(self) -> Any:
        raise AssertionError("Torch not compiled with CUDA enabled")


class emit_itt(Annotating):
    """Annotate ops for Intel's VTune: nothing is emitted, since no collector is attached.

    >>> with emit_itt(enabled=False): pass
    """

    maker = "ITT"


def profiler_enabled() -> bool:
    """Whether a profiler is active in this thread.

    >>> with profile(): profiler_enabled()
    True
    """
    return tls.profiler is not None


def kineto_available() -> bool:
    """Whether `profile` gives the events that PyTorch gets from its Kineto library, as `kineto_results` does.

    >>> kineto_available()
    True
    """
    return True


# ---- from records to events
def events_of(recorder: Recorder, profile_memory: bool, with_flops: bool) -> EventList:
    """The records as events with parents and children."""
    events = [FunctionEvent(id=i, name=STEP + "*" if r.name.startswith(STEP + "#") else r.name, trace_name=r.name,
                            thread=r.thread, overload_name="",
                            start_us=(r.start - recorder.start) / 1000, end_us=(r.end - recorder.start) / 1000,
                            fwd_thread=r.fwd_thread, input_shapes=[value.shape() for value in r.inputs],
                            concrete_inputs=[value.concrete() for value in r.inputs], stack=r.stack, scope=r.scope,
                            cpu_memory_usage=r.memory, sequence_nr=r.number, flops=r.flops,
                            kwinputs=r.keywords, is_user_annotation=r.scope == USER_SCOPE)
              for i, r in enumerate(recorder.records, 1)]
    for event, record in zip(events, recorder.records, strict=True):
        event.inputs = record.inputs
        event.python, event.is_python_function = record.python, record.python is not None
        event.allocations = record.allocations
    number_memory([value for record in recorder.records for value in record.inputs])
    events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    found = EventList(events, profile_memory=profile_memory, with_flops=with_flops)
    found._build_tree()
    return found


def python_row(i: int, event: FunctionEvent, process: int) -> dict[str, Any]:
    """A call of a Python function as a row of a Chrome trace."""
    above = event.cpu_parent
    while above is not None and not above.is_python_function:
        above = above.cpu_parent
    args: dict[str, Any] = {"Python parent id": None if above is None else above.id, "Python id": event.id, "Ev Idx": i}
    if event.python.module is not None:
        args["Python module id"] = int(event.name.rpartition("_")[2])
    return {"ph": "X", "cat": "python_function", "name": event.name, "pid": process, "tid": event.thread,
            "ts": event.time_range.start, "dur": event.time_range.elapsed_us(), "args": args}


def trace_rows(events: EventList) -> list[dict[str, Any]]:
    """The events as rows of a Chrome trace."""
    process = os.getpid()
    rows: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "ts": 0, "pid": process, "tid": 0,
                                   "args": {"name": "python"}}]
    for thread in sorted({event.thread for event in events}):
        rows.append({"ph": "M", "name": "thread_name", "ts": 0, "pid": process, "tid": thread,
                     "args": {"name": f"thread {thread} (python)"}})
    for i, event in enumerate(events):
        for _, size, place, total in event.allocations:
            rows.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": MEMORY, "pid": process, "tid": event.thread,
                         "ts": event.time_range.end if event.name != MEMORY else event.time_range.start,
                         "args": {"Total Reserved": 0, "Total Allocated": total, "Bytes": size, "Addr": place, "Device Id": -1,
                                  "Device Type": 0, "Ev Idx": i}})
        if event.name == MEMORY:
            continue
        if event.is_python_function:
            rows.append(python_row(i, event, process))
            continue
        args: dict[str, Any] = {"External id": event.id, "Record function id": 0}
        if event.sequence_nr >= 0:
            args.update({"Sequence number": event.sequence_nr, "Fwd thread id": event.fwd_thread})
        if event.inputs:
            args["Concrete Inputs"] = ["" if value is None else str(value) for value in event.concrete_inputs]
            args["Input type"] = [value.kind() for value in event.inputs]
            args["Input Strides"] = [value.traced("strides") for value in event.inputs]
            args["Input Dims"] = [value.traced("sizes") for value in event.inputs]
        args["Ev Idx"] = i
        rows.append({"ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.name,
                     "pid": process, "tid": event.thread, "ts": event.time_range.start,
                     "dur": event.time_range.elapsed_us(), "args": args})
    begin = min([event.time_range.start for event in events], default=0)
    end = max([event.time_range.end for event in events], default=0)
    rows.append({"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
                 "ts": begin, "dur": end - begin, "args": {"Op count": 0}})
    rows.append({"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces",
                 "tid": "Trace PyTorch Profiler", "ts": begin})
    rows.append({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": end})
    return rows
