"""Modules whose variables are settings."""
from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType
from typing import Any
from unittest import TestCase, mock

import pytest

from retrograd.utils._config_module import Config, ConfigModule, get_tristate_env, inherit_fields_from

SOURCE = """
import sys
from retrograd.utils._config_module import Config, install_config_module

flag = True
depth = 1
names = ["a"]
action = None
# @compile_ignored: does not change results
noise = 0
_private = 3
by_default: bool = Config(default=False, env_name_default="SETTINGS_DEFAULT")
forced: bool = Config(default=False, env_name_force=["SETTINGS_NONE", "SETTINGS_FORCED"])
other = Config(alias="settings_alias.x")
old = Config(default=1, deprecated=True, deprecation_message="has no effect")
_save_config_ignore = ["names", "old"]

class group:
    width = 5
    class inner:
        height = 6

install_config_module(sys.modules[__name__])
"""


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Any:
    (tmp_path / "settings_module.py").write_text(SOURCE)
    alias = ModuleType("settings_alias")
    alias.x = 7     # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "settings_alias", alias)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SETTINGS_DEFAULT", "1")
    monkeypatch.setenv("SETTINGS_FORCED", "1")
    yield importlib.import_module("settings_module")
    del sys.modules["settings_module"]


def test_values_come_from_the_program_the_environment_or_the_default(settings) -> None:
    assert (settings.by_default, settings.forced, settings.other) == (True, True, 7)
    settings.by_default = settings.forced = False
    settings.other = 8
    assert (settings.by_default, settings.forced, sys.modules["settings_alias"].x) == (False, True, 8)
    assert (settings.group.width, settings.group.inner.height) == (5, 6)
    settings.group.inner.height = 9
    assert settings.get_config_copy()["group.inner.height"] == 9


def test_unknown_settings_are_refused(settings) -> None:
    assert not hasattr(settings, "missing")
    with pytest.raises(AttributeError, match="settings_module.missing does not exist"):
        settings.missing = 1
    with pytest.raises(AttributeError, match="missing does not exist"), settings.patch(missing=1):
        pass


def test_defaults_do_not_change_with_their_values(settings) -> None:
    assert settings._is_default("names")
    settings.names.append("b")
    assert settings.names == ["a", "b"] and not settings._is_default("names")
    del settings.names
    settings.names = ["a"]
    assert settings._is_default("names") and not settings._is_default("by_default")


def test_patches_are_scopes_and_decorators(settings) -> None:
    with settings.patch("depth", 2), settings.patch({"group.width": 3}), settings.patch(flag=False):
        assert (settings.depth, settings.group.width, settings.flag) == (2, 3, False)
    assert (settings.depth, settings.group.width, settings.flag) == (1, 5, True)
    assert settings.patch(depth=4)(lambda: settings.depth)() == 4

    @settings.patch(depth=6)
    class Case(TestCase):
        def test(self) -> None:
            self.assertEqual(settings.depth, 6)
    result = Case("test").defaultTestResult()
    Case.setUpClass()
    Case("test").run(result)
    Case.tearDownClass()
    assert result.wasSuccessful() and settings.depth == 1
    with mock.patch("settings_module.depth", 5), mock.patch.object(settings, "flag", False):
        assert (settings.depth, settings.flag) == (5, False)
    assert (settings.depth, settings.flag) == (1, True)
    undo = settings._make_closure_patcher(depth=8)()
    assert settings.depth == 8
    undo()
    assert settings.depth == 1


@pytest.mark.parametrize(("args", "kwargs", "words"), [
    (("depth", 1), {"flag": 1}, "both positional and keyword"), ((3,), {}, "must be a dict"), ((3, 4), {}, "must be a string"),
    ((None, 4), {}, "only valid when first argument is a key string")])
def test_patches_check_their_arguments(settings, args, kwargs, words) -> None:
    with pytest.raises(AssertionError, match=words):
        settings.patch(*args, **kwargs)


def test_changes_belong_to_a_thread(settings) -> None:
    settings.depth = 2
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(settings.depth))
    thread.start()
    thread.join()
    assert seen == [1]


def test_settings_are_saved_hashed_and_written_as_code(settings) -> None:
    before = settings.get_hash()
    settings.noise = 1
    assert settings.get_hash() == before
    settings.depth, settings.action = 2, sys.getsizeof
    assert settings.get_hash() != before
    assert settings.codegen_config().split("\n") == [
        "import sys", "settings_module.depth = 2", "settings_module.action = sys.getsizeof", "settings_module.noise = 1",
        "settings_module.by_default = True", "settings_module.forced = True"]
    saved = settings.save_config()
    settings.depth, settings.names = 3, ["c"]
    settings.load_config(saved)
    assert (settings.depth, settings.names) == (2, ["c"])
    assert "_private" not in settings.save_config_portable()
    with pytest.warns(UserWarning, match="key missing with value 1 is not understood"):
        settings.load_config({"missing": 1})


def test_deprecated_settings_warn_once(settings) -> None:
    with pytest.warns(FutureWarning, match="settings_module.old is deprecated and has no effect"):
        assert settings.old == 1
    assert settings.old == 1
    with pytest.warns(FutureWarning, match="has been deprecated"):
        settings.to_dict()


def test_declarations_are_checked(monkeypatch) -> None:
    with pytest.raises(AssertionError, match="if alias is set"):
        Config(default=1, alias="a.b")
    with pytest.raises(AssertionError, match="val is not a list"):
        Config(default=True, env_name_force=3)
    with pytest.raises(NotImplementedError, match="install_config_module"):
        ConfigModule()
    monkeypatch.setenv("SETTINGS_SWITCH", "0")
    assert get_tristate_env("SETTINGS_SWITCH") is False and get_tristate_env("SETTINGS_MISSING", True) is True

    class Parent:
        a, b = 1, 2

    @inherit_fields_from(Parent)
    class Child:
        b = 3
    assert (Child.a, Child.b) == (1, 3)     # type: ignore[attr-defined]
