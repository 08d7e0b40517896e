"""Modules as functions of their parameters in the older form: `make_functional` and its relatives."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from retrograd import Tensor, nn, stack

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init",
           "functional_init_with_buffers", "make_functional", "make_functional_with_buffers"]

NamesMap = dict[str, list[str]]


def create_names_map(named_params: Any, tied_named_params: Any) -> NamesMap:
    """The names of every tensor: its first one, and all those that are tied to it."""
    named, tied = dict(named_params), dict(tied_named_params)
    if not set(named) <= set(tied):
        raise AssertionError("tied names must contain the names of all tensors")
    first = {id(t): name for name, t in named.items()}
    found: NamesMap = {name: [] for name in named}
    for name, t in tied.items():
        found[first[id(t)]].append(name)
    return found


def holder_of(mod: Any, name: str) -> tuple[Any, str]:
    """The submodule that a dotted name leads to, and the last part of the name."""
    *path, last = name.split(".")
    for part in path:
        mod = getattr(mod, part)
    return mod, last


def set_tensor(mod: Any, name: str, value: Any) -> None:
    """Put a tensor where a parameter or buffer was, whatever it is."""
    owner, last = holder_of(mod, name)
    if last in owner._parameters:
        del owner._parameters[last]
    elif last in owner._buffers:
        del owner._buffers[last]
    else:
        owner.__dict__.pop(last, None)
    setattr(owner, last, value)


def swap(mod: Any, names_map: NamesMap, values: Iterable[Any]) -> list[Any]:
    """Put tensors in the places of others; return those."""
    before = []
    for names, value in zip(names_map.values(), values, strict=False):
        for i, name in enumerate(names):
            owner, last = holder_of(mod, name)
            if i == 0:
                before.append(getattr(owner, last))
            set_tensor(mod, name, value)
    return before


def extract(mod: Any, named: list[tuple[str, Any]], tied: list[tuple[str, Any]], placeholder: Callable[[Any], Any],
            ) -> tuple[tuple[Any, ...], tuple[str, ...], NamesMap]:
    """Take tensors out of a module, which keeps tensors without data in their places."""
    names_map = create_names_map(named, tied)
    for names, (_, t) in zip(names_map.values(), named, strict=True):
        empty = placeholder(t)
        for name in names:
            set_tensor(mod, name, empty)
    return tuple(t for _, t in named), tuple(name for name, _ in named), names_map


def extract_weights(mod: nn.Module) -> tuple[tuple[Any, ...], tuple[str, ...], NamesMap]:
    """Take the parameters out of a module: they, their names and their tied names."""
    return extract(mod, list(mod.named_parameters()), list(mod.named_parameters(remove_duplicate=False)),
                   lambda p: nn.Parameter(p.detach().to("meta"), requires_grad=p.requires_grad))


def extract_buffers(mod: nn.Module) -> tuple[tuple[Any, ...], tuple[str, ...], NamesMap]:
    """Take the buffers out of a module: they, their names and their tied names."""
    return extract(mod, list(mod.named_buffers()), list(mod.named_buffers(remove_duplicate=False)),
                   lambda b: b.detach().to("meta"))


def load_weights(mod: nn.Module, names: Sequence[str], params: Sequence[Tensor], as_params: bool = False) -> None:
    """Put tensors in the places of parameters."""
    for name, p in zip(names, params, strict=False):
        set_tensor(mod, name, nn.Parameter(p) if as_params else p)


def load_buffers(mod: nn.Module, names: Sequence[str], buffers: Sequence[Tensor], as_params: bool = False) -> None:
    """Put tensors in the places of buffers."""
    for name, p in zip(names, buffers, strict=False):
        set_tensor(mod, name, p)


class FunctionalModule(nn.Module):
    """A module whose parameters are its first argument."""

    def __init__(self, stateless_model: nn.Module, param_names: tuple[str, ...], names_map: NamesMap) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.names_map = names_map

    @staticmethod
    def _create_from(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...]]:
        model_copy = copy.deepcopy(model)
        params, names, names_map = extract_weights(model_copy)
        if disable_autograd_tracking:
            for param in params:
                param.requires_grad_(False)
        return FunctionalModule(model_copy, names, names_map), params

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        old = swap(self.stateless_model, self.names_map, params)
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            swap(self.stateless_model, self.names_map, old)


class FunctionalModuleWithBuffers(nn.Module):
    """A module whose parameters and buffers are its first two arguments."""

    def __init__(self, stateless_model: nn.Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...],
                 param_names_map: NamesMap, buffer_names_map: NamesMap) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.buffer_names = buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(model: nn.Module, disable_autograd_tracking: bool = False,
                     ) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
        model_copy = copy.deepcopy(model)
        params, param_names, param_names_map = extract_weights(model_copy)
        buffers, buffer_names, buffer_names_map = extract_buffers(model_copy)
        if disable_autograd_tracking:
            for param in params:
                param.requires_grad_(False)
        return (FunctionalModuleWithBuffers(model_copy, param_names, buffer_names, param_names_map, buffer_names_map), params,
                buffers)

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any,  # type: ignore[override]
                **kwargs: Any) -> Any:
        old = swap(self.stateless_model, self.all_names_map, (*params, *buffers))
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            swap(self.stateless_model, self.all_names_map, old)


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Any, ...]]:
    """A function of a module's parameters and arguments, and the parameters; the module must have no buffers.

    >>> import retrograd as torch
    >>> function, parameters = make_functional(torch.nn.Linear(2, 1))
    >>> function([torch.ones(1, 2), torch.zeros(1)], torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) "
                           "instead.")
    made: tuple[Any, tuple[Any, ...]] = FunctionalModule._create_from(
        model, disable_autograd_tracking=disable_autograd_tracking)
    return made


def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False,
                                 ) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """A function of a module's parameters, buffers and arguments, and both kinds of tensors.

    >>> import retrograd as torch
    >>> function, parameters, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2))
    >>> len(parameters), len(buffers)
    (2, 3)
    """
    made: tuple[Any, tuple[Any, ...], tuple[Any, ...]] = FunctionalModuleWithBuffers._create_from(
        model, disable_autograd_tracking=disable_autograd_tracking)
    return made


def transpose_stack(tuple_of_tuple_of_tensors: Any) -> tuple[Any, ...]:
    """The first tensors of all tuples stacked, then the second ones, and so on."""
    return tuple(stack(shards).detach() for shards in zip(*tuple_of_tuple_of_tensors, strict=False))


def combine_state_for_ensemble(models: Sequence[nn.Module]) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """One function for several modules of one kind, and their parameters and buffers stacked: for `vmap` over the modules.

    >>> import retrograd as torch
    >>> function, parameters, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters[0].shape
    torch.Size([4, 3, 2])
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all([m.training for m in models]) or all([not m.training for m in models])):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if not all([type(m) is type(models[0]) for m in models]):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    funcs, params, buffers = zip(*[make_functional_with_buffers(model) for model in models], strict=True)
    return funcs[0], transpose_stack(params), transpose_stack(buffers)


# ---- modules made from scratch
def functional_init(model_class: Callable[..., Any], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu",
                    ) -> Callable[..., Any]:
    """A function that makes modules: their stacked parameters, the function of one, and the names of the parameters."""
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            function, weights = make_functional(model_class(*args, **kwargs).to(device))
            return weights, function, function.param_names
        if ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0])]
        function, _ = make_functional(model_class(*args, **kwargs))
        weights = transpose_stack([tuple(model.parameters()) for model in models])
        return weights, as_function(function), function.param_names
    return wrapped


def functional_init_with_buffers(model_class: Callable[..., Any], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu",
                                 ) -> Callable[..., Any]:
    """`functional_init` of modules with buffers."""
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            function, weights, buffers = make_functional_with_buffers(model_class(*args, **kwargs).to(device))
            return weights, buffers, function, function.param_names, function.buffer_names
        if ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0])]
        function, _, _ = make_functional_with_buffers(model_class(*args, **kwargs))
        weights = transpose_stack([tuple(model.parameters()) for model in models])
        buffers = transpose_stack([tuple(model.buffers()) for model in models])
        return weights, buffers, as_function(function), function.param_names, function.buffer_names
    return wrapped


def as_function(module: Any) -> Callable[..., Any]:
    def fun(*args: Any) -> Any:
        *state, data = args
        return module(*state, *data) if isinstance(data, tuple) else module(*state, data)
    return fun


def raise_parameter_tying_error() -> NoReturn:
    """Say that tied parameters are refused."""
    raise RuntimeError("make_functional(module): we don't yet support models that do parameter tying (also sometimes known as "
                       "weight sharing). Please try to rewrite your model by replacing all instances of the tied parameter "
                       "with another and/or comment your support in https://github.com/pytorch/functorch/issues/446")
