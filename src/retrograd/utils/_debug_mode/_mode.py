"""The mode itself: which calls it writes down, and at which depth."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import retrograd as torch
from retrograd.autograd.anomaly import set_detect_anomaly
from retrograd.compile.fake_tensor import FakeTensor, FakeTensorMode
from retrograd.core.subclass import DisableTorchFunction, pop_function_mode, push_function_mode
from retrograd.fx import Interpreter
from retrograd.utils._debug_mode import _utils
from retrograd.utils._debug_mode._calls import (
    _AnnotateCall,
    _DebugCall,
    _OpCall,
    _OutputPlacementCall,
    _RedistributeCall,
    _TritonKernelCall,
)
from retrograd.utils._debug_mode._compare import mismatches
from retrograd.utils._debug_mode._utils import (
    TensorIdTracker,
    _get_user_stack_trace,
    _run_dispatch_hooks,
    _run_dispatch_pre_log_hooks,
    hash_tensor_fn,
    norm_hash_fn,
)
from retrograd.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
)
from retrograd.utils._pytree import is_structseq, tree_all, tree_map
from retrograd.utils.module_tracker import ModuleTracker


@torch.library.custom_op("debug_mode_ops::annotate", mutates_args=())
def _annotate(tag: str) -> None:
    """Reach the mode also from compiled code and graphs; there is nothing to compute."""


@_annotate.register_fake
def _annotate_fake(tag: str) -> None:
    """Do nothing, as the kernel."""


class DebugMode(TorchDispatchMode):
    """Writes down every op that runs, with the shapes of its tensors; `debug_string` gives the text.

    `record_torchfunction` adds the calls of public functions, with the ops indented below them, `record_nn_module` the
    modules that run, `record_stack_trace` the lines of the program, `record_ids` numbers for tensors,
    `record_tensor_attributes` attributes of theirs. Hashes or copies of results are added by `log_tensor_hashes` and
    `record_outputs`.

    >>> with DebugMode() as mode:
    ...     y = torch.ones(2, 3).mul(2).sum()
    >>> print(mode.debug_string())
        aten::ones([2, 3], device=cpu, pin_memory=False)  ->  t: f32[2, 3]
        aten::mul.Tensor(t: f32[2, 3], 2)  ->  t: f32[2, 3]
        aten::sum(t: f32[2, 3])  ->  t: f32[]
    """

    _sees_ranges = True
    supports_higher_order_operators = True

    def __init__(self, *, record_torchfunction: bool = False, record_faketensor: bool = False, record_realtensor: bool = True,
                 record_tensor_attributes: list[str] | None = None, record_nn_module: bool = False,
                 store_original_args: bool = False, record_stack_trace: bool = False, record_output: bool = True,
                 record_ids: bool = False, record_profiler_context: bool = True, record_localtensor: bool = True,
                 run_compile_with_interpreter: bool = False) -> None:
        super().__init__()
        self.record_torchfunction, self.record_faketensor = record_torchfunction, record_faketensor
        self.record_realtensor, self.record_localtensor = record_realtensor, record_localtensor
        self.record_tensor_attributes = record_tensor_attributes or []
        self.record_nn_module, self.store_original_args = record_nn_module, store_original_args
        self.record_stack_trace, self.record_output, self.record_ids = record_stack_trace, record_output, record_ids
        self.record_profiler_context = record_profiler_context
        self.run_compile_with_interpreter = run_compile_with_interpreter
        self.module_tracker = Modules(self) if record_nn_module else None
        self.reset()

    def reset(self) -> None:
        """Forget what was written."""
        self.operators: list[_DebugCall] = []
        self.call_depth = 0
        self._tensor_memo = TensorIdTracker()
        self._output_info: dict[int, object] = {}
        self.current_nn_module_stack: list[str] = []
        self.fx_stack_trace: str | None = None

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """A compiled function stays compiled under this mode."""
        return True

    @property
    def logs(self) -> list[_DebugCall]:
        return list(self.operators)

    # ---- the scope
    def __enter__(self) -> DebugMode:
        if self.record_torchfunction:
            push_function_mode(self)
        super().__enter__()
        if self.module_tracker is not None:
            self.module_tracker.__enter__()
        if self.record_stack_trace:
            self.anomaly_for_traces = set_detect_anomaly(True, check_nan=False)
            self.anomaly_for_traces.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        if self.module_tracker is not None:
            self.module_tracker.__exit__()
        if self.record_torchfunction:
            pop_function_mode()
        if self.record_stack_trace:
            self.anomaly_for_traces.__exit__(*args)

    # ---- calls
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = _OpCall(func, args, kwargs or {}, self.call_depth, stack=self.record_stack_trace)
        self._record_call(call)
        self.call_depth += 1
        try:
            result = func(*args, **(kwargs or {}))
            self._record_call_output(call, result)
            return result
        finally:
            self.call_depth -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.debug_mode_ops.annotate.default:
            self._handle_annotate(args[0])
            return None
        if str(func).startswith("profiler._record_function"):
            if self.record_profiler_context:
                self.enter_range(args[0]) if "enter" in str(func) else self.leave_scope()
            return func(*args, **kwargs)
        if not self.records(func, types):
            return func(*args, **kwargs)
        call = _OpCall(func, args, kwargs, self.call_depth + 1, stack=self.record_stack_trace)
        self._record_call(call)
        _run_dispatch_pre_log_hooks(call, func, types, args, kwargs)     # before the op, which may write to its arguments
        result = func(*args, **kwargs)
        written = tuple(result) if is_structseq(result) else result
        self._record_call_output(call, written)
        _run_dispatch_hooks(call, func, types, args, kwargs, written)
        return result

    def records(self, func: Any, types: Any) -> bool:
        """Whether ops on tensors of these types are written down."""
        if FakeTensor in types or isinstance(_get_current_dispatch_mode(), FakeTensorMode):
            return self.record_faketensor
        return self.record_realtensor and not types

    def _record_call(self, call: _DebugCall) -> None:
        if _utils._IN_INDUCTOR_BENCHMARK:
            return
        if not self.store_original_args:
            call.stringify_args(self.record_tensor_attributes, self._tensor_memo if self.record_ids else None)
        if self.fx_stack_trace:
            call.stack_trace = call.fwd_stack_trace = self.fx_stack_trace
        self.operators.append(call)

    def _record_call_output(self, call: _DebugCall, output: Any) -> None:
        if self.record_output:
            call.stringify_output(output, self.record_tensor_attributes, self._tensor_memo if self.record_ids else None)

    def _track_op_output(self, op_index: int, result: Any) -> None:
        self._output_info[op_index] = result

    # ---- remarks
    def remark(self, tag: Any, header: str, depth: int) -> None:
        self.operators.append(_AnnotateCall(tag, header, depth, stack=self.record_stack_trace))

    def enter_range(self, tag: str) -> None:
        self.remark(tag, "record function", self.call_depth)
        self.call_depth += 1

    def leave_scope(self) -> None:
        self.call_depth -= 1

    def _enter_nn_module_call(self, fqn: str, header: str) -> None:
        self.remark(fqn, header, self.call_depth + 1)
        self.current_nn_module_stack.append(fqn)
        self.call_depth += 1

    def _exit_nn_module_call(self) -> None:
        self.call_depth -= 1
        self.current_nn_module_stack.pop()

    def _handle_annotate(self, tag: Any) -> None:
        self.remark(tag, "annotate", self.call_depth)

    @staticmethod
    def _annotate(tag: Any) -> None:
        """Write a remark into the text of the mode that is on, if there is one."""
        torch.ops.debug_mode_ops.annotate(tag)

    @contextmanager
    def set_fx_stack_trace(self, stack_trace: str) -> Iterator[None]:
        """A scope whose calls come from a place that a graph names."""
        self.fx_stack_trace = stack_trace
        try:
            yield
        finally:
            self.fx_stack_trace = None

    @contextmanager
    def record_redistribute_calls(self, arg: Any, src_placement: Any, dst_placement: Any,
                                  transform_info_str: str | None = None, is_explicit: bool = False) -> Iterator[None]:
        """A scope in which a sharded tensor gets other placements."""
        self._record_call(_RedistributeCall(arg, src_placement, dst_placement, transform_info_str, self.call_depth + 1,
                                            stack=self.record_stack_trace, is_explicit=is_explicit))
        self.call_depth += 1
        try:
            yield
        finally:
            self.call_depth -= 1

    def record_output_placements(self, output_spec: Any) -> None:
        if self.record_output:
            self._record_call(_OutputPlacementCall(str(output_spec), self.call_depth + 1))

    def record_triton_kernel(self, kernel_name: str, kwargs: dict[str, Any]) -> _TritonKernelCall:
        call = _TritonKernelCall(kernel_name, kwargs, self.call_depth + 1)
        call.stringify_args(self.record_tensor_attributes)
        self.operators.append(call)
        return call

    # ---- the text
    def debug_string(self, show_stack_trace: bool | None = None) -> str:
        """The calls, one in a line; with the lines of the program above them where `record_stack_trace` was asked for."""
        if show_stack_trace is None:
            show_stack_trace = self.record_stack_trace
        lines: list[str] = []
        before = None
        with DisableTorchFunction():
            for call in self.operators:
                place = place_of(call) if show_stack_trace else None
                if place and place != before:
                    lines += [""] * bool(lines) + ["  " * (call.call_depth + 1) + "# " + place]
                    before = place
                lines.append("  " * (call.call_depth + 1) + call.render(self.record_tensor_attributes))
        return "\n".join(lines)

    # ---- hooks
    @staticmethod
    @contextmanager
    def dispatch_hooks(record_hook: Callable[..., Any] | None = None, log_hook: Callable[..., Any] | None = None,
                       pre_log_hook: Callable[..., Any] | None = None) -> Iterator[None]:
        """A scope in which `hook(func, types, args, kwargs, result)` runs after every op; the call keeps the dict it returns.

        `pre_log_hook(func, types, args, kwargs, call)` runs before the op.
        """
        installed = [(hooks, hook) for hooks, hook in ((_utils._DISPATCH_RECORD_HOOKS, record_hook),
                                                       (_utils._DISPATCH_LOG_HOOKS, log_hook),
                                                       (_utils._DISPATCH_PRE_LOG_HOOKS, pre_log_hook)) if hook]
        for hooks, hook in installed:
            hooks.append(hook)
        try:
            yield
        finally:
            for hooks, _ in installed:
                hooks.pop()

    @staticmethod
    @contextmanager
    def record_outputs() -> Iterator[None]:
        """A scope in which each call's record has copies of its results, under "output"."""
        def copies(func: Any, types: Any, args: Any, kwargs: Any, result: Any) -> dict[str, Any]:
            return {"output": tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, result)}

        before, _utils._RECORD_TRITON_OUTPUTS = _utils._RECORD_TRITON_OUTPUTS, True
        try:
            with DebugMode.dispatch_hooks(record_hook=copies):
                yield
        finally:
            _utils._RECORD_TRITON_OUTPUTS = before

    @staticmethod
    @contextmanager
    def log_tensor_hashes(hash_fn: Any = "norm", hash_inputs: bool = False) -> Iterator[None]:
        """A scope in which each call's log has a hash of each result, and with `hash_inputs` of each argument.

        `hash_fn` is "norm" (the sum of absolute values), "hash_tensor" (`torch.hash_tensor`), a list of these, or a function.
        """
        summary = hash_function(hash_fn)

        def hashes(values: Any) -> Any:
            return tree_map(lambda x: summary(x) if isinstance(x, torch.Tensor) else None, values)

        def of_inputs(func: Any, types: Any, args: Any, kwargs: Any, call: Any) -> dict[str, Any] | None:
            found = None if has_no_values(func) else hashes((args, kwargs))
            return None if tree_all(lambda x: x is None, found) else {"input_hash": found}

        def of_results(func: Any, types: Any, args: Any, kwargs: Any, result: Any) -> dict[str, Any] | None:
            found = None if has_no_values(func) else hashes(result)
            return None if tree_all(lambda x: x is None, found) else {"hash": found}

        before = _utils._TRITON_INPUT_HASH_FN, _utils._TRITON_OUTPUT_HASH_FN
        _utils._TRITON_INPUT_HASH_FN, _utils._TRITON_OUTPUT_HASH_FN = summary if hash_inputs else before[0], summary
        try:
            with DebugMode.dispatch_hooks(log_hook=of_results, pre_log_hook=of_inputs if hash_inputs else None):
                yield
        finally:
            _utils._TRITON_INPUT_HASH_FN, _utils._TRITON_OUTPUT_HASH_FN = before

    @staticmethod
    @contextmanager
    def _benchmarking_inductor() -> Iterator[None]:
        """A scope whose calls are not written down."""
        before, _utils._IN_INDUCTOR_BENCHMARK = _utils._IN_INDUCTOR_BENCHMARK, True
        try:
            yield
        finally:
            _utils._IN_INDUCTOR_BENCHMARK = before

    @staticmethod
    def check_hash_mismatches(logs1: list[_DebugCall], logs2: list[_DebugCall],
                              compare_inputs: bool = False) -> list[dict[str, Any]]:
        """Where the hashes of two runs under `log_tensor_hashes` differ; the runs have to make the same calls."""
        return mismatches(logs1, logs2, compare_inputs)


def hash_function(choice: Any) -> Callable[[Any], Any]:
    """What `log_tensor_hashes` is asked for, as a function."""
    if callable(choice):
        return choice
    if isinstance(choice, list):
        functions = [hash_function(name) for name in choice]
        return lambda t: tuple([function(t) for function in functions])
    if not isinstance(choice, str):
        raise NotImplementedError("log_tensor_hashes() expected hash_fn to be callable, str, or list[str], but found "
                                  f"{type(choice)}")
    if choice not in ("norm", "hash_tensor"):
        raise AssertionError(f"hash_type must be 'norm' or 'hash_tensor', got {choice!r}")
    return functools.partial(norm_hash_fn if choice == "norm" else hash_tensor_fn, use_scalar=True)


def has_no_values(func: Any) -> bool:
    """Whether a call's result is memory that nobody wrote, or no tensor."""
    return "empty" in str(func) or "profiler" in str(func)


def place_of(call: _DebugCall) -> str | None:
    """The line of the program that made a call, or the forward call of the node that made it."""
    trace = getattr(call, "fwd_stack_trace", None) or getattr(call, "stack_trace", None)
    return _get_user_stack_trace(trace) if trace else None


class Modules(ModuleTracker):
    """Tells a mode which modules are entered and left."""

    def __init__(self, mode: DebugMode) -> None:
        super().__init__()
        self.mode = mode

    def _fw_pre_hook(self, mod: Any, input: Any) -> None:
        self.mode._enter_nn_module_call(self._get_mod_name(mod), "nn.Mod")
        super()._fw_pre_hook(mod, input)

    def _fw_post_hook(self, mod: Any, input: Any, output: Any) -> None:
        super()._fw_post_hook(mod, input, output)
        self.mode._exit_nn_module_call()


class DebugInterpreter(Interpreter):
    """Runs a graph so that the mode that is on sees where its nodes come from.

    >>> gm = torch.fx.symbolic_trace(torch.nn.ReLU())
    >>> with DebugMode() as mode:
    ...     y = DebugInterpreter(gm, "mine").run(torch.ones(2))
    >>> [str(call) for call in mode.logs][0]
    '[mine region (compile)] enter'
    """

    def __init__(self, module: Any, backend: str) -> None:
        super().__init__(module)
        mode = get_active_debug_mode()
        if mode is None:
            raise RuntimeError("No DebugMode is currently active")
        self.mode, self.backend = mode, backend
        self.base_nn_module_stack = list(mode.current_nn_module_stack)
        self.remark("enter")

    def remark(self, what: str) -> None:
        self.mode.operators.append(_AnnotateCall(what, f"{self.backend} region (compile)", self.mode.call_depth))

    def run_node(self, n: Any) -> Any:
        if n.op in ("placeholder", "output"):
            return super().run_node(n)
        if self.mode.record_nn_module:
            self.enter_modules(n.meta.get("nn_module_stack") or {}, n.meta.get("fwd_nn_module_stack") or {})
        if self.mode.record_stack_trace and n.meta.get("stack_trace") is not None:
            with self.mode.set_fx_stack_trace(n.meta["stack_trace"]):
                return super().run_node(n)
        return super().run_node(n)

    def enter_modules(self, forward: dict[str, Any], backward: dict[str, Any]) -> None:
        """Leave and enter modules until the mode is in those of a node."""
        wanted = self.base_nn_module_stack + [path for path, _ in (forward or backward).values()]
        mode = self.mode
        for _ in set(mode.current_nn_module_stack) - set(wanted):
            mode._exit_nn_module_call()
        for path in sorted(set(wanted) - set(mode.current_nn_module_stack)):
            mode._enter_nn_module_call(path, "nn.Mod (compile)" if forward else "nn.Mod (compile bwd)")
        mode.current_nn_module_stack = wanted

    def run(self, *args: Any, **kwargs: Any) -> Any:
        result = super().run(*args)
        while len(self.mode.current_nn_module_stack) > len(self.base_nn_module_stack):
            self.mode._exit_nn_module_call()
        self.remark("exit")
        return result


def get_active_debug_mode() -> DebugMode | None:
    """The outermost DebugMode that is on."""
    return next((mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, DebugMode)), None)
