"""Fields of Tensor that a subclass redefines: library code sees the field, programs see the subclass's attribute.

A tensor keeps its values in the field `array`, a name that PyTorch's Tensor does not have, so subclasses may define it.
`Shadowed` replaces such a definition. It returns the field to code of this library, and the subclass's attribute to
attribute accesses written in a program. Compiled modules have no frames: an access that the current
instruction of the calling frame does not name comes from one of them.
"""
from __future__ import annotations

import dis
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

FIELDS = ("array",)
HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
ACCESSES = {number for name, number in dis.opmap.items() if name in (
    "LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR")}
EXTENDED = dis.opmap["EXTENDED_ARG"]


class Shadowed:
    """A field of Tensor and the attribute that a subclass defines under its name."""

    def __init__(self, name: str, field: Any, own: Any) -> None:
        self.name, self.field, self.own = name, field, own

    def __get__(self, instance: Tensor, owner: Any = None) -> Any:
        if instance is None or is_access(sys._getframe(1), self.name):
            get = getattr(type(self.own), "__get__", None)
            if instance is not None and not hasattr(type(self.own), "__set__") and self.name in instance.__dict__:
                return instance.__dict__[self.name]
            return self.own if get is None else get(self.own, instance, owner)
        return self.field.__get__(instance, owner)

    def __set__(self, instance: Tensor, value: Any) -> None:
        if not is_access(sys._getframe(1), self.name):
            self.field.__set__(instance, value)
        elif hasattr(type(self.own), "__set__"):
            type(self.own).__set__(self.own, instance, value)
        else:
            instance.__dict__[self.name] = value


def is_access(frame: FrameType, name: str) -> bool:
    """Whether a frame is a program's, and its current instruction reads or writes an attribute of this name."""
    code = frame.f_code
    if code.co_filename.startswith(HOME):
        return False
    place, text = frame.f_lasti, code.co_code
    if text[place] not in ACCESSES:
        return False
    number, before, shift = text[place + 1], place - 2, 8
    while before >= 0 and text[before] == EXTENDED:
        number |= text[before + 1] << shift
        before, shift = before - 2, shift + 8
    candidates = {number, number >> 1, number >> 2}       # some Python versions keep flags in the lowest bits
    return any([n < len(code.co_names) and code.co_names[n] == name for n in candidates])


def shadow_fields(cls: Any, base: type) -> None:
    """Let a subclass of `base` redefine names of fields of `base`."""
    for name in FIELDS:
        field = getattr(base, name)
        own = next((vars(parent)[name] for parent in cls.__mro__ if name in vars(parent)), field)
        if own is not field and not isinstance(own, Shadowed):
            setattr(cls, name, Shadowed(name, field, own))
