"""Check task files and say what is wrong, with file and line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from textwrap import fill

from mmeval.cli import values
from mmeval.cli.flags import BY_NAME
from mmeval.cli.log import begin_log
from mmeval.cli.parser import add_flags
from mmeval.cli.roleflags import role_specs
from mmeval.cli.settings import exclude_each_other, resolve
from mmeval.cli.streams import print_text
from mmeval.errors import EXIT_OK, EXIT_USAGE
from mmeval.report.markdown import printable
from mmeval.task import TaskOverrides
from mmeval.validate import CHECKS, check

_ROLES = ("role", "judge", "judge_args", "judge_base_url", "captioner")
_FLAGS = tuple(BY_NAME[name] for name in ("include_path", "data", "data_dir", *_ROLES, "verbosity"))
_MAX_FINDING = 2000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="a task, group, tag, glob, task file or folder")
    parser.add_argument("--rows", metavar="N", default=None, help="samples of each task that are read (all)")
    add_flags(parser, _FLAGS)
    parser.epilog = "checks, in this order:\n" + "\n".join(_described())


def run(args: argparse.Namespace) -> int:
    """Print every finding; the exit code is 2 if one of them is an error."""
    settings = resolve(_FLAGS, vars(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    exclude_each_other(settings, "data", "data_dir")
    findings = check(
        values.words(args.names),
        settings["include_path"].value,
        TaskOverrides(data=settings["data"].value, data_dir=settings["data_dir"].value),
        roles=frozenset(role_specs(settings)),
        rows=None if args.rows is None else values.integer(1)(args.rows),
    )
    counts = {"error": 0, "warning": 0}
    for finding in findings:
        counts[finding.severity] += 1
        print_text(f"{printable(str(finding), limit=_MAX_FINDING)}\n")
    print_text(f"{_counted(counts['error'], 'error')}, {_counted(counts['warning'], 'warning')}\n")
    return EXIT_USAGE if counts["error"] else EXIT_OK


def _described() -> Iterator[str]:
    for item in CHECKS:
        yield fill(item.description, 100, initial_indent=f"  {item.name:<12}", subsequent_indent=" " * 14)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
