"""Pictures as arrays: their axes in one order, many in a grid, videos side by side, figures of matplotlib."""
from __future__ import annotations

from typing import Any

import numpy as np


def convert_to_HWC(tensor: np.ndarray, input_format: str) -> np.ndarray:
    """One picture with the axes height, width and color; a batch becomes a grid.

    >>> convert_to_HWC(np.zeros((3, 4, 5)), "CHW").shape
    (4, 5, 3)
    """
    axes = input_format.upper()
    if len(set(axes)) != len(axes):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {input_format}")
    if tensor.ndim != len(axes):
        raise AssertionError(f"size of input tensor and input format are different. tensor shape: {tensor.shape}, "
                             f"input_format: {input_format}")
    if len(axes) == 4:
        return make_grid(tensor.transpose([axes.find(axis) for axis in "NCHW"])).transpose(1, 2, 0)
    if len(axes) == 3:
        picture = tensor.transpose([axes.find(axis) for axis in "HWC"])
        return np.concatenate([picture] * 3, 2) if picture.shape[2] == 1 else picture
    return np.stack([tensor.transpose([axes.find(axis) for axis in "HW"])] * 3, 2)


def make_grid(I: np.ndarray, ncols: int = 8) -> np.ndarray:
    """Pictures of a batch beside and below each other.

    >>> make_grid(np.zeros((10, 1, 2, 3))).shape
    (3, 4, 24)
    """
    if I.ndim != 4 or I.shape[1] not in (1, 3):
        raise AssertionError(f"plugin error, expected a 4D array with 1 or 3 channels, but got the shape {I.shape}")
    if I.shape[1] == 1:
        I = np.concatenate([I] * 3, 1)
    count, _, height, width = I.shape
    columns = min(count, ncols)
    rows = -(-count // columns)
    canvas = np.zeros((3, height * rows, width * columns), I.dtype)
    for i, picture in enumerate(I):
        top, left = i // columns * height, i % columns * width
        canvas[:, top:top + height, left:left + width] = picture
    return canvas


def _prepare_video(V: np.ndarray) -> np.ndarray:
    """Videos (batch, time, color, height, width) as one with the axes time, height, width and color.

    >>> _prepare_video(np.zeros((3, 5, 3, 4, 6), np.uint8)).shape
    (5, 8, 12, 3)
    """
    if V.dtype == np.uint8:
        V = V.astype(np.float32) / 255.0
    count = 1 << max(len(V) - 1, 0).bit_length()          # empty videos fill the grid
    V = np.concatenate([V, np.zeros((count - len(V), *V.shape[1:]), V.dtype)])
    rows = 1 << (count.bit_length() - 1) // 2
    columns = count // rows
    _, frames, colors, height, width = V.shape
    V = V.reshape(rows, columns, frames, colors, height, width).transpose(2, 0, 4, 1, 5, 3)
    return V.reshape(frames, rows * height, columns * width, colors)


def figure_to_image(figures: Any, close: bool = True) -> np.ndarray:
    """A figure of matplotlib, or a list of them, as an array of bytes with the color first."""
    from matplotlib import pyplot
    from matplotlib.backends import backend_agg

    def render(figure: Any) -> np.ndarray:
        canvas = backend_agg.FigureCanvasAgg(figure)
        canvas.draw()
        picture = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
        if close:
            pyplot.close(figure)
        return picture
    return np.stack([render(figure) for figure in figures]) if isinstance(figures, list) else render(figures)
