"""Instance norm: inputs of other widths, and files from before it stopped to track statistics."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn


def test_inputs_of_another_width_are_warned_about_unless_there_are_weights() -> None:
    x = torch.randn(1, 2, 4)
    with pytest.warns(UserWarning, match="input's size at dim=1 does not match num_features"):
        made = nn.InstanceNorm1d(3)(x)
    torch.testing.assert_close(made, nn.InstanceNorm1d(2)(x))
    with pytest.raises(ValueError, match=r"expected input's size at dim=1 to match num_features \(3\), but got: 2"):
        nn.InstanceNorm1d(3, affine=True)(x)


def test_statistics_of_old_files_are_refused_by_layers_that_track_none() -> None:
    old = {"running_mean": torch.zeros(2), "running_var": torch.ones(2)}
    with pytest.raises(RuntimeError, match='Unexpected running stats buffer\\(s\\) "running_mean" and "running_var" for '
                                           "InstanceNorm1d with track_running_stats=False"):
        nn.InstanceNorm1d(2).load_state_dict(old)
    layer = nn.InstanceNorm1d(2, track_running_stats=True)
    layer.load_state_dict(old, strict=False)
    assert layer.running_var.tolist() == [1, 1]


def test_cyclic_schedules_keep_no_function_in_their_state() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    cyclic = torch.optim.lr_scheduler.CyclicLR
    assert cyclic(optimizer, 0.1, 1.0, cycle_momentum=False).state_dict()["_scale_fn_custom"] is None
    assert cyclic(optimizer, 0.1, 1.0, scale_fn=lambda x: 0.5, cycle_momentum=False).state_dict()["_scale_fn_custom"] is None
