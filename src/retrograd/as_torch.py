"""Puts retrograd in torch's place: after `install()`, `import torch` and `import torch.x.y` give retrograd's modules.

Nothing happens unasked: an installed torch stays what `import torch` gives until `install()` is called. Names that
PyTorch keeps private, but that programs and tests use all the same, are mapped to their homes in `PRIVATE` below, so
that the library's own modules stay clean of them.

    import retrograd.as_torch
    retrograd.as_torch.install()
    import torch                    # the module `retrograd`
    import torch.autograd           # the module `retrograd.autograd`
"""
from __future__ import annotations

import multiprocessing.spawn
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, counter_of, name_class
from retrograd.torch_version import TorchVersion
from retrograd.version import __version__ as FOLLOWED

# torch's module -> private name -> where retrograd has it, as "module:name" under the package. A module that retrograd
# does not have is made up of these names alone; one that it has gets them in addition, unless it defines them itself.
# A home that does not exist makes the name missing, with an AttributeError that says so.
PRIVATE: dict[str, dict[str, str]] = {
    "_C": {
        "_WeakTensorRef": "as_torch:WeakTensorRef",
        "DisableTorchFunction": "core.subclass:DisableTorchFunction",
        "DisableTorchFunctionSubclass": "core.subclass:DisableTorchFunctionSubclass",
        "_AutoDispatchBelowAutograd": "_torch_dispatcher:BelowAutograd",
        "_DisableTorchDispatch": "core.modes:no_dispatch",
        "_add_cached_tensor": "as_torch:add_cached_tensor",
        "_current_autograd_node": "autograd.engine:current_node",
        "_current_graph_task_execution_order": "autograd.engine:current_graph_task_execution_order",
        "_current_graph_task_id": "autograd.engine:current_graph_task_id",
        "_disabled_torch_dispatch_impl": "core.modes:disabled_torch_dispatch",
        "_disabled_torch_function_impl": "core.subclass:disabled_torch_function",
        "_get_autograd_fallback_mode": "library.fallback:get_autograd_fallback_mode",
        "_get_obj_in_tls": "as_torch:get_stashed",
        "_is_cached_tensor": "as_torch:is_cached_tensor",
        "_is_fwd_grad_enabled": "autograd.forward_ad:is_fwd_grad_enabled",
        "_is_key_in_tls": "as_torch:is_stashed",
        "_remove_cached_tensor": "as_torch:remove_cached_tensor",
        "_set_autograd_fallback_mode": "library.fallback:set_autograd_fallback_mode",
        "_set_cached_tensors_enabled": "as_torch:set_cached_tensors_enabled",
        "_set_fwd_grad_enabled": "autograd.forward_ad:set_fwd_grad_enabled",
        "_stash_obj_in_tls": "as_torch:stash",
        "_will_engine_execute_node": "autograd.engine:will_engine_execute_node",
        "DispatchKey": "core.dispatch_keys:DispatchKey",
        "DispatchKeySet": "core.dispatch_keys:DispatchKeySet",
        "_dispatch_keys": "core.dispatch_keys:keys_of",
        "FunctionSchema": "core.function_schema:FunctionSchema",
        "Future": "futures:Future",
        "ScriptFunction": "jit:ScriptFunction",
        "ScriptModule": "jit:ScriptModule",
        "Size": ":Size",
        "Tag": ":Tag",
        "_InferenceMode": ":inference_mode",
        "_LinAlgError": "linalg:LinAlgError",
        "_TensorBase": ":Tensor",
        "_VariableFunctions": "as_torch:retrograd",
        "_from_dlpack": "utils.dlpack:from_dlpack",
        "_get_deterministic_algorithms": ":are_deterministic_algorithms_enabled",
        "_TorchFunctionState": "_torch_private:FunctionState",
        "_get_cpu_capability": "backends.cpu:get_cpu_capability",
        "_get_torch_function_state": "_torch_private:get_function_state",
        "_set_torch_function_state": "_torch_private:set_function_state",
        "has_spectral": ":has_spectral",
        "_get_dispatch_stack_at": "utils._python_dispatch:_get_dispatch_stack_at",
        "_group_tensors_by_device_and_dtype": "utils._foreach_utils:_group_tensors_by_device_and_dtype",
        "_has_torch_function": "overrides:has_torch_function",
        "_has_torch_function_unary": "overrides:has_torch_function_unary",
        "_has_torch_function_variadic": "overrides:has_torch_function_variadic",
        "_is_view_replay_enabled": "autograd.grad_mode:is_view_replay_enabled",
        "_len_torch_dispatch_stack": "utils._python_dispatch:_len_torch_dispatch_stack",
        "_len_torch_function_stack": "overrides:_len_torch_function_stack",
        "_parallel_info": "__config__:parallel_info",
        "_pop_torch_dispatch_stack": "utils._python_dispatch:_pop_mode",
        "_push_on_torch_dispatch_stack": "utils._python_dispatch:_push_mode",
        "_set_default_dtype": ":set_default_dtype",
        "_set_default_tensor_type": ":set_default_tensor_type",
        "_set_deterministic_algorithms": ":use_deterministic_algorithms",
        "_set_grad_enabled": "autograd.grad_mode:_set_grad_enabled",
        "_show_config": "__config__:show",
        "_to_dlpack": "utils.dlpack:to_dlpack",
        "default_generator": ":default_generator",
        "device": ":device",
        "dtype": ":dtype",
        "get_default_dtype": ":get_default_dtype",
        "is_autocast_enabled": ":is_autocast_enabled",
        "is_inference_mode_enabled": ":is_inference_mode_enabled",
        "layout": ":layout",
        "memory_format": ":memory_format",
        "parse_schema": "core.function_schema:parse_schema",
        "set_autocast_enabled": ":set_autocast_enabled",
        "_functorch": "@_C._functorch",
        "PyTorchFileReader": "serialization.file_reader:PyTorchFileReader",
        "Generator": ":Generator",
        "Graph": "_torch_private:Graph",
        "TensorBase": ":Tensor",
        "Value": "_torch_private:Value",
        "_ExcludeDispatchKeyGuard": "_torch_dispatcher:ExcludeKeys",
        "_EnableTorchFunction": "_torch_dispatcher:EnableTorchFunction",
        "_ForceDispatchKeyGuard": "_torch_dispatcher:ForceKeys",
        "_IncludeDispatchKeyGuard": "_torch_dispatcher:IncludeKeys",
        "_TorchDispatchModeKey": "_torch_dispatcher:ModeKey",
        "_data_address": "_torch_dispatcher:data_address",
        "_dispatch_find_schema_or_throw": "_torch_dispatcher:find_schema",
        "_dispatch_get_all_op_names": "_torch_dispatcher:names_of_ops",
        "_dispatch_get_backend_keyset_from_autograd": "_torch_dispatcher:backends_of",
        "_dispatch_get_registrations_for_dispatch_key": "_torch_dispatcher:registrations_for",
        "_dispatch_has_backend_fallback": "_torch_dispatcher:has_fallback",
        "_dispatch_has_computed_kernel_for_dispatch_key": "_torch_dispatcher:has_computed_kernel",
        "_dispatch_has_kernel": "_torch_dispatcher:has_kernel",
        "_dispatch_has_kernel_for_any_dispatch_key": "_torch_dispatcher:has_kernel_for_any_key",
        "_dispatch_has_kernel_for_dispatch_key": "_torch_dispatcher:has_kernel_for_key",
        "_dispatch_isTensorSubclassLike": "_torch_dispatcher:is_subclass_like",
        "_dispatch_is_included_in_alias": "_torch_dispatcher:is_in_alias",
        "_dispatch_kernel_for_dispatch_key_is_fallthrough": "_torch_dispatcher:is_fallthrough_at",
        "_dispatch_key_name": "_torch_dispatcher:key_name",
        "_dispatch_key_parse": "_torch_dispatcher:key_of",
        "_dispatch_keyset_full": "_torch_dispatcher:all_keys",
        "_dispatch_keyset_full_after": "_torch_dispatcher:keys_after",
        "_dispatch_keyset_to_string": "_torch_dispatcher:show_keys",
        "_dispatch_tls_is_dispatch_key_excluded": "_torch_dispatcher:is_excluded",
        "_dispatch_tls_is_dispatch_key_included": "_torch_dispatcher:is_included",
        "_dispatch_tls_local_exclude_set": "_torch_dispatcher:excluded",
        "_dispatch_tls_local_include_set": "_torch_dispatcher:included",
        "_dispatch_tls_set_dispatch_key_excluded": "_torch_dispatcher:set_excluded",
        "_dispatch_tls_set_dispatch_key_included": "_torch_dispatcher:set_included",
        "_get_dispatch_mode": "_torch_dispatcher:infra_mode",
        "_get_function_stack_at": "_torch_dispatcher:function_mode_at",
        "_get_operation_overload": "_torch_dispatcher:operation_overload",
        "_get_schema": "_torch_dispatcher:schema_of",
        "_has_storage": "_torch_dispatcher:has_storage",
        "_is_torch_function_all_disabled": "_torch_dispatcher:is_function_all_disabled",
        "_is_torch_function_enabled": "_torch_dispatcher:is_function_enabled",
        "_jit_get_operation": "_torch_dispatcher:operation",
        "_jit_get_schemas_for_operator": "_torch_dispatcher:schemas_of",
        "_parse_dispatch_key": "_torch_dispatcher:parse_key",
        "_pop_torch_function_stack": "_torch_dispatcher:pop_function_mode",
        "_push_on_torch_function_stack": "_torch_dispatcher:push_function_mode",
        "_SchemaArgType": "library.schema_info:SchemaArgType",
        "_SchemaArgument": "library.schema_info:SchemaArgument",
        "_SchemaInfo": "library.schema_info:SchemaInfo",
        "_overlaps": "library.schema_info:overlap",
        "_set_conj": "_torch_dispatcher:set_conj",
        "_set_neg": "_torch_dispatcher:set_neg",
        "_to_functionality_key": "_torch_dispatcher:functionality_of",
        "_TensorMeta": "as_torch:TENSOR_META",
        "_are_functorch_transforms_active": "_torch_private:are_functorch_transforms_active",
        "_get_accelerator": "_torch_private:get_accelerator",
        "_get_default_device": "settings:get_default_device",
        "_get_privateuse1_backend_name": "_torch_private:get_privateuse1_backend_name",
        "_get_tracing_state": "_torch_private:get_tracing_state",
        "_has_xpu": "as_torch:NO_XPU",
        "_is_alias_of": "_torch_private:is_alias_of",
        "_is_torch_function_mode_enabled": "_torch_private:is_torch_function_mode_enabled",
        "_log_api_usage_once": "_torch_private:log_api_usage_once",
        "_get_cudnn_enabled": "as_torch:no_cudnn",
        "_is_tracing": "_torch_private:get_tracing_state",
        "_jit_override_can_fuse_on_cpu": "_torch_private:log_api_usage_once",
        "_jit_override_can_fuse_on_gpu": "_torch_private:log_api_usage_once",
        "_jit_set_nvfuser_enabled": "_torch_private:log_api_usage_once",
        "_jit_set_profiling_executor": "_torch_private:log_api_usage_once",
        "_jit_set_profiling_mode": "_torch_private:log_api_usage_once",
        "_jit_set_texpr_fuser_enabled": "_torch_private:log_api_usage_once",
        "has_lapack": "as_torch:HAS_LAPACK",
        "is_grad_enabled": ":is_grad_enabled",
    },
    "_C._autograd": {
        "_pop_saved_tensors_default_hooks": "autograd.graph:pop_saved_hooks",
        "_push_saved_tensors_default_hooks": "autograd.graph:push_saved_hooks",
        "SavedTensor": "core.saved:SavedTensor",
        "_saved_tensors_hooks_is_enabled": "as_torch:saved_tensors_hooks_enabled",
        "_unsafe_set_version_counter": "as_torch:set_version_counters",
        "_profiler_enabled": "autograd.profiler:profiler_enabled",
        "DeviceType": "autograd.profiler_util:DeviceType",
        "ProfilerActivity": "profiler.profiler:ProfilerActivity",
    },
    "_C._profiler": {
        "_EventType": "autograd.profiler_results:EventType",
        "_ExperimentalConfig": "autograd.profiler_results:ExperimentalConfig",
        "_ExtraFields_TorchOp": "autograd.profiler_results:TorchOpFields",
        "_ProfilerEvent": "autograd.profiler_results:ProfilerEvent",
        "_TensorMetadata": "autograd.profiler_inputs:TensorMetadata",
        "_RecordFunctionFast": "autograd.profiler:RecordFunctionFast",
        "ProfilerActivity": "profiler.profiler:ProfilerActivity",
        "RecordScope": "autograd.profiler_results:RecordScope",
        "CapturedTraceback": "utils._traceback:Frames",
        "gather_traceback": "utils._traceback:gather_traceback",
        "symbolize_tracebacks": "utils._traceback:symbolize_tracebacks",
    },
    "_utils_internal": {
        "get_file_path": "_torch_private:file_path",
        "get_file_path_2": "_torch_private:file_path_beside",
        "get_writable_path": "_torch_private:writable_path",
    },
    "_export.wrappers": {
        "mark_subclass_constructor_exportable_experimental": "_torch_private:exportable_constructor",
    },
    "_inductor.utils": {
        "GPU_TYPES": "_torch_private:GPU_TYPES",
    },
    "_C._dynamo.compiled_autograd": {
        "set_autograd_compiler": "compile.compiled_autograd:set_compiler",
        "set_verbose_logger": "compile.compiled_autograd:set_verbose_logger",
    },
    "_C._functions": {
        "AccumulateGrad": "core.graph:AccumulateGrad",
        "DelayedError": "autograd.function:DelayedError",
        "UndefinedGrad": "autograd.function:UndefinedGrad",
    },
    "_C._nn": {
        "thnn_conv2d": "_direct_convolutions:thnn_conv2d",
        "slow_conv3d": "_direct_convolutions:slow_conv3d",
        "slow_conv_transpose2d": "_direct_convolutions:slow_conv_transpose2d",
        "slow_conv_transpose3d": "_direct_convolutions:slow_conv_transpose3d",
        "slow_conv_dilated2d": "_direct_convolutions:slow_conv_dilated2d",
        "slow_conv_dilated3d": "_direct_convolutions:slow_conv_dilated3d",
        "_conv_depthwise2d": "_direct_convolutions:conv_depthwise2d",
        "conv_depthwise3d": "_direct_convolutions:conv_depthwise3d",
        "_parse_to": "_torch_private:parse_to_arguments",
        "_test_warn_in_autograd": "ops.shared.testing:_test_warn_in_autograd",
        "log_sigmoid": "nn.functional:logsigmoid",
    },
    "_VF": {
        "unique_dim": "ops.reduction.sort:unique_dim",
    },
    "_dynamo.decorators": {
        "run": "compiler.decorators:run",
        "forbid_in_graph": "compiler.decorators:forbid_in_graph",
        "disallow_in_graph": "compiler.decorators:disallow_in_graph",
        "nonstrict_trace": "compiler.decorators:nonstrict_trace",
        "dont_skip_tracing": "compiler.decorators:dont_skip_tracing",
        "error_on_graph_break": "compiler.decorators:error_on_graph_break",
        "skip_frame": "compiler.decorators:skip_frame",
        "step_unsupported": "compiler.decorators:step_unsupported",
        "lookup_backend": "compiler.decorators:lookup_backend",
        "is_dynamo_disable_recursive": "compiler.decorators:is_dynamo_disable_recursive",
        "patch_dynamo_config": "compiler.decorators:patch_dynamo_config",
        "set_stance": "compiler:set_stance",
        "substitute_in_graph": "compiler:substitute_in_graph",
        "allow_in_graph": "compiler:allow_in_graph",
        "assume_constant_result": "compiler:assume_constant_result",
        "disable": "compiler:disable",
        "graph_break": "compiler:graph_break",
        "mark_dynamic": "compiler:mark_dynamic",
        "mark_static": "compiler:mark_static",
        "mark_static_address": "compiler:mark_static_address",
        "maybe_mark_dynamic": "compiler:maybe_mark_dynamic",
        "mark_unbacked": "compiler:mark_unbacked",
        "innermost_fn": "compiler.decorators:innermost_fn",
    },
    "_dynamo.callback": {
        "CallbackArgs": "compile.callback:CallbackArgs",
        "CallbackTrigger": "compile.callback:CallbackTrigger",
        "CompilationCallbackHandler": "compile.callback:CompilationCallbackHandler",
        "callback_handler": "compile.callback:callback_handler",
        "on_compile_end": "compile.callback:on_compile_end",
        "on_compile_start": "compile.callback:on_compile_start",
    },
    "_dynamo.external_utils": {
        "is_compiling": "compiler:is_compiling",
        "wrap_numpy": "compiler:wrap_numpy",
        "call_hook": "compile.steps:call_hook",
        "call_backward": "compile.steps:call_backward",
    },
    "_dynamo.output_graph": {
        "GraphCompileReason": "compile.breaks:GraphCompileReason",
    },
    "_dynamo": {
        "run": "compiler.decorators:run",
        "forbid_in_graph": "compiler.decorators:forbid_in_graph",
        "disallow_in_graph": "compiler.decorators:disallow_in_graph",
        "nonstrict_trace": "compiler.decorators:nonstrict_trace",
        "dont_skip_tracing": "compiler.decorators:dont_skip_tracing",
        "error_on_graph_break": "compiler.decorators:error_on_graph_break",
        "skip_frame": "compiler.decorators:skip_frame",
        "step_unsupported": "compiler.decorators:step_unsupported",
        "lookup_backend": "compiler.decorators:lookup_backend",
        "is_dynamo_disable_recursive": "compiler.decorators:is_dynamo_disable_recursive",
        "patch_dynamo_config": "compiler.decorators:patch_dynamo_config",
        "set_stance": "compiler:set_stance",
        "substitute_in_graph": "compiler:substitute_in_graph",
        "reset_code_caches": "compiler:reset",
        "OptimizedModule": "compiler:OptimizedModule",
        "allow_in_graph": "compiler:allow_in_graph",
        "assume_constant_result": "compiler:assume_constant_result",
        "compiled_autograd": "@_dynamo.compiled_autograd",
        "config": "@_dynamo.config",
        "disable": "compiler:disable",
        "explain": "compiler:explain",
        "graph_break": "compiler:graph_break",
        "is_compiling": "compiler:is_compiling",
        "list_backends": "compiler:list_backends",
        "mark_dynamic": "compiler:mark_dynamic",
        "mark_static": "compiler:mark_static",
        "mark_static_address": "compiler:mark_static_address",
        "maybe_mark_dynamic": "compiler:maybe_mark_dynamic",
        "optimize": "compiler:optimize",
        "optimize_assert": "compiler:optimize_assert",
        "register_backend": "compiler:register_backend",
        "reset": "compiler:reset",
    },
    "_dynamo.backends.common": {
        "aot_autograd": "compile.backends:aot_autograd",
    },
    "_dynamo.backends.debugging": {
        "ExplainOutput": "compiler:ExplainOutput",
        "aot_eager": "compiler:aot_eager",
        "eager": "compiler:eager",
    },
    "_dynamo.backends.registry": {
        "lookup_backend": "compiler.decorators:lookup_backend",
        "get_default_backend": "compiler:get_default_backend",
        "set_default_backend": "compiler:set_default_backend",
        "InvalidBackend": "compile.errors:InvalidBackend",
        "list_backends": "compiler:list_backends",
        "register_backend": "compiler:register_backend",
    },
    "_dynamo.compiled_autograd": {
        "call_hook": "compile.steps:call_hook",
        "call_backward": "compile.steps:call_backward",
        "_disable": "compile.compiled_autograd:disable",
        "_enable": "compile.compiled_autograd:enable",
    },
    "_dynamo.convert_frame": {
        "register_bytecode_hook": "compiler:register_bytecode_hook",
    },
    "_dynamo.eval_frame": {
        "disable": "compiler:disable",
        "explain": "compiler:explain",
        "optimize": "compiler:optimize",
        "optimize_assert": "compiler:optimize_assert",
        "innermost_fn": "compiler.decorators:innermost_fn",
        "is_dynamo_supported": "compiler.decorators:is_dynamo_supported",
        "is_inductor_supported": "compiler.decorators:is_dynamo_supported",
        "lookup_backend": "compiler.decorators:lookup_backend",
        "set_stance": "compiler:set_stance",
        "Unsupported": "compiler:Unsupported",
        "OptimizedModule": "compiler:OptimizedModule",
    },
    "_dynamo.exc": {
        "TorchDynamoException": "compile.errors:TorchDynamoException",
        "InternalTorchDynamoError": "compile.errors:InternalTorchDynamoError",
        "UserError": "compile.errors:UserError",
        "UserErrorType": "compile.errors:UserErrorType",
        "TorchRuntimeError": "compile.errors:TorchRuntimeError",
        "UncapturedHigherOrderOpError": "compile.errors:UncapturedHigherOrderOpError",
        "RestartAnalysis": "compile.errors:RestartAnalysis",
        "SkipFrame": "compile.errors:SkipFrame",
        "ResetRequired": "compile.errors:ResetRequired",
        "ShortenTraceback": "compile.errors:ShortenTraceback",
        "FailOnRecompileLimitHit": "compile.errors:FailOnRecompileLimitHit",
        "RecompileError": "compile.errors:RecompileError",
        "BackendCompilerFailed": "compiler:BackendCompilerFailed",
        "InvalidBackend": "compiler:InvalidBackend",
        "Unsupported": "compiler:Unsupported",
    },
    "_dynamo.testing": {
        "reset": "compiler:reset",
        "optimize_assert": "compiler:optimize_assert",
        "config": "@_dynamo.config",
        "aot_eager": "compiler:aot_eager",
        "reduce_to_scalar_loss": "compiler.testing:reduce_to_scalar_loss",
        "requires_bwd_pass": "compiler.testing:requires_bwd_pass",
        "clone_me": "compiler.testing:clone_me",
        "reset_rng_state": "compiler.testing:reset_rng_state",
        "collect_results": "compiler.testing:collect_results",
        "extract_graph": "compiler.testing:extract_graph",
        "strip_comment": "compiler.testing:strip_comment",
        "empty_line_normalizer": "compiler.testing:empty_line_normalizer",
        "remove_optimized_module_prefix": "compiler.testing:remove_optimized_module_prefix",
        "AotEagerAndRecordGraphs": "compiler.testing:AotEagerAndRecordGraphs",
        "CompileCounter": "compiler.testing:CompileCounter",
        "CompileCounterWithBackend": "compiler.testing:CompileCounterWithBackend",
        "EagerAndRecordGraphs": "compiler.testing:EagerAndRecordGraphs",
        "InductorAndRecordGraphs": "compiler.testing:InductorAndRecordGraphs",
        "normalize_gm": "compiler.testing:normalize_gm",
        "rand_strided": "compiler.testing:rand_strided",
        "remove_trailing_space": "compiler.testing:remove_trailing_space",
        "same": "compiler.testing:same",
    },
    "_dynamo.utils": {
        "disable_cache_limit": "_torch_private:without_recompile_limit",
        "warn_once": "_torch_private:warn_once",
        "counters": "compiler:counters",
        "maybe_enable_compiled_autograd": "compiler.testing:maybe_enable_compiled_autograd",
        "same": "compiler.testing:same",
        "is_compile_supported": "_torch_private:is_compile_supported",
        "set_locals_to_steal": "compiler:set_locals_to_steal",
    },
    "_functorch.compile_utils": {
        "fx_graph_cse": "fx.passes.dialect.common.cse_pass:fx_graph_cse",
    },
    "_higher_order_ops.associative_scan": {
        "_fake_associative_scan": "_higher_order_ops.references:_fake_associative_scan",
        "associative_scan_op": "_higher_order_ops.operators:associative_scan_op",
    },
    "_higher_order_ops.cond": {
        "CondOp": "_higher_order_ops.operators:CondOp",
        "cond_op": "_higher_order_ops.operators:cond_op",
        "cond": "_higher_order_ops.control_flow:cond",
    },
    "_higher_order_ops.map": {
        "_fake_map": "_higher_order_ops.references:_fake_map",
        "map_impl": "_higher_order_ops.operators:map_impl",
        "map": "_higher_order_ops.control_flow:map",
    },
    "_higher_order_ops.scan": {
        "_fake_scan": "_higher_order_ops.references:_fake_scan",
        "scan_op": "_higher_order_ops.operators:scan_op",
        "scan": "_higher_order_ops.control_flow:scan",
    },
    "_higher_order_ops.while_loop": {
        "while_loop_op": "_higher_order_ops.operators:while_loop_op",
        "while_loop": "_higher_order_ops.control_flow:while_loop",
    },
    "_inductor": {
        "cudagraph_mark_step_begin": "compiler:cudagraph_mark_step_begin",
        "compile": "compiler:compile_graph",
        "config": "@_inductor.config",
    },
    "_library.autograd": {
        "autograd_fallback_mode": "library.fallback:autograd_fallback_mode",
    },
    "_library.custom_ops": {
        "CustomOpDef": "library:CustomOpDef",
        "custom_op": "library:custom_op",
    },
    "_library.infer_schema": {
        "infer_schema": "library:infer_schema",
    },
    "_logging": {
        "getArtifactLogger": "compile.state:get_artifact_logger",
        "set_logs": "compiler:set_logs",
    },
    "_ops": {
        "DispatchKey": "core.dispatch_keys:DispatchKey",
        "HigherOrderOperator": "library.higher_order:HigherOrderOperator",
        "OpOverload": "core.opdef:OpDef",
        "OpOverloadPacket": "core.opdef:Packet",
        "_OpNamespace": "_torch_dispatcher:OpNamespace",
        "_Ops": "_torch_dispatcher:AllOps",
        "is_included_in_alias": "_torch_dispatcher:is_in_alias",
    },
    "_custom_ops": {
        "_destroy": "library.older:_destroy",
        "custom_op": "library.older:custom_op",
        "impl": "library.older:impl",
        "impl_abstract": "library.older:impl_abstract",
        "impl_backward": "library.older:impl_backward",
        "impl_save_for_backward": "library.older:impl_save_for_backward",
        "infer_schema": "library:infer_schema",
    },
    "_dynamo._trace_wrapped_higher_order_op": {
        "TransformGetItemToIndex": "_torch_private:TransformGetItemToIndex",
    },
    "_jit_internal": {
        "BroadcastingList1": "jit.annotations:BroadcastingList1",
        "BroadcastingList2": "jit.annotations:BroadcastingList2",
        "BroadcastingList3": "jit.annotations:BroadcastingList3",
        "BroadcastingList4": "jit.annotations:BroadcastingList4",
        "BroadcastingList5": "jit.annotations:BroadcastingList5",
        "BroadcastingList6": "jit.annotations:BroadcastingList6",
        "Final": "jit:Final",
        "Future": "jit:Future",
        "_copy_to_script_wrapper": "_torch_private:unchanged",
        "_isinstance": "jit:isinstance",
        "_overload": "jit:_overload",
        "_overload_method": "jit:_overload_method",
        "boolean_dispatch": "_torch_private:boolean_dispatch",
        "export": "jit:export",
        "fork": "jit:fork",
        "ignore": "jit:ignore",
        "is_scripting": "jit:is_scripting",
        "unused": "jit:unused",
    },
    "_tensor": {
        "Tensor": ":Tensor",
    },
    "_tensor_str": {
        "PRINT_OPTS": "core.printing:options",
        "_tensor_str": "_torch_private:contents_text",
        "_add_suffixes": "_torch_private:add_suffixes",
        "_str": "core.printing:tensor_str",
        "_str_intern": "core.printing:tensor_str",
        "printoptions": "core.printing:printoptions",
        "set_printoptions": ":set_printoptions",
    },
    "_utils": {
        "_is_privateuse1_backend_available": "_torch_private:is_extra_backend_available",
        "ExceptionWrapper": "utils.data._utils.errors:ExceptionWrapper",
        "KeyErrorMessage": "utils.data._utils.errors:KeyErrorMessage",
        "_element_size": "_torch_private:element_size",
        "_flatten_dense_tensors": "_torch_private:flatten_dense_tensors",
        "_get_all_device_indices": "_torch_private:get_all_device_indices",
        "_get_available_device_type": "_torch_private:get_available_device_type",
        "_get_device_index": "_torch_private:get_device_index",
        "_get_device_module": ":get_device_module",
        "_import_dotted_name": "_torch_private:import_dotted_name",
        "_rebuild_parameter": "_torch_private:rebuild_parameter",
        "_rebuild_parameter_with_state": "_torch_private:rebuild_parameter_with_state",
        "_rebuild_tensor_v2": "_torch_private:rebuild_tensor_v2",
        "_set_obj_state": "_torch_private:set_state",
        "_rebuild_wrapper_subclass": "methods:rebuild_wrapper_subclass",
        "_unflatten_dense_tensors": "_torch_private:unflatten_dense_tensors",
        "classproperty": "_torch_private:classproperty",
        "is_compiling": "compiler:is_compiling",
    },
    "_subclasses": {
        "DynamicOutputShapeException": "compile.fake_tensor:DynamicOutputShapeException",
        "FakeTensor": "compile.fake_tensor:FakeTensor",
        "FakeTensorMode": "compile.fake_tensor:FakeTensorMode",
        "UnsupportedFakeTensorException": "compile.fake_tensor:UnsupportedFakeTensorException",
    },
    "_subclasses.schema_check_mode": {
        "SchemaCheckMode": "library.schema_check:SchemaCheckMode",
    },
    "_subclasses.fake_tensor": {
        "CONSTANT_NUMEL_LIMIT": "compile.fake_tensor:CONSTANT_NUMEL_LIMIT",
        "DataDependentOutputException": "compile.fake_tensor:DataDependentOutputException",
        "DynamicOutputShapeException": "compile.fake_tensor:DynamicOutputShapeException",
        "FakeCopyMode": "compile.fake_tensor:FakeCopyMode",
        "FakeTensor": "compile.fake_tensor:FakeTensor",
        "FakeTensorConverter": "compile.fake_tensor:FakeTensorConverter",
        "FakeTensorDeviceMismatchError": "compile.fake_tensor:FakeTensorDeviceMismatchError",
        "FakeTensorMode": "compile.fake_tensor:FakeTensorMode",
        "MetadataMismatchError": "compile.fake_tensor:MetadataMismatchError",
        "UnsupportedFakeTensorException": "compile.fake_tensor:UnsupportedFakeTensorException",
        "UnsupportedOperatorException": "compile.fake_tensor:UnsupportedOperatorException",
        "maybe_get_fake_mode": "compile.fake_tensor:maybe_get_fake_mode",
        "unset_fake_temporarily": "compile.fake_tensor:unset_fake_temporarily",
        "is_fake": "compile.fake_tensor:is_fake",
    },
    "_guards": {
        "active_fake_mode": "compile.fake_tensor:active_fake_mode",
        "detect_fake_mode": "compile.fake_tensor:detect_fake_mode",
    },
    "_vmap_internals": {
        "_vmap": "transforms.vmap:_vmap",
        "vmap": "_torch_private:old_vmap",
    },
    "jit": {
        "_fork": "jit:fork",
        "_script_if_tracing": "jit:script_if_tracing",
        "_wait": "jit:wait",
    },
    "cuda": {
        "_initialized": "as_torch:NO_DEVICE",
        "_is_in_bad_fork": "_torch_private:is_in_bad_fork",
    },
    "backends": {
        "__allow_nonbracketed_mutation": "backends.frozen:allow_changes",
    },
    "utils._triton": {
        "has_triton": "as_torch:no_cudnn",
        "has_triton_package": "as_torch:no_cudnn",
    },
    "optim.swa_utils": {
        "_group_tensors_by_device_and_dtype": "utils._foreach_utils:_group_tensors_by_device_and_dtype",
    },
    "nn.init": {
        "_no_grad_fill_": "nn.init:constant_",
        "_no_grad_normal_": "nn.init:normal_",
        "_no_grad_uniform_": "nn.init:uniform_",
        "_no_grad_zero_": "nn.init:zeros_",
    },
    "nn.modules.transformer": {
        "_generate_square_subsequent_mask": "nn.modules.transformer:causal_mask",
        "_get_activation_fn": "nn.modules.transformer:activation_named",
    },
    "nn.utils.stateless": {
        "_reparametrize_module": "_torch_private:reparametrized",
    },
    "utils.data._utils.worker": {
        "_worker_info": "as_torch:NO_WORKER",
    },
    "profiler.profiler": {
        "_default_schedule_fn": "_torch_private:default_schedule",
    },
    "_prims_common": {
        "ELEMENTWISE_TYPE_PROMOTION_KIND": "_dtype_relations:ELEMENTWISE_TYPE_PROMOTION_KIND",
        "canonicalize_dim": "_dtype_relations:canonicalize_dim",
        "canonicalize_dims": "_dtype_relations:canonicalize_dims",
        "corresponding_complex_dtype": "_dtype_relations:corresponding_complex_dtype",
        "corresponding_real_dtype": "_dtype_relations:corresponding_real_dtype",
        "dtype_to_type": "_dtype_relations:dtype_to_type",
        "elementwise_dtypes": "_dtype_relations:elementwise_dtypes",
        "get_computation_dtype": "_dtype_relations:get_computation_dtype",
        "get_higher_dtype": "_dtype_relations:get_higher_dtype",
        "get_higher_type": "_dtype_relations:get_higher_type",
        "is_boolean_dtype": "_dtype_relations:is_boolean_dtype",
        "is_complex_dtype": "_dtype_relations:is_complex_dtype",
        "is_dtype": "_dtype_relations:is_dtype",
        "is_expandable_to": "_dtype_relations:is_expandable_to",
        "is_float_dtype": "_dtype_relations:is_float_dtype",
        "is_integer_dtype": "_dtype_relations:is_integer_dtype",
        "is_low_precision_dtype": "_dtype_relations:is_low_precision_dtype",
        "is_same_shape": "_dtype_relations:is_same_shape",
        "make_contiguous_strides_for": "_dtype_relations:make_contiguous_strides_for",
        "type_to_dtype": "_dtype_relations:type_to_dtype",
        "is_contiguous_or_false": "_torch_private:is_contiguous",
    },
    "autograd.profiler": {
        "_ExperimentalConfig": "autograd.profiler_results:ExperimentalConfig",
    },
    "fx.graph": {
        "_type_repr": "fx._names:type_repr",
    },
    "fx.node": {
        "_format_arg": "fx.node:format_arg",
        "_type_repr": "fx._names:type_repr",
    },
    "fx.graph_module": {
        "_CodeOnlyModule": "_torch_private:CodeOnlyModule",
        "_USER_PRESERVED_ATTRIBUTES_KEY": "_torch_private:PRESERVED_ATTRIBUTES",
        "_assign_attr": "fx.graph_module:assign_attribute",
        "_copy_attr": "fx.graph_module:copy_attribute",
    },
    "utils.data._utils.collate": {
        "np_str_obj_array_pattern": "_torch_private:NO_NUMBERS",
    },
    "utils.data.dataloader": {
        "_collate_fn_t": "_torch_private:COLLATE_FUNCTION",
        "_worker_init_fn_t": "_torch_private:WORKER_FUNCTION",
    },
    "_functorch.vmap": {
        "_broadcast_to_and_flatten": "utils._pytree:_broadcast_to_and_flatten",
        "tree_flatten": "utils._pytree:tree_flatten",
        "tree_unflatten": "utils._pytree:tree_unflatten",
    },
    "nn.modules.module": {
        "_addindent": "_torch_private:add_indent",
        "_EXTRA_STATE_KEY_SUFFIX": "nn.modules._state:EXTRA_STATE",
        "_global_buffer_registration_hooks": "_torch_private:BUFFER_HOOKS",
        "_global_module_registration_hooks": "_torch_private:MODULE_HOOKS",
        "_global_parameter_registration_hooks": "_torch_private:PARAMETER_HOOKS",
    },
    "autograd": {
        "SavedTensor": "core.saved:SavedTensor",
        "_force_original_view_tracking": "autograd.grad_mode:_force_original_view_tracking",
        "_profiler_enabled": "autograd.profiler:profiler_enabled",
        "_unsafe_preserve_version_counter": "as_torch:preserve_version_counters",
        "is_view_replay_enabled": "autograd.grad_mode:is_view_replay_enabled",
        "torch": "as_torch:retrograd",
        "kineto_available": "autograd.profiler:kineto_available",
    },
    "autograd.anomaly_mode": {
        "detect_anomaly": "autograd.anomaly:detect_anomaly",
        "set_detect_anomaly": "autograd.anomaly:set_detect_anomaly",
    },
    "autograd.functional": {
        "_as_tuple": "autograd.functional:as_tuple",
        "_autograd_grad": "autograd.functional:gradients",
        "_check_requires_grad": "_torch_private:check_requires_grad",
        "_construct_standard_basis_for": "autograd.functional:unit_vectors",
        "_grad_postprocess": "autograd.functional:detached",
        "_grad_preprocess": "autograd.functional:prepared",
        "_tuple_postprocess": "_torch_private:without_tuples",
        "_validate_v": "autograd.functional:check_vector",
    },
    "nn.functional": {
        "_canonical_mask": "nn.functions.attention:canonical_mask",
        "_mha_shape_check": "nn.functions.attention:check_shapes",
        "_none_or_dtype": "nn.functions.attention:type_or_none",
    },
    "optim.lbfgs": {
        "_cubic_interpolate": "_torch_private:cubic_interpolate",
        "_strong_wolfe": "_torch_private:strong_wolfe",
    },
    "optim.optimizer": {
        "_default_to_fused_or_foreach": "_torch_private:fused_or_foreach",
        "_use_grad_for_differentiable": "_torch_private:with_grad_if_differentiable",
        "StateDict": "_torch_private:STATE_DICT",
    },
    "storage": {
        "_LegacyStorage": "storage:Legacy",
        "_load_from_bytes": "_torch_private:load_from_bytes",
    },
    "distributed._composable_state": {
        "_get_module_state": "_torch_private:no_module_state",
    },
    "autograd._functions": {
        "Resize": "autograd.resize:Resize",
    },
    "cpu": {
        "_is_avx2_supported": "cpu.capabilities:is_avx2_supported",
        "_is_avx512_supported": "cpu.capabilities:is_avx512_supported",
    },
    "testing._comparison": {
        "_unwrap_dtensor_for_comparison": "_torch_private:unwrap_shards",
    },
    "utils._import_utils": {
        "_check_module_exists": "_torch_private:module_exists",
    },
    "masked": {
        "_canonical_dim": "masked.masks:sorted_dims",
        "_combine_input_and_mask": "masked.canonical:combine_input_and_mask",
        "_input_mask": "masked.canonical:input_mask",
        "_output_mask": "masked.canonical:output_mask",
        "_reduction_identity": "masked.canonical:reduction_identity",
        "_where": "masked.canonical:where",
    },
    "masked._ops": {
        "_canonical_dim": "masked.masks:sorted_dims",
        "_combine_input_and_mask": "masked.canonical:combine_input_and_mask",
        "_input_mask": "masked.canonical:input_mask",
        "_output_mask": "masked.canonical:output_mask",
        "_reduction_identity": "masked.canonical:reduction_identity",
        "_where": "masked.canonical:where",
        "amax": "masked:amax",
        "amin": "masked:amin",
        "argmax": "masked:argmax",
        "argmin": "masked:argmin",
        "cumprod": "masked:cumprod",
        "cumsum": "masked:cumsum",
        "log_softmax": "masked:log_softmax",
        "logaddexp": "masked:logaddexp",
        "logsumexp": "masked:logsumexp",
        "mean": "masked:mean",
        "median": "masked:median",
        "norm": "masked:norm",
        "normalize": "masked:normalize",
        "prod": "masked:prod",
        "softmax": "masked:softmax",
        "softmin": "masked:softmin",
        "std": "masked:std",
        "sum": "masked:sum",
        "var": "masked:var",
    },
    "masked.maskedtensor.binary": {
        "INPLACE_BINARY_NAMES": "masked.maskedtensor.packets:INPLACE_BINARY_NAMES",
        "NATIVE_BINARY_FNS": "masked.maskedtensor.packets:NATIVE_BINARY_FNS",
        "NATIVE_INPLACE_BINARY_FNS": "masked.maskedtensor.packets:NATIVE_INPLACE_BINARY_FNS",
    },
    "masked.maskedtensor.core": {
        "_get_data": "masked.maskedtensor.matching:data_of",
        "_map_mt_args_kwargs": "masked.maskedtensor.matching:map_masked",
        "_masks_match": "masked.maskedtensor.matching:masks_match",
        "_maybe_get_mask": "masked.maskedtensor.matching:mask_of",
        "_tensors_match": "masked.maskedtensor.matching:tensors_match",
        "_wrap_result": "masked.maskedtensor.matching:wrap_result",
    },
    "masked.maskedtensor.passthrough": {
        "PASSTHROUGH_FNS": "masked.maskedtensor.packets:PASSTHROUGH_FNS",
    },
    "masked.maskedtensor.reductions": {
        "NATIVE_REDUCE_FNS": "masked.maskedtensor.packets:NATIVE_REDUCE_FNS",
    },
    "masked.maskedtensor.unary": {
        "INPLACE_UNARY_NAMES": "masked.maskedtensor.packets:INPLACE_UNARY_NAMES",
        "NATIVE_INPLACE_UNARY_FNS": "masked.maskedtensor.packets:NATIVE_INPLACE_UNARY_FNS",
        "NATIVE_UNARY_FNS": "masked.maskedtensor.packets:NATIVE_UNARY_FNS",
    },
    "autograd.gradcheck": {
        "_get_numerical_jacobian": "autograd.jacobians:numerical_jacobians",
        "_iter_tensors": "autograd.jacobians:tensors_in",
    },
    "autograd.forward_ad": {
        "_current_level": "autograd.forward_ad:current_level",
        "_is_fwd_grad_enabled": "autograd.forward_ad:is_fwd_grad_enabled",
        "_set_fwd_grad_enabled": "autograd.forward_ad:set_fwd_grad_enabled",
    },
}

# Modules of torch that are modules of retrograd under another name, or objects with attributes that programs set.
SAME: dict[str, str] = {
    "_C._functorch": "_functorch.levels:",
    "_dynamo.compiled_autograd": "compile.compiled_autograd:",
    "_dynamo.config": "compile.state:config",
    "_inductor.config": "compile.state:backend_config",
}

# Modules of torch._C that hold ops: where their functions are published, and how their names begin.
OPS_BY_MODULE = {
    "_C._fft": ("fft", "fft_"),
    "_C._linalg": ("linalg", "linalg_"),
    "_C._nn": ("nn.functional", ""),
    "_C._special": ("special", "special_"),
}

PACKAGE = retrograd.__name__
FUNCTORCH = "_functorch.package"      # what `import functorch` gives


def install() -> None:
    """Make `torch` and everything under it mean retrograd, in this process, from now on.

    The command line does it for a whole program: `retrograd run script.py`. Here a process of its own shows what it does:

    >>> import subprocess
    >>> program = "import retrograd.as_torch; retrograd.as_torch.install(); import torch.nn as nn; print(nn.__name__)"
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    retrograd.nn
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
    # Importing a module puts it into its parent, also where something else of that name belongs (autograd.gradcheck, a
    # function): such modules must count as imported already.
    for name, module in list(sys.modules.items()):
        parent, _, last = name.rpartition(".")
        if name.startswith(PACKAGE + ".") and getattr(sys.modules.get(parent), last, module) is not module:
            sys.modules["torch" + name.removeprefix(PACKAGE)] = module
    _torch_names.install()
    for name, homes in PRIVATE.items():
        if name not in SAME:
            add_names(find_or_make_module(name), name, homes)
    for name, (home, prefix) in OPS_BY_MODULE.items():
        add_ops(find_or_make_module(name), name, home, prefix)


def take_identity() -> None:
    """Answer to the name and to the version of the PyTorch that retrograd follows, so that programs can ask for them."""
    module: Any = retrograd
    module.__name__ = "torch"
    module.__version__ = TorchVersion(FOLLOWED)
    module.torch = retrograd
    for cls in (Tensor, retrograd.Size, retrograd.device, retrograd.dtype, retrograd.finfo, retrograd.iinfo):
        name_class(cls, "torch")
    for name in ("__config__", "__future__", "torch_version", "version"):
        setattr(module, name, import_module(f"{PACKAGE}.{name}"))


def send_tensor(tensor: Tensor) -> Any:
    """How queues of `multiprocessing` send tensors, also where the program does not import `torch.multiprocessing`."""
    return import_module(f"{PACKAGE}.multiprocessing").reductions.reduce_tensor(tensor)


plain_preparation_data = multiprocessing.spawn.get_preparation_data


def prepare_child(name: str) -> dict[str, Any]:
    """What a spawned process is told before it imports the program's main module: first of all to do as this one did."""
    return {INSTALLED_HERE: InstalledHere(), **plain_preparation_data(name)}


INSTALLED_HERE = "retrograd.as_torch"


class InstalledHere:
    """An object that, when it is unpickled, puts retrograd in torch's place."""

    def __reduce__(self) -> Any:
        return install, ()


class TorchFinder(DistributionFinder):
    """A meta-path finder for every name under `torch`; what retrograd lacks is missing, even beside a real torch."""

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
            return None                 # somebody only looks, with importlib.util.find_spec
        # Loading has put the module under this name as well (see _torch_names.py). The import system, finding it there,
        # would go by the module's own spec and load it once more.
        sys.modules.pop(name, None)
        return ModuleSpec(name, SameModule(module), is_package=hasattr(module, "__path__"))


NOT_THERE = ("retrograd stands in torch's place here and does not have it. What it has is listed in docs/support.md of its "
             "repository, and by dir() of each module")


def missing_name(name: str) -> ImportError:
    parent, _, last = name.rpartition(".")
    return ImportError(f"cannot import name {last!r} from {parent!r}: {NOT_THERE}", name=parent)


def is_from_import() -> bool:
    """Whether the import system asks on behalf of `from package import name`, which would pass over a missing module."""
    return "_handle_fromlist" in callers()


def callers() -> list[str]:
    """The functions of the import system that led to a finder's `find_spec`, from the nearest on."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    found: list[str] = []
    while frame is not None and "importlib" in frame.f_code.co_filename:
        found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


class TorchDistribution(Distribution):
    """What `importlib.metadata` finds under the name `torch`: the version that retrograd follows."""

    def read_text(self, filename: str) -> str | None:
        return {"METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {FOLLOWED}\n"
                            "Summary: retrograd in the place of PyTorch\n",
                "top_level.txt": "torch\n"}.get(filename)

    def locate_file(self, path: Any) -> Any:
        return Path(retrograd.__file__ or "").parent / path


class SameModule(Loader):
    """A loader that hands out a module that is already loaded, under a second name."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec     # the import system has just put the second name's there


def find_module(name: str) -> ModuleType | None:
    """Return retrograd's module `name` (without the package), a made-up private one included; None if missing."""
    if name in MADE_UP:
        return MADE_UP[name]
    if name in SAME:
        MADE_UP[name] = look_up(SAME[name])
        add_names(MADE_UP[name], name, PRIVATE.get(name, {}))
        return MADE_UP[name]
    full = f"{PACKAGE}.{name}"
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        if error.name is None or not (full + ".").startswith(error.name + "."):
            raise                       # the module is there, but something that it needs is not
    found: Any = retrograd              # a namespace object such as torch.ops may be no file of its own
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, ModuleType) else None


MADE_UP: dict[str, ModuleType] = {}


def find_or_make_module(name: str) -> ModuleType:
    """Return retrograd's module `name`, or a made-up one that hangs on its parent."""
    module = find_module(name)
    if module is None:
        parent, _, last = name.rpartition(".")
        holder = find_or_make_module(parent) if parent else retrograd
        module = ModuleType(f"torch.{name}", f"Private names of PyTorch, mapped in {__name__}.")
        module.__path__ = []            # lets `import torch._C._functions` go through torch._C
        MADE_UP[name] = module
        setattr(holder, last, module)
    return module


def add_names(module: ModuleType, name: str, homes: dict[str, str]) -> None:
    """Let `module` find the names of `homes` when somebody asks for them."""
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


def add_ops(module: ModuleType, name: str, home: str, prefix: str) -> None:
    """Let `module` find the functions of `home` by the names of their ops, and ops that have no function there."""
    before: Callable[[str], Any] | None = module.__dict__.get("__getattr__")

    def missing(attribute: str) -> Any:
        if before is not None:
            try:
                return before(attribute)
            except AttributeError:
                pass
        if attribute.startswith(prefix) and not attribute.startswith("__"):
            own = getattr(find_module(home), attribute.removeprefix(prefix), None)
            found = getattr(retrograd.ops.aten, attribute, None) if own is None else own
            if found is not None:
                module.__dict__[attribute] = found
                return found
        raise AttributeError(f"module 'torch.{name}' has no attribute {attribute!r}", name=attribute, obj=module)

    module.__dict__["__getattr__"] = missing


NOWHERE = object()


def look_up(home: str) -> Any:
    """Return what "module:name" under the package stands for, or NOWHERE."""
    if home.startswith("@"):
        return find_module(home[1:])
    where, _, attribute = home.partition(":")
    module = find_module(where) if where else retrograd
    if not attribute:
        return module
    return NOWHERE if module is None else getattr(module, attribute, NOWHERE)


# Small stand-ins that only exist for programs which reach into torch._C.

HAS_LAPACK = True
NO_XPU = NO_DEVICE = False
NO_WORKER = None


def no_cudnn() -> bool:
    return False
TENSOR_META = type(Tensor)


class WeakTensorRef:
    """A weak reference that can be asked whether its tensor is gone."""

    def __init__(self, tensor: Any) -> None:
        self.reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self.reference() is None


def saved_tensors_hooks_enabled() -> bool:
    return tls.saved_hooks_disabled is None


def set_version_counters(tensors: Sequence[Any], versions: Sequence[int]) -> None:
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        if tensor.is_inference():
            raise RuntimeError("Tried to call torch.autograd._unsafe_set_version() on a tensor that does not have a version "
                               "counter. Was it created in inference mode?")
        counter_of(tensor).n = version


@contextmanager
def preserve_version_counters(tensors: Any) -> Iterator[None]:
    """Let writes inside the block go unnoticed, which is right only for writes that change nothing."""
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    versions = [tensor._version for tensor in tensors]
    try:
        yield
    finally:
        set_version_counters(tensors, versions)


def stash(key: str, value: Any) -> None:
    tls.stash[key] = value


def is_stashed(key: str) -> bool:
    return key in tls.stash


def get_stashed(key: str) -> Any:
    return tls.stash[key]


# Tensors kept alive by a CUDA graph, by identity. The cpu has no such graphs; the registry still answers.
cached: dict[int, Any] = {}
caching = False


def set_cached_tensors_enabled(enabled: bool) -> None:
    global caching
    caching = enabled


def add_cached_tensor(tensor: Any) -> None:
    if caching:
        key = id(tensor)
        cached[key] = weakref.ref(tensor, lambda _: cached.pop(key, None))


def remove_cached_tensor(tensor: Any) -> None:
    cached.pop(id(tensor), None)


def is_cached_tensor(tensor: Any) -> bool:
    return id(tensor) in cached
