import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from mmeval import installation as place
from mmeval._version import __version__
from mmeval.environment import installation
from mmeval.findings.finding import Finding
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


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"version": "0.0.1"}, ["version 0.0.1"]),
        ({"entries": ENTRIES.replace("wer =", "wre =")}, ["mmeval.metrics wer", "wre"]),
        ({"entries": ENTRIES.replace("m:wer", "n:wer")}, ["mmeval.metrics wer"]),
        ({"extras": "c"}, ["a-b", ": c"]),
    ],
    ids=["version", "name", "value", "extra"],
)
def test_stale_metadata_are_an_error_and_a_hint_where_others_come_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, str],
    words: list[str],
) -> None:
    sound = written(tmp_path / "first" / "mmeval-1.dist-info")
    stale = written(tmp_path / "mmeval.egg-info", **more)
    (found,) = metadata(monkeypatch, stale)
    assert (found.severity, found.subject.name) == ("error", str(stale))
    assert [word for word in words if word not in found.cause] == []
    assert found.remedy == 'pip install -e "."'
    (later,) = metadata(monkeypatch, sound, stale)
    assert later.severity == "note"


def test_others_of_our_name_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = written(tmp_path / "y.dist-info")
    other = written(tmp_path / "x.dist-info", name="mmeval", version="0.2.1")
    (stranger,) = metadata(monkeypatch, ours, other)
    assert (stranger.severity, stranger.remedy) == ("error", "pip uninstall mmeval")


def test_outside_of_a_checkout_the_first_installation_counts_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path
) -> None:
    (checkout / "setup.cfg").unlink()
    other = written(tmp_path / "a.dist-info", extras="c")
    old = written(tmp_path / "b.dist-info", version="0.0.1")
    found = [metadata(monkeypatch, *folders) for folders in ((other, old), (old,), ())]
    assert [[one.severity for one in those] for those in found] == [
        [],
        ["error"],
        ["error"],
    ]


def test_second_copies_are_a_hint(
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
    assert (found.severity, found.subject.name) == ("note", str(second))
    assert str(checkout) in found.cause
