"""Sizes that may differ from those of the example, and their names; fx/experimental/_symbols.py finds them in graphs."""
from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import retrograd as torch
from retrograd.compile.errors import UserError, UserErrorType
from retrograd.fx.experimental.symbolic_shapes import ConstraintViolationError

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]


class DimHint:
    """AUTO, DYNAMIC or STATIC in the place of a name: which sizes belong together is found out."""

    def __init__(self, name: str, min: int | None = None, max: int | None = None) -> None:
        self.name, self.min, self.max = name, min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        if min is not None and min < 0:
            raise AssertionError(f"min must be non-negative, got {min}")
        if self.name == "STATIC":
            raise AssertionError("Dim.STATIC has no bounds")
        return DimHint(self.name, min, max)

    def __repr__(self) -> str:
        bounds = [f"{name}={value}" for name, value in (("min", self.min), ("max", self.max)) if value is not None]
        return f"DimHint({', '.join([self.name, *bounds])})"


class Dim:
    """The name of a size that may change, with its bounds.

    >>> Dim("batch", max=8), Dim("batch", min=2) * 2 + 1
    (Dim('batch', min=0, max=8), 2*batch + 1)
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if self.max is not None and self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    root: Any = None                              # the name that a derived one is computed from
    factor, offset = 1, 0

    def derived(self, what: str, other: Any, factor: int, offset: int) -> Dim:
        if type(other) is not int or what == "multiply" and other <= 0:
            kind = "a positive integer" if what == "multiply" else "an integer"
            shown = other.__name__ if isinstance(other, Dim) else other
            raise NotImplementedError(f"Attempted to {what} {self!r} with {shown}, where {kind} was expected. (Only increasing "
                                      "linear operations with integer coefficients are supported.)")
        root = self.root or self
        made = Dim(root.__name__, min=root.min, max=root.max)
        made.root, made.factor, made.offset = root, self.factor * factor, self.offset * factor + offset
        product = root.__name__ if made.factor == 1 else f"{made.factor}*{root.__name__}"
        made.__name__ = product if not made.offset else f"{product} {'+' if made.offset > 0 else '-'} {abs(made.offset)}"
        return made

    def __add__(self, other: Any) -> Dim:
        return self.derived("add", other, 1, other if type(other) is int else 0)

    def __sub__(self, other: Any) -> Dim:
        return self.derived("subtract", other, 1, -other if type(other) is int else 0)

    def __mul__(self, other: Any) -> Dim:
        return self.derived("multiply", other, other if type(other) is int else 1, 0)

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        if self.root is not None:
            return self.__name__
        bounds = [f"min={self.min}"] * (self.min != 2) + [f"max={self.max}"] * (self.max is not None)
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several names at once.

    >>> [d.__name__ for d in dims("h", "w")]
    ['h', 'w']
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


class ShapesCollection:
    """What is said of sizes, tensor by tensor.

    >>> import retrograd as torch
    >>> x, shapes = torch.ones(4), ShapesCollection()
    >>> shapes[x] = {0: Dim("n")}
    >>> torch.export.export(torch.nn.ReLU(), (x,), dynamic_shapes=shapes).module()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self) -> None:
        self.entries: dict[int, tuple[Any, Any]] = {}      # by id of the tensor, which is kept

    def __setitem__(self, t: Any, shape: Any) -> None:
        self.entries[id(t)] = t, shape

    def __getitem__(self, t: Any) -> Any:
        if id(t) not in self.entries:
            self.entries[id(t)] = t, {}
        return self.entries[id(t)][1]

    def __len__(self) -> int:
        return len(self.entries)

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """The same as a dict by the names of arguments."""
        def found(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: found(item) for key, item in value.items()}
            if isinstance(value, list | tuple):
                return [found(item) for item in value]
            return self.entries[id(value)][1] if id(value) in self.entries else None
        return {name: found(value) for name, value in bound_arguments(m, args, kwargs or {}).items()}


class AdditionalInputs:
    """Further examples: a size that differs among them may change.

    >>> import retrograd as torch
    >>> more = AdditionalInputs()
    >>> more.add((torch.ones(5),))
    >>> torch.export.export(torch.nn.ReLU(), (torch.ones(4),), dynamic_shapes=more).module()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self) -> None:
        self.examples: list[tuple[Any, Any]] = []

    def add(self, args: Any, kwargs: Any = None) -> None:
        if type(args) is not tuple:
            raise AssertionError(f"Representation of args needs to be a tuple, got {type(args)}")
        self.examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """The sizes that differ, as a dict by the names of arguments."""
        def found(values: list[Any]) -> Any:
            first = values[0]
            if isinstance(first, dict):
                return {key: found([value[key] for value in values]) for key in first}
            if isinstance(first, list | tuple):
                return [found(list(items)) for items in zip(*values, strict=True)]
            if not isinstance(first, torch.Tensor):
                return None
            return {dim: Dim.DYNAMIC for dim, n in enumerate(first.shape) if any([v.shape[dim] != n for v in values])}
        bound = [bound_arguments(m, a, k) for a, k in [(args, kwargs or {}), *self.examples]]
        return {name: found([arguments[name] for arguments in bound]) for name in bound[0]}

    def verify(self, ep: Any) -> None:
        """Run a program on all of them."""
        module = ep.module()
        for args, kwargs in self.examples:
            module(*args, **kwargs)


# ---- what is said of the leaves of the inputs
def bound_arguments(mod: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    return inspect.signature(mod.forward).bind(*args, **kwargs).arguments


MORE = "For more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/index.html"


def invalid(text: str, separator: str = "\n") -> UserError:
    return UserError(UserErrorType.INVALID_INPUT, f"{text}{separator}{MORE}#dynamic-shapes-validation")


def shapes_by_leaf(mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any, count: int) -> list[Any]:
    """What `dynamic_shapes` says of each leaf of the inputs."""
    if isinstance(shapes, ShapesCollection | AdditionalInputs):
        shapes = shapes.dynamic_shapes(mod, args, kwargs)
    if shapes is None or not shapes:
        return [None] * count
    bound = bound_arguments(mod, args, kwargs)
    names = list(bound)
    if isinstance(shapes, dict):
        if set(shapes) != set(names):
            raise invalid(f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {names} of "
                          f"`inputs`, but here they are {list(shapes)}. Alternatively, you could also ignore arg names "
                          "entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`.", " ")
        entries = [(f"['{name}']", shapes[name]) for name in names]
    else:
        if len(shapes) != len(names):
            raise mismatch(f"`inputs` has {len(names)} elements, but `dynamic_shapes` has {len(shapes)} elements")
        entries = [(f"[{i}]", entry) for i, entry in enumerate(shapes)]
    found: list[Any] = []
    for value, (place, entry) in zip(bound.values(), entries, strict=True):
        found += matched(value, entry, place)
    return found


def mismatch(text: str) -> UserError:
    return invalid(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {text}")


def matched(value: Any, entry: Any, place: str) -> list[Any]:
    """The entries of the leaves of one argument."""
    if isinstance(value, list | tuple | dict):
        kind = dict if isinstance(value, dict) else list | tuple
        if entry is None:
            entry = dict.fromkeys(value) if isinstance(value, dict) else [None] * len(value)
        if not isinstance(entry, kind):
            raise mismatch(f"`inputs{place}` is a {type(value)}, but `dynamic_shapes{place}` is not")
        if isinstance(value, dict):
            if set(entry) != set(value):
                raise mismatch(f"`inputs{place}` has keys {list(value)}, but `dynamic_shapes{place}` has keys {list(entry)}")
            return [found for key, item in value.items() for found in matched(item, entry[key], f"{place}['{key}']")]
        if len(entry) != len(value):
            raise mismatch(f"`inputs{place}` has {len(value)} elements, but `dynamic_shapes{place}` has {len(entry)} elements")
        return [found for i, (item, part) in enumerate(zip(value, entry, strict=True))
                for found in matched(item, part, f"{place}[{i}]")]
    if isinstance(value, torch.Tensor) and entry is not None:
        check_entry(entry, place)
    return [entry]


def check_entry(entry: Any, place: str) -> None:
    if not isinstance(entry, dict | list | tuple):
        raise invalid(f"Unexpected input tensor shape {entry!r} specified at `dynamic_shapes{place}` (expected either a "
                      "list/tuple of dimensions, or a dict mapping indices to dimensions, where each dimension is an int, a "
                      "Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)")
    for dim, part in entry.items() if isinstance(entry, dict) else enumerate(entry):
        if part is not None and not isinstance(part, int | Dim | DimHint):
            raise invalid(f"Unexpected dimension mapped to index {dim} in input tensor shape {entry} specified at "
                          f"`dynamic_shapes{place}` (expected None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,  but "
                          f"got {part!r} instead)")


# ---- symbols
class Symbol(NamedTuple):
    """A size that may change: dimension `dim` of user input `input` (and of others that share its name)."""

    name: str
    input: int
    dim: int
    value: int
    min: int
    max: int | None
    hint: str = ""                                # "AUTO" or "DYNAMIC" if the program has not named it


class Size(NamedTuple):
    """A size as a function of a symbol."""

    symbol: int
    factor: int = 1
    offset: int = 0

    def value(self, sizes: Any) -> int:
        return self.factor * sizes[self.symbol] + self.offset


def dims_of(spec: Any) -> Iterator[tuple[int, Any]]:
    yield from spec.items() if isinstance(spec, dict) else enumerate(spec) if isinstance(spec, list | tuple) else ()


def symbols_of(specs: list[Any], inputs: list[Any], names: list[str]) -> tuple[list[Symbol], dict[tuple[int, int], Size]]:
    """The symbols that `dynamic_shapes` names, and how each (input, dimension) depends on them."""
    found: list[Symbol] = []
    places: dict[tuple[int, int], Size] = {}
    for number, (spec, tensor) in enumerate(zip(specs, inputs, strict=True)):
        for dim, entry in dims_of(spec) if isinstance(tensor, torch.Tensor) else ():
            size = tensor.shape[dim]
            if type(entry) is int and entry != size:
                raise ConstraintViolationError(f"Static shape constraint of {entry} does not match input size of {size}, for "
                                               f"L['{names[number]}'].size()[{dim}]")
            if entry is None or isinstance(entry, int) or isinstance(entry, DimHint) and entry.name == "STATIC":
                continue
            if isinstance(entry, DimHint):
                places[(number, dim)] = Size(len(found))
                found.append(Symbol(f"s{len(found)}", number, dim, size, 2 if entry.min is None else entry.min, entry.max,
                                    entry.name))
                continue
            root = entry.root or entry
            value, rest = divmod(size - entry.offset, entry.factor)
            known = next((i for i, symbol in enumerate(found) if symbol.name == root.__name__), None)
            if known is None:
                known = len(found)
                if root.max is not None and value > root.max or value > 1 and value < root.min:
                    raise ConstraintViolationError(f"{value} not in range [{root.min}, {root.max}]")
                found.append(Symbol(root.__name__, number, dim, value, root.min, root.max))
            if rest or found[known].value != value:
                raise ValueError(f"Constraints violated ({root.__name__})! inputs disagree on it: {found[known].value} and "
                                 f"{value}")
            places[(number, dim)] = Size(known, entry.factor, entry.offset)
    return found, places


class ValueRanges(NamedTuple):
    """The values that a size may have.

    >>> ValueRanges(2, None)
    VR[2, int_oo]
    """

    lower: int
    upper: int | None

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"
