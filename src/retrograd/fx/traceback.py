"""Where the nodes of a graph come from: notes that are put on every node made while they are in force."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["annotate", "annotate_fn", "current_meta", "format_stack", "get_current_meta", "has_preserved_node_meta",
           "preserve_node_meta", "reset_grad_fn_seq_nr", "set_current_meta", "set_grad_fn_seq_nr", "set_stack_trace"]


class Notes:
    """What is noted on new nodes, and whether it is."""

    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.preserve = False


notes = Notes()


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A scope in which new nodes get the current notes.

    >>> import retrograd as torch
    >>> from retrograd.fx.traceback import annotate, preserve_node_meta
    >>> graph_of = torch.fx.Tracer().trace
    >>> def f(x):
    ...     with annotate({"part": "head"}):
    ...         return x + 1
    >>> with preserve_node_meta():
    ...     [node.meta.get("custom") for node in graph_of(f).nodes]
    [None, {'part': 'head'}, None]
    """
    before, meta = notes.preserve, notes.meta
    notes.preserve = enable
    notes.meta = dict(meta)
    try:
        yield
    finally:
        notes.preserve, notes.meta = before, meta


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A scope in which new nodes get these notes as `node.meta["custom"]`."""
    before = notes.meta
    notes.meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        notes.meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the nodes that the function makes get these notes."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)
        return annotated
    return decorate


def set_stack_trace(stack: list[str]) -> None:
    if notes.preserve and stack:
        notes.meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    if notes.preserve:
        notes.meta["grad_fn_seq_nr"] = [*notes.meta.get("grad_fn_seq_nr", []), seq_nr]
        notes.meta["in_grad_fn"] = notes.meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    if notes.preserve:
        level = notes.meta.get("in_grad_fn", 0)
        if level > 1:
            notes.meta["in_grad_fn"] = level - 1
            notes.meta["grad_fn_seq_nr"] = notes.meta["grad_fn_seq_nr"][:-1]
        else:
            notes.meta.pop("in_grad_fn", None)
            notes.meta.pop("grad_fn_seq_nr", None)


def format_stack() -> list[str]:
    """The current note of a stack trace, as a list of one text."""
    return [notes.meta.get("stack_trace", "")] if notes.preserve else []


def has_preserved_node_meta() -> bool:
    return notes.preserve


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """A scope in which new nodes get the notes of `node`."""
    before = notes.meta
    if notes.preserve and node.meta:
        notes.meta = copy.copy(node.meta)
    try:
        yield
    finally:
        notes.meta = before


def current_meta() -> dict[str, Any]:
    return notes.meta


def get_current_meta() -> dict[str, Any]:
    return notes.meta
