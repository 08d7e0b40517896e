"""The command line: runs a PyTorch program with retrograd in torch's place."""
from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import retrograd
from retrograd import as_torch

USAGE = """\
usage: retrograd run script.py [args]     run a PyTorch program with retrograd in torch's place
       retrograd run -m module [args]     the same for a module
       retrograd --version                the version, and whether the core is compiled"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv`, by default the process's own; return the exit status."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if args == ["--version"]:
        print(f"retrograd {retrograd.__version__} ({build()})")
        return 0
    if len(args) >= 2 and args[0] == "run":
        if args[1] == "-m" and len(args) >= 3:
            run_module(args[2], args[3:])
            return 0
        if not args[1].startswith("-"):
            return run_script(args[1], args[2:])
    print(USAGE, file=sys.stderr)
    return 2


def run_script(path: str, args: list[str]) -> int:
    if not os.path.exists(path):
        print(f"retrograd: can't open file {path!r}: no such file", file=sys.stderr)
        return 2
    set_program(path, args, folder=os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")
    return 0


def run_module(name: str, args: list[str]) -> None:
    set_program(name, args, folder=os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def set_program(name: str, args: list[str], folder: str) -> None:
    """Make the process look to the program as if Python had started it directly, save for what `torch` means."""
    sys.argv = [name, *args]
    if not sys.flags.safe_path:     # then the first entry is the place of this command, not the program's
        sys.path[0] = folder
    as_torch.install()


def build() -> str:
    """Say whether this process runs the compiled core."""
    files = (getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())
             if name.startswith("retrograd."))
    return "compiled core" if any(file.endswith(tuple(EXTENSION_SUFFIXES)) for file in files) else "plain Python"


if __name__ == "__main__":
    sys.exit(main())
