"""Random tensors: the factories rand and randn, the in-place fills, sampling, and dropout."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from retrograd.core import dtypes, generator, lean
from retrograd.core.algorithms import native
from retrograd.core.dtypes import is_complex_type
from retrograd.core.kernels import broadcast_problem, check_writable
from retrograd.core.opdef import defop
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.create.generators import default_generator
from retrograd.ops.memory.resize import type_words, zeros_like
from retrograd.ops.shared import families
from retrograd.ops.shared.dtype_checks import type_name

UNIFORM, NORMAL, LOG_NORMAL, EXPONENTIAL, CAUCHY, GEOMETRIC, BERNOULLI, RANGE, ANY = range(9)    # as in core/native/draw.c


def source_of(given: Any) -> Any:
    return default_generator if given is None else given


def filled(kind: int, array: Any, gen: Any, a: Any = 0.0, b: Any = 0.0) -> bool:
    """Fill the array with compiled code; False for calls that it does not support."""
    return native is not None and native.draw(kind, default_generator if gen is None else gen, array, a, b) is not None


def drawn(array: Any, draw: Any) -> Any:
    """Values for `array` from `draw(shape)`, in the order in which its elements lie in memory."""
    if array.flags.c_contiguous:
        return draw(array.shape)
    order = sorted(range(array.ndim), key=lambda i: (-array.strides[i], i))
    values = draw(tuple([array.shape[i] for i in order]))
    return values.transpose(np.argsort(order))


def unsupported(name: str, dtype: Any) -> Exception:
    return NotImplementedError(f"\"{name}\" not implemented for '{dtypes.BY_NUMPY[dtype].legacy}'")


def words_of(dtype: Any) -> str:
    return type_words(new_tensor(np.empty(0, dtype)))


# ---- distributions over an array's geometry
def uniform_values(array: Any, low: float, high: float, gen: Any) -> Any:
    if filled(UNIFORM, array, gen, low, high):
        return array
    dtype = array.dtype
    if dtype.kind == "W":
        return joined_pairs(array, uniform_values(np.empty((*array.shape, 2), np.float16), low, high, gen))
    if dtype.kind not in "fcV":
        raise unsupported("check_uniform_bounds", dtype)
    part = dtypes.BY_NUMPY[dtype].to_real()
    limit = dtypes.finfo(part).max
    for name, value in (("from", low), ("to", high)):
        if not -limit <= value <= limit:
            raise RuntimeError(f"{name} is out of bounds for {words_of(part.numpy)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > limit:
        raise RuntimeError(f"uniform_ expects to-from <= std::numeric_limits<{part.legacy}>::max(), but found to={high:g} and "
                           f"from={low:g} which result in to-from to exceed the limit")
    return drawn(array, lambda shape: generator.uniform(source_of(gen), shape, low, high, dtype))


def joined_pairs(array: Any, pairs: Any) -> Any:
    """Real and imaginary parts of half precision, drawn one after the other, as an array of complex32 like `array`."""
    return drawn(array, lambda shape: pairs.view(array.dtype).reshape(shape))


def normal_values(array: Any, mean: float, std: float, gen: Any) -> Any:
    if filled(NORMAL, array, gen, mean, std):
        return array
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if array.size == 0:
        return array
    if array.dtype.kind == "W":
        pairs = normal_values(np.empty((*array.shape, 2), np.float16), mean, std / math.sqrt(2), gen)
        return joined_pairs(array, pairs)
    if array.dtype.kind not in "fcV":
        raise unsupported("normal_kernel_cpu", array.dtype)
    contiguous = array.flags.c_contiguous
    return drawn(array, lambda shape: generator.normal(source_of(gen), shape, mean, std, array.dtype, contiguous))


def exponential_values(array: Any, lambd: float, gen: Any) -> Any:
    if filled(EXPONENTIAL, array, gen, lambd):
        return array
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if array.size == 0:
        return array
    check_writable(array)
    if array.dtype.kind not in "fV":
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a floating point "
                           f"but you specified {dtypes.BY_NUMPY[array.dtype].legacy}")
    return drawn(array, lambda shape: generator.exponential(source_of(gen), shape, lambd, array.dtype))


def cauchy_values(array: Any, median: float, sigma: float, gen: Any) -> Any:
    if filled(CAUCHY, array, gen, median, sigma):
        return array
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if array.dtype.kind not in "fV":
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating point but "
                           f"you specified {words_of(array.dtype)}")
    return drawn(array, lambda shape: generator.cauchy(source_of(gen), shape, median, sigma, array.dtype))


def log_normal_values(array: Any, mean: float, std: float, gen: Any) -> Any:
    if filled(LOG_NORMAL, array, gen, mean, std):
        return array
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if array.size == 0:
        return array
    check_writable(array)
    if array.dtype.kind not in "fV":
        raise unsupported("log_normal_cpu", array.dtype)
    return drawn(array, lambda shape: generator.log_normal(source_of(gen), shape, mean, std, array.dtype))


def geometric_values(array: Any, p: float, gen: Any) -> Any:
    if filled(GEOMETRIC, array, gen, p):
        return array
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if array.size == 0:
        return array
    check_writable(array)
    if array.dtype.kind in "bc":
        raise unsupported("geometric_cpu", array.dtype)
    return drawn(array, lambda shape: generator.geometric(source_of(gen), shape, p, array.dtype))


def bernoulli_values(array: Any, p: Any, gen: Any) -> Any:
    """Zeros and ones of the array's dtype; `p` is a number or an array that broadcasts to it."""
    if not isinstance(p, np.ndarray):
        if filled(BERNOULLI, array, gen, p):
            return array
    elif array.size and p.dtype.kind not in "fV":
        raise unsupported("bernoulli_tensor_cpu_p_", p.dtype)
    elif native is not None and native.draw_below(source_of(gen), array, p):
        return array
    if array.size == 0:
        return array
    if not isinstance(p, np.ndarray):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        check_writable(array)
        if array.dtype.kind == "c":
            raise unsupported("bernoulli_scalar_cpu_", array.dtype)
        return drawn(array, lambda shape: generator.bernoulli(source_of(gen), shape, p, array.dtype))
    if array.dtype.kind == "c":
        raise unsupported("bernoulli_tensor_cpu_self_", array.dtype)
    wide = p.astype(np.float64)
    if not bool(((wide >= 0) & (wide <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    check_writable(array)
    chances = expanded_chances(p, array.shape)
    if array.flags.c_contiguous:
        return generator.bernoulli(source_of(gen), array.shape, chances, array.dtype)
    order = sorted(range(array.ndim), key=lambda i: (-array.strides[i], i))
    chances = chances.transpose(order)
    return generator.bernoulli(source_of(gen), chances.shape, chances, array.dtype).transpose(np.argsort(order))


def expanded_chances(p: Any, shape: Any) -> Any:
    if p.ndim > len(shape):
        raise RuntimeError(f"expand({type_name(p.dtype)}{{{list(p.shape)}}}, size={list(shape)}): the number of sizes provided "
                           f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({p.ndim})")
    for d in range(len(shape) - 1, len(shape) - 1 - p.ndim, -1):
        had = p.shape[d - len(shape)]
        if had not in (1, shape[d]):
            raise RuntimeError(f"The expanded size of the tensor ({shape[d]}) must match the existing size ({had}) at "
                               f"non-singleton dimension {d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(p.shape)}")
    return lean.broadcast_to(p, shape)


def integer_values(array: Any, low: int, high: int | None, gen: Any) -> Any:
    if filled(RANGE, array, gen, low, high):
        return array
    dtype = array.dtype
    if is_complex_type(dtype):
        raise RuntimeError(f"{'random_from_to_impl' if high is None else 'check_random_bounds'} handles only integral, "
                           "floating-point and boolean types")
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    check_integer_bound("from", low, dtype)
    if high is None:
        return drawn(array, lambda shape: generator.random_from(source_of(gen), shape, low, dtype))
    check_integer_bound("to - 1", high - 1, dtype)
    if dtypes.BY_NUMPY[dtype].category == 2:
        low, high = representable(low, high, dtype)
    return drawn(array, lambda shape: generator.randint(source_of(gen), shape, low, high, dtype))


def representable(low: int, high: int, dtype: Any) -> tuple[int, int]:
    """Bounds moved inwards so that rounding to the dtype cannot leave the range."""
    bits = EXACT_BITS[dtypes.BY_NUMPY[dtype].name]
    if -(1 << bits) <= low and high <= 1 << bits:         # exact
        return low, high
    first, last = int(float(np.float64(low + 1).astype(dtype))), int(float(np.float64(high - 1).astype(dtype)))
    if first < low:
        low = first + (1 << (abs(low + 1).bit_length() - bits))
    if last >= high:
        high = last - (1 << (abs(high - 1).bit_length() - bits))
    return low, high


EXACT_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def check_integer_bound(name: str, value: int, dtype: Any) -> None:
    """Refuse bounds that the dtype cannot hold, warn of those that it cannot count to."""
    own = dtypes.BY_NUMPY[dtype]
    if own.category == 2:
        bits = EXACT_BITS[own.name]
        if not -(1 << bits) <= value <= 1 << bits:
            limit = dtypes.finfo(own).max
            if not -limit <= value <= limit:
                raise RuntimeError(f"{name} is out of bounds for {words_of(dtype)}")
            warnings.warn(f"{name} is out of bounds [-(2^{bits}), 2^{bits}]. Due to precision limitations {words_of(dtype)} "
                          "can support discrete uniform distribution only within this range. This warning will become an "
                          "error in version 1.7 release, please fix the code in advance", UserWarning, stacklevel=5)
        return
    low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if not low <= value <= high:
        raise RuntimeError(f"{name} is out of bounds for {words_of(dtype)}")


def any_integer_values(array: Any, gen: Any) -> Any:
    if filled(ANY, array, gen):
        return array
    if array.size == 0:
        return array
    check_writable(array)
    if is_complex_type(array.dtype):
        raise unsupported("random_kernel_cpu", array.dtype)
    return drawn(array, lambda shape: generator.random_full(source_of(gen), shape, array.dtype))


# ---- in-place fills: the result does not depend on the old values, so their gradient is zero
def fill(name: str, parameters: str, values: Any, node: str, **facts: Any) -> Any:
    """Declare an in-place fill; `values(self, *parameters, generator)` draws the values."""
    return defop(f"{name}(Tensor(a!) self, {parameters}*, Generator? generator=None) -> Tensor(a!)",
                 kernel=lambda xp, *args: values(*args), vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t),
                 batch=families.in_front, meta=lambda xp, self, *rest: self, node=node, variants="method", out=False,
                 traits=("as_is",), **facts)


FILLS = [
    fill("uniform_", "float from=0, float to=1, ", uniform_values, "UniformBackward0", nested="parts"),
    fill("normal_", "float mean=0, float std=1, ", normal_values, "NormalBackward0", nested="parts"),
    fill("exponential_", "float lambd=1, ", exponential_values, "ExponentialBackward0"),
    fill("cauchy_", "float median=0, float sigma=1, ", cauchy_values, "CauchyBackward0"),
    fill("log_normal_", "float mean=1, float std=2, ", log_normal_values, "LogNormalBackward0"),
    fill("geometric_", "float p, ", geometric_values, "GeometricBackward0"),
    fill("random_.from", "int from, int? to, ", integer_values, "RandomBackward0"),
    fill("random_.to", "int to, ", lambda self, to, generator: integer_values(self, 0, to, generator), "RandomBackward1"),
    fill("random_", "", any_integer_values, "RandomBackward2"),
]
fill("bernoulli_.float", "float p=0.5, ", bernoulli_values, "BernoulliBackward2")
bernoulli_tensor_ = defop(
    "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)",
    kernel=lambda xp, self, p, generator: bernoulli_values(self, p, generator),
    vjp=dict(self=zeros_like, p=zeros_like), jvp=lambda self_t, p_t: zeros_like(self_t), batch=families.loop,
    meta=lambda xp, self, *rest: self, node="BernoulliBackward1", variants="method", out=False, nested="parts",
)


# ---- samples with parameters from tensors
def contiguous_like(self: Any) -> Any:
    return np.empty(self.shape, self.dtype)


bernoulli = defop(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", out="any",
    kernel=lambda xp, self, generator: bernoulli_values(contiguous_like(self), self, generator),
    vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t), batch=families.in_front,
    meta=lambda xp, self, generator: self,
    doc="""Zeros and ones, drawn with the given probabilities of one.
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """,
)
bernoulli_p = defop(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    kernel=lambda xp, self, p, generator: bernoulli_values(contiguous_like(self), p, generator),
    vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t), batch=families.in_front,
    meta=lambda xp, self, p, generator: self, node="BernoulliBackward3", out=False,
    out_form="float_out",
)


def multinomial_kernel(xp: Any, self: Any, num_samples: int, replacement: bool, generator_: Any) -> Any:
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if self.dtype.kind not in "fV":
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{dtypes.BY_NUMPY[self.dtype].legacy}")
    if self.ndim in (1, 2) and self.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if self.size == 0 and self.ndim in (1, 2) and num_samples > 0 and (replacement or num_samples <= self.shape[-1]):
        return np.empty((*self.shape[:-1], num_samples), np.int64)
    return np.array(generator.multinomial(source_of(generator_), self, num_samples, replacement), order="C")


multinomial = defop(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    out="same: multinomial expects Long tensor out, got: {out}",
    kernel=multinomial_kernel, batch=families.loop,
    meta=lambda xp, self, num_samples, replacement, generator: np.empty((*self.shape[:-1], num_samples), np.int64),
    doc="""Indices drawn with the given weights.
    >>> torch.multinomial(torch.tensor([0.0, 1.0]), 1)
    tensor([1])
    """,
)


def poisson_kernel(xp: Any, self: Any, generator_: Any) -> Any:
    if self.dtype.kind not in "fV":
        raise unsupported("poisson_cpu", self.dtype)
    if native is not None:
        made = np.empty(self.shape, self.dtype)
        if native.draw_poisson(source_of(generator_), made, self):
            return made
    return generator.poisson(source_of(generator_), np.ascontiguousarray(self)).reshape(self.shape)


poisson = defop(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    kernel=poisson_kernel, vjp=dict(self=zeros_like), jvp=lambda self_t: zeros_like(self_t),
    batch=lambda op, args, dims, size: (op(families.move_to_front(args[0], dims[0]), args[1]), 0),
    meta=lambda xp, self, generator: self, variants="function", out=False,
)


def check_std(std: Any) -> None:
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not np.minimum.reduce(std, axis=None) >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def normal_of(xp: Any, mean: Any, std: Any, generator_: Any) -> Any:
    """Normal values around tensors: standard ones, scaled and shifted."""
    check_std(std)
    if isinstance(mean, np.ndarray) and isinstance(std, np.ndarray):
        problem = broadcast_problem(mean.shape, std.shape)
        if problem is not None:
            raise RuntimeError(problem)
        shape = mean.shape if mean.shape == std.shape else lean.broadcast_shapes(mean.shape, std.shape)
        dtype = mean.dtype if mean.dtype is std.dtype else dtypes.binary_dtype(
            dtypes.BY_NUMPY[mean.dtype], mean.ndim, dtypes.BY_NUMPY[std.dtype], std.ndim).numpy
        made = normal_values(xp.empty(shape, dtype), 0.0, 1.0, generator_)
        made *= std.astype(dtype, copy=False)
        made += mean.astype(dtype, copy=False)
        return made
    if isinstance(mean, np.ndarray):
        made = normal_values(contiguous_like(mean), 0.0, std, generator_)
        made += mean
        return made
    made = normal_values(contiguous_like(std), 0.0, 1.0, generator_)
    made *= std
    made += std.dtype.type(mean)
    return made


SEEDED = "Generator? generator=None) -> Tensor"
normal_tensor_float = defop(
    f"normal.Tensor_float(Tensor mean, float std=1, *, {SEEDED}", kernel=normal_of,
    vjp=dict(mean=lambda grad, mean_sym_sizes: late.zeros(mean_sym_sizes, dtype=grad.dtype, device=grad.device)),
    jvp=lambda mean_t: zeros_like(mean_t), batch=families.loop, node="NormalBackward1", variants="", real_only=True,
    doc="""Numbers drawn from normal distributions.
    >>> torch.normal(torch.zeros(2), torch.zeros(2))
    tensor([0., 0.])
    """,
)
normal_float_tensor = defop(
    f"normal.float_Tensor(float mean, Tensor std, *, {SEEDED}", kernel=normal_of,
    vjp=dict(std=lambda grad, std_sym_sizes: late.zeros(std_sym_sizes, dtype=grad.dtype, device=grad.device)),
    jvp=lambda std_t: zeros_like(std_t), batch=families.loop, node="NormalBackward2", variants="", real_only=True,
)
normal_tensor_tensor = defop(
    f"normal.Tensor_Tensor(Tensor mean, Tensor std, *, {SEEDED}", kernel=normal_of,
    vjp=dict(mean=lambda grad, mean_sym_sizes: late.zeros(mean_sym_sizes, dtype=grad.dtype, device=grad.device),
             std=lambda grad, std_sym_sizes: late.zeros(std_sym_sizes, dtype=grad.dtype, device=grad.device)),
    jvp=lambda mean_t, std_t, result: zeros_like(result), batch=families.loop, node="NormalBackward3", variants="",
    real_only=True,
)
