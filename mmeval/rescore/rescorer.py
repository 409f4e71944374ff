"""Scoring a run folder again: other metrics, switches or judges on the answers that it has; no model is asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from mmeval.broker.broker import Broker
from mmeval.costs.budget import Budget, Limits, check_prices
from mmeval.costs.prices import Bill, bills, load_prices
from mmeval.dataset.sampling import Subset
from mmeval.errors import EXIT_INCOMPLETE, UsageError
from mmeval.records.sample import Sample
from mmeval.rescore.selection import check_any_available, left_aside, stored_selection
from mmeval.results.provenance import without
from mmeval.results.task_results import group_results
from mmeval.run.availability import undescribed
from mmeval.run.backends import Backends, Beside, check_options, check_roles
from mmeval.run.complaints import nothing_to_score, unread_complaints
from mmeval.run.interrupt import interruptible
from mmeval.run.judging import Judging
from mmeval.run.options import BackendSpec, RescoreOptions, RunCounts, RunOutcome, Unfinished
from mmeval.run.outcome import (
    exit_code,
    finished_results,
    judge_versions,
    score_folders,
    unasked_complaints,
    unscored_complaints,
    worst_unscored,
)
from mmeval.run.progress import Progress
from mmeval.run.runner import say_unavailable
from mmeval.run.sample_choice import Marks
from mmeval.run.suspension import Suspension
from mmeval.run.task_run import TaskRun, scoring_plan, task_run
from mmeval.scoring.scorer import Scorer, left_to_models
from mmeval.scoring.stored_trials import stored_exchanges, stored_trial
from mmeval.scoring.trial_rows import trial_line
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import every_trial
from mmeval.store.run_folder import RunFolder
from mmeval.system.json_lines import to_line
from mmeval.task.task import Selection

if TYPE_CHECKING:
    from mmeval.run.options import RescoreOptions

from collections.abc import Collection
from pathlib import Path

from mmeval.backend.contract import ProgramBackend
from mmeval.errors import MissingError, sentence
from mmeval.run.suspension import score_command
from mmeval.secrets import HIDDEN, hidden_names

log = logging.getLogger(__name__)

THIS_COMMAND = "run the same command"
"""What goes on with a scoring that was suspended, or tries again what is unscored."""


def rescore(options: RescoreOptions, *, progress: Progress) -> RunOutcome:
    """Score every trial of a run folder that its score sets do not cover yet.

    Raises UsageError for a folder that holds no run, MissingError where nothing that is asked for by name can be
    computed or a judge of the run cannot be asked again as it was, Interrupted when the user stops it.
    """
    record = RunFolder.read_record(options.folder)
    if not record:
        raise UsageError(f"{options.folder}: holds no run (there is no run.json); name the folder that a run printed")
    roles = frozenset((*options.roles_of_run, *options.roles))
    selection = stored_selection(record, options.overrides, roles, metrics=options.metrics)
    if options.metrics:
        check_any_available(selection, options.metrics)
    say_unavailable(selection.tasks, strict=options.strict)
    return _Rescoring(selection, options, record, progress).run()


class _Rescoring:
    def __init__(
        self, selection: Selection, options: RescoreOptions, record: Mapping[str, Any], progress: Progress
    ) -> None:
        self.stopping = False
        self._selection, self._options, self._record, self._progress = selection, options, record, progress
        self._runs: list[TaskRun] = []
        self._broker: Broker | None = None
        self._judging: Judging | None = None
        self._trials = self._failed = self._unsupported = 0
        self._asked = [Marks() for _ in selection]
        self._made = [0 for _ in selection]
        self._bills: tuple[Bill, ...] = ()
        self._roles: Mapping[str, BackendSpec] = {}
        self._started = time.time()

    def stop(self) -> None:
        self.stopping = True
        if self._judging is not None and self._broker is not None:
            self._judging.stop()
            self._broker.stop()

    @property
    def in_flight(self) -> int:
        return 0 if self._broker is None else self._broker.in_flight

    def run(self) -> RunOutcome:
        options = self._options
        plans = [scoring_plan(task, options.folder / "media") for task in self._selection]
        with ExitStack() as stack:
            scorer = Scorer(
                plans,
                options.score_workers,
                lambda position, rows: self._runs[position].deliver(rows),
                options.metric_device,
            )
            stack.callback(scorer.close)
            scorer.start()
            folder = RunFolder(options.folder)
            stack.callback(folder.close)
            journal = Journal(folder.journal, MediaStore(folder.media))
            stack.callback(journal.close)
            backends = role_backends(self._selection, options)
            self._roles = backends.specs
            check_roles(backends.named, self._selection.tasks)
            check_options(backends.named, self._selection.tasks)
            for gap in undescribed(self._selection.tasks, backends.named):
                log.warning("%s", gap)
            limits = Limits(options.budget_usd, options.budget_tokens, options.budget_calls)
            prices = load_prices(options.model_cost_config)
            check_prices(limits, prices, backends.named)
            budget = Budget(limits, prices, journal.spending)
            budget.stop = self.stop
            for task, plan in zip(self._selection, plans, strict=True):
                data = self._record.get("data", {}).get(task.name, {}).get("fingerprint", "")
                self._runs.append(task_run(options.folder, task, plan, backends.named, data=data))
                stack.callback(self._runs[-1].close)
            with asyncio.Runner() as runner:
                runner.run(self._all(scorer, journal, backends, budget))
            if budget.reached:
                raise budget.spent_error(self._so_far())
            self._bills = tuple(bills(journal.spending, prices))
            return self._outcome(journal.since, scorer)

    async def _all(self, scorer: Scorer, journal: Journal, backends: Backends, budget: Budget) -> None:
        options = self._options
        tags = self._record["identity"]["reasoning_tags"]
        broker = Broker(
            journal, seed=self._record["identity"]["seed"], reasoning_tags=None if tags is None else tuple(tags)
        )
        broker.roles = backends.runtimes(
            lambda: broker.live_trials,
            limit=options.max_connections,
            retries=options.retry_on_error,
            beside=Beside(options.folder, journal),
        )
        budget.watch(broker.roles)
        self._broker = broker
        for runtime in broker.roles.values():
            runtime.on_outage = self._progress.waiting
            runtime.tell_loading(self._progress.loading)
        self._judging = judging = Judging(broker, self._runs, self._progress.judged, last=True)
        try:
            await interruptible(self, self._score(scorer, journal, judging), self._progress)
        finally:
            await broker.close()

    async def _score(self, scorer: Scorer, journal: Journal, judging: Judging) -> None:
        if left := sum(run.left_to_judge() for run in self._runs):
            self._progress.note(f"judging {left:,} trial{'s' if left != 1 else ''}")
            self._progress.judging(left)
        for position, run in enumerate(self._runs):
            for row, sample_row in run.records.trials():
                if self.stopping:
                    break
                await self._trial(position, run, row, sample_row, scorer=scorer, journal=journal, judging=judging)
        await judging.drain()
        if left := 0 if self.stopping else scorer.left_to_models:
            self._progress.note(left_to_models(left))
        await scorer.drain()

    async def _trial(
        self,
        position: int,
        run: TaskRun,
        row: Mapping[str, Any],
        sample_row: Mapping[str, Any],
        *,
        scorer: Scorer,
        journal: Journal,
        judging: Judging,
    ) -> None:
        assert run.scores is not None or not run.task.metrics
        trial = stored_trial(row, Sample.from_json(sample_row, journal.media.root), journal)
        self._trials += 1
        self._made[position] += 1
        self._asked[position].add(row["i"])
        if trial.error is not None:
            self._unsupported += trial.error.kind == "unsupported"
            self._failed += trial.error.kind != "unsupported"
        if run.scores is None or run.scores.covers(row["i"], row["n"], row["d"]):
            return
        answered = list(stored_exchanges(row, journal))
        line = trial_line(
            to_line(sample_row),
            index=row["i"],
            repeat=row["n"],
            digest=row["d"],
            exchanges=[exchange for exchange, _ in answered],
            responses=[entry.line for _, entry in answered],
            output=trial.output,
            error=trial.error,
        )
        await scorer.add(position, line)
        await judging.add(run, row["i"], trial, row["d"])

    def _so_far(self) -> str:
        scored = sum(run.scores.scored() for run in self._runs if run.scores is not None)
        answered = sum("error" not in row for run in self._runs for row, _ in run.records.trials())
        return f"{scored:,} of {answered:,} trials are scored"

    def _unfinished(self) -> Iterator[tuple[str, Unfinished]]:
        """Where the run was not finished, the tasks of which it has not made all trials, as far as it knew them."""
        if self._record.get("finished", True):
            return
        for run, made in zip(self._runs, self._made, strict=True):
            of = self._record.get("data", {}).get(run.task.name, {}).get("trials")
            if of is None or made < of:
                yield run.task.name, Unfinished(made, of)

    def _subsets(self) -> Iterator[tuple[str, Subset]]:
        """What part of each task's samples the folder holds, where the run chose among them."""
        for run, asked in zip(self._runs, self._asked, strict=True):
            made = self._record.get("data", {}).get(run.task.name, {}).get("subset")
            if made is not None:
                yield run.task.name, Subset(made["of"], len(asked), tuple(made["how"]))

    def _outcome(self, since: str, scorer: Scorer) -> RunOutcome:
        wanted = [every_trial] * len(self._runs)
        suspension = self._judging.suspension if self._judging is not None else Suspension()
        iterations = self._options.bootstrap_iters
        results = finished_results(self._runs, wanted, scorer, bootstrap_iters=iterations, suspended=suspension.outputs)
        counts = RunCounts(
            kept=self._trials - self._failed - self._unsupported,
            failed=self._failed,
            unsupported=self._unsupported,
            unscored=worst_unscored(results),
            since=since,
        )
        unfinished = []
        if not self._record.get("finished", True):
            made = f"{self._trials} trial{'s' if self._trials != 1 else ''}"
            unfinished = [f"the run is not finished: these are the {made} that it made; its own command makes the rest"]
        aside = left_aside(self._record, self._selection)
        return RunOutcome(
            folder=self._options.folder,
            model_name=self._record["options"]["model_name"],
            selection=self._selection,
            results=tuple(results),
            group_results=tuple(group_results(self._selection.groups, results)),
            counts=counts,
            started=time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._started)),
            seconds=time.time() - self._started,
            exit_code=suspension.exit_code(
                EXIT_INCOMPLETE if unfinished else exit_code(counts, self._options.max_unscored)
            ),
            rows={name: data["rows"] for name, data in self._record.get("data", {}).items()},
            subsets=dict(self._subsets()),
            unfinished=dict(self._unfinished()),
            roles=self._roles,
            score_sets=score_folders(self._runs),
            judges=judge_versions(self._runs),
            bills=self._bills,
            metric_device=scorer.device_of_models(),
            left_aside=aside,
            notes=(
                *([without(aside, str(self._options.folder))] if aside else ()),
                *nothing_to_score(self._runs, wanted, results),
            ),
            complaints=(
                *unfinished,
                *unasked_complaints(counts),
                *suspension.complaints(results, THIS_COMMAND),
                *unscored_complaints(self._runs, wanted, results, self._options.folder, way=THIS_COMMAND),
                *unread_complaints(self._runs, wanted, self._options.folder),
            ),
        )


def role_backends(selection: Selection, options: RescoreOptions) -> Backends:
    """The backends that the metrics ask. An agent may ask any role, so where one judges the run's others come along.

    Raises MissingError or UsageError with the whole command, where one of the run cannot be made again.
    """
    present = {*options.roles_of_run, *options.roles}
    asked = {role for task in selection for metric in task.metrics for role in metric.bound.whom(present)}
    backends = _made(selection, options, asked)
    if any(isinstance(backend, ProgramBackend) for backend in backends.named.values()):
        return _made(selection, options, options.roles_of_run.keys())
    return backends


def _made(selection: Selection, options: RescoreOptions, wanted: Collection[str]) -> Backends:
    own = {role: spec for role, spec in options.roles_of_run.items() if role in wanted and role not in options.roles}
    specs = {**own, **options.roles}
    command = _command(options, selection, specs)
    for role, spec in own.items():
        for name in hidden_names(spec.args):
            raise MissingError(
                f"{name} of the {role} that this run was made with is a secret, which is not kept; write it for "
                f"{HIDDEN}, or name another {role}: {command}"
            )
    try:
        return Backends(specs)
    except (MissingError, UsageError) as error:
        if not own:
            raise
        kind = MissingError if isinstance(error, MissingError) else UsageError
        roles = ", ".join(own)
        raise kind(
            f"{sentence(error)} This run was made with this {roles}; once that is mended, or with another: {command}"
        ) from None


def _command(options: RescoreOptions, selection: Selection, specs: Mapping[str, BackendSpec]) -> str:
    words = [score_command(Path(options.folder), selection.tasks, specs, specs)]
    if options.metrics:
        words.append(f"--metrics {','.join(options.metrics)}")
    if options.overrides.profile:
        words.append(f"--profile {options.overrides.profile}")
    return " ".join(words)
