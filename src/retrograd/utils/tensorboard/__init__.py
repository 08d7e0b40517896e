"""Event files for TensorBoard, written with the classes of the `tensorboard` package: PyTorch's `torch.utils.tensorboard`."""
from __future__ import annotations

import tensorboard
from tensorboard.summary.writer.record_writer import RecordWriter

from retrograd.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
