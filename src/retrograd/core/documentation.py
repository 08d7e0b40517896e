"""The docstrings of generated functions: the signatures from the schemas and, for common functions, a sentence and an
example, from the column `doc` of a row or, for functions that are not one row, from the table below.

A docstring is built together with its function, on the first use of the name (see NOTE [Names bound on first use] in api.py).
"""
from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from retrograd.core.opdef import fact
from retrograd.core.schema import REQUIRED

if TYPE_CHECKING:
    from retrograd.core.opdef import Packet
    from retrograd.core.schema import Schema

found: dict[str, tuple[str, str]] = {}        # name -> (sentence, example as lines)


def described(name: str) -> tuple[str, str]:
    """The sentence and the example of a function, empty if it has none."""
    column = fact(name, "doc")
    if column is not None:
        sentence, _, example = cleandoc(column).partition("\n")
        return sentence, f">>> import retrograd as torch\n{example}"
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
all: Whether all elements are true, of the whole or along `dim`.
torch.all(torch.tensor([[True, False], [True, True]]), dim=1)
tensor([False,  True])

any: Whether any element is true, of the whole or along `dim`.
torch.any(torch.tensor([False, True]))
tensor(True)

ceil: The least integer that is not below each element.
torch.ceil(torch.tensor([0.2, -0.2]))
tensor([1., -0.])

conv2d: The sums of products of a kernel and what it sees as it slides over images.
torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3)).item()
9.0

eq: Where two tensors are equal.
torch.eq(torch.tensor([1, 2]), 2)
tensor([False,  True])

floor: The largest integer that is not above each element.
torch.floor(torch.tensor([0.2, -0.2]))
tensor([ 0., -1.])

ge: Where elements are greater or equal.
torch.ge(torch.tensor([1, 2, 3]), 2)
tensor([False,  True,  True])

gt: Where elements are greater.
torch.gt(torch.tensor([1, 2, 3]), 2)
tensor([False, False,  True])

is_complex: Whether a tensor's numbers are complex.
torch.is_complex(torch.tensor([1j]))
True

is_floating_point: Whether a tensor's numbers are floating-point.
torch.is_floating_point(torch.tensor([1.0]))
True

is_tensor: Whether an object is a tensor.
torch.is_tensor([1.0])
False

le: Where elements are less or equal.
torch.le(torch.tensor([1, 2, 3]), 2)
tensor([ True,  True, False])

linspace: A number of evenly spaced values from `start` to `end`.
torch.linspace(0, 1, 5)
tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])

log_softmax: The logarithm of `softmax`.
torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
tensor([-0.6931, -0.6931])

logical_and: Where both are true.
torch.logical_and(torch.tensor([True, False]), torch.tensor([True, True]))
tensor([ True, False])

logical_or: Where one of both is true.
torch.logical_or(torch.tensor([True, False]), torch.tensor([True, True]))
tensor([True, True])

logspace: A number of powers of `base`, with evenly spaced exponents from `start` to `end`.
torch.logspace(0, 2, 3)
tensor([  1.,  10., 100.])

lt: Where elements are less.
torch.lt(torch.tensor([1, 2, 3]), 2)
tensor([ True, False, False])

max: The largest element; along `dim` also its index; of two tensors the larger of each pair.
torch.max(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1).values
tensor([5., 3.])

maximum: The larger of each pair of elements.
torch.maximum(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0]))
tensor([2., 4.])

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

movedim: A view with dimensions at other positions.
torch.movedim(torch.ones(2, 3, 4), 0, 2).shape
torch.Size([3, 4, 2])

ne: Where two tensors differ.
torch.ne(torch.tensor([1, 2]), 2)
tensor([ True, False])

numel: The number of elements.
torch.numel(torch.ones(2, 3))
6

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

real: A view of the real parts.
torch.real(torch.tensor([1 + 2j]))
tensor([1.])

softmax: Exponentials, divided by their sum along `dim`.
torch.softmax(torch.tensor([0.0, 0.0]), dim=0)
tensor([0.5000, 0.5000])

std: The standard deviation of all elements, or along dimensions.
torch.std(torch.tensor([1.0, 2.0, 3.0]))
tensor(1.)

std_mean: The standard deviation and the mean.
torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
(tensor(1.), tensor(2.))

trunc: Each element without its fraction.
torch.trunc(torch.tensor([1.7, -1.7]))
tensor([ 1., -1.])

var: The variance of all elements, or along dimensions.
torch.var(torch.tensor([1.0, 2.0, 3.0]))
tensor(1.)
"""
