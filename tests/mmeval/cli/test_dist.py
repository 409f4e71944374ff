"""``mmeval validate --dist``, on real packages in real environments."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.authoring.scaffold.names import KINDS, Kind, package_name
from mmeval.authoring.scaffold.package import write_package
from tests.support.reader_environment import reader_environment

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def package(kind: Kind, folder: Path) -> Path:
    return write_package(kind, package_name(kind, "her-own"), folder).folder


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_package_is_sound_and_nothing_is_left_behind(
    kind: Kind, tmp_path: Path, workplace: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package(kind, tmp_path)
    before = tree(folder)
    monkeypatch.chdir(folder)

    assert main(["validate", "--dist", "."]) == 0

    first, *_, last = capfd.readouterr().out.splitlines()
    assert first.startswith("her_own-0.1.0-py3-none-any.whl: ")
    assert last.startswith("0 errors")
    assert tree(folder) == before
    assert list(workplace.iterdir()) == []


def test_each_kind_of_file_that_is_missing_is_named_with_the_line_that_adds_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = package("benchmark", tmp_path)
    edit(folder / "pyproject.toml", '"**/*.jinja", "**/*.jsonl"', '"**/*.nothing"')

    assert main(["validate", "--dist", str(folder)]) == 2

    printed = capfd.readouterr().out
    for files, pattern in (("prompts/rubric.jinja", "jinja"), ("bundled/her_own_1/test.jsonl", "jsonl")):
        (line,) = (line for line in printed.splitlines() if f'["**/*.{pattern}"]' in line)
        assert line.startswith(f"her-own: error: missing from the wheel: her_own/tasks/{files}")
        assert f'[tool.setuptools.package-data]: "her_own.tasks" = ["**/*.{pattern}"]' in line
    assert ": error: metric_list[1].prompt: the prompt file her_own/tasks/prompts" in printed, (
        "its tasks are checked there, too"
    )


def test_a_package_that_ships_no_task_file_is_told_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = package("benchmark", tmp_path)
    edit(folder / "pyproject.toml", '"**/*.yaml"', '"**/*.nothing"')

    assert main(["validate", "--dist", str(folder)]) == 2
    assert "her_own: no task file is in the wheel [entry points]" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("her_own.metrics:her_own", "her_own.metrics:his_own", "AttributeError"),
        ("her_own.metrics:her_own", "her_own.metric:her_own", "No module named 'her_own.metric'"),
        ("mmeval.metrics", "mmeval.metric.contract", "there is no such group"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(
    before: str, after: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = package("metric", tmp_path)
    edit(folder / "pyproject.toml", before, after)

    assert main(["validate", "--dist", str(folder)]) == 2

    (line,) = (line for line in capfd.readouterr().out.splitlines() if "[entry points]" in line)
    assert after in line
    assert said in line


def test_a_wheel_that_cannot_be_built_is_told_shortly_with_the_whole_log(
    tmp_path: Path, workplace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = package("metric", tmp_path)
    edit(folder / "pyproject.toml", 'version = "0.1.0"', 'version = "not a version"')

    assert main(["validate", "--dist", str(folder)]) == 2

    (log,) = workplace.iterdir()
    said = capfd.readouterr().err
    assert str(log) in said
    assert "not a version" in log.read_text()
    assert len(said.splitlines()) < 10


def test_flags_go_on_to_the_check_of_the_installed_tasks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = package("benchmark", tmp_path)

    assert main(["validate", "--dist", str(folder), "--bounds", "--rows", "2"]) == 0
    assert "1 task, 2 rows, 3 media\n" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--dist", "."], "holds no package"), (["--dist", ".", "name"], "leave out NAME")],
    ids=["no package", "a name"],
)
def test_misuse_is_a_usage_error(
    words: list[str], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["validate", *words]) == 2
    assert said in capfd.readouterr().err


def test_the_new_wheel_is_checked_and_not_the_same_version_that_is_installed(tmp_path: Path) -> None:
    folder = package("benchmark", tmp_path)
    environment = reader_environment(tmp_path / "venv")
    environment.pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(tmp_path), str(folder))
    environment.install(str(next(tmp_path.glob("*.whl"))))
    shutil.rmtree(folder / "build")
    edit(folder / "her_own/tasks/_her_own.yaml", "breakdown:", "brakdown:")

    done = environment.run("mmeval", "validate", "--dist", str(folder), cwd=tmp_path)

    assert done.returncode == 2
    assert 'her_own/tasks/_her_own.yaml:12: error: brakdown: unknown key; did you mean "breakdown"?' in done.stdout
    assert done.stdout.endswith("\n1 error, 1 warning\n"), "the warning is that of the placeholder of a licence"
    assert "the same for" not in done.stdout, "the group is met by its own name too, and is no task"
