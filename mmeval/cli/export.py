"""Write the answers of a run in the format of another program.

RUN is the folder of a run, <output_path>/<model>/<run_id>. A folder named after its
model is written below --output_path, completely or not at all. 'mmeval ls formats'
lists the formats, and --model replay reads them. No model is called, and the run is not
changed.

The exit code is 3 if something requested is not in the files: the format does not
support a task, answers are missing, or records are damaged.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError
from mmeval.report.terminal import print_text
from mmeval.settings import values
from mmeval.system.wording import file_name, split_names

log = logging.getLogger(__name__)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument(
        "--format",
        metavar="NAME",
        default="",
        help="format to write ('mmeval ls formats' lists them)",
    )
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
        "--force",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=False,
        help="replace an existing folder once the new one is complete (false)",
    )


def run(args: argparse.Namespace) -> int:
    """Writes the folder and prints its path.

    Returns EXIT_INCOMPLETE if something requested is missing in the folder.
    """
    from mmeval import plugins
    from mmeval.interchange.contract import load_format
    from mmeval.interchange.export import export
    from mmeval.results.stored_run import StoredRun, run_folder

    if not args.format:
        known = ", ".join(plugins.names("mmeval.formats"))
        raise UsageError(f"--format is missing; the formats are: {known}")
    form = load_format(args.format)
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
