"""The signature that `inspect.signature`, `help` and editors show for a public function: its overloads merged.

>>> import inspect, retrograd
>>> str(inspect.signature(retrograd.cumsum))
'(input, dim, *, dtype=None, out=None)'
"""
from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from retrograd.core.schema import REQUIRED

if TYPE_CHECKING:
    from retrograd.core.schema import Param

KINDS = {False: Parameter.POSITIONAL_OR_KEYWORD, True: Parameter.KEYWORD_ONLY}


def signature_of(schemas: Sequence[Any], is_method: bool) -> Signature | None:
    """The parameters of the longest overload, then those of other overloads as keyword-only; optional unless all require
    it."""
    forms = [s for s in schemas if not s.is_out and not any([p.type == "Dimname" for p in s.params])
             and (s.takes_self or not is_method)]
    if not forms:
        return None
    longest = max(forms, key=lambda s: sum([not p.kwarg_only for p in s.params]))
    everywhere = set.intersection(*[{p.name for p in s.params if p.required} for s in forms])
    params = [parameter(p, is_method, p.name in everywhere) for p in longest.params]
    for other in [parameter(p, is_method, False) for s in forms for p in s.params]:
        if other.name not in [p.name for p in params]:
            params.append(other.replace(kind=Parameter.KEYWORD_ONLY))
    if any([s.is_out for s in schemas]) and not is_method and not any([p.name == "out" for p in params]):
        params.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    params.sort(key=lambda p: (p.kind, p.default is not Parameter.empty and p.kind != Parameter.KEYWORD_ONLY))
    return Signature(params)


def parameter(p: Param, is_method: bool, required: bool) -> Parameter:
    is_self = p.name == "self" and p.type == "Tensor"
    name = "input" if is_self and not is_method else f"{p.name}_" if p.name in ("from", "lambda") else p.name
    if required:
        return Parameter(name, Parameter.POSITIONAL_ONLY if is_self and is_method else KINDS[p.kwarg_only])
    return Parameter(name, KINDS[p.kwarg_only], default=None if p.default is REQUIRED else p.default)
