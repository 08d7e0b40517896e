"""The docstrings of generated functions: the signatures from the schemas and, for common functions, a sentence and an
example.

A docstring is built together with its function, on the first use of the name (see NOTE [Names bound on first use] in api.py).
"""
from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from retrograd.core.schema import REQUIRED

if TYPE_CHECKING:
    from retrograd.core.opdef import Packet
    from retrograd.core.schema import Schema

found: dict[str, tuple[str, str]] = {}        # name -> (sentence, example as lines)


def described(name: str) -> tuple[str, str]:
    """The sentence and the example of a function, empty if it has none."""
    if not found:
        read = {}
        for block in TEXTS.strip().split("\n\n"):
            sentence, code, result = block.split("\n", 2)
            key, _, sentence = sentence.partition(": ")
            read[key] = sentence, f">>> import retrograd as torch\n>>> {code}\n{result}"
        found.update(read)        # one update: another thread may be reading
    return found.get(name, ("", ""))


def signature(name: str, schema: Schema, is_method: bool, has_out: bool) -> str:
    """A schema as a call in Python."""
    parts, keywords = [], False
    for i, p in enumerate(schema.params):
        if p.writes and p.kwarg_only:
            continue
        if i == 0 and is_method:
            continue
        if p.kwarg_only and not keywords:
            parts.append("*")
            keywords = True
        shown = "input" if p.name == "self" and i == 0 else p.name
        parts.append(shown if p.default is REQUIRED else f"{shown}={p.default!r}")
    if has_out:
        parts += ["out=None"] if keywords else ["*", "out=None"]
    results = [(r.type + "[]" if r.is_list else r.type) + (f" {r.name}" if r.name else "") for r in schema.returns]
    return f"{name}({', '.join(parts)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


def documentation(packet: Packet, name: str, is_method: bool) -> str:
    """The docstring of a function or method made from ops."""
    outs = {op.functional for op in packet.overloads_ if op.functional is not None and op.schema.is_out}
    lines = dict.fromkeys([signature(name, op.schema, is_method, not is_method and op in outs) for op in packet.overloads_
                           if not op.schema.is_out])
    sentence, example = described(name)
    parts = ["\n".join(lines), sentence, "" if is_method else example]
    return "\n\n".join([p for p in parts if p])


def add_example(name: str, function: Any) -> None:
    """Add the example to the docstring of a hand-written function that lacks one."""
    sentence, example = described(name)
    text = function.__doc__
    if example and not (text and ">>>" in text):
        function.__doc__ = f"{cleandoc(text) if text else sentence}\n\n{example}"


TEXTS = """
abs: The magnitude of each element.
torch.abs(torch.tensor([-1.0, 2.0]))
tensor([1., 2.])

acos: The inverse cosine of each element.
torch.acos(torch.tensor([0.0, 1.0]))
tensor([1.5708, 0.0000])

add: The sum of two tensors, the second one times `alpha`.
torch.add(torch.tensor([1.0, 2.0]), 10, alpha=2)
tensor([21., 22.])

addmm: A matrix product, times `alpha`, plus `beta` times the first argument.
torch.addmm(torch.ones(2), torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[2., 3.],
        [4., 5.]])

all: Whether all elements are true, of the whole or along `dim`.
torch.all(torch.tensor([[True, False], [True, True]]), dim=1)
tensor([False,  True])

allclose: Whether two tensors are equal up to tolerances.
torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
True

amax: The largest elements along dimensions; gradients are shared among equals.
torch.amax(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
tensor([5., 3.])

amin: The smallest elements along dimensions; gradients are shared among equals.
torch.amin(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
tensor([1., 2.])

any: Whether any element is true, of the whole or along `dim`.
torch.any(torch.tensor([False, True]))
tensor(True)

arange: Evenly spaced numbers from `start` up to, and without, `end`.
torch.arange(1, 7, 2)
tensor([1, 3, 5])

argmax: The index of the largest element, of the whole or along `dim`.
torch.argmax(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
tensor([1, 0])

argmin: The index of the smallest element, of the whole or along `dim`.
torch.argmin(torch.tensor([3.0, 1.0, 2.0]))
tensor(1)

argsort: The indices that would sort the elements.
torch.argsort(torch.tensor([3.0, 1.0, 2.0]))
tensor([1, 2, 0])

asin: The inverse sine of each element.
torch.asin(torch.tensor([0.0, 1.0]))
tensor([0.0000, 1.5708])

atan: The inverse tangent of each element.
torch.atan(torch.tensor([0.0, 1.0]))
tensor([0.0000, 0.7854])

atan2: The angle of the point (other, input) for each pair of elements.
torch.atan2(torch.tensor([1.0]), torch.tensor([-1.0]))
tensor([2.3562])

baddbmm: A batch of matrix products, times `alpha`, plus `beta` times the first argument.
torch.baddbmm(torch.ones(1, 1, 1), torch.full((1, 1, 1), 2.0), torch.full((1, 1, 1), 3.0)).item()
7.0

bernoulli: Zeros and ones, drawn with the given probabilities of one.
torch.bernoulli(torch.tensor([0.0, 1.0]))
tensor([0., 1.])

bincount: How often each of 0, 1, 2, ... occurs.
torch.bincount(torch.tensor([0, 2, 2]))
tensor([1, 0, 2])

bmm: Matrix products of a batch.
torch.bmm(torch.ones(3, 2, 4), torch.ones(3, 4, 5)).shape
torch.Size([3, 2, 5])

broadcast_to: A view of a larger shape, in which elements are repeated.
torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
tensor([[1, 2],
        [1, 2]])

bucketize: The index of the bucket between `boundaries` that each element falls into.
torch.bucketize(torch.tensor([0.5, 2.5]), torch.tensor([1.0, 2.0]))
tensor([0, 2])

cat: Tensors joined along a dimension that they have.
torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
tensor([1, 2, 3])

cdist: The distance of each row of the one to each row of the other.
torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
tensor([[5., 1.]])

ceil: The least integer that is not below each element.
torch.ceil(torch.tensor([0.2, -0.2]))
tensor([1., -0.])

chunk: A number of views of equal size along a dimension; the last may be smaller.
torch.chunk(torch.arange(5), 2)
(tensor([0, 1, 2]), tensor([3, 4]))

clamp: Each element, or the bound that it is beyond.
torch.clamp(torch.tensor([-3.0, 0.5, 3.0]), min=-1, max=1)
tensor([-1.0000,  0.5000,  1.0000])

clone: A copy, through which gradients flow.
torch.clone(torch.tensor([1.0]))
tensor([1.])

conv2d: The sums of products of a kernel and what it sees as it slides over images.
torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3)).item()
9.0

cos: The cosine of each element.
torch.cos(torch.tensor([0.0, 1.0]))
tensor([1.0000, 0.5403])

cosh: The hyperbolic cosine of each element.
torch.cosh(torch.tensor([0.0, 1.0]))
tensor([1.0000, 1.5431])

count_nonzero: How many elements are not zero.
torch.count_nonzero(torch.tensor([0, 2, 3]))
tensor(2)

cross: The cross product of vectors of three elements.
torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), dim=0)
tensor([0., 0., 1.])

cummax: The largest element so far along `dim`, and its index.
torch.cummax(torch.tensor([1, 3, 2]), 0).values
tensor([1, 3, 3])

cumprod: The product of all elements so far along `dim`.
torch.cumprod(torch.tensor([1, 2, 3]), 0)
tensor([1, 2, 6])

cumsum: The sum of all elements so far along `dim`.
torch.cumsum(torch.tensor([1, 2, 3]), 0)
tensor([1, 3, 6])

diag: A matrix with the given diagonal, or the diagonal of a matrix.
torch.diag(torch.tensor([1, 2]))
tensor([[1, 0],
        [0, 2]])

diagonal: A view of the elements where two dimensions have the same index.
torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
tensor([1, 4])

diff: The differences of neighbours along a dimension.
torch.diff(torch.tensor([1, 4, 9]))
tensor([3, 5])

div: The quotient of two tensors; `rounding_mode` may be "trunc" or "floor".
torch.div(torch.tensor([7.0, -7.0]), 2, rounding_mode="floor")
tensor([ 3., -4.])

dot: The inner product of two vectors.
torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
tensor(11.)

empty: A tensor with whatever is in memory.
torch.empty(2, 3).shape
torch.Size([2, 3])

empty_like: A tensor with whatever is in memory, with the shape and dtype of another.
torch.empty_like(torch.ones(2, 3)).shape
torch.Size([2, 3])

eq: Where two tensors are equal.
torch.eq(torch.tensor([1, 2]), 2)
tensor([False,  True])

equal: Whether two tensors have the same shape and elements.
torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
True

erf: The error function of each element.
torch.erf(torch.tensor([0.0, 1.0]))
tensor([0.0000, 0.8427])

exp: The exponential of each element.
torch.exp(torch.tensor([0.0, 1.0]))
tensor([1.0000, 2.7183])

expm1: exp(x) - 1, exact for small x.
torch.expm1(torch.tensor([0.0, 1.0]))
tensor([0.0000, 1.7183])

eye: A matrix with ones on the diagonal.
torch.eye(2)
tensor([[1., 0.],
        [0., 1.]])

flatten: Dimensions `start_dim` to `end_dim` made one.
torch.flatten(torch.ones(2, 3, 4), 1).shape
torch.Size([2, 12])

flip: The elements in reversed order along dimensions.
torch.flip(torch.tensor([1, 2, 3]), (0,))
tensor([3, 2, 1])

floor: The largest integer that is not above each element.
torch.floor(torch.tensor([0.2, -0.2]))
tensor([ 0., -1.])

floor_divide: The quotient, rounded down.
torch.floor_divide(torch.tensor([7.0, -7.0]), 2)
tensor([ 3., -4.])

fmod: The remainder with the sign of the dividend.
torch.fmod(torch.tensor([-3.0, 3.0]), 2)
tensor([-1.,  1.])

full: A tensor of one value.
torch.full((2,), 7.0)
tensor([7., 7.])

full_like: A tensor of one value, with the shape and dtype of another.
torch.full_like(torch.zeros(2), 7)
tensor([7., 7.])

gather: The elements at the given indices along `dim`.
torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
tensor([[2],
        [3]])

ge: Where elements are greater or equal.
torch.ge(torch.tensor([1, 2, 3]), 2)
tensor([False,  True,  True])

gt: Where elements are greater.
torch.gt(torch.tensor([1, 2, 3]), 2)
tensor([False, False,  True])

histc: How many elements fall into each of some bins of equal width.
torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=2, min=1, max=2)
tensor([2., 1.])

index_add: A tensor with others added at the given indices of `dim`.
torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
tensor([3., 0., 0.])

index_select: The slices at the given indices of `dim`.
torch.index_select(torch.tensor([10, 20, 30]), 0, torch.tensor([2, 0]))
tensor([30, 10])

is_complex: Whether a tensor's numbers are complex.
torch.is_complex(torch.tensor([1j]))
True

is_floating_point: Whether a tensor's numbers are floating-point.
torch.is_floating_point(torch.tensor([1.0]))
True

is_tensor: Whether an object is a tensor.
torch.is_tensor([1.0])
False

isclose: Where two tensors are equal up to tolerances.
torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
tensor([ True, False])

isfinite: Where elements are neither infinite nor NaN.
torch.isfinite(torch.tensor([1.0, float("inf")]))
tensor([ True, False])

isinf: Where elements are infinite.
torch.isinf(torch.tensor([1.0, float("inf")]))
tensor([False,  True])

isnan: Where elements are NaN.
torch.isnan(torch.tensor([1.0, float("nan")]))
tensor([False,  True])

kron: The Kronecker product.
torch.kron(torch.tensor([1, 2]), torch.tensor([1, 10]))
tensor([ 1, 10,  2, 20])

kthvalue: The k-th smallest element along `dim`, and its index.
torch.kthvalue(torch.tensor([3, 1, 2]), 2).values
tensor(2)

le: Where elements are less or equal.
torch.le(torch.tensor([1, 2, 3]), 2)
tensor([ True,  True, False])

lerp: The way from `input` to `end`, of which `weight` is gone.
torch.lerp(torch.tensor([0.0]), torch.tensor([10.0]), 0.3)
tensor([3.])

lgamma: The logarithm of the magnitude of the gamma function of each element.
torch.lgamma(torch.tensor([1.0, 4.0]))
tensor([0.0000, 1.7918])

linspace: A number of evenly spaced values from `start` to `end`.
torch.linspace(0, 1, 5)
tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])

log: The natural logarithm of each element.
torch.log(torch.tensor([1.0, 2.0]))
tensor([0.0000, 0.6931])

log10: The logarithm to base 10 of each element.
torch.log10(torch.tensor([1.0, 10.0]))
tensor([0., 1.])

log1p: log(1 + x), exact for small x.
torch.log1p(torch.tensor([0.0, 1.0]))
tensor([0.0000, 0.6931])

log2: The logarithm to base 2 of each element.
torch.log2(torch.tensor([1.0, 8.0]))
tensor([0., 3.])

log_softmax: The logarithm of `softmax`.
torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
tensor([-0.6931, -0.6931])

logical_and: Where both are true.
torch.logical_and(torch.tensor([True, False]), torch.tensor([True, True]))
tensor([ True, False])

logical_not: Where elements are not true.
torch.logical_not(torch.tensor([True, False]))
tensor([False,  True])

logical_or: Where one of both is true.
torch.logical_or(torch.tensor([True, False]), torch.tensor([True, True]))
tensor([True, True])

logspace: A number of powers of `base`, with evenly spaced exponents from `start` to `end`.
torch.logspace(0, 2, 3)
tensor([  1.,  10., 100.])

logsumexp: The logarithm of the sum of exponentials along dimensions.
torch.logsumexp(torch.tensor([0.0, 0.0]), dim=0)
tensor(0.6931)

lt: Where elements are less.
torch.lt(torch.tensor([1, 2, 3]), 2)
tensor([ True, False, False])

masked_select: The elements where a mask is true, as a vector.
torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
tensor([1, 3])

matmul: The matrix product; of vectors the inner product, of more than two dimensions a batch of products.
torch.matmul(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
tensor([3., 7.])

max: The largest element; along `dim` also its index; of two tensors the larger of each pair.
torch.max(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1).values
tensor([5., 3.])

maximum: The larger of each pair of elements.
torch.maximum(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0]))
tensor([2., 4.])

mean: The mean of all elements, or along dimensions.
torch.mean(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
tensor([3.0000, 2.5000])

median: The middle element; along `dim` also its index. Of two in the middle, the smaller.
torch.median(torch.tensor([3.0, 1.0, 2.0, 4.0]))
tensor(2.)

meshgrid: Grids of coordinates, one tensor for each of the given vectors.
torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3]), indexing="ij")[0]
tensor([[1],
        [2]])

min: The smallest element; along `dim` also its index; of two tensors the smaller of each pair.
torch.min(torch.tensor([3.0, 1.0, 2.0]))
tensor(1.)

minimum: The smaller of each pair of elements.
torch.minimum(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0]))
tensor([1., 3.])

mm: The product of two matrices.
torch.mm(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[1., 2.],
        [3., 4.]])

movedim: A view with dimensions at other positions.
torch.movedim(torch.ones(2, 3, 4), 0, 2).shape
torch.Size([3, 4, 2])

mul: The product of two tensors, element by element.
torch.mul(torch.tensor([1.0, 2.0]), 3)
tensor([3., 6.])

multinomial: Indices drawn with the given weights.
torch.multinomial(torch.tensor([0.0, 1.0]), 1)
tensor([1])

mv: The product of a matrix and a vector.
torch.mv(torch.eye(2), torch.tensor([1.0, 2.0]))
tensor([1., 2.])

nan_to_num: NaN and infinities replaced by numbers.
torch.nan_to_num(torch.tensor([float("nan"), 1.0]))
tensor([0., 1.])

ne: Where two tensors differ.
torch.ne(torch.tensor([1, 2]), 2)
tensor([ True, False])

neg: Each element with the other sign.
torch.neg(torch.tensor([1.0, -2.0]))
tensor([-1.,  2.])

nonzero: The indices of the elements that are not zero, one row for each.
torch.nonzero(torch.tensor([0, 5, 7]))
tensor([[1],
        [2]])

norm: The length of a vector, or of vectors along dimensions.
torch.norm(torch.tensor([3.0, 4.0]))
tensor(5.)

normal: Numbers drawn from normal distributions.
torch.normal(torch.zeros(2), torch.zeros(2))
tensor([0., 0.])

numel: The number of elements.
torch.numel(torch.ones(2, 3))
6

ones: A tensor of ones.
torch.ones(2, 2)
tensor([[1., 1.],
        [1., 1.]])

ones_like: A tensor of ones, with the shape and dtype of another.
torch.ones_like(torch.zeros(2))
tensor([1., 1.])

outer: The products of all pairs of elements of two vectors.
torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
tensor([[3, 4],
        [6, 8]])

permute: A view with the dimensions in another order.
torch.permute(torch.ones(2, 3, 4), (2, 0, 1)).shape
torch.Size([4, 2, 3])

pow: Each element raised to a power.
torch.pow(torch.tensor([2.0, 3.0]), 2)
tensor([4., 9.])

prod: The product of all elements, or along `dim`.
torch.prod(torch.tensor([2.0, 3.0]))
tensor(6.)

quantile: The value below which a share `q` of the elements lies.
torch.quantile(torch.tensor([1.0, 2.0, 3.0]), 0.5)
tensor(2.)

rand: Numbers drawn evenly from 0 up to 1.
torch.rand(2, 3).shape
torch.Size([2, 3])

rand_like: Numbers drawn evenly from 0 up to 1, with the shape and dtype of another tensor.
torch.rand_like(torch.ones(2, 3)).shape
torch.Size([2, 3])

randint: Integers drawn evenly from `low` up to, and without, `high`.
torch.randint(5, 6, (3,))
tensor([5, 5, 5])

randn: Numbers drawn from the standard normal distribution.
torch.randn(2, 3).shape
torch.Size([2, 3])

randn_like: Numbers drawn from the standard normal distribution, with the shape and dtype of another tensor.
torch.randn_like(torch.ones(2, 3)).shape
torch.Size([2, 3])

randperm: The numbers below n in random order.
torch.randperm(4).sort().values
tensor([0, 1, 2, 3])

real: A view of the real parts.
torch.real(torch.tensor([1 + 2j]))
tensor([1.])

reciprocal: One divided by each element.
torch.reciprocal(torch.tensor([2.0, 4.0]))
tensor([0.5000, 0.2500])

relu: Each element, or 0 if it is negative.
torch.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])

remainder: The remainder with the sign of the divisor.
torch.remainder(torch.tensor([-3.0, 3.0]), 2)
tensor([1., 1.])

repeat_interleave: Each element some times over.
torch.repeat_interleave(torch.tensor([1, 2]), 2)
tensor([1, 1, 2, 2])

reshape: The same elements in another shape; -1 stands for what fits.
torch.reshape(torch.arange(4), (2, -1))
tensor([[0, 1],
        [2, 3]])

roll: The elements moved along dimensions; what leaves at the end enters at the beginning.
torch.roll(torch.tensor([1, 2, 3]), 1)
tensor([3, 1, 2])

rot90: A plane turned by quarters.
torch.rot90(torch.tensor([[1, 2], [3, 4]]))
tensor([[2, 4],
        [1, 3]])

round: The nearest integer of each element, the even one of two.
torch.round(torch.tensor([0.5, 1.5, 2.4]))
tensor([0., 2., 2.])

rsqrt: One divided by the square root of each element.
torch.rsqrt(torch.tensor([4.0, 16.0]))
tensor([0.5000, 0.2500])

scatter: A tensor with elements of another put at the given indices along `dim`.
torch.scatter(torch.zeros(3), 0, torch.tensor([2]), torch.tensor([5.0]))
tensor([0., 0., 5.])

scatter_add: A tensor with elements of another added at the given indices along `dim`.
torch.scatter_add(torch.zeros(3), 0, torch.tensor([2, 2]), torch.tensor([5.0, 1.0]))
tensor([0., 0., 6.])

searchsorted: Where elements would have to be put into sorted sequences.
torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
tensor([1, 3])

select: A view at one index of a dimension.
torch.select(torch.tensor([[1, 2], [3, 4]]), 0, 1)
tensor([3, 4])

sigmoid: 1 / (1 + exp(-x)) of each element.
torch.sigmoid(torch.tensor([0.0, 2.0]))
tensor([0.5000, 0.8808])

sign: -1, 0 or 1 for each element.
torch.sign(torch.tensor([-2.0, 0.0, 3.0]))
tensor([-1.,  0.,  1.])

sin: The sine of each element.
torch.sin(torch.tensor([0.0, 1.0]))
tensor([0.0000, 0.8415])

sinh: The hyperbolic sine of each element.
torch.sinh(torch.tensor([0.0, 1.0]))
tensor([0.0000, 1.1752])

softmax: Exponentials, divided by their sum along `dim`.
torch.softmax(torch.tensor([0.0, 0.0]), dim=0)
tensor([0.5000, 0.5000])

sort: The elements in order along `dim`, and where they were.
torch.sort(torch.tensor([3, 1, 2])).values
tensor([1, 2, 3])

split: Views of the given size, or sizes, along a dimension.
torch.split(torch.arange(5), 2)
(tensor([0, 1]), tensor([2, 3]), tensor([4]))

sqrt: The square root of each element.
torch.sqrt(torch.tensor([4.0, 9.0]))
tensor([2., 3.])

square: The square of each element.
torch.square(torch.tensor([2.0, 3.0]))
tensor([4., 9.])

squeeze: A view without dimensions of size 1.
torch.squeeze(torch.ones(1, 2, 1)).shape
torch.Size([2])

stack: Tensors of one shape joined along a new dimension.
torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
tensor([[1, 2],
        [3, 4]])

std: The standard deviation of all elements, or along dimensions.
torch.std(torch.tensor([1.0, 2.0, 3.0]))
tensor(1.)

std_mean: The standard deviation and the mean.
torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
(tensor(1.), tensor(2.))

sub: The difference of two tensors, the second one times `alpha`.
torch.sub(torch.tensor([1.0, 2.0]), 1)
tensor([0., 1.])

sum: The sum of all elements, or along dimensions.
torch.sum(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
tensor([6., 5.])

t: A matrix with its dimensions exchanged.
torch.t(torch.tensor([[1, 2], [3, 4]]))
tensor([[1, 3],
        [2, 4]])

take: The elements at the given indices of the flattened tensor.
torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
tensor([1, 4])

tan: The tangent of each element.
torch.tan(torch.tensor([0.0, 1.0]))
tensor([0.0000, 1.5574])

tanh: The hyperbolic tangent of each element.
torch.tanh(torch.tensor([0.0, 1.0]))
tensor([0.0000, 0.7616])

tile: The whole tensor some times over along each dimension.
torch.tile(torch.tensor([1, 2]), (2,))
tensor([1, 2, 1, 2])

topk: The k largest elements along `dim`, and their indices.
torch.topk(torch.tensor([3, 1, 2]), 2).values
tensor([3, 2])

trace: The sum of a matrix's diagonal.
torch.trace(torch.tensor([[1, 2], [3, 4]]))
tensor(5)

transpose: A view with two dimensions exchanged.
torch.transpose(torch.ones(2, 3), 0, 1).shape
torch.Size([3, 2])

tril: The elements on and below a diagonal, and zeros.
torch.tril(torch.ones(2, 2))
tensor([[1., 0.],
        [1., 1.]])

triu: The elements on and above a diagonal, and zeros.
torch.triu(torch.ones(2, 2))
tensor([[1., 1.],
        [0., 1.]])

trunc: Each element without its fraction.
torch.trunc(torch.tensor([1.7, -1.7]))
tensor([ 1., -1.])

unbind: Views at each index of a dimension.
torch.unbind(torch.tensor([1, 2]))
(tensor(1), tensor(2))

unsqueeze: A view with a new dimension of size 1.
torch.unsqueeze(torch.ones(2), 0).shape
torch.Size([1, 2])

var: The variance of all elements, or along dimensions.
torch.var(torch.tensor([1.0, 2.0, 3.0]))
tensor(1.)

where: Elements of the one tensor where a condition holds, and of the other elsewhere.
torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor([3, 4]))
tensor([1, 4])

zeros: A tensor of zeros.
torch.zeros(2)
tensor([0., 0.])

zeros_like: A tensor of zeros, with the shape and dtype of another.
torch.zeros_like(torch.ones(2))
tensor([0., 0.])
"""
