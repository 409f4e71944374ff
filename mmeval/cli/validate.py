"""Check task files and say what is wrong, with file and line.

    mmeval validate my_task.yaml
    mmeval validate my_benchmark --judge openai,model=m
    mmeval validate --dist .

Where nothing is wrong, the bounds are shown: what each metric gives to the references,
to the references of other samples, and to empty answers. With a judge, metrics that ask
one ask it for these.

--dist builds the wheel of a project into its folder dist (or takes one that is named),
lists what it holds, checks its tasks as they would be installed, and says what is
missing.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from mmeval.authoring import bounds
from mmeval.authoring.bounds_text import bounds_means, bounds_table
from mmeval.authoring.finding import Severity, TaskFinding, finding_at
from mmeval.authoring.validate import CHECKS, CheckTally, check
from mmeval.cli.parser import add_flags
from mmeval.errors import (
    EXIT_OK,
    EXIT_USAGE,
    Interrupted,
    MissingError,
    MmevalError,
    UsageError,
    sentence,
)
from mmeval.report.log import begin_log
from mmeval.report.terminal import print_text
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME, Flag
from mmeval.settings.resolve import Setting, exclude_each_other, resolve
from mmeval.settings.role_flags import role_specs
from mmeval.task.task import TaskOverrides
from mmeval.wording import counted, printable

if TYPE_CHECKING:
    from mmeval.run.options import BackendSpec
    from mmeval.task.task import Task

_ROLES = ("role", "judge", "judge_args", "judge_base_url", "captioner")
OWN_FLAGS = (
    Flag(
        "rows",
        "",
        "what to check",
        values.integer(1),
        None,
        "command.rows",
        "samples of each task that are read (all)",
        "N",
    ),
    Flag(
        "bounds",
        "",
        "what to check",
        values.switch,
        True,
        "command.bounds",
        "show what each metric gives to references, shuffled references and empty "
        "answers (true)",
        "BOOL",
        "?",
    ),
    Flag(
        "limit",
        "L",
        "what to check",
        values.integer(1),
        bounds.LIMIT,
        "command.limit",
        f"samples of each task that the bounds are made of ({bounds.LIMIT})",
        "N",
    ),
    Flag(
        "dist",
        "",
        "what to check",
        values.path,
        None,
        "command.dist",
        "build the wheel of this project and check it with the tasks in it, or check "
        "a built one",
        "PATH",
    ),
)
"""The flags that ``validate`` alone has, and one that means something else here."""
_FLAGS = (
    *OWN_FLAGS,
    *(
        BY_NAME[name]
        for name in ("include_path", "data", "data_dir", *_ROLES, "verbosity")
    ),
)
_MAX_FINDING = 2000
_COUNTS = re.compile(r"(?P<error>[\d,]+) errors?, (?P<warning>[\d,]+) warnings?")
_TASK = re.compile(r"^task '[^']*': ")

_logger = logging.getLogger(__name__)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a task, group, tag, glob, task file or folder",
    )
    add_flags(parser, _FLAGS)
    parser.epilog = "checks, in this order:\n" + "\n".join(_described())


def run(args: argparse.Namespace) -> int:
    """Print every finding; the exit code is 2 if one of them is an error."""
    given = {name: value for name, value in vars(args).items() if name != "names"}
    settings = resolve(_FLAGS, given, os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    exclude_each_other(settings, "data", "data_dir")
    names = values.words(args.names)
    if settings["dist"].value is not None:
        if names:
            raise UsageError("--dist checks every task of the package; leave out NAME")
        return _check_wheel(settings["dist"].value, given)
    if not names:
        raise UsageError(
            "name what to check: a task, group, tag, glob, task file or folder; or a "
            "wheel with --dist"
        )
    return _check(names, settings)


def _check(names: Sequence[str], settings: Mapping[str, Setting]) -> int:
    roles, tally, counts = role_specs(settings), CheckTally(), _Counts()
    for finding in check(
        names,
        settings["include_path"].value,
        TaskOverrides(data=settings["data"].value, data_dir=settings["data_dir"].value),
        roles=frozenset(roles),
        rows=settings["rows"].value,
        tally=tally,
    ):
        counts.tell(finding)
    counts.tell_of_others()
    for warning in filter(None, (*tally.look.warnings(), tally.look.remark())):
        counts.warn(warning, "decoding")
    for form, count in tally.reencoded.most_common():
        print_text(
            f"note: {count:,} of the media in prompts are encoded anew for servers "
            f"that lack the format, {form}\n"
        )
    if settings["bounds"].value and tally.sound:
        _tell_bounds(tally, roles, settings, counts)
    return _tell_numbers(counts["error"], counts["warning"])


def _tell_numbers(errors: int, warnings: int) -> int:
    """Print the last line; return the exit code."""
    print_text(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}\n")
    return EXIT_USAGE if errors else EXIT_OK


def _check_wheel(place: Path, given: Mapping[str, Any]) -> int:
    """Print a wheel's contents, what is missing, and what ``validate`` finds in it."""
    from mmeval.authoring.package.wheel import check_contents, unpacked, wheel_of

    file = wheel_of(place)
    with unpacked(file) as wheel:
        name, here = wheel.distribution.name, f"{wheel.folder}/"
        print_text(f"{file}: {name} {wheel.distribution.version}\n")
        counts, tasks = Counter[str](), list[str]()
        for line in check_contents(wheel, place if place.is_dir() else None):
            counts[line.severity] += 1
            tasks += [line.tasks] if line.tasks else []
            text = f"{name}: {line.severity}: {line.message} [{line.check}]".replace(
                here, ""
            )
            print_text(f"{printable(text, limit=_MAX_FINDING)}\n")
        if tasks:
            shared = {
                "bounds": False,
                **{
                    flag: value
                    for flag, value in given.items()
                    if flag not in ("dist", "argv")
                },
            }
            items = (
                (flag, item)
                for flag, value in shared.items()
                for item in (value if isinstance(value, list) else [value])
            )
            done = wheel.python(
                "mmeval",
                "validate",
                *tasks,
                *(f"--{flag}={item}" for flag, item in items),
            )
            *lines, last = done.stdout.splitlines() or [""]
            found = _COUNTS.fullmatch(last)
            if found is None:
                raise MmevalError(
                    f"the tasks of {name} could not be checked to the end; the reason "
                    "stands above"
                )
            print_text("".join(f"{line.replace(here, '')}\n" for line in lines))
            counts.update(
                {key: int(found[key].replace(",", "")) for key in ("error", "warning")}
            )
    return _tell_numbers(counts["error"], counts["warning"])


class _Counts(dict[Severity, int]):
    """Findings that were printed, by severity."""

    def __init__(self) -> None:
        super().__init__({"error": 0, "warning": 0})
        self._alike: Counter[TaskFinding] = Counter()

    def tell(self, finding: TaskFinding) -> None:
        """Print a finding. What several tasks inherit from one line is one finding."""
        common = replace(finding, message=_TASK.sub("", finding.message))
        self._alike[common] += 1
        if self._alike[common] == 1:
            self[finding.severity] += 1
            self._print(finding)

    def warn(self, message: str, name: str) -> None:
        """Print a warning that is about all tasks together."""
        self["warning"] += 1
        print_text(f"{printable(f'warning: {message} [{name}]', limit=_MAX_FINDING)}\n")

    def tell_of_others(self) -> None:
        """Print how many more tasks inherit each finding."""
        for common, count in self._alike.items():
            if count > 1:
                self._print(
                    replace(
                        common,
                        message=f"the same for {counted(count - 1, 'other task')}",
                    )
                )
        self._alike.clear()

    def _print(self, finding: TaskFinding) -> None:
        print_text(f"{printable(str(finding), limit=_MAX_FINDING)}\n")


def _tell_bounds(
    tally: CheckTally,
    roles: Mapping[str, BackendSpec],
    settings: Mapping[str, Setting],
    counts: _Counts,
) -> None:
    """Measure what the metrics of sound tasks give; print the table and warnings."""
    files = {sound.task.name: sound.file for sound in tally.sound}
    tasks = [sound.task for sound in tally.sound]
    limit = min(
        settings["limit"].value, settings["rows"].value or settings["limit"].value
    )
    calls = bounds.judge_calls(tasks, roles)
    if calls:
        ahead = bounds.judge_calls(tasks, roles, limit)
        said = ", ".join(
            counted(3 * count, f"{role} call") for role, count in ahead.items()
        )
        _logger.info(
            "making the bounds with up to %s (--limit N samples of a task; --bounds "
            "false: none)",
            said,
        )
    if any(sound.samples > limit for sound in tally.sound):
        print_text(
            f"bounds over the first {counted(limit, 'sample')} of a task (--limit N "
            "for others)\n"
        )
    found = _measured(tasks, roles, limit)
    print_text(bounds_table(found))
    print_text(_looked_at(tally, calls))
    print_text(bounds_means(found))
    for one in found:
        for doubt in one.doubts():
            severity: Severity = "error" if doubt.wrong else "warning"
            counts.tell(
                finding_at(
                    files[one.task.name],
                    ("metric_list",),
                    "bounds",
                    doubt.message,
                    severity,
                )
            )
    counts.tell_of_others()


def _measured(
    tasks: Sequence[Task], roles: Mapping[str, BackendSpec], limit: int
) -> list[bounds.Bounds]:
    try:
        return bounds.measure(tasks, roles, limit=limit)
    except MissingError as error:
        raise MissingError(
            f"{sentence(error)} With --bounds false no judge is asked"
        ) from None
    except Interrupted:
        raise Interrupted(
            "interrupted while the bounds were made; nothing of them is kept"
        ) from None


def _looked_at(tally: CheckTally, calls: Mapping[str, int]) -> str:
    """What there is: ``12 tasks, 1,140 rows, 2,310 media; 6,912 judge calls a
    model``."""
    asked = "".join(
        f"; {counted(count, f'{role} call')} a model" for role, count in calls.items()
    )
    found = (
        counted(tally.tasks, "task"),
        counted(tally.samples, "row"),
        f"{tally.media:,} media",
    )
    return f"{', '.join(found)}{asked}\n"


def _described() -> Iterator[str]:
    for name, description in CHECKS.items():
        yield fill(
            description, 100, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14
        )
