"""The run: put tasks to a model, score, aggregate; each stage continues where an earlier process stopped."""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mmeval import garbage
from mmeval.backend import AnyBackend, BatchBackend, ProgramBackend, create_backend
from mmeval.broker import Broker, RoleRuntime
from mmeval.cache import ResponseCache
from mmeval.digest import digest
from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, MissingError, UsageError, did_you_mean
from mmeval.generation import SPARE_LANES, Generation, Tally
from mmeval.interrupt import interruptible
from mmeval.jobs import Job, Plan
from mmeval.journal import Journal
from mmeval.mediastore import MediaStore
from mmeval.options import BackendSpec, RunCounts, RunOptions, RunOutcome
from mmeval.records import Result
from mmeval.report.progress import Progress, opening
from mmeval.runfolder import RunFolder, file_name, provenance, set_aside
from mmeval.scoring import Scorer
from mmeval.standing import Standing
from mmeval.summary import group_results, task_results
from mmeval.task import Selection, Task
from mmeval.taskrun import MODEL, TaskRun, scoring_plan, task_run

log = logging.getLogger(__name__)

DEFAULT_RUN_ID = "default"
SYNC_SECONDS = 10.0
MAX_REASONS = 10
"""So many kinds of reason are told one by one."""


def run(selection: Selection, options: RunOptions, *, progress: Progress) -> RunOutcome:
    """Put the tasks to the model, score, aggregate. The same call again continues, and asks nothing twice.

    Raises UsageError or MissingError before anything is sent, Interrupted when the user stops it; everything that was
    answered is kept in every case.
    """
    say_unavailable(selection.tasks, strict=options.strict)
    return _Session(selection, options, progress).run()


def run_path(options: RunOptions) -> Path:
    """Where a run lies: ``<output_path>/<model>/<run_id>``."""
    return options.output_path / file_name(model_name(options)) / file_name(options.run_id or DEFAULT_RUN_ID)


def model_name(options: RunOptions) -> str:
    """What a model is called in folders and tables: its tag, else the model or path that its backend was given."""
    args = options.model.args
    return options.model_tag or str(args.get("model") or args.get("pretrained") or options.model.name)


def say_unavailable(tasks: Iterable[Task], *, strict: bool) -> None:
    """What cannot be scored here is said before anything is asked. Raises MissingError when that is ``strict``."""
    for task in tasks:
        for metric in task.metrics:
            if not metric.unavailable:
                continue
            message = f"{task.name}: the metric {metric.bound.name} is unavailable: {metric.unavailable}"
            if strict:
                raise MissingError(
                    f"{message}. Without --strict the run goes on, and mmeval score adds the metric later"
                )
            log.warning(message)


def check_roles(given: Iterable[str], tasks: Iterable[Task], model: AnyBackend | None = None) -> None:
    """Raises UsageError for a role that nobody asks: no metric and no task file names it, and the model is no agent,
    which may ask any."""
    if isinstance(model, ProgramBackend):
        return
    chosen = list(tasks)
    asked = {role for task in chosen for role in task.roles}
    asked |= {role for task in chosen for metric in task.metrics for role in metric.bound.metric.roles}
    for role in given:
        if role not in asked:
            whom = f"they ask {', '.join(sorted(asked))}" if asked else "they ask the model alone"
            raise UsageError(f"--role {role}: no chosen task asks this role{did_you_mean(role, asked)} ({whom})")


def say_unbatched(backends: Mapping[str, AnyBackend], batch_size: int) -> None:
    """A batch size that has no effect is said, not refused: commands are often shared between backends."""
    if batch_size and not any(isinstance(backend, BatchBackend) for backend in backends.values()):
        log.warning(
            "--batch_size %d has no effect: this backend takes one request at a time, --max_connections bounds how "
            "many are in flight",
            batch_size,
        )


class _Session:
    """One process's work on a run folder."""

    def __init__(self, selection: Selection, options: RunOptions, progress: Progress) -> None:
        self._selection, self._options, self._progress = selection, options, progress
        self._path = run_path(options)
        self._started = time.time()
        self._runs: list[TaskRun] = []
        self._resumed = False

    def run(self) -> RunOutcome:
        options = self._options
        plans = [scoring_plan(task, self._path / "media") for task in self._selection]
        with ExitStack() as stack:
            scorer: Scorer | None = None
            if not options.predict_only:
                scorer = Scorer(plans, options.score_workers, lambda position, rows: self._runs[position].deliver(rows))
                stack.callback(scorer.close)
                scorer.start()
            backends = Backends({MODEL: options.model, **options.roles})
            media = MediaStore(self._path / "media")
            jobs = Plan(self._selection.tasks, options, media)
            check_roles(options.roles, self._selection.tasks, backends.named[MODEL])
            say_unbatched(backends.named, options.batch_size)
            jobs.check()  # opens the data: what is missing is found before the folder is touched
            if options.fresh and (kept := set_aside(self._path)) is not None:
                self._progress.note(f"starting over; the earlier run is kept in {kept}")
            folder = RunFolder(self._path)
            stack.callback(folder.close)
            journal = Journal(folder.journal, media)
            stack.callback(journal.close)
            data = jobs.data()
            self._describe(folder, backends, journal, data)
            for task, plan in zip(self._selection, plans, strict=True):
                fingerprint = data[task.name]["fingerprint"]
                self._runs.append(
                    task_run(self._path, task, plan, backends.named, data=fingerprint, scoring=not options.predict_only)
                )
                stack.callback(self._runs[-1].close)
            tally = self._generate(jobs, self._broker(journal, backends), scorer)
            folder.finish()
            return self._outcome(jobs, tally, journal.since)

    def _describe(
        self, folder: RunFolder, backends: Backends, journal: Journal, data: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Claim the folder for this model, and write down what is run. Raises IdentityChangedError."""
        options = self._options
        for place in journal.damaged:
            log.warning("%s is damaged and was left out; what it answered is asked again", place)
        tags = options.reasoning_tags
        identity = {
            **backends.identities(self._selection),
            "seed": options.seed,
            "reasoning_tags": None if tags is None else list(tags),
        }
        folder.claim(identity, len(journal))
        self._resumed = bool(folder.record)
        for task in folder.changed_data(data):
            log.warning("%s: the data changed since this run began; unchanged samples keep their answers", task)
        folder.describe(
            identity=identity,
            provenance={**provenance(), **{name: dict(b.provenance) for name, b in backends.named.items()}},
            selection=self._selection,
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
            max_batch_size=options.batch_size,
        )
        return broker

    def _generate(self, plan: Plan, broker: Broker, scorer: Scorer | None) -> Tally:
        batcher = broker.roles[MODEL].batcher
        # A local model's next batch is collected while it is at work on one.
        lanes = max(self._options.max_connections, 2 * batcher.size if batcher is not None else 0) + SPARE_LANES
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            generation = Generation(self._runs, broker, scorer, self._progress, lanes=lanes)
            before: Counter[Standing] = Counter({"open": plan.total()})
            if self._resumed:
                before = generation.kept_before(iter(plan))
            # Tasks may ask the same, which is sent once; a filter has yet to say what it keeps.
            exact = self._resumed or (len(plan.tasks) == 1 and not plan.tasks[0].filter)
            self._progress.note(
                opening(kept=before["kept"], new=before["open"], since=broker.journal.since, exact=exact)
            )
            self._progress.start(before.total(), before["kept"])
            try:
                with garbage.settled():
                    runner.run(self._until_done(generation, iter(plan), broker))
            finally:
                self._progress.close()
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

    def _outcome(self, plan: Plan, tally: Tally, since: str) -> RunOutcome:
        results = finished_results(self._runs, plan.chosen)
        counts = RunCounts(
            kept=tally.kept,
            new=tally.new,
            failed=tally.failed.total(),
            unsupported=tally.unsupported.total(),
            unscored=worst_unscored(results),
            since=since,
        )
        return RunOutcome(
            folder=self._path,
            model_name=model_name(self._options),
            selection=self._selection,
            results=tuple(results),
            group_results=tuple(group_results(self._selection.groups, results)),
            counts=counts,
            started=time.strftime("%Y-%m-%dT%H-%M-%S", time.localtime(self._started)),
            seconds=time.time() - self._started,
            exit_code=exit_code(counts, self._options.max_unscored),
            chosen={run.task.name: chosen for run, chosen in zip(self._runs, plan.chosen, strict=True)},
            rows={name: record["rows"] for name, record in plan.data().items()},
            score_sets=score_folders(self._runs),
            complaints=(*_lost(tally), *unscored_complaints(results, self._path)),
        )


ROLE_LIMIT = "max_connections"
"""Among the arguments of a role: how many of its calls may be in flight, where ``--max_connections`` is not meant."""


class Backends:
    """The backends of a run by role; equal specs share one instance and its limit."""

    def __init__(self, specs: Mapping[str, BackendSpec]) -> None:
        self.named: dict[str, AnyBackend] = {}
        self._limits: dict[int, int] = {}
        made: dict[str, AnyBackend] = {}
        for role, spec in specs.items():
            key = digest([spec.name, dict(spec.args)])
            if key not in made:
                args = {name: value for name, value in spec.args.items() if name != ROLE_LIMIT}
                made[key] = create_backend(spec.name, args)
                if ROLE_LIMIT in spec.args:
                    self._limits[id(made[key])] = _positive(spec.args[ROLE_LIMIT])
            self.named[role] = made[key]

    def identities(self, selection: Selection) -> dict[str, Any]:
        """Who makes the answers: the model, and for an agent every role that it may ask, which are all but judges."""
        model = self.named[MODEL]
        found: dict[str, Any] = {"model": dict(model.identity)}
        if isinstance(model, ProgramBackend):
            judges = {role for task in selection for metric in task.metrics for role in metric.bound.metric.roles}
            helpers = {role for role in self.named if role not in judges} - {MODEL}
            found["roles"] = {role: dict(self.named[role].identity) for role in sorted(helpers)}
        return found

    def runtimes(
        self, live: Callable[[], int], *, limit: int, retries: int, max_batch_size: int = 0
    ) -> dict[str, RoleRuntime]:
        """How each role is asked; roles with the same backend share its limit."""
        made: dict[int, RoleRuntime] = {}
        for backend in self.named.values():
            if id(backend) not in made:
                made[id(backend)] = RoleRuntime(
                    backend, limit=self._limits.get(id(backend), limit), retries=retries, live=live, max_batch_size=max_batch_size
                )
        return {role: made[id(backend)] for role, backend in self.named.items()}


def _positive(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{ROLE_LIMIT}={value!r}: must be a whole number above 0")
    return value


def finished_results(runs: Sequence[TaskRun], wanted: Sequence[Callable[[int, int], bool]]) -> list[Result]:
    """Put the score rows in order and make the numbers of every task, over the trials that are wanted."""
    results: list[Result] = []
    for run, chosen in zip(runs, wanted, strict=True):
        run.records.close()
        if run.scores is not None:
            run.scores.finish()
            results.extend(task_results(run.task, run.scores, chosen))
    return results


def score_folders(runs: Sequence[TaskRun]) -> dict[str, Path]:
    return {run.task.name: run.scores.folder for run in runs if run.scores is not None}


def worst_unscored(results: Iterable[Result]) -> int:
    """Trials that lack a score by the metric that lacks most, summed over tasks."""
    worst: dict[str, int] = {}
    for result in results:
        if not result.slice:
            worst[result.task] = max(result.unscored, worst.get(result.task, 0))
    return sum(worst.values())


def exit_code(counts: RunCounts, tolerated: float) -> int:
    """0, or 3 when more was lost than ``--max_unscored`` (a count, or a share below 1) tolerates, or when not a single
    trial could be asked."""
    total = counts.kept + counts.new + counts.failed
    if counts.unsupported and not total:
        return EXIT_INCOMPLETE
    limit = tolerated * total if tolerated < 1 else tolerated
    return EXIT_INCOMPLETE if counts.failed + counts.unscored > math.floor(limit) else EXIT_OK


def unscored_complaints(results: Sequence[Result], folder: Path) -> Iterator[str]:
    for result in results:
        if result.unscored and not result.slice:
            share = f"{result.unscored} of {result.n} unscored by {result.metric}"
            yield f"{result.task}: {share}; the reasons are in {folder / 'scores'}, mmeval score {folder} tries again"


def _lost(tally: Tally) -> Iterator[str]:
    if tally.failed:
        kinds = ", ".join(f"{kind} {count}" for kind, count in tally.failed.most_common())
        yield f"{_trials(tally.failed.total())} failed ({kinds}); the same command asks them again"
        for kind, message in tally.examples.items():
            yield f"the first {kind} failure: {message}"
    for kinds, count in tally.partial.most_common():
        yield f"{_trials(count)} asked without {kinds}, which the model does not give, and scored on the rest"
    reasons = tally.unsupported.most_common()
    for reason, count in reasons[:MAX_REASONS]:
        yield f"{_trials(count)} not asked: {reason}"
    if rest := sum(count for _, count in reasons[MAX_REASONS:]):
        yield f"{_trials(rest)} not asked for {len(reasons) - MAX_REASONS} other reasons; --log_samples lists them"


def _trials(count: int) -> str:
    return f"{count} trial" if count == 1 else f"{count} trials"


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop where the ``api`` extra has installed it (less CPU a request), else asyncio's own."""
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory
