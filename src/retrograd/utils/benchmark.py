"""Timer: how long a statement takes, measured several times; PyTorch's `torch.utils.benchmark`."""
from __future__ import annotations

import statistics
import textwrap
import timeit
from dataclasses import dataclass, field
from typing import Any

import retrograd as torch

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]

timer = timeit.default_timer
UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time in seconds.

    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    return next(((name, size) for name, size in reversed(UNITS) if t >= size), UNITS[0])


@dataclass(frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        return self.label if self.label is not None else self.stmt


@dataclass
class Measurement:
    """Times of a statement.

    >>> Measurement(2, [0.2, 0.4, 0.6], TaskSpec("f()", "pass")).median
    0.2
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The range of the middle half."""
        if len(self.times) < 2:
            return 0.0
        quarters = statistics.quantiles(self.times, n=4, method="inclusive")
        return quarters[2] - quarters[0]

    def __repr__(self) -> str:
        name, unit = select_unit(self.median)
        return (f"<{__name__}.Measurement object at {id(self):#x}>\n{self.task_spec.title}\n  Median: {self.median / unit:.2f} "
                f"{name}\n  IQR:    {self.iqr / unit:.2f} {name}\n  {len(self.times)} measurements, {self.number_per_run} runs "
                f"per measurement, {self.task_spec.num_threads} thread")


class Timer:
    """Measures a statement.

    >>> Timer("x + 1", globals={"x": 1}).timeit(10).number_per_run
    10
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Any = timer,
                 globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
                 description: str | None = None, env: str | None = None, num_threads: int = 1,
                 language: Any = "python") -> None:
        if language not in ("python", "py"):
            raise ValueError(f"only statements in Python are measured, not in {language}")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        names = dict(globals or {})
        names.setdefault("torch", torch)
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs, after a short one to warm up."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measurements of as many runs as can be told apart from the clock, until `min_run_time` is over."""
        number = self._runs_per_block(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    autorange = blocked_autorange

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Any = None) -> Measurement:
        """The same until the spread is below `threshold` of the median, or `max_run_time` is over."""
        number = self._runs_per_block(min_run_time)
        times: list[float] = []
        while True:
            times.append(self._timer.timeit(number))
            made = Measurement(number, times, self._task_spec)
            if sum(times) >= max_run_time or (sum(times) >= min_run_time and len(times) > 3
                                              and made.iqr / made.median < threshold):
                return made

    def _runs_per_block(self, min_run_time: float) -> int:
        number = 1
        while True:
            took = self._timer.timeit(number)
            if took >= min(min_run_time / 1000, 1e-3) or number >= 2**22:
                return number
            number *= 10


class Compare:
    """A table of measurements: statements against descriptions."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: list[Measurement]) -> None:
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show fewer digits, which the table does anyway."""

    def colorize(self, rowwise: bool = False) -> None:
        """Use colours, which the table does not."""

    def print(self) -> None:
        print(self)

    def __str__(self) -> str:
        if not self._results:
            return ""
        name, unit = select_unit(min(result.median for result in self._results))
        columns = list(dict.fromkeys(result.task_spec.description or "" for result in self._results))
        rows: dict[str, dict[str, str]] = {}
        for result in self._results:
            spec = result.task_spec
            rows.setdefault(spec.sub_label or spec.stmt, {})[spec.description or ""] = f"{result.median / unit:.1f}"
        width = max(map(len, rows))
        lines = [f"[ {self._results[0].task_spec.title} ]", " " * width + " | " + " | ".join(columns)]
        lines += [row.ljust(width) + " | " + " | ".join(cells.get(c, "").rjust(len(c)) for c in columns)
                  for row, cells in rows.items()]
        return "\n".join([*lines, f"Times are in {name}."])
