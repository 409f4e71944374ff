"""Judged metrics: programs over the roles of the run, one for each metric and trial, a bounded number at a time."""

from __future__ import annotations

import asyncio

from mmeval.broker import Broker, Scope
from mmeval.errors import ReplayMismatchError, StorageError
from mmeval.metric import BoundMetric
from mmeval.program import CallFailed
from mmeval.records import Score, Trial
from mmeval.roles import StoppedError
from mmeval.scoring import score_row
from mmeval.taskrun import TaskRun


class Judging:
    """Scores trials in the background; ``add`` waits when too many are under way."""

    def __init__(self, broker: Broker, limit: int) -> None:
        self._broker = broker
        self._room = asyncio.Semaphore(limit)
        self._under_way: set[asyncio.Task[None]] = set()
        self._failure: Exception | SystemExit | None = None

    async def add(self, run: TaskRun, index: int, trial: Trial, trial_digest: str) -> None:
        """Queue the judged metrics of a trial that has an answer to judge. Raises what concerns the whole run."""
        if self._failure is not None:
            raise self._failure
        if not run.judged or trial.error is not None or run.scored_as_missing(trial):
            return
        await self._room.acquire()
        task = asyncio.get_running_loop().create_task(self._judge(run, index, trial, trial_digest))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def drain(self) -> None:
        """Until every queued trial is judged. Raises what concerns the whole run."""
        while self._under_way:
            await asyncio.gather(*self._under_way)
        if self._failure is not None:
            raise self._failure

    async def _judge(self, run: TaskRun, index: int, trial: Trial, trial_digest: str) -> None:
        try:
            found: dict[str, Score] = {}
            for bound in run.judged:
                found.update(await self._verdict(run, bound, trial, trial_digest))
            row = {"i": index, "n": trial.repeat, "d": trial_digest}
            run.deliver(score_row(row, trial, run.plan, found))
        except StoppedError:
            pass  # the next run asks for these verdicts
        except (Exception, SystemExit) as error:
            self._failure = self._failure or error
        finally:
            self._room.release()

    async def _verdict(self, run: TaskRun, bound: BoundMetric, trial: Trial, trial_digest: str) -> dict[str, Score]:
        """One judged metric; its failure costs only its own score. Another answer is judged anew."""
        part = f"score/{bound.name}-{run.judging_key(bound)}/{trial_digest[:12]}"
        scope = Scope(run.task.name, trial.sample, trial.repeat, part, share=False)
        try:
            return dict(await self._broker.run(bound.program(trial, run.role), scope))
        except CallFailed as failed:
            return dict(bound.unscored(f"{failed.error.kind}: {failed.error.message}"))
        except (ReplayMismatchError, StorageError, StoppedError):
            raise
        except (Exception, SystemExit) as defect:  # a metric may fail in any way; the reason is recorded
            return dict(bound.unscored(f"{type(defect).__name__}: {defect}"))
