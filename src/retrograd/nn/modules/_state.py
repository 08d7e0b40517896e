"""The state of modules: `state_dict` and `load_state_dict`, with their hooks and error texts."""
from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

import retrograd as torch
from retrograd import no_grad
from retrograd.nn.modules._hooks import add
from retrograd.nn.parameter import Parameter, is_lazy
from retrograd.overrides import is_tensor_like
from retrograd.utils.hooks import RemovableHandle

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What a state_dict lacked, and had too much."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def swap_in(param: Any, value: Any, assign: bool) -> None:
    """Replace the contents of a parameter or buffer, for all references to it, by the result of its `module_load`."""
    made = param.module_load(value, assign=assign)
    if made is value or made is param:
        raise RuntimeError("module_load returned one of self or other, please .detach() the result if returning one of the "
                           "inputs in module_load")
    if isinstance(param, Parameter):
        if isinstance(made, Parameter):
            made.requires_grad_(param.requires_grad)
        else:
            made = Parameter(made, requires_grad=param.requires_grad)
    torch.utils.swap_tensors(param, made)


class WrappedHook:
    """A load_state_dict pre-hook, called with the module first if it was registered so."""

    def __init__(self, hook: Any, module: Any = None) -> None:
        self.hook, self.module = hook, module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.hook(*args, **kwargs) if self.module is None else self.hook(self.module, *args, **kwargs)


class Stateful:
    """The part of Module that saves and restores state."""

    _version: int
    _modules: dict[str, Any]
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any
    _load_state_dict_pre_hooks: Any
    _load_state_dict_post_hooks: Any

    def get_extra_state(self) -> Any:
        """What a module adds to its state_dict besides tensors; a subclass that has something to add defines it.

        >>> import retrograd as torch
        >>> class Named(torch.nn.Module):
        ...     def get_extra_state(self):
        ...         return {"name": "a"}
        >>> Named().state_dict()["_extra_state"]
        {'name': 'a'}
        """
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called. Please file an issue "
                           "at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")

    def set_extra_state(self, state: Any) -> None:
        """Takes back from a loaded state_dict what `get_extra_state` gave.

        >>> import retrograd as torch
        >>> class Named(torch.nn.Module):
        ...     def get_extra_state(self):
        ...         return self.name
        ...     def set_extra_state(self, state):
        ...         self.name = state
        >>> one, other = Named(), Named()
        >>> one.name = "a"
        >>> other.load_state_dict(one.state_dict())
        <All keys matched successfully>
        >>> other.name
        'a'
        """
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called. Please file an issue "
                           "at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug.")

    # ---- saving
    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered "
                               "via register_state_dict_post_hook")
        return add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it changes the dictionary itself.

        >>> import retrograd as torch
        >>> model = torch.nn.Linear(2, 1)
        >>> def note(module, state_dict, prefix, local_metadata):
        ...     state_dict[prefix + "note"] = "trained"
        >>> handle = model.register_state_dict_post_hook(note)
        >>> model.state_dict()["note"]
        'trained'
        """
        hook._from_public_api = True
        return add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`.

        >>> import retrograd as torch
        >>> model = torch.nn.ReLU()
        >>> handle = model.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving", prefix))
        >>> _ = torch.nn.Sequential(model).state_dict()
        saving 0.
        """
        return add(self._state_dict_pre_hooks, hook)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The module's parameters and persistent buffers by name.

        >>> from retrograd import nn
        >>> list(nn.Sequential(nn.Linear(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead. Refer to https://pytorch.org/docs/main/"
                          "generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.", FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    # ---- loading
    def _register_load_state_dict_pre_hook(self, hook: Any, with_module: bool = False) -> RemovableHandle:
        return add(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading.

        >>> import retrograd as torch
        >>> model = torch.nn.PReLU()
        >>> def renamed(module, state_dict, prefix, *rest):
        ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "slope")
        >>> handle = model.register_load_state_dict_pre_hook(renamed)
        >>> model.load_state_dict({"slope": torch.tensor([0.5])})
        <All keys matched successfully>
        >>> model.weight.item()
        0.5
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists of keys.

        >>> import retrograd as torch
        >>> model = torch.nn.PReLU()
        >>> handle = model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> model.load_state_dict({})
        <All keys matched successfully>
        """
        return add(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        mine = {name: t for name, t in [*self._parameters.items(), *self._buffers.items()]
                if t is not None and name not in self._non_persistent_buffers_set}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in mine.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, *deeper = key[len(prefix):].split(".", 1)
                    if first not in (self._modules if deeper else mine):
                        unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, param: Any, value: Any, assign: bool, error_msgs: list[str]) -> None:
        if not is_tensor_like(value):
            error_msgs.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                              f"checkpoint but received {type(value)}")
            return
        lazy = is_lazy(param)
        if not lazy and len(param.shape) == 0 and len(value.shape) == 1 and value.shape[0] == 1:
            value = value[0]                    # what very old checkpoints have in the place of scalars
        if not lazy and value.shape != param.shape:
            error_msgs.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape "
                              f"in current model is {param.shape}.")
            return
        if param.is_meta and not value.is_meta and not assign:
            warnings.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                          "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                          "dictionary to their corresponding key in the module instead of copying them in "
                          "place?)", stacklevel=2)
        try:
            with no_grad():
                if torch.__future__.get_swap_module_params_on_conversion():
                    swap_in(param, value, assign)
                elif assign:
                    if isinstance(param, Parameter):
                        if isinstance(value, Parameter):
                            value.requires_grad_(param.requires_grad)
                        else:
                            value = Parameter(value, requires_grad=param.requires_grad)
                    setattr(self, name, value)
                else:
                    param.copy_(value)
        except Exception as error:
            shapes = torch.Tensor.size(param), torch.Tensor.size(value)
            error_msgs.append(f'While copying the parameter named "{key}", whose dimensions in the model are {shapes[0]} and '
                              f"whose dimensions in the checkpoint are {shapes[1]}, an exception occurred : {error.args}.")

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy parameters and buffers from `state_dict`, or with `assign` take its tensors themselves.

        >>> from retrograd import nn
        >>> nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        def load(module: Any, local_state: Any, prefix: str = "") -> None:
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(local_state, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs)
            for name, child in module._modules.items():
                if child is not None:
                    inner = prefix + name + "."
                    load(child, {key: value for key, value in local_state.items() if key.startswith(inner)}, inner)
            incompatible = _IncompatibleKeys(missing_keys, unexpected_keys)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                                         "return new values, if incompatible_keys need to be modified, it should be done "
                                         "inplace.")

        load(self, state)
        if strict:
            for kind, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
                if keys:
                    error_msgs.insert(0, f"{kind} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in keys) + ". ")
        if error_msgs:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(error_msgs))
        return _IncompatibleKeys(missing_keys, unexpected_keys)
