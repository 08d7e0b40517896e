"""torch.hub for what is on this machine: repositories in folders, checkpoints in files. The network is never used."""
from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

import retrograd as torch

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = HASH_PATTERN = re.compile(r"-([a-f0-9]*)\.")        # resnet18-5c106cde.pth
ENTRY_FILE = "hubconf.py"


class Settings:
    """The settings in force."""

    folder: str | None = None


def get_dir() -> str:
    """The folder for checkpoints and repositories: `$TORCH_HOME/hub`, by default ~/.cache/torch/hub.

    >>> get_dir().endswith("hub")
    True
    """
    if Settings.folder is not None:
        return Settings.folder
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder for checkpoints and repositories."""
    Settings.folder = os.path.expanduser(os.fspath(d))


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """What the function `model` in the hubconf.py of a repository returns."""
    return entry_point(repo_or_dir, source, model)(*args, **kwargs)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
         verbose: bool = True, source: str = "github") -> Any:
    """The names of the functions in the hubconf.py of a repository."""
    with repository(github, source) as module:
        return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = "check", source: str = "github") -> str | None:
    """The docstring of a function in the hubconf.py of a repository."""
    return entry_point(github, source, model).__doc__


def entry_point(place: str, source: str, name: str) -> Any:
    with repository(place, source) as module:
        found = getattr(module, name, None)
        if not callable(found):
            raise RuntimeError(f"Cannot find callable {name} in hubconf")
        return found


@contextmanager
def repository(place: str, source: str) -> Iterator[ModuleType]:
    """The hubconf.py of a repository as a module, imported with the repository on the path."""
    folder = os.path.expanduser(place) if source.lower() == "local" else cached_repository(place, source)
    path = os.path.join(folder, ENTRY_FILE)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    sys.path.insert(0, folder)
    try:
        spec = spec_from_file_location(ENTRY_FILE, path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        missing = [name for name in getattr(module, "dependencies", ()) if not is_there(name)]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        yield module
    finally:
        sys.path.remove(folder)


def is_there(name: str) -> bool:
    from importlib.util import find_spec
    return name in sys.modules or find_spec(name) is not None


def cached_repository(place: str, source: str) -> str:
    """The folder where PyTorch keeps a copy of a GitHub repository, if it is there."""
    if source.lower() != "github":
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    name, _, branch = place.partition(":")
    start = name.replace("/", "_") + "_"
    if os.path.isdir(get_dir()):
        for folder in sorted(os.listdir(get_dir())):
            wanted = (start + branch.replace("/", "_"),) if branch else (start + "main", start + "master")
            if folder in wanted:
                return os.path.join(get_dir(), folder)
    raise RuntimeError(no_network(f"https://github.com/{name}") + " A copy of the repository in a folder is loaded with "
                       'source="local".')


class tqdm:
    """A progress bar that shows nothing, for programs that take it from here; the package tqdm has a visible one.

    >>> with tqdm(total=3) as bar:
    ...     bar.update(1)
    """

    def __init__(self, iterable: Any = None, total: int | None = None, *args: Any, **kwargs: Any) -> None:
        self.iterable, self.total, self.n = iterable, total, 0

    def update(self, n: int) -> None:
        """Count `n` more."""
        self.n += n

    def close(self) -> None:
        """End the bar."""

    def __iter__(self) -> Iterator[Any]:
        yield from self.iterable

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


def no_network(address: str) -> str:
    return f"{address} cannot be loaded: retrograd does not use the network."


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy the file that a file: address names, and check that its SHA256 begins with `hash_prefix`."""
    parts = urlparse(url)
    if parts.scheme not in ("file", ""):
        raise RuntimeError(f"{no_network(url)} Put the file at {dst}, or give a file: address.")
    source = urllib.parse.unquote(parts.path) if parts.scheme else url
    if hash_prefix is not None:
        with open(source, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
    shutil.copyfile(source, os.path.expanduser(dst))


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None, weights_only: bool = False) -> Any:
    """What `torch.load` gives for the file of a web address, from `model_dir` or, for a file: address, copied there first."""
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_PATTERN.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return torch.load(path, map_location=map_location, weights_only=weights_only)


_get_torch_home = get_dir
