"""Long chains of views, tensors and inputs: linear in time and memory, and freed without recursion."""
from __future__ import annotations

import subprocess
import sys

import pytest

import retrograd as torch
from retrograd.core.views import LONGEST


def chain(t: torch.Tensor, length: int) -> torch.Tensor:
    for _ in range(length):
        t = t[:]
    return t


def length_of(t: torch.Tensor) -> int:
    count, view = 0, t._view
    while view is not None:
        count, view = count + 1, view.parent
    return count


def test_view_of_views_keeps_only_its_base() -> None:
    base = torch.ones(2)
    view = chain(base, 1000)
    assert view._base is base and length_of(view) <= LONGEST + 2
    assert length_of(chain(torch.ones(0), 1000)) <= LONGEST + 2
    y = base
    for _ in range(500):
        y = y.reshape(1, 2).t().view(2)
    assert length_of(y) <= LONGEST + 2


def test_write_through_a_long_chain_reaches_the_base() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    base = x * 1
    view = base
    for _ in range(2 * LONGEST):
        view = view.t()
    view = view[1]
    view.mul_(3)
    assert view.grad_fn is not None and view.grad_fn.name() == "AsStridedBackward0"
    base.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]


def test_long_chain_is_replayed_on_other_tensors() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    view = base[:, 1:]
    for _ in range(2 * LONGEST + 1):
        view = view.t()
    other = torch.arange(6.0, 12.0).reshape(2, 3)
    assert view._view_func(other).tolist() == other[:, 1:].t().tolist()


def test_long_chain_carries_tangents() -> None:
    import retrograd.autograd.forward_ad as fwAD
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(3), torch.arange(3.0))
        view = chain(dual, 3 * LONGEST)[1:]
        tangent = fwAD.unpack_dual(view * 2).tangent
        assert tangent is not None and tangent.tolist() == [2.0, 4.0]


def test_no_grad_views_stay_so() -> None:
    base = torch.ones(2, requires_grad=True) * 1
    with torch.no_grad():
        view = base[:]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        chain(view, 2 * LONGEST).mul_(2)


def test_conjugates_are_counted_out() -> None:
    y = torch.tensor([1 + 2j])
    for _ in range(4 * LONGEST):
        y = y.conj()
    assert y.tolist() == [1 + 2j] and length_of(y) <= 2 * LONGEST + 2


PROGRAM = """
import retrograd as torch
n = 100_000
y = torch.ones(2)
for _ in range(n):
    y = y[:]
del y
y = torch.ones(2)
for _ in range(n):
    z = torch.ones(2)
    z.prev = y
    y = z
del y, z
y = torch.ones(2).view(torch.int32)
for _ in range(n):
    z = y[:]
    z.prev = y
    y = z
del y, z
"""


def test_long_chains_are_freed_without_recursion() -> None:
    """In a process of its own, since an overflow of the stack cannot be caught."""
    assert subprocess.run([sys.executable, "-c", PROGRAM], check=False).returncode == 0


@pytest.mark.parametrize("join", [torch.stack, torch.cat])
def test_many_leaves_are_joined_once_each(join: object) -> None:
    leaves = [torch.ones(1, requires_grad=True) for _ in range(2_000)]
    join(leaves).sum().backward()               # type: ignore[operator]
    assert all([leaf.grad is not None and leaf.grad.item() == 1 for leaf in leaves])
    node = torch.stack(leaves).grad_fn
    assert node is not None and len(node.next_functions) == 2_000
