"""What data pipes are: datasets whose steps are also methods, such as `pipe.map(f).batch(2)`.

An `IterDataPipe` has one iterator at a time: a second one ends the first, since both would advance the pipes before it.
"""
from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import retrograd as torch
from retrograd.utils.data.dataset import Dataset, IterableDataset


class DataChunk(list[Any]):
    """The items of a batch.

    >>> DataChunk([1, 2]).as_str(">")
    '>[1, 2]'
    """

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        return indent + "[" + ", ".join([str(item) for item in self]) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        yield from self.items


class WithFunctions:
    """Finds the steps that are methods."""

    functions: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, attribute_name: str) -> Any:
        functions = type(self).functions
        if attribute_name in functions:
            step = functools.partial(functions[attribute_name], self)
            functools.update_wrapper(step, functions[attribute_name], assigned=("__doc__",))
            return step
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of all of them."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any,
                                      enable_df_api_tracing: bool = False) -> None:
        """Make a class of pipes a method of all of them."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def make(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)
        make.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = make

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __str__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(WithFunctions, IterableDataset[Any]):
    """A dataset that is gone through, with its steps as methods.

    >>> from retrograd.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).filter(bool).batch(2))
    [[1, 2], [3, 4]]
    """

    functions: dict[str, Callable[..., Any]] = {}
    _iterator_id = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = guarded(cls.__dict__["__iter__"])        # type: ignore[method-assign]

    def __iter__(self) -> Iterator[Any]:
        return self                         # for those that define `__next__`

    def reset(self) -> None:
        """Called before each iteration: forget what is left of the last."""


class MapDataPipe(WithFunctions, Dataset[Any]):
    """A dataset that is looked up by key, with its steps as methods.

    >>> from retrograd.utils.data.datapipes.map import SequenceWrapper
    >>> list(SequenceWrapper([1, 2]).map(str))
    ['1', '2']
    """

    functions: dict[str, Callable[..., Any]] = {}


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[Any], Any]:
    """Decorates a class of pipes that is to be a method of all others.

    >>> @functional_datapipe("doubled")
    ... class Doubled(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield 2 * x
    >>> from retrograd.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).doubled())
    [2, 4]
    """
    def decorate(cls: Any) -> Any:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_datapipe_as_function(name, cls, enable_df_api_tracing)
        return cls
    return decorate


def guarded(iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """`__iter__` of a pipe, whose iterators know of each other."""
    @functools.wraps(iterate)
    def start(self: Any) -> Iterator[Any]:
        self._iterator_id += 1
        self.reset()
        return steps(self, iterate(self), self._iterator_id)
    return start


def steps(pipe: Any, found: Iterator[Any], number: int) -> Iterator[Any]:
    """The items of an iterator for as long as it is its pipe's only one."""
    while True:
        if pipe._iterator_id != number:
            raise RuntimeError("This iterator has been invalidated because another iterator has been created from the same "
                               f"IterDataPipe: {described(pipe)}\nThis may be caused by multiple references to the same "
                               "IterDataPipe. We recommend using `.fork()` if that is necessary.")
        try:
            item = next(found)
        except StopIteration:
            return
        except Exception as error:
            told = f"This exception is thrown by __iter__ of {described(pipe)}"
            if error.args and "thrown by __iter__ of" not in str(error.args[0]):
                error.args = (f"{error.args[0]}\n{told}", *error.args[1:])
            raise
        yield item


def described(pipe: Any) -> str:
    """A pipe with the arguments that it keeps."""
    kept = {name: pipe.__dict__[name] for name in sorted(inspect.signature(type(pipe)).parameters) if name in pipe.__dict__}
    shown = [f"{name}={getattr(value, '__name__', None) or repr(value)}" for name, value in kept.items()]
    return f"{type(pipe).__name__}({', '.join(shown)})"


def check_function(fn: Any) -> None:
    """Point out functions that cannot be sent to other processes."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    inner = fn.func if isinstance(fn, functools.partial) else fn
    code = getattr(inner, "__code__", None)
    local = bool(code.co_flags & inspect.CO_NESTED) if code is not None else "<locals>" in getattr(inner, "__qualname__", "")
    if local or getattr(inner, "__name__", "") == "<lambda>":
        warnings.warn(f"{'Local' if local else 'Lambda'} function is not supported by pickle, please use regular python "
                      "function or functools.partial instead.", stacklevel=4)


class ShufflingPipe(IterDataPipe):
    """A pipe that draws an order, which can be switched off, and seeded for the next iteration."""

    _enabled: bool = True
    _seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Any:
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Any:
        self._seed = seed
        return self

    def generator(self) -> random.Random:
        """What the next iteration draws from."""
        seed = self._seed if self._seed is not None else int(torch.empty((), dtype=torch.int64).random_().item())
        self._seed = None
        return random.Random(seed)


def pickled(pipe: Any) -> tuple[bool, bytes]:
    """A pipe as bytes, and whether it took dill to make them, which can pickle local functions."""
    try:
        return False, pickle.dumps(pipe)
    except Exception:
        if importlib.util.find_spec("dill") is None:
            raise
        return True, importlib.import_module("dill").dumps(pipe)


class Travelling:
    """What data loaders hold of a pipe: it can be sent to other processes more often than the pipe itself."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> tuple[bool, bytes]:
        return pickled(self._datapipe)

    def __setstate__(self, state: tuple[bool, bytes]) -> None:
        by_dill, data = state
        self._datapipe = importlib.import_module("dill").loads(data) if by_dill else pickle.loads(data)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(Travelling, IterDataPipe):
    """The items of a pipe, wherever it is."""

    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(Travelling, MapDataPipe):
    """The items of a pipe by key, wherever it is."""

    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]
