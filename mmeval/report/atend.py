"""The report at the end of a run: written when everything else is done, and never the reason why a run fails."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path

from mmeval.errors import Caught, Interrupted
from mmeval.report.baseline import Baseline

log = logging.getLogger(__name__)

FOLDER = "report"
"""Where the report of a run lies, in its folder."""


def write_at_end(run: Path, results: Path, *, baseline: Baseline | None = None) -> None:
    """Write the report of a run whose results file was just written, and say where it is. The numbers of ``baseline``
    stand beside its own.

    A report that cannot be written is one warning with the command that makes it later. Raises Interrupted after
    Ctrl-C, which takes nothing of the results.
    """
    later = f"mmeval report {shlex.quote(str(run))} makes it"
    try:
        with Caught() as failure:  # the results are there already
            from mmeval.report.page import PREVIEW_SECONDS, write_report

            made = write_report(
                [run], run / FOLDER, preview_seconds=PREVIEW_SECONDS, results=results, baseline=baseline
            )
    except KeyboardInterrupt:
        raise Interrupted(f"stopped while the report was written; the results are kept, and {later}") from None
    if failure:
        log.debug("the report failed", exc_info=failure.error)
        log.warning("the report was not written (%s); %s", str(failure.error) or type(failure.error).__name__, later)
        return
    if made.damage:
        log.warning("%s; mmeval report %s --verbosity DEBUG says why", made.damage, shlex.quote(str(run)))
    if made.left_over:
        log.info("%d pictures, documents or meshes were not drawn for lack of time; %s", made.left_over, later)
    log.info("report: %s", run / FOLDER / made.page.name)
