"""The runner makes or reads trials, scores them, and aggregates the scores."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmeval.backend.handshake.inputs import TAKES
from mmeval.backend.probe import FEWEST_TRIALS, Probe, Probing
from mmeval.broker.cluster.ray_cluster import RayCluster
from mmeval.errors import StorageError
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding
from mmeval.findings.render import RemedyTarget
from mmeval.metric.scoring.few_trials import are_cheap
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.verdict_log import version_findings
from mmeval.results.task_results import group_results
from mmeval.run.availability import report_unavailable, task_words, with_data
from mmeval.run.backends import agent_prompts_asked
from mmeval.run.costs.bill import known_dollars
from mmeval.run.costs.budget import Budget
from mmeval.run.costs.prices import Bill, bills
from mmeval.run.costs.shared_budget import SharedBudget
from mmeval.run.handshakes import handshake_findings, handshakes_of
from mmeval.run.interrupt import interruptible
from mmeval.run.kept.outcome import has_kept, kept_outcome, with_seal
from mmeval.run.losses import (
    comparability_findings,
    nothing_to_score,
    unread_replies,
    unscored_findings,
)
from mmeval.run.new_trials import NewTrials
from mmeval.run.options import RunCounts, RunOptions, RunOutcome, ScoringOptions
from mmeval.run.outcome import (
    finished_results,
    is_tolerated,
    judge_versions,
    score_folders,
    with_severities,
    worst_unscored,
)
from mmeval.run.preparation import limits_and_prices, model_name, run_path
from mmeval.run.progress import Progress
from mmeval.run.source import OpenRun, TrialSource, TrialsRun
from mmeval.run.task_run import TaskRun, scoring_plan
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.run_folder import RunFolder, journal_findings
from mmeval.system import collector
from mmeval.system.threads import OwnThread
from mmeval.task.task import Selection

SYNC_SECONDS = 10.0
FIRST_CALL_SECONDS = 0.01
"""Seconds between two looks whether the first calls are sent."""


def run(
    selection: Selection,
    options: RunOptions,
    *,
    progress: Progress,
    shared_budget: SharedBudget | None = None,
    prepare_end: Callable[[], None] | None = None,
) -> RunOutcome:
    """Runs tasks: calls the model, scores the answers and aggregates the scores.

    A second call continues the run and repeats no request. ``shared_budget`` is the
    budget of all models of the command, if there are several. ``prepare_end`` runs in a
    thread while the first answers are awaited. Raises UsageError or MissingError before
    any call is sent, and Interrupted if the user stops it. All answers are kept in
    every case.
    """
    path = run_path(options)
    words = task_words(options.settings, selection)
    place = RemedyTarget(words, shlex.quote(str(path)))
    selection = with_data(selection, strict=options.strict, place=place)
    scoring = not options.predict_only
    report_unavailable(selection, strict=options.strict, place=place, scoring=scoring)
    runner = Runner(
        path,
        model_name(options),
        selection,
        options,
        progress,
        scoring=scoring,
        shared_budget=shared_budget,
        prepare_end=prepare_end,
    )
    return runner.run(
        lambda media: NewTrials(selection, options, progress, place, media)
    )


@dataclass(frozen=True)
class Runner:
    """Runs a source of trials in a run folder.

    Scores the trials and computes the numbers.
    """

    path: Path
    model: str
    selection: Selection
    options: ScoringOptions
    progress: Progress
    scoring: bool = True
    shared_budget: SharedBudget | None = None
    prepare_end: Callable[[], None] | None = None

    def run(self, prepare: Callable[[MediaStore], TrialSource]) -> RunOutcome:
        """Runs the source that ``prepare`` returns.

        Raises the errors of a run that cannot start, BudgetSpentError and Interrupted.
        """
        started = time.time()
        options = self.options
        media = MediaStore(self.path / "media")
        plans = [scoring_plan(task, media.root) for task in self.selection]
        with ExitStack() as stack:
            cluster = None
            if options.engine is not None:
                cluster = RayCluster(options.engine, self.path)
                stack.callback(cluster.close)

            tasks: list[TaskRun] = []
            scorer = self._scorer(plans, tasks, cluster, stack)
            # A kept outcome needs no process, and neither do few trials with cheap
            # metrics. Otherwise the processes start while backends are created.
            starts_late = has_kept(self.path) or are_cheap(plans)
            if scorer is not None and not starts_late:
                scorer.start()
            source = prepare(media)
            limits, prices = limits_and_prices(options, source.backends)
            key = source.key(prices)
            kept = self._kept(source, key)
            if kept is not None:
                return kept
            if scorer is not None and starts_late:
                scorer.start(source.most_trials)

            folder = source.claim()
            stack.callback(folder.close)
            journal = Journal(folder.journal, media, others=source.others)
            stack.callback(journal.close)
            damage = tuple(journal_findings(journal, folder.record))
            budget = Budget(
                limits,
                prices,
                journal.spending,
                folder=self.path,
                shared=self.shared_budget,
            )
            self.progress.costs(lambda: known_dollars(bills(journal.spending, prices)))

            broker = source.open(folder, journal)
            for task, plan in zip(self.selection, plans, strict=True):
                tasks.append(source.task_run(task, plan))
                stack.callback(tasks[-1].close)
            broker.roles = source.backends.runtimes(
                lambda: broker.live_trials,
                limit=options.max_connections,
                retries=options.retry_on_error,
                batch_size=source.batch_size,
                journal=journal,
                cluster=cluster,
                probe=_probing(options.probe, source),
            )
            for runtime in broker.roles.values():
                runtime.observer.waiting = self.progress.waiting
                runtime.observer.loading = self.progress.loading
            budget.watch(broker.roles)
            _record_agent_prompts(folder, source)

            open_run = OpenRun(folder, broker, tasks, scorer, self.progress)
            try:
                trials = _run_trials(source, open_run, budget, self.prepare_end)
            finally:  # also if the run was interrupted or spent its budget
                handshakes = handshakes_of(broker, folder.record)
                if source.makes_trials and handshakes:
                    _record_handshakes(folder, handshakes)
            spent = tuple(bills(journal.spending, prices))
            journal.close()  # frees the memory of its index for the numbers
            outcome = self._outcome(
                source,
                open_run,
                trials,
                damage=damage,
                spent=spent,
                handshakes=handshakes,
                started=started,
            )
            outcome = with_seal(outcome, key)
            folder.check_present()
            return outcome

    def _scorer(
        self,
        plans: Sequence[ScoringPlan],
        tasks: Sequence[TaskRun],
        cluster: RayCluster | None,
        stack: ExitStack,
    ) -> Scorer | None:
        """Returns the scorer, which ``stack`` closes; None if nothing is scored.

        ``tasks`` is filled before the first rows are scored.
        """
        if not self.scoring:
            return None
        scorer = Scorer(
            plans,
            self.options.score_workers,
            lambda position, rows: tasks[position].deliver(rows),
            self.options.metric_device,
            cluster,
        )
        stack.callback(scorer.close)
        return scorer

    def _kept(self, source: TrialSource, key: str) -> RunOutcome | None:
        """Returns the kept outcome of the same command, or None if anything changed."""
        if not key:
            return None
        kept = kept_outcome(self.path, key, self.model, self.selection)
        if kept is None:
            return None
        source.reuse(kept.counts)
        return replace(kept, roles=source.roles)

    def _outcome(
        self,
        source: TrialSource,
        run: OpenRun,
        trials: TrialsRun,
        *,
        damage: tuple[Finding, ...],
        spent: tuple[Bill, ...],
        handshakes: Mapping[str, Sequence[Probe]],
        started: float,
    ) -> RunOutcome:
        tasks, tally, suspension = run.tasks, trials.tally, trials.suspension
        conclusion = trials.conclude()
        chosen = conclusion.chosen
        results = finished_results(
            tasks,
            chosen,
            run.scorer,
            bootstrap_iters=self.options.bootstrap_iters,
            suspended=suspension.outputs,
        )
        derived_numbers: set[tuple[str, str]] = set()
        for task in self.selection:
            derived_numbers.update((task.name, number.name) for number in task.numbers)
        of_metrics = [
            result
            for result in results
            if (result.task, result.metric) not in derived_numbers
        ]
        counts = RunCounts(
            kept=tally.kept,
            new=tally.new,
            failed=tally.failed.total(),
            unsupported=tally.unsupported.total(),
            unscored=worst_unscored(of_metrics),
            since=run.broker.journal.since,
        )
        metric_device = conclusion.metric_device
        if metric_device is None:
            metric_device = run.metric_device
        judges = judge_versions(tasks)
        again = conclusion.again
        given_inputs: Mapping[str, Collection[str]] = source.backends.given_inputs
        if not tally.unsupported:
            # Answers of an earlier session were kept, so no trial reports the denial.
            given_inputs = dict.fromkeys(handshakes, TAKES.keys())
        findings = (
            *conclusion.losses,
            *damage,
            *suspension.findings(of_metrics, again),
            *unscored_findings(tasks, chosen, of_metrics, again=again),
            *unread_replies(tasks, chosen),
            *nothing_to_score(tasks, chosen, of_metrics),
            *version_findings(judges),
            *handshake_findings(handshakes, given_inputs),
            *conclusion.answer_notes,
        )
        outcome = RunOutcome(
            folder=self.path,
            model_name=self.model,
            selection=self.selection,
            results=tuple(results),
            group_results=tuple(group_results(self.selection.groups, results)),
            counts=counts,
            started=time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(started)),
            seconds=time.time() - started,
            exit_code=0,
            chosen=chosen,
            rows={name: record["rows"] for name, record in source.data.items()},
            subsets=conclusion.subsets,
            unfinished=conclusion.unfinished,
            roles=source.roles,
            score_sets=score_folders(tasks),
            bills=spent,
            judges=judges,
            left_aside=conclusion.left_aside,
            metric_device=metric_device,
            handshakes=handshakes,
            agent_prompts=_agent_prompts(source, run.folder),
            findings=findings,
        )
        tolerated = is_tolerated(counts, self.options.max_unscored)
        every = (
            *findings,
            *comparability_findings(outcome),
        )
        findings = tuple(with_severities(every, counts, tolerated=tolerated))
        return replace(outcome, findings=findings, exit_code=exit_code(findings))


def _probing(probing: Probing, source: TrialSource) -> Probing:
    """Returns when backends are asked what they can do, after resolving ``auto``."""
    if probing != "auto":
        return probing
    most = source.most_trials
    is_few = most is not None and most < FEWEST_TRIALS
    return "off" if is_few else "needed"


def _record_agent_prompts(folder: RunFolder, source: TrialSource) -> None:
    """Records the prompts of agents, so that a later scoring can name them."""
    prompts = agent_prompts_asked(source.backends.named)
    if source.makes_trials and prompts:
        folder.note(agent_prompts=prompts)


def _agent_prompts(source: TrialSource, folder: RunFolder) -> list[dict[str, Any]]:
    """Returns the prompts of the agents that answered, and of those that judge."""
    recorded = folder.record.get("agent_prompts", [])
    return [*recorded, *agent_prompts_asked(source.backends.named)]


def _record_handshakes(
    folder: RunFolder, handshakes: Mapping[str, Sequence[Probe]]
) -> None:
    """Records the results of handshakes in ``run.json``.

    Roles that were not asked keep their earlier results.
    """
    recorded: dict[str, Any] = dict(folder.record.get("handshakes", {}))
    for role, probes in handshakes.items():
        recorded[role] = [probe.to_json() for probe in probes]
    folder.note(handshakes=recorded)


def _run_trials(
    source: TrialSource,
    run: OpenRun,
    budget: Budget,
    prepare_end: Callable[[], None] | None,
) -> TrialsRun:
    """Runs the trials of a source to their end.

    Raises BudgetSpentError and Interrupted.
    """
    with asyncio.Runner() as loop:
        trials = source.begin(run)
        budget.stop = trials.work.stop
        try:
            with collector.settled():
                loop.run(_until_done(trials, run, prepare_end))
        finally:
            run.progress.close()
    if budget.reached:
        if source.makes_trials:  # scoring does not change the record of its run
            findings = [finding.to_json() for finding in budget.findings()]
            run.folder.note(stopped=findings)
        raise budget.spent_error(trials.so_far())
    return trials


async def _until_done(
    trials: TrialsRun, run: OpenRun, prepare_end: Callable[[], None] | None
) -> None:
    ticker = asyncio.create_task(_flush_on_timer(trials, run))
    preparation = None
    if prepare_end is not None:
        preparation = asyncio.create_task(_after_first_call(trials, prepare_end))
    try:
        await interruptible(trials.work, trials.run(), run.progress)
    finally:
        ticker.cancel()
        if preparation is not None:
            preparation.cancel()
        await run.broker.close()
    if ticker.done() and not ticker.cancelled():
        ticker.result()


async def _after_first_call(trials: TrialsRun, work: Callable[[], None]) -> None:
    """Runs ``work`` in a thread once the first calls are sent.

    Before that, the thread would delay the calls. The run does not wait for the thread.
    An error of ``work`` is ignored, since the end of the run meets it again.
    """
    while not trials.work.in_flight:
        await asyncio.sleep(FIRST_CALL_SECONDS)
    thread = OwnThread("mmeval-end")
    try:
        with suppress(Exception):
            await thread.do(work)
    finally:
        thread.end()


async def _flush_on_timer(trials: TrialsRun, run: OpenRun) -> None:
    """Flushes files to disk on a timer, and shows that the run is alive.

    An error stops the run.
    """
    try:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            run.progress.tick()
            run.folder.check_present()
            for task_run in run.tasks:
                task_run.records.flush()
            await asyncio.to_thread(run.broker.journal.sync)
    except StorageError:
        trials.work.stop()
        raise
