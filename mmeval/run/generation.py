"""Generation: sends jobs to the model and passes each answer to scoring."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mmeval.broker.broker import Broker
from mmeval.broker.checks.patience import PATIENCE
from mmeval.broker.replay import Replay, ReplayState, replay
from mmeval.broker.scope import Scope, Transcript
from mmeval.dataset.bad_sample import error_of
from mmeval.errors import (
    ContentError,
    MissingDataError,
    MmevalError,
    SampleError,
    StoppedError,
    StorageError,
)
from mmeval.media.parts import Interleaved
from mmeval.metric.scoring.scorer import Scorer, left_to_models
from mmeval.metric.scoring.stored_trials import trial_row
from mmeval.metric.scoring.trial_rows import trial_line
from mmeval.program.calls import MODEL, CallFailed
from mmeval.records.response import ErrorInfo
from mmeval.records.trial import Trial
from mmeval.run.interrupt import GRACE_SECONDS
from mmeval.run.jobs import TrialJob
from mmeval.run.judging import Judging
from mmeval.run.progress import Progress, RunTally, left_to_judge
from mmeval.run.suspension import Suspension
from mmeval.run.task_run import TaskRun
from mmeval.system.number_set import NumberSet

log = logging.getLogger(__name__)

MAX_RESTING_FACTOR = 4
"""Maximum ratio of active slots to slots that can send, while calls wait for a retry.

The maximum bounds memory use.
"""
MAX_SLOTS = 2**14
"""Maximum number of slots that can send, however large the batch size of a backend is.

Each slot keeps a sample in memory.
"""


class Generation:
    """Sends jobs to the model in concurrent slots, which take them from one iterator.

    A slot processes one trial at a time, from its prompt to its score rows. ``slots``
    returns the number of slots that keep the model busy. This number changes with the
    number of copies of the model.
    """

    def __init__(
        self,
        runs: Sequence[TaskRun],
        broker: Broker,
        scorer: Scorer | None,
        progress: Progress,
        *,
        slots: Callable[[], int],
        judge_patience: int = PATIENCE,
    ) -> None:
        self.tally = RunTally()
        self.stopping = False
        self._runs = runs
        self._broker = broker
        self._scorer = scorer
        self._progress = progress
        self._requested_slots = slots
        self._active_slots = 0
        self._start_slot: Callable[[], object] = lambda: None
        self._unreadable: BaseException | None = None
        self._failure: Exception | None = None
        self._grace = asyncio.Timeout(None)
        self._leaving: asyncio.Task[None] | None = None
        self._settled = [NumberSet() for _ in runs]
        """The numbers of the trials that ``kept_before`` has tallied, by task."""
        self._judging = Judging(broker, runs, progress.judged, patience=judge_patience)
        broker.roles[MODEL].observer.room = self._add_slots

    @property
    def in_flight(self) -> int:
        return self._broker.in_flight

    @property
    def suspension(self) -> Suspension:
        return self._judging.suspension

    def stop(self) -> None:
        self.stopping = True
        self._judging.stop()
        self._broker.stop()

    async def leave(self) -> None:
        await self._broker.leave()

    async def run(self, jobs: Iterator[TrialJob]) -> None:
        """Runs until the jobs are done.

        Raises the first error that ends the run. Before the error is raised, answers in
        flight get some seconds to arrive. If the data cannot be read further, trials in
        progress are still scored.
        """
        try:
            async with self._grace:
                async with asyncio.TaskGroup() as group:
                    self._start_slot = lambda: group.create_task(self._run_slot(jobs))
                    for _ in range(self._sending_slots):
                        self._add_slot()
                if self._failure is not None:
                    await self._judging.settle()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        except TimeoutError:
            pass  # answers that are still in flight are lost
        finally:
            # the last answers may arrive while the run is stopping
            if self._leaving is not None:
                self._leaving.cancel()
        if self._failure is not None:
            raise self._failure
        await self._drain()
        if self._unreadable is not None:
            raise self._unreadable

    async def _drain(self) -> None:
        judging, scorer = self._judging, self._scorer
        remaining = judging.waiting + judging.in_flight
        if remaining and not self.stopping and not self._unreadable:
            # without new answers, judging is the only progress to show
            if judging.waiting or not self.tally.new:
                self._progress.note(left_to_judge(remaining))
            self._progress.judging(remaining)
        await judging.drain()
        if scorer is not None:
            if scorer.left_to_models and not self.stopping:
                self._progress.note(left_to_models(scorer.left_to_models))
            await scorer.drain()

    def kept_before(self, jobs: Iterator[TrialJob]) -> Counter[ReplayState]:
        """Counts trials by their state in the journal.

        The states are: the trial has an answer, needs one, or cannot be requested.
        Trials that are already recorded and scored with their kept answer are tallied
        here, and :meth:`run` leaves them out.
        """
        counts: Counter[ReplayState] = Counter()
        for job in jobs:
            if job.sample.fault:
                counts["unaskable"] += 1
                continue
            scope = Scope(job.task.name, job.sample, job.repeat)
            transcript = Transcript()
            try:
                program = self._runs[job.position].program(job.sample)
                kept = replay(program, scope, self._broker, transcript)
            # a plugin's prompt or protocol may raise anything and call sys.exit; the
            # trial raises it again and records it
            except (Exception, SystemExit):
                counts["open"] += 1
                continue
            counts[kept.state] += 1
            if kept.is_final:
                self._settle(job, kept, transcript)
        return counts

    def _settle(self, job: TrialJob, kept: Replay, transcript: Transcript) -> None:
        """Tallies a trial with its kept answer if nothing is left to do for it."""
        run = self._runs[job.position]
        recorded_digest = run.records.recorded_digest(job.index, job.repeat)
        if recorded_digest is None or not isinstance(kept.result, Interleaved):
            return
        if not run.records.has_sample(job.index, job.sample):
            return
        scores = None if self._scorer is None else run.scores
        if scores and not scores.covers(job.index, job.repeat, recorded_digest):
            return
        trial = _trial(job, run, transcript, run.recorded(kept.result))
        if trial.digest == recorded_digest:
            self._settled[job.position].add(job.number)
            self._tally(job, trial, transcript)

    @property
    def settled(self) -> int:
        """Number of trials that ``kept_before`` has tallied."""
        return sum(map(len, self._settled))

    def _add_slot(self) -> None:
        self._active_slots += 1
        self._start_slot()

    async def _run_slot(self, jobs: Iterator[TrialJob]) -> None:
        try:
            while self._spare_slots <= 0:
                job = self._next(jobs)
                if job is None:
                    return
                self._broker.live_trials += 1
                try:
                    await self._trial(job)
                except Exception as error:  # any error ends the run
                    self._fail(error)
                except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                    self.stop()
                    raise
                finally:
                    self._broker.live_trials -= 1
        finally:
            self._active_slots -= 1

    def _fail(self, error: Exception) -> None:
        """Stops sending calls.

        Answers in flight, which may cost money, get some seconds to arrive.
        """
        self.stop()
        if self._failure is None:
            self._failure = error
            loop = asyncio.get_running_loop()
            self._leaving = loop.create_task(self._leave_in_time())

    async def _leave_in_time(self) -> None:
        await asyncio.sleep(GRACE_SECONDS)
        await self.leave()
        self._grace.reschedule(0)  # now

    @property
    def _sending_slots(self) -> int:
        return min(self._requested_slots(), MAX_SLOTS)

    @property
    def _spare_slots(self) -> int:
        """Number of active slots in excess of the slots that can send.

        The slot of a resting call is not included, since it uses no connection.
        """
        resting = self._broker.roles[MODEL].observer.resting
        return self._active_slots - resting - self._sending_slots

    def _add_slots(self) -> None:
        """Adds slots for connections that resting calls or a new copy leave free.

        If no slot is active, the model has finished. Then the resting call belongs to a
        judge with the same backend.
        """
        while (
            not self.stopping
            and self._spare_slots
            < 0
            < self._active_slots
            < MAX_RESTING_FACTOR * self._sending_slots
        ):
            self._add_slot()

    def _next(self, jobs: Iterator[TrialJob]) -> TrialJob | None:
        if self.stopping or self._unreadable is not None:
            return None
        try:
            return next(jobs, None)
        except StorageError as error:  # raised after earlier trials are recorded
            self._unreadable = error
            return None

    async def _trial(self, job: TrialJob) -> None:
        if job.number in self._settled[job.position]:
            return
        run = self._runs[job.position]
        transcript = Transcript()
        trial: Trial | None
        if job.sample.fault:
            trial = Trial(job.sample, job.repeat, error=error_of(job.sample))
        else:
            trial = await self._ask_model(job, run, transcript)
        if trial is None:
            return
        digest = trial.digest
        self._tally(job, trial, transcript)
        run.records.keep_sample(job.index, job.sample, job.sample_line)
        row = trial_row(trial, transcript.keys, [run.plan.media_root])
        run.records.keep_trial(job.index, job.repeat, digest, row)

        if self._scorer is None or run.scores is None:
            return
        if run.scores.covers(job.index, job.repeat, digest):
            return
        line = trial_line(
            trial,
            job.sample_line,
            index=job.index,
            digest=digest,
            responses=transcript.lines,
        )
        await self._scorer.add(job.position, line)
        await self._judging.offer(run, job.index, trial, digest)

    async def _ask_model(
        self, job: TrialJob, run: TaskRun, transcript: Transcript
    ) -> Trial | None:
        """Requests the model's answer to a sample.

        Returns None if the run is stopped first.
        """
        scope = Scope(job.task.name, job.sample, job.repeat)
        output: Interleaved | None = None
        error: ErrorInfo | None = None
        try:
            program = run.program(job.sample)
            output = run.recorded(await self._broker.run(program, scope, transcript))
        except CallFailed as failed:
            error = failed.error
        except SampleError as sample_error:  # no prompt can be built from the sample
            error = ErrorInfo("bad_sample", str(sample_error))
        # the error concerns a medium of this sample; other samples continue
        except (ContentError, MissingDataError) as unreadable:
            error = ErrorInfo("internal", str(unreadable))
        except StoppedError:
            return None
        except MmevalError:
            raise
        # a plugin's prompt or protocol may raise anything and call sys.exit
        except (Exception, SystemExit) as raised:
            log.debug("%s failed", scope.name, exc_info=raised)
            error = ErrorInfo("internal", f"{type(raised).__name__}: {raised}")
        return _trial(job, run, transcript, output, error)

    def _tally(self, job: TrialJob, trial: Trial, transcript: Transcript) -> None:
        tally = self.tally
        self._count(job, transcript, trial.error)
        if job.repeat == 0:
            tally.bad.inspect(job.task.name, job.sample)
        if trial.error is None:
            tally.answer_notes.add(transcript.exchanges)
        if trial.left_out and trial.error is None:
            tally.partial[", ".join(trial.left_out)] += 1

    def _count(
        self,
        job: TrialJob,
        transcript: Transcript,
        error: ErrorInfo | None,
    ) -> None:
        if error is None and transcript.replayed == len(transcript.exchanges):
            self.tally.kept += 1
            return
        if error is None:
            self.tally.new += 1
        elif error.kind != "bad_sample":
            self.tally.fail(error)
        else:  # bad samples are reported by name
            self.tally.failed[error.kind] += 1
            if job.repeat == 0:
                faulty = replace(job.sample, fault=error.message)
                self.tally.bad.add(job.task.name, faulty, job.task.repeats)
        self._progress.advance(ok=error is None or error.kind == "unsupported")


def _trial(
    job: TrialJob,
    run: TaskRun,
    transcript: Transcript,
    output: Interleaved | None,
    error: ErrorInfo | None = None,
) -> Trial:
    exchanges = tuple(transcript.exchanges)
    left_out = list(run.left_out(job.sample))
    for exchange in exchanges:
        left_out.extend(exchange.response.left_out)
    distinct = tuple(dict.fromkeys(left_out))
    return Trial(job.sample, job.repeat, exchanges, output, error, distinct)
