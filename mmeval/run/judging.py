"""Judged metrics: one program a metric and trial, a bounded number at a time."""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mmeval.backend.contract import asked_model
from mmeval.broker.broker import Broker
from mmeval.broker.scope import Scope, Transcript
from mmeval.errors import (
    ReplayMismatchError,
    RoleLostError,
    StoppedError,
    StorageError,
)
from mmeval.metric.apply import failed, score_judged
from mmeval.metric.bound import BoundMetric
from mmeval.metric.scoring.stored_trials import stored_trial
from mmeval.metric.scoring.trial_rows import score_row
from mmeval.program.calls import MODEL, CallFailed
from mmeval.records.response import HOPELESS
from mmeval.records.sample import Sample
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from mmeval.run.suspension import Suspension
from mmeval.run.task_run import TaskRun
from mmeval.store.paths import trial_key
from mmeval.system.json_lines import sealed, to_line

log = logging.getLogger(__name__)


class Judging:
    """Scores trials in the background, as many at a time as keep the judges busy.

    ``suspension`` says which metrics have lost a role that they ask: they are left out
    from then on, the others and the model go on. ``on_judged`` is called for each
    answer that has its scores. ``last`` states that judging is all that is left: what
    is lost then is reported once, at the end.
    """

    def __init__(
        self,
        broker: Broker,
        runs: Iterable[TaskRun],
        on_judged: Callable[[], None] = lambda: None,
        *,
        last: bool = False,
    ) -> None:
        self.suspension = Suspension()
        self._on_judged, self._last = on_judged, last
        self._broker = broker
        self._identities = {
            role: runtime.identity for role, runtime in broker.roles.items()
        }
        self._room = asyncio.Semaphore(_room(broker, runs))
        self._under_way: set[asyncio.Task[None]] = set()
        self._put_off: dict[str, tuple[TaskRun, array[int]]] = {}
        self._failure: Exception | SystemExit | None = None
        self._stopped = False

    @property
    def in_flight(self) -> int:
        return len(self._under_way)

    @property
    def waiting(self) -> int:
        """Trials that were put off."""
        return sum(len(keys) for _, keys in self._put_off.values())

    def stop(self) -> None:
        """Begin nothing new; what is under way ends with its answers in flight."""
        self._stopped = True

    async def offer(
        self, run: TaskRun, index: int, trial: Trial, trial_digest: str
    ) -> None:
        """Judge a trial if there is room, else put it off until ``drain``. A model
        faster than its judge need not wait. Only a number is held; the trial is read
        from the folder again."""
        if self._to_judge(run, trial) and self._room.locked():
            name = run.task.name
            _, keys = self._put_off.setdefault(name, (run, array("q")))
            keys.append(trial_key(index, trial.repeat))
        else:
            await self.add(run, index, trial, trial_digest)

    async def add(
        self, run: TaskRun, index: int, trial: Trial, trial_digest: str
    ) -> None:
        """Judge an answered trial once there is room. Raises what concerns the whole
        run."""
        if self._failure is not None:
            raise self._failure
        if self._stopped or not self._to_judge(run, trial):
            if run.judged and trial.error is None and run.has_fixed_score(trial):
                self._on_judged()
            return
        await self._room.acquire()
        # before its task runs, so that a local judge waits for the others
        self._broker.live_trials += 1
        judging = self._judge(run, index, trial, trial_digest)
        task = asyncio.get_running_loop().create_task(judging)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def drain(self) -> None:
        """Judge all trials, also those put off. Raises what concerns the whole run."""
        self._last = True
        while self._put_off:
            _, (run, keys) = self._put_off.popitem()
            await self._catch_up(run, frozenset(keys))
        await self.settle()
        if self._failure is not None:
            raise self._failure

    async def settle(self) -> None:
        """Until what is under way has come to its end."""
        while self._under_way:
            await asyncio.gather(*self._under_way)
            # from Python 3.12 on, a gather of ended tasks lets none of their callbacks
            # run
            await asyncio.sleep(0)

    async def _catch_up(self, run: TaskRun, keys: frozenset[int]) -> None:
        journal = self._broker.journal
        for row, sample_row in run.records.trials():
            if self._stopped or not self._metrics(run):
                return
            if trial_key(row["i"], row["n"]) in keys:
                trial = stored_trial(
                    row, Sample.from_json(sample_row, journal.media.root), journal
                )
                await self.add(run, row["i"], trial, row["d"])

    def _to_judge(self, run: TaskRun, trial: Trial) -> bool:
        if trial.error is not None or not self._metrics(run):
            return False
        return not run.has_fixed_score(trial)

    def _metrics(self, run: TaskRun) -> list[BoundMetric]:
        task, suspension = run.task.name, self.suspension
        return [bound for bound in run.judged if not suspension.covers(task, bound)]

    async def _judge(
        self, run: TaskRun, index: int, trial: Trial, trial_digest: str
    ) -> None:
        try:
            found: dict[str, Score] = {}
            for bound in self._metrics(run):
                try:
                    scores = await self._verdict(run, bound, index, trial, trial_digest)
                    found.update(scores)
                except RoleLostError as lost:
                    made_of_it = run.follows_from(bound)
                    is_new = self.suspension.add(
                        run.task.name, bound, lost, with_it=made_of_it
                    )
                    if is_new and not self._last:
                        why = lost.reason
                        log.warning("scoring by %s is suspended: %s", bound.name, why)
            if found:
                row = {"i": index, "n": trial.repeat, "d": trial_digest}
                run.deliver(score_row(row, trial, run.plan, found))
                self._on_judged()
        except StoppedError:
            pass  # the next run asks for these verdicts
        except (Exception, SystemExit) as error:  # whatever it is, the run ends with it
            self._failure = self._failure or error
        finally:
            self._broker.live_trials -= 1
            self._room.release()

    async def _verdict(
        self,
        run: TaskRun,
        bound: BoundMetric,
        index: int,
        trial: Trial,
        trial_digest: str,
    ) -> dict[str, Score]:
        """Scores of one judged metric; its failure costs only its own score. A verdict
        is shared by all calls that ask the same: of equal answers, other repeats, other
        tasks."""
        part = f"score/{bound.name}-{run.judging_key(bound)}/{trial_digest[:12]}"
        scope = Scope(
            run.task.name,
            trial.sample,
            trial.repeat,
            part,
            share=False,
            by_content=True,
        )
        transcript = Transcript()
        scores: dict[str, Score]
        try:
            program = score_judged(bound, trial, run.role)
            scores = dict(await self._broker.run(program, scope, transcript))
        except CallFailed as lost:
            unscored = bound.lost
            if lost.error.kind == "refused":
                unscored = bound.refused
            elif lost.error.kind in HOPELESS:
                unscored = bound.unscored
            scores = dict(unscored(f"{lost.error.kind}: {lost.error.message}"))
        except (ReplayMismatchError, StorageError, RoleLostError, StoppedError):
            raise
        # a plugin's metric may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            scores = dict(failed(bound, error))
        lines = verdict_lines(
            transcript,
            index=index,
            repeat=trial.repeat,
            metric=bound.name,
            identities=self._identities,
        )
        run.log_verdicts(lines)
        return scores


def _room(broker: Broker, runs: Iterable[TaskRun]) -> int:
    """How many trials at a time keep the judges busy. Each judge's call with a
    follower, as a trial is also read, parsed and written, and as many as one model
    burst."""
    asked: set[str] = set()
    for run in runs:
        for bound in run.judged:
            asked.update(bound.asked_roles(broker.roles))
    judges = {broker.roles[role].role for role in asked if role in broker.roles}
    room = 2 * sum(judge.width for judge in judges)
    if MODEL in broker.roles:
        room += broker.roles[MODEL].role.width
    return max(1, room)


def verdict_lines(
    transcript: Transcript,
    *,
    index: int,
    repeat: int,
    metric: str,
    identities: Mapping[str, Mapping[str, Any]],
) -> bytes:
    """The lines of a metric's sent calls for a trial; ``identities`` are the roles'."""
    lines = []
    for exchange, key, params, at in zip(
        transcript.exchanges,
        transcript.keys,
        transcript.params,
        transcript.times,
        strict=True,
    ):
        response = exchange.response
        if response.error is not None and response.error.kind in (
            "unsupported",
            "bad_media",
        ):
            continue
        row: dict[str, Any] = {
            "i": index,
            "n": repeat,
            "metric": metric,
            "path": exchange.path,
            "role": exchange.role,
            "asked": asked_model(identities.get(exchange.role, {})),
            "served": response.served,
            "fingerprint": response.fingerprint,
            "params": params.to_json(),
            "at": at,
            "latency": round(response.latency, 4),
            "usage": [response.usage.input_tokens, response.usage.output_tokens],
            "key": key,
        }
        if response.error is not None:
            row["error"] = response.error.kind
        lines.append(sealed(to_line(row)))
    return b"".join(lines)
