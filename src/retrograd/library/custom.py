"""custom_op: an operator made of one Python function, with its gradient, shapes and batching registered one by one."""
from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from retrograd.autograd.function import Function, run_function
from retrograd.core.function_schema import FunctionSchema, parse_schema
from retrograd.core.modes import is_default
from retrograd.core.storage import owner_of
from retrograd.core.tags import Tag
from retrograd.library import layers, userop
from retrograd.library.arguments import tensors_in
from retrograd.library.infer import as_tags, infer_schema
from retrograd.library.registry import Library, device_keys, split_qualname
from retrograd.transforms.trees import flatten

OPDEFS: dict[str, CustomOpDef] = {}       # by qualified name


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
              device_types: Any = None, schema: str | None = None, tags: Any = None) -> Any:
    """Make a function an operator, which transforms and modes see as one step.

    >>> import numpy as np, retrograd as torch
    >>> @torch.library.custom_op("doc_custom::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() ** 3)
    >>> cube.register_autograd(lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
    ...                        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad
    tensor([12.])
    >>> torch.ops.doc_custom.cube
    <OpOverloadPacket(op='doc_custom.cube')>
    """
    def make(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args, tags=tags) if schema is None else schema
        namespace, opname = split_qualname(name)
        made = CustomOpDef(namespace, opname, text, function, tags)
        if schema is not None:
            declared = {a.name for a in made._opoverload.declared.arguments if a.is_write}
            if mutates_args != "unknown" and set(mutates_args) != declared:
                made._lib._destroy()
                raise ValueError(f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. "
                                 f"The schema suggests that the op mutates {declared}which is different from what was "
                                 "provided to us in `mutates_args`. Please make these consistent.")
        OPDEFS[made._qualname] = made
        made.register_kernel(device_types)(function)
        return made
    return make if fn is None else make(fn)


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
              schema: str | None = None) -> Any:
    """An operator whose function may launch kernels of Triton; without them it is a `custom_op` for all devices.

    >>> import retrograd as torch
    >>> @torch.library.triton_op("doc_triton::double", mutates_args={})
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A kernel of Triton as `triton_op` calls it: the kernel itself.

    >>> wrap_triton(print)
    Traceback (most recent call last):
        ...
    RuntimeError: wrap_triton only works on functions annotated with triton.jit or triton.autotune
    """
    if type(triton_kernel).__name__ not in ("JITFunction", "Autotuner"):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    return triton_kernel


class CustomOpDef:
    """An operator made by `custom_op`: call it like the function, or register more about it.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("doc_opdef::square", mutates_args=())
    ... def square(x: torch.Tensor) -> torch.Tensor:
    ...     return x * x
    >>> square
    <CustomOpDef(doc_opdef::square)>
    >>> square.register_autograd(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
    ...                          setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> square(x).backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Any = None) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._qualname = f"{namespace}::{name}"
        old = OPDEFS.pop(self._qualname, None)
        if old is not None:
            old._lib._destroy()
        self._fake_fn: Any = None
        self._disabled: set[str] = set()
        self._lib: Library = Library(namespace, "FRAGMENT")
        self._tags = as_tags(tags)
        parsed = parse_schema(name + schema)
        if Tag.out not in self._tags:
            refuse_keyword_tensors("custom_op with kwarg-only Tensor args. Please", parsed)
        self._lib.define(name + schema, tags=self._tags)
        op = self._opoverload
        op.bumps = True
        op.generated = generated_function(op, None, None)
        self._lib.impl(name, self._run_fake, "Meta")

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    @property
    def _opoverload(self) -> Any:
        """The op of this name as it is declared now."""
        opname, _, overload = self._name.partition(".")
        return userop.find(self._namespace, opname, overload)

    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._fake_fn is None:
            if self._opoverload.has_known_results():
                return self._opoverload.known_results(args, kwargs)
            raise RuntimeError(f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx "
                               f"tracing to work. Please use `{getattr(self._init_fn, '__name__', self._name)}.register_fake` "
                               "to add an fake impl.")
        return self._fake_fn(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register a function for a device type, several, or (None) all of them."""
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for key in device_keys(device_types):
                checked = self._checked(key, function)
                self._lib.impl(self._name, checked, key, allow_override=True)
            return function
        return register if fn is None else register(fn)

    def _checked(self, key: str, function: Callable[..., Any]) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            if key in self._disabled:
                return self._init_fn(*args, **kwargs)
            result = function(*args, **kwargs)
            promised = next((tag for tag in (Tag.inplace, Tag.out) if tag in self._tags), None)
            if promised is not None:
                expected = self._opoverload.known_results(args, kwargs)
                if result is not expected and not (isinstance(expected, tuple) and isinstance(result, tuple) and (
                        [id(t) for t in result] == [id(t) for t in expected])):
                    what = "first argument" if promised is Tag.inplace else "mutable keyword-only arguments"
                    raise RuntimeError(f"{self._name} (with implementation in {inspect.getmodule(function)}): An operator "
                                       f"tagged with torch.Tag.{promised.name} must return its {what}.")
            elif not self._opoverload.is_view:
                check_aliases(self._name, function, [*args, *kwargs.values()], result)
            return result
        return run

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what the op does to shapes and dtypes: a function that is run on tensors without data."""
        for tag in (Tag.inplace, Tag.out):
            if tag in self._tags:
                warnings.warn(f"The fake registration for {self} is unnecessary. Custom ops tagged with torch.Tag.{tag.name} "
                              "already get an autogenerated fake kernel. The provided fake impl will be used instead.",
                              stacklevel=2)
        self._fake_fn = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Register the gradient: `backward(ctx, *grads)`, and `setup_context(ctx, inputs, output)` to save things for it."""
        check_functional(self._opoverload, self)
        self._opoverload.generated = generated_function(self._opoverload, backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register how the op runs under vmap: `func(info, in_dims, *args)` returns (output, out_dims)."""
        def register(function: Callable[..., Any]) -> None:
            self._opoverload.vmap_rule = function
        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what a dispatch mode or tensor subclass does with the op."""
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._opoverload.dispatch_rules[torch_dispatch_class] = function
            return function
        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Cast floating-point inputs to a dtype while autocast is on."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        device_keys(device_type)
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}")
        if device_type == "cpu":
            self._opoverload.autocast_dtype = cast_inputs

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Within this scope, use or do not use the kernel that was registered for a device type."""
        key = "CPU" if device_type == "cpu" else device_type.upper()
        if key not in self._opoverload.kernels:
            action = "enable" if enabled else "disable"
            logging.getLogger(__name__).warning("Attempted to %s kernel for %s but no kernel was registered for this device "
                                                "type.", action, device_type)
            yield
            return
        was = key in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(key)
        try:
            yield
        finally:
            (self._disabled.add if was else self._disabled.discard)(key)


def check_aliases(name: str, function: Any, given: list[Any], result: Any) -> None:
    """An operator may return neither its inputs nor views of them, nor the same memory twice."""
    seen = {id(owner_of(t.array)) for t in tensors_in(given) if t.array.size}
    for t in tensors_in(result):
        memory = id(owner_of(t.array))
        if t.array.size and memory in seen or any([t is g for g in tensors_in(given)]):
            raise RuntimeError(f"{name} (with implementation in {inspect.getmodule(function)}): The output of this custom "
                               "operator (1) must not also be an input to this custom operator and (2) may not alias any "
                               "inputs to this custom operator or other returns. The most common way to trigger this error "
                               "is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                               "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom "
                               "operator to not return y.")
        seen.add(memory)


def check_functional(op: Any, shown: Any) -> None:
    """Refuse a gradient for an op that writes to its inputs or returns views of them."""
    if Tag.out in op.tags:
        raise RuntimeError(f"Cannot register autograd formula for operator tagged with torch.Tag.out: {shown}. Out variants do "
                           "not support autograd.")
    schema = op.declared
    if schema.is_mutable or not schema.returns or any([a.alias_info is not None for a in schema.returns]):
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {shown} with schema {schema}. "
                           "Please create a functional operator and register an autograd formula for that.")
    refuse_keyword_tensors("register_autograd with kwarg-only Tensor args. In the original definition of the op, please",
                           schema)


def refuse_keyword_tensors(start: str, schema: FunctionSchema) -> None:
    """Refuse a schema with keyword-only tensors, to which no gradient could be returned."""
    if any([a.kwarg_only and a.type.base == "Tensor" for a in schema.arguments]):
        raise NotImplementedError(f"{start} make your tensors not kwarg-only. Got: {schema}")


# ---- the gradient
def generated_function(op: Any, backward: Any, setup_context: Any) -> Any:
    """The custom Function that runs `op` and gives it the gradient that was registered for it."""
    node: Any = type(f"GeneratedBackwardFor_{op.namespace}_{op.opname}_{op.overload}", (Generated,),
                {"user_backward": staticmethod(backward) if backward else None,
                 "user_setup": staticmethod(setup_context) if setup_context else None, "__module__": "torch.autograd.function"})
    node._backward_cls.__module__ = "torch.autograd.function"
    return node


class Generated(Function):
    """A user's op as a node: lists of tensors are spread out, so that each of them has an edge."""

    user_backward: Any = None
    user_setup: Any = None

    @classmethod
    def call(cls, op: Any, args: Any) -> Any:
        """Run the op, recorded."""
        args = list(args)
        lists = [i for i in op.tensor_args if isinstance(args[i], list)]
        flat: list[Any] = []
        for i, value in enumerate(args):
            flat += value if i in lists else [value]
        spread = Spread(op, args, lists)
        calls.stack.append(spread)
        try:
            return spread.gather_result(run_function(cls, tuple(flat), True))
        finally:
            calls.stack.pop()

    @staticmethod
    def forward(*flat: Any) -> Any:
        spread = calls.stack[-1]
        with layers.below_autograd():
            result = layers.below(spread.op, spread.gather(flat))
        return spread.spread_result(result)

    @classmethod
    def setup_context(cls, ctx: Any, inputs: Any, output: Any) -> None:
        spread = ctx._spread = calls.stack[-1]
        ctx.needs_input_grad = tuple(spread.gather(ctx.needs_input_grad))
        if cls.user_setup is None:
            return
        values = spread.gather(inputs)
        params = spread.op.schema.params
        positional = tuple([v for v, p in zip(values, params, strict=True) if not p.kwarg_only])
        keywords = {p.name: v for v, p in zip(values, params, strict=True) if p.kwarg_only}
        result = spread.gather_result(output if isinstance(output, tuple) else (output,))
        if keywords:
            cls.user_setup(ctx=ctx, inputs=positional, keyword_only_inputs=keywords, output=result)
        else:
            cls.user_setup(ctx=ctx, inputs=positional, output=result)

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:
        spread = ctx._spread
        if cls.user_backward is None:
            raise RuntimeError(f"Trying to backward through {spread.op} but no autograd formula was registered. Please use "
                               "register_autograd to add one.")
        result = cls.user_backward(ctx, *spread.gather_grads(grads))
        result = tuple(result) if isinstance(result, (tuple, list)) and not (
            isinstance(result, list) and len(spread.args) == 1 and spread.lists) else (result,)
        params = spread.op.schema.params
        rest = list(zip(params, spread.defaults, strict=True))[len(result):]
        if all([p.kwarg_only or default for p, default in rest]):
            result += (None,) * len(rest)         # keyword-only arguments, and those that were left out, have no gradients
        return spread.spread_grads(result)


class Calls(local):
    """The calls of users' ops that this thread is recording, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Spread] = []


calls = Calls()


class Spread:
    """How the arguments and results of one call lie in the flat ones of its node."""

    def __init__(self, op: Any, args: list[Any], lists: list[int]) -> None:
        self.op, self.lists = op, lists
        self.args = [len(value) if i in lists else None for i, value in enumerate(args)]
        self.results: list[int | None] = []
        self.defaults = [is_default(p, value) for p, value in zip(op.schema.params, args, strict=True)]

    def gather(self, flat: Any) -> list[Any]:
        """Arguments in schema order out of flat ones."""
        items = iter(flat)
        return [next(items) if count is None else [next(items) for _ in range(count)] for count in self.args]

    def spread_result(self, result: Any) -> Any:
        returns = self.op.declared.returns
        values = result if len(returns) > 1 else (result,)
        self.results = [len(v) if isinstance(v, list) else None for v in values]
        return tuple([item for v in values for item in (v if isinstance(v, list) else (v,))])

    def gather_result(self, flat: Any) -> Any:
        made = self.gather_grads(flat)
        returns = self.op.declared.returns
        return None if not returns else made[0] if len(returns) == 1 else tuple(made)

    def gather_grads(self, flat: Any) -> list[Any]:
        """Results, or their gradients, out of flat ones."""
        items = iter(flat)
        return [next(items) if count is None else [next(items) for _ in range(count)] for count in self.results]

    def spread_grads(self, grads: Any) -> tuple[Any, ...]:
        """Flat gradients out of one for each argument."""
        if not self.lists:
            return tuple(grads)
        counts = self.args[:len(grads)]
        if len(grads) < len(self.args) and any([count is not None for count in self.args[len(grads):]]) or any(
                [count is not None and g is not None and not (isinstance(g, (list, tuple)) and len(g) == count)
                 for count, g in zip(counts, grads, strict=False)]):
            inputs = tuple([0 if count is None else [0] * count for count in self.args])
            raise RuntimeError("Expected the return from backward to be of the same structure as the inputs. Got: "
                               f"{flatten(tuple(grads))[1]} (return from backward), {flatten(inputs)[1]} (inputs)")
        flat: list[Any] = []
        for i, count in enumerate(self.args):
            g = grads[i] if i < len(grads) else None
            flat += [g] if count is None else [None] * count if g is None else list(g)
        return tuple(flat)
