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
        packages, "own_distributions", lambda: [PathDistribution(tmp_path)]
    )


def found(monkeypatch: pytest.MonkeyPatch, **installed: str) -> list[str]:
    """The remedies, where these versions are installed."""

    def version(name: str) -> str:
        if name.lower() not in installed:
            raise PackageNotFoundError(name)
        return installed[name.lower()]

    monkeypatch.setattr(packages, "version", version)
    return list(dict.fromkeys(one.remedy for one in packages.versions()))


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
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], remedies: list[str]
) -> None:
    assert found(monkeypatch, **installed) == remedies
