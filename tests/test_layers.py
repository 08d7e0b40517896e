"""Who may import whom: `core` knows nothing above it, and what a user could write uses only what a user can import."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
SRC = Path(__file__).resolve().parent.parent / "src"
PACKAGE = "retrograd"

# layer -> the layers that it may import
LAYERS = {
    "core": {"core"},
    "codegen": {"core", "codegen"},
    "ops": {"core", "codegen", "ops"},
    "autograd": {"core", "ops", "autograd"},
    "transforms": {"core", "ops", "autograd", "transforms"},
    "compile": {"core", "codegen", "ops", "autograd", "transforms", "compile", "fx", "nn"},
}
NO_HIDDEN_IMPORTS = ("core", "ops", "autograd")
# These are written as a user would write them: no layer from above, except the documented parts of autograd.
PUBLIC_ONLY = ("nn", "optim", "utils", "distributed", "distributions")
INTERNAL = set(LAYERS) - {"autograd"}
# parts of the core that PyTorch keeps, by name, under torch.utils
CORE_UNDER_UTILS = ("retrograd.utils._debug_mode._mode", "retrograd.utils._debug_mode._utils", "retrograd.utils._foreach_utils",
                    "retrograd.utils._mode_utils", "retrograd.utils._python_dispatch", "retrograd.utils._pytree")
OP_NAMESPACE = "retrograd.ops"      # users write torch.ops.aten.mul; the tables in it are not theirs
PUBLIC_AUTOGRAD = {"", "anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "gradcheck", "graph",
                   "profiler", "profiler_util", "variable"}


def imported_modules(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str, bool]]:
    """Yield (line, imported retrograd name, inside a function) for every import of `tree`.

    `from a.b import c` yields `a.b.c`: whether `c` is a module or a name in one makes no difference to the layer.
    """
    todo = [(tree, False)]
    while todo:
        node, inside = todo.pop()
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        todo += [(part, inside) for part in ast.iter_child_nodes(node)]
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = module.split(".")
            here = start[:len(start) - node.level + is_package] if node.level else []
            base = ".".join([*here, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__"):
                names = [str(node.args[0].value)]
        for name in names:
            if name == PACKAGE or name.startswith(PACKAGE + "."):
                yield node.lineno, name, inside


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """Say which imports of `module` break the layering."""
    layer = (module.split(".") + [""])[1]
    found = []
    for line, name, hidden in imported_modules(ast.parse(source), module, is_package):
        target, rest = (name.split(".") + ["", ""])[1:3]
        if layer in LAYERS and target not in LAYERS[layer]:
            found.append(f"{module}:{line}: {layer} may not import {name}")
        if layer in PUBLIC_ONLY and module not in CORE_UNDER_UTILS and target != layer and name != OP_NAMESPACE and (
                target in INTERNAL or target.startswith("_") or target == "autograd" and hidden_part(rest)):
            found.append(f"{module}:{line}: {layer} may import only what a user can, not {name}")
        if layer in NO_HIDDEN_IMPORTS and hidden:
            found.append(f"{module}:{line}: import of {name} inside a function")
    return found


def hidden_part(name: str) -> bool:
    """Whether `name` is a module of autograd that users do not see (a function or class of autograd is no module)."""
    return name not in PUBLIC_AUTOGRAD and (SRC / PACKAGE / "autograd" / f"{name}.py").exists()


def sources() -> list[Path]:
    return sorted((SRC / PACKAGE).rglob("*.py"))


def test_modules_keep_to_their_layers() -> None:
    found = []
    for path in sources():
        parts = path.relative_to(SRC).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        found += violations(path.read_text(), ".".join(parts[:-1] if is_package else parts), is_package)
    assert found == []


@pytest.mark.parametrize(("module", "source"), [
    ("retrograd.core.tensor", "from retrograd.autograd import graph"),
    ("retrograd.core.tensor", "from ..ops import pointwise"),
    ("retrograd.core.tensor", "import retrograd"),
    ("retrograd.core.tensor", "from retrograd import tensor"),
    ("retrograd.ops.views.shape", "from ... import autograd"),
    ("retrograd.ops.views.shape", "def f():\n    from retrograd.core import tensor"),
    ("retrograd.autograd.engine", "import importlib\ndef f():\n    importlib.import_module('retrograd.core.tensor')"),
    ("retrograd.autograd.engine", "from retrograd.transforms import vmap"),
    ("retrograd.nn.functional", "from retrograd.core.tensor import Tensor"),
    ("retrograd.optim.sgd", "from retrograd import _finder"),
    ("retrograd.utils.checkpoint", "from retrograd.ops import families"),
])
def test_violation_is_found(module: str, source: str) -> None:
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(("module", "source"), [
    ("retrograd.core.tensor", "from . import state\nfrom .storage import Storage\nimport numpy"),
    ("retrograd.ops.views.shape", "from retrograd.core import opdef\nfrom . import families"),
    ("retrograd.autograd.engine", "from ..core.tensor import Tensor\nfrom .graph import Node"),
    ("retrograd.nn.modules.linear", "import retrograd\nfrom retrograd import Tensor\nfrom retrograd.autograd import Function\n"
                            "from . import init"),
    ("retrograd.utils.checkpoint", "def f():\n    from retrograd.autograd.graph import saved_tensors_hooks"),
])
def test_allowed_import_passes(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_relative_import_in_a_package_counts_from_the_package() -> None:
    assert violations("from . import state", "retrograd.core", is_package=True) == []
    assert violations("from .. import ops", "retrograd.core", is_package=True) != []
