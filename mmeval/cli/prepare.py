"""Fetch the data of tasks at their revisions, check them, and list ready tasks.

    mmeval prepare my_task
    mmeval prepare my_task --weights --dry_run
    mmeval prepare my_task --prompts --prompts_from CLONE

Files are fetched to the cache of the hub (HF_HOME), or with --data_dir FOLDER to
FOLDER/OWNER/NAME. A data set that is in FOLDER is only checked. Complete files are not
fetched again. --prompts fetches the prompts that authors released to MMEVAL_CACHE_DIR.

exit codes: 0 every task is ready; 1 a file is damaged, or a loader fails; 2 a task file
is wrong; 3 rows or media are bad, or differ from what the task file expects; 4
something is missing; 130 interrupted, complete files are kept.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from mmeval.cli.parser import Parser, add_flags
from mmeval.errors import Interrupted, MmevalError, UsageError
from mmeval.findings.brief import brief_lines
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding
from mmeval.findings.from_error import PREPARE_DATA
from mmeval.findings.group import SHOWN
from mmeval.findings.render import RemedyTarget, terminal_lines
from mmeval.media.decode.check import MediaCheck
from mmeval.prepare.checks import damage_findings
from mmeval.prepare.groups import check_groups
from mmeval.prepare.ready import DataCheck, check_data, fetch_findings, hub_findings
from mmeval.prepare.released_catalogues import catalogues_of, chosen_by
from mmeval.prepare.released_prompts import (
    STATES,
    FileState,
    PromptState,
    State,
    cached_state,
    figure_states,
    hosts,
    obtain,
    without_licence,
)
from mmeval.prepare.sizes import (
    Download,
    DownloadState,
    plan_download,
    space_findings,
    target_folder,
)
from mmeval.prepare.sources import build_tasks, fetch, sources
from mmeval.report.log import begin_log
from mmeval.report.terminal import columns, print_text
from mmeval.run.availability import words_for
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import resolve
from mmeval.system.folders import free_bytes
from mmeval.system.wording import listed, printable, size, wrapped
from mmeval.task.index import TaskIndex
from mmeval.task.released.cached import prompts_folder
from mmeval.task.released.catalogue import read_catalogue
from mmeval.task.selection import ChosenTasks, choose
from mmeval.task.task import TaskOverrides

_FLAGS = tuple(BY_NAME[name] for name in ("include_path", "data_dir", "verbosity"))
_MAX_LINE = 2000
_LISTED_TASKS = 3
"""Maximum number of tasks that have a line each. More are counted."""
_HOW_TO_SEE_ALL = "all tasks and findings: --verbosity DEBUG"
_log = logging.getLogger(__name__)


def configure(parser: Parser) -> None:
    parser.add_argument(
        "tasks",
        nargs="+",
        metavar="TASK",
        help="a task, group, tag, glob, task file or folder; for --prompts also an "
        "agent",
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help="also fetch the weights of the tasks' metrics",
    )
    parser.add_argument(
        "--prompts",
        action="store_true",
        help="fetch the released prompts of the tasks instead of their data",
    )
    parser.add_argument(
        "--prompts_from",
        type=Path,
        metavar="FOLDER",
        help="read them from a clone or a folder of clones instead of the network",
    )
    parser.add_argument(
        "--dry_run", action="store_true", help="only show what would be fetched"
    )
    add_flags(parser, _FLAGS)
    parser.explained = {
        "--data": "prepare does not have it, because bundled samples are always ready"
    }


def run(args: argparse.Namespace) -> int:
    """Shows the data's sizes, fetches the data and checks them. Returns the exit
    code."""
    try:
        return _run(args)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; complete files are kept. Run the same command to fetch the "
            "others"
        ) from None


def _run(args: argparse.Namespace) -> int:
    settings = resolve(_FLAGS, vars(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    is_whole = settings["verbosity"].value == "DEBUG"
    data_dir = settings["data_dir"].value
    if data_dir is not None and data_dir.exists() and not data_dir.is_dir():
        raise UsageError(
            f"{settings['data_dir'].origin} {data_dir}: this is a file; name a folder"
        )
    names = values.words(args.tasks)
    include_path = settings["include_path"].value
    words = words_for({"tasks": names, "include_path": include_path}, ())
    if data_dir is not None:
        words += f" --data_dir {quote(str(data_dir))}"
    place = RemedyTarget(words)
    if args.prompts and args.weights:
        raise UsageError("--prompts fetches no weights; use --weights in a second call")
    if args.prompts:
        paths = catalogues_of(*chosen_by(names, include_path))
        findings = list(
            _prompt_findings(paths, args.prompts_from, dry_run=args.dry_run)
        )
    elif args.prompts_from is not None:
        raise UsageError("--prompts_from has an effect only with --prompts; add it")
    else:
        chosen = choose(names, TaskIndex(include_path))
        findings = _data_findings(chosen, data_dir, args, is_whole=is_whole)
    return _end(findings, place, is_whole=is_whole)


def _data_findings(
    chosen: ChosenTasks,
    data_dir: Path | None,
    args: argparse.Namespace,
    *,
    is_whole: bool,
) -> list[Finding]:
    """Fetches and checks the data of tasks, and returns what is wrong."""
    tasks = build_tasks(chosen, TaskOverrides(data_dir=data_dir))
    needed = sources(tasks, weights=args.weights)
    states = {source: plan_download(source) for source in needed}
    measures: list[Download] = []
    for source, users in needed.items():
        state = states[source]
        if isinstance(state, Download):
            measures.append(state)
            _print(_described(state, users))
    findings = list(space_findings(measures))
    if findings or args.dry_run:
        for item in tasks:
            findings += fetch_findings(item, states)
        findings += hub_findings(states, weights=args.weights)
        return findings
    for source, state in states.items():
        if isinstance(state, Download):
            states[source] = _fetched(state)
    look = MediaCheck()
    checks = list(check_data(tasks, states, weights=args.weights, look=look))
    for check in checks:
        if is_whole or len(checks) <= _LISTED_TASKS:
            _print([_shown(check)])
        findings += check.findings
    for group in check_groups(chosen, checks):
        verdict = "ready" if group.ready else "not ready"
        rows = f"different rows {group.rows:,}{_media(group.media)}"
        _print([f"{verdict}  {group.group} as a whole: {rows}"])
        findings += group.findings
    findings += hub_findings(states, weights=args.weights)
    findings += look.findings()
    ready = sum(check.ready for check in checks)
    _print([f"tasks ready: {ready:,} of {len(checks):,}"])
    return findings


def _prompt_findings(
    catalogue_paths: Sequence[Path], folder: Path | None, *, dry_run: bool
) -> Iterator[Finding]:
    """Fetches the released prompts of tasks, lists each, and yields what is wrong."""
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--prompts_from {folder}: the folder does not exist")
    if not catalogue_paths:
        raise UsageError("no chosen task or agent has a catalogue of released prompts")
    catalogues = [read_catalogue(path) for path in catalogue_paths]
    states: list[FileState] = []
    for catalogue in catalogues:
        states += [cached_state(file) for file in catalogue.files]
    needed = [state.file for state in states if not state.complete]
    if needed:
        origin = listed(hosts(needed), SHOWN) if folder is None else str(folder)
        _print([f"from {origin}: files {len(needed)}, into {prompts_folder()}"])
    restricted = without_licence([state.file for state in states])
    if restricted:
        names = listed(restricted, SHOWN)
        _print([f"without a licence, so these texts stay on this machine: {names}"])
    counts: Counter[State] = Counter()
    for cached in states:
        state = cached
        if not cached.complete and not dry_run:
            state = obtain(cached.file, folder)
        _print(map(_prompt_line, state.prompts))
        counts.update(prompt.state for prompt in state.prompts)
        if not dry_run:
            yield from state.findings()
    for figure in figure_states(catalogues):
        _print([_prompt_line(figure)])
        counts[figure.state] += 1
    numbers = [f"{state} {counts[state]}" for state in STATES if counts[state]]
    _print([f"released prompts: {', '.join(numbers)}"])


def _prompt_line(prompt: PromptState) -> str:
    line = f"{prompt.state:7}  {prompt.id}"
    return f"{line}: {prompt.reason}" if prompt.reason else line


def _end(findings: Sequence[Finding], place: RemedyTarget, *, is_whole: bool) -> int:
    if is_whole:
        lines = terminal_lines(findings, place, columns())
    else:
        lines = brief_lines(
            _without_repetition(findings), place, columns(), whole=_HOW_TO_SEE_ALL
        )
    for line in lines:
        print_text(f"{line}\n")
    return exit_code(findings)


def _without_repetition(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings without missing data whose hub cannot be reached. Another
    finding states how to reach it."""
    unreachable: set[str] = set()
    for finding in findings:
        if finding.kind == "machine":
            unreachable.add(finding.subject.name)
    shown: list[Finding] = []
    for finding in findings:
        is_missing = finding.kind == "missing_data" and finding.remedy == PREPARE_DATA
        if not is_missing or finding.subject.name not in unreachable:
            shown.append(finding)
    return shown


def _fetched(item: Download) -> DownloadState:
    """Fetches a source. Returns the source's state and damaged files, or the error.

    A source without missing files is fetched too, because the hub's cache then links
    the files that this commit shares with other commits.
    """
    if item.to_fetch:
        _log.info("fetching %s", item.source)
    try:
        folder = fetch(item.source)
    except MmevalError as error:
        return error
    if item.listing is None or item.source.kind == "model":
        return item
    return item._replace(damages=tuple(damage_findings(item.listing.files, folder)))


def _described(item: Download, users: Sequence[str]) -> Iterator[str]:
    """Describes a source, its size and the part of it that is still to be fetched."""
    yield f"{item.source}, for {listed(users, SHOWN)}"
    if item.listing is None:
        yield "  nothing to fetch, local files are checked"
        return
    files = item.listing.files
    whole = size(sum(file.size for file in files))
    text = f"  commit {item.listing.commit}: files: {len(files):,}, {whole}"
    if not item.to_fetch:
        yield f"{text}; nothing to fetch"
        return
    folder = target_folder(item.source)
    free = size(free_bytes(folder))
    parts = f"files: {len(item.to_fetch):,}, {size(item.bytes_to_fetch)}"
    yield f"{text}; to fetch: {parts} ({free} free), into {folder}"


def _shown(check: DataCheck) -> str:
    """Returns a line such as ``ready  t: 3 of 3 rows; media: image 3``."""
    state = "ready" if check.ready else "not ready"
    counts = check.counts
    if counts is None or not counts.read:
        return f"{state}  {check.task}"
    facts = [f"{counts.samples[check.task]:,} of {counts.rows:,} rows"]
    if counts.bad_marks:
        facts.append(f"bad {len(counts.bad_marks):,}")
    facts += [f"{label} {number:,}" for label, number in counts.totals.items()]
    return f"{state}  {check.task}: {', '.join(facts)}{_media(counts.media)}"


def _media(numbers: Mapping[str, int]) -> str:
    shown = [f"{kind} {number:,}" for kind, number in sorted(numbers.items())]
    return f"; media: {', '.join(shown)}" if shown else ""


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        text = printable(line, limit=_MAX_LINE)
        indent = " " * (len(text) - len(text.lstrip()))
        for part in wrapped(text, columns(), f"{indent}  "):
            print_text(f"{part}\n")
