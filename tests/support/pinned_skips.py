"""Skipped tests, counted and pinned: continuous integration skips what stands here, and neither more nor less.

A test that is skipped proves nothing, and nobody sees it in a run that is green. So the number is printed at the end of
every run, and where ``CI`` is set, a whole run that skips anything else than ``PINNED`` fails.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

PINNED: Mapping[str, str] = {
    "tests/mmeval/loggers/test_trackio.py::test_the_real_package_keeps_a_run_in_a_folder": "dev has no trackio",
    "tests/mmeval/loggers/test_wandb.py::test_the_real_package_takes_a_run_offline": "dev has no wandb",
}
"""What continuous integration cannot run, by test, and why."""


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
    chosen = (option.keyword, option.markexpr, option.deselect, option.collectonly, getattr(option, "lf", False))
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(chosen)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run of continuous integration that skipped other tests than those that are pinned."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI") or not is_whole(session.config):
        return
    if exitstatus == pytest.ExitCode.OK and differences(skipped_in(reporter), PINNED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the number of skipped tests, and of a whole run how it differs from what is pinned."""
    skipped = skipped_in(terminalreporter)
    if not is_whole(config):
        terminalreporter.write_line(f"skipped: {len(skipped)}")
        return
    terminalreporter.write_line(f"skipped: {len(skipped)} (pinned: {len(PINNED)})")
    for line in differences(skipped, PINNED):
        terminalreporter.write_line(line, yellow=True)


def _reason(longrepr: object) -> str:
    """pytest keeps it as (file, line, "Skipped: reason")."""
    return str(longrepr[2]).removeprefix("Skipped: ") if isinstance(longrepr, tuple) else str(longrepr)
