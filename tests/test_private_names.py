"""Private names of PyTorch that public packages import, and pickles of functions; in torch's place."""
from __future__ import annotations

from tests.test_as_torch import run_installed


def test_methods_are_pickled_as_members_of_tensor() -> None:
    run_installed(
        "import pickle, torch\n"
        "for name in ('split', 'long', 'numpy', 'norm', 'register_hook', 'coalesce', 'sin', 'istft', 'storage', 'expand'):\n"
        "    method = getattr(torch.Tensor, name)\n"
        "    for protocol in (2, 4):\n"
        "        file = pickle.dumps(method, protocol)\n"
        "        assert pickle.loads(file) is method and b'Tensor' in file, name\n"
        "    assert method.__qualname__.rpartition('.')[2] == name\n"
        "for function in (torch.split, torch.norm, torch.istft, torch.normal, torch.numel, torch._cast_Float,\n"
        "                 torch.nn.functional.threshold, torch.nn.functional.logsigmoid):\n"
        "    assert pickle.loads(pickle.dumps(function)) is function, function\n")


def test_dtypes_and_kernels_without_a_public_function_are_pickled() -> None:
    run_installed(
        "import copy, pickle, torch\n"
        "for dtype in (torch.bool, torch.float32, torch.int64, torch.complex64, torch.bfloat16):\n"
        "    assert pickle.loads(pickle.dumps(dtype)) is dtype is copy.deepcopy(dtype) is copy.copy(dtype)\n"
        "assert pickle.dumps(torch.bool, 0).split() == [b'ctorch', b'bool', b'p0', b'.']\n"
        "for name in ('gelu_', 'upsample_nearest2d', 'reflection_pad1d', 'log_sigmoid', 'gelu'):\n"
        "    kernel = getattr(torch._C._nn, name)\n"
        "    assert pickle.loads(pickle.dumps(kernel)) is kernel, name\n")


def test_functions_of_absent_devices_are_pickled_by_their_names() -> None:
    run_installed("import pickle, torch\n"
                  "for f in (torch.mps.synchronize, torch.xpu.current_device, torch.mtia.set_stream):\n"
                  "    assert pickle.loads(pickle.dumps(f)) is f\n"
                  "assert torch.xpu.current_device.__module__ == 'torch.xpu'")


def test_modules_of_distributed_programs_are_imported_and_refuse_their_use() -> None:
    run_installed(
        "import torch, torch.distributed.rpc.api\n"
        "from torch.distributed.utils import _sync_module_states\n"
        "from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager\n"
        "from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState\n"
        "from torch.distributed.checkpoint.state_dict_loader import load\n"
        "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
        "from torch.distributed.fsdp._common_utils import clean_tensor_name\n"
        "from torch.distributed.tensor import DTensor\n"
        "import torch._C._distributed_c10d\n"
        "assert not isinstance(1, torch._C._distributed_rpc.PyRRef) and not isinstance(torch.ones(1), DTensor)\n"
        "for f in (_sync_module_states, PeriodicModelAverager, load, FSDP.state_dict_type, FSDP.optim_state_dict,\n"
        "          DTensor.from_local, torch.distributed.rpc.BackendType.TENSORPIPE):\n"
        "    try:\n"
        "        f()\n"
        "    except RuntimeError as error:\n"
        "        assert 'distributed package is not built in' in str(error)\n"
        "    else:\n"
        "        raise AssertionError(f)\n"
        "assert torch.distributed.Backend.default_device_backend_map['cpu'] == 'gloo'\n"
        "assert clean_tensor_name('_fsdp_wrapped_module.a._checkpoint_wrapped_module.b') == 'a.b'")


def test_functions_that_take_containers_apart_have_pytorchs_names() -> None:
    run_installed(
        "from collections import OrderedDict, defaultdict, deque, namedtuple\n"
        "import torch.utils._pytree as p\n"
        "P = namedtuple('P', 'x y')\n"
        "assert p._namedtuple_flatten(P(1, 2)) == ([1, 2], P) and p._namedtuple_unflatten([1, 2], P) == P(1, 2)\n"
        "assert p._namedtuple_flatten_with_keys(P(1, 2))[0] == [(p.GetAttrKey('x'), 1), (p.GetAttrKey('y'), 2)]\n"
        "assert p._tuple_flatten((3,)) == ([3], None) and p._tuple_unflatten([3], None) == (3,)\n"
        "assert p._ordereddict_flatten_with_keys(OrderedDict(a=1)) == ([(p.MappingKey('a'), 1)], ['a'])\n"
        "assert p._defaultdict_flatten(defaultdict(list, a=1)) == ([1], [list, ['a']])\n"
        "assert p._deque_unflatten([1], 2) == deque([1], 2)")


def test_helpers_of_optimizers_schedulers_and_amp_have_pytorchs_names() -> None:
    run_installed(
        "import torch, threading\n"
        "from torch.optim.optimizer import Optimizer, _get_capturable_supported_devices\n"
        "from torch.optim.lr_scheduler import LRScheduler, _enable_get_lr_call\n"
        "from torch.amp.autocast_mode import _cast\n"
        "from torch.amp.grad_scaler import OptState, _refresh_per_optimizer_state\n"
        "from torch.multiprocessing import _set_thread_name\n"
        "import torch.cuda.profiler\n"
        "assert 'cuda' in _get_capturable_supported_devices() and 'xla' not in _get_capturable_supported_devices(False)\n"
        "(key, (lists, places)), = Optimizer._group_tensors_by_device_and_dtype([[torch.ones(1)], [None]]).items()\n"
        "assert key == (torch.device('cpu'), torch.float32) and lists[1] == [None]\n"
        "s = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], 0.5), 1)\n"
        "with _enable_get_lr_call(s):\n"
        "    assert s._get_lr_called_within_step and s.get_lr() == [0.5]\n"
        "assert not s._get_lr_called_within_step\n"
        "cast = _cast({'a': [torch.ones(1), torch.ones(1).long(), 'b']}, 'cpu', torch.bfloat16)['a']\n"
        "assert [getattr(v, 'dtype', v) for v in cast] == [torch.bfloat16, torch.int64, 'b']\n"
        "assert _cast(torch.ones(1), 'cuda', torch.float16).dtype is torch.float32\n"
        "assert _refresh_per_optimizer_state() == {'stage': OptState.READY, 'found_inf_per_device': {}}\n"
        "_set_thread_name('loader')\n"
        "assert threading.current_thread().name == 'loader'")
