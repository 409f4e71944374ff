"""``mmeval validate --dist``, on wheels of generated packages."""

from __future__ import annotations

import os
import tempfile
import tomllib
import zipfile
from collections.abc import Collection
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.authoring.scaffold.names import KINDS, PackageKind, package_name
from mmeval.authoring.scaffold.package import write_package

PLACEHOLDER = "her-own: warning: LICENSE is a placeholder"


def project(kind: PackageKind, folder: Path) -> Path:
    return write_package(kind, package_name(kind, "her-own"), folder).folder


def built(folder: Path, *, without: Collection[str] = (), requires: str = "mmeval>=0.1", entries: str = "") -> Path:
    """The wheel of a project in its folder dist, without the files of some suffixes."""
    settings = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    groups = settings["entry-points"].items()
    lines = [line for group, found in groups for line in (f"[{group}]", *(f"{k} = {v}" for k, v in found.items()))]
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: her-own\nVersion: 0.1.0\nRequires-Dist: {requires}\n",
        "entry_points.txt": entries or "\n".join(lines),
        "licenses/LICENSE": (folder / "LICENSE").read_text(),
    }
    wheel = folder / "dist" / "her_own-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in sorted((folder / "her_own").rglob("*")):
            if file.is_file() and file.suffix not in (*without, ".pyc"):
                archive.write(file, file.relative_to(folder))
        for name, text in info.items():
            archive.writestr(f"her_own-0.1.0.dist-info/{name}", text)
    return wheel


def check(place: Path, capfd: pytest.CaptureFixture[str], *flags: str) -> tuple[int, list[str]]:
    """The exit code, and the lines that are printed below the first."""
    code = main(["validate", "--dist", str(place), *flags])
    return code, capfd.readouterr().out.splitlines()[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_package_is_sound_and_nothing_is_left_behind(
    kind: PackageKind, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, temporary = project(kind, tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    built(folder)

    code, (inside, licence, *_, last) = check(folder, capfd)

    assert code == 0
    assert inside.startswith("her-own: inside: [project.entry-points.")
    assert licence.startswith(PLACEHOLDER)
    assert last.startswith("0 errors")
    assert list(temporary.iterdir()) == []


def test_a_missing_file_is_named_with_the_setting_that_adds_it_and_its_task_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = project("benchmark", tmp_path)
    built(folder, without=[".jinja", ".jsonl"])

    code, lines = check(folder, capfd)

    assert code == 2
    for pattern, file in (("jinja", "prompts/rubric.jinja"), ("jsonl", "bundled/her_own_1/test.jsonl")):
        (line,) = (line for line in lines if f'"her_own" = ["**/*.{pattern}"]' in line)
        assert line.startswith(f"her-own: error: missing from the wheel: her_own/tasks/{file}")
    assert any(": error: metric_list[1].prompt: the prompt file her_own/tasks/prompts" in line for line in lines)


def test_of_what_tasks_are_not_made_of_a_missing_file_is_a_warning_and_hidden_files_and_runs_are_not_missed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = project("metric", tmp_path)
    built(folder)
    for name in ("notes.ipynb", ".hidden", "__pycache__/a.pyc", "runs/1/run.json", "runs/1/journal/a.jsonl"):
        (folder / "her_own" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "her_own" / name).touch()

    code, lines = check(folder, capfd)

    assert code == 0
    assert [line.partition(" (")[0] for line in lines if "[files]" in line] == [
        "her-own: warning: missing from the wheel: her_own/notes.ipynb"
    ]


def test_a_wheel_that_is_older_than_its_source_is_warned_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = project("metric", tmp_path)
    built(folder)
    (folder / "her_own" / "metrics.py").write_text("")

    _, lines = check(folder, capfd)

    assert any("changed since the wheel was built: her_own/metrics.py" in line for line in lines)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ("[mmeval.metrics]\nx = her_own.metrics:his_own", "AttributeError"),
        ("[mmeval.metrics]\nx = her_own.metric:her_own", "the module her_own.metric is missing"),
        ("[mmeval.metric]\nx = her_own.metrics:her_own", "there is no such group"),
        ("[mmeval.tasks]\nx = her_own", "no task file is in the wheel"),
    ],
    ids=["attribute", "module", "group", "no task"],
)
def test_an_entry_point_that_leads_nowhere_is_an_error(
    entries: str, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, lines = check(built(project("metric", tmp_path), entries=entries), capfd)

    assert code == 2
    assert [reason in line for line in lines if "[entry points]" in line] == [True]


@pytest.mark.parametrize(("requires", "warned"), [("mmeval", False), ("MMEval[image]>=1", False), ("mmevals", True)])
def test_a_package_that_does_not_require_mmeval_is_warned_of(
    requires: str, warned: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, lines = check(built(project("metric", tmp_path), requires=requires), capfd)

    assert any("[requires]" in line for line in lines) == warned


def test_the_newest_wheel_is_checked_with_the_flags_that_are_given(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = project("benchmark", tmp_path)
    wheel = built(folder)
    older = wheel.with_name("her_own-0.9.0-py3-none-any.whl")
    older.write_bytes(b"")
    os.utime(older, (0, 0))

    code, lines = check(folder, capfd, "--bounds", "--rows", "2")

    assert code == 0
    assert "1 task, 2 rows, 3 media" in lines


@pytest.mark.parametrize(
    ("entry", "reason"),
    [("../out.txt", "out.txt"), ("her_own/a.py", "does not hold the metadata")],
    ids=["a name that leads elsewhere", "no metadata"],
)
def test_a_file_that_is_no_sound_wheel_is_refused(
    entry: str, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(entry, "")

    assert main(["validate", "--dist", str(wheel)]) != 0
    assert reason in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["."], "pip wheel --no-deps -w ./dist ./"), ([".", "name"], "leave out NAME")],
    ids=["no wheel", "a name"],
)
def test_misuse_is_a_usage_error(
    words: list[str],
    reason: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["validate", "--dist", *words]) == 2
    assert reason in capfd.readouterr().err
