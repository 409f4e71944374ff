"""``mmeval validate --dist FOLDER``: the package in a folder as others would install it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.authoring.package.check import faults, installed, tasks_report
from mmeval.cli.streams import print_text
from mmeval.errors import EXIT_OK, EXIT_USAGE, UsageError
from mmeval.wording import counted, printable

_MAX_LINE = 2000
_OURS = ("dist", "argv")
_OFF = ("bounds",)
"""Switches that are off unless the user asks for them: they were made for the source, and take their time."""


def check_package(folder: Path, names: Sequence[str], given: Mapping[str, Any]) -> int:
    """Build, install and check the package; print what is wrong; 2 if anything is an error.

    ``given`` are the flags of the command line as they were written: those of ``validate`` go on to it.
    """
    if names:
        raise UsageError("--dist checks every task of the package; leave out NAME")
    source = folder.expanduser().resolve()
    counts = {"error": 0, "warning": 0}
    with installed(source) as found:
        wheel = found.wheel
        print_text(f"{wheel.file.name}: {len(wheel.names):,} files, {len(found.report['tasks']):,} tasks and groups\n")
        for fault in faults(source, found):
            counts[fault.severity] += 1
            line = f"{wheel.name}: {fault.severity}: {fault.message} [{fault.check}]"
            print_text(f"{printable(line, limit=_MAX_LINE)}\n")
        report = tasks_report(found, list(_flags(given)))
    print_text("".join(f"{line}\n" for line in report.lines))
    errors, warnings = counts["error"] + report.errors, counts["warning"] + report.warnings
    print_text(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}\n")
    return EXIT_USAGE if errors else EXIT_OK


def _flags(given: Mapping[str, Any]) -> Iterator[str]:
    """The flags that go on to ``mmeval validate`` in the other environment."""
    for name, value in given.items():
        if name not in _OURS:
            for item in value if isinstance(value, list) else [value]:
                yield f"--{name}={item}"
    yield from (f"--{name}=false" for name in _OFF if name not in given)
