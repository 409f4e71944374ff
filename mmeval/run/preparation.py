"""Prepares a run before anything is written or sent.

The preparation determines the folder, creates backends, opens data and checks them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.backend.contract import AnyBackend, TaskAhead, WholeAnswers
from mmeval.errors import MissingError, UsageError
from mmeval.findings.finding import Finding
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.run.availability import undescribed_media
from mmeval.run.backends import (
    Backends,
    batch_size_findings,
    check_role_names,
    check_roles,
    option_findings,
)
from mmeval.run.costs.budget import check_prices
from mmeval.run.costs.prices import Prices, load_prices
from mmeval.run.costs.shared_budget import BudgetLimits
from mmeval.run.jobs import JobQueue
from mmeval.run.options import RunOptions, ScoringOptions
from mmeval.run.undeclared import undeclared
from mmeval.store.media_store import MediaStore
from mmeval.store.run_folder import check_identity
from mmeval.store.shard import beside, in_words, shard_path, unmerged
from mmeval.system.wording import file_name
from mmeval.task.task import Selection, Task

DEFAULT_RUN_ID = "default"
BEFORE = "before the run:"
_CACHED = "models--"


def run_path(options: RunOptions) -> Path:
    """Returns the folder of a run, or of its shard.

    The folder of a run is ``<output_path>/<model>/<run_id>``.
    """
    run = (
        options.output_path
        / file_name(model_name(options))
        / file_name(options.run_id or DEFAULT_RUN_ID)
    )
    return run if options.shard is None else shard_path(run, options.shard)


def other_folders(options: RunOptions) -> list[Path]:
    """Returns the other run folders whose answers a shard reuses."""
    return [] if options.shard is None else beside(run_path(options))


def check_folder(
    options: RunOptions,
    record: Mapping[str, Any],
    identity: Mapping[str, Any],
    answers: int,
) -> None:
    """Raises IdentityChangedError if the run folder has another model or settings.

    Raises the errors of ``check_merged`` too. ``record`` is the content of the run's
    ``run.json``.
    """
    check_identity(run_path(options), record, identity, answers)
    check_merged(options, record)


def check_merged(options: RunOptions, record: Mapping[str, Any]) -> None:
    """Raises UsageError for a whole run with shards that are not merged.

    The run would repeat their requests.
    """
    path = run_path(options)
    if (
        options.shard is None
        and not options.fresh
        and (unmerged_shards := list(unmerged(path, record)))
    ):
        raise UsageError(
            f"{path}: not merged: {in_words(unmerged_shards)}. Run 'mmeval merge "
            f"--partial {path}', then the same command for the other samples"
        )


def model_name(options: RunOptions) -> str:
    """Returns the name of the model in folders and tables.

    The name is the model's tag, else an argument of the backend, else the backend's
    name. A folder is named by the last part of its path. Two folders with the same last
    part have the same name; the identity of a run prevents that they share one.
    """
    if options.model_tag:
        return options.model_tag
    args = options.model.args
    given_name = args.get("model") or args.get("pretrained") or args.get("name")
    name = str(given_name or options.model.name)
    return _folder_name(name) if _is_folder(name) else name


def _is_folder(name: str) -> bool:
    """Returns True for a path on this machine or a server, False for a hub's name."""
    if name.startswith(("/", "./", "../", "~/")):
        return True
    return os.path.isdir(name)  # noqa: PTH112  unlike Path.is_dir, it never raises


def _folder_name(path: str) -> str:
    folder = Path(os.path.abspath(path))  # noqa: PTH100  removes "." and ".."
    snapshots = folder.parent
    # the hub's cache names a folder by its revision: models--ORG--NAME/snapshots/SHA
    if snapshots.name == "snapshots" and snapshots.parent.name.startswith(_CACHED):
        return snapshots.parent.name.removeprefix(_CACHED).replace("--", "/", 1)
    return folder.name or path


class PreparedRun(NamedTuple):
    """The backends and the data of a run, and findings about them."""

    backends: Backends
    jobs: JobQueue
    findings: tuple[Finding, ...]


def prepare_run(
    selection: Selection,
    options: RunOptions,
    media: MediaStore,
) -> PreparedRun:
    """Creates the backends and opens the data.

    Raises UsageError or MissingError if the run cannot start.
    """
    try:
        specs = {MODEL: options.model, **options.roles}
        backends = Backends(specs, options.answer_limits)
        backends.check_engine(options.engine)
    except MissingError:  # a misspelt role is reported before its missing key
        check_role_names(specs, selection.tasks)
        raise
    scoring = not options.predict_only
    jobs = JobQueue(selection.tasks, options, media)
    findings = check_backends(backends, selection.tasks, scoring=scoring)
    findings += selection.findings
    findings += batch_size_findings(backends.named, options.batch_size)
    jobs.check()
    capabilities = backends.named[MODEL].capabilities
    findings += undeclared(selection.tasks, jobs.first, capabilities, options.model)
    findings += jobs.doubts(scoring=scoring)
    _foresee(backends.named[MODEL], jobs)
    return PreparedRun(backends, jobs, tuple(findings))


def check_backends(
    backends: Backends, tasks: Sequence[Task], *, scoring: bool = True
) -> list[Finding]:
    """Returns findings for unknown options, and for media that no backend can describe.

    Raises UsageError for a role that no task calls, and for an unknown option of the
    model.
    """
    check_roles(backends.named, tasks)
    findings = option_findings(backends.named, tasks)
    if scoring:
        findings += undescribed_media(tasks, backends.named)
    return findings


def limits_and_prices(
    options: ScoringOptions, backends: Backends
) -> tuple[BudgetLimits, Prices]:
    """Returns the limits and prices of a run.

    Raises UsageError for a dollar budget if a price is unknown.
    """
    limits = BudgetLimits(
        options.budget_usd, options.budget_tokens, options.budget_calls
    )
    prices = load_prices(options.model_cost_config)
    check_prices(limits, prices, backends.named)
    return limits, prices


def _foresee(model: AnyBackend, jobs: JobQueue) -> None:
    """Passes the samples to a backend with recorded answers, which checks them."""
    if not isinstance(model, WholeAnswers):
        return

    def samples(position: int) -> Iterator[Sample]:
        for _, sample in jobs.samples(position):
            if not sample.fault:
                yield sample

    ahead = []
    for position, task in enumerate(jobs.tasks):
        chosen = partial(samples, position)
        ahead.append(TaskAhead(task.name, task.protocol_name, task.repeats, chosen))
    model.foresee(ahead)


def run_identity(backends: Backends, options: RunOptions) -> dict[str, Any]:
    """Returns the identity of a run: model, seed and reasoning tags.

    The identity must not change when the run continues.
    """
    tags = options.reasoning_tags
    return {
        **backends.identities(),
        "seed": options.seed,
        "reasoning_tags": None if tags is None else list(tags),
    }
