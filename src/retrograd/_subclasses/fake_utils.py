"""Checks of what fake tensors say against what real ones do."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd._prims_common import compare_tensor_meta
from retrograd.compile.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedOperatorException,
)
from retrograd.utils import _pytree as pytree
from retrograd.utils._python_dispatch import TorchDispatchMode

__all__ = ["CrossRefFakeMode", "output_alias_each_other", "outputs_alias_inputs", "outputs_are_inputs",
           "try_convert_fake_to_real"]


def memories(tree: Any) -> list[int]:
    """The memory of each tensor in a tree that has some."""
    return [t.untyped_storage()._cdata for t in pytree.tree_leaves(tree)
            if isinstance(t, torch.Tensor) and t.layout is torch.strided]


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result shares memory with an operand.

    >>> x = torch.ones(4)
    >>> outputs_alias_inputs(x.view(2, 2), [x]), outputs_alias_inputs(x + 1, [x])
    (True, False)
    """
    return bool(set(memories(outputs)) & set(memories(inputs)))


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result is an operand."""
    given = {id(t) for t in pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)}
    return any([id(t) in given for t in pytree.tree_leaves(outputs) if isinstance(t, torch.Tensor)])


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two results share memory."""
    found = memories(outputs)
    return len(found) != len(set(found))


def try_convert_fake_to_real(ten_list: list[Any]) -> list[Any]:
    """The real tensors that fake ones were made from, where those are still there."""
    made = []
    for t in ten_list:
        kept = t.fake_mode.fake_tensor_converter.tensor_memo.values() if isinstance(t, FakeTensor) else ()
        real = next((ref() for ref, fake in kept if fake is t), None)
        made.append(t if real is None else real)
    return made


class CrossRefFakeMode(TorchDispatchMode):
    """A scope in which every op runs on fake tensors, too; where their results are not like the real ones it raises.

    >>> with CrossRefFakeMode():
    ...     torch.ones(2, 3).t() @ torch.ones(2)
    tensor([2., 2., 2.])
    """

    def __init__(self, ignore_op_fn: Callable[[Any], bool] | None = None, *, check_strides: bool = True,
                 check_aliasing: bool = True, only_check_ops_with_meta: bool = True) -> None:
        self.ignore_op_fn = ignore_op_fn if ignore_op_fn is not None else lambda op: False
        self.check_strides, self.check_aliasing = check_strides, check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        fake: Any = None
        given: Any = None
        checked = func.name() not in RANDOM_SHAPES and not self.ignore_op_fn(func)
        if checked:
            mode = FakeTensorMode()
            given = pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
            try:
                with mode:
                    fake = func(*given[0], **given[1])
            except (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException):
                checked = False
            except NotImplementedError:
                if not self.only_check_ops_with_meta:
                    raise
                checked = False
        real = func(*args, **kwargs)
        if checked:
            self.compare(func, real, (args, kwargs), fake, given)
        return real

    def compare(self, func: Any, real: Any, inputs: Any, fake: Any, given: Any) -> None:
        context = f"comparing the output of {func} on FakeTensor inputs and on real inputs"
        real_leaves, fake_leaves = pytree.tree_leaves(real), pytree.tree_leaves(fake)
        if len(real_leaves) != len(fake_leaves):
            raise MetadataMismatchError(f"{context}: {len(real_leaves)} results, but {len(fake_leaves)} fake ones")
        for a, b in zip(real_leaves, fake_leaves, strict=True):
            if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
                raise MetadataMismatchError(f"{context}: {type(a)} and {type(b)}")
            if isinstance(a, torch.Tensor):
                try:
                    compare_tensor_meta(a, b, check_strides=self.check_strides and a.layout is torch.strided)
                except MetadataMismatchError as error:
                    raise MetadataMismatchError(f"{context}: {error}") from error
        if self.check_aliasing and outputs_are_inputs(real, inputs) != outputs_are_inputs(fake, given):
            raise MetadataMismatchError(f"{context}: just one of them gives back an operand")


RANDOM_SHAPES = ("aten::lift_fresh", "aten::lift", "aten::set_.source_Storage_storage_offset")
