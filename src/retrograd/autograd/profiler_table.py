"""The table that a profiler prints, and its formats for times, percentages and sizes."""
from __future__ import annotations

from collections.abc import Callable
from math import floor, log10
from typing import Any

WIDTH = 12                # of every column but the name, shapes and source ones
GAP = "  "
PREFIXES = ("", "K", "M", "G", "T", "P")


def format_time(time_us: float, time_unit: str | None = None) -> str:
    """A time in microseconds as text, in a suitable unit (or in the requested one).

    >>> format_time(12.3), format_time(1234), format_time(2345678)
    ('12.300us', '1.234ms', '2.346s')
    """
    if time_unit is None:
        time_unit = "s" if time_us >= 1e6 else "ms" if time_us >= 1e3 else "us"
    return f"{time_us / {'us': 1, 'ms': 1e3, 's': 1e6}[time_unit]:.3f}{time_unit}"


def format_time_share(time_us: float, total_time_us: float) -> str:
    """A fraction of the total, in percent.

    >>> format_time_share(1, 3)
    '33.33%'
    """
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def format_memory(nbytes: float) -> str:
    """A number of bytes as text.

    >>> format_memory(5000), format_memory(-5)
    ('4.88 KB', '-5 B')
    """
    for unit, size in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
        if abs(nbytes) >= size:
            return f"{nbytes * 1.0 / size:.2f} {unit}"
    return f"{nbytes} B"


class Column:
    """One column: its title, its width, and the text of its cell for an event."""

    def __init__(self, title: str, cell: Callable[[Any], str], width: int = WIDTH, left: bool = False) -> None:
        self.title, self.cell, self.width, self.left = title, cell, width, left

    def pad(self, text: str) -> str:
        return (text.ljust(self.width) if self.left else text.rjust(self.width)) + GAP


def build_table(events: Any, *, sort_by: str | None, row_limit: int, max_src_column_width: int,
                max_name_column_width: int | None, max_shapes_column_width: int | None, header: str | None,
                top_level_events_only: bool, time_unit: str | None, profile_memory: bool, with_flops: bool) -> str:
    """The text of `EventList.table`."""
    if len(events) == 0:
        return ""
    total = events.self_cpu_time_total
    if sort_by is not None:
        name = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
        events = sorted(events, key=lambda event: getattr(event, name), reverse=True)
    columns = choose_columns(events, total, max_name_column_width, max_shapes_column_width, time_unit, profile_memory,
                             with_flops)
    stacks = [event.stack for event in events if event.stack]
    source = None
    if stacks:
        widest = max([len(entry) for stack in stacks for entry in stack]) + 4
        width = widest if max_src_column_width is None else min(widest, max_src_column_width)
        source = Column("Source Location", lambda event: shorten_left(event.stack[0], width) if event.stack else "", width,
                        left=True)
        place = len(columns) - (columns[-1].title.endswith("FLOPs"))
        columns.insert(place, source)

    rule = "".join(["-" * column.width + GAP for column in columns])
    banner = "=" * (len(rule) - len(GAP))
    lines = []
    if header is not None:
        lines += [banner, header]
    if top_level_events_only:
        lines += [banner, "This report only display top-level ops statistics"]
    lines += [rule, "".join([column.pad(column.title) for column in columns]), rule]
    shown = 0
    for event in events:
        if shown == row_limit:
            break
        if top_level_events_only and event.cpu_parent is not None:
            continue
        shown += 1
        lines.append("".join([column.pad(column.cell(event)) for column in columns]))
        if source is not None:
            for entry in [*(event.stack or [])[1:], ""]:
                lines.append("".join([column.pad(shorten_left(entry, source.width) if column is source else "")
                                      for column in columns]))
    lines += [rule, f"Self CPU time total: {format_time(total, time_unit)}", ""]
    return "\n".join(lines)


def choose_columns(events: Any, total: float, max_name: int | None, max_shapes: int | None, time_unit: str | None,
                   profile_memory: bool, with_flops: bool) -> list[Column]:
    """The columns that are not empty for these events."""
    def time(name: str) -> Callable[[Any], str]:
        return lambda event: format_time(getattr(event, name), time_unit)

    def capped(texts: list[str], limit: int | None) -> int:
        widest = max([len(text) for text in texts]) + 4
        return widest if limit is None else min(widest, limit)

    name_width = capped([event.key for event in events], max_name)
    columns = [Column("Name", lambda event: shorten(event.key, max_name), name_width)]
    if any([event.overload_name for event in events]):
        columns.append(Column("Overload Name", lambda event: shorten(event.overload_name or "", max_name), name_width))
    columns += [
        Column("Self CPU %", lambda event: format_time_share(event.self_cpu_time_total, total)),
        Column("Self CPU", time("self_cpu_time_total")),
        Column("CPU total %", lambda event: "0" if event.is_async else format_time_share(event.cpu_time_total, total)),
        Column("CPU total", time("cpu_time_total")),
        Column("CPU time avg", time("cpu_time")),
    ]
    if profile_memory:
        columns += [Column("CPU Mem", lambda event: format_memory(event.cpu_memory_usage)),
                    Column("Self CPU Mem", lambda event: format_memory(event.self_cpu_memory_usage))]
    columns.append(Column("# of Calls", lambda event: str(event.count)))
    if any([event.node_id != -1 for event in events]):
        columns.append(Column("Node ID", lambda event: str(event.node_id)))
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if shapes:
        width = capped(shapes, max_shapes)
        columns.append(Column("Input Shapes", lambda event: str(event.input_shapes)[:width], width))
    most = max([event.flops or 0 for event in events]) if with_flops else 0
    if most > 0:
        power = min(floor(log10(most) / 3), len(PREFIXES) - 1)
        columns.append(Column(f"Total {PREFIXES[power]}FLOPs", lambda event: (
            f"{event.flops / 1000.0**power:8.3f}" if event.flops else "--")))
    return columns


def shorten(text: str, width: int | None) -> str:
    """A name cut at its end so that it fits."""
    return text if width is None or len(text) < width - 3 else text[:width - 3] + "..."


def shorten_left(path: str, width: int) -> str:
    """A source location cut at its beginning so that it fits."""
    if len(path) <= width:
        return path
    path = path[len(path) - width:]
    return "..." + path[3:] if len(path) > 3 else path
