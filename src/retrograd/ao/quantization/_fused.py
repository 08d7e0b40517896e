"""Watching and rounding in one step: `torch.fused_moving_avg_obs_fake_quant`."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.core.api import declared

SMALLEST_SCALE = 6.1e-5


@declared("fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, "
          "Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, "
          "int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor")
def fused_moving_avg_obs_fake_quant(self: Any, observer_on: Any, fake_quant_on: Any, running_min: Any, running_max: Any,
                                    scale: Any, zero_point: Any, averaging_const: float, quant_min: int, quant_max: int,
                                    ch_axis: int, per_row_fake_quant: bool = False, symmetric_quant: bool = False) -> Any:
    """`self` rounded to levels, whose scale follows a moving average of the least and the greatest number.

    >>> low, high = torch.tensor(float("inf")), torch.tensor(float("-inf"))
    >>> on, scale, zero_point = torch.tensor([1]), torch.tensor([1.0]), torch.tensor([0], dtype=torch.int32)
    >>> x = torch.tensor([0.0, 1.2, 3.0])
    >>> fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero_point, 0.01, 0, 3, 0), high
    (tensor([0., 1., 3.]), tensor(3.))
    """
    if observer_on.item():
        with torch.no_grad():
            observe(self, running_min, running_max, averaging_const, ch_axis if per_row_fake_quant else None)
            found = [qparams(low, high, quant_min, quant_max, symmetric_quant) for low, high in zip(
                running_min.reshape(-1).tolist(), running_max.reshape(-1).tolist(), strict=True)]
            for kept, values in ((scale, [s for s, _ in found]), (zero_point, [z for _, z in found])):
                kept.resize_(len(values)).copy_(torch.tensor(values))
    if not fake_quant_on.item():
        return self
    if per_row_fake_quant:
        return torch.fake_quantize_per_channel_affine(self, scale, zero_point, ch_axis, quant_min, quant_max)
    return torch.fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max)


def observe(x: Any, running_min: Any, running_max: Any, averaging_const: float, ch_axis: int | None) -> None:
    """Let the averages follow."""
    x = x.detach()
    low, high = torch.aminmax(x) if ch_axis is None else torch.aminmax(x.transpose(0, ch_axis).flatten(1), dim=1)
    fresh = running_min.numel() == 0 or bool(running_min.reshape(-1)[0].isinf())
    for kept, now in ((running_min, low), (running_max, high)):
        if fresh:
            kept.resize_(now.shape).copy_(now)
        else:
            kept.add_((now - kept) * averaging_const)


def qparams(low: float, high: float, quant_min: int, quant_max: int, symmetric: bool) -> tuple[float, int]:
    """The scale and the zero point of numbers between two, as quantized kernels choose them.

    >>> qparams(-1.0, 1.0, -128, 127, True)
    (0.007874015748031496, 0)
    """
    low, high, steps = min(low, 0.0), max(high, 0.0), quant_max - quant_min
    around_zero = symmetric and low < 0 < high
    if around_zero:
        above = steps // 2
        scale = max(abs(low / (above + 1)), abs(high / above))
        low, high = -scale * (above + 1), scale * above
    scale = (high - low) / steps
    if scale == 0:
        scale = 0.1
    if scale < SMALLEST_SCALE:
        wider = SMALLEST_SCALE / scale
        low, high = low * wider, high * wider
        if low == 0:
            high = SMALLEST_SCALE * steps
        elif high == 0:
            low = -SMALLEST_SCALE * steps
        scale = SMALLEST_SCALE
    if around_zero:
        zero = (quant_min + quant_max) / 2
    elif abs(quant_min) - abs(low / scale) < abs(quant_max) - abs(high / scale):
        zero = quant_min - low / scale
    else:
        zero = quant_max - high / scale
    return scale, int(min(max(round(zero), quant_min), quant_max))
