from pathlib import Path

import pytest

from mmeval.doctor import machine


def test_programs_are_found_by_any_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/bin/chrome" if name == "google-chrome" else None)
    sandbox, browser, _ = machine.programs()
    assert (sandbox.status, "bubblewrap" in sandbox.how_to) == ("note", True)
    assert (browser.status, browser.what) == ("ok", "chromium: /bin/chrome")


@pytest.mark.parametrize(
    ("free", "writable", "status"),
    [(2**30, True, "ok"), (2**30 - 1, True, "note"), (2**30, False, "broken")],
    ids=["enough", "little", "read-only"],
)
def test_disks_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, writable: bool, status: str
) -> None:
    monkeypatch.setattr(machine, "free_bytes", lambda _folder: free)
    monkeypatch.setattr("os.access", lambda _path, _mode: writable)
    runs, ours, hub = machine.disks(tmp_path / "runs")
    assert [one.status for one in (runs, ours, hub)] == [status] * 3
    assert str(tmp_path / "runs") in runs.what
    assert ("--output_path" in runs.how_to) is (status != "ok")
