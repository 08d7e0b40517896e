"""Attention with functions: one that changes scores, and one that says which keys a query sees, given by blocks.

The functions are called for all positions at once, by `vmap` over batch, head, query and key. Scores are dense here: a
BlockMask carries what is known about blocks, and its function decides for each position.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import retrograd as torch
from retrograd import Tensor

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]

Mask = Callable[[Any, Any, Any, Any], Any]
BLOCK = _DEFAULT_SPARSE_BLOCK_SIZE = 128
WHOLE = 1 << 30          # the size of a block that holds all queries or keys


class AuxRequest(NamedTuple):
    """What flex_attention shall return besides its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What flex_attention returns besides its output."""

    lse: Any = None
    max_scores: Any = None


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Every query sees every key.

    >>> import retrograd as torch
    >>> noop_mask(torch.tensor(0), 0, 0, 0)
    tensor(True)
    """
    return batch.new_ones((), dtype=torch.bool)


def or_masks(*mask_mods: Mask) -> Mask:
    """The mask that holds where any of some masks holds.

    >>> mask = or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k < 1)
    >>> create_mask(mask, 1, 1, 2, 2, device="cpu").int().tolist()
    [[[[1, 0], [1, 1]]]]
    """
    if not all([callable(mask) for mask in mask_mods]):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        made = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            made = made | mask(b, h, q_idx, kv_idx)
        return made
    return or_mask


def and_masks(*mask_mods: Mask) -> Mask:
    """The mask that holds where all of some masks hold.

    >>> mask = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k > 0)
    >>> create_mask(mask, 1, 1, 2, 2, device="cpu").int().tolist()
    [[[[0, 0], [0, 1]]]]
    """
    if not all([callable(mask) for mask in mask_mods]):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        made = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            made = made & mask(b, h, q_idx, kv_idx)
        return made
    return and_mask


def everywhere(function: Any, sizes: tuple[int, ...], *scores: Any) -> Any:
    """Call a function of positions, and of scores if they are given, for all positions."""
    for d in reversed(range(4)):
        places = [0 if place == d else None for place in range(4)]
        function = torch.vmap(function, in_dims=(*[0 for _ in scores], *places), out_dims=0)
    return function(*scores, *[torch.arange(n) for n in sizes])


def create_mask(mod_fn: Mask, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu") -> Any:
    """A mask function as a boolean tensor (B, H, Q_LEN, KV_LEN).

    >>> create_mask(lambda b, h, q, k: q >= k, 1, 1, 2, 3, device="cpu")
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    return everywhere(mod_fn, sizes).expand(sizes)


def ordered(dense: Any) -> tuple[Any, Any]:
    """For each row of blocks how many there are, and their places first."""
    counts = dense.sum(dim=-1).to(torch.int32)
    return counts, torch.argsort(dense.int(), dim=-1, descending=True, stable=True).to(torch.int32)


def dense_of(counts: Any, indices: Any) -> Any:
    """The blocks of `ordered` as ones among zeros."""
    columns = indices.shape[-1]
    used = torch.arange(columns) < counts.unsqueeze(-1)
    return torch.zeros(indices.shape, dtype=torch.int32).scatter_add(-1, indices.long(), used.to(torch.int32))


class BlockMask:
    """Which blocks of queries and keys have something to see, with the function that says it for each position.

    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256, device="cpu")
    >>> mask.shape, mask.sparsity(), mask.to_dense().tolist()
    ((1, 1, 256, 256), 25.0, [[[[1, 0], [1, 1]]]])
    """

    PARTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
             "full_q_num_blocks", "full_q_indices")

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any,
                 full_kv_indices: Any, q_num_blocks: Any, q_indices: Any, full_q_num_blocks: Any, full_q_indices: Any,
                 BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK), mask_mod: Mask = noop_mask) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any = None, full_kv_indices: Any = None,
                       BLOCK_SIZE: Any = BLOCK, mask_mod: Mask | None = None, seq_lengths: tuple[int, int] | None = None,
                       compute_q_blocks: bool = True) -> BlockMask:
        """A mask from the blocks of keys that each block of queries sees, in part or in full."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size: Any = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)

        def transposed(counts: Any, indices: Any) -> tuple[Any, Any]:
            if not compute_q_blocks or counts is None:
                return None, None
            return ordered(dense_of(counts, indices).transpose(-2, -1))

        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        parts = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *transposed(kv_num_blocks, kv_indices),
                 *transposed(full_kv_num_blocks, full_kv_indices))
        return cls(seq_lengths, *parts, size, mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many positions there are."""
        return math.prod(self.shape)

    def to_dense(self) -> Any:
        """A one for each block in which something is seen."""
        made = dense_of(self.kv_num_blocks, self.kv_indices)
        return made if self.full_kv_num_blocks is None else made | dense_of(self.full_kv_num_blocks, self.full_kv_indices)

    def sparsity(self) -> float:
        """The share of positions, in per cent, whose blocks are left out."""
        counts = self.kv_num_blocks if self.full_kv_num_blocks is None else self.kv_num_blocks + self.full_kv_num_blocks
        return 100 * (1 - int(counts.sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches and heads; without the function, which counts from their start."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1) if isinstance(i, int) and i != -1 else slice(i, None) if isinstance(i, int) else i
                      for i in index)
        parts = {name: None if getattr(self, name) is None else getattr(self, name)[index] for name in self.PARTS[:4]}
        made: Any = {"BLOCK_SIZE": self.BLOCK_SIZE, "mask_mod": sliced_mask, "seq_lengths": self.seq_lengths, **parts}
        return BlockMask.from_kv_blocks(**made, compute_q_blocks=self.q_indices is not None)

    def to(self, device: Any) -> BlockMask:
        """The mask on a device."""
        parts = {name: None if getattr(self, name) is None else getattr(self, name).to(device) for name in self.PARTS}
        return BlockMask(self.seq_lengths, **parts, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, the blocks, their sizes and the function; nested as in the constructor with `flatten=False`."""
        parts = (*[getattr(self, name) for name in self.PARTS], None, None, None, None)     # no order of writes in backward
        if flatten:
            return (*self.seq_lengths, *parts, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *parts, self.BLOCK_SIZE, self.mask_mod)

    def to_string(self) -> str:
        """The blocks drawn as text."""
        dense, text = self.to_dense(), ""
        for place in torch.cartesian_prod(*[torch.arange(n) for n in dense.shape[:-2]]).reshape(-1, dense.dim() - 2).tolist():
            rows = dense[tuple(place)].tolist()
            text += f"{tuple(place)}\n" + "\n".join("".join("██" if seen else "  " for seen in row) for row in rows) + "\n\n"
        return text

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().rstrip(chr(10))}\n)"

    def __repr__(self) -> str:
        parts = [f"    {name}={None if getattr(self, name) is None else getattr(self, name).shape},\n" for name in self.PARTS]
        return (f"BlockMask(\n{''.join(parts)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n    "
                f"sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)")


def sliced_mask(*positions: Any) -> Any:
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def create_block_mask(mask_mod: Mask, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
                      BLOCK_SIZE: Any = BLOCK, _compile: bool = False) -> BlockMask:
    """The blocks that a mask function leaves to be computed.

    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256).kv_num_blocks.tolist()
    [[[1, 1]]]
    """
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    mask = torch.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    blocks = mask.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-1, -3))
    full = blocks == rows * columns
    parts = (*ordered((blocks > 0) & ~full), *ordered(full))
    return BlockMask.from_kv_blocks(*parts, (rows, columns), mask_mod, (Q_LEN, KV_LEN))


def _create_empty_block_mask(query: Any, key: Any) -> BlockMask:
    """A mask of one block, in which every query sees every key."""
    return BlockMask.from_kv_blocks(torch.ones([1, 1, 1], dtype=torch.int32, device=query.device),
                                    torch.zeros([1, 1, 1, 1], dtype=torch.int32, device=query.device),
                                    BLOCK_SIZE=WHOLE, seq_lengths=(1, 1))


def check(query: Any, key: Any, value: Any, block_mask: Any, enable_gqa: bool) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError(f"Expect query and key/value to have the same embedding dimension but got E={query.size(-1)} and "
                         f"E={key.size(-1)}.")
    heads, shared = query.size(1), key.size(1)
    if not enable_gqa and heads != shared:
        raise ValueError("Expect query and key/value to have the same number of heads but got "
                         f"Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA.")
    if enable_gqa and heads % shared:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but got "
                         f"Hq={heads} and Hkv={shared}.")
    whole = block_mask is not None and block_mask.BLOCK_SIZE == (WHOLE, WHOLE)
    if block_mask is not None and not whole and block_mask.shape[-2:] != (query.size(-2), key.size(-2)):
        raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.size(-2)} and "
                         f"kv_len={key.size(-2)}. Create a block mask for these lengths.")


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None, block_mask: Any = None,
                   scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: Any = None,
                   *, return_aux: AuxRequest | None = None) -> Any:
    """Attention whose scores go through `score_mod(score, batch, head, query, key)` and are masked by a BlockMask.

    >>> import retrograd as torch
    >>> x = torch.ones(1, 1, 2, 4)
    >>> flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: score + (q - k)).shape
    torch.Size([1, 1, 2, 4])
    """
    check(query, key, value, block_mask, enable_gqa)
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    work = torch.float64 if query.dtype == torch.float64 else torch.float32
    sizes = (*query.shape[:-1], key.size(-2))
    scores = (query.to(work) @ key.to(work).transpose(-2, -1)) * (1.0 / math.sqrt(query.size(-1)) if scale is None else scale)
    if score_mod is not None:
        scores = everywhere(score_mod, sizes, scores)
    if block_mask is not None and block_mask.mask_mod is not noop_mask:
        scores = scores.masked_fill(~everywhere(block_mask.mask_mod, sizes).expand(sizes), -math.inf)
    lse = scores.logsumexp(-1)
    seen = (lse != -math.inf).unsqueeze(-1)
    weights = torch.where(seen, torch.exp(scores - torch.where(seen, lse.unsqueeze(-1), 0.0)), 0.0)
    output = (weights @ value.to(work)).to(query.dtype)
    if return_aux is not None:
        return output, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (output, lse) if return_lse else output
