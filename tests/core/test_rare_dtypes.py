"""Types with 8 bits hold values and convert; types that NumPy lacks are names."""
from __future__ import annotations

import io
import pickle

import pytest

import retrograd as torch

ROUNDED = {"float8_e4m3fn": [1.125, 288.0, -384.0, 0.0, 0.3125], "float8_e5m2": [1.0, 320.0, -384.0, 1.52587890625e-05, 0.3125],
           "float8_e5m2fnuz": [1.0, 320.0, -384.0, 7.62939453125e-06, 0.3125]}


@pytest.mark.parametrize("name", ROUNDED)
def test_values_are_rounded_as_pytorchs(name: str) -> None:
    dtype = getattr(torch, name)
    made = torch.tensor([1.1, 300.0, -400.0, 1e-5, 0.3]).to(dtype)
    assert made.dtype is dtype and made.element_size() == 1 and made.float().tolist() == ROUNDED[name]
    assert torch.equal(made.view(torch.uint8).view(dtype).float(), made.float())


def test_limits_are_pytorchs() -> None:
    info = torch.finfo(torch.float8_e4m3fn)
    assert (info.max, info.min, info.eps, info.tiny, info.bits) == (448, -448, 0.125, 0.015625, 8)
    assert torch.finfo(torch.complex32).bits == 16


def test_they_do_not_promote() -> None:
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote Float8_e5m2"):
        torch.ones(1).to(torch.float8_e5m2) + torch.ones(1)


def test_they_are_saved_and_pickled() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2).to(torch.float8_e5m2), file)
    file.seek(0)
    assert torch.load(file).dtype is torch.float8_e5m2 is pickle.loads(pickle.dumps(torch.float8_e5m2))


@pytest.mark.parametrize("name", ["qint8", "quint4x2", "uint4", "bits8"])
def test_names_make_no_tensors(name: str) -> None:
    assert repr(getattr(torch, name)) == f"torch.{name}"
    with pytest.raises(RuntimeError, match=f"torch.{name} is a name only: there are no tensors of this type"):
        torch.zeros(2, dtype=getattr(torch, name))
