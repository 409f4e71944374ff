"""Fetch the data of tasks at their revisions, check them, list ready tasks."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Container, Iterator, Mapping, Sequence

from mmeval.cli.parser import Parser, add_flags
from mmeval.decode.check import MediaLook
from mmeval.errors import EXIT_MISSING, EXIT_OK, Interrupted, MmevalError, UsageError
from mmeval.findings.render import terminal_lines
from mmeval.prepare.groups import Together, together
from mmeval.prepare.ready import Readiness, readiness
from mmeval.prepare.sizes import Measured, measured, require_space, target_folder
from mmeval.prepare.sources import Source, fetch, sources, wanted
from mmeval.report.log import begin_log
from mmeval.report.terminal import print_text
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import resolve
from mmeval.system.folders import free_bytes
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from mmeval.wording import counted, printable, size

_FLAGS = tuple(BY_NAME[name] for name in ("include_path", "data_dir", "verbosity"))
_MAX_LINE = 2000
_log = logging.getLogger(__name__)


def configure(parser: Parser) -> None:
    parser.add_argument(
        "tasks",
        nargs="+",
        metavar="TASK",
        help="a task, group, tag, glob, task file or folder",
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help="fetch the weights of the tasks' metrics too, and nothing else of them",
    )
    parser.add_argument(
        "--dry_run", action="store_true", help="show what would be fetched, and end"
    )
    add_flags(parser, _FLAGS)
    parser.explained = {
        "--data": "prepare has none, since bundled samples need no preparation"
    }
    parser.epilog = (
        "Files are fetched to the cache of the hub (HF_HOME), with --data_dir FOLDER "
        "to FOLDER/OWNER/NAME; a data\n"
        "set that FOLDER holds already is checked and not fetched. Files that are "
        "complete are not fetched again.\n"
        "exit codes: 0 every task is ready; 4 something is missing; 130 interrupted, "
        "complete files are kept."
    )


def run(args: argparse.Namespace) -> int:
    """Show sizes, fetch, check. The exit code is 4 if a task is not ready."""
    try:
        return _run(args)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; the files that were fetched whole are kept, and the same "
            "command goes on with the others"
        ) from None


def _run(args: argparse.Namespace) -> int:
    settings = resolve(_FLAGS, vars(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    data_dir = settings["data_dir"].value
    if data_dir is not None and data_dir.exists() and not data_dir.is_dir():
        raise UsageError(
            f"{settings['data_dir'].origin} {data_dir}: it is a file; name a folder"
        )
    overrides = TaskOverrides(data_dir=data_dir)
    chosen = choose(values.words(args.tasks), TaskIndex(settings["include_path"].value))
    tasks = wanted(chosen, overrides)
    needed = sources(tasks, weights=args.weights)
    found: dict[Source, Measured | MmevalError] = {
        source: _measured(source) for source in needed
    }
    for source, users in needed.items():
        _print(_described(source, users, found[source], all_faults=args.dry_run))
    require_space([item for item in found.values() if isinstance(item, Measured)])
    if args.dry_run:
        return (
            EXIT_MISSING
            if any(isinstance(item, MmevalError) for item in found.values())
            else EXIT_OK
        )
    found = {
        source: item if isinstance(item, MmevalError) else _fetched(item)
        for source, item in found.items()
    }
    look = MediaLook()
    states = list(readiness(tasks, found, weights=args.weights, look=look))
    _print(_shown_states(states))
    groups = list(together(chosen, states))
    for group in groups:
        _print(_shown_group(group))
    _print(terminal_lines(look.findings()))
    ready = sum(state.ready for state in states)
    _print([f"{ready} of {counted(len(states), 'task')} ready"])
    return (
        EXIT_OK
        if ready == len(states) and all(group.ready for group in groups)
        else EXIT_MISSING
    )


def _measured(source: Source) -> Measured | MmevalError:
    try:
        return measured(source)
    except MmevalError as error:
        return error


def _fetched(item: Measured) -> Measured | MmevalError:
    """Fetch a source; return it, or the error. A source without files to fetch is
    fetched too, to make a snapshot of files that other commits share."""
    if item.to_fetch:
        _log.info("fetching %s", item.source)
    try:
        fetch(item.source)
    except MmevalError as error:
        return error
    return item


def _described(
    source: Source,
    users: Sequence[str],
    found: Measured | MmevalError,
    *,
    all_faults: bool,
) -> Iterator[str]:
    """Describe a source, its size and the part to fetch.
    The error of a data set is shown with its tasks, or here if ``all_faults``."""
    if isinstance(found, MmevalError):
        if source.only or all_faults:
            yield f"{source}, for {', '.join(users)}"
            yield f"  - {found}"
        return
    yield f"{source}, for {', '.join(users)}"
    if found.listing is None:
        yield f"  nothing is fetched, local files are checked: {found.unasked}"
        return
    files = found.listing.files
    yield (
        f"  commit {found.listing.commit}: {counted(len(files), 'file')}, "
        f"{size(sum(file.size for file in files))}"
    )
    if found.to_fetch:
        folder = target_folder(source)
        yield (
            f"  to fetch: {counted(len(found.to_fetch), 'file')}, "
            f"{size(found.bytes_to_fetch)}, into {folder} "
            f"({size(free_bytes(folder))} free)"
        )
    else:
        yield "  to fetch: nothing, all of it is here"
    if found.is_unpinned:
        commit = found.listing.commit
        how_to = (
            f"write revision: {commit} into the task file, or into a group of your "
            "own that names the task"
        )
        if source.kind == "model":
            how_to = (
                f"name the model {source.repo}@{commit} where the metric is listed, "
                "or with --metric_args"
            )
        yield f"  note: {source.revision} may move; to pin what was found, {how_to}"


def _shown_states(states: Sequence[Readiness]) -> Iterator[str]:
    """Each task with its own messages; messages of several tasks come once, below
    all."""
    users: dict[str, list[str]] = {}
    for state in states:
        for message in _messages(state):
            users.setdefault(message, []).append(state.task)
    common = {message: tasks for message, tasks in users.items() if len(tasks) > 1}
    for state in states:
        yield from _shown(state, common)
    together: dict[str, list[str]] = {}
    for message, tasks in common.items():
        together.setdefault(", ".join(tasks), []).append(message)
    for names, messages in together.items():
        yield f"of {names}:"
        yield from messages


def _messages(state: Readiness) -> Iterator[str]:
    yield from (f"  - {fault}" for fault in state.faults)
    yield from (f"  note: {note}" for note in state.notes)


def _shown(state: Readiness, common: Container[str]) -> Iterator[str]:
    counts = ""
    if state.counts is not None and state.counts.read:
        kept = state.counts.samples[state.task]
        bad = _bad(len(state.counts.bad_marks))
        sums = "".join(
            f", {number:,} {label}" for label, number in state.counts.totals.items()
        )
        counts = (
            f": {kept:,} of {state.counts.rows:,} "
            f"rows{bad}{sums}{_media(state.counts.media)}"
        )
    yield f"{'ready' if state.ready else 'not ready'}  {state.task}{counts}"
    yield from (message for message in _messages(state) if message not in common)


def _shown_group(group: Together) -> Iterator[str]:
    state = "ready" if group.ready else "not ready"
    found = (
        group.uncounted
        or f"{group.rows:,} different rows{_bad(group.bad)}{_torn(group.torn)}"
        f"{_media(group.media)}"
    )
    yield f"{state}  {group.group} as a whole: {found}"
    yield from (f"  - {fault}" for fault in group.faults)


def _bad(count: int) -> str:
    return f", {count:,} of them cannot be asked" if count else ""


def _torn(count: int) -> str:
    return f", {count:,} of them lack candidates" if count else ""


def _media(numbers: Mapping[str, int]) -> str:
    shown = [
        counted(number, f"{kind} file") for kind, number in sorted(numbers.items())
    ]
    return f"; media: {', '.join(shown)}" if shown else ""


def _print(lines: Iterator[str] | Sequence[str]) -> None:
    for line in lines:
        print_text(f"{printable(line, limit=_MAX_LINE)}\n")
