"""ModuleTracker: which modules run now, forward or backward."""
from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.autograd.graph import current_graph_task_id, register_multi_grad_hook
from retrograd.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from retrograd.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

logger = logging.getLogger(__name__)


class ModuleTracker:
    """Knows in `parents` the paths of all modules that run now, and in `is_bw` whether their backward does.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> with ModuleTracker() as tracker:
    ...     handle = model[0].register_forward_hook(lambda *args: print(sorted(tracker.parents)))
    ...     y = model(torch.ones(1))
    ['Global', 'Sequential']
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known_modules: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._seen_modules: weakref.WeakSet[Any] = weakref.WeakSet()
        self._has_callback = False

    @property
    def is_bw(self) -> bool:
        """Whether the backward of modules runs."""
        return current_graph_task_id() != -1

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._fw_pre_hook),
                         register_module_forward_hook(self._fw_post_hook, always_call=True)]
        return self

    def __exit__(self, *args: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def _get_mod_name(self, mod: Any) -> str:
        """The path of a module, below the first one of its family that ran."""
        if mod not in self._known_modules:
            self._known_modules[mod] = type(mod).__name__
        name = self._known_modules[mod]
        if mod not in self._seen_modules:
            for key, child in mod.named_children():
                self._known_modules[child] = f"{name}.{key}"
                self._get_mod_name(child)
            self._seen_modules.add(mod)
        return name

    def _maybe_set_engine_callback(self) -> None:
        """Forget the modules of a backward pass when it ends."""
        if self._has_callback:
            return

        def callback() -> None:
            self.parents = {"Global"}
            self._has_callback = False
        torch.autograd.Variable._execution_engine.queue_callback(callback)
        self._has_callback = True

    def _get_append_fn(self, name: str, is_bw: bool) -> Callable[..., None]:
        def append(*args: Any) -> None:
            if is_bw:
                self._maybe_set_engine_callback()
            if name in self.parents:
                logger.info("The module hierarchy tracking seems to be broken as this Module was already entered. %s during %s",
                            name, "backward" if is_bw else "forward")
            self.parents.add(name)
        return append

    def _get_pop_fn(self, name: str, is_bw: bool) -> Callable[..., None]:
        def pop(*args: Any) -> None:
            if name not in self.parents:
                logger.info("The Module hierarchy tracking is confused as we're exiting a Module that was never entered. "
                            "%s during %s", name, "backward" if is_bw else "forward")
            self.parents.discard(name)
        return pop

    def _fw_pre_hook(self, mod: Any, input: Any) -> None:
        name = self._get_mod_name(mod)
        self._get_append_fn(name, False)()
        tensors = differentiated(input)
        if tensors:
            register_multi_grad_hook(tensors, self._get_pop_fn(name, True))

    def _fw_post_hook(self, mod: Any, input: Any, output: Any) -> None:
        name = self._get_mod_name(mod)
        self._get_pop_fn(name, False)()
        tensors = differentiated(output)
        if tensors:
            register_multi_grad_hook(tensors, self._get_append_fn(name, True))


def differentiated(values: Any) -> list[Any]:
    """The tensors among values that need a gradient, while gradients are on."""
    return [leaf for leaf in tree_leaves(values)
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad] if torch.is_grad_enabled() else []
