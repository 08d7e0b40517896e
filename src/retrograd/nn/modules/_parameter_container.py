"""ParameterList and ParameterDict: tensors in a list or dictionary that a module lists as its parameters."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from retrograd import Tensor
from retrograd.nn.modules._entries import key_of, pairs_of
from retrograd.nn.modules.module import Module
from retrograd.nn.parameter import Parameter


def as_parameter(value: Any) -> Any:
    """Tensors become parameters; everything else stays."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def describe(key: Any, value: Any, legacy: bool = False) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    sizes = "x".join(str(n) for n in value.size())
    return f"  ({key}): {kind} containing: [{value.data.type() if legacy else value.dtype} of size {sizes}]"


class ParameterList(Module):
    """A list whose tensors are parameters.

    >>> import retrograd as torch
    >>> torch.nn.ParameterList([torch.ones(2), torch.zeros(3, 1)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 3x1]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            made = type(self)()
            for i in range(*index.indices(len(self))):
                made.append(self[i])
            return made
        return getattr(self, key_of(index, len(self)))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, key_of(index, len(self)), as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        index = len(self)
        self._size += 1
        self[index] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(describe(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary whose tensors are parameters.

    >>> import retrograd as torch
    >>> weights = torch.nn.ParameterDict({"left": torch.ones(2)})
    >>> weights["left"].requires_grad, list(weights)
    (True, ['left'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        name = self._checked(key)
        self._keys[name] = None
        setattr(self, name, as_parameter(value))

    def __delitem__(self, key: Any) -> None:
        del self._keys[key]
        delattr(self, self._checked(key))

    def _checked(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def __or__(self, other: Any) -> Any:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def copy(self) -> Any:
        """A dictionary with the same values."""
        return ParameterDict({key: self[key] for key in self})

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value at `key`, set to `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value at `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last pair."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value at `key`, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> Any:
        """A dictionary with the given keys and one value."""
        return ParameterDict({key: default for key in keys})

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Any:
        """The keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Any:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add all of a mapping, or of pairs."""
        for key, value in pairs_of(parameters, "ParametersDict"):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(describe(key, value, legacy=True) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
