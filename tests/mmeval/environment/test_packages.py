from importlib.metadata import PackageNotFoundError, PathDistribution
from pathlib import Path

import pytest

from mmeval.environment import packages
from tests.support.task_folder import write_files

LINES = (
    "Of_All>=1",
    "of-old ; python_version < '3'",
    "Own (<2) ; extra == 'a'",
    "second ; extra == 'a'",
    "own-old ; python_version < '3' and extra == 'a'",
    "mmeval-harness[a] ; extra == 'b'",
    "own ; extra == 'b'",
    "mmeval-harness[a,b] ; extra == 'all'",
)


@pytest.fixture(autouse=True)
def _metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "".join(f"Requires-Dist: {line}\n" for line in LINES)
    named = "".join(f"Provides-Extra: {name}\n" for name in ("a", "b", "all"))
    write_files(tmp_path, {"METADATA": f"Name: mmeval\nVersion: 1\n{named}{asked}"})
    monkeypatch.setattr(
        packages, "mmeval_distributions", lambda: [PathDistribution(tmp_path)]
    )


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **installed: str
) -> list[str]:
    """Have these versions installed. Returned are the packages whose metadata are
    read."""
    read: list[str] = []

    def distribution(name: str) -> PathDistribution:
        read.append(name)
        if name.lower() not in installed:
            raise PackageNotFoundError(name)
        head = f"Name: {name}\nVersion: {installed[name.lower()]}\n"
        write_files(folder / name, {"METADATA": f"{head}\nVersion: of a text\n"})
        return PathDistribution(folder / name)

    monkeypatch.setattr(packages, "distribution", distribution)
    return read


@pytest.mark.parametrize(
    ("installed", "remedies"),
    [
        ({"of_all": "1", "own": "1", "second": "9"}, []),
        ({"of_all": "1"}, []),
        ({}, ['pip install -U "Of_All>=1"']),
        ({"of_all": "0.9"}, ['pip install -U "Of_All>=1"']),
        ({"of_all": "1", "own": "2"}, ['pip install -U "Own<2"']),
    ],
    ids=["all", "an extra is missing", "nothing", "too old", "too new for an extra"],
)
def test_a_package_of_the_wrong_version_has_the_command_that_installs_another(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    remedies: list[str],
) -> None:
    install(tmp_path, monkeypatch, **installed)
    found = [finding.remedy for finding in packages.versions()]
    assert list(dict.fromkeys(found)) == remedies


def test_a_package_that_several_extras_need_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = install(tmp_path, monkeypatch, of_all="1", own="1", second="1")
    list(packages.versions())
    assert sorted(read) == ["Of_All", "Own", "own", "second"]
