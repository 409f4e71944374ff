"""Check task files and say what is wrong, with file and line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from textwrap import fill

from mmeval.cli import values
from mmeval.cli.flags import BY_NAME, Flag
from mmeval.cli.settings import typed
from mmeval.errors import EXIT_OK, EXIT_USAGE
from mmeval.report.markdown import printable
from mmeval.task import TaskOverrides
from mmeval.validate import CHECKS, check

_FLAGS = ("include_path", "data", "data_dir", "role")
_MAX_FINDING = 2000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="a task, group, tag, glob, task file or folder")
    parser.add_argument("--rows", metavar="N", default=None, help="samples of each task that are read (all)")
    for flag in _shared_flags():
        action = "append" if flag.repeatable else "store"
        parser.add_argument(f"--{flag.name}", action=action, default=None, metavar=flag.metavar, help=flag.help)
    parser.epilog = "checks, in this order:\n" + "\n".join(_described())


def run(args: argparse.Namespace) -> int:
    """Print every finding; the exit code is 2 if one of them is an error."""
    written = [(flag, getattr(args, flag.name)) for flag in _shared_flags()]
    given = {flag.name: typed(flag, raw, f"--{flag.name}") for flag, raw in written if raw is not None}
    findings = check(
        values.words(args.names),
        given.get("include_path", ()),
        TaskOverrides(data=given.get("data", ""), data_dir=given.get("data_dir")),
        roles=frozenset(given.get("role", ())),
        rows=None if args.rows is None else values.integer(1)(args.rows),
    )
    counts = {"error": 0, "warning": 0}
    for finding in findings:
        counts[finding.severity] += 1
        sys.stdout.write(f"{printable(str(finding), limit=_MAX_FINDING)}\n")
    sys.stdout.write(f"{_counted(counts['error'], 'error')}, {_counted(counts['warning'], 'warning')}\n")
    return EXIT_USAGE if counts["error"] else EXIT_OK


def _shared_flags() -> Iterator[Flag]:
    return (BY_NAME[name] for name in _FLAGS)


def _described() -> Iterator[str]:
    for item in CHECKS:
        yield fill(item.description, 100, initial_indent=f"  {item.name:<12}", subsequent_indent=" " * 14)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
