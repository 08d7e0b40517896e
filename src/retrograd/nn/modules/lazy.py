"""LazyModuleMixin: a module that learns the shapes of its parameters from its first input."""
from __future__ import annotations

from typing import Any

from retrograd import no_grad
from retrograd.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Goes before the class of a module; that module's `initialize_parameters` gets the first input.

    When all parameters have their shapes, the module becomes one of the class `cls_to_become`.

    >>> import retrograd as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.ones(1, 2))
    >>> layer
    Linear(in_features=2, out_features=3, bias=True)
    """

    cls_to_become: type[Any] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _tensors(self) -> list[tuple[str, Any]]:
        """Parameters and buffers that are there, by name."""
        return [(name, t) for store in (self._parameters, self._buffers) for name, t in store.items() if t is not None]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._tensors():
            if name not in self._non_persistent_buffers_set:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Take the shapes of a state_dict that has them."""
        for name, tensor in self._tensors():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(tensor) and not is_lazy(loaded):
                with no_grad():
                    tensor.materialize(loaded.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes and first values; gets the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether the shape of a parameter or buffer is still unknown.

        >>> import retrograd as torch
        >>> torch.nn.LazyBatchNorm1d().has_uninitialized_params()
        True
        """
        return any([is_lazy(tensor) for _, tensor in self._tensors()])

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        """The forward pre-hook of the first call, which removes itself."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass "
                           "to correctly initialize the modules")
