"""Outcomes of runs for tests of reports: tasks, groups and results made by hand, and a
finished run for loggers."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.metric.bound import bind, missing_role
from mmeval.metric.contract import Metric
from mmeval.metric.contract import metric as describe
from mmeval.records.request import GenerationParams
from mmeval.records.score import Result
from mmeval.records.trial import Trial
from mmeval.report.results_file import PublishedResults, results_document
from mmeval.run.options import RunCounts, RunOutcome
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Selection, Task, TaskMetric
from tests.support import toy

# Outcomes of runs for tests of reports: tasks, groups and results made by hand.


@describe(range=(0, 1), version="2", source="made for tests")
def half(trial: Trial, *, strict: bool = False) -> float:
    """Half a point for everything."""
    return 0.5


def task(
    name: str,
    *,
    comparable: bool = True,
    alias: str = "",
    rows: int = 10,
    metric: Metric = half,
) -> Task:
    return replace(
        toy.task(name, rows),
        alias=alias or name,
        version="1.0",
        config={"task": name, "dataset_path": "somewhere"},
        params=GenerationParams(max_tokens=16),
        metrics=(TaskMetric(bind(metric)),),
        comparable=comparable,
    )


def result(
    of: str,
    value: float | None = 0.5,
    *,
    metric: str = "half",
    n: int = 10,
    **more: Any,
) -> Result:
    lost = sum(
        more.get(key, 0)
        for key in ("failed", "unscored", "unavailable", "unsupported", "inapplicable")
    )
    return Result(
        of,
        metric,
        value,
        n,
        n - lost,
        **{"stderr": 0.1 if value is not None else None, **more},
    )


def outcome(
    folder: Path,
    *results: Result,
    tasks: tuple[Task, ...],
    groups: tuple[Group, ...] = (),
    **more: Any,
) -> RunOutcome:
    names = {group.name for group in groups}
    return RunOutcome(
        folder=folder,
        model_name="org/model",
        selection=Selection(tasks, groups),
        results=tuple(r for r in results if r.task not in names),
        group_results=tuple(r for r in results if r.task in names),
        counts=RunCounts(kept=1, new=9),
        started="2026-01-31T12-00-00",
        seconds=1.5,
        exit_code=0,
        rows=dict.fromkeys((task.name for task in tasks), 10),
        **more,
    )


NO_JUDGE = missing_role("half", "judge")
METADATA = {"note": "nightly", "team": {"api_key": "sk-1"}}
CONTEXT = ReportContext(
    "openai", {"model": "m", "api_key": "sk-1"}, limit=5, metadata=METADATA
)
GROUP = Group("g", "The group", ("a", "b"), (GroupMetric("half"),), version="3")
TASKS = (
    task("a"),
    replace(task("b", comparable=False), config={"profile": "official"}),
)
THREE = [
    result("a", 0.25),
    result("b", None, unavailable=10),
    result("g", 0.4, stderr=None),
]


def document(
    *results: Any, context: ReportContext = CONTEXT, tasks: Any = TASKS, **more: Any
) -> dict[str, Any]:
    made = outcome(Path(), *results, tasks=tasks, groups=(GROUP,), **more)
    whole: dict[str, Any] = json.loads(
        json.dumps(results_document(made, context, {"a": "hash"}), allow_nan=False)
    )
    return whole


# A finished run to hand to loggers, and a process in which a tracker may leave what
# it leaves.

ROOT = Path(__file__).parents[2]


def finished(folder: Path) -> tuple[RunOutcome, PublishedResults]:
    """A run with one number that is known and one that is not."""
    made = outcome(
        folder,
        result("a", 0.5),
        result("a", None, metric="other", unavailable=10),
        tasks=(task("a"),),
    )
    document = json.loads(json.dumps(results_document(made, ReportContext("m"), {})))
    (folder / "results.json").write_text(json.dumps(document))
    return made, PublishedResults("a table", folder / "results.json", document)


def log_apart(folder: Path, logger: str, **environ: str) -> str:
    """Log a finished run in a process of its own, offline; what it printed. Trackers
    leave threads and settings."""
    script = (
        "import sys, pathlib\n"
        "from tests.support.outcomes import finished\n"
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
