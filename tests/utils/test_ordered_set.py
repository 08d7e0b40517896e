"""Sets that keep the order in which their elements came."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from retrograd.utils._ordered_set import OrderedSet


def test_elements_come_in_the_order_in_which_they_were_added() -> None:
    a = OrderedSet([3, 1, 2, 1])
    assert list(a) == [3, 1, 2] and list(reversed(a)) == [2, 1, 3] and len(a) == 3 and 1 in a and 9 not in a
    a.add(0)
    a.discard(9)
    a.remove(1)
    assert repr(a) == "OrderedSet([3, 2, 0])" and a.pop() == 0 and a == {2, 3} and a != OrderedSet([2])
    for made in (a.copy(), copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert list(made) == [3, 2] and made is not a


@pytest.mark.parametrize(("make", "wanted"), [
    (lambda a, b: a | b, [3, 1, 2, 5]), (lambda a, b: a & b, [2]), (lambda a, b: a - b, [3, 1]),
    (lambda a, b: a ^ b, [3, 1, 5]),
    (lambda a, b: {9, 1} - a, [9]), (lambda a, b: a.union([7], [8]), [3, 1, 2, 7, 8]), (lambda a, b: a | [4], [3, 1, 2, 4]),
    (lambda a, b: a.intersection([1, 3], [3]), [3]), (lambda a, b: a.difference([1], [2]), [3]),
    (lambda a, b: a.symmetric_difference([1, 9]), [3, 2, 9])])
def test_sets_are_combined(make: Any, wanted: list[int]) -> None:
    a, b = OrderedSet([3, 1, 2]), OrderedSet([2, 5])
    assert type(make(a, b)) is OrderedSet and list(make(a, b)) == wanted and list(a) == [3, 1, 2]


@pytest.mark.parametrize(("change", "wanted"), [
    (lambda a: a.update([9], [8]), [3, 1, 2, 9, 8]), (lambda a: a.intersection_update([1, 3], [3]), [3]),
    (lambda a: a.difference_update(a), []), (lambda a: a.symmetric_difference_update([1, 9]), [3, 2, 9]),
    (lambda a: a.__ior__([4]), [3, 1, 2, 4]), (lambda a: a.__iand__({2}), [2]), (lambda a: a.clear(), [])])
def test_sets_are_changed(change: Any, wanted: list[int]) -> None:
    a = OrderedSet([3, 1, 2])
    change(a)
    assert list(a) == wanted


def test_sets_are_compared_with_sets() -> None:
    a = OrderedSet([3, 1, 2])
    assert OrderedSet([1]) < a <= a and a.issubset([1, 2, 3, 4]) and a.issuperset([1]) and a.isdisjoint([9])
    assert a < {1, 2, 3, 4}
    for wrong in (lambda: hash(a), lambda: a < [1], lambda: OrderedSet([[]])):     # type: ignore[operator]
        with pytest.raises(TypeError):
            wrong()     # type: ignore[no-untyped-call]
    with pytest.raises(KeyError, match="pop from an empty set"):
        OrderedSet[int]().pop()
