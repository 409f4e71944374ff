"""The run: stages over a run folder. Generation, scoring and aggregation each continue where they stopped."""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import signal
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.backend import AnyBackend, create_backend
from mmeval.broker import Broker, RoleRuntime
from mmeval.cache import ResponseCache
from mmeval.digest import digest
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, Interrupted, MissingError
from mmeval.generation import MODEL, SPARE_LANES, Generation, Tally, TaskRun
from mmeval.jobs import Job, Plan
from mmeval.journal import Journal
from mmeval.media import MediaStore
from mmeval.options import RunCounts, RunOptions, RunOutcome
from mmeval.records import Result
from mmeval.report.progress import Progress, opening
from mmeval.runfolder import RunFolder, TaskRecords, file_name, provenance, set_aside
from mmeval.scoreset import ScoreSet
from mmeval.scoring import Scorer, ScoringPlan
from mmeval.summary import group_results, task_results
from mmeval.task import Selection, Task

log = logging.getLogger(__name__)

DEFAULT_RUN_ID = "default"
SYNC_SECONDS = 5.0
GRACE_SECONDS = 10.0
"""How long answers in flight are waited for after the first Ctrl-C."""


def run(selection: Selection, options: RunOptions, *, progress: Progress) -> RunOutcome:
    """Put the tasks to the model, score, aggregate. The same call again continues, and asks nothing twice.

    Raises UsageError or MissingError before anything is sent, Interrupted when the user stops it; everything that was
    answered is kept in every case.
    """
    _refuse_unavailable(selection.tasks, options)
    session = _Session(selection, options, progress)
    return session.run()


def run_path(options: RunOptions) -> Path:
    """Where a run lies: ``<output_path>/<model>/<run_id>``."""
    return options.output_path / file_name(model_name(options)) / file_name(options.run_id or DEFAULT_RUN_ID)


def model_name(options: RunOptions) -> str:
    """What a model is called in folders and tables: its tag, else the model or path that its backend was given."""
    args = options.model.args
    return options.model_tag or str(args.get("model") or args.get("pretrained") or options.model.name)


def _refuse_unavailable(tasks: Sequence[Task], options: RunOptions) -> None:
    """``--strict``: what cannot be scored here is an error before anything is asked; else it is said."""
    for task in tasks:
        for metric in task.metrics:
            if not metric.unavailable:
                continue
            message = f"{task.name}: the metric {metric.bound.name} is unavailable: {metric.unavailable}"
            if options.strict:
                raise MissingError(f"{message}. Without --strict the run goes on and the metric can be added later")
            log.warning(message)


class _Session:
    """One process's work on a run folder."""

    def __init__(self, selection: Selection, options: RunOptions, progress: Progress) -> None:
        self._selection, self._options, self._progress = selection, options, progress
        self._path = run_path(options)
        self._started = time.time()
        self._runs: list[TaskRun] = []
        self._broker: Broker | None = None
        self._asks_model = not options.score_only

    def run(self) -> RunOutcome:
        options = self._options
        if options.fresh and (kept := set_aside(self._path)) is not None:
            self._progress.note(f"starting over; the earlier run is kept in {kept}")
        plans = [scoring_plan(task, self._path / "media") for task in self._selection.tasks]
        scorer = None if options.predict_only else Scorer(plans, options.score_workers, self._deliver)
        if scorer is not None:
            scorer.start()
        folder = RunFolder(self._path)
        try:
            return self._in_folder(folder, plans, scorer)
        finally:
            if scorer is not None:
                scorer.close()
            for run in self._runs:
                run.records.close()
                if run.scores is not None:
                    run.scores.close()
            folder.close()

    def _in_folder(self, folder: RunFolder, plans: Sequence[ScoringPlan], scorer: Scorer | None) -> RunOutcome:
        options = self._options
        journal = Journal(folder.journal, MediaStore(folder.media))
        try:
            for place in journal.damaged:
                log.warning("%s is damaged and was left out; what it answered is asked again", place)
            backends = _Backends(options)
            identity = self._identity(backends, folder)
            folder.claim(identity, len(journal))
            self._broker = broker = Broker(
                journal,
                seed=options.seed,
                cache=ResponseCache(options.use_cache) if options.use_cache is not None else None,
                reasoning_tags=options.reasoning_tags,
                replay_only=frozenset() if self._asks_model else frozenset((MODEL,)),
            )
            broker.roles = backends.runtimes(options, lambda: broker.live_trials)
            self._runs = [self._task_run(task, plan, backends) for task, plan in zip(self._selection, plans, strict=True)]
            folder.describe(
                identity=identity,
                provenance={**provenance(), **{name: dict(b.provenance) for name, b in backends.named.items()}},
                tasks={task.name: dict(task.config) for task in self._selection},
                options=_recorded(options),
                command=options.command,
            )
            plan = Plan(self._selection.tasks, options)
            tally = self._generate(plan, broker, scorer)
            return self._outcome(plan, tally, journal.since)
        finally:
            journal.close()

    def _identity(self, backends: _Backends, folder: RunFolder) -> Mapping[str, Any]:
        tags = self._options.reasoning_tags
        mine = {
            "model": dict(backends.named[MODEL].identity),
            "seed": self._options.seed,
            "reasoning_tags": None if tags is None else list(tags),
        }
        return mine if self._asks_model else folder.record.get("identity", mine)

    def _task_run(self, task: Task, plan: ScoringPlan, backends: _Backends) -> TaskRun:
        judged = tuple(m.bound for m in task.metrics if m.bound.metric.judged and not m.unavailable)
        scores = None
        if not self._options.predict_only and task.metrics:
            scores = ScoreSet(self._path, task.name, score_definition(task, backends.named))
        spellings = tuple(task.config.get("placeholders") or ())
        return TaskRun(task, plan, TaskRecords(self._path, task.name), scores, judged, spellings)

    def _generate(self, plan: Plan, broker: Broker, scorer: Scorer | None) -> Tally:
        lanes = self._options.max_connections + SPARE_LANES
        generation = Generation(self._runs, broker, scorer, self._progress, lanes)
        kept, new = generation.kept_before(iter(plan)) if len(broker.journal) else (0, plan.total())
        self._progress.note(opening(kept=kept, new=new, since=broker.journal.since))
        self._progress.start(kept + new, kept)
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(self._until_done(generation, iter(plan), broker))
        finally:
            self._progress.close()
        return generation.tally

    async def _until_done(self, generation: Generation, jobs: Iterator[Job], broker: Broker) -> None:
        ticker = asyncio.create_task(self._keep_safe(broker))
        try:
            await _interruptible(generation, generation.run(jobs), self._progress)
        finally:
            ticker.cancel()
            await broker.close()

    async def _keep_safe(self, broker: Broker) -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            for run in self._runs:
                run.records.flush()
            await asyncio.to_thread(broker.journal.sync)

    def _deliver(self, position: int, rows: bytes) -> None:
        scores = self._runs[position].scores
        assert scores is not None
        scores.add(rows)

    def _outcome(self, plan: Plan, tally: Tally, since: str) -> RunOutcome:
        results: list[Result] = []
        for run, chosen in zip(self._runs, plan.chosen, strict=True):
            run.records.close()
            if run.scores is not None:
                run.scores.finish()
                results.extend(task_results(run.task, run.scores, chosen))
        unscored = max((r.unscored for r in results if not r.slice), default=0)
        counts = RunCounts(
            kept=tally.kept,
            new=tally.new,
            failed=tally.failed.total(),
            unsupported=tally.unsupported.total(),
            unscored=unscored,
            since=since,
        )
        complaints = tuple(_complaints(tally, results, self._path))
        return RunOutcome(
            folder=self._path,
            model_name=model_name(self._options),
            selection=self._selection,
            results=tuple(results),
            group_results=tuple(group_results(self._selection.groups, results)),
            counts=counts,
            started=time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._started)),
            seconds=time.time() - self._started,
            exit_code=_exit_code(counts, self._options.max_unscored),
            score_sets={run.task.name: run.scores.folder for run in self._runs if run.scores is not None},
            complaints=complaints,
        )


class _Backends:
    """The backends of a run by role; equal specs share one instance."""

    def __init__(self, options: RunOptions) -> None:
        self.named: dict[str, AnyBackend] = {}
        made: dict[str, AnyBackend] = {}
        for role, spec in {MODEL: options.model, **options.roles}.items():
            key = digest([spec.name, dict(spec.args)])
            if key not in made:
                made[key] = create_backend(spec.name, spec.args)
            self.named[role] = made[key]

    def runtimes(self, options: RunOptions, live: Callable[[], int]) -> dict[str, RoleRuntime]:
        made: dict[int, RoleRuntime] = {}
        for backend in self.named.values():
            if id(backend) not in made:
                made[id(backend)] = RoleRuntime(
                    backend,
                    limit=options.max_connections,
                    retries=options.retry_on_error,
                    live=live,
                    max_batch_size=options.batch_size,
                )
        return {role: made[id(backend)] for role, backend in self.named.items()}


def scoring_plan(task: Task, media_root: Path) -> ScoringPlan:
    """What the scoring processes must know of a task."""
    plain = [m for m in task.metrics if not m.bound.metric.judged and not m.unavailable]
    judged = [m for m in task.metrics if m.bound.metric.judged and not m.unavailable]
    return ScoringPlan(
        task=task.name,
        metrics=tuple((m.bound.name, m.bound.params, m.bound.profile) for m in plain),
        unavailable={name: m.unavailable for m in task.metrics if m.unavailable for name in m.bound.metric.outputs},
        missing_output=task.missing_output,
        labels=task.breakdown,
        cluster_key=task.cluster_key,
        media_root=media_root,
        judged_outputs=tuple(name for m in judged for name in m.bound.metric.outputs),
    )


def score_definition(task: Task, backends: Mapping[str, AnyBackend]) -> dict[str, Any]:
    """What the numbers of a task depend on besides the answers: it names the score set."""
    metrics = [
        {
            "metric": m.bound.name,
            "version": m.bound.metric.version,
            "switches": dict(m.bound.params),
            "profile": m.bound.profile,
            "roles": {role: dict(backends[role].identity) for role in m.bound.metric.roles if role in backends},
            **({"unavailable": m.unavailable} if m.unavailable else {}),
        }
        for m in task.metrics
    ]
    outputs = sorted(name for m in task.metrics for name in m.bound.metric.outputs)
    return {
        "task_version": task.version,
        "metrics": metrics,
        "outputs": outputs,
        "missing_output": task.missing_output,
        "labels": [*task.breakdown, task.cluster_key],
    }


async def _interruptible(generation: Generation, work: Coroutine[Any, Any, None], progress: Progress) -> None:
    """Run to the end, or until the user stops it: first without new requests, then at once.

    Raises Interrupted.
    """
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        generation.stopping = True
        stopped.set()

    handled = (signal.SIGINT, signal.SIGTERM)
    for number in handled:
        loop.add_signal_handler(number, stop, number)
    task = asyncio.ensure_future(work)
    waiter = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await _wind_down(generation, task, signals, progress)
    finally:
        waiter.cancel()
        for number in handled:
            loop.remove_signal_handler(number)
    if not task.cancelled():
        task.result()
    if signals:
        raise Interrupted("stopped; everything that was answered is saved. The same command continues")


async def _wind_down(
    generation: Generation, task: asyncio.Future[None], signals: list[int], progress: Progress
) -> None:
    if generation.in_flight:
        progress.note(f"stopping: waiting for {generation.in_flight} answers in flight (Ctrl-C again leaves them)")
    until = time.monotonic() + GRACE_SECONDS
    while not task.done() and len(signals) < 2 and time.monotonic() < until:
        await asyncio.wait({task}, timeout=0.1)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where the ``api`` extra has installed it (a fifth less CPU a request), else asyncio's."""
    try:
        return importlib.import_module("uvloop").new_event_loop  # type: ignore[no-any-return]
    except ImportError:
        return None


def _recorded(options: RunOptions) -> dict[str, Any]:
    """The options as JSON for ``run.json``; arguments that may hold secrets are not among them (see identity)."""
    return {
        "model": options.model.name,
        "limit": options.limit,
        "offset": options.offset,
        "max_connections": options.max_connections,
        "max_unscored": options.max_unscored,
        "repeats_of_errors": options.retry_on_error,
    }


def _exit_code(counts: RunCounts, tolerated: float) -> int:
    lost = counts.failed + counts.unscored
    total = counts.kept + counts.new + counts.failed
    limit = tolerated * total if tolerated < 1 else tolerated
    return EXIT_INCOMPLETE if lost > math.floor(limit) else EXIT_OK


def _complaints(tally: Tally, results: Sequence[Result], folder: Path) -> Iterator[str]:
    if tally.failed:
        kinds = ", ".join(f"{kind} {count}" for kind, count in tally.failed.most_common())
        yield f"{tally.failed.total()} trials failed ({kinds}); run the same command to ask them again"
    for reason, count in tally.unsupported.most_common(5):
        yield f"{count} trials were not asked: the model {reason}"
    for result in results:
        if result.unscored and not result.slice:
            yield f"{result.task}: {result.unscored} of {result.n} unscored by {result.metric}; reasons are in {folder / 'scores'}"


