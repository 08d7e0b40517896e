"""Layers keep their input's memory format, forward and backward."""
from __future__ import annotations

import pytest

import retrograd as torch
import retrograd.nn.functional as F

LAYERS = {
    "group_norm": lambda x: F.group_norm(x, 2, torch.arange(4.0), torch.arange(4.0)),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "adaptive_avg_pool": lambda x: (F.adaptive_avg_pool2d if x.dim() == 4 else F.adaptive_avg_pool3d)(x, 1),
}


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("name", LAYERS)
def test_channels_last_results_and_gradients(name, rank):
    torch.manual_seed(0)
    form = torch.channels_last if rank == 2 else torch.channels_last_3d
    x = torch.randn(2, 4, *(3, 5, 2)[:rank], requires_grad=True)
    last = x.detach().to(memory_format=form).requires_grad_()
    made, expected = LAYERS[name](last), LAYERS[name](x)
    assert made.is_contiguous(memory_format=form)
    assert made.stride()[1] == 1 and made.stride()[-1] == 4
    torch.testing.assert_close(made, expected, check_stride=False)
    (grad,), (other,) = [torch.autograd.grad((r * r).sum(), t) for r, t in ((made, last), (expected, x))]
    torch.testing.assert_close(grad, other, check_stride=False)


def test_group_norm_gradient_is_channels_last_like_its_input():
    x = torch.ones(2, 4, 3, 5).to(memory_format=torch.channels_last).requires_grad_()
    (grad,) = torch.autograd.grad(F.group_norm(x, 2), x, torch.ones(2, 4, 3, 5))
    assert grad.stride() == x.stride()
    assert F.group_norm(x.detach().to("meta"), 2).stride() == x.stride()
