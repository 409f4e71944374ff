"""The report at the end of a run: written when everything else is done, and never the reason why a run fails."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path

from mmeval.errors import Interrupted
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
        from mmeval.report.page import PREVIEW_SECONDS, write_report

        made = write_report([run], run / FOLDER, preview_seconds=PREVIEW_SECONDS, results=results, baseline=baseline)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped while the report was written; the results are kept, and {later}") from None
    except Exception as error:  # the results are there already, whatever it is
        log.debug("the report failed", exc_info=True)
        log.warning("the report was not written (%s); %s", _said(error), later)
        return
    if made.damage:
        log.warning("%s; mmeval report %s --verbosity DEBUG says why", made.damage, shlex.quote(str(run)))
    if made.left_over:
        log.info("%d pictures, documents or meshes were not drawn for lack of time; %s", made.left_over, later)
    log.info("report: %s", run / FOLDER / made.page.name)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
