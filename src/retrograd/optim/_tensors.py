"""A list of tensors that takes part in a formula as one tensor does.

    >>> import retrograd as torch
    >>> from retrograd.optim._tensors import Tensors
    >>> both = Tensors([torch.ones(2), torch.zeros(3)])
    >>> both.mul_(2).add_(both, alpha=1.5)[0]
    tensor([5., 5.])
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch


class Tensors(list[Any]):
    """Each method is that of its items: by one call of `_foreach_*` where there is one, else item by item."""

    __slots__ = ()
    is_sparse = False
    requires_grad = False

    def item(self) -> Any:
        """The number that all items hold."""
        return self[0].item()

    @property
    def dtype(self) -> Any:
        return self[0].dtype

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(Tensors, name, method_of_items(name))     # found directly from now on
        return getattr(self, name)

    def __add__(self, other: Any) -> Any:                # not those of lists
        return method_of_items("add")(self, other)

    def __iadd__(self, other: Any) -> Any:
        return method_of_items("add_")(self, other)

    def __mul__(self, other: Any) -> Any:                # type: ignore[override]
        return method_of_items("mul")(self, other)

    def __imul__(self, other: Any) -> Any:               # type: ignore[misc, override]
        return method_of_items("mul_")(self, other)

    def __truediv__(self, other: Any) -> Any:
        return method_of_items("div")(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return Tensors([other / t for t in self])

    def __neg__(self) -> Any:
        return method_of_items("neg")(self)

    def __lt__(self, other: Any) -> Any:
        return Tensors([t < other for t in self])

    def __gt__(self, other: Any) -> Any:
        return Tensors([t > other for t in self])

    def __eq__(self, other: Any) -> Any:
        return Tensors([t == other for t in self])

    __hash__ = None                                      # type: ignore[assignment]


METHODS: dict[str, Callable[..., Any]] = {}


def method_of_items(name: str) -> Callable[..., Any]:
    """A function that calls a method of Tensor on each item."""
    found = METHODS.get(name)
    if found is None:
        whole = getattr(torch, "_foreach_" + name, None)
        single = getattr(torch.Tensor, name)
        if whole is None:
            found = lambda *args, **kwargs: each(single, args, kwargs)
        elif name.endswith("_"):
            def found(tensors: Tensors, *args: Any, **kwargs: Any) -> Tensors:
                if len(args) == 1 and type(args[0]) is Tensors:                  # the most frequent case, quickly
                    whole(list(tensors), list(args[0]), **kwargs)
                else:
                    whole(list(tensors), *[list(a) if type(a) is Tensors else a for a in args], **kwargs)
                return tensors
        else:
            found = lambda *args, **kwargs: Tensors(whole(*[list(a) if type(a) is Tensors else a for a in args], **kwargs))
        METHODS[name] = found
    return found


def each(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensors:
    """The results of a function for the items at each position."""
    count = max([len(a) for a in (*args, *kwargs.values()) if type(a) is Tensors])

    def at(value: Any, i: int) -> Any:
        return value[i] if type(value) is Tensors else value
    return Tensors([func(*[at(a, i) for a in args], **{k: at(v, i) for k, v in kwargs.items()}) for i in range(count)])
