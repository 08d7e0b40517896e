"""Composite products: matmul with its folding rules, linear, tensordot, multi_dot, bilinear."""
from __future__ import annotations

from typing import Any

from retrograd.core.api import expose
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.hooks import hooks
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import defop
from retrograd.core.state import grad_enabled, tls
from retrograd.core.tensor import FLAG_WRAPPER, FUNCTIONS_BY_NAME, Tensor, new_tensor, operators, wants_grad
from retrograd.ops.create.from_data import Once
from retrograd.ops.linalg.matmul import addmm, bmm, dot, legacy, linalg_cross, mm, mv, trilinear, vdot, words
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import C_NAMES
from retrograd.ops.views import shape as shapes


# ---- matmul
def matmul_tensors(self: Any, other: Any) -> Any:
    """The product of two tensors: of vectors, matrices, or stacks of matrices that broadcast."""
    if not isinstance(other, Tensor):
        raise TypeError(f"unsupported operand type(s) for @: 'Tensor' and '{type(other).__name__}'")
    first, second = self.array.ndim, other.array.ndim
    dispatcher = operators.dispatcher
    if first == 2 and second == 2:
        return dispatcher.binary(mm, self, other)
    if first == 0 or second == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {first}D and {second}D")
    if first == 1 and second == 1:
        return dispatcher.binary(dot, self, other)
    if first == 2 and second == 1:
        return call(mv, [self, other])
    if first == 1 and second == 2:
        return call(mm, [self.unsqueeze(0), other]).squeeze_(0)
    if first == 3 and second == 3:
        rows, columns = self.array.shape[0], other.array.shape[0]
        if rows == 1 and columns != 1 and wants_grad(self):
            return folded(self.squeeze(0), other)
        if columns == 1 and rows != 1 and wants_grad(other):
            return folded(self, other.squeeze(0))
    if should_fold(self, other):
        return folded(self, other)
    return stacked(self, other)


def should_fold(self: Any, other: Any) -> bool:
    """Whether a batch of matrices times a matrix or vector is folded into one large matrix product."""
    larger = self.array.ndim >= other.array.ndim
    big, small = (self, other) if larger else (other, self)
    if not (big.array.ndim >= 3 and small.array.ndim <= 2):
        return False
    if wants_grad(small):
        return True                   # an extra copy now saves a large one in backward
    if self.array.ndim == 2:
        return False
    array = big.array if larger else big.array.swapaxes(-1, -2)
    if array.size == 0:
        return True
    for i in range(array.ndim - 2):   # foldable without a copy?
        if array.strides[i] != array.strides[i + 1] * array.shape[i + 1]:
            return False
    return True


def folded(self: Any, other: Any) -> Any:
    larger = self.array.ndim >= other.array.ndim
    big = self if larger else other.transpose(-2, -1)
    small = other if larger else self.t() if self.array.ndim == 2 else self
    shape = tuple(big.array.shape)
    rows = 1
    for n in shape[:-1]:
        rows *= n
    flat = big.reshape((rows, shape[-1]))
    if small.array.ndim == 1:
        return unsafe_view(call(mv, [flat, small]), shape[:-1])
    made = unsafe_view(operators.dispatcher.binary(mm, flat, small), (*shape[:-1], small.array.shape[1]))
    return made if larger else made.transpose(-2, -1).contiguous()


def unsafe_view(t: Any, shape: Any) -> Any:
    return call(shapes.unsafe_view, [t, shape])


def stacked(self: Any, other: Any) -> Any:
    """Both expanded to the same batch dimensions, then one bmm."""
    first, second = self.array.shape, other.array.shape
    rows = first[-2] if len(first) > 1 else 1
    vector = len(second) == 1
    inner = second[-1] if vector else second[-2]
    batch = broadcast_shape(first[:-2], second[:-2])
    count = 1
    for n in batch:
        count *= n
    left = self.expand((*batch, rows, first[-1])).reshape((count, rows, first[-1]))
    if vector:
        right = other.expand((*batch, inner)).reshape((count, inner)).unsqueeze(2)
        made = operators.dispatcher.binary(bmm, left, right).squeeze(-1)
        return unsafe_view(made, (*batch, rows))
    right = other.expand((*batch, inner, second[-1])).reshape((count, inner, second[-1]))
    shape = (*batch, rows, second[-1]) if len(first) > 1 else (*batch, second[-1])
    return unsafe_view(operators.dispatcher.binary(bmm, left, right), shape)


def broadcast_shape(a: Any, b: Any) -> tuple[int, ...]:
    problem = broadcast_problem(a, b)
    if problem is not None:
        raise RuntimeError(problem)
    size = max(len(a), len(b))
    a, b = (1,) * (size - len(a)) + tuple(a), (1,) * (size - len(b)) + tuple(b)
    return tuple([m if n == 1 else n for n, m in zip(a, b, strict=True)])


matmul = defop("matmul(Tensor self, Tensor other) -> Tensor",
               out="same: result dtype {out} does not match input dtype {value} || same", kernel=matmul_tensors, composite=True,
               autocast="lower", traits=("out_first",),
    doc="""The matrix product; of vectors the inner product, of more than two dimensions a batch of products.
    >>> torch.matmul(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """)
linalg_matmul = defop("linalg_matmul(Tensor self, Tensor other) -> Tensor", kernel=matmul_tensors, composite=True, variants="",
                      out="same")
matmul.prepare()


# ---- linear
def linear_tensors(input: Any, weight: Any, bias: Any) -> Any:
    """input @ weight.T + bias."""
    rank = input.array.ndim
    if rank == 0 or weight.array.ndim == 0:
        name = "matmul" if (input._flags | weight._flags) & FLAG_WRAPPER else "linear"           # matmul under vmap
        raise RuntimeError(f"both arguments to {name} need to be at least 1D, but they are {rank}D and {weight.array.ndim}D")
    if bias is None:
        return matmul_tensors(input, weight.t())
    if bias.array.ndim == 0 and rank != 2:
        return matmul_tensors(input, weight.t()).add_(bias)
    if rank == 2:
        return call(addmm, [bias, input, weight.t(), 1, 1])
    if tls.transforms and not (rank == 3 and input.array.flags.c_contiguous):
        made = matmul_tensors(input, weight.t())
        return made + bias if any([hasattr(t, "randomness") for t in tls.transforms]) else made.add_(bias)
    if input.array.flags.c_contiguous and bias.array.ndim == 1:
        shape = input.array.shape
        rows = 1
        for n in shape[:-1]:
            rows *= n
        made = call(addmm, [bias, input.reshape((rows, shape[-1])), weight.t(), 1, 1])
        return made.view((*shape[:-1], made.array.shape[1]))
    return matmul_tensors(input, weight.t()).add_(bias)


linear = defop("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
               out="same", kernel=linear_tensors, composite=True,
               variants="", autocast="lower")
FUNCTIONS_BY_NAME["linear"] = linear


def bilinear_tensors(input1: Any, input2: Any, weight: Any, bias: Any) -> Any:
    """input1 @ weight[k] @ input2 for every k, plus bias."""
    first, second, sizes = input1.shape, input2.shape, weight.shape
    if input1.dtype is not weight.dtype or input2.dtype is not weight.dtype:
        names = [C_NAMES[t.dtype.name] for t in (input1, input2, weight)]
        raise RuntimeError("All tensors must have the same dtype, got input1: {}, input2: {}, weight: {}".format(*names))
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != sizes[0]):
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {sizes[0]}")
    if len(first) != len(second):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    for i in range(len(first) - 1):
        if first[i] != second[i]:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {first[i]} and {second[i]}")
    for name, size, dim in (("input1", first, 1), ("input2", second, 2)):
        families.wrap_dim(dim, len(sizes), scalar_ok=False)
        families.wrap_dim(-1, len(size), scalar_ok=False)
        if size[-1] != sizes[dim]:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {size[-1]} but expected {sizes[dim]}")
    if len(sizes) != 3:
        raise RuntimeError("number of dimensions must match")
    flat1, flat2 = input1.reshape((-1, first[-1])), input2.reshape((-1, second[-1]))
    made = call(trilinear, [flat1, weight, flat2, (1, 3), (0,), (1, 2), (2, 3), 1]).reshape((*first[:-1], sizes[0]))
    return made if bias is None else made + bias


bilinear = defop("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
                 kernel=bilinear_tensors, composite=True, variants="function", out=False)


# ---- tensordot and related products
def tensordot_tensors(self: Any, other: Any, dims_self: Any, dims_other: Any) -> Any:
    """Sum over pairs of dimensions, as one matrix product."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    a, b = self, other
    left = [families.wrap_dim(d, self.array.ndim) for d in dims_self]
    right = [families.wrap_dim(d, other.array.ndim) for d in dims_other]
    inner = 1
    for k, (i, j) in enumerate(zip(left, right, strict=True)):
        if not (self.array.ndim and other.array.ndim):
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        m, n = a.array.shape[i], b.array.shape[j]
        if n == 1:
            a = a.sum([i], keepdim=True, dtype=a.dtype)
        elif m == 1:
            b = b.sum([j], keepdim=True, dtype=b.dtype)
        elif m != n:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {m} in dim {dims_self[k]} and second "
                               f"has size {n} in dim {dims_other[k]}")
        else:
            inner *= m
    free_left, free_right = free_dims(a, left), free_dims(b, right)
    shape = [a.array.shape[d] for d in free_left] + [b.array.shape[d] for d in free_right]
    rows = columns = 1
    for d in free_left:
        rows *= a.array.shape[d]
    for d in free_right:
        columns *= b.array.shape[d]
    a, b = a.permute([*free_left, *left]), b.permute([*right, *free_right])
    if rows == columns == 1:
        if not (a.is_contiguous() and b.is_contiguous()):
            return (a.squeeze() * b.squeeze()).sum(dtype=a.dtype).reshape(tuple(shape))
        a, b = (t if t.array.ndim == 1 else t.reshape((inner,)) for t in (a, b))
        return call(dot, [a, b]).reshape(tuple(shape))
    return call(mm, [a.reshape((rows, inner)), b.reshape((inner, columns))]).reshape(tuple(shape))


def free_dims(t: Any, taken: Any) -> list[int]:
    seen: set[int] = set()
    for d in taken:
        if d in seen:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        seen.add(d)
    return [d for d in range(t.array.ndim) if d not in seen]


tensordot_op = defop("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
                     kernel=tensordot_tensors, composite=True, variants="")


@expose(method=False)
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Sum over the last `dims` dimensions of `a` and the first of `b`, or over given pairs of dimensions."""
    if isinstance(dims, Tensor):
        if dims.numel() > 1:
            if dims.shape[0] != 2:
                raise AssertionError(f"expected dims tensor to have size 2 in dimension 0, got {dims.shape[0]}")
            pairs: Any = tuple(dims.tolist())
        else:
            pairs = int(dims.item())
    elif isinstance(dims, (tuple, list)) and dims and isinstance(dims[0], Tensor):
        pairs = tuple([d.tolist() for d in dims])
    else:
        pairs = dims
    if isinstance(pairs, int):
        if pairs < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if pairs > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(-pairs, 0)), list(range(pairs))
    else:
        if len(pairs) != 2:
            raise RuntimeError("dims should be an int or a pair of lists of dimensions")
        left, right = (list(p) if isinstance(p, (list, tuple)) else [p] for p in pairs)
    made = tensordot_tensors(a, b, left, right)
    if out is None:
        return made
    if wants_grad(out) and out.array.shape != made.array.shape:
        raise RuntimeError("tensordot(): the 'out' tensor was specified and requires gradients, and its shape does not match "
                           "the expected result. Either remove the 'out' argument, ensure it does not require gradients, or "
                           "make sure its shape matches the expected output.")
    if grad_enabled() and (wants_grad(out) or wants_grad(made)):
        hooks.record_out(out, made, inner.out, "out")
    else:
        hooks.assign_out(out, made, "tensordot", inner.out)
    return out


def inner_tensors(self: Any, other: Any) -> Any:
    """Sum of products over the last dimensions."""
    if self.array.ndim == 0 or other.array.ndim == 0:
        return self * other
    if self.array.shape[-1] != other.array.shape[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(self.array.shape)} and {list(other.array.shape)}")
    a, b = self.array, other.array
    if a.ndim == b.ndim == 2 and a.dtype is b.dtype and len(a) + len(b) > 2 and (
            is_ordinary(self) and is_ordinary(other)) and not (families.will_differentiate(self) or families.will_differentiate(
            other)):
        return call(mm, [self, new_tensor(b.T)]).view((len(a), len(b)))          # equivalent, without the intermediate views
    return tensordot_tensors(self, other, [-1], [-1])


def outer_tensors(self: Any, vec2: Any) -> Any:
    """All products of the elements of two vectors."""
    for name, vec in (("self", self), ("vec2", vec2)):
        if vec.array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vec.array.ndim}-D")
    return self.reshape((self.array.shape[0], 1)) * vec2


inner = defop("inner(Tensor self, Tensor other) -> Tensor",
              out="same: tensordot: Expected the output tensor to have dtype {value}, but got an "
                  "output tensor with dtype {out}",
              kernel=inner_tensors, composite=True, traits=("out_copied",))
outer = defop("outer(Tensor self, Tensor vec2) -> Tensor", kernel=outer_tensors, composite=True,
      doc="""The products of all pairs of elements of two vectors.
      >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
      tensor([[3, 4],
              [6, 8]])
      """)
ger = defop("ger(Tensor self, Tensor vec2) -> Tensor", kernel=outer_tensors, composite=True)


# ---- chains
def multi_dot_tensors(tensors: Any) -> Any:
    """The product of several matrices in the cheapest order."""
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    chain = list(tensors)
    shape: list[int] = []
    for place, name in ((0, "first"), (-1, "last")):
        if chain[place].array.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {chain[place].array.ndim}D")
    if chain[0].array.ndim == 1:
        chain[0] = chain[0].unsqueeze(0)
    else:
        shape.append(chain[0].array.shape[0])
    if chain[-1].array.ndim == 1:
        chain[-1] = chain[-1].unsqueeze(-1)
    else:
        shape.append(chain[-1].array.shape[1])
    for i, t in enumerate(chain):
        if 0 < i < count - 1 and t.array.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.array.ndim}D")
        if t.dtype is not chain[0].dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {words(chain[0].array)} "
                               f"and tensor {i} {words(t.array)}")
    for i in range(count - 1):
        if chain[i].array.shape[1] != chain[i + 1].array.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                               f"{list(tensors[i + 1].shape)} cannot be multiplied")
    return multiply_chain(chain).view(tuple(shape))


def multiply_chain(chain: Any) -> Any:
    count = len(chain)
    if count == 2:
        return call(mm, chain)
    sizes = [chain[0].array.shape[0], *[t.array.shape[1] for t in chain]]
    if count == 3:
        a, b, c, d = sizes
        if a * c * (b + d) <= b * d * (a + c):
            return call(mm, [call(mm, chain[:2]), chain[2]])
        return call(mm, [chain[0], call(mm, chain[1:])])
    splits = cheapest_splits(sizes, count)

    def multiply(i: int, j: int) -> Any:
        if i == j:
            return chain[i]
        k = splits[i, j]
        return call(mm, [multiply(i, k), multiply(k + 1, j)])
    return multiply(0, count - 1)


def cheapest_splits(sizes: Any, count: int) -> dict[tuple[int, int], int]:
    """The split position of each subchain, by dynamic programming."""
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            for k in range(i, j):
                total = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if (i, j) not in cost or total < cost[i, j]:
                    cost[i, j], splits[i, j] = total, k
    return splits


linalg_multi_dot = defop("linalg_multi_dot(Tensor[] tensors) -> Tensor",
                         out="same: multi_dot(): expected out tensor to have dtype {c_value} but got {c_out}",
                         kernel=multi_dot_tensors, composite=True, variants="")
FUNCTIONS_BY_NAME["linalg_multi_dot"] = linalg_multi_dot


@expose(method=False)
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of several matrices in the cheapest order; `linalg.multi_dot` is its newer name."""
    shapes.tensors_only(matrices)
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"chain_matmul(): argument 'out' must be Tensor, not {type(out).__name__}")
    Once.warn("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
              "instead, which accepts a list of two or more tensors rather than multiple parameters.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    made = matrices[0].clone() if len(matrices) == 1 else multi_dot_tensors(matrices)
    if out is None:
        return made
    hooks.assign_out(out, made, "chain_matmul")
    return out


# ---- products of vectors
def cross_tensors(self: Any, other: Any, dim: Any) -> Any:
    """The vector product along one dimension, by default the first of size 3."""
    if dim is None:
        found = [i for i, n in enumerate(self.array.shape) if n == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        Once.warn("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
                  "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in "
                  "a future release.")
        dim = found[0]
    return call(linalg_cross, [self, other, dim])


def vecdot_tensors(x: Any, y: Any, dim: int) -> Any:
    """Sums of products along one dimension, the first factor conjugated."""
    if x.dtype.category < 2:
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {legacy(x.array)}")
    if x.dtype is not y.dtype:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {legacy(x.array)} and "
                           f"y of type {legacy(y.array)} instead")
    if x.ndim == y.ndim == 1:
        return call(vdot, [x, y])
    return (families.conj(x) * y).sum([dim])


cross = defop("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", kernel=cross_tensors, composite=True, out="same",
              traits=("out_apart",),
    doc="""The cross product of vectors of three elements.
    >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """)
linalg_vecdot = defop("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
                      out="same: linalg.vecdot: Expected out of dtype{value} but found {out}",
                      kernel=vecdot_tensors, composite=True,
                      variants="", autocast="lower", traits=("out_first",))
FUNCTIONS_BY_NAME["linalg_vecdot"] = linalg_vecdot
