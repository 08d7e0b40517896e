"""Modules whose variables are settings: documented defaults, values from the environment, changes for a while.

A module that calls `install_config_module(sys.modules[__name__])` at its end keeps its variables as settings: each has a
default, may be set (in the current thread alone), patched in a scope, saved and hashed.
"""
from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import inspect
import os
import pickle
import tokenize
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from io import StringIO
from types import FunctionType, ModuleType
from typing import Any, Optional
from unittest import TestCase

__all__ = ["Config", "ConfigModule", "ContextDecorator", "SubConfigProxy", "get_tristate_env", "inherit_fields_from",
           "install_config_module"]

CONFIG_TYPES = (int, float, bool, type(None), str, list, set, tuple, dict)
IMMUTABLE = (int, float, bool, type(None), str, tuple)
COMPILE_IGNORED_MARKER = "@compile_ignored"
_UNSET_SENTINEL = object()
FROM_ENVIRONMENT = (bool, str, Optional[bool], Optional[str])     # noqa: UP045 - compared with annotations


@dataclass(kw_only=True)
class _Config:
    """A setting that is more than a default: where its value comes from, and what it is an alias of.

    The value is that of `alias`, or else of the first of `env_name_force` in the environment, what the program set, the
    first of `env_name_default` in the environment, or the default.
    """

    default: Any = _UNSET_SENTINEL
    justknob: str | None = None
    env_name_default: Any = None
    env_name_force: Any = None
    value_type: Any = None
    alias: str | None = None
    deprecated: bool = False
    deprecation_message: str | None = None

    def __post_init__(self) -> None:
        self.env_name_default, self.env_name_force = names_in(self.env_name_default), names_in(self.env_name_force)
        if self.alias is not None and (self.default is not _UNSET_SENTINEL or self.justknob is not None
                                       or self.env_name_default is not None or self.env_name_force is not None):
            raise AssertionError("if alias is set, none of {default, justknob, env_name_default and env_name_force} can be set")


def names_in(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if value is not None and not isinstance(value, list):
        raise AssertionError(f"val is not a list, got {type(value)}")
    return value


def Config(default: Any = _UNSET_SENTINEL, justknob: str | None = None, env_name_default: Any = None,
           env_name_force: Any = None, value_type: Any = None, alias: str | None = None, deprecated: bool = False,
           deprecation_message: str | None = None) -> Any:
    """A setting with an alias, names in the environment or a note that it is deprecated (see _Config)."""
    return _Config(default=default, justknob=justknob, env_name_default=env_name_default, env_name_force=env_name_force,
                   value_type=value_type, alias=alias, deprecated=deprecated, deprecation_message=deprecation_message)


def from_environment(names: list[str] | None) -> Any:
    """The first value in the environment; "1" and "0" are True and False."""
    found = next((os.environ[name] for name in names or () if name in os.environ), _UNSET_SENTINEL)
    return {"1": True, "0": False}.get(found, found) if isinstance(found, str) else found


class _ConfigEntry:
    """A setting of an installed module."""

    def __init__(self, config: _Config, name: str) -> None:
        self.default, self.justknob, self.alias = config.default, config.justknob, config.alias
        self.value_type = type(self.default) if config.value_type is None else config.value_type
        self.deprecated, self.deprecation_message = config.deprecated, config.deprecation_message
        self._deprecation_warned = False
        self.hide = False           # between the delattr and the setattr of unittest.mock.patch
        self.user_override: ContextVar[Any] = ContextVar(name, default=_UNSET_SENTINEL)
        self.env_value_default = from_environment(config.env_name_default)
        self.env_value_force = from_environment(config.env_name_force)
        if self.justknob is not None and self.default is not None and not isinstance(self.default, bool):
            raise AssertionError(f"justknobs only support booleans, {self.default} is not a boolean")
        if (config.env_name_default is not None or config.env_name_force is not None) and (
                self.value_type not in FROM_ENVIRONMENT):
            raise AssertionError(f"envvar configs only support (optional) booleans or strings, {self.value_type} is neither")

    def value(self) -> Any:
        """The value, if this is no alias."""
        found = (self.env_value_force, self.user_override.get(), self.env_value_default, self.default)
        return next((value for value in found if value is not _UNSET_SENTINEL), _UNSET_SENTINEL)

    def is_default(self) -> bool:
        set_to = self.user_override.get()
        unset = set_to is _UNSET_SENTINEL or not isinstance(self.default, IMMUTABLE) and set_to == self.default
        return unset and all([value is _UNSET_SENTINEL or value == self.default
                              for value in (self.env_value_default, self.env_value_force)])


def install_config_module(module: ModuleType) -> None:
    """Make the variables of a module settings. Classes in it are groups of settings.

    >>> mine = ModuleType("mine")
    >>> mine.depth = 3
    >>> install_config_module(mine)
    >>> with mine.patch(depth=4):
    ...     print(mine.depth, mine.depth == 3)
    4 False
    >>> mine.width = 1
    Traceback (most recent call last):
    AttributeError: mine.width does not exist
    """
    entries: dict[str, _ConfigEntry] = {}
    ignored = get_assignments_with_compile_ignored_comments(module)

    def visit(source: Any, dest: Any, prefix: str) -> None:
        hints = inspect.get_annotations(source)
        for key, value in list(vars(source).items()):
            if is_no_setting(key, value):
                continue
            name = f"{prefix}{key}"
            if isinstance(value, type) and not isinstance(value, _Config):
                if value.__module__ != module.__name__:
                    raise AssertionError(f"subconfig class {value} must be defined in module {module.__name__}")
                group = SubConfigProxy(module, f"{name}.")
                visit(value, group, f"{name}.")
                dest.__dict__[key] = group
                continue
            if isinstance(value, CONFIG_TYPES):
                value = _Config(default=value, value_type=hints.get(key))
            elif not isinstance(value, _Config):
                raise AssertionError(f"Unhandled config {key}={value} ({type(value)})")
            value.value_type = hints.get(key) if value.value_type is None else value.value_type
            entries[name] = _ConfigEntry(value, name)
            if dest is module:
                delattr(module, key)

    visit(module, module, "")
    kept: Any = module
    kept._config, kept._compile_ignored_keys = entries, ignored
    module.__class__ = type("ConfigModuleInstance", (ConfigModule,), {"_bypass_keys": {"__annotations__"}})


def is_no_setting(key: str, value: Any) -> bool:
    """Whether a variable is an import, a function or something of the module system."""
    home = getattr(value, "__module__", None) or ""
    return (key.startswith("__") or isinstance(value, (ModuleType, FunctionType)) or home == "typing"
            or home.startswith("collections.abc") or isinstance(value, type) and issubclass(value, _Config))


def get_assignments_with_compile_ignored_comments(module: ModuleType) -> set[str]:
    """The variables that a comment with @compile_ignored stands above."""
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):            # a module that was not read from a file
        return set()
    found: set[str] = set()
    marked, first = -1, ""
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if COMPILE_IGNORED_MARKER in token.string:
                if marked >= 0:
                    raise AssertionError(f"unconsumed {COMPILE_IGNORED_MARKER}")
                marked = token.start[0]
            first = ""
        elif token.type == tokenize.NAME:
            first = first or token.string
        elif token.type == tokenize.OP and token.string == "=":
            if marked == token.start[0] - 1:
                found.add(first)
                marked = -1
            first = ""
    if marked >= 0:
        raise AssertionError(f"unconsumed {COMPILE_IGNORED_MARKER}")
    return found


class ConfigModule(ModuleType):
    """A module whose variables are settings; made by `install_config_module`."""

    _config: dict[str, _ConfigEntry]
    _bypass_keys: set[str]
    _compile_ignored_keys: set[str]

    def __init__(self) -> None:
        raise NotImplementedError(f"use {__name__}.install_config_module(sys.modules[__name__])")

    # ---- single settings
    def __getattr__(self, name: str) -> Any:
        entry = self.__dict__.get("_config", {}).get(name)
        if entry is None or entry.hide:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self._warn_if_deprecated(name, entry)
        if entry.alias is not None:
            module, constant = self._get_alias_module_and_name(entry)
            return getattr(module, constant)
        value = entry.value()
        if value is entry.default and not isinstance(value, IMMUTABLE):
            value = copy.deepcopy(value)            # the program may change it in place, the default must not follow
            entry.user_override.set(value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._bypass_keys:
            return super().__setattr__(name, value)
        if name not in self._config:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        entry = self._config[name]
        self._warn_if_deprecated(name, entry)
        if entry.alias is not None:
            module, constant = self._get_alias_module_and_name(entry)
            setattr(module, constant, value)
        else:
            entry.user_override.set(value)
            entry.hide = False

    def __delattr__(self, name: str) -> None:
        entry = self._config[name]
        entry.user_override.set(_UNSET_SENTINEL)
        entry.hide = True

    def _warn_if_deprecated(self, name: str, entry: _ConfigEntry) -> None:
        if entry.deprecated and not entry._deprecation_warned:
            entry._deprecation_warned = True
            reason = f" and {entry.deprecation_message}" if entry.deprecation_message else ""
            warnings.warn(f"{self.__name__}.{name} is deprecated{reason}. It will be removed in a future version of PyTorch.",
                          FutureWarning, stacklevel=3)

    def _get_alias_module_and_name(self, entry: _ConfigEntry) -> tuple[ModuleType, str]:
        module, _, constant = str(entry.alias).rpartition(".")
        try:
            return importlib.import_module(module), constant
        except ImportError as error:
            raise AttributeError(f"config alias {entry.alias} does not exist") from error

    def _is_default(self, name: str) -> bool:
        """Whether neither the program nor the environment has changed a setting."""
        return self._config[name].is_default()

    def get_type(self, config_name: str) -> Any:
        """The type of a setting."""
        return self._config[config_name].value_type

    # ---- all settings
    def _get_dict(self, ignored_keys: Any = None, ignored_prefixes: Any = None, skip_default: bool = False,
                  readonly_values: bool = False) -> dict[str, Any]:
        """Copies of the values of all settings that are no aliases."""
        return {name: copy.deepcopy(entry.value()) for name, entry in self._config.items()
                if entry.alias is None and name not in (ignored_keys or ())
                and not name.startswith(tuple(ignored_prefixes or ())) and not (skip_default and entry.is_default())}

    def get_config_copy(self) -> dict[str, Any]:
        return self._get_dict()

    def get_serializable_config_copy(self) -> dict[str, Any]:
        return self._get_dict(ignored_keys=getattr(self, "_save_config_ignore", ()))

    def to_dict(self) -> dict[str, Any]:
        """The older name of `get_config_copy`."""
        warnings.warn("`config.to_dict()` has been deprecated. It no longer changes the underlying config. use "
                      "`config.get_config_copy()` instead", FutureWarning, stacklevel=2)
        return self.get_config_copy()

    def shallow_copy_dict(self) -> dict[str, Any]:
        """The older name of `get_config_copy`."""
        warnings.warn("`config.shallow_copy_dict()` has been deprecated. It no longer changes the underlying config. use "
                      "`config.get_config_copy()` instead", FutureWarning, stacklevel=2)
        return self.get_config_copy()

    def save_config(self) -> bytes:
        """The settings as bytes for `load_config`."""
        return pickle.dumps(self.get_serializable_config_copy(), protocol=2)

    def save_config_portable(self, *, ignore_private_configs: bool = True, readonly_values: bool = False) -> dict[str, Any]:
        """The settings that mean something on other machines."""
        prefixes = ["_"] * ignore_private_configs + list(getattr(self, "_cache_config_ignore_prefix", ()))
        return self._get_dict(ignored_prefixes=prefixes)

    def load_config(self, maybe_pickled_config: Any) -> None:
        """Restore saved settings, or a dict of them."""
        saved = maybe_pickled_config if isinstance(maybe_pickled_config, dict) else pickle.loads(maybe_pickled_config)
        for name, value in saved.items():
            if name in self._config:
                setattr(self, name, value)
            else:
                warnings.warn(f"key {name} with value {value} is not understood by this config", stacklevel=2)

    def codegen_config(self) -> str:
        """Python statements that change the settings as this program has."""
        imports: set[str] = set()

        def text(value: Any) -> str:
            if isinstance(value, (list, set)) and value and all(map(is_named, value)):
                parts = [text(item) for item in value]
                return str(parts) if isinstance(value, list) else f"{{ {', '.join(parts)} }}"
            if not is_named(value):
                return repr(value)
            if value.__module__ != "builtins":
                imports.add(value.__module__)
            return value.__name__ if value.__module__ == "builtins" else f"{value.__module__}.{value.__name__}"

        changed = self._get_dict(ignored_keys=getattr(self, "_save_config_ignore", ()), skip_default=True)
        lines = [f"{self.__name__}.{name} = {text(value)}" for name, value in changed.items()]
        return "\n".join([f"import {name}" for name in imports] + lines)

    def get_hash(self) -> bytes:
        """A hash of the settings without those marked @compile_ignored."""
        shown = repr(sorted(self._get_dict(ignored_keys=self._compile_ignored_keys).items()))
        return hashlib.md5(shown.encode(), usedforsecurity=False).digest()

    # ---- changes for a while
    def patch(self, arg1: Any = None, arg2: Any = None, **kwargs: Any) -> ContextDecorator:
        """A scope or decorator with other values: patch("name", value), patch(name=value), patch(dict)."""
        if arg1 is None:
            if arg2 is not None:
                raise AssertionError("second positional argument is only valid when first argument is a key string")
            return ConfigPatch(self, kwargs)
        if kwargs:
            raise AssertionError("cannot pass both positional and keyword arguments to patch")
        if arg2 is not None:
            if not isinstance(arg1, str):
                raise AssertionError("first argument must be a string when passing 2 positional args to patch")
            return ConfigPatch(self, {arg1: arg2})
        if not isinstance(arg1, dict):
            raise AssertionError("first argument must be a dict when passing a single positional arg to patch")
        return ConfigPatch(self, arg1)

    def _make_closure_patcher(self, **changes: Any) -> Callable[[], Callable[[], None]]:
        """A function that makes the changes and returns one that takes them back."""
        entries = {self._config[name]: value for name, value in changes.items()}

        def change() -> Callable[[], None]:
            before = {entry: entry.user_override.get() for entry in entries}
            restore_all(entries)
            return lambda: restore_all(before)
        return change


def restore_all(values: dict[_ConfigEntry, Any]) -> None:
    for entry, value in values.items():
        entry.user_override.set(value)


def is_named(value: Any) -> bool:
    return callable(value) and hasattr(value, "__module__") and hasattr(value, "__name__")


class ContextDecorator(contextlib.ContextDecorator):
    """A scope that also decorates functions and test cases; a test case is inside from its set-up to its tear-down."""

    def __enter__(self) -> None:
        raise NotImplementedError("NYI")

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        raise NotImplementedError("NYI")

    def __call__(self, func: Any) -> Any:
        if not (isinstance(func, type) and issubclass(func, TestCase)):
            return super().__call__(func)
        scope = self

        class Inside(func):     # type: ignore[valid-type, misc]
            @classmethod
            def setUpClass(cls) -> None:
                scope.__enter__()
                try:
                    super().setUpClass()
                except BaseException:
                    scope.__exit__(None, None, None)
                    raise

            @classmethod
            def tearDownClass(cls) -> None:
                try:
                    super().tearDownClass()
                finally:
                    scope.__exit__(None, None, None)
        Inside.__name__, Inside.__qualname__, Inside.__module__ = func.__name__, func.__qualname__, func.__module__
        return Inside


class ConfigPatch(ContextDecorator):
    """A scope in which settings have other values, in this thread."""

    def __init__(self, config: ConfigModule, changes: dict[str, Any]) -> None:
        self.config, self.changes = config, changes
        self.before: ContextVar[tuple[dict[str, Any], ...]] = ContextVar("before", default=())

    def __enter__(self) -> None:
        before = self.before.get()
        self.before.set((*before, {name: getattr(self.config, name) for name in self.changes}))
        for name, value in self.changes.items():
            setattr(self.config, name, value)

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        *outer, values = self.before.get()
        self.before.set(tuple(outer))
        for name, value in values.items():
            setattr(self.config, name, value)


class SubConfigProxy:
    """A group of settings: `config.triton.cudagraphs` is the setting "triton.cudagraphs"."""

    def __init__(self, config: Any, prefix: str) -> None:
        self.__dict__.update(_config=config, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, self._prefix + name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._config, self._prefix + name)


def get_tristate_env(name: str, default: Any = None) -> bool | None:
    """True or False for "1" or "0" in the environment, else the default."""
    return {"1": True, "0": False}.get(os.environ.get(name, ""), default)


def inherit_fields_from(parent_cls: type) -> Callable[[type], type]:
    """A decorator that gives a class the public variables of another one that it does not have."""
    def decorate(child_cls: type) -> type:
        for name, value in vars(parent_cls).items():
            if not name.startswith("_") and name not in vars(child_cls):
                setattr(child_cls, name, value)
        return child_cls
    return decorate
