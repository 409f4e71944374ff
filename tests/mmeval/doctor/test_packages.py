from importlib.metadata import PackageNotFoundError, PathDistribution
from pathlib import Path

import pytest

from mmeval.doctor import packages
from mmeval.doctor.finding import Finding
from mmeval.doctor.packages import extras
from mmeval.installation import install_command
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


def found(
    monkeypatch: pytest.MonkeyPatch, *asked: str, **installed: str
) -> list[Finding]:
    def version(name: str) -> str:
        if name.lower() not in installed:
            raise PackageNotFoundError(name)
        return installed[name.lower()]

    monkeypatch.setattr(packages, "version", version)
    return list(extras(asked))


def test_what_an_extra_lacks_or_has_too_old_has_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    always, lacks, asked = found(monkeypatch, "b", of_all="0.9", own="2")
    assert (always.status, always.how_to) == ("broken", 'pip install -U "Of_All>=1"')
    assert (lacks.status, asked.status, lacks.how_to) == (
        "note",
        "missing",
        install_command("a"),
    )
    assert "Own 2 is not <2" in lacks.what and "second" in lacks.what
    _, old, _ = found(monkeypatch, of_all="1", own="2", second="1")
    assert (old.status, old.how_to) == ("broken", 'pip install -U "Own<2"')
    assert found(monkeypatch)[0].status == "broken"
    always, first, second = found(monkeypatch, of_all="1", own="1", second="9")
    assert {one.status for one in (always, first, second)} == {"ok"}
    assert [one.what.partition(":")[0] for one in (always, first, second)] == [
        "always needed",
        "extra a",
        "extra b",
    ]
