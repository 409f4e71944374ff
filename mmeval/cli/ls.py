"""List tasks, groups, tags, metrics, backends, and other plugins.

    mmeval ls tasks            the benchmarks
    mmeval ls tasks '*'        all tasks
    mmeval ls metrics judge    the metrics with judge in their name
    mmeval ls metrics wer      a metric: all that it needs, its text and its switches
    mmeval ls prompts my_task  the prompts of tasks or an agent, our own and released

exit codes: 0 the list is printed; 2 the kind is unknown, or no task has the name.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval import plugins
from mmeval.cli.parser import add_flags
from mmeval.errors import MmevalError, UnknownNameError, UsageError
from mmeval.report.log import begin_log
from mmeval.report.markdown import cell, table_lines, text_width
from mmeval.report.terminal import WIDEST_LIST, columns, print_text
from mmeval.settings.flags import BY_NAME
from mmeval.settings.resolve import resolve
from mmeval.system.wording import listed, wrapped

if TYPE_CHECKING:
    from mmeval.backend.tool import Tool
    from mmeval.interchange.contract import AnswerFormat
    from mmeval.metric.contract import Metric
    from mmeval.task.index import IndexEntry, TaskIndex

KINDS: dict[str, plugins.PluginGroup] = {
    "metrics": "mmeval.metrics",
    "backends": "mmeval.model_backends",
    "adapters": "mmeval.hf_adapters",
    "tools": "mmeval.tools",
    "formats": "mmeval.formats",
    "loaders": "mmeval.loaders",
    "prompts": "mmeval.prompts",
    "protocols": "mmeval.protocols",
    "aggregators": "mmeval.aggregators",
    "layouts": "mmeval.layouts",
    "loggers": "mmeval.loggers",
}
_FLAGS = (BY_NAME["include_path"], BY_NAME["verbosity"])
FROM_FILES = ("tasks", "groups", "tags")
_KNOWN = ", ".join((*FROM_FILES, *KINDS))
_MAX_PROBLEM = 400
_MAX_ROLES = 400
_MAX_LICENCE = 24
_MOST_NAMED = 3
_ALL = 1_000
_IF_FILLED = ("Asks", "Note")
"""Columns that are left out if all their cells are empty."""
_NOT_HERE = "not here"
_PROMPT_HEADERS = ("Id", "Prompt", "Words", "SHA-256", "State")
_DIGEST_SHOWN = 12
_BENCHMARK_HEADERS = ("Benchmark", "Tasks", "Version", "Licence", "From")
_ENTRY_HEADERS: dict[str, tuple[str, ...]] = {
    "tasks": ("Version", "Licence", "Tags"),
    "groups": ("Tags", "From"),
    "tags": ("Tasks and groups",),
}


class _BrokenEntry(NamedTuple):
    """An entry that cannot be loaded, with its error."""

    name: str
    owner: str
    problem: MmevalError


ListingRows: TypeAlias = Iterable[list[str] | _BrokenEntry]
_Table: TypeAlias = tuple[Sequence[str], Callable[[str, str, Any], list[str]]]
"""The headers of a table, and a function that makes a row from a plugin's name, owner
and object."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="?", metavar="KIND", help=f"what to list: {_KNOWN}"
    )
    parser.add_argument(
        "pattern", nargs="?", metavar="PATTERN", help="a glob, or a part of a name"
    )
    add_flags(parser, _FLAGS)


def run(args: argparse.Namespace) -> int:
    settings = resolve(_FLAGS, vars(args), os.environ)
    begin_log(settings["verbosity"].value, os.environ)
    if args.what is None:
        raise UsageError(
            f"KIND is missing; write for example 'mmeval ls tasks' (kinds: {_KNOWN})"
        )
    if args.what not in (*FROM_FILES, *KINDS):
        raise UnknownNameError(
            "kind of thing to list",
            args.what,
            (*FROM_FILES, *KINDS),
            f"The kinds are: {_KNOWN}.",
        )
    if args.what == "tasks" and args.pattern is None:
        from mmeval.task.index import TaskIndex

        _print(
            _BENCHMARK_HEADERS,
            _benchmark_rows(TaskIndex(settings["include_path"].value)),
        )
        print_text(
            "\nmmeval ls tasks NAME lists the tasks of a benchmark, mmeval ls tasks "
            "'*' all tasks\n"
        )
        return 0
    if args.what == "prompts" and args.pattern is not None:
        rows = _prompt_rows(args.pattern, settings["include_path"].value)
        if rows:
            _print(_PROMPT_HEADERS, rows)
            return 0
    pattern = "*" if args.pattern is None else args.pattern
    if args.what in FROM_FILES:
        return print_tasks((args.what,), settings["include_path"].value, pattern)
    headers, row = _TABLES.get(args.what, _PLUGIN_TABLE)
    is_name = pattern in plugins.names(KINDS[args.what])
    if args.what == "backends" and is_name:
        row = partial(_backend_row, most_roles=_ALL)
    _print(headers, _rows(args.what, pattern, row))
    if args.what == "metrics" and is_name:
        _print_description(pattern)
    return 0


def print_tasks(
    kinds: Sequence[str], include_path: Sequence[Path], pattern: str = "*"
) -> int:
    """Prints the tables of the given kinds: tasks, groups or tags."""
    from mmeval.task.index import TaskIndex

    index = TaskIndex(include_path)
    for kind in kinds:
        rows: list[list[str] | _BrokenEntry] = []
        if kind == "tags":
            for tag, entries in index.tags().items():
                if _fits(tag, pattern):
                    names = [cell(entry.name) for entry in entries]
                    # all tasks are listed if the pattern is exactly the tag
                    most = len(names) if tag == pattern else _MOST_NAMED
                    rows.append([cell(tag), listed(names, most)])
        else:
            rows += _entry_rows(index, pattern, groups=kind == "groups")
        singular = kind.removesuffix("s")
        if not rows and pattern != "*":
            hint = f"To list them: mmeval ls {kind} '*'"
            raise UnknownNameError(singular, pattern, index.names(), hint)
        _print((singular.capitalize(), *_ENTRY_HEADERS[kind]), rows)
    return 0


def _prompt_rows(name: str, include_path: Sequence[Path]) -> list[list[str]]:
    """Returns a row for each prompt of a task or agent, and for each released text.

    The list is empty for a pattern of prompt functions. Raises UnknownNameError for a
    name that no task, no agent and no prompt function has.
    """
    from mmeval.prepare.prompt_list import listed_prompts

    rows: list[list[str]] = []
    try:
        for prompt in listed_prompts([name], include_path):
            names = cell(listed(prompt.names, _MOST_NAMED))
            state = "figure only" if prompt.state == "figure" else prompt.state
            digest = prompt.sha256[:_DIGEST_SHOWN]
            rows.append([cell(prompt.id), names, prompt.words, digest, state])
    except UnknownNameError:
        if not any(_fits(plugin, name) for plugin in plugins.names(KINDS["prompts"])):
            raise
    return rows


def _benchmark_rows(index: TaskIndex) -> ListingRows:
    """Returns a row for each benchmark, and the broken entries.

    A benchmark is a folder or a package of tasks.
    """
    by_benchmark: dict[tuple[str, str], list[IndexEntry]] = {}
    for entry in index.listing():
        if entry.problem is not None:
            yield _BrokenEntry(entry.name, entry.owner, entry.problem)
        elif not entry.is_group:
            folder = entry.full_name.rpartition("/")[0]
            key = (folder or entry.name, entry.owner)
            by_benchmark.setdefault(key, []).append(entry)
    for (name, owner), entries in sorted(by_benchmark.items()):
        versions = dict.fromkeys(entry.version for entry in entries)
        licences = dict.fromkeys(_licence(entry) for entry in entries)
        yield [
            cell(name),
            f"{len(entries):,}",
            cell(listed(list(versions), 2), limit=_MAX_LICENCE),
            cell(listed(list(licences), 2), limit=_MAX_LICENCE),
            cell(owner),
        ]


def _licence(entry: IndexEntry) -> str:
    """Returns the first words of the licence in a task file."""
    return re.split(r"[;.] |\n", entry.license, maxsplit=1)[0].rstrip(".;")


def _entry_rows(
    index: TaskIndex,
    pattern: str,
    *,
    groups: bool,
) -> ListingRows:
    for entry in index.listing():
        fits = _fits(entry.name, pattern) or _fits(entry.full_name, pattern)
        if entry.is_group != groups or not fits:
            continue
        name = cell(entry.name)
        tags = cell(", ".join(entry.tags))
        if entry.problem is not None:
            yield _BrokenEntry(entry.name, entry.owner, entry.problem)
        elif groups:
            yield [name, tags, cell(entry.owner)]
        else:
            licence = cell(_licence(entry), limit=_MAX_LICENCE)
            yield [name, cell(entry.version), licence, tags]


def _rows(
    kind: str,
    pattern: str,
    row: Callable[[str, str, Any], list[str]],
) -> ListingRows:
    """Returns the rows of a kind of plugin.

    If two distributions register the same name, it gets a row for each of them. The
    type of a plugin depends on the kind, so it is ``Any``.
    """
    load: Callable[[str], object] = partial(plugins.load, KINDS[kind])
    if kind == "metrics":
        from mmeval.metric.contract import load_metric

        load = load_metric
    elif kind == "formats":
        from mmeval.interchange.contract import load_format

        load = load_format
    elif kind == "tools":
        from mmeval.backend.tool import load_tool

        load = load_tool
    entries = plugins.entries(KINDS[kind])
    count = Counter(entry.name for entry in entries)
    for entry in entries:
        if not _fits(entry.name, pattern):
            continue
        owner = plugins.distribution_of(entry)
        name = f"{owner}/{entry.name}" if count[entry.name] > 1 else entry.name
        try:
            yield row(name, owner, load(name))
        except MmevalError as error:
            yield _BrokenEntry(name, owner, error)


def _metric_row(
    name: str,
    owner: str,
    metric: Metric,
) -> list[str]:
    """Returns the row of a metric, with its needs in brief."""
    from mmeval.metric.facts import range_text

    return [
        cell(name),
        cell(metric.version),
        range_text(metric),
        "↑" if metric.higher_is_better else "↓",
        cell(", ".join(_needs_in_brief(metric)), limit=200),
        cell(owner),
    ]


def _needs_in_brief(metric: Metric) -> list[str]:
    """Returns the packages, the number of models and the roles that a metric needs.

    Packages and models that are not on this machine are marked.
    """
    from mmeval.metric.bound import bind

    bound = bind(metric)
    missing_packages = {error.package for error in bound.missing()}
    needs: list[str] = []
    for need in bound.needs:
        package = need.partition(":")[0].partition(".")[0]
        is_missing = package in missing_packages
        needs.append(f"{package} ({_NOT_HERE})" if is_missing else package)
    models = {model["name"] for model in bound.models.values() if model["name"]}
    if models:
        count = "a model" if len(models) == 1 else f"{len(models)} models"
        has_missing = bool(dict(bound.missing_models()))
        needs.append(f"{count} ({_NOT_HERE})" if has_missing else count)
    return [*needs, *metric.roles]


def _needs_in_full(metric: Metric) -> list[str]:
    """Returns the packages, models and roles that a metric needs.

    A missing package has the command that installs it. The models are those that are
    loaded by default.
    """
    from mmeval.metric.bound import bind

    bound = bind(metric)
    needs: list[str] = []
    errors = {error.package: error for error in bound.missing()}
    for need in bound.needs:
        module = need.partition(":")[0]
        error = errors.get(module.partition(".")[0])
        needs.append(module if error is None else f"{module} ({error.command})")
    missing_models = dict(bound.missing_models())
    for switch, model in bound.models.items():
        if model["name"]:
            state = f" ({_NOT_HERE})" if switch in missing_models else ""
            needs.append(f"model {model['name']}{state}")
    needs += [f"role {role}" for role in metric.roles]
    return list(dict.fromkeys(needs))


def _print_description(name: str) -> None:
    """Prints the needs of a metric, its docstring, and the values of its switches."""
    from mmeval.metric.contract import load_metric
    from mmeval.metric.facts import facts_of

    try:
        metric = load_metric(name)
    except MmevalError:  # the table lists it with the broken entries
        return
    lines: list[str] = []
    needs = _needs_in_full(metric)
    if needs:
        words = f"Needs: {cell(', '.join(needs), limit=_MAX_PROBLEM)}"
        lines += ["", *wrapped(words, columns(), "  ")]
    docstring = inspect.getdoc(metric.function) or ""
    for paragraph in docstring.replace("``", "`").split("\n\n"):
        lines.append("")
        for item in re.split(r"\n(?= *(?:-|\d\.) )", paragraph):
            margin = re.match(r" *", item)
            bullet = re.match(r" *(?:-|\d\.) ", item)
            lines += textwrap.wrap(
                " ".join(item.split()),
                columns(),
                initial_indent=margin[0] if margin else "",
                subsequent_indent=" " * len(bullet[0]) if bullet else "",
            )
    for title, fact in facts_of(metric).items():
        lines += ["", *wrapped(f"{title}: {fact}", columns(), "  ")]
    values = {"Defaults": metric.switches}
    for profile, switches in metric.profiles.items():
        values[f"Profile {profile}"] = switches
    for title, switches in values.items():
        if switches:
            written = json.dumps(dict(switches), ensure_ascii=False, default=str)
            lines += ["", *wrapped(f"{title}: {written}", columns(), "  ")]
    print_text("\n".join(lines) + "\n")


def _tool_row(
    name: str,
    owner: str,
    tool: Tool,
) -> list[str]:
    return [
        cell(name),
        cell(", ".join(tool.takes)),
        cell(tool.makes),
        cell(tool.backend),
        cell(owner),
        cell(tool.about, limit=120),
    ]


def _adapter_row(
    name: str,
    owner: str,
    adapter: object,
) -> list[str]:
    verified = getattr(adapter, "verified", True)  # a plugin may be any class
    sentence, stop, _ = _purpose(adapter).partition(". ")
    return [
        cell(name),
        cell(owner),
        cell(sentence + stop.strip(), limit=120),
        "" if verified else "not run yet",
    ]


def _backend_row(
    name: str,
    owner: str,
    backend: object,
    *,
    most_roles: int = 1,
) -> list[str]:
    from mmeval.backend.agent.contract import Agent, described_roles

    asks = ""
    if isinstance(backend, Agent):
        asks = listed(described_roles(backend), most_roles)
    purpose = cell(_purpose(backend), limit=120)
    return [cell(name), cell(owner), cell(asks, limit=_MAX_ROLES), purpose]


def _format_row(
    name: str,
    owner: str,
    form: AnswerFormat,
) -> list[str]:
    sides = []
    if form.read is not None:
        sides.append("read")
    if form.write is not None:
        sides.append("written")
    return [
        cell(name),
        " and ".join(sides),
        cell(", ".join(form.options)),
        cell(owner),
        cell(form.about, limit=120),
    ]


def _plugin_row(
    name: str,
    owner: str,
    plugin: object,
) -> list[str]:
    return [cell(name), cell(owner), cell(_purpose(plugin), limit=120)]


_PLUGIN_TABLE: _Table = (("Name", "From", "What"), _plugin_row)
_TABLES: dict[str, _Table] = {
    "backends": (("Name", "From", "Asks", "What"), _backend_row),
    "metrics": (("Metric", "Version", "Range", "↑/↓", "Needs", "From"), _metric_row),
    "adapters": (("Model type", "From", "What", "Note"), _adapter_row),
    "formats": (("Format", "Is", "Arguments", "From", "What"), _format_row),
    "tools": (("Tool", "Takes", "Makes", "Played by", "From", "What"), _tool_row),
}


def _purpose(plugin: object) -> str:
    """Returns the first paragraph of a plugin's docstring, formatted for a terminal."""
    docstring = inspect.getdoc(plugin) or ""
    paragraph = docstring.partition("\n\n")[0]
    return paragraph.replace("\n", " ").replace("``", "'")


def _fits(name: str, pattern: str) -> bool:
    """Returns True if a name matches the glob or contains the pattern."""
    is_glob = any(char in pattern for char in "*?[")
    return fnmatchcase(name, pattern if is_glob else f"*{pattern}*")


def _print(headers: Sequence[str], rows: ListingRows) -> None:
    """Prints the table and the broken entries."""
    sound: list[list[str]] = []
    broken: list[list[str]] = []
    for row in rows:
        if isinstance(row, _BrokenEntry):
            problem = cell(" ".join(str(row.problem).split()), limit=_MAX_PROBLEM)
            broken.append([cell(row.name), cell(row.owner), problem])
        else:
            sound.append(row)
    print_text(_table(headers, sound))
    if broken:
        print_text("\n" + _table(("Broken", "From", "Problem"), broken))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table that fits the terminal.

    Long cells continue below. Optional columns without a text are left out.
    """
    shown: list[int] = []
    for index, header in enumerate(headers):
        is_empty = not any(row[index] for row in rows)
        if not (is_empty and header in _IF_FILLED):
            shown.append(index)
    shown_headers = [headers[index] for index in shown]
    shown_rows = [[row[index] for index in shown] for row in rows]
    width = columns(widest=WIDEST_LIST)
    lines = table_lines(shown_headers, shown_rows)
    if text_width(lines[0]) > width:
        lines = _folded(shown_headers, shown_rows, width)
    return "".join(f"{line}\n" for line in lines)


def _folded(
    headers: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> list[str]:
    """Returns the lines of a Markdown table whose long cells continue below."""
    from rich.box import MARKDOWN
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=MARKDOWN, padding=0, header_style="")
    for index, header in enumerate(headers):
        table.add_column(Text(header), overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, legacy_windows=False)
    console.print(table)
    # the first and the last line are the empty borders of the table
    return file.getvalue().splitlines()[1:-1]
