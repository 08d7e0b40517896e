"""Ops tagged `Tag.out` or `Tag.inplace`: what their schemas must declare, and their results, which are their arguments.

NOTE [Tagged schemas]
`Tag.out` promises that the op only writes to its mutable arguments, all keyword-only tensors, and returns them in order;
`Tag.inplace` that it writes to its first argument alone and returns it. Both results are known without running the op: see
`UserOp.known_results`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.core.function_schema import Argument, FunctionSchema
from retrograd.core.tags import Tag


def check_tags(schema: FunctionSchema, tags: Sequence[Any]) -> None:
    """Refuse a schema that does not keep what its tags promise."""
    problem = Tag.out in tags and out_problem(schema) or Tag.inplace in tags and inplace_problem(schema)
    if problem:
        raise ValueError(f"{problem}. Got: {schema}")


def names(arguments: Sequence[Argument]) -> list[str]:
    return [a.name for a in arguments]


def out_problem(schema: FunctionSchema) -> str:
    """What breaks the promise of `Tag.out`; "" if nothing does."""
    start = "Schema tagged with torch.Tag.out "
    written = [a for a in schema.arguments if a.is_write]
    positional = [a for a in written if not a.kwarg_only]
    others = [a for a in written if str(a.type) != "Tensor"]
    if not written:
        return start + "must have at least one mutable argument"
    if positional:
        return (f"{start}requires all mutable arguments to be keyword-only (after the *). Found mutable positional args: "
                f"{names(positional)}")
    if others:
        return f"{start}only supports Tensor mutable arguments. Found unsupported mutable args: {names(others)}"
    if len(schema.returns) != len(written):
        return (f"{start}must return all mutable arguments (got {len(written)} mutable args but {len(schema.returns)} "
                "returns)")
    for i, (argument, result) in enumerate(zip(written, schema.returns, strict=True)):
        alias, given = result.alias_info, argument.alias_info
        place = f"Return {i} of schema tagged with torch.Tag.out must "
        if alias is None or given is None:
            return f"{place}alias mutable arg '{argument.name}'"
        if not alias.is_write:
            return f"{place}be a mutable alias (e.g., Tensor(a!), not Tensor(a)) of arg '{argument.name}'"
        if alias.before_set != given.before_set:
            return (f"{place}alias mutable arg '{argument.name}' (return aliases {alias.before_set} but arg aliases "
                    f"{given.before_set})")
    return ""


def inplace_problem(schema: FunctionSchema) -> str:
    """What breaks the promise of `Tag.inplace`; "" if nothing does."""
    start = "Schema tagged with torch.Tag.inplace "
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if not positional:
        return start + "must have at least one positional argument"
    first, returns = positional[0], schema.returns
    if first.alias_info is None or not first.is_write:
        return start + "requires the first positional argument to be mutable (e.g., Tensor(a!))"
    if str(first.type) != "Tensor":
        return (f"{start}requires the first positional argument to be a Tensor. Got type '{first.type}' for arg "
                f"'{first.name}'")
    if len(returns) != 1:
        return f"{start}must return exactly one value (the first argument). Got {len(returns)} returns"
    start += "must return the first mutable argument "
    alias = returns[0].alias_info
    if str(returns[0].type) != "Tensor":
        return f"{start}(return must be a Tensor, got type '{returns[0].type}')"
    if alias is None:
        return start + "(return must alias the first argument)"
    if not alias.is_write:
        return start + "(return must be a mutable alias, e.g., Tensor(a!))"
    if alias.before_set != first.alias_info.before_set:
        return f"{start}(return aliases {alias.before_set} but first arg aliases {first.alias_info.before_set})"
    others = [a for a in schema.arguments if a is not first and a.is_write]
    if others:
        return ("Schema tagged with torch.Tag.inplace must only mutate the first positional argument. Found additional mutable "
                f"args: {names(others)}")
    return ""
