"""Dictionaries whose keys are objects that may go away, told apart by identity: tensors compare element by element."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any
from weakref import ref

import retrograd as torch

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

WeakRef = ref


class WeakIdRef(ref):     # type: ignore[type-arg]
    """A weak reference that is equal to another one of the same object only.

    >>> class Thing: pass
    >>> thing, other = Thing(), Thing()
    >>> WeakIdRef(thing) == WeakIdRef(thing), WeakIdRef(thing) == WeakIdRef(other)
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)     # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        found = self()
        return self is other if found is None or not isinstance(other, WeakIdRef) else found is other()


class _WeakHashRef(ref):     # type: ignore[type-arg]
    """A weak reference that is equal to another one of an equal object, and keeps its hash when the object is gone.

    >>> class Thing:
    ...     def __eq__(self, other): return True
    ...     def __hash__(self): return 7
    >>> thing, other = Thing(), Thing()
    >>> _WeakHashRef(thing) == _WeakHashRef(other), hash(_WeakHashRef(thing))
    (True, 7)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)     # type: ignore[call-arg]
        self._id = hash(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        found, second = self(), other() if isinstance(other, ref) else None
        return self is other if found is None or second is None else bool(found == second)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary that forgets keys that are gone.

    >>> class Thing: pass
    >>> thing, table = Thing(), WeakIdKeyDictionary()
    >>> table[thing] = 1
    >>> table[thing], len(table)
    (1, 1)
    >>> del thing
    >>> len(table)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _key(self, key: Any) -> Any:
        table = ref(self)

        def forget(gone: Any) -> None:
            owner = table()
            if owner is not None:
                owner.data.pop(gone, None)
        return self.ref_type(key, forget)

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.data[self.ref_type(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._key(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Take out the key that came last, with its value."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def copy(self) -> WeakIdKeyDictionary:
        """The same keys and values in another dictionary."""
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update(self)
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        """The same keys, with copies of the values."""
        made = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> WeakIdKeyDictionary:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    >>> import retrograd as torch
    >>> x = torch.ones(1)
    >>> TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        return self.ref()
