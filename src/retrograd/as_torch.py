"""Puts retrograd in torch's place: after `install()`, `import torch` and `import torch.x.y` give retrograd's modules.

An installed torch stays what `import torch` gives until `install()` is called. Private names of PyTorch that programs
and tests use are mapped to their locations in _torch_map.py, so that the library's own modules do not contain them.

    import retrograd.as_torch
    retrograd.as_torch.install()
    import torch                    # the module `retrograd`
    import torch.autograd           # the module `retrograd.autograd`
"""
from __future__ import annotations

import multiprocessing.spawn
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import retrograd
from retrograd import _torch_names
from retrograd._torch_map import ABSENT, OPS_BY_MODULE, PRIVATE, ROOT, SAME
from retrograd.core.tensor import Tensor, name_class
from retrograd.torch_version import TorchVersion
from retrograd.version import __version__ as FOLLOWED

PACKAGE = retrograd.__name__
FUNCTORCH = "_functorch.package"      # what `import functorch` gives


def install() -> None:
    """Make `torch` and everything under it refer to retrograd, in this process.

    The command line does it for a whole program: `retrograd run script.py`. In a process of its own:

    >>> import subprocess
    >>> program = "import retrograd.as_torch; retrograd.as_torch.install(); import torch.nn as nn; print(nn.__name__)"
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    torch.nn
    """
    loaded = sys.modules.get("torch")
    if loaded is retrograd:
        return
    if loaded is not None:
        raise RuntimeError(f"another torch is already imported, from {getattr(loaded, '__file__', '?')}: call "
                           "retrograd.as_torch.install() before anything imports torch")
    sys.meta_path.insert(0, TorchFinder())
    sys.modules["torch"] = retrograd
    take_identity()
    multiprocessing.spawn.get_preparation_data = prepare_child
    ForkingPickler.register(Tensor, send_tensor)
    # Importing a module sets it as an attribute of its parent, even where that name belongs to something else
    # (autograd.gradcheck, a function): such modules must count as imported already.
    for name, module in list(sys.modules.items()):
        parent, _, last = name.rpartition(".")
        if name.startswith(PACKAGE + ".") and getattr(sys.modules.get(parent), last, module) is not module:
            sys.modules["torch" + name.removeprefix(PACKAGE)] = module
    _torch_names.install()
    add_names(retrograd, "", public_names(PRIVATE["_C"]) | ROOT)
    for name, homes in PRIVATE.items():
        if name not in SAME:
            add_names(find_or_make_module(name), name, homes)
    for name, (home, prefix) in OPS_BY_MODULE.items():
        add_ops(find_or_make_module(name), home, prefix)
    import_module(f"{PACKAGE}._torch_pickles").install()
    import_module(f"{PACKAGE}._op_libraries").install()


def take_identity() -> None:
    """Report the name and version of the PyTorch release that retrograd follows."""
    module: Any = retrograd
    module.__name__ = "torch"
    module.__version__ = TorchVersion(FOLLOWED)
    module.torch = retrograd
    for cls in (Tensor, retrograd.Size, retrograd.device, retrograd.dtype, retrograd.finfo, retrograd.iinfo,
                retrograd.layout, retrograd.memory_format, retrograd.qscheme):
        name_class(cls, "torch")
    for name in ("__config__", "__future__", "torch_version", "version"):
        setattr(module, name, import_module(f"{PACKAGE}.{name}"))


def send_tensor(tensor: Tensor) -> Any:
    """Send a tensor through a `multiprocessing` queue, also where the program does not import `torch.multiprocessing`."""
    return import_module(f"{PACKAGE}.multiprocessing").reductions.reduce_tensor(tensor)


plain_preparation_data = multiprocessing.spawn.get_preparation_data


def prepare_child(name: str) -> dict[str, Any]:
    """The preparation data of a spawned process, which makes it call `install` before it imports the main module."""
    return {INSTALLED_HERE: InstalledHere(), **plain_preparation_data(name)}


INSTALLED_HERE = "retrograd.as_torch"


class InstalledHere:
    """An object that calls `install` when it is unpickled."""

    def __reduce__(self) -> Any:
        return install, ()


class TorchFinder(DistributionFinder):
    """A meta-path finder for every name under `torch`; names that retrograd lacks are missing, even beside a real torch."""

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        if context is None or context.name is None or context.name.lower() == "torch":
            yield TorchDistribution()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "functorch" or name.startswith("functorch."):
            module = find_module(FUNCTORCH + name.removeprefix("functorch"))
            return None if module is None else ModuleSpec(name, SameModule(module), is_package=hasattr(module, "__path__"))
        if name != "torch" and not name.startswith("torch."):
            if name.startswith(PACKAGE + ".") and is_from_import() and PathFinder.find_spec(name, path) is None:
                raise missing_name("torch" + name.removeprefix(PACKAGE))     # `from torch.nn import missing`
            return None
        module = retrograd if name == "torch" else find_module(name.removeprefix("torch."))
        if module is None:
            if is_from_import():
                raise missing_name(name)
            if "_find_and_load" in callers():
                raise ModuleNotFoundError(f"No module named {name!r}: {NOT_THERE}", name=name)
            return None                 # a query by importlib.util.find_spec
        # Loading has also registered the module under this name (see _torch_names.py). The import system would find it
        # there, use its own spec and load it again.
        sys.modules.pop(name, None)
        return ModuleSpec(name, SameModule(module), is_package=hasattr(module, "__path__"))


NOT_THERE = ("retrograd stands in torch's place here and does not have it. What it has is listed in docs/support.md of its "
             "repository, and by dir() of each module")


def missing_name(name: str) -> ImportError:
    parent, _, last = name.rpartition(".")
    return ImportError(f"cannot import name {last!r} from {parent!r}: {NOT_THERE}", name=parent)


def is_from_import() -> bool:
    """Whether the import is `from package import name`, which would ignore a missing module."""
    return "_handle_fromlist" in callers()


def callers() -> list[str]:
    """The functions of the import system on the call stack of `find_spec`, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    found: list[str] = []
    while frame is not None and "importlib" in frame.f_code.co_filename:
        found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


class TorchDistribution(Distribution):
    """The distribution that `importlib.metadata` finds under the name `torch`."""

    def read_text(self, filename: str) -> str | None:
        return {"METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {FOLLOWED}\n"
                            "Summary: retrograd in the place of PyTorch\n",
                "top_level.txt": "torch\n"}.get(filename)

    def locate_file(self, path: Any) -> Any:
        return Path(retrograd.__file__ or "").parent / path


class SameModule(Loader):
    """A loader that returns an already loaded module under a second name."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec     # the import system has replaced it by the second name's


def find_module(name: str) -> ModuleType | None:
    """Return retrograd's module `name` (without the package), including created private ones; None if missing."""
    if name in CREATED:
        return CREATED[name]
    if name in SAME:
        CREATED[name] = look_up(SAME[name])
        add_names(CREATED[name], name, PRIVATE.get(name, {}))
        return CREATED[name]
    full = f"{PACKAGE}.{name}"
    if name in ABSENT:
        return add_absent(name)
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        if error.name is None or not (full + ".").startswith(error.name + "."):
            raise                       # the module exists, but a dependency of it does not
    found: Any = retrograd              # a namespace object such as torch.ops may not be a file
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, ModuleType) else None


CREATED: dict[str, ModuleType] = {}


def add_absent(name: str) -> ModuleType:
    """Make a module whose names raise when they are used."""
    module = CREATED[name] = ModuleType(f"torch.{name}", "Names that can be imported, but not used.")
    module.__path__ = []
    absent = import_module(f"{PACKAGE}.distributed._absent").absent
    module.__dict__.update(absent(f"torch.{name}", *ABSENT[name].split()))
    parent, _, last = name.rpartition(".")
    setattr(find_module(parent), last, module)
    return module


def public_names(homes: dict[str, str]) -> dict[str, str]:
    """The names of torch._C that PyTorch publishes in `torch` too."""
    return {name: home for name, home in homes.items()
            if not name.startswith("_") and not name.endswith("Base") and home != f":{name}"}


def find_or_make_module(name: str) -> ModuleType:
    """Return retrograd's module `name`, or a new one set as an attribute of its parent."""
    module = find_module(name)
    if module is None:
        parent, _, last = name.rpartition(".")
        holder = find_or_make_module(parent) if parent else retrograd
        module = ModuleType(f"torch.{name}", "Private names of PyTorch, mapped in retrograd._torch_map.")
        module.__path__ = []            # lets `import torch._C._functions` go through torch._C
        module.__dict__["torch"] = retrograd        # as in PyTorch's modules; pickles of memory formats go through it
        CREATED[name] = module
        if isinstance(vars(holder).get(last, module), ModuleType):
            setattr(holder, last, module)
        else:       # `_higher_order_ops.scan` is a function and a module: an import must not set the attribute
            sys.modules[f"torch.{name}"] = module
    return module


def add_names(module: ModuleType, name: str, homes: dict[str, str]) -> None:
    """Let `module` find the names of `homes` on first access."""
    before: Callable[[str], Any] | None = module.__dict__.get("__getattr__")

    def missing(attribute: str) -> Any:
        home = homes.get(attribute)
        if home is not None:
            value = look_up(home)
            if value is not NOWHERE:
                module.__dict__[attribute] = value
                return value
        if before is not None:
            return before(attribute)
        reason = f" (retrograd has no {home.strip(':').replace(':', '.')})" if home else ""
        raise AttributeError(f"module 'torch.{name}' has no attribute {attribute!r}{reason}",
                             name=attribute, obj=module)

    module.__dict__["__getattr__"] = missing


MODULE_ATTRIBUTES = frozenset(("__all__", "__file__", "__path__", "__warningregistry__", "__wrapped__"))


def add_ops(module: ModuleType, home: str, prefix: str) -> None:
    """Let `module` find the functions of `home` by the names of their ops, and ops without a function there."""
    def find(attribute: str) -> Any:
        if not attribute.startswith((prefix, f"_{prefix}")) or attribute in MODULE_ATTRIBUTES:
            return None
        found = getattr(find_module(home) if home else retrograd, attribute.removeprefix(prefix), None)
        if found is None:
            found = getattr(retrograd.ops.aten, attribute, None)
        if found is not None:
            module.__dict__[attribute] = found
        return found

    _torch_names.add_lookup(module, find)


NOWHERE = object()


def look_up(home: str) -> Any:
    """Return the object at "module:name" under the package, the op at "aten:name", or NOWHERE."""
    if home.startswith("aten:"):
        return getattr(retrograd.ops.aten, home.removeprefix("aten:"), NOWHERE)
    if home.startswith("@"):
        return find_module(home[1:])
    where, _, attribute = home.partition(":")
    module = find_module(where) if where else retrograd
    if not attribute:
        return module
    return NOWHERE if module is None else getattr(module, attribute, NOWHERE)
