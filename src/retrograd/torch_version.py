"""A version string that compares as PEP 440 says: with strings, with tuples of numbers and with other versions."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from retrograd.version import __version__

__all__ = ["TorchVersion"]

PATTERN = re.compile(r"""
    \s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_number>\d*))?
    (?:-(?P<post_alone>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?
    (?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*""", re.VERBOSE | re.IGNORECASE)
PRE_PHASES = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
LOWEST, HIGHEST = (-1,), (9,)


def sort_key(text: str) -> tuple[Any, ...] | None:
    """What orders version `text` among others; None if it is no version.

    >>> sort_key("1.0rc1") < sort_key("1.0") < sort_key("1.0+cpu") < sort_key("1.0.post1")
    True
    """
    match = PATTERN.fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    release = [int(number) for number in part["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    has_post = part["post"] is not None or part["post_alone"] is not None
    if part["pre"]:
        pre: tuple[int, ...] = (PRE_PHASES[part["pre"].lower()], int(part["pre_number"] or 0))
    else:       # a development version comes before the first prerelease
        pre = LOWEST if part["dev"] and not has_post else HIGHEST
    post = (0, int(part["post_alone"] or part["post_number"] or 0)) if has_post else LOWEST
    dev = (0, int(part["dev_number"] or 0)) if part["dev"] else HIGHEST
    pieces = re.split(r"[-_.]", part["local"].lower()) if part["local"] else []
    local = tuple((1, int(piece), "") if piece.isdigit() else (0, 0, piece) for piece in pieces)
    return int(part["epoch"] or 0), tuple(release), pre, post, dev, local


class TorchVersion(str):
    """A version that is a string and compares as a version.

    >>> TorchVersion("2.13.0+cpu") > "2.2", TorchVersion("2.13.0+cpu") >= (2, 13), TorchVersion("1.10") == "1.10.0"
    (True, True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        own, theirs = both_keys(self, other)
        return own == theirs

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        own, theirs = comparable_keys(self, other, "<")
        return own < theirs

    def __le__(self, other: Any) -> bool:
        own, theirs = comparable_keys(self, other, "<=")
        return own <= theirs

    def __gt__(self, other: Any) -> bool:
        own, theirs = comparable_keys(self, other, ">")
        return own > theirs

    def __ge__(self, other: Any) -> bool:
        own, theirs = comparable_keys(self, other, ">=")
        return own >= theirs


def both_keys(version: TorchVersion, other: Any) -> tuple[Any, Any]:
    """The two as sort keys; as plain strings where `other` is text but no version; (0, None) where it is neither."""
    text = text_of(other)
    if text is None:
        return 0, None
    key = sort_key(text)
    return (str(version), text) if key is None else (sort_key(version), key)


def comparable_keys(version: TorchVersion, other: Any, sign: str) -> tuple[Any, Any]:
    own, theirs = both_keys(version, other)
    if theirs is None:
        raise TypeError(f"'{sign}' not supported between instances of 'TorchVersion' and '{type(other).__name__}'")
    return own, theirs


def text_of(other: Any) -> str | None:
    """The text of a version, of a `packaging` version or of a tuple such as (2, 13)."""
    if isinstance(other, str):
        return str(other)
    if type(other).__name__ == "Version":
        return str(other)
    if isinstance(other, Iterable):
        return ".".join(map(str, other))
    return None


__version__ = TorchVersion(__version__)
