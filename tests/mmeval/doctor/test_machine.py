from pathlib import Path

import pytest

from mmeval.doctor import machine
from tests.support.sandbox import bubblewrap


def test_programs_are_found_by_any_of_their_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "shutil.which", lambda name: "/bin/chrome" if name == "google-chrome" else None
    )
    sandbox, browser, _ = machine.programs()
    assert (sandbox.status, "apt install bubblewrap" in sandbox.how_to) == (
        "note",
        True,
    )
    assert (browser.status, browser.what) == ("ok", "chromium: /bin/chrome")


def test_the_sandbox_is_tried_on_this_machine() -> None:
    bubblewrap()
    sandbox, *_ = machine.programs()
    assert (sandbox.status, "bwrap" in sandbox.what) == ("ok", True)


def test_disks_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, writable, status in (
        (2**30, True, "ok"),
        (2**30 - 1, True, "note"),
        (2**30, False, "broken"),
    ):
        monkeypatch.setattr(machine, "free_bytes", lambda _folder, free=free: free)
        monkeypatch.setattr(
            "os.access", lambda _path, _mode, writable=writable: writable
        )
        found = list(machine.disks(tmp_path / "runs"))
        assert (
            [one.status for one in found],
            str(tmp_path / "runs") in found[0].what,
        ) == ([status] * 3, True)
        assert ("--output_path" in found[0].how_to) is (status != "ok")
