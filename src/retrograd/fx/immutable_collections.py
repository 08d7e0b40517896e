"""Lists and dicts that refuse to be changed: the arguments of a Node, which only the Node itself may replace."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from retrograd.utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

ADVICE = ("If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
          "instead create a new copy of it and assign the copy to the node:\n\n"
          "    new_args = ...  # copy and mutate args\n    node.args = new_args")


def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}' object does not support mutation. " + ADVICE)


class immutable_list(list[Any]):
    """A list that cannot be changed.

    >>> immutable_list([1, 2])[1], immutable_list([1]) == [1]
    (2, True)
    >>> immutable_list([1]).append(2)
    Traceback (most recent call last):
    TypeError: 'immutable_list' object does not support mutation. ...
    """

    append = clear = extend = insert = pop = remove = reverse = sort = refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = refuse

    def __hash__(self) -> int:      # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that cannot be changed.

    >>> immutable_dict(a=1)["a"]
    1
    >>> immutable_dict(a=1).clear()
    Traceback (most recent call last):
    TypeError: 'immutable_dict' object does not support mutation. ...
    """

    clear = pop = popitem = setdefault = update = refuse
    __delitem__ = __ior__ = __setitem__ = refuse

    def __hash__(self) -> int:      # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


def list_of(children: Iterable[Any], context: Any) -> immutable_list:
    return immutable_list(children)


def dict_of(children: Iterable[Any], keys: Any) -> immutable_dict:
    return immutable_dict(zip(keys, children, strict=True))


register_pytree_node(immutable_list, lambda items: (list(items), None), list_of)
register_pytree_node(immutable_dict, lambda items: (list(items.values()), list(items)), dict_of)
