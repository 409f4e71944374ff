from pathlib import Path

import pytest

from mmeval.environment import machine
from mmeval.findings.finding import Severity
from tests.support.sandbox import bubblewrap


@pytest.mark.parametrize(("asked", "severity"), [((), "note"), (("sandbox",), "error")])
def test_what_a_backend_lacks_is_an_error_where_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], severity: Severity
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    (found,) = machine.backends(asked)
    assert (found.kind, found.subject.name, found.severity) == (
        "machine",
        "sandbox",
        severity,
    )
    assert "bubblewrap" in found.cause


def test_the_sandbox_is_tried_on_this_machine() -> None:
    bubblewrap()
    assert list(machine.backends()) == []


@pytest.mark.parametrize(
    ("free", "writable", "severities"),
    [
        (2**30, True, []),
        (2**30 - 1, True, ["note"] * 3),
        (2**30, False, ["error"] * 3),
    ],
    ids=["enough", "little", "read-only"],
)
def test_disks_are_checked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    writable: bool,
    severities: list[Severity],
) -> None:
    monkeypatch.setattr(machine, "free_bytes", lambda _folder: free)
    monkeypatch.setattr("os.access", lambda _path, _mode: writable)
    found = list(machine.disks(tmp_path / "runs"))
    assert [one.severity for one in found] == severities
    if found:
        assert found[0].subject.name == str(tmp_path / "runs")
        assert found[0].remedy == "--output_path FOLDER"
