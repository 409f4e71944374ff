from __future__ import annotations

import os
from pathlib import Path

import pytest

from mmeval.authoring.package import wheel
from mmeval.authoring.package.wheel import backend_of, build_wheel, clean_environ
from mmeval.errors import MissingExtraError, UsageError
from tests.support.task_folder import write_files

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "her-own"
version = "1.0"
dependencies = ["mmeval"]
"""


def test_a_wheel_is_built_from_a_copy_without_what_earlier_builds_left(tmp_path: Path) -> None:
    stale = {"build/lib/her_own/old.py": "", "her_own.egg-info/PKG-INFO": ""}
    files = {"pyproject.toml": PROJECT, "her_own/__init__.py": "", **stale}
    source, workplace = write_files(tmp_path / "source", files), tmp_path / "workplace"
    workplace.mkdir()

    found = build_wheel(source, workplace)

    assert (found.name, found.version, found.requires) == ("her-own", "1.0", {"mmeval"})
    assert found.names == {"her_own/__init__.py"}
    assert {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} == files.keys()


def test_what_a_wheel_needs_is_named_however_it_is_spelt_and_whatever_stands_behind_it() -> None:
    lines = ["MMEval>=0.1", "ruamel_yaml[x] (>=1) ; extra == 'y'", "what nobody can read"]

    assert list(wheel._names(lines)) == ["mmeval", "ruamel-yaml"]


def test_data_in_a_folder_that_is_called_like_one_of_a_build_are_packed(tmp_path: Path) -> None:
    data = 'include-package-data = false\npackage-data."*" = ["**/*.jsonl"]\n'
    files = {
        "pyproject.toml": f"{PROJECT}[tool.setuptools]\npackages = ['her_own']\n{data}",
        **{f"her_own/{name}": "" for name in ("__init__.py", "build/test.jsonl", "runs/test.jsonl")},
    }
    (tmp_path / "workplace").mkdir()

    found = build_wheel(write_files(tmp_path / "source", files), tmp_path / "workplace")

    assert found.names == {name for name in files if name.startswith("her_own/")}


def test_large_files_are_linked_into_the_copy_and_small_ones_are_copied(tmp_path: Path) -> None:
    for name, size in (("small", 10), ("large", wheel._LINKED_FROM)):
        (tmp_path / name).write_bytes(bytes(size))
        wheel._copy(str(tmp_path / name), str(tmp_path / f"{name}.copy"))

    assert not (tmp_path / "small").samefile(tmp_path / "small.copy")
    assert (tmp_path / "large").samefile(tmp_path / "large.copy")


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        (PROJECT, "setuptools.build_meta"),
        ("", wheel.DEFAULT_BACKEND),
        ('[build-system]\nbuild-backend = "hatchling.build"\n', "hatchling.build"),
    ],
    ids=["setuptools", "none named", "hatchling"],
)
def test_the_build_backend_is_the_one_that_the_package_names(text: str, backend: str, tmp_path: Path) -> None:
    assert backend_of(write_files(tmp_path, {"pyproject.toml": text})) == backend


def test_a_project_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pyproject\.toml: is no TOML"):
        backend_of(write_files(tmp_path, {"pyproject.toml": "name = \n"}))


def test_without_pip_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(MissingExtraError, match='pip install "pip"'):
        wheel.pip("--version")


def test_nothing_of_this_process_steers_the_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere")

    assert "PYTHONPATH" not in clean_environ()
    assert clean_environ()["PATH"] == os.environ["PATH"]


def test_a_build_backend_that_is_not_here_and_cannot_be_fetched_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where the log stays
    absent = PROJECT.replace("setuptools.build_meta", "absent_backend.api").replace("setuptools>=77", "absent-backend")
    source = write_files(tmp_path / "source", {"pyproject.toml": absent, "her_own/__init__.py": ""})

    with pytest.raises(
        UsageError,
        match='absent-backend is not installed here and could not be fetched: pip install -U "absent-backend"',
    ):
        build_wheel(source, write_files(tmp_path / "workplace", {"made": ""}))


@pytest.mark.parametrize(
    ("requires", "met"),
    [
        ("setuptools>=40", True),
        ("setuptools >=9999", False),
        ("setuptools[core] (>=40)", True),
        ("setuptools", True),
        ("nobody-has-this", False),
        ("nobody-has-this; python_version < '3'", True),
        ("setuptools~=9999.0", False),
        ("setuptools; python_version > '3'", True),
        ("what nobody can read", True),
    ],
)
def test_a_build_goes_without_isolation_only_where_all_that_it_requires_is_here(requires: str, met: bool) -> None:
    assert wheel._is_met(requires) is met


def test_a_build_that_needs_newer_tools_than_are_here_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(wheel, "version", lambda _name: "65.5.0")
    source = write_files(tmp_path / "source", {"pyproject.toml": PROJECT, "her_own/__init__.py": ""})

    with pytest.raises(UsageError, match='pip install -U "setuptools>=77"'):
        build_wheel(source, write_files(tmp_path / "workplace", {"made": ""}))
