"""Skipped tests are counted at the end of a run, and a whole run of continuous integration skips what is pinned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import pinned_skips
from tests.support.chromium import executable
from tests.support.pinned_skips import NEED_A_DISK, NEED_A_DISK_AS_ROOT, PINNED, differences, without_a_disk

ROOT = Path(__file__).resolve().parents[3]
CONFTEST = """\
from tests.support import pinned_skips
from tests.support.pinned_skips import pytest_sessionfinish, pytest_terminal_summary
pinned_skips.PINNED = {"checks/test_a.py::test_never": "it cannot be run"}
"""
TESTS = """\
import pytest

def test_done() -> None: ...

@pytest.mark.skip(reason="not here")
def test_never() -> None: ...
"""
ANOTHER = """\
import pytest

pytest.importorskip("a_package_that_does_not_exist")
"""


def suite(folder: Path, *more: str, ci: str = "true", another: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a suite of one test that is done and one that is skipped and pinned, ``another`` module skipped besides."""
    (folder / "checks").mkdir()
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = checks\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "checks" / "test_a.py").write_text(TESTS)
    if another:
        (folder / "checks" / "test_b.py").write_text(ANOTHER)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "CI": ci}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_the_number_of_skipped_tests_is_printed(workers: tuple[str, ...], tmp_path: Path) -> None:
    done = suite(tmp_path, *workers)

    assert (done.returncode, "skipped: 1 (pinned: 1)\n" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_a_test_that_is_skipped_and_not_pinned_fails_continuous_integration(
    workers: tuple[str, ...], tmp_path: Path
) -> None:
    done = suite(tmp_path, *workers, another=True)

    assert done.returncode == 1
    assert "skipped: 2 (pinned: 1)\n" in done.stdout
    assert "skipped and not pinned: checks/test_b.py (could not import 'a_package_that_does_not_exist'" in done.stdout


def test_a_pinned_test_that_is_run_after_all_is_to_be_taken_off_the_list() -> None:
    assert differences({}, {"a": "no disk"}) == ["pinned and not skipped: a (no disk)"]


def test_elsewhere_a_whole_run_only_says_what_is_skipped(tmp_path: Path) -> None:
    done = suite(tmp_path, ci="", another=True)

    assert (done.returncode, "skipped and not pinned: checks/test_b.py" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    "choice",
    [("-k", "done"), ("checks/test_b.py",), ("-m", "not slow"), ("--ignore", "checks/test_b.py")],
    ids=" ".join,
)
def test_a_part_of_the_tests_is_not_compared(choice: tuple[str, ...], tmp_path: Path) -> None:
    done = suite(tmp_path, *choice, another=True)

    assert "pinned" not in done.stdout
    assert done.returncode != 1


@pytest.mark.parametrize("test", [*PINNED, *NEED_A_DISK, *NEED_A_DISK_AS_ROOT])
def test_a_pinned_test_exists(test: str) -> None:
    file, _, name = test.partition("::")

    assert f"def {name}(" in (ROOT / file).read_text()


@pytest.mark.parametrize(("may_mount", "excused"), [(False, [f"{NEED_A_DISK[0]}[ro]"]), (True, [])])
def test_a_test_that_needs_a_disk_is_excused_where_nothing_can_be_mounted_and_nowhere_else(
    may_mount: bool, excused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned_skips, "can_mount", lambda: may_mount)

    assert [*without_a_disk([f"{NEED_A_DISK[0]}[ro]", "tests/soak/project/test_style.py::test_a"])] == excused


def test_a_missing_chromium_fails_continuous_integration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="no Chromium on PATH"):
        executable()


def test_elsewhere_a_missing_chromium_skips_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        executable()
