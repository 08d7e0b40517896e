"""FlopCounterMode: counts the multiplications and additions of matrix products, convolutions and attention."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

import retrograd as torch
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils._pytree import tree_map_only

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}
aten = torch.ops.aten


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register how many operations an op takes, from the shapes of its arguments and of its result (`out_shape`)."""
    def register(formula: Callable[..., int]) -> Callable[..., int]:
        def by_shapes(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
            args, kwargs, shape = tree_map_only(torch.Tensor, lambda t: t.shape, (args, kwargs, out_val))
            return formula(*args, out_shape=shape, **kwargs)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            flop_registry[target] = formula if get_raw else by_shapes
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


@register_flop_formula([aten.convolution])
def conv_flop(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, *args: Any,
              out_shape: Any = None, **kwargs: Any) -> int:
    return conv_flop_count(x, w, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out: Any, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any,
                       output_padding: Any, groups: Any, output_mask: Any, out_shape: Any = None, **kwargs: Any) -> int:
    def turned(shape: Any) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out, w, out_shape[0], not transposed)
    if output_mask[1]:
        if transposed:
            count += conv_flop_count(turned(grad_out), turned(x), turned(out_shape[1]), False)
        else:
            count += conv_flop_count(turned(x), turned(grad_out), turned(out_shape[1]), False)
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

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:
        super().__init__()
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.formulas = {**flop_registry, **(custom_mapping or {})}
        self._parents, self._hooks = ["Global"], []     # type: ignore[var-annotated]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._hooks = [torch.nn.modules.module.register_module_forward_pre_hook(self._enter_module),
                       torch.nn.modules.module.register_module_forward_hook(self._leave_module)]
        super().__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))

    def _enter_module(self, module: Any, inputs: Any) -> None:
        self._parents.append(f"{self._parents[-1]}.{type(module).__name__}" if len(self._parents) > 1
                             else type(module).__name__)

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        self._parents.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        formula = self.formulas.get(getattr(func, "overloadpacket", None)) or self.formulas.get(func)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            for parent in set(self._parents):
                self.flop_counts[parent][func.overloadpacket] += count
        return result

    def get_total_flops(self) -> int:
        """The number of operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The number of operations by module and op."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table."""
        total = self.get_total_flops()
        lines = [f"{'Module':<30}{'FLOP':>15}{'% Total':>10}"]
        for name, counts in self.flop_counts.items():
            if name.count(".") >= (self.depth if depth is None else depth):
                continue
            count = sum(counts.values())
            lines.append(f"{name:<30}{count:>15,}{count / total * 100 if total else 0:>9.2f}%")
            lines += [f" - {op}".ljust(30) + f"{n:>15,}{n / total * 100 if total else 0:>9.2f}%" for op, n in counts.items()]
        return "\n".join(lines)
