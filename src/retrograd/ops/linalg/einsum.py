"""einsum: Einstein's summation over any number of tensors, as a series of batched matrix products."""
from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from retrograd.core.api import EXTRA_FUNCTIONS, expose
from retrograd.core.dispatch import call
from retrograd.core.tensor import FUNCTIONS_BY_NAME, Tensor
from retrograd.ops.linalg.matmul import bmm

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DOTS = "..."


def parse_part(text: str, offset: int, what: str) -> list[str]:
    """The labels of one operand (or of the output), with an ellipsis as one label."""
    labels: list[str] = []
    i = 0
    while i < len(text):
        letter = text[i]
        if letter == " ":
            pass
        elif letter == ".":
            if DOTS in labels:
                raise RuntimeError(f"einsum(): found '.' for {what} " + (
                    "but an ellipsis (...) was already found" if what == "output" else
                    "for which an ellipsis was already found"))
            if text[i:i + 3] != DOTS:
                raise RuntimeError(f"einsum(): found '.' for {what} that is not part of any ellipsis"
                                   + (" (...)" if what == "output" else ""))
            labels.append(DOTS)
            i += 2
        elif letter in LETTERS:
            labels.append(letter)
        else:
            raise RuntimeError(f"einsum(): invalid subscript given at index {offset + i} in the equation string, subscripts "
                               "must be in [a-zA-Z]")
        i += 1
    return labels


def parse(equation: str, count: int) -> tuple[list[list[str]], Any]:
    """Labels of `count` operands and of the output; None for an implicit output."""
    left, arrow, right = equation.partition("->")
    inputs = []
    offset = 0
    parts = left.split(",")
    for i, part in enumerate(parts):
        if i >= count:
            raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        inputs.append(parse_part(part, offset, f"operand {i}"))
        offset += len(part) + 1
    if len(parts) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return inputs, parse_part(right, len(left) + 2, "output") if arrow else None


def check_ranks(inputs: Any, ranks: Any) -> int:
    """The number of dimensions of the ellipsis."""
    covered = 0
    for i, (labels, rank) in enumerate(zip(inputs, ranks, strict=True)):
        named = len([label for label in labels if label != DOTS])
        if DOTS in labels:
            if named > rank:
                raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) is more than the number of "
                                   f"dimensions ({rank}) for operand {i}")
            covered = max(covered, rank - named)
        elif named != rank:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) does not match the number of "
                               f"dimensions ({rank}) for operand {i} and no ellipsis was given")
    return covered


def output_labels(given: Any, inputs: Any) -> list[str]:
    counts: dict[str, int] = {}
    for labels in inputs:
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    if given is None:
        once = sorted([label for label, n in counts.items() if n == 1 and label != DOTS], key=LETTERS.index)
        return ([DOTS] if any(DOTS in labels for labels in inputs) else []) + once
    seen: set[str] = set()
    for label in given:
        if label == DOTS:
            continue
        if label in seen:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in counts:
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")
        seen.add(label)
    return list(given)


def order_labels(output: Any, inputs: Any, covered: int) -> tuple[dict[str, int], int, int]:
    """A position for every label: the output's first, then those that are summed."""
    position: dict[str, int] = {}
    count = 0
    for label in output:
        position[label] = count
        count += covered if label == DOTS else 1
    kept = count
    used = {label for labels in inputs for label in labels}
    if DOTS in used and DOTS not in position:
        position[DOTS] = count
        count += covered
    for label in LETTERS:
        if label in used and label not in position:
            position[label] = count
            count += 1
    return position, kept, count


@lru_cache(256)
def plan_of(equation: str, ranks: tuple[int, ...]) -> Any:
    """What does not depend on sizes: labels, dimensions of the ellipsis, positions, how many are kept, how many there are."""
    inputs, given = parse(equation, len(ranks))
    covered = check_ranks(inputs, ranks)
    position, kept, count = order_labels(output_labels(given, inputs), inputs, covered)
    names = {}
    for label, place in position.items():
        for k in range(covered if label == DOTS else 1):
            names[place + k] = label
    return inputs, covered, position, kept, count, names


def aligned(t: Any, labels: Any, position: Any, covered: int, count: int, number: int) -> Any:
    """The operand with one dimension for every label, in their common order; repeated labels become diagonals."""
    places = [-1] * count
    where: dict[str, int] = {}
    rank = t.array.ndim
    j = 0
    for label in labels:
        if label == DOTS:
            for _ in range(covered - (rank - len(labels) + 1)):
                t = t.unsqueeze(j)
            for k in range(covered):
                places[position[label] + k] = j
                j += 1
        elif label in where:
            dim = where[label]
            if t.array.shape[j] != t.array.shape[dim]:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                                   f"{t.array.shape[j]} != {t.array.shape[dim]}")
            t = t.diagonal(0, dim, j).movedim(-1, dim)
        else:
            where[label] = j
            places[position[label]] = j
            j += 1
    for i, place in enumerate(places):
        if place == -1:
            t = t.unsqueeze(-1)
            places[i] = j
            j += 1
    return t.permute(places)


def check_sizes(tensors: Any, names: Any, count: int, operands: Any, inputs: Any) -> None:
    sizes = [1] * count
    for number, t in enumerate(tensors):
        for d in range(count):
            size = t.array.shape[d]
            if size != 1 and sizes[d] != 1 and size != sizes[d]:
                if names[d] == DOTS:
                    after = len([p for p in names if p >= d and names[p] == DOTS])
                    labels = inputs[number]
                    own = operands[number].array.ndim - (len(labels) - 1) + labels.index(DOTS) - after
                    raise RuntimeError(f"einsum(): dimension {own} covered by ellipsis in operand {number}has size {size} "
                                       f"which does not broadcast with previously seen size {sizes[d]}")
                raise RuntimeError(f"einsum(): subscript {names[d]} has size {size} for operand {number} which does not "
                                   f"broadcast with previously seen size {sizes[d]}")
            if sizes[d] == 1:
                sizes[d] = size


def contract(tensors: Any, kept: int, count: int, path: Any) -> Any:
    """Multiply pair by pair, summing every dimension as soon as no other operand needs it."""
    uses = [sum([t.array.shape[d] != 1 for t in tensors]) for d in range(count)]
    single = len(tensors) == 1
    while len(tensors) > 1:
        i, j = (path.pop(0), path.pop(0)) if path else (0, 1)
        i, j = min(i, j), max(i, j)
        b, a = tensors.pop(j), tensors.pop(i)
        sums: list[int] = []
        of_a: list[int] = []
        of_b: list[int] = []
        for d in range(kept, count):
            m, n = a.array.shape[d], b.array.shape[d]
            if m != 1 and n != 1:
                uses[d] -= 1
                if uses[d] == 1:
                    sums.append(d)
                    uses[d] = 0
            elif uses[d] == 1 and (m != 1 or n != 1):
                (of_a if m != 1 else of_b).append(d)
                uses[d] = 0
        a = a.sum(of_a, keepdim=True) if of_a else a
        b = b.sum(of_b, keepdim=True) if of_b else b
        made = pair(a, b, sums) if sums else a * b
        if path is None:
            tensors.insert(0, made)
        else:
            tensors.append(made)
    result = tensors[0]
    if count == kept:
        return result
    if single:
        return result.sum(list(range(kept, count)))
    return result.view(result.array.shape[:kept])


def pair(left: Any, right: Any, sums: Any) -> Any:
    """Two tensors with the same number of dimensions multiplied and summed over `sums`, which keep size 1."""
    both, only_left, only_right = [], [], []
    sizes = dict.fromkeys(("both", "left", "right", "sum"), 1)
    for d in range(left.array.ndim):
        m, n = left.array.shape[d], right.array.shape[d]
        if d in sums:
            sizes["sum"] *= m
        elif m != 1 and n != 1:
            both.append(d)
            sizes["both"] *= m
        elif m != 1:
            only_left.append(d)
            sizes["left"] *= m
        else:
            only_right.append(d)
            sizes["right"] *= n
    if only_left and only_right and max(only_right) < min(only_left):      # a result in memory order needs no transposition
        return pair(right, left, sums)
    shape = ([left.array.shape[d] for d in both] + [left.array.shape[d] for d in only_left] + [1] * len(sums)
             + [right.array.shape[d] for d in only_right])
    back = [0] * len(shape)
    for i, d in enumerate([*both, *only_left, *sums, *only_right]):
        back[d] = i
    a = left.permute([*both, *only_left, *sums, *only_right]).reshape((sizes["both"], sizes["left"], sizes["sum"]))
    b = right.permute([*both, *sums, *only_right, *only_left]).reshape((sizes["both"], sizes["sum"], sizes["right"]))
    return call(bmm, [a, b]).view(tuple(shape)).permute(back)


@lru_cache(256)
def one_product(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> Any:
    """The steps in which two operands of these sizes are one stack of matrix products: which comes first, the order and the
    matrices of each, the sizes and the order of the result. None for repeated labels, dots, broadcasting and other sums.
    """
    (a, b), _, position, kept, count, _ = plan_of(equation, (len(left), len(right)))
    if DOTS in a or DOTS in b:
        return None
    sizes = {**dict(zip(b, right, strict=True)), **dict(zip(a, left, strict=True))}
    if (len(sizes) != count or len({*a}) != len(a) or len({*b}) != len(b) or 0 in sizes.values()
            or [sizes[label] for label in b] != [*right]):
        return None
    labels = sorted(sizes, key=position.__getitem__)
    sums, only_a = labels[kept:], [label for label in labels[:kept] if label not in b]
    only_b, both = ([label for label in labels[:kept] if label not in a],
                    [label for label in labels[:kept] if label in a and label in b])
    if not sums or any([sizes[label] == 1 or label not in a or label not in b for label in sums]):
        return None
    long = [position[label] for label in only_a if sizes[label] > 1]
    rest = [position[label] for label in labels[:kept] if sizes[label] == 1 or label in only_b]
    turned = bool(long and rest) and max(rest) < min(long)      # as `pair` turns them
    if turned:
        a, b, only_a, only_b = b, a, only_b, only_a

    def matrices(labels: Any, *groups: Any) -> Any:
        order = [labels.index(label) for group in groups for label in group]
        shape = tuple([math.prod([sizes[label] for label in group]) for group in groups])
        fits = [len(group) for group in groups] == [1, 1, 1]
        return None if order == [*range(len(order))] else order, None if fits else shape

    made = [*both, *only_a, *only_b]
    order = [made.index(label) for label in labels[:kept]]
    return (turned, *matrices(a, both, only_a, sums), *matrices(b, both, sums, only_b),
            tuple([sizes[label] for label in made]), None if order == [*range(kept)] else order,
            tuple([sizes[label] for label in labels[:kept]]))


def multiply(left: Any, right: Any, plan: Any) -> Any:
    """Two operands as `one_product` says."""
    turned, order_a, shape_a, order_b, shape_b, shape, order, final = plan
    if turned:
        left, right = right, left
    if order_a is not None:
        left = left.permute(order_a)
    if order_b is not None:
        right = right.permute(order_b)
    made = call(bmm, [left if shape_a is None else left.reshape(shape_a), right if shape_b is None else right.reshape(shape_b)])
    return made.view(final) if order is None else made.view(shape).permute(order).view(final)


def find_path(equation: str, operands: Any) -> Any:
    """The contraction path of opt_einsum, flattened; None if it is not installed."""
    try:
        import opt_einsum
    except ImportError:
        return None
    found = opt_einsum.contract_path(equation, *[tuple(t.array.shape) for t in operands], optimize="auto", shapes=True)[0]
    return [item for step in found for item in step]


def from_sublists(args: Any) -> tuple[str, Any]:
    """The equation of a call such as einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    def letters(numbers: Any) -> str:
        return "".join([subscript(n) for n in numbers])

    def subscript(n: Any) -> str:
        if n is Ellipsis:
            return DOTS
        if 0 <= n < 52:
            return LETTERS[n]
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    inputs = ",".join([letters(numbers) for numbers in args[1::2]])
    return (f"{inputs}->{letters(args[-1])}", args[:-1:2]) if len(args) % 2 else (inputs, args[::2])


def written_out(args: Any) -> Any:
    """The equation and separate operands, also for a call with subscript lists or a list of operands."""
    if len(args) < 2:
        return args
    named = isinstance(args[0], str) or not isinstance(args[1], (list, tuple))
    equation, operands = (args[0], args[1:]) if named else from_sublists(args)
    return (equation, *(operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands))


@expose(method=False, written_out=written_out)
def einsum(*args: Any) -> Any:
    """Sums of products of the elements of `operands`, as the equation says."""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and "
                         "its subscripts list")
    if isinstance(args[0], Tensor):
        equation, operands = from_sublists(args)
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return EXTRA_FUNCTIONS["einsum"](equation, *operands[0])       # a separate public call, which can be overridden
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    for i, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(operand).__name__}")
    if len(operands) == 2:
        plan = one_product(equation, operands[0].array.shape, operands[1].array.shape)
        if plan is not None:
            return multiply(operands[0], operands[1], plan)
    inputs, covered, position, kept, count, names = plan_of(equation, tuple([t.array.ndim for t in operands]))
    tensors = [aligned(t, inputs[i], position, covered, count, i) for i, t in enumerate(operands)]
    check_sizes(tensors, names, count, operands, inputs)
    return contract(tensors, kept, count, find_path(equation, operands) if len(operands) > 2 else None)


FUNCTIONS_BY_NAME["einsum"] = einsum
