"""The user-visible state of compilation: counters, configuration, stance, logs."""
from __future__ import annotations

import copy
import functools
import itertools
import logging
import pickle
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from types import ModuleType
from typing import Any

from retrograd.compile import other_settings

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


class Config(ModuleType):
    """Settings as attributes of a module; those without effect here are stored, since programs read them back."""

    def __init__(self, name: str, **values: Any) -> None:
        super().__init__(name)
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__name__}.{name} does not exist")

    def __setattr__(self, name: str, value: Any) -> None:
        self.check(name)
        super().__setattr__(name, value)

    def check(self, name: str) -> None:
        """Refuse to set what is no setting; private names may be stored."""
        kept, key = self.find(name)
        if key not in kept and not key.startswith("_"):
            raise AttributeError(f"{self.__name__}.{name} does not exist")

    def patch(self, name: Any = None, value: Any = None, **values: Any) -> Patch:
        """A scope or decorator in which settings have other values: patch("name", value), patch(name=value), patch(dict)."""
        if isinstance(name, str):
            values[name] = value
        elif name is not None:
            values.update(name)
        return Patch(self, values)

    def find(self, name: str) -> tuple[dict[str, Any], str]:
        """The storage of a setting, which may belong to a group ("triton.cudagraphs")."""
        group, dot, last = name.partition(".")
        found = self.__dict__.get(group)
        return found.find(last) if dot and isinstance(found, Config) else (self.__dict__, name)

    def shallow_copy_dict(self) -> dict[str, Any]:
        """The settings by name; those of a group are prefixed with its name."""
        found: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if isinstance(value, Config) and value is not self:
                found.update({f"{name}.{inner}": v for inner, v in value.shallow_copy_dict().items()})
            elif not name.startswith("__") and value is not self:
                found[name] = value
        return found

    def get_config_copy(self) -> dict[str, Any]:
        return copy.deepcopy(self.shallow_copy_dict())

    def save_config(self) -> bytes:
        """The settings as bytes for `load_config`."""
        return pickle.dumps({name: value for name, value in self.shallow_copy_dict().items() if not callable(value)})

    def load_config(self, data: Any) -> None:
        """Restore saved settings, or a dict of them."""
        for name, value in (data if isinstance(data, dict) else pickle.loads(data)).items():
            kept, key = self.find(name)
            kept[key] = value


MISSING = object()


class Patch(ContextDecorator):
    """A scope with other values."""

    def __init__(self, config: Config, values: dict[str, Any]) -> None:
        self.config, self.values = config, values
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        for name in self.values:
            self.config.check(name)
        self.before.append({})
        for name, value in self.values.items():
            kept, key = self.config.find(name)
            self.before[-1][name] = kept.get(key, MISSING)
            kept[key] = value

    def __exit__(self, *exc: object) -> None:
        for name, value in self.before.pop().items():
            kept, key = self.config.find(name)
            if value is MISSING:
                kept.pop(key, None)
            else:
                kept[key] = value

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type):            # decorates every test method of a class
            for name, member in list(vars(function).items()):
                if name.startswith("test") and callable(member):
                    setattr(function, name, self(member))
            return function

        @functools.wraps(function)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with Patch(self.config, self.values):
                return function(*args, **kwargs)
        return patched


config = Config("torch._dynamo.config", **other_settings.PROGRAMS,
                compiled_autograd=False, compiled_autograd_kwargs_override={}, assume_static_by_default=True,
                automatic_dynamic_shapes=True, cache_size_limit=8, recompile_limit=8, suppress_errors=False, verbose=False,
                capture_scalar_outputs=False, capture_dynamic_output_shape_ops=False, optimize_ddp=True,
                fail_on_recompile_limit_hit=False, error_on_recompile=False, specialize_int=False, specialize_float=False,
                inline_inbuilt_nn_modules=True, record_runtime_overhead=True, disable=False)
backend_config = Config("torch._inductor.config", **other_settings.BACKEND,
                        **{name: Config(name, **values) for name, values in other_settings.GROUPS.items()},
                        post_grad_custom_post_pass=None, post_grad_custom_pre_pass=None,
                        enable_auto_functionalized_v2=True, fallback_random=False, max_autotune=False,
                        fusion_threshold=32768,       # minimum elements per op for deferring and fusing; 0: always
                        fusion_code=True)             # whether deferred ops are compiled, or run one by one


class Stance:
    """"default", "force_eager", "eager_on_recompile" or "fail_on_recompile"."""

    def __init__(self) -> None:
        self.name = "default"


stance = Stance()


class Inside(threading.local):
    """How many calls of compiled functions this thread is in."""

    def __init__(self) -> None:
        self.depth = 0


inside = Inside()


class Strictness(threading.local):
    """Whether graph breaks are errors; None: only in functions compiled with fullgraph=True."""

    value: bool | None = None


strictness = Strictness()

# ---- logs
graph_log = logging.getLogger("torch._dynamo.compiled_autograd.__compiled_autograd")
verbose_log = logging.getLogger("torch._dynamo.compiled_autograd.__compiled_autograd_verbose")
recompiles_log = logging.getLogger("torch._dynamo.guards.__recompiles")
graph_breaks_log = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
LOGS = {"compiled_autograd": graph_log, "compiled_autograd_verbose": verbose_log, "recompiles": recompiles_log,
        "graph_breaks": graph_breaks_log}


def set_logs(**levels: Any) -> None:
    """Switch logs on by name, and all others off: set_logs(compiled_autograd_verbose=True)."""
    for name in LOGS.keys() - levels.keys():
        LOGS[name].setLevel(logging.NOTSET)
    for name, level in levels.items():
        logger = LOGS.get(name)
        if logger is None:
            logger = LOGS[name] = logging.getLogger(f"torch.{name}")
        on = level if isinstance(level, bool) else level is not None
        logger.setLevel((logging.DEBUG if isinstance(level, bool) else level) if on else logging.NOTSET)
        if on and not logger.handlers and not logging.getLogger().handlers:
            logger.addHandler(logging.StreamHandler())


def get_artifact_logger(module: str, name: str) -> logging.Logger:
    """The logger of the artifact `name`, shared by all modules."""
    return LOGS.setdefault(name, logging.getLogger(f"{module}.__{name}"))


def is_on(logger: logging.Logger) -> bool:
    return logger.level not in (logging.NOTSET,) and logger.level <= logging.DEBUG


graph_ids: Iterator[int] = itertools.count()
when_reset: list[Callable[[], None]] = []


class Generation:
    """The number of resets."""

    number = 0


generation = Generation()


def reset() -> None:
    """Discard everything that has been compiled."""
    generation.number += 1
    for forget in when_reset:
        forget()
