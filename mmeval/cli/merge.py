"""Merge the shards of a run and compute its results.

    mmeval merge runs/my-model/default

RUN is the folder of a run that was started with --shard I/N on several machines,
<output_path>/<model>/<run_id>. No model is called. The results, all other output
and the exit code are those of the same command without --shard.
"""

from __future__ import annotations

import argparse
import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.cli.parser import add_flags
from mmeval.report.terminal import print_text, write_line
from mmeval.settings import values
from mmeval.settings.flags import BY_NAME
from mmeval.system.secrets import text_without_secrets


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="RUN", type=Path, help="the folder of a run with shards"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help=(
            "compute results even if a shard is missing; the results then say that it "
            "is missing (exit code 3)"
        ),
    )
    add_flags(parser, [BY_NAME["report"]])


def run(args: argparse.Namespace) -> int:
    """Merges the shards, prints the tables, and returns the exit code."""
    from mmeval.report.baseline import recorded_baseline
    from mmeval.report.progress_bar import for_stderr
    from mmeval.report.publish import Publication
    from mmeval.run.rescore.division import division_of, stored_shards
    from mmeval.run.rescore.merge import check_at_rest, is_merged, merge
    from mmeval.settings.flags import FLAGS
    from mmeval.settings.plan import make_plan
    from mmeval.settings.resolve import resolve
    from mmeval.store.run_folder import RunFolder
    from mmeval.store.shard import MERGED

    check_at_rest(args.folder)
    division = division_of(
        args.folder, stored_shards(args.folder), partial=args.partial
    )
    if is_merged(args.folder):
        exit_code: int = RunFolder.read_record(args.folder)[MERGED]["exit_code"]
        before = (
            f"; the last merge ended with exit code {exit_code}" if exit_code else ""
        )
        write_line(
            f"{args.folder}: nothing to merge, the run has all trials of its "
            f"shards{before}"
        )
        if values.switch(getattr(args, "report", False)):
            _write_missing_page(args.folder)
        return exit_code
    recorded: dict[str, Any] = dict(division.shards[-1].record["settings"])
    recorded.pop("shard", None)
    if "report" in args:
        recorded["report"] = args.report
    plan = make_plan(
        resolve(FLAGS, recorded, {}),
        command=text_without_secrets(shlex.join(("mmeval", *args.argv))),
    )
    publication = Publication.prepared(
        plan.loggers,
        None,
        log_samples=plan.log_samples,
        page=plan.page,
        table=plan.table,
        recorded=recorded_baseline(recorded, args.folder),
    )
    # merging calls no model, so a spent budget must not stop it
    unlimited = replace(
        plan.options, budget_usd=None, budget_tokens=None, budget_calls=None
    )
    with closing(for_stderr()) as bar:
        merged = merge(args.folder, unlimited, progress=bar, partial=args.partial)
    publication.finish(merged.outcome, plan.report, show=print_text)
    merged.note()
    return merged.outcome.exit_code


def _write_missing_page(folder: Path) -> None:
    """Writes the page of a merged run if it has none: its merge had no --report."""
    from mmeval.report.page import write_report

    report = folder / "report"
    if not (report / "index.html").is_file():
        page = write_report([folder], report)
        print_text(f"page  {report / page.page.name}\n")
