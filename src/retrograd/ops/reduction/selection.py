"""Selection and sorting algorithms that reproduce the reference's choice among equal elements, visible in the indices.

Where a value occurs once, any algorithm finds the same index, and the ops use NumPy. Where it does not, these are run.
All of them rearrange a list of positions; `before(i, j)` says whether the element at position i must come before that at j.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Before = Callable[[int, int], bool]
SMALL = 16      # stretches up to this length are sorted by insertion


def ascending(values: Any) -> Before:
    """NaN last."""
    return lambda i, j: values[i] < values[j] or (values[i] == values[i] and values[j] != values[j])


def descending(values: Any) -> Before:
    """NaN first."""
    return lambda i, j: values[i] > values[j] or (values[i] != values[i] and values[j] == values[j])


def nth_element(order: list[int], nth: int, before: Before) -> None:
    """Partition so that position `nth` has its sorted element, with smaller ones before and larger ones after."""
    first, last = 0, len(order)
    if nth >= last:
        return
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if depth == 0:
            heap_select(order, first, nth + 1, last, before)
            order[first], order[nth] = order[nth], order[first]
            return
        depth -= 1
        cut = partition(order, first, last, before)
        if cut <= nth:
            first = cut
        else:
            last = cut
    insertion_sort(order, first, last, before)


def sort(order: list[int], last: int, before: Before) -> None:
    """Sort the first `last` positions; equal elements may change places."""
    if last:
        introsort(order, 0, last, 2 * (last.bit_length() - 1), before)
        insertion_sort(order, 0, min(last, SMALL), before)
        for i in range(SMALL, last):
            insert(order, i, before)


def introsort(order: list[int], first: int, last: int, depth: int, before: Before) -> None:
    while last - first > SMALL:
        if depth == 0:
            heap_select(order, first, last, last, before)
            sort_heap(order, first, last, before)
            return
        depth -= 1
        cut = partition(order, first, last, before)
        introsort(order, cut, last, depth, before)
        last = cut


def partial_sort(order: list[int], middle: int, before: Before) -> None:
    """Bring the `middle` smallest elements to the front, sorted."""
    heap_select(order, 0, middle, len(order), before)
    sort_heap(order, 0, middle, before)


def partition(order: list[int], first: int, last: int, before: Before) -> int:
    """Split at the median of three elements; return where the second part begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if before(order[a], order[b]):
        middle = b if before(order[b], order[c]) else c if before(order[a], order[c]) else a
    else:
        middle = a if before(order[a], order[c]) else c if before(order[b], order[c]) else b
    order[first], order[middle] = order[middle], order[first]
    pivot = order[first]
    low, high = first + 1, last
    while True:
        while before(order[low], pivot):
            low += 1
        high -= 1
        while before(pivot, order[high]):
            high -= 1
        if low >= high:
            return low
        order[low], order[high] = order[high], order[low]
        low += 1


def insertion_sort(order: list[int], first: int, last: int, before: Before) -> None:
    for i in range(first + 1, last):
        if before(order[i], order[first]):
            order.insert(first, order.pop(i))
        else:
            insert(order, i, before)


def insert(order: list[int], i: int, before: Before) -> None:
    """Move the element at `i` down to its place among those before it, one of which is known not to be larger."""
    value = order[i]
    while before(value, order[i - 1]):
        order[i] = order[i - 1]
        i -= 1
    order[i] = value


def heap_select(order: list[int], first: int, middle: int, last: int, before: Before) -> None:
    """Make the range up to `middle` a heap of the smallest elements."""
    size = middle - first
    for parent in range((size - 2) // 2, -1, -1):
        sift(order, first, parent, size, order[first + parent], before)
    for i in range(middle, last):
        if before(order[i], order[first]):
            value, order[i] = order[i], order[first]
            sift(order, first, 0, size, value, before)


def sort_heap(order: list[int], first: int, last: int, before: Before) -> None:
    while last - first > 1:
        last -= 1
        value, order[last] = order[last], order[first]
        sift(order, first, 0, last - first, value, before)


def sift(order: list[int], first: int, hole: int, size: int, value: int, before: Before) -> None:
    """Put `value` into the heap: down to a leaf along the larger children, then up to its place."""
    top = hole
    child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if before(order[first + child], order[first + child - 1]):
            child -= 1
        order[first + hole] = order[first + child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1) - 1
        order[first + hole] = order[first + child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and before(order[first + parent], value):
        order[first + hole] = order[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    order[first + hole] = value


def quickselect(values: Any, k: int) -> int:
    """Where the k-th smallest of `values` is, by partitioning around the median of three elements."""
    before = ascending(values)
    order = list(range(len(values)))

    def swap(i: int, j: int) -> None:
        order[i], order[j] = order[j], order[i]

    def above(i: int, j: int) -> bool:
        return before(order[j], order[i])

    left, right = 0, len(order) - 1
    while right > left + 1:
        swap((left + right) // 2, left + 1)
        if above(left + 1, right):
            swap(left + 1, right)
        if above(left, right):
            swap(left, right)
        if above(left + 1, left):
            swap(left + 1, left)
        low, high = left + 2, right - 1
        while True:
            while above(left, low):
                low += 1
            while above(high, left):
                high -= 1
            if high < low:
                break
            swap(low, high)
            low, high = low + 1, high - 1
        swap(left, high)
        if high <= k:
            left = low
        if high >= k:
            right = high - 1
    if right == left + 1 and above(left, right):
        swap(left, right)
    return order[k]
