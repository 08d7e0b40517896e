"""SparseAdam: Adam for sparse gradients, where only the rows that have a gradient change."""
from __future__ import annotations

import math
from typing import Any

from retrograd import Tensor
from retrograd.optim._rule import Rule, zeros
from retrograd.optim.adagrad import with_values

__all__ = ["SparseAdam"]


class SparseAdam(Rule):
    """Adam for sparse gradients, such as those of `Embedding(sparse=True)`.

    >>> import retrograd as torch
    >>> layer = torch.nn.Embedding(3, 2, sparse=True, _weight=torch.ones(3, 2))
    >>> optimizer = torch.optim.SparseAdam(layer.parameters(), lr=0.5)
    >>> layer(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> layer.weight.detach()
    tensor([[1.0000, 1.0000],
            [0.5000, 0.5000],
            [1.0000, 1.0000]])
    """

    _not_negative = ()
    _no_sparse = None

    _by_lists = False

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 maximize: bool = False) -> None:
        if not (isinstance(lr, Tensor) and lr.numel() != 1) and not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        super().__init__(params, lr=lr, betas=betas, eps=eps, maximize=maximize)
        places = [([i, j], param) for i, group in enumerate(self.param_groups) for j, param in enumerate(group["params"])]
        sparse, complexes = [at for at, p in places if p.is_sparse], [at for at, p in places if p.is_complex()]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complexes:
            raise ValueError(f"Complex params at indices {complexes}: SparseAdam does not support complex parameters")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The count of steps stays a number."""
        super(Rule, self).__setstate__(state)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=0, exp_avg=zeros(param), exp_avg_sq=zeros(param))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        beta1, beta2 = group["betas"]
        state["step"] += 1
        grad = grad.coalesce()
        if grad._values().numel() == 0:
            return

        def averaged(average: Any, values: Any, beta: float) -> Any:
            """Change the average where the gradient has values, and return it there."""
            before = average.sparse_mask(grad)._values()
            change = (values - before).mul_(1 - beta)
            average.add_(with_values(grad, change))
            return change.add_(before)

        mean = averaged(state["exp_avg"], grad._values(), beta1)
        size = averaged(state["exp_avg_sq"], grad._values().pow(2), beta2).sqrt_().add_(group["eps"])
        rate = group["lr"] * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        param.add_(with_values(grad, -rate * mean.div_(size)))


def sparse_adam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], state_steps: list[int], *,
                eps: float, beta1: float, beta2: float, lr: float, maximize: bool) -> None:
    """One step of SparseAdam for lists of tensors; `state_steps` counts this step already."""
    worker = SparseAdam.__new__(SparseAdam)
    settings = dict(lr=lr, betas=(beta1, beta2), eps=eps, maximize=maximize)
    for param, grad, average, squares, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        worker._step_one(param, grad, dict(step=step - 1, exp_avg=average, exp_avg_sq=squares), settings, None)
