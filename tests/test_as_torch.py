"""retrograd in torch's place: the command line, `import torch`, private names. Each in a process of its own."""
from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd

HOME = str(Path(retrograd.__file__ or "").resolve().parent.parent)
# pickle.dumps(torch.tensor([1.0, 2.0])) of PyTorch 2.13
PICKLED = base64.b64decode(
    "gASVigEAAAAAAACMDHRvcmNoLl91dGlsc5SMEl9yZWJ1aWxkX3RlbnNvcl92MpSTlCiMDXRvcmNoLnN0b3JhZ2WUjBBfbG9hZF9mcm9tX2J5dG"
    "VzlJOUQgMBAACAAooKbPycRvkgaqhQGS6AAk3pAy6AAn1xAChYEAAAAHByb3RvY29sX3ZlcnNpb25xAU3pA1gNAAAAbGl0dGxlX2VuZGlhbnEC"
    "iFgKAAAAdHlwZV9zaXplc3EDfXEEKFgFAAAAc2hvcnRxBUsCWAMAAABpbnRxBksEWAQAAABsb25ncQdLBHV1LoACKFgHAAAAc3RvcmFnZXEAY3"
    "RvcmNoCkZsb2F0U3RvcmFnZQpxAVgOAAAAOTQ1MDQ2OTkxMjA4MzJxAlgDAAAAY3B1cQNLAk50cQRRLoACXXEAWA4AAAA5NDUwNDY5OTEyMDgz"
    "MnEBYS4CAAAAAAAAAAAAgD8AAABAlIWUUpRLAEsChZRLAYWUiYwLY29sbGVjdGlvbnOUjAtPcmRlcmVkRGljdJSTlClSlHSUUpQu"
)
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
    assert out.startswith("No module named 'torch.no_such_module': retrograd stands in torch's place")
    assert "docs/support.md" in out and out.endswith(" torch.no_such_module\n")


def test_missing_name_names_retrograd_and_the_list() -> None:
    out = run_installed("try:\n    from torch import no_such_name\nexcept ImportError as e:\n    print(e)\n"
                        "try:\n    from torch.nn import no_such_name\nexcept ImportError as e:\n    print(e)")
    for line, module in zip(out.splitlines(), ("torch", "torch.nn"), strict=True):
        assert line.startswith(f"cannot import name 'no_such_name' from {module!r}: retrograd stands in torch's place")
        assert "docs/support.md" in line


def test_looking_for_a_missing_module_finds_nothing() -> None:
    run_installed("from importlib.util import find_spec\n"
                  "assert find_spec('torch.no_such_module') is None and find_spec('torch.nn') is not None\n"
                  "assert find_spec('torch') is not None")


def test_version_is_the_one_that_is_followed() -> None:
    run_installed("import torch, importlib.metadata as metadata\n"
                  "from torch.torch_version import TorchVersion\n"
                  "assert torch.__version__ == '2.13.0+retrograd' and isinstance(torch.__version__, TorchVersion)\n"
                  "assert torch.__version__ > '2.2' and torch.__version__ >= (2, 13) and torch.__version__ < '2.14.0.dev1'\n"
                  "assert torch.version.__version__ == str(torch.__version__) == metadata.version('torch')\n"
                  "assert torch.version.cuda is None and torch.__name__ == 'torch' and torch.torch is torch\n"
                  "assert 'torch' in metadata.packages_distributions()['torch']\n"
                  "assert metadata.version('numpy') and 'NumPy' in torch.__config__.show()\n"
                  "assert not torch.__future__.get_overwrite_module_params_on_conversion()")


def test_own_version_stays_without_install() -> None:
    assert retrograd.__name__ == "retrograd" and retrograd.__version__ == "0.1.0"


def test_spawned_process_has_torch_before_its_main_module(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import torch, multiprocessing\n"
                      "def double(x):\n    return (torch.tensor(x) * 2).item()\n"
                      "if __name__ == '__main__':\n"
                      "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
                      "        print(pool.map(double, [1, 2]))\n")
    done = python("-m", "retrograd", "run", str(script))
    assert done.stdout == "[2, 4]\n", done.stderr


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
    assert done.stdout == f"__main__ torch helped {[script, '-v', 'a']!r}\n", done.stderr
    assert done.returncode == 5


def test_run_module_gives_it_torch_and_arguments(program: Path) -> None:
    done = python("-m", "retrograd", "run", "-m", "program", "a", cwd=program)
    expected = [os.path.realpath(program / "program.py"), "a"]
    assert done.stdout == f"__main__ torch helped {expected!r}\n", done.stderr
    assert done.returncode == 5


def test_wrong_command_line_shows_usage() -> None:
    done = python("-m", "retrograd", "walk")
    assert done.returncode == 2 and done.stderr.startswith("usage: retrograd run")


def test_missing_script_is_named() -> None:
    done = python("-m", "retrograd", "run", "no_such_file.py")
    assert done.returncode == 2 and "no_such_file.py" in done.stderr


def test_private_helpers_that_programs_call() -> None:
    run_installed("import torch\n"
                  "from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors, ExceptionWrapper\n"
                  "from torch._jit_internal import boolean_dispatch, BroadcastingList2\n"
                  "from torch._dynamo.eval_frame import OptimizedModule\n"
                  "a, b = torch.ones(2, 2), torch.zeros(3)\n"
                  "parts = _unflatten_dense_tensors(_flatten_dense_tensors([a, b]), [a, b])\n"
                  "assert [t.shape for t in parts] == [(2, 2), (3,)]\n"
                  "assert torch._C._nn._parse_to('cpu', torch.float64)[1] is torch.float64\n"
                  "assert torch._C._get_tracing_state() is None and not torch._dynamo.config.suppress_errors\n"
                  "torch._check(True)")


def test_compiled_libraries_are_refused_as_not_loadable() -> None:
    out = run_installed("import torch\ntry:\n    torch.ops.load_library('x.so')\nexcept OSError as e:\n    print(e)\n"
                        "@torch.library.register_fake('gone::op')\ndef f(x):\n    return x\n")
    assert out.startswith("Could not load this library: x.so. It is compiled against PyTorch's own C++ library")


def test_modules_are_loaded_once_under_both_names() -> None:
    run_installed("import sys, torch.nn.utils.parametrize, torch.optim.swa_utils, torch.fx, torch.distributions.normal\n"
                  "import torch.utils._pytree, torch.nn.modules.container, torch.utils.checkpoint\n"
                  "names = [n for n in sys.modules if n.startswith('torch.') and 'retrograd' + n[5:] in sys.modules]\n"
                  "assert len(names) > 10\n"
                  "assert all(sys.modules[n] is sys.modules['retrograd' + n[5:]] for n in names)\n"
                  "assert isinstance(torch.nn.Linear(1, 1), retrograd.nn.Module)")


def test_classes_show_as_classes_of_torch() -> None:
    out = run_installed("import torch\nprint(torch.Tensor, torch.Size, torch.dtype, torch.device, type(torch.ones(1).shape))")
    assert out.split("> ") == [f"<class 'torch.{name}'" for name in ("Tensor", "Size", "dtype", "device")] + [
        "<class 'torch.Size'>\n"]


def test_functorch_is_the_older_name_of_func() -> None:
    run_installed("import warnings, functorch, functorch.experimental, torch._functorch.vmap\n"
                  "from torch._functorch.make_functional import functional_init\n"
                  "import torch\n"
                  "with warnings.catch_warnings(record=True) as caught:\n"
                  "    warnings.simplefilter('always')\n"
                  "    assert functorch.grad(torch.sin)(torch.zeros(())) == 1\n"
                  "assert 'torch.func.grad' in str(caught[0].message) and caught[0].category is FutureWarning\n"
                  "assert torch._C._functorch.maybe_get_level(torch.ones(1)) == -1\n"
                  "assert torch._ops.HigherOrderOperator and torch._C.DispatchKey.CPU")


def test_programs_can_ask_the_extension_about_the_processor() -> None:
    run_installed("import torch\n"
                  "assert not hasattr(torch._C._cpu, '_is_amx_tile_supported') and torch._C._cpu._init_amx() is False\n"
                  "from torch._higher_order_ops.inline_asm_elementwise import inline_asm_elementwise")


def test_range_of_nvtx_decorates_functions_and_raises_when_they_are_called() -> None:
    run_installed("import torch\n"
                  "step = torch.cuda.nvtx.range('step')(lambda: 1)\n"
                  "try:\n    step()\n"
                  "except RuntimeError as error:\n    assert 'NVTX functions not installed' in str(error)\n"
                  "else:\n    raise AssertionError")


def test_ops_are_found_in_the_modules_of_the_extension() -> None:
    run_installed("import torch, torch._C._linalg, pickle\n"
                  "assert torch._C._linalg.linalg_inv is torch.linalg.inv\n"
                  "assert torch._C._special.special_erf is torch.special.erf\n"
                  "assert pickle.loads(pickle.dumps(torch.linalg.inv)) is torch.linalg.inv\n"
                  "assert torch._C._nn.gelu is torch.nn.functional.gelu and not hasattr(torch._C._nn, 'no_such_op')\n"
                  "assert torch._C.Size is torch.Size and torch._C._LinAlgError is torch.linalg.LinAlgError\n"
                  "assert torch._C.parse_schema('a::b(Tensor x) -> Tensor').name == 'a::b'")


def test_texts_of_tensors_under_private_names() -> None:
    out = run_installed("import torch\nfrom torch._tensor_str import PRINT_OPTS, _str, _tensor_str\n"
                        "print(_tensor_str(torch.arange(4.).view(2, 2), 0), _str(torch.ones(1)), PRINT_OPTS.precision)")
    assert out == "[[0., 1.],\n [2., 3.]] tensor([1.]) 4\n"


def test_names_that_packages_take_from_private_places() -> None:
    run_installed("from torch.utils.data.dataloader import _collate_fn_t, _worker_init_fn_t\n"
                  "from torch.nn.modules.module import _EXTRA_STATE_KEY_SUFFIX\n"
                  "assert _EXTRA_STATE_KEY_SUFFIX == '_extra_state'\n"
                  "from torch.nn.common_types import _size_2_t\n"
                  "from torch.distributed._tensor.experimental import implicit_replication\n"
                  "import torch.distributed.autograd as a\nassert not a.is_available()\n"
                  "import torch\nassert not torch.cuda._is_in_bad_fork()\n"
                  "from torch._functorch.vmap import _broadcast_to_and_flatten, tree_flatten, tree_unflatten\n"
                  "assert _broadcast_to_and_flatten(0, tree_flatten([1, (2, 3)])[1]) == [0, 0, 0]\n"
                  "from torch.nn.modules.module import _global_parameter_registration_hooks as hooks\n"
                  "handle = torch.nn.modules.module.register_module_parameter_registration_hook(print)\n"
                  "assert list(hooks.values()) == [print]\nhandle.remove()\n"
                  "from torch.utils.data._utils.collate import np_str_obj_array_pattern\n"
                  "assert np_str_obj_array_pattern.search('<U3') and not np_str_obj_array_pattern.search('<f4')\n"
                  "from torch.fx.graph_module import _CodeOnlyModule, _USER_PRESERVED_ATTRIBUTES_KEY, _copy_attr\n"
                  "assert _CodeOnlyModule({'a': 1, **torch.nn.Module().__dict__}).a == 1\n"
                  "from torch._higher_order_ops.associative_scan import associative_scan")


def test_functions_of_nn_are_listed_as_built_in_and_still_pickled() -> None:
    program = ("import retrograd.as_torch; retrograd.as_torch.install(); import pickle, torch, torch.nn.functional as F; "
               "torch.overrides.get_testing_overrides(); "
               "print(F.gelu.__module__, all(pickle.loads(pickle.dumps(f)) is f for f in (F.gelu, F.logsigmoid, F.linear)))")
    assert python("-c", program).stdout.split() == ["torch._C._nn", "True"]


def test_parameters_and_modules_are_saved_under_names_that_load_trusts() -> None:
    out = run_installed("""
import collections, io, pickle, torch

def through(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)

p = torch.nn.Parameter(torch.ones(2))
print(type(through(p)) is torch.nn.Parameter, type(through({'p': p})['p']) is torch.nn.Parameter)
p.note = 'kept'
print(through(p).note, through(torch.sparse_coo) is torch.sparse_coo)
file = io.BytesIO()
torch.save(torch.nn.Linear(1, 1), file)
file.seek(0)
print(sorted(torch.serialization.get_unsafe_globals_in_checkpoint(file)))
print(type(through(torch.nn.Linear(1, 1), weights_only=False)).__name__, type(pickle.loads(pickle.dumps(p))).__name__)
""")
    assert out.split("\n")[:4] == ["True True", "kept True", "['torch.nn.modules.linear.Linear']", "Linear Parameter"]


def test_private_helpers_of_gradients_line_searches_and_masks() -> None:
    run_installed("""import pickle, torch
import torch.autograd.functional as functional
from torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe
from torch.optim.optimizer import _use_grad_for_differentiable
x = torch.ones(2)
assert functional._as_tuple((x,)) == (True, (x,)) and functional._tuple_postprocess(((x,),), (False, False)) is x
assert functional._construct_standard_basis_for((x,), (2,))[0].tolist() == [[1, 0], [0, 1]]
y = x.clone().requires_grad_()
assert functional._autograd_grad(((y * y).sum(),), (y,))[0].tolist() == [2, 2]
assert _cubic_interpolate(0.0, 1.0, -2.0, 2.0, 1.0, 2.0) == 1.0
direction = -2 * x
def objective(x, t, d):
    at = x + t * d
    return float(at.pow(2).sum()), 2 * at
loss, gradient, t, calls = _strong_wolfe(objective, x, 1.0, direction, 2.0, 2 * x, float((2 * x).dot(direction)))
assert abs(t - 0.5) < 1e-6 and loss < 1e-9
class Step(torch.optim.SGD):
    @_use_grad_for_differentiable
    def step(self):
        return torch.is_grad_enabled()
assert not Step([y], lr=1.0).step() and Step([y], lr=1.0, differentiable=True).step()
mask = torch.nn.functional._canonical_mask(torch.tensor([True, False]), "mask", None, "other", torch.float32)
assert mask.tolist() == [float("-inf"), 0] and torch.nn.functional._none_or_dtype(mask) is torch.float32
assert torch.nn.modules.module._addindent("a\\nb", 2) == "a\\n  b"
assert issubclass(torch._dynamo.exc.Unsupported, torch._dynamo.exc.TorchDynamoException)
with torch._dynamo.utils.disable_cache_limit():
    assert torch._dynamo.config.recompile_limit > 10**6
assert torch._dynamo.config.recompile_limit == 8 and torch._disable_dynamo(abs)(-1) == 1
torch._inductor.config.triton.unique_kernel_names = True
assert torch.ByteStorage.from_buffer(b"abc").tolist() == [97, 98, 99]
""")


def test_tensors_pickled_by_pytorch_are_read() -> None:
    run_installed(f"""import pickle, torch
assert pickle.loads({PICKLED!r}).tolist() == [1.0, 2.0]
""")


def test_helpers_of_tests_are_found_where_pytorch_has_them() -> None:
    run_installed("""import torch
from torch._prims_common import dtype_to_type, elementwise_dtypes
from torch.autograd.gradcheck import _get_numerical_jacobian, _iter_tensors
from torch.masked import _combine_input_and_mask, _input_mask, _output_mask, _reduction_identity, _where
from torch.masked.maskedtensor.binary import NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS
from torch.masked.maskedtensor.core import _masks_match, _tensors_match
from torch.masked.maskedtensor.unary import NATIVE_INPLACE_UNARY_FNS, NATIVE_UNARY_FNS
from torch.testing._comparison import BooleanPair, NonePair, NumberPair, Pair, TensorLikePair, not_close_error_metas
from torch.testing._utils import freeze_rng_state, wrapper_set_seed
from torch.utils._import_utils import _check_module_exists
from torch._utils import _is_privateuse1_backend_available
from torch.testing._comparison import _unwrap_dtensor_for_comparison
assert _unwrap_dtensor_for_comparison(1, 2) == (1, 2) and not _is_privateuse1_backend_available()
assert torch.cpu._is_avx2_supported() == torch.cpu.get_capabilities()["avx2"]
assert torch.cpu._is_avx512_supported() == torch.cpu.get_capabilities()["avx512_f"]
assert _check_module_exists("numpy") and not _check_module_exists("no.such.module")
assert torch._C._get_torch_function_state() == torch._C._TorchFunctionState.ENABLED
with torch._C.DisableTorchFunctionSubclass():
    assert torch._C._get_torch_function_state() == torch._C._TorchFunctionState.SUBCLASSES_DISABLED
torch._C._set_torch_function_state(torch._C._TorchFunctionState.ENABLED)
assert dtype_to_type(torch.float32) is float and issubclass(torch.FloatStorage, torch.storage._LegacyStorage)
assert torch.ops.aten.abs in NATIVE_UNARY_FNS and _tensors_match(torch.ones(2), torch.ones(2))
""")


def test_distributed_names_can_be_imported_to_be_tested_with_isinstance() -> None:
    run_installed("""import torch
from torch.distributed._composable_state import _get_module_state
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from torch.distributed.elastic.utils.distributed import get_free_port
from torch.distributed.fsdp._common_utils import _FSDPState
assert _get_module_state(torch.nn.Linear(1, 1)) is None and get_free_port() > 0
assert not isinstance(1, (_FSDPState, StorageReader, StorageWriter, WriteResult))
""")


def test_public_modules_carry_the_names_of_torch() -> None:
    run_installed("import torch.nn.modules.linear, torch.optim.sgd, torch.utils.data\n"
                  "modules = torch.nn, torch.nn.modules, torch.nn.modules.linear, torch.optim, torch.utils.data\n"
                  "assert [m.__name__ for m in modules] == ['torch.nn', 'torch.nn.modules', 'torch.nn.modules.linear',\n"
                  "                                         'torch.optim', 'torch.utils.data']\n"
                  "from torch.nn import utils, grad\n"
                  "assert utils is retrograd.nn.utils and grad.__name__ == 'torch.nn.grad'")


def test_functions_that_pickles_name_are_found_where_pytorch_has_them() -> None:
    run_installed(
        "import os, torch, torch.multiprocessing._atfork\n"
        "u, floats = torch._utils, torch.FloatStorage([1, 2, 3])\n"
        "assert u._rebuild_tensor(floats, 1, (2,), (1,)).tolist() == [2.0, 3.0]\n"
        "assert u._rebuild_tensor_v3(floats.untyped(), 0, (2,), (1,), False, None, torch.float32).tolist() == [1.0, 2.0]\n"
        "parts = torch.tensor([[1]]), torch.tensor([5.0]), (2,)\n"
        "layout = torch.serialization._get_layout('torch.sparse_coo')\n"
        "assert u._rebuild_sparse_tensor(layout, parts).to_dense().tolist() == [0, 5]\n"
        "assert u._rebuild_meta_tensor_no_storage(torch.float32, (2,), (1,), False).is_meta\n"
        "class Mine(torch.Tensor): pass\n"
        "args = floats, 0, (3,), (1,), False, {}\n"
        "made = torch._tensor._rebuild_from_type_v2(u._rebuild_tensor_v2, Mine, args, {'note': 1})\n"
        "assert type(made) is Mine and made.note == 1\n"
        "seen = []\n"
        "torch.multiprocessing._atfork.register_after_fork(lambda: seen.append(1))\n"
        "child = os.fork()\n"
        "if not child: os._exit(len(seen))\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1 and not seen\n")


def test_pickles_name_only_what_pytorch_has() -> None:
    out = run_installed(
        "import torch, pickle, pickletools\n"
        "linear = torch.nn.Linear(2, 3)\n"
        "marked = torch.nn.Parameter(torch.ones(2))\nmarked.note = 'x'\n"
        "things = [linear, marked, torch.arange(6.).view(2, 3).t(), torch.ones(2, dtype=torch.bfloat16),\n"
        "          torch.ones(2).to(torch.float8_e5m2), torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr(),\n"
        "          torch.empty(2, device='meta'), torch.ones(2).untyped_storage(), torch.strided, torch.channels_last,\n"
        "          torch.float16, torch.device('cpu'), torch.Size([2]), torch.Generator(), torch.nn.Buffer(torch.ones(1))]\n"
        "print({arg.split()[0] for op, arg, _ in pickletools.genops(pickle.dumps(things, 2)) if op.name == 'GLOBAL'})\n"
        "for protocol in range(6):\n"
        "    again = pickle.loads(pickle.dumps(things, protocol))\n"
        "    assert again[0].weight.equal(linear.weight) and type(again[0].weight) is torch.nn.Parameter\n"
        "    assert again[1].note == 'x' and again[2].stride() == (1, 3) and again[2].equal(things[2])\n"
        "    assert again[3].dtype == torch.bfloat16 and again[4].float().tolist() == [1, 1] and again[7].is_meta\n"
        "    assert again[5].is_sparse and again[6].layout == torch.sparse_csr and again[9] is torch.strided\n"
        "    assert again[10] is torch.channels_last and again[14].get_state().equal(things[14].get_state())")
    modules = set(eval(out))
    assert {name.partition(".")[0] for name in modules} <= {"torch", "collections", "_codecs", "__builtin__"}
    assert {"torch._utils", "torch.storage", "torch.nn.modules.linear"} <= modules


def test_shallow_copies_share_memory_as_pickles_do_not() -> None:
    run_installed("import torch, copy, pickle\n"
                  "t = torch.zeros(4)[1:]\n"
                  "copy.copy(t)[0] = 5\n"
                  "assert t[0] == 5 and copy.copy(torch.nn.Parameter(t)).data_ptr() == t.data_ptr()\n"
                  "pickle.loads(pickle.dumps(t))[0] = 6\n"
                  "assert t[0] == 5")


def test_functions_are_found_by_the_names_in_pickles_of_pytorch() -> None:
    run_installed("import torch, pickle\n"
                  "assert pickle.loads(b'\\x80\\x04ctorch._C\\n_VariableFunctionsClass.tanh\\n.') is torch.tanh\n"
                  "assert pickle.loads(b'\\x80\\x04ctorch._utils\\ntorch.channels_last\\n.') is torch.channels_last")


def test_private_modules_of_the_compiler_and_of_distributed_are_found() -> None:
    run_installed("import torch\n"
                  "from torch.jit._state import _enabled, _script_classes\n"
                  "assert not _enabled and not _enabled.enabled and not _script_classes\n"
                  "from torch._inductor.decomposition import decompositions, register_decomposition\n"
                  "@register_decomposition([torch.ops.aten.square.default])\n"
                  "def square(x): return x * x\n"
                  "assert decompositions[torch.ops.aten.square.default] is square\n"
                  "from torch.distributed.checkpoint.utils import CheckpointException\n"
                  "assert issubclass(CheckpointException, BaseException)\n"
                  "from torch.distributed._tensor.device_mesh import DeviceMesh\n"
                  "assert DeviceMesh is torch.distributed.device_mesh.DeviceMesh")


def test_names_that_test_support_modules_import_are_found() -> None:
    run_installed("import torch\n"
                  "from torch._C import ScriptDict, ScriptFunction, ScriptList, ScriptMethod\n"
                  "from torch._logging.scribe import open_source_signpost\n"
                  "open_source_signpost(subsystem='x', name='y', parameters='')\n"
                  "from torch._dynamo.utils import clone_input\n"
                  "x = torch.arange(6.).view(2, 3).t().requires_grad_()\n"
                  "x.grad = torch.ones_like(x)\n"
                  "y = clone_input(x)\n"
                  "assert y.stride() == x.stride() and y.equal(x) and y.requires_grad and y.grad.equal(x.grad)\n"
                  "assert y.data_ptr() != x.data_ptr() and clone_input(torch.ones(1).expand(3)).tolist() == [1, 1, 1]\n"
                  "from torch.autograd.function import _nested_map\n"
                  "double = _nested_map(lambda o: isinstance(o, int), lambda o: o * 2)\n"
                  "assert double([1, (2, None), {'a': 3}]) == [2, (4, None), {'a': 6}]\n"
                  "assert torch.nn.functional.grad is torch.nn.grad")


def test_submodules_are_found_by_attribute_as_after_pytorchs_import() -> None:
    run_installed("import torch\n"
                  "state = torch.get_rng_state()\n"
                  "with torch.testing._utils.freeze_rng_state(): torch.rand(2)\n"
                  "assert torch.equal(torch.get_rng_state(), state)\n"
                  "assert torch.nn._reduction.get_enum('mean') == 1\n"
                  "torch.optim._functional, torch.fx.operator_schemas, torch._library.utils, torch.nn.common_types\n"
                  "assert not hasattr(torch.nn, 'no_such_module') and not hasattr(torch.core, 'nn')")


def test_ops_of_other_backends_are_keys_of_tables_by_function_and_can_be_overridden() -> None:
    run_installed("import torch\n"
                  "from torch.overrides import get_overridable_functions, get_testing_overrides\n"
                  "class Like:\n"
                  "    @classmethod\n"
                  "    def __torch_function__(cls, func, types, args=(), kwargs=None): return func.__name__\n"
                  "names = torch._C._VariableFunctions\n"
                  "assert names.abs is torch.abs and names.quantize_per_tensor is torch.quantize_per_tensor\n"
                  "assert names._cudnn_rnn(1, [Like()], 0, None, Like(), None, 0, 0, 0, 0, False, 0., False, False, [], None) "
                  "== '_cudnn_rnn' and torch.dequantize(Like()) == 'dequantize'\n"
                  "assert torch.int_repr in get_overridable_functions()[torch]\n"
                  "assert torch.Tensor.q_scale in get_testing_overrides() and not hasattr(names, 'no_such_op')")


def test_public_names_of_the_extension_are_names_of_torch_too() -> None:
    run_installed("import torch\n"
                  "assert torch.DispatchKey is torch._C.DispatchKey and torch.DispatchKeySet is torch._C.DispatchKeySet\n"
                  "assert torch.ScriptList is torch._C.ScriptList and not hasattr(torch, '_VariableFunctions')")


def test_subclasses_override_how_tensors_are_reduced() -> None:
    run_installed("import copy, pickle, torch\n"
                  "seen = []\n"
                  "class Sub(torch.Tensor):\n"
                  "    @classmethod\n"
                  "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
                  "        seen.append(func)\n"
                  "        return super().__torch_function__(func, types, args, kwargs or {})\n"
                  "x = torch.ones(2).as_subclass(Sub)\n"
                  "read = pickle.loads(pickle.dumps(x))\n"
                  "assert type(read) is Sub and torch.Tensor.__reduce_ex__ in seen, seen\n"
                  "assert type(pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(2))))) is torch.nn.Parameter")


def test_every_private_name_of_the_map_has_a_home() -> None:
    out = run_installed("import retrograd.as_torch as place\n"
                        "from retrograd._torch_map import PRIVATE, ROOT\n"
                        "print([(name, home) for homes in (ROOT, *PRIVATE.values()) for name, home in homes.items()\n"
                        "       if place.look_up(home) is place.NOWHERE])")
    assert out in ("[]\n", "[('_current_level', 'autograd.forward_ad:current_level')]\n")      # computed when it is read


def test_wrappers_are_pickled_by_pytorchs_name() -> None:
    run_installed("import pickle, torch\n"
                  "class Wrapper(torch.Tensor):\n"
                  "    @staticmethod\n"
                  "    def __new__(cls, a):\n"
                  "        made = torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)\n"
                  "        made.a = a\n"
                  "        return made\n"
                  "    @classmethod\n"
                  "    def __torch_dispatch__(cls, func, types, args=(), kwargs=None): raise NotImplementedError(func)\n"
                  "read = pickle.loads(pickle.dumps(Wrapper(torch.ones(2))))\n"
                  "assert type(read) is Wrapper and read.a.tolist() == [1, 1]\n"
                  "assert torch._utils._rebuild_wrapper_subclass.__module__ == 'torch._utils'")
