"""Modules as functions of their parameters: `functional_call`, `stack_module_state`, and batch norms without running
statistics."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.ops import late

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """Call a module with other parameters and buffers; the module itself is unchanged. A buffer that the call reassigns is
    stored in the dict it came from.

    >>> import retrograd as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> functional_call(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    given = merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, given, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of several modules of one structure, stacked by name, for `vmap` over the modules.

    >>> import retrograd as torch
    >>> parameters, buffers = stack_module_state([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all([m.training for m in models]) or all([not m.training for m in models])):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all([type(m) is type(models[0]) for m in models]):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return ({name: stacked(name, [p[name] for p in parameters]) for name in parameters[0]},
            {name: stacked(name, [b[name] for b in buffers]) for name in buffers[0]})


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Remove the running statistics of the batch norms in a module, which `vmap` cannot write; return the module.

    >>> import retrograd as torch
    >>> layers = replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    >>> list(layers.buffers())
    []
    """
    for module in root.modules():
        forget_statistics(module)
    return root


def forget_statistics(module: Any) -> None:
    """Remove the running statistics of a module if it is a batch norm."""
    # by name, since transforms do not import modules
    if "_BatchNorm" in [kind.__name__ for kind in type(module).__mro__] and module.track_running_stats:
        module.running_mean = module.running_var = module.num_batches_tracked = None
        module.track_running_stats = False


# ---- parts
def stacked(name: str, tensors: Sequence[Any]) -> Any:
    wants = tensors[0].requires_grad
    if any([t.requires_grad != wants for t in tensors]):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    made = late.stack(list(tensors))
    return made.detach().requires_grad_() if wants else made


def merged(dicts: Any) -> Any:
    """The dict of all tensors to replace."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(dicts)}")
    if not all([isinstance(d, dict) for d in dicts]):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = list(dict.fromkeys([name for i, name in enumerate(names) if name in names[:i]]))
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for d in dicts for name, value in d.items()}


@contextmanager
def replaced(module: Any, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Replace tensors of the module within this scope."""
    values = with_tied(module, given) if tie_weights else dict(given)
    if strict:
        check_names(module, values)
    before: list[tuple[Any, str, str, Any]] = []
    try:
        for name, value in values.items():
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            before.append(put(module, name, value))
        yield
    finally:
        for (owner, key, store, old), name in reversed(list(zip(before, values, strict=False))):
            if name in given:
                now = getattr(owner, key)
                if now is not given[name]:
                    given[name] = now
            restore(owner, key, store, old)


def put(module: Any, name: str, value: Any) -> tuple[Any, str, str, Any]:
    """Replace one tensor; return what `restore` needs to undo that."""
    *path, key = name.split(".")
    owner = module
    for part in path:
        found = owner._modules.get(part)
        if found is None:
            if hasattr(owner, part):
                raise TypeError(f"submodule `{part}`: {getattr(owner, part)} is not an instance of torch.nn.Module")
            raise AttributeError(f"{type(owner).__name__} has no attribute `{part}`")
        owner = found
    if key == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for store in ("_parameters", "_buffers"):
        kept = getattr(owner, store)
        if key in kept:
            old = kept[key]
            kept[key] = value             # bypasses the checks: a lifted or batched tensor is not a Parameter
            return owner, key, store, old
    old = owner.__dict__.get(key)
    if old is not None and not isinstance(old, Tensor):
        raise TypeError(f"attribute `{key}`: {old} is not an instance of torch.Tensor")
    owner.__dict__[key] = value
    return owner, key, "__dict__", old


def restore(owner: Any, key: str, store: str, old: Any) -> None:
    kept = getattr(owner, store)
    if store == "__dict__" and old is None:
        kept.pop(key, None)
    else:
        kept[key] = old


def named_tensors(module: Any) -> list[tuple[str, Any]]:
    return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]


def with_tied(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The given tensors, repeated under the other names of tied tensors."""
    names: dict[int, list[str]] = {}
    for name, t in named_tensors(module):
        names.setdefault(id(t), []).append(name)
    values = dict(given)
    for tied in names.values():
        present = [name for name in tied if name in given]
        if len({id(given[name]) for name in present}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(present)}, which are tied. Consider using "
                             "tie_weights=False")
        if present:
            for name in tied:
                values[name] = given[present[0]]
    return values


def check_names(module: Any, values: dict[str, Any]) -> None:
    own = {name for name, _ in named_tensors(module)}
    unexpected, absent = sorted(set(values) - own), sorted(own - set(values))
    if unexpected or absent:
        text = f"Error(s) in reparametrizing for {type(module).__name__}:"
        if unexpected:
            text += "\n\tUnexpected key(s): " + ", ".join(map(repr, unexpected)) + "."
        if absent:
            text += "\n\tMissing key(s): " + ", ".join(map(repr, absent)) + "."
        raise RuntimeError(text)
