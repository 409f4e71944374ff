"""Skipped tests, counted and pinned: continuous integration skips what stands here, and neither more nor less.

A test that is skipped proves nothing, and nobody sees it in a run that is green. So the number is printed at the end of
every run, and where ``CI`` is set, a whole run that skips anything else than ``pinned_here()`` fails. What is pinned
depends on nothing but the machine's right to mount a disk, which most containers have not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.support.bad_disks import can_mount

PINNED: Mapping[str, str] = {
    "tests/mmeval/report/loggers/test_trackio.py::test_the_real_package_keeps_a_run_in_a_folder": "dev has no trackio",
    "tests/mmeval/report/loggers/test_wandb.py::test_the_real_package_takes_a_run_offline": "dev has no wandb",
}
"""What continuous integration cannot run, by test, and why."""

NEED_A_DISK = (
    "tests/mmeval/store/test_media_store.py::test_a_full_or_read_only_disk_is_a_storage_error_and_leaves_nothing",
    "tests/soak/test_bad_days.py::test_a_full_disk_loses_nothing_but_the_answer_that_it_could_not_take",
)
"""Tests that mount a disk of their own, which is skipped where nobody may: all their cases."""

NEED_A_DISK_AS_ROOT = (
    "tests/soak/test_bad_days.py::test_a_cache_that_cannot_be_written_is_said_before_anything_is_asked",
    "tests/soak/test_bad_days.py::test_a_folder_that_cannot_be_written_is_said_before_anything_is_asked",
    "tests/soak/test_bad_days.py::test_temporary_files_are_not_needed",
)
"""The same for root, whom no permission of a folder keeps out."""


def without_a_disk(skipped: Iterable[str]) -> dict[str, str]:
    """Those of the skipped tests that are excused on this machine, because nothing can be mounted on it."""
    excused = (*NEED_A_DISK, *(NEED_A_DISK_AS_ROOT if os.geteuid() == 0 else ()))
    found = [name for name in skipped if name.partition("[")[0] in excused]
    return dict.fromkeys(found, "nothing can be mounted here") if found and not can_mount() else {}


def pinned_here(skipped: Iterable[str]) -> dict[str, str]:
    """What a whole run skips on this machine, and why."""
    return {**PINNED, **without_a_disk(skipped)}


def skipped_in(reporter: Any) -> dict[str, str]:
    """The tests and modules that were skipped, with their reasons. The reporter of a terminal has no public type."""
    return {report.nodeid: _reason(report.longrepr) for report in reporter.stats.get("skipped", [])}


def differences(skipped: Mapping[str, str], pinned: Mapping[str, str]) -> list[str]:
    """A line for each test that is on one side only."""
    more = [f"skipped and not pinned: {name} ({skipped[name]})" for name in sorted(skipped.keys() - pinned.keys())]
    fewer = [f"pinned and not skipped: {name} ({pinned[name]})" for name in sorted(pinned.keys() - skipped.keys())]
    return more + fewer


def is_whole(config: pytest.Config) -> bool:
    """Whether every test was asked for: no names, no ``-k``, no ``-m``, nothing left out."""
    option = config.option
    names = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "collectonly", "lf")
    chosen = any(getattr(option, name, None) for name in names)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run of continuous integration that skipped other tests than those that are pinned."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI") or not is_whole(session.config):
        return
    skipped = skipped_in(reporter)
    if exitstatus == pytest.ExitCode.OK and differences(skipped, pinned_here(skipped)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the number of skipped tests, and of a whole run how it differs from what is pinned."""
    skipped = skipped_in(terminalreporter)
    if not is_whole(config):
        terminalreporter.write_line(f"skipped: {len(skipped)}")
        return
    pinned = pinned_here(skipped)
    terminalreporter.write_line(f"skipped: {len(skipped)} (pinned: {len(pinned)})")
    for line in differences(skipped, pinned):
        terminalreporter.write_line(line, yellow=True)


def _reason(longrepr: object) -> str:
    """pytest keeps it as (file, line, "Skipped: reason")."""
    return str(longrepr[2]).removeprefix("Skipped: ") if isinstance(longrepr, tuple) else str(longrepr)
