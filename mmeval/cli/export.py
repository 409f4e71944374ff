"""Write the answers of a run, or its ratings, in the format of another program.

    mmeval export                                      the formats
    mmeval export runs/my-model/default --format NAME
    mmeval export ratings.jsonl --format label_studio

RUN is the folder of a run, <output_path>/<model>/<run_id>. A folder named after its
model is written below --output_path, completely or not at all. --model replay reads it.
Ratings are those of a run, or of a file. They are written to one file below
--output_path. No model is called, and the run is not changed.

exit codes: 0 all is in the files; 2 usage, or the run does not fit the format; 3
something requested is not in the files: the format does not support a task, answers are
missing, or records are damaged; 4 the run does not exist.
"""

from __future__ import annotations

import argparse
import logging
import textwrap
from pathlib import Path

from mmeval.cli.parser import Parser
from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    MmevalError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from mmeval.report.terminal import WIDEST_LIST, columns, print_text
from mmeval.settings import values
from mmeval.system.wording import file_name, printable, split_names

log = logging.getLogger(__name__)

_MAX_ABOUT = 400


def configure(parser: Parser) -> None:
    parser.add_argument(
        "folder",
        metavar="RUN",
        nargs="?",
        type=Path,
        help="the folder of a run, or a file of ratings; without it, the formats are "
        "listed",
    )
    parser.add_argument(
        "--format", metavar="NAME", default="", help="format to write, listed below"
    )
    parser.ending = _list_of_formats
    parser.add_argument(
        "-o",
        "--output_path",
        metavar="FOLDER",
        default="output",
        help="parent of the folder to write (./output)",
    )
    parser.add_argument(
        "--tasks",
        metavar="TASK",
        action="append",
        default=[],
        help="tasks or groups of the run, separated by commas (all); may be repeated",
    )
    parser.add_argument(
        "--question",
        metavar="NAME",
        default="",
        help="only the ratings of this question (all)",
    )
    parser.add_argument(
        "--force",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=False,
        help="replace an existing folder or file once the new one is complete (false)",
    )


def run(args: argparse.Namespace) -> int:
    """Writes the folder and prints its path.

    Returns EXIT_INCOMPLETE if something requested is missing in the folder. Without a
    run, prints the formats.
    """
    from mmeval import plugins
    from mmeval.interchange.contract import load_format
    from mmeval.interchange.export import export
    from mmeval.results.stored_run import StoredRun, run_folder
    from mmeval.trust.forms.registry import FORMS

    if args.folder is None:
        if args.format:
            raise UsageError(
                f"RUN is missing; write 'mmeval export RUN --format {args.format}'"
            )
        print_text(f"{_list_of_formats()}\n")
        return EXIT_OK
    if not args.format:
        raise UsageError(f"--format is missing\n{_list_of_formats()}")
    if args.format in FORMS:
        return _export_ratings(args)
    try:
        form = load_format(args.format)
    except UnknownNameError:
        known = [*plugins.names("mmeval.formats"), *FORMS]
        near = did_you_mean(args.format, known)
        raise UsageError(
            f"unknown format {args.format!r}{near}\n{_list_of_formats()}"
        ) from None
    if form.write is None:
        raise UsageError(
            f"--format {args.format}: mmeval cannot write this format: "
            f"{form.unwritten or 'it can only read it'}"
        )
    stored = StoredRun(run_folder(args.folder))
    try:
        into = Path(args.output_path).expanduser() / file_name(stored.model)
        exported = export(
            stored,
            form,
            into,
            tasks=split_names(args.tasks),
            force=values.switch(args.force),
        )
    finally:
        stored.close()
    for note in exported.notes:
        log.info(note)
    for gap in exported.gaps:
        log.warning(gap)
    log.info(
        "exported answers: %s, media: %s",
        f"{exported.answers:,}",
        f"{exported.media:,}",
    )
    print_text(f"{into}\n")
    return EXIT_INCOMPLETE if exported.gaps else EXIT_OK


def _export_ratings(args: argparse.Namespace) -> int:
    """Writes the ratings to a file named after their source, and prints its path."""
    from mmeval.results.stored_run import StoredRun, run_folder
    from mmeval.trust.forms.export import export_ratings
    from mmeval.trust.forms.registry import FORMS

    if args.tasks:
        raise UsageError(f"--tasks selects answers, but {args.format} has ratings")
    source: Path = args.folder
    name = source.stem
    if source.is_dir():
        stored = StoredRun(run_folder(source))
        name = stored.model
        stored.close()
    ending = FORMS[args.format].suffix
    if ending != f".{args.format}":  # several programs read files of one kind
        ending = f".{args.format}{ending}"
    into = Path(args.output_path).expanduser()
    file = into / f"{file_name(name)}{ending}"
    count = export_ratings(
        source,
        args.format,
        file,
        question=args.question or None,
        force=values.switch(args.force),
    )
    log.info("exported ratings: %s", f"{count:,}")
    print_text(f"{file}\n")
    return EXIT_OK


def _list_of_formats() -> str:
    """Returns a line for each format that can be written."""
    from mmeval import plugins
    from mmeval.interchange.contract import load_format
    from mmeval.trust.forms.registry import FORMS

    about: dict[str, str] = {}
    for name in plugins.names("mmeval.formats"):
        try:
            form = load_format(name)
        except MmevalError as error:  # a broken plugin must not hide the others
            about[name] = str(error)
            continue
        if form.write is not None:
            about[name] = form.about
    for name, ratings_form in FORMS.items():
        if ratings_form.write is not None:
            about[name] = f"ratings: {ratings_form.about}"
    widest_name = max(map(len, about))
    lines = ["formats, for mmeval export RUN --format NAME:"]
    for name, text in about.items():
        head = f"  {name.ljust(widest_name)}  "
        width = columns(widest=WIDEST_LIST) - len(head)
        one_line = printable(text, limit=_MAX_ABOUT)
        lines.append(head + textwrap.shorten(one_line, width, placeholder=" …"))
    return "\n".join(lines)
