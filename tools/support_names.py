"""Writes the part of docs/support.md about names: which of PyTorch's exist here, and why the others do not.

    python tools/support_names.py --record    with PyTorch: write its public names to tools/pytorch_names.txt
    python tools/support_names.py             write the part of the page again
    python tools/support_names.py --check     every name exists or has a reason, and the page says so
"""
from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(1, str(ROOT / "src"))
NAMES = ROOT / "tools" / "pytorch_names.txt"
PAGE = ROOT / "docs" / "support.md"
BEGIN, END = "<!-- names -->", "<!-- /names -->"

# Why names are missing: the longest prefix that fits says it. A name without a reason is a defect that the check finds.
REASONS = {
    "torch.AVG": "loggers of PyTorch's C++ code",
    "torch.AggregationType": "loggers of PyTorch's C++ code",
    "torch.DispatchKey": "the dispatcher has no public keys",
    "torch.Event.": "there is no accelerator",
    "torch.SUM": "loggers of PyTorch's C++ code",
    "torch.Stream.": "there is no accelerator",
    "torch.Sym": "symbolic numbers stand for sizes alone",
    "torch.Tensor.": "quantized tensors, or a device that is not there",
    "torch.Tensor.const_data_ptr": "not written",
    "torch.Tensor.dim_order": "not written",
    "torch.Tensor.module_load": "not written",
    "torch.Tensor.sspaddmm": "not written",
    "torch.Tensor.storage_type": "not written",
    "torch.Tensor.to_sparse_coo": "not written",
    "torch.nn.MultiheadAttention.": "belongs to PyTorch's fused kernel",
    "torch.utils.ThroughputBenchmark": "there is no TorchScript compiler",
    "torch.utils.generate_methods_for_privateuse1_backend": "devices cannot be registered",
    "torch.utils.rename_privateuse1_backend": "devices cannot be registered",
    "torch.utils.get_cpp_backtrace": "extensions compiled against PyTorch do not load",
    "torch.utils.benchmark.": "instruction counts and fuzzed inputs are not written",
    "torch.accelerator.": "there is no accelerator",
    "torch.ao.": "there are no quantized tensors",
    "torch.autograd.": "belongs to PyTorch's implementation of autograd or its profiler",
    "torch.backends.": "the backend belongs to PyTorch's build",
    "torch.bit": "types of PyTorch's compiler",
    "torch.col_indices_copy": "copies of compressed indices are not written",
    "torch.compiler.": "belongs to PyTorch's compiler",
    "torch.cond": "control flow in graphs is not written: programs branch in Python",
    "torch.cpu.": "belongs to PyTorch's build",
    "torch.crow_indices_copy": "copies of compressed indices are not written",
    "torch.cuda.": "there is no CUDA device",
    "torch.dequantize": "there are no quantized tensors",
    "torch.distributed.": "there is one process only",
    "torch.export.": "the part of the exporter is not written",
    "torch.fx.": "the tool is not written",
    "torch.indices_copy": "copies of compressed indices are not written",
    "torch.init_num_threads": "threads are set up on first use",
    "torch.jit.": "there is no TorchScript compiler",
    "torch.library.": "belongs to PyTorch's dispatcher",
    "torch.mps": "there is no such device",
    "torch.mtia": "there is no such device",
    "torch.multiprocessing.": "processes are started by Python's own multiprocessing",
    "torch.nativert": "runs files of PyTorch's own compiler",
    "torch.nativert.": "runs files of PyTorch's own compiler",
    "torch.nested.": "not written",
    "torch.nn.attention.": "the implementation is PyTorch's for CUDA",
    "torch.nn.backends": "belongs to PyTorch's build",
    "torch.nn.cpp": "extensions compiled against PyTorch do not load",
    "torch.nn.functional.has_torch_function": "found in torch.overrides",
    "torch.nn.intrinsic": "there are no quantized tensors",
    "torch.nn.modules.": "not written",
    "torch.nn.parallel.": "there is one process and one device",
    "torch.nn.qat": "there are no quantized tensors",
    "torch.nn.quantiz": "there are no quantized tensors",
    "torch.nn.utils.rnn.": "there is no accelerator",
    "torch.numa": "processes are not bound to nodes of memory",
    "torch.numa.": "processes are not bound to nodes of memory",
    "torch.onnx.": "the part of the exporter is not written",
    "torch.optim.": "the functional forms of optimizers are not written",
    "torch.overrides.": "not written",
    "torch.package": "packages of code and models are not written",
    "torch.package.": "packages of code and models are not written",
    "torch.profiler.": "belongs to PyTorch's tracer",
    "torch.quantization.": "there are no quantized tensors",
    "torch.quantize": "there are no quantized tensors",
    "torch.quantized": "there are no quantized tensors",
    "torch.return_types.": "not written",
    "torch.serialization.": "belongs to PyTorch's way of writing files",
    "torch.signal.": "found in torch.signal.windows",
    "torch.sparse.": "not written",
    "torch.sspaddmm": "not written",
    "torch.testing.": "PyTorch itself has deprecated it",
    "torch.utils.backend_registration": "devices cannot be registered",
    "torch.utils.bundled_inputs": "there is no TorchScript compiler",
    "torch.utils.collect_env": "the report is about Python packages alone",
    "torch.utils.cpp_backtrace": "extensions compiled against PyTorch do not load",
    "torch.utils.cpp_extension": "extensions compiled against PyTorch do not load",
    "torch.utils.data.": "loaders give every worker its share themselves",
    "torch.utils.data.datapipes": "loaders give every worker its share themselves",
    "torch.utils.debug_log": "belongs to PyTorch's build",
    "torch.utils.file_baton": "extensions compiled against PyTorch do not load",
    "torch.utils.jit": "there is no TorchScript compiler",
    "torch.utils.mkldnn": "belongs to PyTorch's build",
    "torch.utils.mobile_optimizer": "there is no TorchScript compiler",
    "torch.utils.serialization": "belongs to PyTorch's way of writing files",
    "torch.utils.show_pickle": "not written",
    "torch.utils.swap_tensors": "two tensors cannot change places",
    "torch.utils.throughput_benchmark": "there is no TorchScript compiler",
    "torch.values_copy": "copies of compressed indices are not written",
    "torch.xpu": "there is no such device",
}


UNDOCUMENTED = ("torch.contrib", "torch.distributed.run", "torch.distributed.launch", "torch.distributed.debug",
                "torch.distributed.flight_recorder", "torch.utils.benchmark.examples", "torch.utils.benchmark.op_fuzzers",
                "torch.utils.benchmark.utils", "torch.utils.hipify", "torch.utils.viz", "torch.utils.model_dump")


# ---- from PyTorch to the list
def record() -> None:
    """Write down where PyTorch has each of its public names first, and what its classes have of their own."""
    torch = importlib.import_module("torch")
    modules = sorted(public_modules(torch), key=lambda m: (m.__name__.count("."), m.__name__))
    seen: set[int] = set()
    lines = []
    for module in modules:
        names = []
        for name in names_of(module):
            value = getattr(module, name, None)
            if callable(value) and not isinstance(value, type(torch.float32)):
                if id(value) in seen:
                    continue
                seen.add(id(value))
            if callable(value) and not documented(value) and value is not torch.Tensor:
                continue
            names.append(name)
            if inspect.isclass(value) and not (issubclass(value, torch.Tensor) and value is not torch.Tensor):
                names += [f"{name}.{member}" for member in members_of(value)]
        lines.append(" ".join([module.__name__, *compact(sorted(set(names)))]))
    NAMES.write_text("\n".join(sorted(lines)) + "\n")


def documented(value: Any) -> bool:
    """Whether an object has a text of its own, not only the signature that bindings write."""
    text = getattr(value, "__doc__", None)
    text = text.strip() if isinstance(text, str) else ""
    own = text and not (text.count("\n") < 2 and re.match(r"\w+\(.*\) -> \w+", text))
    return bool(own) and not (inspect.isclass(value) and value.__module__ == "torch._C" and not text.count("\n"))


def public_modules(module: Any) -> Iterator[Any]:
    """A module and the public ones below it that can be imported."""
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        name = f"{module.__name__}.{info.name}"
        if info.name.startswith("_") or name.count(".") > 3 or name.startswith(UNDOCUMENTED):
            continue
        try:
            below = importlib.import_module(name)
        except ImportError:             # needs a package that is not installed
            continue
        yield from public_modules(below)


def names_of(module: Any) -> list[str]:
    """The names that a module declares, or else those that are its own."""
    declared = getattr(module, "__all__", None)
    if declared is None:
        declared = [name for name, value in vars(module).items() if callable(value) and is_own(module, value)]
    return [name for name in declared
            if not name.startswith("_") and not isinstance(getattr(module, name, None), types.ModuleType)]


def is_own(module: Any, value: Any) -> bool:
    home = getattr(value, "__module__", None) or ""
    builtin = type(value).__name__ == "builtin_function_or_method" and not home.startswith("_")
    return builtin or home == module.__name__ or home.startswith(f"{module.__name__}.")


def members_of(cls: type) -> list[str]:
    """The public methods and properties with a text that a class defines itself."""
    found = {name: value for base in cls.__mro__[:-1] if base is cls or base.__name__ == "TensorBase"
             for name, value in vars(base).items()}
    return [name for name, value in found.items() if not name.startswith("_") and not inspect.isclass(value)
            and documented(value) and (callable(value) or isinstance(value, property | classmethod | staticmethod))]


def compact(names: list[str]) -> Iterator[str]:
    """Write the members of a class after its name, as Class(a,b)."""
    members: dict[str, list[str]] = {}
    for name in names:
        owner, dot, member = name.partition(".")
        members.setdefault(owner, []).extend([member] if dot else [])
    for owner, own in members.items():
        yield f"{owner}({','.join(own)})" if own else owner


# ---- from the list to the page
def recorded() -> dict[str, list[str]]:
    """The public names of PyTorch by module, members of classes as Class.member."""
    found: dict[str, list[str]] = {}
    for line in NAMES.read_text().splitlines():
        module, *names = line.split(" ")
        listed = found.setdefault(module, [])
        for name in names:
            owner, _, members = name.rstrip(")").partition("(")
            listed += [owner, *[f"{owner}.{member}" for member in members.split(",") if member]]
    return found


def survey() -> dict[str, list[str]]:
    """The names that are missing here, by module; a missing class stands for its members, a missing module for its names."""
    from retrograd import as_torch
    as_torch.install()
    missing: dict[str, list[str]] = {}
    with warnings.catch_warnings(action="ignore"):
        for name, names in recorded().items():
            try:
                module = importlib.import_module(name)
            except ImportError:
                missing[name] = [""]
                continue
            absent = [n for n in names if "." not in n and not has(module, n)]
            gone = {n for n in names if "." in n and n.partition(".")[0] not in absent
                    and not has(getattr(module, n.partition(".")[0]), n.partition(".")[2])}
            if absent or gone:
                missing[name] = sorted([*absent, *gone])
    return missing


def has(holder: Any, name: str) -> bool:
    try:
        inspect.getattr_static(holder, name)
        return True
    except AttributeError:
        try:
            getattr(holder, name)
            return True
        except Exception:
            return False


def reason(name: str) -> str | None:
    fitting = [prefix for prefix in REASONS if name.startswith(prefix)]
    return REASONS[max(fitting, key=len)] if fitting else None


def full_names(missing: dict[str, list[str]]) -> list[str]:
    return [f"{module}.{name}" if name else module for module, names in missing.items() for name in names]


def section(missing: dict[str, list[str]]) -> str:
    """The part of the page: counts for every package, then every missing name under its reason."""
    names = recorded()
    total = sum(len(listed) for listed in names.values())
    gone = {module: names[module] if absent == [""] else [n for n in names[module] if n in absent
            or n.partition(".")[0] in absent] for module, absent in missing.items()}
    lines = ["## Public names of PyTorch 2.13", "",
             f"Generated by `tools/support_names.py` from the {total} public names of PyTorch's modules and classes "
             f"(`tools/pytorch_names.txt`): {total - sum(map(len, gone.values()))} exist. A missing name raises "
             "`AttributeError` or `ImportError`; these are missing, each under its reason. A missing module or class stands "
             "for what it has.", "", "package | names | exist", "--- | --- | ---"]
    packages: dict[str, list[int]] = {}
    for module, listed in names.items():
        count = packages.setdefault(".".join(module.split(".")[:2]), [0, 0])
        count[0] += len(listed)
        count[1] += len(listed) - len(gone.get(module, []))
    lines += [f"{package} | {count} | {there}" for package, (count, there) in sorted(packages.items()) if count]
    by_reason: dict[str, list[str]] = {}
    for name in full_names(missing):
        by_reason.setdefault(reason(name) or "no reason", []).append(name)
    for why, listed in sorted(by_reason.items()):
        lines += ["", f"### {why[0].upper()}{why[1:]}", "", ", ".join([f"`{name}`" for name in sorted(listed)])]
    return "\n".join(lines)


def on_page() -> str:
    """What the page says between the marks."""
    found = re.search(f"{BEGIN}\n(.*?)\n{END}", PAGE.read_text(), re.DOTALL)
    return found[1] if found else ""


def problems(missing: dict[str, list[str]]) -> list[str]:
    """Names that are missing without a reason, or without a word on the page; the page may still list what exists by now."""
    names, listed = full_names(missing), set(re.findall(r"`(torch[\w.]*)`", on_page()))
    made = [f"{name} is missing without a reason" for name in names if reason(name) is None]
    return made + [f"{name} is missing on {PAGE.name}: run tools/support_names.py" for name in names if name not in listed]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write down the names of the PyTorch that is installed")
    parser.add_argument("--check", action="store_true", help="compare the page with what exists")
    options = parser.parse_args()
    if options.record:
        record()
        return 0
    missing = survey()
    if not options.check:
        text = PAGE.read_text()
        if BEGIN not in text:
            text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
        before, rest = text.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{section(missing)}\n{END}{rest.split(END)[1]}")
    found = problems(missing)
    print("\n".join(found) or f"{PAGE.relative_to(ROOT)} is up to date")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
