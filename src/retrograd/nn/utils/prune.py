"""Pruning: parameters multiplied by a mask of zeros and ones before every forward.

A pruned parameter `weight` is kept as `weight_orig`, its mask is the buffer `weight_mask`, and a forward pre-hook sets
`weight` to their product. Pruning again works on what the mask has left.
"""
from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import retrograd as torch
from retrograd.nn.utils.convert_parameters import parameters_to_vector

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]


class BasePruningMethod(ABC):
    """The base of pruning methods; a subclass defines `compute_mask` and `PRUNING_TYPE`.

    >>> import retrograd as torch
    >>> from retrograd.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(3, 1)
    >>> _ = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0.]])
    """

    _tensor_name: Any
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for the tensor (or the scores) `t`; zeros of `default_mask` stay zeros."""

    def apply_mask(self, module: Any) -> Any:
        """The parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter `name` of a module."""
        earlier = [(key, hook) for key, hook in module._forward_pre_hooks.items()
                   if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        if len(earlier) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                                 "PruningContainer.")
        for key, _ in earlier:
            del module._forward_pre_hooks[key]
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier:
            before = earlier[0][1]
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{importance_scores.shape} vs {original.shape}")
        if earlier:
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=torch.contiguous_format)
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = torch.ones_like(original)
        try:
            module.register_buffer(name + "_mask", method.compute_mask(importance_scores, default_mask=default_mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not earlier:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor times the mask for it; nothing else changes."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t, got "
                                 f"{importance_scores.shape} vs {t.shape}")
        default_mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned value the parameter's own."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter; each new one works on what the mask before has left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one at the end."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                             f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask before, with the newest method applied to the entries or channels that it left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        where: Any
        if method.PRUNING_TYPE == "unstructured":
            where = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
            rank = t.dim()
            dim = method.dim + rank if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {rank}")
            where = at(rank, dim, default_mask.sum(dim=[d for d in range(rank) if d != dim]) != 0)
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        part = method.compute_mask(t[where], default_mask=default_mask[where])
        mask[where] = part.to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes a mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask

    @classmethod
    def apply(cls, module: Any, name: str) -> Any:  # type: ignore[override]
        return super().apply(module, name)


class Amount(BasePruningMethod):
    """The base of methods that prune a number, or a share, of entries or channels."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount: Any = amount

    def _count(self, size: int) -> int:
        """How many of `size` go."""
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class Unstructured(Amount):
    """The base of methods that prune the entries with the lowest scores."""

    PRUNING_TYPE = "unstructured"
    lowest: Callable[[Any, int], Any]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            mask.view(-1)[self.lowest(t, count)] = 0
        return mask


class RandomUnstructured(Unstructured):
    """Prunes entries at random."""

    def lowest(self, t: Any, count: int) -> Any:
        return torch.topk(torch.rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(Unstructured):
    """Prunes the entries with the smallest absolute values."""

    def lowest(self, t: Any, count: int) -> Any:
        return torch.topk(torch.abs(t).view(-1), k=count, largest=False).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class Structured(Amount):
    """The base of methods that prune whole channels along `dim`."""

    PRUNING_TYPE = "structured"
    kept: Callable[[Any, int, int], Any]

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = self._count(size)
        if count == 0:
            return default_mask
        mask = torch.zeros_like(t)
        mask[at(t.dim(), self.dim, self.kept(t, size, count))] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(Structured):
    """Prunes channels at random."""

    def kept(self, t: Any, size: int, count: int) -> Any:
        scores = torch.rand(size)
        return scores > torch.kthvalue(scores, k=count).values

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, dim: int = -1) -> Any:  # type: ignore[override]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(Structured):
    """Prunes the channels with the smallest n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def kept(self, t: Any, size: int, count: int) -> Any:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return torch.topk(torch.norm(t, p=self.n, dim=others), k=size - count, largest=True).indices

    @classmethod
    def apply(cls, module: Any, name: str, amount: Any, n: Any, dim: int,  # type: ignore[override]
              importance_scores: Any = None) -> Any:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Any, name: str, mask: Any) -> Any:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


def at(rank: int, dim: int, index: Any) -> tuple[Any, ...]:
    """An index of all dimensions that selects along one."""
    where: list[Any] = [slice(None)] * rank
    where[dim] = index
    return tuple(where)


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones.

    >>> import retrograd as torch
    >>> torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "weight").weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune a number (int) or share (float) of entries at random.

    >>> import retrograd as torch
    >>> torch.nn.utils.prune.random_unstructured(torch.nn.Linear(4, 1), "weight", 0.5).weight_mask.sum()
    tensor(2.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the entries with the smallest absolute values, or scores.

    >>> import retrograd as torch
    >>> layer = torch.nn.Linear(3, 1)
    >>> layer.weight.data = torch.tensor([[1.0, -3.0, 2.0]])
    >>> torch.nn.utils.prune.l1_unstructured(layer, "weight", 1).weight_mask
    tensor([[0., 1., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune whole channels at random.

    >>> import retrograd as torch
    >>> torch.nn.utils.prune.random_structured(torch.nn.Linear(2, 3), "weight", 1, dim=0).weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels with the smallest n-norm.

    >>> import retrograd as torch
    >>> layer = torch.nn.Linear(1, 3)
    >>> layer.weight.data = torch.tensor([[1.0], [-3.0], [2.0]])
    >>> torch.nn.utils.prune.ln_structured(layer, "weight", 1, n=2, dim=0).weight_mask.T
    tensor([[0., 1., 1.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune entries of several parameters, given as (module, name), that compete with one another.

    >>> import retrograd as torch
    >>> from retrograd.nn.utils import prune
    >>> a, b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    >>> a.weight.data, b.weight.data = torch.tensor([[1.0]]), torch.tensor([[2.0]])
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=1)
    >>> a.weight_mask, b.weight_mask
    (tensor([[0.]]), tensor([[1.]]))
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    all_scores = parameters_to_vector([scores.get((m, name), getattr(m, name)) for m, name in parameters])
    all_masks = parameters_to_vector([getattr(m, name + "_mask", torch.ones_like(getattr(m, name)))
                                      for m, name in parameters])
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} '
                        f"of type {method.PRUNING_TYPE}")
    method._tensor_name = "temp"
    mask, start = PruningContainer(method).compute_mask(all_scores, all_masks), 0
    for module, name in parameters:
        parameter = getattr(module, name)
        custom_from_mask(module, name, mask=mask[start:start + parameter.numel()].view_as(parameter))
        start += parameter.numel()


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune by a mask that is given.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(2, 1), "weight", torch.tensor([[0, 1]]))
    >>> layer.weight.count_nonzero()
    tensor(1)
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Any, name: str) -> Any:
    """Make the pruned value the parameter's own; the zeros stay.

    >>> import retrograd as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 1), "weight", 1)
    >>> [name for name, _ in torch.nn.utils.prune.remove(layer, "weight").named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether any part of a module is pruned.

    >>> import retrograd as torch
    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(2, 1))
    False
    """
    hooks = [hook for part in module.modules() for hook in part._forward_pre_hooks.values()]
    return any([isinstance(hook, BasePruningMethod) for hook in hooks])


# ---- checks and counts, under the names that PyTorch has for them
def _validate_pruning_amount_init(amount: Any) -> None:
    """Refuse amounts that are neither a share nor a count."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Refuse counts beyond what there is."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of `tensor_size` an amount means."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_structured_pruning(t: Any) -> None:
    """Refuse tensors that have no channels."""
    if t.dim() <= 1:
        raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                         f"{t.shape} with {t.dim()} dims")


def _validate_pruning_dim(t: Any, dim: int) -> None:
    """Refuse dimensions that the tensor does not have."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    """The norms of order `n` of the channels along `dim`."""
    return torch.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])
