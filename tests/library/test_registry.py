"""Library: declaring operators, adding kernels, and taking them back."""
from __future__ import annotations

import gc

import pytest

import retrograd as torch
from retrograd.library import Library, _scoped_library, define, impl
from retrograd.library.userop import Warned


def test_declared_op_is_found_and_called() -> None:
    with _scoped_library("t_reg", "FRAGMENT") as lib:
        assert lib.define("scale(Tensor x, float by=2, *, int plus=0) -> Tensor") == "scale"
        lib.impl("scale", lambda x, by=2.0, *, plus=0: x * by + plus, "CPU")
        packet = torch.ops.t_reg.scale
        assert repr(packet) == "<OpOverloadPacket(op='t_reg.scale')>"
        assert repr(packet.default) == "<OpOverload(op='t_reg.scale', overload='default')>"
        assert str(packet.default) == "t_reg.scale.default"
        assert packet.default.name() == "t_reg::scale"
        assert packet.overloads() == ["default"]
        assert packet(torch.ones(2), plus=1).tolist() == [3.0, 3.0]


def test_kernel_gets_only_what_differs_from_the_defaults() -> None:
    seen = []
    with _scoped_library("t_reg", "FRAGMENT") as lib:
        lib.define("f(Tensor a, int b=2, *, float c=1.5, Tensor? d=None) -> ()")
        lib.impl("f", lambda *args, **kwargs: seen.append((len(args), kwargs)), "CPU")
        x = torch.ones(1)
        torch.ops.t_reg.f(x, 2, c=1.5)
        torch.ops.t_reg.f(x, b=3, c=2)
    assert seen == [(1, {}), (2, {"c": 2.0})]


def test_library_takes_back_what_it_registered() -> None:
    outer = Library("t_undo", "DEF")
    outer.define("f(Tensor x) -> Tensor")
    outer.impl("f", lambda x: x + 1)
    inner = Library("t_undo", "IMPL", "CPU")
    inner.impl("f", lambda x: x + 2)
    assert torch.ops.t_undo.f(torch.zeros(1)).item() == 2.0
    inner._destroy()
    assert torch.ops.t_undo.f(torch.zeros(1)).item() == 1.0
    outer._destroy()
    with pytest.raises(AttributeError, match="'_OpNamespace' 't_undo' object has no attribute 'f'"):
        _ = torch.ops.t_undo.f


def test_library_without_references_is_removed() -> None:
    lib = Library("t_held", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    del lib
    gc.collect()
    assert not hasattr(torch.ops.t_held, "f")
    Library("t_held", "DEF")._destroy()


def test_kernel_may_come_before_the_declaration() -> None:
    with _scoped_library("t_early", "IMPL") as kernels, _scoped_library("t_early", "FRAGMENT") as lib:
        kernels.impl("f", lambda x: x * 5, "CPU")
        lib.define("f(Tensor x) -> Tensor")
        assert torch.ops.t_early.f(torch.ones(1)).item() == 5.0


def test_namespace_may_be_called_like_an_op_table() -> None:
    with _scoped_library("views", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 3, "CPU")
        assert torch.ops.views.f(torch.ones(1)).item() == 3.0
        assert callable(torch.ops.views.shape.defop)    # the table is still there


def test_name_of_a_built_in_op_is_free_in_another_namespace() -> None:
    with _scoped_library("t_same", "FRAGMENT") as lib:
        lib.define("mm(Tensor a, Tensor b) -> Tensor")
        lib.impl("mm", lambda a, b: a - b, "CompositeImplicitAutograd")
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.ops.t_same.mm(torch.ones(2), torch.ones(2)).dtype is torch.float32


def test_overloads_are_tried_in_turn() -> None:
    with _scoped_library("t_over", "FRAGMENT") as lib:
        lib.define("f.one(Tensor x) -> Tensor")
        lib.define("f.two(Tensor x, int y) -> Tensor")
        lib.impl("f.one", lambda x: x, "CPU")
        lib.impl("f.two", lambda x, y: x * y, "CPU")
        assert torch.ops.t_over.f(torch.ones(1), 4).item() == 4.0
        with pytest.raises(RuntimeError, match="Overloaded torch operator invoked from Python failed to match any schema"):
            torch.ops.t_over.f("x")
        with pytest.raises(AttributeError, match="The underlying op of 't_over.f' has no overload name 'three'"):
            _ = torch.ops.t_over.f.three


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda lib: Library("t_err", "WAT"), ValueError, "Unsupported kind: WAT"),
    (lambda lib: Library("prim", "DEF"), ValueError, "prim is a reserved namespace"),
    (lambda lib: lib.define("f(Tensor x) -> Tensor"), RuntimeError, "with the same name and overload name multiple times"),
    (lambda lib: lib.define("other::g(Tensor x) -> Tensor"), RuntimeError, "does not match namespace of enclosing"),
    (lambda lib: lib.define("g(Tensor x) -> Tensor", "WAT"), RuntimeError, "Invalid alias_analysis type WAT"),
    (lambda lib: lib.impl("f", 3, "CPU"), TypeError, "Input function is required to be a callable"),
    (lambda lib: lib.impl("f", lambda x: x, "WAT"), RuntimeError, "could not parse dispatch key: WAT"),
    (lambda lib: lib.impl("other::f", lambda x: x, "CPU"), RuntimeError, "Explicitly provided namespace"),
    (lambda lib: define("nothing", "(Tensor x) -> Tensor"), ValueError, 'of the form "namespace::name"'),
    (lambda lib: define("t_err::g", "g(Tensor x) -> Tensor"), ValueError, "expected schema to look like"),
    (lambda lib: impl("t_err::f", "wat", lambda x: x), RuntimeError, "device type at start of device string: wat"),
])
def test_wrong_registration_is_refused(make: object, kind: type[Exception], message: str) -> None:
    with _scoped_library("t_err", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        with pytest.raises(kind, match=message):
            make(lib)


def test_namespace_has_one_owner() -> None:
    lib = Library("t_owner", "DEF")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace t_owner"):
        Library("t_owner", "DEF")
    lib._destroy()


def test_replaced_kernel_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Warned, "override", False)
    with _scoped_library("t_twice", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
            lib.impl("f", lambda x: x * 2, "CPU")
        lib.impl("f", lambda x: x * 3, "CPU")
        assert torch.ops.t_twice.f(torch.ones(1)).item() == 3.0


def test_functions_register_too() -> None:
    with _scoped_library("t_fun", "FRAGMENT") as lib:
        define("t_fun::f", "(Tensor x) -> Tensor", lib=lib, tags=torch.Tag.pointwise)

        @impl("t_fun::f", ("cpu", "meta"), lib=lib)
        def kernel(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        @impl(lib, "f", "CompositeExplicitAutograd")
        def rest(x: torch.Tensor) -> torch.Tensor:
            return x

        assert torch.ops.t_fun.f.default.tags == [torch.Tag.pointwise]
        assert torch.ops.t_fun.f(torch.zeros(1)).item() == 1.0
        assert torch.ops.t_fun.f(torch.zeros(1, device="meta")).shape == (1,)


@pytest.mark.parametrize(("word", "number"), [("float32", 6), ("half", 5), ("long", 4), ("bool", 11), ("float8_e4m3fn", 24)])
def test_names_of_dtypes_are_numbers_in_schemas(word: str, number: int) -> None:
    library = torch.library.Library("numbers_of", "DEF")
    library.define(f"{word}_(Tensor x, ScalarType a={word}, ScalarType[] b=[{word}]) -> Tensor")
    arguments = getattr(torch.ops.numbers_of, f"{word}_").default._schema.arguments
    assert arguments[1].default_value == number and arguments[2].default_value == [number]
    with pytest.raises(RuntimeError, match="invalid numeric default value"):
        library.define(f"other(Tensor x, int a={word}32) -> Tensor")


def test_destroyed_library_takes_no_more_registrations():
    library = torch.library.Library("destroyed_library", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    library._destroy()
    with pytest.raises(AssertionError, match="Library object has been destroyed"):
        library.define("g(Tensor x) -> Tensor")
    with pytest.raises(AssertionError, match="Library object has been destroyed"):
        library.impl("f", lambda x: x, "CPU")
    library._destroy()


def test_operators_made_of_others_take_no_meta_kernel():
    with torch.library._scoped_library("made_of_others", "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x.sin(), "CompositeImplicitAutograd")
        with pytest.raises(RuntimeError, match="should not register a meta kernel directly to the operator 'f'"):
            library.impl("f", lambda x: x, "Meta")
