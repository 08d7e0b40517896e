"""What `import retrograd` loads, and that whatever it leaves out is there when it is first used."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"


def output(code: str) -> str:
    """What a program prints in an interpreter of its own."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_leaves_out_what_a_small_program_does_not_need() -> None:
    loaded = set(output("""
import numpy, sys
before = set(sys.modules)
import retrograd
print(*sorted(set(sys.modules) - before))
""").split())
    heavy = {"ml_dtypes", "scipy", "opt_einsum", "pathlib", "pkgutil", "threading", "numpy.fft", "numpy.random", "ctypes.util"}
    own = {f"retrograd.{name}" for name in (
        "autograd.forward_ad", "autograd.function", "autograd.gradcheck_run", "autograd.graph", "autograd.jacobians",
        "codegen.table", "core.generator", "legacy", "nn", "optim", "ops.create.random", "ops.elementwise.compare",
        "ops.elementwise.special", "ops.elementwise.unary", "ops.indexing.index", "ops.linalg.solve", "ops.linalg.spectral",
        "ops.lists.foreach", "ops.loss.kernels", "ops.nn.activation", "ops.nn.conv", "ops.nn.pool", "ops.nn.upsample",
        "ops.reduction.sums", "ops.signal.fft", "ops.sparse", "storage", "transforms", "utils")}
    assert not loaded & (heavy | own)


@pytest.mark.parametrize("use", [
    "torch.svd(x)", "x.svd()", "torch.Tensor.svd(x)", "getattr(torch.Tensor, 'svd')(x)",
    "torch.ops.aten.svd(x)", "torch.ops.aten.svd.default(x)", "torch.linalg.svd(x)", "torch.vmap(torch.svd)(x[None])",
])
def test_first_use_of_an_op_loads_its_table(use: str) -> None:
    assert output(f"""
import sys
import retrograd as torch
x = torch.ones(1, 1)
before = "retrograd.ops.linalg.spectral" in sys.modules
made = {use}
print(before, float(made[1].sum()))
""") == "False 1.0"


def test_an_op_made_of_others_loads_their_tables() -> None:
    assert output("import retrograd as torch; print(torch.diag(torch.ones(2, 2)).tolist())") == "[1.0, 1.0]"


def test_a_name_is_one_object_whichever_access_is_first() -> None:
    assert output("""
import retrograd as torch
from retrograd.core.tensor import FUNCTIONS_BY_NAME
from retrograd.core.api import internal_named
assert torch.Tensor.sort is torch.Tensor.sort
assert internal_named("sort") is FUNCTIONS_BY_NAME["sort"] is torch.sort
functions = torch.overrides.get_overridable_functions()
assert torch.sort in functions[torch] and torch.Tensor.sort in functions[torch.Tensor]
print("same")
""") == "same"


def test_threads_that_use_a_name_first_at_the_same_time_get_the_same_object() -> None:
    assert output("""
import sys
from threading import Barrier, Thread
import retrograd as torch
sys.setswitchinterval(1e-6)
names, found, barrier = ["svd", "sort", "sin_", "cumsum", "cumsum_", "relu", "relu_", "lerp_"], [], Barrier(8)
def work():
    barrier.wait()
    found.append([(getattr(torch.Tensor, n), getattr(torch, n, None), getattr(torch.ops.aten, n)) for n in names])
    torch.ones(2).cumsum(0).sin_()
threads = [Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8
for each in found:
    for got, first, name in zip(each, found[0], names):
        assert got[0] is first[0] is getattr(torch.Tensor, name) and got[1] is first[1] and got[2] is first[2]
        overloads = got[2].overloads()
        assert len(overloads) == len(set(overloads))
print("same")
""") == "same"


def test_names_are_listed_before_they_are_used() -> None:
    assert output("""
import sys
import retrograd as torch
x = torch.ones(2)
print("svd" in dir(torch), "svd" in dir(torch.Tensor), "svd" in dir(x), "retrograd.ops.linalg.spectral" in sys.modules)
print(hasattr(torch, "svd"), hasattr(x, "svd"), hasattr(torch.ops.aten, "svd"))
print(hasattr(torch, "no_such_op"), hasattr(x, "no_such_op"), hasattr(torch.ops.aten, "no_such_op"))
""").splitlines() == ["True True True False", "True True True", "False False False"]


def test_a_missing_name_is_an_error_as_before() -> None:
    assert output("""
import retrograd as torch
for where in (torch, torch.ones(1), torch.Tensor, torch.ops.aten):
    try:
        where.no_such_op
    except AttributeError as error:
        print(str(error).replace("retrograd.core.tensor.", ""))       # a compiled class shows its module
""").splitlines() == [
        "module 'retrograd' has no attribute 'no_such_op'",
        "'Tensor' object has no attribute 'no_such_op'",
        "type object 'Tensor' has no attribute 'no_such_op'",
        "'_OpNamespace' 'aten' object has no attribute 'no_such_op'",
    ]


def test_a_property_can_be_set_and_a_method_shadowed_before_first_use() -> None:
    assert output("""
import retrograd as torch
x, y = torch.zeros(2), torch.zeros(2)
x.real = torch.ones(2)
y.svd = 3
print(x.tolist(), y.svd, callable(x.svd))
""") == "[1.0, 1.0] 3 True"


def test_overloads_are_tried_in_the_same_order_whichever_table_comes_first() -> None:
    code = """
import retrograd
from importlib import import_module
from retrograd.core.opdef import OPS
from retrograd.ops import load
for table in {order}(load.TABLES):
    import_module("retrograd.ops." + table)
load.load_all()
print({{name: [op.overload for op in packet.overloads_] for name, packet in sorted(OPS.items())}})
"""
    assert output(code.format(order="list")) == output(code.format(order="reversed"))


@pytest.mark.parametrize("made", ["torch.from_numpy(a)", "torch.tensor(a)", "torch.as_tensor(a)", "torch.asarray(a)",
                                  "torch.ones(2) + torch.as_tensor(a)"])
def test_arrays_of_bfloat16_from_elsewhere_are_known(made: str) -> None:
    assert output(f"""
import retrograd as torch
import ml_dtypes, numpy
a = numpy.ones(2, ml_dtypes.bfloat16)
made = {made}
print(made.dtype if made.dtype == torch.float32 else made.dtype is torch.bfloat16, made.sum().item())
""") in ("True 2.0", "torch.float32 4.0")


def test_star_import_gives_functions_and_dtypes_but_no_modules() -> None:
    assert output("""
from retrograd import *
names = set(dir())
print({"tensor", "float32", "no_grad", "sin", "pi"} <= names, *names & {"nn", "core", "channels_last", "BY_NAME", "methods"})
""") == "True"


def test_routines_are_found_without_the_whole_of_scipy_linalg() -> None:
    assert output("""
import sys
import retrograd as torch
m = torch.ones(40, 40) + torch.eye(40)
inverse = torch.linalg.inv(m)
print("scipy.linalg" in sys.modules)
import scipy.linalg, scipy.linalg.cython_blas
print("dgemm" in scipy.linalg.cython_blas.__pyx_capi__, scipy.linalg.inv([[2.0]])[0, 0], torch.linalg.inv(m).equal(inverse))
""").split() == ["False", "True", "0.5", "True"]
