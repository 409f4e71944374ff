"""The run: put tasks to a model, score, aggregate; each stage continues where an earlier process stopped."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mmeval import plugins
from mmeval.aggregate.statistics import MANY_CLUSTERS, import_quantiles
from mmeval.backend.contract import AnyBackend, ProgramBackend, TaskAhead, WholeAnswers
from mmeval.broker.broker import Broker
from mmeval.broker.replay import Standing
from mmeval.costs.budget import Budget, Limits, check_prices
from mmeval.costs.prices import Bill, Prices, bills, load_prices
from mmeval.errors import MissingError, sentence
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.results.task_results import group_results
from mmeval.run.availability import lacking_in, partial_in, undescribed, with_data
from mmeval.run.backends import Backends, Beside, check_options, check_role_names, check_roles, say_unbatched
from mmeval.run.complaints import code_of_faults, fault_complaints, nothing_to_score, unread_complaints
from mmeval.run.generation import Generation
from mmeval.run.interrupt import interruptible
from mmeval.run.jobs import Job, Plan
from mmeval.run.options import RunCounts, RunOptions, RunOutcome
from mmeval.run.outcome import (
    exit_code,
    finished_results,
    judge_versions,
    lost_complaints,
    score_folders,
    unasked_complaints,
    unscored_complaints,
    worst_unscored,
)
from mmeval.run.progress import Progress, opening
from mmeval.run.suspension import Suspension, score_command
from mmeval.run.tally import Tally
from mmeval.run.task_run import TaskRun, scoring_plan, task_run
from mmeval.scoring.scorer import Scorer
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.response_cache import ResponseCache
from mmeval.store.run_folder import RunFolder, provenance, set_aside
from mmeval.system import collector
from mmeval.task.task import Selection, Task
from mmeval.wording import file_name

log = logging.getLogger(__name__)

DEFAULT_RUN_ID = "default"
SYNC_SECONDS = 10.0


def run(selection: Selection, options: RunOptions, *, progress: Progress) -> RunOutcome:
    """Put the tasks to the model, score, aggregate. The same call again continues, and asks nothing twice.

    Raises UsageError or MissingError before anything is sent, Interrupted when the user stops it; everything that was
    answered is kept in every case.
    """
    selection = with_data(selection, strict=options.strict)
    say_unavailable(selection.tasks, strict=options.strict)
    return _Session(selection, options, progress).run()


def run_path(options: RunOptions) -> Path:
    """Where a run lies: ``<output_path>/<model>/<run_id>``."""
    return options.output_path / file_name(model_name(options)) / file_name(options.run_id or DEFAULT_RUN_ID)


def model_name(options: RunOptions) -> str:
    """What a model is called in folders and tables: its tag, else the model, path or name that was given."""
    args = options.model.args
    own = args.get("model") or args.get("pretrained") or args.get("name")
    return options.model_tag or str(own or options.model.name)


def say_unavailable(tasks: Iterable[Task], *, strict: bool) -> None:
    """What cannot be scored here, whole or in part, is said before anything is asked. Raises MissingError when that is
    ``strict``; what the user has skipped is no fault."""
    tasks = list(tasks)
    for lacking in lacking_in(tasks):
        if strict:
            raise MissingError(
                f"{sentence(str(lacking))} Without --strict the run goes on, and mmeval score adds the metric later"
            )
        log.warning("%s", lacking)
    for gap in partial_in(tasks):
        log.warning("%s", gap)


class Prepared(NamedTuple):
    """What a run has found before it touches its folder."""

    backends: Backends
    jobs: Plan
    limits: Limits
    prices: Prices


def prepared(selection: Selection, options: RunOptions, media: MediaStore) -> Prepared:
    """Make the backends and open the data, so that what would refuse the run does so before anything is written or
    sent. Raises UsageError or MissingError."""
    try:
        backends = Backends({MODEL: options.model, **options.roles})
    except MissingError:  # of a role that is misspelt nobody needs the key
        check_role_names(options.roles, selection.tasks)
        raise
    jobs = Plan(selection.tasks, options, media)
    check_roles(backends.named, selection.tasks)
    check_options(backends.named, selection.tasks)
    for gap in () if options.predict_only else undescribed(selection.tasks, backends.named):
        log.warning("%s", gap)
    say_unbatched(backends.named, options.batch_size)
    limits = Limits(options.budget_usd, options.budget_tokens, options.budget_calls)
    prices = load_prices(options.model_cost_config)
    check_prices(limits, prices, backends.named)
    jobs.check()
    for doubt in jobs.doubts(scoring=not options.predict_only):
        log.warning(doubt)
    _foresee(backends.named[MODEL], jobs)
    return Prepared(backends, jobs, limits, prices)


def _foresee(model: AnyBackend, jobs: Plan) -> None:
    """Let a backend that has its answers already look at what it will be asked."""
    if isinstance(model, WholeAnswers):
        model.foresee(
            [
                TaskAhead(task.name, task.protocol_name, task.repeats, partial(_chosen_samples, jobs, position))
                for position, task in enumerate(jobs.tasks)
            ]
        )


def _chosen_samples(jobs: Plan, position: int) -> Iterator[Sample]:
    return (sample for _, sample in jobs.samples(position) if not sample.fault)


def run_identity(backends: Backends, selection: Selection, options: RunOptions) -> dict[str, Any]:
    """What must stay the same for a run folder to be continued: who answers, the seed, how reasoning is split off."""
    tags = options.reasoning_tags
    return {
        **backends.identities(selection),
        "seed": options.seed,
        "reasoning_tags": None if tags is None else list(tags),
    }


def _most_trials(selection: Selection, options: RunOptions) -> float:
    """How many trials there can be, as far as ``--limit`` tells; infinite where the data decide."""
    limit = options.limit
    return math.inf if limit is None or limit < 1 else sum(limit * task.repeats for task in selection)


class _Session:
    """One process's work on a run folder."""

    def __init__(self, selection: Selection, options: RunOptions, progress: Progress) -> None:
        self._selection, self._options, self._progress = selection, options, progress
        self._path = run_path(options)
        self._started = time.time()
        self._runs: list[TaskRun] = []
        self._resumed = False
        self._suspension = Suspension()
        self._bills: tuple[Bill, ...] = ()
        self._agents: frozenset[str] = frozenset()

    def run(self) -> RunOutcome:
        options = self._options
        plans = [scoring_plan(task, self._path / "media") for task in self._selection]
        with ExitStack() as stack:
            scorer: Scorer | None = None
            early = False
            if not options.predict_only:
                scorer = Scorer(
                    plans,
                    options.score_workers,
                    lambda position, rows: self._runs[position].deliver(rows),
                    options.metric_device,
                )
                stack.callback(scorer.close)
                scorer.start()
                early = _most_trials(self._selection, options) < MANY_CLUSTERS
                if early:
                    scorer.prepare(import_quantiles)  # while this process imports its backend and opens the data
            media = MediaStore(self._path / "media")
            backends, jobs, limits, prices = prepared(self._selection, options, media)
            self._agents = frozenset(role for role, one in backends.named.items() if isinstance(one, ProgramBackend))
            if scorer is not None and not early and jobs.total() < MANY_CLUSTERS:
                scorer.prepare(import_quantiles)  # for a small data set, while the first answers are under way
            if options.fresh and (kept := set_aside(self._path)) is not None:
                self._progress.note(f"starting over; the earlier run is kept in {kept}")
            folder = RunFolder(self._path)
            stack.callback(folder.close)
            journal = Journal(folder.journal, media)
            stack.callback(journal.close)
            budget = Budget(limits, prices, journal.spending)
            data = jobs.data()
            self._describe(folder, backends, journal, data)
            for task, plan in zip(self._selection, plans, strict=True):
                fingerprint = data[task.name]["fingerprint"]
                self._runs.append(
                    task_run(self._path, task, plan, backends.named, data=fingerprint, scoring=not options.predict_only)
                )
                stack.callback(self._runs[-1].close)
            broker = self._broker(journal, backends)
            budget.watch(broker.roles)
            tally = self._generate(jobs, broker, scorer, budget)
            self._bills = tuple(bills(journal.spending, prices))
            journal.close()  # its index is not needed any more, the numbers need room
            if not jobs.faults:
                folder.finish()
            return self._outcome(jobs, tally, journal.since, scorer)

    def _describe(
        self, folder: RunFolder, backends: Backends, journal: Journal, data: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Claim the folder for this model, and write down what is run. Raises IdentityChangedError."""
        options = self._options
        for place in journal.damaged:
            log.warning("%s is damaged and was left out; what it answered is asked again", place)
        identity = run_identity(backends, self._selection, options)
        folder.claim(identity, len(journal))
        self._resumed = bool(folder.record)
        for task in folder.changed_data(data):
            log.warning("%s: the data changed since this run began; unchanged samples keep their answers", task)
        folder.describe(
            identity=identity,
            provenance={
                **provenance(),
                "metric_device": options.metric_device,
                **{name: dict(b.provenance) for name, b in backends.named.items()},
            },
            tasks={task.name: dict(task.config) for task in self._selection},
            groups={group.name: asdict(group) for group in self._selection.groups},
            data=data,
            options={"model": options.model.name, "model_name": model_name(options), "limit": options.limit},
            settings=options.settings,
            command=options.command,
        )

    def _broker(self, journal: Journal, backends: Backends) -> Broker:
        options = self._options
        broker = Broker(
            journal,
            seed=options.seed,
            cache=ResponseCache(options.use_cache) if options.use_cache is not None else None,
            reasoning_tags=options.reasoning_tags,
        )
        broker.roles = backends.runtimes(
            lambda: broker.live_trials,
            limit=options.max_connections,
            retries=options.retry_on_error,
            batch_size=options.batch_size,
            beside=Beside(self._path, journal),
        )
        return broker

    def _generate(self, plan: Plan, broker: Broker, scorer: Scorer | None, budget: Budget) -> Tally:
        # A lane for each call in flight: one thread builds prompts and keeps answers, so more would only queue.
        lanes = broker.roles[MODEL].width
        with asyncio.Runner() as runner:
            generation = Generation(self._runs, broker, scorer, self._progress, lanes=lanes)
            for runtime in broker.roles.values():
                runtime.on_outage = self._progress.waiting
                runtime.tell_loading(self._progress.loading)
            budget.stop = generation.stop
            before: Counter[Standing] = Counter({"open": plan.total()})
            if self._resumed:
                before = generation.kept_before(plan.readable())
            # Tasks may ask the same, which is sent once; a filter has yet to say what it keeps.
            exact = self._resumed or (len(plan.tasks) == 1 and not plan.tasks[0].filter)
            self._progress.note(
                opening(
                    kept=before["kept"],
                    new=before["open"],
                    since=broker.journal.since,
                    exact=exact,
                    bad=plan.bad_ahead and not self._resumed,
                )
            )
            self._progress.start(before.total(), before["kept"])
            try:
                with collector.settled():
                    runner.run(self._until_done(generation, plan.readable(), broker))
            finally:
                self._progress.close()
        if budget.reached:
            made = before["kept"] + generation.tally.made - generation.tally.kept  # not all that is kept was looked at
            raise budget.spent_error(f"{made:,} of {before.total():,} trials are made")
        if plan.faults and not generation.tally.made:
            raise next(iter(plan.faults.values())).error
        self._suspension = generation.suspension
        return generation.tally

    async def _until_done(self, generation: Generation, jobs: Iterator[Job], broker: Broker) -> None:
        ticker = asyncio.create_task(self._keep_safe(broker))
        try:
            await interruptible(generation, generation.run(jobs), self._progress)
        finally:
            ticker.cancel()
            await broker.close()

    async def _keep_safe(self, broker: Broker) -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            for run in self._runs:
                run.records.flush()
            await asyncio.to_thread(broker.journal.sync)

    def _outcome(self, plan: Plan, tally: Tally, since: str, scorer: Scorer | None) -> RunOutcome:
        iterations = self._options.bootstrap_iters
        suspension = self._suspension
        in_script = plugins.any_of_script()  # which no other process has
        recorded = self._options.roles if self._options.settings else ()
        command = score_command(self._path, self._selection, self._options.roles, self._agents, recorded)
        way = "call mmeval.evaluate again as before" if in_script else f"run {command}"
        again = "the same call" if in_script else "the same command"
        results = finished_results(
            self._runs, plan.chosen, scorer, bootstrap_iters=iterations, suspended=suspension.outputs
        )
        counts = RunCounts(
            kept=tally.kept,
            new=tally.new,
            failed=tally.failed.total(),
            unsupported=tally.unsupported.total(),
            unscored=worst_unscored(results),
            since=since,
        )
        faults = tuple(fault_complaints(plan.faults, again=again))
        return RunOutcome(
            folder=self._path,
            model_name=model_name(self._options),
            selection=self._selection,
            results=tuple(results),
            group_results=tuple(group_results(self._selection.groups, results)),
            counts=counts,
            started=time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._started)),
            seconds=time.time() - self._started,
            exit_code=code_of_faults(plan.faults, suspension.exit_code(exit_code(counts, self._options.max_unscored))),
            chosen={run.task.name: chosen for run, chosen in zip(self._runs, plan.chosen, strict=True)},
            rows={name: record["rows"] for name, record in plan.data().items()},
            subsets=plan.subsets(),
            unfinished=plan.unfinished(),
            roles=self._options.roles,
            score_sets=score_folders(self._runs),
            judges=judge_versions(self._runs),
            bills=self._bills,
            metric_device="" if scorer is None else scorer.device_of_models(),
            error=next(iter(faults), ""),
            complaints=(
                *faults,
                *lost_complaints(tally, again=again),
                *unasked_complaints(counts),
                *suspension.complaints(results, way),
                *unscored_complaints(self._runs, plan.chosen, results, self._path, way=way),
                *unread_complaints(self._runs, plan.chosen, self._path),
            ),
            notes=(*tally.remarks.told(), *nothing_to_score(self._runs, plan.chosen, results)),
        )
