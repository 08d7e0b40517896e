"""PyTorch's `torch.profiler`: a schedule of steps around the autograd profiler, and what to do with each trace."""
from __future__ import annotations

from retrograd.autograd.profiler import kineto_available, record_function
from retrograd.autograd.profiler_util import DeviceType
from retrograd.profiler import itt
from retrograd.profiler.profiler import (
    ProfilerAction,
    ProfilerActivity,
    _KinetoProfile,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = ["DeviceType", "ProfilerAction", "ProfilerActivity", "_KinetoProfile", "itt", "kineto_available", "profile",
           "record_function", "schedule", "supported_activities", "tensorboard_trace_handler"]
