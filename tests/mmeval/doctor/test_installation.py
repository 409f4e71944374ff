import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from mmeval import installation as place
from mmeval._version import __version__
from mmeval.doctor import installation
from mmeval.doctor.finding import Finding
from mmeval.installation import DISTRIBUTION
from tests.support.task_folder import write_files

SETUP = (
    "[options.entry_points]\nmmeval.tasks =\n    t = tasks.t\nmmeval.metrics =\n    "
    "wer = m:wer\n"
    "[options.extras_require]\na_b = x\n"
)
ENTRIES = "[mmeval.tasks]\nt = tasks.t\n[mmeval.metrics]\nwer = m:wer\n"


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_files(
        tmp_path / "checkout",
        {"setup.cfg": SETUP, "tasks/__init__.py": "", "mmeval/__init__.py": ""},
    )
    for module in (place, installation):
        monkeypatch.setattr(module, "ROOT", folder)
    monkeypatch.chdir(folder)
    return folder


def metadata(monkeypatch: pytest.MonkeyPatch, *found: Path) -> list[Finding]:
    def distributions(name: str) -> list[PathDistribution]:
        return [
            one for one in map(PathDistribution, found) if one.metadata["Name"] == name
        ]

    monkeypatch.setattr(installation, "distributions", distributions)
    return list(installation.metadata())


def written(
    folder: Path,
    *,
    name: str = DISTRIBUTION,
    version: str = __version__,
    entries: str = ENTRIES,
    extras: str = "a-b",
) -> Path:
    meta = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: "
        f"{extras}\n"
    )
    return write_files(folder, {"METADATA": meta, "entry_points.txt": entries})


def test_stale_metadata_are_broken_and_a_note_where_others_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "[mmeval.tasks]\nt = tasks.t\n[mmeval.metrics]\nwre = m:wer\n"
    faults: list[tuple[dict[str, str], list[str]]] = [
        ({"version": "0.0.1"}, ["version 0.0.1"]),
        ({"entries": other}, ["mmeval.metrics wer", "wre"]),
        ({"entries": ENTRIES.replace("m:wer", "n:wer")}, ["mmeval.metrics wer"]),
        ({"extras": "c"}, ["a-b", ": c"]),
    ]
    sound, again = (
        written(tmp_path / place / "mmeval-1.dist-info")
        for place in ("first", "second")
    )
    for more, words in faults:
        stale = written(tmp_path / "mmeval.egg-info", **more)
        (found,) = metadata(monkeypatch, stale)
        assert (found.status, [word for word in words if word not in found.what]) == (
            "broken",
            [],
        )
        assert found.how_to.startswith(
            'pip install -e "."; '
        ) and found.how_to.endswith(f"delete {stale}")
        assert [one.status for one in metadata(monkeypatch, sound, stale)] == [
            "ok",
            "note",
        ]
    (found,) = metadata(monkeypatch, sound, sound, again)
    assert (found.status, found.what.endswith(str(sound)), found.how_to) == (
        "ok",
        True,
        "",
    )


def test_others_of_our_name_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path
) -> None:
    ours = written(tmp_path / "y.dist-info")
    _, stranger = metadata(
        monkeypatch,
        ours,
        written(tmp_path / "x.dist-info", name="mmeval", version="0.2.1"),
    )
    assert (stranger.status, "0.2.1" in stranger.what) == ("broken", True)
    assert stranger.how_to.startswith("pip uninstall mmeval,")
    (checkout / "setup.cfg").unlink()
    other = written(tmp_path / "a.dist-info", extras="c")
    old = written(tmp_path / "b.dist-info", version="0.0.1")
    found = [metadata(monkeypatch, *folders) for folders in ((other, old), (old,), ())]
    assert [[one.status for one in those] for those in found] == [
        ["ok"],
        ["broken"],
        ["broken"],
    ]


def test_second_copies_are_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path
) -> None:
    second = write_files(tmp_path / "second", {"mmeval/__init__.py": ""})
    (links := tmp_path / "links/mmeval").mkdir(parents=True)
    (links / "__init__.py").symlink_to(checkout / "mmeval/__init__.py")
    monkeypatch.setattr(
        sys,
        "path",
        [*map(str, (tmp_path, checkout, links.parent)), "", str(second), str(second)],
    )
    (found,) = installation.copies()
    assert (found.status, str(second) in found.what, str(checkout) in found.what) == (
        "note",
        True,
        True,
    )
