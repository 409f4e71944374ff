"""Write the answers of a run in a layout that others read.

RUN is the folder of a run, <output_path>/<model>/<run_id>. The folder of its model is
written below --output_path, whole or not at all. 'mmeval ls formats' lists the formats;
--model replay reads them back. No model is asked, and the run is not changed.

The exit code is 3 where something that was asked for is not in the files: a task that
the format has no place for, answers that the run lacks, damaged records.
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
        help="the layout; 'mmeval ls formats' lists them",
    )
    parser.add_argument(
        "-o",
        "--output_path",
        metavar="FOLDER",
        default="output",
        help="where the folder of the run's model is made (./output)",
    )
    parser.add_argument(
        "--tasks",
        metavar="TASK",
        action="append",
        default=[],
        help="tasks or groups of the run, separated by commas (all of them); may be "
        "repeated",
    )
    parser.add_argument(
        "--force",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=False,
        help="replace a folder of this name, once the new one is whole",
    )


def run(args: argparse.Namespace) -> int:
    """Write the folder and print its path. EXIT_INCOMPLETE where it lacks something."""
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
            f"--format {args.format} is not written: "
            f"{form.unwritten or 'it is for reading alone'}"
        )
    stored = StoredRun(run_folder(args.folder))
    try:
        into = Path(args.output_path).expanduser() / file_name(stored.model)
        done = export(
            stored,
            form,
            into,
            tasks=split_names(args.tasks),
            force=values.switch(args.force),
        )
    finally:
        stored.close()
    for note in done.notes:
        log.info(note)
    for gap in done.gaps:
        log.warning(gap)
    log.info("exported answers: %s, media: %s", f"{done.answers:,}", f"{done.media:,}")
    print_text(f"{into}\n")
    return EXIT_INCOMPLETE if done.gaps else EXIT_OK
