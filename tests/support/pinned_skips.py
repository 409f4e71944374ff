"""Skipped tests, counted: continuous integration fails where one is skipped for another
reason than those below.

A test that is skipped proves nothing, and is not seen in a run that is green.
"""

import os
from typing import Any

import pytest

REASONS = {
    "no network",
    "nothing can be mounted here",
    "trackio is not installed",
    "wandb is not installed",
}
"""Most containers may mount no disk, pyright fetches itself, and the last two packages
are not for development."""


def skipped_in(reporter: Any) -> dict[str, str]:
    """The tests and modules that were skipped, with their reasons. The reporter of a
    terminal has no public type."""
    return {
        report.nodeid: _reason(report.longrepr)
        for report in reporter.stats.get("skipped", [])
    }


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI") or exitstatus != pytest.ExitCode.OK:
        return
    if not set(skipped_in(reporter).values()) <= REASONS:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = skipped_in(terminalreporter)
    terminalreporter.write_line(f"skipped: {len(skipped)}")
    for name, reason in skipped.items():
        if reason not in REASONS:
            terminalreporter.write_line(
                f"skipped, which fails continuous integration: {name} ({reason})",
                yellow=True,
            )


def _reason(longrepr: object) -> str:
    """pytest keeps it as (file, line, "Skipped: reason")."""
    return (
        str(longrepr[2]).removeprefix("Skipped: ")
        if isinstance(longrepr, tuple)
        else str(longrepr)
    )
