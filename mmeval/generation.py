"""Generation: every job put to the model, as many at once as the roles allow, each answer handed on to scoring."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from mmeval.broker import Broker, Scope
from mmeval.content import Interleaved
from mmeval.errors import ContentError, MissingDataError, MmevalError, ReplayMismatchError, StorageError
from mmeval.jobs import Job
from mmeval.metric import BoundMetric
from mmeval.program import Ask, Call, CallFailed, Program, Role
from mmeval.records import ErrorInfo, GenerationParams, Score, Trial
from mmeval.report.progress import Progress
from mmeval.runfolder import TaskRecords
from mmeval.scoreset import ScoreSet
from mmeval.scoring import Scorer, ScoringPlan, score_row, trial_line
from mmeval.task import Task

log = logging.getLogger(__name__)

MODEL = "model"
SPARE_LANES = 8
"""Trials beyond the connections: their prompts are built while every connection is busy."""


@dataclass
class TaskRun:
    """What generation holds of one task: where its trials are recorded and scored."""

    task: Task
    plan: ScoringPlan
    records: TaskRecords
    scores: ScoreSet | None
    judged: tuple[BoundMetric, ...] = ()
    spellings: tuple[str, ...] = ()

    def role(self, name: str) -> Role:
        """A role as the task's programs see it, with the generation parameters that the task file gives it."""
        params = self.task.config.get("roles", {}).get(name) or {}
        return Role(name, GenerationParams.from_mapping(params))


@dataclass
class Tally:
    """What has happened so far."""

    kept: int = 0
    new: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)


class Generation:
    """Puts jobs to the model. Lanes take jobs from one iterator; a lane carries one trial at a time from its prompt to
    its score rows."""

    def __init__(self, runs: list[TaskRun], broker: Broker, scorer: Scorer | None, progress: Progress, lanes: int) -> None:
        self.tally = Tally()
        self.stopping = False
        self._runs, self._broker, self._scorer, self._progress = runs, broker, scorer, progress
        self._lanes = lanes
        self._judging: set[asyncio.Task[None]] = set()
        self._judges = asyncio.Semaphore(2 * lanes)

    @property
    def in_flight(self) -> int:
        return self._broker.live_trials

    async def run(self, jobs: Iterator[Job]) -> None:
        """Until the jobs are done. Raises the first error that concerns the whole run, after stopping the lanes."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._lanes):
                    group.create_task(self._lane(jobs))
            while self._judging:
                await asyncio.gather(*self._judging)
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        if self._scorer is not None:
            await self._scorer.drain()

    def kept_before(self, jobs: Iterator[Job]) -> tuple[int, int]:
        """How many trials begin with a journalled answer, and how many do not."""
        kept = new = 0
        for job in jobs:
            if self._begun(job):
                kept += 1
            else:
                new += 1
        return kept, new

    async def _lane(self, jobs: Iterator[Job]) -> None:
        for job in jobs:
            if self.stopping:
                return
            self._broker.live_trials += 1
            try:
                await self._trial(job)
            finally:
                self._broker.live_trials -= 1

    async def _trial(self, job: Job) -> None:
        run = self._runs[job.position]
        scope = Scope(job.task.name, job.sample, job.repeat)
        output: Interleaved | None = None
        error: ErrorInfo | None = None
        try:
            output = self._parsed(await self._broker.run(self._program(job), scope), run)
        except CallFailed as failed:
            error = failed.error
        except (ContentError, MissingDataError) as unreadable:  # one sample's medium; the others go on
            error = ErrorInfo("internal", str(unreadable))
        except MmevalError:
            raise
        except Exception as defect:  # a task's prompt or protocol may fail in any way; the trial records how
            log.debug("%s failed", scope.name, exc_info=True)
            error = ErrorInfo("internal", f"{type(defect).__name__}: {defect}")
        trial = Trial(job.sample, job.repeat, tuple(scope.exchanges), output, error)
        self._count(scope, error)
        self._record(job, run, trial, scope)
        await self._score(job, run, trial, scope)

    @staticmethod
    def _program(job: Job) -> Program[Interleaved]:
        task, sample = job.task, job.sample
        return task.protocol(Ask(sample, task.prompt(sample), task.wanted(sample), task.params, Role(MODEL)))

    @staticmethod
    def _parsed(output: Interleaved, run: TaskRun) -> Interleaved:
        """The answer with its placeholders read in the task's own spellings, where it names some."""
        if not run.spellings or "<" not in output.text and "#" not in output.text:
            return output
        hidden = tuple(part for part in output.parts if part.kind == "reasoning")
        parsed = Interleaved.from_reply(output.text, output.media(), spellings=run.spellings)
        return Interleaved((*hidden, *parsed.parts))

    def _count(self, scope: Scope, error: ErrorInfo | None) -> None:
        if error is not None and error.kind == "unsupported":
            self.tally.unsupported[error.message] += 1
        elif error is not None:
            self.tally.failed[error.kind] += 1
        elif scope.replayed == len(scope.exchanges):
            self.tally.kept += 1
            return
        else:
            self.tally.new += 1
        self._progress.advance(ok=error is None)

    def _record(self, job: Job, run: TaskRun, trial: Trial, scope: Scope) -> None:
        run.records.keep_sample(job.index, job.sample, job.sample_line)
        row: dict[str, object] = {
            "x": [[e.path, e.role, key] for e, key in zip(trial.exchanges, scope.keys, strict=True)],
        }
        if trial.error is not None:
            row["error"] = trial.error.to_json()
        elif trial.output is not None and not (
            len(trial.exchanges) == 1 and trial.output is trial.exchanges[0].response.output
        ):
            row["output"] = trial.output.to_json()
        run.records.keep_trial(job.index, job.repeat, trial.digest, row)

    async def _score(self, job: Job, run: TaskRun, trial: Trial, scope: Scope) -> None:
        scorer, scores = self._scorer, run.scores
        if scorer is None or scores is None or scores.covers(job.index, job.repeat, trial.digest):
            return
        line = trial_line(
            job.sample_line,
            index=job.index,
            repeat=job.repeat,
            digest=trial.digest,
            exchanges=trial.exchanges,
            responses=scope.lines,
            output=trial.output,
            error=trial.error,
        )
        await scorer.add(job.position, line)
        if run.judged and trial.error is None and not _scored_as_missing(run, trial):
            await self._judges.acquire()
            task = asyncio.get_running_loop().create_task(self._judge(job, run, trial))
            self._judging.add(task)
            task.add_done_callback(self._judging.discard)

    async def _judge(self, job: Job, run: TaskRun, trial: Trial) -> None:
        """All judged metrics of one trial; each is a program of its own, and its failure costs only its own score."""
        try:
            found: dict[str, Score] = {}
            for bound in run.judged:
                scope = Scope(run.task.name, trial.sample, trial.repeat, f"score/{bound.name}-{bound.key}", share=False)
                try:
                    found.update(await self._broker.run(bound.program(trial, run.role), scope))
                except CallFailed as failed:
                    found.update(bound.unscored(f"{failed.error.kind}: {failed.error.message}"))
                except (ReplayMismatchError, StorageError):
                    raise
                except Exception as defect:  # a metric may fail in any way; the reason is recorded
                    found.update(bound.unscored(f"{type(defect).__name__}: {defect}"))
            row = {"i": job.index, "n": job.repeat, "d": trial.digest}
            assert run.scores is not None
            run.scores.add(score_row(row, trial, run.plan, found))
        finally:
            self._judges.release()

    def _begun(self, job: Job) -> bool:
        """Whether the first step of a trial is answered by the journal."""
        try:
            program = self._program(job)
            first = next(program)
        except Exception:
            return False  # it will fail again when it is its turn, and be recorded there
        program.close()
        scope = Scope(job.task.name, job.sample, job.repeat)
        if isinstance(first, Call):
            return self._broker.key_of(first, scope, "0", shared=True) in self._broker.journal
        keys = (self._broker.key_of(call, scope, f"0.{i}", shared=True) for i, call in enumerate(first))
        return all(key in self._broker.journal for key in keys)


def _scored_as_missing(run: TaskRun, trial: Trial) -> bool:
    return run.plan.missing_output is not None and trial.output is not None and trial.output.empty
