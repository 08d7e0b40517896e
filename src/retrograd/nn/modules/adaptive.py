"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, the rare ones in clusters with smaller projections."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import retrograd as torch
from retrograd.nn import functional as F
from retrograd.nn.modules.container import ModuleList, Sequential
from retrograd.nn.modules.linear import Linear
from retrograd.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of targets and their mean loss; classes are sorted by frequency, and cut into clusters.

    >>> import retrograd as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 10])
    >>> output, loss = layer(torch.ones(3, 16), torch.tensor([0, 7, 19]))
    >>> output.shape, bool(loss > 0)
    (torch.Size([3]), True)
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
                or any([int(cutoff) != cutoff for cutoff in cutoffs])):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
                             "each value is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, width, bias=False, **place),
                                        Linear(width, end - start, bias=False, **place)))

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for into, out in self.tail:
            into.reset_parameters()
            out.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> Any:
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() == 1
        if batched and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs "
                               f"with size {input_.size()}")
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        output, in_head = input.new_zeros(target.size(0)), target.clone()
        known = 0
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            known += rows.numel()
            if i == 0 or rows.numel() == 0:
                continue
            in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
            scores = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
            found = scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, found)
        if known != target.size(0):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{target.min().item()}, {target.max().item()}] were found. ")
        scores = F.log_softmax(self.head(input), dim=1)
        output = output + scores.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return torch.cat(parts, dim=1)

    def log_prob(self, input: Any) -> Any:
        """Log probabilities of all classes.

        >>> import retrograd as torch
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 10])
        >>> torch.allclose(layer.log_prob(torch.ones(3, 16)).exp().sum(1), torch.ones(3))
        True
        """
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """The most probable class of each input, as `log_prob(input).argmax(1)`.

        >>> import retrograd as torch
        >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[4, 10])
        >>> layer.predict(torch.ones(3, 16)).shape
        torch.Size([3])
        """
        head_output = self.head(input)
        best = torch.argmax(head_output, dim=1)
        rare = best >= self.shortlist_size              # only these need the clusters
        if rare.any():
            best[rare] = torch.argmax(self._get_full_log_prob(input[rare], head_output[rare]), dim=1)
        return best
