"""A finished run to hand to loggers, and a process in which a tracker may leave what it
leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

from mmeval.report.results_file import Published, results_document
from mmeval.run.options import RunOutcome
from mmeval.settings.report_options import ReportContext
from tests.support.outcomes import outcome, result, task

ROOT = Path(__file__).parents[2]


def finished(folder: Path) -> tuple[RunOutcome, Published]:
    """A run with one number that is known and one that is not."""
    made = outcome(
        folder,
        result("a", 0.5),
        result("a", None, metric="other", unavailable=10),
        tasks=(task("a"),),
    )
    document = json.loads(json.dumps(results_document(made, ReportContext("m"), {})))
    (folder / "results.json").write_text(json.dumps(document))
    return made, Published("a table", folder / "results.json", document)


def log_apart(folder: Path, logger: str, **environ: str) -> str:
    """Log a finished run in a process of its own, offline; what it printed. Trackers
    leave threads and settings."""
    script = (
        "import sys, pathlib\n"
        "from tests.support.logged import finished\n"
        "from mmeval.report.loggers.contract import create_loggers\n"
        f"create_loggers({{{logger!r}: {{'name': "
        f"'mine'}}}})[{logger!r}].log(*finished(pathlib.Path.cwd()))\n"
    )
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "HOME": str(folder),
            "HF_HUB_OFFLINE": "1",
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
