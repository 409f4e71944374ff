"""``mmeval validate --dist``, on wheels of generated packages."""

import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.authoring.package.load import faults
from mmeval.authoring.package.wheel import UnpackedWheel
from mmeval.authoring.scaffold.names import PACKAGES, PackageKind, package_name
from mmeval.authoring.scaffold.package import write_package
from mmeval.run.options import RunOptions
from tests.support.cli import Ended, mmeval

WHEEL = "her_own-0.1.0-py3-none-any.whl"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs in a process that sees the wheel runs in this one, which sees it for so
    long."""

    def python(self: UnpackedWheel, *words: str) -> subprocess.CompletedProcess[str]:
        with pytest.MonkeyPatch.context() as patched:
            patched.syspath_prepend(str(self.folder))
            plugins._registered.cache_clear()
            try:
                out = (
                    mmeval(*words[1:]).out
                    if words[0] == "mmeval"
                    else "\n".join(faults(str(self.folder)))
                )
            finally:
                for name in [
                    name for name in sys.modules if name.partition(".")[0] == "her_own"
                ]:
                    del sys.modules[name]
        plugins._registered.cache_clear()
        return subprocess.CompletedProcess(words, 0, out)

    monkeypatch.setattr(UnpackedWheel, "python", python)
    monkeypatch.setattr(
        "build.ProjectBuilder.build",
        lambda project, _, folder: str(Path(folder) / WHEEL),
    )
    monkeypatch.setattr(
        "mmeval.authoring.bounds.RunOptions", partial(RunOptions, score_workers=0)
    )


def project(kind: PackageKind, folder: Path) -> Path:
    return write_package(kind, package_name(kind, "her-own"), folder).folder


def built(
    folder: Path,
    *,
    without: Collection[str] = (),
    requires: str = "mmeval-harness>=0.1",
    entries: str = "",
) -> Path:
    """The wheel of a project in its folder dist, without the files of some suffixes."""
    groups = tomllib.loads((folder / "pyproject.toml").read_text())["project"][
        "entry-points"
    ].items()
    lines = [
        line
        for group, found in groups
        for line in (f"[{group}]", *(f"{k} = {v}" for k, v in found.items()))
    ]
    info = {
        "METADATA": "Metadata-Version: 2.1\nName: her-own\nVersion: 0.1.0\n"
        f"Requires-Dist: {requires}\n",
        "entry_points.txt": entries or "\n".join(lines),
        "licenses/LICENSE": (folder / "LICENSE").read_text(),
    }
    wheel = folder / "dist" / WHEEL
    wheel.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in sorted((folder / "her_own").rglob("*")):
            if file.is_file() and file.suffix not in (*without, ".pyc"):
                archive.write(file, file.relative_to(folder))
        for name, text in info.items():
            archive.writestr(f"her_own-0.1.0.dist-info/{name}", text)
    return wheel


def check(place: Path, *flags: str) -> Ended:
    return mmeval("validate", "--dist", place, *flags)


def lines_of(done: Ended, check: str) -> list[str]:
    """The lines of one check, without the name of the package."""
    return [
        line.removeprefix("her-own: ")
        for line in done.out.splitlines()
        if line.endswith(f"[{check}]")
    ]


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_generated_package_is_sound(
    kind: PackageKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, temporary = project(kind, tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    built(folder)
    done = check(folder)
    assert (done.code, done.out.splitlines()[-1].partition(",")[0]) == (
        0,
        "0 errors",
    ), done.out
    assert all(
        line.startswith("inside: [project.entry-points.")
        for line in lines_of(done, "entry points")
    )
    assert [line.partition(" is ")[0] for line in lines_of(done, "licence")] == [
        "warning: LICENSE"
    ]
    assert list(temporary.iterdir()) == []


def test_a_missing_file_is_named_with_the_setting_that_adds_it_and_its_task_fails(
    tmp_path: Path,
) -> None:
    folder = project("benchmark", tmp_path)
    built(folder, without=[".jinja", ".jsonl"])
    done = check(folder)
    assert done.code == 2
    missing = {"jinja": "prompts/rubric.jinja", "jsonl": "bundled/her_own_1/test.jsonl"}
    for line, (suffix, file) in zip(
        lines_of(done, "files"), missing.items(), strict=True
    ):
        assert line.startswith("error: ") and f"her_own/tasks/{file}" in line
        assert f'"her_own" = ["**/*.{suffix}"]' in line
    assert any("metric_list[1].prompt" in line for line in done.out.splitlines())


def test_a_missing_file_beside_the_tasks_is_a_warning_and_hidden_files_and_runs_are_not_missed(
    tmp_path: Path,
) -> None:
    folder = project("metric", tmp_path)
    built(folder)
    for name in (
        "notes.ipynb",
        ".hidden",
        "__pycache__/a.pyc",
        "runs/1/run.json",
        "runs/1/journal/a.jsonl",
    ):
        (folder / "her_own" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "her_own" / name).touch()
    done = check(folder)
    (missing,) = lines_of(done, "files")
    assert done.code == 0
    assert missing.startswith("warning: ") and "wheel: her_own/notes.ipynb (" in missing


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ("[mmeval.metrics]\nx = her_own.metrics:his_own", "AttributeError"),
        ("[mmeval.metrics]\nx = her_own.metric:her_own", "her_own.metric is missing"),
        ("[mmeval.metric]\nx = her_own.metrics:her_own", "no such group"),
        ("[mmeval.tasks]\nx = her_own", "task file"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_an_error(
    entries: str, reason: str, tmp_path: Path
) -> None:
    done = check(built(project("metric", tmp_path), entries=entries))
    assert done.code == 2
    assert [reason in line for line in lines_of(done, "entry points")] == [True]


def test_a_package_that_does_not_require_mmeval_is_warned_of(tmp_path: Path) -> None:
    asked = ("mmeval-harness", "MMEval-Harness[hf]>=1", "mmeval>=0.2")
    found = [
        lines_of(
            check(built(project("metric", tmp_path / str(at)), requires=one)),
            "requires",
        )
        for at, one in enumerate(asked)
    ]
    assert [len(lines) for lines in found] == [0, 0, 1]


def test_a_project_is_built_and_checked_with_the_flags_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project("benchmark", tmp_path)
    built(folder)
    assert (
        "1 task, 2 rows, 3 media"
        in check(folder, "--bounds", "--rows", "2").out.splitlines()
    )
    monkeypatch.undo()
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "none_such"\n'
    )
    failed = check(folder)
    assert (failed.code, "none_such" in failed.error) == (2, True)
    monkeypatch.setitem(sys.modules, "build", None)
    assert (check(folder).code, "pip install build" in check(folder).error) == (4, True)


def test_a_file_that_is_no_sound_wheel_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bare.whl", "w") as archive:
        archive.writestr("her_own/a.py", "")
    (tmp_path / "cut.whl").write_bytes((tmp_path / "bare.whl").read_bytes()[:-9])
    for name in ("bare.whl", "cut.whl"):
        done = check(tmp_path / name)
        assert (done.code, name in done.error) == (2, True)
    (tmp_path / "empty").mkdir()
    assert check(tmp_path / "empty").code == 2
