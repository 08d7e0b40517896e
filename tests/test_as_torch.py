"""retrograd in torch's place: the command line, `import torch`, private names. Each in a process of its own."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd

HOME = str(Path(retrograd.__file__ or "").resolve().parent.parent)
INSTALL = "import retrograd, retrograd.as_torch; retrograd.as_torch.install()\n"


def python(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": HOME}     # also where the package is not installed but on a relative path
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=cwd, env=env, timeout=120)


def run_installed(code: str) -> str:
    done = python("-c", INSTALL + code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torch_is_the_same_module_object() -> None:
    run_installed("import torch, torch.autograd, retrograd.autograd\n"
                  "assert torch is retrograd\n"
                  "assert torch.autograd is retrograd.autograd is __import__('sys').modules['torch.autograd']\n"
                  "assert retrograd.autograd.__spec__.name == 'retrograd.autograd'")


def test_import_of_as_torch_alone_changes_nothing() -> None:
    done = python("-c", "import sys, retrograd.as_torch; sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_missing_submodule_names_retrograd() -> None:
    out = run_installed("try:\n    import torch.no_such_module\nexcept ModuleNotFoundError as e:\n    print(e, e.name)")
    assert out == "No module named 'torch.no_such_module': retrograd does not have it torch.no_such_module\n"


def test_missing_attribute_is_an_attribute_error() -> None:
    out = run_installed("import torch\ntry:\n    torch.no_such_name\nexcept AttributeError as e:\n    print(e)")
    assert "no_such_name" in out


def test_private_names_are_found_by_attribute_and_by_import() -> None:
    run_installed("import torch\n"
                  "from torch._C import _WeakTensorRef\n"
                  "import torch._C._functions\n"
                  "assert torch._C._WeakTensorRef is _WeakTensorRef\n"
                  "assert torch._C._functions is __import__('sys').modules['torch._C._functions']")


def test_missing_private_name_is_an_attribute_error() -> None:
    out = run_installed("import torch\ntry:\n    torch._C.no_such_name\nexcept AttributeError as e:\n    print(e)")
    assert out == "module 'torch._C' has no attribute 'no_such_name'\n"


def test_another_torch_is_not_shadowed() -> None:
    done = python("-c", "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n" + INSTALL)
    assert done.returncode == 1 and "another torch is already imported" in done.stderr


def test_install_twice_is_harmless() -> None:
    run_installed("retrograd.as_torch.install(); import torch; assert torch is retrograd")


PROGRAM = "import sys, torch, helper\nprint(__name__, torch.__name__, helper.here, sys.argv)\nsys.exit(5)\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("here = 'helped'\n")
    return tmp_path


def test_run_script_gives_it_torch_arguments_and_its_folder(program: Path) -> None:
    script = str(program / "program.py")
    done = python("-m", "retrograd", "run", script, "-v", "a")
    assert done.stdout == f"__main__ retrograd helped {[script, '-v', 'a']!r}\n", done.stderr
    assert done.returncode == 5


def test_run_module_gives_it_torch_and_arguments(program: Path) -> None:
    done = python("-m", "retrograd", "run", "-m", "program", "a", cwd=program)
    expected = [os.path.realpath(program / "program.py"), "a"]
    assert done.stdout == f"__main__ retrograd helped {expected!r}\n", done.stderr
    assert done.returncode == 5


def test_wrong_command_line_shows_usage() -> None:
    done = python("-m", "retrograd", "walk")
    assert done.returncode == 2 and done.stderr.startswith("usage: retrograd run")


def test_missing_script_is_named() -> None:
    done = python("-m", "retrograd", "run", "no_such_file.py")
    assert done.returncode == 2 and "no_such_file.py" in done.stderr
