"""For random chains of views with writes between them, base and views agree with NumPy, and gradients with a program
that writes nothing."""
from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.autograd.backward import grad
from retrograd.core.tensor import new_tensor

few = settings(max_examples=80, derandomize=True, deadline=None, database=None)

# A view step is (name, arguments); each is drawn to fit the shape it meets.


@st.composite
def steps(draw: Any, shape: tuple[int, ...]) -> tuple[str, tuple[Any, ...]]:
    names = ["unsqueeze", "identity"] + (["transpose", "select", "narrow", "flatten", "diagonal", "slice"] if shape else [])
    name = draw(st.sampled_from(names))
    rank = len(shape)
    dim = draw(st.integers(0, rank - 1)) if shape else 0
    if name == "transpose":
        return name, (dim, draw(st.integers(0, rank - 1)))
    if name == "select":
        return (name, (dim, draw(st.integers(0, shape[dim] - 1)))) if shape[dim] else ("identity", ())
    if name == "narrow":
        start = draw(st.integers(0, shape[dim]))
        return name, (dim, start, draw(st.integers(0, shape[dim] - start)))
    if name == "slice":
        return name, (dim, draw(st.integers(0, shape[dim])), draw(st.integers(1, 2)))
    if name == "diagonal":
        return (name, ()) if rank >= 2 else ("identity", ())
    return name, (dim,) if name == "unsqueeze" else ()


def of_array(array: Any, step: Any) -> Any:
    """The step taken of a NumPy array; always a view."""
    name, args = step
    if name == "transpose":
        return array.swapaxes(*args)
    if name == "select":
        return array[(slice(None),) * args[0] + (args[1], ...)]
    if name == "narrow":
        return array[(slice(None),) * args[0] + (slice(args[1], args[1] + args[2]),)]
    if name == "slice":
        return array[(slice(None),) * args[0] + (slice(args[1], None, args[2]),)]
    if name == "unsqueeze":
        return np.expand_dims(array, args[0])
    if name == "diagonal":
        return np.einsum("ii...->...i", array[:min(array.shape[:2]), :min(array.shape[:2])])
    if name == "flatten" and array.flags.c_contiguous:
        return array.reshape(-1)
    return array[...]


def of_tensor(t: Any, step: Any) -> Any:
    name, args = step
    if name == "slice":
        return t[(slice(None),) * args[0] + (slice(args[1], None, args[2]),)]
    if name == "flatten":
        return t.view(-1) if t.is_contiguous() and t.numel() else t.view(t.shape)
    if name == "identity":
        return t.view(t.shape)
    return getattr(t, name)(*args)


@st.composite
def programs(draw: Any) -> tuple[tuple[int, ...], list[Any]]:
    """A base shape, and instructions: take a view of one made before, or write to one."""
    shape = draw(st.sampled_from([(4,), (2, 3), (3, 2, 2), ()]))
    arrays = [np.zeros(shape)]
    program: list[Any] = []
    for _ in range(draw(st.integers(1, 6))):
        source = draw(st.integers(0, len(arrays) - 1))
        if draw(st.booleans()) or len(arrays) == 1:
            step = draw(steps(arrays[source].shape))
            if step[0] == "flatten" and not arrays[source].size:
                step = ("identity", ())
            arrays.append(of_array(arrays[source], step))
            program.append(("view", source, step))
        else:
            kind = draw(st.sampled_from(["mul", "add", "square", "copy"]))
            program.append((kind, source, draw(st.sampled_from([2.0, -3.0]))))
    return shape, program


def start(shape: tuple[int, ...]) -> Any:
    return (np.arange(int(np.prod(shape, dtype=int))) / 4 + 0.5).reshape(shape)


@given(programs())
@few
def test_base_and_views_agree_with_numpy(case: Any) -> None:
    shape, program = case
    arrays, tensors = [start(shape)], [new_tensor(start(shape))]
    writes = 0
    for kind, source, detail in program:
        array, t = arrays[source], tensors[source]
        if kind == "view":
            arrays.append(of_array(array, detail))
            tensors.append(of_tensor(t, detail))
            continue
        writes += 1
        if kind == "mul":
            array *= detail
            t.mul_(detail)
        elif kind == "add":
            array += detail
            t.add_(detail)
        elif kind == "square":
            array *= array.copy()
            t.mul_(t)
        else:
            array[...] = detail
            t.copy_(new_tensor(np.array(detail)))
    for array, t in zip(arrays, tensors, strict=True):
        np.testing.assert_array_equal(t.array, array)
        assert t._version == writes
        assert t is tensors[0] or t._base is tensors[0]


@given(programs())
@few
def test_gradients_are_those_of_a_program_without_writes(case: Any) -> None:
    shape, program = case
    x, y = new_tensor(start(shape)).requires_grad_(), new_tensor(np.array(1.5)).requires_grad_()
    tensors = [x * 1]
    for kind, source, detail in program:
        t = tensors[source]
        if kind == "view":
            tensors.append(of_tensor(t, detail))
        elif kind == "mul":
            t.mul_(y * detail)
        elif kind == "add":
            t.add_(y, alpha=detail)
        elif kind == "square":
            t.mul_(t.clone())
        else:
            t.copy_(y)
    outputs = tensors
    found = grad([total(outputs)], (x, y), allow_unused=True)
    expected = grad([total(without_writes(x * 1, y, program))], (x, y), allow_unused=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(0 if a is None else a.array, 0 if b is None else b.array, 1e-12, 1e-12)


def total(tensors: Any) -> Any:
    """A different weight for each element of each tensor."""
    result = None
    for i, t in enumerate(tensors):
        weights = new_tensor(np.cos(np.arange(t.numel()) + i).reshape(t.shape))
        part = (t * weights).sum()
        result = part if result is None else result + part
    return result


def without_writes(base: Any, y: Any, program: Any) -> list[Any]:
    """The same values: each write makes a new base, and all views are taken again of that."""
    places = [np.arange(base.numel()).reshape(base.shape)]        # of each view's elements, in the base
    for kind, source, detail in program:
        if kind == "view":
            places.append(of_array(places[source], detail))
            continue
        where = new_tensor(places[source].reshape(-1).astype(np.int64))
        flat = base.reshape(-1)
        old = flat[where]
        if kind == "mul":
            new = old * (y * detail)
        elif kind == "add":
            new = old + y * detail
        elif kind == "square":
            new = old * old
        else:
            new = old * 0 + y
        keep = np.ones(base.numel())
        keep[places[source].reshape(-1)] = 0
        spread = new_tensor(np.eye(base.numel())[:, places[source].reshape(-1)])       # puts `new` in its places
        base = (flat * new_tensor(keep) + (spread * new).sum(1)).reshape(base.shape)
    return [base.reshape(-1)[new_tensor(p.reshape(-1).astype(np.int64))].reshape(p.shape) for p in places]
