"""Which sizes of a program's inputs may change, and by how much: found out by tracing it with other ones.

NOTE [Probing sizes]
A size may take another value if the program then does the same ops. Of sizes that may not change alone, those are one symbol
that may change together. What the program does not allow is an error for sizes that were named, or declared DYNAMIC; a size
that is AUTO is static then.
"""
from __future__ import annotations

from collections.abc import Callable

from retrograd.compile.errors import UserError, UserErrorType
from retrograd.export.dynamic_shapes import Size, Symbol

FAR = 64                  # a size up to which programs are tried out, if their inputs stay small
MOST_ELEMENTS = 20_000
STEPS = (1, 2, -1, 3, -2, 4, 5, 7)

Probe = Callable[[tuple[int, ...]], "str | None"]


class Prober:
    """Finds out about the symbols of one export. `ops` gives the ops for sizes as a text, None if the program fails."""

    def __init__(self, symbols: list[Symbol], places: dict[tuple[int, int], Size], names: list[str], ops: Probe,
                 elements: int) -> None:
        self.symbols, self.places, self.names, self.ops, self.elements = symbols, places, names, ops, elements
        self.base = tuple([symbol.value for symbol in symbols])
        self.expected = ops(self.base)
        self.steps: dict[int, list[int]] = {}     # symbol -> the least amount by which it may change
        self.units: list[int] = []                # of the symbols that remain

    def works(self, changes: dict[int, int]) -> bool:
        sizes = tuple([changes.get(i, value) for i, value in enumerate(self.base)])
        return self.ops(sizes) == self.expected

    def allowed(self, i: int, value: int) -> bool:
        symbol = self.symbols[i]
        return value >= max(2, symbol.min) and (symbol.max is None or value <= symbol.max)

    def source(self, i: int) -> str:
        symbol = self.symbols[i]
        return f"L['{self.names[symbol.input]}'].size()[{symbol.dim}]"

    def shown(self, i: int) -> str:
        return self.source(i) if self.symbols[i].hint else self.symbols[i].name

    # ---- the whole
    def run(self) -> tuple[list[Symbol], dict[tuple[int, int], Size]]:
        """The symbols that remain, and how sizes depend on them."""
        static = {i for i, symbol in enumerate(self.symbols) if symbol.value < 2 and self.is_static(i)}
        same: dict[int, tuple[int, int]] = {}     # symbol -> (the one that it goes with, difference)
        stuck = [i for i in range(len(self.symbols)) if i not in static and not self.moves_alone(i)]
        for i in stuck:
            if i in same:
                continue
            group = [k for k in stuck if k not in same and self.symbols[k].value == self.symbols[i].value]
            if len(group) > 1 and self.move_together(group):
                same.update({k: (i, 0) for k in group[1:]})
                self.check_names(i, group[1:])
                continue
            partner = next((k for k in stuck if k != i and k not in same and self.move_together([i, k])), None)
            if partner is not None:
                same[partner] = i, self.symbols[partner].value - self.symbols[i].value
                self.check_names(i, [partner])
            elif self.symbols[i].hint == "AUTO":
                static.add(i)
            else:
                self.refuse(i, [self.specialized(i)], f"{self.symbols[i].name} = {self.symbols[i].value}")
        kept = [i for i in range(len(self.symbols)) if i not in static and i not in same]
        members = {i: [i, *[k for k, (first, _) in same.items() if first == i]] for i in kept}
        symbols = [self.bounded(i, members[i]) for i in kept]
        self.units = [abs((self.steps.get(i) or [1])[0]) for i in kept]
        places = {}
        for place, size in self.places.items():
            if size.symbol in static:
                continue
            first, offset = same.get(size.symbol, (size.symbol, 0))
            places[place] = Size(kept.index(first), size.factor, size.offset + offset)
        return symbols, places

    def is_static(self, i: int) -> bool:
        symbol = self.symbols[i]
        if symbol.hint == "DYNAMIC":
            raise ValueError("Found the following conflicts between user-specified ranges and inferred ranges from model "
                             f"tracing:\n- Received user-specified dim hint Dim.DYNAMIC(min=None, max={symbol.max}), but "
                             f"export 0/1 specialized due to hint of {symbol.value} for dimension "
                             f"inputs['{self.names[symbol.input]}'].shape[{symbol.dim}].")
        if not symbol.hint:
            self.refuse(i, [self.specialized(i)], f"{symbol.name} = {symbol.value}")
        return True

    def moves_alone(self, i: int) -> bool:
        return self.move_together([i])

    def move_together(self, group: list[int]) -> bool:
        """Whether sizes may change by the same amount; the values that the first of them may have are noted."""
        steps = [step for step in STEPS if all([self.allowed(i, self.base[i] + step) for i in group])]
        found: list[int] = []
        for step in steps:
            if not found and step > 3:
                break
            if self.works({i: self.base[i] + step for i in group}):
                found.append(step)
                break
        self.steps[group[0]] = found
        if not steps:                             # its bounds leave one value only
            return True
        if len(group) == 1 and found and found[0] > 1 and not self.symbols[group[0]].hint:
            self.refuse_divisor(group[0], found[0])
        return bool(found)

    def bounded(self, i: int, group: list[int]) -> Symbol:
        """A symbol with the bounds within which the program does the same ops."""
        symbol = self.symbols[i]
        low, high = max(2, symbol.min), symbol.max
        step = abs((self.steps.get(i) or [1])[0])

        def works(n: int) -> bool:
            return self.works({k: self.base[k] + n - self.base[i] for k in group})

        def search(good: int, bad: int) -> int:
            """The last value from `good` on towards `bad` that works."""
            while abs(bad - good) > step:
                middle = good + (bad - good) // (2 * step) * step
                if middle == good:
                    break
                good, bad = (middle, bad) if works(middle) else (good, middle)
            return good
        least = low + (symbol.value - low) % step
        lower = search(symbol.value, least - step) if least < symbol.value and not works(least) else low
        far = min(high, FAR) if high is not None else FAR
        far -= (far - symbol.value) % step
        upper = high
        if far > symbol.value and self.elements * far <= MOST_ELEMENTS * max(symbol.value, 1) and not works(far):
            upper = search(symbol.value, far)
        if not symbol.hint and (lower > low and self.differs(lower - step, i, group) or upper != high and self.differs(
                (upper or 0) + step, i, group)):
            bounds = f"{lower} <= {self.source(i)} and {self.source(i)} <= {'IntInfinity()' if upper is None else upper}"
            fix = [f"min={lower}"] * (lower > low) + [f"max={upper}"] * (upper != high)
            self.refuse(i, [f"Not all values of {symbol.name} = {self.source(i)} in the specified range satisfy the generated "
                            f"guard {bounds}"], f"{symbol.name} = Dim('{symbol.name}', {', '.join(fix)})")
        return symbol._replace(min=symbol.min if not symbol.hint else lower, max=high if not symbol.hint else upper)

    def differs(self, n: int, i: int, group: list[int]) -> bool:
        """Whether the program does other ops for a size, and does not just fail."""
        sizes = tuple([self.base[k] + n - self.base[i] if k in group else value for k, value in enumerate(self.base)])
        return n >= 0 and self.ops(sizes) is not None

    # ---- errors
    def specialized(self, i: int) -> str:
        return (f"You marked {self.shown(i)} as dynamic but your code specialized it to be a constant "
                f"({self.symbols[i].value}). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If "
                "you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.")

    def refuse(self, i: int, reasons: list[str], fix: str) -> None:
        text = "".join([f"\n  - {reason}" for reason in reasons])
        fixes = "" if self.symbols[i].hint else f"\nSuggested fixes:\n  {fix}\n"
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, f"Constraints violated ({self.shown(i)})! For more information, "
                        f'run with TORCH_LOGS="+dynamic".{text}{fixes}')

    def refuse_divisor(self, i: int, divisor: int) -> None:
        name = self.symbols[i].name
        self.refuse(i, [f"Not all values of {name} = {self.source(i)} in the specified range satisfy the generated guard "
                        f"({self.source(i)} % {divisor}) == 0."], f"_{name} = Dim('_{name}', min=1, max=oo)\n  {name} = "
                    f"{divisor}*_{name}")

    def check_names(self, first: int, others: list[int]) -> None:
        """Sizes with different names must not turn out to be one."""
        for k in others:
            a, b = self.symbols[first], self.symbols[k]
            if a.hint or b.hint:
                continue
            offset = b.value - a.value
            relation = a.name if not offset else f"{a.name} {'+' if offset > 0 else '-'} {abs(offset)}"
            reason = (f"The values of {b.name} = {self.source(k)} and {a.name} = {self.source(first)} must always be equal."
                      if not offset else f"The values of {b.name} = {self.source(k)} must always be related to the values of "
                      f"{a.name} = {self.source(first)} by {b.name} = {relation}.")
            self.refuse(k, [reason], f"{b.name} = {relation}")
