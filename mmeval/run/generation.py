"""Generation: as many jobs to the model as roles allow, each answer to scoring."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mmeval.broker.broker import Broker
from mmeval.broker.replay import Standing, standing
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

log = logging.getLogger(__name__)

MOST_LANES = 4
"""So many times the usual number of lanes may be open where calls wait to be sent
again: what bounds the memory."""
MAX_LANES = 2**14
"""The most lanes that keep the model busy, whatever batch a backend takes: each holds a
sample in memory."""


class Generation:
    """Puts jobs to the model, in lanes that take them from one iterator. A lane carries
    one trial at a time from its prompt to its score rows. ``lanes`` is how many keep
    the model busy: it changes with the places where the model answers."""

    def __init__(
        self,
        runs: Sequence[TaskRun],
        broker: Broker,
        scorer: Scorer | None,
        progress: Progress,
        *,
        lanes: Callable[[], int],
    ) -> None:
        self.tally = RunTally()
        self.stopping = False
        self._runs = runs
        self._broker = broker
        self._scorer = scorer
        self._progress = progress
        self._wanted_lanes = lanes
        self._lanes_open = 0
        self._open_lane: Callable[[], object] = lambda: None
        self._unreadable: BaseException | None = None
        self._failure: Exception | None = None
        self._grace = asyncio.Timeout(None)
        self._leaving: asyncio.Task[None] | None = None
        self._judging = Judging(broker, runs, progress.judged)
        broker.roles[MODEL].observer.room = self._take_over

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
        """Run until the jobs are done. Raises the first error that concerns the whole
        run. First the answers in flight come; where the data cannot be read on, those
        that are under way are scored."""
        try:
            async with self._grace:
                async with asyncio.TaskGroup() as group:
                    self._open_lane = lambda: group.create_task(self._lane(jobs))
                    for _ in range(self._lanes):
                        self._add_lane()
                if self._failure is not None:
                    await self._judging.settle()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        except TimeoutError:
            pass  # what has not come by now is not waited for
        finally:
            # the last answers may come while it leaves
            if self._leaving is not None:
                self._leaving.cancel()
        if self._failure is not None:
            raise self._failure
        await self._drain()
        if self._unreadable is not None:
            raise self._unreadable

    async def _drain(self) -> None:
        judging, scorer = self._judging, self._scorer
        left = judging.waiting + judging.in_flight
        if left and not self.stopping and not self._unreadable:
            # a model that was not asked leaves nothing else to see
            if judging.waiting or not self.tally.new:
                self._progress.note(left_to_judge(left))
            self._progress.judging(left)
        await judging.drain()
        if scorer is not None:
            if scorer.left_to_models and not self.stopping:
                self._progress.note(left_to_models(scorer.left_to_models))
            await scorer.drain()

    def kept_before(self, jobs: Iterator[TrialJob]) -> Counter[Standing]:
        """How many trials the journal answers, and how many are to be asked or cannot
        be."""
        found: Counter[Standing] = Counter()
        for job in jobs:
            if job.sample.fault:
                found["unaskable"] += 1
                continue
            scope = Scope(job.task.name, job.sample, job.repeat)
            try:
                program = self._runs[job.position].program(job.sample)
                found[standing(program, scope, self._broker)] += 1
            # a plugin's prompt or protocol may raise anything and call sys.exit; it
            # does so again when it is its turn, and is recorded there
            except (Exception, SystemExit):
                found["open"] += 1
        return found

    def _add_lane(self) -> None:
        self._lanes_open += 1
        self._open_lane()

    async def _lane(self, jobs: Iterator[TrialJob]) -> None:
        try:
            while self._spare <= 0:
                job = self._next(jobs)
                if job is None:
                    return
                self._broker.live_trials += 1
                try:
                    await self._trial(job)
                except Exception as error:  # whatever it is, the run ends with it
                    self._fail(error)
                except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                    self.stop()
                    raise
                finally:
                    self._broker.live_trials -= 1
        finally:
            self._lanes_open -= 1

    def _fail(self, error: Exception) -> None:
        """Send nothing more; calls in flight may be paid for and get a moment to
        arrive."""
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
    def _lanes(self) -> int:
        return min(self._wanted_lanes(), MAX_LANES)

    @property
    def _spare(self) -> int:
        """Open lanes beyond those that can send: a call that rests holds no
        connection."""
        resting = self._broker.roles[MODEL].observer.resting
        return self._lanes_open - resting - self._lanes

    def _take_over(self) -> None:
        """Let other lanes use the connection while a call rests before it is sent
        again, or a place that is new. Where no lane is open the model is done, and the
        call is that of a judge behind the same backend."""
        while (
            not self.stopping
            and self._spare < 0 < self._lanes_open < MOST_LANES * self._lanes
        ):
            self._add_lane()

    def _next(self, jobs: Iterator[TrialJob]) -> TrialJob | None:
        if self.stopping or self._unreadable is not None:
            return None
        try:
            return next(jobs, None)
        except StorageError as error:  # what was asked before it is kept first
            self._unreadable = error
            return None

    async def _trial(self, job: TrialJob) -> None:
        run = self._runs[job.position]
        transcript = Transcript()
        trial: Trial | None
        if job.sample.fault:
            trial = Trial(job.sample, job.repeat, error=error_of(job.sample))
        else:
            trial = await self._put(job, run, transcript)
        if trial is None:
            return
        digest = trial.digest
        self._count(job, transcript, trial.error)
        if job.repeat == 0:
            self.tally.bad.inspect(job.task.name, job.sample)
        if trial.error is None:
            self.tally.answer_notes.add(transcript.exchanges)
        if trial.left_out and trial.error is None:
            self.tally.partial[", ".join(trial.left_out)] += 1
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

    async def _put(
        self, job: TrialJob, run: TaskRun, transcript: Transcript
    ) -> Trial | None:
        """A sample put to the model; None where the run ended before that."""
        scope = Scope(job.task.name, job.sample, job.repeat)
        output: Interleaved | None = None
        error: ErrorInfo | None = None
        try:
            program = run.program(job.sample)
            output = run.recorded(await self._broker.run(program, scope, transcript))
        except CallFailed as failed:
            error = failed.error
        except SampleError as bad:  # a prompt that cannot be made of it
            error = ErrorInfo("bad_sample", str(bad))
        # one sample's medium; the others go on
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
        exchanges = tuple(transcript.exchanges)
        left_out = list(run.left_out(job.sample))
        for exchange in exchanges:
            left_out.extend(exchange.response.left_out)
        each_once = tuple(dict.fromkeys(left_out))
        return Trial(job.sample, job.repeat, exchanges, output, error, each_once)

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
        else:  # which is told by name
            self.tally.failed[error.kind] += 1
            if job.repeat == 0:
                faulty = replace(job.sample, fault=error.message)
                self.tally.bad.add(job.task.name, faulty, job.task.repeats)
        self._progress.advance(ok=error is None or error.kind == "unsupported")
