"""The words in the columns of the op tables are words that an interpreter knows, and tags follow from the columns."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

import retrograd as torch
from retrograd.core import opdef
from retrograd.core.schema import Schema
from retrograd.masked.maskedtensor.core import RULES
from retrograd.ops.load import import_all
from retrograd.transforms.functionalize import INVERSES

TRAITS = {"random", "reads_values", "piecewise_linear", "keeps_zero", "view_copy", "inplace_view", "any_device", "lifts",
          "arithmetic", "guarded", "apart", "apart_first", "apart_checked", "takes_leaves", "casts", "pairs", "out_apart",
          "out_copied", "out_untracked", "out_last_first", "out_joint", "out_first", "out_after_dim", "out_dtype", "chalf",
          "as_is", "unguarded"}
PATTERNS = {None, "constant", "first", "elements", "moves", "choices", "dims", "last", "product", "scatter", "convolution"}
aten = torch.ops.aten


def ops() -> Iterator[opdef.OpDef]:
    import_all()
    for name in sorted(opdef.OPS.keys() | opdef.FORMS.keys()):
        packet = opdef.find_packet(name)
        if packet is not None and "::" not in name:
            yield from packet.overloads_


def test_columns_have_known_words() -> None:
    for op in ops():
        assert set(op.traits) <= TRAITS, op
        assert op.autocast in (None, "lower", "float32", "widest"), op
        assert (op.pattern[0] if isinstance(op.pattern, tuple) else op.pattern) in PATTERNS, op


def test_facts_have_known_words() -> None:
    found: dict[str, set[str]] = {"flops": {"elements", "product", "convolution"}, "inverse": set(map(str, INVERSES)),
                                  "masked": {"unary", "binary", "passthrough", "reduction", *RULES}, "nested": {"parts"}}
    for op in ops():
        for column, words in found.items():
            word = op.facts.get(column)
            assert word is None or (word[0] if isinstance(word, tuple) else word) in words, (op, column, word)


def test_unknown_column_is_refused() -> None:
    with pytest.raises(TypeError, match="bend: unknown columns .'tropical'.; see NOTE"):
        opdef.OpDef(Schema("bend(Tensor self) -> Tensor"), None, tropical=True)


def test_rows_with_a_list_form_have_it() -> None:
    rows = [op for op in ops() if op.facts.get("foreach")]
    assert len(rows) == 30
    for op in rows:
        assert opdef.find_packet(f"_foreach_{op.name}") is not None and opdef.find_packet(f"_foreach_{op.name}_") is not None


def test_every_word_is_explained() -> None:
    text = opdef.__doc__
    assert text is not None
    assert all(f'"{word}"' in text for word in TRAITS)
    assert all(f"\n{column} " in text for column in opdef.FACTS)


@pytest.mark.parametrize(("op", "tag"), [
    (aten.nonzero.default, "dynamic_output_shape"), (aten.masked_select.out, "dynamic_output_shape"),
    (aten.equal.default, "data_dependent_output"), (aten.rand.default, "nondeterministic_seeded"),
    (aten.dropout.default, "nondeterministic_seeded"), (aten.bernoulli_.float, "nondeterministic_seeded"),
    (aten.sin_.default, "inplace"), (aten.sin.out, "out"), (aten.sin.default, "pointwise"), (aten.t_.default, "inplace_view"),
    (aten.resize_.default, "inplace_view"), (aten.select_copy.int, "view_copy"),
])
def test_tags_follow_from_columns(op: opdef.OpDef, tag: str) -> None:
    assert torch.Tag[tag] in op.tags


def test_ops_that_change_a_geometry_are_no_ordinary_writes() -> None:
    assert torch.Tag.inplace_view not in aten.add_.Tensor.tags


def test_random_ops_are_known_to_vmap() -> None:
    assert aten.randperm.default.random and aten.native_dropout.default.random and aten.normal_.default.random
    assert not aten.dropout.default.random       # its parts are
    assert not aten.sin.default.random


def test_inplace_forms_are_functions_where_pytorch_has_them() -> None:
    assert hasattr(torch, "sin_") and hasattr(torch, "arccos_") and hasattr(torch, "clip_")
    assert not hasattr(torch, "add_") and not hasattr(torch, "lgamma_") and not hasattr(torch, "multiply_")
    assert hasattr(torch.Tensor, "multiply_") and hasattr(torch.Tensor, "lgamma_")


def test_deprecated_orders_of_arguments_are_accepted() -> None:
    x, m = torch.ones(2), torch.ones(2, 2)
    assert torch.add(x, 2, x).tolist() == x.add(2, x).tolist() == torch.add(x, 2, other=x).tolist() == [3, 3]
    assert torch.add(2, torch.tensor(3), x).tolist() == [5, 5]
    assert torch.addcmul(x, 2, x, tensor2=x, out=torch.zeros(2)).tolist() == [3, 3]
    assert torch.addmm(2, m, 3, m, m)[0, 0] == m.addmm(2, 3, m, m)[0, 0] == 8
    assert torch.addmm(2, m, m, mat2=m)[0, 0] == 4
    assert torch.zeros(2).copy_(x, **{"async": True}).tolist() == [1, 1]
    with pytest.raises(TypeError, match=r"add\(\) takes 2 positional arguments but 3 were given"):
        torch.add(x, 2, "x")
