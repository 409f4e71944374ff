"""The run: ask a model or read stored trials, score, aggregate, and continue."""

from __future__ import annotations

import asyncio
import logging
import shlex
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mmeval import plugins
from mmeval.backend.batch_size import AUTO, BatchSize
from mmeval.backend.contract import AnyBackend, TaskAhead, WholeAnswers
from mmeval.broker.broker import Broker
from mmeval.broker.cluster.ray_cluster import RayCluster
from mmeval.broker.replay import Standing
from mmeval.errors import MissingError, StorageError, UsageError
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import Place
from mmeval.metric.scoring.scorer import Scorer
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.verdict_log import several_versions
from mmeval.program.calls import MODEL
from mmeval.records.sample import Sample
from mmeval.results.task_results import group_results
from mmeval.run.availability import (
    log_findings,
    report_lacking,
    task_words,
    undescribed,
    with_data,
)
from mmeval.run.backends import (
    Backends,
    batching,
    check_options,
    check_role_names,
    check_roles,
)
from mmeval.run.costs.bill import known_dollars
from mmeval.run.costs.budget import Budget, Limits, check_prices
from mmeval.run.costs.prices import Bill, Prices, bills, load_prices
from mmeval.run.generation import Generation
from mmeval.run.interrupt import Stoppable, interruptible
from mmeval.run.jobs import JobQueue
from mmeval.run.losses import (
    data_faults,
    lost_answers,
    not_asked,
    nothing_to_score,
    on_numbers,
    unread_replies,
    unscored,
)
from mmeval.run.options import RunCounts, RunOptions, RunOutcome, ScoringOptions
from mmeval.run.outcome import (
    finished_results,
    is_tolerated,
    judge_versions,
    judged,
    score_folders,
    worst_unscored,
)
from mmeval.run.progress import Progress, RunTally, opening
from mmeval.run.suspension import Suspension, score_command
from mmeval.run.task_run import TaskRun, scoring_plan, task_run
from mmeval.run.undeclared import undeclared
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore
from mmeval.store.paths import Wanted, trial_key
from mmeval.store.response_cache import ResponseCache
from mmeval.store.run_folder import (
    ASKED_AGAIN,
    RunFolder,
    check_identity,
    check_others,
    going_on,
    journal_findings,
    provenance,
    set_aside,
)
from mmeval.store.shard import (
    Shard,
    as_progressions,
    beside,
    in_words,
    shard_path,
    unmerged,
)
from mmeval.store.task_records import recorded_trials, tally
from mmeval.system import collector
from mmeval.system.wording import file_name
from mmeval.task.task import Selection, Task

log = logging.getLogger(__name__)

DEFAULT_RUN_ID = "default"
SYNC_SECONDS = 10.0
BEFORE = "before the run:"


def run(selection: Selection, options: RunOptions, *, progress: Progress) -> RunOutcome:
    """Ask the model, score, aggregate. Called again it continues, asks nothing twice.

    Raises UsageError or MissingError before anything is sent, Interrupted when the user
    stops it; everything that was answered is kept in every case.
    """
    words = task_words(options.settings, selection)
    place = Place(words, shlex.quote(str(run_path(options))))
    selection = with_data(selection, strict=options.strict, place=place)
    scoring = not options.predict_only
    report_lacking(selection, strict=options.strict, place=place, scoring=scoring)
    return _NewTrials(selection, options, progress, place).run()


class Runner(ABC):
    """One process's work on a run folder: trials are scored, and numbers made of them.
    Its subclasses are the two sources of trials: new ones, and those that a folder has
    recorded."""

    scores = True
    """Whether trials are scored."""
    makes_trials = False
    """Whether trials are made, and not taken from a folder."""
    batch_size: BatchSize = AUTO
    data: Mapping[str, Mapping[str, Any]]
    """By task, what is recorded of its data; known after ``prepare``."""
    backends: Backends
    broker: Broker
    work: Stoppable
    """What a user or a spent budget stops."""
    tally: RunTally
    suspension: Suspension
    damage: tuple[Finding, ...] = ()
    """What of the journal could not be read."""

    def __init__(
        self,
        path: Path,
        model: str,
        selection: Selection,
        options: ScoringOptions,
        progress: Progress,
    ) -> None:
        self.path = path
        self.model = model
        self.selection = selection
        self.options = options
        self.progress = progress
        self.scorer: Scorer | None = None
        self.runs: list[TaskRun] = []

    @abstractmethod
    def prepare(self, media: MediaStore) -> Backends:
        """Make the backends; raise what would refuse the run, before writing or
        sending."""

    def folder(self) -> RunFolder:
        return RunFolder(self.path)

    def others(self) -> Sequence[Path]:
        """The run folders whose answers are known, too."""
        return ()

    @abstractmethod
    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        """Claim the folder; the broker has no roles yet. Raises
        IdentityChangedError."""

    def task_run(self, task: Task, plan: ScoringPlan) -> TaskRun:
        """A task in the folder, with its score set."""
        named = self.backends.named
        params = self.backends.params
        mark = self.data[task.name]["fingerprint"]
        return task_run(
            self.path, task, plan, named, params, data=mark, scoring=self.scores
        )

    @abstractmethod
    def begin(self) -> Coroutine[Any, Any, None]:
        """What scores every trial. Sets ``work``, ``tally`` and ``suspension``."""

    @abstractmethod
    def so_far(self) -> str:
        """How far the run has come, where its budget is spent."""

    @abstractmethod
    def end(self, folder: RunFolder) -> None:
        """Note that ``begin`` has come to its end."""

    @abstractmethod
    def chosen(self) -> Sequence[Wanted]:
        """By task, which trials of the folder count."""

    @abstractmethod
    def again(self) -> str:
        """The command that scores the rest."""

    @abstractmethod
    def completed(self, outcome: RunOutcome) -> RunOutcome:
        """The outcome with what depends on the source."""

    def run(self) -> RunOutcome:
        """Run. Raises errors of ``prepare`` and ``open``, BudgetSpentError,
        Interrupted."""
        options, started = self.options, time.time()
        plans = [scoring_plan(task, self.path / "media") for task in self.selection]
        with ExitStack() as stack:
            cluster = self._cluster(stack)
            if self.scores:
                self.scorer = Scorer(
                    plans,
                    options.score_workers,
                    lambda position, rows: self.runs[position].deliver(rows),
                    options.metric_device,
                    cluster,
                )
                stack.callback(self.scorer.close)
                self.scorer.start()
            media = MediaStore(self.path / "media")
            backends = self.backends = self.prepare(media)
            limits, prices = limits_and_prices(options, backends)
            folder = self.folder()
            stack.callback(folder.close)
            journal = Journal(folder.journal, media, others=self.others())
            stack.callback(journal.close)
            budget = Budget(limits, prices, journal.spending)
            self.damage = tuple(journal_findings(journal, folder.record))
            self.progress.costs(lambda: known_dollars(bills(journal.spending, prices)))
            broker = self.broker = self.open(folder, journal)
            for task, plan in zip(self.selection, plans, strict=True):
                self.runs.append(self.task_run(task, plan))
                stack.callback(self.runs[-1].close)
            broker.roles = backends.runtimes(
                lambda: broker.live_trials,
                limit=options.max_connections,
                retries=options.retry_on_error,
                batch_size=self.batch_size,
                journal=journal,
                cluster=cluster,
            )
            for runtime in broker.roles.values():
                runtime.on_outage = self.progress.waiting
                runtime.on_loading = self.progress.loading
            budget.watch(broker.roles)
            with asyncio.Runner() as loop:
                trials = self.begin()
                budget.stop = self.work.stop
                try:
                    with collector.settled():
                        loop.run(self._until_done(trials, folder))
                finally:
                    self.progress.close()
            if budget.reached:
                if self.makes_trials:  # a scoring leaves the record of its run
                    why = [finding.to_json() for finding in budget.findings()]
                    folder.note(stopped=why)
                raise budget.spent_error(self.so_far())
            spent = tuple(bills(journal.spending, prices))
            journal.close()  # its index is not needed any more, the numbers need room
            self.end(folder)
            outcome = self._outcome(journal.since, started, spent)
            folder.check_present()
            return outcome

    def _cluster(self, stack: ExitStack) -> RayCluster | None:
        """The cluster of the run's engine, which is connected to when it is needed."""
        if self.options.engine is None:
            return None
        cluster = RayCluster(self.options.engine, self.path)
        stack.callback(cluster.close)
        return cluster

    async def _until_done(
        self, trials: Coroutine[Any, Any, None], folder: RunFolder
    ) -> None:
        ticker = asyncio.create_task(self._keep_safe(folder))
        try:
            await interruptible(self.work, trials, self.progress)
        finally:
            ticker.cancel()
            await self.broker.close()
        if ticker.done() and not ticker.cancelled():
            ticker.result()

    async def _keep_safe(self, folder: RunFolder) -> None:
        """Push what is written to the disk, on a timer. Where that fails the run
        stops."""
        try:
            while True:
                await asyncio.sleep(SYNC_SECONDS)
                folder.check_present()
                for run in self.runs:
                    run.records.flush()
                await asyncio.to_thread(self.broker.journal.sync)
        except StorageError:
            self.work.stop()
            raise

    def _outcome(
        self, since: str, started: float, spent: tuple[Bill, ...]
    ) -> RunOutcome:
        runs = self.runs
        chosen = self.chosen()
        suspension = self.suspension
        tally = self.tally
        again = self.again()
        results = finished_results(
            runs,
            chosen,
            self.scorer,
            bootstrap_iters=self.options.bootstrap_iters,
            suspended=suspension.outputs,
        )
        made = {
            (task.name, number.name)
            for task in self.selection
            for number in task.numbers
        }
        of_metrics = [
            result for result in results if (result.task, result.metric) not in made
        ]
        counts = RunCounts(
            kept=tally.kept,
            new=tally.new,
            failed=tally.failed.total(),
            unsupported=tally.unsupported.total(),
            unscored=worst_unscored(of_metrics),
            since=since,
        )
        judges = judge_versions(runs)
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
            chosen={run.task.name: one for run, one in zip(runs, chosen, strict=True)},
            rows={name: record["rows"] for name, record in self.data.items()},
            roles={
                role: spec
                for role, spec in self.backends.specs.items()
                if role != MODEL
            },
            score_sets=score_folders(runs),
            judges=judges,
            bills=spent,
            metric_device="" if self.scorer is None else self.scorer.device_of_models(),
        )
        losses = (
            *self.damage,
            *suspension.findings(of_metrics, again),
            *unscored(runs, chosen, of_metrics, again=again),
            *unread_replies(runs, chosen),
            *nothing_to_score(runs, chosen, of_metrics),
            *several_versions(judges),
        )
        outcome = replace(outcome, findings=losses)
        outcome = self.completed(outcome)
        losses = (*outcome.findings, *on_numbers(outcome))
        tolerated = is_tolerated(counts, self.options.max_unscored)
        findings = tuple(judged(losses, counts, tolerated=tolerated))
        return replace(outcome, findings=findings, exit_code=exit_code(findings))


def run_path(options: RunOptions) -> Path:
    """Where a run lies: ``<output_path>/<model>/<run_id>``; a shard of it below."""
    run = (
        options.output_path
        / file_name(model_name(options))
        / file_name(options.run_id or DEFAULT_RUN_ID)
    )
    return run if options.shard is None else shard_path(run, options.shard)


def read_too(options: RunOptions) -> list[Path]:
    """The run folders whose answers are known besides those of the run's own."""
    return [] if options.shard is None else beside(run_path(options))


def check_folder(
    options: RunOptions,
    record: Mapping[str, Any],
    identity: Mapping[str, Any],
    answers: int,
) -> None:
    """Raises IdentityChangedError where the run folder was made by another model or
    with other settings, and what ``check_merged`` raises. ``record`` is the run's."""
    check_identity(run_path(options), record, identity, answers)
    check_merged(options, record)


def check_merged(options: RunOptions, record: Mapping[str, Any]) -> None:
    """Raises UsageError where a whole run has shards with answers that it would ask
    again."""
    path = run_path(options)
    if (
        options.shard is None
        and not options.fresh
        and (left := list(unmerged(path, record)))
    ):
        raise UsageError(
            f"{path}: started, and not merged since: {in_words(left)}. "
            f"'mmeval merge --partial {path}' "
            "joins these answers, then the same command asks what is left"
        )


def model_name(options: RunOptions) -> str:
    """A model's name in folders and tables: its tag, else model, path or name given."""
    args = options.model.args
    own = args.get("model") or args.get("pretrained") or args.get("name")
    return options.model_tag or str(own or options.model.name)


class Prepared(NamedTuple):
    """The backends and the data of a run, and what is wrong with them."""

    backends: Backends
    jobs: JobQueue
    findings: tuple[Finding, ...]


def prepared(selection: Selection, options: RunOptions, media: MediaStore) -> Prepared:
    """Make the backends and open the data, before anything is written or sent.
    Raises UsageError or MissingError for what would refuse the run."""
    try:
        specs = {MODEL: options.model, **options.roles}
        backends = Backends(specs, options.answer_limits)
        backends.check_engine(options.engine)
    except MissingError:  # for a misspelt role no key is needed
        check_role_names(specs, selection.tasks)
        raise
    scoring = not options.predict_only
    jobs = JobQueue(selection.tasks, options, media)
    findings = check_backends(backends, selection.tasks, scoring=scoring)
    findings += batching(backends.named, options.batch_size)
    jobs.check()
    known = backends.named[MODEL].capabilities
    findings += undeclared(selection.tasks, jobs.first, known, options.model)
    findings += jobs.doubts(scoring=scoring)
    _foresee(backends.named[MODEL], jobs)
    return Prepared(backends, jobs, tuple(findings))


def check_backends(
    backends: Backends, tasks: Sequence[Task], *, scoring: bool = True
) -> list[Finding]:
    """Options that a role does not know, and media that no backend can describe.
    Raises UsageError for a role that no task asks, or an unknown option of the
    model."""
    check_roles(backends.named, tasks)
    findings = check_options(backends.named, tasks)
    if scoring:
        findings += undescribed(tasks, backends.named)
    return findings


def limits_and_prices(
    options: ScoringOptions, backends: Backends
) -> tuple[Limits, Prices]:
    """A run's limits and prices. Raises UsageError for a dollar budget without
    prices."""
    limits = Limits(options.budget_usd, options.budget_tokens, options.budget_calls)
    prices = load_prices(options.model_cost_config)
    check_prices(limits, prices, backends.named)
    return limits, prices


def _foresee(model: AnyBackend, jobs: JobQueue) -> None:
    """Let a backend that has its answers already look at what it will be asked."""
    if isinstance(model, WholeAnswers):
        model.foresee(
            [
                TaskAhead(
                    task.name,
                    task.protocol_name,
                    task.repeats,
                    partial(_chosen_samples, jobs, position),
                )
                for position, task in enumerate(jobs.tasks)
            ]
        )


def _chosen_samples(jobs: JobQueue, position: int) -> Iterator[Sample]:
    return (sample for _, sample in jobs.samples(position) if not sample.fault)


def run_identity(backends: Backends, options: RunOptions) -> dict[str, Any]:
    """What must stay the same for a run folder to be continued:
    who answers, the seed, how reasoning is split off."""
    tags = options.reasoning_tags
    return {
        **backends.identities(),
        "seed": options.seed,
        "reasoning_tags": None if tags is None else list(tags),
    }


def _changed(tasks: Iterable[str]) -> Iterator[Finding]:
    cause = "the data changed since this run began; equal samples keep their answers"
    for task in tasks:
        yield Finding("other_definition", Subject(task), cause=cause)


class _NewTrials(Runner):
    """The trials of a run that asks the model."""

    makes_trials = True
    options: RunOptions
    _jobs: JobQueue
    _resumed: bool
    _before: Counter[Standing]
    """How far the trials had come before this process."""

    def __init__(
        self,
        selection: Selection,
        options: RunOptions,
        progress: Progress,
        place: Place,
    ) -> None:
        super().__init__(
            run_path(options), model_name(options), selection, options, progress
        )
        self._place = place
        self.scores = not options.predict_only
        self.batch_size = options.batch_size

    def prepare(self, media: MediaStore) -> Backends:
        backends, self._jobs, findings = prepared(self.selection, self.options, media)
        if self.options.choose_samples:  # else the results state it
            findings = (*findings, *self._jobs.fewer())
        self._doubts = findings
        self.data = self._jobs.data()
        return backends

    def folder(self) -> RunFolder:
        check_others(self.others(), run_identity(self.backends, self.options))
        if not self.options.fresh:
            check_merged(self.options, RunFolder.read_record(self.path))
        elif (kept := set_aside(self.path)) is not None:
            self.progress.note(f"starting over; the earlier run is kept in {kept}")
        return super().folder()

    def others(self) -> Sequence[Path]:
        return read_too(self.options)

    def open(self, folder: RunFolder, journal: Journal) -> Broker:
        options = self.options
        identity = run_identity(self.backends, options)
        check_folder(options, folder.record, identity, len(journal) - journal.of_others)
        self._resumed = len(journal) > 0 or bool(folder.record)
        changed = _changed(folder.changed_data(self.data))
        log_findings(BEFORE, [*self._doubts, *changed], self._place)
        folder.describe(
            identity=identity,
            provenance={
                **provenance(),
                "metric_device": options.metric_device,
                **{name: dict(b.provenance) for name, b in self.backends.named.items()},
            },
            tasks={task.name: dict(task.config) for task in self.selection},
            groups={group.name: asdict(group) for group in self.selection.groups},
            left_out={
                task.name: task.finding.to_json() for task in self.selection.left_out
            },
            data=self.data,
            options={
                "model": options.model.name,
                "model_name": self.model,
                "limit": options.limit,
                **({} if options.shard is None else {"shard": str(options.shard)}),
            },
            settings=options.settings,
            command=options.command,
        )
        return Broker(
            journal,
            seed=options.seed,
            nonce=folder.record["nonce"],
            cache=ResponseCache(options.use_cache)
            if options.use_cache is not None
            else None,
            reasoning_tags=options.reasoning_tags,
        )

    def begin(self) -> Coroutine[Any, Any, None]:
        jobs = self._jobs
        # A lane for each call in flight: one thread builds prompts and keeps answers,
        # so more would only queue.
        model = self.broker.roles[MODEL]
        work = Generation(
            self.runs,
            self.broker,
            self.scorer,
            self.progress,
            lanes=lambda: model.width,
        )
        self.work, self.tally, self.suspension = work, work.tally, work.suspension
        self._before = Counter({"open": jobs.total()})
        if self._resumed:
            self._before = work.kept_before(jobs.readable())
        first: Counter[Standing] = Counter()
        if jobs.counted and not self._resumed:
            first = work.kept_before(jobs.ahead())
        self.progress.note(
            opening(
                kept=self._before["kept"],
                new=self._before["open"],
                since=self.broker.journal.since,
                # tasks may ask the same, which is sent once
                exact=jobs.counted and (self._resumed or len(jobs.tasks) == 1),
                unaskable=first["unaskable"] > 0,
                none_known=first["unaskable"] > 0 and not first["open"],
            )
        )
        self.progress.start(self._before.total(), self._before["kept"])
        return work.run(jobs.readable())

    def so_far(self) -> str:
        tally, kept = self.tally, self._before["kept"]
        made = kept + tally.made - tally.kept  # not all that is kept was looked at
        return f"{made:,} of {self._before.total():,} trials are made"

    def end(self, folder: RunFolder) -> None:
        faults = self._jobs.faults
        if faults and not self.tally.made:
            raise next(iter(faults.values())).error
        if not faults:
            folder.note(
                finished=True, **self._shard_note(), **self._asked_again(folder)
            )

    def _asked_again(self, folder: RunFolder) -> dict[str, Any]:
        """The damaged lines of the journal, where each of their calls has been asked
        again: a line does not tell which call it answered."""
        damaged = self.broker.journal.damaged
        if not damaged or not self._covers(folder.record):
            return {}
        digests = {line.digest for line in damaged}
        digests.update(folder.record.get(ASKED_AGAIN, ()))
        return {ASKED_AGAIN: sorted(digests)}

    def _covers(self, record: Mapping[str, Any]) -> bool:
        """Whether this command has all trials that the run folder records."""
        own_tasks = {task.name for task in self.selection}
        if self.options.shard is not None or not own_tasks.issuperset(record["tasks"]):
            return False
        for run, chosen in zip(self.runs, self._jobs.chosen, strict=True):
            run.records.flush()
            for row in recorded_trials(self.path, run.task.name):
                if not chosen(row["i"], row["n"]):  # of more repeats, say
                    return False
        return True

    def _shard_note(self) -> dict[str, Any]:
        """What the results of the whole run need to know of a shard."""
        shard = self.options.shard
        if shard is None:
            return {}
        chosen = zip(self.selection, self._jobs.chosen, strict=True)
        segments = (self.path / "journal").glob("*.jsonl")
        return {
            "shard": {
                "trials": dict(self._tallies(shard)),
                "journal": {file.name: file.stat().st_size for file in segments},
                "chosen": {
                    task.name: as_progressions(sorted(trials.taken))
                    for task, trials in chosen
                },
                "subsets": {
                    name: subset.to_json()
                    for name, subset in self._jobs.subsets().items()
                },
                "score_sets": {
                    name: folder.name
                    for name, folder in score_folders(self.runs).items()
                },
                "metric_device": ""
                if self.scorer is None
                else self.scorer.device_of_models(),
            }
        }

    def _tallies(self, shard: Shard) -> Iterator[tuple[str, dict[str, Any]]]:
        """By task, what names the trials that a shard has."""
        for run, chosen in zip(self.runs, self._jobs.chosen, strict=True):
            run.records.flush()
            own = frozenset(shard.share_of(chosen.taken))
            latest = {
                trial_key(row["i"], row["n"]): row["d"]
                for row in recorded_trials(self.path, run.task.name)
                if row["i"] in own and row["n"] < chosen.repeats
            }
            yield run.task.name, tally(latest)

    def chosen(self) -> Sequence[Wanted]:
        return self._jobs.chosen

    def again(self) -> str:
        if plugins.any_of_script():  # which no other process has
            return ""
        options = self.options
        recorded = options.roles if options.settings else ()
        return score_command(self.path, self.selection, options.roles, recorded)

    def completed(self, outcome: RunOutcome) -> RunOutcome:
        jobs, tally = self._jobs, self.tally
        return replace(
            outcome,
            subsets=jobs.subsets(),
            unfinished=jobs.unfinished(),
            findings=(
                *data_faults(jobs.faults),
                *lost_answers(tally, going_on(self.options.command)),
                *not_asked(tally),
                *outcome.findings,
                *tally.remarks.findings(),
                *self._not_scored(),
            ),
        )

    def _not_scored(self) -> Iterator[Finding]:
        """What ``--predict_only`` leaves to do."""
        answered = self.tally.kept + self.tally.new
        has_metrics = any(task.metrics for task in self.selection)
        if answered and has_metrics and not self.scores:
            yield Finding(
                "unscored",
                count=answered,
                of=self.tally.made,
                cause="--predict_only: the answers are not scored",
                remedy="mmeval score {RUN}",
                severity="note",
            )
