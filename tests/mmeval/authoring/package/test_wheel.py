"""``mmeval check --dist``, on wheels of generated packages."""

import json
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
from mmeval.findings.finding import Finding
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
    declared = tomllib.loads((folder / "pyproject.toml").read_text())
    lines = []
    for group, found in declared["project"]["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {target}" for name, target in found.items()]
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
    return mmeval("check", "--dist", place, *flags)


def found_in(place: Path, *flags: str) -> tuple[int, list[Finding]]:
    """The exit code, and the findings about the package itself."""
    done = check(place, "--json", *flags)
    findings = map(Finding.from_json, json.loads(done.out)["findings"])
    return done.code, [one for one in findings if one.kind == "package"]


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_generated_package_is_sound(
    kind: PackageKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, temporary = project(kind, tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    built(folder)
    code, (licence,) = found_in(folder)
    assert (code, licence.subject.name, licence.severity) == (0, "LICENSE", "warning")
    assert list(temporary.iterdir()) == []


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
    code, found = found_in(folder)
    (missing,) = [one for one in found if one.subject.file]
    assert (code, missing.severity) == (0, "warning")
    assert missing.subject.file == "her_own/notes.ipynb"


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ("[mmeval.metrics]\nx = her_own.metrics:his_own", "AttributeError"),
        ("[mmeval.metrics]\nx = her_own.metric:her_own", "her_own.metric is missing"),
        ("[mmeval.metric]\nx = her_own.metrics:her_own", "unknown group"),
        ("[mmeval.tasks]\nx = her_own", "task file"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_an_error(
    entries: str, reason: str, tmp_path: Path
) -> None:
    code, found = found_in(built(project("metric", tmp_path), entries=entries))
    (broken,) = [one for one in found if one.severity == "error"]
    assert (code, reason in broken.cause) == (4, True)


def test_a_package_that_does_not_require_mmeval_is_warned_of(tmp_path: Path) -> None:
    asked = ("mmeval-harness", "MMEval-Harness[hf]>=1", "mmeval>=0.2")
    warned = []
    for at, one in enumerate(asked):
        _, found = found_in(built(project("metric", tmp_path / str(at)), requires=one))
        warned.append(any("dependencies" in one.cause for one in found))
    assert warned == [False, False, True]


def test_a_project_is_built_and_checked_with_the_flags_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project("benchmark", tmp_path)
    built(folder)
    assert check(folder, "--rows", "2").code == 0
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
