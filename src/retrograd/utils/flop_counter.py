"""FlopCounterMode: counts the multiplications and additions of matrix products, convolutions and attention."""
from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

import retrograd as torch
from retrograd.library.higher_order import HigherOrderOperator
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils._pytree import tree_map_only
from retrograd.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}
aten = torch.ops.aten
SUFFIXES = ("", "K", "M", "B", "T")


def shape_wrapper(formula: Callable[..., int]) -> Callable[..., int]:
    """A formula of shapes as one of tensors.

    >>> shape_wrapper(lambda a, out_shape=None: a[0])(torch.ones(3, 2))
    3
    """
    @functools.wraps(formula)
    def by_shapes(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map_only(torch.Tensor, lambda t: t.shape, (args, kwargs, out_val))
        return formula(*args, out_shape=shape, **kwargs)
    return by_shapes


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register how many operations an op takes, from the shapes of its arguments and of its result (`out_shape`)."""
    def register(formula: Callable[..., int]) -> Callable[..., int]:
        found = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, (type(aten.mm), HigherOrderOperator)):
                raise ValueError("register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                                 f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of "
                                 f"type {type(target)}")
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = found
        return formula
    return register


@register_flop_formula(aten.mm)
def mm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Two for each product of a row and a column.

    >>> mm_flop((2, 3), (3, 4))
    48
    """
    return 2 * a[0] * a[1] * b[1]


@register_flop_formula(aten.addmm)
def addmm_flop(bias: Any, a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return mm_flop(a, b)


@register_flop_formula(aten.bmm)
def bmm_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return 2 * a[0] * a[1] * a[2] * b[2]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(bias: Any, a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return bmm_flop(a, b)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """Two for each weight and place that it is applied to."""
    places = (x_shape if transposed else out_shape)[2:]
    return prod(places) * prod(w_shape[2:]) * x_shape[0] * w_shape[0] * w_shape[1] * 2


@register_flop_formula(aten.convolution)
def conv_flop(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, *args: Any,
              out_shape: Any = None, **kwargs: Any) -> int:
    return conv_flop_count(x, w, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out: Any, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any,
                       output_padding: Any, groups: Any, output_mask: Any, out_shape: Any = None, **kwargs: Any) -> int:
    def swapped(shape: Any) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out, w, out_shape[0], not transposed)
    if output_mask[1]:
        if transposed:
            count += conv_flop_count(swapped(grad_out), swapped(x), swapped(out_shape[1]), False)
        else:
            count += conv_flop_count(swapped(x), swapped(grad_out), swapped(out_shape[1]), False)
    return count


def sdpa_flop_count(query: Any, key: Any, value: Any) -> int:
    """Of the two products of attention."""
    b, h, s_q, d_q = query
    _, _, s_k, _ = key
    return bmm_flop((b * h, s_q, d_q), (b * h, d_q, s_k)) + bmm_flop((b * h, s_q, s_k), (b * h, s_k, value[-1]))


@register_flop_formula([aten._scaled_dot_product_flash_attention_for_cpu])
def sdpa_flop(query: Any, key: Any, value: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return sdpa_flop_count(query, key, value)


class FlopCounterMode(TorchDispatchMode):
    """A scope whose operations are counted, by module.

    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods: Any = None, depth: int | None = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:
        super().__init__()
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_registry = {**flop_registry, **{target: formula if getattr(formula, "_get_raw", False) else
                                                  shape_wrapper(formula) for target, formula in (custom_mapping or {}).items()}}
        self.mod_tracker = ModuleTracker()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = getattr(func, "overloadpacket", func)
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            for parent in self.mod_tracker.parents:
                self.flop_counts[parent][packet] += count
        return result

    def get_total_flops(self) -> int:
        """The number of operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The number of operations by module and op."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, modules below others indented by one.

        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = torch.ones(20, 30) @ torch.ones(30, 40)
        >>> print(counter.get_table())
        Module         FLOP  % Total
        ----------  -------  -------
        Global      48.000K  100.00%
         - aten.mm  48.000K  100.00%
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        rows: list[list[str]] = []
        global_shown = False
        for name in sorted(self.flop_counts):
            if name == "Global":
                continue
            level = name.count(".") + 1
            if depth is not None and level > depth:
                continue
            made = table_rows(name, self.flop_counts[name], level, total, suffix)
            global_shown = global_shown or sum(self.flop_counts[name].values()) >= total
            rows += made
        if "Global" in self.flop_counts and not global_shown:
            rows = [[" " + row[0], *row[1:]] for row in rows]
            rows = table_rows("Global", self.flop_counts["Global"], 0, total, suffix) + rows
        if not rows:
            rows = [["Global", "0", "0%"]]
        return as_table(["Module", "FLOP", "% Total"], rows)


def table_rows(name: str, counts: dict[Any, int], level: int, total: int, suffix: str) -> list[list[str]]:
    """A row for a module and one for each of its ops."""
    padding = " " * level
    here = sum(counts.values())
    return [[padding + name, convert_num_with_suffix(here, suffix), convert_to_percent_str(here, total)],
            *[[f"{padding} - {op}", convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)]
              for op, count in counts.items()]]


def as_table(header: list[str], rows: list[list[str]]) -> str:
    """The first column to the left, the others to the right, with a rule below the header."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip() for line in lines)


def get_suffix_str(number: int) -> str:
    """The suffix with which a number reads well.

    >>> get_suffix_str(12345678), get_suffix_str(5)
    ('M', '')
    """
    return SUFFIXES[max(0, min(len(SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in units of a suffix.

    >>> convert_num_with_suffix(1234567, "M")
    '1.235M'
    """
    return f"{number / 1000 ** SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(part: int, whole: int) -> str:
    """A part of a whole in percent.

    >>> convert_to_percent_str(1, 3)
    '33.33%'
    """
    return "0%" if whole == 0 else f"{part / whole:.2%}"
